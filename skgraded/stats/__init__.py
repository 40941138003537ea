"""Statistics on arrays: intervals, paired tests, corrections, power, margins and exact sums."""
