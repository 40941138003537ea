"""Early stopping inside QueryRanker, beside trainings of all rounds by hand."""

import pickle
from functools import cache
from types import SimpleNamespace

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
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
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
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
every_ranker = pytest.mark.parametrize("name", RANKERS)


def data(n_queries=50, seed=0):
    """Queries of some ten documents, their rows shuffled."""
    X, y, qid = make_ranking(n_queries, 10, 4, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], qid[order]


def two_sets():
    """Training rows of queries 0 to 34, and the other arguments of fit: the others to stop on."""
    X, y, qid = data()
    train = qid < 35
    given = {"qid": qid[train], "eval_X": X[~train], "eval_y": y[~train], "eval_qid": qid[~train]}
    return X[train], y[train], given


def stopping(estimator, **parameters):
    settings = {"early_stopping": True, "n_iter_no_change": PATIENCE, "random_state": 0}
    return sg.QueryRanker(estimator, **settings | parameters)


def stopped(estimator, fit_params=(), **parameters):
    """The same after a fit on all queries."""
    X, y, qid = data()
    return stopping(estimator, **parameters).fit(X, y, qid=qid, **dict(fit_params))


def after(model, X, n_rounds):
    """Predictions after so many rounds, by each library's own means."""
    if isinstance(model, lightgbm.LGBMModel):
        return model.predict(X, num_iteration=n_rounds)
    if isinstance(model, xgboost.XGBModel):
        return model.predict(X, iteration_range=(0, n_rounds))
    return model.predict(X, ntree_end=n_rounds)


def first_best(values):
    """The round of the best value, from 1, and the round that a patient observer stops at."""
    best = 0
    for i, value in enumerate(values):
        if value > values[best]:
            best = i
        if i - best == PATIENCE:
            break
    return best + 1, i + 1


SEEN = SimpleNamespace()


@pytest.fixture
def seen():
    """What the recorders have noted: the rows that each fit got to train on, and to stop on."""
    SEEN.training, SEEN.validation = [], []
    return SEEN


def recorder(estimator):
    """An estimator whose fit notes its rows, which X[:, 0] numbers; XGBoost's only the first."""
    class Recorder(type(estimator)):
        def fit(self, X, y=None, **kwargs):
            tables = [X]
            if isinstance(self, LGBMRanker):
                tables += kwargs["eval_X"] if "eval_X" in kwargs else kwargs["eval_set"][0][:1]
            elif isinstance(self, CatBoostRanker):
                tables.append(kwargs["eval_set"].get_features())
            for noted, table in zip((SEEN.training, SEEN.validation), tables, strict=False):
                noted.append(table[:, 0].astype(int))
            return super().fit(X, y, **kwargs)

    Recorder.__name__ = type(estimator).__name__  # the ignored warning of LightGBM 4.6 names it
    return Recorder(**estimator.get_params())


LGBM_RECORDER, CATBOOST_RECORDER, XGB_RECORDER = (
    recorder(ESTIMATORS[name]) for name in ("LGBMRanker", "CatBoostRanker", "XGBRegressor")
)


def numbered(X):
    return np.column_stack([np.arange(len(X)), X[:, 1:]])


# Against a training of all rounds ----------------------------------------------------------------

@pytest.mark.parametrize(("measure", "weighted"), [("ndcng@5", False), ("mu_map", True)])
@every_estimator
def test_it_stops_at_the_best_of_all_rounds(name, measure, weighted):
    X, y, given = two_sets()
    qid, eval_X, eval_y, eval_qid = given.values()
    weights = np.random.default_rng(0).uniform(0.01, 5, 50)
    to_fit, to_stop = {}, {}
    if weighted:
        to_fit, to_stop = {"sample_weight": weights[qid]}, {"sample_weight": weights[eval_qid]}
        given["eval_sample_weight"] = weights[eval_qid]
    ranker = stopping(ESTIMATORS[name], measure=measure).fit(X, y, **given, **to_fit)

    full = sg.QueryRanker(ESTIMATORS[name]).fit(X, y, qid=qid, **to_fit).estimator_
    values = [
        sg.measure(measure)(eval_y, after(full, eval_X, i + 1), qid=eval_qid, **to_stop)
        for i in range(ranker.n_iter_)
    ]
    best, stop = first_best(values)
    assert stop == best + PATIENCE < ROUNDS  # else nothing was tested
    found = ranker.evals_result_["validation"][sg.measure(measure).name]
    np.testing.assert_allclose(found, values[:stop], rtol=0, atol=1e-9)
    assert (ranker.n_iter_, ranker.best_iteration_) == (stop, best)
    assert ranker.best_score_ == pytest.approx(values[best - 1], abs=1e-9)
    np.testing.assert_allclose(ranker.predict(X), after(full, X, best), rtol=0, atol=1e-6)


@every_estimator
def test_the_best_round_is_used_where_all_rounds_are_run(name):
    X, y, given = two_sets()
    ranker = stopping(ESTIMATORS[name], n_iter_no_change=ROUNDS).fit(X, y, **given)
    values = ranker.evals_result_["validation"]["NDCNG@10"]
    assert ranker.n_iter_ == len(values) == ROUNDS
    assert ranker.best_iteration_ == np.argmax(values) + 1 < ROUNDS
    full = sg.QueryRanker(ESTIMATORS[name]).fit(X, y, qid=given["qid"]).estimator_
    expected = after(full, X, ranker.best_iteration_)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=0, atol=1e-6)
    score = sg.NDCNG(k=10)(given["eval_y"], ranker.predict(given["eval_X"]), qid=given["eval_qid"])
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
    ranker = stopped(ESTIMATORS[name], measure=["mu_map", "rr"])
    alone = stopped(ESTIMATORS[name], measure="mu_map")
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
    ("estimator", "fraction", "n_held"),
    [(LGBM_RECORDER, 0.1, 5), (CATBOOST_RECORDER, 0.5, 25), (XGB_RECORDER, 0.001, 1)],
    ids=["LightGBM", "CatBoost", "XGBoost"],
)
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
    keeps_the_order = (np.diff(training) > 0).all()
    assert keeps_the_order == isinstance(estimator, XGBRegressor)  # rankers get query by query


def test_in_a_search_the_test_fold_is_never_seen(seen):
    X, y, qid = data()
    X = numbered(X)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            stopping(LGBM_RECORDER), {"estimator__num_leaves": [3, 7]}, n_jobs=1,
            cv=GroupKFold(3).set_split_request(groups="qid"), error_score="raise",
            scoring=sg.make_ranking_scorer("ndcng@10"),
        ).fit(X, y, qid=qid)
    folds = list(GroupKFold(3).split(X, groups=qid)) * 2 + [(np.arange(len(y)), [])]
    assert len(seen.training) == len(seen.validation) == len(folds) == 7
    for training, validation, (train, _) in zip(seen.training, seen.validation, folds, strict=True):
        assert sorted([*training, *validation]) == train.tolist()
        assert not set(qid[training]) & set(qid[validation])
    assert search.best_estimator_.best_iteration_ < ROUNDS


def test_random_state_says_which_queries():
    def history(random_state):
        return stopped(ESTIMATORS["LGBMRanker"], random_state=random_state).evals_result_

    assert history(1) == history(1) == history(np.random.RandomState(1))
    assert history(1) != history(2)
    np.random.seed(1)
    assert history(None) == history(1) != history(None)


@pytest.mark.parametrize("kind", FRAMES)
@every_ranker
def test_the_constructors_column_serves_the_validation_set_too(name, kind):
    X, y, given = two_sets()
    qid, eval_X, eval_y, eval_qid = given.values()
    features = [0, 2, 3]
    expected = stopping(ESTIMATORS[name]).fit(
        X[:, features], y, **given | {"eval_X": eval_X[:, features]}
    )
    X[:, 1], eval_X[:, 1] = qid, eval_qid
    ranker = stopping(ESTIMATORS[name], qid="query_id")
    ranker.fit(FRAMES[kind](X), y, eval_X=FRAMES[kind](eval_X), eval_y=eval_y)
    assert ranker.n_features_in_ == 3
    assert ranker.evals_result_ == expected.evals_result_


held_out_from_an_array = cache(lambda name: stopped(ESTIMATORS[name]))


@pytest.mark.parametrize("kind", TABLES)
@every_ranker
def test_tables_of_any_kind_are_held_out_from(name, kind):
    X, y, qid = data()
    make, expected = TABLES[kind], held_out_from_an_array(name)
    ranker = stopping(ESTIMATORS[name]).fit(make(X), y, qid=qid)
    assert ranker.best_iteration_ == expected.best_iteration_
    np.testing.assert_allclose(ranker.predict(make(X)), expected.predict(X), rtol=0, atol=1e-6)


def test_queries_of_the_validation_set_are_looked_up_by_index():
    X, y, given = two_sets()
    frame, eval_frame = pd.DataFrame(X), pd.DataFrame(given["eval_X"])
    eval_frame.index += 1000
    queries = np.append(given["qid"], given["eval_qid"])
    series = pd.Series(queries, index=[*frame.index, *eval_frame.index])
    ranker = stopping(ESTIMATORS["LGBMRanker"], qid=series)
    ranker.fit(frame, y, eval_X=eval_frame, eval_y=given["eval_y"])
    expected = stopping(ESTIMATORS["LGBMRanker"]).fit(X, y, **given)
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
    by_constructor = stopping(CatBoostRanker(cat_features=["kind"], **CATBOOST))
    assert by_constructor.fit(frame, y, qid=qid).evals_result_ == ranker.evals_result_
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
    """The same of XGBoost, which may end the training."""

    def __init__(self, last=None):
        self.n, self.last = 0, last

    def after_iteration(self, model, epoch, evals_log):
        self.n += 1
        return self.n == self.last


RIVALS = {
    "LGBMRanker": {"early_stopping_round": 1, "metric": "ndcg", "first_metric_only": True,
                   "num_iterations": ROUNDS},
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
    X, _, _ = data()
    estimator = type(ESTIMATORS[name])(**ESTIMATORS[name].get_params() | RIVALS[name])
    before = estimator.get_params()
    for refit in (False, True):
        expected, ranker = stopped(ESTIMATORS[name], refit=refit), stopped(estimator, refit=refit)
        assert ranker.evals_result_ == expected.evals_result_
        np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    assert str(estimator.get_params()) == str(before)
    with pytest.raises((NotFittedError, Exception), match=r"(?i)fit"):
        estimator.predict(X)


@every_estimator
def test_callbacks_of_the_user_are_called(name):
    if name.startswith("XGB"):
        ranker = stopped(clone(ESTIMATORS[name]).set_params(callbacks=[XGBCounter()]))
        (counter,) = ranker.estimator_.callbacks  # the copy's, and no other beside it
        assert 0 <= ranker.n_iter_ - counter.n <= 1  # at the last it may not be asked any more
    else:
        counter = Counter()
        ranker = stopped(ESTIMATORS[name], {"callbacks": [counter]})
        assert counter.n == ranker.n_iter_
    assert ranker.n_iter_ < ROUNDS


# What users have set, library by library ----------------------------------------------------------

@pytest.mark.parametrize("metric", [None, "ndcg", "map"])
def test_lightgbm_computes_no_metric_of_its_own(metric):
    ranker = stopped(LGBMRanker(metric=metric, **LIGHTGBM))
    assert list(ranker.estimator_.evals_result_["validation"]) == ["NDCNG@10"]
    assert ranker.estimator_.best_score_ == {"validation": {"NDCNG@10": ranker.best_score_}}


@pytest.mark.parametrize("last", [1, 3])
def test_a_lightgbm_ended_by_a_callback_predicts_with_its_best_round(last):
    def end(env):
        if env.iteration == last - 1:
            raise lightgbm.callback.EarlyStopException(8, env.evaluation_result_list)

    end.order = 25  # after the round was measured
    ranker = stopped(ESTIMATORS["LGBMRanker"], {"callbacks": [end]})
    assert ranker.n_iter_ == last
    assert ranker.estimator_.booster_.best_iteration == ranker.best_iteration_ <= last
    X, _, _ = data()
    best = ranker.estimator_.predict(X, num_iteration=ranker.best_iteration_)
    np.testing.assert_array_equal(ranker.predict(X), best)


def test_callbacks_of_lightgbm_record_the_last_round_too():
    history = {}
    record = lightgbm.record_evaluation(history)
    ranker = stopped(ESTIMATORS["LGBMRanker"], {"callbacks": [record]})
    assert history["validation"] == ranker.evals_result_["validation"]


def test_what_xgboost_takes_for_missing_is_missing_in_the_held_out_rows_too():
    X, y, qid = data()
    gaps = np.random.default_rng(0).random(X.shape) < 0.3
    expected = stopping(ESTIMATORS["XGBRanker"]).fit(np.where(gaps, np.nan, X), y, qid=qid)
    ranker = stopping(XGBRanker(missing=-9.0, **XGBOOST)).fit(np.where(gaps, -9.0, X), y, qid=qid)
    assert ranker.evals_result_ == expected.evals_result_


def test_feature_types_of_xgboost_are_those_of_the_held_out_rows_too():
    X, y, qid = data()
    X = np.column_stack([y, X[:, :2]]).astype(float)
    estimator = XGBRanker(feature_types=["c", "q", "q"], enable_categorical=True, **XGBOOST)
    assert stopping(estimator).fit(X, y, qid=qid).best_score_ == 1.0


@pytest.mark.parametrize("last", [1, 3])
def test_the_round_at_which_a_callback_ends_xgboost_is_measured(last):
    ranker = stopped(XGBRanker(callbacks=[XGBCounter(last)], **XGBOOST))
    assert ranker.n_iter_ == last
    assert ranker.estimator_.get_booster().num_boosted_rounds() == last


def test_xgboost_knows_its_best_round_and_score():
    ranker = stopped(ESTIMATORS["XGBRanker"])
    assert ranker.estimator_.best_iteration == ranker.best_iteration_ - 1
    assert ranker.estimator_.best_score == ranker.best_score_


@pytest.mark.parametrize("early_stopping", [False, True])
def test_catboost_takes_sparse_rows_with_64_bit_indices(early_stopping):
    X, y, qid = data()
    table = sparse.csr_matrix(np.where(X > 0, X, 0.0))
    wide = table.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected, found = (
        stopping(ESTIMATORS["CatBoostRanker"], early_stopping=early_stopping).fit(one, y, qid=qid)
        for one in (table, wide)
    )
    np.testing.assert_array_equal(found.predict(wide), expected.predict(table))
    assert wide.indices.dtype == np.int64


# Bad input ---------------------------------------------------------------------------------------

def test_two_queries_are_one_each_side(seen):
    X, y, qid = data()
    stopping(LGBM_RECORDER).fit(numbered(X)[qid < 2], y[qid < 2], qid=qid[qid < 2])
    assert len(set(qid[qid < 2])) == 2
    assert len(seen.training) == len(seen.validation) == 1


def days(qid):
    return np.datetime64("2024-01-01", "ns") + np.asarray(qid) * np.timedelta64(1, "D")


# As an estimator ---------------------------------------------------------------------------------

@every_ranker
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


def test_a_pipeline_transforms_the_validation_set():
    X, y, given = two_sets()
    scaler = StandardScaler().fit(X)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = stopping(ESTIMATORS["XGBRanker"])
        ranker.set_fit_request(eval_X=True, eval_y=True, eval_qid=True)
        steps = [("scale", StandardScaler()), ("rank", ranker)]
        pipeline = Pipeline(steps, transform_input=["eval_X"])
        pipeline.fit(X, y, **given)
    given["eval_X"] = scaler.transform(given["eval_X"])
    expected = stopping(ESTIMATORS["XGBRanker"]).fit(scaler.transform(X), y, **given)
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
    base = stopped(CatBoost({"loss_function": "YetiRank"} | CATBOOST))
    ranker = stopped(ESTIMATORS["CatBoostRanker"])
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
    X, y, given = two_sets()
    qid, eval_X, eval_y, eval_qid = given.values()
    ranker = stopping(ESTIMATORS["LGBMRanker"]).fit(X, y, **given)
    ranker.score(X, y, qid=qid)
    ranker.score(X, y, qid=qid + 100)
    with pytest.warns(sg.TornQueryWarning, match="15 of the 15 queries"):
        ranker.score(eval_X, eval_y, qid=eval_qid)
    with pytest.warns(sg.TornQueryWarning, match="1 of the 2 queries to score, such as 40,"):
        ranker.score(eval_X[:8], eval_y[:8], qid=[40] * 4 + [99] * 4)


def test_nothing_warns_and_nothing_is_printed(capfd):
    for estimator in ESTIMATORS.values():
        stopped(estimator)  # warnings are errors in these tests
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("grow_policy", ["Lossguide", "Depthwise"])
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

def of_the_best_rounds(ranker):
    """A ranker around its estimator that trains as many rounds as it found best."""
    rounds = "iterations" if isinstance(ranker.estimator, CatBoost) else "n_estimators"
    booster = clone(ranker.estimator).set_params(**{rounds: ranker.best_iteration_})
    return sg.QueryRanker(booster)


@every_estimator
def test_refit_is_a_fit_on_all_queries_with_the_best_rounds(name):
    X, y, qid = data()
    given = {"qid": qid, "sample_weight": 1.0 + qid % 3}
    ranker = stopping(ESTIMATORS[name], refit=True).fit(X, y, **given)
    plain = stopping(ESTIMATORS[name]).fit(X, y, **given)
    assert ranker.best_iteration_ == plain.best_iteration_ < ranker.n_iter_
    assert ranker.evals_result_ == plain.evals_result_
    whole = of_the_best_rounds(ranker).fit(X, y, **given)
    np.testing.assert_allclose(ranker.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)
    assert not np.allclose(ranker.predict(X), plain.predict(X))


@pytest.mark.parametrize(
    ("name", "weights"), list(zip(ESTIMATORS, ["none", "one side", "both sides"] * 2, strict=True))
)
def test_refit_takes_the_rows_that_were_given_to_stop_on_too(name, weights):
    X, y, given = two_sets()
    # query by query, for CatBoost's regressors depend on the order of rows
    ids = given["eval_qid"]
    order = np.concatenate([np.flatnonzero(ids == one) for one in dict.fromkeys(ids)])
    given |= {eval_: given[eval_][order] for eval_ in ("eval_X", "eval_y", "eval_qid")}
    qid, eval_X, eval_y, eval_qid = given.values()
    of_training, to_stop, by_hand = 1.0 + qid % 3, np.ones(len(eval_y)), {}
    if weights == "both sides":
        to_stop += eval_qid % 2
        given["eval_sample_weight"] = to_stop
    if weights != "none":
        given["sample_weight"] = of_training
        by_hand["sample_weight"] = np.append(of_training, to_stop)
    ranker = stopping(ESTIMATORS[name], refit=True).fit(X, y, **given)
    everything = np.concatenate([X, eval_X]), np.append(y, eval_y)
    by_hand["qid"] = np.append(qid, eval_qid)
    whole = of_the_best_rounds(ranker).fit(*everything, **by_hand)
    np.testing.assert_allclose(ranker.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars", "csr"])
def test_refit_stacks_tables_of_every_kind(kind):
    X, y, given = two_sets()
    make = TABLES[kind]
    ranker = stopping(ESTIMATORS["XGBRanker"], refit=True)
    found = clone(ranker).fit(make(X), y, **given | {"eval_X": make(given["eval_X"])})
    expected = ranker.fit(X, y, **given)
    np.testing.assert_allclose(found.predict(make(X)), expected.predict(X), rtol=1e-6)


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
    piped = make_pipeline(StandardScaler(), clone(ESTIMATORS["LGBMRanker"]))
    ranker = stopping(piped, refit=True).fit(X, y, qid=qid)
    piped.set_params(lgbmranker__n_estimators=ranker.best_iteration_)
    expected = sg.QueryRanker(piped).fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-6, atol=1e-9)
