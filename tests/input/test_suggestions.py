"""Suggestions in messages: the most similar known name, if it is similar enough."""

import pytest

from skgraded._input.messages import find_nearest, suggest_name


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
