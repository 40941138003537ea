"""Suggestions in messages: the most similar known name, if it is similar enough."""

import pytest

from skgraded._input.words import did_you_mean, nearest


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
    ],
)
def test_similar_names_are_suggested(word, known, expected):
    assert nearest(word, known) == expected
    assert did_you_mean(word, known) == f" Did you mean {expected!r}?"


@pytest.mark.parametrize(
    "word, known",
    [
        ("scoer", ["country"]),
        ("bpref", ["rbp"]),
        ("auc", ["tauap", "ap"]),
        ("nope", ["nerr"]),
        ("mae", ["map"]),
        ("dya", ["day"]),
        ("a", ["b"]),
        ("", ["a"]),
        ("x", []),
    ],
)
def test_dissimilar_names_are_not_suggested(word, known):
    assert nearest(word, known) is None and did_you_mean(word, known) == ""
