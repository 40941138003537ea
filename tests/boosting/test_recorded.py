"""What holds for our metric in LightGBM and in XGBoost alike, in real trainings."""

import copy
import pickle

import numpy as np
import pytest
from recorded import LightGBM, XGBoost, all_judgments, generated, n_judgments, repeated

import skgraded as sg


@pytest.fixture(params=[LightGBM, XGBoost], ids=["LightGBM", "XGBoost"])
def library(request):
    return request.param


@pytest.fixture
def sets(library):
    return library.sets()


@pytest.fixture
def constructed(sets):
    """The set that is not trained on, ready to be read."""
    return sets[1].construct() if hasattr(sets[1], "construct") else sets[1]


# Values ------------------------------------------------------------------------------------------

def test_a_constant_model_on_sorted_rows_does_not_look_perfect(library):
    train = library.data(np.zeros((12, 1)), np.array([1.0, 0.0] * 6), [2] * 6)
    history, _ = library.history_of(
        train, [train], library.metric(["ndcg", "ap"]), 1, library.first_ndcg
    )
    recorded = history["set0"]
    assert recorded["ndcg@1"] == [1.0]
    assert recorded["NDCG"] == pytest.approx([(1 + 1 / np.log2(3)) / 2], abs=library.precision)
    assert recorded["AP"] == pytest.approx([(1 + 1 / 2) / 2], abs=library.precision)


def test_one_measure_gives_one_value_and_a_list_gives_a_list(library, constructed):
    scores = np.random.default_rng(2).normal(size=90)
    grades, (group, _) = constructed.get_label(), library.queries_of(constructed)
    ndcng, mu_ap = (
        (name, sg.measure(name)(grades, scores, group=group), *library.higher_is_better)
        for name in ("NDCNG@10", "MuAP")
    )
    metric = library.metric
    assert metric("ndcng@10")(scores, constructed) == ndcng
    assert metric(sg.NDCNG(k=10))(scores, constructed) == ndcng
    assert metric(["ndcng@10"])(scores, constructed) == [ndcng]
    assert metric(("ndcng@10", sg.MuAP()))(scores, constructed) == [ndcng, mu_ap]
    assert type(ndcng[1]) is float


def test_the_weight_of_a_query_counts(library, sets):
    X, y, group = generated(1, repeats=1)
    weight = np.array([3, 0, 1, 0.5, 2, 1, 1, 0.25, 4, 2])
    valid = library.data(X, y, group, weight, sets[0])
    history, booster = library.history_of(sets[0], [valid], library.metric("mu_map"))
    values = sg.MuAP().per_query(y, library.scores(booster, X), group=group)
    expected = np.average(values, weights=weight)
    assert history["set0"]["MuAP"][-1] == pytest.approx(expected, abs=library.precision)
    assert expected != pytest.approx(values.mean(), abs=1e-4)


@pytest.mark.parametrize("scale", [0.1, 0.3, 0.7, 0.0123, 12.34, 1000.25, 3e15])
def test_decimal_grades_are_measured_as_they_were_written(library, scale):
    X, y, group = generated(1)
    y = np.round(y * scale, 6)
    data = library.data(X, y, group)
    measures = [
        sg.NDCG(gain="linear"), sg.NDCNG(k=5), sg.MuAP(), sg.NDCNG(max_grade=5 * scale),
        sg.AP(threshold=np.round(2 * scale, 6)), *([sg.NDCG(k=3)] if scale < 100 else []),
    ]
    history, booster = library.history_of(
        data, [data], library.metric(measures), 2, library.regression
    )
    results = library.metric(measures)(X[:, 0], data)
    for (name, value, *_), measure in zip(results, measures, strict=True):
        assert name == measure.name
        assert value == pytest.approx(measure(y, X[:, 0], group=group), abs=1e-13), name
        expected = measure(y, library.scores(booster, X), group=group)
        recorded = history["set0"][name][-1]
        assert recorded == pytest.approx(expected, abs=library.precision), name


def test_a_grade_at_the_threshold_is_relevant_in_a_library_too(library):
    for scale in (0.1, 0.7, 1 / 3, 5 / 6, 12.34, 1e-30, 123457.0, 3e15):
        for level in (1, 2, 3):
            X, y, group = generated(1)
            y = np.minimum(y, 3) * scale
            measures = [
                sg.AP(threshold=level * scale), sg.Recall(threshold=level * scale, k=5),
                sg.NDCNG(max_grade=3 * scale),
            ]
            data = library.data(X, y, group)
            data = data.construct() if library is LightGBM else data
            results = library.metric(measures)(X[:, 0], data)
            for (name, value, *_), measure in zip(results, measures, strict=True):
                assert name == measure.name
                assert value == pytest.approx(measure(y, X[:, 0], group=group), rel=1e-6), name


# Every n rounds ----------------------------------------------------------------------------------

@pytest.mark.parametrize("every", [1, 2, 3, 7, 8, 50])
def test_every_computes_at_rounds_1_and_n_plus_1_and_repeats_between(library, sets, every):
    expected, _ = library.history_of(sets[0], sets, library.metric("ndcg"))
    assert all(len(set(recorded["NDCG"])) == 8 for recorded in expected.values())
    metric = library.metric("ndcg", every=every)
    for n_rounds in (8, 7, 8):  # the count starts anew with each training
        history, _ = library.history_of(sets[0], sets, metric, n_rounds)
        for name, recorded in history.items():
            assert recorded["NDCG"] == repeated(expected[name]["NDCG"][:n_rounds], every)


def test_a_continued_training_counts_anew(library, sets):
    metric = library.metric("ndcg", every=3)
    _, first = library.history_of(sets[0], sets[1:], metric, 5)
    continued = {library.continued: first}
    expected, _ = library.history_of(sets[0], sets[1:], library.metric("ndcg"), **continued)
    history, _ = library.history_of(sets[0], sets[1:], metric, **continued)
    assert history["set0"]["NDCG"] == repeated(expected["set0"]["NDCG"], 3)


def test_one_set_may_be_watched_twice(library, sets):
    expected, _ = library.history_of(sets[0], sets[1:], library.metric("ndcg"))
    metric = library.metric(["ndcg", "rr"], every=3)
    history, _ = library.history_of(sets[0], [sets[1], sets[1]], metric)
    for recorded in history.values():
        assert recorded["NDCG"] == repeated(expected["set0"]["NDCG"], 3)
    assert history["set0"] == history["set1"]


def test_every_counts_by_fold_in_cv(library):
    data = library.data(*generated(3))
    metrics = [library.metric("ndcg"), *2 * [library.metric("ndcg", every=3)]]
    results = [library.cv(data, metric, 7) for metric in metrics]
    for name, values in results[0].items():
        assert results[1][name] == results[2][name] == repeated(values, 3)


# What is kept, and for how long ------------------------------------------------------------------

def test_the_truth_is_laid_out_once_a_set_for_all_metrics(library, sets):
    before, seen = set(map(id, all_judgments())), []

    def gain(grades):  # called at each round
        seen.extend(thing for thing in all_judgments() if id(thing) not in before)
        return grades

    measure = sg.NDCG(gain=gain)
    library.history_of(sets[0], sets, library.metric(measure), 1)
    library.history_of(sets[0], sets, library.metric([measure, "ap"]), 3)
    assert len(set(map(id, seen))) == len(sets)


def test_the_truth_is_released_with_its_set(library):
    before = n_judgments()
    metric = library.metric("ndcg", every=2)
    train, valid = library.sets()
    library.history_of(train, [train, valid], metric)
    assert n_judgments() == before + 2
    del valid
    assert n_judgments() == before + 1
    del train
    assert n_judgments() == before
    library.cv(library.data(*generated(3)), metric, 2)
    assert n_judgments() == before


CHANGES = {
    "label": lambda library, data: data.set_label(data.get_label()[::-1].copy()),
    "group": lambda library, data: data.set_group(library.queries_of(data)[0][::-1].tolist()),
    "weight": lambda library, data: library.set_weight(data, np.arange(1.0, 11.0)),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("every", [1, 3])
def test_a_change_of_a_set_is_seen_at_once(library, constructed, change, every):
    scores = np.random.default_rng(4).normal(size=90)
    metric = library.metric("ndcng", every=every)

    def by_measure(scores=scores):
        group, weight = library.queries_of(constructed)
        return sg.NDCNG()(constructed.get_label(), scores, group=group, sample_weight=weight)

    before = metric(scores, constructed)[1]
    assert before == by_measure()
    assert metric(-scores, constructed)[1] == by_measure(-scores) != before
    CHANGES[change](library, constructed)
    assert metric(scores, constructed)[1] == by_measure() != before


def pickled(metric):
    return pickle.loads(pickle.dumps(metric))


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("measures", ["ndcng@5", ["ndcng@5", "AP(threshold=2,undefined=nan)"]])
def test_copies_measure_the_same_and_remember_nothing(library, sets, measures, clone):
    metric = library.metric(measures, every=3)
    expected, _ = library.history_of(sets[0], sets, metric, 5)
    copied = clone(metric)
    text = f"{library.metric.__name__}({measures!r}, every=3)".replace("ndcng", "NDCNG")
    assert repr(copied) == repr(metric) == text
    assert library.history_of(sets[0], sets, copied, 5)[0] == expected
    assert library.history_of(sets[0], sets, clone(copied), 5)[0] == expected


# Errors ------------------------------------------------------------------------------------------

def test_a_bare_measure_points_to_the_metric(library, sets):
    data_set, name = library.data_name.split(" of ")
    message = f"{data_set} from {name}.*use a metric from skgraded.{name}"
    with pytest.raises(TypeError, match=message):
        library.history_of(sets[0], sets, sg.NDCG(), 1)


@pytest.mark.parametrize("undefined", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("weight", [None, [0, 1]], ids=["no weight", "weight"])
def test_a_set_on_which_a_measure_is_undefined_is_an_error(library, weight, undefined):
    y = np.zeros(6) if weight is None else np.array([1.0, 2, 0, 0, 0, 0])
    data = library.data(np.ones((6, 1)), y, [3, 3], weight)
    metric = library.metric(["precision", sg.MuAP(undefined=undefined)])
    of_weight = " with positive weight" if weight else ""
    with pytest.raises(ValueError, match=f"MuAP.* is undefined for every query{of_weight} in"):
        library.history_of(data, [data], metric, 2)


def test_a_threshold_that_no_grade_reaches_is_an_error(library, sets):
    with pytest.raises(ValueError, match=r"AP\(threshold=5\) is undefined for every query"):
        library.history_of(sets[0], sets[1:], library.metric("AP(threshold=5)"))


def test_scores_of_several_classes_are_an_error(library):
    data = library.data(*generated(1))
    with pytest.raises(ValueError, match=r"1-D.*shape \(270, 5\)"):
        library.history_of(data, [data], library.metric("ndcng"), 1, library.of_classes)


def test_as_many_predictions_as_labels_are_needed(library, constructed):
    with pytest.raises(ValueError, match="There are 89 predictions for 90 labels"):
        library.metric("ndcng")(np.ones(89), constructed)


@pytest.mark.parametrize("every", [0, -1, 1.5, "2", None, True, np.nan])
def test_every_must_be_a_whole_number_from_1(library, every):
    with pytest.raises((ValueError, TypeError), match="every"):
        library.metric("ndcng", every=every)


@pytest.mark.parametrize("measures", ["ndgc@10", [], ["map", "ap"], 5, None])
def test_measures_that_cannot_be_read_are_an_error(library, measures):
    with pytest.raises((ValueError, TypeError)):
        library.metric(measures)
