"""The measures as CatBoost's eval_metric, in real trainings."""

import copy
import pickle

import numpy as np
import pytest
from catboost import CatBoost, CatBoostError, CatBoostRanker, Pool

import skgraded as sg
from skgraded.catboost import eval_metric
from skgraded.datasets import make_ranking

PARAMS = {
    "loss_function": "YetiRank", "iterations": 12, "learning_rate": 0.3, "depth": 3,
    "random_seed": 0, "thread_count": 1, "verbose": 0, "allow_writing_files": False,
}


def generated(seed, n_queries=20):
    """X, y and qid of a small ranking problem, rows of a query together."""
    return make_ranking(n_queries=n_queries, n_documents=8, n_features=4, random_state=seed)


@pytest.fixture(scope="module")
def parts():
    return generated(0, 40), generated(1)


def pool(X, y, qid, **kwargs):
    return Pool(X, y, group_id=qid, **kwargs)


def trained(metric, train, valid, **params):
    """The fitted model, and {set: values recorded at each round}."""
    model = CatBoost(PARAMS | {"eval_metric": metric, "use_best_model": False} | params)
    model.fit(train, eval_set=valid)
    name = type(metric).__name__
    return model, {part: values[name] for part, values in model.get_evals_result().items()}


def trained_on(parts, measure, **params):
    """`trained` by our metric of a measure, on a set and with another as evaluation set."""
    train, valid = parts
    return trained(eval_metric(measure, train[2], valid[2]), pool(*train), pool(*valid), **params)


def by_round(model, measure, X, y, qid, **kwargs):
    """The measure on the predictions after each round."""
    return [measure(y, scores, qid=qid, **kwargs) for scores in model.staged_predict(X)]


def assert_close(recorded, expected):
    np.testing.assert_allclose(recorded, expected, rtol=0, atol=1e-6)


# Values ------------------------------------------------------------------------------------------

@pytest.mark.parametrize(
    "text", ["ndcng@5", "mu_map", "AP(threshold=2,ties='worst')@10", "NDCG@mean", "TauAP"]
)
def test_values_of_the_evaluation_set_are_those_of_the_measure_at_every_round(parts, text):
    measure = sg.measure(text)
    metric = eval_metric(text, parts[0][2], parts[1][2])
    model, recorded = trained(metric, *(pool(*part) for part in parts))
    assert type(metric).__name__ == measure.name
    expected = by_round(model, measure, *parts[1])
    assert len(set(expected)) > 6
    assert_close(recorded["validation"], expected)


def test_ids_of_any_kind_may_be_given(parts):
    _, expected = trained_on(parts, "rr")
    named = [(X, y, [f"q{-query}" for query in qid]) for X, y, qid in parts]
    assert trained_on(named, "rr")[1]["validation"] == expected["validation"]


@pytest.mark.parametrize("of", ["rows", "queries"])
def test_the_weights_of_the_pool_count(parts, of):
    train, (X, y, qid) = parts
    rng = np.random.default_rng(0)
    if of == "rows":
        weight = rng.uniform(0.1, 4, len(y))
        valid = pool(X, y, qid, weight=weight)
    else:
        weight = rng.uniform(0.1, 4, 20)[np.unique(qid, return_inverse=True)[1]]
        valid = pool(X, y, qid, group_weight=weight)
    metric, measure = eval_metric("mu_map", train[2], qid), sg.MuAP()
    model, recorded = trained(metric, pool(*train), valid, loss_function="QueryRMSE")
    expected = by_round(model, measure, X, y, qid, sample_weight=weight)
    assert_close(recorded["validation"], expected)
    assert np.abs(np.subtract(expected, by_round(model, measure, X, y, qid))).max() > 1e-3


@pytest.mark.parametrize("scale", [0.1, 0.7])
def test_decimal_grades_are_measured_as_they_were_written(parts, scale):
    scaled = [(X, y * scale, qid) for X, y, qid in parts]
    model, recorded = trained_on(scaled, sg.AP(threshold=3 * scale), loss_function="RMSE")
    assert_close(recorded["validation"], by_round(model, sg.AP(threshold=3), *parts[1]))


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
        (False, {"loss_function": "RMSE"}, True),
        (False, {"boosting_type": "Ordered"}, False),
        (False, {"boosting_type": "Ordered", "has_time": True}, True),
        (True, {}, False),
        (True, {"has_time": True}, True),
    ],
)
def test_training_rows_are_measured_where_catboost_keeps_their_order(
    parts, category, params, keeps_order
):
    if category:
        parts = [with_category(*part) for part in parts]
    kind = {"cat_features": [3]} if category else {}
    train, valid = parts
    pools = [pool(*part, **kind) for part in parts]
    measure = sg.NDCNG(k=5)

    metric = eval_metric(measure, train[2], valid[2])
    model, recorded = trained(metric, *pools, **params)
    learn, evaluated = (by_round(model, measure, *part) for part in parts)
    assert_close(recorded["validation"], evaluated)
    if keeps_order:
        assert_close(recorded["learn"], learn)
    else:
        assert set(recorded["learn"]) == {0.0}


def equally_long():
    """Two sets of 60 rows in queries of other sizes."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 4, 120)
    return [
        (X[:60], y[:60], np.repeat(np.arange(10), 6)),
        (X[60:], y[60:], np.repeat(np.arange(15), 4)),
    ]


@pytest.mark.parametrize("params", [{}, {"boosting_type": "Ordered"}])
def test_equally_long_sets_are_told_apart_by_their_labels(params):
    parts = equally_long()
    model, recorded = trained_on(parts, "ndcng", **params)
    learn, evaluated = (by_round(model, sg.NDCNG(), *part) for part in parts)
    assert_close(recorded["validation"], evaluated)
    assert_close(recorded["learn"], [0.0] * 12 if params else learn)


def test_equally_labelled_sets_of_other_queries_are_refused():
    train, (Z, _, other) = equally_long()
    with pytest.raises(CatBoostError, match="the same 60 labels in the same order but different"):
        trained_on([train, (Z, train[1], other)], "ndcng")


def test_a_set_may_be_evaluated_on_itself(parts):
    model, recorded = trained_on([parts[0], parts[0]], "ndcng")
    for values in recorded.values():
        assert_close(values, by_round(model, sg.NDCNG(), *parts[0]))


# Stopping ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("measure", ["ndcng@5", "mu_map"])
def test_it_stops_at_the_highest_value(parts, measure):
    train, valid = parts
    ranker = CatBoostRanker(
        **PARAMS | {"iterations": 300, "learning_rate": 0.1, "depth": 1}, od_type="Iter",
        od_wait=10, eval_metric=eval_metric(measure, train[2], valid[2]),
    )
    ranker.fit(pool(*train), eval_set=pool(*valid))
    name = sg.measure(measure).name
    values = ranker.get_evals_result()["validation"][name]
    best = int(np.argmax(values))
    assert len(values) == best + 1 + 10 < 300
    assert ranker.best_iteration_ == best == ranker.tree_count_ - 1 > 0
    assert ranker.get_best_score()["validation"][name] == max(values)
    X, y, qid = valid
    found = sg.measure(measure)(y, ranker.predict(X), qid=qid)
    assert found == pytest.approx(max(values), abs=1e-6)


def test_it_may_be_computed_every_few_rounds(parts):
    model, recorded = trained_on(parts, "ndcng", metric_period=5)
    expected = by_round(model, sg.NDCNG(), *parts[1])
    assert_close(recorded["validation"], [expected[i] for i in (0, 5, 10, 11)])


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_measure_the_same(parts, clone):
    train, valid = parts
    metric = eval_metric("AP(threshold=2)@5", train[2], valid[2])
    _, expected = trained(metric, pool(*train), pool(*valid))
    copied = clone(metric)
    assert repr(copied) == repr(metric) == "eval_metric('AP(threshold=2)@5')"
    assert trained(copied, pool(*train), pool(*valid))[1] == expected


def test_it_serves_one_training_after_another(parts):
    train, (X, y, qid) = parts
    metric = eval_metric("ndcng", train[2], qid)
    first, reversed_grades, again = (
        trained(metric, pool(*train), pool(X, grades, qid)) for grades in (y, y[::-1].copy(), y)
    )
    expected = by_round(reversed_grades[0], sg.NDCNG(), X, y[::-1], qid)
    assert_close(reversed_grades[1]["validation"], expected)
    assert first[1] == again[1]


# Errors ------------------------------------------------------------------------------------------

def test_rows_or_queries_that_it_was_not_told_of_are_an_error(parts):
    train, (X, y, qid) = parts
    valid, pairs = pool(X, y, qid), np.arange(len(y)) // 2
    metric = eval_metric("ndcng", train[2], qid)
    for told, train_pool, valid_pool, message in [
        (metric, pool(*train), pool(X[:-1], y[:-1], qid[:-1]), f"eval_group_id.* {len(y)} "),
        (metric, pool(*generated(5, 30)), valid, "match group_id, .*: make a new metric"),
        (eval_metric("ndcng", train[2], pairs), pool(*train), valid, "match eval_group_id, which"),
        (eval_metric("ndcng", qid, train[2]), pool(*train), valid, " group_id, which"),  # swapped
    ]:
        with pytest.raises(CatBoostError, match=message):
            trained(told, train_pool, valid_pool)


def test_without_a_fit_that_calls_the_number_of_rows_must_tell_the_set():
    metric = eval_metric("ndcng", [1, 1, 2], [1, 2, 2])
    with pytest.raises(ValueError, match="identifies a data set by its number of rows; got 3"):
        metric.evaluate([np.zeros(3)], np.zeros(3), None)


def test_a_regression_may_have_no_groups(parts):
    (X, y, qid), (Z, t, other) = parts
    metric = eval_metric("ndcng", qid, other)
    model, recorded = trained(metric, Pool(X, y), Pool(Z, t), loss_function="RMSE")
    assert_close(recorded["validation"], by_round(model, sg.NDCNG(), Z, t, other))


def test_a_set_on_which_the_measure_is_undefined_is_an_error(parts):
    train, (X, y, qid) = parts
    with pytest.raises(CatBoostError, match="NDCNG is undefined for every query in this data"):
        trained_on([train, (X, np.zeros(len(y)), qid)], "ndcng")


def test_nan_scores_and_scores_of_several_classes_are_an_error():
    metric = eval_metric("ndcng", [1, 1, 1], [1, 2, 2, 2])
    target = np.array([1, 2, 1, 0], dtype=np.float32)
    assert metric.evaluate([np.array([4.0, 3, 2, 1])], target, None) == (1.0, 1.0)
    with pytest.raises(ValueError, match="NaN; got nan for row 2"):
        metric.evaluate([np.array([1, 2, np.nan, 3])], target, None)
    with pytest.raises(ValueError, match=r"1-D.*shape \(4, 3\)"):
        metric.evaluate([np.zeros(4)] * 3, target, None)


@pytest.mark.parametrize("name", ["group_id", "eval_group_id"])
@pytest.mark.parametrize(
    "ids, message",
    [
        ([1, 1, 2, 1], "to be contiguous, but argument {} repeats an earlier query in row 3"),
        ([1, None, 2], "^{} is missing in row 1"),
        ([], "{} is empty"),
        (None, "{} must be an array with one id per row"),
        ("abc", "{} must be an array with one id per row"),
    ],
)
def test_bad_queries_are_an_error_that_names_them(name, ids, message):
    told = {"group_id": [1, 1], "eval_group_id": [1, 1, 2]} | {name: ids}
    with pytest.raises((ValueError, TypeError), match=message.format(name)):
        eval_metric("ndcng", **told)


@pytest.mark.parametrize("measure", ["ndgc@10", [], ["map", "rr"], ["rr"], 5, None])
def test_it_takes_one_measure(measure):
    with pytest.raises((ValueError, TypeError)):
        eval_metric(measure, [1, 1], [1, 2, 2])
