"""Summaries of a measure's per-query values, and of the differences between two systems."""

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Self

import numpy as np

from skgraded._input.door import to_plain_list
from skgraded._input.queries import find_lowest, make_sort_key
from skgraded.reports.evaluation import Evaluation
from skgraded.stats.intervals import MeanEstimate
from skgraded.stats.paired_tests import PairedSample, count_outcomes, subtract_baseline
from skgraded.stats.rounding import (
    Moments,
    are_equal,
    count_bins,
    find_bin_centers,
    find_bins,
    multiply_by_weights,
    sum_exactly,
)
from skgraded.writing.json_text import read_json_id, write_json_id

N_KEPT = 20  # number of lowest-scoring queries stored per measure


# One measure -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tally:
    """Summary of the values of one measure.

    `counts` is a histogram of the values included in the mean. Its first row contains the non-empty
    bins from `find_bins` in ascending order, and its second row contains the number of values in
    each bin. `worst` contains (query id, values of all measures) pairs, sorted by the value of this
    measure.
    """

    moments: Moments
    n_undefined: int
    counts: np.ndarray
    worst: list[tuple[Any, tuple[float, ...]]]
    at: int  # index of this measure in the Summary

    @classmethod
    def of(cls, evaluation: Evaluation, name: str) -> Self:
        """Summarize the values of one measure in an Evaluation."""
        values, weights = evaluation.per_query[name], evaluation.weights
        counting = ~np.isnan(values)
        if weights is not None:
            counting &= weights > 0
            weights = weights[counting]
        lowest = np.flatnonzero(~(evaluation.undefined[name] | np.isnan(values)))
        if len(lowest) > 50 * N_KEPT:  # speed only
            last = np.partition(values[lowest], N_KEPT)[N_KEPT]
            lowest = lowest[values[lowest] <= last]
        # Ties are broken in favor of the lowest id.
        lowest = lowest[find_lowest(values[lowest], evaluation.query_ids[lowest], N_KEPT)]
        rows = zip(*(part[lowest].tolist() for part in evaluation.per_query.values()), strict=True)
        values = values[counting]
        return cls(
            Moments.of(values, weights),
            int(evaluation.undefined[name].sum()),
            count_bins(find_bins(values)),
            list(zip(to_plain_list(evaluation.query_ids[lowest]), rows, strict=True)),
            list(evaluation.per_query).index(name),
        )

    def __add__(self, other: Self) -> Self:
        worst: dict[Any, tuple[float, ...]] = {}  # a query in both keeps its lower value
        for query, row in sorted(
            [*self.worst, *other.worst], key=lambda pair: (pair[1][self.at], make_sort_key(pair[0]))
        ):
            worst.setdefault(query, row)
        return type(self)(
            self.moments + other.moments,
            self.n_undefined + other.n_undefined,
            count_bins(*np.hstack([self.counts, other.counts])),
            list(worst.items())[:N_KEPT],
            self.at,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as lists and numbers for JSON."""
        return {
            "moments": moments_to_dict(self.moments),
            "n_undefined": self.n_undefined,
            "counts": self.counts.tolist(),
            "worst": {
                "query_ids": [write_json_id(query) for query, _ in self.worst],
                "values": [[None if v != v else v for v in row] for _, row in self.worst],
            },
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any], at: int) -> Self:
        """Create a Tally from the result of `to_dict`; `at` is the index of the measure."""
        worst = written["worst"]
        return cls(
            moments_from_dict(written["moments"]),
            written["n_undefined"],
            np.array(written["counts"], dtype=np.intp),
            [
                (read_json_id(query), tuple(math.nan if v is None else v for v in row))
                for query, row in zip(worst["query_ids"], worst["values"], strict=True)
            ],
            at,
        )

    def quantile(self, q: float) -> float:
        """Compute a quantile of the values included in the mean, interpolated as in NumPy.

        All values except the extremes are rounded.
        """
        n, lowest, highest = self.moments.n, self.moments.lowest, self.moments.highest
        if not n:
            return math.nan
        place = (n - 1) * q
        ranks = np.array([math.floor(place), math.ceil(place)])  # counted from 0
        bins, n_values = self.counts
        bins = bins[np.searchsorted(np.cumsum(n_values), ranks, side="right")]
        values = np.clip(find_bin_centers(bins), lowest, highest)
        values[ranks == 0] = lowest
        values[ranks == n - 1] = highest
        return float(values[0] + (values[1] - values[0]) * (place - ranks[0]))


# One pair of systems by one measure --------------------------------------------------------------


@dataclass(frozen=True)
class Differences:
    """Summary of the per-query differences between two systems: second minus first.

    The summary includes only queries with values for both systems and a positive weight.
    """

    moments: Moments
    first: Fraction  # Σ w v of the first system
    second: Fraction  # Σ w v of the second system
    wins: int  # queries for which the second is better
    ties: int
    losses: int

    @classmethod
    def of(cls, first: np.ndarray, second: np.ndarray, weights: np.ndarray | None) -> Self:
        """Summarize the differences between two arrays of per-query values."""
        differences = subtract_baseline(second, first, weights)
        counting = ~np.isnan(differences)
        weights = None if weights is None else weights[counting]
        first_sum, second_sum = (
            sum_exactly(
                values[counting]
                if weights is None
                else multiply_by_weights(values[counting], weights)
            )
            for values in (first, second)
        )
        differences = differences[counting]
        return cls(
            Moments.of(differences, weights), first_sum, second_sum, **count_outcomes(differences)
        )

    def __add__(self, other: Self) -> Self:
        return type(self)(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    def __neg__(self) -> Self:
        return type(self)(-self.moments, self.second, self.first, self.losses, self.ties, self.wins)

    def sample(self) -> PairedSample:
        """Convert the summary to a sample for a comparison."""
        moments, n = self.moments, self.moments.n
        mean, baseline_mean = (
            float(total / moments.w) if n else math.nan for total in (self.second, self.first)
        )
        error, deviation = math.nan, 0.0
        if n > 1:
            error = moments.standard_error
            size = float(max(abs(self.first), abs(self.second)) / moments.w)
            if not are_equal(moments.lowest, moments.highest, size):
                deviation = moments.deviation()
        return PairedSample(
            mean,
            baseline_mean,
            self.wins,
            self.ties,
            self.losses,
            n_undefined=math.nan,
            deviation=deviation,
            unit_deviation=deviation,
            n_differing=n - self.ties,
            estimate=MeanEstimate(n, moments.mean, error, moments.lowest, moments.highest, n),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as numbers and strings for JSON."""
        return {
            **vars(self),
            "moments": moments_to_dict(self.moments),
            "first": str(self.first),
            "second": str(self.second),
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> Self:
        """Create Differences from the result of `to_dict`."""
        return cls(
            moments_from_dict(written["moments"]),
            Fraction(written["first"]),
            Fraction(written["second"]),
            written["wins"],
            written["ties"],
            written["losses"],
        )


# JSON --------------------------------------------------------------------------------------------

ENDS = "lowest", "highest", "lightest", "heaviest"
SUMS = "w", "wv", "ww", "wwv", "wwvv", "wvv"


def moments_to_dict(moments: Moments) -> dict[str, Any]:
    """Convert moments for JSON; sums become fraction strings, and infinity becomes "inf"."""
    return {
        name: str(value) if name in SUMS or math.isinf(value) else value
        for name, value in vars(moments).items()
    }


def moments_from_dict(written: dict[str, Any]) -> Moments:
    """Create Moments from the result of `moments_to_dict`."""
    numbers: dict[str, Any] = {
        "n": written["n"],
        **{name: float(written[name]) for name in ENDS},
        **{name: Fraction(written[name]) for name in SUMS},
    }
    return Moments(**numbers)
