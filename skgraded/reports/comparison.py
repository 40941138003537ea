"""The `Comparison` class: paired differences as tables, sentences and an HTML page."""

import math
from dataclasses import dataclass, field, fields
from itertools import count, groupby, product
from string import ascii_lowercase
from typing import Any, Self

import numpy as np

from skgraded._input.door import make_object_array, number_validator
from skgraded._input.messages import choose_noun, counted
from skgraded.reports.pairing import are_unequal
from skgraded.reports.report import Report, Table, concatenate
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.paired_tests import TESTS, judge_outcomes, subtract_baseline
from skgraded.stats.rounding import are_equal
from skgraded.writing import tables, text
from skgraded.writing.json_text import (
    VERSION,
    read_arrays,
    read_json_id,
    read_json_ids,
    write_arrays,
    write_json_id,
    write_json_ids,
)
from skgraded.writing.pages import MAX_QUERIES, PageTable, forest, render
from skgraded.writing.tables import (
    Rows,
    fitting,
    group_rows,
    join_limits,
    list_rows,
    select_names,
    select_rows,
    swap_systems,
)
from skgraded.writing.text import Bound, Interval, Marked, fixed, make_heading

ARRAYS = "per_query", "weights", "judged", "segment"  # fields
CHECK_MAX_LOSS = number_validator("max_loss", 0)
BETTER, WORSE = "▲", "▼"
PAIR = ("system", "baseline")  # columns with the names of a pair
HEADING = ("measure", "segment")  # columns that are constant across the rows below a heading
LEADS, LEADS_BY_CHANCE, IS_UNTESTED, TRAILS = RESULTS = (  # leader against another system
    "significantly better than",
    "not significantly better than",
    "not tested against",
    "on the queries of both significantly worse than",
)
MAX_VALUES = 150_000  # maximum number of per-query values on a page (about 1.5 MB)
MAX_SENTENCES = 12  # maximum number of visible sentences per measure; the rest are collapsed
SECTIONS = {
    "intervals": "Intervals",
    "leaderboard": "Leaderboard",
    "words": "Findings",
    "table": "Table",
    "queries": "Queries",
}


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Comparison(Report):
    """A comparison of systems on the same queries, returned by `compare`.

    Attributes
    ----------
    systems, measures : list of str
    rows : dict of str to ndarray
        The columns of `to_frame`, and three columns of bool: ``is_significant``; ``has_winner``,
        whether one system is significantly better (false if a significant test of ranks favors the
        lower mean); and ``p_is_bound``, whether the p-value is only an upper bound.
    baseline, test, correction, family, level, n_resamples
        As in `compare`; `test` is not "auto", and `n_resamples` is None only if the test draws no
        resamples.
    seed : int or None
        The `rng` passed to `compare` if it was an int, else None.
    n_queries : int
        Number of all queries.
    n_clusters : int or None
        Number of clusters of queries; None without clusters.
    is_weighted : bool
        Whether queries have weights; in a comparison of Summaries, whether the weights are unequal.
    query_ids : ndarray of shape (n_queries,), or None
        Query ids in the common order of the systems, or sorted if the orders differ. For Summaries,
        this and the next two fields are None.
    per_query : dict of str to ndarray of shape (n_systems, n_queries), or None
        Per-query values, keyed by measure name.
    weights : ndarray of shape (n_queries,), or None
        Weights of the queries in means and intervals.
    means : dict of str to ndarray
        Columns of a table with one row per segment, measure and system; each mean is over all
        queries of the system. ``ci_low`` and ``ci_high`` are Student's t interval with the
        confidence `level`. A system ``lacks_values`` if it has no value for a query of another
        system.
    judged : dict of str to ndarray of shape (n_systems,), or None
        Mean of `Evaluation.judged` for each system; None if every document is judged.
    n_unanswered : list of int, or None
        Number of queries for which each system retrieved nothing; None if there are none.
    segments : list or None
        Segments in the order of their rows; None without `by`.
    segment : ndarray of shape (n_queries,) of int, or None
        Position of each query's segment in `segments`.
    """

    systems: list[str]
    measures: list[str]
    rows: Rows
    baseline: str | None
    test: str | None
    correction: str | None
    level: float
    n_resamples: int | None
    seed: int | None
    n_queries: int
    is_weighted: bool
    means: Rows
    query_ids: Any = None
    per_query: Any = None
    weights: np.ndarray | None = None
    judged: dict[str, np.ndarray] | None = None
    n_unanswered: list[int] | None = None
    segments: list[Any] | None = None
    segment: np.ndarray | None = None
    family: str = "all"
    n_clusters: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what `to_json` writes, except package versions, as a dict."""
        return {
            "kind": "Comparison",
            "version": VERSION,
            **vars(self),
            **{name: write_arrays(getattr(self, name)) for name in ARRAYS},
            **{
                name: write_arrays(rows) | {"segment": list(map(write_json_id, rows["segment"]))}
                for name, rows in (("rows", self.rows), ("means", self.means))
            },
            "segments": None if self.segments is None else list(map(write_json_id, self.segments)),
            "query_ids": None if self.query_ids is None else write_json_ids(self.query_ids),
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> Self:
        """Create a Comparison from the result of `to_dict`."""
        segments, segment, ids = written["segments"], written["segment"], written["query_ids"]
        report = {field.name: written[field.name] for field in fields(cls)}
        return cls(
            **report
            | {name: read_arrays(written[name]) for name in ARRAYS}
            | {name: _rows_from_json(written[name]) for name in ("rows", "means")}
            | {
                "segments": None if segments is None else list(map(read_json_id, segments)),
                "segment": read_arrays(segment, np.intp),
                "query_ids": None if ids is None else read_json_ids(ids),
            }
        )

    def differences(
        self, system: str, baseline: str, measure: str, segment: object = None
    ) -> np.ndarray:
        """Return the per-query differences, `system` minus `baseline`, as an array of shape (n,).

        Only queries with values for both systems and a positive weight are included. If `segment`
        is not None, only queries from this segment are included. Comparisons of Summaries have no
        per-query values.
        """
        pair = [self.systems.index(name) for name in (system, baseline)]
        values = self.per_query[measure][pair]
        if self.segments is not None and segment is not None:
            # Use a dict, because comparing a NumPy date with a tuple returns an array.
            place = {name: i for i, name in enumerate(self.segments)}
            values = np.where(self.segment == place[segment], values, np.nan)
        differences = subtract_baseline(values[0], values[1], self.weights, merge=True)
        return differences[~np.isnan(differences)]

    # Tables --------------------------------------------------------------------------------------

    def to_frame(self) -> tables.DataFrame:
        """Return the rows of the comparison as a pandas.DataFrame; see `compare`."""
        return _create_frame(self.rows, select_names("frame", self.rows))

    def outcomes(self, max_loss: float = 0.0) -> tables.DataFrame:
        r"""Report whether each system is worse than the baseline, for use as a release gate.

        Parameters
        ----------
        max_loss : float, default=0.0
            The largest acceptable loss of the mean, ≥ 0, in units of the measures.

        Returns
        -------
        pandas.DataFrame
            One row per (segment,) system and measure, with the columns ``segment`` (if `by` is
            set), ``system``, ``measure``, ``difference`` (system minus baseline), ``low``, ``high``
            and ``outcome``: "worse" if ``high`` < -`max_loss`, so the loss is shown to exceed
            `max_loss`; "not worse" if ``low`` ≥ -`max_loss`; otherwise "undecided".

        Raises
        ------
        ValueError
            If the comparison has no baseline, or if queries have different weights.

        Notes
        -----
        ``low`` and ``high`` are one-sided limits of Student's t for the mean difference. Each has
        the confidence `level` of the comparison, with Bonferroni's correction over all rows, so all
        outcomes "worse" and "not worse" are right together with at least this probability. The
        limits are nan if the n queries or clusters of a row have equal differences other than 0,
        and 2^(1 - n) exceeds the corrected error probability.

        Examples
        --------
        >>> import skgraded as sg
        >>> queries = list(range(8))
        >>> old = sg.Evaluation(queries, {"AP": [0.5, 0.6, 0.2, 0.9, 0.4, 0.7, 0.3, 0.6]})
        >>> new = sg.Evaluation(queries, {"AP": [0.5, 0.5, 0.3, 0.9, 0.4, 0.8, 0.3, 0.6]})
        >>> comparison = sg.compare({"old": old, "new": new}, baseline="old", test="t")
        >>> comparison.outcomes(max_loss=0.05).round(3)
          system measure  difference   low   high    outcome
        0    new      AP       0.012 -0.03  0.055  not worse
        """
        outcomes = self._tabulate_outcomes(max_loss)
        return _create_frame(outcomes, [name for name in outcomes if name != "n_needed"])

    def _tabulate_outcomes(self, max_loss: float) -> Rows:
        """Return the columns of `Comparison.outcomes`, plus ``segment`` and ``n_needed``.

        ``n_needed`` is the number of queries needed to decide the outcome, all else being equal.
        """
        if self.baseline is None:
            raise ValueError("outcomes requires a baseline: call compare with baseline=.")
        if self.is_weighted and (self.per_query is None or are_unequal(self.weights)):
            raise ValueError("outcomes requires equal weights: evaluate without sample_weight.")
        max_loss, rows = CHECK_MAX_LOSS(max_loss), self.rows
        n_units = rows.get("n_clusters", rows["n_defined"])
        judged = judge_outcomes(
            rows["difference"], rows["standard_error"], n_units, self.level, max_loss
        )
        judged["n_needed"] = judged["n_needed"] * (rows["n_defined"] / np.maximum(n_units, 1))
        return {
            name: rows[name] for name in ("segment", "system", "measure", "difference")
        } | judged

    def summary(self) -> tables.DataFrame:
        """Tabulate the means of all systems, best system first; see `Leaderboard.to_frame`."""
        return self.leaderboard().to_frame()

    def leaderboard(self) -> "Leaderboard":
        """Return the means of all systems, sorted by the first measure, best system first.

        Examples
        --------
        >>> import skgraded as sg
        >>> X, y, qid = sg.datasets.make_ranking(n_queries=200, random_state=0)
        >>> systems = sg.evaluate(y, {"a": X[:, 0], "b": X[:, 0] + X[:, 8]}, qid=qid, measures="rr")
        >>> print(sg.compare(systems, baseline="a", rng=0).leaderboard())
        system         RR
        b       *0.7910 ▲
        a        0.7052
        * best; ▲ significantly better than the baseline a; ▼ baseline significantly better.
        """
        place, baseline, means = self._order_systems(), self.baseline, self.means
        words = ("".join(word) for n in count(1) for word in product(ascii_lowercase, repeat=n))
        letters = dict(zip(place, words, strict=False))  # a, b, …, z, aa, ab and so on
        pairs, parts, leads = group_rows(self.rows, *HEADING), [], []
        for key, positions in group_rows(means, *HEADING).items():
            order = [place[name] for name in means["system"][positions]]
            part = select_rows(means, positions[np.argsort(order)])
            best = np.fmax.reduce(part["mean"])
            is_best = are_equal(part["mean"], best)
            beats = _find_winners(select_rows(self.rows, pairs[key]), place)
            part |= {"is_best": is_best, "mark": _mark_systems(beats == 1, letters, baseline)}
            ranks = np.full((2, len(place)), np.nan)
            if self.test is not None and baseline is None:
                ranks = np.array(
                    [1 + (beats == 1).sum(axis=0), len(place) - (beats == 1).sum(axis=1)]
                )
            parts.append(part | dict(zip(("rank_low", "rank_high"), ranks, strict=True)))
            leads.append(
                text.Lead(
                    make_heading(*key),
                    part["system"][is_best].tolist(),
                    best,
                    _group_others(beats, is_best, list(place)),
                )
            )
        if self.test is None:
            note = "* best; not tested."
        elif baseline is None:
            note = (
                "* best; letters: systems it significantly outperforms; rank: those that the tests "
                "do not exclude."
            )
        else:
            note = (
                f"* best; {BETTER} significantly better than the baseline {baseline}; "
                f"{WORSE} baseline significantly better."
            )
        n_segments, (missing, judged) = len(self.segments or [None]), self._list_caveats()
        indices = [self.systems.index(name) for name in place]
        return Leaderboard(
            concatenate(parts),
            letters,
            baseline,
            " ".join([note, *missing]),
            " ".join([text.verdict(leads, n_segments), *missing, *judged]),
            {
                name: shares[indices].tolist()
                for name, shares in (self.judged or {}).items()
                if name not in {lead.heading for lead in leads}
            },
        )

    def _shown(self, ranked_rows: Rows | None = None) -> dict[str, list[Any]]:
        rows = self._rank_rows() if ranked_rows is None else ranked_rows
        is_hidden = {
            "ci_method": True,
            "baseline": self.baseline is not None,
            "segment": self.segments is None,
            **dict.fromkeys(("p_value", "p_adjusted", "min_detectable"), self.test is None),
            "n_undefined": not (rows["n_undefined"] > 0).any(),  # nan: unknown
        }
        names = [name for name in select_names("frame", rows) if not is_hidden.get(name)]
        shown = {name: rows[name].tolist() for name in names}
        for name in {"p_value", "p_adjusted"} & shown.keys():
            cells = zip(shown[name], rows["p_is_bound"], strict=True)
            shown[name] = [Bound(p) if is_bound else p for p, is_bound in cells]
        return shown

    def _shown_in_latex(self) -> tuple[dict[str, list[Any]], str]:
        return join_limits(fitting(self._shown(), "latex")), ""

    def sentences(self) -> list[str]:
        """Return one sentence per row.

        Significant differences come first. Each sentence begins with the system that has the higher
        mean. The last sentences describe missing values, large differences in the share of judged
        documents, and queries without results.
        """
        missing, judged = self._list_caveats()
        return [*(sentence for _, sentence in self._describe_rows()), *missing, *judged]

    def __repr__(self) -> str:
        systems = ", ".join(self.systems)
        return f"Comparison({self._describe_size()}: {systems} by {', '.join(self.measures)})"

    def _page(self, title: str | None = None) -> str:
        board, rows = self.leaderboard(), self._rank_rows()
        percent, is_tested = text.format_percent(self.level), self.test is not None
        data = _collect_query_data(self, board)
        against = "All pairs" if self.baseline is None else f"Baseline: {self.baseline}"
        weighted = ", weighted" if self.is_weighted else ""
        lead = f"{against}. {self._describe_size()}{weighted}; {self._describe_procedure()}."
        if self.n_resamples is not None:
            seed = "" if self.seed is None else f", seed {self.seed}"
            lead += f" {self.n_resamples:,} resamples{seed}."
        caption = (
            f"Mean differences with {percent} intervals (Student's t); effect size: mean difference "
            "divided by the standard deviation of the differences"
        )
        return render(
            "comparison.html.j2",
            {
                "title": title or f"Comparison of {len(self.systems)} systems",
                "lead": lead,
                "verdict": board.verdict,
                "leaderboard": _tabulate_leaderboard(board),
                "sections": {
                    anchor: name
                    for anchor, name in SECTIONS.items()
                    if anchor != "queries" or data is not None
                },
                "groups": _group_sentences(self),
                "percent": percent,
                "is_tested": is_tested,
                "forests": [
                    forest(heading, select_rows(rows, positions), board.letters, is_tested)
                    for (heading,), positions in group_rows(rows, "heading").items()
                ],
                "summary": PageTable.of(self._shown(rows), caption),
                "n_queries": self.n_queries,
                "kept": f"those with the largest differences by {self.measures[0]}",
                "data": data,
            },
        )

    def _in_notebook(self) -> tuple[str, tables.DataFrame]:
        return self.leaderboard().verdict, self.to_frame()

    # Parts of tables and texts -------------------------------------------------------------------

    def _order_systems(self) -> dict[str, int]:
        """Return each system's position on the leaderboard, keyed by system name.

        Systems are sorted by their mean of the first measure in the first segment, then by name.
        """
        first, *_ = group_rows(self.means, *HEADING).values()
        names, means = self.means["system"][first], self.means["mean"][first]
        order = np.lexsort([names.astype(str), -means])  # nan is last
        return {name: place for place, name in enumerate(names[order].tolist())}

    def _rank_rows(self, *, in_text: bool = False) -> Rows:
        """Return the rows of each measure in leaderboard order, with a ``heading`` column.

        If there is no baseline or `in_text` is true, `system` is the better system in each row. If
        `in_text` is true, rows with significant differences come first.
        """
        place, rows = self._order_systems(), self.rows
        group, headings = np.empty_like(rows["n_queries"]), np.empty_like(rows["measure"])
        for i, (key, positions) in enumerate(group_rows(rows, *HEADING).items()):
            group[positions] = i
            headings[positions] = make_heading(*key)
        rows = rows | {"heading": headings}
        places = np.array([[place[name] for name in rows[key]] for key in PAIR])
        if in_text or self.baseline is None:
            is_tie = are_equal(rows["mean"], rows["baseline_mean"]) | np.isnan(rows["difference"])
            is_worse = np.where(is_tie, places[0] > places[1], rows["difference"] < 0)
            rows, places = swap_systems(rows, is_worse), np.where(is_worse, places[::-1], places)
        is_late = in_text & ~rows["is_significant"]
        return select_rows(rows, np.lexsort([*places[::-1], is_late, group]))

    def _describe_rows(self) -> list[tuple[dict[str, Any], str]]:
        """Return (row, sentence) pairs; the significant rows of each measure come first."""
        level, is_tested = self.level, self.test is not None
        corrections = {name: self._describe_correction(name) for name in self.measures}
        return [
            (row, text.describe_pair(row, level, corrections[row["measure"]], is_tested))
            for row in list_rows(self._rank_rows(in_text=True))
        ]

    def _describe_correction(self, measure: str) -> str:
        """Describe the correction for a measure's tests; return "" if there is only one test."""
        p_values, family = self.rows["p_value"], ""
        if self.family == "measure" and len(self.measures) > 1:
            p_values = p_values[self.rows["measure"] == measure]
            family = " of each measure"
        n_tests = np.count_nonzero(~np.isnan(p_values))
        if n_tests < 2:
            return ""
        correction = self.correction
        words = "no correction" if correction is None else CORRECTIONS[correction].words
        return f" with {words} over {n_tests} tests{family}"

    def _describe_procedure(self) -> str:
        """Describe the test and, if there are several tests, the correction and its family."""
        if self.test is None:
            return "no test"
        return TESTS[self.test].words + self._describe_correction(self.measures[0])

    def _list_caveats(self) -> tuple[list[str], list[str]]:
        """Return sentences on missing values, and sentences on missing judgments or results."""
        lacking = select_rows(self.means, self.means["lacks_values"])
        missing = [
            text.describe_lacking(make_heading(*key), lacking["system"][positions].tolist())
            for key, positions in group_rows(lacking, *HEADING).items()
        ]
        judged, n_unanswered = self.judged or {}, self.n_unanswered or ()
        return missing, text.describe_caveats(self.systems, judged, n_unanswered, self.n_queries)

    def _describe_size(self) -> str:
        """Return the numbers of queries, clusters and segments as a string."""
        queries, segments = text.count_queries(self.n_queries, self.n_clusters), self.segments
        return (
            f"{queries} in {counted(len(segments), 'segment', 'segments')}" if segments else queries
        )


def _create_frame(rows: Rows, names: list[str]) -> tables.DataFrame:
    """Create a DataFrame of the named columns; omit ``segment`` if there are no segments."""
    is_hidden = {"segment": rows["segment"][0] is None}
    return tables.frame({name: rows[name].tolist() for name in names if not is_hidden.get(name)})


def _rows_from_json(written: dict[str, Any]) -> Rows:
    """Convert JSON columns to arrays; in numeric columns, None becomes nan."""
    columns = {
        name: make_object_array(cells)
        if isinstance(cells[0], str)
        else np.array([math.nan if cell is None else cell for cell in cells])
        for name, cells in written.items()
        if name != "segment"
    }
    return {"segment": make_object_array(list(map(read_json_id, written["segment"]))), **columns}


# Leaderboards -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class Leaderboard(Table):
    """Table of system means for each measure, returned by `Comparison.leaderboard`.

    In Markdown and LaTeX, the best mean of each measure is bold, and each mean is followed by its
    confidence interval at the comparison's `level`.

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

    def to_frame(self) -> tables.DataFrame:
        """Tabulate the means and ranks, with one row per measure and system.

        The pandas.DataFrame has the columns ``segment`` (if `by` is set), ``system``, ``measure``,
        ``mean``, ``rank_low`` (1 plus the number of significantly better systems) and ``rank_high``
        (the number of systems minus the number of significantly worse systems). These limits cover
        all true ranks simultaneously with probability `level` only if the correction is "holm" or
        "bonferroni". They are nan if there is a baseline or no test.
        """
        return _create_frame(
            self.rows, ["segment", "system", "measure", "mean", "rank_low", "rank_high"]
        )

    def columns(self) -> list[tuple[str, list[Any]]]:
        """Return (heading, cells) pairs: `Marked` means, ranks and shares of judged documents."""
        columns: list[tuple[str, list[Any]]] = []
        for key, positions in group_rows(self.rows, *HEADING).items():
            rows = list_rows(select_rows(self.rows, positions))
            means = [
                Marked(
                    row["mean"],
                    row["is_best"],
                    row["mark"],
                    Interval(row["ci_low"], row["ci_high"]),
                )
                for row in rows
            ]
            columns.append((make_heading(*key), means))
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

    def _shown_in_latex(self) -> tuple[list[tuple[str, list[Any]]], str]:
        return self._shown(), self.note.replace("* best", "bold: best")

    def __repr__(self) -> str:
        return f"{tables.aligned(self._shown())}\n{self.note}"


def _find_winners(pairs: Rows, place: dict[str, int]) -> np.ndarray:
    """Return a matrix: 1 if system i is significantly better than j, 0 if not, nan if untested."""
    beats = np.full((len(place), len(place)), np.nan)
    system, baseline = ([place[name] for name in pairs[key]] for key in PAIR)
    winner = np.where(pairs["has_winner"], np.sign(pairs["difference"]), 0)
    for i, j, sign in ((system, baseline, 1), (baseline, system, -1)):
        beats[i, j] = np.where(np.isnan(pairs["p_value"]), np.nan, winner == sign)
    return beats


def _mark_systems(beats: np.ndarray, letters: dict[str, str], baseline: str | None) -> np.ndarray:
    """Return the marks that indicate each system's significant differences."""
    if baseline is not None:
        i = list(letters).index(baseline)
        return np.select([beats[:, i], beats[i]], [BETTER, WORSE], "").astype(object)
    separator, names = "" if len(letters) <= 26 else ",", make_object_array(list(letters.values()))
    return make_object_array([separator.join(names[is_beaten]) for is_beaten in beats])


def _group_others(beats: np.ndarray, is_best: np.ndarray, order: list[str]) -> dict[str, list[str]]:
    """Group all systems except the leaders by how they compare with the leaders."""
    trails, leads = (beats[:, is_best] == 1).any(axis=1), (beats[is_best] == 1).all(axis=0)
    is_untested = np.isnan(beats[is_best]).any(axis=0)
    result = np.select([trails, is_untested, leads], [TRAILS, IS_UNTESTED, LEADS], LEADS_BY_CHANCE)
    return {
        phrase: [order[i] for i in np.flatnonzero(~is_best & (result == phrase))]
        for phrase in RESULTS
    }


def describe_outcomes(outcomes: Rows) -> list[str]:
    """Return one line per row, with the outcome and the number of queries needed to decide it."""
    lines = []
    for row in list_rows(outcomes):
        where, n = make_heading(row["measure"], row["segment"]), row["n_needed"]
        needed = "none" if math.isnan(n) else f"{math.ceil(n):,}"
        lines.append(
            f"{row['system']} on {where}: {row['outcome']}; largest loss that is not excluded: "
            f"{fixed(-row['low'])}; queries needed for an outcome: {needed}"
        )
    return lines


# Pages -------------------------------------------------------------------------------------------


def _tabulate_leaderboard(board: Leaderboard) -> PageTable:
    systems: list[Any] = [
        {"letter": letter, "name": name, "is_baseline": name == board.baseline}
        for name, letter in board.letters.items()
    ]
    columns, cells = [("System", "system")], [systems]
    for heading, values in board.columns():
        kind = {str: "text", Marked: "mean"}.get(type(values[0]), "value")
        columns.append(("Rank" if kind == "text" else heading, kind))
        cells.append(text.format_cells(values, kind))
    return PageTable(
        board.note.replace("* best", "Means; bold: best"), columns, list(zip(*cells, strict=True))
    )


def _group_sentences(comparison: Comparison) -> list[tuple[str, list[str], list[str]]]:
    """Group the sentences by heading: return titles, visible sentences and collapsed sentences."""
    shown = []
    for heading, pairs in groupby(comparison._describe_rows(), lambda pair: pair[0]["heading"]):
        rows, texts = zip(*pairs, strict=True)
        title = f"{heading}: {counted(len(rows), 'pair', 'pairs')}, not tested"
        if comparison.test is not None:
            n = sum(row["is_significant"] for row in rows)
            of_pairs = f"{n} of {counted(len(rows), 'pair', 'pairs')}"
            title = f"{heading}: {of_pairs} {choose_noun(n, 'differs', 'differ')} significantly"
        shown.append((title, list(texts[:MAX_SENTENCES]), list(texts[MAX_SENTENCES:])))
    return shown


def _collect_query_data(comparison: Comparison, board: Leaderboard) -> dict[str, Any] | None:
    """Return the data for the query table, or None if the page has no such table."""
    if comparison.per_query is None or comparison.segments is not None:
        return None
    systems, weights = list(board.letters), comparison.weights
    order = [comparison.systems.index(name) for name in systems]
    baseline = systems[1] if comparison.baseline is None else comparison.baseline
    # If there are many queries, keep those with the largest differences between systems.
    limit = min(MAX_QUERIES, max(200, MAX_VALUES // (len(systems) * len(comparison.measures))))
    first = comparison.per_query[comparison.measures[0]]
    spread = np.fmax.reduce(first) - np.fmin.reduce(first)
    kept = np.sort(np.argsort(-spread, kind="stable")[:limit])
    return {
        "ids": text.labels(comparison.query_ids[kept]),
        "systems": text.labels(systems),
        "letters": list(board.letters.values()),
        "measures": text.labels(comparison.measures),
        "baseline": systems.index(baseline),
        "values": [
            text.round_for_json(of_systems[order][:, kept])
            for of_systems in comparison.per_query.values()
        ],
        "weights": None if weights is None else text.round_for_json(weights[kept]),
    }
