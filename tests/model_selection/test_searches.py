"""Scorers and QueryRanker in the searches and cross-validation functions of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from lightgbm import LGBMRanker
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from table_kinds import FRAMES, TABLES, toy_data

import skgraded as sg

pytestmark = pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")

NDCNG = sg.NDCNG(k=10)
SCORER = sg.make_ranking_scorer(NDCNG)  # made while routing is disabled
X, y, qid = toy_data()
FEATURES = X[:, [0, 2, 3]]
BOOSTER = LGBMRanker(
    n_estimators=6,
    min_child_samples=3,
    n_jobs=1,
    verbose=-1,
    random_state=0,
    deterministic=True,
    force_row_wise=True,
)


def by_query():
    return GroupKFold(3).set_split_request(groups="qid")


def toy_scores(weights):
    """Compute the scores of a regressor on three folds in a loop."""
    for train, test in GroupKFold(3).split(X, groups=qid):
        model = Ridge().fit(FEATURES[train], y[train], sample_weight=weights[train])
        scores = model.predict(FEATURES[test])
        yield NDCNG(y[test], scores, qid=qid[test], sample_weight=weights[test])


# Names of scores ---------------------------------------------------------------------------------


def test_refit_is_a_name_of_the_scorer():
    X, y, qid = sg.datasets.make_ranking(n_queries=20, random_state=0)

    def search(scoring, refit):
        return GridSearchCV(
            sg.QueryRanker(Ridge(), qid=-1),
            {"estimator__alpha": [1, 1000]},
            scoring=scoring,
            refit=refit,
            cv=GroupKFold(3),
            error_score="raise",
        ).fit(np.column_stack([X, qid]), y, groups=qid)

    named = sg.make_ranking_scorer({"ndcng10": "ndcng@10", "mu_map": "mu_map"}, qid=-1)
    result = search(named, "mu_map")
    assert result.best_score_ == result.cv_results_["mean_test_mu_map"].max()
    by_list = sg.make_ranking_scorer(["ndcng@10", "mu_map"], qid=-1)
    assert search(by_list, by_list.names[1]).best_score_ == result.best_score_
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):  # after all fits
        search(by_list, "mu_map")


# Functions of scikit-learn -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numpy", "csr", "pandas", "polars"])
def test_routing_and_a_query_column_give_the_same_scores_for_any_table(kind):
    column = "query_id" if kind in FRAMES else 1
    by_column = cross_val_score(
        sg.QueryRanker(Ridge(), qid=column),
        TABLES[kind](X),
        y,
        groups=qid,
        cv=GroupKFold(3),
        scoring=sg.make_ranking_scorer(NDCNG, qid=column),
    )
    expected = list(toy_scores(np.ones(len(y))))
    np.testing.assert_allclose(by_column, expected, atol=1e-12)
    with sklearn.config_context(enable_metadata_routing=True):
        for scoring in SCORER, None:  # None calls the score method of the ranker
            by_routing = cross_val_score(
                sg.QueryRanker(Ridge()),
                TABLES[kind](FEATURES),
                y,
                params={"qid": qid},
                cv=by_query(),
                scoring=scoring,
            )
            np.testing.assert_allclose(by_routing, expected, atol=1e-12)


def test_weights_reach_fit_and_score_if_both_request_them():
    weights = np.random.default_rng(0).uniform(0.1, 3, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = sg.QueryRanker(Ridge()).set_fit_request(sample_weight=True)
        settings = {"params": {"qid": qid, "sample_weight": weights}, "cv": by_query()}
        scorer = sg.make_ranking_scorer(NDCNG).set_score_request(sample_weight=True)
        scores = cross_val_score(ranker, FEATURES, y, scoring=scorer, **settings)
        with pytest.raises(ValueError, match=r"make_ranking_scorer\('NDCNG@10'\).score"):
            cross_val_score(ranker, FEATURES, y, scoring=SCORER, **settings)
    np.testing.assert_allclose(scores, list(toy_scores(weights)), rtol=0, atol=1e-12)


# Boosters in a pipeline --------------------------------------------------------------------------


def scores_in_a_loop(X, y, qid, rate):
    """Compute the scores of an LGBMRanker on two folds, with rows sorted by query and scaled."""
    scores = []
    for train, test in GroupKFold(2).split(X, groups=qid):
        scaler = StandardScaler().fit(X[train])
        train = train[np.argsort(qid[train], kind="stable")]
        model = clone(BOOSTER).set_params(learning_rate=rate)
        sizes = np.unique(qid[train], return_counts=True)[1]
        model.fit(scaler.transform(X[train]), y[train], group=sizes)
        scores.append(NDCNG(y[test], model.predict(scaler.transform(X[test])), qid=qid[test]))
    return scores


@pytest.mark.parametrize("source", ["routing", "column", "index"])
def test_a_search_over_a_pipeline_of_a_booster_gives_the_scores_of_a_loop(source):
    frame = pd.DataFrame(FEATURES, np.arange(len(y)) + 1000, list("abc"))
    column, cv, metadata = None, list(GroupKFold(2).split(X, groups=qid)), {}
    scaler = StandardScaler().set_output(transform="pandas")
    if source == "routing":
        cv, metadata = GroupKFold(2), {"qid": qid}
    elif source == "index":
        column = pd.Series(qid, frame.index)
    else:  # the scaler must not scale the query ids
        frame, column = frame.assign(query=qid), "query"
        scaler = make_column_transformer(
            (scaler, list("abc")), remainder="passthrough", verbose_feature_names_out=False
        ).set_output(transform="pandas")
    with sklearn.config_context(enable_metadata_routing=source == "routing"):
        if source == "routing":
            cv.set_split_request(groups="qid")
        search = GridSearchCV(
            make_pipeline(scaler, sg.QueryRanker(BOOSTER, qid=column)),
            {"queryranker__estimator__learning_rate": [0.03, 0.3]},
            scoring=sg.make_ranking_scorer(NDCNG, qid=column),
            cv=cv,
            error_score="raise",
        ).fit(frame, y, **metadata)
    for candidate, rate in enumerate((0.03, 0.3)):
        scores = [search.cv_results_[f"split{fold}_test_score"][candidate] for fold in range(2)]
        expected = scores_in_a_loop(FEATURES, y, qid, rate)
        np.testing.assert_allclose(scores, expected, rtol=1e-9)
