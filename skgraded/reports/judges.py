"""Comparison of judges: how well they agree on grades and on leaderboards."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from skgraded._input.door import (
    check_grades,
    check_scores,
    choice_validator,
)
from skgraded._input.queries import group_sizes, query_codes
from skgraded._input.tables import frame_of
from skgraded._input.words import check_names, counted
from skgraded.judgments import Judgments
from skgraded.measures import Measure, TauAP, as_measures
from skgraded.measures.overlap import rbo
from skgraded.reports.comparing import compare
from skgraded.reports.comparison_rows import check_choice
from skgraded.reports.evaluating import evaluate_judgments
from skgraded.reports.evaluation import mean_judged
from skgraded.stats import agreement
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.intervals import check_settings
from skgraded.stats.paired_tests import TESTS, draws_resamples
from skgraded.writing import sentences, tables

if TYPE_CHECKING:
    import pandas

MOST_GRADES = 1000  # maximum number of grades on an ordinal scale; limits time and memory
PERSISTENCE = 0.9  # persistence of the rank-biased overlap between two leaderboards
PAIRS = "agree", "reversed", "only_truth", "only_judge"
LEADERBOARDS = (
    "judge",
    "measure",
    "n_systems",
    "n_queries",
    "tau_b",
    "tau_low",
    "tau_high",
    "tau_ap",
    "rbo",
    "largest_drop",
    *PAIRS,
)


@dataclass(frozen=True, repr=False, eq=False)
class JudgeComparison:
    """A comparison of judges with a trusted judge, returned by `compare_judges`."""

    _truth: str
    _labels: pandas.DataFrame
    _leaderboards: pandas.DataFrame
    _confusions: dict[str, pandas.DataFrame | None]

    def labels(self) -> pandas.DataFrame:
        """Tabulate how well each judge's document grades agree with the truth.

        The pandas.DataFrame has one row per judge, with the columns

        - ``judge``,
        - ``n_shared``: number of documents that both judged,
        - ``only_truth``, ``only_judge``: numbers of documents that only one of them judged,
        - ``exact``: share of the shared documents with equal grades,
        - ``kappa``, ``kappa_low``, ``kappa_high``: Cohen's κ and its interval over queries,
        - ``kappa_weighted``: Cohen's κ weighted by the distance of the grades,
        - ``alpha``, ``alpha_low``, ``alpha_high``: Krippendorff's α and its interval over queries,
        - ``tau_b``: Kendall's τ_b of the grades of all shared documents,
        - ``bias``: mean of the judge's grade minus the truth's grade.
        """
        return self._labels.copy()

    to_frame = labels

    def leaderboards(self) -> pandas.DataFrame:
        """Tabulate the similarity between the truth's leaderboard and each judge's leaderboard.

        The pandas.DataFrame has one row per judge and measure, and is empty without `y_scores`. The
        columns are

        - ``judge``, ``measure``,
        - ``n_systems``, ``n_queries``: numbers of systems, and of queries that both judged,
        - ``tau_b``: Kendall's τ_b of the systems' means,
        - ``tau_low``, ``tau_high``: 2.5 % and 97.5 % quantiles of τ_b over resampled queries, which
          are not a confidence interval: resampling lowers τ_b between similar systems,
        - ``tau_ap``: AP correlation along the judge's leaderboard,
        - ``rbo``: extrapolated rank-biased overlap with p = 0.9,
        - ``largest_drop``: the largest number of places that a system loses under the judge,
        - ``agree``, ``reversed``: numbers of pairs of systems that differ significantly under both
          judges, in the same direction or in opposite directions,
        - ``only_truth``, ``only_judge``: numbers of pairs that differ significantly under only one.
        """
        return self._leaderboards.copy()

    def confusion(self, judge: str) -> pandas.DataFrame:
        """Tabulate how many documents received each pair of grades.

        The rows of the pandas.DataFrame are the truth's grades, and its columns the judge's grades.
        """
        confusion = self._confusions[choice_validator("judge", self._confusions)(judge)]
        if confusion is None:
            raise ValueError(
                f"There is no confusion table for {self._truth!r} and {judge!r}: their grades are "
                f"not integers, or there are more than {MOST_GRADES:,} distinct grades."
            )
        return confusion.copy()

    def __repr__(self) -> str:
        columns = (self._labels[name] for name in ("judge", "kappa", "alpha"))
        values = ", ".join(f"{j}: κ={k:.4f}, α={a:.4f}" for j, k, a in zip(*columns, strict=True))
        return f"JudgeComparison(truth {self._truth}; {values})"


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
    level, *_ = check_settings(level, "t", n_resamples, rng)
    choice_validator("weights", ("quadratic", "linear"))(weights)
    choice_validator("test", tuple(TESTS))(test)
    check_choice("correction", correction, CORRECTIONS)
    choice_validator("unjudged_documents", ("irrelevant", "drop"))(unjudged_documents)
    rows = _read_rows(y_judges, y_scores, qid, group)
    names = list(rows.grades)
    truth = names[0] if truth is None else choice_validator("truth", names)(truth)
    judges = [name for name in names if name != truth]
    for judge in judges:
        if not rows.shared(truth, judge).any():
            raise ValueError(f"No document was graded by both {truth!r} and {judge!r}.")
    confusions = {judge: _confusion(rows, truth, judge) for judge in judges}
    _warn_of_other_grades(rows.grades, truth, judges)
    labels = [
        {"judge": judge}
        | _label_row(rows, truth, judge, weights, level, confusions[judge] is not None)
        for judge in judges
    ]
    boards = []
    if rows.scores:
        is_seed = isinstance(rng, (int, np.integer))
        seed: Any = rng if is_seed else int(np.random.default_rng(rng).integers(2**63))
        settings = {
            "rng": seed if draws_resamples(test) else None,
            "test": test,
            "correction": correction,
            "level": level,
        }
        rule = as_measures(measures), unjudged_documents
        boards = _leaderboard_rows(rows, truth, judges, rule, settings, n_resamples, seed)
    tabulated = tables.frame(labels), tables.frame(boards, columns=LEADERBOARDS)
    return JudgeComparison(truth, *tabulated, confusions)


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

    def take(self, queries: np.ndarray) -> Self:
        """Return the rows of the queries at these positions."""
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
    frame = frame_of(columns)
    names = list(columns) if isinstance(columns, Mapping) else getattr(frame, "columns", None)
    if names is None:
        raise TypeError(
            f"{argument} must be a mapping or frame with one column per {noun}; got "
            f"{type(columns).__name__}."
        )
    check_names(names, argument)
    if len(set(names)) < max(len(names), 2):
        raise ValueError(f"{argument} must contain at least two distinct names; got {names}.")
    return {name: columns[name] for name in names}


def _warn_of_other_grades(
    grades: Mapping[str, np.ndarray], truth: str, judges: Sequence[str]
) -> None:
    """Warn about judges that gave grades outside the range of the truth's grades."""
    low, high = np.nanmin(grades[truth]), np.nanmax(grades[truth])
    texts = []
    for judge in judges:
        other = grades[judge][(grades[judge] < low) | (grades[judge] > high)]
        if len(other):
            documents = counted(len(other), "document", "documents")
            texts.append(
                f"{judge} grades {documents} outside the range of {truth}, such as {other[0]:g}."
            )
    if texts:
        warnings.warn(f"{' '.join(texts)} The grades are used as they are.", stacklevel=3)


# Labels ------------------------------------------------------------------------------------------


def _label_row(
    rows: _Rows, truth: str, judge: str, weights: str, level: float, is_ordinal: bool
) -> dict[str, Any]:
    """Return the columns of `JudgeComparison.labels` for one judge."""
    from scipy.stats import kendalltau

    both = rows.shared(truth, judge)
    x, y = rows.grades[truth][both], rows.grades[judge][both]
    n = len(x)
    result = agreement.agreement(x, y, rows.query[both], level, is_ordinal)
    kappa, weighted = agreement.sklearn_kappas(x, y, weights) if is_ordinal else (np.nan, np.nan)
    only_truth, only_judge = (
        int(np.count_nonzero(~np.isnan(rows.grades[name]))) - n for name in (truth, judge)
    )
    return {
        "n_shared": n,
        "only_truth": only_truth,
        "only_judge": only_judge,
        "exact": float((x == y).mean()) if n else np.nan,
        "kappa": kappa,
        "kappa_low": result.kappa_interval.low,
        "kappa_high": result.kappa_interval.high,
        "kappa_weighted": weighted,
        "alpha": result.alpha,
        "alpha_low": result.alpha_interval.low,
        "alpha_high": result.alpha_interval.high,
        "tau_b": float(kendalltau(x, y).statistic) if n > 1 else np.nan,
        "bias": float((y - x).mean()) if n else np.nan,
    }


def _confusion(rows: _Rows, truth: str, judge: str) -> pandas.DataFrame | None:
    """Count the documents per pair of grades; return None unless the grades are few integers."""
    both = rows.shared(truth, judge)
    x, y = rows.grades[truth][both], rows.grades[judge][both]
    grades = np.unique(np.concatenate([x, y]))
    n = len(grades)
    if n > MOST_GRADES or (grades != np.rint(grades)).any():
        return None
    pairs = np.searchsorted(grades, x) * n + np.searchsorted(grades, y)
    counts, names = np.bincount(pairs, minlength=n * n).reshape(n, n), grades.astype(int).tolist()
    frame = tables.frame(counts, index=names, columns=names)
    return frame.rename_axis(index=truth, columns=judge)


# Leaderboards ------------------------------------------------------------------------------------


class _Board(NamedTuple):
    """The comparison of all systems under the grades of one judge."""

    values: dict[str, np.ndarray]  # shape (n_systems, n_queries), keyed by measure name
    pairs: dict[str, np.ndarray]  # rows of the comparison, as columns
    gap: str  # about unjudged documents and missing results, or ""


def _leaderboard_rows(
    rows: _Rows,
    truth: str,
    judges: Sequence[str],
    rule: tuple[list[Measure], str],
    settings: dict[str, Any],
    n_resamples: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Compare the systems with the truth's grades, and again with the grades of each judge."""
    n = len(rows.query_ids)
    has_grades = {
        name: np.bincount(rows.query, ~np.isnan(grades), n) > 0
        for name, grades in rows.grades.items()
    }
    of_truth: dict[bytes, _Board] = {}  # keyed by the mask of the shared queries
    boards = {}
    for judge in judges:
        is_shared = has_grades[truth] & has_grades[judge]
        shared, key = rows.take(np.flatnonzero(is_shared)), is_shared.tobytes()
        if key not in of_truth:
            of_truth[key] = _compare_systems(shared, truth, rule, settings)
        boards[judge] = of_truth[key], _compare_systems(shared, judge, rule, settings)
    gaps = [board.gap for pair in boards.values() for board in pair if board.gap]
    if gaps:
        warnings.warn(gaps[0], stacklevel=3)
    return [
        {"judge": judge, "measure": name}
        | _similarity(boards[judge], name, n_resamples, seed)
        | _count_pairs(boards[judge], name)
        for judge in judges
        for name in boards[judge][0].values
    ]


def _compare_systems(
    rows: _Rows, judge: str, rule: tuple[list[Measure], str], settings: dict[str, Any]
) -> _Board:
    """Compare all systems with the grades of one judge."""
    measures, unjudged = rule
    judgments = Judgments(rows.grades[judge], qid=rows.query)
    evaluations = {
        name: evaluate_judgments(measures, judgments, scores, unjudged)
        for name, scores in rows.scores.items()
    }
    systems, reports = list(evaluations), list(evaluations.values())
    caveats = sentences.caveats(
        systems,
        mean_judged(reports),
        [report.n_unanswered for report in reports],
        judgments.n_queries,
    )
    # Remove what `compare` warns about, so that it does not warn once per judge.
    silent = {name: replace(ev, judged=None, unanswered=None) for name, ev in evaluations.items()}
    return _Board(
        {
            measure.name: np.array([report.per_query[measure.name] for report in reports])
            for measure in measures
        },
        compare(silent, **settings).rows,
        f"With the grades of {judge}, {caveats[0]}" if caveats else "",
    )


def _similarity(
    boards: tuple[_Board, _Board], measure: str, n_resamples: int, seed: int
) -> dict[str, Any]:
    """Return how similar two leaderboards are."""
    truth, judge = (board.values[measure] for board in boards)
    means = [
        np.array([np.nan if np.isnan(row).all() else np.nanmean(row) for row in values])
        for values in (truth, judge)
    ]
    is_known = not np.isnan(means).any()
    x, y = map(agreement.mean_ranks, means)  # with the same ties as τ_b
    low, high = agreement.tau_spread(truth, judge, n_resamples, np.random.default_rng(seed))
    return {
        "n_systems": len(truth),
        "n_queries": truth.shape[1],
        "tau_b": float(agreement.tau_b(*means)),
        "tau_low": low,
        "tau_high": high,
        "tau_ap": TauAP(undefined=np.nan)(x, y) if is_known else np.nan,
        "rbo": rbo(x, y, p=PERSISTENCE) if is_known else np.nan,
        "largest_drop": float(np.max(x - y)),
    }


def _count_pairs(boards: tuple[_Board, _Board], measure: str) -> dict[str, int]:
    """Count the pairs of systems that differ significantly by a measure."""
    truth, judge = (
        np.where(board.pairs["is_significant"], np.sign(board.pairs["difference"]), 0)
        for board in boards
    )
    is_counted = boards[0].pairs["measure"] == measure
    masks = (
        truth * judge > 0,
        truth * judge < 0,
        (truth != 0) & (judge == 0),
        (truth == 0) & (judge != 0),
    )
    return {
        kind: int(np.count_nonzero(mask & is_counted))
        for kind, mask in zip(PAIRS, masks, strict=True)
    }
