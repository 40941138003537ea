"""What a Comparison shows: ranked rows, sentences and the leaderboard."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.words import counted, object_array
from skgraded.reports.report import Table, concatenate
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.paired_tests import TESTS
from skgraded.stats.rounding import are_equal
from skgraded.writing import sentences, tables
from skgraded.writing.columns import (
    Rows,
    group_rows,
    list_rows,
    names_in,
    select_rows,
    swap_systems,
)
from skgraded.writing.tables import Interval, Marked
from skgraded.writing.text import Bound, heading_of

if TYPE_CHECKING:
    import pandas

    from skgraded.reports.comparison import Comparison

BETTER, WORSE = "▲", "▼"
PAIR = ("system", "baseline")  # columns with the names of a pair
HEADING = ("measure", "segment")  # columns with equal values in all rows below a heading
LEADS, LEADS_BY_CHANCE, IS_UNTESTED, TRAILS = RESULTS = (  # leader against another system
    "significantly better than",
    "not significantly better than",
    "not tested against",
    "on the queries of both significantly worse than",
)


# Rows --------------------------------------------------------------------------------------------


def order_systems(comparison: Comparison) -> dict[str, int]:
    """Return the place of each system on the leaderboard, best system by the first measure first.

    Systems with equal means are in the order of their names. The first segment decides.
    """
    first, *_ = group_rows(comparison.means, *HEADING).values()
    rows = list_rows(select_rows(comparison.means, first))
    means = {row["system"]: math.inf if math.isnan(row["mean"]) else -row["mean"] for row in rows}
    names = sorted(means, key=lambda name: (means[name], name))
    return {name: place for place, name in enumerate(names)}


def rank_rows(comparison: Comparison, *, in_text: bool = False) -> Rows:
    """Return the rows of each measure in leaderboard order, and their ``heading``.

    Without a baseline, and `in_text`, `system` is the better of the two systems in each row.
    In text, significant differences come first.
    """
    place, rows = order_systems(comparison), comparison.rows
    group = np.empty(len(rows["system"]), dtype=np.intp)
    headings: list[str] = []
    for key, positions in group_rows(rows, *HEADING).items():
        group[positions] = len(headings)
        headings.append(heading_of(*key))
    rows = rows | {"heading": object_array([headings[i] for i in group])}
    if in_text or comparison.baseline is None:
        system, baseline = (np.array([place[name] for name in rows[key]]) for key in PAIR)
        is_tie = are_equal(rows["mean"], rows["baseline_mean"]) | np.isnan(rows["difference"])
        is_worse = np.where(is_tie, system > baseline, rows["difference"] < 0)
        rows = swap_systems(rows, is_worse)
    keys: list[Any] = [[place[name] for name in rows[key]] for key in PAIR[::-1]]
    if in_text:
        keys.append(~rows["is_significant"])
    return select_rows(rows, np.lexsort([*keys, group]))


def select_columns(comparison: Comparison, rows: Rows) -> dict[str, list[Any]]:
    """Return the columns for Markdown, LaTeX and pages, without uninformative columns."""
    hidden = {"ci_method"}
    if comparison.baseline is not None:
        hidden.add("baseline")
    if comparison.segments is None:
        hidden.add("segment")
    if comparison.test is None:
        hidden |= {"p_value", "p_adjusted", "min_detectable"}
    if not (rows["n_undefined"] > 0).any():  # nan: unknown
        hidden.add("n_undefined")
    names = [name for name in names_in("frame", rows) if name not in hidden]
    shown = {name: rows[name].tolist() for name in names}
    for name in {"p_value", "p_adjusted"} - hidden:
        cells = zip(shown[name], rows["p_is_bound"], strict=True)
        shown[name] = [Bound(p) if is_bound else p for p, is_bound in cells]
    return shown


# Text --------------------------------------------------------------------------------------------


def describe_rows(comparison: Comparison) -> list[tuple[dict[str, Any], str]]:
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
    lacking = select_rows(comparison.means, comparison.means["lacks_values"])
    return [
        sentences.describe_lacking(heading_of(*key), lacking["system"][positions].tolist())
        for key, positions in group_rows(lacking, *HEADING).items()
    ]


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
    rows : dict of str to ndarray
        Columns of `Comparison.means`, and whether each mean ``is_best``, its ``mark`` for
        significant differences, and the limits of its rank. In each measure and segment, the best
        system by the first measure is in the first row.
    letters : dict of str to str
        Letters that identify the systems in marks, in the order of the rows.
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

    rows: Rows
    letters: dict[str, str]
    baseline: str | None
    note: str
    verdict: str
    more: dict[str, list[float]] = field(default_factory=dict)

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the means and ranks, with one row per measure and system.

        The pandas.DataFrame has the columns ``segment`` (with `by`), ``system``, ``measure``,
        ``mean``, ``rank_low`` (1 plus the number of significantly better systems) and ``rank_high``
        (the number of systems minus the number of significantly worse systems). The ranks contain
        all true ranks together with the probability `level` only after the corrections "holm" and
        "bonferroni". They are nan with a baseline and without a test.
        """
        names = ["segment", "system", "measure", "mean", "rank_low", "rank_high"]
        if self.rows["segment"][0] is None:
            names.remove("segment")
        return tables.frame({name: self.rows[name].tolist() for name in names})

    def columns(self) -> list[tuple[str, list[Any]]]:
        """Return (heading, cells) of each column: means with marks, ranks, and shares of judged."""
        columns: list[tuple[str, list[Any]]] = []
        for key, positions in group_rows(self.rows, *HEADING).items():
            rows = list_rows(select_rows(self.rows, positions))
            intervals = [Interval(row["ci_low"], row["ci_high"]) for row in rows]
            means = [
                Marked(row["mean"], row["is_best"], row["mark"], interval)
                for row, interval in zip(rows, intervals, strict=True)
            ]
            columns.append((heading_of(*key), means))
            if not math.isnan(rows[0]["rank_low"]):
                limits = [(row["rank_low"], row["rank_high"]) for row in rows]
                ranks = [f"{low}" if low == high else f"{low}–{high}" for low, high in limits]
                columns.append(("rank", ranks))
        return columns + list(self.more.items())

    def _shown(self) -> list[tuple[str, list[Any]]]:
        names = list(self.letters)
        if self.baseline is None:  # marks consist of letters
            names = [f"{letter} {name}" for name, letter in self.letters.items()]
        return [("system", names), *self.columns()]

    def _legend(self) -> str:
        return self.note.replace("* best", "bold: best")

    def __repr__(self) -> str:
        return f"{tables.aligned(self._shown())}\n{self.note}"


def create_leaderboard(comparison: Comparison) -> Leaderboard:
    """Create the leaderboard of a comparison."""
    place, baseline, means = order_systems(comparison), comparison.baseline, comparison.means
    words = ("".join(word) for n in count(1) for word in product(ascii_lowercase, repeat=n))
    letters = dict(zip(place, words, strict=False))  # a, b, …, z, aa, ab and so on
    pairs, parts, leads = group_rows(comparison.rows, *HEADING), [], []
    for key, positions in group_rows(means, *HEADING).items():
        order = [place[name] for name in means["system"][positions]]
        part = select_rows(means, positions[np.argsort(order)])
        best = np.fmax.reduce(part["mean"])
        is_best = are_equal(part["mean"], best)
        beats = _find_winners(select_rows(comparison.rows, pairs[key]), place)
        part |= {"is_best": is_best, "mark": _mark_systems(beats == 1, letters, baseline)}
        ranks = np.full((2, len(place)), np.nan)
        if comparison.test is not None and baseline is None:
            ranks = np.array([1 + (beats == 1).sum(axis=0), len(place) - (beats == 1).sum(axis=1)])
        parts.append(part | dict(zip(("rank_low", "rank_high"), ranks, strict=True)))
        results = _group_others(beats, is_best, list(place))
        leads.append(
            sentences.Lead(heading_of(*key), part["system"][is_best].tolist(), best, results)
        )
    rows, n_segments = concatenate(parts), len(comparison.segments or [None])
    headings = [lead.heading for lead in leads]
    indices = [comparison.systems.index(name) for name in place]
    return Leaderboard(
        rows,
        letters,
        baseline,
        " ".join([_explain_marks(comparison), *describe_missing_values(comparison)]),
        " ".join([sentences.verdict(leads, n_segments), *list_caveats(comparison)]),
        {
            name: shares[indices].tolist()
            for name, shares in (comparison.judged or {}).items()
            if name not in headings
        },
    )


def _find_winners(pairs: Rows, place: dict[str, int]) -> np.ndarray:
    """Return whether system i is significantly better than system j; nan if it is not tested."""
    beats = np.full((len(place), len(place)), np.nan)
    system, baseline = ([place[name] for name in pairs[key]] for key in PAIR)
    winner = np.where(pairs["has_winner"], np.sign(pairs["difference"]), 0)
    for i, j, sign in ((system, baseline, 1), (baseline, system, -1)):
        beats[i, j] = np.where(np.isnan(pairs["p_value"]), np.nan, winner == sign)
    return beats


def _mark_systems(beats: np.ndarray, letters: dict[str, str], baseline: str | None) -> np.ndarray:
    """Return the marks that show the significant differences of each system."""
    if baseline is not None:
        i = list(letters).index(baseline)
        return np.select([beats[:, i], beats[i]], [BETTER, WORSE], "").astype(object)
    separator, names = "" if len(letters) <= 26 else ",", object_array(list(letters.values()))
    return object_array([separator.join(names[is_beaten]) for is_beaten in beats])


def _group_others(beats: np.ndarray, is_best: np.ndarray, order: list[str]) -> dict[str, list[str]]:
    """Group the other systems by the result of their comparison with the leaders."""
    trails, leads = (beats[:, is_best] == 1).any(axis=1), (beats[is_best] == 1).all(axis=0)
    is_untested = np.isnan(beats[is_best]).any(axis=0)
    result = np.select([trails, is_untested, leads], [TRAILS, IS_UNTESTED, LEADS], LEADS_BY_CHANCE)
    return {
        phrase: [order[i] for i in np.flatnonzero(~is_best & (result == phrase))]
        for phrase in RESULTS
    }


def _explain_marks(comparison: Comparison) -> str:
    if comparison.test is None:
        return "* best; not tested."
    if comparison.baseline is None:
        return (
            "* best; letters: systems it significantly outperforms; rank: those that the tests do not "
            "exclude."
        )
    return (
        f"* best; {BETTER} significantly better than the baseline {comparison.baseline}; "
        f"{WORSE} baseline significantly better."
    )
