"""What a Comparison shows: ranked rows, sentences and the leaderboard."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.words import counted, object_array
from skgraded.reports.report import Table
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.paired_tests import TESTS
from skgraded.stats.rounding import are_equal
from skgraded.writing import sentences, tables
from skgraded.writing.columns import Rows, group_rows, is_in, list_rows, select_rows, swap_systems
from skgraded.writing.tables import Grid, Interval, Marked
from skgraded.writing.text import Bound, label

if TYPE_CHECKING:
    import pandas

    from skgraded.reports.comparison import Comparison

BETTER, WORSE = "▲", "▼"
NO_RANKS = (math.nan, math.nan)
PAIR = ("system", "baseline")  # columns with the names of a pair
LEADS, LEADS_BY_CHANCE, IS_UNTESTED, TRAILS = RESULTS = (  # of a leader against another system
    "significantly better than",
    "not significantly better than",
    "not tested against",
    "on the queries of both significantly worse than",
)


# Rows --------------------------------------------------------------------------------------------


def headings_of(comparison: Comparison) -> list[str]:
    """Return a heading for each measure or, with segments, for each measure in each segment."""
    if comparison.segments is None:
        return list(comparison.measures)
    return [
        f"{measure} in {label(segment)}"
        for measure in comparison.measures
        for segment in comparison.segments
    ]


def order_systems(comparison: Comparison) -> list[str]:
    """Return the systems in the order of the leaderboard: best system by the first measure first.

    Systems with equal means are in the order of their names. With segments, the first one decides.
    """
    means = _means_by_heading(comparison)[0]
    return sorted(means, key=lambda name: (_or_lowest(-means[name]["mean"], math.inf), name))


def _means_by_heading(comparison: Comparison) -> list[dict[str, dict[str, Any]]]:
    """Return the rows of `Comparison.means` under each heading, keyed by system."""
    groups = group_rows(comparison.means, "measure", "segment")
    return [
        {row["system"]: row for row in list_rows(select_rows(comparison.means, positions))}
        for positions in groups.values()
    ]


def rank_rows(comparison: Comparison, *, in_text: bool = False) -> Rows:
    """Return the rows of each measure in leaderboard order, and their ``heading``.

    Without a baseline, and `in_text`, `system` is the better of the two systems in each row.
    In text, significant differences come first.
    """
    place = {name: i for i, name in enumerate(order_systems(comparison))}
    heading = np.empty(len(comparison.rows["system"]), dtype=np.intp)
    for i, positions in enumerate(group_rows(comparison.rows, "measure", "segment").values()):
        heading[positions] = i
    headings = headings_of(comparison)
    rows = comparison.rows | {"heading": object_array([headings[i] for i in heading])}
    if in_text or comparison.baseline is None:
        system, baseline = (np.array([place[name] for name in rows[key]]) for key in PAIR)
        is_tie = are_equal(rows["mean"], rows["baseline_mean"]) | np.isnan(rows["difference"])
        is_worse = np.where(is_tie, system > baseline, rows["difference"] < 0)
        rows = swap_systems(rows, is_worse)
    keys: list[Any] = [[place[name] for name in rows[key]] for key in PAIR[::-1]]
    if in_text:
        keys.append(~rows["is_significant"])
    return select_rows(rows, np.lexsort([*keys, heading]))


def select_columns(comparison: Comparison, rows: Rows) -> dict[str, list[Any]]:
    """Return the columns for Markdown, LaTeX and pages, without uninformative columns."""
    hidden = {name for name in rows if not is_in(name, "frame")} | {"ci_method"}
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


def row_sentences(comparison: Comparison) -> list[tuple[dict[str, Any], str]]:
    """Return pairs (row, sentence); significant rows of each measure come first."""
    level, is_tested = comparison.level, comparison.test is not None
    corrections = {name: describe_correction(comparison, name) for name in comparison.measures}
    return [
        (row, sentences.describe_pair(row, level, corrections[row["measure"]], is_tested))
        for row in list_rows(rank_rows(comparison, in_text=True))
    ]


def describe_correction(comparison: Comparison, measure: str) -> str:
    """Return a phrase about the correction for a measure's tests, or "" for a single test."""
    p_values, family = comparison.rows["p_value"], ""
    if comparison.family == "measure" and len(comparison.measures) > 1:
        p_values = p_values[comparison.rows["measure"] == measure]
        family = " of each measure"
    n_tests = np.count_nonzero(~np.isnan(p_values))
    if n_tests < 2:
        return ""
    correction = comparison.correction
    words = "no correction" if correction is None else CORRECTIONS[correction].words
    return f" with {words} over {n_tests} tests{family}"


def describe_procedure(comparison: Comparison) -> str:
    """Name the test and, for several tests, the correction and its family."""
    if comparison.test is None:
        return "no test"
    return TESTS[comparison.test].words + describe_correction(comparison, comparison.measures[0])


def list_caveats(comparison: Comparison) -> list[str]:
    """Report systems that lack values, different shares of judged documents, and empty results."""
    judged = sentences.describe_caveats(
        comparison.systems,
        comparison.judged or {},
        comparison.n_unanswered or (),
        comparison.n_queries,
    )
    return [*describe_missing_values(comparison), *judged]


def describe_missing_values(comparison: Comparison) -> list[str]:
    """Report the systems without a value for some queries of other systems."""
    lacking = {
        heading: [name for name, row in rows.items() if row["lacks_values"]]
        for heading, rows in zip(
            headings_of(comparison), _means_by_heading(comparison), strict=True
        )
    }
    return sentences.describe_lacking({key: names for key, names in lacking.items() if names})


def describe_size(comparison: Comparison) -> str:
    """Return the numbers of queries, clusters and segments as text."""
    text = sentences.count_queries(comparison.n_queries, comparison.n_clusters)
    if comparison.segments is not None:
        text += f" in {counted(len(comparison.segments), 'segment', 'segments')}"
    return text


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
        it is the ``best``, a ``mark`` for significant differences, the mean's ``interval``, and the
        limits of its rank, ``ranks``; see `to_frame`.
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
    _keys: list[tuple[str, Any]]  # measure and segment of each column
    letters: dict[str, str]
    baseline: str | None
    note: str
    verdict: str
    more: dict[str, list[float]] = field(default_factory=dict)

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the means and ranks, with one row per measure and system.

        The pandas.DataFrame has the columns ``segment`` (with `by`), ``system``, ``measure``,
        ``mean``, ``rank_low`` and ``rank_high``. The lowest plausible rank of a system is 1 plus the
        number of significantly better systems. The highest is the number of systems minus the
        number of significantly worse ones. The limits contain all true ranks together with the
        probability `level` of the comparison only after the corrections "holm" and "bonferroni".
        They are nan with a baseline and without a test.
        """
        rows = [
            {
                "segment": segment,
                "system": system,
                "measure": measure,
                "mean": cell.value,
                "rank_low": cell.ranks[0],
                "rank_high": cell.ranks[1],
            }
            for (measure, segment), cells in zip(
                self._keys, zip(*self.cells, strict=True), strict=True
            )
            for system, cell in zip(self.systems, cells, strict=True)
        ]
        frame = tables.frame(rows)
        return frame.drop(columns="segment") if self._keys[0][1] is None else frame

    def _shown(self) -> Grid:
        """Return the table of means, with a column of ranks after each column of means."""
        names: list[Any] = self.systems
        if self.baseline is None:  # marks consist of letters
            names = [f"{self.letters[name]} {name}" for name in names]
        headings, rows = ["system"], [[name] for name in names]
        for i, measure in enumerate(self.measures):
            headings += [measure, "rank"] if has_ranks(self) else [measure]
            for row, cells in zip(rows, self.cells, strict=True):
                row += [cells[i], rank_text(cells[i])] if has_ranks(self) else [cells[i]]
        shares = zip(rows, *self.more.values(), strict=True)
        return Grid([*headings, *self.more], [[*row, *more] for row, *more in shares])

    def _legend(self) -> str:
        return self.note.replace("* best", "bold: best")

    def __repr__(self) -> str:
        return f"{tables.aligned(self._shown())}\n{self.note}"


def has_ranks(board: Leaderboard) -> bool:
    """Return whether the limits of the ranks are known."""
    return not math.isnan(board.cells[0][0].ranks[0])


def rank_text(cell: Marked) -> str:
    """Return the limits of a rank as text, such as "1–3"."""
    low, high = cell.ranks
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


def leaderboard_of(comparison: Comparison) -> Leaderboard:
    """Create the leaderboard of a comparison, with one column per heading."""
    systems, baseline = comparison.systems, comparison.baseline
    headings, order = headings_of(comparison), order_systems(comparison)
    words = ("".join(word) for n in count(1) for word in product(ascii_lowercase, repeat=n))
    letters = dict(zip(order, words, strict=False))  # a, b, …, z, aa, ab and so on
    are_ranked = comparison.test is not None and baseline is None
    columns, leads = [], []
    groups, all_means = (
        group_rows(comparison.rows, "measure", "segment"),
        _means_by_heading(comparison),
    )
    for heading, positions, rows in zip(headings, groups.values(), all_means, strict=True):
        pairs = list_rows(select_rows(comparison.rows, positions))
        outcomes = {} if comparison.test is None else _outcomes_of(pairs)
        best = max(_or_lowest(row["mean"], -math.inf) for row in rows.values())
        leaders = [name for name in order if are_equal(rows[name]["mean"], best)]
        columns.append(
            [
                Marked(
                    rows[name]["mean"],
                    name in leaders,
                    _mark(name, letters, outcomes, baseline),
                    Interval(rows[name]["ci_low"], rows[name]["ci_high"]),
                    _ranks(name, order, outcomes) if are_ranked else NO_RANKS,
                )
                for name in order
            ]
        )
        results = _results(order, leaders, outcomes)
        leads.append(sentences.Lead(heading, leaders, best, results))
    places = [systems.index(name) for name in order]
    verdict = sentences.verdict(leads, len(comparison.segments or [None]))
    return Leaderboard(
        order,
        headings,
        [list(row) for row in zip(*columns, strict=True)],
        list(groups),
        letters,
        baseline,
        " ".join(
            [_note(comparison.test is not None, baseline), *describe_missing_values(comparison)]
        ),
        " ".join([verdict, *list_caveats(comparison)]),
        {
            name: shares[places].tolist()
            for name, shares in (comparison.judged or {}).items()
            if name not in headings
        },
    )


def _or_lowest(value: float, lowest: float) -> float:
    """Return a value, or the lowest one instead of nan."""
    return lowest if math.isnan(value) else value


def _outcomes_of(pairs: Sequence[dict[str, Any]]) -> dict[tuple[str, str], bool]:
    """Return whether the first system of each tested pair significantly outperforms the second."""
    outcomes = {}
    for row in pairs:
        if math.isnan(row["p_value"]):
            continue
        pair = row["system"], row["baseline"]
        outcomes[pair] = row["has_winner"] and row["difference"] > 0
        outcomes[pair[::-1]] = row["has_winner"] and row["difference"] < 0
    return outcomes


def _ranks(
    name: str,
    systems: Sequence[str],
    outcomes: Mapping[tuple[str, str], bool],
) -> tuple[float, float]:
    """Return the limits of a system's rank, if all pairs of systems were tested."""
    n_better = sum(outcomes.get((other, name), False) for other in systems)
    n_worse = sum(outcomes.get((name, other), False) for other in systems)
    return 1 + n_better, len(systems) - n_worse


def _mark(
    name: str,
    letters: Mapping[str, str],
    outcomes: Mapping[tuple[str, str], bool],
    baseline: str | None,
) -> str:
    """Return the mark that shows the significant differences of a system."""
    if baseline is None:
        beaten = [letter for other, letter in letters.items() if outcomes.get((name, other))]
        return ("" if len(letters) <= 26 else ",").join(beaten)
    if outcomes.get((name, baseline)):
        return BETTER
    return WORSE if outcomes.get((baseline, name)) else ""


def _results(
    order: Sequence[str], leaders: Sequence[str], outcomes: Mapping[tuple[str, str], bool]
) -> dict[str, list[str]]:
    """Group the other systems by the result of their comparison with the leaders."""
    groups: dict[str, list[str]] = {result: [] for result in RESULTS}
    for other in order:
        if other not in leaders:
            results = [outcomes.get((leader, other)) for leader in leaders]
            if any(outcomes.get((other, leader)) for leader in leaders):
                result = TRAILS
            elif None in results:
                result = IS_UNTESTED
            else:
                result = LEADS if all(results) else LEADS_BY_CHANCE
            groups[result].append(other)
    return groups


def _note(is_tested: bool, baseline: str | None) -> str:
    if not is_tested:
        return "* best; not tested."
    if baseline is None:
        return (
            "* best; letters: systems it significantly outperforms; rank: those that the tests do not "
            "exclude."
        )
    return (
        f"* best; {BETTER} significantly better than the baseline {baseline}; "
        f"{WORSE} baseline significantly better."
    )
