"""Columns of X with queries and times: what scorers read, and what estimators receive."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import skgraded as sg
from skgraded.model_selection import QueryKFold, RacingSearchCV

SCORER = sg.make_ranking_scorer("ndcng@10")
X, Y, QID = sg.datasets.make_ranking(n_queries=30, n_features=3, random_state=0)
WEIGHT = 1.0 + QID % 3
FOLDS = QueryKFold(3, "query")

# Steps that encode the query column ---------------------------------------------------------------


def frame_of(ids, kind=pd.DataFrame):
    return kind({"f0": X[:, 0], "query": ids, "f1": X[:, 1], "f2": X[:, 2]})


def encoded(last, output="pandas", **settings):
    """Return a pipeline that encodes the query column; unknown queries become query -1."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, **settings)
    columns = make_column_transformer(
        (encoder, ["query"]), remainder="passthrough", verbose_feature_names_out=False
    )
    return make_pipeline(columns.set_output(transform=output), last)


RANKER = sg.QueryRanker(Ridge(), qid="query")
SEARCH = {"param_grid": {"estimator__alpha": [1.0]}, "cv": FOLDS}
ENCODED = {
    "a pipeline": encoded(RANKER),
    "a pipeline in a pipeline": make_pipeline("passthrough", encoded(RANKER)),
    "a search over a pipeline": GridSearchCV(encoded(RANKER), {}, scoring=SCORER, cv=FOLDS),
    "a search in a pipeline": encoded(GridSearchCV(RANKER, **SEARCH, scoring=SCORER)),
    "a search without scorer": encoded(GridSearchCV(RANKER, **SEARCH)),
    "a race in a pipeline": encoded(
        RacingSearchCV(Ridge(), {"alpha": [1.0]}, cv=FOLDS, random_state=0)
    ),
}


@pytest.fixture(params=[False, True], ids=["without routing", "with routing"])
def routing(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


def fold_values(ids, weight=None):
    """Compute the scores of Ridge on the folds of the splitter."""
    for train, test in FOLDS.split(frame_of(ids)):
        model = Ridge().fit(X[train], Y[train])
        weights = None if weight is None else weight[test]
        yield sg.NDCNG(k=10)(Y[test], model.predict(X[test]), qid=ids[test], sample_weight=weights)


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_queries_are_read_before_the_steps_of_a_pipeline(name, kind, routing):
    ids = np.array([f"query {query}" for query in QID], dtype=object)
    expected = list(fold_values(ids))
    for scoring in (SCORER, None):
        if name == "a race in a pipeline" and scoring is not None:
            continue  # its splitter, not its ranker, names the queries
        scores = cross_val_score(
            ENCODED[name],
            frame_of(ids, kind),
            Y,
            scoring=scoring,
            cv=FOLDS,
            params={},
            error_score="raise",
        )
        np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_the_score_of_a_pipeline_is_weighted_by_query():
    ids = QID.astype(str)
    for (train, test), expected in zip(
        FOLDS.split(frame_of(ids)), fold_values(ids, WEIGHT), strict=True
    ):
        frame = frame_of(ids)
        pipe = encoded(RANKER).fit(frame.iloc[train], Y[train])
        score = pipe.score(frame.iloc[test], Y[test], sample_weight=WEIGHT[test])
        assert score == pytest.approx(expected, rel=1e-12)


def test_a_position_after_the_steps_of_a_pipeline_is_an_error():
    frame = frame_of(QID)
    pipe = encoded(sg.QueryRanker(Ridge(), qid=0), "default").fit(frame, Y)
    for call in (pipe.score, lambda X, y: SCORER(pipe, X, y)):
        with pytest.raises(
            ValueError, match=r"got no qid.*make_ranking_scorer\(…, qid='query_id'\)"
        ):
            call(frame, Y)
    by_position = sg.make_ranking_scorer("ndcng@10", qid=1)  # of the user's X
    assert by_position(pipe, frame, Y) == SCORER(encoded(RANKER).fit(frame, Y), frame, Y)


def test_warnings_about_split_queries_compare_the_ids_that_the_ranker_has_seen():
    # The encoder numbers the ids 10, 11, … from 0, so that most codes are also ids.
    frame, named = frame_of(QID + 10), sg.make_ranking_scorer("ndcng@10", qid="query")
    pipe = encoded(RANKER, dtype=int)
    for cv, splits_queries in ((FOLDS, False), (KFold(3), True)):
        for train, test in cv.split(frame):
            pipe.fit(frame.iloc[train], Y[train])
            for score in (SCORER, named, lambda pipe, X, y: pipe.score(X, y)):
                with warnings.catch_warnings(record=True) as record:
                    warnings.simplefilter("always")
                    score(pipe, frame.iloc[test], Y[test])
                shared = np.intersect1d(QID[train], QID[test])
                assert len(record) == (len(shared) > 0)
                if len(shared):
                    message = str(record[0].message)
                    assert f"{len(shared)} of the {len(set(QID[test]))} queries" in message
                    assert f"such as {shared[0] + 10}, " in message
        assert (len(shared) > 0) == splits_queries
