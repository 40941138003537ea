"""evaluate and evaluate_preferences: values, columns of a frame, and warnings about the input."""

import math
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from preference_oracle import edrc, implied, known_pairs, random_cases, random_pairs
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer
from small_reports import assert_same_report

import skgraded as sg
from skgraded.measures import cutoff_curve

COLUMNS = {
    "session": ["b", "a", "b", "a", "c", "c"],
    "grade": [2, 0, 1, 1, 0, 1],
    "bm25": [0.5, 0.1, 0.75, 0.25, 1.0, 0.5],
    "lgbm": [3, 1, 2, 4, 5, 6],
    "weight": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
}
TABLES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "pandas with another index": lambda columns: pd.DataFrame(
        columns, index=list("zyx") * (len(columns["grade"]) // 3)
    ),
    "pandas with Arrow types": lambda columns: pd.DataFrame(columns).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "categories": lambda columns: pd.DataFrame(columns).astype({"session": "category"}),
    "polars": pl.DataFrame,
    "Arrow table": pa.table,
    "Arrow batch": pa.RecordBatch.from_pydict,
    "chunks": lambda columns: pa.concat_tables([pa.table(columns)[:2], pa.table(columns)[2:]]),
}
every_table = pytest.mark.parametrize("kind", TABLES)


@every_table
def test_column_names_give_the_same_report_as_the_columns(kind):
    frame = TABLES[kind](COLUMNS)
    expected = sg.evaluate(COLUMNS["grade"], COLUMNS["bm25"], qid=COLUMNS["session"])
    report = sg.evaluate("grade", "bm25", qid="session", data=frame)
    assert_same_report(report, expected)
    assert report.query_ids.tolist() == ["b", "a", "c"]
    weighted = sg.evaluate(
        "grade", ["lgbm", "bm25"], qid="session", sample_weight="weight", data=frame
    )
    assert list(weighted) == ["lgbm", "bm25"]
    assert weighted["lgbm"].weights.tolist() == [(1 + 3) / 2, (2 + 4) / 2, (5 + 6) / 2]
    assert weighted["bm25"].per_query["MuAP"].tolist() == expected.per_query["MuAP"].tolist()


TWICE = {name: [*values, *values[:3]] for name, values in COLUMNS.items()} | {
    "document": [1, 1, 2, 2, 1, 2, 1, 1, 2]
}


@every_table
def test_repeated_documents_are_an_error_or_are_dropped(kind):
    settings = {"qid": "session", "sample_weight": "weight", "document": "document"}
    frame = TABLES[kind](TWICE)
    with pytest.raises(ValueError, match="^Query 'b' contains document 1 more than once. Remove"):
        sg.evaluate("grade", "bm25", data=frame, **settings)
    report = sg.evaluate("grade", "bm25", data=frame, **settings, duplicates="drop")
    expected = sg.evaluate(
        "grade", "bm25", data=COLUMNS | {"document": TWICE["document"][:6]}, **settings
    )
    assert report.n_duplicates == 3 == sg.Summary.of(report).n_duplicates
    assert sg.Summary.of(report) == sg.Summary.of(expected)


@pytest.mark.parametrize(
    "column, message",
    [
        ("grade", "document 2 more than once, with different values of y_true: 1.0 and 9.0"),
        ("lgbm", "document 2 more than once, with different values of y_score 'lgbm': 2.0 and 9.0"),
        (
            "weight",
            "document 2 more than once, with different values of sample_weight: 3.0 and 9.0",
        ),
        ("document", "document is missing in row 8"),
    ],
)
def test_repeated_documents_that_differ_are_refused(column, message):
    value = None if column == "document" else 9.0
    frame = pd.DataFrame(TWICE | {column: [*TWICE[column][:8], value]}, dtype=object)
    with pytest.raises(ValueError, match=message):
        sg.evaluate(
            "grade",
            ["bm25", "lgbm"],
            qid="session",
            sample_weight="weight",
            data=frame,
            document="document",
            duplicates="drop",
        )


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame])
def test_types_of_columns_are_read_as_by_evaluate_batches(make):
    columns = {
        "q": [Decimal("1.50"), Decimal("1.50"), Decimal("2.00"), Decimal("2.00")],
        "y": np.array([0.7, 0.2, 0.1, 0.7], dtype=np.float32),
        "s": np.array([2**53, 2**53 + 1, 3, 2]),
    }
    frame = make(columns)
    # The 32-bit float 0.7 reaches the threshold, and 2^53 is not tied with 2^53 + 1.
    report = sg.evaluate("y", "s", qid="q", measures="ap(threshold=0.7)", data=frame)
    assert report.per_query["AP(threshold=0.7)"].tolist() == [1 / 2, 1 / 2]
    in_batches = sg.evaluate_batches([frame], "y", "s", "q", measures="ap(threshold=0.7)")
    assert in_batches == sg.Summary.of(report)


# Grades without a 0 ------------------------------------------------------------------------------

STARS, SCORES, RATERS = [2, 3, 1, 5, 4, 1], [4, 3, 2, 1, 2, 1], list("aaaabb")
MESSAGE = r"All grades are from 1 to 5, .* subtract it: y - 1\."


@pytest.mark.parametrize("kind", [int, float, np.uint8, object])
def test_grades_that_look_like_stars_warn_once(kind):
    stars = np.array(STARS, dtype=kind)
    frame = pd.DataFrame({"user": RATERS, "stars": stars, "a": SCORES, "b": SCORES[::-1]})
    with pytest.warns(UserWarning, match=MESSAGE) as record:
        sg.evaluate(stars, SCORES, qid=RATERS)
    assert len(record) == 1 and record[0].filename == __file__
    with pytest.warns(UserWarning, match=MESSAGE) as record:
        sg.evaluate("stars", ["a", "b"], qid="user", data=frame)
    assert len(record) == 1 and record[0].filename == __file__


@pytest.mark.parametrize(
    ("grades", "qid"),
    [
        (np.array(STARS) - 1, RATERS),
        (STARS, ["a"] * 6),  # one query
        ([2, 3, 1, 5, 1, 1], RATERS),  # only one query with several distinct grades
        ([1] * 4 + [2] * 2, RATERS),
        ([1] * 6, RATERS),  # clicks: all grades are 1
        (np.array(STARS) / 2, RATERS),
        (np.array(STARS) + 0.5, RATERS),
        ([0, 3, 1, 5, 4, 1], RATERS),
    ],
    ids=["from 0", "one query", "one varies", "constant", "equal", "below 1", "fractions", "a 0"],
)
def test_other_grades_do_not_warn(grades, qid):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sg.evaluate(grades, SCORES, qid=qid)


# Queries that are no queries ---------------------------------------------------------------------


def evaluate_everywhere(n_rows, qid):
    """Evaluate, fit and score rows of `qid` with every function that warns about row ids."""
    X, y = np.arange(2.0 * n_rows).reshape(n_rows, 2), np.arange(n_rows) % 3
    ranker = sg.QueryRanker(Ridge())
    return [
        lambda: sg.evaluate(y, X[:, 0], qid=qid),
        lambda: sg.evaluate(sg.Judgments(y, qid=qid), X[:, 0]),
        lambda: ranker.fit(X, y, qid=qid),
        lambda: ranker.score(X, y, qid=qid),
        lambda: sg.make_ranking_scorer("ndcg")(ranker, X, y, qid=qid),
        lambda: sg.cross_evaluate(ranker, X, y, qid=qid, cv=2),
    ]


@pytest.mark.parametrize("position", [0, 1, 2, 5])
def test_row_ids_as_query_ids_cause_one_warning(position):
    message = "Each of the 10 queries has only one row.*id of the query, user or session"
    with pytest.warns(UserWarning, match=message) as record:
        evaluate_everywhere(10, np.arange(10))[position]()
    assert [warning.filename for warning in record] == [__file__]


@pytest.mark.parametrize("qid", [np.arange(9), np.append(np.arange(10), 9)])
def test_few_or_longer_queries_do_not_warn(qid):
    for call in evaluate_everywhere(len(qid), qid):
        call()


@pytest.mark.parametrize(
    "call",
    [
        sg.NDCNG(k=10),
        sg.AP().per_query,
        sg.KendallTau(),
        cutoff_curve,
        lambda y, s: make_scorer(sg.NDCNG(k=10))(Ridge().fit(s[:, None], y), s[:, None], y),
    ],
)
def test_many_rows_without_queries_cause_one_warning(call):
    y, scores = np.arange(1001) % 3, np.arange(1001.0)
    message = "More than 1,000 rows are evaluated as one query.*qid.*make_ranking_scorer.*group="
    with pytest.warns(UserWarning, match=message) as record:
        call(y, scores)
    assert len(record) == 1
    call(y[:-1], scores[:-1])


def test_a_dict_of_scores_gives_an_evaluation_of_each_system():
    y, qid, systems = [2, 0, 1, 0], [1, 1, 2, 2], {"a": [1, 2, 3, 4], "b": [2, 1, 4, 3]}
    evaluations = sg.evaluate(y, systems, qid=qid, measures="rr")
    assert {name: ev.per_query["RR"].tolist() for name, ev in evaluations.items()} == {
        "a": [1 / 2, 1 / 2],
        "b": [1, 1],
    }
    table = {"grade": y, "query": qid, "first": systems["a"], "second": systems["b"]}
    names = {"a": "first", "b": "second"}
    named = sg.evaluate("grade", names, qid="query", data=table, measures="rr")
    assert {name: ev.mean() for name, ev in named.items()} == {"a": {"RR": 1 / 2}, "b": {"RR": 1}}


ALL = ["edrc", "pair_accuracy", "kendall_tau"]
# Ann prefers a to b and b to c, Bob prefers c to a.
PAIRS = [("a", "b"), ("b", "c"), ("c", "a")]
USERS = ["ann", "ann", "bob"]
GOOD = {"ann": {"a": 3, "b": 2, "c": 1}, "bob": {"a": 1, "c": 2}}
MIXED = {"ann": {"a": 3, "b": 1, "c": 2}, "bob": {"a": 2, "c": 1}}


def random_users(n_users, seed=0):
    """True pairs, their users, and predictions as pairs and as scores."""
    pairs, users, predicted, scores = [], [], {}, {}
    for user, (rng, n, true) in enumerate(random_cases(n_users, seed)):
        pairs += true
        users += [user] * len(true)
        predicted[user] = random_pairs(rng, n + 1, n)
        scores[user] = dict(enumerate(rng.choice([-np.inf, 0, 1, 2], n + 1).tolist()))
    return pairs, users, predicted, scores


# Values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [None, "judged", "predicted", range(4)])
@pytest.mark.parametrize("form", ["pairs", "scores"])
def test_values_equal_the_definitions_for_each_user(form, items):
    pairs, users, predicted, scores = random_users(60)
    predictions = predicted if form == "pairs" else scores
    ev = sg.evaluate_preferences(pairs, predictions, qid=users, measures=ALL, items=items)
    n_undefined = 0
    for i, user in enumerate(dict.fromkeys(users)):
        true = [pair for pair, of_pair in zip(pairs, users, strict=True) if of_pair == user]
        said, chosen = predictions[user], items
        if form == "scores":
            retrieved = {item for item, score in said.items() if score > -math.inf}
            scored, said = set(said), implied(said)
        else:
            retrieved = scored = {item for pair in said for item in pair}
        judged = {item for pair in true for item in pair}
        if items is None or isinstance(items, str):
            chosen = {None: judged | scored, "judged": judged, "predicted": retrieved}[items]
        n, right, wrong = known_pairs(true, said, chosen)
        assert ev.undefined["EDRC"][i] == ev.undefined["PairAccuracy"][i] == (n == 0)
        n_undefined += n == 0
        expected = [0.0, 0.0, 0.0]
        if n:
            expected = [
                edrc(true, said, items=chosen),
                (right + (n - right - wrong) / 2) / n,
                (right - wrong) / n,
            ]
        values = [ev.per_query[name][i] for name in ("EDRC", "PairAccuracy", "KendallTau")]
        assert values == pytest.approx(expected, abs=1e-12)
    assert (n_undefined > 0) == (items in ("predicted", range(4)))


# Undefined queries and weights -------------------------------------------------------------------


@pytest.mark.parametrize("undefined", [0.0, 1.0, math.nan])
def test_a_user_without_a_known_pair_is_undefined(undefined):
    measures = [cls(undefined=undefined) for cls in (sg.EDRC, sg.PairAccuracy, sg.KendallTau)]
    ev = sg.evaluate_preferences(PAIRS, GOOD, qid=USERS, measures=measures, items=["a", "b"])
    for measure in measures:
        np.testing.assert_array_equal(ev.per_query[measure.name], [1, undefined])
        assert ev.undefined[measure.name].tolist() == [False, True]
        mean = 1.0 if math.isnan(undefined) else (1 + undefined) / 2
        assert ev.mean()[measure.name] == mean and ev.n_undefined[measure.name] == 1


def test_a_user_whose_preferences_all_contradict_each_other_is_undefined():
    pairs, users = [*PAIRS, ("a", "c")], [*USERS, "bob"]
    with pytest.warns(UserWarning, match="Left out contradictory pairs") as caught:
        ev = sg.evaluate_preferences(pairs, GOOD, qid=users, measures=ALL, cycles="unknown")
    assert caught[0].filename == __file__
    assert ev.n_undefined == {"EDRC": 1, "PairAccuracy": 1, "KendallTau": 1}


def test_the_weight_of_a_user_is_the_mean_over_the_pairs():
    ev = sg.evaluate_preferences(
        PAIRS, MIXED, qid=USERS, measures="pair_accuracy", sample_weight=[1, 3, 6]
    )
    assert ev.weights.tolist() == [(1 + 3) / 2, 6]
    assert ev.mean()["PairAccuracy"] == pytest.approx((2 * 2 / 3 + 6 * 0) / (2 + 6))
