"""Early stopping inside QueryRanker, beside trainings of all rounds by hand."""

import pickle
import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
import sklearn
import xgboost
from catboost import CatBoost, CatBoostRanker, CatBoostRegressor
from lightgbm import LGBMRanker, LGBMRegressor
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import FRAMES, TABLES
from xgboost import XGBRanker, XGBRegressor

import skgraded as sg
from skgraded.datasets import make_ranking

ROUNDS = 40
PATIENCE = 8
LIGHTGBM = {"n_estimators": ROUNDS, "learning_rate": 0.3, "min_child_samples": 5, "verbose": -1,
            "n_jobs": 1, "deterministic": True, "force_col_wise": True, "random_state": 0}
XGBOOST = {"n_estimators": ROUNDS, "max_depth": 3, "n_jobs": 1, "random_state": 0}
CATBOOST = {"iterations": ROUNDS, "learning_rate": 0.3, "depth": 3, "thread_count": 1,
            "random_seed": 0, "verbose": False, "allow_writing_files": False}
ESTIMATORS = {
    "LGBMRanker": LGBMRanker(**LIGHTGBM),
    "LGBMRegressor": LGBMRegressor(**LIGHTGBM),
    "XGBRanker": XGBRanker(**XGBOOST),
    "XGBRegressor": XGBRegressor(**XGBOOST),
    "CatBoostRanker": CatBoostRanker(**CATBOOST),
    "CatBoostRegressor": CatBoostRegressor(**CATBOOST),
}
RANKERS = ("LGBMRanker", "XGBRanker", "CatBoostRanker")
FAMILIES = ("LGBM", "XGB", "CatBoost")
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
every_ranker = pytest.mark.parametrize("name", RANKERS)


def data(n_queries=50, seed=0):
    """Queries of some ten documents, their rows shuffled."""
    X, y, qid = make_ranking(n_queries, 10, 4, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], qid[order]


def two_sets():
    """Training rows of queries 0 to 34, validation rows of the others."""
    X, y, qid = data()
    train = qid < 35
    return (X[train], y[train], qid[train]), (X[~train], y[~train], qid[~train])


def stopping(estimator, **parameters):
    settings = {"early_stopping": True, "n_iter_no_change": PATIENCE, "random_state": 0}
    return sg.QueryRanker(estimator, **settings | parameters)


def staged(model, X):
    """Predictions after 1, 2, … rounds, by each library's own means."""
    if isinstance(model, lightgbm.LGBMModel):
        return [model.predict(X, num_iteration=i + 1) for i in range(ROUNDS)]
    if isinstance(model, xgboost.XGBModel):
        return [model.predict(X, iteration_range=(0, i + 1)) for i in range(ROUNDS)]
    return list(model.staged_predict(X))


def first_best(values, patience=PATIENCE):
    """The round of the best value, from 1, and the round that a patient observer stops at."""
    best = 0
    for i, value in enumerate(values):
        if value > values[best]:
            best = i
        if i - best == patience:
            return best + 1, i + 1
    return best + 1, len(values)


class SeenRows:
    """What a subclass that notes the rows that its fit gets has noted; X[:, 0] numbers them."""

    def __init__(self):
        self.training = []
        self.validation = []


SEEN = SeenRows()


class LGBMRecorder(LGBMRanker):
    def fit(self, X, y, **kwargs):
        SEEN.training.append(X[:, 0].astype(int))
        if "eval_X" in kwargs or "eval_set" in kwargs:
            eval_X = kwargs["eval_X"][0] if "eval_X" in kwargs else kwargs["eval_set"][0][0]
            SEEN.validation.append(eval_X[:, 0].astype(int))
        return super().fit(X, y, **kwargs)


class XGBRecorder(XGBRegressor):
    def fit(self, X, y, **kwargs):
        SEEN.training.append(X[:, 0].astype(int))
        return super().fit(X, y, **kwargs)


class CatBoostRecorder(CatBoostRanker):
    def fit(self, X, y=None, **kwargs):
        SEEN.training.append(X[:, 0].astype(int))
        SEEN.validation.append(kwargs["eval_set"].get_features()[:, 0].astype(int))
        return super().fit(X, y, **kwargs)


@pytest.fixture
def seen():
    SEEN.__init__()
    return SEEN


def numbered(X):
    return np.column_stack([np.arange(len(X)), X[:, 1:]])


# Against a training of all rounds ----------------------------------------------------------------

@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", ["ndcng@5", "mu_map"])
@every_estimator
def test_it_stops_at_the_best_of_all_rounds(name, measure, weighted):
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    weights, by_fit = None, {}
    if weighted:
        weights = np.random.default_rng(0).uniform(0.01, 5, 50)
        by_fit = {"sample_weight": weights[qid], "eval_sample_weight": weights[eval_qid]}
    ranker = stopping(ESTIMATORS[name], measure=measure)
    ranker.fit(X, y, qid=qid, eval_X=eval_X, eval_y=eval_y, eval_qid=eval_qid, **by_fit)

    by_fit.pop("eval_sample_weight", None)
    full = sg.QueryRanker(ESTIMATORS[name]).fit(X, y, qid=qid, **by_fit).estimator_
    eval_weights = None if weights is None else weights[eval_qid]
    values = [
        sg.measure(measure)(eval_y, scores, qid=eval_qid, sample_weight=eval_weights)
        for scores in staged(full, eval_X)
    ]
    best, stop = first_best(values)
    assert stop < ROUNDS  # else nothing was tested
    found = ranker.evals_result_["validation"][sg.measure(measure).name]
    np.testing.assert_allclose(found, values[:stop], rtol=0, atol=1e-9)
    assert (ranker.n_iter_, ranker.best_iteration_) == (stop, best)
    assert ranker.best_score_ == pytest.approx(values[best - 1], abs=1e-9)
    np.testing.assert_allclose(
        ranker.predict(X), staged(full, X)[best - 1], rtol=0, atol=1e-6
    )


@every_estimator
def test_the_best_round_is_used_where_all_rounds_are_run(name):
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    ranker = stopping(ESTIMATORS[name], n_iter_no_change=ROUNDS)
    ranker.fit(X, y, qid=qid, eval_X=eval_X, eval_y=eval_y, eval_qid=eval_qid)
    values = ranker.evals_result_["validation"]["NDCNG@10"]
    assert ranker.n_iter_ == len(values) == ROUNDS
    assert ranker.best_iteration_ == np.argmax(values) + 1 < ROUNDS
    full = sg.QueryRanker(ESTIMATORS[name]).fit(X, y, qid=qid).estimator_
    expected = staged(full, X)[ranker.best_iteration_ - 1]
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=0, atol=1e-6)
    score = sg.NDCNG(k=10)(eval_y, ranker.predict(eval_X), qid=eval_qid)
    assert ranker.best_score_ == pytest.approx(score, abs=1e-9)


@every_estimator
def test_a_held_out_part_is_what_a_given_one_would_be(name):
    X, y, qid = data()
    weights = np.random.default_rng(0).uniform(0.1, 5, len(y))
    ranker = stopping(ESTIMATORS[name], validation_fraction=0.3)
    ranker.fit(X, y, qid=qid, sample_weight=weights)

    order = np.random.RandomState(0).permutation(50)  # of the queries by first appearance
    queries = np.array(list(dict.fromkeys(qid.tolist())))
    held = np.isin(qid, queries[order[:15]])
    given = stopping(ESTIMATORS[name]).fit(
        X[~held], y[~held], qid=qid[~held], sample_weight=weights[~held],
        eval_X=X[held], eval_y=y[held], eval_qid=qid[held], eval_sample_weight=weights[held],
    )
    assert ranker.evals_result_ == given.evals_result_
    assert ranker.best_iteration_ == given.best_iteration_
    np.testing.assert_array_equal(ranker.predict(X), given.predict(X))


@every_ranker
def test_of_several_measures_the_first_decides_and_all_are_recorded(name):
    X, y, qid = data()
    ranker = stopping(ESTIMATORS[name], measure=["mu_map", "rr"]).fit(X, y, qid=qid)
    alone = stopping(ESTIMATORS[name], measure="mu_map").fit(X, y, qid=qid)
    history = ranker.evals_result_["validation"]
    assert list(history) == ["MuAP", "RR"]
    assert history["MuAP"] == alone.evals_result_["validation"]["MuAP"]
    assert len(history["RR"]) == ranker.n_iter_ == alone.n_iter_
    assert ranker.best_iteration_ == alone.best_iteration_
    assert ranker.best_score_ == max(history["MuAP"])


@pytest.mark.parametrize("name", ["LGBMRegressor", "XGBRegressor", "CatBoostRegressor"])
def test_grades_stay_as_exact_as_they_were_given(name):
    # 0.7 as a float of 32 bits is below 0.7, so that nothing would reach the threshold
    X, y, qid = data()
    measure = sg.AP(threshold=0.7)
    ranker = stopping(ESTIMATORS[name], measure=measure).fit(X, np.where(y > 1, 0.7, 0), qid=qid)
    binary = stopping(ESTIMATORS[name], measure="ap").fit(X, np.where(y > 1, 0.7, 0), qid=qid)
    assert ranker.best_score_ == binary.best_score_ > 0.2


# Which rows --------------------------------------------------------------------------------------

@pytest.mark.parametrize(
    "estimator",
    [LGBMRecorder(**LIGHTGBM), CatBoostRecorder(**CATBOOST), XGBRecorder(**XGBOOST)],
    ids=["LightGBM", "CatBoost", "XGBoost"],
)
@pytest.mark.parametrize(("fraction", "n_held"), [(0.1, 5), (0.5, 25), (0.001, 1)])
def test_a_query_is_never_on_both_sides(seen, estimator, fraction, n_held):
    X, y, qid = data()
    stopping(estimator, validation_fraction=fraction).fit(numbered(X), y, qid=qid)
    (training,) = seen.training
    held = np.setdiff1d(np.arange(len(y)), training)
    assert len(training) == len(set(training))
    assert len(np.unique(qid[held])) == n_held
    assert len(np.unique(qid[training])) == 50 - n_held
    assert not set(qid[held]) & set(qid[training])
    for validation in seen.validation:
        assert sorted(validation) == held.tolist()


def test_rows_of_a_regressor_keep_their_order(seen):
    X, y, qid = data()
    stopping(XGBRecorder(**XGBOOST)).fit(numbered(X), y, qid=qid)
    assert (np.diff(seen.training[0]) > 0).all()


def test_in_a_search_the_test_fold_is_never_seen(seen):
    X, y, qid = data()
    X = numbered(X)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            stopping(LGBMRecorder(**LIGHTGBM)), {"estimator__num_leaves": [3, 7]}, n_jobs=1,
            cv=GroupKFold(3).set_split_request(groups="qid"), error_score="raise",
            scoring=sg.make_ranking_scorer("ndcng@10"),
        ).fit(X, y, qid=qid)
    folds = list(GroupKFold(3).split(X, groups=qid)) * 2 + [(np.arange(len(y)), [])]
    assert len(seen.training) == len(seen.validation) == len(folds) == 7
    for training, validation, (train, _) in zip(seen.training, seen.validation, folds, strict=True):
        assert sorted([*training, *validation]) == train.tolist()
        assert not set(qid[training]) & set(qid[validation])
    assert search.best_estimator_.best_iteration_ < ROUNDS


@every_ranker
def test_random_state_says_which_queries(name):
    X, y, qid = data()

    def history(random_state):
        ranker = stopping(ESTIMATORS[name], random_state=random_state).fit(X, y, qid=qid)
        return ranker.evals_result_

    assert history(1) == history(1) == history(np.random.RandomState(1))
    assert history(1) != history(2)
    np.random.seed(1)
    assert history(None) == history(1) != history(None)


@pytest.mark.parametrize("kind", FRAMES)
@every_ranker
def test_the_constructors_column_serves_the_validation_set_too(name, kind):
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    expected = stopping(ESTIMATORS[name]).fit(
        X[:, 1:], y, qid=qid, eval_X=eval_X[:, 1:], eval_y=eval_y, eval_qid=eval_qid
    )
    make = FRAMES[kind]
    X[:, 1], eval_X[:, 1] = X[:, 0] * 0 + qid, eval_qid
    X, eval_X = make(X), make(eval_X)
    ranker = stopping(ESTIMATORS[name], qid="query_id").fit(X, y, eval_X=eval_X, eval_y=eval_y)
    assert ranker.n_features_in_ == 3
    assert len(ranker.evals_result_["validation"]["NDCNG@10"]) == ranker.n_iter_
    assert ranker.best_score_ == pytest.approx(
        sg.NDCNG(k=10)(eval_y, ranker.predict(eval_X), qid=eval_qid), abs=1e-9
    )
    assert expected.n_features_in_ == 3


@pytest.mark.parametrize("kind", TABLES)
@every_ranker
def test_tables_of_any_kind_are_held_out_from(name, kind):
    X, y, qid = data()
    make = TABLES[kind]
    ranker = stopping(ESTIMATORS[name]).fit(make(X), y, qid=qid)
    expected = stopping(ESTIMATORS[name]).fit(X, y, qid=qid)
    assert ranker.best_iteration_ == expected.best_iteration_
    np.testing.assert_allclose(ranker.predict(make(X)), expected.predict(X), rtol=0, atol=1e-6)


def test_queries_of_the_validation_set_are_looked_up_by_index():
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    frame, eval_frame = pd.DataFrame(X), pd.DataFrame(eval_X)
    eval_frame.index += 1000
    series = pd.Series(np.append(qid, eval_qid), index=[*frame.index, *eval_frame.index])
    ranker = stopping(ESTIMATORS["LGBMRanker"], qid=series)
    ranker.fit(frame, y, eval_X=eval_frame, eval_y=eval_y)
    expected = stopping(ESTIMATORS["LGBMRanker"]).fit(
        X, y, qid=qid, eval_X=eval_X, eval_y=eval_y, eval_qid=eval_qid
    )
    assert ranker.evals_result_ == expected.evals_result_


def test_sizes_of_groups_will_do_for_holding_out():
    X, y, qid = data()
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    found = stopping(ESTIMATORS["LGBMRanker"]).fit(X, y, group=np.bincount(qid))
    expected = stopping(ESTIMATORS["LGBMRanker"]).fit(X, y, qid=qid)
    assert found.evals_result_ == expected.evals_result_


@pytest.mark.parametrize(
    ("name", "argument"),
    [("LGBMRanker", "init_score"), ("LGBMRegressor", "init_score"), ("XGBRanker", "base_margin"),
     ("CatBoostRanker", "baseline")],
)
def test_first_scores_are_parted_with_the_rows(name, argument):
    X, y, qid = data()
    # as good as the truth, so that a round or two can add nothing where they are in the right rows
    first = 100.0 * y
    ranker = stopping(ESTIMATORS[name]).fit(X, y, qid=qid, **{argument: first})
    assert ranker.evals_result_["validation"]["NDCNG@10"][0] == pytest.approx(
        stopping(ESTIMATORS[name], measure="ndcng@10")
        .fit(y[:, None].astype(float), y, qid=qid).best_score_
    )


def test_categories_are_held_out_from():
    X, y, qid = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = np.array(["x", "y", "z", "u", "v"])[y]
    ranker = stopping(ESTIMATORS["CatBoostRanker"]).fit(frame, y, qid=qid, cat_features=["kind"])
    assert ranker.best_score_ > 0.95
    frame["kind"] = frame["kind"].astype("category")
    for estimator in (ESTIMATORS["LGBMRanker"], XGBRanker(enable_categorical=True, **XGBOOST)):
        assert stopping(estimator).fit(frame, y, qid=qid).best_score_ > 0.95


# What the user has set on the estimator ----------------------------------------------------------

class Counter:
    """A callback of LightGBM and of CatBoost that counts the rounds."""

    def __init__(self):
        self.n = 0

    def __call__(self, env):
        self.n += 1

    def after_iteration(self, info):
        self.n += 1
        return True


class XGBCounter(xgboost.callback.TrainingCallback):
    n = 0

    def after_iteration(self, model, epoch, evals_log):
        self.n += 1
        return False


RIVALS = {
    "LGBMRanker": {"early_stopping_round": 1, "metric": "ndcg", "first_metric_only": True},
    "LGBMRegressor": {"early_stopping_rounds": 1, "metrics": ["l2", "l1"]},
    "XGBRanker": {"early_stopping_rounds": 1, "eval_metric": ["ndcg@5", "map"]},
    "XGBRegressor": {"early_stopping_rounds": 1, "eval_metric": "rmse"},
    "CatBoostRanker": {"od_type": "Iter", "od_wait": 1, "eval_metric": "PFound",
                       "metric_period": 7, "use_best_model": True, "eval_fraction": 0.3,
                       "best_model_min_trees": 30},
    "CatBoostRegressor": {"early_stopping_rounds": 1, "eval_metric": "MAE", "metric_period": 5},
}


@every_estimator
def test_stopping_settings_of_the_estimator_change_nothing_and_stay(name):
    X, y, qid = data()
    estimator = type(ESTIMATORS[name])(**ESTIMATORS[name].get_params() | RIVALS[name])
    before = estimator.get_params()
    expected = stopping(ESTIMATORS[name]).fit(X, y, qid=qid)
    ranker = stopping(estimator).fit(X, y, qid=qid)
    assert ranker.evals_result_ == expected.evals_result_
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    assert str(estimator.get_params()) == str(before)
    with pytest.raises((NotFittedError, Exception), match=r"(?i)fit"):
        estimator.predict(X)


@every_estimator
def test_callbacks_of_the_user_are_called(name):
    X, y, qid = data()
    if name.startswith("XGB"):
        counter = XGBCounter()
        estimator = clone(ESTIMATORS[name]).set_params(callbacks=[counter])
        ranker = stopping(estimator).fit(X, y, qid=qid)
        (counter,) = ranker.estimator_.callbacks  # the copy's, and no other beside it
        assert 0 <= ranker.n_iter_ - counter.n <= 1  # at the last it may not be asked any more
    else:
        counter = Counter()
        ranker = stopping(ESTIMATORS[name]).fit(X, y, qid=qid, callbacks=[counter])
        assert counter.n == ranker.n_iter_
    assert ranker.n_iter_ < ROUNDS


@pytest.mark.parametrize(
    ("name", "fit_params"),
    [
        ("LGBMRanker", {"callbacks": [lightgbm.early_stopping(3, verbose=False)]}),
        ("LGBMRanker", {"eval_set": [(np.zeros((2, 4)), [0, 1])]}),
        ("LGBMRanker", {"eval_metric": "ndcg"}),
        ("LGBMRanker", {"init_model": "model.txt"}),
        ("XGBRanker", {"eval_set": [(np.zeros((2, 4)), [0, 1])]}),
        ("XGBRanker", {"xgb_model": "model.json"}),
        ("CatBoostRanker", {"eval_set": (np.zeros((2, 4)), [0, 1])}),
        ("CatBoostRanker", {"early_stopping_rounds": 3}),
        ("CatBoostRanker", {"use_best_model": True}),
        ("CatBoostRanker", {"metric_period": 3}),
        ("CatBoostRanker", {"pairs": [[0, 1]]}),
    ],
)
def test_what_does_not_go_with_it_is_named(name, fit_params):
    X, y, qid = data()
    (argument,) = fit_params
    with pytest.raises(ValueError, match=argument):
        stopping(ESTIMATORS[name]).fit(X, y, qid=qid, **fit_params)


def test_an_early_stopping_callback_of_xgboost_is_named():
    X, y, qid = data()
    callback = xgboost.callback.EarlyStopping(rounds=3)
    with pytest.raises(ValueError, match="leave EarlyStopping out of the callbacks"):
        stopping(XGBRanker(callbacks=[callback], **XGBOOST)).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    "estimator",
    [LGBMRanker(boosting_type="dart"), LGBMRanker(boosting="dart"), XGBRanker(booster="dart"),
     XGBRegressor(booster="gblinear")],
)
def test_boosters_whose_first_rounds_change_later_are_refused(estimator):
    X, y, qid = data()
    with pytest.raises(ValueError, match="'(dart|gblinear)' change in later ones"):
        stopping(estimator).fit(X, y, qid=qid)


# Bad input ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("estimator", [Ridge(), RandomForestRegressor()])
def test_other_estimators_are_refused(estimator):
    X, y, qid = data()
    with pytest.raises(TypeError, match="of the packages catboost, lightgbm.* and"):
        stopping(estimator).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"validation_fraction": 0}, "validation_fraction must be a finite number > 0 and < 1"),
        ({"validation_fraction": 1.0}, "validation_fraction must be .* < 1; got 1.0"),
        ({"validation_fraction": "0.1"}, "validation_fraction must be .* < 1; got '0.1'"),
        ({"validation_fraction": 0.999}, "validation_fraction=0.999 of 50 queries leaves none"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be at least 1"),
        ({"n_iter_no_change": 2.5}, "n_iter_no_change must be a whole number"),
        ({"measure": "nonsense"}, "Unknown measure"),
    ],
)
def test_bad_settings_are_named_before_any_fit(seen, setting, message):
    X, y, qid = data()
    with pytest.raises(ValueError, match=message):
        stopping(LGBMRecorder(**LIGHTGBM), **setting).fit(numbered(X), y, qid=qid)
    assert seen.training == []


def test_one_query_cannot_be_parted():
    X, y, _ = data()
    with pytest.raises(ValueError, match="holds out whole queries, but there is only one"):
        stopping(ESTIMATORS["LGBMRanker"]).fit(X, y, qid=np.zeros(len(y)))


def test_two_queries_are_one_each_side(seen):
    X, y, qid = data()
    stopping(LGBMRecorder(**LIGHTGBM)).fit(numbered(X)[qid < 2], y[qid < 2], qid=qid[qid < 2])
    assert len(set(qid[qid < 2])) == 2
    assert len(seen.training) == len(seen.validation) == 1


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"eval_y": None}, ValueError, "needs eval_X, eval_y, eval_qid: eval_y is missing"),
        ({"eval_X": None, "eval_qid": None}, ValueError, "eval_X and eval_qid are missing"),
        ({"eval_qid": None}, ValueError, "eval_qid is missing"),
        ({"eval_y": np.zeros(3)}, ValueError, "eval_y has 3 rows, but eval_X has"),
        ({"eval_qid": np.zeros(3)}, ValueError, "qid has 3 rows, but eval_X has"),
        ({"eval_sample_weight": np.zeros(3)}, ValueError, "sample_weight has 3 rows, but eval_X h"),
        ({"eval_X": np.zeros((3, 2)), "eval_y": [0, 1, 0], "eval_qid": [90] * 3}, ValueError,
         "eval_X has 2 features, but QueryRanker is expecting 4"),
        ({"qid": None, "group": [1]}, ValueError, "With eval_X give the queries by qid"),
        ({"init_score": np.zeros(1)}, ValueError, "init_score is there for the rows of X only"),
    ],
)
def test_a_bad_validation_set_is_named_before_any_fit(seen, change, error, message):
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    given = {"qid": qid, "eval_X": eval_X, "eval_y": eval_y, "eval_qid": eval_qid} | change
    if "init_score" in change:
        given["init_score"] = np.zeros(len(y))
    with pytest.raises(error, match=message):
        stopping(LGBMRecorder(**LIGHTGBM)).fit(X, y, **given)
    assert seen.training == []


def days(qid):
    return np.datetime64("2024-01-01", "ns") + np.asarray(qid) * np.timedelta64(1, "D")


@pytest.mark.parametrize(
    ("ids", "shown"),
    [(np.array, "7,"), (lambda qid: [f"query {one}" for one in qid], "'query 7',"),
     (days, ".*'2024-01-08T")],
    ids=["numbers", "text", "dates"],
)
def test_a_query_in_training_and_validation_is_named(ids, shown):
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    eval_qid[3] = 7
    with pytest.raises(ValueError, match=f"1 of the 16 queries of eval_X, such as {shown}"):
        stopping(ESTIMATORS["LGBMRanker"]).fit(
            X, y, qid=ids(qid), eval_X=eval_X, eval_y=eval_y, eval_qid=ids(eval_qid)
        )


@pytest.mark.parametrize("argument", ["eval_X", "eval_y", "eval_qid", "eval_sample_weight"])
def test_a_validation_set_without_early_stopping_is_refused(argument):
    X, y, qid = data()
    with pytest.raises(ValueError, match=f"{argument} is for stopping early: set QueryRanker"):
        sg.QueryRanker(ESTIMATORS["LGBMRanker"]).fit(X, y, qid=qid, **{argument: X})


@pytest.mark.parametrize("measure", ["ap", "ap(undefined=nan)", ["p", "ndcg"], "kendall_tau"])
def test_a_measure_undefined_for_all_held_out_is_refused_before_any_fit(seen, measure):
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    name = sg.measure(measure if isinstance(measure, str) else measure[1]).name
    with pytest.raises(ValueError) as error:
        stopping(LGBMRecorder(**LIGHTGBM), measure=measure).fit(
            X, y, qid=qid, eval_X=eval_X, eval_y=eval_y * 0, eval_qid=eval_qid
        )
    assert f"{name} is undefined for all 15 queries held out" in str(error.value)
    assert seen.training == []


def test_queries_without_weight_are_nothing_to_stop_on(seen):
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    eval_y[eval_qid == 40] = 0
    given = {"qid": qid, "eval_X": eval_X, "eval_y": eval_y, "eval_qid": eval_qid}
    with pytest.raises(ValueError, match="undefined for all 15 queries"):
        stopping(LGBMRecorder(**LIGHTGBM)).fit(
            X, y, eval_sample_weight=eval_qid == 40, **given
        )
    X, y, qid = data()
    held = stopping(LGBMRecorder(**LIGHTGBM))
    only = np.array(list(dict.fromkeys(qid.tolist())))[np.random.RandomState(0).permutation(50)[0]]
    with pytest.raises(ValueError, match="sample_weight is 0 in all rows left to train on"):
        held.fit(X, y, qid=qid, sample_weight=(qid == only).astype(float))
    with pytest.raises(ValueError, match="sample_weight is 0 in all rows held out to stop on"):
        held.set_params(validation_fraction=0.01)
        held.fit(X, y, qid=qid, sample_weight=(qid != only).astype(float))
    assert seen.training == []


def test_fractional_grades_to_stop_on_are_refused_where_those_to_train_on_are():
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    with pytest.raises(ValueError, match=r"eval_y has the grade \d.5 in row 0"):
        stopping(ESTIMATORS["LGBMRanker"]).fit(
            X, y, qid=qid, eval_X=eval_X, eval_y=eval_y + 0.5, eval_qid=eval_qid
        )


# As an estimator ---------------------------------------------------------------------------------

@every_estimator
def test_it_pickles_without_the_rows_that_it_was_stopped_on(name):
    X, y, qid = data(300)
    ranker = stopping(ESTIMATORS[name], n_iter_no_change=2, validation_fraction=0.5)
    ranker.fit(X, y, qid=qid)
    whole = pickle.dumps(ranker.estimator_)
    assert pickle.dumps(X[:100])[-2000:-1000] not in whole
    fewer = pickle.dumps(sg.QueryRanker(clone(ranker.estimator)).fit(X, y, qid=qid).estimator_)
    assert len(whole) < len(fewer) + 10_000
    same = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(same.predict(X), ranker.predict(X))
    assert same.evals_result_ == ranker.evals_result_


@every_estimator
def test_parameters_are_nested_and_clones_unfitted(name):
    X, y, qid = data()
    ranker = stopping(ESTIMATORS[name], n_iter_no_change=3, validation_fraction=0.25)
    ranker.fit(X, y, qid=qid)
    same = clone(ranker)
    assert same.get_params()["validation_fraction"] == 0.25
    assert not hasattr(same, "best_iteration_")
    same.set_params(n_iter_no_change=5, early_stopping=False, estimator__learning_rate=0.5)
    assert same.estimator.get_params()["learning_rate"] == 0.5
    assert (same.n_iter_no_change, ranker.n_iter_no_change) == (5, 3)


@pytest.mark.parametrize("family", FAMILIES)
def test_in_a_search_over_two_processes(family):
    X, y, qid = data()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            stopping(ESTIMATORS[f"{family}Ranker"]), {"estimator__learning_rate": [0.1, 0.3]},
            scoring=sg.make_ranking_scorer("ndcng@10"), n_jobs=2, error_score="raise",
            cv=GroupKFold(2).set_split_request(groups="qid"),
        ).fit(X, y, qid=qid)
    assert 1 <= search.best_estimator_.best_iteration_ <= ROUNDS


def test_a_pipeline_transforms_the_validation_set():
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    validation = {"eval_y": eval_y, "eval_qid": eval_qid}
    scaler = StandardScaler().fit(X)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = stopping(ESTIMATORS["XGBRanker"])
        ranker.set_fit_request(eval_X=True, eval_y=True, eval_qid=True)
        steps = [("scale", StandardScaler()), ("rank", ranker)]
        pipeline = Pipeline(steps, transform_input=["eval_X"])
        pipeline.fit(X, y, qid=qid, eval_X=eval_X, **validation)
    expected = stopping(ESTIMATORS["XGBRanker"]).fit(
        scaler.transform(X), y, qid=qid, eval_X=scaler.transform(eval_X), **validation
    )
    assert pipeline[-1].evals_result_ == expected.evals_result_


def test_fitting_again_without_it_forgets_the_rounds():
    X, y, qid = data()
    ranker = stopping(ESTIMATORS["LGBMRanker"]).fit(X, y, qid=qid)
    ranker.set_params(early_stopping=False).fit(X, y, qid=qid)
    for attribute in ("n_iter_", "best_iteration_", "best_score_", "evals_result_"):
        assert not hasattr(ranker, attribute)
    expected = sg.QueryRanker(ESTIMATORS["LGBMRanker"]).fit(X, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))


def test_catboosts_base_class_is_stopped_too():
    X, y, qid = data()
    base = stopping(CatBoost({"loss_function": "YetiRank"} | CATBOOST)).fit(X, y, qid=qid)
    ranker = stopping(ESTIMATORS["CatBoostRanker"]).fit(X, y, qid=qid)
    assert base.evals_result_ == ranker.evals_result_


# Queries that it has seen ------------------------------------------------------------------------

def test_held_out_queries_are_not_new_ones():
    X, y, qid = data()
    ranker = stopping(ESTIMATORS["LGBMRanker"], validation_fraction=0.5).fit(X, y, qid=qid)
    ranker.score(X, y, qid=qid)  # the very rows of the fit
    order = np.random.RandomState(0).permutation(50)
    queries = np.array(list(dict.fromkeys(qid.tolist())))
    held = np.isin(qid, queries[order[:25]])
    with pytest.warns(sg.TornQueryWarning, match="25 of the 25 queries"):
        ranker.score(X[held], y[held], qid=qid[held])


def test_queries_of_a_given_validation_set_are_not_new_ones():
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    ranker = stopping(ESTIMATORS["LGBMRanker"]).fit(
        X, y, qid=qid, eval_X=eval_X, eval_y=eval_y, eval_qid=eval_qid
    )
    ranker.score(X, y, qid=qid)
    ranker.score(X, y, qid=qid + 100)
    with pytest.warns(sg.TornQueryWarning, match="15 of the 15 queries"):
        ranker.score(eval_X, eval_y, qid=eval_qid)
    with pytest.warns(sg.TornQueryWarning, match="1 of the 2 queries to score, such as 40,"):
        ranker.score(eval_X[:8], eval_y[:8], qid=[40] * 4 + [99] * 4)


def test_nothing_warns_and_nothing_is_printed(capfd):
    X, y, qid = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in ESTIMATORS.values():
            stopping(estimator).fit(X, y, qid=qid)
    printed = capfd.readouterr()
    assert printed.out + printed.err == ""


def test_an_eval_X_without_an_index_is_told_so():
    X, y, qid = sg.datasets.make_ranking(n_queries=12, random_state=0)
    frame = pd.DataFrame(X)
    ranker = sg.QueryRanker(LGBMRanker(verbose=-1), qid=pd.Series(qid), early_stopping=True)
    train = qid < 8
    with pytest.raises(ValueError, match="no row index"):
        ranker.fit(frame[train], y[train], eval_X=X[~train], eval_y=y[~train])


@pytest.mark.parametrize("grow_policy", ["SymmetricTree", "Lossguide", "Depthwise"])
@pytest.mark.parametrize("cls", [CatBoostRanker, CatBoostRegressor])
def test_trees_of_catboost_may_grow_in_any_way(cls, grow_policy):
    X, y, qid = make_ranking(n_queries=40, random_state=0)
    model = cls(
        iterations=200, grow_policy=grow_policy, depth=3, verbose=False, thread_count=1,
        allow_writing_files=False, random_seed=0,
    )
    ranker = sg.QueryRanker(model, early_stopping=True, n_iter_no_change=5, random_state=0)
    ranker.fit(X, y, qid=qid)
    values = ranker.evals_result_["validation"]["NDCNG@10"]
    assert ranker.best_iteration_ == np.argmax(values) + 1 == ranker.estimator_.tree_count_
    assert ranker.n_iter_ == len(values) == ranker.best_iteration_ + 5 < 200


# A last fit on all queries ------------------------------------------------------------------------

def rounds_of(name, n):
    names = {"CatBoostRanker": "iterations", "CatBoostRegressor": "iterations"}
    return {names.get(name, "n_estimators"): n}


@every_estimator
@pytest.mark.parametrize("weighted", [False, True])
def test_refit_is_a_fit_on_all_queries_with_the_best_rounds(name, weighted):
    X, y, qid = data()
    given = {"sample_weight": 1.0 + qid % 3} if weighted else {}
    ranker = stopping(ESTIMATORS[name], refit=True).fit(X, y, qid=qid, **given)
    plain = stopping(ESTIMATORS[name]).fit(X, y, qid=qid, **given)
    assert ranker.best_iteration_ == plain.best_iteration_ < ranker.n_iter_
    assert ranker.evals_result_ == plain.evals_result_
    booster = clone(ESTIMATORS[name]).set_params(**rounds_of(name, ranker.best_iteration_))
    whole = sg.QueryRanker(booster).fit(X, y, qid=qid, **given)
    np.testing.assert_allclose(ranker.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)
    assert not np.allclose(ranker.predict(X), plain.predict(X))


@every_estimator
@pytest.mark.parametrize("weights", ["none", "one side", "both sides"])
def test_refit_takes_the_rows_that_were_given_to_stop_on_too(name, weights):
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    # query by query, for CatBoost's regressors depend on the order of rows
    ids, codes = np.unique(eval_qid, return_inverse=True)
    first = [np.argmax(eval_qid == query) for query in ids]
    order = np.argsort(np.take(first, codes), kind="stable")
    eval_X, eval_y, eval_qid = eval_X[order], eval_y[order], eval_qid[order]
    own, other = 1.0 + qid % 3, np.ones(len(eval_y))
    given, by_hand = {}, {}
    if weights != "none":
        given, by_hand = {"sample_weight": own}, {"sample_weight": np.append(own, other)}
    if weights == "both sides":
        other += eval_qid % 2
        given["eval_sample_weight"] = other
        by_hand = {"sample_weight": np.append(own, other)}
    ranker = stopping(ESTIMATORS[name], refit=True)
    ranker.fit(X, y, qid=qid, eval_X=eval_X, eval_y=eval_y, eval_qid=eval_qid, **given)
    booster = clone(ESTIMATORS[name]).set_params(**rounds_of(name, ranker.best_iteration_))
    everything = np.concatenate([X, eval_X]), np.append(y, eval_y)
    whole = sg.QueryRanker(booster).fit(*everything, qid=np.append(qid, eval_qid), **by_hand)
    np.testing.assert_allclose(ranker.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars", "csr"])
def test_refit_stacks_tables_of_every_kind(kind):
    (X, y, qid), (eval_X, eval_y, eval_qid) = two_sets()
    names = [f"f{i}" for i in range(X.shape[1])]
    make = {
        "pandas": lambda X: pd.DataFrame(X, columns=names),
        "polars": lambda X: pytest.importorskip("polars").DataFrame(X, schema=names),
        "csr": sparse.csr_matrix,
    }[kind]
    estimator = ESTIMATORS["XGBRanker"]
    settings = {"eval_y": eval_y, "eval_qid": eval_qid, "qid": qid}
    found = stopping(estimator, refit=True).fit(make(X), y, eval_X=make(eval_X), **settings)
    expected = stopping(estimator, refit=True).fit(X, y, eval_X=eval_X, **settings)
    np.testing.assert_allclose(found.predict(make(X)), expected.predict(X), rtol=1e-6)


def test_refit_passes_over_what_the_estimator_stops_by_itself():
    X, y, qid = data()
    own = {
        "LGBMRanker": {"early_stopping_round": 2, "num_iterations": ROUNDS},
        "XGBRanker": {"early_stopping_rounds": 2},
        "CatBoostRanker": {"od_wait": 2, "od_type": "Iter"},
    }
    for name, parameters in own.items():
        booster = clone(ESTIMATORS[name])
        if name == "CatBoostRanker":
            booster = CatBoostRanker(**CATBOOST, **parameters)
        else:
            booster.set_params(**parameters)
        found = stopping(booster, refit=True).fit(X, y, qid=qid)
        expected = stopping(ESTIMATORS[name], refit=True).fit(X, y, qid=qid)
        np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-6)


def test_refit_without_early_stopping_changes_nothing():
    X, y, qid = data()
    found, expected = (
        sg.QueryRanker(ESTIMATORS["LGBMRanker"], refit=refit).fit(X, y, qid=qid).predict(X)
        for refit in (True, False)
    )
    np.testing.assert_array_equal(found, expected)


def test_refit_of_histogram_gradient_boosting_and_of_a_pipeline():
    X, y, qid = data()
    booster = HistGradientBoostingRegressor(max_iter=ROUNDS, random_state=0)
    ranker = stopping(booster, refit=True).fit(X, y, qid=qid)
    by_hand = clone(booster).set_params(max_iter=ranker.best_iteration_, early_stopping=False)
    np.testing.assert_array_equal(ranker.predict(X), by_hand.fit(X, y).predict(X))
    assert ranker.estimator_.get_params() == booster.get_params()
    piped = make_pipeline(StandardScaler(), ESTIMATORS["LGBMRanker"])
    ranker = stopping(piped, refit=True).fit(X, y, qid=qid)
    whole = make_pipeline(
        StandardScaler(),
        clone(ESTIMATORS["LGBMRanker"]).set_params(n_estimators=ranker.best_iteration_),
    )
    expected = sg.QueryRanker(whole).fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-6, atol=1e-9)
