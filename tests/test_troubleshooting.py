"""The pages on troubleshooting quote messages of skgraded and other libraries literally."""

import re
import runpy
from functools import cache
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
from lightgbm import LGBMRanker
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GroupKFold, cross_val_score

import skgraded as sg

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {
    path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "troubleshooting").glob("*.md")
}
OTHERS = "\n".join(PAGES[name] for name in ("scikit_learn", "boosting_libraries"))
WITHOUT_QUOTES = {"index", "numbers"}
OURS = "\n".join(
    text for name, text in PAGES.items() if text not in OTHERS and name not in WITHOUT_QUOTES
)
SCRIPT = runpy.run_path(str(DOCS / "messages.py"))


@cache
def messages():
    """Return the messages in the code; reading them takes a second."""
    return SCRIPT["messages"]()


def quoted(part):
    """Return the messages that a page explains: code before a line that begins with a colon."""
    return [text.strip() for _, text in re.findall(r"(?m)^(`+)(.+?)\1\n: ", part)]


def pattern(quote):
    """Return the regular expression of a quote, in which "…" matches any value."""
    return ".*?".join(re.escape(piece) for piece in quote.split("…"))


def test_the_quotes_of_all_entries_are_recognized():
    assert len(quoted(OURS)) == OURS.count("\n: ") > 40
    assert len(quoted(OTHERS)) == OTHERS.count("\n: ") > 20


@pytest.mark.parametrize("quote", quoted(OURS))
def test_a_quoted_message_of_skgraded_is_in_the_code(quote):
    assert any(re.search(pattern(quote), text, re.DOTALL) for _, _, text in messages()), quote


def test_messages_of_each_form_are_read_from_the_code():
    texts = [text for _, _, text in messages()]
    assert len(texts) > 300 and all(room for room, _, _ in messages())
    # One message of each form: plain, with values, a formatted constant, one of two.
    for start in (
        "Pass the queries as either qid",
        "… must contain only grades ≥ 0",
        "… got no qid: pass qid=qid",
        "… of the … queries to score, such as …, are among",
    ):
        assert any(text.startswith(start) for text in texts), start
    assert not [text for text in texts if re.search(r"\{\w*\}", text)]


@pytest.mark.parametrize("topic", SCRIPT["topics"]())
def test_the_messages_of_each_topic_are_listed_on_one_page(topic):
    pages = [name for name, text in PAGES.items() if f"<!-- messages: {topic} -->" in text]
    assert len(pages) == 1
    assert SCRIPT["listed"](topic).startswith("- ")


# Other libraries --------------------------------------------------------------------------------

X, y, qid = sg.datasets.make_ranking(n_queries=12, random_state=0)
SIZES = np.bincount(qid)
RANKER = LGBMRanker(n_estimators=2, n_jobs=1, verbose=-1)
# Messages of the libraries that are always installed, if one call causes them
CALLS = {
    "All the … fits failed.": lambda: cross_val_score(
        RANKER, X, y, cv=3, scoring="neg_mean_squared_error"
    ),
    "The 'groups' parameter should not be None.": lambda: cross_val_score(
        sg.QueryRanker(RANKER, qid=0), X, y, cv=GroupKFold(3)
    ),
    "Only ('multilabel-indicator'": lambda: ndcg_score(y, y),
    "Should set group": lambda: RANKER.fit(X, y),
    "Ranking tasks require": lambda: lgb.train(
        {"objective": "lambdarank", "verbose": -1}, lgb.Dataset(X, y), 2
    ),
    "Sum of query counts": lambda: RANKER.fit(X, y, group=SIZES[:-1]),
    "label should be int type": lambda: RANKER.fit(X, y + 0.5, group=SIZES),
    "Label … is not less": lambda: RANKER.fit(X, 20 * y, group=SIZES),
    "Number of rows": lambda: RANKER.fit(np.zeros((10_001, 1)), np.zeros(10_001), group=[10_001]),
    "For early stopping": lambda: RANKER.fit(X, y, group=SIZES, callbacks=[lgb.early_stopping(3)]),
}


@pytest.mark.filterwarnings("ignore")  # warnings from training runs that fail
@pytest.mark.parametrize("start", CALLS)
def test_a_message_of_another_library_is_as_quoted(start):
    (quote,) = [quote for quote in quoted(OTHERS) if quote.startswith(start)]
    with pytest.raises(Exception, match=re.compile(pattern(quote), re.DOTALL)):
        CALLS[start]()
