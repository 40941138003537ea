"""The scorer and the ranker use only the public interface of scikit-learn, also for routing."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate, learning_curve

import skgraded as sg
from skgraded.model_selection import QueryKFold
from skgraded.model_selection.scorer import RankingScorer

PACKAGE = Path(sg.__file__).parent
# A clone reads the first three. Searches with weights call the last one if routing is disabled.
READ = {
    "__class__",
    "__module__",
    "__sklearn_clone__",
    "get_metadata_routing",
    "_accept_sample_weight",
}


def private_imports(path):
    """Names that a file imports from scikit-learn and that are private, or in a private module."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "from sklearn" in text else ():
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "sklearn":
            for alias in node.names:
                if any(part.startswith("_") for part in f"{node.module}.{alias.name}".split(".")):
                    yield alias.name


def test_no_private_name_of_scikit_learn_is_imported():
    assert [name for path in PACKAGE.rglob("*.py") for name in private_imports(path)] == []


class ReadScorer(RankingScorer):
    """A scorer that records which of its attributes scikit-learn reads."""

    read: set = set()

    def __getattribute__(self, name):
        if sys._getframe(1).f_globals["__name__"].partition(".")[0] == "sklearn":
            ReadScorer.read.add(name)
        return super().__getattribute__(name)


def run_tools(scorer, routing):
    """Use the scorer in a search and in functions of scikit-learn."""
    X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    if routing:
        ranker, metadata = sg.QueryRanker(Ridge()), {"qid": qid}
        cv, params = GroupKFold(3).set_split_request(groups="qid"), {"params": metadata}
    else:
        X, metadata, params = np.column_stack([X, qid]), {"sample_weight": np.ones(len(y))}, {}
        ranker, cv = sg.QueryRanker(Ridge(), qid=-1), QueryKFold(3, qid=-1)
    for scoring in (scorer, {"ndcng": scorer}):
        search = GridSearchCV(ranker, {"measure": ["ap"]}, scoring=scoring, cv=cv, refit=False)
        search.fit(X, y, **metadata)
        cross_validate(ranker, X, y, scoring=scoring, cv=cv, **params)
    learning_curve(ranker, X, y, scoring=scorer, cv=cv, **params)
    if routing:  # otherwise, this tool drops the query column
        SequentialFeatureSelector(ranker, scoring=scorer, cv=cv).fit(X, y, **metadata)


@pytest.mark.nightly
@pytest.mark.parametrize("routing", [False, True])
def test_scikit_learn_reads_only_expected_attributes_of_a_scorer(routing, monkeypatch):
    monkeypatch.setattr(ReadScorer, "read", set())
    with sklearn.config_context(enable_metadata_routing=routing):
        run_tools(clone(ReadScorer("ndcng@10", None, None)), routing)
    assert ("get_metadata_routing" in ReadScorer.read) == routing
    assert ReadScorer.read <= READ
