"""What each boosting library needs: its form of groups, weights and rows, and how it stops early.

LightGBM takes the sizes of the queries and a weight a row; XGBoost a query a row, sorted, and a
weight a query; CatBoost a query a row, together, and the weight of its query a row.
"""

import inspect
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.utils import InputTags, get_tags

from skgraded._input.columns import column
from skgraded._input.tables import is_polars_frame, take_rows
from skgraded.judgments import Judgments

MODELS = {"LightGBM": "LGBMModel", "XGBoost": "XGBModel", "CatBoost": "CatBoost"}
QUERY_ARGUMENTS = ("qid", "group", "group_id")
WEIGHT = "sample_weight"
FIRST_SCORES = ("init_score", "base_margin", "baseline")  # LightGBM's, XGBoost's, CatBoost's
BY_POSITION = ("pairs", "graph", "subgroup_id")  # CatBoost's, which say nothing once rows move
LIGHTGBM_OF_WHOLE_GRADES = {
    "lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart",
}
# What CatBoost's own stopping, and its hold-out of rows, go by.
CATBOOST_STOPPING = {
    "od_type", "od_wait", "od_pval", "early_stopping_rounds", "eval_metric", "eval_fraction",
    "use_best_model", "best_model_min_trees", "metric_period",
}


def library_of(estimator):
    """The library of the estimator: "LightGBM", "XGBoost", "CatBoost", or None."""
    for library, name in MODELS.items():
        # not imported for those who use something else
        model = getattr(sys.modules.get(library.lower()), name, None)
        if model is not None and isinstance(estimator, model):
            return library
    return None


def copy_of(estimator):
    """An unfitted copy of the estimator."""
    if library_of(estimator) != "CatBoost":
        return clone(estimator, safe=False)
    return _catboost_of(estimator, estimator.get_params())


def _catboost_of(estimator, parameters):
    # CatBoost hands out copies of its parameters, which clone() takes for a broken constructor
    # as soon as one is a list or an object (catboost#3078). Its base class takes them as a dict.
    if type(estimator) is sys.modules["catboost"].CatBoost:
        return type(estimator)(parameters)
    return type(estimator)(**parameters)


def input_tags_of(estimator):
    """What scikit-learn is told of the X that the estimator takes."""
    if hasattr(estimator, "__sklearn_tags__"):
        return get_tags(estimator).input_tags
    return InputTags(sparse=True, allow_nan=True)  # CatBoost of a time before tags


# Arguments of fit --------------------------------------------------------------------------------

def query_argument(estimator):
    """How the estimator's fit takes the queries, one of QUERY_ARGUMENTS; None: a regressor."""
    parameters = fit_parameters(estimator)
    for name in QUERY_ARGUMENTS:
        if name in parameters:
            return name
    if not is_regressor(estimator):
        raise TypeError(
            "QueryRanker wraps a ranker, whose fit takes group or qid, or a regressor; got "
            f"{estimator!r}. In a Pipeline or a search put QueryRanker around the ranker itself; a "
            "classifier can be scored as it is by make_ranking_scorer."
        )
    return None


def fit_parameters(estimator):
    """The parameters of the estimator's fit, by name."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be an instance with a fit method; got {estimator!r}.")
    parameters = dict(inspect.signature(estimator.fit).parameters)
    library = library_of(estimator)
    if library is not None and takes_any(parameters):  # a subclass, which hands them on
        classes = type(estimator).__mro__
        own = next(c for c in classes if c.__module__.split(".")[0] == library.lower())
        parameters = dict(inspect.signature(own.fit).parameters) | parameters
    return parameters


def takes_any(parameters):
    """Whether there is a ``**kwargs`` among the parameters."""
    return any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def wants_whole_grades(estimator):
    """Whether the estimator's objective takes whole grades only."""
    library = library_of(estimator)
    if library == "XGBoost" and query_argument(estimator):
        parameters = estimator.get_params(deep=False)
        exponential = parameters.get("ndcg_exp_gain") in (None, True)
        return parameters["objective"] == "rank:ndcg" and exponential
    if library != "LightGBM" or not query_argument(estimator):
        return False
    parameters = estimator.get_params(deep=False)
    aliases = ("objective_type", "app", "application", "loss", "objective")  # the last yields
    objective = next((parameters[name] for name in aliases if parameters.get(name)), None)
    return objective is None or objective in LIGHTGBM_OF_WHOLE_GRADES


def readable(X, estimator):
    """`X` in a form that the estimator's library reads."""
    library = library_of(estimator)
    if sparse.issparse(X) and library in ("LightGBM", "CatBoost"):
        X = sparse.csr_matrix(X)  # they take sparse matrices, but not SciPy's newer arrays
        if library == "CatBoost":  # which takes 32-bit indices only
            indices = X.indices.astype(np.int32, copy=False)
            X = sparse.csr_matrix((X.data, indices, X.indptr.astype(np.int32)), shape=X.shape)
        return X
    polars_since = {"LightGBM": (4, 7), "XGBoost": (3, 0), "CatBoost": (1, 2, 10)}
    if library is None or not is_polars_frame(X) or _version(library) >= polars_since[library]:
        return X
    return X.to_numpy()


def _version(library):
    parts = sys.modules[library.lower()].__version__.split(".")
    return tuple(int(part) for part in parts[:3] if part.isdecimal())


# Rows --------------------------------------------------------------------------------------------

@dataclass
class Rows:
    """Rows as an estimator is fitted on them."""

    X: Any
    grades: np.ndarray
    by_row: dict[str, np.ndarray]  # arguments of fit
    sizes: np.ndarray | None = None  # of consecutive queries; None: in any order, for a regressor

    def take(self, rows, sizes):
        """Make Rows of those at these positions; all, in their order, if `rows` is None."""
        if rows is None:
            return Rows(self.X, self.grades, self.by_row, sizes)
        by_row = {name: values[rows] for name, values in self.by_row.items()}
        return Rows(take_rows(self.X, rows), self.grades[rows], by_row, sizes)

    def judgments(self):
        """The grades and weights as truth."""
        return Judgments(self.grades, group=self.sizes, sample_weight=self.by_row.get(WEIGHT))


def check_by_row(fit_params, n):
    """Those arguments of fit that follow the rows, checked."""
    if fit_params.get("group_weight") is not None:
        raise ValueError(
            "Give the weights by sample_weight, not by group_weight: CatBoost is told the weight "
            "of each query, the mean over its rows."
        )
    return {
        name: column(fit_params[name], name, n, "X")
        for name in FIRST_SCORES if fit_params.get(name) is not None
    }


def refuse_positions(fit_params):
    """Refuse arguments that name rows by position, which is about to change."""
    for name in BY_POSITION:
        if fit_params.get(name) is not None:
            raise ValueError(
                f"{name} goes by the position of rows, and QueryRanker has to move them: bring the "
                "rows of each query together first, and hold out none (early_stopping=False)."
            )


def fit_arguments(estimator, rows):
    """The arguments of fit, beside X and y, that `rows` stand for, in the library's form."""
    arguments = dict(rows.by_row)
    name = query_argument(estimator)
    if name is None:
        return arguments
    query_of_row = np.repeat(np.arange(len(rows.sizes)), rows.sizes)
    arguments[name] = rows.sizes if name == "group" else query_of_row
    library = library_of(estimator)
    if WEIGHT in arguments and library in ("XGBoost", "CatBoost"):
        weights = rows.judgments().weights  # a query's is the mean over its rows
        del arguments[WEIGHT]
        if library == "XGBoost":
            arguments[WEIGHT] = weights
        else:  # YetiRank, the default, leaves weights of rows out
            arguments["group_weight"] = weights[query_of_row]
    return arguments


def fit_all(estimator, rows, fit_params):
    """Fit a copy of the estimator on all rows."""
    return copy_of(estimator).fit(
        rows.X, rows.grades, **fit_params | fit_arguments(estimator, rows)
    )


# Stopping early ----------------------------------------------------------------------------------

def fit_stopped(estimator, training, validation, progress, fit_params):
    """Fit a copy of the estimator on the training rows, for as many rounds as it pays.

    Parameters
    ----------
    estimator : LGBMModel, XGBModel or CatBoost
    training, validation : Rows
    progress : Progress
        Gets the scores of the validation rows at each round and says when to stop.
    fit_params : dict
        Further arguments of fit.

    Returns
    -------
    LGBMModel, XGBModel or CatBoost
        Fitted; it predicts with the best number of rounds.
    """
    fit = {"LightGBM": _fit_lightgbm, "XGBoost": _fit_xgboost, "CatBoost": _fit_catboost}
    return fit[library_of(estimator)](estimator, training, validation, progress, fit_params)


def _fit_lightgbm(estimator, training, validation, progress, fit_params):
    from lightgbm import LGBMModel
    from lightgbm.callback import EarlyStopException

    at_best = []

    def measure(y_true, y_pred):
        progress.see(y_pred)
        return [(name, values[-1], True) for name, values in progress.history.items()]

    def stop(env):
        if progress.best_round == progress.n_rounds:
            at_best[:] = env.evaluation_result_list
        if progress.is_over or env.iteration == env.end_iteration - 1:
            raise EarlyStopException(progress.best_round - 1, at_best)

    stop.order = 30  # type: ignore[attr-defined]  # LightGBM's own, after all that record and show
    valid: dict = {"eval_names": ["validation"]}
    if "eval_X" in inspect.signature(LGBMModel.fit).parameters:  # from 4.7 on
        valid |= {"eval_X": (validation.X,), "eval_y": (validation.grades,)}
    else:
        valid["eval_set"] = [(validation.X, validation.grades)]
    if query_argument(estimator):
        valid["eval_group"] = [validation.sizes]
    if "init_score" in validation.by_row:
        valid["eval_init_score"] = [validation.by_row["init_score"]]
    callbacks = [*(fit_params.get("callbacks") or ()), stop]
    model = copy_of(estimator).set_params(metric="None", early_stopping_round=0)
    model.fit(
        training.X, training.grades, eval_metric=measure,
        **fit_params | fit_arguments(estimator, training) | valid | {"callbacks": callbacks},
    )
    model.booster_.best_iteration = progress.best_round  # a callback of the user may have ended it
    return model


def _fit_xgboost(estimator, training, validation, progress, fit_params):
    from xgboost import DMatrix
    from xgboost.callback import TrainingCallback

    # XGBoost would average a callable metric of a ranker by the size of the queries.
    class Stop(TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            progress.see(model.predict(data))  # XGBoost adds the new trees to what it has kept
            return progress.is_over

    model = copy_of(estimator)
    data = DMatrix(
        validation.X, base_margin=validation.by_row.get("base_margin"), missing=model.missing,
        nthread=model.n_jobs, feature_types=model.feature_types,
        enable_categorical=model.enable_categorical,
    )
    own = {"callbacks": model.callbacks, "early_stopping_rounds": model.early_stopping_rounds}
    callbacks = [Stop(), *(model.callbacks or ())]  # once one has stopped, the next are not called
    model.set_params(callbacks=callbacks, early_stopping_rounds=None)
    model.fit(training.X, training.grades, **fit_params | fit_arguments(estimator, training))
    vars(model).update(own)  # set_params would hand all to the trained booster
    model.get_booster().set_attr(
        best_iteration=str(progress.best_round - 1), best_score=str(progress.best_score)
    )
    return model


def _fit_catboost(estimator, training, validation, progress, fit_params):
    from catboost import Pool

    arguments = fit_arguments(estimator, training)
    weights = arguments.get("group_weight", arguments.get(WEIGHT, np.ones(1)))
    mark = 4 * float(weights.max())
    own = estimator.get_params()
    typed = {
        name: fit_params.get(name) if fit_params.get(name) is not None else own.get(name)
        for name in ("cat_features", "text_features", "embedding_features")
    }
    marks = np.full(len(validation.grades), mark)
    if query_argument(estimator):
        queries = np.repeat(np.arange(len(validation.sizes)), validation.sizes)
        grouped = {"group_id": queries, "group_weight": marks}
    else:
        grouped = {"weight": marks}
    data = Pool(
        validation.X, validation.grades, baseline=validation.by_row.get("baseline"),
        **typed, **grouped,
    )
    metric = _CatBoostMetric(progress, mark)
    parameters = {name: value for name, value in own.items() if name not in CATBOOST_STOPPING}
    model = _catboost_of(estimator, parameters | {"eval_metric": metric})
    callbacks = [*(fit_params.get("callbacks") or ()), _CatBoostStop(progress)]
    model.fit(
        training.X, training.grades,
        **fit_params | arguments | {
            "eval_set": data, "use_best_model": True, "metric_period": 1, "callbacks": callbacks,
        },
    )
    metric.progress = None  # the model keeps the metric, but need not keep the rows
    return model


class _CatBoostMetric:
    """Shows the scores of the validation rows to `progress`; CatBoost never tells which they are.

    So they have a weight of their own, `mark`, which no training row comes near, and which counts
    for nothing else: CatBoost uses it only in values that nobody looks at.
    """

    no_jit = True  # or CatBoost tries numba on it, and warns where there is none

    def __init__(self, progress, mark):
        self.progress = progress
        self.mark = mark

    def __deepcopy__(self, memo):  # CatBoost copies its parameters
        return self

    def is_max_optimal(self):
        """Say that higher is better."""
        return True

    def get_final_error(self, error, weight):
        """Give the value as `evaluate` gave it."""
        return error

    def evaluate(self, approxes, target, weight):
        """Value and weight of some rows: 0 of training rows, else the first measure."""
        if self.progress is None or weight is None or weight[0] < self.mark / 2:
            return 0.0, 1.0
        self.progress.see(approxes[0])
        return self.progress.last, 1.0


class _CatBoostStop:
    def __init__(self, progress):
        self.progress = progress

    def after_iteration(self, info):
        """Say whether to go on."""
        return not self.progress.is_over
