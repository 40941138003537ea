"""Suggestions in messages: the nearest known name, and only if it is near."""

import time

import pandas as pd
import pytest

import skgraded as sg
from skgraded._input.words import did_you_mean, nearest


@pytest.mark.parametrize(
    "word, known, expected",
    [
        ("scoer", ["country", "score"], "score"),  # neighbours are swapped
        ("grades", ["grade", "query"], "grade"),
        ("qury", ["query"], "query"),
        ("Score", ["score"], "score"),
        ("relevant", ["relevance"], "relevance"),  # two of nine characters differ
        ("kendall", ["KendallTau"], "KendallTau"),  # an abbreviation
        ("bm24", ["lgbm", "bm25"], "bm25"),
        ("sessions", ["season", "session"], "session"),  # the nearest of several
        (0, [0, 1], "0"),
    ],
)
def test_near_names(word, known, expected):
    assert nearest(word, known) == expected
    assert did_you_mean(word, known) == f" Did you mean {expected!r}?"


@pytest.mark.parametrize(
    "word, known",
    [
        ("scoer", ["country"]), ("bpref", ["rbp"]), ("auc", ["tauap", "ap"]), ("nope", ["nerr"]),
        ("mae", ["map"]), ("user_id", ["query_id"]), ("a", ["b"]), ("", ["a"]), ("x", []),
    ],
)
def test_names_that_are_not_near(word, known):
    assert nearest(word, known) is None and did_you_mean(word, known) == ""


def test_very_long_names_are_compared_in_little_time():
    start = time.perf_counter()
    assert nearest("a" * 100_000 + "b", ["a" * 100_000, "c" * 100_000]) == "a" * 100_000
    assert time.perf_counter() - start < 1


def test_columns_are_listed_with_a_suggestion_only_if_one_is_near():
    frame = pd.DataFrame({"query": [1], "grade": [1], "country": ["DE"], "score": [1.0]})
    with pytest.raises(ValueError, match="column 'scoer'.* 'country', 'score'. Did you mean 'sc"):
        sg.evaluate_batches([frame], y_score="scoer", y_true="grade", qid="query")
    with pytest.raises(ValueError, match="'country'") as error:
        sg.evaluate_batches(
            [frame.drop(columns="score")], y_score="scoer", y_true="grade", qid="query"
        )
    assert "Did you mean" not in str(error.value)
