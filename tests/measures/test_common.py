"""Properties that all measures share, run for each measure of the registry that has them."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from queries import random_queries
from registry import (
    FEW,
    FEW_WITH_TIES,
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

CLOSE = {"rtol": 1e-11, "atol": 1e-13}

every_measure = pytest.mark.parametrize("measure", FEW, ids=str)


def with_every_tie_rule(measures):
    """Parametrize by (measure, ties): each measure with each tie rule that it has."""
    both = [(measure, ties) for measure in measures for ties in tie_rules(measure)]
    return pytest.mark.parametrize(
        ("measure", "ties"), both, ids=[f"{measure}-{ties}" for measure, ties in both]
    )


every_measure_and_tie_rule = with_every_tie_rule(FEW)
has_tie_rules = pytest.mark.parametrize(
    "measure", [measure for measure in FEW if tie_rules(measure) == TIES], ids=str
)


@pytest.fixture(scope="module")
def queries():
    # Grades at most 4 apart in size keep the comparisons free of rounding at both ends.
    return random_queries(seed=7, n_queries=60, sizes=(1, 12), grades=(0, 0, 0.5, 1, 2, 4))


def test_no_measure_is_forgotten():
    exported = {
        name
        for name, value in vars(sg).items()
        if inspect.isclass(value) and hasattr(value, "per_query") and hasattr(value, "n_undefined")
    }
    assert exported - {"Measure"} == set(REGISTRY)
    assert {type(measure) for measure in FEW} == {entry.cls for entry in REGISTRY.values()}


@pytest.mark.parametrize("name", REGISTRY)
def test_every_parameter_is_in_the_grid(name):
    entry = REGISTRY[name]
    parameters = set(inspect.signature(entry.cls).parameters) - {"ties", "undefined"}
    assert parameters == set(entry.settings[0])


# --- what a value is ---------------------------------------------------------------------------


@every_measure
def test_the_mean_is_a_python_float(measure, queries):
    value = measure(queries.y_true, queries.y_score, qid=queries.qid)
    assert type(value) is float
    assert type(measure(queries.y_true, queries.y_score)) is float
    assert type(measure(sg.Judgments(queries.y_true, qid=queries.qid), queries.y_score)) is float


@every_measure_and_tie_rule
def test_the_mean_is_that_of_the_per_query_values(measure, ties, queries):
    measure = with_ties(measure, ties)
    values = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
    assert values.shape == (len(queries),) and values.dtype == np.float64
    value = measure(queries.y_true, queries.y_score, qid=queries.qid)
    assert value == pytest.approx(values.mean(), rel=1e-12)


@every_measure_and_tie_rule
def test_values_lie_between_0_or_minus_1_and_1(measure, ties, queries):
    lowest = entry_of(measure).lowest
    measure = with_ties(measure, ties)
    for scores in (queries.y_score, queries.y_true, -queries.y_true):
        values = measure.per_query(queries.y_true, scores, qid=queries.qid)
        assert (values >= lowest).all() and (values <= 1).all()


@has_tie_rules
def test_worst_is_at_most_average_is_at_most_best(measure, queries):
    worst, average, ordinal, best = (
        with_ties(measure, ties).per_query(queries.y_true, queries.y_score, qid=queries.qid)
        for ties in ("worst", "average", "ordinal", "best")
    )
    assert (worst <= average + 1e-12).all() and (average <= best + 1e-12).all()
    assert (worst <= ordinal + 1e-12).all() and (ordinal <= best + 1e-12).all()
    # The value over all retrieved documents changes with no order.
    if measure not in (sg.Precision(), sg.GeneralizedPrecision()):
        assert (worst < best - 1e-3).any(), "no tie was tested"


@has_tie_rules
def test_without_score_ties_the_rules_agree(measure, queries):
    scores = np.random.default_rng(0).permutation(len(queries.y_true)) / 7
    values = [
        with_ties(measure, ties).per_query(queries.y_true, scores, qid=queries.qid) for ties in TIES
    ]
    for other in values[1:]:
        np.testing.assert_allclose(other, values[0], **CLOSE)


@with_every_tie_rule(IDEAL_IS_ONE)
def test_an_ideal_list_scores_1(measure, ties, queries):
    measure = rebuilt(with_ties(measure, ties), undefined=float("nan"))
    for scores in (queries.y_true, 3 * queries.y_true - 100, np.sqrt(queries.y_true)):
        values = measure.per_query(queries.y_true, scores, qid=queries.qid)
        defined = ~np.isnan(values)
        assert defined.sum() > 40
        assert (values[defined] == 1.0).all()


def test_lists_that_are_not_ideal_score_less_than_1():
    for measure in IDEAL_IS_ONE:
        if getattr(measure, "k", None) not in (None, "mean"):
            continue
        if isinstance(measure, (sg.Recall, sg.GeneralizedRecall)):
            expected = 1.0  # all are retrieved
        elif entry_of(measure).lowest == -1:
            expected = pytest.approx(-1)
        else:
            expected = pytest.approx(0.5, abs=0.4)
        assert measure([0, 1, 2], [3, 2, 1]) == expected


# --- what changes nothing ----------------------------------------------------------------------


@every_measure_and_tie_rule
def test_growing_transforms_of_the_scores_change_nothing(measure, ties):
    measure = with_ties(measure, ties)
    queries = random_queries(
        seed=3, n_queries=50, sizes=(1, 15), grades=(0, 1, 2, 4), scores=(-3.0, -1.0, 0.0, 0.5, 2.0)
    )
    expected = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
    for transform in (np.exp, np.arctan, lambda s: 1e6 * s + 3, lambda s: s**3 * 1e-200):
        values = measure.per_query(queries.y_true, transform(queries.y_score), qid=queries.qid)
        np.testing.assert_array_equal(values, expected)


@every_measure_and_tie_rule
def test_a_shift_of_one_querys_scores_changes_nothing(measure, ties, queries):
    # Only comparisons inside a query count.
    measure = with_ties(measure, ties)
    scores = np.round(np.random.default_rng(1).normal(size=len(queries.qid)) * 2)
    expected = measure.per_query(queries.y_true, scores, qid=queries.qid)
    shifted = measure.per_query(queries.y_true, scores + 1000 * queries.qid, qid=queries.qid)
    np.testing.assert_array_equal(shifted, expected)


@every_measure_and_tie_rule
def test_the_order_of_the_rows_changes_nothing(measure, ties, queries):
    if ties == "ordinal":
        return  # the rule that lets the row order decide
    measure = with_ties(measure, ties)
    values = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
    ids = sg.Judgments(queries.y_true, qid=queries.qid).query_ids
    by_query = dict(zip(ids.tolist(), values, strict=True))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(queries.qid))
        qid = queries.qid[order]
        moved = measure.per_query(queries.y_true[order], queries.y_score[order], qid=qid)
        expected = [by_query[one] for one in dict.fromkeys(qid.tolist())]
        np.testing.assert_allclose(moved, expected, **CLOSE)


@every_measure_and_tie_rule
def test_the_order_of_the_queries_changes_nothing(measure, ties, queries):
    # Rows keep their order within a query, so "ordinal" is in.
    measure = with_ties(measure, ties)
    grouped = np.argsort(queries.qid, kind="stable")
    forward = measure.per_query(
        queries.y_true[grouped], queries.y_score[grouped], qid=queries.qid[grouped]
    )
    grouped = np.argsort(-queries.qid, kind="stable")
    backward = measure.per_query(
        queries.y_true[grouped], queries.y_score[grouped], qid=queries.qid[grouped]
    )
    np.testing.assert_array_equal(backward[::-1], forward)
    interleaved = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
    ids = dict.fromkeys(queries.qid.tolist())
    np.testing.assert_array_equal(interleaved, [forward[one] for one in ids])


@every_measure_and_tie_rule
def test_each_query_is_scored_as_if_alone(measure, ties, queries):
    measure = with_ties(measure, ties)
    values = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
    alone = [measure(grades, scores) for grades, scores in queries.parts]
    np.testing.assert_array_equal(values, alone)


@every_measure_and_tie_rule
def test_two_parts_of_the_queries_make_the_whole(measure, ties, queries):
    measure = with_ties(measure, ties)
    whole = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
    ids = np.array(list(dict.fromkeys(queries.qid.tolist())))
    first = np.isin(queries.qid, ids[: len(ids) // 3])
    parts = [
        measure.per_query(queries.y_true[part], queries.y_score[part], qid=queries.qid[part])
        for part in (first, ~first)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@with_every_tie_rule(SCALE_INVARIANT)
@pytest.mark.parametrize("factor", [2, 1 / 3, 1e-300, 1e300])
def test_multiplied_grades_change_nothing(measure, ties, factor, queries):
    measure = with_ties(measure, ties)
    expected = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
    values = measure.per_query(queries.y_true * factor, queries.y_score, qid=queries.qid)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("ties", TIES)
def test_one_level_above_zero_makes_mu_ap_equal_to_ap(k, ties):
    queries = random_queries(seed=11, n_queries=80, sizes=(1, 20), grades=(0, 0, 2.5))
    arguments = {"y_true": queries.y_true, "y_score": queries.y_score, "qid": queries.qid}
    graded = sg.MuAP(k=k, ties=ties).per_query(**arguments)
    binary = sg.AP(k=k, ties=ties).per_query(**arguments)
    np.testing.assert_allclose(graded, binary, **CLOSE)


# --- weights: those that are constant within a query -------------------------------------------


@pytest.fixture(scope="module")
def weighted(queries):
    rng = np.random.default_rng(9)
    of_query = rng.integers(0, 4, queries.qid.max() + 1)
    of_query[:3] = 1
    return of_query[queries.qid]


@every_measure
@pytest.mark.parametrize("undefined", [0.0, 1.0, float("nan")])
class TestWeights:
    def test_none_is_ones(self, measure, undefined, queries):
        measure = rebuilt(measure, undefined=undefined)
        ones = np.ones(len(queries.qid))
        value = measure(queries.y_true, queries.y_score, qid=queries.qid, sample_weight=ones)
        assert value == pytest.approx(measure(queries.y_true, queries.y_score, qid=queries.qid))

    def test_weight_2_is_the_query_twice(self, measure, undefined, queries, weighted):
        measure = rebuilt(measure, undefined=undefined)
        value = measure(queries.y_true, queries.y_score, qid=queries.qid, sample_weight=weighted)
        copies = [np.flatnonzero(weighted > n) for n in range(4)]
        rows = np.concatenate(copies)
        qid = [(number, int(one)) for number, c in enumerate(copies) for one in queries.qid[c]]
        repeated = measure(queries.y_true[rows], queries.y_score[rows], qid=qid)
        assert value == pytest.approx(repeated, rel=1e-12)

    def test_weight_0_is_its_removal(self, measure, undefined, queries, weighted):
        measure = rebuilt(measure, undefined=undefined)
        weights = np.where(weighted == 0, 0.0, 1.0)
        value = measure(queries.y_true, queries.y_score, qid=queries.qid, sample_weight=weights)
        kept = weighted > 0
        without = measure(queries.y_true[kept], queries.y_score[kept], qid=queries.qid[kept])
        assert value == pytest.approx(without, rel=1e-12)

    @pytest.mark.parametrize("factor", [0.1, 10, 1e-300, 1e300])
    def test_scaling_all_changes_nothing(self, measure, undefined, factor, queries, weighted):
        measure = rebuilt(measure, undefined=undefined)
        arguments = {"y_true": queries.y_true, "y_score": queries.y_score, "qid": queries.qid}
        value = measure(**arguments, sample_weight=weighted)
        scaled = measure(**arguments, sample_weight=weighted * factor)
        assert scaled == pytest.approx(value, rel=1e-12)


@every_measure
def test_a_querys_weight_is_the_mean_of_its_rows(measure, queries):
    rng = np.random.default_rng(4)
    weights = rng.uniform(0, 2, len(queries.qid))
    ids = list(dict.fromkeys(queries.qid.tolist()))
    of_query = [weights[queries.qid == one].mean() for one in ids]
    values = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
    value = measure(queries.y_true, queries.y_score, qid=queries.qid, sample_weight=weights)
    assert value == pytest.approx(np.average(values, weights=of_query), rel=1e-12)


# --- ways to call ------------------------------------------------------------------------------


@every_measure_and_tie_rule
def test_judgments_give_what_a_direct_call_gives(measure, ties, queries, weighted):
    measure = with_ties(measure, ties)
    judgments = sg.Judgments(queries.y_true, qid=queries.qid, sample_weight=weighted)
    for scores in (queries.y_score, -queries.y_true, queries.y_score):
        value = measure(queries.y_true, scores, qid=queries.qid, sample_weight=weighted)
        assert measure(judgments, scores) == value
        values = measure.per_query(queries.y_true, scores, qid=queries.qid)
        np.testing.assert_array_equal(measure.per_query(judgments, scores), values)
    assert measure.n_undefined(judgments) == measure.n_undefined(queries.y_true, qid=queries.qid)
    undefined = measure.undefined_queries(judgments)
    assert undefined.dtype == bool and undefined.sum() == measure.n_undefined(judgments)
    assert type(measure.n_undefined(judgments)) is int


def test_one_judgments_serves_all_measures_in_any_order(queries):
    judgments = sg.Judgments(queries.y_true, qid=queries.qid)
    measures = [with_ties(measure, ties) for measure, ties in FEW_WITH_TIES]
    expected = [m.per_query(queries.y_true, queries.y_score, qid=queries.qid) for m in measures]
    for start in (0, 17, 40):
        for i in np.roll(np.arange(len(measures)), start):
            values = measures[i].per_query(judgments, queries.y_score)
            np.testing.assert_array_equal(values, expected[i], err_msg=str(measures[i]))


def test_several_measures_at_once_are_the_same_as_one_by_one(queries):
    # One sort serves them all, whatever their cut-offs and tie rules.
    from skgraded.measures import score_queries

    judgments = sg.Judgments(queries.y_true, qid=queries.qid)
    measures = [with_ties(measure, ties) for measure, ties in FEW_WITH_TIES]
    at_3 = [m for m in measures if getattr(m, "k", None) == 3]
    # SciPy's correlations alone and beside measures that the kernel sums
    of_scipy = [sg.KendallTau(), sg.SpearmanRho()]
    mixed = [of_scipy[0], sg.AP(), of_scipy[1], sg.EDRC()]
    for some in (measures, measures[::-1], at_3, measures[5:7], of_scipy, mixed):
        together = score_queries(some, judgments, queries.y_score)
        assert len(together) == len(some)
        for measure, values in zip(some, together, strict=True):
            alone = measure.per_query(judgments, queries.y_score)
            np.testing.assert_array_equal(values, alone, err_msg=str(measure))


@every_measure
def test_group_sizes_are_the_same_as_qids(measure, queries):
    order = np.argsort(queries.qid, kind="stable")
    y_true, y_score, qid = (c[order] for c in (queries.y_true, queries.y_score, queries.qid))
    group = np.unique(qid, return_counts=True)[1]
    by_group = measure.per_query(y_true, y_score, group=group)
    np.testing.assert_array_equal(by_group, measure.per_query(y_true, y_score, qid=qid))
    assert measure.n_undefined(y_true, group=group) == measure.n_undefined(y_true, qid=qid)


@every_measure
def test_all_rows_are_one_query_without_qid_and_group(measure, queries):
    one = measure.per_query(queries.y_true, queries.y_score)
    assert one.shape == (1,)
    same = measure.per_query(queries.y_true, queries.y_score, qid=["q"] * len(queries.qid))
    np.testing.assert_array_equal(one, same)


# --- kinds of input ----------------------------------------------------------------------------

GRADE_ROWS = [1, 0, 3, 3, 2, 0, 1, 4, 0, 0, 1, 1]
SCORE_ROWS = [3, 1, 1, 0, 2, 2, 0, 0, 5, 1, 1, 0]
QID_ROWS = [0, 1, 0, 1, 0, 1, 0, 1, 2, 2, 1, 0]


@every_measure
def test_every_kind_of_column_is_read(measure, make_column):
    y_true, grades = make_column(GRADE_ROWS)
    y_score, scores = make_column(SCORE_ROWS)
    sample_weight, weights = make_column([1 + one for one in QID_ROWS])
    qid, ids = make_column(QID_ROWS)
    expected = measure.per_query(grades, scores, qid=ids)
    np.testing.assert_array_equal(measure.per_query(y_true, y_score, qid=qid), expected)
    value = measure(y_true, y_score, qid=qid, sample_weight=sample_weight)
    assert value == measure(grades, scores, qid=ids, sample_weight=weights)
    group, sizes = make_column([1] * len(GRADE_ROWS))
    by_group = measure.per_query(y_true, y_score, group=group)
    np.testing.assert_array_equal(by_group, measure.per_query(grades, scores, group=sizes))


@every_measure_and_tie_rule
def test_inputs_are_never_written_to(measure, ties, queries):
    measure = with_ties(measure, ties)
    weights = np.random.default_rng(0).uniform(size=len(queries.qid))
    inputs = (queries.y_true, queries.y_score, queries.qid, weights)
    copies = [array.copy() for array in inputs]
    judgments = sg.Judgments(copies[0], qid=copies[2], sample_weight=copies[3])
    measure(judgments, copies[1])
    measure(copies[0], copies[1], qid=copies[2], sample_weight=copies[3])
    measure.per_query(copies[0], copies[1], qid=copies[2])
    measure.n_undefined(copies[0], qid=copies[2])
    for array, original in zip(copies, inputs, strict=True):
        np.testing.assert_array_equal(array, original)


# --- a measure as a value ----------------------------------------------------------------------


@every_measure_and_tie_rule
@pytest.mark.parametrize("undefined", [0.0, 1.0, float("nan")])
def test_a_measure_is_a_value(measure, ties, undefined):
    measure = rebuilt(with_ties(measure, ties), undefined=undefined)
    for twin in (pickle.loads(pickle.dumps(measure)), copy.copy(measure), copy.deepcopy(measure)):
        assert twin == measure and hash(twin) == hash(measure)
        assert str(twin) == str(measure) == repr(measure) == measure.name
        assert twin([0, 1, 2], [1, 1, 2]) == measure([0, 1, 2], [1, 1, 2])
    assert not set(measure.name) & set(" :")
    if not any(callable(getattr(measure, name, None)) for name in ("gain", "discount")):
        assert sg.measure(measure.name) == measure
        assert sg.measure(measure.name).name == measure.name


@every_measure
def test_a_measure_does_not_change(measure):
    before = str(measure)
    for parameter in ("k", "ties", "undefined", "name"):
        with pytest.raises(AttributeError):
            setattr(measure, parameter, 7)
    assert str(measure) == before


def test_measures_are_equal_when_their_texts_are():
    measures = [
        rebuilt(with_ties(measure, ties), undefined=undefined)
        for measure, ties in FEW_WITH_TIES
        for undefined in (0.0, 1.0, float("nan"))
    ]
    assert len(set(measures)) == len(measures) == len({str(measure) for measure in measures})
    assert FEW[0] != str(FEW[0]) and FEW[0] != None  # noqa: E711


@every_measure
def test_a_measure_looks_like_a_score_function(measure):
    assert isinstance(measure.__name__, str) and measure.__name__
    parameters = inspect.signature(measure).parameters
    assert list(parameters)[:2] == ["y_true", "y_score"]
    for name in ("qid", "group", "sample_weight"):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default is None


@every_measure
def test_the_order_of_rows_changes_no_bit(measure):
    """Also where many documents tie, and the weights of a query's rows differ."""
    rng = np.random.default_rng(0)
    n = 4000
    qid = np.repeat(np.arange(100), 40)
    grades = rng.integers(0, 7, n) * (rng.random(n) < 0.6) / 7
    scores = np.round(rng.normal(size=n), 0)
    scores[rng.random(n) < 0.05] = -np.inf
    weights = rng.random(n)
    expected = sg.evaluate(grades, scores, qid=qid, measures=measure, sample_weight=weights)
    for _ in range(3):
        order = rng.permutation(n)
        found = sg.evaluate(
            grades[order], scores[order], qid=qid[order], measures=measure,
            sample_weight=weights[order],
        )
        assert sg.Summary.of(found) == sg.Summary.of(expected)
