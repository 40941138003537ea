"""Pipelines inside QueryRanker: the transformers see rows, the last step queries."""

import numpy as np
import pytest
import sklearn
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

import skgraded as sg

RANKERS = {
    "LightGBM": LGBMRanker(n_estimators=20, n_jobs=1, verbose=-1),
    "XGBoost": XGBRanker(n_estimators=20, n_jobs=1),
    "CatBoost": CatBoostRanker(
        iterations=20, thread_count=1, verbose=False, allow_writing_files=False
    ),
    "a regressor": Ridge(),
}
BOOSTERS = [name for name in RANKERS if name != "a regressor"]


@pytest.fixture(scope="module")
def ranking():
    X, y, qid = sg.datasets.make_ranking(n_queries=40, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    return 100 * X[order] + 7, y[order], qid[order]


def weights_of(qid):
    return 1.0 + qid % 3


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize(("weighted", "routing"), [(False, False), (True, False), (True, True)])
def test_a_pipeline_is_the_ranker_on_what_its_transformers_make(ranking, name, weighted, routing):
    X, y, qid = ranking
    given = {"sample_weight": weights_of(qid)} if weighted else {}
    scaled = StandardScaler().fit_transform(X)
    with sklearn.config_context(enable_metadata_routing=routing):
        alone = sg.QueryRanker(RANKERS[name]).fit(scaled, y, qid=qid, **given)
        piped = make_pipeline(StandardScaler(), RANKERS[name])
        ranker = sg.QueryRanker(piped).fit(X, y, qid=qid, **given)
        # Rows are scaled in the order of their queries, and so to other last bits.
        np.testing.assert_allclose(ranker.predict(X), alone.predict(scaled), rtol=1e-6, atol=1e-6)
        assert ranker.score(X, y, qid=qid) == pytest.approx(alone.score(scaled, y, qid=qid))
    assert isinstance(ranker.estimator_, Pipeline)
    assert piped.steps[-1][1] is RANKERS[name] and not hasattr(piped[0], "mean_")


@pytest.mark.parametrize("name", BOOSTERS)
def test_a_pipeline_is_stopped_early(ranking, name):
    X, y, qid = ranking
    train = qid < 30
    scaler = StandardScaler().fit(X[train])
    sets = (X[train], y[train], qid[train]), (X[~train], y[~train], qid[~train])

    def stopped(estimator, transform):
        (X, y, qid), (eval_X, eval_y, eval_qid) = sets
        ranker = sg.QueryRanker(estimator, early_stopping=True, n_iter_no_change=5)
        return ranker.fit(
            transform(X), y, qid=qid, eval_X=transform(eval_X), eval_y=eval_y, eval_qid=eval_qid
        )

    alone = stopped(RANKERS[name], scaler.transform)
    piped = stopped(make_pipeline(StandardScaler(), RANKERS[name]), lambda X: X)
    assert piped.best_iteration_ == alone.best_iteration_
    found, expected = (
        ranker.evals_result_["validation"]["NDCNG@10"] for ranker in (piped, alone)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    expected = alone.predict(scaler.transform(X))
    np.testing.assert_allclose(piped.predict(X), expected, rtol=1e-5, atol=1e-5)


def test_a_search_reaches_the_parameters_of_all_steps(ranking):
    X, y, qid = ranking
    pipeline = Pipeline([("pca", PCA(random_state=0)), ("ranker", RANKERS["LightGBM"])])
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            sg.QueryRanker(pipeline),
            {"estimator__pca__n_components": [1, 5], "estimator__ranker__num_leaves": [3, 7]},
            scoring=sg.make_ranking_scorer("ndcng@10"), cv=list(GroupKFold(3).split(X, y, qid)),
        ).fit(X, y, qid=qid)
    assert search.best_params_["estimator__pca__n_components"] == 5
    cv = sg.cross_evaluate(search.best_estimator_, X, y, qid=qid, measures="ndcng@10", cv=3)
    assert cv.mean()["NDCNG@10"] == pytest.approx(search.best_score_, abs=0.02)


def test_the_column_of_the_queries_is_taken_out_before_the_transformers(ranking):
    X, y, qid = ranking
    piped = make_pipeline(StandardScaler(), Ridge())
    by_column = sg.QueryRanker(piped, qid=0).fit(np.column_stack([qid, X]), y)
    given = sg.QueryRanker(piped).fit(X, y, qid=qid)
    np.testing.assert_array_equal(by_column.predict(X), given.predict(X))
    assert by_column.n_features_in_ == X.shape[1]


def test_a_pipeline_of_a_ranker_alone(ranking):
    X, y, qid = ranking
    alone = sg.QueryRanker(RANKERS["LightGBM"]).fit(X, y, qid=qid)
    piped = sg.QueryRanker(make_pipeline(RANKERS["LightGBM"])).fit(X, y, qid=qid)
    np.testing.assert_array_equal(piped.predict(X), alone.predict(X))


def test_what_the_last_step_refuses_is_refused(ranking):
    X, y, qid = ranking
    piped = sg.QueryRanker(make_pipeline(StandardScaler(), LGBMRanker()))
    with pytest.raises(ValueError, match="must be integers for LGBMRanker"):
        piped.fit(X, y / 2, qid=qid)
    stopped = sg.QueryRanker(make_pipeline(StandardScaler(), Ridge()), early_stopping=True)
    with pytest.raises(TypeError, match="early_stopping=True requires a booster"):
        stopped.fit(X, y, qid=qid)
