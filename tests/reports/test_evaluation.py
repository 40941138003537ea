"""evaluate: per-query values, means, segments, parts and tables."""

import io
import json
import re
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from queries import random_queries
from scipy import stats
from small_reports import assert_same_report, ids_of

import skgraded as sg
from skgraded.writing import tables

Y_TRUE = [2, 0, 1, 0, 0, 1, 0]
Y_SCORE = [3, 1, 2, 7, 6, 4, 5]
QID = ["b", "b", "b", "none", "none", "a", "a"]


def test_per_query_values_and_means_of_a_small_example():
    ev = sg.evaluate(Y_TRUE, Y_SCORE, qid=QID, measures=["ap", sg.RR(undefined=np.nan), "ndcng@1"])
    assert ev.query_ids.tolist() == ["b", "none", "a"]
    assert list(ev.per_query) == ["AP", "RR(undefined=nan)", "NDCNG@1"]
    np.testing.assert_array_equal(ev.per_query["AP"], [(1 / 1 + 2 / 2) / 2, 0, 1 / 2])
    np.testing.assert_array_equal(ev.per_query["RR(undefined=nan)"], [1, np.nan, 1 / 2])
    assert ev.n_undefined == {"AP": 1, "RR(undefined=nan)": 1, "NDCNG@1": 1}
    assert ev.mean() == {
        "AP": (1 + 0 + 1 / 2) / 3,
        "RR(undefined=nan)": (1 + 1 / 2) / 2,
        "NDCNG@1": 1 / 3,
    }


def test_weights_count_in_means_only():
    weight = [4, 4, 4, 0, 0, 1, 1]
    ev = sg.evaluate(Y_TRUE, Y_SCORE, qid=QID, measures="ap", sample_weight=weight)
    np.testing.assert_array_equal(ev.weights, [4, 0, 1])
    np.testing.assert_array_equal(ev.per_query["AP"], [1, 0, 1 / 2])
    assert ev.mean()["AP"] == pytest.approx((4 * 1 + 1 * 1 / 2) / 5)
    assert ev.to_frame()["weight"].tolist() == [4, 0, 1]
    weight = [0.1, 0.1, 0.1, 3, 3, 3, 7e300]  # query weights are independent of each other
    ev = sg.evaluate([1] * 7, [1] * 7, qid=[1, 1, 1, 2, 2, 2, 3], sample_weight=weight)
    np.testing.assert_array_equal(ev.weights, [(0.1 + 0.1 + 0.1) / 3, (3 + 3 + 3) / 3, 7e300])


def test_queries_may_be_group_sizes_or_judgments():
    grades, settings = [2, np.nan, 1, 0, 0, 1, 0], {"measures": "ap", "unjudged_documents": "drop"}
    by_group = sg.evaluate(grades, Y_SCORE, group=[3, 2, 2], **settings)
    judgments = sg.evaluate(sg.Judgments(grades, qid=QID), Y_SCORE, **settings)
    assert by_group.per_query["AP"].tolist() == judgments.per_query["AP"].tolist() == [1, 0, 1 / 2]
    assert by_group.query_ids.tolist() == [0, 1, 2] and judgments.query_ids.tolist()[0] == "b"


def test_a_frame_has_one_row_per_query():
    ev = sg.evaluate(Y_TRUE, Y_SCORE, qid=QID, measures=["ap", "rr"])
    frame = ev.to_frame()
    assert frame.equals(pd.read_csv(io.StringIO(ev.to_csv())))
    assert frame.columns.tolist() == ["query_id", "AP", "RR"]
    assert frame["query_id"].tolist() == ["b", "none", "a"]
    tuples = [("x", 1)] * 3 + [("y", 1)] * 4
    frame = sg.evaluate(Y_TRUE, Y_SCORE, qid=tuples, measures="ap").to_frame()
    assert frame["query_id"].tolist() == [("x", 1), ("y", 1)]


# Segments and worst ------------------------------------------------------------------------------

SEGMENT = {"q1": "head", "q2": "tail", "q3": "head", "q4": "tail", "q5": "tail"}


# Five queries with RR 1, 1/2, 1/3, undefined and 1, equal AP, and weights 1 to 5
FIVE = sg.evaluate(
    [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0],
    [3, 2, 1] * 5,
    qid=np.repeat(["q1", "q2", "q3", "q4", "q5"], 3),
    measures=["rr", sg.AP(undefined=np.nan)],
    sample_weight=np.repeat([1, 2, 3, 4, 5], 3),
)


def test_a_summary_has_one_row_per_measure_and_is_reproducible():
    assert FIVE.summary(method="bootstrap").equals(FIVE.summary(method="bootstrap"))
    assert not FIVE.summary(method="bootstrap").equals(FIVE.summary(method="bootstrap", rng=1))
    frame = FIVE.summary(0.9, method="t")
    assert frame.columns.tolist() == [
        "measure",
        "mean",
        "ci_low",
        "ci_high",
        "method",
        "n_queries",
        "n_defined",
        "n_undefined",
    ]
    assert frame["measure"].tolist() == ["RR", "AP(undefined=nan)"]
    means = [
        (1 * 1 + 2 / 2 + 3 / 3 + 4 * 0 + 5 * 1) / 15,
        (1 * 1 + 2 / 2 + 3 / 3 + 5 * 1) / 11,
    ]
    np.testing.assert_allclose(frame["mean"], means)
    intervals = FIVE.confidence_interval(0.9, method="t")
    assert list(zip(frame["ci_low"], frame["ci_high"], strict=True)) == list(intervals.values())


# Reciprocal ranks 1, 1/2, undefined, 1/3, 1
@pytest.mark.parametrize(
    ("undefined", "weights", "in_mean"),
    [
        ("nan", None, {"a": 1, "b": 1 / 2, "d": 1 / 3, "e": 1}),
        ("0.0", None, {"a": 1, "b": 1 / 2, "c": 0, "d": 1 / 3, "e": 1}),
        ("nan", [1, 2, 3, 0, 5], {"a": 1, "b": 1 / 2, "e": 1}),
        ("0.0", [1, 2, 3, 0, 5], {"a": 1, "b": 1 / 2, "c": 0, "e": 1}),
        ("0.0", [1, 2, 0, 3, 5], {"a": 1, "b": 1 / 2, "d": 1 / 3, "e": 1}),
    ],
)
def test_reports_count_all_queries_and_those_in_the_mean(undefined, weights, in_mean):
    table = {
        "grade": [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0],
        "score": [3, 2, 1] * 5,
        "query": np.repeat(list("abcde"), 3),
        "weight": np.repeat(weights or [1] * 5, 3),
    }
    name, weight = f"RR(undefined={undefined})", "weight" if weights else None
    ev = sg.evaluate("grade", "score", qid="query", measures=name, sample_weight=weight, data=table)
    summary = sg.Summary.of(ev)
    (name,) = ev.per_query
    n, w = len(in_mean), np.array([(weights or [1] * 5)["abcde".index(q)] for q in in_mean])
    mean = np.average(list(in_mean.values()), weights=w)
    squares = np.sum((w * (np.array(list(in_mean.values())) - mean)) ** 2)
    reach = stats.t.ppf(0.975, n - 1) * np.sqrt(n / (n - 1) * squares) / w.sum()
    for report in (ev, summary, sg.Summary.from_json(summary.to_json())):
        assert (report.n_queries, report.n_defined, report.n_undefined) == (5, {name: n}, {name: 1})
        row = report.summary().iloc[0]
        assert (row["n_queries"], row["n_defined"], row["n_undefined"]) == (5, n, 1)
        np.testing.assert_allclose(row[["ci_low", "ci_high"]].astype(float), mean + [-reach, reach])
        written = json.loads(report.to_json())
        assert (written["n_queries"], written["n_defined"]) == (5, {name: n})
    segments = ev.summary(by=dict(zip("abcde", "xxxyy", strict=True)))
    assert segments["n_queries"].tolist() == [3, 2]
    assert segments["n_defined"].tolist() == [len(in_mean.keys() & set(s)) for s in ("abc", "de")]


IN_ORDER = list(SEGMENT.values())


@pytest.mark.parametrize(
    "by",
    [
        IN_ORDER,
        np.array(IN_ORDER),
        pd.Categorical(IN_ORDER),
        "polars",
        SEGMENT | {"q9": "elsewhere"},
        pd.Series(SEGMENT).iloc[::-1],
    ],
    ids=["list", "array", "categories", "polars", "mapping", "series"],
)
def test_the_summary_of_a_segment_equals_the_summary_of_its_queries(by):
    if isinstance(by, str):
        by = pytest.importorskip(by).Series(IN_ORDER)
    frame = FIVE.summary(by=by, method="t")
    assert frame["segment"].tolist() == ["head", "head", "tail", "tail"]
    rr = frame[frame["measure"] == "RR"].set_index("segment")
    np.testing.assert_allclose(rr["mean"], [(1 + 3 / 3) / 4, (2 / 2 + 0 + 5) / 11])
    assert rr["n_defined"].tolist() == [2, 3] and rr["n_undefined"].tolist() == [0, 1]
    head = sg.evaluate(
        [1, 0, 0, 0, 0, 1],
        [3, 2, 1] * 2,
        qid=np.repeat(["q1", "q3"], 3),
        measures="rr",
        sample_weight=np.repeat([1, 3], 3),
    )
    low, high = head.confidence_interval(method="t")["RR"]
    assert (rr.loc["head", "ci_low"], rr.loc["head", "ci_high"]) == (low, high)


def test_worst_is_sorted_from_the_lowest_value():
    assert FIVE.worst()["query_id"].tolist() == ["q3", "q2", "q1", "q5"]  # q4 has no value
    worst = FIVE.worst(1, "AP(undefined=nan)")
    assert worst.index.tolist() == [2] and worst["RR"].tolist() == [1 / 3]
    assert worst.columns.tolist() == FIVE.to_frame().columns.tolist()
    assert FIVE.worst(measure=sg.RR()).equals(FIVE.worst(measure="mrr"))


# Parts -------------------------------------------------------------------------------------------

ID_KINDS = {
    "int": lambda i: i,
    "int32": lambda i: np.array(i, dtype=np.int32),
    "text": lambda i: [f"q{number}" for number in i],
    "float": lambda i: i + 0.5,
    "pairs": lambda i: [("q", int(number)) for number in i],
    "mixed": lambda i: [int(number) if number % 2 else f"q{number}" for number in i],
    "dates": lambda i: np.datetime64("2026-11-01") + i,
}


@pytest.mark.parametrize(
    "kind, weighted", [(kind, i % 2 == 0) for i, kind in enumerate([*ID_KINDS, "int"])]
)
def test_concatenated_parts_equal_the_whole(kind, weighted):
    q = random_queries(0, 30, (1, 9))
    order = np.argsort(q.qid, kind="stable")
    y_true, y_score, number = q.y_true[order], q.y_score[order], q.qid[order]
    weight = np.random.default_rng(1).random(len(number)) if weighted else None

    def of(rows):
        return sg.evaluate(
            y_true[rows],
            y_score[rows],
            qid=ID_KINDS[kind](number[rows]),
            measures=["ap(undefined=nan)", "ndcng@3", "mu_map"],
            sample_weight=weight[rows] if weighted else None,
        )

    parts = [of((number >= low) & (number < high)) for low, high in ((0, 4), (4, 5), (5, 30))]
    assert_same_report(sg.Evaluation.concat(parts), of(slice(None)))
    assert_same_report(sg.Evaluation.concat(iter(parts[:1])), parts[0])


def one_query(query, measures="ap", **kwargs):
    return sg.evaluate([1, 0], [2, 1], qid=[query, query], measures=measures, **kwargs)


def test_ids_keep_their_types_and_measures_may_be_in_another_order():
    ev = sg.Evaluation.concat([one_query(2**60 + 1), one_query(0.5), one_query("q")])
    assert ev.query_ids.tolist() == [2**60 + 1, 0.5, "q"]
    ev = sg.Evaluation.concat([one_query(1, ["ap", "p@1"]), one_query(2, ["p@1", "ap"])])
    assert list(ev.per_query) == ["AP", "Precision@1"]


# Constructor -------------------------------------------------------------------------------------

FLAGS = [False, True, False]


@pytest.mark.parametrize("series", [list, np.array, pd.Series, "polars"])
def test_an_evaluation_accepts_its_values_in_any_container(series):
    if isinstance(series, str):
        series = pytest.importorskip(series).Series
    ev = sg.Evaluation(
        series(["a", "b", "c"]),
        {"AP": series([1.0, 0.0, 0.5])},
        {"AP": series(FLAGS)},
        weights=series([1, 2, 0]),
    )
    ids, values, weights = ids_of("abc"), np.array([1, 0, 0.5]), np.array([1.0, 2, 0])
    assert_same_report(
        ev, sg.Evaluation(ids, {"AP": values}, {"AP": np.array(FLAGS)}, weights=weights)
    )
    assert ev.mean()["AP"] == 1 / 3 and ev.n_undefined == {"AP": 1}


def test_missing_values_are_nan_tuples_stay_ids_and_without_flags_no_query_is_undefined():
    ev = sg.Evaluation([("de", 1), 2], {"AP": [None, 1]})
    assert ev.query_ids.tolist() == [("de", 1), 2] and ev.n_undefined == {"AP": 0}
    assert ev.mean() == {"AP": 1} and ev == sg.Evaluation([("de", 1), 2], {"AP": [np.nan, 1]})
    assert len(sg.Evaluation([], {"AP": []}, {"AP": []}, weights=[]).to_frame()) == 0


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"query_ids": ["a", "b", "a"]}, "query_ids contains 'a' more than once"),
        ({"query_ids": ids_of("aba")}, "query_ids contains 'a' more than once"),
        ({"query_ids": np.array([1, 2, 1])}, "query_ids contains 1 more than once"),
        ({"query_ids": ["a", None, "b"]}, r"query_ids is missing in row 1 \(None\)"),
        ({"query_ids": np.zeros((3, 2))}, "query_ids must be 1-D"),
        (
            {"per_query": {"AP": [1, 1]}},
            r"per_query\['AP'\] must have shape \(3,\), like query_ids; got \(2,\)",
        ),
        ({"per_query": [1, 1, 1]}, "per_query must be a dict of arrays keyed by measure name"),
        ({"per_query": 3}, "per_query must be a dict of arrays .* got int"),
        ({"undefined": {"AP": FLAGS[1:]}}, r"undefined\['AP'\] must have shape \(3,\)"),
        ({"weights": np.ones((3, 1))}, r"weights must have shape \(3,\), .* got \(3, 1\)"),
        ({"weights": [1, -1, 1]}, "weights must be finite and ≥ 0; got -1 for query 'b'"),
        ({"weights": [1, 1, np.nan]}, "weights must be finite and ≥ 0; got nan for query 'c'"),
        ({"weights": [np.inf, 1, 1]}, "weights must not be infinite; got inf for query 'a'"),
        ({"weights": [0, 0, 0]}, "weights is 0 in all rows"),
        ({"weights": [1, "x", 1]}, "weights must contain numbers; row 1 is 'x'"),
        ({"per_query": {"AP": [[1], 2, 3]}}, r"per_query\['AP'\] must be a 1-D array of numbers"),
        (
            {"per_query": {"AP": [1, -np.inf, 1]}},
            r"per_query\['AP'\] must not be infinite; got -inf for query 'b'",
        ),
        ({"undefined": {"ap": FLAGS}}, "undefined contains 'ap', .* Did you mean 'AP'"),
        ({"judged": {"Judged@10": [1, 1]}}, r"judged\['Judged@10'\] must have shape \(3,\)"),
        ({"judged": [1, 1, 1]}, "judged must be a dict"),
        ({"unanswered": FLAGS[1:]}, r"unanswered must have shape \(3,\)"),
        ({"weights": pd.Series([1, 1], index=["a", "b"])}, "index of weights lacks the .* 'c'"),
        (
            {"per_query": {"AP": pd.Series([1, 2, 3, 4], index=["a", "b", "c", "b"])}},
            r"index of per_query\['AP'\] contains 'b' more than once",
        ),
    ],
)
def test_fields_are_checked(fields, message):
    right = {"query_ids": ids_of("abc"), "per_query": {"AP": [1, 1, 1]}}
    with pytest.raises((ValueError, TypeError), match=message):
        sg.Evaluation(**right | fields)


LABELS = [
    ["b", "a", "c"],
    [("b", 1), ("a", 1), ("c", 2)],
    [2, 1, 3],
    [2.5, 1.5, 3.5],
    np.array(["2026-11-02", "2026-11-01", "2026-11-03"], dtype="datetime64[D]"),
    [date(2026, 11, 2), date(2026, 11, 1), date(2026, 11, 3)],
    pd.Categorical(["b", "a", "c"]),
]


@pytest.mark.parametrize("ids", LABELS, ids=lambda ids: type(ids[0]).__name__)
def test_a_series_is_paired_with_the_query_ids_in_its_index(ids):
    log = pd.DataFrame({"query": ids, "paid": [2.0, 1, 3], "traffic": [20, 10, 30]})
    log["failed"] = log["paid"] == 1
    by_query = log[::-1].groupby("query", observed=True).max()  # sorted: a, b, c
    more = pd.concat([by_query, by_query.iloc[:1].set_axis([None])])  # other labels are ignored
    ids = sg.evaluate([1, 1, 1], [1, 1, 1], qid=ids).query_ids
    for of in (by_query, more):
        ev = sg.Evaluation(
            ids,
            of[["paid"]],
            {"paid": of["failed"]},
            weights=of["traffic"],
            unanswered=of["failed"],
        )
        assert ev.per_query["paid"].tolist() == [2, 1, 3] and ev.weights.tolist() == [20, 10, 30]
        assert ev.undefined["paid"].tolist() == ev.unanswered.tolist() == [False, True, False]
        assert ev.mean()["paid"] == (20 * 2 + 10 * 1 + 30 * 3) / (20 + 10 + 30)
        assert ev.take(of["failed"]).per_query["paid"].tolist() == [1]


def test_a_series_without_ids_is_in_the_order_of_query_ids():
    log = pd.DataFrame({"query": [2, 0, 1], "paid": [7.0, 5, 6]}).sort_values("paid")
    values = [log["paid"].to_numpy(), log["paid"].reset_index(drop=True), log["paid"].tolist()]
    for of_query in (log["paid"], *values):  # log["paid"] and log["query"] have the same index
        assert sg.Evaluation(log["query"], {"m": of_query}).per_query["m"].tolist() == [5, 6, 7]
    # Without the row labels of query_ids, the index contains query ids: here, 1, 2, 0.
    ev = sg.Evaluation(log["query"].to_numpy(), {"m": log["paid"]})
    assert ev.query_ids.tolist() == [0, 1, 2] and ev.per_query["m"].tolist() == [7, 5, 6]
    assert ev.take(pd.Series([True, False, True])).query_ids.tolist() == [0, 2]
    assert ev.take(pd.Series([2, 0], index=["x", "y"])).query_ids.tolist() == [2, 0]


def test_parts_may_have_only_weights_of_zero():
    ev = sg.Evaluation(
        ["a", "b", "c"], {"m": [1, 2, 3], "n": [4, 5, 6]}, {"n": FLAGS}, weights=[0, 0, 2]
    )
    assert ev.n_undefined == {"m": 0, "n": 1}  # without a mask, no query is undefined
    parts = [ev.take([0]), ev.take([1])]
    whole = sg.Evaluation.concat(parts)
    assert whole == ev.take([True, True, False]) == sg.Evaluation.from_json(whole.to_json())
    assert np.isnan(whole.mean()["m"]) and whole.minus(whole).weights.tolist() == [0, 0]
    assert ev.summary(by=["x", "x", "y"])["n_defined"].tolist() == [0, 0, 1, 1]


# Differences -------------------------------------------------------------------------------------


def test_differences_pair_queries_by_id():
    first = sg.Evaluation(
        ["a", "b", "c", "d"],
        {"AP": [0.5, 0.1 + 0.2, np.nan, 0.25], "RR": [1, 0.5, 0, 1]},
        {"AP": [False, True, False, False], "RR": [False] * 4},
        weights=[1, 2, 3, 4],
    )
    second = sg.Evaluation(
        ["d", "c", "b", "a"],
        {"RR": [0.5, 1, 0.25, 0.2], "AP": [1, 0.5, 0.3, 0.25]},
        {"RR": [True, False, False, False], "AP": [False] * 4},
        weights=[4, 3, 2, 1],
    )
    difference = first.minus(second)
    expected = sg.Evaluation(
        ["a", "b", "c", "d"],
        {"AP": [0.25, 0, np.nan, -0.75], "RR": [0.8, 0.25, -1, 0.5]},
        {"AP": [False, True, False, False], "RR": [False, False, False, True]},
        weights=[1, 2, 3, 4],
    )
    assert_same_report(difference, expected)
    assert difference.mean()["RR"] == pytest.approx((0.8 + 2 * 0.25 - 3 + 4 * 0.5) / 10)
    assert not first.minus(first).per_query["RR"].any()


# Output ------------------------------------------------------------------------------------------


def through_json(ev):
    return sg.Evaluation.from_json(ev.to_json())


def test_json_restores_ids_of_any_plain_type():
    ids = ["1", 1, 2.5, ("a", (True, 0.1)), -0.25, 2**70, "ü\n😀", np.int64(7), False]
    ev = sg.evaluate([1] * 9, range(9), qid=ids, measures="ap")
    query_ids = through_json(ev).query_ids.tolist()
    assert query_ids == ids
    assert list(map(type, query_ids)) == [str, int, float, tuple, float, int, str, int, bool]
    assert list(map(type, query_ids[3][1])) == [bool, float]
    for kind in (bool, np.int32, np.float32, "M8[D]"):
        two = sg.evaluate(
            [1, 0],
            [1, 1],
            qid=np.array([1, 0]).astype(kind),
            sample_weight=[0.1, 0.7],
            measures=["ap(undefined=nan)", "mu_map"],
        )
        assert_same_report(through_json(two), two)


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("| "))]


AWKWARD = ["a|b", "50%", "x_1", "R&D <b>", "{$#~^}\\", "007", "two\nlines", "_x_", "[3mm]"]


TABLE = {"query_id": AWKWARD, "AP": [1.0, 0.5, 1 / 3, np.nan, 1e-9, 0.0, 0.25, 1.0, 0.5]}


def test_markdown_is_a_table_for_any_ids():
    lines = tables.markdown(TABLE).splitlines()
    assert cells_of(lines[0]) == ["query_id", "AP"]
    assert re.fullmatch(r"\|:-+\|-+:\|", lines[1])
    assert [cells_of(line) for line in lines[2:]] == [
        [r"a\|b", "1.0000"],
        ["50%", "0.5000"],
        ["x_1", "0.3333"],
        ["R&amp;D &lt;b&gt;", "nan"],
        [r"{\$#\~^}" + r"\\", "1.0e-09"],
        ["007", "0.0000"],
        ["two lines", "0.2500"],
        [r"\_x\_", "1.0000"],
        [r"\[3mm\]", "0.5000"],
    ]


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0.0000"),
        (0.00005, "0.0001"),
        (0.000049, "4.9e-05"),
        (-0.00002, "-2.0e-05"),
        (-0.00006, "-0.0001"),
        (1 / 3, "0.3333"),
        (np.float32(0.5), "0.5000"),
        (3, "3"),
        (np.int64(3), "3"),
        ("a\n b", "a b"),
        (np.nan, "nan"),
    ],
)
def test_small_values_are_not_rounded_to_zero(value, text):
    assert tables.format_cell(value) == text


# Dates, which tolist makes numbers of ------------------------------------------------------------


def test_dates_remain_dates_in_json_even_in_tuples():
    days = np.array(["2026-01-02", "2026-01-01"], dtype="datetime64[ns]")
    dated = sg.evaluate([1, 0, 0, 1], [2, 1, 2, 1], qid=np.repeat(days, 2), measures="rr")
    assert_same_report(through_json(dated), dated)
    pairs = replace(dated, query_ids=ids_of([("a", day) for day in days]))
    assert_same_report(through_json(pairs), pairs)
