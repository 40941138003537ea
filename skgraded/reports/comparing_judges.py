"""The function `compare_judges`: how well judges agree on grades and on leaderboards."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from skgraded._input.columns import check_grades, check_scores, choice_validator
from skgraded._input.queries import group_sizes, query_codes
from skgraded._input.segments import segments_of
from skgraded._input.table_kinds import is_pandas_frame, is_polars_frame
from skgraded._input.words import check_names
from skgraded.judgments import Judgments
from skgraded.measures import Measure, TauAP, as_measures
from skgraded.measures.overlap import rbo
from skgraded.reports import judges as judge_reports
from skgraded.reports.comparing import compare
from skgraded.reports.evaluating import evaluate_judgments
from skgraded.reports.evaluation import mean_judged
from skgraded.reports.judges import JudgeComparison, LabelRow, LeaderboardRow, MeanRow
from skgraded.stats import agreement
from skgraded.stats.corrections import is_significant
from skgraded.stats.intervals import check_settings, mean_interval
from skgraded.stats.paired_tests import DRAWS
from skgraded.writing import sentences

PERSISTENCE = 0.9  # persistence of the rank-biased overlap between two leaderboards


def compare_judges(
    y_judges: Any,
    y_scores: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    truth: str | None = None,
    measures: str | Measure | Iterable[str | Measure] = ("ndcng@10", "mu_map"),
    unjudged_documents: str = "irrelevant",
    weights: str = "quadratic",
    level: float = 0.95,
    test: str = "randomization",
    correction: str | None = "holm",
    by: Any = None,
    n_resamples: int = 1000,
    rng: int | np.random.Generator | None = None,
) -> JudgeComparison:
    r"""Compare judges, such as language models, with a trusted judge.

    Parameters
    ----------
    y_judges : mapping of str to array-like of shape (n,), or DataFrame
        Grades ≥ 0 of each judge; NaN marks documents that the judge did not grade.
    y_scores : mapping of str to array-like of shape (n,), or DataFrame, optional
        Scores of at least two systems; -inf means not retrieved. If None, only the grades are
        compared.
    qid, group
        As for `evaluate`.
    truth : str, optional
        The trusted judge. By default, the first judge.
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
        Measures for the leaderboards.
    unjudged_documents : {"irrelevant", "drop"}, default="irrelevant"
        How leaderboards treat documents without a grade; see `evaluate`.
    weights : {"quadratic", "linear"}, default="quadratic"
        Weights of ``kappa_weighted``, as in ``sklearn.metrics.cohen_kappa_score``: the distance
        between two grades is the number of steps between them in the sorted list of all grades.
    level, test, correction
        As for `compare`; `level` also applies to the intervals.
    by : array-like of shape (n_queries,), mapping or pandas Series, optional
        The segment of each query, as for `Evaluation.summary`; adds rows for each segment.
    n_resamples : int, default=1000
        Number of resamples of the queries for the spread of τ_b, at least 100.
    rng : int or numpy.random.Generator, optional
        Pass an int for reproducible results.

    Returns
    -------
    JudgeComparison

    Raises
    ------
    ValueError, TypeError
        If the input is invalid, or if a judge and the truth did not grade a document in common.

    Warns
    -----
    UserWarning
        If a judge gave grades outside the range of the truth's grades, or if the shares of judged
        documents differ by more than 0.1 between two systems.

    Notes
    -----
    - Agreement is computed over the documents that both judged, and leaderboards over the queries
      that both judged.
    - Krippendorff's α is ordinal [1]_. If a grade is not an integer, or if a judge and the truth
      give more than 1,000 different grades, α is the interval variant, and κ is nan.
    - The intervals for κ and α are those of Korn and Graubard [2]_ for (1 - κ) / 2 and
      (1 - α) / 2, with the jackknife variance over queries, because the documents of a query are
      not independent. If the judges never disagree, other queries may still have random grades.
    - For each judge, `compare` tests all pairs of systems under the truth and under the judge, with
      one correction over all measures.

    References
    ----------
    .. [1] Krippendorff: Content Analysis, 4th edition, chapter 12. 2019.
    .. [2] Korn, Graubard: Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data. Survey Methodology 24, 1998.

    Examples
    --------
    >>> import skgraded as sg
    >>> grades = {"human": [2, 0, 1, 0, 2, 1, 0, 0], "model": [2, 0, 2, 0, 1, 1, 0, 1]}
    >>> report = sg.compare_judges(grades, qid=[1, 1, 1, 2, 2, 2, 3, 3])
    >>> report.labels()[["judge", "n_shared", "exact", "bias"]].values.tolist()
    [['model', 8, 0.625, 0.125]]
    >>> report.confusion("model").loc[2].tolist()   # documents with human grade 2
    [0, 1, 1]
    """
    level = judge_reports.check_judge_settings(level, weights, test, correction)
    choice_validator("unjudged_documents", ("irrelevant", "drop"))(unjudged_documents)
    check_settings(level, "t", n_resamples, rng)
    rows = _read_rows(y_judges, y_scores, qid, group)
    names = list(rows.grades)
    truth = names[0] if truth is None else judge_reports.check_judge("truth", truth, names)
    judges = [name for name in names if name != truth]
    for judge in judges:
        if not rows.shared(truth, judge).any():
            raise ValueError(f"No document was graded by both {truth!r} and {judge!r}.")
    segments = None if by is None else segments_of(rows.query_ids, by, are_compared=True)
    parts = [(segment, rows.take(queries)) for segment, queries in segments or [(None, None)]]
    confusions = {judge: _confusion(rows, truth, judge) for judge in judges}
    outside = [row for judge in judges for row in _outside(judge, rows.grades, truth)]
    if outside:
        named = " ".join(sentences.outside_sentences(outside, truth))
        warnings.warn(f"{named} The grades are used as they are.", stacklevel=2)
    report: dict[str, Any] = {
        "truth": truth,
        "judges": judges,
        "level": level,
        "weights": weights,
        "test": test,
        "correction": correction,
        "outside": outside,
        "segments": None if segments is None else [segment for segment, _ in segments],
        "label_rows": [
            _label_row(segment, judge, part, truth, weights, level, confusions[judge] is not None)
            for segment, part in parts
            for judge in judges
        ],
        "confusions": confusions,
    }
    if rows.scores:
        boards = _Boards(
            rows,
            truth,
            as_measures(measures),
            segments,
            unjudged_documents,
            {"test": test, "correction": correction, "level": level},
            n_resamples,
            rng,
        )
        report |= boards.compare(judges)
        if boards.gaps:
            warnings.warn(boards.gaps[0], stacklevel=2)
    return JudgeComparison(**report)


# Input -------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """Grades and scores of each document, and the integer code of its query."""

    grades: dict[str, np.ndarray]
    scores: dict[str, np.ndarray]
    query: np.ndarray
    query_ids: np.ndarray

    def shared(self, truth: str, judge: str) -> np.ndarray:
        """Return the mask of the rows that both judged."""
        return ~np.isnan(self.grades[truth]) & ~np.isnan(self.grades[judge])

    def take(self, queries: np.ndarray | None) -> Self:
        """Return the rows of the queries at these positions, or all rows if `queries` is None."""
        if queries is None:
            return self
        is_kept = np.isin(self.query, queries)
        grades, scores = (
            {name: values[is_kept] for name, values in columns.items()}
            for columns in (self.grades, self.scores)
        )
        return self._replace(grades=grades, scores=scores, query=self.query[is_kept])


def _read_rows(y_judges: Any, y_scores: Any, qid: Any, group: Any) -> _Rows:
    grades = _named_arrays(y_judges, "y_judges", "judge")
    scores = {} if y_scores is None else _named_arrays(y_scores, "y_scores", "system")
    first = f"y_judges[{next(iter(grades))!r}]"
    n = np.size(next(iter(grades.values())))
    grades = {
        name: check_grades(values, f"y_judges[{name!r}]", n, first, allow_nan=True)
        for name, values in grades.items()
    }
    scores = {
        name: check_scores(values, n, f"y_scores[{name!r}]", first)
        for name, values in scores.items()
    }
    if (qid is None) == (group is None):
        raise ValueError("Pass either the query of each row as qid or the query sizes as group.")
    if group is not None:
        sizes = group_sizes(group, n, first)
        return _Rows(grades, scores, np.repeat(np.arange(len(sizes)), sizes), np.arange(len(sizes)))
    return _Rows(grades, scores, *query_codes(qid, n, first))


def _named_arrays(columns: Any, argument: str, noun: str) -> dict[str, Any]:
    """Return the columns of a mapping or frame as a dict. At least two columns are required."""
    names = getattr(columns, "column_names", None)  # of an Arrow table
    if isinstance(columns, Mapping):
        names = list(columns)
    elif is_pandas_frame(columns) or is_polars_frame(columns):
        names = list(columns.columns)
    if names is None:
        raise TypeError(
            f"{argument} must be a mapping or frame with one column per {noun}; got "
            f"{type(columns).__name__}."
        )
    check_names(names, argument)
    if len(set(names)) < max(len(names), 2):
        raise ValueError(f"{argument} must contain at least two distinct names; got {names}.")
    return {name: columns[name] for name in names}


def _outside(
    judge: str, grades: Mapping[str, np.ndarray], truth: str
) -> list[judge_reports.OutsideRow]:
    """Return the judge's grades outside the range of the truth's grades, with their counts."""
    known = grades[truth][~np.isnan(grades[truth])]
    is_outside = (grades[judge] < known.min()) | (grades[judge] > known.max())
    values, counts = np.unique(grades[judge][is_outside], return_counts=True)
    return [
        judge_reports.OutsideRow(judge, grade, n)
        for grade, n in zip(values.tolist(), counts.tolist(), strict=True)
    ]


# Labels ------------------------------------------------------------------------------------------


def _label_row(
    segment: Any, judge: str, rows: _Rows, truth: str, weights: str, level: float, is_ordinal: bool
) -> LabelRow:
    from scipy.stats import kendalltau

    both = rows.shared(truth, judge)
    x, y = rows.grades[truth][both], rows.grades[judge][both]
    n = len(x)
    result = agreement.agreement(x, y, rows.query[both], level, is_ordinal)
    tau_b = float(kendalltau(x, y).statistic) if n > 1 else np.nan
    kappa, weighted = agreement.sklearn_kappas(x, y, weights) if is_ordinal else (np.nan, np.nan)
    only_truth, only_judge = (
        int(np.count_nonzero(~np.isnan(rows.grades[name]))) - n for name in (truth, judge)
    )
    return LabelRow(
        segment,
        judge,
        n,
        only_truth,
        only_judge,
        exact=float((x == y).mean()) if n else np.nan,
        kappa=kappa,
        kappa_low=result.kappa_interval.low,
        kappa_high=result.kappa_interval.high,
        kappa_weighted=weighted,
        alpha=result.alpha,
        alpha_low=result.alpha_interval.low,
        alpha_high=result.alpha_interval.high,
        tau_b=tau_b,
        bias=float((y - x).mean()) if n else np.nan,
    )


def _confusion(rows: _Rows, truth: str, judge: str) -> judge_reports.Confusion | None:
    both = rows.shared(truth, judge)
    x, y = rows.grades[truth][both], rows.grades[judge][both]
    grades = np.unique(np.concatenate([x, y]))
    if len(grades) > judge_reports.MOST_GRADES or (grades != np.rint(grades)).any():
        return None
    pairs = agreement.GradePairs(x, y, rows.query[both])
    counts = np.zeros((len(pairs.grades),) * 2, dtype=np.intp)
    counts[pairs.first, pairs.second] = pairs.total
    return judge_reports.Confusion(pairs.grades, counts)


# Leaderboards ------------------------------------------------------------------------------------


class _Boards:
    """Comparisons of the truth's leaderboard with the leaderboard of each judge."""

    def __init__(
        self,
        rows: _Rows,
        truth: str,
        measures: list[Measure],
        segments: Any,
        unjudged: str,
        settings: dict[str, Any],
        n_resamples: int,
        rng: Any,
    ) -> None:
        self.rows, self.truth, self.measures = rows, truth, measures
        self.unjudged, self.settings, self.n_resamples = unjudged, settings, n_resamples
        is_int = isinstance(rng, (int, np.integer))
        self.seed = int(rng if is_int else np.random.default_rng(rng).integers(2**63))
        self.by = (
            None
            if segments is None
            else {i: name for name, queries in segments for i in queries.tolist()}
        )
        self.gaps: list[str] = []  # sentences about unjudged documents and missing results
        self._of_truth: dict[bytes, Any] = {}  # comparisons with the true grades, keyed by queries

    def compare(self, judges: list[str]) -> dict[str, list[Any]]:
        """Return the fields of a JudgeComparison that describe leaderboards."""
        pairs = {judge: self._boards(judge) for judge in judges}
        first, _ = next(iter(pairs.values()))
        segments = [None] if self.by is None else list(dict.fromkeys(self.by.values()))
        places = [(segment, judge) for segment in segments for judge in judges]
        names = [measure.name for measure in self.measures]
        return {
            "systems": first.systems,
            "measures": names,
            "leaderboard_rows": [
                self._row(segment, judge, name, *pairs[judge])
                for segment, judge in places
                for name in names
            ],
            "mean_rows": [
                row
                for segment, judge in places
                for name in names
                for row in self._means(segment, judge, name, *pairs[judge])
            ],
        }

    def _boards(self, judge: str) -> tuple[Any, Any]:
        """Compare the systems with the truth's grades, and again with a judge's grades."""
        rows = self.rows
        n = len(rows.query_ids)
        is_shared = np.logical_and(
            *(
                np.bincount(rows.query, ~np.isnan(rows.grades[name]), n) > 0
                for name in (self.truth, judge)
            )
        )
        kept = rows.take(np.flatnonzero(is_shared))
        key = is_shared.tobytes()
        if key not in self._of_truth:
            self._of_truth[key] = self._compared(kept, self.truth)
        return self._of_truth[key], self._compared(kept, judge)

    def _compared(self, rows: _Rows, judge: str) -> Any:
        """Compare all systems with the grades of one judge."""
        judgments = Judgments(rows.grades[judge], qid=rows.query)
        evaluations = {
            name: evaluate_judgments(self.measures, judgments, scores, self.unjudged)
            for name, scores in rows.scores.items()
        }
        systems, reports = list(evaluations), list(evaluations.values())
        gap = sentences.judged_gap(systems, mean_judged(reports)) or sentences.unanswered(
            systems, [report.n_unanswered for report in reports], judgments.n_queries
        )
        if gap:
            self.gaps.append(f"With the grades of {judge}, {gap}")
        # Remove what `compare` warns about, so that it does not warn once per judge.
        evaluations = {
            name: replace(ev, judged=None, unanswered=None) for name, ev in evaluations.items()
        }
        rng = self.seed if self.settings["test"] in DRAWS else None
        return compare(evaluations, by=self.by, rng=rng, **self.settings)

    def _row(self, segment: Any, judge: str, measure: str, *boards: Any) -> LeaderboardRow:
        per_query = [_values_of(board, measure, segment) for board in boards]
        truth, means = (_mean_of_each(values) for values in per_query)
        rng = np.random.default_rng(self.seed)
        low, high = agreement.tau_spread(per_query[0], per_query[1], self.n_resamples, rng)
        return LeaderboardRow(
            segment,
            judge,
            measure,
            len(truth),
            per_query[0].shape[1],
            float(agreement.tau_b(truth, means)),
            low,
            high,
            largest_drop=agreement.largest_drop(truth, means),
            **_similarity_of_ranks(truth, means),
            **_significant_pairs(segment, measure, *boards),
        )

    def _means(self, segment: Any, judge: str, measure: str, *boards: Any) -> Iterator[MeanRow]:
        for i, system in enumerate(boards[0].systems):
            cells = []
            for board in boards:
                values = _values_of(board, measure, segment)[i]
                interval = mean_interval(values, None, self.settings["level"], "t")
                cells += [float(_mean_of_each([values])[0]), *map(float, interval)]
            yield MeanRow(segment, judge, measure, system, *cells)


def _values_of(board: Any, measure: str, segment: Any) -> np.ndarray:
    """Return values of shape (n_systems, n_queries); for an unknown segment, n_queries is 0."""
    values = board.query_values
    is_known = segment is None or segment in values.segments
    return values.per_query[measure][:, values.queries_of(segment) if is_known else slice(0)]


def _mean_of_each(rows: Any) -> np.ndarray:
    return np.array([np.nanmean(row) if not np.isnan(row).all() else np.nan for row in rows])


def _similarity_of_ranks(truth: np.ndarray, judge: np.ndarray) -> dict[str, Any]:
    """Compute τ_ap and RBO of the judge's leaderboard, with the same ties as `tau_b`."""
    if np.isnan([truth, judge]).any():
        return {"tau_ap": np.nan, "rbo": np.nan}
    ranks = agreement.mean_ranks(truth), agreement.mean_ranks(judge)
    return {"tau_ap": TauAP(undefined=np.nan)(*ranks), "rbo": rbo(*ranks, p=PERSISTENCE)}


def _significant_pairs(segment: Any, measure: str, truth: Any, judge: Any) -> dict[str, int]:
    """Count the pairs of systems that differ significantly for both judges or for only one."""
    counts = {"agree": 0, "reversed": 0, "only_truth": 0, "only_judge": 0}
    for rows in zip(truth.rows, judge.rows, strict=True):
        if (rows[0].segment, rows[0].measure) != (segment, measure):
            continue
        first, second = (
            np.sign(row.difference) if is_significant(row.p_adjusted, truth.level) else 0
            for row in rows
        )
        if first and second:
            counts["agree" if first == second else "reversed"] += 1
        elif first or second:
            counts["only_truth" if first else "only_judge"] += 1
    return counts
