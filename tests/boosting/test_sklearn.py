"""Early stopping of scikit-learn's HistGradientBoostingRegressor in QueryRanker."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

import skgraded as sg
from skgraded.datasets import make_ranking

pytestmark = pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")

ROUNDS = 40
PATIENCE = 6
# Columns are drawn at random for each split, so the rounds equal those of a single training run
# only if the random numbers continue from step to step.
BOOSTER = HistGradientBoostingRegressor(
    max_iter=ROUNDS,
    learning_rate=0.3,
    max_leaf_nodes=7,
    max_features=0.5,
    max_bins=32,
    random_state=0,
)
N_QUERIES = 50
WEIGHTS = np.random.default_rng(0).uniform(0.01, 5, N_QUERIES)  # one weight per query


ranking = make_ranking(N_QUERIES, 10, 4, random_state=0)
order = np.random.default_rng(0).permutation(len(ranking[1]))
is_train = ranking[2][order] < 35
X, Y, QID = [array[order][is_train] for array in ranking]
EVAL_X, EVAL_Y, EVAL_QID = [array[order][~is_train] for array in ranking]


def stopped(estimator=BOOSTER, weights=None, patience=PATIENCE, table=lambda X: X):
    """A ranker that was stopped on the second set; `weights` has one value per query."""
    by_row = {}
    if weights is not None:
        by_row = {"sample_weight": weights[QID], "sample_weight_val": weights[EVAL_QID]}
    ranker = sg.QueryRanker(estimator, early_stopping=True, n_iter_no_change=patience)
    return ranker.fit(
        table(X), Y, qid=QID, X_val=table(EVAL_X), y_val=EVAL_Y, qid_val=EVAL_QID, **by_row
    )


@pytest.fixture(scope="module")
def usual():
    return stopped()


def values_of_all_rounds(weights=None):
    """NDCNG@10 of the second set after each round of a training run without early stopping."""
    weights = np.ones(N_QUERIES) if weights is None else weights
    plain = clone(BOOSTER).set_params(early_stopping=False).fit(X, Y, sample_weight=weights[QID])
    return [
        sg.NDCNG(k=10)(EVAL_Y, scores, qid=EVAL_QID, sample_weight=weights[EVAL_QID])
        for scores in plain.staged_predict(EVAL_X)
    ]


def best_and_last(values, patience):
    """The first best round and the round after which training stops, both counted from 1."""
    best = 0
    for i, value in enumerate(values):
        if value > values[best]:
            best = i
        if i - best == patience:
            return best + 1, i + 1
    return best + 1, len(values)


# Against one training run ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights, patience",
    [
        (None, 1),
        (None, 3),
        (WEIGHTS, PATIENCE),
        (None, ROUNDS),
    ],
    ids=["patience 1", "patience 3", "weighted", "all rounds"],
)
def test_a_stopped_model_equals_a_model_trained_for_the_best_number_of_rounds(weights, patience):
    ranker = stopped(weights=weights, patience=patience)
    values = values_of_all_rounds(weights)
    best, last = best_and_last(values, patience)
    assert (last == ROUNDS) == (patience == ROUNDS)  # the other cases stop early
    assert ranker.evals_result_ == {"validation": {"NDCNG@10": values[:last]}}
    assert (ranker.n_iter_, ranker.best_iteration_) == (last, best)
    assert ranker.best_score_ == values[best - 1]

    # The trees are cut by changing a private list of scikit-learn's.
    plain = clone(BOOSTER).set_params(max_iter=best, early_stopping=False)
    plain.fit(X, Y, sample_weight=None if weights is None else weights[QID])
    assert ranker.estimator_.n_iter_ == plain.n_iter_ == best
    np.testing.assert_array_equal(ranker.predict(EVAL_X), plain.predict(EVAL_X))
    assert len(list(ranker.estimator_.staged_predict(EVAL_X))) == best


def test_no_round_is_trained_after_the_stopping_round(usual):
    class Recorder(HistGradientBoostingRegressor):
        rounds = []

        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            Recorder.rounds.append(self.n_iter_)
            return self

    ranker = stopped(Recorder(**BOOSTER.get_params()))
    assert Recorder.rounds[0] == PATIENCE
    assert Recorder.rounds == sorted(set(Recorder.rounds))
    assert Recorder.rounds[-1] == ranker.n_iter_ == ranker.best_iteration_ + PATIENCE
    assert ranker.evals_result_ == usual.evals_result_
    np.testing.assert_array_equal(ranker.predict(X), usual.predict(X))


@pytest.mark.parametrize("max_iter", [1, PATIENCE, PATIENCE + 1])
def test_training_stops_at_the_maximum_number_of_rounds(max_iter):
    ranker = stopped(clone(BOOSTER).set_params(max_iter=max_iter))
    best, last = best_and_last(values_of_all_rounds()[:max_iter], PATIENCE)
    assert (ranker.best_iteration_, ranker.n_iter_) == (best, last)


# Settings of the estimator -----------------------------------------------------------------------


def test_stopping_settings_of_the_estimator_have_no_effect_and_are_unchanged(usual):
    settings = {
        "early_stopping": "auto",
        "warm_start": True,
        "validation_fraction": 0.5,
        "n_iter_no_change": 1,
        "tol": 10.0,
        "scoring": "neg_mean_absolute_error",
    }
    estimator = clone(BOOSTER).set_params(**settings)
    ranker = stopped(estimator)
    assert ranker.evals_result_ == usual.evals_result_
    assert estimator.get_params() == BOOSTER.get_params() | settings
    assert not hasattr(estimator, "n_iter_")
