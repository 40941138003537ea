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


def by_round(model, measure, X, y, qid, **kwargs):
    """The measure on the predictions after each round."""
    return [measure(y, scores, qid=qid, **kwargs) for scores in model.staged_predict(X)]


# Values ------------------------------------------------------------------------------------------

@pytest.mark.parametrize(
    "text", ["ndcng@5", "mu_map", "AP(threshold=2,ties='worst')@10", "NDCG@mean", "TauAP"]
)
def test_values_of_the_evaluation_set_are_those_of_the_measure_at_every_round(parts, text):
    train, valid = parts
    metric = eval_metric(text, train[2], valid[2])
    model, recorded = trained(metric, pool(*train), pool(*valid))
    measure = sg.measure(text)
    assert type(metric).__name__ == measure.name
    expected = by_round(model, measure, *valid)
    assert len(set(expected)) > 6
    np.testing.assert_allclose(recorded["validation"], expected, rtol=0, atol=1e-6)


def test_ids_of_any_kind_may_be_given(parts):
    train, valid = parts
    _, expected = trained(eval_metric("rr", train[2], valid[2]), pool(*train), pool(*valid))
    names = [[f"q{-q}" for q in part[2]] for part in parts]
    pools = [pool(*part[:2], ids) for part, ids in zip(parts, names, strict=True)]
    _, recorded = trained(eval_metric("rr", *names), *pools)
    assert recorded["validation"] == expected["validation"]


def test_the_weights_of_the_pool_count(parts):
    train, (X, y, qid) = parts
    weight = np.random.default_rng(0).uniform(0.1, 4, len(y))
    metric, measure = eval_metric("mu_map", train[2], qid), sg.MuAP()
    model, recorded = trained(
        metric, pool(*train), pool(X, y, qid, weight=weight), loss_function="QueryRMSE"
    )
    expected = by_round(model, measure, X, y, qid, sample_weight=weight)
    np.testing.assert_allclose(recorded["validation"], expected, rtol=0, atol=1e-6)
    unweighted = by_round(model, measure, X, y, qid)
    assert np.abs(np.subtract(expected, unweighted)).max() > 1e-3


def test_the_weight_of_a_group_counts(parts):
    train, (X, y, qid) = parts
    of_query = np.random.default_rng(0).uniform(0.1, 4, 20)
    weight = of_query[np.unique(qid, return_inverse=True)[1]]
    model, recorded = trained(
        eval_metric("mu_map", train[2], qid), pool(*train),
        pool(X, y, qid, group_weight=weight), loss_function="QueryRMSE",
    )
    expected = by_round(model, sg.MuAP(), X, y, qid, sample_weight=weight)
    np.testing.assert_allclose(recorded["validation"], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("scale", [0.1, 0.7])
def test_decimal_grades_are_measured_as_they_were_written(parts, scale):
    (X, y, qid), (Xv, yv, qv) = parts
    measure = sg.AP(threshold=3 * scale)
    model, recorded = trained(
        eval_metric(measure, qid, qv), pool(X, y * scale, qid), pool(Xv, yv * scale, qv),
        loss_function="RMSE",
    )
    expected = by_round(model, sg.AP(threshold=3), Xv, yv, qv)
    np.testing.assert_allclose(recorded["validation"], expected, rtol=0, atol=1e-6)


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
    np.testing.assert_allclose(recorded["validation"], evaluated, rtol=0, atol=1e-6)
    if keeps_order:
        np.testing.assert_allclose(recorded["learn"], learn, rtol=0, atol=1e-6)
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
    train, valid = equally_long()
    measure = sg.NDCNG()
    model, recorded = trained(
        eval_metric(measure, train[2], valid[2]), pool(*train), pool(*valid), **params
    )
    learn, evaluated = (by_round(model, measure, *part) for part in (train, valid))
    np.testing.assert_allclose(recorded["validation"], evaluated, rtol=0, atol=1e-6)
    expected = [0.0] * 12 if params else learn
    np.testing.assert_allclose(recorded["learn"], expected, rtol=0, atol=1e-6)


def test_equally_labelled_sets_of_other_queries_are_refused():
    (X, y, qid), (Z, _, other) = equally_long()
    with pytest.raises(CatBoostError, match="the same 60 labels in the same order but other"):
        trained(eval_metric("ndcng", qid, other), pool(X, y, qid), pool(Z, y, other))


def test_a_set_may_be_evaluated_on_itself(parts):
    train = parts[0]
    metric = eval_metric("ndcng", train[2], train[2])
    model, recorded = trained(metric, pool(*train), pool(*train))
    expected = by_round(model, sg.NDCNG(), *train)
    for values in recorded.values():
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6)


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
    train, valid = parts
    metric = eval_metric("ndcng", train[2], valid[2])
    model, recorded = trained(metric, pool(*train), pool(*valid), metric_period=5)
    expected = by_round(model, sg.NDCNG(), *valid)
    kept = [expected[i] for i in (0, 5, 10, 11)]
    np.testing.assert_allclose(recorded["validation"], kept, rtol=0, atol=1e-6)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_measure_the_same(parts, clone):
    train, valid = parts
    metric = eval_metric("AP(threshold=2)@5", train[2], valid[2])
    _, expected = trained(metric, pool(*train), pool(*valid))
    copied = clone(metric)
    assert repr(copied) == repr(metric) == "eval_metric('AP(threshold=2)@5')"
    assert trained(copied, pool(*train), pool(*valid))[1] == expected


def test_it_serves_one_training_after_another(parts):
    train, valid = parts
    metric = eval_metric("ndcng", train[2], valid[2])
    _, expected = trained(metric, pool(*train), pool(*valid))
    X, y, qid = valid
    other = pool(X, y[::-1].copy(), qid)
    model, recorded = trained(metric, pool(*train), other)
    np.testing.assert_allclose(
        recorded["validation"], by_round(model, sg.NDCNG(), X, y[::-1], qid), rtol=0, atol=1e-6
    )
    assert trained(metric, pool(*train), pool(*valid))[1] == expected


# Errors ------------------------------------------------------------------------------------------

def test_rows_that_it_was_not_told_of_are_an_error(parts):
    train, (X, y, qid) = parts
    metric = eval_metric("ndcng", train[2], qid)
    with pytest.raises(CatBoostError, match=f"told by eval_group_id of {len(y)} rows"):
        trained(metric, pool(*train), pool(X[:-1], y[:-1], qid[:-1]))
    with pytest.raises(CatBoostError, match="told by group_id of .* Make a metric for each"):
        trained(metric, pool(*generated(5, 30)), pool(X, y, qid))


def test_other_queries_than_it_was_told_of_are_an_error(parts):
    train, (X, y, qid) = parts
    other = np.arange(len(y)) // 2
    with pytest.raises(CatBoostError, match="told by eval_group_id"):
        trained(eval_metric("ndcng", train[2], other), pool(*train), pool(X, y, qid))
    with pytest.raises(CatBoostError, match="told by group_id"):  # the two are swapped
        trained(eval_metric("ndcng", qid, train[2]), pool(*train), pool(X, y, qid))


def test_without_a_fit_that_calls_the_number_of_rows_must_tell_the_set():
    metric = eval_metric("ndcng", [1, 1, 2], [1, 2, 2])
    with pytest.raises(ValueError, match="cannot tell whose they are"):
        metric.evaluate([np.zeros(3)], np.zeros(3), None)


def test_a_regression_may_have_no_groups(parts):
    (X, y, qid), (Z, t, other) = parts
    metric = eval_metric("ndcng", qid, other)
    model, recorded = trained(metric, Pool(X, y), Pool(Z, t), loss_function="RMSE")
    expected = by_round(model, sg.NDCNG(), Z, t, other)
    np.testing.assert_allclose(recorded["validation"], expected, rtol=0, atol=1e-6)


def test_a_set_on_which_the_measure_is_undefined_is_an_error(parts):
    train, (X, y, qid) = parts
    metric = eval_metric("ndcng", train[2], qid)
    with pytest.raises(CatBoostError, match="NDCNG is undefined for every query of this data"):
        trained(metric, pool(*train), pool(X, np.zeros(len(y)), qid))


def test_nan_scores_and_scores_of_several_classes_are_an_error():
    metric = eval_metric("ndcng", [1, 1, 1], [1, 2, 2, 2])
    target = np.array([1, 2, 1, 0], dtype=np.float32)
    assert metric.evaluate([np.array([4.0, 3, 2, 1])], target, None) == (1.0, 1.0)
    with pytest.raises(ValueError, match="NaN: row 2 is nan"):
        metric.evaluate([np.array([1, 2, np.nan, 3])], target, None)
    with pytest.raises(ValueError, match=r"1-D.*shape \(4, 3\)"):
        metric.evaluate([np.zeros(4)] * 3, target, None)


@pytest.mark.parametrize("name", ["group_id", "eval_group_id"])
@pytest.mark.parametrize(
    "ids, message",
    [
        ([1, 1, 2, 1], "must be together.* {} comes back to an earlier query in row 3"),
        ([1, None, 2], "^{} is missing in row 1"),
        ([], "{} is empty"),
        (None, "{} must be an array with the id of each row"),
        ("abc", "{} must be an array with the id of each row"),
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
