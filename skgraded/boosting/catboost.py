"""CatBoost: its rankers and regressors in QueryRanker, and measures as its eval_metric.

Its rankers take the query of each row, those of a query together, and the weight of the query a
row.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skgraded._input.needs import needs
from skgraded._input.queries import query_codes
from skgraded.boosting.adapter import BoosterAdapter
from skgraded.boosting.docs import ON_METRICS, documented
from skgraded.boosting.frames import library_locals
from skgraded.boosting.metric import BoostingMetric, keep_while_alive, truth_of
from skgraded.boosting.rows import WEIGHT
from skgraded.measures import Measure
from skgraded.measures import measure as as_measure

with needs("skgraded.catboost", "catboost"):
    from catboost import Pool

__all__ = ["eval_metric"]

# What CatBoost's own stopping, and its hold-out of rows, go by.
STOPPING = {
    "od_type", "od_wait", "od_pval", "early_stopping_rounds", "eval_metric", "eval_fraction",
    "use_best_model", "best_model_min_trees", "metric_period",
}
NAMES_OF_ROUNDS = {"iterations", "n_estimators", "num_boost_round", "num_trees"}


# CatBoost in QueryRanker -------------------------------------------------------------------------

class _Library(BoosterAdapter):
    """CatBoostRanker, CatBoostRegressor, CatBoost and what is made after them."""

    package = "catboost"
    model = "CatBoost"
    library = "CatBoost"
    polars_since = (1, 2, 10)
    first_scores = ("baseline",)
    by_position = ("pairs", "graph", "subgroup_id")
    taken = frozenset({
        "eval_set", "early_stopping_rounds", "use_best_model", "metric_period",
    })
    init_model_argument = "init_model"

    def check_by_row(self, sample_weight, fit_params, n, expected):
        if fit_params.get("group_weight") is not None:
            raise ValueError(
                "Give the weights by sample_weight, not by group_weight: CatBoost is told the "
                "weight of each query, the mean over its rows."
            )
        return super().check_by_row(sample_weight, fit_params, n, expected)

    def fit_arguments(self, rows):
        arguments = super().fit_arguments(rows)
        if self.query_argument and WEIGHT in arguments:
            del arguments[WEIGHT]  # YetiRank, the default, leaves weights of rows out
            arguments["group_weight"] = np.repeat(rows.query_weights, np.asarray(rows.sizes))
        return arguments

    def readable(self, X):
        """`X` in a form that CatBoost reads: sparse matrices of 32-bit indices."""
        X = super().readable(X)
        if sparse.issparse(X):
            # put together anew, it has indices no wider than they must be
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
        return X

    def copy(self):
        return self._with()

    def _with(self, left_out=(), **changes):
        """An unfitted copy of the estimator, without some of its parameters and with others."""
        settings = self.estimator.get_params().items()
        parameters = {name: value for name, value in settings if name not in left_out} | changes
        # CatBoost hands out copies of its parameters, which clone() takes for a broken constructor
        # as soon as one is a list or an object (catboost#3078). The base class takes a dict.
        cls = type(self.estimator)
        is_base = cls is sys.modules["catboost"].CatBoost
        return cls(parameters) if is_base else cls(**parameters)

    def fit_stopped(self, training, validation, progress, fit_params):
        """Fit a copy of the estimator, whose eval_metric is also the callback that stops it."""
        arguments = self.fit_arguments(training)
        weights = arguments.get("group_weight", arguments.get(WEIGHT, np.ones(1)))
        metric = _Show(progress, 4 * float(weights.max()))
        of_fit = {name: value for name, value in fit_params.items() if value is not None}
        model = self._with(STOPPING, eval_metric=metric)
        arguments = fit_params | arguments | {
            "callbacks": [*(fit_params.get("callbacks") or ()), metric],
            "eval_set": self._to_stop_on(validation, metric.mark, of_fit),
            "use_best_model": True, "metric_period": 1,
        }
        model.fit(training.X, training.grades, **arguments)
        metric.progress = None  # the model keeps the metric, but need not keep the rows
        return model

    def fit_rounds(self, rows, n_rounds, fit_params):
        model = self._with(STOPPING | NAMES_OF_ROUNDS, iterations=n_rounds)
        return model.fit(rows.X, rows.grades, **fit_params | self.fit_arguments(rows))

    def _to_stop_on(self, validation, mark, of_fit):
        """The validation set, all its rows of the weight `mark`."""
        parameters = self.estimator.get_params() | of_fit
        marks = np.full(len(validation.grades), mark)
        if self.query_argument:
            weights = {"group_id": validation.query_of_row, "group_weight": marks}
        else:
            weights = {"weight": marks}
        typed = ("cat_features", "text_features", "embedding_features")
        return Pool(
            validation.X, validation.grades, baseline=validation.by_row.get("baseline"),
            **{name: parameters.get(name) for name in typed}, **weights,
        )


class _Metric:
    """What CatBoost calls besides `evaluate`, which gives a mean and its weight 1."""

    no_jit = True  # or CatBoost tries numba on it, and warns where there is none

    def is_max_optimal(self):
        """Say that higher is better."""
        return True

    def get_final_error(self, error, weight):
        """Mean of what `evaluate` gave."""
        return error / weight


class _Show(_Metric):
    """Shows the scores of the validation rows to `progress`; CatBoost never tells which they are.

    So they have a weight of their own, `mark`, which no training row comes near, and which counts
    for nothing else: CatBoost uses it only in values that nobody looks at.
    """

    def __init__(self, progress, mark):
        self.progress = progress
        self.mark = mark

    def __deepcopy__(self, memo):  # CatBoost copies its parameters
        return self

    def evaluate(self, approxes, target, weight):
        """Value and weight of some rows: 0 of training rows, else the first measure."""
        if self.progress is None or weight is None or weight[0] < self.mark / 2:
            return 0.0, 1.0
        self.progress.see(approxes[0])
        return self.progress.last, 1.0

    def after_iteration(self, info):
        """Say whether to go on, as a callback."""
        return not self.progress.is_over


ADAPTERS: list[type[BoosterAdapter]] = [_Library]


# Measures as metrics -----------------------------------------------------------------------------

@documented(ON_METRICS)
def eval_metric(measure: Measure | str, group_id: ArrayLike, eval_group_id: ArrayLike) -> Any:
    """Make a metric that CatBoost shows at each round and can stop early on.

    Give it to ``CatBoostRanker(eval_metric=)`` or ``CatBoost({"eval_metric": …})``. CatBoost hands
    a metric neither the queries nor the name of the set, only targets and scores, so it is told
    the queries of both sets beforehand. One metric serves one pair of sets.

    Parameters
    ----------
    measure : Measure or str
        What to compute.
    group_id : array-like of shape (n,)
        The query of each training row, the rows in the order in which CatBoost gets them, those
        of a query together.
    eval_group_id : array-like of shape (n_eval,)
        The same of the evaluation set.

    Returns
    -------
    object
        With ``is_max_optimal``, ``evaluate`` and ``get_final_error``, as CatBoost calls them. Its
        class has the name of the measure, which is what CatBoost shows. ``evaluate`` raises a
        ValueError in a training of other rows or queries than it was told of.

        **On training rows that CatBoost shuffles the value is 0.** It shuffles them when there are
        categorical features or ``boosting_type="Ordered"``, unless ``has_time=True``, and a metric
        does not learn how. Early stopping and the best model look at the evaluation set alone,
        whose rows are never shuffled. (nan, which would say it better, makes CatBoost fail.)

    Examples
    --------
    >>> from catboost import CatBoostRanker, Pool
    >>> from skgraded.catboost import eval_metric
    >>> from skgraded.datasets import make_ranking
    >>> X, y, qid = make_ranking(n_queries=40, random_state=0)
    >>> train, valid = qid < 30, qid >= 30
    >>> ranker = CatBoostRanker(
    ...     iterations=30, od_wait=5, eval_metric=eval_metric("ndcng@5", qid[train], qid[valid]),
    ...     verbose=0, thread_count=1, allow_writing_files=False,
    ... )
    >>> fitted = ranker.fit(
    ...     Pool(X[train], y[train], group_id=qid[train]),
    ...     eval_set=Pool(X[valid], y[valid], group_id=qid[valid]),
    ... )
    >>> values = ranker.get_evals_result()["validation"]["NDCNG@5"]
    >>> ranker.get_best_score()["validation"]["NDCNG@5"] == max(values)
    True
    """
    checked = as_measure(measure)
    named = type(checked.name, (_EvalMetric,), {"__module__": __name__})
    return named(checked, group_id, eval_group_id)


class _EvalMetric(_Metric, BoostingMetric):
    factory = "eval_metric"

    def __init__(self, measure, group_id, eval_group_id):
        super().__init__(measure)
        self._told = group_id, eval_group_id
        self._learn = _Rows(group_id, "group_id")
        self._eval = _Rows(eval_group_id, "eval_group_id")

    def __reduce__(self):  # pickle does not find a class made on the fly
        return eval_metric, (self.measures[0], *self._told)

    def evaluate(self, approxes, target, weight):
        """Mean over the queries, and its weight 1."""
        target = np.asarray(target)
        rows = self._rows_of(target)
        if rows is None:
            return 0.0, 1.0
        scores = np.asarray(approxes[0] if len(approxes) == 1 else np.transpose(approxes))
        truth = truth_of(rows, target, rows.sizes, weight)
        return self.means(truth.judgments, scores)[0], 1.0

    def _rows_of(self, target):
        """Which set's rows have these labels; None for training rows that CatBoost shuffled."""
        # CatBoost calls from inside `_train`, whose arguments are the pools; by hand nobody tells.
        pools = library_locals("train_pool", Pool)
        if not pools:
            return self._rows_of_length(len(target))
        test_pool = pools.get("test_pool")
        eval_pools = test_pool if isinstance(test_pool, (list, tuple)) else [test_pool]
        is_learn = np.array_equal(self._learn.labels_of(pools["train_pool"]), target)
        is_eval = any(
            np.array_equal(self._eval.labels_of(pool), target)
            for pool in eval_pools if pool is not None
        )
        if is_eval and is_learn and not np.array_equal(self._learn.sizes, self._eval.sizes):
            raise ValueError(
                f"Both sets have the same {len(target)} labels in the same order but other "
                "queries, so that nothing tells them apart: reverse the queries of one."
            )
        if is_eval:
            return self._eval
        return self._learn if is_learn else None

    def _rows_of_length(self, n):
        is_learn, is_eval = n == self._learn.n, n == self._eval.n
        if is_learn == is_eval:
            raise ValueError(
                f"{self!r} is called with {n} rows, by something else than the fit of a model, and "
                f"cannot tell whose they are: it was told of {self._learn.n} training rows and "
                f"{self._eval.n} evaluation rows."
            )
        return self._eval if is_eval else None


class _Rows:
    """The rows of a set that were told of: how many in each of the consecutive queries."""

    def __init__(self, group_id, name):
        codes, _ = query_codes(group_id, name=name)
        torn = np.flatnonzero(np.diff(codes) < 0)  # numbered by first appearance
        if len(torn):
            raise ValueError(
                f"The rows of a query must be together, as CatBoost asks; {name} comes back to an "
                f"earlier query in row {torn[0] + 1}."
            )
        self.name, self.n, self.sizes = name, len(codes), np.bincount(codes)
        self._starts = np.cumsum(self.sizes)[:-1]  # of all queries but the first
        self._labels: dict[int, np.ndarray] = {}  # by id of the pool

    def labels_of(self, pool):
        """Labels of a pool in its order, once it is seen that its rows are those told of."""
        labels = self._labels.get(id(pool))
        if labels is None:
            hashes = pool.get_group_id_hash()  # None: no ranking loss, and no group_id given
            starts = self._starts if hashes is None else np.flatnonzero(np.diff(hashes)) + 1
            if pool.num_row() != self.n or not np.array_equal(starts, self._starts):
                raise ValueError(
                    f"The metric was told by {self.name} of {self.n} rows of {len(self.sizes)} "
                    "queries, and is called in a training of others. Make a metric for each "
                    "training, from its own two sets."
                )
            labels = np.asarray(pool.get_label(), dtype=np.float32)
            keep_while_alive(self._labels, pool, labels)
        return labels
