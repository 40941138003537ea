"""join_judgments: judgments of several judges, and runs, in aligned columns."""

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from skgraded.datasets import join_judgments

EXAMPLES = int(os.environ.get("SKGRADED_EXAMPLES", 25))
HUMAN = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
MODEL = {"q2": {"a": 3, "c": 1}, "q3": {"d": 2}, "q1": {"b": 1}}
RUN = {"q2": {"x": 1.5, "a": 0.5}, "q1": {"b": 7.0}, "q9": {"a": 1.0}}
JUDGES = {"human": HUMAN, "model": MODEL}
ROWS = [  # query, document, human, model, run
    ("q1", "a", 2, None, -math.inf),
    ("q1", "b", 0, 1, 7.0),
    ("q2", "a", 1, 3, 0.5),
    ("q2", "c", None, 1, -math.inf),
    ("q2", "x", None, None, 1.5),
    ("q3", "d", None, 2, -math.inf),
]


def rows(joined):
    """Return one tuple per row: query, document, grades (None if missing) and scores."""
    grades = [
        [None if math.isnan(grade) else grade for grade in values.tolist()]
        for values in joined.y_judges.values()
    ]
    scores = [values.tolist() for values in joined.y_scores.values()]
    columns = [joined.qid.tolist(), joined.doc_id.tolist(), *grades, *scores]
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("form", [dict, pytest.importorskip("pandas").DataFrame])
def test_rows_of_dicts_and_frames(form):
    columns = {"query": ["q1", "q1", "q2"], "document": ["a", "b", "a"], "grade": [2, 0, 1]}
    assert rows(join_judgments({"human": form(columns), "model": MODEL}, {"run": RUN})) == ROWS


def test_types_of_the_columns():
    joined = join_judgments(JUDGES, {"run": RUN})
    assert list(joined) == ["y_judges", "y_scores", "qid", "doc_id"]
    for values in (*joined.y_judges.values(), *joined.y_scores.values()):
        assert values.dtype == np.float64
    assert joined.doc_id.dtype == object
    assert join_judgments(JUDGES).y_scores == {}
    assert list(join_judgments({"only": HUMAN}).y_judges) == ["only"]


IDS = st.sampled_from(["q1", "q2", "q3"]), st.sampled_from("abcd")
QRELS = st.dictionaries(st.tuples(*IDS), st.integers(0, 3), min_size=1)


@pytest.mark.filterwarnings("ignore:.*contains no judged document of any query")
@settings(max_examples=EXAMPLES, deadline=None)
@given(QRELS, QRELS, QRELS)
def test_rows_equal_a_join_by_dictionaries(first, second, run):
    sources = {"first": first, "second": second, "run": run}
    nested: dict = {name: {} for name in sources}
    for name, numbers in sources.items():
        for (query, document), number in numbers.items():
            nested[name].setdefault(query, {})[document] = number
    judges = {"first": nested["first"], "second": nested["second"]}
    if any(not set(nested[name]) & set(nested["first"]) for name in ("second", "run")):
        with pytest.raises(ValueError, match="have no query in common"):
            join_judgments(judges, {"run": nested["run"]})
        return
    judged = {query for query, _ in first} | {query for query, _ in second}
    expected = [
        (*pair, first.get(pair), second.get(pair), run.get(pair, -math.inf))
        for pair in dict.fromkeys([*first, *second, *run])
        if pair[0] in judged
    ]
    joined = join_judgments(judges, {"run": nested["run"]})
    assert sorted(rows(joined), key=str) == sorted(expected, key=str)
    # The rows of a query are contiguous; queries are in order of first appearance.
    queries = joined.qid.tolist()
    changes = [q for i, q in enumerate(queries) if not i or queries[i - 1] != q]
    order = dict.fromkeys(q for name in nested for q in nested[name])
    assert changes == [query for query in order if query in judged]


def test_ids_may_be_of_any_type():
    judges = {
        "human": {1: {(1, 2): 1, 7: 0}, ("a", 1): {"b": 2}},
        "model": {("a", 1): {"b": 1}},
    }
    assert rows(join_judgments(judges)) == [
        (1, (1, 2), 1, None),
        (1, 7, 0, None),
        (("a", 1), "b", 2, 1),
    ]
    joined = join_judgments({"a": {1: {"d": 1}}, "b": {np.int64(1): {"d": 2}}})
    assert rows(joined) == [(1, "d", 1, 2)]
