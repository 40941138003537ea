"""Bad input gets one clear error, before any work: which argument, which row, which value."""

import warnings
from dataclasses import FrozenInstanceError
from decimal import Decimal

import numpy as np
import pytest
from registry import REGISTRY
from sklearn.linear_model import Ridge

import skgraded as sg

GOOD = {
    "y_true": [0, 1, 2, 0, 1, 2],
    "y_score": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    "qid": [1, 1, 1, 2, 2, 2],
}
WITH_GROUP = {"y_true": GOOD["y_true"], "y_score": GOOD["y_score"], "group": [3, 3]}


def call(y_true, y_score, **queries):
    return sg.NDCG()(y_true, y_score, **queries)


def per_query(y_true, y_score, **queries):
    queries.pop("sample_weight", None)
    return sg.MuAP().per_query(y_true, y_score, **queries)


def n_undefined(y_true, y_score, **queries):
    queries.pop("sample_weight", None)
    return sg.AP().n_undefined(y_true, **queries)


def judgments(y_true, y_score, **queries):
    return sg.Judgments(y_true, **queries)


def of_judgments(y_true, y_score, **queries):
    return sg.RR()(sg.Judgments(y_true, **queries), y_score)


CALLERS = [call, per_query, n_undefined, judgments, of_judgments]


def takes(caller, argument):
    """Whether a caller is handed an argument at all."""
    if argument == "y_score":
        return caller in (call, per_query, of_judgments)
    if argument == "sample_weight":
        return caller in (call, judgments, of_judgments)
    return True


def frame(values):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"grade": values})


def polars_frame(values):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"grade": values})


def nullable(values, dtype):
    return pytest.importorskip("pandas").Series(values, dtype=dtype)


def polars_series(values):
    return pytest.importorskip("polars").Series("x", values)


def check(argument, value, words, caller, good=GOOD, error=(ValueError, TypeError)):
    """Every word of ``words`` must be in the message, and the argument's name first of all."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error) as raised:
            caller(**{**good, argument: value})
    message = str(raised.value)
    assert argument in message
    for word in words:
        assert word in message, message
    assert len(message) < 300 and "\n" not in message


def every_caller_of(*arguments):
    """Parametrise a test by the arguments and, for each, the callers that are handed it."""
    pairs = [(one, caller) for one in arguments for caller in CALLERS if takes(caller, one)]
    ids = [f"{one}-{caller.__name__}" for one, caller in pairs]
    return pytest.mark.parametrize(("argument", "caller"), pairs, ids=ids)


ALL_COLUMNS = ("y_true", "y_score", "sample_weight", "qid", "group")
ALL_NUMBERS = ("y_true", "y_score", "sample_weight")


# --- lengths -----------------------------------------------------------------------------------


@every_caller_of("y_score", "qid", "sample_weight")
@pytest.mark.parametrize("n", [1, 5, 7])
def test_lengths_that_differ(argument, n, caller):
    check(argument, [1.0] * n, [str(n), "6"], caller)


@every_caller_of(*ALL_COLUMNS)
@pytest.mark.parametrize("empty", [[], (), np.array([]), np.empty((0, 3))], ids=repr)
def test_empty_input(argument, empty, caller):
    good = WITH_GROUP if argument == "group" else GOOD
    check(argument, empty, [], caller, good)


def test_all_inputs_empty():
    with pytest.raises(ValueError, match="y_true.*empty"):
        sg.NDCG()([], [], qid=[])
    with pytest.raises(ValueError, match="y_true.*empty"):
        sg.NDCG()([], [])


# --- grades and scores -------------------------------------------------------------------------


@every_caller_of("y_true")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_grades_that_are_not_finite(bad, argument, caller):
    grades = [0, 1, 2, bad, 1, bad]
    if np.isnan(bad) and caller is judgments:
        assert judgments(grades, None, qid=GOOD["qid"]).n_rows == 6  # the measures refuse it
    else:
        check(argument, grades, ["row 3", str(bad)], caller, error=ValueError)


@every_caller_of("y_true")
@pytest.mark.parametrize("bad", [-1, -0.5, -np.inf, -1e-300])
@pytest.mark.parametrize("first", [0, 4])
def test_grades_below_0(bad, first, argument, caller):
    grades = [0.0, 1, 2, 0, 1, -7]
    grades[first] = bad
    check(argument, grades, [f"row {first}", f"{bad:g}"], caller, error=ValueError)
    if np.isfinite(bad):
        check(argument, grades, ["irrelevant level"], caller)


@every_caller_of("y_score")
@pytest.mark.parametrize("scores", [[1, 2, np.nan, 4, np.nan, 6], [1, 2, None, 4, None, 6]])
def test_scores_that_are_nan(scores, argument, caller):
    check(argument, scores, ["row 2", "nan", "-inf"], caller, error=ValueError)


@every_caller_of("y_score")
def test_missing_values_of_pandas_and_polars(argument, caller):
    values = [1, 2, None, 4, None, 6]
    for column in (nullable(values, "Int64"), nullable(values, "Float64"), polars_series(values)):
        check(argument, column, ["row 2", "nan"], caller, error=ValueError)


MATRICES = {
    "one-column array": lambda values: np.array(values, dtype=float).reshape(-1, 1),
    "one-row array": lambda values: np.array(values, dtype=float).reshape(1, -1),
    "two-column array": lambda values: np.array([values, values], dtype=float).T,
    "list of lists": lambda values: [[value] for value in values],
    "ragged list": lambda values: [[value] * (1 + i % 2) for i, value in enumerate(values)],
    "one-column pandas frame": frame,
    "one-column polars frame": polars_frame,
    "three dimensions": lambda values: np.array(values, dtype=float).reshape(-1, 1, 1),
    "matrix": lambda values: np.array(values, dtype=float).reshape(-1, 1).view(np.matrix),
}


@every_caller_of(*ALL_COLUMNS)
@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES.keys())
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_input_of_two_dimensions(argument, make, caller):
    good = WITH_GROUP if argument == "group" else GOOD
    values = good.get(argument, [1.0] * 6)
    check(argument, make(values), [], caller, good)


@every_caller_of(*ALL_NUMBERS, "group")
@pytest.mark.parametrize("value", [1, 1.5, np.float64(2), np.array(3)])
def test_a_single_value_is_no_column(argument, value, caller):
    good = WITH_GROUP if argument == "group" else GOOD
    check(argument, value, [], caller, good)


TEXT = {
    "words": ["a", "b", "c", "d", "e", "f"],
    "digits": ["1", "2", "3", "4", "5", "6"],
    "word objects": np.array(["a", "b", "c", "d", "e", "f"], dtype=object),
    "digit objects": np.array(["1", "2", "3", "4", "5", "6"], dtype=object),
    "bytes": np.array([b"1", b"2", b"3", b"4", b"5", b"6"]),
    "one string": "123456",
    "one bytes": b"123456",
}


@every_caller_of("y_true", "y_score")
def test_none_is_no_column(argument, caller):
    check(argument, None, [], caller)


@every_caller_of(*ALL_NUMBERS, "group")
@pytest.mark.parametrize("text", TEXT.values(), ids=TEXT.keys())
def test_text_is_no_number(argument, text, caller):
    check(argument, text, [], caller, WITH_GROUP if argument == "group" else GOOD)


@every_caller_of(*ALL_NUMBERS)
def test_text_among_numbers_is_named(argument, caller):
    values = np.array([1, 2, 3, "x", 5, "y"], dtype=object)
    check(argument, values, ["row 3", "'x'"], caller, error=TypeError)


NO_NUMBERS = {
    "complex": np.array([1, 2, 3, 4, 5, 6j]),
    "complex objects": [1, 2, 3, 4, 5, 6j],
    "datetime64": np.array(["2026-01-01"] * 6, dtype="datetime64[D]"),
    "timedelta64": np.array([1] * 6, dtype="timedelta64[D]"),
    "records": np.zeros(6, dtype=[("grade", float), ("other", float)]),
    "dicts": [{"grade": 1}] * 6,
    "a dict": dict.fromkeys(range(6), 1),
    "a set": {1, 2, 3, 4, 5, 6},
}


@every_caller_of(*ALL_NUMBERS)
@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
def test_what_is_no_number_is_refused(argument, values, caller):
    check(argument, values, [], caller)


@every_caller_of(*ALL_COLUMNS)
def test_masked_entries_are_refused(argument, caller):
    values = np.ma.masked_array([1, 1, 1, 1, 1, 1], mask=[0, 0, 1, 0, 0, 1])
    if argument == "y_true" and caller is judgments:
        # An unknown grade, which Judgments keep and the measures refuse.
        assert np.isnan(judgments(values, None).grades).sum() == 2
        return
    check(argument, values, [], caller, WITH_GROUP if argument == "group" else GOOD)


@every_caller_of(*ALL_NUMBERS)
@pytest.mark.parametrize("huge", [10**400, -(10**400)], ids=["10**400", "-10**400"])
def test_whole_numbers_too_large_for_a_double(argument, huge, caller):
    check(argument, [1, 2, huge, 4, 5, 6], ["row 2"], caller)


# --- queries -----------------------------------------------------------------------------------

MISSING = {
    "nan in floats": np.array([1, 1, np.nan, 2, 2, np.nan]),
    "None in a list": [1, 1, None, 2, 2, None],
    "nan in a list": ["a", "a", np.nan, "b", "b", None],
    "float('nan') objects": np.array(["a", "a", float("nan"), "b", "b", None], dtype=object),
    "numpy nan objects": np.array(["a", "a", np.float32("nan"), "b", "b", None], dtype=object),
    "NaT": np.array(["2026-01-01"] * 2 + ["NaT"] + ["2026-01-02"] * 3, dtype="datetime64[D]"),
    "NaT timedelta": np.array([1, 1, "NaT", 2, 2, 2], dtype="timedelta64[D]"),
    "nan in a tuple": [("a", 1), ("a", 1), ("a", np.nan), ("b", 1), ("b", 1), ("b", None)],
    "None in a tuple": [("a", 1), ("a", 1), ("a", None), ("b", 1), ("b", 1), ("b", None)],
    "Decimal nan": [Decimal(1), Decimal(1), Decimal("nan"), Decimal(2), Decimal(2), Decimal(2)],
}


@every_caller_of("qid")
@pytest.mark.parametrize("qid", MISSING.values(), ids=MISSING.keys())
def test_missing_query_ids(qid, argument, caller):
    check(argument, qid, ["row 2"], caller, error=ValueError)


@every_caller_of("qid")
@pytest.mark.parametrize("dtype", ["Int64", "Float64", "string", "category", "object", "float"])
def test_missing_query_ids_of_pandas(dtype, argument, caller):
    column = nullable([1, 1, None, 2, 2, None], dtype)
    if dtype == "string":
        column = nullable(["a", "a", None, "b", "b", None], dtype)
    check(argument, column, ["row 2"], caller, error=ValueError)


@every_caller_of("qid")
@pytest.mark.parametrize("values", [[1, 1, None, 2, 2, None], ["a", "a", None, "b", "b", None]])
def test_missing_query_ids_of_polars(values, argument, caller):
    check(argument, polars_series(values), ["row 2"], caller, error=ValueError)


@every_caller_of("qid")
@pytest.mark.parametrize("qid", [[[1], [1], [1], [2], [2], [2]], [1, 1, {}, 2, 2, {}], [{1}] * 6])
def test_query_ids_that_have_no_hash(qid, argument, caller):
    check(argument, qid, [], caller)


@every_caller_of("qid")
@pytest.mark.parametrize("qid", ["111222", b"111222", 7, np.array(7), np.int64(7)])
def test_a_single_query_id_is_no_column(qid, argument, caller):
    check(argument, qid, [], caller)


@every_caller_of("group")
@pytest.mark.parametrize("group", [[3, 2], [3, 4], [6, 6], [1], [2**62, 2**62]])
def test_group_sizes_that_do_not_add_up(group, argument, caller):
    check(argument, group, [str(sum(group)), "6"], caller, WITH_GROUP, ValueError)


@every_caller_of("group")
@pytest.mark.parametrize(
    ("group", "words"),
    [
        ([3, 0, 3], ["1", "0"]),
        ([4, -1, 3], ["1", "-1"]),
        ([7, -1], ["-1"]),
        ([2.5, 3.5], ["2.5"]),
        ([3, np.nan, 3], ["nan"]),
        ([3, np.inf], ["inf"]),
        ([3, None, 3], ["1"]),
    ],
)
def test_group_sizes_that_are_no_sizes(group, words, argument, caller):
    check(argument, group, words, caller, WITH_GROUP)


# --- weights -----------------------------------------------------------------------------------


@every_caller_of("sample_weight")
@pytest.mark.parametrize("bad", [-1, -1e-300, np.nan, np.inf, -np.inf])
def test_weights_that_are_no_weights(bad, argument, caller):
    weights = [1.0, 1, 1, 1, bad, bad]
    check(argument, weights, ["row 4", f"{bad:g}"], caller, error=ValueError)


@every_caller_of("sample_weight")
def test_weights_that_are_all_zero(argument, caller):
    check(argument, [0] * 6, ["0"], caller, error=ValueError)


# --- parameters --------------------------------------------------------------------------------

every_class = pytest.mark.parametrize("name", REGISTRY)


def every_class_with(parameter):
    """Parametrize by the names of the classes that have a parameter."""
    names = [name for name, entry in REGISTRY.items() if hasattr(entry.cls(), parameter)]
    return pytest.mark.parametrize("name", names)



def refused(cls, words, **parameters):
    with pytest.raises((ValueError, TypeError)) as raised:
        cls(**parameters)
    for word in (*parameters, *words):
        assert word in str(raised.value)


@every_class_with("k")
@pytest.mark.parametrize("k", [0, -1, 2.5, np.nan, np.inf, "10", "all", [10], True, False, 1j])
def test_cut_offs_below_1_or_not_whole(name, k):
    refused(REGISTRY[name].cls, [repr(k)], k=k)


@every_class_with("k")
def test_the_mean_over_cut_offs_is_for_ndcg_and_ndcng(name):
    if name in ("NDCG", "NDCNG"):
        assert REGISTRY[name].cls(k="mean").k == "mean"
    else:
        refused(REGISTRY[name].cls, ["mean"], k="mean")


@every_class_with("ties")
@pytest.mark.parametrize("ties", ["random", "Average", "", None, 1, ["average"], len])
def test_unknown_tie_rules(name, ties):
    refused(REGISTRY[name].cls, [repr(ties), "average", "ordinal", "best", "worst"], ties=ties)


@every_class
@pytest.mark.parametrize("undefined", [0.5, -1, 2, np.inf, None, "nan", "skip", True])
def test_unknown_values_of_undefined(name, undefined):
    refused(REGISTRY[name].cls, [repr(undefined), "nan"], undefined=undefined)


@pytest.mark.parametrize("cls", [sg.NDCG, sg.NDCNG])
@pytest.mark.parametrize("value", ["exp", "log", "", None, 2, ["exp2"]])
def test_unknown_gains_and_discounts(cls, value):
    refused(cls, [repr(value), "exp2", "linear"], gain=value)
    refused(cls, [repr(value), "log2", "letor"], discount=value)


@pytest.mark.parametrize("cls", [sg.AP, sg.Precision, sg.Recall, sg.RR])
@pytest.mark.parametrize("threshold", [np.nan, np.inf, -np.inf, -1, "2", [1], 1j, True])
def test_thresholds_that_are_no_numbers(cls, threshold):
    refused(cls, [repr(threshold)], threshold=threshold)


@pytest.mark.parametrize("cls", [sg.NDCNG, sg.GeneralizedPrecision])
@pytest.mark.parametrize("max_grade", [0, -1, np.nan, np.inf, -np.inf, "4", [4], True])
def test_max_grades_that_are_no_grades(cls, max_grade):
    refused(cls, [repr(max_grade)], max_grade=max_grade)


@pytest.mark.parametrize("cls", [sg.NDCNG, sg.GeneralizedPrecision])
def test_max_grade_below_a_grade(cls):
    measure, grades, scores = cls(max_grade=3), [0, 1, 4, 3, 5], [5, 4, 3, 2, 1]
    qid = [1, 1, 1, 2, 2]
    judgments = sg.Judgments(grades, qid=qid)
    calls = [
        lambda: measure(grades, scores, qid=qid),
        lambda: measure.per_query(grades, scores, qid=qid),
        lambda: measure(judgments, scores),
        lambda: measure.n_undefined(judgments),
        lambda: measure.n_undefined(grades, qid=qid),
    ]
    for attempt in calls:
        with pytest.raises(ValueError, match=r"max_grade.*3.*4.*row 2\b"):
            attempt()
    interleaved = [2, 1, 2, 1, 1]  # the first row counts, not the first query
    with pytest.raises(ValueError, match=r"row 2\b"):
        measure(grades, scores, qid=interleaved)
    assert cls(max_grade=5)(grades, scores, qid=qid) > 0


@pytest.mark.parametrize(
    "gain",
    [
        lambda grades: grades[:-1],
        lambda grades: 3.0,
        lambda grades: grades * np.nan,
        lambda grades: grades - 1,
        lambda grades: ["a"] * len(grades),
        lambda grades: None,
    ],
)
def test_gains_that_give_no_gain(gain):
    with pytest.raises((ValueError, TypeError), match="gain"):
        sg.NDCG(gain=gain)([0, 1, 2], [1, 2, 3])


@pytest.mark.parametrize(
    "discount",
    [
        lambda ranks: ranks[:-1],
        lambda ranks: 3.0,
        lambda ranks: ranks * np.nan,
        lambda ranks: -ranks,
        lambda ranks: ["a"] * len(ranks),
        lambda ranks: None,
    ],
)
def test_discounts_that_give_no_discount(discount):
    with pytest.raises((ValueError, TypeError), match="discount"):
        sg.NDCG(discount=discount)([0, 1, 2], [1, 2, 3])


@pytest.mark.parametrize("shape, hint", [
    ((), "y_score must be 1-D; got a single value."),
    ((2, 1), r"got an array of shape \(2, 1\). Pass one column, or use .ravel\(\)."),
    ((2, 1, 1), r"got an array of shape \(2, 1, 1\)."),
])
def test_what_to_do_about_a_shape_is_said_where_it_is_clear(shape, hint):
    with pytest.raises(ValueError, match=hint + "$"):
        sg.AP()([1, 0], np.zeros(shape))


@pytest.mark.parametrize("make, range_of_it", [
    (lambda value: sg.AP(threshold=value), "≥ 0"),
    (lambda value: sg.NDCNG(max_grade=value), "> 0"),
    (lambda value: sg.RBP(persistence=value), "≥ 0 and < 1"),
    (lambda value: sg.EDRC(prior=value), "≥ 0 and ≤ 1"),
])
def test_the_range_of_a_number_is_said(make, range_of_it):
    with pytest.raises(ValueError, match=f" must be a finite number {range_of_it}; got -0.5.$"):
        make(-0.5)


@every_class
def test_measures_do_not_change(name):
    measure = REGISTRY[name].cls()
    with pytest.raises(FrozenInstanceError):
        measure.undefined = 1.0


def test_only_the_first_parameters_come_without_a_name():
    assert sg.AP(3) == sg.AP(k=3) and sg.NDCG(3) == sg.NDCG(k=3)
    assert sg.EDRC("log2", 0.25) == sg.EDRC(discount="log2", prior=0.25)
    too_many = (sg.AP, (3, "worst")), (sg.EDRC, ("log2", 0.25, 0.0)), (sg.TauAP, ("worst",))
    for cls, given in too_many:
        with pytest.raises(TypeError, match="positional"):
            cls(*given)


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="threshold"):
        sg.NDCG(threshold=2)
    with pytest.raises(TypeError, match="gain"):
        sg.MuAP(gain="linear")


def test_bad_input_is_found_before_any_work():
    # A million rows, the last score is NaN: no partial value comes back, and nothing is written.
    scores = np.zeros(1_000_000)
    scores[-1] = np.nan
    with pytest.raises(ValueError, match="y_score.*row 999999"):
        sg.NDCG()(np.zeros(1_000_000), scores)


def test_the_first_of_several_faults_is_reported():
    with pytest.raises(ValueError, match="y_true"):
        sg.NDCG()([-1, 1], [np.nan, 1], qid=[1, 1])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2, "a", 0], r"y_true must hold numbers; row 2 is 'a'"),
        (["a", "b"], r"y_true must hold numbers; row 0 is 'a'"),
        (np.array(["a", "b"]), r"y_true must hold numbers; it has <U1, row 0 is 'a'"),
        ([np.inf, -1], r"y_true must be finite: row 0 is inf"),
    ],
)
def test_the_first_bad_row_is_named(values, message):
    with pytest.raises((TypeError, ValueError), match=message):
        sg.AP()(values, range(len(values)))


@pytest.mark.parametrize("sizes", [[2, 3], np.array([2, 3]), np.array([2.0, 3.0]), (1, 1, 3), [5]])
def test_sizes_given_as_ids_are_told_where_they_go(sizes):
    X, y = np.zeros((5, 1)), [0, 1, 0, 1, 2]
    advice = r"y_true has 5. The numbers of qid add up to 5: sizes .* group=, or .*np\.repeat"
    with pytest.raises(ValueError, match=advice):
        sg.NDCG()(y, y, qid=sizes)
    with pytest.raises(ValueError, match=advice):
        sg.evaluate(y, y, qid=sizes, measures="ap")
    with pytest.raises(ValueError, match="add up to 5: sizes of queries go in group="):
        sg.QueryRanker(Ridge()).fit(X, y, qid=sizes)


@pytest.mark.parametrize("ids", [[2, 2], [5, 0], [2.5, 2.5], ["2", "3"], [("a", 1), 2], [np.inf]])
def test_other_ids_that_are_too_few_are_only_that(ids):
    with pytest.raises(ValueError, match=f"qid has {len(ids)} rows, but y_true has 5.$"):
        sg.NDCG()([0, 1, 0, 1, 2], [0, 1, 0, 1, 2], qid=ids)


def test_categories_that_are_too_few_are_only_that():
    ids = pytest.importorskip("pandas").Categorical(["2", "3"])
    with pytest.raises(ValueError, match="qid has 2 rows, but y_true has 5.$"):
        sg.NDCG()([0, 1, 0, 1, 2], [0, 1, 0, 1, 2], qid=ids)
