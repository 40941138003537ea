"""Prediction-powered means: a few human judgments combined with many judgments of a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skgraded._input.door import check_kind, number_validator
from skgraded._input.user_warnings import warn_user
from skgraded._input.words import counted, plain_list
from skgraded.reports import pairing
from skgraded.reports.evaluation import Evaluation
from skgraded.stats import prediction_powered as estimators
from skgraded.stats.intervals import CHECK_LEVEL, ROUNDING, ConfidenceInterval
from skgraded.stats.prediction_powered import FEWEST_QUERIES, PoweredMean, powered_mean
from skgraded.writing import tables
from skgraded.writing.text import list_values

if TYPE_CHECKING:
    import pandas

FEW_VALUES = 5  # with fewer distinct human values, variances are too low too often
FEW_QUERIES = 20  # with fewer human-judged queries, intervals cover the mean too rarely


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

    def summary(self) -> pandas.DataFrame:
        """Tabulate the means, one row per measure.

        The pandas.DataFrame has the columns

        - ``measure``, ``mean``, ``ci_low``, ``ci_high``,
        - ``n_human``, ``n_judge``: number of queries with human judgments, and of further queries,
        - ``weight``: λ, the weight of the judge, from 0 to 1,
        - ``human_mean``: mean over the human judgments alone,
        - ``judge_mean``: mean over the judge's values of all queries,
        - ``worth``: number of human-judged queries that alone would give an equally small error.
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
        {name: powered_mean(*sample) for name, sample in samples.items()}, level
    )


def plan_judgments(
    pilot_human: Evaluation, pilot_judge: Evaluation, half_width: float, level: float = 0.95
) -> pandas.DataFrame:
    """Estimate how many queries people must judge for an interval of a given width.

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
          and with the judge; nan, with a UserWarning, if human judgments of all queries of
          `pilot_judge` would still give a wider interval than `half_width`,
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
    rows = []
    for name, sample in _samples({"pilot_human": pilot_human, "pilot_judge": pilot_judge}).items():
        alone, with_judge = estimators.queries_needed(*sample, half_width, level)
        rows.append(
            {
                "measure": name,
                "half_width": half_width,
                "n_human_alone": alone,
                "n_human_with_judge": with_judge,
                "n_queries": len(pilot_judge.query_ids),
            }
        )
    plan = tables.frame(rows)
    out_of_reach = plan["measure"][plan["n_human_alone"].isna()].tolist()
    if out_of_reach:
        warn_user(
            f"half_width={half_width:g} is out of reach for {', '.join(out_of_reach)}: the "
            f"interval would be wider even if people judged all {len(pilot_judge.query_ids)} "
            "queries."
        )
    return plan


# Judgments of people and of a judge --------------------------------------------------------------


def _samples(
    evaluations: dict[str, Evaluation],
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the human values, and the judge's values for the same queries and for other queries.

    `evaluations` contains the Evaluations of people and of the judge, keyed by argument name.
    """
    for name, evaluation in evaluations.items():
        check_kind(evaluation, Evaluation, name)
        pairing.refuse_clusters(evaluation, "The combination of human and judge grades")
        if np.isnan(list(evaluation.per_query.values())).any():
            raise ValueError(f"{name} contains the value nan: use measures with undefined=0.0.")
        weights = evaluation.weights
        if weights is not None and np.ptp(weights) > ROUNDING * weights.max():
            raise ValueError(f"{name} has unequal weights: evaluate without sample_weight.")
    pairing.common_measures(evaluations)
    (human_name, human), (judge_name, judge) = evaluations.items()
    human_ids, judge_ids = plain_list(human.query_ids), plain_list(judge.query_ids)
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
