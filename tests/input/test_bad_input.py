"""Bad input gets one clear error, before any work: which argument, which row, which value."""

import warnings
from decimal import Decimal
from functools import partial

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
CALLERS = {
    "call": lambda y_true, y_score, **more: sg.NDCG()(y_true, y_score, **more),
    "per_query": lambda y_true, y_score, **more: sg.MuAP().per_query(y_true, y_score, **more),
    "n_undefined": lambda y_true, y_score, **more: sg.AP().n_undefined(y_true, **more),
    "Judgments": lambda y_true, y_score, **more: sg.Judgments(y_true, **more),
    "call with Judgments":
        lambda y_true, y_score, **more: sg.RR()(sg.Judgments(y_true, **more), y_score),
}
# The callers that do not take an argument.
WITHOUT = {"y_score": ("n_undefined", "Judgments"), "sample_weight": ("per_query", "n_undefined")}
ALL_NUMBERS = ("y_true", "y_score", "sample_weight")
ALL_COLUMNS = (*ALL_NUMBERS, "qid", "group")


def message_of(case, call, error=(ValueError, TypeError)):
    """The message of the error that a call must raise."""
    try:
        call()
    except error as raised:
        return str(raised)
    pytest.fail(f"{case} is not refused")


def check(argument, value, *words, error=(ValueError, TypeError), but=()):
    """All callers, but some, refuse a value; the message has the argument's name and the words."""
    good = WITH_GROUP if argument == "group" else GOOD
    for name in CALLERS.keys() - WITHOUT.get(argument, ()) - {*but}:
        case = f"{name} with {argument}={value!r:.200}"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call = partial(CALLERS[name], **{**good, argument: value})
            message = message_of(case, call, error)
        for word in (argument, *words):
            assert word in message, (case, word, message)
        assert len(message) < 300 and "\n" not in message, (case, message)


def frame(values):
    return pytest.importorskip("pandas").DataFrame({"grade": values})


def polars_frame(values):
    return pytest.importorskip("polars").DataFrame({"grade": values})


def nullable(values, dtype):
    return pytest.importorskip("pandas").Series(values, dtype=dtype)


def polars_series(values):
    return pytest.importorskip("polars").Series("x", values)


def test_lengths_that_differ():
    for argument in ("y_score", "qid", "sample_weight"):
        for n in (1, 5, 7):
            check(argument, [1.0] * n, str(n), "6")


def test_empty_input_and_none():
    for argument in ALL_COLUMNS:
        for empty in ([], (), np.array([]), np.empty((0, 3))):
            check(argument, empty)
    check("y_true", None)
    check("y_score", None)
    for more in ({}, {"qid": []}):
        with pytest.raises(ValueError, match="y_true.*empty"):
            sg.NDCG()([], [], **more)


# --- grades and scores -------------------------------------------------------------------------


def test_grades_that_are_not_finite():
    check("y_true", [0, 1, 2, np.inf, 1, np.inf], "row 3", "inf", error=ValueError)
    unknown = [0, 1, 2, np.nan, 1, np.nan]
    check("y_true", unknown, "row 3", "nan", error=ValueError, but=["Judgments"])
    assert sg.Judgments(unknown, qid=GOOD["qid"]).n_rows == 6  # the measures refuse it


def test_grades_below_0():
    for first in (0, 4):
        for bad in (-1, -0.5, -np.inf, -1e-300):
            grades = [0.0, 1, 2, 0, 1, -7]
            grades[first] = bad
            advice = ["irrelevant documents"] if np.isfinite(bad) else []
            check("y_true", grades, f"row {first}", f"{bad:g}", *advice, error=ValueError)


def test_scores_that_are_nan():
    check("y_score", [1, 2, np.nan, 4, np.nan, 6], "row 2", "nan", "-inf", error=ValueError)
    values = [1, 2, None, 4, None, 6]
    check("y_score", values, "row 2", "nan", "-inf", error=ValueError)
    for column in (nullable(values, "Int64"), nullable(values, "Float64"), polars_series(values)):
        check("y_score", column, "row 2", "nan", error=ValueError)


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


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES.keys())
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_input_of_two_dimensions(make):
    for argument in ALL_COLUMNS:
        values = WITH_GROUP["group"] if argument == "group" else GOOD.get(argument, [1.0] * 6)
        check(argument, make(values))


# No column of numbers.
NO_NUMBERS = {
    "an int": 1,
    "a float": 1.5,
    "a NumPy scalar": np.float64(2),
    "an array of no dimension": np.array(3),
    "NaN": np.nan,
    "an object": object(),
    "a function": len,
    "words": ["a", "b", "c", "d", "e", "f"],
    "digits": ["1", "2", "3", "4", "5", "6"],
    "word objects": np.array(["a", "b", "c", "d", "e", "f"], dtype=object),
    "digit objects": np.array(["1", "2", "3", "4", "5", "6"], dtype=object),
    "bytes": np.array([b"1", b"2", b"3", b"4", b"5", b"6"]),
    "one string": "123456",
    "one bytes": b"123456",
    "complex": np.array([1, 2, 3, 4, 5, 6j]),
    "complex objects": [1, 2, 3, 4, 5, 6j],
    "datetime64": np.array(["2026-01-01"] * 6, dtype="datetime64[D]"),
    "timedelta64": np.array([1] * 6, dtype="timedelta64[D]"),
    "records": np.zeros(6, dtype=[("grade", float), ("other", float)]),
    "dicts": [{"grade": 1}] * 6,
    "a dict": dict.fromkeys(range(6), 1),
    "a set": {1, 2, 3, 4, 5, 6},
}


@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
def test_what_is_no_column_of_numbers_is_refused(values):
    for argument in (*ALL_NUMBERS, "group"):
        check(argument, values)


def test_the_row_of_what_is_no_number_is_named():
    values = np.array([1, 2, 3, "x", 5, "y"], dtype=object)
    for argument in ALL_NUMBERS:
        check(argument, values, "row 3", "'x'", error=TypeError)
        for huge in (10**400, -(10**400)):  # too large for a double
            check(argument, [1, 2, huge, 4, 5, 6], "row 2")


def test_masked_entries_are_refused():
    values = np.ma.masked_array([1, 1, 1, 1, 1, 1], mask=[0, 0, 1, 0, 0, 1])
    check("y_true", values, but=["Judgments"])
    # Judgments keep an unknown grade, which the measures refuse.
    assert np.isnan(sg.Judgments(values).grades).sum() == 2
    for argument in ("y_score", "sample_weight", "qid", "group"):
        check(argument, values)


# --- queries and weights -----------------------------------------------------------------------

NUMBERS, TEXTS = [1, 1, None, 2, 2, None], ["a", "a", None, "b", "b", None]
MISSING = {
    "nan in floats": lambda: np.array([1, 1, np.nan, 2, 2, np.nan]),
    "None in a list": lambda: NUMBERS,
    "nan in a list": lambda: ["a", "a", np.nan, "b", "b", None],
    "float('nan') objects":
        lambda: np.array(["a", "a", float("nan"), "b", "b", None], dtype=object),
    "numpy nan objects":
        lambda: np.array(["a", "a", np.float32("nan"), "b", "b", None], dtype=object),
    "NaT": lambda: np.array(["2026-01-01"] * 2 + ["NaT"] + ["2026-01-02"] * 3, dtype="M8[D]"),
    "NaT timedelta": lambda: np.array([1, 1, "NaT", 2, 2, 2], dtype="timedelta64[D]"),
    "nan in a tuple": lambda: [("a", np.nan if query is None else query) for query in NUMBERS],
    "None in a tuple": lambda: [("a", query) for query in NUMBERS],
    "Decimal nan": lambda: [Decimal(query or "nan") for query in NUMBERS],
    **{f"pandas {dtype}": lambda dtype=dtype: nullable(NUMBERS, dtype)
       for dtype in ("Int64", "Float64", "category", "object", "float")},
    "pandas string": lambda: nullable(TEXTS, "string"),
    "polars numbers": lambda: polars_series(NUMBERS),
    "polars texts": lambda: polars_series(TEXTS),
}


@pytest.mark.parametrize("make", MISSING.values(), ids=MISSING.keys())
def test_missing_query_ids(make):
    check("qid", make(), "row 2", error=ValueError)


def test_what_is_no_column_of_query_ids():
    without_hash = [[[1], [1], [1], [2], [2], [2]], [1, 1, {}, 2, 2, {}], [{1}] * 6]
    single = ["111222", b"111222", 7, np.array(7), np.int64(7), np.nan, object(), len]
    for qid in without_hash + single:
        check("qid", qid)


def test_group_sizes_that_do_not_add_up():
    for group in ([3, 2], [3, 4], [6, 6], [1], [2**62, 2**62]):
        check("group", group, str(sum(group)), "6", error=ValueError)


def test_group_sizes_that_are_no_sizes():
    check("group", [3, 0, 3], "1", "0")
    check("group", [4, -1, 3], "1", "-1")
    check("group", [7, -1], "-1")
    check("group", [2.5, 3.5], "2.5")
    check("group", [3, np.nan, 3], "nan")
    check("group", [3, np.inf], "inf")
    check("group", [3, None, 3], "1")


def test_weights_that_are_no_weights():
    for bad in (-1, -1e-300, np.nan, np.inf, -np.inf):
        weights = [1.0, 1, 1, 1, bad, bad]
        check("sample_weight", weights, "row 4", f"{bad:g}", error=ValueError)
    check("sample_weight", [0] * 6, "0", error=ValueError)


# --- parameters --------------------------------------------------------------------------------


def refused(parameter, value, *words, classes=None):
    """All classes that have a parameter, or some, refuse a value and say what may be given."""
    classes = classes or [entry.cls for entry in REGISTRY.values()]
    for cls in classes:
        if hasattr(cls(), parameter):
            case = f"{cls.__name__}({parameter}={value!r})"
            message = message_of(case, partial(cls, **{parameter: value}))
            for word in (parameter, *words):
                if word != "average" or cls is not sg.InterpolatedPrecision:  # it has no average
                    assert word in message, (case, message)


@pytest.mark.parametrize("parameter, values, known", [
    ("k", [0, -1, 2.5, np.nan, np.inf, "10", "all", [10], True, False, 1j], []),
    ("ties", ["random", "Average", "", None, 1, ["average"], len],
     ["average", "ordinal", "best", "worst"]),
    ("undefined", [0.5, -1, 2, np.inf, None, "nan", "skip", True], ["nan"]),
], ids=["k", "ties", "undefined"])
def test_unknown_values_of_the_parameters_of_many_measures(parameter, values, known):
    for value in values:
        refused(parameter, value, repr(value), *known)


def test_the_mean_over_cut_offs_is_for_ndcg_and_ndcng():
    assert sg.NDCG(k="mean").k == sg.NDCNG(k="mean").k == "mean"
    others = {entry.cls for entry in REGISTRY.values()} - {sg.NDCG, sg.NDCNG}
    refused("k", "mean", "mean", classes=others)


def test_unknown_gains_and_discounts():
    for value in ("exp", "log", "", None, 2, ["exp2"]):
        refused("gain", value, repr(value), "exp2", "linear", classes=[sg.NDCG, sg.NDCNG])
        refused("discount", value, repr(value), "log2", "letor", classes=[sg.NDCG, sg.NDCNG])
    for value in ("letor", "LINEAR", "", None, 2, ["log2"]):
        words = (repr(value), "linear", "log2", "exp2", "callable")
        refused("discount", value, *words, classes=[sg.EDRC])
    for value in ("linear", "exp2"):  # those of EDRC
        refused("discount", value, "letor", classes=[sg.NDCG])


def test_numbers_out_of_their_range():
    for parameter, its_range, values in (
        ("threshold", "≥ 0", [np.nan, np.inf, -np.inf, -1, "2", [1], 1j, True]),
        ("max_grade", "> 0", [0, -1, np.nan, np.inf, -np.inf, "4", [4], True]),
        ("prior", "≥ 0 and ≤ 1", [-0.1, 1 + 1e-7, np.nan, np.inf, "0.5", None, True, [0.5], 1j]),
        ("persistence", "≥ 0 and < 1", [-0.1, 1, 1.5, np.nan, "0.5", True, None]),
    ):
        for value in values:
            problem = f"{parameter} must be a finite number {its_range}; got {value!r}."
            refused(parameter, value, problem)


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


def test_functions_that_give_no_gain_or_no_discount():
    wrong = [
        lambda values: values[:-1], lambda values: 3.0, lambda values: values * np.nan,
        lambda values: ["a"] * len(values), lambda values: None,
    ]
    for parameter, negative in (("gain", lambda grades: grades - 1), ("discount", np.negative)):
        for number, function in enumerate([*wrong, negative]):
            measure = sg.NDCG(**{parameter: function})
            case = f"function {number} as {parameter}"
            assert parameter in message_of(case, partial(measure, [0, 1, 2], [1, 2, 3])), case
    for number, function in enumerate([*wrong, np.negative, lambda ranks: ranks - 2]):
        measure = sg.EDRC(discount=function)
        message = message_of(number, partial(measure, [2, 1, 0], [1, 2, 3]), ValueError)
        assert "discount must return a finite number > 0" in message, number


def test_what_to_do_about_a_shape_is_said_where_it_is_clear():
    for shape, hint in (
        ((), "y_score must be 1-D; got a single value."),
        ((2, 1), r"got an array of shape \(2, 1\). Pass one column, or use .ravel\(\)."),
        ((2, 1, 1), r"got an array of shape \(2, 1, 1\)."),
    ):
        with pytest.raises(ValueError, match=hint + "$"):
            sg.AP()([1, 0], np.zeros(shape))


def test_only_the_first_parameters_come_without_a_name_and_unknown_ones_are_refused():
    assert sg.AP(3) == sg.AP(k=3) and sg.NDCG(3) == sg.NDCG(k=3)
    assert sg.EDRC("log2", 0.25) == sg.EDRC(discount="log2", prior=0.25)
    too_many = (sg.AP, (3, "worst")), (sg.EDRC, ("log2", 0.25, 0.0)), (sg.TauAP, ("worst",))
    for cls, given in too_many:
        with pytest.raises(TypeError, match="positional"):
            cls(*given)
    for cls, unknown in ((sg.NDCG, {"threshold": 2}), (sg.MuAP, {"gain": "linear"})):
        with pytest.raises(TypeError, match=next(iter(unknown))):
            cls(**unknown)


def test_bad_input_is_found_before_any_work():
    # A million rows, the last score is NaN: no partial value comes back, and nothing is written.
    scores = np.zeros(1_000_000)
    scores[-1] = np.nan
    with pytest.raises(ValueError, match="y_score.*row 999999"):
        sg.NDCG()(np.zeros(1_000_000), scores)


def test_the_first_fault_and_the_first_bad_row_are_named():
    with pytest.raises(ValueError, match="y_true"):
        sg.NDCG()([-1, 1], [np.nan, 1], qid=[1, 1])
    for values, message in (
        ([1, 2, "a", 0], r"y_true must contain numbers; row 2 is 'a'"),
        (["a", "b"], r"y_true must contain numbers; row 0 is 'a'"),
        (np.array(["a", "b"]), r"must contain numbers; its dtype is <U1, and row 0 contains 'a'"),
        ([np.inf, -1], r"y_true must be finite; got inf for row 0"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            sg.AP()(values, range(len(values)))


@pytest.mark.parametrize("sizes", [[2, 3], np.array([2, 3]), np.array([2.0, 3.0]), (1, 1, 3), [5]])
def test_sizes_given_as_ids_are_told_where_they_go(sizes):
    X, y = np.zeros((5, 1)), [0, 1, 0, 1, 2]
    advice = r"y_true has 5. The values of qid add up to 5: .* pass them as group=, or .*np\.repeat"
    with pytest.raises(ValueError, match=advice):
        sg.NDCG()(y, y, qid=sizes)
    with pytest.raises(ValueError, match=advice):
        sg.evaluate(y, y, qid=sizes, measures="ap")
    with pytest.raises(ValueError, match="add up to 5: if they are query sizes, pass"):
        sg.QueryRanker(Ridge()).fit(X, y, qid=sizes)


def test_other_ids_that_are_too_few_are_only_that():
    categories = pytest.importorskip("pandas").Categorical(["2", "3"])
    others = [[2, 2], [5, 0], [2.5, 2.5], ["2", "3"], [("a", 1), 2], [np.inf]]
    for ids in (*others, categories):
        with pytest.raises(ValueError, match=f"qid has {len(ids)} rows, but y_true has 5.$"):
            sg.NDCG()([0, 1, 0, 1, 2], [0, 1, 0, 1, 2], qid=ids)
