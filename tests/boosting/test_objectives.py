"""Measures as objectives in LightGBM and XGBoost."""

import pickle
import re
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from packaging.version import Version
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

import skgraded as sg
from skgraded.boosting.rounds import is_trainable
from skgraded.datasets import make_ranking
from skgraded.lightgbm import eval_metric, objective
from skgraded.measures import MEASURES
from skgraded.xgboost import custom_metric, objective as objective_of_xgboost

QUIET = {"verbose": -1, "num_threads": 1, "metric": "None", "min_data_in_leaf": 5}
XGB_QUIET = {"nthread": 1, "disable_default_eval_metric": 1}


def ranking(n_queries, seed=0):
    """X, y, query sizes, and initial scores without ties."""
    X, y, qid = make_ranking(n_queries=n_queries, random_state=seed)
    return X, y, np.bincount(qid), 1e-3 * np.random.default_rng(seed).normal(size=len(y))


DATA = ranking(25)
X, levels, sizes, first = ranking(40, seed=3)
y = np.exp(0.7 * levels + 0.1 * X[:, 0])  # grades that are real numbers, such as prices


# Parity with the built-in objectives -------------------------------------------------------------


GAINS = [0.0, 0.3, 0.7, 1.9, 40.0]


def listed_gain(grades):
    return np.take(GAINS, grades.astype(int))


@pytest.mark.parametrize(
    "measure, settings, of_lightgbm",
    [
        ("ndcg", {}, {}),
        ("ndcg", {"norm": False}, {"lambdarank_norm": False}),
        ("ndcg", {"sigmoid": 2.0}, {"sigmoid": 2.0}),
        (sg.NDCG(gain=listed_gain), {}, {"label_gain": GAINS}),
    ],
    ids=str,
)
def test_the_objective_gives_the_same_scores_as_lambdarank(measure, settings, of_lightgbm):
    X, y, sizes, first = DATA
    weight = np.repeat(np.random.default_rng(1).random(len(sizes)), sizes)
    scores = []
    for either in ("lambdarank", objective(measure, **settings)):
        train = lgb.Dataset(X, y, group=sizes, init_score=first, weight=weight)
        params = QUIET | of_lightgbm | {"objective": either}
        scores.append(lgb.train(params, train, 3).predict(X, raw_score=True))
    # LightGBM looks up the sigmoid in a table and adds 32-bit floats.
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-4)
    assert np.ptp(scores) > 0.1


@pytest.mark.parametrize(
    "params, custom",
    [
        ({"objective": "rank:ndcg"}, objective_of_xgboost("ndcg", truncation=99)),
        pytest.param(
            {
                "objective": "rank:ndcg",
                "lambdarank_normalization": False,
                "lambdarank_score_normalization": False,
            },
            objective_of_xgboost("ndcg", truncation=99, norm=False),
            marks=pytest.mark.skipif(
                Version(xgb.__version__) < Version("3.0"),
                reason="before 3.0, XGBoost's two norms can only be switched together",
            ),
        ),
        (
            {"objective": "rank:ndcg", "ndcg_exp_gain": False},
            objective_of_xgboost(sg.NDCG(gain="linear"), truncation=99),
        ),
        ({"objective": "rank:map"}, objective_of_xgboost("map", truncation=99)),
    ],
    ids=str,
)
def test_the_objective_gives_the_same_scores_as_xgboost(params, custom):
    X, y, sizes, first = DATA
    if params["objective"] == "rank:map":
        y = (y > 1).astype(float)
    elif "ndcg_exp_gain" in params:
        y = 0.1 * np.round(7 * y + X[:, 0] ** 2)
    pairs = {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 99}
    scores = []
    for params_of_run, obj in ((params | pairs, None), ({}, custom)):
        train = xgb.DMatrix(X, y, group=sizes, base_margin=first)
        scores.append(xgb.train(XGB_QUIET | params_of_run, train, 2, obj=obj).predict(train))
    np.testing.assert_allclose(*scores, rtol=0, atol=2e-7)  # scores are 32-bit floats


# Training ----------------------------------------------------------------------------------------


def trained(custom, n_rounds=10, **params):
    train = lgb.Dataset(X, y, group=sizes, init_score=first)
    return lgb.train(QUIET | {"objective": custom} | params, train, n_rounds)


def test_train_and_the_ranker_give_the_same_model_also_after_pickling():
    custom = objective("mu_map", truncation=25)
    assert pickle.loads(pickle.dumps(custom)) == custom != objective("mu_map")
    assert custom in {pickle.loads(pickle.dumps(custom))}
    assert repr(custom) == "objective('MuAP', truncation=25)"
    ranker = lgb.LGBMRanker(
        objective=custom, metric="None", n_estimators=10, min_child_samples=5, n_jobs=1, verbose=-1
    ).fit(X, y, group=sizes, init_score=first)
    expected = trained(custom).predict(X)
    again = pickle.loads(pickle.dumps(ranker))
    refitted = clone(again).fit(X, y, group=sizes, init_score=first)
    for model in (ranker, again, refitted):
        np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize(
    "text, params",
    [
        ("mu_map", {}),
        ("rbp", {}),
        ("mu_map", {"boosting": "dart"}),
        ("mu_map", {"data_sample_strategy": "goss"}),
        ("mu_map", {"linear_tree": True}),
        ("mu_map", {"bagging_fraction": 0.5, "bagging_freq": 1}),
    ],
    ids=str,
)
def test_training_on_a_measure_improves_the_measure(text, params):
    scores, measure = trained(objective(text), 15, **params).predict(X), sg.measure(text)
    assert measure(y, scores, group=sizes) > measure(y, first, group=sizes) + 0.1


def test_cv_of_xgboost_trains_on_the_measure():
    history = xgb.cv(
        XGB_QUIET,
        xgb.DMatrix(X, y, group=sizes),
        8,
        nfold=3,
        obj=objective_of_xgboost("mu_map"),
        custom_metric=custom_metric("mu_map"),
    )
    last, constant = history.iloc[-1], sg.MuAP()(y, 0 * y, group=sizes)
    assert last["train-MuAP-mean"] > 0.9 and last["test-MuAP-mean"] > constant + 0.1


@pytest.mark.filterwarnings("ignore:More than 1,000 rows are evaluated as one query")
def test_a_query_may_have_more_than_10000_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_001, 2))
    y = np.exp(X[:, 0] + rng.normal(size=10_001))
    train = lgb.Dataset(X, y, group=[10_001])
    scores = lgb.train(QUIET | {"objective": objective("mu_map")}, train, 3).predict(X)
    assert sg.MuAP()(y, scores) > sg.MuAP()(y, np.zeros(10_001)) + 0.1


def test_gradients_of_a_query_do_not_depend_on_other_queries():
    ndcng, starts = objective("ndcng@5"), np.cumsum(sizes)[:-1]
    queries = zip(np.split(y, starts), np.split(first, starts), strict=True)
    alone = [ndcng.compute_gradients(sg.Judgments(grades), scores) for grades, scores in queries]
    together = ndcng.compute_gradients(sg.Judgments(y, group=sizes), first)
    np.testing.assert_array_equal(together, np.concatenate(alone, axis=1))


# Pitfalls ----------------------------------------------------------------------------------------


def test_cv_of_lightgbm_requires_folds_of_whole_queries():
    train = lgb.Dataset(X, y, group=sizes, free_raw_data=False)
    params = QUIET | {"objective": objective("mu_map")}
    with pytest.raises(ValueError, match=r"only \d+ of the \d+ rows of query \d+.*GroupKFold"):
        lgb.cv(params, train, 2, nfold=3, stratified=False)
    with pytest.raises(ValueError, match="contains only .* of the .* rows"):
        lgb.cv(
            QUIET | {"objective": "regression"},
            train,
            2,
            nfold=3,
            stratified=False,
            feval=eval_metric("mu_map"),
        )
    history = lgb.cv(params, train, 8, folds=GroupKFold(3), feval=eval_metric("mu_map"))
    assert history["valid MuAP-mean"][-1] > history["valid MuAP-mean"][0]


def test_docs_list_every_measure_that_can_be_an_objective():
    page = (Path(__file__).parents[2] / "docs" / "objectives.md").read_text(encoding="utf-8")
    texts = {
        "docs/objectives.md": page.replace("μAP", "MuAP").partition("In most cases")[0],
        "the docstring": re.search(r"measure : .*\n(.*)", objective.__doc__)[1],
    }
    for place, text in texts.items():
        for name in [name for name, cls in MEASURES.items() if is_trainable(cls())]:
            assert re.search(rf"\b{name}\b", text), f"{place} does not list {name}"


# Extreme scores and parameters -------------------------------------------------------------------

EXTREME_SCORES = [
    [1e308, -1e308, 0, 1, 1e308, -1e308],
    [1.7e308, -1.7e308, 1.6e308, 0, 0, 0],
    [0] * 6,
    [1, 2, 3, 4, 5, 6],
    [5e-324, 0, 0, 1e-310, 0, 3],
]


@pytest.mark.parametrize("measure", ["ndcg", "mu_map", "rbp"])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("sigmoid", [5e-324, 1, 1e30, 1e308])
def test_gradients_are_finite_for_all_finite_scores_and_parameters(measure, norm, sigmoid):
    settings = objective(measure, norm=norm, sigmoid=sigmoid)
    for weight in (None, [1e300] * 6):
        judgments = sg.Judgments([3, 0, 1, 0, 2, 0], group=[4, 2], sample_weight=weight)
        for scores in EXTREME_SCORES:
            for derivatives in settings.compute_gradients(judgments, scores):
                assert np.isfinite(derivatives).all()
