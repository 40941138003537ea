"""scikit-learn's HistGradientBoostingRegressor, stopped early inside QueryRanker."""

import pickle
import re
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold

import skgraded as sg
from skgraded.boosting.adapter import adapter_of
from skgraded.datasets import make_ranking

ROUNDS = 60
PATIENCE = 6
# Columns are drawn at each split, so that the rounds are those of one training only if the
# random numbers go on where they were.
BOOSTER = HistGradientBoostingRegressor(
    max_iter=ROUNDS, learning_rate=0.3, max_leaf_nodes=7, max_features=0.5, random_state=0
)


def two_sets(n_queries=50):
    """Training rows of seven tenths of the queries, and the other rows, shuffled."""
    X, y, qid = make_ranking(n_queries, 10, 4, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, qid = X[order], y[order], qid[order]
    train = qid < 0.7 * n_queries
    return (X[train], y[train], qid[train]), (X[~train], y[~train], qid[~train])


def stopped(estimator=BOOSTER, weights=None, patience=PATIENCE, table=lambda X: X, **fit_params):
    """A ranker that was stopped on the second set, weights by query."""
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    if weights is not None:
        fit_params |= {"sample_weight": weights[qid], "eval_sample_weight": weights[eval_qid]}
    ranker = sg.QueryRanker(estimator, early_stopping=True, n_iter_no_change=patience)
    return ranker.fit(
        table(X), y, qid=qid, eval_X=table(eval_X), eval_y=eval_y, eval_qid=eval_qid, **fit_params
    )


def weights_of_queries():
    return np.random.default_rng(0).uniform(0.01, 5, 50)


@cache
def stopped_as_usual(weighted=False):
    return stopped(weights=weights_of_queries() if weighted else None)


def values_of_all_rounds(weights=None):
    """NDCNG@10 of the second set after each round of a plain training."""
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    by_row = (None, None) if weights is None else (weights[qid], weights[eval_qid])
    plain = clone(BOOSTER).set_params(early_stopping=False).fit(X, y, sample_weight=by_row[0])
    return [
        sg.NDCNG(k=10)(eval_y, scores, qid=eval_qid, sample_weight=by_row[1])
        for scores in plain.staged_predict(eval_X)
    ]


def first_best(values, patience):
    """The round of the best value, from 1, and the round that a patient observer stops at."""
    best = 0
    for i, value in enumerate(values):
        if value > values[best]:
            best = i
        if i - best == patience:
            return best + 1, i + 1
    return best + 1, len(values)


# Against one training ----------------------------------------------------------------------------

@pytest.mark.parametrize("weighted, patience", [
    (False, 1), (False, 3), (True, PATIENCE), (False, ROUNDS),
])
def test_it_is_stopped_at_the_best_of_all_rounds(weighted, patience):
    weights = weights_of_queries() if weighted else None
    is_usual = patience == PATIENCE
    ranker = stopped_as_usual(weighted) if is_usual else stopped(weights=weights, patience=patience)
    values = values_of_all_rounds(weights)
    best, last = first_best(values, patience)
    assert (last == ROUNDS) == (patience == ROUNDS)  # else nothing was tested
    assert ranker.evals_result_ == {"validation": {"NDCNG@10": values[:last]}}
    assert (ranker.n_iter_, ranker.best_iteration_) == (last, best)
    assert ranker.best_score_ == values[best - 1]


@pytest.mark.parametrize("weighted", [False, True])
def test_it_predicts_what_one_training_of_the_best_rounds_predicts(weighted):
    # Its trees are cut by a private list of scikit-learn's: this notices when that changes.
    weights, ranker = weights_of_queries() if weighted else None, stopped_as_usual(weighted)
    (X, y, qid), (eval_X, _, _) = two_sets()
    plain = clone(BOOSTER).set_params(max_iter=ranker.best_iteration_, early_stopping=False)
    plain.fit(X, y, sample_weight=None if weights is None else weights[qid])
    assert ranker.estimator_.n_iter_ == plain.n_iter_ == ranker.best_iteration_ < ranker.n_iter_
    for rows in (X, eval_X):
        np.testing.assert_array_equal(ranker.predict(rows), plain.predict(rows))
    staged = list(ranker.estimator_.staged_predict(eval_X))
    assert len(staged) == ranker.best_iteration_
    np.testing.assert_array_equal(staged[-1], ranker.predict(eval_X))


def test_no_round_is_trained_for_nothing():
    class Diary(HistGradientBoostingRegressor):
        rounds = []

        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            Diary.rounds.append(self.n_iter_)
            return self

    ranker = stopped(Diary(**BOOSTER.get_params()))
    assert Diary.rounds[0] == PATIENCE
    assert Diary.rounds == sorted(set(Diary.rounds))
    assert Diary.rounds[-1] == ranker.n_iter_ == ranker.best_iteration_ + PATIENCE
    assert ranker.evals_result_ == stopped_as_usual().evals_result_
    X = two_sets()[0][0]
    np.testing.assert_array_equal(ranker.predict(X), stopped_as_usual().predict(X))


def test_held_out_queries_serve_as_given_ones_do():
    (X, y, qid), _ = two_sets()
    ranker = sg.QueryRanker(
        BOOSTER, early_stopping=True, n_iter_no_change=PATIENCE, validation_fraction=0.3,
        random_state=0, measure=["mu_map", "rr"],
    ).fit(X, y, qid=qid)
    queries = np.array(list(dict.fromkeys(qid.tolist())))
    held = np.isin(qid, queries[np.random.RandomState(0).permutation(len(queries))[:10]])
    given = clone(ranker).fit(
        X[~held], y[~held], qid=qid[~held], eval_X=X[held], eval_y=y[held], eval_qid=qid[held]
    )
    assert list(ranker.evals_result_["validation"]) == ["MuAP", "RR"]
    assert ranker.evals_result_ == given.evals_result_
    np.testing.assert_array_equal(ranker.predict(X), given.predict(X))


# What the user has set ---------------------------------------------------------------------------

def test_stopping_settings_of_the_estimator_change_nothing_and_are_put_back():
    own = {"early_stopping": True, "warm_start": True, "validation_fraction": 0.5,
           "n_iter_no_change": 1, "tol": 10.0, "scoring": "neg_mean_absolute_error"}
    estimator = clone(BOOSTER).set_params(**own)
    ranker, expected = stopped(estimator), stopped_as_usual()
    assert ranker.evals_result_ == expected.evals_result_
    assert estimator.get_params() == ranker.estimator_.get_params() == BOOSTER.get_params() | own
    assert expected.estimator_.get_params() == BOOSTER.get_params()
    assert not hasattr(estimator, "n_iter_")


def test_a_subclass_that_shows_only_some_parameters_is_stopped_too():
    class OfMaxIter(HistGradientBoostingRegressor):
        def __init__(self, max_iter=100):
            super().__init__(max_iter=max_iter, **{
                name: value for name, value in BOOSTER.get_params().items() if name != "max_iter"
            })

    ranker = stopped(OfMaxIter(ROUNDS))
    assert ranker.evals_result_ == stopped_as_usual().evals_result_
    assert ranker.estimator_.get_params() == {"max_iter": ROUNDS}


def test_without_early_stopping_nothing_changes():
    (X, y, qid), _ = two_sets()
    own = clone(BOOSTER).set_params(early_stopping=True, n_iter_no_change=2, tol=0.01)
    ranker = sg.QueryRanker(own).fit(X, y, qid=qid)
    expected = clone(own).fit(X, y)
    assert ranker.estimator_.n_iter_ == expected.n_iter_ < ROUNDS
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    assert not hasattr(ranker, "best_iteration_")


@pytest.mark.parametrize("argument", ["X_val", "y_val", "sample_weight_val"])
def test_a_validation_set_of_its_own_is_refused(argument):
    message = f"Omit the argument {argument}: with early_stopping=True, QueryRanker passes"
    with pytest.raises(ValueError, match=re.escape(message)):
        stopped(**{argument: np.zeros((2, 4))})


@pytest.mark.parametrize("max_iter", [0, 1, 2, PATIENCE, PATIENCE + 1])
def test_few_rounds(max_iter):
    estimator = clone(BOOSTER).set_params(max_iter=max_iter)
    if max_iter == 0:
        with pytest.raises(ValueError, match="The 'max_iter' parameter"):
            stopped(estimator)
        return
    ranker = stopped(estimator)
    best, last = first_best(values_of_all_rounds()[:max_iter], PATIENCE)
    assert (ranker.best_iteration_, ranker.n_iter_) == (best, last)


# Tables ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("categorical_features, weighted", [
    ("from_dtype", True), (["kind"], False), ([2], False),
])
def test_categories_of_a_frame(categorical_features, weighted):
    def frame(X):
        kinds = np.array(list("pqrst"))[np.clip(np.round(X[:, 0] * 2) + 2, 0, 4).astype(int)]
        kinds = pd.Categorical(kinds, categories=list("tsrqp"))
        return pd.DataFrame({"a": X[:, 1], "b": X[:, 2], "kind": kinds})

    weights = weights_of_queries() if weighted else None
    estimator = clone(BOOSTER).set_params(categorical_features=categorical_features)
    ranker = stopped(estimator, weights, table=frame)
    (X, y, qid), (eval_X, _, _) = two_sets()
    plain = clone(estimator).set_params(max_iter=ranker.best_iteration_)
    plain.fit(frame(X), y, sample_weight=None if weights is None else weights[qid])
    assert plain.is_categorical_.tolist() == [False, False, True]
    np.testing.assert_array_equal(ranker.predict(frame(eval_X)), plain.predict(frame(eval_X)))
    assert ranker.feature_names_in_.tolist() == ["a", "b", "kind"]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_with_the_queries_as_a_column(kind):
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    make = pytest.importorskip(kind).DataFrame
    X, eval_X = (
        make({"a": rows[:, 0], "query": ids, "b": rows[:, 1]})
        for rows, ids in ((X, qid), (eval_X, eval_qid))
    )
    ranker = sg.QueryRanker(BOOSTER, qid="query", early_stopping=True, n_iter_no_change=PATIENCE)
    ranker.fit(X, y, eval_X=eval_X, eval_y=eval_y)
    found = sg.NDCNG(k=10)(eval_y, ranker.predict(eval_X), qid=eval_qid)
    assert ranker.best_score_ == found
    assert ranker.best_iteration_ < ranker.n_iter_


# As an estimator ---------------------------------------------------------------------------------

def test_it_pickles_without_a_word_and_in_a_search(capfd):
    (X, y, qid), _ = two_sets()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = stopped()
        same = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(same.predict(X), ranker.predict(X))
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            clone(ranker), {"estimator__learning_rate": [0.1, 0.3]}, error_score="raise",
            scoring=sg.make_ranking_scorer("ndcng@10"),
            cv=GroupKFold(2).set_split_request(groups="qid"),
        ).fit(X, y, qid=qid)
    assert 1 <= search.best_estimator_.best_iteration_ <= ROUNDS
    assert capfd.readouterr() == ("", "")


def test_only_what_is_made_after_it_is_known():
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor

    class Mine(HistGradientBoostingRegressor):
        pass

    for estimator in (BOOSTER, Mine()):
        assert type(adapter_of(estimator)).__module__ == "skgraded.boosting.sklearn"
    for estimator in (HistGradientBoostingClassifier(), RandomForestRegressor()):
        assert type(adapter_of(estimator)).__module__ == "skgraded.boosting.adapter"
