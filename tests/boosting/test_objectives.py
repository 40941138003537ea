"""Measures as objectives, in real trainings."""

import gc
import pickle
import re
import weakref
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from lambdarank import LightgbmArithmetic
from packaging.version import Version
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

import skgraded as sg
from skgraded.boosting.metric import truth_of
from skgraded.boosting.objective import trainable_measures
from skgraded.datasets import make_ranking
from skgraded.lightgbm import eval_metric, objective
from skgraded.xgboost import custom_metric
from skgraded.xgboost import objective as objective_of_xgboost

QUIET = {"verbose": -1, "num_threads": 1, "metric": "None", "min_data_in_leaf": 5}
EXP2 = [2.0**grade - 1 for grade in range(31)]


def ranking(n_queries=40, seed=0):
    """X, y, sizes, and first scores by which no documents are tied."""
    X, y, qid = make_ranking(n_queries=n_queries, random_state=seed)
    return X, y, np.bincount(qid), 1e-3 * np.random.default_rng(seed).normal(size=len(y))


@pytest.fixture(scope="module")
def data():
    return ranking()


# The arithmetic of others ------------------------------------------------------------------------

@pytest.mark.parametrize("own, of_lightgbm, gains, weighted", [
    ({}, {}, EXP2, True),
    ({"truncation": 5}, {"lambdarank_truncation_level": 5}, EXP2, False),
    ({"norm": False}, {"lambdarank_norm": False}, EXP2, True),
    ({"sigmoid": 2.0}, {"sigmoid": 2.0}, EXP2, False),
    ({}, {"label_gain": [0, 1, 2, 3, 4]}, [0.0, 1.0, 2.0, 3.0, 4.0], False),
    ({}, {"label_gain": [0, 0.3, 0.7, 1.9, 40]}, [0.0, 0.3, 0.7, 1.9, 40.0], True),
])
def test_in_lightgbms_arithmetic_it_is_lambdarank_to_the_last_bit(
    data, own, of_lightgbm, gains, weighted
):
    X, y, sizes, first = data
    weight = np.random.default_rng(1).random(len(y)).astype(np.float32) if weighted else None
    # LightGBM 4.6 rounds its norm otherwise, and the last bits grow with the rounds
    is_exact = "norm" in own or Version(lgb.__version__) >= Version("4.7")
    n_rounds, difference = (6, 0) if is_exact else (3, 2e-7)
    scores = []
    for given in ("lambdarank", LightgbmArithmetic(gains, **own)):
        train = lgb.Dataset(X, y, group=sizes, init_score=first, weight=weight)
        params = QUIET | of_lightgbm | {"objective": given}
        scores.append(lgb.train(params, train, n_rounds).predict(X, raw_score=True))
    np.testing.assert_allclose(*scores, rtol=0, atol=difference)


@pytest.mark.parametrize("params, own", [
    ({"objective": "rank:ndcg"}, objective_of_xgboost("ndcg", truncation=99)),
    pytest.param(
        {"objective": "rank:ndcg", "lambdarank_normalization": False,
         "lambdarank_score_normalization": False},
        objective_of_xgboost("ndcg", truncation=99, norm=False),
        marks=pytest.mark.skipif(
            Version(xgb.__version__) < Version("3.0"), reason="norms both or neither, from 3.0 on"
        ),
    ),
    (
        {"objective": "rank:ndcg", "ndcg_exp_gain": False},
        objective_of_xgboost(sg.NDCG(gain="linear"), truncation=99),
    ),
    ({"objective": "rank:map"}, objective_of_xgboost("map", truncation=99)),
], ids=str)
def test_xgboosts_own_objectives_give_the_same_scores(data, params, own):
    X, y, sizes, first = data
    if params["objective"] == "rank:map":
        y = (y > 1).astype(float)
    elif "ndcg_exp_gain" in params:
        y = 0.1 * np.round(7 * y + X[:, 0] ** 2)
    pairs = {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 99}
    scores = []
    for given, obj in ((params | pairs, None), ({}, own)):
        train = xgb.DMatrix(X, y, group=sizes, base_margin=first)
        given = given | {"nthread": 1, "disable_default_eval_metric": 1}
        scores.append(xgb.train(given, train, 2, obj=obj).predict(train))  # of 32 bits
    np.testing.assert_allclose(*scores, rtol=0, atol=2e-7)


# One object, two doors ---------------------------------------------------------------------------

def trained(data, own, n_rounds=15, **params):
    X, y, sizes, first = data
    train = lgb.Dataset(X, y, group=sizes, init_score=first)
    return lgb.train(QUIET | {"objective": own} | params, train, n_rounds)


@pytest.fixture(scope="module")
def real():
    """Grades that are real numbers, as prices are."""
    X, y, sizes, first = ranking(seed=3)
    return X, np.exp(0.7 * y + 0.1 * X[:, 0]), sizes, first


def test_one_object_serves_train_and_the_ranker(real):
    X, y, sizes, first = real
    own = objective("mu_map")
    ranker = lgb.LGBMRanker(
        objective=own, metric="None", n_estimators=15, min_child_samples=5, n_jobs=1, verbose=-1
    ).fit(X, y, group=sizes, init_score=first)
    np.testing.assert_array_equal(
        ranker.predict(X), trained(real, own).predict(X)
    )
    assert own.measure(y, ranker.predict(X), group=sizes) > own.measure(y, first, group=sizes) + 0.1


def test_weights_of_queries_multiply_gradients(real):
    X, y, sizes, first = real
    weights = np.repeat(np.random.default_rng(0).integers(1, 4, len(sizes)), sizes)
    own = objective("ndcng")
    plain, weighted = (
        own(first, lgb.Dataset(X, y, group=sizes, weight=w, params=QUIET).construct())
        for w in (None, weights)
    )
    for one, other in zip(plain, weighted, strict=True):
        np.testing.assert_allclose(other, weights * one, rtol=1e-6)


@pytest.mark.parametrize("form", ["train", "ranker"])
def test_truth_is_laid_out_once_a_training_and_forgotten_with_it(real, form):
    X, y, sizes, _ = real
    seen, own = [], objective("mu_map")

    def watched(y_true, y_pred, weight, group):
        found = own(y_true, y_pred, weight, group)
        seen.append(weakref.ref(truth_of(y_true, y_true, group, weight)))
        return found

    if form == "train":
        data = lgb.Dataset(X, y, group=sizes, params=QUIET).construct()
        for _ in range(2):
            own(np.zeros(len(y)), data)
            given = data.get_label(), data.get_group(), data.get_weight()
            seen.append(weakref.ref(truth_of(data, *given)))
    else:
        data = lgb.LGBMRanker(
            objective=watched, metric="None", n_estimators=2, n_jobs=1, verbose=-1
        ).fit(X, y, group=sizes)
    assert seen[0]() is seen[1]() and len(seen) == 2
    del data
    gc.collect()
    assert seen[0]() is None


def test_two_data_sets_of_one_objective_keep_their_own_truth(real):
    X, y, sizes, first = real
    own = objective("mu_map")
    sets = [
        lgb.Dataset(X, labels, group=sizes, params=QUIET).construct() for labels in (y, y[::-1])
    ]
    apart = [objective("mu_map")(first, data)[0] for data in sets]
    for _ in range(2):
        for data, gradients in zip(sets, apart, strict=True):
            np.testing.assert_array_equal(own(first, data)[0], gradients)


def test_a_query_of_11000_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(11_000, 3))
    y = np.exp(X[:, 0] + rng.normal(size=11_000))
    booster = lgb.train(
        QUIET | {"objective": objective("mu_map")}, lgb.Dataset(X, y, group=[11_000]), 20
    )
    scores = booster.predict(X)
    assert sg.MuAP()(y, scores) > sg.MuAP()(y, np.zeros(11_000)) + 0.1


# What else LightGBM does with it -----------------------------------------------------------------

def test_early_stopping_on_our_metric(real):
    X, y, sizes, _ = real
    X2, y2, sizes2, _ = ranking(seed=4)
    train = lgb.Dataset(X, y, group=sizes)
    valid = lgb.Dataset(X2, np.exp(y2), group=sizes2, reference=train)
    booster = lgb.train(
        QUIET | {"objective": objective("mu_map")}, train, 200, valid_sets=[valid],
        feval=eval_metric("mu_map"), callbacks=[lgb.early_stopping(10, verbose=False)],
    )
    assert 1 <= booster.best_iteration < 190
    scores = booster.predict(X2)
    assert booster.best_score["valid_0"]["MuAP"] == pytest.approx(
        sg.MuAP()(np.exp(y2).astype(np.float32), scores, group=sizes2), abs=1e-9
    )


def test_a_pickled_model_and_objective_are_the_same(real):
    X, y, sizes, first = real
    own = objective("mu_map@20", truncation=25)
    assert pickle.loads(pickle.dumps(own)) == own
    ranker = lgb.LGBMRanker(objective=own, metric="None", n_estimators=5, n_jobs=1, verbose=-1)
    ranker.fit(X, y, group=sizes)
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    np.testing.assert_array_equal(
        clone(again).fit(X, y, group=sizes).predict(X), ranker.predict(X)
    )


def test_a_saved_model_predicts_the_same_and_contributions_add_up(real, tmp_path):
    booster = trained(real, objective("mu_map"))
    booster.save_model(tmp_path / "model.txt")
    again, scores = lgb.Booster(model_file=tmp_path / "model.txt"), booster.predict(real[0])
    np.testing.assert_array_equal(again.predict(real[0]), scores)
    parts = booster.predict(real[0], pred_contrib=True)
    np.testing.assert_allclose(parts.sum(axis=1), scores, atol=1e-9)


def test_a_saved_model_of_xgboost_predicts_the_same(real, tmp_path):
    X, y, sizes, first = real
    data = xgb.DMatrix(X, y, group=sizes)
    params = {"nthread": 1, "disable_default_eval_metric": 1}
    booster = xgb.train(params, data, 5, obj=objective_of_xgboost("mu_map"))
    assert sg.MuAP()(y, booster.predict(data), group=sizes) > sg.MuAP()(y, first, group=sizes) + 0.1
    booster.save_model(tmp_path / "model.json")
    again = xgb.Booster(model_file=tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(data), booster.predict(data))


@pytest.mark.parametrize("params", [
    {"boosting": "dart"}, {"data_sample_strategy": "goss"}, {"linear_tree": True},
    {"bagging_fraction": 0.5, "bagging_freq": 1},
], ids=str)
def test_other_ways_of_boosting_learn_by_it(real, params):
    X, y, sizes, _ = real
    scores = trained(real, objective("mu_map"), 30, **params).predict(X)
    assert sg.MuAP()(y, scores, group=sizes) > sg.MuAP()(y, 0 * y, group=sizes) + 0.1


def test_a_cross_validation_by_xgboost_learns(real):
    X, y, sizes, _ = real
    history = xgb.cv(
        {"nthread": 1, "disable_default_eval_metric": 1}, xgb.DMatrix(X, y, group=sizes), 10,
        nfold=3, obj=objective_of_xgboost("mu_map"), custom_metric=custom_metric("mu_map"),
    )
    last, constant = history.iloc[-1], sg.MuAP()(y, 0 * y, group=sizes)
    assert last["train-MuAP-mean"] > 0.9 and last["test-MuAP-mean"] > constant + 0.1


# Traps -------------------------------------------------------------------------------------------

def test_folds_that_tear_queries_are_refused_and_others_not(real):
    X, y, sizes, _ = real
    train = lgb.Dataset(X, y, group=sizes, free_raw_data=False)
    params = QUIET | {"objective": objective("mu_map")}
    with pytest.raises(ValueError, match=r"only \d+ of the \d+ rows of query \d+.*GroupKFold"):
        lgb.cv(params, train, 3, nfold=3, stratified=False)
    with pytest.raises(ValueError, match="contains only .* of the .* rows"):
        lgb.cv(
            QUIET | {"objective": "regression"}, train, 3, nfold=3, stratified=False,
            feval=eval_metric("mu_map"),
        )
    history = lgb.cv(params, train, 10, folds=GroupKFold(3), feval=eval_metric("mu_map"))
    assert history["valid MuAP-mean"][-1] > history["valid MuAP-mean"][0]


def test_each_fold_of_a_cross_validation_has_its_own_truth(real):
    X, y, sizes, _ = real
    rows = np.repeat(np.arange(len(sizes)), sizes)
    history = lgb.cv(
        QUIET | {"objective": objective("mu_map")}, lgb.Dataset(X, y, group=sizes), 8,
        folds=GroupKFold(2), feval=eval_metric("mu_map"),
    )
    values = []
    for train, test in GroupKFold(2).split(X, y, rows):
        data = lgb.Dataset(X[train], y[train], group=np.unique(rows[train], return_counts=True)[1])
        booster = lgb.train(QUIET | {"objective": objective("mu_map")}, data, 8)
        values.append(sg.MuAP()(y[test], booster.predict(X[test]), qid=rows[test]))
    # bins are those of all rows in lgb.cv, so that values differ a little
    assert history["valid MuAP-mean"][-1] == pytest.approx(np.mean(values), abs=0.03)


def test_lightgbm_still_has_the_traps_that_the_guide_names(real):
    X, y, sizes, _ = real
    ranker = lgb.LGBMRanker(objective=objective("mu_map"), n_estimators=2, n_jobs=1, verbose=-1)
    with pytest.raises(lgb.basic.LightGBMError, match="label should be int type"):
        ranker.fit(X, y, group=sizes)
    params = QUIET | {"objective": lambda preds, data: (preds - y, np.ones(len(y)))}
    bagging = {"bagging_by_query": True, "bagging_fraction": 0.5, "bagging_freq": 1}
    booster = lgb.train(params | bagging, lgb.Dataset(X, y, group=sizes), 5)
    assert np.ptp(booster.predict(X)) == 0


def test_bagging_by_query_is_refused(real):
    with pytest.raises(ValueError, match="bagging_by_query=True cannot be combined"):
        trained(real, objective("mu_map"), bagging_by_query=True, bagging_freq=1)


@pytest.mark.parametrize("door", [objective, objective_of_xgboost])
def test_other_measures_are_refused_and_the_message_lists_those_to_train_on(door):
    for measure in ("rr", "nerr@5", "q", "tau_ap", "kendall_tau", "p@5", "edrc"):
        with pytest.raises(TypeError, match="choose one of AP, MuAP, GAP, RPrecision, DCG, NDCG"):
            door(measure)


def test_docs_list_every_measure_that_can_be_an_objective():
    page = (Path(__file__).parents[2] / "docs" / "objectives.md").read_text(encoding="utf-8")
    texts = {
        "docs/objectives.md": page.replace("μAP", "MuAP").partition("In most cases")[0],
        "the docstring": re.search(r"measure : .*\n(.*)", objective.__doc__)[1],
    }
    for place, text in texts.items():
        for name in trainable_measures():
            assert re.search(rf"\b{name}\b", text), f"{place} does not list {name}"


def test_training_on_rbp_improves_rbp(data):
    X, y, sizes, first = data
    scores = trained(data, objective("rbp")).predict(X)
    assert sg.RBP()(y, scores, group=sizes) > sg.RBP()(y, first, group=sizes) + 0.1


# Extreme scores and parameters -------------------------------------------------------------------

EXTREME_SCORES = [
    [1e308, -1e308, 0, 1, 1e308, -1e308], [1.7e308, -1.7e308, 1.6e308, 0, 0, 0], [0] * 6,
    [1, 2, 3, 4, 5, 6], [5e-324, 0, 0, 1e-310, 0, 3],
]


@pytest.mark.parametrize("measure", ["ndcg", "mu_map", "rbp"])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("sigmoid", [5e-324, 1, 1e30, 1e308])
def test_gradients_are_finite_for_all_finite_scores_and_parameters(measure, norm, sigmoid):
    settings = objective(measure, norm=norm, sigmoid=sigmoid)
    for weight in (None, [1e300] * 6):
        judgments = sg.Judgments([3, 0, 1, 0, 2, 0], group=[4, 2], sample_weight=weight)
        for scores in EXTREME_SCORES:
            for derivatives in settings.gradients(judgments, scores):
                assert np.isfinite(derivatives).all()


def test_without_norm_only_the_order_of_far_apart_scores_matters():
    judgments = sg.Judgments([3, 0, 1])
    near, far = (
        objective("ndcg", norm=False).gradients(judgments, [-top, top, 0]) for top in (1e4, 1e308)
    )
    np.testing.assert_array_equal(far, near)
    assert far[0][0] < 0 < far[0][1]


def test_norm_limits_the_gradient_of_a_steep_sigmoid():
    judgments = sg.Judgments([1, 0])
    swap = 1 - 1 / np.log2(3)
    gradients, _ = objective("ndcg", sigmoid=1e308).gradients(judgments, [0, 0])
    # σ · log2(1 + x) / x · swap / 2 with x = σ · swap
    expected = (np.log2(1e308) + np.log2(swap)) / 2
    np.testing.assert_allclose(gradients, [-expected, expected], rtol=1e-6)


def test_truncation_may_exceed_every_query(data):
    X, y, sizes, first = data
    judgments = sg.Judgments(y, group=sizes)
    whole, beyond = (
        objective("ndcg", truncation=n).gradients(judgments, first) for n in (len(y), 10**30)
    )
    np.testing.assert_array_equal(beyond, whole)


def test_parameters_out_of_range_are_refused():
    for bad, message in [
        ({"truncation": 0}, "truncation must be at least 1"),
        ({"sigmoid": 0}, "sigmoid must be a finite number > 0"),
        ({"norm": "yes"}, "norm must be True or False"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            objective("ndcg", **bad)


def test_a_data_set_without_queries_is_refused(real):
    X, y, _, _ = real
    with pytest.raises(ValueError, match="has no query sizes"):
        lgb.train(QUIET | {"objective": objective("ndcg")}, lgb.Dataset(X, y), 2)
    with pytest.raises(ValueError, match="has no queries"):
        xgb.train({}, xgb.DMatrix(X, y), 2, obj=objective_of_xgboost("ndcg"))


def test_scores_that_are_not_finite_are_refused(real):
    X, y, sizes, first = real
    for score in (np.nan, np.inf):
        scores = first.copy()
        scores[7] = score
        with pytest.raises(ValueError, match=f"got {score} for row 7"):
            objective("ndcg")(y, scores, None, sizes)
