"""Agreement between judges, and estimates that combine human and machine judgments."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import (
    check_grades,
    check_kind,
    check_names,
    check_scores,
    choice_validator,
    number_validator,
    to_plain_list,
)
from skgraded._input.messages import counted, warn_user
from skgraded._input.queries import QueryIds, query_codes, read_group_sizes
from skgraded._input.tables import check_row_labels, frame_of, list_column_names
from skgraded.judgments import Judgments
from skgraded.measures import Measure, TauAP, as_measures
from skgraded.measures.base import accepts_negative
from skgraded.measures.correlation import rbo
from skgraded.measures.parsing import DEFAULT_MEASURES, Measures
from skgraded.reports import pairing
from skgraded.reports.comparing import compare
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluating import evaluate_judgments
from skgraded.reports.evaluation import Evaluation, refuse_clusters
from skgraded.stats.corrections import CHECK_CORRECTION
from skgraded.stats.intervals import CHECK_LEVEL, ConfidenceInterval, Rng, check_settings
from skgraded.stats.judges import (
    FEWEST_QUERIES,
    PoweredMean,
    compute_kappas,
    count_queries_needed,
    estimate_powered_mean,
    measure_agreement,
    rank_means,
    resample_tau,
    tau_b,
)
from skgraded.stats.paired_tests import TESTS
from skgraded.stats.rounding import ROUNDING
from skgraded.writing import tables
from skgraded.writing.text import list_values

MOST_GRADES = 1000  # maximum number of distinct grades in ordinal statistics, to limit memory use
PERSISTENCE = 0.9  # persistence parameter p of the rank-biased overlap
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
    "agree",
    "reversed",
    "only_truth",
    "only_judge",
)
Arrays = dict[str, np.ndarray]  # keyed by judge name or system name


@dataclass(frozen=True, repr=False, eq=False)
class JudgeComparison:
    """A comparison of judges with a trusted judge, returned by `compare_judges`."""

    _truth: str
    _labels: tables.DataFrame
    _leaderboards: tables.DataFrame
    _confusions: dict[str, tables.DataFrame]

    def labels(self) -> tables.DataFrame:
        """Tabulate how well each judge's grades agree with the trusted judge's grades.

        The pandas.DataFrame has one row per judge, with the following columns:

        - ``judge``,
        - ``n_shared``: number of documents graded by both the trusted judge and this judge,
        - ``only_truth``, ``only_judge``: number of documents graded by only one of the two,
        - ``exact``: share of the ``n_shared`` documents that received equal grades,
        - ``kappa``, ``kappa_low``, ``kappa_high``: Cohen's κ and its interval over queries,
        - ``kappa_weighted``: Cohen's κ weighted by the distance between grades,
        - ``alpha``, ``alpha_low``, ``alpha_high``: Krippendorff's α and its interval over queries,
        - ``tau_b``: Kendall's τ_b of the grades of all shared documents,
        - ``bias``: mean of the judge's grade minus the trusted judge's grade.
        """
        return self._labels.copy()

    to_frame = labels

    def leaderboards(self) -> tables.DataFrame:
        """Tabulate how similar each judge's leaderboard is to the trusted judge's leaderboard.

        The pandas.DataFrame has one row per judge and measure; it is empty if `y_scores` is None.
        The columns are:

        - ``judge``, ``measure``,
        - ``n_systems``, ``n_queries``: number of systems, and number of queries graded by both
          judges,
        - ``tau_b``: Kendall's τ_b of the systems' means,
        - ``tau_low``, ``tau_high``: 2.5 % and 97.5 % quantiles of τ_b over resampled queries, which
          are not a confidence interval: resampling lowers τ_b between similar systems,
        - ``tau_ap``: AP correlation along the judge's leaderboard,
        - ``rbo``: extrapolated rank-biased overlap with p = 0.9,
        - ``largest_drop``: the largest number of ranks by which a system drops under the judge,
        - ``agree``, ``reversed``: numbers of pairs of systems that differ significantly under both
          judges, in the same direction or in opposite directions,
        - ``only_truth``, ``only_judge``: numbers of pairs that differ significantly under only one
          judge.
        """
        return self._leaderboards.copy()

    def confusion(self, judge: str) -> tables.DataFrame:
        """Tabulate how many documents received each pair of grades.

        The rows of the pandas.DataFrame are the trusted judge's grades, and the columns are this
        judge's grades. An error is raised if a grade is not an integer, or if there are more than
        1,000 distinct grades.
        """
        return self._confusions[choice_validator("judge", self._confusions)(judge)].copy()

    def __repr__(self) -> str:
        columns = (self._labels[name] for name in ("judge", "kappa", "alpha"))
        values = ", ".join(f"{j}: κ={k:.4f}, α={a:.4f}" for j, k, a in zip(*columns, strict=True))
        return f"JudgeComparison(truth {self._truth}; {values})"


def compare_judges(
    y_judges: Any,
    y_scores: Any = None,
    *,
    qid: QueryIds | None = None,
    group: ArrayLike | None = None,
    truth: str | None = None,
    measures: Measures = DEFAULT_MEASURES,
    unjudged_documents: str = "irrelevant",
    weights: str = "quadratic",
    level: float = 0.95,
    test: str = "randomization",
    correction: str | None = "holm",
    n_resamples: int = 1000,
    rng: Rng = None,
) -> JudgeComparison:
    r"""Compare judges, such as language models, with a trusted judge.

    Parameters
    ----------
    y_judges : mapping of str to array-like of shape (n,), or DataFrame
        Grades ≥ 0 of each judge; NaN marks documents that the judge did not grade.
    y_scores : mapping of str to array-like of shape (n,), or DataFrame, optional
        Scores of at least two systems; if None, only the grades are compared.
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

    Warns
    -----
    UserWarning
        If the highest grades of a judge and the truth differ by a factor of two or more, or one
        range of grades is the other range shifted by at least 1; if κ or τ_b is nan; and as in
        `evaluate` and `compare`.

    Notes
    -----
    - Krippendorff's α is ordinal [1]_. If a grade is not an integer, or if a judge and the truth
      give more than 1,000 different grades, α is the interval variant, and κ is nan. κ and α are
      also nan if all shared documents have the same grade, and τ_b is nan if one side gave all of
      them the same grade.
    - The intervals for κ and α are Korn and Graubard's intervals [2]_ for (1 - κ) / 2 and
      (1 - α) / 2, with the jackknife variance over queries; they are nan with a single query.
    - `compare` tests all pairs of systems under each judge, with one correction over all measures.

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
    """
    import pandas as pd
    from scipy.stats import kendalltau

    level, *_ = check_settings(level, "t", n_resamples, rng)
    choice_validator("weights", ("quadratic", "linear"))(weights)
    choice_validator("test", tuple(TESTS))(test)
    CHECK_CORRECTION(correction)
    choice_validator("unjudged_documents", ("irrelevant", "drop"))(unjudged_documents)
    rule = as_measures(measures), unjudged_documents
    grades, scores, query = _read_rows(
        y_judges, y_scores, qid, group, all(map(accepts_negative, rule[0]))
    )
    names = list(grades)
    truth = names[0] if truth is None else choice_validator("truth", names)(truth)
    labels: list[dict[str, Any]] = []
    confusions = {}
    for judge in names:
        if judge == truth:
            continue
        both = ~np.isnan(grades[truth]) & ~np.isnan(grades[judge])
        if not both.any():
            raise ValueError(f"No document was graded by both {truth!r} and {judge!r}.")
        x, y = grades[truth][both], grades[judge][both]
        shared = np.unique(np.concatenate([x, y]))
        is_ordinal = len(shared) <= MOST_GRADES and (shared == np.rint(shared)).all()
        if is_ordinal:
            scale = shared.astype(int)
            counts = pd.crosstab(x, y, rownames=[truth], colnames=[judge])
            confusions[judge] = counts.reindex(index=scale, columns=scale, fill_value=0)
        only_truth, only_judge = (
            np.count_nonzero(~np.isnan(grades[name])) - len(x) for name in (truth, judge)
        )
        (kappa, kappa_interval), (alpha, alpha_interval) = measure_agreement(
            x, y, query[both], level, is_ordinal
        )
        kappa, weighted = compute_kappas(x, y, weights) if is_ordinal else (np.nan, np.nan)
        labels.append(
            {
                "judge": judge,
                "n_shared": len(x),
                "only_truth": only_truth,
                "only_judge": only_judge,
                "exact": float((x == y).mean()),
                "kappa": kappa,
                "kappa_low": kappa_interval.low,
                "kappa_high": kappa_interval.high,
                "kappa_weighted": weighted,
                "alpha": alpha,
                "alpha_low": alpha_interval.low,
                "alpha_high": alpha_interval.high,
                "tau_b": float(kendalltau(x, y).statistic) if len(x) > 1 else np.nan,
                "bias": float((y - x).mean()),
            }
        )
        notes = _describe_scales({name: grades[name] for name in (judge, truth)})
        if notes := notes + _explain_nan(judge, labels[-1], shared):
            warn_user(" ".join(notes))
    boards = []
    if scores:
        is_seed = isinstance(rng, (int, np.integer))
        seed: Any = rng if is_seed else int(np.random.default_rng(rng).integers(2**63))
        settings = {"rng": seed, "test": test, "correction": correction, "level": level}
        boards = [
            {"judge": judge, "measure": name, **_compare_boards(*pair, name, n_resamples, seed)}
            for judge, pair in _compare_systems(
                grades, scores, query, truth, rule, settings
            ).items()
            for name in pair[0].measures
        ]
    return JudgeComparison(
        truth, tables.frame(labels), tables.frame(boards, columns=LEADERBOARDS), confusions
    )


# Input -------------------------------------------------------------------------------------------


def _read_rows(
    y_judges: Any,
    y_scores: Any,
    qid: QueryIds | None,
    group: ArrayLike | None,
    allow_negative: bool,
) -> tuple[Arrays, Arrays, Any]:
    """Return the grades and scores of each document, and the integer code of its query."""
    grades = _read_named_arrays(y_judges, "y_judges", "judge")
    scores = {} if y_scores is None else _read_named_arrays(y_scores, "y_scores", "system")
    sides = {"y_judges": grades, "y_scores": scores}
    columns = {f"{side}[{name!r}]": of[name] for side, of in sides.items() for name in of}
    check_row_labels({**columns, "qid": qid})
    first, n = f"y_judges[{next(iter(grades))!r}]", 0
    for name, values in grades.items():
        argument = f"y_judges[{name!r}]"
        grades[name] = check_grades(values, argument, n or None, first, True, allow_negative)
        n = len(grades[name])
    scores = {
        name: check_scores(values, n, f"y_scores[{name!r}]", first)
        for name, values in scores.items()
    }
    if qid is not None and group is None:
        return grades, scores, query_codes(qid, n, first)[0]
    if group is None or qid is not None:
        raise ValueError("Pass either qid (the query of each row) or group (the query sizes).")
    sizes = read_group_sizes(group, n, first)
    return grades, scores, np.repeat(np.arange(len(sizes)), sizes)


def _read_named_arrays(columns: Any, argument: str, noun: str) -> dict[str, Any]:
    """Return the columns of a mapping or DataFrame as a dict; require at least two columns."""
    is_mapping = isinstance(columns, Mapping)
    if not is_mapping and not hasattr(frame_of(columns), "to_pandas"):
        raise TypeError(
            f"{argument} must be a mapping or DataFrame with one column per {noun}; got "
            f"{type(columns).__name__}."
        )
    names = list(columns) if is_mapping else list_column_names(columns)
    check_names(names, argument)
    if len(set(names)) < max(len(names), 2):
        raise ValueError(
            f"{argument} must have at least two columns, with distinct names; got {names}."
        )
    return {name: columns[name] for name in names}


# Labels ------------------------------------------------------------------------------------------


def _explain_nan(judge: str, statistics: dict[str, Any], shared: np.ndarray) -> list[str]:
    """Return sentences that state why statistics are nan.

    `shared` contains the distinct grades of shared documents.
    """
    reasons = {
        "kappa": "all shared documents have the same grade",
        "tau_b": "one side gave all shared documents the same grade",
    }
    fractions = shared[shared != np.rint(shared)]
    if len(fractions):
        reasons["kappa"] = f"the grade {fractions[0]:g} is not an integer"
    elif len(shared) > MOST_GRADES:
        reasons["kappa"] = f"there are more than {MOST_GRADES:,} different grades"
    return [
        f"{name} of y_judges[{judge!r}] is nan, because {reason}."
        for name, reason in reasons.items()
        if np.isnan(statistics[name])
    ]


def _describe_scales(grades: Arrays) -> list[str]:
    """Return a list with a warning if a judge and the trusted judge seem to use different scales.

    The list is empty if either judge uses only one grade, because that judge's scale is unknown.
    """
    limits = {name: (np.nanmin(values), np.nanmax(values)) for name, values in grades.items()}
    (low, high), (true_low, true_high) = limits.values()
    shift = high - true_high
    is_shifted = abs(shift) >= 1 and np.isclose(low - true_low, shift)
    is_scaled = max(high, true_high) >= 2 * min(high, true_high)
    if low == high or true_low == true_high or not (is_shifted or is_scaled):
        return []
    judge, truth = (f"y_judges[{name!r}]" for name in grades)
    judge_range, true_range = (
        f"grades from {first:g} to {last:g} (grade {last:g}: "
        f"{counted(int(np.sum(grades[name] == last)), 'document', 'documents')})"
        for name, (first, last) in limits.items()
    )
    step = f"{judge} {'-' if shift > 0 else '+'} {abs(shift):g}"
    conversion = step if is_shifted else f"np.rint({judge} * {true_high / high:g})"
    return [
        f"{judge} has {judge_range}, but the truth, {truth}, has {true_range}. exact, kappa, alpha "
        f"and bias compare these numbers. If the scales differ, convert one of them, for example "
        f"with {conversion}."
    ]


# Leaderboards ------------------------------------------------------------------------------------


def _compare_systems(
    grades: Arrays,
    scores: Arrays,
    query: np.ndarray,
    truth: str,
    rule: tuple[list[Measure], str],
    settings: dict[str, Any],
) -> dict[str, tuple[Comparison, Comparison]]:
    """Compare the systems by the trusted judge's grades, and by the grades of every other judge.

    For each of the other judges, return both comparisons, computed only from the queries graded by
    both that judge and the trusted judge.
    """
    measures, unjudged = rule
    has_grades = {name: np.bincount(query, ~np.isnan(y)) > 0 for name, y in grades.items()}
    boards = {}

    @cache  # several judges may have graded the same queries
    def compare_under(name: str, are_shared: bytes) -> Comparison:
        is_row = np.frombuffer(are_shared, dtype=bool)[query]
        judgments = Judgments(grades[name][is_row], qid=query[is_row])
        return compare(
            {
                system: evaluate_judgments(measures, judgments, y_score[is_row], unjudged)
                for system, y_score in scores.items()
            },
            **settings,
        )

    for judge in [name for name in grades if name != truth]:
        are_shared = (has_grades[truth] & has_grades[judge]).tobytes()
        boards[judge] = compare_under(truth, are_shared), compare_under(judge, are_shared)
    return boards


def _compare_boards(
    truth: Comparison, judge: Comparison, measure: str, n_resamples: int, seed: int
) -> dict[str, Any]:
    """Return the similarity of two leaderboards, and counts of significantly different pairs."""
    values = truth.per_query[measure], judge.per_query[measure]
    means = [
        np.array([np.nan if np.isnan(row).all() else np.nanmean(row) for row in of_systems])
        for of_systems in values
    ]
    is_known = not np.isnan(means).any()
    x, y = map(rank_means, means)  # with the same ties as τ_b
    low, high = resample_tau(*values, n_resamples, np.random.default_rng(seed))
    is_measure = truth.rows["measure"] == measure
    first, second = (
        np.where(board.rows["is_significant"], np.sign(board.rows["difference"]), 0)[is_measure]
        for board in (truth, judge)
    )
    return {
        "n_systems": len(values[0]),
        "n_queries": truth.n_queries,
        "tau_b": float(tau_b(*means)),
        "tau_low": low,
        "tau_high": high,
        "tau_ap": TauAP(undefined=np.nan)(x, y) if is_known else np.nan,
        "rbo": rbo(x, y, p=PERSISTENCE) if is_known else np.nan,
        "largest_drop": float(np.max(x - y)),
        "agree": np.count_nonzero(first * second > 0),
        "reversed": np.count_nonzero(first * second < 0),
        "only_truth": np.count_nonzero((first != 0) & (second == 0)),
        "only_judge": np.count_nonzero((first == 0) & (second != 0)),
    }


# Prediction-powered means ------------------------------------------------------------------------

# Variance estimates are often too low if the human-judged queries have fewer distinct values.
FEW_VALUES = 5
FEW_QUERIES = 20  # with fewer human-judged queries, intervals often fail to cover the mean


@dataclass(frozen=True, repr=False)
class PredictionPowered:
    """Means that combine human and machine judgments, returned by `prediction_powered`."""

    _estimates: dict[str, PoweredMean]  # keyed by measure name
    _level: float

    def mean(self) -> dict[str, float]:
        """Return the combined mean of each measure."""
        return {name: estimate.mean for name, estimate in self._estimates.items()}

    def confidence_interval(self, level: float | None = None) -> dict[str, ConfidenceInterval]:
        """Return Student's t interval for each mean, with n - 2 degrees of freedom.

        The limits are nan if the standard error is 0. The default for `level` is the level passed
        to `prediction_powered`.
        """
        level = self._level if level is None else CHECK_LEVEL(level)
        return {name: estimate.interval(level) for name, estimate in self._estimates.items()}

    def summary(self) -> tables.DataFrame:
        """Tabulate the means, one row per measure.

        The pandas.DataFrame has the following columns:

        - ``measure``, ``mean``, ``ci_low``, ``ci_high``,
        - ``n_human``, ``n_judge``: number of human-judged queries, and number of other queries,
        - ``weight``: λ, the weight of the judge, from 0 to 1,
        - ``human_mean``: mean of the human values alone,
        - ``judge_mean``: mean of the judge's values over all queries,
        - ``worth``: number of human-judged queries that alone would give the same standard error.
        """
        intervals = self.confidence_interval()
        return tables.frame(
            [
                {
                    "measure": name,
                    "mean": estimate.mean,
                    "ci_low": intervals[name].low,
                    "ci_high": intervals[name].high,
                    "n_human": estimate.n,
                    "n_judge": estimate.n_judge,
                    "weight": estimate.weight,
                    "human_mean": estimate.human_mean,
                    "judge_mean": estimate.judge_mean,
                    "worth": estimate.worth,
                }
                for name, estimate in self._estimates.items()
            ]
        )

    to_frame = summary

    def __repr__(self) -> str:
        estimate, means = next(iter(self._estimates.values())), list_values(self.mean())
        return f"PredictionPowered({estimate.n} + {estimate.n_judge} queries: {means})"


def prediction_powered(
    human: Evaluation, judge: Evaluation, level: float = 0.95
) -> PredictionPowered:
    r"""Estimate the mean under human judgments from a few human and many machine judgments.

    The human judgments correct the bias of the judge, and the judge's values reduce the variance
    (prediction-powered inference [1]_, [2]_). **The human-judged queries must be drawn at random
    from all queries**, for example with `sample_queries`.

    Parameters
    ----------
    human : Evaluation
        Evaluation of n ≥ 10 queries under human judgments; for n < 20, or fewer than five distinct
        values, a UserWarning is issued.
    judge : Evaluation
        Evaluation of the same queries and of N further queries under the judge's grades, with the
        same measures.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    PredictionPowered

    Raises
    ------
    ValueError
        If the queries do not meet these conditions, a value is nan, or the weights are unequal.

    Notes
    -----
    With the per-query values h (human) and j (judge), the variance var (divisor n - 1) and λ
    limited to the range from 0 to 1,

    - λ = cov_n(h, j) / ((1 + n/N) var_{n+N}(j)),
    - mean = λ mean_N(j) + mean_n(h - λ j),
    - error² = λ² var_N(j) / N + var_n(h - λ j) / n.

    The interval is Student's t with n - 2 degrees of freedom, or nan if the error is 0. With few
    queries, the intervals of skewed values, such as RR, are too narrow.

    References
    ----------
    .. [1] Angelopoulos, Bates, Fannjiang, Jordan, Zrnic: Prediction-powered inference. Science
       382, 2023.
    .. [2] Angelopoulos, Duchi, Zrnic: PPI++: Efficient prediction-powered inference. 2023.

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=500, random_state=0)
    >>> grades = np.clip(y + np.random.default_rng(0).integers(-1, 2, len(y)), 0, 4)
    >>> judge = sg.evaluate(grades, X[:, 0], qid=qid, measures="ndcng@10")
    >>> human = sg.evaluate(y, X[:, 0], qid=qid, measures="ndcng@10")
    >>> human = human.take(np.isin(human.query_ids, sg.sample_queries(qid, 50, rng=0)))
    >>> sg.prediction_powered(human, judge)
    PredictionPowered(50 + 450 queries: NDCNG@10=0.4872)
    """
    level = CHECK_LEVEL(level)
    samples = _samples({"human": human, "judge": judge})
    return PredictionPowered(
        {name: estimate_powered_mean(*sample) for name, sample in samples.items()}, level
    )


def plan_judgments(
    pilot_human: Evaluation, pilot_judge: Evaluation, half_width: float, level: float = 0.95
) -> tables.DataFrame:
    """Estimate how many queries people must judge for a confidence interval of a given width.

    Parameters
    ----------
    pilot_human, pilot_judge : Evaluation
        A first sample, as for `prediction_powered`; `pilot_judge` contains all queries to judge.
    half_width : float
        Half of the desired width of the interval, above 0.
    level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    pandas.DataFrame
        One row per measure. The columns are

        - ``measure``, ``half_width``,
        - ``n_human_alone``, ``n_human_with_judge``: number of human-judged queries required without
          and with the judge; nan, with a UserWarning, if the interval would be too wide even if
          people judged all queries in `pilot_judge`,
        - ``n_queries``: number of queries in `pilot_judge`.

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=500, random_state=0)
    >>> human = sg.evaluate(y, X[:, 0], qid=qid, measures="ndcng@10")
    >>> grades = np.clip(y + np.random.default_rng(0).integers(-1, 2, len(y)), 0, 4)
    >>> judge = sg.evaluate(grades, X[:, 0], qid=qid, measures="ndcng@10")
    >>> pilot = human.take(np.isin(human.query_ids, sg.sample_queries(human.query_ids, 30, rng=0)))
    >>> plan = sg.plan_judgments(pilot, judge, half_width=0.03)
    >>> plan[["n_human_alone", "n_human_with_judge"]].values.tolist()
    [[136, 78]]
    """
    level = CHECK_LEVEL(level)
    half_width = number_validator("half_width", 0, above=True)(half_width)
    samples = _samples({"pilot_human": pilot_human, "pilot_judge": pilot_judge})
    alone, with_judge = zip(
        *(count_queries_needed(*sample, half_width, level) for sample in samples.values()),
        strict=True,
    )
    plan = tables.frame(
        {
            "measure": list(samples),
            "half_width": half_width,
            "n_human_alone": alone,
            "n_human_with_judge": with_judge,
            "n_queries": len(pilot_judge.query_ids),
        }
    )
    out_of_reach = plan["measure"][plan["n_human_alone"].isna()].tolist()
    if out_of_reach:
        warn_user(
            f"half_width={half_width:g} is out of reach for {', '.join(out_of_reach)}: the "
            f"interval would be wider even if people judged all {len(pilot_judge.query_ids)} "
            "queries."
        )
    return plan


def _samples(
    evaluations: dict[str, Evaluation],
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the human values, and the judge's values for the same queries and for all others.

    `evaluations` contains the human Evaluation and the judge's, keyed by argument name.
    """
    for name, evaluation in evaluations.items():
        check_kind(evaluation, Evaluation, name)
        refuse_clusters(evaluation, "The combination of human and judge grades")
        if np.isnan(list(evaluation.per_query.values())).any():
            raise ValueError(f"{name} contains nan: use measures with undefined=0.0.")
        weights = evaluation.weights
        if weights is not None and np.ptp(weights) > ROUNDING * weights.max():
            raise ValueError(f"{name} has unequal weights: evaluate without sample_weight.")
    pairing.check_common_measures(evaluations)
    (human_name, human), (judge_name, judge) = evaluations.items()
    human_ids, judge_ids = to_plain_list(human.query_ids), to_plain_list(judge.query_ids)
    n = len(human_ids)
    if n < FEWEST_QUERIES:
        raise ValueError(
            f"{human_name} has {counted(n, 'query', 'queries')}, but at least {FEWEST_QUERIES} "
            f"human-judged queries are required; {FEW_QUERIES} or more are better."
        )
    n_values = min(len(np.unique(values)) for values in human.per_query.values())
    if n < FEW_QUERIES or n_values < FEW_VALUES:
        warn_user(
            f"{human_name} has {n} queries and as few as {n_values} distinct values. With fewer "
            f"than {FEW_QUERIES} human-judged queries or {FEW_VALUES} distinct values, intervals "
            "cover the mean too rarely."
        )
    positions = {query: i for i, query in enumerate(judge_ids)}
    pairing.refuse_missing(judge_name, positions, human_name, human_ids)
    rows = [positions[query] for query in human_ids]
    others = np.setdiff1d(np.arange(len(judge_ids)), rows)
    if len(others) < 2:
        raise ValueError(
            f"{judge_name} must contain at least two queries besides the {len(rows)} queries of "
            f"{human_name}; got {len(others)}."
        )
    return {
        name: (values, judge.per_query[name][rows], judge.per_query[name][others])
        for name, values in human.per_query.items()
    }
