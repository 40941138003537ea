"""Error messages of metrics, objectives and adapters for the boosting libraries."""

import copy
import re

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from catboost import CatBoost, CatBoostError, CatBoostRanker, Pool
from lightgbm import LGBMRanker, LGBMRegressor
from recorded import LightGBM, XGBoost, generated
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgraded as sg
from skgraded import catboost, lightgbm, xgboost

pytestmark = pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")

X, Y, GROUP = generated(1, repeats=1)
N = len(Y)
QID = np.repeat(np.arange(len(GROUP)), GROUP)
NAN_IN_ROW_7 = np.where(np.arange(N) == 7, np.nan, 1.0)
MEASURES_TO_TRAIN_ON = "choose one of AP, MuAP, GAP, RPrecision, DCG, NDCG"


def measured_by_lightgbm(preds=X[:, 0], y=Y, group=GROUP):
    return lightgbm.eval_metric("ndcng")(y, preds, None, group)


def measured_by_xgboost(preds=X[:, 0], **data):
    return xgboost.custom_metric("ndcng")(preds, xgb.DMatrix(X, **data))


def trained_by_lightgbm(metric=None, group=GROUP, **params):
    data = lgb.Dataset(X, Y, group=group)
    return LightGBM.history_of(data, [data], metric, 1, params)


def trained_by_xgboost(metric=None, group=GROUP, obj=None, **kwargs):
    data = XGBoost.data(X, Y, group)
    params = {"objective": "reg:squarederror"}
    return XGBoost.history_of(data, [data], metric, 3, params, obj=obj, **kwargs)


def trained_by_catboost(train=(X, Y, QID), valid=(X, Y, QID), metric=None):
    metric = metric or catboost.eval_metric("ndcng", train[2], valid[2])
    params = {
        "loss_function": "RMSE",
        "iterations": 1,
        "eval_metric": metric,
        "verbose": False,
        "thread_count": 1,
        "allow_writing_files": False,
    }
    pools = [Pool(*part[:2], group_id=part[2]) for part in (train, valid)]
    return CatBoost(params).fit(pools[0], eval_set=pools[1])


def fitted(estimator, y=Y, **fit_params):
    return sg.QueryRanker(estimator).fit(X, y, qid=QID, **fit_params)


def stopped(estimator, **fit_params):
    ranker = sg.QueryRanker(estimator, early_stopping=True, validation_fraction=0.5)
    return ranker.fit(X, Y, qid=QID, **fit_params)


def catboost_metric(**queries):
    return catboost.eval_metric("ndcng", **{"group_id": [1], "eval_group_id": [1, 2]} | queries)


CONTIGUOUS = "CatBoost requires the rows of each query to be contiguous, but argument "
ROWS = [
    # Predictions
    (
        "LightGBM: NaN",
        lambda: measured_by_lightgbm(NAN_IN_ROW_7),
        ValueError,
        "NaN; got nan for row 7: check the objective",
    ),
    (
        "XGBoost: NaN",
        lambda: measured_by_xgboost(NAN_IN_ROW_7, label=Y, group=GROUP),
        ValueError,
        "NaN; got nan for row 7: check the objective",
    ),
    (
        "number of predictions",
        lambda: measured_by_lightgbm(np.ones(N - 1)),
        ValueError,
        f"There are {N - 1} predictions for {N} labels",
    ),
    (
        "objective: NaN",
        lambda: lightgbm.objective("ndcg")(Y, NAN_IN_ROW_7, None, GROUP),
        ValueError,
        "got nan for row 7",
    ),
    (
        "objective: infinite",
        lambda: lightgbm.objective("ndcg")(Y, np.where(NAN_IN_ROW_7 == 1, 0, np.inf), None, GROUP),
        ValueError,
        "Predictions must be finite; got inf for row 7",
    ),
    # Data sets
    (
        "LightGBM: no group",
        lambda: measured_by_lightgbm(group=None),
        ValueError,
        "no query sizes.*group=",
    ),
    (
        "LightGBM: Dataset without group",
        lambda: trained_by_lightgbm(group=None, objective=lightgbm.objective("ndcg")),
        ValueError,
        "no query sizes.*group=",
    ),
    (
        "XGBoost: no queries",
        lambda: measured_by_xgboost(label=Y),
        ValueError,
        "no queries.*qid= or group=",
    ),
    (
        "XGBoost: objective without queries",
        lambda: trained_by_xgboost(group=None, obj=xgboost.objective("ndcg")),
        ValueError,
        "no queries",
    ),
    (
        "XGBoost: undefined on all workers",
        lambda: xgboost.custom_metric("ndcg").combine_sums(np.array([[0.0], [4.0], [0.0]])),
        ValueError,
        "NDCG is undefined for every query with positive weight",
    ),
    # CatBoost's data sets
    (
        "CatBoost: other rows",
        lambda: trained_by_catboost(metric=catboost.eval_metric("ndcng", QID, QID[:-1])),
        CatBoostError,
        f"The Pool does not match eval_group_id, which describes {N - 1} rows",
    ),
    (
        "CatBoost: other queries",
        lambda: trained_by_catboost(metric=catboost.eval_metric("ndcng", np.arange(N) // 2, QID)),
        CatBoostError,
        "does not match group_id, .*: call eval_metric again",
    ),
    (
        "CatBoost: equal labels, other queries",
        lambda: trained_by_catboost(valid=(X, Y, np.arange(N) // 2)),
        CatBoostError,
        f"the same {N} labels in the same order but different",
    ),
    (
        "CatBoost: undefined",
        lambda: trained_by_catboost(valid=(X, 0 * Y, QID)),
        CatBoostError,
        "NDCNG is undefined for every query with positive weight in this data",
    ),
    (
        "CatBoost: outside training",
        lambda: catboost.eval_metric("ndcng", [1, 1], [1, 2]).evaluate([np.zeros(2)], [0, 0], None),
        ValueError,
        "Only CatBoost can call",
    ),
    (
        "CatBoost: separated rows",
        lambda: catboost_metric(group_id=[1, 1, 2, 1]),
        ValueError,
        CONTIGUOUS + "group_id repeats an earlier query in row 3",
    ),
    (
        "CatBoost: separated eval rows",
        lambda: catboost_metric(eval_group_id=[1, 2, 1]),
        ValueError,
        CONTIGUOUS + "eval_group_id repeats an earlier query in row 2",
    ),
    # Measures and parameters
    ("LightGBM: unknown measure", lambda: lightgbm.eval_metric("ndgc@10"), ValueError, "ndgc"),
    ("XGBoost: no measure", lambda: xgboost.custom_metric([]), ValueError, "measure"),
    ("CatBoost: a list", lambda: catboost.eval_metric(["rr"], [1], [1]), TypeError, "rr"),
    *[
        (
            f"objective: {measure}",
            lambda door=door, measure=measure: door.objective(measure),
            TypeError,
            f"cannot be used as an objective: {MEASURES_TO_TRAIN_ON}",
        )
        for door, measure in zip(
            [lightgbm, xgboost] * 4,
            ["rr", "nerr@5", "q", "tau_ap", "kendall_tau", "p@5", "edrc", "err"],
            strict=True,
        )
    ],
    (
        "truncation",
        lambda: lightgbm.objective("ndcg", truncation=0),
        ValueError,
        "truncation must be at least 1",
    ),
    (
        "sigmoid",
        lambda: lightgbm.objective("ndcg", sigmoid=0),
        ValueError,
        "sigmoid must be a finite number > 0",
    ),
    (
        "bagging by query",
        lambda: trained_by_lightgbm(
            objective=lightgbm.objective("mu_map"), bagging_by_query=True, bagging_freq=1
        ),
        ValueError,
        "bagging_by_query=True cannot be combined",
    ),
    (
        "XGBoost: objective of an estimator",
        lambda: xgb.XGBRegressor(objective=xgboost.objective("ndcg"), n_jobs=1).fit(X, Y),
        TypeError,
        "XGBoost's estimators do not pass queries to an objective",
    ),
    (
        "EarlyStopping: unknown metric",
        lambda: trained_by_xgboost(
            xgboost.custom_metric("ap"),
            callbacks=[xgboost.EarlyStopping(rounds=2, metric_name="nothing")],
        ),
        ValueError,
        "No .* named: nothing",
    ),
    # Adapters name the model that the user passed
    (
        "pipeline: fractional grades",
        lambda: fitted(make_pipeline(StandardScaler(), LGBMRanker()), y=Y / 2),
        ValueError,
        "Grades in y must be integers ≤ 30 for LGBMRanker",
    ),
    (
        "pipeline: no booster",
        lambda: stopped(make_pipeline(StandardScaler(), Ridge())),
        TypeError,
        r"requires a supported booster, such as LGBMRanker.*; got Ridge\(\)",
    ),
    (
        "HistGradientBoostingRegressor: no rounds",
        lambda: stopped(HistGradientBoostingRegressor(max_iter=0)),
        ValueError,
        "The 'max_iter' parameter",
    ),
]


@pytest.mark.parametrize(
    ("function", "error", "message"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_an_error_names_the_argument_and_the_value(function, error, message):
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        function()


# A measure that is not converted to a metric -----------------------------------------------------

QUICK = {"n_estimators": 2, "n_jobs": 1}
QUIET = {"iterations": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
# The validation set of an estimator's fit: an argument of LightGBM 4.6, deprecated in 4.7.
SETS = {"eval_set": [(X, Y)], "eval_group": [GROUP]}


def by_lightgbm(model=LGBMRanker, eval_metric=None, **params):
    """Fit a ranker on queries, or a regressor on rows."""
    queries = {"group": GROUP} | SETS if model is LGBMRanker else {"eval_set": SETS["eval_set"]}
    model(**QUICK, verbose=-1, **params).fit(X, Y, eval_metric=eval_metric, **queries)


def by_catboost(model=CatBoostRanker, **params):
    model(**QUIET, **params).fit(Pool(X, Y, group_id=QID), eval_set=Pool(X, Y, group_id=QID))


def by_query_ranker(estimator, **fit_params):
    sg.QueryRanker(estimator).fit(X, Y, qid=QID, **fit_params)


PASSED = {  # calls that pass a measure, keyed by library
    "lightgbm": {
        "fit": lambda m: by_lightgbm(eval_metric=m),
        "a list": lambda m: by_lightgbm(eval_metric=["ndcg", m]),
        "regressor": lambda m: by_lightgbm(LGBMRegressor, m),
        "metric": lambda m: by_lightgbm(metric=m),
        "metrics": lambda m: by_lightgbm(metric=[m, sg.MuAP()]),
        "eval_metric of the constructor": lambda m: LGBMRanker(**QUICK, eval_metric=m).fit(
            X, Y, group=GROUP
        ),
        "train": lambda m: trained_by_lightgbm(m),
        "train, a list": lambda m: trained_by_lightgbm([m]),
        "train, params": lambda m: trained_by_lightgbm(metric=[m]),
        "QueryRanker": lambda m: by_query_ranker(LGBMRanker(**QUICK), eval_metric=m),
    },
    "xgboost": {
        "ranker": lambda m: xgb.XGBRanker(**QUICK, eval_metric=m).fit(
            X, Y, group=GROUP, eval_set=[(X, Y)], eval_group=[GROUP], verbose=False
        ),
        "regressor": lambda m: xgb.XGBRegressor(**QUICK, eval_metric=m).fit(
            X, Y, eval_set=[(X, Y)], verbose=False
        ),
        "objective": lambda m: xgb.XGBRegressor(**QUICK, objective=m).fit(X, Y),
        "train": lambda m: trained_by_xgboost(m),
        "QueryRanker": lambda m: by_query_ranker(
            xgb.XGBRanker(**QUICK, eval_metric=m),
            eval_set=[(X, Y)],
            eval_group=[GROUP],
            verbose=False,
        ),
    },
    "catboost": {
        "ranker": lambda m: by_catboost(eval_metric=m),
        "base class": lambda m: by_catboost(lambda **params: CatBoost(params), eval_metric=m),
        "custom_metric": lambda m: by_catboost(custom_metric=m),
        "QueryRanker": lambda m: by_query_ranker(CatBoostRanker(**QUIET, eval_metric=m)),
    },
}


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.parametrize(
    "library, call", [(library, call) for library, calls in PASSED.items() for call in calls]
)
def test_a_measure_is_not_a_metric_of_a_boosting_library(library, call):
    message = f"With {library}, use a metric from skgraded.{library} to evaluate, or skgraded.Query"
    with pytest.raises(TypeError, match=message):
        PASSED[library][call](sg.NDCG(10))


class OfUser:
    """A metric that contains a measure, and has the signature of LightGBM."""

    def __init__(self):
        self.measures = [sg.NDCG(10)]

    def __call__(self, y_true, y_pred, weight, group):
        (measure,) = self.measures
        return measure.name, measure(y_true, np.float32(y_pred), group=group), True


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_metrics_that_contain_a_measure_and_copies_of_settings_are_accepted():
    ranker, measure = LGBMRanker(**QUICK, verbose=-1, metric="None"), sg.NDCG(10)
    theirs, ours = (
        ranker.fit(X, Y, group=GROUP, **SETS, eval_metric=metric).evals_result_["training"]
        for metric in (OfUser(), lightgbm.eval_metric(measure))
    )
    assert theirs["NDCG@10"] == pytest.approx(ours["NDCG@10"], abs=1e-12)
    assert clone(xgb.XGBRanker(eval_metric=measure)).eval_metric is measure
    assert CatBoostRanker(eval_metric=measure).get_params()["eval_metric"] is measure
    assert copy.copy(measure) is copy.deepcopy([measure])[0] is measure


def test_only_data_sets_of_boosting_libraries_are_refused_as_such():
    # Names of modules of skgraded, and of files in boosting/.
    for module in ("datasets", "__main__", "measures", "metric", "sklearn"):
        rows = type("Dataset", (), {"__module__": module})()
        with pytest.raises(ValueError, match="y_score must be 1-D; got a single value"):
            sg.NDCG()([1, 0], rows)
    with pytest.raises(TypeError, match="y_true must be an array; got a Dataset from lightgbm"):
        sg.NDCG()(lgb.Dataset(X, Y), X[:, 0])
    with pytest.raises(TypeError, match="qid must be an array; got a QuantileDMatrix from xgboost"):
        sg.NDCG()(Y, X[:, 0], qid=xgb.QuantileDMatrix(X, Y))
