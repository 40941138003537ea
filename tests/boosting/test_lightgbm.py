"""The measures as LightGBM's metrics, in real trainings."""

import copy
import gc
import pickle

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

import skgraded as sg
from skgraded.datasets import make_ranking
from skgraded.lightgbm import eval_metric, evaluate_rounds

PARAMS = {
    "objective": "lambdarank",
    "metric": "None",
    "num_threads": 1,
    "learning_rate": 0.2,
    "min_data_in_leaf": 5,
    "verbose": -1,
}
SIZES = (7, 12, 1, 9, 14, 5, 11, 8, 13, 10)


def generated(seed, repeats=3):
    """X, y and group of a small ranking problem that can be learned in part."""
    rng = np.random.default_rng(seed)
    group = np.tile(SIZES, repeats)
    X = rng.normal(size=(group.sum(), 4))
    y = np.clip(np.round(X[:, 0] + 1.5 * rng.normal(size=len(X))), 0, 4)
    return X, y, group


def dataset(X, y, group, **kwargs):
    return lgb.Dataset(X, y, group=group, free_raw_data=False, params={"verbose": -1}, **kwargs)


@pytest.fixture
def sets():
    train = dataset(*generated(0))
    return train, dataset(*generated(1, repeats=1), reference=train)


def history_of(train, valid_sets, feval, n_rounds=8, callbacks=(), **kwargs):
    """Values recorded at each round: {set: {metric: [values]}}, and the Booster."""
    history = {}
    booster = lgb.train(
        PARAMS | kwargs.pop("params", {}), train, n_rounds, valid_sets=valid_sets, feval=feval,
        callbacks=[lgb.record_evaluation(history), *callbacks], **kwargs,
    )
    return history, booster


def repeated(values, every):
    """What `every` makes of the values of all rounds."""
    return [values[i - i % every] for i in range(len(values))]


@pytest.fixture(scope="module")
def letor(data_dir):
    """(X, y, group) of LightGBM's own ranking example: for training, and for validation."""
    folder = data_dir / "lightgbm-lambdarank"
    return [
        (
            *load_svmlight_file(str(folder / f"rank.{part}"), n_features=301),
            np.loadtxt(folder / f"rank.{part}.query", dtype=int),
        )
        for part in ("train", "test")
    ]


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
    assert set(history) == {"training", "valid_1"}
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
    values = history["valid_0"][measure.name]
    assert booster.best_iteration == np.argmax(values) + 1 < len(values) < 200
    assert booster.best_iteration % every == 1 % every
    for n in (1, booster.best_iteration):
        scores = booster.predict(X, num_iteration=n)
        assert values[n - 1] == pytest.approx(measure(y, scores, group=group), abs=1e-9)
    assert booster.best_score["valid_0"][measure.name] == max(values)


def test_a_constant_model_on_sorted_rows_does_not_look_perfect():
    y, group = np.array([1.0, 0.0] * 6), [2] * 6
    train = dataset(np.zeros((12, 1)), y, group)
    history, _ = history_of(
        train, [train], eval_metric(["ndcg", "ap"]), n_rounds=1, params={"metric": "ndcg"}
    )
    recorded = history["training"]
    assert recorded["ndcg@1"] == [1.0]
    assert recorded["NDCG"] == pytest.approx([(1 + 1 / np.log2(3)) / 2])
    assert recorded["AP"] == pytest.approx([(1 + 1 / 2) / 2])


def test_one_measure_gives_one_value_and_a_list_gives_a_list(sets):
    train, valid = (data.construct() for data in sets)
    scores = np.random.default_rng(2).normal(size=valid.num_data())
    expected = {
        m: sg.measure(m)(valid.get_label(), scores, group=valid.get_group())
        for m in ("ndcng@10", "muap")
    }
    ndcng = ("NDCNG@10", expected["ndcng@10"], True)
    assert eval_metric("ndcng@10")(scores, valid) == ndcng
    assert eval_metric(sg.NDCNG(k=10))(scores, valid) == ndcng
    assert eval_metric(["ndcng@10"])(scores, valid) == [ndcng]
    both = [ndcng, ("MuAP", expected["muap"], True)]
    assert eval_metric(("ndcng@10", sg.MuAP()))(scores, valid) == both
    by_arrays = eval_metric(["ndcng@10", "mu_map"])
    assert by_arrays(valid.get_label(), scores, None, valid.get_group()) == both
    assert by_arrays(list(valid.get_label()), list(scores), None, list(SIZES)) == both
    assert type(both[0][1]) is float


def test_weights_of_the_dataset_count(sets):
    X, y, group = generated(1, repeats=1)
    weight = np.repeat([3, 0, 1, 0.5, 2, 1, 1, 0.25, 4, 2], group)
    valid = dataset(X, y, group, weight=weight, reference=sets[0])
    history, booster = history_of(sets[0], [valid], eval_metric("mu_map"))
    expected = sg.MuAP()(y, booster.predict(X), group=group, sample_weight=weight)
    assert history["valid_0"]["MuAP"][-1] == pytest.approx(expected, abs=1e-9)
    assert expected != pytest.approx(sg.MuAP()(y, booster.predict(X), group=group), abs=1e-4)


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


def fit_ranker(metric, valid, n_rounds=8, **kwargs):
    ranker = lgb.LGBMRanker(n_estimators=n_rounds, **PARAMS)
    Xv, yv, gv = valid
    # The names that both LightGBM 4.6 and 4.7 take without a warning differ.
    new = "eval_X" in lgb.LGBMRanker.fit.__annotations__
    pair = {"eval_X": Xv, "eval_y": yv} if new else {"eval_set": [(Xv, yv)]}
    X, y, group = generated(0)
    return ranker.fit(
        X, y, group=group, eval_group=[gv], eval_metric=metric, **pair, **kwargs
    )


def test_the_ranker_of_scikit_learn_form_records_the_same_as_train(sets):
    measures = ["ndcng@10", "mu_map"]
    ranker = fit_ranker(eval_metric(measures), generated(1, repeats=1))
    history, _ = history_of(*sets, eval_metric(measures))
    (recorded,) = ranker.evals_result_.values()
    (expected,) = history.values()
    assert recorded.keys() == {"NDCNG@10", "MuAP"}
    for name, values in expected.items():
        np.testing.assert_allclose(recorded[name], values, rtol=0, atol=1e-12)


# Every n rounds ----------------------------------------------------------------------------------

@pytest.fixture
def each_round(sets):
    """Values of all 8 rounds: of the training data, and of the validation data."""
    history, _ = history_of(sets[0], list(sets), eval_metric("ndcng"))
    values = [recorded["NDCNG"] for recorded in history.values()]
    assert all(len(set(v)) == 8 for v in values)
    return values


@pytest.mark.parametrize("every", [1, 2, 3, 7, 8, 50])
def test_every_computes_at_rounds_1_and_n_plus_1_and_repeats_between(sets, each_round, every):
    history, _ = history_of(sets[0], list(sets), eval_metric("ndcng", every=every))
    recorded = [h["NDCNG"] for h in history.values()]
    assert recorded == [repeated(values, every) for values in each_round]


def test_the_count_starts_anew_with_each_training(sets, each_round):
    metric = eval_metric("ndcng", every=3)
    kept = []  # Boosters that live on, and Boosters that make room for the next one's buffers
    for keep in (False, True, True, False):
        history, booster = history_of(
            sets[0], list(sets), metric, n_rounds=8 - keep, keep_training_booster=keep
        )
        recorded = [h["NDCNG"] for h in history.values()]
        assert recorded == [repeated(values[: 8 - keep], 3) for values in each_round]
        if keep:
            kept.append(booster)
        del booster


def test_a_continued_training_counts_anew(sets):
    _, first = history_of(*sets, eval_metric("ndcng"), n_rounds=5)
    metric = eval_metric("ndcng", every=3)
    history_of(*sets, metric, n_rounds=5)
    expected, _ = history_of(*sets, eval_metric("ndcng"), init_model=first)
    recorded, _ = history_of(*sets, metric, init_model=first)
    assert recorded["valid_0"]["NDCNG"] == repeated(expected["valid_0"]["NDCNG"], 3)


def test_one_dataset_may_be_watched_twice(sets, each_round):
    train, valid = sets
    fevals = [eval_metric("ndcng", every=3), eval_metric(["mu_map"], every=2)]
    history, _ = history_of(train, [valid, valid], fevals, valid_names=["a", "b"])
    for name in ("a", "b"):
        assert history[name]["NDCNG"] == repeated(each_round[1], 3)
        assert history[name]["MuAP"][::2] == history[name]["MuAP"][1::2]


def test_every_counts_by_fold_in_cv():
    data = dataset(*generated(3))
    results = [
        lgb.cv(PARAMS, data, 7, nfold=3, feval=metric, eval_train_metric=True)
        for metric in [eval_metric("ndcng")] + 2 * [eval_metric("ndcng", every=3)]
    ]
    for name, values in results[0].items():
        assert results[1][name] == results[2][name] == repeated(values, 3)


def test_a_ranker_fitted_twice_counts_anew():
    metric = eval_metric("ndcng", every=3)
    valid = generated(1, repeats=1)
    (expected,) = fit_ranker(eval_metric("ndcng"), valid).evals_result_.values()
    for _ in range(2):
        (recorded,) = fit_ranker(metric, valid).evals_result_.values()
        assert recorded["NDCNG"] == repeated(expected["NDCNG"], 3)


@pytest.mark.parametrize("every", [0, -1, 1.5, "2", None, True, np.nan])
def test_every_must_be_a_whole_number_from_1(every):
    with pytest.raises((ValueError, TypeError), match="every"):
        eval_metric("ndcng", every=every)


def test_of_two_measures_lightgbm_stops_on_any_unless_told_to_stop_on_the_first():
    X, y, qid = sg.datasets.make_ranking(n_queries=80, random_state=0)
    train, valid = (
        lgb.Dataset(X[part], y[part], group=np.bincount(qid[part])[np.unique(qid[part])])
        for part in (qid < 60, qid >= 60)
    )
    # The precision of the whole list is the same for every ranking, and stalls at once.
    metric = eval_metric(["ndcng@10", "p"])

    def best_round(first_metric_only):
        history = {}
        booster = lgb.train(
            PARAMS | {"metric": "None"}, train, 100, valid_sets=[valid], feval=metric,
            callbacks=[
                lgb.early_stopping(5, first_metric_only=first_metric_only, verbose=False),
                lgb.record_evaluation(history),
            ],
        )
        return booster.best_iteration, history["valid_0"]

    stopped, values = best_round(first_metric_only=True)
    assert 1 < stopped == 1 + np.argmax(values["NDCNG@10"])
    stopped, values = best_round(first_metric_only=False)
    assert stopped == 1 < 1 + np.argmax(values["NDCNG@10"])


# What is kept, and for how long ------------------------------------------------------------------

def test_the_truth_is_laid_out_once_a_dataset_for_all_metrics(sets):
    before, seen = set(map(id, all_judgments())), []

    def gain(grades):  # asked for at each round
        seen.extend(thing for thing in all_judgments() if id(thing) not in before)
        return grades

    measure = sg.NDCG(gain=gain)
    metrics = [eval_metric(measure), eval_metric([measure, "ap"])]
    history_of(sets[0], list(sets), metrics, n_rounds=3)
    assert len(set(map(id, seen))) == len(sets)


def all_judgments():
    return [thing for thing in gc.get_objects() if type(thing) is sg.Judgments]


def n_judgments():
    gc.collect()
    return len(all_judgments())


def test_the_truth_is_released_with_its_dataset():
    before = n_judgments()
    metric = eval_metric("ndcng")
    train = dataset(*generated(0))
    valid = dataset(*generated(1, repeats=1), reference=train)
    history_of(train, [train, valid], metric)
    assert n_judgments() == before + 2
    del valid
    assert n_judgments() == before + 1
    del train
    assert n_judgments() == before
    fit_ranker(metric, generated(1, repeats=1))
    assert n_judgments() == before
    lgb.cv(PARAMS, dataset(*generated(3)), 2, nfold=3, feval=metric)
    assert n_judgments() == before


def in_place(data):
    data.get_label()[:] = data.get_label()[::-1].copy()


@pytest.mark.parametrize(
    "change",
    [
        in_place,
        lambda data: data.set_label(data.get_label()[::-1].copy()),
        lambda data: data.set_group(list(SIZES[::-1])),
        lambda data: data.set_weight(np.repeat(np.arange(1.0, 11.0), SIZES)),
    ],
    ids=["label in place", "label", "group", "weight"],
)
@pytest.mark.parametrize("every", [1, 3])
def test_a_change_of_the_dataset_is_seen_at_once(sets, change, every):
    valid = sets[1].construct()
    scores = np.random.default_rng(4).normal(size=valid.num_data())
    metric = eval_metric("ndcng", every=every)

    def by_measure():
        return sg.NDCNG()(
            valid.get_label(), scores, group=valid.get_group(), sample_weight=valid.get_weight()
        )

    before = metric(scores, valid)[1]
    assert before == by_measure()
    change(valid)
    assert metric(scores, valid)[1] == by_measure() != before


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


def pickled(metric):
    return pickle.loads(pickle.dumps(metric))


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("measures", ["ndcng@5", ["ndcng@5", "AP(threshold=2,undefined=nan)"]])
def test_copies_measure_the_same_and_remember_nothing(sets, measures, clone):
    metric = eval_metric(measures, every=3)
    expected, _ = history_of(*sets, metric, n_rounds=2)
    copied = clone(metric)
    assert repr(copied) == repr(metric)
    assert history_of(*sets, copied, n_rounds=2)[0] == expected
    assert history_of(*sets, clone(copied), n_rounds=2)[0] == expected


def test_the_text_of_a_metric_says_what_it_measures():
    assert repr(eval_metric("mu_map")) == "eval_metric('MuAP')"
    assert repr(eval_metric(["map@5"], every=2)) == "eval_metric(['AP@5'], every=2)"


# Grades of 32 bits -------------------------------------------------------------------------------

@pytest.mark.parametrize("scale", [0.1, 0.7, 1 / 3, 5 / 6, 12.34, 1e-30, 123457.0, 3e15])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_grade_at_the_threshold_is_relevant_in_lightgbm_too(scale, level):
    X, y, group = generated(1)
    y = np.minimum(y, 3) * scale
    measures = [
        sg.AP(threshold=level * scale), sg.Recall(threshold=level * scale, k=5),
        sg.NDCNG(max_grade=3 * scale),
    ]
    data = dataset(X, y, group).construct()
    results = eval_metric(measures)(X[:, 0], data)
    for (name, value, _), measure in zip(results, measures, strict=True):
        assert name == measure.name
        assert value == pytest.approx(measure(y, X[:, 0], group=group), rel=1e-6)


@pytest.mark.parametrize("scale", [0.1, 0.3, 0.7, 0.0123, 12.34, 1000.25, 3e15])
def test_decimal_grades_are_measured_as_they_were_written(scale):
    X, y, group = generated(1)
    y = np.round(y * scale, 6)
    measures = [sg.NDCG(gain="linear"), sg.NDCNG(k=5), sg.MuAP(), sg.NDCNG(max_grade=5 * scale)]
    train = dataset(X, y, group)
    history, booster = history_of(
        train, [train], eval_metric(measures), params={"objective": "regression"}
    )
    for measure in measures:
        expected = measure(y, booster.predict(X), group=group)
        assert history["training"][measure.name][-1] == pytest.approx(expected, abs=1e-13)


def test_a_threshold_too_small_for_32_bits_keeps_the_irrelevant_out():
    metric = eval_metric("AP(threshold=1e-60)")
    assert metric(np.array([0, 1]), np.array([2.0, 1.0]), None, [2])[1] == 1 / 2


# Errors ------------------------------------------------------------------------------------------

def test_a_bare_measure_as_feval_points_to_the_metric(sets):
    with pytest.raises(TypeError, match="Dataset of lightgbm.*what skgraded.lightgbm makes of the"):
        history_of(*sets, sg.NDCG())


def test_nan_predictions_are_an_error_that_names_round_and_row(sets):
    metric, rounds = eval_metric("ndcng"), []

    def spoilt(preds, data):
        rounds.append(preds)
        if len(rounds) == 3:
            preds[7] = np.nan
        return metric(preds, data)

    with pytest.raises(ValueError, match="NaN: row 7 is nan at round 3 of the training"):
        history_of(*sets, spoilt)


def test_the_first_nan_prediction_is_named():
    y, scores = np.array([0, 1, 2, 0]), np.array([0.5, np.inf, np.nan, np.nan])
    metric = eval_metric("ndcng", every=2)
    with pytest.raises(ValueError, match="row 2 is nan at round 1"):
        metric(y, scores, None, [4])
    scores[2:] = -np.inf  # not retrieved
    assert metric(y, scores, None, [4])[1] == sg.NDCNG()(y, scores)


@pytest.mark.parametrize("undefined", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("weight", [None, [0, 0, 0, 1, 1, 1]], ids=["no weight", "weight"])
def test_a_set_on_which_a_measure_is_undefined_is_an_error(weight, undefined):
    y = np.zeros(6) if weight is None else np.array([1.0, 2, 0, 0, 0, 0])
    data = dataset(np.ones((6, 1)), y, [3, 3], weight=weight)
    metric = eval_metric(["precision", sg.MuAP(undefined=undefined)])
    of_weight = " with weight" if weight else ""
    with pytest.raises(ValueError, match=f"MuAP.* is undefined for every query{of_weight} of"):
        history_of(data, [data], metric, n_rounds=2, params={"objective": "regression"})


def test_a_threshold_that_no_grade_reaches_is_an_error(sets):
    with pytest.raises(ValueError, match=r"AP\(threshold=5\) is undefined for every query"):
        history_of(*sets, eval_metric("AP(threshold=5)"))


def test_a_dataset_without_queries_is_an_error(sets):
    X, y, _ = generated(1)
    data = dataset(X, y, None)
    with pytest.raises(ValueError, match="no query sizes.*group="):
        history_of(data, [data], eval_metric("ndcng"), params={"objective": "regression"})
    with pytest.raises(ValueError, match="no query sizes.*group="):
        eval_metric("ndcng")(y, X[:, 0])


def test_labels_that_are_missing_are_an_error():
    with pytest.raises(ValueError, match="no labels"):
        eval_metric("ndcng")(None, np.ones(3), None, [3])


def test_scores_of_several_classes_are_an_error():
    X, y, group = generated(1)
    data = dataset(X, y, group)
    with pytest.raises(ValueError, match=r"1-D.*shape \(270, 5\)"):
        history_of(
            data, [data], eval_metric("ndcng"), params={"objective": "multiclass", "num_class": 5}
        )


def test_as_many_predictions_as_labels_are_needed(sets):
    valid = sets[1].construct()
    with pytest.raises(ValueError, match="There are 89 predictions, but 90 labels"):
        eval_metric("ndcng")(np.ones(89), valid)


@pytest.mark.parametrize(
    "group, message", [([2, 0, 2], "size 1 is 0"), ([2, 3], "add up to 5"), ([4, -1], "-1")]
)
def test_group_sizes_must_fit(group, message):
    with pytest.raises(ValueError, match=message):
        eval_metric("ndcng")(np.arange(4), np.ones(4), None, group)


@pytest.mark.parametrize("measures", ["ndgc@10", [], ["map", "ap"], 5, None])
def test_measures_that_cannot_be_read_are_an_error(measures):
    with pytest.raises((ValueError, TypeError)):
        eval_metric(measures)


def rounds_data():
    X, y, qid = make_ranking(n_queries=60, random_state=0)
    train, valid = (
        lgb.Dataset(X[own], y[own], group=np.bincount(qid[own])[np.unique(qid[own])])
        for own in (qid < 40, qid >= 40)
    )
    return train, valid, (X[qid >= 40], y[qid >= 40], qid[qid >= 40])


@pytest.mark.parametrize("boosting", ["gbdt", "rf"])
def test_rounds_of_a_finished_model_are_those_of_its_training(boosting):
    train, valid, (X, y, qid) = rounds_data()
    params = {
        "objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1,
        "boosting": boosting, "bagging_fraction": 0.5, "bagging_freq": 1,
    }
    booster = lgb.train(params, train, 35)
    found = evaluate_rounds(booster, valid, ["ndcng@10", "mu_map"], every=10)
    assert found.rounds.tolist() == [10, 20, 30, 35]
    for i, n_rounds in enumerate(found.rounds):
        scores = booster.predict(X, num_iteration=n_rounds)
        expected = sg.evaluate(y, scores, qid=qid).mean()
        assert {name: one[i] for name, one in found.values.items()} == pytest.approx(expected)
    assert found.best_score == max(found.values["NDCNG@10"])
    assert found.best_round == found.rounds[np.argmax(found.values["NDCNG@10"])]


def test_rounds_of_a_ranker():
    _, valid, (X, y, qid) = rounds_data()
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
    train, _, _ = rounds_data()
    booster = lgb.train({"objective": "lambdarank", "verbose": -1, "num_threads": 1}, train, 2)
    with pytest.raises((ValueError, TypeError), match=message):
        evaluate_rounds(booster, data())
