"""The tools of scikit-learn's model selection give the results of a loop, with every library.

The loop fits each library's ranker to rows sorted by query, with group sizes, qid or group_id.
"""

import pickle
from contextlib import nullcontext
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sklearn
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    permutation_test_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

import skgraded as sg

RANKERS = {
    "lightgbm": LGBMRanker(
        n_estimators=6,
        min_child_samples=3,
        num_leaves=7,
        n_jobs=1,
        verbose=-1,
        random_state=0,
        deterministic=True,
        force_row_wise=True,
    ),
    "xgboost": XGBRanker(n_estimators=6, max_depth=3, n_jobs=1, random_state=0),
    "catboost": CatBoostRanker(
        n_estimators=6,
        depth=3,
        thread_count=1,
        random_seed=0,
        verbose=False,
        allow_writing_files=False,
    ),
    "regressor": HistGradientBoostingRegressor(
        max_iter=6, max_leaf_nodes=7, min_samples_leaf=3, random_state=0
    ),
}
# XGBoost and CatBoost compute in single precision, so sums depend more on the order of rows.
TOLERANCE = {"lightgbm": 1e-9, "xgboost": 1e-6, "catboost": 1e-6, "regressor": 1e-9}
ROUNDS = {"regressor": "max_iter"}
RATES = [0.03, 0.3]
FEATURES = ["f0", "f1", "f2", "f3"]
MEASURE = sg.NDCNG(k=5)


@cache
def data():
    """A frame of 30 queries in shuffled rows with an unusual index, the grades and the queries."""
    X, y, qid = sg.datasets.make_ranking(
        n_queries=30, n_documents=8, n_features=len(FEATURES), random_state=0
    )
    order = np.random.default_rng(1).permutation(len(y))
    X = pd.DataFrame(X[order], columns=FEATURES, index=order + 1000)
    return X, y[order], qid[order]


def fit_by_hand(name, model, X, y, qid):
    """Fit a library's ranker to rows sorted by query, with its form of queries."""
    # Queries are in order of first appearance, on which CatBoost depends.
    _, first_rows, numbers, sizes = np.unique(
        qid, return_index=True, return_inverse=True, return_counts=True
    )
    rows = np.argsort(first_rows[numbers], kind="stable")
    sizes = sizes[np.argsort(first_rows)]
    X, y, qid = X.iloc[rows], y[rows], np.repeat(np.arange(len(sizes)), sizes)
    if name == "lightgbm":
        return model.fit(X, y, group=sizes)
    if name == "xgboost":
        return model.fit(X, y, qid=qid)
    if name == "catboost":
        return model.fit(X, y, group_id=qid)
    return model.fit(X, y)


@cache
def by_hand(name, rate=None, n_rounds=None, scaled=False):
    """Compute the scores of two folds and the out-of-fold predictions of all rows in a loop."""
    X, y, qid = data()
    model = clone(RANKERS[name])
    if rate is not None:
        model.set_params(learning_rate=rate)
    if n_rounds is not None:
        model.set_params(**{ROUNDS.get(name, "n_estimators"): n_rounds})
    scores, predictions = [], np.empty(len(y))
    for train, test in GroupKFold(2).split(X, groups=qid):
        Z = X
        if scaled:
            Z = StandardScaler().set_output(transform="pandas").fit(X.iloc[train]).transform(X)
        fitted = fit_by_hand(name, clone(model), Z.iloc[train], y[train], qid[train])
        predictions[test] = fitted.predict(Z.iloc[test])
        scores.append(MEASURE(y[test], predictions[test], qid=qid[test]))
    return np.array(scores), predictions


class Setting:
    """The arguments of the tools for one library and one source of the query ids."""

    def __init__(self, name, source):
        X, y, qid = data()
        self.name, self.source, self.X, self.y = name, source, X, y
        self.rate = "estimator__learning_rate"
        self.rounds = f"estimator__{ROUNDS.get(name, 'n_estimators')}"
        where = None
        if source == "column":
            self.X, where = X.assign(query=qid), "query"
        elif source == "index":
            where = pd.Series(qid, index=X.index)
        self.ranker = sg.QueryRanker(clone(RANKERS[name]), qid=where)
        self.scorer = sg.make_ranking_scorer(MEASURE, qid=where)
        if source == "routing":
            self.cv = GroupKFold(2).set_split_request(groups="qid")
            self.fit_params = {"qid": qid}
        else:
            # Without routing, the splitter receives no groups, so the folds are a list.
            self.cv = list(GroupKFold(2).split(X, groups=qid))
            self.fit_params = {}
        self.params = {"params": self.fit_params} if self.fit_params else {}
        self.searched = {"scoring": self.scorer, "cv": self.cv, "error_score": "raise"}
        self.settings = self.searched | self.params

    def search(self, kind, **more):
        search = kind(self.ranker, {self.rate: RATES}, **self.searched | more)
        return search.fit(self.X, self.y, **self.fit_params)

    def check(self, result, expected):
        np.testing.assert_allclose(result, expected, rtol=0, atol=TOLERANCE[self.name])


def check_search(setting, scaled=False):
    search = pickle.loads(pickle.dumps(setting.search(GridSearchCV)))
    expected = np.array([by_hand(setting.name, rate, scaled=scaled)[0] for rate in RATES])
    at = [RATES.index(rate) for rate in search.cv_results_[f"param_{setting.rate}"]]
    assert sorted(at) == [0, 1]
    for fold in range(2):
        setting.check(search.cv_results_[f"split{fold}_test_score"], expected[at, fold])
    assert search.best_params_ == {setting.rate: RATES[np.argmax(expected.mean(axis=1))]}
    assert search.predict(setting.X).shape == setting.y.shape


def check_halving(setting, kind, **settings):
    results = setting.search(
        kind, resource=setting.rounds, min_resources=3, max_resources=6, factor=2, **settings
    ).cv_results_
    assert sorted(set(results["n_resources"])) == [3, 6]
    for i, n_rounds in enumerate(results["n_resources"]):
        rate = results[f"param_{setting.rate}"][i]
        expected = by_hand(setting.name, rate, int(n_rounds))[0]
        result = [results[f"split{fold}_test_score"][i] for fold in range(2)]
        setting.check(result, expected)


# The tools: each runs with a setting and checks the result ---------------------------------------


def use_grid_search(setting):
    check_search(setting)


def use_halving_grid_search(setting):
    check_halving(setting, HalvingGridSearchCV)


def use_halving_random_search(setting):
    check_halving(setting, HalvingRandomSearchCV, n_candidates=2, random_state=0)


def use_cross_validate(setting):
    result = cross_validate(setting.ranker, setting.X, setting.y, **setting.settings)
    setting.check(result["test_score"], by_hand(setting.name)[0])


def use_cross_val_predict(setting):
    values = cross_val_predict(
        setting.ranker, setting.X, setting.y, cv=setting.cv, **setting.params
    )
    setting.check(values, by_hand(setting.name)[1])


def use_permutation_test_score(setting):
    # With groups=, scikit-learn would permute the grades within queries.
    score, permuted, p = permutation_test_score(
        setting.ranker,
        setting.X,
        setting.y,
        scoring=setting.scorer,
        cv=setting.cv,
        n_permutations=3,
        random_state=0,
        **setting.params,
    )
    setting.check(score, by_hand(setting.name)[0].mean())
    assert p == (1 + (permuted >= score).sum()) / 4


def use_pipeline(setting):
    if setting.source == "column":
        # The scaler must not scale the query ids.
        scaler = make_column_transformer(
            (StandardScaler(), FEATURES),
            remainder="passthrough",
            verbose_feature_names_out=False,
        ).set_output(transform="pandas")
    else:
        scaler = StandardScaler().set_output(transform="pandas")
    setting.ranker = make_pipeline(scaler, setting.ranker)
    setting.rate = f"queryranker__{setting.rate}"
    check_search(setting, scaled=True)


def use_nested_search(setting):
    if setting.source == "routing":
        inner, expectation = GroupKFold(2).set_split_request(groups="qid"), nullcontext()
    else:  # the inner splitter receives no queries, so it splits rows, which warns
        inner = [(np.arange(0, 40), np.arange(40, 80))]
        expectation = pytest.warns(sg.TornQueryWarning)
    search = GridSearchCV(setting.ranker, {setting.rate: [0.3]}, **setting.searched | {"cv": inner})
    with expectation:
        values = cross_val_score(search, setting.X, setting.y, **setting.settings)
    setting.check(values, by_hand(setting.name, 0.3)[0])


TOOLS = {
    function.__name__.removeprefix("use_"): function
    for name, function in list(globals().items())
    if name.startswith("use_")
}
SOURCES = ["routing", "column", "index"]
# Each tool with each source and three of the four rankers, and each ranker with each source.
COVERING = [
    (tool, list(RANKERS)[(i + j) % len(RANKERS)], source)
    for i, tool in enumerate(TOOLS)
    for j, source in enumerate(SOURCES)
]


@pytest.mark.parametrize(("tool", "name", "source"), COVERING)
def test_a_tool_gives_the_results_of_the_loop(tool, name, source):
    with sklearn.config_context(enable_metadata_routing=source == "routing"):
        TOOLS[tool](Setting(name, source))


# Feature selection, which passes plain arrays ----------------------------------------------------


def scores_of_features(name, columns):
    X, y, qid = data()
    X = X[columns].to_numpy()
    scores = []
    for train, test in GroupKFold(2).split(X, groups=qid):
        frame = pd.DataFrame(X)
        model = fit_by_hand(name, clone(RANKERS[name]), frame.iloc[train], y[train], qid[train])
        scores.append(MEASURE(y[test], model.predict(frame.iloc[test]), qid=qid[test]))
    return np.mean(scores)


def changes_of_predictions(ranker):
    return ranker.estimator_.get_feature_importance(type="PredictionValuesChange")


def selectors(setting):
    shared = {"scoring": setting.scorer, "cv": setting.cv}
    importances = "estimator_.feature_importances_"
    if setting.name == "catboost":  # its default importances require the data
        importances = changes_of_predictions
    return {
        "sequential": SequentialFeatureSelector(
            setting.ranker, n_features_to_select=1, direction="forward", **shared
        ),
        "recursive": RFECV(setting.ranker, importance_getter=importances, **shared),
    }


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("sequential", "regressor"),
        ("sequential", "xgboost"),
        # Each library computes importances differently.
        ("recursive", "lightgbm"),
        ("recursive", "xgboost"),
        ("recursive", "catboost"),
    ],
)
def test_feature_selection_gives_the_results_of_the_loop(kind, name):
    with sklearn.config_context(enable_metadata_routing=True):
        setting = Setting(name, "routing")
        selector = selectors(setting)[kind].fit(setting.X, setting.y, **setting.fit_params)
    if kind == "sequential":
        best = np.argmax([scores_of_features(name, [feature]) for feature in FEATURES])
        assert selector.get_feature_names_out().tolist() == [FEATURES[best]]
    else:
        result = selector.cv_results_["mean_test_score"][-1]
        setting.check(result, scores_of_features(name, FEATURES))


@pytest.mark.parametrize("source", ["column", "index", "first", "last"])
def test_the_error_of_feature_selection_without_routing_recommends_routing(source):
    if source in ("first", "last"):  # position of the query column
        X, _, qid = data()
        setting = Setting("lightgbm", "column")
        at = {"first": 0, "last": -1}[source]
        setting.X = np.insert(X.to_numpy(), len(FEATURES) if at else 0, qid, axis=1)
        setting.ranker = sg.QueryRanker(setting.ranker.estimator, qid=at)
        setting.scorer = sg.make_ranking_scorer(MEASURE, qid=at)
    else:
        setting = Setting("lightgbm", source)
    reasons = "no names|no row labels|looks like a feature|no feature"
    with pytest.raises(ValueError, match=reasons) as refusal:
        selectors(setting)["sequential"].fit(setting.X, setting.y)
    assert "metadata routing" in str(refusal.value)
