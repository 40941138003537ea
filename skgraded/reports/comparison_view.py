"""What a Comparison shows: ranked rows, sentences, the leaderboard and the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.words import counted, object_array
from skgraded.reports.comparison_rows import FLAGS, Rows, families_of, headings_of, segment_texts
from skgraded.reports.report import Table
from skgraded.stats import corrections
from skgraded.stats.paired_tests import draws_resamples, smallest_p_values
from skgraded.stats.rounding import are_equal
from skgraded.writing import sentences, tables
from skgraded.writing.columns import list_rows, means_of_systems, select_rows, swap_systems
from skgraded.writing.sentences import Procedure
from skgraded.writing.tables import Grid, Interval, Marked
from skgraded.writing.text import Bound

if TYPE_CHECKING:
    import pandas

BETTER, WORSE = "▲", "▼"
PAIR = ("system", "baseline")  # columns with the names of a pair
RESULTS = (  # possible results when a leading system is compared with another system
    "significantly better than",
    "not significantly better than",
    "significantly worse than",
    "not tested against",
)


# Rows --------------------------------------------------------------------------------------------


def order_systems(comparison: Any) -> list[str]:
    """Return the systems in the order of the leaderboard: best system by the first measure first."""
    n_headings = len(headings_of(comparison.measures, comparison.segments))
    means = means_of_systems(select_rows(comparison.rows, slice(None, None, n_headings)))
    return sorted(
        comparison.systems,
        key=lambda name: math.inf if math.isnan(means[name]) else -means[name],
    )


def rank_rows(comparison: Any, rows: Rows | None = None, *, in_text: bool = False) -> Rows:
    """Return the rows of each measure in leaderboard order, and their ``heading``.

    Without a baseline, and `in_text`, `system` is the better of the two systems in each row.
    In text, significant differences come first.
    """
    headings = list(headings_of(comparison.measures, comparison.segments).values())
    order = order_systems(comparison)
    place = {name: i for i, name in enumerate(order)}
    rows = comparison.rows if rows is None else rows
    heading = np.arange(len(rows["system"])) % len(headings)  # in the order of `pair_systems`
    rows = rows | {"heading": object_array([headings[i] for i in heading])}
    if in_text or comparison.baseline is None:
        system, baseline = (np.array([place[name] for name in rows[key]]) for key in PAIR)
        is_tie = are_equal(rows["mean"], rows["baseline_mean"]) | np.isnan(rows["difference"])
        is_worse = np.where(is_tie, system > baseline, rows["difference"] < 0)
        rows = swap_systems(rows, is_worse)
    keys: list[Any] = [[place[name] for name in rows[key]] for key in PAIR[::-1]]
    if in_text:
        keys.append(~rows["is_significant"])
    return select_rows(rows, np.lexsort([*keys, heading]))


def select_columns(comparison: Any, rows: Rows) -> dict[str, list[Any]]:
    """Return the columns for Markdown, LaTeX and pages, without uninformative columns."""
    hidden = {*FLAGS, "heading", "ci_method"}
    if comparison.baseline is not None:
        hidden.add("baseline")
    if comparison.segments is None:
        hidden.add("segment")
    if comparison.test is None:
        hidden |= {"p_value", "p_adjusted", "min_detectable"}
    if not (rows["n_undefined"] > 0).any():  # nan: unknown
        hidden.add("n_undefined")
    shown = {name: column.tolist() for name, column in rows.items() if name not in hidden}
    for name in {"p_value", "p_adjusted"} - hidden:
        cells = zip(shown[name], rows["p_is_bound"], strict=True)
        shown[name] = [Bound(p) if is_bound else p for p, is_bound in cells]
    return shown


# Text --------------------------------------------------------------------------------------------


def row_sentences(comparison: Any) -> list[tuple[dict[str, Any], str]]:
    """Return pairs (row, sentence); significant rows of each measure come first."""
    smallest, are_limits = _smallest_p_values(comparison)
    rows = comparison.rows | {"smallest_p": smallest, "is_limited": are_limits}
    procedures = {name: procedure_of(comparison, name) for name in comparison.measures}
    ranked = list_rows(rank_rows(comparison, rows, in_text=True))
    return [(row, sentences.describe_pair(row, procedures[row["measure"]])) for row in ranked]


def _smallest_p_values(comparison: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest possible corrected p-value of rows that could not be significant.

    It is nan for other rows. Also return whether the number of resamples limits it.
    """
    rows, test, level = comparison.rows, comparison.test, comparison.level
    n, ties, p_values = rows["n_defined"], rows["ties"], rows["p_value"]
    limits = np.full(len(n), np.nan)
    if test is None:
        return limits, n < 0
    smallest, are_limits = smallest_p_values(test, n, ties, comparison.n_resamples)
    is_open = ~rows["is_significant"] & (ties != n)
    for tests in families_of(rows, comparison.family):
        for place, i in enumerate(tests):
            if is_open[i]:
                p = p_values[tests]
                p[place] = smallest[i]
                limits[i] = corrections.adjust(p, comparison.correction)[place]
    return np.where(corrections.is_significant(limits, level), np.nan, limits), are_limits


def procedure_of(comparison: Any, measure: str, part: str | None = None) -> Procedure:
    """Return the test of a measure and its correction; a family within it is named `part`."""
    p_values, has_part = comparison.rows["p_value"], False
    if comparison.family == "measure" and len(comparison.measures) > 1:
        p_values, has_part = p_values[comparison.rows["measure"] == measure], True
    return Procedure(
        comparison.test,
        comparison.level,
        comparison.n_resamples,
        comparison.correction,
        int(np.count_nonzero(~np.isnan(p_values))),
        (part or measure) if has_part else None,
    )


def caveats(comparison: Any) -> list[str]:
    """Report different shares of judged documents, and systems that retrieved nothing."""
    systems, n_queries = comparison.systems, comparison.n_queries
    gap = sentences.judged_gap(systems, comparison.judged or {})
    return [*filter(None, [gap, sentences.unanswered(systems, comparison.n_unanswered, n_queries)])]


def describe_size(comparison: Any) -> str:
    """Return the numbers of queries and segments as text."""
    text = sentences.query_counts(comparison.n_queries)
    if comparison.segments is not None:
        text += f" in {counted(len(comparison.segments), 'segment', 'segments')}"
    return text


def describe_procedure(comparison: Any) -> str:
    """Name the test and, for several tests, the correction and its family."""
    return str(procedure_of(comparison, comparison.measures[0], "each measure"))


def _lead(comparison: Any) -> str:
    """Describe the comparison and its test in the text below the title of a page."""
    against = "All pairs" if comparison.baseline is None else f"Baseline: {comparison.baseline}"
    weighted = ", weighted" if comparison.is_weighted else ""
    procedure = describe_procedure(comparison)
    lead = f"{against}. {describe_size(comparison)}{weighted}; {procedure}."
    if draws_resamples(comparison.test):
        seed = "" if comparison.seed is None else f", seed {comparison.seed}"
        lead += f" {comparison.n_resamples:,} resamples{seed}."
    return lead


def page_of(comparison: Any, title: str | None = None) -> Any:
    """Return the content of the HTML page."""
    from skgraded.writing.comparison_page import ComparisonPage, QueryTable

    board, queries, rows = leaderboard_of(comparison), None, rank_rows(comparison)
    table = select_columns(comparison, rows)
    if comparison.correction is None:
        table.pop("p_adjusted", None)
    if comparison.query_values is not None and comparison.segments is None:
        order = [comparison.systems.index(name) for name in board.systems]
        second = board.systems[1] if comparison.baseline is None else comparison.baseline
        values = comparison.query_values
        queries = QueryTable(
            values.query_ids,
            {name: of_systems[order] for name, of_systems in values.per_query.items()},
            values.weights,
            board.systems,
            board.systems.index(second),
        )
    return ComparisonPage(
        title=f"Comparison of {len(comparison.systems)} systems" if title is None else title,
        lead=_lead(comparison),
        board=board,
        level=comparison.level,
        is_tested=comparison.test is not None,
        rows=rows,
        table=table,
        sentences=row_sentences(comparison),
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
        names, rows = self._grid(self.systems, [[cell.value for cell in row] for row in self.cells])
        return tables.frame(rows, columns=names)

    def _shown(self) -> Grid:
        names = self.systems
        if self.baseline is None:  # marks consist of letters
            names = [f"{self.letters[name]} {name}" for name in names]
        return self._grid(names, self.cells)

    def _grid(self, names: Sequence[str], cells: Any) -> Grid:
        rows = zip(names, cells, *self.more.values(), strict=True)
        return Grid(
            ["system", *self.measures, *self.more],
            [[name, *row, *shares] for name, row, *shares in rows],
        )

    def __str__(self) -> str:
        return f"{tables.aligned(self._shown())}\n{self.note}"

    def __repr__(self) -> str:
        return f"Leaderboard of {len(self.systems)} systems by {', '.join(self.measures)}"


def leaderboard_of(comparison: Any) -> Leaderboard:
    """Create the leaderboard of a comparison, with one column per heading."""
    systems, baseline = comparison.systems, comparison.baseline
    headings = headings_of(comparison.measures, comparison.segments)
    texts = segment_texts(comparison.segments or [])
    order = order_systems(comparison)
    letters = dict(zip(order, _letters(), strict=False))
    columns, standings = [], []
    for i, ((measure, segment), heading) in enumerate(headings.items()):
        rows = select_rows(comparison.rows, slice(i, None, len(headings)))
        means = means_of_systems(rows)
        outcomes = {} if comparison.test is None else _outcomes_of(rows)
        intervals = _intervals_of(comparison, measure, segment, heading)
        best = max(-math.inf if math.isnan(mean) else mean for mean in means.values())
        leaders = [name for name in order if are_equal(means[name], best)]
        columns.append(
            [
                Marked(
                    means[name],
                    name in leaders,
                    _mark(name, order, letters, outcomes, baseline),
                    intervals[name],
                )
                for name in order
            ]
        )
        results = _results(order, leaders, outcomes)
        standings.append(
            sentences.Standing(measure, texts.get(segment), tuple(leaders), best, results)
        )
    shown = list(headings.values())
    places = [systems.index(name) for name in order]
    return Leaderboard(
        order,
        shown,
        [list(row) for row in zip(*columns, strict=True)],
        letters,
        baseline,
        _note(comparison.test is not None, baseline),
        " ".join([sentences.verdict(standings), *caveats(comparison)]),
        {
            name: shares[places].tolist()
            for name, shares in (comparison.judged or {}).items()
            if name not in shown
        },
    )


def _outcomes_of(rows: Rows) -> dict[tuple[str, str], bool]:
    """Return whether the first system of each pair significantly outperforms the second."""
    outcomes = {}
    for row in list_rows(rows):
        pair = row["system"], row["baseline"]
        outcomes[pair] = row["has_winner"] and row["difference"] > 0
        outcomes[pair[::-1]] = row["has_winner"] and row["difference"] < 0
    return outcomes


def _intervals_of(comparison: Any, measure: str, segment: Any, heading: str) -> dict[str, Interval]:
    """Return the interval of each system's mean."""
    if comparison.query_values is None:
        intervals = comparison.system_intervals[heading].tolist()
    else:
        intervals = comparison.query_values.intervals(measure, segment, comparison.level)
    return {name: Interval(*ends) for name, ends in zip(comparison.systems, intervals, strict=True)}


def _mark(
    name: str,
    order: Sequence[str],
    letters: Mapping[str, str],
    outcomes: Mapping[tuple[str, str], bool],
    baseline: str | None,
) -> str:
    """Return the mark that shows the significant differences of a system."""
    if name == baseline:
        return ""
    if baseline is not None:
        is_worse = outcomes.get((baseline, name), False)
        return BETTER * outcomes.get((name, baseline), False) + WORSE * is_worse
    shown: list[str] = []
    for is_beaten, group in groupby(order, lambda other: outcomes.get((name, other))):
        run = [letters[other] for other in group]
        if is_beaten:  # four or more consecutive letters become a range, such as a–d
            shown += [f"{run[0]}–{run[-1]}"] if len(run) > 3 else run
    return ("" if len(order) <= 26 else ",").join(shown)


def _results(
    order: Sequence[str], leaders: Sequence[str], outcomes: Mapping[tuple[str, str], bool]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Group the other systems by the result of their comparison with the leaders."""
    groups: dict[str, list[str]] = {result: [] for result in RESULTS}
    for other in order if leaders else ():
        better = [outcomes.get((leader, other)) for leader in leaders]
        if other in leaders:
            continue
        if any(outcomes.get((other, leader)) for leader in leaders):
            groups[RESULTS[2]].append(other)
        elif None in better:
            groups[RESULTS[3]].append(other)
        else:
            groups[RESULTS[0] if all(better) else RESULTS[1]].append(other)
    return tuple((result, tuple(names)) for result, names in groups.items() if names)


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
