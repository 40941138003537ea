"""Tables derived from a Comparison: leaderboards and margin tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.columns import number_validator
from skgraded.measures import Measure
from skgraded.reports.comparison_rows import columns_of, corrected_p_values, correction_text
from skgraded.reports.evaluation import evaluated_name
from skgraded.reports.pairing import refuse_unequal
from skgraded.reports.report import Table
from skgraded.stats import corrections, paired_tests
from skgraded.stats.intervals import ROUNDING, mean_interval
from skgraded.writing import sentences, tables
from skgraded.writing.charts import turned
from skgraded.writing.tables import Marked

if TYPE_CHECKING:
    import pandas

BETTER, WORSE = "▲", "▼"
RESULTS = (  # possible results when a leading system is compared with another system
    "significantly better than", "not significantly better than", "significantly worse than",
    "not tested against",
)
WITH_JUDGE = (
    " The judge's weight is estimated for each mean and each difference, so a difference can "
    "deviate from the means."
)


@dataclass(frozen=True, repr=False, eq=False)
class Leaderboard(Table):
    """Table of the systems' means per measure, returned by `Comparison.leaderboard`.

    In Markdown and LaTeX, the best mean of each measure is bold.

    Attributes
    ----------
    systems : list of str
        Names, starting with the best system by the first measure.
    measures : list of str
        Column headings: measures or, with segments, measures in segments.
    cells : list of list of Marked
        One row per system and one cell per measure. A cell contains the mean as ``value``, whether
        it is the ``best``, a ``mark`` for significant differences, and the mean's ``interval``.
    letters : dict of str to str
        Letters that identify the systems in marks, in the order of `systems`.
    baseline : str or None
        The system that all other systems are compared with; None if all pairs are compared.
    note : str
        Explanation of the marks.
    verdict : str
        Sentences that name the leader by the first measure, the systems it significantly
        outperforms, the measures that disagree, and a large difference in judged documents.
    more : dict of str to list of float
        Further columns, keyed by heading: the mean share of judged documents, such as "Judged@10",
        if there are unjudged documents.
    """

    systems: list[str]
    measures: list[str]
    cells: list[list[Marked]]
    letters: dict[str, str]
    baseline: str | None
    note: str
    verdict: str
    more: dict[str, list[float]] = field(default_factory=dict)

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the means, with one row per system; the columns are ``system`` and the measures.

        If some documents are unjudged, the last column contains the share of judged documents.
        """
        return self._frame(self.systems, [[cell.value for cell in row] for row in self.cells])

    def _shown(self) -> pandas.DataFrame:
        return self._frame(self._names(), self.cells, dtype=object)

    def _frame(self, names: Sequence[str], cells: Any, **settings: Any) -> pandas.DataFrame:
        rows = zip(names, cells, *self.more.values(), strict=True)
        return tables.frame(
            [[name, *row, *shares] for name, row, *shares in rows],
            columns=["system", *self.measures, *self.more], **settings,
        )

    def _names(self) -> list[str]:
        """Return the system names, each preceded by its letter if the marks consist of letters."""
        if self.baseline is not None:
            return self.systems
        return [f"{self.letters[name]} {name}" for name in self.systems]

    def __str__(self) -> str:
        return f"{tables.aligned(self._shown())}\n{self.note}"

    def __repr__(self) -> str:
        return f"Leaderboard of {len(self.systems)} systems by {', '.join(self.measures)}"


def leaderboard_of(view: Any) -> Leaderboard:
    """Create a leaderboard from a `ComparisonView`, with one column per heading."""
    comparison, rows, headings = view.comparison, view.rows, view.headings
    systems, baseline = comparison.systems, comparison.baseline
    judged = comparison.judged or {}
    means, intervals = _means(comparison, rows, headings)
    shown = list(headings.values())
    order = sorted(systems, key=lambda name: -_sortable(means[name, shown[0]]))
    letters = dict(zip(order, _letters(), strict=False))
    outcomes = {  # maps (heading, system, other) to whether system outperforms other
        (row.heading, *pair): row.winner == pair[0]
        for row in rows if row.is_significant is not None
        for pair in ((row.system, row.baseline), (row.baseline, row.system))
    }
    columns, standings = [], []
    for (measure, segment), heading in headings.items():
        best = max(_sortable(means[name, heading]) for name in order)
        leaders = [name for name in order if means[name, heading] >= best - ROUNDING]
        columns.append([
            Marked(
                means[name, heading], name in leaders,
                _mark(heading, name, order, letters, outcomes, baseline),
                intervals[name, heading],
            )
            for name in order
        ])
        standings.append(_standing(
            measure, view.segment_texts.get(segment), heading, best, order, leaders, outcomes
        ))
    is_tested = rows[0].is_significant is not None
    return Leaderboard(
        order, shown, [list(row) for row in zip(*columns, strict=True)], letters, baseline,
        _note(is_tested, baseline) + WITH_JUDGE * (comparison.n_judge is not None),
        " ".join(filter(None, [
            sentences.verdict(standings),
            sentences.judged_gap(systems, judged),
        ])),
        {
            name: shares[[systems.index(system) for system in order]].tolist()
            for name, shares in judged.items() if name not in shown
        },
    )


def _means(
    comparison: Any, rows: Sequence[Any], headings: Mapping[tuple[str, Any], str]
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], Any]]:
    """Return the mean and the interval for each pair (system, heading)."""
    values, system_means = comparison.query_values, comparison.system_means
    means: dict[tuple[str, str], float] = {}
    intervals = {}
    for row in rows:
        means.setdefault((row.system, row.heading), row.mean)
        means.setdefault((row.baseline, row.heading), row.baseline_mean)
    for (measure, segment), heading in headings.items():
        for i, name in enumerate(comparison.systems):
            ends = np.nan, np.nan
            if values is not None:
                ends = values.interval(i, measure, segment, comparison.level)
            elif system_means is not None:
                mean, *ends = system_means[heading][i].tolist()
                if comparison.n_judge is not None:  # rows contain other means; see WITH_JUDGE
                    means[name, heading] = mean
            intervals[name, heading] = tuple(ends)
    return means, intervals


def _mark(
    heading: str, name: str, order: Sequence[str], letters: Mapping[str, str],
    outcomes: Mapping[tuple[Any, ...], bool], baseline: str | None
) -> str:
    """Return the mark that shows the significant differences of a system."""
    if name == baseline:
        return ""
    if baseline is not None:
        is_worse = outcomes.get((heading, baseline, name), False)
        return BETTER * outcomes.get((heading, name, baseline), False) + WORSE * is_worse
    shown: list[str] = []
    for is_beaten, group in groupby(order, lambda other: outcomes.get((heading, name, other))):
        run = [letters[other] for other in group]
        if is_beaten:  # four or more consecutive letters become a range, such as a–d
            shown += [f"{run[0]}–{run[-1]}"] if len(run) > 3 else run
    return ("" if len(order) <= 26 else ",").join(shown)


def _standing(
    measure: str, segment: Any, heading: str, mean: float, order: list[str], leaders: list[str],
    outcomes: Mapping[tuple[Any, ...], bool]
) -> sentences.Standing:
    """Group the other systems by the result of their comparison with the leaders."""
    groups: dict[str, list[str]] = {result: [] for result in RESULTS}
    for other in order if leaders else ():
        better = [outcomes.get((heading, leader, other)) for leader in leaders]
        if other in leaders:
            continue
        if any(outcomes.get((heading, other, leader)) for leader in leaders):
            groups[RESULTS[2]].append(other)
        elif None in better:
            groups[RESULTS[3]].append(other)
        else:
            groups[RESULTS[0] if all(better) else RESULTS[1]].append(other)
    results = tuple((result, tuple(names)) for result, names in groups.items() if names)
    return sentences.Standing(measure, segment, tuple(leaders), mean, results)


def winner_first(rows: Sequence[Any], order: Sequence[str], baseline: str | None) -> list[Any]:
    """Sort the rows of each heading by system, in the given order.

    Without a baseline, the system with the higher mean comes first in each row.
    """
    places = {name: i for i, name in enumerate(order)}
    headings = {row.heading: i for i, row in reversed(list(enumerate(rows)))}
    if baseline is None:
        rows = [better_first(row, order) for row in rows]
    return sorted(
        rows, key=lambda row: (headings[row.heading], places[row.system], places[row.baseline])
    )


def better_first(row: Any, order: Sequence[str]) -> Any:
    """Return the row with the better system first; if means are equal, `order` decides."""
    is_equal = not abs(row.difference) > ROUNDING  # also if the difference is nan
    is_later = order.index(row.system) > order.index(row.baseline)
    return turned(row) if (is_later if is_equal else row.difference < 0) else row


def _sortable(mean: float) -> float:
    return mean if mean == mean else float("-inf")


def _letters() -> Iterator[str]:
    """Generate a, b, …, z, aa, ab and so on."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _note(is_tested: bool, baseline: str | None) -> str:
    if not is_tested:
        return "* best; not tested."
    if baseline is None:
        return "* best; letters: systems it significantly outperforms."
    return (
        f"* best; {BETTER} significantly better than the baseline {baseline}; "
        f"{WORSE} baseline significantly better."
    )


# Margins -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class MarginRow:
    """The difference between two systems and its margin test; see `Comparison.equivalence`."""

    system: str
    measure: str
    margin: float
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    p_adjusted: float
    n_queries: int
    n_undefined: float
    baseline: str
    mean: float
    baseline_mean: float


@dataclass(frozen=True, repr=False, eq=False)
class MarginTests(Table):
    """Results of `Comparison.equivalence` or `Comparison.noninferiority`.

    Attributes
    ----------
    question : {"equivalence", "noninferiority"}
    correction : str or None
    level : float
        Equivalence or noninferiority is shown if p_adjusted ≤ 1 - level.
    rows : list of MarginRow
    """

    question: str
    correction: str | None
    level: float
    rows: list[MarginRow]

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the tests, with one row per measure and pair of systems.

        The columns are described in `Comparison.equivalence`.
        """
        return tables.frame(columns_of(MarginRow, self.rows))

    def sentences(self) -> list[str]:
        """Describe each row in a sentence; significant results come first for each measure."""
        said = correction_text(self.correction, self.rows)
        measures = list(dict.fromkeys(row.measure for row in self.rows))
        rows = sorted(self.rows, key=lambda row: (
            measures.index(row.measure), not corrections.is_significant(row.p_adjusted, self.level)
        ))
        return [
            sentences.margin_sentence(row, self.question, self.level, said) for row in rows
        ]

    def to_latex(self) -> str:
        """Return the columns up to `p_adjusted` as LaTeX text; see `Evaluation.to_latex`."""
        return tables.latex(self.to_frame().loc[:, :"p_adjusted"])

    def __repr__(self) -> str:
        rows = "; ".join(
            f"{row.system} - {row.baseline}, {row.measure}: {row.difference:+.4f}, "
            f"margin {row.margin:g}, p={row.p_value:.3g}"
            for row in self.rows
        )
        return f"{self.question}({rows})"


def margin_tests(comparison: Any, margin: Any, question: str) -> MarginTests:
    """Test the difference in each row of a Comparison against a margin."""
    if comparison.segments is not None:
        raise ValueError("Margin tests do not support segments: call compare without by=.")
    refuse_unequal(comparison.weights, comparison.query_ids)
    margins = margins_of(margin, comparison.measures)
    level, correction = comparison.level, corrections.without_hsd(comparison.correction)
    if level <= 0.5:
        raise ValueError(
            f"Margin tests require a comparison with a level above 0.5; got {level}. Use the "
            "default, compare(..., level=0.95)."
        )
    samples = [
        comparison.differences(row.system, row.baseline, row.measure) for row in comparison.rows
    ]
    p_values = np.array([
        paired_tests.margin_p_value(sample, margins[row.measure], question)
        for sample, row in zip(samples, comparison.rows, strict=True)
    ])
    adjusted, within = corrected_p_values(p_values, correction, level)
    rows = []
    for i, row in enumerate(comparison.rows):
        low, high = mean_interval(samples[i], None, 2 * within - 1, "t")
        rows.append(MarginRow(
            row.system, row.measure, margins[row.measure], row.difference, low, high,
            float(p_values[i]), adjusted[i], row.n_queries, row.n_undefined, row.baseline,
            row.mean, row.baseline_mean,
        ))
    return MarginTests(question, correction, level, rows)


def margins_of(
    margin: float | Mapping[str | Measure, float], measures: list[str], argument: str = "margin"
) -> dict[str, float]:
    """Return the margin for each measure, keyed by measure name."""
    if not isinstance(margin, Mapping):
        return dict.fromkeys(measures, number_validator(argument, 0, above=True)(margin))
    margins = {
        evaluated_name(measure, measures):
        number_validator(f"{argument}[{str(measure)!r}]", 0, above=True)(value)
        for measure, value in margin.items()
    }
    missing = [measure for measure in measures if measure not in margins]
    if missing:
        raise ValueError(f"{argument} has no value for {missing}: pass a value for every measure.")
    return margins
