"""The class `Summaries`: summaries of several systems and their per-query differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Self

import numpy as np

from skgraded._input.segments import refuse_too_many
from skgraded.reports.comparing import Settings, compare_parts
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import Evaluation, check_evaluations
from skgraded.reports.pairing import Samples, pair_evaluations
from skgraded.reports.report import LEVEL, describe_means
from skgraded.reports.summary import (
    Mergeable,
    Summary,
    labeled,
    merged_in_order,
    merged_parts,
    moments_from_dict,
    moments_to_dict,
    refuse_unequal_weights,
    without_segments,
)
from skgraded.stats.exact_sums import Moments, exact_sum, weighted
from skgraded.stats.intervals import MeanEstimate
from skgraded.stats.paired_samples import PairedSample, count_outcomes, differences_by_query
from skgraded.stats.rounding import are_equal
from skgraded.writing.json_text import VERSION

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
        differences = differences_by_query(second, first, weights)
        counting = ~np.isnan(differences)
        weights = None if weights is None else weights[counting]
        first_sum, second_sum = (
            exact_sum(values[counting] if weights is None else weighted(values[counting], weights))
            for values in (first, second)
        )
        differences = differences[counting]
        moments = Moments.of(differences, weights)
        return cls(moments, first_sum, second_sum, **count_outcomes(differences))

    def __add__(self, other: Differences) -> Differences:
        return Differences(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    def __neg__(self) -> Differences:
        return Differences(
            -self.moments, self.second, self.first, self.losses, self.ties, self.wins
        )

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
        """Return the fields as numbers and texts for JSON."""
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


# All systems -------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class Summaries(Mergeable, Samples):
    """Summaries of several systems on the same queries, and of their pairwise differences.

    Summaries are returned by `Summaries.of`. If `y_score` names several columns, functions that
    otherwise return a `Summary` return Summaries. ``summaries["bm25"]`` is the Summary of a system.
    `compare` accepts Summaries and Evaluations.

    Attributes
    ----------
    systems : dict of str to Summary
        Summaries keyed by system name.
    differences : dict of (str, str) to dict of str to Differences
        Differences keyed by pair of systems, in the order of `systems`, then by measure name.
    by, segments, labels
        As in `Summary`; the segments are Summaries.

    Examples
    --------
    >>> import pandas as pd
    >>> import skgraded as sg
    >>> day = pd.DataFrame({"grade": [1, 0, 0, 1, 0, 1], "query": list("aabbcc"),
    ...                     "bm25": [1, 2, 2, 1, 1, 2], "lgbm": [2, 1, 1, 2, 1, 2]})
    >>> summaries = sg.evaluate_batches([day], "grade", ["bm25", "lgbm"], "query", measures="rr")
    >>> summaries["lgbm"]
    Summary(3 queries: RR=1.0000)
    >>> sg.compare(summaries, baseline="bm25")
    Comparison(3 queries: bm25, lgbm by RR)
    """

    systems: dict[str, Summary]
    differences: dict[tuple[str, str], dict[str, Differences]]

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["systems"] = {name: self._with_segments(name) for name in self.systems}

    def __getitem__(self, system: str) -> Summary:
        return self.systems[system]

    def __iter__(self) -> Iterator[str]:
        return iter(self.systems)

    def _with_segments(self, name: str) -> Summary:
        """Return the Summary of a system with the segments, labels and counts of these Summaries."""
        segments = (
            None
            if self.segments is None
            else {segment: part.systems[name] for segment, part in self.segments.items()}
        )
        return replace(
            self.systems[name],
            by=self.by,
            labels=self.labels,
            n_duplicates=self.n_duplicates,
            segments=segments,
        )

    @classmethod
    def of(cls, evaluations: Mapping[str, Evaluation], *, label: str | None = None) -> Summaries:
        """Summarize a mapping of system names to Evaluations of the same queries."""
        check_evaluations(evaluations)
        paired, names = pair_evaluations(evaluations), list(evaluations)
        differences = {
            (names[i], names[j]): {
                measure: Differences.of(values[i], values[j], paired.weights)
                for measure, values in paired.per_query.items()
            }
            for i, j in combinations(range(len(names)), 2)
        }
        systems = {name: Summary.of(ev) for name, ev in evaluations.items()}
        return labeled(cls(systems, differences), label)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `to_json` as a dict, without the versions of the packages."""
        systems = {
            name: without_segments(summary).to_dict() for name, summary in self.systems.items()
        }
        return {
            "kind": "Summaries",
            "version": VERSION,
            "n_queries": self.n_queries,
            **{
                key: {name: summary[key] for name, summary in systems.items()}
                for key in ("mean", "n_defined", "n_undefined", "judged")
            },
            "systems": systems,
            "differences": [
                {
                    "first": first,
                    "second": second,
                    "measures": {name: part.to_dict() for name, part in by_measure.items()},
                }
                for (first, second), by_measure in self.differences.items()
            ],
            **self._parts_to_dict(),
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> Self:
        """Create Summaries from the result of `to_dict`."""
        systems = {name: Summary.from_dict(part) for name, part in written["systems"].items()}
        differences = {
            (pair["first"], pair["second"]): {
                name: Differences.from_dict(part) for name, part in pair["measures"].items()
            }
            for pair in written["differences"]
        }
        return cls(systems, differences, **cls._parts_from_dict(written))

    def _merged_with(self, other: Summaries) -> Summaries:
        systems = {
            name: merged_in_order(map(without_segments, (summary, other.systems[name])))
            for name, summary in self.systems.items()
        }
        return Summaries(
            systems,
            {
                pair: {
                    name: part + other.differences[pair][name] for name, part in by_measure.items()
                }
                for pair, by_measure in self.differences.items()
            },
            **merged_parts(self, other),
        )

    @property
    def n_queries(self) -> int:
        """Number of queries, including those without a value or with weight 0."""
        return next(iter(self.systems.values())).n_queries

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        return list(next(iter(self.systems.values())).tallies)

    def _rows(self, level: float) -> list[dict[str, Any]]:
        return [
            {"system": name, **row}
            for name, summary in self.systems.items()
            for row in summary._rows(level)
        ]

    def _compare(self, settings: Settings, by: Any = None) -> Comparison:
        """Compare the systems, or the systems in each segment, using sums and valid settings."""
        parts: dict[Any, Summaries] = {None: self}
        if by is not None:
            self._check_by(by, "the Summaries")
            parts = self.segments or {}
            refuse_too_many(list(parts))
        moments = [
            differences.moments
            for by_measure in self.differences.values()
            for differences in by_measure.values()
        ]
        if settings.test is not None:
            refuse_unequal_weights(
                moments,
                "Pass test=None to get weighted means and intervals without tests, or "
                "evaluate without sample_weight.",
            )
        return compare_parts(
            parts,
            list(self.systems),
            self.measures,
            settings,
            n_queries=self.n_queries,
            is_weighted=any(part.has_unequal_weights for part in moments),
        )

    def _summarize_pair(self, system: str, baseline: str, measure: str) -> PairedSample:
        """Summarize the differences between two systems."""
        if (baseline, system) in self.differences:
            return self.differences[baseline, system][measure].sample()
        return (-self.differences[system, baseline][measure]).sample()

    def _estimate_means(self, measure: str) -> list[tuple[str, float, Moments, bool]]:
        """Return each system, its mean over its own queries, the moments, and `lacks_values`."""
        moments = {name: part.tallies[measure].moments for name, part in self.systems.items()}
        is_lacking = dict.fromkeys(moments, False)
        for pair, differences in self.differences.items():
            n_shared = differences[measure].moments.n
            for system, other in (pair, pair[::-1]):
                is_lacking[system] |= moments[other].n > n_shared
        return [(name, part.mean, part, is_lacking[name]) for name, part in moments.items()]

    def _page(self, title: str | None = None) -> str:
        return self._compare(Settings(level=LEVEL))._page(title)

    def __repr__(self) -> str:
        systems = "; ".join(
            f"{name}: {describe_means(summary)}" for name, summary in self.systems.items()
        )
        return f"Summaries({self.n_queries} queries: {systems})"
