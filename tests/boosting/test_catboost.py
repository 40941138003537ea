"""Our metric as CatBoost's eval_metric."""

import contextlib
import copy
import pickle

import numpy as np
import pytest
from catboost import CatBoost, CatBoostRanker, Pool

import skgraded as sg
from skgraded.catboost import eval_metric
from skgraded.datasets import make_ranking

PARAMS = {
    "loss_function": "YetiRank",
    "iterations": 12,
    "learning_rate": 0.3,
    "depth": 3,
    "random_seed": 0,
    "thread_count": 1,
    "verbose": 0,
    "allow_writing_files": False,
}


TRAIN = make_ranking(n_queries=40, n_documents=8, n_features=4, random_state=0)
VALID = X, y, qid = make_ranking(n_queries=20, n_documents=8, n_features=4, random_state=1)


def pool(X, y, qid, **kwargs):
    return Pool(X, y, group_id=qid, **kwargs)


def trained(metric, train, valid, **params):
    """The fitted model, and the recorded values as {set: values}."""
    model = CatBoost(PARAMS | {"eval_metric": metric, "use_best_model": False} | params)
    model.fit(train, eval_set=valid)
    name = type(metric).__name__
    return model, {part: values[name] for part, values in model.get_evals_result().items()}


def trained_on(train, valid, measure, **params):
    """The result of `trained` with our metric for a training and a validation set."""
    return trained(eval_metric(measure, train[2], valid[2]), pool(*train), pool(*valid), **params)


def by_round(model, measure, X, y, qid, **kwargs):
    """The measure on the predictions after each round."""
    return [measure(y, scores, qid=qid, **kwargs) for scores in model.staged_predict(X)]


def assert_close(recorded, expected):
    np.testing.assert_allclose(recorded, expected, rtol=0, atol=1e-6)


# Values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["mu_map", "AP(threshold=2,ties='worst')@10", "NDCG@mean"])
def test_values_of_the_validation_set_equal_the_measure_in_every_round(text):
    measure = sg.measure(text)
    metric = eval_metric(text, TRAIN[2], qid)
    model, recorded = trained(metric, pool(*TRAIN), pool(*VALID))
    assert type(metric).__name__ == measure.name
    expected = by_round(model, measure, *VALID)
    assert len(set(expected)) > 6
    assert_close(recorded["validation"], expected)


@pytest.mark.parametrize("measure", [sg.Precision(), sg.Recall(), sg.PairAccuracy()])
@pytest.mark.parametrize("loss", ["RMSE", "QueryRMSE"])
def test_a_measure_with_the_name_of_a_catboost_metric_works_with_every_loss(measure, loss):
    model, values = trained_on(TRAIN, VALID, measure, loss_function=loss)
    assert values["validation"] == pytest.approx(by_round(model, measure, *VALID))


@pytest.mark.parametrize("kind", ["weight", "group_weight"])
def test_the_weights_of_the_pool_count(kind):
    weight = np.random.default_rng(0).uniform(0.1, 4, len(y))
    if kind == "group_weight":
        weight = weight[np.unique(qid, return_inverse=True)[1]]
    metric, measure = eval_metric("mu_map", TRAIN[2], qid), sg.MuAP()
    valid = pool(*VALID, **{kind: weight})
    model, recorded = trained(metric, pool(*TRAIN), valid, loss_function="QueryRMSE")
    expected = by_round(model, measure, *VALID, sample_weight=weight)
    assert_close(recorded["validation"], expected)
    assert np.abs(np.subtract(expected, by_round(model, measure, *VALID))).max() > 1e-3


def test_a_decimal_grade_equal_to_the_threshold_is_relevant():
    train, valid = ((X, y * 0.7, qid) for X, y, qid in (TRAIN, VALID))
    model, recorded = trained_on(train, valid, sg.AP(threshold=3 * 0.7), loss_function="RMSE")
    assert_close(recorded["validation"], by_round(model, sg.AP(threshold=3), *VALID))


# Training rows, which CatBoost may shuffle -------------------------------------------------------


def with_category(X, y, qid):
    table = np.empty(X.shape, dtype=object)
    table[:] = X
    table[:, 3] = np.where(X[:, 3] > 0, "high", "low")
    return table, y, qid


@pytest.mark.parametrize(
    "category, params, keeps_order",
    [
        (False, {}, True),
        (False, {"boosting_type": "Ordered", "iterations": 4}, False),
        (False, {"boosting_type": "Ordered", "has_time": True, "iterations": 4}, True),
        (True, {}, False),
        (True, {"has_time": True}, True),
    ],
)
def test_training_rows_have_the_value_0_and_a_warning_if_catboost_shuffles_them(
    category, params, keeps_order
):
    parts, kind, measure = [TRAIN, VALID], {}, sg.NDCNG(k=5)
    if category:
        parts, kind = [with_category(*part) for part in parts], {"cat_features": [3]}
    pools = [pool(*part, **kind) for part in parts]
    metric = eval_metric(measure, TRAIN[2], qid)
    kept = contextlib.nullcontext([])
    warned = pytest.warns(UserWarning, match="NDCNG@5 cannot be computed")
    with kept if keeps_order else warned as records:
        model, recorded = trained(metric, *pools, **params)
    # The warning points at the line that calls CatBoost.
    assert [record.filename for record in records] == [__file__] * (not keeps_order)
    learn, evaluated = (by_round(model, measure, *part) for part in parts)
    assert_close(recorded["validation"], evaluated)
    if keeps_order:
        assert_close(recorded["learn"], learn)
    else:
        assert set(recorded["learn"]) == {0.0}


def test_labels_distinguish_data_sets_of_equal_length():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 4, 120)
    train = X[:60], y[:60], np.repeat(np.arange(10), 6)
    valid = X[60:], y[60:], np.repeat(np.arange(15), 4)
    model, recorded = trained_on(train, valid, "ndcng", iterations=4)
    assert_close(recorded["learn"], by_round(model, sg.NDCNG(), *train))
    assert_close(recorded["validation"], by_round(model, sg.NDCNG(), *valid))


def test_a_training_set_can_also_be_the_validation_set():
    model, recorded = trained_on(TRAIN, TRAIN, "ndcng")
    for values in recorded.values():
        assert_close(values, by_round(model, sg.NDCNG(), *TRAIN))


# Training ----------------------------------------------------------------------------------------


def test_early_stopping_finds_the_highest_value():
    ranker = CatBoostRanker(
        **PARAMS | {"iterations": 300, "learning_rate": 0.1, "depth": 1},
        od_type="Iter",
        od_wait=10,
        eval_metric=eval_metric("ndcng@5", TRAIN[2], qid),
    )
    ranker.fit(pool(*TRAIN), eval_set=pool(*VALID))
    values = ranker.get_evals_result()["validation"]["NDCNG@5"]
    best = int(np.argmax(values))
    assert len(values) == best + 1 + 10 < 300
    assert ranker.best_iteration_ == best == ranker.tree_count_ - 1 > 0
    assert ranker.get_best_score()["validation"]["NDCNG@5"] == max(values)
    score = sg.NDCNG(k=5)(y, ranker.predict(X), qid=qid)
    assert score == pytest.approx(max(values), abs=1e-6)


def test_copies_and_pickles_compute_the_same():
    metric = eval_metric("AP(threshold=2)@5", TRAIN[2], qid)
    _, expected = trained(metric, pool(*TRAIN), pool(*VALID))
    for copied in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert repr(copied) == repr(metric) == "eval_metric('AP(threshold=2)@5')"
        assert trained(copied, pool(*TRAIN), pool(*VALID))[1] == expected


def test_a_metric_can_be_used_in_several_training_runs():
    metric = eval_metric("ndcng", TRAIN[2], qid)
    first, reversed_grades, again = (
        trained(metric, pool(*TRAIN), pool(X, grades, qid)) for grades in (y, y[::-1].copy(), y)
    )
    expected = by_round(reversed_grades[0], sg.NDCNG(), X, y[::-1], qid)
    assert_close(reversed_grades[1]["validation"], expected)
    assert first[1] == again[1]
