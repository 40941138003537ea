"""Pipelines in QueryRanker: transformers receive rows, the last step also receives queries."""

import numpy as np
import pytest
import sklearn
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

import skgraded as sg

pytestmark = pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")

RANKERS = {
    "LightGBM": LGBMRanker(n_estimators=8, n_jobs=1, verbose=-1),
    "XGBoost": XGBRanker(n_estimators=8, n_jobs=1),
    "CatBoost": CatBoostRanker(
        iterations=8, thread_count=1, verbose=False, allow_writing_files=False
    ),
    "a regressor": Ridge(),
}


ranking = sg.datasets.make_ranking(n_queries=30, random_state=0)
order = np.random.default_rng(0).permutation(len(ranking[1]))
X, y, qid = [array[order] for array in ranking]
X = 100 * X + 7


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("routing", [False, True])
def test_a_pipeline_equals_the_ranker_on_transformed_rows(name, routing):
    weights = {"sample_weight": 1.0 + qid % 3} if routing else {}
    scaled = StandardScaler().fit_transform(X)
    with sklearn.config_context(enable_metadata_routing=routing):
        alone = sg.QueryRanker(RANKERS[name]).fit(scaled, y, qid=qid, **weights)
        piped = make_pipeline(StandardScaler(), RANKERS[name])
        ranker = sg.QueryRanker(piped).fit(X, y, qid=qid, **weights)
        # The pipeline scales the rows in a different order, which changes the last bits.
        np.testing.assert_allclose(ranker.predict(X), alone.predict(scaled), rtol=1e-6, atol=1e-6)
        assert ranker.score(X, y, qid=qid) == pytest.approx(alone.score(scaled, y, qid=qid))
    assert isinstance(ranker.estimator_, Pipeline)
    assert piped.steps[-1][1] is RANKERS[name] and not hasattr(piped[0], "mean_")


def test_the_query_column_is_removed_before_the_transformers():
    piped = make_pipeline(StandardScaler(), Ridge())
    by_column = sg.QueryRanker(piped, qid=0).fit(np.column_stack([qid, X]), y)
    by_argument = sg.QueryRanker(piped).fit(X, y, qid=qid)
    np.testing.assert_array_equal(by_column.predict(X), by_argument.predict(X))
    assert by_column.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("stops", [False, True])
def test_a_pipeline_may_contain_only_a_ranker_or_another_pipeline(stops):
    ranker = RANKERS["LightGBM"]
    inner = make_pipeline(StandardScaler(), ranker)
    alone, piped, scaled, nested = (
        sg.QueryRanker(estimator, early_stopping=stops, random_state=0).fit(X, y, qid=qid)
        for estimator in (ranker, make_pipeline(ranker), inner, make_pipeline(inner))
    )
    np.testing.assert_array_equal(piped.predict(X), alone.predict(X))
    np.testing.assert_array_equal(nested.predict(X), scaled.predict(X))
    assert nested.estimator_[0][-1].n_estimators_ == scaled.estimator_[-1].n_estimators_
