"""Statistics on arrays: intervals, paired tests, corrections, power and exact sums."""
