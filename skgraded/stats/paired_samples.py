"""Summary statistics of the paired differences between two systems."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skgraded.stats.intervals import estimate_mean
from skgraded.stats.paired_tests import TIE_DECIMALS


@dataclass(frozen=True)
class PairedSample:
    """Summary statistics of two systems and their differences, without a test."""

    mean: float
    baseline_mean: float
    wins: int
    ties: int
    losses: int
    n_undefined: float  # number of queries with undefined values for both systems; nan if unknown
    mean_difference: float  # computed from rounded differences
    deviation: float  # standard deviation (ddof=1); 0 if all differences are equal
    differences: Any  # MeanEstimate, Moments or PoweredMean of the differences
    weight: float = np.nan  # weight of the judge in a PoweredMean
    worth: float = np.nan

    @property
    def n_queries(self) -> int:
        """Number of queries with a value for both systems and a positive weight."""
        return self.differences.n

    @property
    def effect_size(self) -> float:
        """Cohen's d_z: the mean of the differences divided by their standard deviation."""
        if self.n_queries > 1 and self.ties == self.n_queries:
            return 0.0
        return self.mean_difference / self.deviation if self.deviation else np.nan

    @classmethod
    def of(
        cls, differences: np.ndarray, weights: np.ndarray | None, means: tuple[float, float],
        n_undefined: int
    ) -> Self:
        """Summarize differences that contain no nan; `means` contains the means of both systems."""
        rounded = np.round(differences, TIE_DECIMALS)
        n, mean, deviation = len(rounded), np.nan, 0.0
        if n:
            mean = float(np.average(rounded, weights=weights))
        if n > 1 and np.ptp(rounded) > 0:
            variance = np.average((rounded - mean) ** 2, weights=weights) * n / (n - 1)
            deviation = float(np.sqrt(variance))
        return cls(
            *means, **count_outcomes(differences), n_undefined=n_undefined, mean_difference=mean,
            deviation=deviation, differences=estimate_mean(differences, weights),
        )


def differences_by_query(
    values: np.ndarray, baseline_values: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """Subtract the baseline values; return nan where a value is missing or the weight is 0."""
    differences = values - baseline_values
    return differences if weights is None else np.where(weights > 0, differences, np.nan)


def count_outcomes(differences: np.ndarray) -> dict[str, int]:
    """Count wins, ties and losses; differences that are 0 up to rounding are ties."""
    signs = np.sign(np.round(differences, TIE_DECIMALS))
    outcomes = (("wins", 1), ("ties", 0), ("losses", -1))
    return {name: int((signs == sign).sum()) for name, sign in outcomes}
