"""Summaries of several systems, and of their differences query by query."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Self

import numpy as np

from skgraded.reports.comparison import Comparison
from skgraded.reports.comparison_rows import Case, Settings, cases_of, compared_rows
from skgraded.reports.evaluation import LEVEL, Evaluation
from skgraded.reports.pairing import check_evaluations, pair_evaluations
from skgraded.reports.summary import MOMENTS, Mergeable, Summary
from skgraded.stats.exact_sums import Moments, exact_sum
from skgraded.stats.paired_samples import PairedSample, count_outcomes, differences_by_query
from skgraded.stats.paired_tests import FEWEST, TIE_DECIMALS, p_of_identical, p_of_t
from skgraded.writing import tables
from skgraded.writing.json_text import FRACTION, INTEGER, TEXT, Form, by_name, list_of, record

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

    def __post_init__(self) -> None:
        counts = (self.wins, self.ties, self.losses)
        if min(counts) < 0 or sum(counts) != self.moments.n:
            raise ValueError(
                f"wins, ties and losses are {counts}, of {self.moments.n} differences."
            )

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
        return cls(Moments.of(differences, own), one, other, **count_outcomes(differences))

    def __add__(self, other: Differences) -> Differences:
        return Differences(*(
            getattr(self, field.name) + getattr(other, field.name) for field in fields(self)
        ))

    def __neg__(self) -> Differences:
        return Differences(
            -self.moments, self.second, self.first, self.losses, self.ties, self.wins
        )

    def sample(self) -> PairedSample:
        """What a comparison reports about the differences."""
        moments, n = self.moments, self.moments.n
        mean, baseline_mean = (
            float(total / moments.w) if n else math.nan for total in (self.second, self.first)
        )
        return PairedSample(
            mean, baseline_mean, self.wins, self.ties, self.losses, n_undefined=math.nan,
            mean_difference=moments.mean,
            deviation=0.0 if n < 2 or self._are_constant() else moments.deviation(),
            differences=moments,
        )

    def p_value(self) -> float:
        """Two-sided p-value of the paired t-test, as `p_values` computes it from differences."""
        n = self.moments.n
        if n < 2 or self.ties == n:
            return 1.0 if n else math.nan
        if self._are_constant():
            return p_of_identical(n)
        return p_of_t(n, self.moments.mean / self.moments.standard_error)

    def _are_constant(self):
        ends = self.moments.lowest, self.moments.highest
        return len({round(end, TIE_DECIMALS) for end in ends}) == 1


def _read_pairs(written, name):
    found = {}
    for i, triple in enumerate(list_of(Form(list, lambda value, _: value)).read(written, name)):
        if not isinstance(triple, list) or len(triple) != 3:
            raise ValueError(f"{name}[{i}] must be two systems and their differences.")
        pair = tuple(TEXT.read(system, f"{name}[{i}]") for system in triple[:2])
        if pair in found:
            raise ValueError(f"{name} has {pair} more than once.")
        found[pair] = by_name(DIFFERENCES).read(triple[2], f"{name}[{i}][2]")
    return found


DIFFERENCES = record(
    Differences, moments=MOMENTS, first=FRACTION, second=FRACTION, wins=INTEGER, ties=INTEGER,
    losses=INTEGER,
)
PAIRS = Form(
    lambda pairs: [[*pair, by_name(DIFFERENCES).write(one)] for pair, one in pairs.items()],
    _read_pairs,
)


# All systems -------------------------------------------------------------------------------------

@dataclass(frozen=True, repr=False)
class Summaries(Mergeable):
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
    Comparison(3 queries: lgbm - bm25, RR: +0.3333, p=0.184)
    """

    systems: dict[str, Summary]
    differences: dict[tuple[str, str], dict[str, Differences]]

    _json = {"systems": by_name(record(Summary, **Summary._json)), "differences": PAIRS}

    def __post_init__(self) -> None:
        names = list(self.systems)
        if len(names) < 2:
            raise ValueError(f"systems are {names}: too few to compare.")
        if list(self.differences) != list(combinations(names, 2)):
            raise ValueError(
                f"differences are of {list(self.differences)}, not of each pair of {names}."
            )
        for name, summary in self.systems.items():
            if summary.n_queries != self.n_queries or list(summary.tallies) != self.measures:
                raise ValueError(
                    f"systems[{name!r}] has other measures, or another number of queries, than "
                    f"{names[0]!r}."
                )
        for pair, by_measure in self.differences.items():
            n = max((one.moments.n for one in by_measure.values()), default=0)
            if list(by_measure) != self.measures or n > self.n_queries:
                raise ValueError(
                    f"differences of {pair} are by {list(by_measure)}, of {n} queries."
                )

    @classmethod
    def of(cls, evaluations: Mapping[str, Evaluation]) -> Summaries:
        """Summarize Evaluations by name: systems that were evaluated on the same queries."""
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

    @property
    def n_queries(self) -> int:
        """All queries, also those without a value or weight."""
        return next(iter(self.systems.values())).n_queries

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        return list(next(iter(self.systems.values())).tallies)

    def between(self, baseline: str, system: str) -> dict[str, Differences]:
        """Differences by measure name: `system` less `baseline`, which are names of systems."""
        if (baseline, system) in self.differences:
            return self.differences[baseline, system]
        return {name: -one for name, one in self.differences[system, baseline].items()}

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate means and intervals, a row a system and measure.

        The pandas.DataFrame has the column ``system`` and those of `Summary.to_frame`.
        """
        return tables.frame([
            {"system": name, **row}
            for name, summary in self.systems.items() for row in summary._summary_rows()
        ])

    def _page(self, title=None):
        return compare_sums(self, Settings(None, None, LEVEL, FEWEST, 0))._page(title)

    def __repr__(self) -> str:
        systems = "; ".join(
            f"{name}: " + ", ".join(f"{one}={value:.4f}" for one, value in summary.mean().items())
            for name, summary in self.systems.items()
        )
        return f"Summaries({self.n_queries} queries: {systems})"


class SumSamples:
    """Exact sums as a source of samples."""

    def __init__(self, summaries: Summaries, cases: Sequence[Case]) -> None:
        self.cases = cases
        systems = list(summaries.systems)
        self._differences = [
            summaries.between(systems[case.baseline], systems[case.system])[case.measure]
            for case in cases
        ]

    def samples(self) -> list[PairedSample]:
        """Reduce the differences of each case to numbers."""
        return [differences.sample() for differences in self._differences]

    def p_values(self, settings: Settings, done: Callable[[int], object]) -> np.ndarray:
        """Test each case with the paired t-test, the only one that sums allow."""
        return np.array([differences.p_value() for differences in self._differences])


def _paired(evaluations):
    """Values of all systems by measure, in one order of queries, and the weights of these."""
    first, *others = evaluations.values()
    if all(
        one.query_ids is first.query_ids and one.weights is first.weights
        and list(one.per_query) == list(first.per_query) for one in others
    ):
        return {
            name: [one.per_query[name] for one in evaluations.values()] for name in first.per_query
        }, first.weights
    values = pair_evaluations(evaluations).values
    return values.per_query, values.weights


def compare_sums(
    summaries: Summaries, settings: Settings, baseline: str | None = None
) -> Comparison:
    """Compare systems through the sums of their differences; the parameters are checked."""
    if settings.test not in ("t", None):
        raise ValueError(
            f"test is {settings.test!r}, but Summaries hold sums and no values by query: use "
            "test='t', or None."
        )
    all_moments = (
        differences.moments for by_measure in summaries.differences.values()
        for differences in by_measure.values()
    )
    unequal = next((one for one in all_moments if one.n and one.lightest < one.heaviest), None)
    if settings.test is not None and unequal is not None:
        raise ValueError(
            "The tests take all queries alike, but their weights go from "
            f"{unequal.lightest:g} to {unequal.heaviest:g}. Use test=None, which gives "
            "weighted means and intervals, or evaluate without sample_weight."
        )
    systems, measures = list(summaries.systems), summaries.measures
    cases = cases_of(systems, measures, baseline)
    return Comparison(
        systems=systems, measures=measures, baseline=baseline, seed=None,
        rows=compared_rows(SumSamples(summaries, cases), systems, settings),
        test=settings.test, correction=settings.correction, level=settings.level,
        n_resamples=settings.n_resamples, n_queries=summaries.n_queries,
        is_weighted=unequal is not None,
        mean_intervals={
            measure: np.array([
                summary.confidence_interval(settings.level)[measure]
                for summary in summaries.systems.values()
            ])
            for measure in measures
        },
    )
