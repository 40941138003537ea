"""What a Comparison shows: `ComparisonView` for pages and plots, and the class `Leaderboard`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, groupby, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.words import counted
from skgraded.reports import comparison_rows
from skgraded.reports.comparison_rows import ComparisonRow, ShownRow
from skgraded.reports.report import Table
from skgraded.stats import corrections, paired_tests
from skgraded.stats.rounding import are_equal
from skgraded.writing import sentences, tables
from skgraded.writing.charts import turned
from skgraded.writing.tables import Interval, Marked
from skgraded.writing.text import Bound

if TYPE_CHECKING:
    import pandas

BETTER, WORSE = "▲", "▼"
RESULTS = (  # possible results when a leading system is compared with another system
    "significantly better than",
    "not significantly better than",
    "significantly worse than",
    "not tested against",
)


class ComparisonView:
    """The rows, headings, leaderboard and sentences of a Comparison."""

    def __init__(self, comparison: Any) -> None:
        self.comparison = comparison
        segments = comparison.segments
        self.headings = comparison_rows.headings_of(comparison.measures, segments)
        self.segment_texts = comparison_rows.segment_texts(segments or [])  # unique texts

    # Rows ----------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> list[ShownRow]:
        """The rows with headings and significance; p-values that are only bounds are marked."""
        return [
            ShownRow(
                **vars(row) | self._bounds(row),
                heading=self.headings[row.measure, row.segment],
                is_significant=self.is_significant(row.p_adjusted),
                ranks_contradict=self._ranks_contradict(row),
            )
            for row in self.comparison.rows
        ]

    @cached_property
    def ranked_rows(self) -> list[ShownRow]:
        """The rows of each measure in leaderboard order, best system first.

        Without a baseline, `system` is the better of the two systems in each row.
        """
        rows, order, headings = self.rows, self.leaderboard.systems, list(self.headings.values())
        if self.comparison.baseline is None:
            rows = [better_first(row, order) for row in rows]
        return sorted(
            rows,
            key=lambda row: (
                headings.index(row.heading),
                order.index(row.system),
                order.index(row.baseline),
            ),
        )

    def is_significant(self, p: float) -> bool | None:
        """Return whether a corrected p-value is significant, or None without a test."""
        if self.comparison.test is None:
            return None
        return corrections.is_significant(p, self.comparison.level)

    @cached_property
    def _family_of(self) -> dict[str, sentences.Family]:
        comparison = self.comparison
        return comparison_rows.families_by_measure(
            comparison.correction, comparison.rows, comparison.family
        )

    @cached_property
    def _family_with(self) -> dict[int, tuple[np.ndarray, int]]:
        """For each row, the rows that its correction covers, and its place among them."""
        names = comparison_rows.FAMILIES[self.comparison.family]
        families = map(np.array, comparison_rows.grouped(self.comparison.rows, *names))
        return {int(i): (family, place) for family in families for place, i in enumerate(family)}

    def _ranks_contradict(self, row: ComparisonRow) -> bool:
        """Return whether a significant rank test favors the system with the lower mean."""
        test = self.comparison.test
        if test is None or not paired_tests.TESTS[test].compares_ranks:
            return False
        return bool(self.is_significant(row.p_adjusted)) and paired_tests.ranks_contradict(
            self._differences_of(row), row.difference
        )

    def _differences_of(self, row: ComparisonRow) -> np.ndarray:
        return self.comparison.differences(row.system, row.baseline, row.measure, row.segment)

    def _bounds(self, row: ComparisonRow) -> dict[str, Bound]:
        """Return the p-values of a row that are only upper bounds, as instances of `Bound`."""
        smallest, by_resamples = self._smallest_p(row)
        if not by_resamples or row.p_value > smallest * (1 + 1e-9):
            return {}
        return {"p_value": Bound(row.p_value), "p_adjusted": Bound(row.p_adjusted)}

    def _smallest_p(self, row: ComparisonRow) -> tuple[float, bool]:
        if self.comparison.test is None:
            return np.nan, False
        return paired_tests.smallest_p(
            self.comparison.test, row.n_queries, row.ties, self.comparison.n_resamples
        )

    # Tables --------------------------------------------------------------------------------------

    @cached_property
    def leaderboard(self) -> Leaderboard:
        """The result of `Comparison.leaderboard`."""
        return leaderboard_of(self)

    def frame(self) -> pandas.DataFrame:
        """Return the DataFrame for Markdown and LaTeX, without uninformative columns."""
        comparison = self.comparison
        columns = comparison_rows.columns_of(ComparisonRow, self.ranked_rows)
        hidden = ["ci_method"] + ["baseline"] * (comparison.baseline is not None)
        hidden += ["segment"] * (comparison.segments is None)
        if comparison.test is None:
            hidden += ["p_value", "p_adjusted", "min_detectable"]
        if not any(row.n_undefined > 0 for row in comparison.rows):
            hidden.append("n_undefined")
        shown = {name: column for name, column in columns.items() if name not in hidden}
        return tables.frame(shown, dtype=object)

    # Text ----------------------------------------------------------------------------------------

    def row_sentences(self) -> list[tuple[ShownRow, str]]:
        """Return (row, sentence) pairs; significant rows of each measure come first."""
        comparison = self.comparison
        p_values = np.array([row.p_value for row in comparison.rows], dtype=float)
        sizes = self._segment_sizes()
        headings = list(self.headings.values())
        order = self.leaderboard.systems
        numbered = [(i, better_first(row, order)) for i, row in enumerate(self.rows)]
        numbered.sort(
            key=lambda pair: (
                headings.index(pair[1].heading),
                not pair[1].is_significant,
                order.index(pair[1].system),
                order.index(pair[1].baseline),
            )
        )
        return [
            (
                row,
                sentences.sentence(
                    row,
                    self._findings(i, row, p_values),
                    sizes[row.segment],
                    comparison.level,
                    self._family_of[row.measure],
                ),
            )
            for i, row in numbered
        ]

    def _segment_sizes(self) -> dict[Any, int]:
        """Return the number of queries in each segment, and overall with the key None."""
        comparison = self.comparison
        sizes = {None: comparison.n_queries}
        for segment in comparison.segments or []:
            if comparison.query_values is not None:
                sizes[segment] = len(comparison.query_values.queries_of(segment))
            else:  # for Summaries, only the number of queries with values is known
                rows = [row for row in comparison.rows if row.segment == segment]
                sizes[segment] = max(row.n_queries for row in rows)
        return sizes

    def _findings(self, i: int, row: ShownRow, p_values: np.ndarray) -> sentences.Findings:
        """Return the results of the test for row i, other than the p-value."""
        test, level = self.comparison.test, self.comparison.level
        if test is None or row.ties == row.n_queries:
            return sentences.Findings()
        if row.is_significant:
            assumes = paired_tests.assumption(test, row.n_queries - row.ties, level)
            return sentences.Findings(assumes=assumes)
        tests, place = self._family_with[i]
        p_values = p_values[tests]
        p_values[place], by_resamples = self._smallest_p(row)
        adjusted = corrections.adjust(p_values, self.comparison.correction)[place]
        if corrections.is_significant(adjusted, level):
            return sentences.Findings()
        n_resamples = self.comparison.n_resamples if by_resamples else None
        return sentences.Findings(smallest_p=adjusted, n_resamples=n_resamples)

    def caveats(self) -> list[str]:
        """Report different shares of judged documents, and systems that retrieved nothing."""
        comparison = self.comparison
        return [
            *filter(
                None,
                [
                    sentences.judged_gap(comparison.systems, comparison.judged or {}),
                    sentences.unanswered(
                        comparison.systems, comparison.n_unanswered, comparison.n_queries
                    ),
                ],
            )
        ]

    @property
    def procedure(self) -> str:
        """Name of the test and, for several tests, the correction and its family."""
        family = self._family_of[self.comparison.measures[0]]
        of = None if family.of is None else "each measure"
        return sentences.procedure(self.comparison.test, family._replace(of=of))

    def n_shown(self) -> str:
        """Return the numbers of queries and segments as text."""
        comparison = self.comparison
        shown = sentences.query_counts(comparison.n_queries)
        if comparison.segments is not None:
            shown += f" in {counted(len(comparison.segments), 'segment', 'segments')}"
        return shown

    def _lead(self) -> str:
        """Describe the comparison and its test in the text below the title of a page."""
        comparison = self.comparison
        against = "All pairs" if comparison.baseline is None else f"Baseline: {comparison.baseline}"
        weighted = ", weighted" if comparison.is_weighted else ""
        lead = f"{against}. {self.n_shown()}{weighted}; {self.procedure}."
        if comparison.test in paired_tests.DRAWS:
            seed = "" if comparison.seed is None else f", seed {comparison.seed}"
            lead += f" {comparison.n_resamples:,} resamples{seed}."
        return lead

    def page(self, title: str | None = None) -> Any:
        """Return the content of the HTML page."""
        from skgraded.writing.comparison_page import ComparisonPage, QueryTable

        comparison, board, queries, frame = self.comparison, self.leaderboard, None, self.frame()
        if comparison.correction is None:
            frame = frame.drop(columns="p_adjusted", errors="ignore")
        if comparison.query_values is not None and comparison.segments is None:
            order = [comparison.systems.index(name) for name in board.systems]
            second = board.systems[1] if comparison.baseline is None else comparison.baseline
            queries = QueryTable(
                comparison.query_ids,
                {name: values[order] for name, values in comparison.per_query.items()},
                comparison.weights,
                board.systems,
                board.systems.index(second),
            )
        return ComparisonPage(
            title=f"Comparison of {len(comparison.systems)} systems" if title is None else title,
            lead=self._lead(),
            board=board,
            level=comparison.level,
            rows=self.ranked_rows,
            frame=frame,
            sentences=self.row_sentences,
            queries=queries,
        )


# Leaderboards -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class Leaderboard(Table):
    """Table of the systems' means per measure, returned by `Comparison.leaderboard`.

    In Markdown and LaTeX, the best mean of each measure is bold, and each mean is followed by its
    interval at the level of the comparison.

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
        Letters that identify the systems in marks.
    baseline : str or None
        As in `compare`.
    note : str
        Explanation of the marks.
    verdict : str
        Sentences about the leader, the systems it significantly outperforms, the measures that
        disagree, large differences in judged documents, and systems that retrieved nothing.
    more : dict of str to list of float
        Mean shares of judged documents, keyed by heading; empty if every document is judged.
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
        names = self.systems
        if self.baseline is None:  # marks consist of letters
            names = [f"{self.letters[name]} {name}" for name in names]
        return self._frame(names, self.cells, dtype=object)

    def _frame(self, names: Sequence[str], cells: Any, **settings: Any) -> pandas.DataFrame:
        rows = zip(names, cells, *self.more.values(), strict=True)
        return tables.frame(
            [[name, *row, *shares] for name, row, *shares in rows],
            columns=["system", *self.measures, *self.more],
            **settings,
        )

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
    sortable = {key: -np.inf if np.isnan(mean) else mean for key, mean in means.items()}
    order = sorted(systems, key=lambda name: -sortable[name, shown[0]])
    letters = dict(zip(order, _letters(), strict=False))
    outcomes = {  # maps (heading, system, other) to whether system outperforms other
        (row.heading, *pair): row.winner == pair[0]
        for row in rows
        if row.is_significant is not None
        for pair in ((row.system, row.baseline), (row.baseline, row.system))
    }
    columns, standings = [], []
    for (measure, segment), heading in headings.items():
        best = max(sortable[name, heading] for name in order)
        leaders = [name for name in order if are_equal(means[name, heading], best)]
        columns.append(
            [
                Marked(
                    means[name, heading],
                    name in leaders,
                    _mark(heading, name, order, letters, outcomes, baseline),
                    intervals[name, heading],
                )
                for name in order
            ]
        )
        standings.append(
            _standing(
                measure, view.segment_texts.get(segment), heading, best, order, leaders, outcomes
            )
        )
    is_tested = rows[0].is_significant is not None
    return Leaderboard(
        order,
        shown,
        [list(row) for row in zip(*columns, strict=True)],
        letters,
        baseline,
        _note(is_tested, baseline),
        " ".join([sentences.verdict(standings), *view.caveats()]),
        {
            name: shares[[systems.index(system) for system in order]].tolist()
            for name, shares in judged.items()
            if name not in shown
        },
    )


def _means(
    comparison: Any, rows: Sequence[Any], headings: Mapping[tuple[str, Any], str]
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], Interval]]:
    """Return the mean and the interval for each pair (system, heading)."""
    values, system_means = comparison.query_values, comparison.system_means
    means: dict[tuple[str, str], float] = {}
    intervals: dict[tuple[str, str], Interval] = {}
    for row in rows:
        means.setdefault((row.system, row.heading), row.mean)
        means.setdefault((row.baseline, row.heading), row.baseline_mean)
    for (measure, segment), heading in headings.items():
        for i, name in enumerate(comparison.systems):
            if values is not None:
                ends = values.interval(i, measure, segment, comparison.level)
            else:
                ends = system_means[heading][i, 1:].tolist()
            intervals[name, heading] = Interval(*ends)
    return means, intervals


def _mark(
    heading: str,
    name: str,
    order: Sequence[str],
    letters: Mapping[str, str],
    outcomes: Mapping[tuple[Any, ...], bool],
    baseline: str | None,
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
    measure: str,
    segment: Any,
    heading: str,
    mean: float,
    order: list[str],
    leaders: list[str],
    outcomes: Mapping[tuple[Any, ...], bool],
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


def better_first(row: Any, order: Sequence[str]) -> Any:
    """Return the row with the better system first; if means are equal, `order` decides."""
    is_equal = np.isnan(row.difference) or are_equal(row.mean, row.baseline_mean)
    is_later = order.index(row.system) > order.index(row.baseline)
    return turned(row) if (is_later if is_equal else row.difference < 0) else row


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
