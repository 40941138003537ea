"""Error messages about bad input: they name the argument, the first bad row and its value."""

import io
import pickle
import warnings
from collections import namedtuple
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from registry import REGISTRY
from sklearn.metrics import ndcg_score

import skgraded as sg
from skgraded._input.door import add_place
from skgraded._input.messages import find_nearest, suggest_name
from skgraded.datasets import read_qrels, read_run
from skgraded.judgments import get_layout
from skgraded.measures import MEASURES

GRADES, SCORES, QID = [0, 1, 2, 0, 1, 2], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [1, 1, 1, 2, 2, 2]
GOOD = {"y_true": GRADES, "y_score": SCORES, "qid": QID}
WITH_GROUP = {"y_true": GRADES, "y_score": SCORES, "group": [3, 3]}
CALLERS = {
    "call": lambda y_true, y_score, **more: sg.NDCG()(y_true, y_score, **more),
    "per_query": lambda y_true, y_score, **more: sg.MuAP().per_query(y_true, y_score, **more),
    "n_undefined": lambda y_true, y_score, **more: sg.AP().n_undefined(y_true, **more),
    "Judgments": lambda y_true, y_score, **more: sg.Judgments(y_true, **more),
    "call with Judgments": lambda y_true, y_score, **more: sg.RR()(
        sg.Judgments(y_true, **more), y_score
    ),
}
# The callers without this argument.
WITHOUT = {"y_score": {"n_undefined", "Judgments"}, "sample_weight": {"per_query", "n_undefined"}}
NUMERIC = ("y_true", "y_score", "sample_weight")
COLUMNS = (*NUMERIC, "qid", "group")


def message_of(call, error=(ValueError, TypeError)):
    """Return the message of the error that a call raises."""
    with warnings.catch_warnings(), pytest.raises(error) as raised:
        warnings.simplefilter("error")
        call()
    return str(raised.value)


def check(argument, value, *words, callers=CALLERS):
    """Check that all callers refuse a value, with a message that contains name and words."""
    good = WITH_GROUP if argument == "group" else GOOD
    for name in callers.keys() - WITHOUT.get(argument, set()):
        message = message_of(partial(callers[name], **{**good, argument: value}))
        for word in (argument, *words):
            assert word in message, (name, word, message)
        assert len(message) < 300 and "\n" not in message, (name, message)


# Columns -----------------------------------------------------------------------------------------


def with_bad(value, row):
    """Return valid grades, except for a bad value in one row and another in a later row."""
    grades = [0.0, 1, 2, 0, 1, -7]
    grades[row] = value
    return grades


NOT_NUMBERS = [
    1,
    1.5,
    np.float64(2),
    np.array(3),
    np.nan,
    object(),
    len,
    list("abcdef"),
    list("123456"),
    np.array(list("abcdef"), dtype=object),
    np.array([b"1"] * 6),
    "123456",
    b"123456",
    np.array([1, 2, 3, 4, 5, 6j]),
    [1, 2, 3, 4, 5, 6j],
    np.array(["2026-01-01"] * 6, dtype="datetime64[D]"),
    np.array([1] * 6, dtype="timedelta64[D]"),
    np.zeros(6, dtype=[("grade", float), ("other", float)]),
    [{"grade": 1}] * 6,
    dict.fromkeys(range(6), 1),
    {1, 2, 3, 4, 5, 6},
]
NOT_1D = [
    lambda values: np.array(values, dtype=float).reshape(-1, 1),
    lambda values: np.array(values, dtype=float).reshape(1, -1),
    lambda values: np.array([values, values], dtype=float).T,
    lambda values: np.array(values, dtype=float).reshape(-1, 1, 1),
    lambda values: [[value] for value in values],
    lambda values: [[value] * (1 + i % 2) for i, value in enumerate(values)],
    lambda values: pd.DataFrame({"grade": values}),
    lambda values: pl.DataFrame({"grade": values}),
]
NUMBERS, TEXTS = [1, 1, None, 2, 2, None], ["a", "a", None, "b", "b", None]
NAN_SCORES = [1, 2, None, 4, None, 6]
MISSING_IDS = [
    np.array([1, 1, np.nan, 2, 2, np.nan]),
    NUMBERS,
    ["a", "a", np.nan, "b", "b", None],
    np.array(["a", "a", float("nan"), "b", "b", None], dtype=object),
    np.array(["a", "a", np.float32("nan"), "b", "b", None], dtype=object),
    np.array(["2026-01-01"] * 2 + ["NaT"] + ["2026-01-02"] * 3, dtype="M8[D]"),
    np.array([1, 1, "NaT", 2, 2, 2], dtype="timedelta64[D]"),
    [("a", np.nan if query is None else query) for query in NUMBERS],
    [("a", query) for query in NUMBERS],
    [Decimal(query or "nan") for query in NUMBERS],
    *(
        pd.Series(NUMBERS, dtype=dtype)
        for dtype in ("Int64", "Float64", "category", "object", "float")
    ),
    pd.Series(TEXTS, dtype="string"),
    pl.Series("x", NUMBERS),
    pl.Series("x", TEXTS),
]
ROUNDED = {bits: np.array([1, 1, 2**bits + 1, 2, 2, 2**bits]) for bits in (11, 24, 53)}
ROUNDED_IDS = [  # ids beyond the range in which integers are exact
    *(
        (ids.astype(kind), kind)
        for ids, kind in zip(ROUNDED.values(), ("float16", "float32", "float64"), strict=True)
    ),
    (-ROUNDED[24].astype(">f4"), "float32"),
    (np.array([1, 1, np.inf, 2, 2, 2], dtype=np.float16), "float16"),
    *(
        (convert(ROUNDED[24].astype("f4")), "float32")
        for convert in (
            list,
            pd.Series,
            pd.Index,
            pl.Series,
            pa.array,
            lambda ids: pd.Series(ids, dtype="category"),
            lambda ids: pd.Series(ids, dtype="Float32"),
            lambda ids: pd.Series(ids, dtype="float[pyarrow]"),
            lambda ids: pa.array(ids).dictionary_encode(),
        )
    ),
]
BAD_COLUMNS = [  # argument, value, words in the message
    *(
        (argument, [1.0] * n, str(n), "6")
        for argument in ("y_score", "qid", "sample_weight")
        for n in (1, 5, 7)
    ),
    ("qid", [3, 3], "y_true has 6. Pass query sizes as group=."),
    *((argument, empty) for argument in COLUMNS for empty in ([], np.empty((0, 3)))),
    ("y_true", None),
    ("y_score", None),
    *(
        (argument, make([3, 3] if argument == "group" else GOOD.get(argument, [1.0] * 6)))
        for argument in COLUMNS
        for make in NOT_1D
    ),
    ("y_score", np.zeros((6, 1)), "an array of shape (6, 1). Pass one column, or use .ravel()."),
    # Numbers
    *((argument, value) for argument in (*NUMERIC, "group") for value in NOT_NUMBERS),
    ("y_true", np.array(["a"] * 6), "contain numbers; row 0 is 'a'"),
    *(
        (argument, np.array([1, 2, 3, "x", 5, "y"], dtype=object), "row 3", "'x'")
        for argument in NUMERIC
    ),
    *(
        (argument, np.ma.masked_array([1] * 6, mask=[0, 0, 1, 0, 0, 1]))
        for argument in ("y_score", "sample_weight", "qid", "group")
    ),
    # Grades, scores and weights
    ("y_true", [0, 1, 2, np.inf, 1, np.inf], "must be finite; got inf for row 3"),
    ("y_true", with_bad(-np.inf, 4), "got -inf for row 4"),
    *(
        ("y_score", values, "row 2", "nan", "-inf")
        for values in (
            NAN_SCORES,
            [1, 2, np.nan, 4, np.nan, 6],
            pd.Series(NAN_SCORES, dtype="Int64"),
            pd.Series(NAN_SCORES, dtype="Float64"),
            pl.Series("x", NAN_SCORES),
        )
    ),
    *(
        ("sample_weight", [1.0, 1, 1, 1, bad, bad], "row 4", f"{bad:g}")
        for bad in (-1, -1e-300, np.nan, np.inf, -np.inf)
    ),
    ("sample_weight", [0] * 6, "0"),
    # Queries
    *(("qid", ids, "row 2") for ids in MISSING_IDS),
    *(("qid", ids, f"row 2, but {kind} represents integers") for ids, kind in ROUNDED_IDS),
    *(
        ("qid", ids, "hashable")
        for ids in (
            [[1], [1], [1], [2], [2], [2]],
            [1, 1, {}, 2, 2, {}],
            [{1}] * 6,
        )
    ),
    *(
        ("qid", ids)
        for ids in (
            "111222",
            b"111222",
            7,
            np.array(7),
            np.int64(7),
            np.nan,
            object(),
            len,
        )
    ),
    *(
        ("group", group, str(sum(group)), "6")
        for group in ([3, 2], [3, 4], [6, 6], [1], [2**62, 2**62])
    ),
    *(
        ("group", group, position, value)
        for group, position, value in (
            ([3, 0, 3], "1", "0"),
            ([4, -1, 3], "1", "-1"),
            ([7, -1], "1", "-1"),
            ([2.5, 3.5], "0", "2.5"),
            ([3, np.nan, 3], "1", "nan"),
            ([3, np.inf], "1", "inf"),
            ([3, None, 3], "1", "nan"),
        )
    ),
    *(
        ("group", ids, "If group contains query ids, pass them as qid=.")
        for ids in ([7, 7, 7, 8, 8, 8], [0, 0, 0, 1, 1, 1])
    ),
    *(
        ("group", sizes, "groupby(qid, sort=False).size()")
        for sizes in (
            pd.Series([8, 7, 7, 7, 9, 9]).value_counts(),
            pd.Series([1, 3, 2], index=[2, 1, 3]),
            pd.Series([7, 7, 7, 8, 9, 9]).value_counts(ascending=True),
        )
    ),
    ("sample_weight", [1.0, 2.0], "np.repeat(sample_weight, group)", "factorize(qid)[0]"),
]


def test_sizes_in_the_order_of_the_rows_are_accepted():
    frame = pd.DataFrame({"qid": [8, 7, 7, 7, 9, 9]})
    expected = sg.NDCG().per_query(GRADES, SCORES, qid=frame["qid"])
    sizes = frame.groupby("qid", sort=False).size()
    for group in (sizes, sizes.to_numpy(), sizes.reset_index(drop=True), pl.Series(sizes)):
        np.testing.assert_array_equal(sg.NDCG().per_query(GRADES, SCORES, group=group), expected)


@pytest.mark.parametrize("argument", COLUMNS)
def test_bad_columns_are_refused_by_every_function(argument):
    for name, value, *words in BAD_COLUMNS:
        if name == argument:
            check(name, value, *words)


def test_measures_of_grades_refuse_negative_grades_that_judgments_keep():
    others = {name: CALLERS[name] for name in CALLERS if name != "Judgments"}
    for row in (0, 4):
        for bad in (-1, -0.5, -1e-300):
            grades = with_bad(bad, row)
            check("y_true", grades, f"row {row}", f"{bad:g}", "irrelevant level", callers=others)
            assert get_layout(sg.Judgments(grades, qid=QID)).grades.tolist() == grades
    message = message_of(
        lambda: sg.evaluate(
            [-1, np.nan],
            [1, 2],
            qid=[1, 1],
            measures="pair_accuracy",
            unjudged_documents="irrelevant",
        )
    )
    assert "but y_true contains negative grades, such as -1" in message
    dropped = sg.evaluate(
        [-1, 2, np.nan, -0.5],
        [1, 2, 3, 2],
        qid=[1, 1, 1, 1],
        measures="pair_accuracy",
        unjudged_documents="drop",
    )
    assert dropped.mean()["PairAccuracy"] == pytest.approx((1 + 0.5 + 1) / 3)


def test_the_hint_for_negative_grades_suits_scales_and_padding():
    grades, scores = np.array([-1, 1]), np.array([2.0, 1.0])
    hint = "subtract the irrelevant level .* mark padding, leave out their rows"
    with pytest.raises(ValueError, match=hint):
        sg.DCG()(grades, scores)
    assert sg.DCG(gain="linear")(grades + 1, scores) == 2 / np.log2(3)
    assert sg.DCG()(grades[grades >= 0], scores[grades >= 0]) == 1.0


def test_measures_refuse_unknown_grades_that_judgments_keep():
    others = {name: CALLERS[name] for name in CALLERS if name != "Judgments"}
    for grades in (
        [0, 1, 2, np.nan, 1, np.nan],
        np.ma.masked_array(GRADES, mask=[0, 0, 0, 1, 0, 1]),
    ):
        check("y_true", grades, "row 3", "nan", callers=others)
        assert sg.Judgments(grades, qid=QID).sizes.tolist() == [3, 3]


def test_the_first_bad_argument_and_the_first_bad_row_are_named():
    assert "y_true" in message_of(lambda: sg.NDCG()([-1, 1], [np.nan, 1], qid=[1, 1]))
    assert "y_true" in message_of(lambda: sg.NDCG()([], [], qid=[]))
    scores = np.zeros(1_000_000)
    scores[-1] = np.nan
    message = message_of(lambda: sg.NDCG()(np.zeros(1_000_000), scores, group=[1_000_000]))
    assert "y_score" in message and "row 999999" in message


def test_a_matrix_of_queries_is_refused_with_the_call_that_measures_each_row():
    rng = np.random.default_rng(0)
    y_true, y_score = rng.integers(0, 4, (8, 10)), rng.random((8, 10))
    advice = "qid=np.repeat(np.arange(n_queries), n_documents)"
    for true, score in (
        (y_true, y_score),
        (y_true.tolist(), y_score),
        (y_true.ravel(), y_score),
        (pd.DataFrame(y_true), pd.DataFrame(y_score)),
    ):
        for call in (sg.evaluate, sg.NDCG(), sg.NDCG().per_query):
            more = {"qid": range(80)} if np.ndim(true) == 1 else {}
            assert advice in message_of(partial(call, true, score, **more), ValueError)
    qid = np.repeat(np.arange(8), 10)
    value = sg.NDCG(gain="linear")(y_true.ravel(), y_score.ravel(), qid=qid)
    assert value == pytest.approx(ndcg_score(y_true, y_score), rel=1e-14)
    ragged = [[1, 0], [2]]
    assert "group=[len(row) for row in y_true]" in message_of(lambda: sg.AP()(ragged, ragged))


IDS = {"query": [1, 1], "document": [7, 8]}
QRELS, RUN = IDS | {"grade": [2, 0]}, IDS | {"score": [0.5, 1.5]}
ROW = namedtuple("Qrel", "query_id doc_id relevance")("q", "a", 1)
SIDES = {
    "dicts": ({"q": {"a": 1}}, {"q": {"a": 0.5}}),
    "tuples": ([ROW], [ROW]),
    "files": (read_qrels(io.BytesIO(b"q 0 a 1\n")), read_run(io.BytesIO(b"q Q0 a 1 2 s\n"))),
    "pandas": (pd.DataFrame(QRELS), pd.DataFrame(RUN)),
    "polars": (pl.DataFrame(QRELS), pl.DataFrame(RUN)),
    "Arrow": (pa.table(QRELS), pa.table(RUN)),
}


@pytest.mark.parametrize("form", SIDES)
def test_qrels_and_a_run_cause_an_error_that_recommends_join_run(form):
    for call in (sg.evaluate, sg.AP(), sg.AP().per_query):
        message = message_of(partial(call, *SIDES[form]))
        assert "rows = skgraded.datasets.join_run(qrels, run)" in message


# Parameters --------------------------------------------------------------------------------------

ALL = [entry.cls for entry in REGISTRY.values()]
WITHOUT_AUC = [cls for cls in ALL if cls is not sg.AUC]
WITH_AVERAGE = [cls for cls in ALL if cls is not sg.InterpolatedPrecision]
BAD_PARAMETERS = [  # parameter, value, words in the message, classes
    *(
        ("k", value, [repr(value)], ALL)
        for value in (0, -1, 2.5, np.nan, np.inf, "10", "all", [10], True, False, 1j)
    ),
    ("k", "mean", ["mean"], [cls for cls in ALL if cls not in (sg.NDCG, sg.NDCNG)]),
    *(
        ("ties", value, [repr(value), "average", "ordinal", "best", "worst"], WITH_AVERAGE)
        for value in ("random", "Average", "", None, 1, ["average"], len)
    ),
    ("ties", "average", ["'average'", "ordinal", "best", "worst"], [sg.InterpolatedPrecision]),
    *(
        ("undefined", value, [repr(value), "nan"], ALL)
        for value in (0.5, -1, 2, np.inf, None, "nan", "skip", True)
    ),
    *(
        (parameter, value, [repr(value), *known], [sg.NDCG, sg.NDCNG])
        for parameter, known in (("gain", ["exp2", "linear"]), ("discount", ["log2", "letor"]))
        for value in ("exp", "log", "", None, 2, ["exp2"])
    ),
    *(
        ("discount", value, [repr(value), "linear", "log2", "exp2", "callable"], [sg.EDRC])
        for value in ("letor", "LINEAR", "", None, 2, ["log2"])
    ),
    *(("discount", value, ["letor"], [sg.NDCG]) for value in ("linear", "exp2")),  # of EDRC
    *(
        (parameter, value, [f"must be a finite number {limits}; got {value!r}."], WITHOUT_AUC)
        for parameter, limits, values in (
            ("threshold", "≥ 0", [np.nan, np.inf, -np.inf, -1, "2", [1], 1j, True]),
            ("max_grade", "> 0", [0, -1, np.nan, np.inf, -np.inf, "4", [4], True]),
            ("prior", "≥ 0 and ≤ 1", [-0.1, 1 + 1e-7, np.nan, np.inf, "0.5", None, True, [0.5]]),
            ("recall", "≥ 0 and ≤ 1", [-0.1, 1 + 1e-7, np.nan, np.inf, "0.5", None, True, [0.5]]),
            ("persistence", "≥ 0 and < 1", [-0.1, 1, 1.5, np.nan, "0.5", True, None]),
        )
        for value in values
    ),
    *(
        ("threshold", value, [f"must be a finite number; got {value!r}."], [sg.AUC])
        for value in (np.nan, np.inf, -np.inf, "2", [1], 1j, True)
    ),
]


@pytest.mark.parametrize("parameter", sorted({row[0] for row in BAD_PARAMETERS}))
def test_bad_parameters_are_refused_by_every_measure(parameter):
    for name, value, words, classes in BAD_PARAMETERS:
        having = [cls for cls in classes if name == parameter and hasattr(cls(), parameter)]
        for cls in having:
            message = message_of(partial(cls, **{parameter: value}))
            for word in (parameter, *words):
                assert word in message, (cls, word, message)
        assert having or name != parameter


def test_wrong_names_and_numbers_of_parameters_are_refused():
    assert sg.AP(3) == sg.AP(k=3) and sg.NDCG(k="mean").k == "mean"
    assert sg.EDRC("log2", 0.25) == sg.EDRC(discount="log2", prior=0.25)
    for cls in MEASURES.values():
        message = message_of(partial(cls, depth=3), TypeError)
        assert message.startswith(
            f"Measure {cls.__name__} has no parameter 'depth'; its parameters"
        )
        assert "positional argument" in message_of(partial(cls, *[0.5] * 3), TypeError)
    for call, words in {
        partial(sg.NDCG, top_k=10): "are k, ties, gain, discount, undefined. Did you mean 'k'?",
        partial(sg.AP, rel=2): "Did you mean 'threshold'?",
        partial(sg.NDCNG, 5, k=5): "got multiple values for argument 'k'",
        partial(sg.measure, "mrr(depth=10)"): "Measure RR has no parameter 'depth'; ",
    }.items():
        assert words in message_of(call, ValueError if call.func is sg.measure else TypeError)


@pytest.mark.parametrize("cls", [sg.NDCNG, sg.GeneralizedPrecision])
def test_max_grade_below_a_grade_names_the_row(cls):
    measure, qid = cls(max_grade=3), [1, 1, 1, 2, 2]
    grades, scores = [0, 1, 4, 3, 5], [5, 4, 3, 2, 1]
    judgments = sg.Judgments(grades, qid=qid)
    for call in (
        lambda: measure(grades, scores, qid=qid),
        lambda: measure.per_query(grades, scores, qid=[2, 1, 2, 1, 1]),  # queries in any order
        lambda: measure(judgments, scores),
        lambda: measure.n_undefined(judgments),
    ):
        with pytest.raises(ValueError, match=r"max_grade.*3.*4.*row 2\b"):
            call()
    assert cls(max_grade=5)(grades, scores, qid=qid) > 0
    with pytest.raises(ValueError, match="max_grade is 1e\\+300, but .* grade 1e-300 in row 1"):
        cls(max_grade=1e300)([0, 1e-300], [1, 2])  # the ratio of the grades underflows to 0


def test_functions_must_return_gains_and_discounts():
    wrong = [
        lambda values: values[:-1],
        lambda values: 3.0,
        lambda values: values * np.nan,
        lambda values: ["a"] * len(values),
        lambda values: None,
    ]
    for parameter, negative in (("gain", lambda grades: grades - 1), ("discount", np.negative)):
        for function in (*wrong, negative):
            measure = sg.NDCG(**{parameter: function})
            assert parameter in message_of(partial(measure, [0, 1, 2], [1, 2, 3]))
    for function in (*wrong, np.negative, lambda ranks: ranks - 2):
        measure = sg.EDRC(discount=function)
        message = message_of(partial(measure, [2, 1, 0], [1, 2, 3]), ValueError)
        assert "discount must return a finite number > 0" in message


def test_errors_keep_the_names_of_arguments_in_workers_and_with_a_place():
    with pytest.raises(ValueError, match="^n_levels must be at least 2; got 1") as caught:
        sg.datasets.make_ranking(n_levels=1)
    placed = add_place(pickle.loads(pickle.dumps(caught.value)), "rows.csv")
    assert str(placed) == "rows.csv: n_levels must be at least 2; got 1."
    assert placed.arguments == ("n_levels",)


@pytest.mark.parametrize(
    ("function", "name", "ours"),
    [
        *((sg.evaluate, *names) for names in (("metrics", "measures"), ("groups", "qid"))),
        *((sg.evaluate, name, "y_score") for name in ("y_pred", "scores")),
        *((sg.NDCG(), *names) for names in (("y_pred", "y_score"), ("groups", "qid"))),
        *((sg.evaluate_runs, *names) for names in (("metrics", "measures"), ("scores", "runs"))),
        *((sg.cross_evaluate, *names) for names in (("metric", "measures"), ("groups", "qid"))),
        (sg.evaluate_batches, "metrics", "measures"),
        (sg.make_ranking_scorer, "metric", "measure"),
    ],
)
def test_arguments_with_names_of_other_tools_name_ours(function, name, ours):
    with pytest.raises(TypeError, match=rf"\(\) has no argument '{name}': pass it as {ours}=\."):
        function(**{name: 1})


@pytest.mark.parametrize(
    "word, known, expected",
    [
        ("scoer", ["country", "score"], "score"),  # adjacent characters are swapped
        ("grades", ["grade", "query"], "grade"),
        ("qury", ["query"], "query"),
        ("Score", ["score"], "score"),
        ("relevant", ["relevance"], "relevance"),  # two of nine characters differ
        ("kendall", ["KendallTau"], "KendallTau"),  # an abbreviation
        ("bm24", ["lgbm", "bm25"], "bm25"),
        ("sessions", ["season", "session"], "session"),  # the nearest of several
        (0, [0, 1], "0"),
        ("scoer", ["country"], None),
        ("bpref", ["rbp"], None),
        ("auc", ["tauap", "ap"], None),
        ("nope", ["nerr"], None),
        ("mae", ["map"], None),
        ("dya", ["day"], None),
        ("", ["a"], None),
        ("x", [], None),
    ],
)
def test_only_similar_names_are_suggested(word, known, expected):
    assert find_nearest(word, known) == expected
    hint = "" if expected is None else f" Did you mean {expected!r}?"
    assert suggest_name(word, known) == hint
