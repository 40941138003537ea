"""Arrays in, numbers out: intervals, paired tests, corrections, power, margins, exact sums."""
