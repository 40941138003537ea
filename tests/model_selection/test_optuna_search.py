"""OptunaSearchCV searches over QueryRanker, and a callback shows the errors that it catches."""

import numpy as np
import pytest
import sklearn
from lightgbm import LGBMRanker
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, cross_val_score

import skgraded as sg
from skgraded.model_selection import QueryKFold

optuna = pytest.importorskip("optuna", reason='needs Optuna: pip install "skgraded[peers]"')
integration = pytest.importorskip(
    "optuna_integration", reason='needs optuna-integration: pip install "skgraded[peers]"'
)
pytestmark = pytest.mark.filterwarnings("ignore")  # Optuna's own, and those about failing fits

FOLDS = QueryKFold(3, qid=-1)
SCORER = sg.make_ranking_scorer("ndcng@10")
ALPHA = {"estimator__alpha": optuna.distributions.FloatDistribution(1e-3, 1e5, log=True)}
LEAVES = {"estimator__num_leaves": optuna.distributions.IntDistribution(3, 31)}
LIGHTGBM = sg.QueryRanker(LGBMRanker(n_estimators=5, verbose=-1, n_jobs=1), qid=-1)


@pytest.fixture(autouse=True)
def quiet():
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(verbosity)


def data():
    X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    return np.column_stack([X, qid]), y, qid


def search_over(ranker, distributions, **settings):
    settings = {"cv": FOLDS, "scoring": SCORER, "n_trials": 3, "random_state": 0} | settings
    return integration.OptunaSearchCV(ranker, distributions, **settings)


def raise_error(ranker, X, y):
    """A callback that repeats a trial with a failing fold so that the original error is raised."""
    def callback(study, trial):
        scores = [trial.user_attrs[f"split{fold}_test_score"] for fold in range(3)]
        if np.isnan(scores).any():
            candidate = clone(ranker).set_params(**trial.params)
            cross_val_score(candidate, X, y, scoring=SCORER, cv=FOLDS, error_score="raise")
    return callback


def test_the_value_of_each_trial_is_the_mean_score_of_its_folds():
    X, y, _ = data()
    ranker = sg.QueryRanker(Ridge(), qid=-1)
    search = search_over(ranker, ALPHA, callbacks=[raise_error(ranker, X, y)]).fit(X, y)
    values = [
        cross_val_score(clone(ranker).set_params(**trial.params), X, y, scoring=SCORER, cv=FOLDS)
        for trial in search.trials_
    ]
    assert [trial.value for trial in search.trials_] == pytest.approx(np.mean(values, axis=1))
    assert search.best_score_ == max(trial.value for trial in search.trials_)
    assert search.best_estimator_.get_params()["estimator__alpha"] in [
        trial.params["estimator__alpha"] for trial in search.trials_
    ]


def test_routing_and_a_query_column_give_the_same_trials():
    X, y, qid = data()
    by_column = search_over(sg.QueryRanker(Ridge(), qid=-1), ALPHA).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        by_query = GroupKFold(3).set_split_request(groups="qid")
        routed = search_over(sg.QueryRanker(Ridge()), ALPHA, cv=by_query).fit(X[:, :-1], y, qid=qid)
    assert [trial.params for trial in routed.trials_] == [
        trial.params for trial in by_column.trials_
    ]
    for trial in routed.trials_:
        scores = [trial.user_attrs[f"split{fold}_test_score"] for fold in range(3)]
        ranker = sg.QueryRanker(Ridge(**{"alpha": trial.params["estimator__alpha"]}), qid=-1)
        expected = cross_val_score(ranker, X, y, groups=qid, scoring=SCORER, cv=GroupKFold(3))
        assert scores == pytest.approx(expected.tolist())


@pytest.mark.nightly
def test_optuna_averages_the_folds_that_do_not_fail():
    X, y, _ = data()
    fractional = np.where(np.arange(len(y)) == 0, 0.5, y)
    search = search_over(LIGHTGBM, LEAVES, refit=False).fit(X, fractional)
    for trial in search.trials_:
        scores = [trial.user_attrs[f"split{fold}_test_score"] for fold in range(3)]
        assert trial.state == optuna.trial.TrialState.COMPLETE
        assert np.isnan(scores).sum() == 2
        assert trial.value == np.nanmean(scores)


def test_a_callback_raises_the_error_of_a_failing_fold():
    X, y, _ = data()
    fractional = np.where(np.arange(len(y)) == 0, 0.5, y)
    search = search_over(LIGHTGBM, LEAVES, callbacks=[raise_error(LIGHTGBM, X, fractional)])
    with pytest.raises(ValueError, match="Grades in y must be integers for LGBMRanker; got 0.5"):
        search.fit(X, fractional)
    assert len(search.study_.trials) == 1


def test_a_callback_raises_the_error_if_all_folds_fail():
    X, y, _ = data()
    ranker = sg.QueryRanker(Ridge())  # the ranker receives no query ids
    search = search_over(ranker, ALPHA, callbacks=[raise_error(ranker, X, y)])
    with pytest.raises(ValueError, match=r"QueryRanker\.fit got no qid"):
        search.fit(X, y)
    assert search.study_.trials[0].state == optuna.trial.TrialState.FAIL
