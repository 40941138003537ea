"""LightGBM support: rankers and regressors in QueryRanker; measures as metrics and objectives.

LightGBM's rankers accept the sizes of consecutive queries and one weight per row.
"""

import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded.boosting.adapter import BoosterAdapter, Rows
from skgraded.boosting.frames import find_library_locals
from skgraded.boosting.rounds import (
    BoostingMetric,
    Objective,
    StoppingState,
    cache_judgments,
    refuse_part,
)
from skgraded.judgments import Judgments
from skgraded.measures import Measure

if TYPE_CHECKING:
    from lightgbm import Dataset

__all__ = ["eval_metric", "objective"]

# LightGBM's parameter `objective` and its aliases, in descending order of priority.
OBJECTIVE_NAMES = ("objective_type", "app", "application", "loss", "objective")
WHOLE_GRADE_OBJECTIVES = (  # a tuple, not a set, because a callable objective may be unhashable
    "lambdarank",
    "rank_xendcg",
    "xendcg",
    "xe_ndcg",
    "xe_ndcg_mart",
    "xendcg_mart",
)


# LightGBM in QueryRanker -------------------------------------------------------------------------


class _LGBMAdapter(BoosterAdapter):
    """Adapter for LGBMRanker, LGBMRegressor and their subclasses."""

    row_arguments = ("init_score",)
    round_parameters = (  # n_estimators and its aliases
        "max_iter",
        "n_estimators",
        "n_iter",
        "nrounds",
        "num_boost_round",
        "num_iteration",
        "num_iterations",
        "num_round",
        "num_rounds",
        "num_tree",
        "num_trees",
    )
    without_stopping = {"early_stopping_round": 0}
    conflicting = (
        "eval_class_weight",
        "eval_group",
        "eval_init_score",
        "eval_metric",
        "eval_names",
        "eval_set",
        "init_model",
    )
    changing = dict.fromkeys(("boost", "boosting", "boosting_type"), ("dart",))

    @cached_property
    def _parameters(self) -> dict[str, Any]:
        return self.estimator.get_params(deep=False)

    @cached_property
    def _objective(self) -> Any:
        """The ranker's `objective`, which users can set through any of its aliases."""
        objectives = filter(None, map(self._parameters.get, OBJECTIVE_NAMES))
        return next(objectives, "lambdarank")

    @property
    def _takes_gains(self) -> bool:
        """Whether lambdarank uses the grades as gains."""
        is_ranker = self.query_argument is not None
        return self.grades_are_gains and is_ranker and self._objective == "lambdarank"

    def check(self) -> None:
        if callable(self._objective):
            _refuse_bagging(self._parameters)
        if self._takes_gains and self._parameters.get("label_gain") is not None:
            raise ValueError(
                "label_gain cannot be combined with grades='gain', which uses the grades "
                "themselves as gains: omit one of them."
            )

    @property
    def _has_metric(self) -> bool:
        names = ("metric", "metrics", "metric_types")
        return any(self._parameters.get(name) is not None for name in names)

    @property
    def grade_limit(self) -> tuple[float, str] | None:
        has_whole_grades = self._objective in WHOLE_GRADE_OBJECTIVES and not self._takes_gains
        if self.query_argument is None or not has_whole_grades:
            return None
        advice = "wrap a regressor, QueryRanker(LGBMRegressor())"
        if self._objective == "lambdarank":
            advice = f"set grades='gain', {advice}"
        elif self._has_metric:  # the default metric, ndcg, has the same limit as lambdarank
            return np.inf, advice
        gains = self._parameters.get("label_gain")
        if gains is None:
            gains = range(31)
        n_gains = len(gains.split(",") if isinstance(gains, str) else gains)
        return n_gains - 1, f"{advice}, or set label_gain (one gain for each grade from 0)"

    def _copy_for(self, grades: np.ndarray, n_rounds: int | None) -> tuple[Any, np.ndarray]:
        """Return an unfitted copy of the estimator, and the labels to train it on.

        The labels are integer codes if the grades serve as gains.
        """
        # Disable LightGBM's default metric, ndcg, which rejects fractional labels.
        model, _ = super()._copy_for(grades, n_rounds)
        if self._takes_gains:
            gains, grades = np.unique(grades, return_inverse=True)
            model.set_params(label_gain=gains.tolist(), metric="None")
        elif callable(self._objective) and self.query_argument and not self._has_metric:
            model.set_params(metric="None")
        return model, grades

    def _fit_stopped(
        self,
        training: Rows,
        validation: Rows,
        state: StoppingState,
        add_round: Callable[[np.ndarray], None],
        fit_params: dict[str, Any],
    ) -> Any:
        """Fit a copy of the estimator, using LightGBM's early stopping on the first measure."""
        from lightgbm import EarlyStopException, early_stopping

        def measure(y_true: np.ndarray, y_pred: np.ndarray) -> list[tuple[str, float, bool]]:
            _refuse_distributed("QueryRanker(early_stopping=True)", y_pred)
            add_round(y_pred)
            return [(name, values[-1], True) for name, values in state.history.items()]

        def stop_if_over(env: Any) -> None:
            if state.is_over:
                raise EarlyStopException(state.best_round - 1, env.evaluation_result_list)

        stop = early_stopping(int(state.patience), first_metric_only=True, verbose=False)
        # LightGBM sorts callbacks by their `order` attribute.
        stop_if_over.order = stop.order + 1  # type: ignore[attr-defined]
        model, labels = self._copy_for(training.grades, None)
        model.set_params(metric="None", early_stopping_round=0)
        arguments = self._add_callbacks(fit_params, stop, stop_if_over)
        arguments |= self._make_fit_arguments(training) | {"eval_names": ["validation"]}
        # Copy the grades, because LightGBM could otherwise confuse the validation and training sets.
        grades = validation.grades.copy()
        if "eval_X" in self.fit_parameters:  # since LightGBM 4.7
            arguments |= {"eval_X": (validation.X,), "eval_y": (grades,)}
        else:
            arguments["eval_set"] = [(validation.X, grades)]
        if self.query_argument:
            arguments["eval_group"] = [validation.sizes]
        model.fit(training.X, labels, eval_metric=measure, **arguments)
        # Set the best round even if one of the user's callbacks stopped the training.
        model.booster_.best_iteration = state.best_round
        return model


ADAPTERS = {"LGBMModel": _LGBMAdapter}


# Measures as metrics -----------------------------------------------------------------------------


def eval_metric(measures: Measure | str | Iterable[Measure | str]) -> Callable[..., Any]:
    """Make a metric that LightGBM reports after each round and can use for early stopping.

    Pass the metric to ``lgb.train(feval=)``, ``lgb.cv(feval=)`` or ``LGBMRanker.fit(eval_metric=)``
    together with ``metric="None"``, which removes LightGBM's own metrics. With several measures,
    ``lgb.early_stopping`` stops when any of them stops improving or, with
    ``first_metric_only=True``, when the first does.

    Parameters
    ----------
    measures : Measure, str, or list of these
        The measures to compute. The predictions are sorted once for all measures of a list.

    Returns
    -------
    callable
        LightGBM calls it as ``metric(preds, dataset)`` or ``metric(y_true, y_pred, weight,
        group)``. It returns ``(name, value, True)``, where True means that higher is better, or a
        list of such tuples. It raises a ValueError in distributed training (Dask, ``machines=``).

    Raises
    ------
    ValueError, TypeError
        If a measure cannot be parsed or is repeated.

    Notes
    -----
    The values equal the values of the measures, including the treatment of ties. The weight of a
    query is the mean weight of its rows.

    A call raises a ValueError if predictions are NaN or multiclass, if the data set has no queries,
    or if a measure is undefined for every query with positive weight.

    The libraries store labels as 32-bit floats. Each label is converted to the shortest decimal
    that rounds to it, and so are the `threshold` and `max_grade` of a measure.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from skgraded.datasets import make_ranking
    >>> from skgraded.lightgbm import eval_metric
    >>> X, y, qid = make_ranking(n_queries=40, random_state=0)
    >>> sizes = np.bincount(qid)
    >>> train = lgb.Dataset(X[qid < 30], y[qid < 30], group=sizes[:30])
    >>> valid = lgb.Dataset(X[qid >= 30], y[qid >= 30], group=sizes[30:], reference=train)
    >>> params = {"objective": "lambdarank", "metric": "None", "num_threads": 1, "verbose": -1}
    >>> booster = lgb.train(params, train, 20, [valid], feval=eval_metric(["ndcng@5", "mu_map"]))
    >>> list(booster.best_score["valid_0"])
    ['NDCNG@5', 'MuAP']
    """
    return _LightGBMMetric(measures)


class _LightGBMMetric(BoostingMetric):
    direction = (True,)  # higher is better

    # LightGBM's scikit-learn interface passes as many arguments as the metric has parameters.
    # lgb.train always passes two arguments.
    def __call__(
        self,
        y_true: np.ndarray,
        y_pred: "np.ndarray | Dataset",
        weight: np.ndarray | None = None,
        group: np.ndarray | None = None,
    ) -> tuple[Any, ...] | list[tuple[Any, ...]]:
        """Return the values of the measures; ``lgb.train`` calls ``metric(preds, dataset)``."""
        judgments, preds = _read_arguments(y_true, y_pred, weight, group)
        _refuse_distributed(self, preds)
        return self.format_results(self.compute_means(judgments, preds))


# The id() of each prediction array from a training run on a single machine.
# A Booster fills the same array in every round, so `_refuse_distributed` looks for the Booster only
# in the first round.
_of_one_machine: set[int] = set()


def _refuse_distributed(what: object, preds: np.ndarray) -> None:
    """Raise a ValueError if the calling Booster takes part in distributed training."""
    if id(preds) in _of_one_machine:
        return
    from lightgbm import Booster

    # LightGBM does not pass the Booster to metrics, so read it from the calling function.
    booster = find_library_locals("self", Booster).get("self")
    # After Booster.set_network, num_machines may be missing from params, so 2 is assumed.
    if booster is not None and booster._network and booster.params.get("num_machines", 2) > 1:
        refuse_part(
            what, "evaluate booster.predict(X, num_iteration=n) for several n after training"
        )
    _of_one_machine.add(id(preds))
    weakref.finalize(preds, _of_one_machine.discard, id(preds))


def _read_arguments(
    y_true: np.ndarray,
    y_pred: "np.ndarray | Dataset",
    weight: np.ndarray | None,
    group: np.ndarray | None,
) -> tuple[Judgments, np.ndarray]:
    """Return the judgments and the predictions for either of LightGBM's call signatures."""
    from lightgbm import Dataset

    data: np.ndarray | Dataset
    if isinstance(y_pred, Dataset):
        data, preds = y_pred, np.asarray(y_true)
        columns: tuple[Any, Any, Any] = data.get_label(), data.get_group(), data.get_weight()
    else:  # users may pass lists, which do not support weak references
        data, preds = np.asarray(y_true), np.asarray(y_pred)
        columns = data, group, weight
    if columns[1] is None:
        raise ValueError(
            "The Dataset has no query sizes, which ranking measures require: pass group= "
            "to lightgbm.Dataset, or eval_group= to LGBMRanker.fit."
        )
    return cache_judgments(data, *columns, partial(_refuse_split_queries, data)), preds


def _refuse_split_queries(dataset: "np.ndarray | Dataset") -> None:
    """Raise a ValueError if a Dataset contains only some rows of a query, as it may in lgb.cv."""
    reference, rows = (getattr(dataset, name, None) for name in ("reference", "used_indices"))
    if reference is None or rows is None or reference.get_group() is None:
        return
    sizes = reference.get_group()
    query_of_row = np.repeat(np.arange(len(sizes)), sizes)
    taken = np.bincount(query_of_row[rows], minlength=len(sizes))
    is_split = (taken > 0) & (taken < sizes)
    if is_split.any():
        query = int(np.argmax(is_split))
        raise ValueError(
            f"This subset of a Dataset contains only {taken[query]} of the {sizes[query]} rows of "
            f"query {query}. lgb.cv keeps queries intact only for LightGBM's own ranking "
            "objectives: pass folds=sklearn.model_selection.GroupKFold()."
        )


# Measures as objectives --------------------------------------------------------------------------


def objective(
    measure: Measure | str, *, truncation: int = 30, sigmoid: float = 1.0, norm: bool = True
) -> Callable[..., Any]:
    """Make a LambdaRank objective whose swap deltas are computed from the measure.

    Pass the objective to ``lgb.train({"objective": …, "metric": "None"}, …)``, ``lgb.cv`` or
    ``LGBMRanker(objective=…, metric="None")``. Grades may be any numbers ≥ 0 with any number of
    levels, and a query may have any number of rows.

    This objective differs from ``lambdarank`` in three ways: the ideal DCG uses the cut-off of the
    measure, not `truncation`; sums use 64-bit floats; and tied documents are ranked in a random
    order, which is the same in each training run. If ``lambdarank`` can be used, this objective
    does not yield better models; see the guide. LightGBM cannot refit a saved model, and does not
    support this objective for random forests.

    Parameters
    ----------
    measure : Measure or str
        NDCG, NDCNG, DCG, AP, MuAP, GAP, RPrecision or RBP, with or without a cut-off.
    truncation : int, default=30
        A pair counts only if one of its documents is among the first `truncation` ranks, as with
        LightGBM's ``lambdarank_truncation_level``. Choose a value slightly above the cut-off.
    sigmoid : float, default=1.0
        Steepness of the probability of a wrong order, 1 / (1 + exp(sigmoid · score difference)).
    norm : bool, default=True
        Whether to reduce the weight of pairs whose scores are far apart, and of queries with large
        gradients, as with LightGBM's ``lambdarank_norm``.

    Returns
    -------
    callable
        LightGBM calls it as ``objective(preds, dataset)`` or ``objective(y_true, y_pred, weight,
        group)``. It returns gradients and hessians. It raises a ValueError with
        ``bagging_by_query``, and with the default folds of ``lgb.cv``, which split queries: pass
        ``folds=GroupKFold(…)`` from scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.

    Notes
    -----
    Swapping two documents changes the measure by Δ. Let d be the score of the document with the
    higher grade minus the score of the other document. The document with the higher grade is pushed
    up by σ abs(Δ) / (1 + exp(σ d)), and the other is pushed down by the same amount. With ``norm``,
    abs(Δ) is divided by 0.01 + abs(d), and the gradients of a query are multiplied by
    log2(1 + λ) / λ, where λ is the sum of all pushes in the query. The gradients are also
    multiplied by the weight of the query, the mean weight of its rows.

    Both derivatives are 32-bit floats, and are limited to 1.7e38 in magnitude. A call raises a
    ValueError for data sets without queries and for predictions that are not finite.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from skgraded.datasets import make_ranking
    >>> from skgraded.lightgbm import objective
    >>> X, y, qid = make_ranking(random_state=0)
    >>> train = lgb.Dataset(X, 0.3 * y, group=np.bincount(qid))
    >>> params = {"objective": objective("mu_map"), "metric": "None", "num_threads": 1}
    >>> booster = lgb.train(params | {"verbose": -1}, train, 20)
    """
    return _LightGBMObjective(measure, truncation=truncation, sigmoid=sigmoid, norm=norm)


class _LightGBMObjective(Objective):
    def __call__(
        self,
        y_true: np.ndarray,
        y_pred: "np.ndarray | Dataset",
        weight: np.ndarray | None = None,
        group: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients and hessians; ``lgb.train`` calls ``objective(preds, dataset)``."""
        _refuse_bagging(getattr(y_pred, "params", {}))
        return self.compute_gradients(*_read_arguments(y_true, y_pred, weight, group))


def _refuse_bagging(params: Mapping[str, Any]) -> None:
    """Raise a ValueError if LightGBM would pass no rows to a callable objective."""
    if str(params.get("bagging_by_query", False)).lower() in ("true", "1", "+"):
        raise ValueError(
            "bagging_by_query=True cannot be combined with a callable objective, because LightGBM "
            "would pass no rows to the objective: sample rows with bagging_fraction instead."
        )
