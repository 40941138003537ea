"""Error messages of metrics, objectives and adapters for the boosting libraries."""

import re

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from catboost import CatBoost, CatBoostError, Pool
from lightgbm import LGBMRanker
from recorded import LightGBM, XGBoost, generated
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
        lambda: xgboost.custom_metric("ndcg").means_of_sums(np.array([[0.0], [4.0], [0.0]])),
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
        "does not match group_id, .*: make a new metric",
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
        "lambdarank: a long query",
        lambda: sg.QueryRanker(LGBMRanker()).fit(
            np.ones((10_001, 1)), np.ones(10_001), group=[10_001]
        ),
        ValueError,
        r"has 10001 rows, but LightGBM's lambdarank accepts at most 10000: use .*objective\('ndcg'\)",
    ),
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
