"""XGBoost: its rankers and regressors in QueryRanker, and measures as metrics of its trainings.

Its rankers take the query of each row, sorted, and a weight a query.
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

# XGBoost's own that are the better the higher, as EarlyStopping of XGBoost has them.
HIGHER_IS_BETTER = {"auc", "aucpr", "pre", "map", "ndcg", *MEASURES}
NOT_FOR_SKLEARN = (
    "{metric} is for xgb.train and xgb.cv, which hand it a DMatrix with its queries. As "
    "eval_metric of an XGBRanker it would be called query by query and averaged by the size of "
    "the queries; in other estimators it would get no queries. Use xgb.train(…, "
    "custom_metric=…) or skgraded.QueryRanker(XGBRanker(), measure=…, early_stopping=True)."
)


# XGBoost in QueryRanker --------------------------------------------------------------------------

class _Library(BoosterAdapter):
    """XGBRanker, XGBRegressor and what is made after them."""

    package = "xgboost"
    model = "XGBModel"
    library = "XGBoost"
    polars_since = (3, 0)
    first_scores = ("base_margin",)
    kind_parameters = ("booster",)
    changing = frozenset({"dart", "gblinear"})
    unstopped = {"early_stopping_rounds": None}
    taken = frozenset({
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
    def for_fractions(self):
        of_objective = "ndcg_exp_gain=False, or objective='rank:pairwise'"
        return f"set grades='gain', {of_objective}, or wrap a regressor"

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
        """Fit a copy of the estimator, shown and stopped by a callback."""
        # XGBoost would average a callable metric of a ranker by the size of the queries.
        if xgb.collective.get_world_size() > 1:
            refuse_part(
                "QueryRanker(early_stopping=True)", "stop on skgraded.xgboost.custom_metric and "
                "EarlyStopping in xgboost's train, which count the queries of all workers",
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
        vars(model).update(settings)  # set_params would hand all to the trained booster
        booster = model.get_booster()
        # Once a callback has stopped it, the next are not called; up to 2.1 they have no order.
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
        """Show the scores after a round; XGBoost adds the new trees to what it has kept."""
        self._progress.see(model.predict(self._data))
        return self._progress.is_over


ADAPTERS: list[type[BoosterAdapter]] = [_Library]


# Measures as metrics -----------------------------------------------------------------------------

@documented(ON_METRICS)
def custom_metric(measures: Measure | str | Iterable[Measure | str], every: int = 1) -> Callable:
    """Make a metric that XGBoost shows at each round.

    Give it to ``xgb.train(custom_metric=)`` or ``xgb.cv(custom_metric=)``, and stop on it by the
    `EarlyStopping` of this module: XGBoost's own goes by the name of the metric and would
    minimise it.

    Returns
    -------
    callable
        Called by XGBoost as ``metric(preds, dmatrix)``. It returns ``(name, value)``, higher
        being better; a list of these for a list of measures. In a training on several workers
        (``xgboost.dask.train``, a `CommunicatorContext`) it is the mean over the queries of all.
        XGBoost has one weight for each query of a DMatrix; ``xgb.cv`` drops the weights from its
        folds. It writes the values with six decimals into its history.

        As ``XGBRanker(eval_metric=)`` it raises a TypeError. XGBoost gives such a metric one
        query at a time, averages the values by query *size* and counts 1 for a query of one
        document. That goes for a measure in this place too, so use neither:
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
        # Only XGBoost's scikit-learn forms ask for it; XGBRanker does where each query has one
        # document, and then does not even call the metric.
        raise AttributeError(NOT_FOR_SKLEARN.format(metric=self))

    def __call__(self, preds, dmatrix):
        """Values for (preds, dmatrix)."""
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
        """Means over the queries of all workers, each of which has to come here."""
        # XGBoost itself would take the plain mean of the workers' means (xgboost#8475). One that
        # has no rows adds nothing, and one with an error says so, or the others would wait for it.
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
            raise ValueError(f"{self} failed on {n_errors:.0f} of the workers, which says why.")
        return self.means_of_sums(np.reshape(sums_of_all, sums.shape))


def _truth(dmatrix):
    labels, ends = dmatrix.get_label(), dmatrix.get_uint_info("group_ptr")
    if len(labels) == 0:
        raise ValueError("The DMatrix has no labels: give label= to xgboost.DMatrix.")
    if len(ends) == 0:
        raise ValueError(
            "The DMatrix has no queries, and a ranking measure needs them: give qid= or group= "
            "to xgboost.DMatrix."
        )
    sizes = np.diff(ends.astype(np.intp))
    weights = dmatrix.get_weight()
    if len(weights) == len(sizes):
        weights = np.repeat(weights, sizes)
    return truth_of(dmatrix, labels, sizes, weights if len(weights) else None)


class EarlyStopping(xgb.callback.EarlyStopping):
    """XGBoost's early stopping, which knows that skgraded's measures are better the higher.

    Give it in ``callbacks=`` to ``xgb.train``, ``xgb.cv`` or an estimator of XGBoost.

    Parameters
    ----------
    rounds : int
        Stop after so many rounds without an improvement.
    metric_name : str, optional
        The metric to stop on, such as ``"NDCNG@5"``; the last one by default, and a custom metric
        comes after XGBoost's own.
    data_name : str, optional
        The name of the data set to stop on; the last one by default.
    maximize : bool, optional
        Needed for a metric that is neither a measure of skgraded nor one of XGBoost's own ranking
        and AUC metrics, which are all better the higher.
    save_best : bool, default=False
        Whether the Booster keeps the rounds up to the best one only.
    min_delta : float, default=0.0
        The least rise that counts as an improvement.

    Raises
    ------
    ValueError
        At the first round, if it is not known whether the metric is better high or low.

    Notes
    -----
    Unlike XGBoost's it may be used again: each training starts anew.

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
        self._is_told = maximize is not None

    def before_training(self, model: Any) -> Any:
        """Forget the training before."""
        vars(self).update(current_rounds=0, stopping_history={}, best_scores={})
        return super().before_training(model)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Tell whether to stop, once it is known which way is better."""
        values = evals_log.get(self.data or next(reversed(evals_log), None), {})
        metric = self.metric_name or next(reversed(values), None)
        name = str(metric).partition("(")[0].partition("@")[0].removesuffix("-")
        if metric in values and not (self._is_told or name in HIGHER_IS_BETTER):
            raise ValueError(
                f"EarlyStopping does not know whether {metric!r} is better high or low: give "
                "maximize=True or False, or name a measure of skgraded by metric_name=."
            )
        return super().after_iteration(model, epoch, evals_log)


# Measures as objectives --------------------------------------------------------------------------

@documented(ON_OBJECTIVES)
def objective(
    measure: Measure | str, *, truncation: int = 30, sigmoid: float = 1.0, norm: bool = True
) -> Callable:
    """Make an objective of a measure: LambdaRank, with the measure's own changes by swaps.

    Give it to ``xgb.train(obj=…)`` or ``xgb.cv(obj=…)``. XGBRanker takes no callable. Grades may be
    any numbers ≥ 0. XGBoost saves such a model with the objective ``reg:squarederror``, which
    changes no prediction.

    Returns
    -------
    callable
        Called by XGBoost as ``objective(preds, dmatrix)``, it returns gradients and hessians, which
        are twice as large as in the formula below, as in XGBoost's own ``rank:ndcg`` and
        ``rank:map``. These divide the weights of queries by their mean; here the weights stay as
        they are. It raises a TypeError in an estimator of XGBoost.

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
        """Gradients and hessians for (preds, dmatrix)."""
        if not isinstance(dmatrix, xgb.DMatrix):
            raise TypeError(
                f"{self!r} is for xgb.train and xgb.cv, which hand it a DMatrix with its queries: "
                "xgb.train(…, obj=…). Estimators of XGBoost tell an objective no queries."
            )
        gradients, hessians = self.gradients(_truth(dmatrix).judgments, preds)
        hessians *= 2.0
        return gradients, hessians
