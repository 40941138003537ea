"""LightGBM: its rankers and regressors in QueryRanker, and measures as metrics of its trainings.

Its rankers take the sizes of the queries and a weight a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from skgraded.boosting.adapter import BoosterAdapter
from skgraded.boosting.docs import ON_METRICS, ON_OBJECTIVES, documented
from skgraded.boosting.frames import library_locals
from skgraded.boosting.metric import BoostingMetric, refuse_part, truth_of
from skgraded.boosting.objective import Objective
from skgraded.measures import Measure

__all__ = ["eval_metric", "evaluate_rounds", "objective"]

OBJECTIVE_NAMES = ("objective_type", "app", "application", "loss", "objective")  # the last yields
OF_WHOLE_GRADES = (  # no set, since a callable may have no hash
    "lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart",
)
# Parameters of the binning beside those that Dataset.get_params knows, by all their names.
OF_LEAVES = {
    "min_data_in_leaf", "min_data_per_leaf", "min_data", "min_child_samples", "min_samples_leaf",
}
OF_BINNING = OF_LEAVES | {
    "seed", "random_seed", "random_state", "verbosity", "verbose",
    "num_threads", "num_thread", "nthread", "nthreads", "n_jobs",
}
# With these bins are found together with other machines, laid out otherwise, or read of a file.
NOT_KEPT_WITH = {
    "machines", "workers", "nodes", "machine_list_filename", "machine_list_file", "machine_list",
    "mlist", "num_machines", "num_machine", "device_type", "device", "forcedbins_filename",
}
# What a Dataset knows of its data and writes to no file.
KNOWN_BESIDES = ("pandas_categorical", "_has_non_default_feature_names")  # the latter since 4.7

# LightGBM in QueryRanker -------------------------------------------------------------------------

class _Library(BoosterAdapter):
    """LGBMRanker, LGBMRegressor and what is made after them."""

    package = "lightgbm"
    model = "LGBMModel"
    library = "LightGBM"
    polars_since = (4, 7)
    first_scores = ("init_score",)
    kind_parameters = ("boosting_type", "boosting", "boost")
    changing = frozenset({"dart"})
    names_of_rounds = frozenset({
        "n_estimators", "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees",
        "num_round", "num_rounds", "nrounds", "num_boost_round", "max_iter",
    })
    unstopped = {"early_stopping_round": 0}
    taken = frozenset({
        "eval_set", "eval_names", "eval_group", "eval_init_score", "eval_class_weight",
        "eval_metric", "early_stopping_rounds",
    })
    init_model_argument = "init_model"

    @property
    def wants_whole_grades(self):
        is_ranker = self.query_argument is not None
        return is_ranker and self._objective in OF_WHOLE_GRADES and not self._takes_gains

    @cached_property
    def _parameters(self):
        return self.estimator.get_params(deep=False)

    @cached_property
    def _objective(self):
        """The objective of a ranker, by any of its names."""
        named = filter(None, map(self._parameters.get, OBJECTIVE_NAMES))
        return next(named, "lambdarank")

    @property
    def _takes_gains(self):
        """Whether the grades are to be gains of lambdarank."""
        is_ranker = self.query_argument is not None
        return self.grades_are_gains and is_ranker and self._objective == "lambdarank"

    def check(self):
        if callable(self._objective):
            _refuse_bagging(self._parameters)
        if self._takes_gains and self._parameters.get("label_gain") is not None:
            raise ValueError(
                "label_gain says what levels gain, but with grades='gain' the grades are gains: "
                "leave out one of them."
            )

    @property
    def for_fractions(self):
        gains = "set grades='gain', or " if self._objective == "lambdarank" else ""
        return gains + super().for_fractions

    def labelled(self, grades):
        """An unfitted copy of the estimator, and grades as codes, if it is told what these gain."""
        # LightGBM takes any number of levels, whose gains may be any numbers. Its own ndcg, which
        # it would compute for a ranker, refuses fractional labels, and takes gains only once.
        model = self.copy()
        if self._takes_gains:
            gains, grades = np.unique(grades, return_inverse=True)
            model.set_params(label_gain=gains.tolist(), metric="None")
        elif callable(self._objective) and self.query_argument and all(
            self._parameters.get(name) is None for name in ("metric", "metrics", "metric_types")
        ):
            model.set_params(metric="None")
        return model, grades

    def with_memory(self, fit_params, memory):
        """The arguments of fit, with a callback by which each data set is binned only once."""
        # the first scores of a model need raw data
        goes_on = fit_params.get(self.init_model_argument) is not None
        if goes_on or "callbacks" not in self.fit_parameters:
            return fit_params

        def callback(env):
            """Nothing, after a round."""

        callback.before_iteration = _KeptBins(memory)  # type: ignore[attr-defined]
        return fit_params | {"callbacks": [*(fit_params.get("callbacks") or ()), callback]}

    def fit_stopped(self, training, validation, progress, fit_params):
        """Fit a copy of the estimator, stopped by LightGBM on the first measure."""
        from lightgbm import early_stopping

        def measure(y_true, y_pred):
            _calling_booster("QueryRanker(early_stopping=True)")
            progress.see(y_pred)
            return [(name, values[-1], True) for name, values in progress.history.items()]

        patience = int(progress.over_at)  # before the first round
        stop = early_stopping(patience, first_metric_only=True, verbose=False)
        model, labels = self.labelled(training.grades)
        model.set_params(metric="None", early_stopping_round=0)
        arguments = fit_params | self.fit_arguments(training) | self._to_stop_on(validation)
        arguments["callbacks"] = [*(fit_params.get("callbacks") or ()), stop]
        model.fit(training.X, labels, eval_metric=measure, **arguments)
        # a callback of the user may have ended it
        model.booster_.best_iteration = progress.best_round
        return model

    def _to_stop_on(self, validation):
        """Arguments of fit for the validation set."""
        arguments: dict[str, Any] = {"eval_names": ["validation"]}
        grades = validation.grades.copy()  # X and y themselves would be those to train on
        if self.version >= (4, 7):
            arguments |= {"eval_X": (validation.X,), "eval_y": (grades,)}
        else:
            arguments["eval_set"] = [(validation.X, grades)]
        if self.query_argument:
            arguments["eval_group"] = [validation.sizes]
        if "init_score" in validation.by_row:
            arguments["eval_init_score"] = [validation.by_row["init_score"]]
        return arguments


ADAPTERS: list[type[BoosterAdapter]] = [_Library]


# Binned data, kept -------------------------------------------------------------------------------

class _KeptBins:
    """The `before_iteration` of a callback: false, once it has looked up the binned data.

    LightGBM's estimators make their Dataset themselves and accept none. But a training tests
    whether `before_iteration` of each callback is true before it bins the Dataset. This test can
    tell the Dataset to read its bins from a file, which joblib's Memory keeps.
    """

    def __init__(self, memory):
        self._bin = memory.cache(_bin)

    def __bool__(self):
        from lightgbm import Dataset

        dataset = library_locals("train_set", Dataset).get("train_set")
        if dataset is not None and all(
            dataset.params.get(name) in (None, 1, "", "cpu") for name in NOT_KEPT_WITH
        ):
            self._construct(dataset)
        return False

    def _construct(self, dataset):
        from lightgbm import __version__

        names = OF_BINNING
        if dataset.params.get("feature_pre_filter") is False:
            names = names - OF_LEAVES  # which else leave out the features that no leaf could split
        settings = {name: value for name, value in dataset.params.items() if name in names}
        categories = dataset.categorical_feature
        content, params, known = self._bin(
            dataset.data, dataset.feature_name, categories, dataset.get_params() | settings,
            __version__,
        )
        with TemporaryDirectory() as folder:
            dataset.data = Path(folder, "bins")
            dataset.data.write_bytes(content)
            dataset.categorical_feature = "auto"  # the file knows, and has no names to look for
            dataset.construct()
        dataset.categorical_feature = categories  # which validation sets are read with
        dataset.params.update(params)
        vars(dataset).update(known)


def _bin(data, feature_name, categorical_feature, params, version):
    """Bin data: what LightGBM writes to a file, and what its Dataset knows besides."""
    # The Memory finds it by the content of all arguments, so by nothing that may change in place.
    from lightgbm import Dataset

    dataset = Dataset(
        data, np.zeros(data.shape[0]), feature_name=feature_name,
        categorical_feature=categorical_feature, params=params,
    )
    with TemporaryDirectory() as folder:
        path = Path(folder, "bins")
        dataset.save_binary(path)
        content = path.read_bytes()
    known = {name: getattr(dataset, name) for name in KNOWN_BESIDES if hasattr(dataset, name)}
    return content, dataset.get_params(), known


# Measures as metrics -----------------------------------------------------------------------------

@documented(ON_METRICS)
def eval_metric(measures: Measure | str | Iterable[Measure | str], every: int = 1) -> Callable:
    """Make a metric that LightGBM shows at each round and can stop early on.

    Give it to ``lgb.train(feval=)``, ``lgb.cv(feval=)`` or ``LGBMRanker.fit(eval_metric=)``,
    together with ``metric="None"``: LightGBM puts its own metrics first, so that
    ``first_metric_only`` would pick those. Of several measures LightGBM stops on any that stalls,
    and keeps the best round of that one; ``lgb.early_stopping(…, first_metric_only=True)`` stops on
    the first of the list.

    Returns
    -------
    callable
        Called by LightGBM as ``metric(preds, dataset)`` or ``metric(y_true, y_pred, weight,
        group)``. It returns ``(name, value, True)``, higher being better; a list of these for a
        list of measures. It raises a ValueError in a training on several machines (Dask,
        ``machines=``), each of which would show its own queries, as LightGBM's own metrics do; and
        for NaN predictions, at which LightGBM alone would end the training without a word.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from skgraded.lightgbm import eval_metric
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = np.clip(np.round(X[:, 0] + rng.normal(size=400)), 0, 4)
    >>> train = lgb.Dataset(X[:300], y[:300], group=[10] * 30)
    >>> valid = lgb.Dataset(X[300:], y[300:], group=[10] * 10, reference=train)
    >>> params = {"objective": "lambdarank", "metric": "None", "num_threads": 1, "verbose": -1}
    >>> history = {}
    >>> booster = lgb.train(
    ...     params, train, valid_sets=[valid], feval=eval_metric(["ndcng@5", "mu_map"]),
    ...     callbacks=[lgb.early_stopping(10, first_metric_only=True, verbose=False),
    ...                lgb.record_evaluation(history)],
    ... )
    >>> list(history["valid_0"])
    ['NDCNG@5', 'MuAP']
    """
    return _EvalMetric(measures, every)


class _EvalMetric(BoostingMetric):
    # LightGBM tells the forms of a scikit-learn metric apart by the number of parameters in the
    # signature; with exactly four the same object serves lgb.train, which fills the first two.

    factory = "eval_metric"
    direction = (True,)

    def __call__(self, y_true, y_pred, weight=None, group=None):
        """Values for (preds, dataset) or (y_true, y_pred, weight, group)."""
        booster = _calling_booster(repr(self))
        truth, preds = _truth_and_preds(y_true, y_pred, weight, group)
        n_rounds = 0 if booster is None else booster.current_iteration()
        means = partial(self.means, truth.judgments, preds)
        return self.results(booster, n_rounds, truth, means)


def _calling_booster(what):
    """The Booster that evaluates, None in a call by hand; refused on several machines."""
    from lightgbm import Booster

    # LightGBM hands a metric neither its Booster nor, in the scikit-learn forms, the parameters.
    booster = library_locals("self", Booster).get("self")
    # by set_network the number is not known
    if booster is not None and booster._network and booster.params.get("num_machines", 2) > 1:
        refuse_part(
            what, "find the best round of the finished model by "
            "skgraded.lightgbm.evaluate_rounds(booster, data, every=10)",
        )
    return booster


class Rounds(NamedTuple):
    """What `evaluate_rounds` finds.

    Attributes
    ----------
    rounds : ndarray of shape (n,) of int
        Those that were measured, from 1.
    values : dict of str to ndarray of shape (n,)
        Means over queries by measure name.
    best_round : int
        The first with the highest value of the first measure.
    best_score : float
        That value.
    """

    rounds: np.ndarray
    values: dict[str, np.ndarray]
    best_round: int
    best_score: float


@documented()
def evaluate_rounds(
    booster: Any, data: Any, measures: Measure | str | Iterable[Measure | str] = "ndcng@10",
    every: int = 10,
) -> Rounds:
    """Measure a finished model at many of its rounds, and find the best.

    For trainings on several machines, such as those of DaskLGBMRanker, where LightGBM shows the
    metric of one of them by chance and cannot stop early. Each tree predicts once.

    Parameters
    ----------
    booster : lightgbm.Booster, or a fitted LGBMRanker or DaskLGBMRanker
    data : lightgbm.Dataset
        Validation data with their labels and groups, whose raw data are not freed: a Dataset that
        was not trained on, or made with ``free_raw_data=False``.
    every : int, default=10
        Measured are the rounds `every`, 2 · `every`, … and the last.

    Returns
    -------
    Rounds

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from skgraded.datasets import make_ranking
    >>> from skgraded.lightgbm import evaluate_rounds
    >>> X, y, qid = make_ranking(n_queries=60, random_state=0)
    >>> sizes = np.bincount(qid)
    >>> train = lgb.Dataset(X[qid < 40], y[qid < 40], group=sizes[:40])
    >>> booster = lgb.train({"objective": "lambdarank", "verbose": -1, "num_threads": 1}, train, 40)
    >>> valid = lgb.Dataset(X[qid >= 40], y[qid >= 40], group=sizes[40:])
    >>> found = evaluate_rounds(booster, valid, every=10)
    >>> found.rounds.tolist(), found.best_score in found.values["NDCNG@10"]
    ([10, 20, 30, 40], True)
    >>> scores = booster.predict(X[qid >= 40], num_iteration=found.best_round)
    """
    from lightgbm import Dataset

    metric = _EvalMetric(measures, every)
    booster = getattr(booster, "booster_", booster)
    if not isinstance(data, Dataset):
        raise TypeError(f"data must be a lightgbm.Dataset; got {type(data).__name__}.")
    # Its attributes, since the methods ask for a Dataset that LightGBM has binned.
    truth = _checked_truth(data, data.label, data.group, data.weight)
    X, last = data.data, booster.current_iteration()
    if X is None:
        raise ValueError("data has no raw data any more: make it with free_raw_data=False.")
    # A forest's prediction is a mean over its trees, any other's a sum.
    is_mean = "\naverage_output\n" in booster.model_to_string(num_iteration=1)
    rounds = np.unique([*range(every, last, every), last])
    preds, values = 0.0, []
    for before, upto in pairwise([0, *rounds]):
        first = 0 if is_mean else before
        added = booster.predict(
            X, raw_score=True, start_iteration=first, num_iteration=upto - first
        )
        preds = added if is_mean else preds + added
        values.append(metric.means(truth.judgments, preds, f" at round {upto}"))
    names = [measure.name for measure in metric.measures]
    best = int(np.argmax([means[0] for means in values]))
    by_measure = dict(zip(names, np.transpose(values), strict=True))
    return Rounds(rounds, by_measure, int(rounds[best]), float(values[best][0]))


def _truth_and_preds(y_true, y_pred, weight, group):
    """Truth and predictions of (preds, dataset) or of (y_true, y_pred, weight, group)."""
    from lightgbm import Dataset

    if not isinstance(y_pred, Dataset):
        return _checked_truth(y_true, y_true, group, weight), y_pred
    dataset = y_pred
    truth = _checked_truth(dataset, dataset.get_label(), dataset.get_group(), dataset.get_weight())
    if not truth.is_whole:
        _refuse_torn(dataset)
        truth.is_whole = True
    return truth, y_true


def _refuse_torn(dataset):
    """Raise if a Dataset holds some rows of a query only, as those of a careless lgb.cv do."""
    is_part = dataset.used_indices is not None and dataset.reference is not None
    sizes = dataset.reference.get_group() if is_part else None
    if sizes is None:
        return
    query_of_row = np.repeat(np.arange(len(sizes)), sizes)
    taken = np.bincount(query_of_row[dataset.used_indices], minlength=len(sizes))
    torn = (taken > 0) & (taken < sizes)
    if torn.any():
        query = int(np.argmax(torn))
        raise ValueError(
            f"This part of a Dataset tears queries apart: of query {query} it has {taken[query]} "
            f"of {sizes[query]} rows. lgb.cv keeps queries together for LightGBM's own ranking "
            "objectives only: give it folds=sklearn.model_selection.GroupKFold()."
        )


def _checked_truth(owner, labels, group, weight):
    if labels is None:
        raise ValueError("The Dataset has no labels: give label= to lightgbm.Dataset.")
    if group is None:
        raise ValueError(
            "The Dataset has no query sizes, and a ranking measure needs them: give group= "
            "to lightgbm.Dataset, or eval_group= to LGBMRanker.fit."
        )
    return truth_of(owner, labels, group, weight)


# Measures as objectives --------------------------------------------------------------------------

@documented(ON_OBJECTIVES)
def objective(
    measure: Measure | str, *, truncation: int = 30, sigmoid: float = 1.0, norm: bool = True
) -> Callable:
    """Make an objective of a measure: LambdaRank, with the measure's own changes by swaps.

    Give it to ``lgb.train({"objective": …, "metric": "None"}, …)``, to ``lgb.cv`` or to
    ``LGBMRanker(objective=…, metric="None")``. Grades may be any numbers ≥ 0, of any number of
    levels, and a query may have any number of rows.

    It is ``lambdarank`` but for four things. The ideal DCG is that of the measure, not that of the
    first `truncation` ranks. Sums are of 64 bits and the sigmoid is computed, not looked up. Tied
    documents are ranked by chance. And weights are those of queries. It makes no better models than
    ``lambdarank`` where that can be used; see the guide.

    LightGBM keeps such a model without its objective, which prediction does not need. It refits
    no such model and grows no random forest by it.

    Returns
    -------
    callable
        Called by LightGBM as ``objective(preds, dataset)`` or ``objective(y_true, y_pred, weight,
        group)``, it returns gradients and hessians. It raises a ValueError with
        ``bagging_by_query``, which leaves a callable with no rows at all, and with the folds that
        ``lgb.cv`` makes for it, which tear queries apart (give it ``folds=GroupKFold(…)`` of
        scikit-learn).

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from skgraded.datasets import make_ranking
    >>> from skgraded.lightgbm import eval_metric, objective
    >>> X, y, qid = make_ranking(random_state=0)
    >>> train = lgb.Dataset(X, 0.3 * y, group=np.bincount(qid))
    >>> params = {"objective": objective("mu_map"), "metric": "None", "num_threads": 1}
    >>> booster = lgb.train(params | {"verbose": -1}, train, 20)
    >>> booster.predict(X).shape == y.shape
    True
    """
    return _Objective(measure, truncation=truncation, sigmoid=sigmoid, norm=norm)


class _Objective(Objective):
    def __call__(self, y_true, y_pred, weight=None, group=None):
        """Gradients and hessians for (preds, dataset) or (y_true, y_pred, weight, group)."""
        _refuse_bagging(getattr(y_pred, "params", {}))
        truth, preds = _truth_and_preds(y_true, y_pred, weight, group)
        return self.gradients(truth.judgments, preds)


def _refuse_bagging(params):
    """Raise if LightGBM would leave an objective that is a callable without rows."""
    if str(params.get("bagging_by_query", False)).lower() in ("true", "1", "+"):
        raise ValueError(
            "bagging_by_query=True leaves an objective that is a callable without rows, and the "
            "model would be a constant: leave it out, and sample rows by bagging_fraction."
        )
