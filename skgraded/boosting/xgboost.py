"""XGBoost support: rankers and regressors in QueryRanker; measures as metrics and objectives.

XGBoost's rankers accept rows sorted by query, the query id of each row, and one weight per query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from skgraded._input.needs import needs
from skgraded.boosting.adapter import BoosterAdapter
from skgraded.boosting.docs import ON_METRICS, ON_OBJECTIVES, documented
from skgraded.boosting.frames import library_locals
from skgraded.boosting.metric import BoostingMetric, refuse_part, truth_of
from skgraded.boosting.objective import Objective
from skgraded.boosting.rows import WEIGHT
from skgraded.measures import MEASURES, Measure

with needs("skgraded.xgboost", "xgboost"):
    import xgboost as xgb

__all__ = ["EarlyStopping", "custom_metric", "objective"]

# Metrics for which higher is better: those in XGBoost's EarlyStopping, and all measures.
HIGHER_IS_BETTER = {"auc", "aucpr", "pre", "map", "ndcg", *MEASURES}
NOT_FOR_SKLEARN = (
    "{metric} is for xgb.train and xgb.cv, which pass it a DMatrix with queries. As the "
    "eval_metric of an XGBRanker, it would be called once per query and averaged with the sizes "
    "of the queries as weights. Other estimators would pass no queries. Use xgb.train(…, "
    "custom_metric=…) or skgraded.QueryRanker(XGBRanker(), measure=…, early_stopping=True)."
)


# XGBoost in QueryRanker --------------------------------------------------------------------------

class _Library(BoosterAdapter):
    """Adapter for XGBRanker, XGBRegressor and their subclasses."""

    package = "xgboost"
    model = "XGBModel"
    library = "XGBoost"
    polars_since = (3, 0)
    first_scores = ("base_margin",)
    kind_parameters = ("booster",)
    changing = frozenset({"dart", "gblinear"})
    without_stopping = {"early_stopping_rounds": None}
    conflicting = frozenset({
        "eval_set", "eval_group", "eval_metric", "sample_weight_eval_set", "base_margin_eval_set",
        "early_stopping_rounds",
    })
    init_model_argument = "xgb_model"

    @property
    def wants_whole_grades(self):
        if self.query_argument is None:
            return False
        parameters = self.estimator.get_params(deep=False)
        exponential = parameters.get("ndcg_exp_gain") in (None, True) and not self.grades_are_gains
        return parameters["objective"] == "rank:ndcg" and exponential

    @property
    def fractional_grades_advice(self):
        return (
            "set grades='gain', ndcg_exp_gain=False, or objective='rank:pairwise', or wrap a "
            "regressor"
        )

    def labelled(self, grades):
        model = self.copy()
        if self.grades_are_gains and self.query_argument:
            model.set_params(ndcg_exp_gain=False)
        return model, grades

    def fit_arguments(self, rows):
        arguments = super().fit_arguments(rows)
        if self.query_argument and WEIGHT in arguments:
            arguments[WEIGHT] = rows.query_weights
        return arguments

    def fit_stopped(self, training, validation, progress, fit_params):
        """Fit a copy of the estimator; a callback evaluates each round and decides when to stop."""
        # Not a metric: XGBoost would weight a ranker's callable metric by the sizes of the queries.
        if xgb.collective.get_world_size() > 1:
            refuse_part(
                "QueryRanker(early_stopping=True)", "pass skgraded.xgboost.custom_metric and "
                "EarlyStopping to xgboost's train: they use the queries of all workers",
            )
        model, labels = self.labelled(training.grades)
        data = xgb.DMatrix(
            validation.X, base_margin=validation.by_row.get("base_margin"), missing=model.missing,
            nthread=model.n_jobs, feature_types=model.feature_types,
            enable_categorical=model.enable_categorical,
        )
        settings = {name: getattr(model, name) for name in ("callbacks", "early_stopping_rounds")}
        callbacks = [_Stop(progress, data), *(model.callbacks or ())]
        model.set_params(callbacks=callbacks, early_stopping_rounds=None)
        model.fit(training.X, labels, **fit_params | self.fit_arguments(training))
        vars(model).update(settings)  # set_params would also change the trained booster
        booster = model.get_booster()
        # XGBoost skips the remaining callbacks once a callback stops the training.
        # Up to XGBoost 2.1, the order of callbacks is arbitrary.
        if progress.n_rounds < booster.num_boosted_rounds():
            progress.see(booster.predict(data))
        booster.set_attr(
            best_iteration=str(progress.best_round - 1), best_score=str(progress.best_score)
        )
        return model


class _Stop(xgb.callback.TrainingCallback):
    def __init__(self, progress, data):
        self._progress = progress
        self._data = data

    def after_iteration(self, model, epoch, evals_log):
        """Evaluate the scores after a round; only the new trees are added to cached scores."""
        self._progress.see(model.predict(self._data))
        return self._progress.is_over


ADAPTERS: list[type[BoosterAdapter]] = [_Library]


# Measures as metrics -----------------------------------------------------------------------------

@documented(ON_METRICS)
def custom_metric(measures: Measure | str | Iterable[Measure | str], every: int = 1) -> Callable:
    """Make a metric that XGBoost reports at each round.

    Pass it to ``xgb.train(custom_metric=)`` or ``xgb.cv(custom_metric=)``, and stop on it with the
    `EarlyStopping` of this module. XGBoost's own `EarlyStopping` infers the direction from the name
    of the metric, and would minimise it.

    Returns
    -------
    callable
        XGBoost calls it as ``metric(preds, dmatrix)``. It returns ``(name, value)``, where higher
        is better, or a list of such pairs for a list of measures. In distributed training
        (``xgboost.dask.train``, a `CommunicatorContext`), the value is the mean over the queries
        of all workers. A query whose rows are split between two workers counts as two queries,
        because each worker evaluates its own rows: in Dask, keep all rows of a query in one
        partition. A DMatrix has one weight per query; ``xgb.cv`` drops the weights from its
        folds. XGBoost's history contains the values with six decimals.

        As ``XGBRanker(eval_metric=)``, it raises a TypeError. XGBoost calls such a metric once per
        query, averages the values with the *sizes* of the queries as weights, and uses the value 1
        for a query with one document. XGBoost treats a measure in the same way, so pass neither:
        ``QueryRanker(XGBRanker(), early_stopping=True)`` stops on the mean over queries.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from skgraded.datasets import make_ranking
    >>> from skgraded.xgboost import EarlyStopping, custom_metric
    >>> X, y, qid = make_ranking(n_queries=40, random_state=0)
    >>> train = xgb.DMatrix(X[qid < 30], y[qid < 30], qid=qid[qid < 30])
    >>> valid = xgb.DMatrix(X[qid >= 30], y[qid >= 30], qid=qid[qid >= 30])
    >>> params = {"objective": "rank:ndcg", "disable_default_eval_metric": 1, "nthread": 1}
    >>> history = {}
    >>> booster = xgb.train(
    ...     params, train, 50, evals=[(valid, "valid")],
    ...     custom_metric=custom_metric(["mu_map", "ndcng@5"]),
    ...     callbacks=[EarlyStopping(rounds=5)], evals_result=history, verbose_eval=False,
    ... )
    >>> list(history["valid"])
    ['MuAP', 'NDCNG@5']
    >>> booster.best_score == max(history["valid"]["NDCNG@5"])
    True
    """
    return _CustomMetric(measures, every)


class _CustomMetric(BoostingMetric):
    factory = "custom_metric"

    @property
    def __name__(self):
        # Only XGBoost's scikit-learn interface reads the name of a metric.
        # If every query has one document, XGBRanker reads the name but never calls the metric.
        raise AttributeError(NOT_FOR_SKLEARN.format(metric=self))

    def __call__(self, preds, dmatrix):
        """Return the values for (preds, dmatrix)."""
        if not isinstance(dmatrix, xgb.DMatrix):
            raise TypeError(NOT_FOR_SKLEARN.format(metric=self))
        booster = library_locals("self", xgb.Booster).get("self")
        n_rounds = 0 if booster is None else booster.num_boosted_rounds()
        if xgb.collective.get_world_size() > 1:
            means = partial(self._means_of_workers, dmatrix, preds)
            return self.results(booster, n_rounds, dmatrix, means)
        truth = _truth(dmatrix)
        means = partial(self.means, truth.judgments, preds)
        return self.results(booster, n_rounds, truth, means)

    def _means_of_workers(self, dmatrix, preds, when):
        """Return the means over the queries of all workers; every worker must call this method."""
        # XGBoost itself would take the unweighted mean of the workers' means (xgboost#8475).
        # A worker without rows adds 0. A worker with an error reports it, or the others would wait.
        sums, error = np.zeros((3, len(self.measures))), None
        if dmatrix.num_row():
            try:
                sums = self.sums(_truth(dmatrix).judgments, preds, when)
            except (ValueError, TypeError) as raised:
                error = raised
        shared = np.append(sums.ravel(), float(error is not None))
        *sums_of_all, n_errors = xgb.collective.allreduce(shared, xgb.collective.Op.SUM)
        if error is not None:
            raise error
        if n_errors:
            raise ValueError(
                f"{self} failed on {n_errors:.0f} of the workers: see the error messages there."
            )
        return self.means_of_sums(np.reshape(sums_of_all, sums.shape))


def _truth(dmatrix):
    labels, ends = dmatrix.get_label(), dmatrix.get_uint_info("group_ptr")
    if len(labels) == 0:
        raise ValueError("The DMatrix has no labels: pass label= to xgboost.DMatrix.")
    if len(ends) == 0:
        raise ValueError(
            "The DMatrix has no queries, which ranking measures need: pass qid= or group= "
            "to xgboost.DMatrix."
        )
    sizes = np.diff(ends.astype(np.intp))
    weights = dmatrix.get_weight()
    if len(weights) == len(sizes):
        weights = np.repeat(weights, sizes)
    return truth_of(dmatrix, labels, sizes, weights if len(weights) else None)


class EarlyStopping(xgb.callback.EarlyStopping):
    """XGBoost's early stopping, which treats higher values of skgraded's measures as better.

    Pass it in the ``callbacks`` of ``xgb.train``, ``xgb.cv`` or an XGBoost estimator.

    Parameters
    ----------
    rounds : int
        Stop after this many rounds without an improvement.
    metric_name : str, optional
        The metric to stop on, such as ``"NDCNG@5"``; by default the last metric. A custom metric
        comes after XGBoost's own metrics.
    data_name : str, optional
        The name of the data set to stop on; by default the last data set.
    maximize : bool, optional
        Whether higher is better. Required unless the metric is a measure of skgraded or one of
        XGBoost's own ranking and AUC metrics, for which higher is better.
    save_best : bool, default=False
        Whether the Booster keeps only the rounds up to the best round.
    min_delta : float, default=0.0
        The smallest increase that counts as an improvement.

    Raises
    ------
    ValueError
        After the first round, if it is unknown whether higher values of the metric are better.

    Notes
    -----
    Unlike XGBoost's callback, it can be reused, because its state is reset before each training.

    Examples
    --------
    >>> from skgraded.xgboost import EarlyStopping
    >>> EarlyStopping(rounds=50, metric_name="NDCNG@5").maximize
    True
    """

    def __init__(
        self,
        *,
        rounds: int,
        metric_name: str | None = None,
        data_name: str | None = None,
        maximize: bool | None = None,
        save_best: bool = False,
        min_delta: float = 0.0,
    ) -> None:
        super().__init__(
            rounds=rounds, metric_name=metric_name, data_name=data_name,
            maximize=maximize is None or maximize, save_best=save_best, min_delta=min_delta,
        )
        self._has_direction = maximize is not None

    def before_training(self, model: Any) -> Any:
        """Discard the state of the previous training."""
        vars(self).update(current_rounds=0, stopping_history={}, best_scores={})
        return super().before_training(model)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Return whether to stop, after checking that the direction of the metric is known."""
        values = evals_log.get(self.data or next(reversed(evals_log), None), {})
        metric = self.metric_name or next(reversed(values), None)
        name = str(metric).partition("(")[0].partition("@")[0].removesuffix("-")
        if metric in values and not (self._has_direction or name in HIGHER_IS_BETTER):
            raise ValueError(
                f"EarlyStopping does not know whether higher values of {metric!r} are better: "
                "pass maximize=True or False, or select a measure of skgraded with metric_name=."
            )
        return super().after_iteration(model, epoch, evals_log)


# Measures as objectives --------------------------------------------------------------------------

@documented(ON_OBJECTIVES)
def objective(
    measure: Measure | str, *, truncation: int = 30, sigmoid: float = 1.0, norm: bool = True
) -> Callable:
    """Make a LambdaRank objective whose swap deltas are computed from the measure.

    Pass it to ``xgb.train(obj=…)`` or ``xgb.cv(obj=…)``. XGBRanker accepts no callable. Grades may
    be any numbers ≥ 0. XGBoost saves the model with the objective ``reg:squarederror``, which does
    not change predictions.

    Returns
    -------
    callable
        XGBoost calls it as ``objective(preds, dmatrix)``. It returns gradients and hessians. The
        hessians are twice the second derivatives, as in XGBoost's own ``rank:ndcg`` and
        ``rank:map``. XGBoost's objectives divide the weights of queries by their mean; here, the
        weights are not scaled. It raises a TypeError if an XGBoost estimator calls it.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from skgraded.datasets import make_ranking
    >>> from skgraded.xgboost import objective
    >>> X, y, qid = make_ranking(random_state=0)
    >>> train = xgb.DMatrix(X, 0.3 * y, qid=qid)
    >>> params = {"disable_default_eval_metric": 1, "nthread": 1}
    >>> booster = xgb.train(params, train, 20, obj=objective("mu_map"))
    >>> booster.predict(train).shape == y.shape
    True
    """
    return _Objective(measure, truncation=truncation, sigmoid=sigmoid, norm=norm)


class _Objective(Objective):
    def __call__(self, preds, dmatrix):
        """Return the gradients and hessians for (preds, dmatrix)."""
        if not isinstance(dmatrix, xgb.DMatrix):
            raise TypeError(
                f"{self!r} is for xgb.train and xgb.cv, which pass it a DMatrix with queries: "
                "xgb.train(…, obj=…). XGBoost's estimators pass no queries to an objective."
            )
        gradients, hessians = self.gradients(_truth(dmatrix).judgments, preds)
        hessians *= 2.0
        return gradients, hessians
