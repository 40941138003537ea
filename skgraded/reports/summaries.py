"""Summaries of several systems, and of their differences query by query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from skgraded._input.columns import whole_number
from skgraded.reports.comparison_table import COLUMNS, ComparisonTable, pairs_of
from skgraded.reports.differences import detectable, differences_by_query, outcomes, reaching_0
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.kept import TABLE, check_table, filled, refuse_twice
from skgraded.reports.kept_sums import (
    SUMMARY,
    check_summaries,
    checked_fraction,
    checked_moments,
    moments_to_json,
)
from skgraded.reports.pairing import check_evaluations, paired
from skgraded.reports.report import Report, titled
from skgraded.reports.summary import Summary, merged
from skgraded.stats.corrections import adjust, level_of_each
from skgraded.stats.exact_sums import Moments, exact_sum
from skgraded.stats.paired_tests import FEWEST, TIE
from skgraded.writing import json_text
from skgraded.writing.json_shapes import check_shape

if TYPE_CHECKING:
    import pandas


# One pair of systems by one measure --------------------------------------------------------------

@dataclass(frozen=True)
class Differences:
    """What is kept of the differences of two systems: the values of the second less the first's.

    Of the queries that count: both have a value, and the weight is above 0.
    """

    moments: Moments
    first: Fraction  # Σ w v of the first system
    second: Fraction
    wins: int  # queries for which the second is better
    ties: int
    losses: int

    @classmethod
    def of(cls, first: np.ndarray, second: np.ndarray, weights: np.ndarray | None) -> Self:
        """Sum up the differences of values by query."""
        differences = differences_by_query(second, first, weights)
        counting = ~np.isnan(differences)
        own = None if weights is None else weights[counting]
        one, other = (
            exact_sum(values[counting] if own is None else own * values[counting])
            for values in (first, second)
        )
        differences = differences[counting]
        return cls(Moments.of(differences, own), one, other, **outcomes(differences))

    def __add__(self, other: Differences) -> Differences:
        return Differences(*(
            getattr(self, field.name) + getattr(other, field.name) for field in fields(self)
        ))

    def __neg__(self) -> Differences:
        return Differences(
            -self.moments, self.second, self.first, self.losses, self.ties, self.wins
        )

    def row(self, level: float) -> dict[str, Any]:
        """What a comparison says of it but for the test, by the names of its columns."""
        mean, baseline_mean = (
            float(total / self.moments.w) if self.moments.n else math.nan
            for total in (self.second, self.first)
        )
        low, high = self.moments.interval(level)
        return {
            "mean": mean,
            "baseline_mean": baseline_mean,
            "difference": mean - baseline_mean,
            "ci_low": low,
            "ci_high": high,
            "n_queries": self.moments.n,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "n_undefined": math.nan,  # of both: not known
            "effect_size": self._effect_size(),
            "deviation": self._deviation(),
            "ci_method": "t",
        }

    def p_value(self) -> float:
        """Two-sided p-value of the paired t-test, as `p_values` has it of the differences."""
        from scipy.special import stdtr

        n = self.moments.n
        if not n:
            return math.nan
        if n < 2 or self.ties == n:
            return 1.0
        if self._is_constant():
            return 2.0 ** (1 - n)
        return float(2 * stdtr(n - 1, -abs(self.moments.mean / self.moments.standard_error())))

    def _is_constant(self):
        return round(self.moments.lowest, TIE) == round(self.moments.highest, TIE)

    def _effect_size(self):
        n, moments = self.moments.n, self.moments
        if self.ties == n:
            return 0.0 if n > 1 else math.nan
        deviation = self._deviation()
        return moments.mean / deviation if deviation else math.nan

    def _deviation(self):
        """The standard deviation (with n - 1) of two differences or more; else 0."""
        if self.moments.n < 2 or self._is_constant():
            return 0.0
        return self.moments.deviation()


# All systems -------------------------------------------------------------------------------------

@dataclass(frozen=True, repr=False, eq=False)
class Summaries(Report):
    """Summaries of several systems on the same queries, and of the differences of each pair.

    Made where a `Summary` is, if `y_score` names several columns, or by `Summaries.of`. What
    `compare` takes in place of Evaluations.

    Attributes
    ----------
    systems : dict of str to Summary
        By name.
    differences : dict of (str, str) to dict of str to Differences
        By the names of two systems, in the order of `systems`, and by measure.

    Examples
    --------
    >>> import pandas as pd
    >>> import skgraded as sg
    >>> day = pd.DataFrame({"grade": [1, 0, 0, 1, 0, 1], "query": list("aabbcc"),
    ...                     "bm25": [1, 2, 2, 1, 1, 2], "lgbm": [2, 1, 1, 2, 1, 2]})
    >>> found = sg.evaluate_batches([day], "grade", ["bm25", "lgbm"], "query", measures="rr")
    >>> found.systems["lgbm"]
    Summary(3 queries: RR=1.0000)
    >>> sg.compare(found, baseline="bm25", test="t")
    SummaryComparison(3 queries: lgbm - bm25, RR: +0.3333, p=0.184)
    """

    systems: dict[str, Summary]
    differences: dict[tuple[str, str], dict[str, Differences]]

    @classmethod
    def of(cls, evaluations: Mapping[str, Evaluation]) -> Summaries:
        """Summarize systems that were evaluated on the same queries.

        Parameters
        ----------
        evaluations : mapping of str to Evaluation

        Returns
        -------
        Summaries
        """
        check_evaluations(evaluations)
        per_query, weights = _paired(evaluations)
        names = list(evaluations)
        differences = {
            (names[i], names[j]): {
                measure: Differences.of(values[i], values[j], weights)
                for measure, values in per_query.items()
            }
            for i, j in combinations(range(len(names)), 2)
        }
        return cls({name: Summary.of(one) for name, one in evaluations.items()}, differences)

    @staticmethod
    def merge(parts: Iterable[Summaries]) -> Summaries:
        """Put together Summaries of disjoint queries, as `Summary.merge` does.

        Parameters
        ----------
        parts : iterable of Summaries
            Of the same systems by the same measures.

        Returns
        -------
        Summaries
        """
        return merged(Summaries, parts)

    def _merged_with(self, other, i):
        if list(self.systems) != list(other.systems):
            raise ValueError(
                f"Parts of merge must have the same systems: part 0 has {', '.join(self.systems)}, "
                f"part {i} has {', '.join(other.systems)}."
            )
        systems = {
            name: Summary.merge([own, other.systems[name]]) for name, own in self.systems.items()
        }
        return Summaries(systems, {
            pair: {name: one + other.differences[pair][name] for name, one in by_measure.items()}
            for pair, by_measure in self.differences.items()
        })

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summaries):
            return NotImplemented
        return (
            list(self.systems) == list(other.systems) and self.systems == other.systems
            and self.differences == other.differences
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @property
    def n_queries(self) -> int:
        """All queries, also those without a value or weight."""
        return next(iter(self.systems.values())).n_queries

    def between(self, baseline: str, system: str) -> dict[str, Differences]:
        """What is kept of the differences of two systems, by measure.

        Parameters
        ----------
        baseline, system : str
            Names of systems; the differences are those of `system` less `baseline`.

        Returns
        -------
        dict of str to Differences
        """
        if (baseline, system) in self.differences:
            return self.differences[baseline, system]
        return {name: -one for name, one in self.differences[system, baseline].items()}

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate means and intervals, a row a system and measure.

        Returns
        -------
        pandas.DataFrame
            The column ``system`` and those of `Summary.to_frame`.
        """
        import pandas as pd

        frames = {name: one.to_frame() for name, one in self.systems.items()}
        return pd.concat(
            [frame.assign(system=name)[["system", *frame]] for name, frame in frames.items()],
            ignore_index=True,
        )

    def _page(self, title=None):
        return compare_summaries(self, None, None, None, 0.95).to_html(title=title)

    def _fragment(self):
        return compare_summaries(self, None, None, None, 0.95)._repr_html_()

    def _to_json(self):
        return {
            "systems": {name: one._to_json() for name, one in self.systems.items()},
            "differences": [
                [*pair, {name: _to_json(one) for name, one in by_measure.items()}]
                for pair, by_measure in self.differences.items()
            ],
        }

    @staticmethod
    def _of_json(report):
        check_shape(report, {"systems": {str: SUMMARY}, "differences": [(str, str, {str: list})]})
        refuse_twice("differences", [(first, second) for first, second, _ in report["differences"]])
        parts: dict = {
            "systems": {
                name: Summary(**Summary._of_json(one)) for name, one in report["systems"].items()
            },
            "differences": {
                (first, second): {
                    name: _of_json(one, f"differences[{i}][2][{name!r}]")
                    for name, one in by_measure.items()
                }
                for i, (first, second, by_measure) in enumerate(report["differences"])
            },
        }
        check_summaries(Summaries(**parts))
        return parts

    def __repr__(self) -> str:
        systems = "; ".join(
            f"{name}: " + ", ".join(f"{one}={value:.4f}" for one, value in summary.mean().items())
            for name, summary in self.systems.items()
        )
        return f"Summaries({self.n_queries} queries: {systems})"


def _paired(evaluations):
    """Values of all systems by measure, in one order of queries, and the weights of these."""
    first, *others = evaluations.values()
    if all(one.query_ids is first.query_ids and one.weights is first.weights for one in others):
        return {
            name: [one.per_query[name] for one in evaluations.values()] for name in first.per_query
        }, first.weights
    return paired(evaluations)[1:]


def _to_json(one):
    counts = [one.wins, one.ties, one.losses]
    return [moments_to_json(one.moments), str(one.first), str(one.second), counts]


def _of_json(written, name):
    check_shape(written, ({}, str, str, (int, int, int)), name)
    moments, first, second, counts = written
    return Differences(
        checked_moments(moments, f"{name}[0]"), checked_fraction(first, f"{name}[1]"),
        checked_fraction(second, f"{name}[2]"), *counts,
    )


# Comparison --------------------------------------------------------------------------------------

@dataclass(frozen=True, repr=False, eq=False)
class SummaryComparison(ComparisonTable):
    """Systems compared by the sums of their differences, made by `compare` of Summaries.

    Attributes
    ----------
    systems, measures, baseline, test, correction, level, table
        As in `Comparison`.
    n_queries : int
        All queries, also those that do not count.
    is_weighted : bool
        Whether queries have different weights.
    """

    systems: list[str]
    measures: list[str]
    n_queries: int
    is_weighted: bool
    baseline: str | None
    test: str | None
    correction: str | None
    level: float
    table: dict[str, list[Any]]
    seed = None

    @property
    def _n_queries(self):
        return self.n_queries

    @property
    def _is_weighted(self):
        return self.is_weighted

    def _ranks_contradict(self, test, row):
        return False

    def _smallest_p(self, test, row):
        return (0.0 if row["n_queries"] > 1 else 1.0), False

    def _page(self, title=None):
        from skgraded.writing import comparison_page

        return comparison_page.summary_comparison_page(**titled(self._page_parts(), title))

    def _to_json(self):
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"table": json_text.columns_to_json(self.table)}

    @staticmethod
    def _of_json(report):
        report = filled(report)
        check_shape(report, TABLE | {"n_queries": int, "is_weighted": bool})
        parts = {field.name: report[field.name] for field in fields(SummaryComparison)}
        parts["table"] = json_text.columns_of_json(report["table"])
        check_table(parts, whole_number(report["n_queries"], "n_queries", 0))
        parts["table"] = {name: parts["table"][name] for name in COLUMNS}
        return parts


def compare_summaries(
    summaries: Summaries,
    baseline: str | None,
    test: str | None,
    correction: str | None,
    level: float,
) -> SummaryComparison:
    """Compare systems by the sums of their differences; the parameters are checked."""
    if test not in ("t", None):
        raise ValueError(
            f"test is {test!r}, but Summaries hold sums and no values by query: use test='t', or "
            "None."
        )
    systems, first = list(summaries.systems), next(iter(summaries.systems.values()))
    table: dict[str, list] = {name: [] for name in COLUMNS}
    weights = [
        one.moments for by_measure in summaries.differences.values()
        for one in by_measure.values() if one.moments.n
    ]
    unequal = next((one for one in weights if one.lightest < one.heaviest), None)
    if test is not None and unequal is not None:
        raise ValueError(
            "The tests take all queries alike, but their weights go from "
            f"{unequal.lightest:g} to {unequal.heaviest:g}. Use test=None, which gives weighted "
            "means and intervals, or evaluate without sample_weight."
        )
    cases = [
        (other, system, measure, one) for other, system in pairs_of(systems, baseline)
        for measure, one in summaries.between(other, system).items()
    ]
    p = np.array([math.nan if test is None else one.p_value() for *_, one in cases])
    adjusted = adjust(p, correction)
    within = level_of_each(adjusted, level, correction)
    for (other, system, measure, one), p_value, p_adjusted in zip(cases, p, adjusted, strict=True):
        row = one.row(within) | {"system": system, "measure": measure, "baseline": other}
        row |= {"p_value": float(p_value), "p_adjusted": float(p_adjusted)}
        row["min_detectable"] = detectable(test, row, within, FEWEST)
        row = reaching_0(row, level)
        for name in COLUMNS:
            table[name].append(row[name])
    return SummaryComparison(
        systems, list(first.tallies), summaries.n_queries, unequal is not None, baseline, test,
        correction, level, table,
    )
