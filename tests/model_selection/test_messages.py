"""Errors of scorers, rankers, splitters and cross-validation, all raised before any fit."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from never_fitted import NeverFitted
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from table_kinds import FRAMES, TABLES, select, toy_data
from xgboost import XGBRanker, XGBRegressor

import skgraded as sg
from skgraded.lightgbm import objective
from skgraded.model_selection import QueryKFold, QueryTimeSeriesSplit

pytestmark = pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")

X, Y, QID = toy_data()
N = len(Y)
FRAME = TABLES["pandas"](X)  # its columns are called age, query_id, links and words
SCORES = np.array([[0.3], [0.9], [0.8], [0.2], [0.1]])
FIRST = SimpleNamespace(predict=lambda X: np.asarray(X)[:, 0])  # scores by the first column
ALL_WAYS = re.escape("fit(X, y, qid=qid)") + ".*qid='query_id'.*qid='query_id'.*qid=series"


class NeverTrained(LGBMRanker):
    """A ranker of LightGBM whose fit fails, because bad input must be rejected before fit."""

    def fit(self, X, y=None, group=None, **kwargs):
        raise AssertionError("bad input must be rejected before any fit")


NEVER = NeverTrained()


def values_at(row, value, n=N):
    """Grades or weights of 1 except in one row."""
    values = np.ones(n)
    values[row] = value
    return values


# Each row of the lists contains an id, a call, the type of the error and its message.

# Scorers -----------------------------------------------------------------------------------------

scorer = sg.make_ranking_scorer
NO_COLUMN = "qid must be the name .* of a column"
MANY = [f"f{i}" for i in range(11)]


def zeros(*columns):
    """A frame of two rows of zeros."""
    return pd.DataFrame(np.zeros((2, len(columns))), columns=list(columns))


def in_pandas(dtype):
    return zeros("score").assign(q=pd.Series([1, 1.5], dtype=dtype))


def in_polars(dtype):
    return pl.DataFrame({"score": [0, 0], "q": pl.Series([1, 1.5], dtype=dtype)})


def find(qid, X):
    """Let a scorer look for the query ids in X."""
    return scorer("rr", qid=qid)(FIRST, X, [1, 0])


def score(model, **settings):
    """Score a classifier or regressor fitted on four grades."""
    features, grades = X[:, [0, 2]], np.minimum(Y, 3)
    return scorer("ndcng@10", **settings)(model.fit(features, grades), features, grades, qid=QID)


class Classifier(ClassifierMixin, BaseEstimator):
    """A classifier with the given classes and equal probabilities in each of some columns."""

    def __init__(self, classes, n_columns):
        self.classes_, self.n_columns = np.array(classes), n_columns

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.full((len(X), self.n_columns), 1 / self.n_columns)


SCORERS = [
    *(
        (
            f"qid of type {type(qid).__name__}",
            lambda qid=qid: scorer("rr", qid=qid),
            TypeError,
            NO_COLUMN,
        )
        for qid in (QID, [1, 2], 1.0, True, ("a", "b"))
    ),
    ("qid is a frame", lambda: scorer("rr", qid=FRAME), TypeError, "got DataFrame"),
    ("unknown measure", lambda: scorer("nonsense@10"), ValueError, "Unknown measure"),
    ("same measure under two names", lambda: scorer({"a": "rr", "b": "mrr"}), ValueError, "RR"),
    ("no measure in a dict", lambda: scorer({}), ValueError, "empty"),
    *(
        (
            f"response method {method}",
            lambda method=method: scorer("rr", response_method=method),
            ValueError,
            "response_method must",
        )
        for method in ("score", ["predict", "transform"], [], 3)
    ),
    (
        "measure as a scorer",
        lambda: cross_val_score(Ridge(), X, Y, scoring=sg.NDCNG(k=10), error_score="raise"),
        TypeError,
        r"NDCNG@10 accepts only .* by name.*scoring=skgraded.make_ranking_scorer\('NDCNG@10'\)",
    ),
]


SCORING = [
    (
        "no qid",
        lambda: scorer("rr")(FIRST, SCORES, [1] * 5),
        ValueError,
        f"The scorer got no qid.*{ALL_WAYS}",
    ),
    (
        "qid passed twice",
        lambda: scorer("rr", qid=0)(FIRST, SCORES, [1] * 5, qid=[1] * 5),
        ValueError,
        "must be passed only once",
    ),
    (
        "label with two queries",
        lambda: find(pd.Series(["b", "a"], [10, 10]), zeros("score").set_axis([10, 11])),
        ValueError,
        "The index of qid contains 10 more than once",
    ),
    (
        "label without a query",
        lambda: find(pd.Series(["b", "a"], [10, 11]), zeros("score").set_axis([11, 12])),
        ValueError,
        r"no value for the label 12 \(row 1 of X\)",
    ),
    *(
        (
            f"{kind} has no index",
            lambda kind=kind: find(pd.Series([1, 2]), TABLES[kind](X[:2])),
            ValueError,
            "has no row labels",
        )
        for kind in ("numpy", "csr", "polars", "list")
    ),
    (
        "misspelled column",
        lambda: find("queryid", zeros("score", "query_id")),
        ValueError,
        "but X has only the columns 'score', 'query_id'. Did you mean",
    ),
    (
        "eleven columns",
        lambda: find("zzz", zeros(*MANY)),
        ValueError,
        "but X has only the columns 'f0', 'f1', .*'f8', 'f9', ….",
    ),
    (
        "two columns of the name",
        lambda: find("q", zeros("score", "q", "q")),
        ValueError,
        "Several columns are named .*: rename all but one",
    ),
    (
        "array without names",
        lambda: find("q", np.zeros((2, 1))),
        ValueError,
        "ndarray, whose columns have no names",
    ),
    (
        "position too large",
        lambda: find(1, np.zeros((2, 1))),
        ValueError,
        "qid is column 1, but X has only 1 columns",
    ),
    (
        "position too small",
        lambda: find(-2, np.zeros((2, 1))),
        ValueError,
        "qid is column -2, but X has only 1 columns",
    ),
    (
        "fractions",
        lambda: find(0, np.array([[np.nan, 0.2], [1.5, 0.1]])),
        ValueError,
        "qid is column 0 of X, but that column contains 1.5 in row 1, which looks like a",
    ),
    *(
        (
            f"fractions in a column of {dtype}",
            lambda make=make, dtype=dtype: find("q", make(dtype)),
            ValueError,
            "qid is the column 'q' of X, but that column contains 1.5 in row 1, which looks",
        )
        for make, dtype in (
            *((in_pandas, dtype) for dtype in (float, "Float32", "double[pyarrow]", object)),
            (in_polars, pl.Float64),
        )
    ),
    (
        "missing query",
        lambda: find(1, np.array([[0.3, 1.0], [0.9, np.nan]])),
        ValueError,
        "qid is missing in row 1",
    ),
    (
        "no method",
        lambda: score(LinearRegression(), response_method=["decision_function"]),
        ValueError,
        "LinearRegression has no method decision_function",
    ),
    (
        "no probabilities",
        lambda: score(LinearSVC()),
        ValueError,
        "LinearSVC has no method predict_proba",
    ),
    (
        "several scores",
        lambda: score(LogisticRegression(), response_method="decision_function"),
        ValueError,
        "one score, but .* returns 4 scores:",
    ),
    (
        "classes of text",
        lambda: score(Classifier(["bad", "fair", "good"], 3)),
        ValueError,
        "'bad', 'fair', 'good'",
    ),
    *(
        (
            f"{k} probabilities of {n} classes",
            lambda n=n, k=k: score(Classifier(range(n), k)),
            ValueError,
            rf"Classifier has the classes .* of shape \({N}, {k}\)",
        )
        for n, k in ((2, 1), (2, 4), (3, 1), (3, 4))
    ),
]


# QueryRanker -------------------------------------------------------------------------------------


def fit(estimator=NEVER, change=(), **settings):
    """Fit a QueryRanker on the toy data, in which `change` replaces arguments of fit."""
    return sg.QueryRanker(estimator, **settings).fit(**{"X": X, "y": Y, "qid": QID} | dict(change))


def fitted(**settings):
    return fit(Ridge(), {"X": FRAME, "qid": None}, qid="query_id", **settings)


def predict(columns, kind="pandas"):
    return fitted().predict(select(FRAMES[kind](X), columns))


FRACTIONAL = {"y": values_at(7, 2.5)}
INTEGERS = "Grades in y must be integers ≤ {} for {}; got 2.5 in row 7.*{}"


RANKERS = [
    ("no qid", lambda: fit(change={"qid": None}), ValueError, ALL_WAYS),
    (
        "no qid in score",
        lambda: fit(Ridge()).score(X, Y),
        ValueError,
        f"QueryRanker.score got no qid.*{ALL_WAYS}",
    ),
    (
        "qid in fit and in the constructor",
        lambda: fit(qid=1),
        ValueError,
        "QueryRanker.fit: the queries must be passed only once",
    ),
    (
        "qid and group",
        lambda: fit(change={"group": [10] * 24}),
        ValueError,
        "passed only once",
    ),
    (
        "qid in score and in the constructor",
        lambda: fitted().score(FRAME, Y, qid=QID),
        ValueError,
        "QueryRanker.score: the queries must be passed only once",
    ),
    *(
        (
            f"qid of type {type(qid).__name__}",
            lambda qid=qid: fit(change={"qid": None}, qid=qid),
            TypeError,
            NO_COLUMN,
        )
        for qid in ([1, 2], 1.5, QID)
    ),
    (
        "name of a column in fit",
        lambda: fit(change={"qid": "query_id"}),
        TypeError,
        "got 'query_id'. If this is a column name.*QueryRanker.* accept qid='query_id'",
    ),
    (
        "LazyFrame",
        lambda: fit(change={"X": FRAMES["polars"](X).lazy()}),
        TypeError,
        "X is a LazyFrame",
    ),
    (
        "LazyFrame of queries",
        lambda: fit(change={"qid": FRAMES["polars"](X).lazy()}),
        TypeError,
        "qid is a polars LazyFrame",
    ),
    (
        "grade nan",
        lambda: fit(change={"y": values_at(3, np.nan)}),
        ValueError,
        "y must be finite; got nan for row 3",
    ),
    (
        "too few grades",
        lambda: fit(change={"y": np.zeros(239)}),
        ValueError,
        "y has 239 rows, but X has 240",
    ),
    (
        "too few queries",
        lambda: fit(change={"qid": np.zeros(239)}),
        ValueError,
        "qid has 239 rows, but X has 240",
    ),
    (
        "missing query",
        lambda: fit(change={"qid": [None] * N}),
        ValueError,
        "qid is missing in row 0",
    ),
    (
        "too few weights",
        lambda: fit(change={"sample_weight": np.ones(7)}),
        ValueError,
        "sample_weight has 7 rows, but X has 240",
    ),
    (
        "a weight per query",
        lambda: fit(change={"sample_weight": np.ones(len(np.unique(QID)))}),
        ValueError,
        r"but X has 240. To pass one weight per query, repeat .*np\.repeat\(",
    ),
    (
        "negative weight",
        lambda: fit(change={"sample_weight": values_at(2, -1)}),
        ValueError,
        "sample_weight .* ≥ 0; got -1 for row 2",
    ),
    ("X 1-D", lambda: fit(change={"X": np.zeros(N)}), ValueError, "X must be 2-D"),
    (
        "sizes of other rows",
        lambda: fit(change={"qid": None, "group": [100, 100]}),
        ValueError,
        "sizes in group add up to 200 rows, but X has 240",
    ),
    ("unknown measure", lambda: fit(measure="nonsense"), ValueError, "Unknown measure"),
    *(
        (
            f"{type(model).__name__} is no ranker",
            lambda model=model: fit(model),
            TypeError,
            "must be a regressor, or a ranker whose fit method",
        )
        for model in (
            LogisticRegression(),
            make_pipeline(StandardScaler(), LogisticRegression()),
            StandardScaler(),
        )
    ),
    *(
        (
            f"{model} is no estimator",
            lambda model=model: fit(model),
            TypeError,
            "must be an instance with a fit method",
        )
        for model in (LGBMRanker, None, "lambdarank")
    ),
    (
        "fractional grades of LightGBM",
        lambda: fit(change=FRACTIONAL),
        ValueError,
        INTEGERS.format(
            30, "NeverTrained", r"set grades='gain', .* QueryRanker\(LGBMRegressor\(\)\)"
        ),
    ),
    *(
        (
            f"fractional grades of XGBoost, ndcg_exp_gain={gain}",
            lambda gain=gain: fit(XGBRanker(ndcg_exp_gain=gain), FRACTIONAL),
            ValueError,
            INTEGERS.format(31, "XGBRanker", "ndcg_exp_gain=False or objective='rank:pairwise'"),
        )
        for gain in (None, True)
    ),
    (
        "fractional grades of rank:map",
        lambda: fit(XGBRanker(objective="rank:map"), FRACTIONAL, grades="gain"),
        ValueError,
        INTEGERS.format(1, "XGBRanker", "objective='rank:ndcg'"),
    ),
    *(
        (
            f"grade {limit + 1}, {advice}",
            lambda model=model, limit=limit, settings=settings: fit(
                model, {"y": values_at(7, limit + 1.0)}, **settings
            ),
            ValueError,
            f"Grades in y must be integers ≤ {limit} for (NeverTrained|XGBRanker); got {limit + 1} "
            f"in row 7. For other grades, .*{advice}",
        )
        for model, limit, advice, settings in (
            (NEVER, 30, "grades='gain', .*QueryRanker.LGBMRegressor.*label_gain", {}),
            (NEVER, 30, "grades='gain'", {"early_stopping": True}),
            (make_pipeline(StandardScaler(), NEVER), 30, "grades='gain'", {}),
            (NeverTrained(label_gain=[0, 1, 3]), 2, "set label_gain", {}),
            (NeverTrained(label_gain="0,1,3"), 2, "set label_gain", {}),
            (NeverTrained(objective="rank_xendcg"), 30, "set label_gain", {"grades": "gain"}),
            (XGBRanker(), 31, "grades='gain', ndcg_exp_gain=False .* or wrap a regressor", {}),
            (
                XGBRanker(objective="rank:map"),
                1,
                "objective='rank:ndcg', or train on y > 0",
                {},
            ),
        )
    ),
    (
        "fractional grades of rank_xendcg as gains",
        lambda: fit(
            NeverTrained(objective="rank_xendcg", metric="None"), FRACTIONAL, grades="gain"
        ),
        ValueError,
        "must be integers for NeverTrained.*For other grades, wrap a",
    ),
    (
        "gains of two kinds",
        lambda: fit(NeverTrained(label_gain=[0, 1, 3]), grades="gain"),
        ValueError,
        "label_gain cannot be combined with grades='gain'",
    ),
    (
        "unknown grades",
        lambda: fit(grades="exp2"),
        ValueError,
        r"grades must be one of \['level', 'gain'\]; got 'exp2'",
    ),
    (
        "bagging by query",
        lambda: fit(
            NeverTrained(
                objective=objective("ndcg"),
                bagging_by_query=True,
                subsample=0.5,
                subsample_freq=1,
            )
        ),
        ValueError,
        "bagging_by_query=True cannot be combined",
    ),
    *(
        (
            f"{name} by position",
            lambda name=name: fit(CatBoostRanker(), {name: [[0, 10], [20, 30]]}),
            ValueError,
            f"{name} refers to rows by position",
        )
        for name in ("pairs", "subgroup_id", "graph", "baseline")
    ),
    (
        "predict before fit",
        lambda: sg.QueryRanker(Ridge()).predict(X),
        sklearn.exceptions.NotFittedError,
        "not fitted",
    ),
    *(
        (
            f"predict {n} columns",
            lambda n=n: fitted().predict(np.zeros((2, n))),
            ValueError,
            f"X has {n} features, but .* expecting 3",
        )
        for n in (2, 5)
    ),
    *(
        (
            f"{kind} in another order",
            lambda kind=kind: predict(["links", "age", "words"], kind),
            ValueError,
            "feature 0 of X is 'links', but was 'age' during fit",
        )
        for kind in FRAMES
    ),
    (
        "a column is missing",
        lambda: predict(["query_id", "age", "words"]),
        ValueError,
        "during fit. Feature names seen at fit time, yet now missing: 'links'.$",
    ),
    (
        "a column too many",
        lambda: fitted().predict(FRAME.assign(day=1)),
        ValueError,
        "during fit. Feature names unseen at fit time: 'day'.$",
    ),
    *(
        (
            f"drop={drop!r}",
            lambda drop=drop: fitted(drop=drop),
            TypeError,
            r"drop must be the name \(str\) .* of a column of X, or a list of these; got \w+\.$",
        )
        for drop in (1.5, True, np.array([0]), pd.Series(["words"]), [None], ["age", None])
    ),
    (
        "drop is misspelled",
        lambda: fitted(drop=["wrods"]),
        ValueError,
        "drop is the column 'wrods', but X has only .* Did you mean 'words'",
    ),
    (
        "drop is unknown",
        lambda: fitted(drop=["day"]),
        ValueError,
        "^drop is the column 'day', but X has only the columns .*'words'.$",
    ),
    (
        "drop is too large",
        lambda: fitted(drop=[4]),
        ValueError,
        "^drop is column 4, but X has only 4 columns.$",
    ),
    (
        "nothing remains",
        lambda: fitted(drop=["age", "links", "words"]),
        ValueError,
        "X has no features besides the columns that are removed",
    ),
    *(
        (
            f"score {kind} without queries",
            lambda kind=kind: fitted().score(TABLES[kind](X[:, [0, 2, 3]]), Y),
            ValueError,
            "^qid is (the )?column .*, but X (has|is)",
        )
        for kind in ("numpy", "csr", "pandas without names")
    ),
    (
        "score a frame without queries",
        lambda: fitted().score(FRAME.drop(columns="query_id"), Y),
        ValueError,
        "^qid is the column 'query_id', but X has only the columns",
    ),
    (
        "score nan",
        lambda: fit(Ridge()).score(X[:2], [0, np.nan], qid=[1, 1]),
        ValueError,
        "^y must be finite; got nan for row 1",
    ),
]


# Early stopping ----------------------------------------------------------------------------------

EVAL = (QID > 16).nonzero()[0]
REST = (QID <= 16).nonzero()[0]


def stop(estimator=NEVER, change=(), **settings):
    """Fit with early stopping on held-out queries."""
    return fit(estimator, change, **{"early_stopping": True, "random_state": 0} | settings)


def validate(**change):
    """Fit with early stopping on the queries 17 to 24, after replacing arguments of fit."""
    settings = change.pop("settings", {})
    rows = {
        "X": X[REST],
        "y": Y[REST],
        "qid": QID[REST],
        "X_val": X[EVAL],
        "y_val": Y[EVAL],
        "qid_val": QID[EVAL],
    }
    return sg.QueryRanker(NEVER, early_stopping=True, **settings).fit(**rows | change)


def days(qid):
    return np.datetime64("2024-01-01", "ns") + np.asarray(qid) * np.timedelta64(1, "D")


def shared(kind):
    """Fit with validation rows of query 17 that have the id of query 7."""
    return validate(qid=kind(QID[REST]), qid_val=kind(np.where(QID[EVAL] == 17, 7, QID[EVAL])))


HELD = np.unique(QID)[np.random.RandomState(0).permutation(24)[0]]
SPLITTER = "early_stopping must be True, False, an integer ≥ 2 or a splitter"
LATEST = QueryTimeSeriesSplit(4, time="words", qid="query_id")


def split(splitter):
    """Fit on a frame with whole numbers in the column of times."""
    frame = FRAME.assign(words=QID % 5)
    return fit(NEVER, {"X": frame, "qid": None}, qid="query_id", early_stopping=splitter)


EARLY_STOPPING = [
    *(
        (
            f"{type(model).__name__} has no rounds",
            lambda model=model: stop(model),
            TypeError,
            "requires a supported booster",
        )
        for model in (Ridge(), RandomForestRegressor())
    ),
    *(
        (
            f"{type(model).__name__} {kind}",
            lambda model=model: stop(model),
            ValueError,
            f"'{kind}', which modifies the trees of earlier",
        )
        for model, kind in (
            (NeverTrained(boosting_type="dart"), "dart"),
            (NeverTrained(boosting="dart"), "dart"),
            (XGBRanker(booster="dart"), "dart"),
            (XGBRegressor(booster="gblinear"), "gblinear"),
        )
    ),
    *(
        (
            f"{type(model).__name__} {name}",
            lambda model=model, name=name, value=value: stop(model, {name: value}),
            ValueError,
            message,
        )
        for model, name, value, message in (
            (NEVER, "eval_set", [(X[:2], [0, 1])], "Omit the argument eval_set"),
            (NEVER, "eval_metric", "ndcg", "Omit the argument eval_metric"),
            (NEVER, "eval_group", [[1]], "Omit the argument eval_group"),
            (NEVER, "init_model", "model.txt", "Omit the argument init_model"),
            (XGBRanker(), "eval_set", [(X[:2], [0, 1])], "Omit the argument eval_set"),
            (XGBRanker(), "xgb_model", "model.json", "Omit the argument xgb_model"),
            (CatBoostRanker(), "eval_set", (X[:2], [0, 1]), "Omit the argument eval_set"),
            (
                CatBoostRanker(),
                "early_stopping_rounds",
                3,
                "the argument early_stopping_rounds",
            ),
            (CatBoostRanker(), "use_best_model", True, "Omit the argument use_best_model"),
            (CatBoostRanker(), "metric_period", 3, "Omit the argument metric_period"),
            (CatBoostRanker(), "pairs", [[0, 1]], "pairs"),
            (NEVER, "init_score", np.zeros(N), "init_score refers to rows by position"),
            (XGBRanker(), "base_margin", np.zeros(N), "base_margin refers to rows"),
            (CatBoostRanker(), "baseline", np.zeros(N), "baseline refers to rows"),
        )
    ),
    (
        "fraction 0",
        lambda: stop(validation_fraction=0),
        ValueError,
        "validation_fraction must be a finite number > 0 and < 1",
    ),
    ("fraction 1", lambda: stop(validation_fraction=1.0), ValueError, "< 1; got 1.0"),
    (
        "no patience",
        lambda: stop(n_iter_no_change=0),
        ValueError,
        "n_iter_no_change must be at least 1",
    ),
    (
        "one query",
        lambda: stop(change={"qid": np.zeros(N)}),
        ValueError,
        f"requires at least 2 queries; got 1, with n_samples={N}",
    ),
    (
        "weights only of held-out rows",
        lambda: stop(change={"sample_weight": (QID == HELD) * 1.0}),
        ValueError,
        "must be positive in at least one training row",
    ),
    (
        "weights only of other rows",
        lambda: stop(change={"sample_weight": (QID != HELD) * 1.0}, validation_fraction=0.01),
        ValueError,
        "sample_weight is 0 in all rows",
    ),
    (
        "two sets",
        lambda: stop(change={"eval_set": [(X[:2], [0, 1])] * 2, "eval_group": [[2]] * 2}),
        ValueError,
        "must each describe one validation set",
    ),
    (
        "eval_X",
        lambda: validate(eval_X=X),
        TypeError,
        "no argument eval_X: pass .*X_val",
    ),
    (
        "only y_val",
        lambda: validate(X_val=None, qid_val=None),
        ValueError,
        "such as y_val, require X_val",
    ),
    (
        "too few of y_val",
        lambda: validate(y_val=np.zeros(3)),
        ValueError,
        "y_val has 3 rows, but X_val has",
    ),
    (
        "too few of qid_val",
        lambda: validate(qid_val=np.zeros(3)),
        ValueError,
        "qid has 3 rows, but X_val has",
    ),
    (
        "too few of sample_weight_val",
        lambda: validate(sample_weight_val=np.ones(3)),
        ValueError,
        "sample_weight has 3 rows, but X_val h",
    ),
    (
        "sizes of other rows",
        lambda: stop(change={"eval_set": [(X[:2], [0, 1])], "eval_group": [[3]]}),
        ValueError,
        "sizes in group add up to 3 rows, but X_val has 2",
    ),
    (
        "other features",
        lambda: validate(X_val=X[:3, :2], y_val=[0, 1, 0], qid_val=[90] * 3),
        ValueError,
        "X_val has 2 features, but QueryRanker is expecting 4",
    ),
    (
        "values per row",
        lambda: validate(init_score=np.zeros(len(REST))),
        ValueError,
        "init_score refers to rows by position",
    ),
    (
        "high grades",
        lambda: validate(y_val=Y[EVAL] + 40, settings={"refit": True}),
        ValueError,
        r"Grades in y_val must be integers ≤ 30 for NeverTrained; got 4\d in row 0",
    ),
    (
        "fractional grades",
        lambda: validate(y_val=Y[EVAL] + 0.5, settings={"refit": True}),
        ValueError,
        r"Grades in y_val .* got \d.5 in row 0",
    ),
    (
        "no row labels",
        lambda: validate(
            X=FRAME.iloc[REST], qid=None, qid_val=None, settings={"qid": pd.Series(QID)}
        ),
        ValueError,
        "no row labels",
    ),
    (
        "number in both",
        lambda: shared(np.array),
        ValueError,
        "1 of the 8 queries in X_val, such as 7:",
    ),
    (
        "date in both",
        lambda: shared(days),
        ValueError,
        "1 of the 8 queries in X_val, such as .*'2024-01-08T",
    ),
    *(
        (
            f"{name} without early stopping",
            lambda name=name: fit(change={name: X}),
            ValueError,
            f"such as {name}, require X_val and .*early_stopping=True",
        )
        for name in ("X_val", "y_val", "qid_val", "sample_weight_val")
    ),
    *(
        (
            f"{measure} is undefined",
            lambda settings={"measure": measure}: validate(
                y_val=np.zeros(len(EVAL)), settings=settings
            ),
            ValueError,
            f"{name} is undefined for all 8 validation queries",
        )
        for measure, name in (
            ("ap", "AP"),
            ("ap(undefined=nan)", "AP.*"),
            (["p", "ndcg"], "NDCG"),
            ("kendall_tau", "KendallTau"),
        )
    ),
    (
        "defined only without weight",
        lambda: validate(
            y_val=np.where(QID[EVAL] == 20, 0, Y[EVAL]), sample_weight_val=QID[EVAL] == 20
        ),
        ValueError,
        "undefined for all 8 validation queries",
    ),
    (
        "grade above the scale",
        lambda: validate(
            y_val=values_at(0, 9, len(EVAL)), settings={"measure": "err(max_grade=4)"}
        ),
        ValueError,
        "max_grade is 4, but y_true contains grade 9 in row 0",
    ),
    (
        "splitter of rows",
        lambda: split(KFold(4)),
        ValueError,
        r"of early_stopping, \d+ queries are split, such as .*Query",
    ),
    ("method of a splitter", lambda: split(LATEST.split), TypeError, SPLITTER),
    (
        "too few days",
        lambda: split(QueryTimeSeriesSplit(99, time="words", qid="query_id")),
        ValueError,
        r"^early_stopping=QueryTimeSeriesSplit\(…\) cannot split X: .*folds=100 "
        ".*In a search, X contains only the training rows",
    ),
    ("class of a splitter", lambda: split(QueryKFold), TypeError, SPLITTER),
    ("text", lambda: split("auto"), TypeError, f"{SPLITTER}.*got 'auto'"),
    (
        "no validation rows",
        lambda: split(PredefinedSplit([-1] * N)),
        ValueError,
        "early_stopping has no splits",
    ),
    (
        "unknown column of times",
        lambda: split(QueryTimeSeriesSplit(4, "dya", "query_id")),
        ValueError,
        "the column 'dya'",
    ),
    (
        "splitter and X_val",
        lambda: fit(
            NEVER,
            {"X": FRAME, "qid": None, "X_val": FRAME, "y_val": Y},
            qid="query_id",
            early_stopping=LATEST,
        ),
        ValueError,
        "such as X_val, require X_val and",
    ),
]


# Splitters and cross_evaluate --------------------------------------------------------------------


def split_days(splitter, day=(1, 1, 2, 3)):
    frame = pd.DataFrame({"query": [7, 7, 8, 9], "day": list(day)})
    return list(splitter.split(frame))


def days_of(n_splits=2, time="day", **settings):
    return QueryTimeSeriesSplit(n_splits, time, "query", **settings)


SPLITTERS = [
    ("qid is a list", lambda: QueryKFold(3, [1, 2]), TypeError, "qid must be the name"),
    (
        "neither qid nor groups",
        lambda: split_days(QueryKFold(3)),
        ValueError,
        r"has no qid, .* must be passed as groups: call split\(X, y, groups=qid\)",
    ),
    (
        "too few groups",
        lambda: next(QueryKFold(3).split(np.zeros((4, 1)), groups=[1, 2, 3])),
        ValueError,
        "^groups has 3 rows, but X has 4",
    ),
    (
        "no time",
        lambda: QueryTimeSeriesSplit(3, qid="query"),
        TypeError,
        "time must be the name",
    ),
    ("list of times", lambda: days_of(time=[1]), TypeError, r"^time must be .*; got list\.$"),
    *(
        (
            f"{name}={value}",
            lambda name=name, value=value: days_of(**{name: value}),
            ValueError,
            f"^{name} must be (an integer ≥|at least) {lowest}; got {value}",
        )
        for name, value, lowest in (
            ("gap", -1, 0),
            ("gap", 0.5, 0),
            ("test_size", 0, 1),
            ("test_size", -1, 1),
            ("max_train_size", 0, 1),
            ("max_train_size", -3, 1),
        )
    ),
    ("one fold", lambda: QueryKFold(1, "query"), ValueError, "n_splits"),
    ("no split", lambda: days_of(0), ValueError, "n_splits"),
    (
        "seed without shuffle",
        lambda: QueryKFold(3, "query", random_state=0),
        ValueError,
        "shuffle",
    ),
    (
        "too few queries",
        lambda: split_days(QueryKFold(4, "query")),
        ValueError,
        "n_splits=4 greater than the number of groups: 3",
    ),
    (
        "misspelled qid",
        lambda: split_days(QueryKFold(2, "queri")),
        ValueError,
        "Did you mean 'query'",
    ),
    (
        "unknown time",
        lambda: split_days(days_of(time="hour")),
        ValueError,
        "^time is the column 'hour', but X has only the columns 'query', 'day'.$",
    ),
    (
        "misspelled time",
        lambda: split_days(days_of(time="days")),
        ValueError,
        "time is the column 'days', .* Did you mean 'day'",
    ),
    (
        "too few days",
        lambda: split_days(days_of(), (1, 1, 1, 2)),
        ValueError,
        "folds=3 greater than the number of samples=2",
    ),
    (
        "query on two days",
        lambda: split_days(days_of(), (1, 2, 3, 3)),
        ValueError,
        r"Query 7 .* 1 and 2 \(row 1 of X\)",
    ),
    (
        "day is None",
        lambda: split_days(days_of(), (1, 1, None, 3)),
        ValueError,
        "time is missing in row 2 of X, in the column",
    ),
    *(
        (
            f"text in {place}",
            lambda time=time: split_days(days_of(time=time), [f"0{i}.10.2026" for i in range(4)]),
            ValueError,
            f"^Text in {place} must be in ISO 8601 format, .*; got '00.10.2026' in row 0",
        )
        for time, place in (("day", "the column 'day'"), (1, "column 1"))
    ),
    (
        "day of text is None",
        lambda: split_days(days_of(), ("a", "a", None, "b")),
        ValueError,
        "time is missing in row 2 of X, in the column",
    ),
]


def evaluate(ranker=None, **change):
    ranker = NeverFitted() if ranker is None else ranker
    return sg.cross_evaluate(ranker, **{"X": X, "y": Y, "qid": QID} | change)


N_SPLIT = len(np.intersect1d(QID[:48], QID[48:]))  # queries split by the first of five folds


CROSS_EVALUATION = [
    (
        "no queries",
        lambda: evaluate(sg.QueryRanker(NeverFitted()), qid=None, cv=GroupKFold(3)),
        ValueError,
        f"Cross-validation got no qid.*{ALL_WAYS}",
    ),
    (
        "misspelled column",
        lambda: evaluate(X=FRAME, qid="queryid"),
        ValueError,
        "qid is the column 'queryid'.* Did you mean 'query_id'",
    ),
    ("qid=True", lambda: evaluate(qid=True), TypeError, NO_COLUMN),
    (
        "LazyFrame",
        lambda: evaluate(X=FRAMES["polars"](X).lazy()),
        TypeError,
        "X is a LazyFrame, which has no rows yet: collect it first",
    ),
    (
        "too few days",
        lambda: evaluate(
            X=FRAME,
            qid="query_id",
            cv=QueryTimeSeriesSplit(24, time="query_id", qid="query_id"),
        ),
        ValueError,
        r"^cv=QueryTimeSeriesSplit\(…\) cannot split X: .*=24. ",
    ),
    (
        "grade nan",
        lambda: evaluate(y=values_at(3, np.nan)),
        ValueError,
        "^y must be finite; got nan for row 3",
    ),
    (
        "grade above the scale",
        lambda: evaluate(y=values_at(3, 9), measures="ndcng(max_grade=4)"),
        ValueError,
        "max_grade is 4, but y_true contains grade 9 in row 3",
    ),
    (
        "negative weight",
        lambda: evaluate(sample_weight=values_at(1, -1)),
        ValueError,
        "sample_weight must be finite and ≥ 0; got -1 for row 1",
    ),
    ("no measures", lambda: evaluate(measures=[]), ValueError, "measures is empty"),
    (
        "array of no dimension as measures",
        lambda: evaluate(measures=np.array("ap")),
        TypeError,
        "measures must be a Measure",
    ),
    ("no splits", lambda: evaluate(cv=[]), ValueError, "cv has no splits"),
    (
        "array of no dimension as segments",
        lambda: sg.evaluate(Y, X[:, 0], qid=QID).summary(by=np.array("a")),
        TypeError,
        "'by' must be an array with one segment per query",
    ),
    (
        "splitter of rows",
        lambda: evaluate(cv=KFold(5)),
        ValueError,
        f"In fold 0 of cv, {N_SPLIT} queries are split, such as {QID[0]}:.*GroupKFold",
    ),
    (
        "trained and tested",
        lambda: evaluate(cv=[(REST, REST)]),
        ValueError,
        "In fold 0 of cv, 16 queries are split",
    ),
    (
        "tested in part",
        lambda: evaluate(cv=[(EVAL, REST[1:])]),
        ValueError,
        "In fold 0 of cv, 1 queries are split",
    ),
    *(
        (
            f"error_score={value}",
            lambda value=value: evaluate(error_score=value),
            ValueError,
            "error_score must be 'raise', a finite number or nan",
        )
        for value in ("nan", None, np.inf, True)
    ),
    *(
        (
            f"response method {method}",
            lambda method=method: evaluate(response_method=method),
            ValueError,
            "response_method",
        )
        for method in ("transform", [], ["predict", "score"])
    ),
    (
        "response method of a display",
        lambda: sg.CutoffCurveDisplay.from_estimator(
            NeverFitted(), X, Y, qid=QID, response_method="transform"
        ),
        ValueError,
        "response_method",
    ),
    *(
        (
            f"bare {type(model).__name__}",
            lambda model=model: evaluate(model),
            TypeError,
            f"{type(model).__name__} cannot .* QueryRanker",
        )
        for model in (NEVER, XGBRanker(), make_pipeline(StandardScaler(), NEVER))
    ),
]


# Names in messages --------------------------------------------------------------------------------


NAMES = [
    (
        "X_val without qid_val",
        lambda: sg.QueryRanker(LGBMRanker(), early_stopping=True).fit(
            X, Y, qid=QID, X_val=X[:5], y_val=Y[:5]
        ),
        ValueError,
        "^X_val requires qid_val",
    ),
    (
        "dart with folds",
        lambda: sg.QueryRanker(LGBMRanker(boosting_type="dart"), early_stopping=3).fit(
            X, Y, qid=QID
        ),
        ValueError,
        "^early_stopping=3 is not supported for the booster 'dart'",
    ),
    (
        "an extra and a missing feature",
        lambda: (
            sg.QueryRanker(Ridge(), qid="query_id")
            .fit(FRAME, Y)
            .predict(FRAME.rename(columns={"age": "years"}))
        ),
        ValueError,
        "unseen at fit time: 'years'. Feature names seen at fit time, yet now missing: 'age'",
    ),
]


ERRORS = {
    "a scorer cannot be made": SCORERS,
    "a scorer cannot score": SCORING,
    "a ranker cannot be fitted or used": RANKERS,
    "early stopping cannot start": EARLY_STOPPING,
    "a splitter cannot split": SPLITTERS,
    "cross_evaluate cannot start": CROSS_EVALUATION,
    "a message contains what the user passed": NAMES,
}


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        pytest.param(*row[1:], id=f"{subject}: {row[0]}")
        for subject, rows in ERRORS.items()
        for row in rows
    ],
)
def test_bad_input_is_refused_before_any_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_folds_without_test_rows_and_many_folds_of_early_stopping_are_named():
    class EmptyLast(QueryKFold):
        def split(self, X, y=None, groups=None):
            yield from super().split(X, y, groups)
            yield np.arange(len(X)), np.array([], dtype=int)

    with pytest.raises(ValueError, match=r"^Fold 3 of cv=EmptyLast\(…\) has no test rows"):
        sg.cross_evaluate(Ridge(), X, Y, qid=QID, cv=EmptyLast(3))
    booster = LGBMRanker(n_estimators=1, verbose=-1, n_jobs=1)
    with pytest.warns(UserWarning, match="early_stopping=21 trains on 21 folds of queries"):
        sg.QueryRanker(booster, early_stopping=21).fit(X, Y, qid=QID)
