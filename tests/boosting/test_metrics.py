"""Our metrics in LightGBM and in XGBoost: properties that both libraries share."""

import copy
import pickle

import numpy as np
import pytest
from recorded import LightGBM, XGBoost, generated, n_judgments

import skgraded as sg


@pytest.fixture(params=[LightGBM, XGBoost], ids=["LightGBM", "XGBoost"])
def library(request):
    return request.param


@pytest.fixture
def sets(library):
    return library.sets()


@pytest.fixture
def valid(sets):
    """The validation set; LightGBM's Dataset is binned."""
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


def test_one_measure_gives_one_value_and_a_list_gives_a_list(library, valid):
    scores = np.random.default_rng(2).normal(size=90)
    grades, (group, _) = valid.get_label(), library.queries_of(valid)
    ndcng, mu_ap = (
        (name, sg.measure(name)(grades, scores, group=group), *library.higher_is_better)
        for name in ("NDCNG@10", "MuAP")
    )
    metric = library.metric
    assert metric("ndcng@10")(scores, valid) == ndcng
    assert metric(sg.NDCNG(k=10))(scores, valid) == ndcng
    assert metric(["ndcng@10"])(scores, valid) == [ndcng]
    assert metric(("ndcng@10", sg.MuAP()))(scores, valid) == [ndcng, mu_ap]
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


@pytest.mark.parametrize("scale", [0.1, 0.7, 0.0123, 1000.25, 3e15])
def test_decimal_grades_have_the_same_value_as_before_rounding_to_32_bits(library, scale):
    X, y, group = generated(1)
    y = np.round(y * scale, 6)
    data = library.data(X, y, group)
    measures = [
        sg.NDCG(gain="linear"),
        sg.NDCNG(k=5),
        sg.MuAP(),
        sg.NDCNG(max_grade=5 * scale),
        sg.AP(threshold=np.round(2 * scale, 6)),
        *([sg.NDCG(k=3)] if scale < 100 else []),
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


def test_a_grade_equal_to_the_threshold_is_relevant(library):
    X, levels, group = generated(1)
    for scale in (0.1, 0.7, 1 / 3, 5 / 6, 12.34, 1e-30, 123457.0, 3e15):
        y = np.minimum(levels, 3) * scale
        measures = [sg.NDCNG(max_grade=3 * scale)]
        for level in (1, 2, 3):
            threshold = level * scale
            measures += [sg.AP(threshold=threshold), sg.Recall(threshold=threshold, k=5)]
        data = library.data(X, y, group)
        data = data.construct() if library is LightGBM else data
        results = library.metric(measures)(X[:, 0], data)
        for (name, value, *_), measure in zip(results, measures, strict=True):
            assert value == pytest.approx(measure(y, X[:, 0], group=group), rel=1e-6), name


# Cached judgments --------------------------------------------------------------------------------


def test_judgments_are_released_with_their_data_set(library):
    before = n_judgments()
    train, valid = library.sets()
    library.history_of(train, [train, valid], library.metric("ndcg"))
    assert n_judgments() == before + 2
    del valid
    assert n_judgments() == before + 1
    del train
    assert n_judgments() == before


CHANGES = {
    "label": lambda library, data: data.set_label(data.get_label()[::-1].copy()),
    "group": lambda library, data: data.set_group(library.queries_of(data)[0][::-1].tolist()),
    "weight": lambda library, data: library.set_weight(data, np.arange(1.0, 11.0)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_next_value_reflects_a_change_of_the_data_set(library, valid, change):
    scores = np.random.default_rng(4).normal(size=90)
    metric = library.metric("ndcng")

    def expected(scores=scores):
        group, weight = library.queries_of(valid)
        return sg.NDCNG()(valid.get_label(), scores, group=group, sample_weight=weight)

    before = metric(scores, valid)[1]
    assert before == expected()
    assert metric(-scores, valid)[1] == expected(-scores) != before
    CHANGES[change](library, valid)
    assert metric(scores, valid)[1] == expected() != before


@pytest.mark.parametrize("measures", ["NDCNG@5", ["NDCNG@5", "AP(threshold=2,undefined=nan)"]])
def test_copies_and_pickles_of_a_metric_compute_the_same(library, valid, measures):
    scores = np.random.default_rng(4).normal(size=90)
    metric = library.metric(measures)
    assert repr(metric) == f"{library.metric.__name__}({measures!r})"
    for other in (copy.copy(metric), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert repr(other) == repr(metric)
        assert other(scores, valid) == metric(scores, valid)


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("undefined", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("weight", [None, [0, 1]], ids=["no weight", "weight"])
def test_a_measure_without_a_defined_query_raises_an_error(library, weight, undefined):
    y = np.zeros(6) if weight is None else np.array([1.0, 2, 0, 0, 0, 0])
    data = library.data(np.ones((6, 1)), y, [3, 3], weight)
    metric = library.metric(["precision", sg.MuAP(undefined=undefined)])
    with pytest.raises(ValueError, match="MuAP.* is undefined for every query"):
        library.history_of(data, [data], metric, 2)


def test_errors_of_a_metric_end_the_training(library, sets):
    data = library.data(*generated(1))
    data_set, package = library.data_name.split(" of ")
    for train, metric, params, error, message in [
        (
            sets[0],
            sg.NDCG(),
            {},
            TypeError,
            f"{data_set} from {package}.*use a metric from skgraded.{package}",
        ),
        (
            sets[0],
            library.metric("AP(threshold=5)"),
            {},
            ValueError,
            r"AP\(threshold=5\) is undefined for every query",
        ),
        (data, library.metric("ndcng"), library.multiclass, ValueError, r"1-D.*shape \(270, 5\)"),
    ]:
        with pytest.raises(error, match=message):
            library.history_of(train, [train], metric, 1, params)
