"""The measures as LightGBM's metrics, in real trainings; see also `test_recorded`."""

import lightgbm as lgb
import numpy as np
import pytest
from recorded import SIZES, LightGBM, generated, letor_parts, n_judgments, repeated

import skgraded as sg
from skgraded.datasets import make_ranking
from skgraded.lightgbm import eval_metric, evaluate_rounds

PARAMS = LightGBM.params
dataset, history_of = LightGBM.data, LightGBM.history_of


@pytest.fixture
def sets():
    return LightGBM.sets()


@pytest.fixture(scope="module")
def letor(data_dir):
    return letor_parts(data_dir)


def parts_of(n_queries):
    """Datasets to train on and of the last 20 queries, and X, y and qid of these."""
    X, y, qid = make_ranking(n_queries=n_queries, random_state=0)
    last = qid >= n_queries - 20
    train, valid = (
        lgb.Dataset(X[rows], y[rows], group=np.unique(qid[rows], return_counts=True)[1])
        for rows in (~last, last)
    )
    return train, valid, (X[last], y[last], qid[last])


# Values ------------------------------------------------------------------------------------------

def test_ordinal_values_are_those_of_lightgbm_at_every_round(letor):
    train = dataset(*letor[0])
    valid = dataset(*letor[1], reference=train)
    cut_offs = [1, 3, 5, 10, 1000]
    rule = {"ties": "ordinal", "undefined": 1.0}
    ours = [cls(k=k, **rule) for k in cut_offs for cls in (sg.NDCG, sg.AP)]
    history, _ = history_of(
        train, [train, valid], eval_metric(ours), n_rounds=30,
        params={"metric": ["ndcg", "map"], "eval_at": cut_offs},
    )
    assert set(history) == {"set0", "set1"}
    for recorded in history.values():
        for measure in ours:
            name = {"NDCG": "ndcg", "AP": "map"}[type(measure).__name__]
            theirs = recorded[f"{name}@{measure.k}"]
            assert len(theirs) == 30
            np.testing.assert_allclose(recorded[measure.name], theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("measure", [sg.NDCNG(k=10), sg.MuAP(), sg.AP(threshold=2, ties="worst")])
def test_early_stopping_finds_the_best_recorded_value(letor, measure, every):
    train = dataset(*letor[0])
    X, y, group = letor[1]
    history, booster = history_of(
        train, [dataset(X, y, group, reference=train)], eval_metric(measure, every=every),
        n_rounds=200, callbacks=[lgb.early_stopping(15, verbose=False)],
    )
    values = history["set0"][measure.name]
    assert booster.best_iteration == np.argmax(values) + 1 < len(values) < 200
    assert booster.best_iteration % every == 1 % every
    for n in (1, booster.best_iteration):
        scores = booster.predict(X, num_iteration=n)
        assert values[n - 1] == pytest.approx(measure(y, scores, group=group), abs=1e-9)
    assert booster.best_score["set0"][measure.name] == max(values)


def test_arrays_may_take_the_place_of_a_dataset(sets):
    valid = sets[1].construct()
    y, scores, group = valid.get_label(), np.random.default_rng(2).normal(size=90), list(SIZES)
    metric = eval_metric(["ndcng@10", "mu_map"])
    expected = metric(scores, valid)
    assert metric(y, scores, None, valid.get_group()) == expected
    assert metric(list(y), list(scores), None, group) == expected


def test_cv_gives_the_mean_over_the_folds():
    X, y, group = generated(3)
    starts = np.cumsum(group) - group
    halves = [np.arange(starts[15]), np.arange(starts[15], len(y))]
    folds = [(halves[0], halves[1]), (halves[1], halves[0])]
    result = lgb.cv(
        PARAMS, dataset(X, y, group), 6, folds=folds, feval=eval_metric(["ndcng@5", "mu_map"]),
        return_cvbooster=True,
    )
    for measure in (sg.NDCNG(k=5), sg.MuAP()):
        by_fold = [
            measure(y[test], booster.predict(X[test]), group=sizes)
            for booster, (_, test), sizes in zip(
                result["cvbooster"].boosters, folds, (group[15:], group[:15]), strict=True
            )
        ]
        mean = (by_fold[0] + by_fold[1]) / 2
        assert result[f"valid {measure}-mean"][-1] == pytest.approx(mean, abs=1e-9)


def test_a_ranker_of_scikit_learn_form_records_the_same_as_train_in_each_fit(sets):
    X, y, group = generated(0)
    eval_X, eval_y, eval_group = generated(1, repeats=1)
    # The names that both LightGBM 4.6 and 4.7 take without a warning differ.
    new = "eval_X" in lgb.LGBMRanker.fit.__annotations__
    pair = {"eval_X": eval_X, "eval_y": eval_y} if new else {"eval_set": [(eval_X, eval_y)]}
    history, _ = history_of(sets[0], sets[1:], eval_metric(["ndcng@10", "mu_map"]))
    metric = eval_metric(["ndcng@10", "mu_map"], every=3)
    before = n_judgments()
    for _ in range(2):  # the count starts anew
        ranker = lgb.LGBMRanker(n_estimators=8, **PARAMS).fit(
            X, y, group=group, eval_group=[eval_group], eval_metric=metric, **pair
        )
        (recorded,) = ranker.evals_result_.values()
        assert recorded.keys() == {"NDCNG@10", "MuAP"}
        for name, values in history["set0"].items():
            expected = repeated(values, 3)
            np.testing.assert_allclose(recorded[name], expected, rtol=0, atol=1e-12)
    assert n_judgments() == before  # the truth went with the Datasets


# Every n rounds ----------------------------------------------------------------------------------

def test_the_count_starts_anew_with_each_training_whatever_lives_on(sets):
    each_round, _ = history_of(sets[0], sets, eval_metric("ndcng"))
    metric = eval_metric("ndcng", every=3)
    kept = []  # Boosters that live on, and Boosters that make room for the next one's buffers
    for keep in (False, True, True, False):
        history, booster = history_of(
            sets[0], sets, metric, n_rounds=8 - keep, keep_training_booster=keep
        )
        for name, recorded in history.items():
            assert recorded["NDCNG"] == repeated(each_round[name]["NDCNG"][: 8 - keep], 3)
        if keep:
            kept.append(booster)
        del booster


def test_two_metrics_of_one_training_count_apart(sets):
    each_round, _ = history_of(sets[0], sets, eval_metric(["ndcng", "mu_map"]))
    fevals = [eval_metric("ndcng", every=3), eval_metric(["mu_map"], every=2)]
    history, _ = history_of(sets[0], sets, fevals)
    for name, recorded in history.items():
        assert recorded["NDCNG"] == repeated(each_round[name]["NDCNG"], 3)
        assert recorded["MuAP"] == repeated(each_round[name]["MuAP"], 2)


def test_of_two_measures_lightgbm_stops_on_any_unless_told_to_stop_on_the_first():
    train, valid, _ = parts_of(80)
    # The precision of the whole list is the same for every ranking, and stalls at once.
    metric = eval_metric(["ndcng@10", "p"])
    stopped = {}
    for first in (True, False):
        stop = lgb.early_stopping(5, first_metric_only=first, verbose=False)
        history, booster = history_of(train, [valid], metric, 100, callbacks=[stop])
        stopped[first] = booster.best_iteration, 1 + np.argmax(history["set0"]["NDCNG@10"])
    assert 1 < stopped[True][0] == stopped[True][1]
    assert stopped[False][0] == 1 < stopped[False][1]


# What is kept, and for how long ------------------------------------------------------------------

def test_labels_changed_in_place_are_seen_at_once(sets):
    valid = sets[1].construct()
    scores = np.random.default_rng(4).normal(size=90)
    metric = eval_metric("ndcng", every=3)
    before = metric(scores, valid)[1]
    valid.get_label()[:] = valid.get_label()[::-1].copy()
    expected = sg.NDCNG()(valid.get_label(), scores, group=list(SIZES))
    assert metric(scores, valid)[1] == expected != before


def test_a_change_of_the_arrays_is_seen_at_once():
    _, y, group = generated(1, repeats=1)
    y = y.astype(np.float32)
    weight = np.ones(len(y), dtype=np.float32)
    scores = np.random.default_rng(4).normal(size=len(y))
    metric = eval_metric("mu_map", every=5)
    seen = set()
    for change in (lambda: None, y.sort, group.sort, lambda: weight[: group[0]].fill(9)):
        change()
        expected = sg.MuAP()(y, scores, group=group, sample_weight=weight)
        assert metric(y, scores, weight, group)[1] == expected
        seen.add(expected)
    assert len(seen) == 4


def test_the_text_of_a_metric_says_what_it_measures():
    assert repr(eval_metric("mu_map")) == "eval_metric('MuAP')"
    assert repr(eval_metric(["map@5"], every=2)) == "eval_metric(['AP@5'], every=2)"


# Grades of 32 bits -------------------------------------------------------------------------------

def test_a_threshold_too_small_for_32_bits_keeps_the_irrelevant_out():
    metric = eval_metric("AP(threshold=1e-60)")
    assert metric(np.array([0, 1]), np.array([2.0, 1.0]), None, [2])[1] == 1 / 2


# Errors ------------------------------------------------------------------------------------------

def test_nan_predictions_are_an_error_that_names_round_and_row(sets):
    metric, rounds = eval_metric("ndcng"), []

    def spoilt(preds, data):
        rounds.append(preds)
        if len(rounds) == 3:
            preds[7] = np.nan
        return metric(preds, data)

    with pytest.raises(ValueError, match="NaN; got nan for row 7 at round 3 of the training"):
        history_of(sets[0], sets[1:], spoilt)


def test_the_first_nan_prediction_is_named():
    y, scores = np.array([0, 1, 2, 0]), np.array([0.5, np.inf, np.nan, np.nan])
    metric = eval_metric("ndcng", every=2)
    with pytest.raises(ValueError, match="got nan for row 2:"):
        metric(y, scores, None, [4])
    scores[2:] = -np.inf  # not retrieved
    assert metric(y, scores, None, [4])[1] == sg.NDCNG()(y, scores)


def test_a_set_without_queries_or_labels_is_an_error():
    X, y, _ = generated(1)
    data = dataset(X, y, None)
    with pytest.raises(ValueError, match="no query sizes.*group="):
        history_of(data, [data], eval_metric("ndcng"), params={"objective": "regression"})
    with pytest.raises(ValueError, match="no query sizes.*group="):
        eval_metric("ndcng")(y, X[:, 0])
    with pytest.raises(ValueError, match="no labels"):
        eval_metric("ndcng")(None, np.ones(3), None, [3])


@pytest.mark.parametrize(
    "group, message", [([2, 0, 2], "group.1. is 0"), ([2, 3], "add up to 5"), ([4, -1], "-1")]
)
def test_group_sizes_must_fit(group, message):
    with pytest.raises(ValueError, match=message):
        eval_metric("ndcng")(np.arange(4), np.ones(4), None, group)


# Rounds of a finished model ----------------------------------------------------------------------

@pytest.mark.parametrize("boosting", ["gbdt", "rf"])
def test_rounds_of_a_finished_model_are_those_of_its_training(boosting):
    train, valid, (X, y, qid) = parts_of(60)
    params = {"boosting": boosting, "bagging_fraction": 0.5, "bagging_freq": 1}
    booster = lgb.train(PARAMS | params, train, 35)
    found = evaluate_rounds(booster, valid, ["ndcng@10", "mu_map"], every=10)
    assert found.rounds.tolist() == [10, 20, 30, 35]
    for i, n_rounds in enumerate(found.rounds):
        scores = booster.predict(X, num_iteration=n_rounds)
        expected = sg.evaluate(y, scores, qid=qid).mean()
        assert {name: one[i] for name, one in found.values.items()} == pytest.approx(expected)
    assert found.best_score == max(found.values["NDCNG@10"])
    assert found.best_round == found.rounds[np.argmax(found.values["NDCNG@10"])]


def test_rounds_of_a_ranker():
    _, valid, (X, y, qid) = parts_of(60)
    model = lgb.LGBMRanker(n_estimators=5, n_jobs=1, verbose=-1)
    model.fit(X, y, group=np.bincount(qid)[np.unique(qid)])
    found = evaluate_rounds(model, valid, every=100)
    assert found.rounds.tolist() == [5]
    assert found.best_score == pytest.approx(sg.NDCNG(k=10)(y, model.predict(X), qid=qid))


@pytest.mark.parametrize(("data", "message"), [
    (lambda: 7, "data must be a lightgbm.Dataset; got int"),
    (lambda: lgb.Dataset(np.ones((2, 10))), "has no labels"),
    (lambda: lgb.Dataset(np.ones((2, 10)), [0, 1]), "has no query sizes"),
])
def test_rounds_of_bad_data(data, message):
    train, _, _ = parts_of(60)
    booster = lgb.train(PARAMS, train, 2)
    with pytest.raises((ValueError, TypeError), match=message):
        evaluate_rounds(booster, data())
