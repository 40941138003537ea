"""Columns of X with queries and times: what scorers read, and what estimators receive."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from lightgbm import LGBMRegressor
from never_fitted import NeverFitted
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from table_kinds import select

import skgraded as sg
from skgraded.model_selection import QueryKFold, QueryTimeSeriesSplit, RacingSearchCV

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
    by_position = sg.make_ranking_scorer("ndcng@10", qid=1)  # a position in the user's X
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


# Columns that a splitter names --------------------------------------------------------------------

DAY = QID * 7 % 5
TABLE = np.column_stack([X[:, 0], QID, X[:, 1:], DAY])
NAMES = ["f0", "query", "f1", "f2", "day"]
FRAME = pd.DataFrame(TABLE, columns=NAMES)
KINDS = {
    "pandas": (FRAME, "query", "day"),
    "polars": (pl.DataFrame(TABLE, schema=NAMES), "query", "day"),
    "arrow": (pa.table(dict(zip(NAMES, TABLE.T, strict=True))), "query", "day"),
    "numpy": (TABLE, -4, -1),
    "csr": (csr_matrix(TABLE), 1, 4),
}
BY_DAY = QueryTimeSeriesSplit(2, time="day", qid="query")


def n_columns(fitted):
    """The number of columns that the innermost estimator was fitted on."""
    while not isinstance(fitted, Ridge):
        inner = getattr(fitted, "best_estimator_", None) or getattr(fitted, "estimator_", None)
        fitted = fitted[-1] if inner is None else inner
    return fitted.n_features_in_


@pytest.mark.parametrize("kind", KINDS)
def test_no_estimator_is_fitted_on_the_columns_of_the_splitter(kind):
    table, query, day = KINDS[kind]
    by_day = QueryTimeSeriesSplit(2, time=day, qid=query)
    splits = list(by_day.split(table))
    settings = {"sample_weight": WEIGHT, "measures": "ndcng@10"}
    expected = sg.cross_evaluate(Ridge(), X, Y, qid=QID, cv=splits, **settings)
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = Ridge().set_fit_request(sample_weight=True)
    for ranker in (
        Ridge(),
        make_pipeline(FunctionTransformer(), requesting),
        sg.QueryRanker(Ridge()),
        sg.QueryRanker(Ridge(), qid=query),
        sg.QueryRanker(Ridge(), qid=query, drop=[day]),
    ):
        cv = sg.cross_evaluate(ranker, table, Y, cv=by_day, return_estimator=True, **settings)
        assert {n_columns(fitted) for fitted in cv.estimators} == {3}
        np.testing.assert_allclose(
            cv.per_query["NDCNG@10"], expected.per_query["NDCNG@10"], rtol=1e-9
        )
        prefix = {Pipeline: "ridge__", sg.QueryRanker: "estimator__"}.get(type(ranker), "")
        race = RacingSearchCV(ranker, {f"{prefix}alpha": [1.0]}, cv=by_day, random_state=0)
        race.fit(table, Y)
        assert n_columns(race.best_estimator_) == 3
        without = {"csr": csr_matrix(X), "numpy": X}.get(kind)
        for rows in (table, select(table, ["f0", "f1", "f2"]) if without is None else without):
            np.testing.assert_allclose(race.predict(rows), Ridge().fit(X, Y).predict(X), rtol=1e-9)
        assert race.score(table, Y) == sg.NDCNG(k=10)(Y, race.predict(table), qid=QID)


NAMED = {
    "a search of the query": (GridSearchCV(RANKER, {}, cv=FOLDS, scoring=SCORER), 3),
    "a search of both, whose ranker drops the day": (
        GridSearchCV(
            sg.QueryRanker(Ridge(), qid="query", drop="day"), {}, cv=BY_DAY, scoring=SCORER
        ),
        3,
    ),
    "a search of both, which scikit-learn keeps": (GridSearchCV(Ridge(), {}, cv=BY_DAY), 5),
    "a scorer of the query": (
        GridSearchCV(Ridge(), {}, cv=2, scoring=sg.make_ranking_scorer("rr", qid="query")),
        4,
    ),
    "a race of both": (RacingSearchCV(Ridge(), {"alpha": [1.0]}, cv=BY_DAY, random_state=0), 3),
    "a transformer of both": (
        make_pipeline(
            make_column_transformer(("drop", ["query", "day"]), remainder="passthrough"), Ridge()
        ),
        3,
    ),
    "a position after steps": (
        make_pipeline(FunctionTransformer(), sg.QueryRanker(Ridge(), qid=1, drop=[-1])),
        3,
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_columns_that_an_estimator_names_stay_until_its_own_fit(name):
    ranker, expected = NAMED[name]
    cv = sg.cross_evaluate(ranker, FRAME, Y, cv=BY_DAY, return_estimator=True)
    assert {n_columns(fitted) for fitted in cv.estimators} == {expected}


def test_a_stack_and_early_stopping_may_name_the_columns_of_the_splitter():
    inner = sg.QueryRanker(Ridge(), qid="query", drop="day")
    stack = StackingRegressor([("line", inner)], Ridge(), cv=FOLDS)
    cv = sg.cross_evaluate(stack, FRAME, Y, cv=BY_DAY, return_estimator=True)
    assert {n_columns(fitted.estimators_[0]) for fitted in cv.estimators} == {3}
    booster = LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1)
    latest = sg.QueryRanker(booster, qid="query", early_stopping=BY_DAY)
    cv = sg.cross_evaluate(latest, FRAME, Y, cv=BY_DAY, return_estimator=True)
    assert {tuple(fitted.feature_names_in_) for fitted in cv.estimators} == {("f0", "f1", "f2")}
    search = GridSearchCV(latest, {"estimator__num_leaves": [3]}, cv=BY_DAY).fit(FRAME, Y)
    assert search.best_estimator_.n_features_in_ == 3


@pytest.mark.parametrize("qid", ["query", None])
def test_searches_of_scikit_learn_warn_if_a_ranker_is_trained_on_the_columns_of_the_splitter(qid):
    drop = ["day"] if qid else ["query", "day"]
    ranker = sg.QueryRanker(NeverFitted(), qid=qid)
    search = GridSearchCV(ranker, {"qid": [qid]}, cv=BY_DAY, scoring=SCORER)
    nested = GridSearchCV(ranker, {"qid": [qid]}, cv=FOLDS)
    for call in (
        search.fit,
        *(partial(cross_val_score, each, cv=BY_DAY) for each in (ranker, nested)),
    ):
        with pytest.warns(match="^cv names") as warned, pytest.raises(ValueError, match="failed"):
            call(FRAME, Y)
        assert f"pass {drop=} to QueryRanker" in str(warned[0].message)
        assert {record.filename for record in warned if "cv" in str(record.message)} == {__file__}
    ranker.set_params(estimator=Ridge(), qid="query", drop=["day"])
    assert search.set_params(param_grid={}).fit(FRAME, Y).best_estimator_.n_features_in_ == 3


def test_a_position_that_a_removed_column_would_shift_is_an_error():
    by_day = QueryTimeSeriesSplit(2, time=-1, qid=1)
    settings = {"param_grid": {}, "cv": QueryKFold(2, 1), "scoring": SCORER}
    search = GridSearchCV(sg.QueryRanker(NeverFitted(), qid=1), **settings)
    message = r"cv uses the column 4; .* the position 1 in GridSearchCV .* drop=\[4\] to QueryR"
    with pytest.raises(ValueError, match=message):
        sg.cross_evaluate(search, TABLE, Y, cv=by_day)
    search = GridSearchCV(sg.QueryRanker(Ridge(), qid=1, drop=[4]), **settings)
    cv = sg.cross_evaluate(search, TABLE, Y, cv=by_day, return_estimator=True)
    assert {n_columns(fitted) for fitted in cv.estimators} == {3}
