"""LightGBM: its rankers and regressors in QueryRanker, and measures as metrics of its trainings.

Its rankers take the sizes of the queries and a weight a row.
"""

from __future__ import annotations

import dataclasses
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from scipy import sparse

from skgraded.boosting.adapter import BoosterAdapter
from skgraded.boosting.metric import BoostingMetric, WeakIdentityDict, refuse_part, truth_of
from skgraded.measures import Measure

__all__ = ["eval_metric"]

OBJECTIVE_NAMES = ("objective_type", "app", "application", "loss", "objective")  # the last yields
OF_WHOLE_GRADES = {
    "lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart",
}


# LightGBM in QueryRanker -------------------------------------------------------------------------

class Library(BoosterAdapter):
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
    continued = "init_model"

    @property
    def wants_whole_grades(self):
        """Whether the estimator's objective takes whole grades only, as a ranker's own does."""
        if self.query_argument is None:
            return False
        parameters = self.estimator.get_params(deep=False)
        given = (parameters[name] for name in OBJECTIVE_NAMES if parameters.get(name))
        objective = next(given, None)
        return objective is None or objective in OF_WHOLE_GRADES

    def readable(self, X):
        """`X` in a form that LightGBM reads: sparse matrices, but not SciPy's newer arrays."""
        return sparse.csr_matrix(X) if sparse.issparse(X) else super().readable(X)

    def fit_stopped(self, training, validation, progress, fit_params):
        """Fit a copy of the estimator, shown and stopped by an exception of LightGBM's own."""
        def measure(y_true, y_pred):
            _refuse_part("QueryRanker(early_stopping=True)", sys._getframe(1))
            progress.see(y_pred)
            return [(name, values[-1], True) for name, values in progress.history.items()]

        callbacks = [*(fit_params.get("callbacks") or ()), _stop_of(progress)]
        model = self.copy().set_params(metric="None", early_stopping_round=0)
        arguments = self.fit_arguments(training) | self._to_stop_on(validation)
        model.fit(
            training.X, training.grades, eval_metric=measure,
            **fit_params | arguments | {"callbacks": callbacks},
        )
        # a callback of the user may have ended it
        model.booster_.best_iteration = progress.best_round
        return model

    def _to_stop_on(self, validation):
        """Arguments of fit for the validation set."""
        arguments: dict[str, Any] = {"eval_names": ["validation"]}
        if self.version >= (4, 7):
            arguments |= {"eval_X": (validation.X,), "eval_y": (validation.grades,)}
        else:
            arguments["eval_set"] = [(validation.X, validation.grades)]
        if self.query_argument:
            arguments["eval_group"] = [validation.sizes]
        if "init_score" in validation.by_row:
            arguments["eval_init_score"] = [validation.by_row["init_score"]]
        return arguments


def _stop_of(progress):
    """A callback that ends the training as LightGBM's own early stopping does."""
    from lightgbm.callback import EarlyStopException

    at_best: list = []

    def stop(env):
        if progress.best_round == progress.n_rounds:
            at_best[:] = env.evaluation_result_list
        if progress.is_over or env.iteration == env.end_iteration - 1:
            raise EarlyStopException(progress.best_round - 1, at_best)

    stop.order = 30  # type: ignore[attr-defined]  # LightGBM's own, after all that record and show
    return stop


ADAPTERS = [Library]


# Measures as metrics -----------------------------------------------------------------------------

def eval_metric(measures: Measure | str | Iterable[Measure | str], every: int = 1) -> Callable:
    """Make a metric that LightGBM shows at each round and can stop early on.

    Give it to ``lgb.train(feval=)``, ``lgb.cv(feval=)`` or ``LGBMRanker.fit(eval_metric=)``,
    together with ``metric="None"``: LightGBM puts its own metrics first, so that
    ``first_metric_only`` would pick those. Of several measures LightGBM stops on any that stalls,
    and keeps the best round of that one; ``lgb.early_stopping(…, first_metric_only=True)`` stops on
    the first of the list.

    Parameters
    ----------
    measures : Measure, str, or list of these
        What to compute; a list is computed from one sort of the predictions.
    every : int, default=1
        Compute at rounds 1, every + 1, 2 · every + 1, … and repeat the last values between. Each
        training counts anew.

    Returns
    -------
    callable
        Called by LightGBM as ``metric(preds, dataset)`` or ``metric(y_true, y_pred, weight,
        group)``. It returns ``(name, value, True)``, higher being better; a list of these for a
        list of measures. It raises a ValueError where a number would mislead: predictions that
        are NaN (LightGBM would end the training without a word) or of several classes; a set
        without query sizes, or one in which a measure is undefined for every query that has
        weight, whatever the measure's `undefined`; and a training on several machines (Dask,
        ``machines=``), of which each would show its own queries. (LightGBM's own metrics do.)

    Raises
    ------
    ValueError, TypeError
        If a measure cannot be read or is given twice, or `every` is not a whole number ≥ 1.

    Notes
    -----
    The values are those of the measures themselves, ties and all, with the Dataset's weights: the
    weight of a query is the mean over its rows. The grades of a Dataset are laid out when it is
    first met and released with it. If its labels, groups or weights change, also in place, they
    are laid out anew.

    LightGBM keeps labels as 32-bit floats, and 0.7 as one of these is below 0.7. So each label is
    read as the shortest decimal that it may have come from: a grade written with up to six
    digits is itself again. The `threshold` and `max_grade` of a measure are rounded the same
    way, so that a grade that reached a threshold still does.

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

    def __init__(self, measures, every=1):
        super().__init__(measures, every)
        self._trainings = WeakIdentityDict()  # by LightGBM's buffer of the predictions

    def __call__(self, y_true, y_pred, weight=None, group=None):
        """Values for (preds, dataset) or (y_true, y_pred, weight, group)."""
        _refuse_part(repr(self), sys._getframe(1))
        if _is_dataset(y_pred):
            preds, dataset = y_true, y_pred
            truth = _checked_truth(
                dataset, dataset.get_label(), dataset.get_group(), dataset.get_weight()
            )
        else:
            preds = y_pred
            truth = _checked_truth(y_true, y_true, group, weight)
        training = self._training(preds, truth)
        if training.n_rounds % self.every == 0:
            when = f" at round {training.n_rounds + 1} of the training"
            training.values = self.means(truth.judgments, preds, when)
        training.n_rounds += 1
        results = [
            (measure.name, value, True)
            for measure, value in zip(self.measures, training.values, strict=True)
        ]
        return results[0] if self._one else results

    def _training(self, preds, truth):
        """Find what is remembered of the training that hands in these predictions.

        A Booster has one buffer of predictions for each of its data sets and fills it anew at
        each round, so another buffer, or another truth, is another training.
        """
        training = self._trainings.get(preds)
        if training is None or training.truth() is not truth:
            training = _Training(weakref.ref(truth))
            self._trainings.put(preds, training)
        return training


@dataclasses.dataclass
class _Training:
    truth: weakref.ref
    n_rounds: int = 0
    values: list = dataclasses.field(default_factory=list)


def _refuse_part(what, frame):
    """Raise if the Booster that evaluates, in this frame or above it, is one of several machines.

    LightGBM hands a metric neither its Booster nor, in the scikit-learn forms, the parameters.
    """
    from lightgbm import Booster

    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, Booster):
            # by set_network the number is not known
            if caller._network and caller.params.get("num_machines", 2) > 1:
                refuse_part(what)
            return
        frame = frame.f_back


def _checked_truth(owner, labels, group, weight):
    if labels is None:
        raise ValueError("The Dataset has no labels: give label= to lightgbm.Dataset.")
    if group is None:
        raise ValueError(
            "The Dataset has no query sizes, and a ranking measure needs them: give group= "
            "to lightgbm.Dataset, or eval_group= to LGBMRanker.fit."
        )
    return truth_of(owner, labels, group, weight)


def _is_dataset(data):
    lightgbm = sys.modules.get("lightgbm")  # whoever has a Dataset has imported it
    return lightgbm is not None and isinstance(data, lightgbm.Dataset)
