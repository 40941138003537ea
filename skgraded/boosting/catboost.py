"""CatBoost support: rankers and regressors in QueryRanker, and measures as metrics.

CatBoost's rankers require the rows of each query to be contiguous. They accept one query id and one
query weight per row.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.libraries import needs
from skgraded._input.messages import warn_user
from skgraded._input.queries import query_codes
from skgraded.boosting.adapter import WEIGHT, BoosterAdapter, Rows
from skgraded.boosting.frames import find_library_locals
from skgraded.boosting.rounds import BoostingMetric, StoppingState, cache_judgments
from skgraded.measures import Measure, measure as as_measure

with needs("skgraded.catboost", "catboost"):
    from catboost import CatBoost, Pool

__all__ = ["eval_metric"]

# CatBoost parameters that control its built-in early stopping and hold-out set.
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

# Built-in metrics that CatBoost rejects for RMSE and some other losses.
BUILT_IN = ("Precision", "Recall", "PairAccuracy")


# CatBoost in QueryRanker -------------------------------------------------------------------------


class _CatBoostAdapter(BoosterAdapter):
    """Adapter for CatBoostRanker, CatBoostRegressor, CatBoost and their subclasses."""

    row_arguments = ("baseline", "graph", "group_weight", "pairs", "subgroup_id")
    round_parameters = ("iterations", "n_estimators", "num_boost_round", "num_trees")
    conflicting = (
        "early_stopping_rounds",
        "eval_set",
        "init_model",
        "metric_period",
        "use_best_model",
    )

    def _make_fit_arguments(self, rows: Rows) -> dict[str, Any]:
        arguments = super()._make_fit_arguments(rows)
        if self.query_argument and WEIGHT in arguments:
            del arguments[WEIGHT]  # YetiRank, the default objective, ignores row weights
            arguments["group_weight"] = np.repeat(rows.query_weights, np.asarray(rows.sizes))
        return arguments

    def _copy(self, left_out: Collection[str] = (), **changes: Any) -> Any:
        """Return an unfitted copy of the estimator with some parameters removed or changed."""
        settings = self.estimator.get_params().items()
        parameters = {name: value for name, value in settings if name not in left_out} | changes
        # clone() would fail, because get_params copies lists and objects (catboost#3078).
        # The base class, catboost.CatBoost, accepts parameters only as a dict.
        cls = type(self.estimator)
        return cls(parameters) if cls is CatBoost else cls(**parameters)

    def _fit_stopped(
        self,
        training: Rows,
        validation: Rows,
        state: StoppingState,
        add_round: Callable[[np.ndarray], None],
        fit_params: dict[str, Any],
    ) -> Any:
        """Fit a copy of the estimator, using one object as both eval_metric and callback."""
        arguments = self._make_fit_arguments(training)
        weights = arguments.get("group_weight", arguments.get(WEIGHT, np.ones(1)))
        metric = _ScoreObserver(state, add_round, 4 * float(weights.max()))
        model = self._copy(STOPPING, eval_metric=metric)
        arguments = self._add_callbacks(fit_params, metric) | arguments
        arguments["eval_set"] = self._make_pool(validation, metric.mark, fit_params)
        arguments |= {"use_best_model": True, "metric_period": 1}
        model.fit(training.X, training.grades, **arguments)
        metric.mark = np.inf  # from now on, the metric returns 0 for every data set
        # The model stores the metric, so delete the metric's references to the validation rows.
        del metric.state, metric.add_round
        return model

    def _copy_for(self, grades: np.ndarray, n_rounds: int | None) -> tuple[Any, np.ndarray]:
        if n_rounds is None:
            return self._copy(), grades
        return self._copy([*STOPPING, *self.round_parameters], iterations=n_rounds), grades

    def _make_pool(self, validation: Rows, mark: float, fit_params: dict[str, Any]) -> Pool:
        """Return the validation set as a Pool in which every row has the weight `mark`."""
        marks = np.full(len(validation.grades), mark)
        settings: dict[str, Any] = {"weight": marks}
        if self.query_argument:
            settings = {"group_id": validation.query_of_row, "group_weight": marks}
        of_model = self.estimator.get_params()
        for name in ("cat_features", "text_features", "embedding_features"):
            of_fit = fit_params.get(name)
            settings[name] = of_model.get(name) if of_fit is None else of_fit
        return Pool(validation.X, validation.grades, **settings)


class _Metric:
    """Base class for CatBoost metrics whose `evaluate` method returns a mean and the weight 1."""

    no_jit = True  # prevents compilation with numba, and a warning if numba is missing

    def is_max_optimal(self) -> bool:
        return True

    def get_final_error(self, error: float, weight: float) -> float:
        return error / weight


class _ScoreObserver(_Metric):
    """A CatBoost metric that passes the validation scores to `add_round`; it is also a callback.

    CatBoost does not tell a metric which data set is being evaluated. The validation rows therefore
    have the weight `mark`, far above the weight of any training row.
    """

    def __init__(
        self, state: StoppingState, add_round: Callable[[np.ndarray], None], mark: float
    ) -> None:
        self.state, self.add_round, self.mark = state, add_round, mark

    def __deepcopy__(self, memo: object) -> Self:  # CatBoost deep-copies its parameters
        return self

    def evaluate(
        self, approxes: Sequence[np.ndarray], target: np.ndarray, weight: np.ndarray | None
    ) -> tuple[float, float]:
        """Return the first measure's value (0 for training rows) and the weight 1."""
        if weight is None or weight[0] < self.mark / 2:
            return 0.0, 1.0
        self.add_round(approxes[0])
        return self.state.history[self.state.measures[0].name][-1], 1.0

    def after_iteration(self, info: object) -> bool:
        """Return whether training should continue, as CatBoost expects from a callback."""
        return not self.state.is_over


ADAPTERS = {"CatBoost": _CatBoostAdapter}


# Measures as metrics -----------------------------------------------------------------------------


def eval_metric(measure: Measure | str, group_id: ArrayLike, eval_group_id: ArrayLike) -> Any:
    """Make a metric that CatBoost reports after each round and can use for early stopping.

    Pass the metric to ``CatBoostRanker(eval_metric=)`` or ``CatBoost({"eval_metric": …})``. It
    works only for data sets whose queries are passed to this function, because CatBoost does not
    pass queries to metrics.

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
        An object with the methods that CatBoost calls. Its class, whose name CatBoost shows, has
        the name of the measure. The names ``Precision()``, ``Recall()`` and ``PairAccuracy()``
        contain parentheses, because CatBoost rejects its built-in metrics with these names for some
        losses. It raises a ValueError if the data sets do not match `group_id` and `eval_group_id`.

        **If CatBoost shuffles the training rows, the metric returns 0 for the training set and
        issues a UserWarning.** CatBoost shuffles them if there are categorical features or if
        ``boosting_type="Ordered"``, unless ``has_time=True``. Early stopping depends only on the
        evaluation rows, which are never shuffled.

    Raises
    ------
    ValueError, TypeError
        If the measure cannot be parsed, or if the rows of a query are not contiguous.

    Notes
    -----
    The metric recognizes a data set by its labels. Data sets with the same labels in the same order
    must have the same queries; otherwise, the first round raises a ValueError.

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
    # CatBoost displays the class name, and validates it like the name of a built-in metric.
    name = f"{checked.name}()" if checked.name in BUILT_IN else checked.name
    cls = type(name, (_CatBoostMetric,), {"__module__": __name__})
    return cls(checked, group_id, eval_group_id)


class _CatBoostMetric(_Metric, BoostingMetric):
    """A metric that, in the first round, reads the labels of all data sets from the Pools.

    CatBoost passes only labels and predictions, so the metric identifies the data set by its
    labels. Each training run makes its own copy of the metric, so each copy reads the Pools of only
    one run.
    """

    def __init__(self, measure: Measure, group_id: ArrayLike, eval_group_id: ArrayLike) -> None:
        super().__init__(measure)
        self._group_ids = group_id, eval_group_id
        self._sizes = _read_sizes(group_id, "group_id")
        self._eval_sizes = _read_sizes(eval_group_id, "eval_group_id")
        self._data_sets: list[tuple[np.ndarray, np.ndarray]] = []  # labels and query sizes
        self._has_warned = False

    def __reduce__(self) -> tuple[Any, ...]:
        # `eval_metric` makes copies of the metric, so that they do not contain the data sets.
        # Pickle could not import the metric's class, because the class is created at run time.
        return eval_metric, (self.measures[0], *self._group_ids)

    def evaluate(
        self, approxes: Sequence[np.ndarray], target: np.ndarray, weight: np.ndarray | None
    ) -> tuple[float, float]:
        """Return the mean for the data set with the labels `target`, followed by the weight 1."""
        if not self._data_sets:
            self._data_sets = self._read_pools()
        target = np.asarray(target)
        for labels, sizes in self._data_sets:
            if np.array_equal(labels, target):
                scores = np.asarray(approxes[0] if len(approxes) == 1 else np.transpose(approxes))
                judgments = cache_judgments(labels, target, sizes, weight)
                return self.compute_means(judgments, scores)[0], 1.0
        if not self._has_warned:
            self._has_warned = True
            warn_user(
                f"CatBoost shuffles the training rows, so {self.names[0]} cannot be computed for "
                "them: 0 is recorded in each round. The values for the evaluation rows are correct."
            )
        return 0.0, 1.0  # CatBoost cannot record NaN

    def _read_pools(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the labels and query sizes of all evaluation sets and of the training set."""
        # CatBoost calls the metric from its function `_train`, whose arguments include the Pools.
        pools = find_library_locals("train_pool", Pool)
        if not pools:
            raise ValueError(f"Only CatBoost can call {self!r}, which reads CatBoost's Pools.")
        # `_train` receives a list of evaluation sets; `select_features` receives one set or None.
        eval_pools = pools["test_pool"]
        if not isinstance(eval_pools, list):
            eval_pools = [] if eval_pools is None else [eval_pools]
        learn = _read_labels(pools["train_pool"], self._sizes, "group_id")
        of_eval = [_read_labels(pool, self._eval_sizes, "eval_group_id") for pool in eval_pools]
        if not np.array_equal(self._sizes, self._eval_sizes):
            if any(np.array_equal(labels, learn) for labels in of_eval):
                raise ValueError(
                    f"Both data sets have the same {len(learn)} labels in the same order but "
                    "different queries, so the metric cannot distinguish them: reverse the order "
                    "of the queries in one data set."
                )
        return [*((labels, self._eval_sizes) for labels in of_eval), (learn, self._sizes)]


def _read_sizes(group_id: ArrayLike, name: str) -> np.ndarray:
    """Return the sizes of consecutive queries; raise a ValueError if a query reappears."""
    codes, _ = query_codes(group_id, name=name)
    # Codes are assigned in order of first appearance, so a decrease means that a query reappears.
    returns = np.flatnonzero(np.diff(codes) < 0)
    if len(returns):
        raise ValueError(
            f"CatBoost requires the rows of each query to be contiguous, but argument {name} "
            f"repeats an earlier query in row {returns[0] + 1}."
        )
    return np.bincount(codes)


def _read_labels(pool: Pool, sizes: np.ndarray, name: str) -> np.ndarray:
    """Return the labels of a Pool after checking that its queries have the given sizes."""
    n, hashes = sizes.sum(), pool.get_group_id_hash()  # None if the Pool has no queries
    is_same = pool.num_row() == n
    if is_same and hashes is not None:
        starts = np.flatnonzero(np.diff(hashes)) + 1
        is_same = np.array_equal(starts, np.cumsum(sizes)[:-1])
    if not is_same:
        raise ValueError(
            f"The Pool does not match {name}, which describes {n} rows in {len(sizes)} queries: "
            "call eval_metric again with the query ids of both Pools."
        )
    return np.asarray(pool.get_label(), dtype=np.float32)
