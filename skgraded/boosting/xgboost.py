"""XGBoost support: rankers and regressors in QueryRanker; measures as metrics and objectives.

XGBoost's rankers accept rows sorted by query, with one query id per row and one weight per query.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from skgraded._input.libraries import needs
from skgraded.boosting.adapter import WEIGHT, BoosterAdapter, Rows
from skgraded.boosting.frames import find_library_locals
from skgraded.boosting.rounds import (
    BoostingMetric,
    Objective,
    StoppingState,
    cache_judgments,
    refuse_part,
)
from skgraded.judgments import Judgments
from skgraded.measures import MEASURES, Measure

with needs("skgraded.xgboost", "xgboost"):
    import xgboost as xgb

__all__ = ["EarlyStopping", "custom_metric", "objective"]

# XGBoost's EarlyStopping maximizes metrics whose names start with one of these prefixes.
MAXIMIZED = ("auc", "aucpr", "pre", "map", "ndcg")


# XGBoost in QueryRanker --------------------------------------------------------------------------


class _XGBAdapter(BoosterAdapter):
    """Adapter for XGBRanker, XGBRegressor and their subclasses."""

    row_arguments = ("base_margin",)
    without_stopping = {"early_stopping_rounds": None}
    conflicting = (
        "base_margin_eval_set",
        "eval_group",
        "eval_set",
        "sample_weight_eval_set",
        "xgb_model",
    )
    changing = {"booster": ("dart", "gblinear")}

    @property
    def grade_limit(self) -> tuple[float, str] | None:
        parameters = self.estimator.get_params(deep=False)
        if self.query_argument is None:
            return None
        if parameters["objective"] == "rank:map":
            return 1, "set objective='rank:ndcg', or train on y > 0"
        is_exponential = parameters.get("ndcg_exp_gain") in (None, True)
        if parameters["objective"] != "rank:ndcg" or not is_exponential or self.grades_are_gains:
            return None
        return 31, (
            "set grades='gain', ndcg_exp_gain=False or objective='rank:pairwise', or wrap a "
            "regressor"
        )

    def _copy_for(self, grades: np.ndarray, n_rounds: int | None) -> tuple[Any, np.ndarray]:
        model, _ = super()._copy_for(grades, n_rounds)
        if self.grades_are_gains and self.query_argument:
            model.set_params(ndcg_exp_gain=False)
        return model, grades

    def _make_fit_arguments(self, rows: Rows) -> dict[str, Any]:
        arguments = super()._make_fit_arguments(rows)
        if self.query_argument and WEIGHT in arguments:
            arguments[WEIGHT] = rows.query_weights
        return arguments

    def _fit_stopped(
        self,
        training: Rows,
        validation: Rows,
        state: StoppingState,
        add_round: Callable[[np.ndarray], None],
        fit_params: dict[str, Any],
    ) -> Any:
        """Fit a copy of the estimator; a callback evaluates each round and stops the training."""
        # Use a callback instead of a metric, whose values XGBRanker would weight by query size.
        if xgb.collective.get_world_size() > 1:
            refuse_part(
                "QueryRanker(early_stopping=True)",
                "pass skgraded.xgboost.custom_metric and "
                "EarlyStopping to xgboost's train: they use the queries of all workers",
            )
        model, labels = self._copy_for(training.grades, None)
        data = xgb.DMatrix(
            validation.X,
            missing=model.missing,
            nthread=model.n_jobs,
            feature_types=model.feature_types,
            enable_categorical=model.enable_categorical,
        )

        class AddRound(xgb.callback.TrainingCallback):
            def after_iteration(self, model: xgb.Booster, epoch: int, evals_log: Any) -> bool:
                add_round(model.predict(data))  # fast, because XGBoost caches earlier scores
                return state.is_over

        patience, callbacks = model.early_stopping_rounds, model.callbacks
        callbacks_of_fit = [AddRound(), *(callbacks or ())]
        model.set_params(early_stopping_rounds=None, callbacks=callbacks_of_fit)
        model.fit(training.X, labels, **fit_params | self._make_fit_arguments(training))
        # Set the attributes directly, because set_params would also change the trained booster.
        model.early_stopping_rounds, model.callbacks = patience, callbacks
        booster = model.get_booster()
        # XGBoost skips the remaining callbacks once a callback stops the training.
        # In XGBoost 2.1 and earlier, callbacks run in arbitrary order.
        if state.n_rounds < booster.num_boosted_rounds():
            add_round(booster.predict(data))
        booster.set_attr(best_iteration=str(state.best_round - 1), best_score=str(state.best_score))
        return model


ADAPTERS = {"XGBModel": _XGBAdapter}


# Measures as metrics -----------------------------------------------------------------------------


def custom_metric(measures: Measure | str | Iterable[Measure | str]) -> Callable[..., Any]:
    """Make a metric that XGBoost reports after each round.

    Pass the metric to ``xgb.train(custom_metric=)`` or ``xgb.cv(custom_metric=)``. For early
    stopping, use `EarlyStopping` from this module, or pass ``maximize=True`` to XGBoost; if you do
    neither, the first round raises a ValueError, because XGBoost would minimize the measure.

    Parameters
    ----------
    measures : Measure, str, or list of these
        The measures to compute. The predictions are sorted once for all measures of a list.

    Returns
    -------
    callable
        XGBoost calls it as ``metric(preds, dmatrix)``. It returns ``(name, value)``, where higher
        is better, or a list of such pairs for a list of measures. XGBoost records six decimals,
        and ``xgb.cv`` drops the weights from its folds. In distributed training, the value is the
        mean over the queries of all workers, and a query with rows on two workers counts twice.
        For XGBoost's estimators, use `QueryRanker`.

    Raises
    ------
    ValueError, TypeError
        If a measure cannot be parsed or is repeated.

    Notes
    -----
    The notes of `skgraded.lightgbm.eval_metric` about values, weights, labels and errors apply.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from skgraded.datasets import make_ranking
    >>> from skgraded.xgboost import custom_metric
    >>> X, y, qid = make_ranking(n_queries=40, random_state=0)
    >>> data = xgb.DMatrix(X, y, qid=qid)
    >>> params = {"objective": "rank:ndcg", "disable_default_eval_metric": 1, "nthread": 1}
    >>> history = {}
    >>> booster = xgb.train(
    ...     params, data, 20, evals=[(data, "train")], evals_result=history, verbose_eval=False,
    ...     custom_metric=custom_metric(["mu_map", "ndcng@5"]),
    ... )
    >>> list(history["train"])
    ['MuAP', 'NDCNG@5']
    """
    return _XGBoostMetric(measures)


class _XGBoostMetric(BoostingMetric):
    factory = "custom_metric"

    # XGBoost's estimators read `__name__`, then call the metric with labels instead of a DMatrix.
    __name__ = factory

    def __call__(self, preds: np.ndarray, dmatrix: xgb.DMatrix, sample_weight: Any = None) -> Any:
        if not isinstance(dmatrix, xgb.DMatrix):
            raise TypeError(
                f"Metric {self} works only with xgb.train and xgb.cv, which pass it a DMatrix "
                "with queries. For XGBoost's estimators, use skgraded.QueryRanker(XGBRanker(), "
                "measure=…, early_stopping=True)."
            )
        self._refuse_minimization()
        if xgb.collective.get_world_size() > 1:
            return self.format_results(self._average_workers(dmatrix, preds))
        return self.format_results(self.compute_means(_read_judgments(dmatrix), preds))

    def _refuse_minimization(self) -> None:
        """Raise a ValueError if a callback of the current training run would minimize a measure."""
        container = find_library_locals("self", xgb.callback.CallbackContainer).get("self")
        if container is None or container.metric is not self:
            return  # called by the user or by a metric that wraps this metric
        for callback in container.callbacks:
            if not isinstance(callback, xgb.callback.EarlyStopping):
                continue
            name, maximize = callback.metric_name or self.names[-1], callback.maximize
            if maximize is None:
                maximize = name.startswith(MAXIMIZED)
            if name in self.names and not maximize:
                raise ValueError(
                    f"XGBoost's early stopping would minimize {name}, but higher values are better."
                    " XGBoost infers the direction from the name unless maximize is passed: pass "
                    "maximize=True, or replace early_stopping_rounds with callbacks=["
                    f"skgraded.xgboost.EarlyStopping(rounds={callback.rounds})]."
                )

    def _average_workers(self, dmatrix: xgb.DMatrix, preds: np.ndarray) -> list[float]:
        """Return the means over all workers' queries; every worker must call this method."""
        # XGBoost itself would compute the unweighted mean of the workers' means (xgboost#8475).
        # Failed workers also call allreduce; otherwise, the other workers would hang.
        sums, error = np.zeros((3, len(self.measures))), None
        if dmatrix.num_row():
            try:
                sums = self.compute_sums(_read_judgments(dmatrix), preds)
            except (ValueError, TypeError) as raised:
                error = raised
        shared = np.append(sums.ravel(), float(error is not None))
        *sums_of_all, n_errors = xgb.collective.allreduce(shared, xgb.collective.Op.SUM)
        if error is not None:
            raise error
        if n_errors:
            raise ValueError(
                f"Metric {self} failed on {n_errors:.0f} of the workers: see the workers' errors."
            )
        return self.combine_sums(np.reshape(sums_of_all, sums.shape))


def _read_judgments(dmatrix: xgb.DMatrix) -> Judgments:
    labels, ends = dmatrix.get_label(), dmatrix.get_uint_info("group_ptr")
    if len(ends) == 0:
        raise ValueError(
            "The DMatrix has no queries, which ranking measures require: pass qid= or group= "
            "to xgboost.DMatrix."
        )
    sizes = np.diff(ends.astype(np.intp))
    weights = dmatrix.get_weight()
    if len(weights) == len(sizes):
        weights = np.repeat(weights, sizes)
    return cache_judgments(dmatrix, labels, sizes, weights if len(weights) else None)


class EarlyStopping(xgb.callback.EarlyStopping):
    """XGBoost's early stopping callback, extended to maximize skgraded's measures.

    Pass an instance of this class in the ``callbacks`` list of ``xgb.train``, ``xgb.cv`` or an
    XGBoost estimator.

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

    Notes
    -----
    Unlike XGBoost's callback, an instance can be reused.

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
            rounds=rounds,
            metric_name=metric_name,
            data_name=data_name,
            maximize=maximize is None or maximize,
            save_best=save_best,
            min_delta=min_delta,
        )
        self._has_direction = maximize is not None

    def before_training(self, model: xgb.Booster) -> xgb.Booster:
        """Discard the state of the previous training run."""
        self.current_rounds = 0
        self.stopping_history: dict[str, Any] = {}
        self.best_scores: dict[str, Any] = {}
        return super().before_training(model)

    def after_iteration(self, model: xgb.Booster, epoch: int, evals_log: Any) -> bool:
        """Return whether to stop; raise an error if the direction of the metric is unknown."""
        values = evals_log.get(self.data or next(reversed(evals_log), None), {})
        metric = self.metric_name or next(reversed(values), None)
        name = str(metric).partition("(")[0].partition("@")[0].removesuffix("-")
        if metric in values and not (self._has_direction or name in (*MAXIMIZED, *MEASURES)):
            raise ValueError(
                f"EarlyStopping cannot infer whether higher values of {metric!r} are better: pass "
                "maximize=True or False, or set metric_name= to a measure from skgraded."
            )
        return super().after_iteration(model, epoch, evals_log)


# Measures as objectives --------------------------------------------------------------------------


def objective(
    measure: Measure | str, *, truncation: int = 30, sigmoid: float = 1.0, norm: bool = True
) -> Callable[..., Any]:
    """Make a LambdaRank objective whose swap deltas are computed from the measure.

    Pass the objective to ``xgb.train(obj=…)`` or ``xgb.cv(obj=…)``; XGBRanker does not accept it.
    Grades may be any numbers ≥ 0. Saved models contain the objective
    ``reg:squarederror`` instead, which does not affect predictions.

    Parameters
    ----------
    measure : Measure or str
    truncation : int, default=30
    sigmoid : float, default=1.0
    norm : bool, default=True
        As in `skgraded.lightgbm.objective`.

    Returns
    -------
    callable
        XGBoost calls it as ``objective(preds, dmatrix)``. It returns gradients and hessians; the
        hessians are twice the second derivatives, as in XGBoost's ``rank:ndcg``. Unlike
        ``rank:ndcg``, it does not divide the query weights by their mean.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.

    Notes
    -----
    The notes of `skgraded.lightgbm.objective` about gradients, weights and errors apply.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from skgraded.datasets import make_ranking
    >>> from skgraded.xgboost import objective
    >>> X, y, qid = make_ranking(random_state=0)
    >>> train = xgb.DMatrix(X, 0.3 * y, qid=qid)
    >>> params = {"disable_default_eval_metric": 1, "nthread": 1}
    >>> booster = xgb.train(params, train, 20, obj=objective("mu_map"))
    """
    return _XGBoostObjective(measure, truncation=truncation, sigmoid=sigmoid, norm=norm)


class _XGBoostObjective(Objective):
    def __call__(self, preds: np.ndarray, dmatrix: xgb.DMatrix) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(dmatrix, xgb.DMatrix):
            raise TypeError(
                f"Pass {self!r} to xgb.train(…, obj=…) or xgb.cv, because XGBoost's estimators do "
                "not pass queries to an objective."
            )
        gradients, hessians = self.compute_gradients(_read_judgments(dmatrix), preds)
        hessians *= 2.0
        return gradients, hessians
