"""CatBoost support: rankers and regressors in QueryRanker, and measures as eval_metric.

CatBoost's rankers require the rows of each query to be contiguous. They accept one query id and one
query weight per row.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.needs import needs
from skgraded._input.queries import query_codes
from skgraded.boosting.adapter import ROUND_PARAMETERS, BoosterAdapter, adapts
from skgraded.boosting.frames import library_locals
from skgraded.boosting.metric import BoostingMetric, judgments_of, keep_while_alive
from skgraded.boosting.rows import WEIGHT, Rows
from skgraded.measures import Measure
from skgraded.measures import measure as as_measure

with needs("skgraded.catboost", "catboost"):
    from catboost import Pool

__all__ = ["eval_metric"]

# CatBoost's parameters for its built-in early stopping and hold-out set.
STOPPING = {
    "od_type",
    "od_wait",
    "od_pval",
    "early_stopping_rounds",
    "eval_metric",
    "eval_fraction",
    "use_best_model",
    "best_model_min_trees",
    "metric_period",
}

# Built-in metrics that CatBoost rejects for some losses, such as RMSE.
BUILT_IN = ("Precision", "Recall", "PairAccuracy")


# CatBoost in QueryRanker -------------------------------------------------------------------------


@adapts("catboost", "CatBoost")
class _CatBoostAdapter(BoosterAdapter):
    """Adapter for CatBoostRanker, CatBoostRegressor, CatBoost and their subclasses."""

    def fit_arguments(self, rows: Rows) -> dict[str, Any]:
        arguments = super().fit_arguments(rows)
        if self.query_argument and WEIGHT in arguments:
            del arguments[WEIGHT]  # YetiRank, the default objective, ignores row weights
            arguments["group_weight"] = np.repeat(rows.query_weights, np.asarray(rows.sizes))
        return arguments

    def copy(self, left_out: Collection[str] = (), **changes: Any) -> Any:
        """Return an unfitted copy of the estimator with some parameters removed or changed."""
        settings = self.estimator.get_params().items()
        parameters = {name: value for name, value in settings if name not in left_out} | changes
        # clone() would fail, because get_params copies lists and objects (catboost#3078).
        # The base class, catboost.CatBoost, accepts parameters only as a dict.
        cls = type(self.estimator)
        is_base = cls is sys.modules["catboost"].CatBoost
        return cls(parameters) if is_base else cls(**parameters)

    def fit_stopped(
        self, training: Rows, validation: Rows, progress: Any, fit_params: dict[str, Any]
    ) -> Any:
        """Fit a copy of the estimator; one object serves as eval_metric and stopping callback."""
        arguments = self.fit_arguments(training)
        weights = arguments.get("group_weight", arguments.get(WEIGHT, np.ones(1)))
        metric = _ScoreObserver(progress, 4 * float(weights.max()))
        of_fit = {name: value for name, value in fit_params.items() if value is not None}
        model = self.copy(STOPPING, eval_metric=metric)
        arguments = (
            self.with_callback(fit_params, metric)
            | arguments
            | {
                "eval_set": self._validation_pool(validation, metric.mark, of_fit),
                "use_best_model": True,
                "metric_period": 1,
            }
        )
        model.fit(training.X, training.grades, **arguments)
        metric.progress = None  # the fitted model refers to the metric; free the validation rows
        return model

    def fit_rounds(self, rows: Rows, n_rounds: int, fit_params: dict[str, Any]) -> Any:
        model = self.copy(STOPPING | ROUND_PARAMETERS, iterations=n_rounds)
        return self.train(model, rows.grades, rows, fit_params)

    def _validation_pool(self, validation: Rows, mark: float, of_fit: dict[str, Any]) -> Any:
        """Return the validation set as a Pool in which every row has the weight `mark`."""
        parameters = self.estimator.get_params() | of_fit
        marks = np.full(len(validation.grades), mark)
        if self.query_argument:
            weights = {"group_id": validation.query_of_row, "group_weight": marks}
        else:
            weights = {"weight": marks}
        typed = ("cat_features", "text_features", "embedding_features")
        return Pool(
            validation.X,
            validation.grades,
            **{name: parameters.get(name) for name in typed},
            **weights,
        )


class _Metric:
    """Base class of CatBoost metrics whose `evaluate` returns a mean and the weight 1."""

    no_jit = True  # otherwise, CatBoost compiles metrics with numba, or warns if numba is missing

    def is_max_optimal(self) -> bool:
        return True

    def get_final_error(self, error: float, weight: float) -> float:
        return error / weight


class _ScoreObserver(_Metric):
    """A CatBoost metric and callback that passes the validation scores to `progress`.

    CatBoost does not tell a metric which data set is being evaluated. The validation rows therefore
    have the weight `mark`, far above the weight of any training row.
    """

    def __init__(self, progress: Any, mark: float):
        self.progress = progress
        self.mark = mark

    def __deepcopy__(self, memo: Any) -> Self:  # CatBoost deep-copies its parameters
        return self

    def evaluate(
        self, approxes: Sequence[np.ndarray], target: Any, weight: Any
    ) -> tuple[float, float]:
        """Return the value of the first measure (0 for training rows), and the weight 1."""
        if self.progress is None or weight is None or weight[0] < self.mark / 2:
            return 0.0, 1.0
        self.progress.see(approxes[0])
        return self.progress.history[self.progress.measures[0].name][-1], 1.0

    def after_iteration(self, info: Any) -> bool:
        """Return whether training should continue, as CatBoost expects from a callback."""
        return not self.progress.is_over


# Measures as metrics -----------------------------------------------------------------------------


def eval_metric(measure: Measure | str, group_id: ArrayLike, eval_group_id: ArrayLike) -> Any:
    """Make a metric that CatBoost reports at each round and can use for early stopping.

    Pass the metric to ``CatBoostRanker(eval_metric=)`` or ``CatBoost({"eval_metric": …})``. It
    works only for data sets whose queries are passed here, because CatBoost does not pass queries
    to metrics.

    Parameters
    ----------
    measure : Measure or str
        The measure to compute.
    group_id : array-like of shape (n,)
        The query of each training row, in the row order that CatBoost receives. The rows of a
        query must be contiguous.
    eval_group_id : array-like of shape (n_eval,)
        The query of each evaluation row, in the same form.

    Returns
    -------
    object
        An object with the methods that CatBoost calls. Its class has the name of the measure, which
        CatBoost shows (``Precision()``, ``Recall()`` and ``PairAccuracy()`` for those measures,
        because CatBoost rejects its own metrics of these names for some losses). ``evaluate``
        raises a ValueError if the data sets do not match `group_id` and `eval_group_id`, or if it
        is called outside training.

        **The value is 0, with a UserWarning, for training rows that CatBoost shuffles.** CatBoost
        shuffles rows if there are categorical features or ``boosting_type="Ordered"``, unless
        ``has_time=True``. Early stopping depends only on the evaluation rows, which are never
        shuffled.

    Raises
    ------
    ValueError, TypeError
        If the measure cannot be parsed, or if the rows of a query are not contiguous.

    Notes
    -----
    The notes of `skgraded.lightgbm.eval_metric` about values, weights, labels and errors apply.

    Examples
    --------
    >>> from catboost import CatBoostRanker, Pool
    >>> from skgraded.catboost import eval_metric
    >>> from skgraded.datasets import make_ranking
    >>> X, y, qid = make_ranking(n_queries=40, random_state=0)
    >>> train, valid = qid < 30, qid >= 30
    >>> pools = [Pool(X[rows], y[rows], group_id=qid[rows]) for rows in (train, valid)]
    >>> ranker = CatBoostRanker(
    ...     iterations=30, od_wait=5, eval_metric=eval_metric("ndcng@5", qid[train], qid[valid]),
    ...     verbose=0, thread_count=1, allow_writing_files=False,
    ... )
    >>> "NDCNG@5" in ranker.fit(pools[0], eval_set=pools[1]).get_best_score()["validation"]
    True
    """
    checked = as_measure(measure)
    # CatBoost checks the name of the class as if it were its own metric.
    name = f"{checked.name}()" if checked.name in BUILT_IN else checked.name
    cls = type(name, (_EvalMetric,), {"__module__": __name__})
    return cls(checked, group_id, eval_group_id)


class _EvalMetric(_Metric, BoostingMetric):
    factory = "eval_metric"

    def __init__(self, measure: Any, group_id: Any, eval_group_id: Any):
        super().__init__(measure)
        self._group_ids = group_id, eval_group_id
        self._learn = _DataSet(group_id, "group_id")
        self._eval = _DataSet(eval_group_id, "eval_group_id")
        self._has_warned = False

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle cannot import classes that are created at run time.
        return eval_metric, (self.measures[0], *self._group_ids)

    def evaluate(
        self, approxes: Sequence[np.ndarray], target: np.ndarray, weight: Any
    ) -> tuple[float, float]:
        target = np.asarray(target)
        rows = self._rows_of(target)
        if rows is None:
            self._warn_of_shuffled_rows()
            return 0.0, 1.0  # CatBoost cannot record NaN
        scores = np.asarray(approxes[0] if len(approxes) == 1 else np.transpose(approxes))
        judgments = judgments_of(rows, target, rows.sizes, weight)
        return self.means(judgments, scores)[0], 1.0

    def _rows_of(self, target: np.ndarray) -> _DataSet | None:
        """Return the data set whose labels are `target`, or None for shuffled training rows."""
        # CatBoost calls this method from its function `_train`, whose arguments include the pools.
        pools = library_locals("train_pool", Pool)
        if not pools:
            raise ValueError(f"Only CatBoost can call {self!r}, because it reads the Pools.")
        test_pool = pools.get("test_pool")
        eval_pools = test_pool if isinstance(test_pool, (list, tuple)) else [test_pool]
        is_learn = np.array_equal(self._learn.labels_of(pools["train_pool"]), target)
        is_eval = any(
            np.array_equal(self._eval.labels_of(pool), target)
            for pool in eval_pools
            if pool is not None
        )
        if is_eval and is_learn and not np.array_equal(self._learn.sizes, self._eval.sizes):
            raise ValueError(
                f"Both data sets have the same {len(target)} labels in the same order but "
                "different queries, so the metric cannot distinguish them: reverse the order of "
                "the queries in one data set."
            )
        if is_eval:
            return self._eval
        return self._learn if is_learn else None

    def _warn_of_shuffled_rows(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"CatBoost shuffles the training rows, so {self.names[0]} cannot be computed for "
                "them: 0 is recorded in each round. The values for the evaluation rows are right.",
                stacklevel=6,
            )


class _DataSet:
    """Query sizes of a data set, and cached labels of the Pools that contain the data set."""

    def __init__(self, group_id: Any, name: str):
        codes, _ = query_codes(group_id, name=name)
        # Query codes are numbered by first appearance, so a decrease means that a query reappears.
        returns = np.flatnonzero(np.diff(codes) < 0)
        if len(returns):
            raise ValueError(
                f"CatBoost requires the rows of each query to be contiguous, but argument "
                f"{name} repeats an earlier query in row {returns[0] + 1}."
            )
        self.name, self.n, self.sizes = name, len(codes), np.bincount(codes)
        self._starts = np.cumsum(self.sizes)[:-1]  # start of each query except the first
        self._labels: dict[int, np.ndarray] = {}  # keyed by id(pool)

    def labels_of(self, pool: Any) -> np.ndarray:
        """Check the queries of a Pool, and return the labels of the Pool in row order."""
        labels = self._labels.get(id(pool))
        if labels is None:
            hashes = pool.get_group_id_hash()  # None if the pool has no queries
            starts = self._starts if hashes is None else np.flatnonzero(np.diff(hashes)) + 1
            if pool.num_row() != self.n or not np.array_equal(starts, self._starts):
                raise ValueError(
                    f"The Pool does not match {self.name}, which describes {self.n} rows in "
                    f"{len(self.sizes)} queries: make a new metric from the queries of both Pools."
                )
            labels = np.asarray(pool.get_label(), dtype=np.float32)
            keep_while_alive(self._labels, pool, labels)
        return labels
