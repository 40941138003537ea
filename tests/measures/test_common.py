"""Properties that all measures share, run for each measure of the registry that has them."""

import copy
import inspect
import pickle
from math import nan

import numpy as np
import pandas as pd
import pytest
from queries import random_queries
from registry import (
    FEW,
    IDEAL_IS_ONE,
    REGISTRY,
    SCALE_INVARIANT,
    TIES,
    entry_of,
    rebuilt,
    tie_rules,
    with_ties,
)

import skgraded as sg
from skgraded.measures.base import find_undefined, list_parameters, score_queries

CLOSE = {"rtol": 1e-11, "atol": 1e-13}


def with_every_tie_rule(measures):
    return [with_ties(measure, ties) for measure in measures for ties in tie_rules(measure)]


def with_every_undefined(measures):
    return [rebuilt(measure, undefined=value) for measure in measures for value in (0.0, 1.0, nan)]


def by_class(measures):
    """Parametrize by the ``measures`` of one class; a failure names the measure."""
    groups = {}
    for measure in measures:
        groups.setdefault(type(measure).__name__, []).append(measure)
    return pytest.mark.parametrize("measures", groups.values(), ids=groups)


EVERY = with_every_tie_rule(FEW)
every_measure_and_tie_rule = by_class(EVERY)
has_tie_rules = by_class([measure for measure in FEW if tie_rules(measure) == TIES])


# Grades of similar size avoid rounding errors in comparisons with 0 and 1.
QUERIES = random_queries(seed=7, n_queries=60, sizes=(1, 12), grades=(0, 0, 0.5, 1, 2, 4))
ROWS = {"y_true": QUERIES.y_true, "y_score": QUERIES.y_score, "qid": QUERIES.qid}


@pytest.fixture(scope="module")
def alone():
    """Values of each measure with each tie rule, computed in separate calls."""
    return {measure: measure.per_query(**ROWS) for measure in EVERY}


def reordered(rows, order):
    return {name: column[order] for name, column in rows.items()}


def test_no_measure_is_forgotten():
    exported = {
        name
        for name, value in vars(sg).items()
        if inspect.isclass(value) and hasattr(value, "per_query") and hasattr(value, "n_undefined")
    }
    assert exported - {"Measure"} == set(REGISTRY)
    assert {type(measure) for measure in FEW} == {entry.cls for entry in REGISTRY.values()}


def test_every_parameter_is_in_the_grid():
    for name, entry in REGISTRY.items():
        ties = {"ties"} if entry.tie_rules != (None,) else set()
        parameters = set(inspect.signature(entry.cls).parameters)
        assert parameters == {"undefined", *ties, *entry.settings[0]}, name


# --- what a value is ---------------------------------------------------------------------------


@every_measure_and_tie_rule
def test_the_mean_of_the_per_query_values_is_a_python_float(measures):
    for measure in measures:
        values = measure.per_query(**ROWS)
        assert values.shape == (len(QUERIES),) and values.dtype == np.float64
        judgments = sg.Judgments(QUERIES.y_true, qid=QUERIES.qid)
        for value in (measure(**ROWS), measure(judgments, QUERIES.y_score)):
            assert type(value) is float
            assert value == pytest.approx(values.mean(), rel=1e-12), measure
        assert type(measure(QUERIES.y_true, QUERIES.y_score)) is float


@every_measure_and_tie_rule
def test_values_lie_between_0_or_minus_1_and_1(measures):
    for measure in measures:
        for scores in (QUERIES.y_score, QUERIES.y_true, -QUERIES.y_true):
            values = measure.per_query(QUERIES.y_true, scores, qid=QUERIES.qid)
            entry = entry_of(measure)
            assert (values >= entry.lowest).all() and (values <= entry.highest).all(), measure


@has_tie_rules
def test_worst_is_at_most_average_is_at_most_best(measures):
    for measure in measures:
        worst, average, ordinal, best = (
            with_ties(measure, ties).per_query(**ROWS)
            for ties in ("worst", "average", "ordinal", "best")
        )
        assert (worst <= average + 1e-12).all() and (average <= best + 1e-12).all(), measure
        assert (worst <= ordinal + 1e-12).all() and (ordinal <= best + 1e-12).all(), measure


@by_class(with_every_tie_rule(IDEAL_IS_ONE))
def test_an_ideal_list_scores_1(measures):
    for measure in measures:
        measure = rebuilt(measure, undefined=nan)
        for scores in (QUERIES.y_true, 3 * QUERIES.y_true - 100, np.sqrt(QUERIES.y_true)):
            values = measure.per_query(QUERIES.y_true, scores, qid=QUERIES.qid)
            defined = ~np.isnan(values)
            assert defined.sum() > 40
            assert (values[defined] == 1.0).all(), measure


# --- what changes nothing ----------------------------------------------------------------------


@every_measure_and_tie_rule
def test_increasing_transforms_of_the_scores_change_nothing(measures):
    queries = random_queries(
        seed=3, n_queries=50, sizes=(1, 15), grades=(0, 1, 2, 4), scores=(-3.0, -1.0, 0.0, 0.5, 2.0)
    )
    for measure in measures:
        expected = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
        for transform in (np.exp, np.arctan, lambda s: 1e6 * s + 3, lambda s: s**3 * 1e-200):
            values = measure.per_query(queries.y_true, transform(queries.y_score), qid=queries.qid)
            np.testing.assert_array_equal(values, expected, err_msg=str(measure))


@every_measure_and_tie_rule
def test_values_of_a_query_do_not_depend_on_other_queries(measures, alone):
    for measure in measures:
        values = [measure(grades, scores) for grades, scores in QUERIES.parts]
        np.testing.assert_array_equal(values, alone[measure], err_msg=str(measure))


@by_class(with_every_tie_rule(SCALE_INVARIANT))
def test_multiplied_grades_change_nothing(measures):
    for measure in measures:
        expected = measure.per_query(**ROWS)
        for factor in (2, 1 / 3, 1e-300, 1e300):
            values = measure.per_query(**ROWS | {"y_true": ROWS["y_true"] * factor})
            np.testing.assert_allclose(
                values, expected, rtol=1e-10, atol=1e-13, err_msg=f"{measure}, {factor}"
            )


# --- weights that are constant within a query --------------------------------------------------


WEIGHTS = np.append([1, 1, 1], np.random.default_rng(9).integers(0, 4, 57))[QUERIES.qid]
# Weights are used after the values are computed, so a few measures are enough.
WEIGHTED = with_every_undefined([sg.NDCNG(k=3), sg.MuAP(), sg.EDRC(), sg.KendallTau()])


@pytest.mark.parametrize("measure", WEIGHTED, ids=str)
def test_weights_of_queries(measure):
    value, kept = measure(**ROWS, sample_weight=WEIGHTS), reordered(ROWS, WEIGHTS > 0)
    # A query with weight 2 counts twice, and a query with weight 0 does not count.
    copies = [np.flatnonzero(WEIGHTS > n) for n in range(4)]
    repeated = reordered(ROWS, np.concatenate(copies))
    repeated["qid"] = [
        (number, int(query)) for number, c in enumerate(copies) for query in ROWS["qid"][c]
    ]
    assert value == pytest.approx(measure(**repeated), rel=1e-12)
    is_kept = np.where(WEIGHTS == 0, 0.0, 1.0)
    assert measure(**ROWS, sample_weight=is_kept) == pytest.approx(measure(**kept), rel=1e-12)
    ones = np.ones(len(WEIGHTS))
    assert measure(**ROWS, sample_weight=ones) == pytest.approx(measure(**ROWS))


# --- ways to call ------------------------------------------------------------------------------


@every_measure_and_tie_rule
def test_judgments_give_the_same_values_as_arrays(measures, alone):
    grades, qid = QUERIES.y_true, QUERIES.qid
    for measure in measures:
        judgments = sg.Judgments(grades, qid=qid, sample_weight=WEIGHTS)
        for scores in (QUERIES.y_score, -grades):
            value = measure(grades, scores, qid=qid, sample_weight=WEIGHTS)
            assert measure(judgments, scores) == value, measure
        values = measure.per_query(judgments, QUERIES.y_score)
        np.testing.assert_array_equal(values, alone[measure], err_msg=str(measure))
        n_undefined = measure.n_undefined(judgments)
        assert type(n_undefined) is int
        assert n_undefined == measure.n_undefined(grades, qid=qid), measure
        undefined = find_undefined(measure, judgments)
        assert undefined.dtype == bool and undefined.sum() == n_undefined, measure


def test_several_measures_at_once_equal_single_measures(alone):
    # All measures use one sort, with any cut-offs and tie rules.
    judgments = sg.Judgments(QUERIES.y_true, qid=QUERIES.qid)
    at_3 = [measure for measure in EVERY if getattr(measure, "k", None) == 3]
    # correlations from SciPy, alone and together with measures that the kernel computes
    of_scipy = [sg.KendallTau(), sg.SpearmanRho()]
    mixed = [of_scipy[0], sg.AP(), of_scipy[1], sg.EDRC()]
    for some in (EVERY, EVERY[::-1], at_3, EVERY[5:7], of_scipy, mixed):
        together = score_queries(some, judgments, QUERIES.y_score)
        for measure, values in zip(some, together, strict=True):
            np.testing.assert_array_equal(values, alone[measure], err_msg=str(measure))


def test_queries_are_passed_as_ids_or_group_sizes_or_are_a_single_query():
    sorted_rows = reordered(ROWS, np.argsort(ROWS["qid"], kind="stable"))
    y_true, y_score, qid = sorted_rows.values()
    group = np.unique(qid, return_counts=True)[1]
    for measure in (sg.NDCNG(k=3), sg.MuAP(), sg.KendallTau()):
        by_group = measure.per_query(y_true, y_score, group=group)
        np.testing.assert_array_equal(by_group, measure.per_query(**sorted_rows))
        assert measure.n_undefined(y_true, group=group) == measure.n_undefined(y_true, qid=qid)
        single = measure.per_query(ROWS["y_true"], ROWS["y_score"])
        same_id = measure.per_query(**ROWS | {"qid": ["q"] * len(qid)})
        assert single.shape == (1,) and single == same_id


# --- kinds of input ----------------------------------------------------------------------------

GRADE_ROWS = [1, 0, 3, 3, 2, 0, 1, 4, 0, 0, 1, 1]
SCORE_ROWS = [3, 1, 1, 0, 2, 2, 0, 0, 5, 1, 1, 0]
QID_ROWS = [0, 1, 0, 1, 0, 1, 0, 1, 2, 2, 1, 0]


def test_every_kind_of_column_is_read(make_column):
    # Columns are converted before measures are computed, so two measures are enough.
    for measure in (sg.NDCNG(k=3), sg.KendallTau()):
        y_true, grades = make_column(GRADE_ROWS)
        y_score, scores = make_column(SCORE_ROWS)
        sample_weight, weights = make_column([1 + row for row in QID_ROWS])
        qid, ids = make_column(QID_ROWS)
        expected = measure.per_query(grades, scores, qid=ids)
        np.testing.assert_array_equal(measure.per_query(y_true, y_score, qid=qid), expected)
        value = measure(y_true, y_score, qid=qid, sample_weight=sample_weight)
        assert value == measure(grades, scores, qid=ids, sample_weight=weights)
        group, sizes = make_column([1] * len(GRADE_ROWS))
        if isinstance(group, pd.Series):
            group = group.reset_index(drop=True)  # sizes in another order are refused
        by_group = measure.per_query(y_true, y_score, group=group)
        np.testing.assert_array_equal(by_group, measure.per_query(grades, scores, group=sizes))


@every_measure_and_tie_rule
def test_inputs_are_never_written_to(measures):
    weights = np.random.default_rng(0).uniform(size=len(QUERIES.qid))
    inputs = (QUERIES.y_true, QUERIES.y_score, QUERIES.qid, weights)
    copies = [array.copy() for array in inputs]
    judgments = sg.Judgments(copies[0], qid=copies[2], sample_weight=copies[3])
    for measure in measures:
        measure(judgments, copies[1])
        measure(copies[0], copies[1], qid=copies[2], sample_weight=copies[3])
        measure.per_query(copies[0], copies[1], qid=copies[2])
        measure.n_undefined(copies[0], qid=copies[2])
        for array, original in zip(copies, inputs, strict=True):
            np.testing.assert_array_equal(array, original, err_msg=str(measure))


# --- a measure as a value ----------------------------------------------------------------------


@every_measure_and_tie_rule
def test_copies_and_texts_of_a_measure_equal_the_measure(measures):
    for measure in with_every_undefined(measures):
        pickled = pickle.loads(pickle.dumps(measure))
        for twin in (pickled, copy.copy(measure), copy.deepcopy(measure)):
            assert twin == measure and hash(twin) == hash(measure)
            assert str(twin) == str(measure) == repr(measure) == measure.name
            assert twin([0, 1, 2], [1, 1, 2]) == measure([0, 1, 2], [1, 1, 2])
        assert not set(measure.name) & set(" :")
        if not any(callable(getattr(measure, name)) for name in list_parameters(measure)):
            assert sg.measure(measure.name) == measure
            assert sg.measure(measure.name).name == measure.name


def test_measures_are_immutable():
    for measure in FEW:
        before = str(measure)
        for parameter in ("k", "ties", "undefined", "name"):
            with pytest.raises(AttributeError):
                setattr(measure, parameter, 7)
        assert str(measure) == before


def test_measures_are_equal_if_their_parameters_are_equal():
    measures = with_every_undefined(EVERY)
    assert len(set(measures)) == len(measures) == len({str(measure) for measure in measures})
    assert FEW[0] != str(FEW[0]) and FEW[0] != None  # noqa: E711


def test_a_measure_has_the_signature_of_a_score_function():
    for measure in FEW:
        assert isinstance(measure.__name__, str) and measure.__name__
        parameters = inspect.signature(measure).parameters
        assert list(parameters)[:2] == ["y_true", "y_score"]
        for name in ("qid", "group", "sample_weight"):
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
            assert parameters[name].default is None


def test_the_order_of_rows_changes_no_bit():
    """This includes many tied documents, and different weights within a query."""
    rng = np.random.default_rng(0)
    n = 4000
    qid = np.repeat(np.arange(100), 40)
    grades = rng.integers(0, 7, n) * (rng.random(n) < 0.6) / 7
    scores = np.round(rng.normal(size=n), 0)
    scores[rng.random(n) < 0.05] = -np.inf
    columns = {"qid": qid, "sample_weight": rng.random(n)}
    expected = sg.Summary.of(sg.evaluate(grades, scores, measures=FEW, **columns))
    for _ in range(3):
        order = rng.permutation(n)
        ev = sg.evaluate(grades[order], scores[order], measures=FEW, **reordered(columns, order))
        assert sg.Summary.of(ev) == expected
