"""The pages on troubleshooting quote messages of skgraded and other libraries literally."""

import re
import runpy
import warnings
from functools import cache
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
import sklearn
from lightgbm import LGBMRanker
from sklearn.ensemble import StackingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold, HalvingGridSearchCV, cross_val_score

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
with sklearn.config_context(enable_metadata_routing=True):
    BY_QUERY = GroupKFold(3).set_split_request(groups="qid")
SETTINGS = {"n_estimators": 2, "n_jobs": 1, "verbose": -1}


def plain():
    return LGBMRanker(**SETTINGS)


def search(**keywords):
    settings = {"scoring": sg.make_ranking_scorer("ndcng"), "cv": BY_QUERY} | keywords
    grid = settings.pop("grid", {"estimator__num_leaves": [3]})
    return GridSearchCV(sg.QueryRanker(plain()), grid, **settings)


def weighted_search():
    search().fit(X, y, qid=qid, sample_weight=np.ones(len(y)))


def misspelt_search():
    search(scoring=sg.make_ranking_scorer(["ndcng", "rr"]), refit="ndcng").fit(X, y, qid=qid)


def halving_search():
    scorer = sg.make_ranking_scorer(["ndcng", "rr"])
    HalvingGridSearchCV(
        sg.QueryRanker(Ridge()),
        {"estimator__alpha": [1, 2]},
        resource="estimator__max_iter",
        min_resources=1,
        max_resources=4,
        scoring=scorer,
        cv=BY_QUERY,
        refit="RR",
    ).fit(X, y, qid=qid)


def cross_validated_stack():
    splits = list(GroupKFold(3).split(X, y, qid))
    stack = StackingRegressor([("line", sg.QueryRanker(Ridge()))], cv=splits)
    scorer = sg.make_ranking_scorer("ndcng")
    cross_val_score(
        stack, X, y, params={"qid": qid}, scoring=scorer, cv=BY_QUERY, error_score="raise"
    )


def xgboost_ranker(y=y, rows=slice(None), **keywords):
    from xgboost import XGBRanker

    parameters = {"n_estimators": 2, "n_jobs": 1} | keywords
    weight = parameters.pop("weight", None)
    XGBRanker(**parameters).fit(X[rows], y[rows], qid=qid[rows], sample_weight=weight)


def xgboost_folds():
    import xgboost as xgb

    folds = list(GroupKFold(3).split(X, y, qid))
    xgb.cv({"objective": "rank:ndcg"}, xgb.DMatrix(X, y, qid=qid), 2, folds=folds)


def catboost_ranker(rows, group_id):
    from catboost import CatBoostRanker

    ranker = CatBoostRanker(n_estimators=2, verbose=False, allow_writing_files=False)
    ranker.fit(X[rows], y[rows], group_id=group_id)


MIXED = np.random.default_rng(0).permutation(len(y))
WITH_ROUTING = {
    "`groups` can only be passed": lambda: cross_val_score(
        sg.QueryRanker(plain()), X, y, groups=qid, cv=GroupKFold(3)
    ),
    "[sample_weight] are passed but": weighted_search,
    "For multi-metric scoring": misspelt_search,
    "mean_test_score": halving_search,
    "cross_val_predict only works": cross_validated_stack,
    "Invalid parameter 'num_leaves'": lambda: search(grid={"num_leaves": [3]}).fit(X, y, qid=qid),
}
WITHOUT_ROUTING = {
    "All the … fits failed.": lambda: cross_val_score(
        plain(), X, y, cv=3, scoring="neg_mean_squared_error"
    ),
    "The 'groups' parameter should not be None.": lambda: cross_val_score(
        sg.QueryRanker(plain(), qid=0), X, y, cv=GroupKFold(3)
    ),
    "Only ('multilabel-indicator'": lambda: ndcg_score(y, y),
    "Should set group": lambda: plain().fit(X, y),
    "Ranking tasks require": lambda: lgb.train(
        {"objective": "lambdarank", "verbose": -1}, lgb.Dataset(X, y), 2
    ),
    "Sum of query counts": lambda: plain().fit(X, y, group=SIZES[:-1]),
    "label should be int type": lambda: plain().fit(X, y + 0.5, group=SIZES),
    "Label … is not less": lambda: plain().fit(X, 20 * y, group=SIZES),
    "Number of rows": lambda: plain().fit(np.zeros((10_001, 1)), np.zeros(10_001), group=[10_001]),
    "For early stopping": lambda: plain().fit(X, y, group=SIZES, callbacks=[lgb.early_stopping(3)]),
    "Check failed: label_is_integer": lambda: xgboost_ranker(y + 0.5),
    "Relevance degress": lambda: xgboost_ranker(20 * y),
    "map can only": lambda: xgboost_ranker(objective="rank:map"),
    "`qid` must be sorted": lambda: xgboost_ranker(rows=MIXED),
    "slice does not": xgboost_folds,
    "Size of weight": lambda: xgboost_ranker(weight=np.ones(len(y))),
    "Groupwise loss": lambda: catboost_ranker(slice(None), None),
    "queryIds should be grouped": lambda: catboost_ranker(MIXED, qid[MIXED]),
}
WARNINGS = {"Scoring failed.", "X does not have valid"}


def quote_of(start):
    (quote,) = [quote for quote in quoted(OTHERS) if quote.startswith(start)]
    return quote


def test_every_quoted_message_of_another_library_has_a_test():
    starts = [*WITH_ROUTING, *WITHOUT_ROUTING, *WARNINGS]
    assert sorted(map(quote_of, starts)) == sorted(quoted(OTHERS))


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # warnings of trainings that fail
@pytest.mark.parametrize(
    ("start", "routing"),
    [*((start, True) for start in WITH_ROUTING), *((start, False) for start in WITHOUT_ROUTING)],
)
def test_a_message_of_another_library_is_as_quoted(start, routing):
    provoke = (WITH_ROUTING if routing else WITHOUT_ROUTING)[start]
    with sklearn.config_context(enable_metadata_routing=routing):
        with pytest.raises(Exception, match=re.compile(pattern(quote_of(start)), re.DOTALL)):
            provoke()


@pytest.mark.nightly
def test_warnings_of_other_libraries_are_as_quoted():
    pandas = pytest.importorskip("pandas")
    ranker = plain().fit(pandas.DataFrame(X).add_prefix("f"), y, group=SIZES)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.predict(X)
        scorer = sg.make_ranking_scorer("ndcng")
        cross_val_score(Ridge(), X, y, scoring=scorer, cv=3)
        cross_val_score(sg.QueryRanker(plain(), qid=0), X.round(), y, scoring=scorer, cv=3)
    texts = " ".join(str(warning.message) for warning in caught)
    for start in WARNINGS:
        assert re.search(pattern(quote_of(start)), texts), start
