"""Early stopping in QueryRanker: every booster is compared with a full training run."""

from functools import cache

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
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from table_kinds import TABLES
from xgboost import XGBRanker, XGBRegressor

import skgraded as sg
from skgraded.datasets import make_ranking

pytestmark = pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")

ROUNDS = 40
PATIENCE = 8
LIGHTGBM = {
    "n_estimators": ROUNDS,
    "learning_rate": 0.3,
    "min_child_samples": 5,
    "verbose": -1,
    "n_jobs": 1,
    "deterministic": True,
    "force_col_wise": True,
    "random_state": 0,
}
XGBOOST = {"n_estimators": ROUNDS, "max_depth": 3, "n_jobs": 1, "random_state": 0}
CATBOOST = {
    "iterations": ROUNDS,
    "learning_rate": 0.3,
    "depth": 3,
    "thread_count": 1,
    "random_seed": 0,
    "verbose": False,
    "allow_writing_files": False,
}
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


ranking = make_ranking(50, 10, 4, random_state=0)  # queries of about ten documents
order = np.random.default_rng(0).permutation(len(ranking[1]))
X, y, qid = [array[order] for array in ranking]
is_train = qid < 35
X_train, y_train, qid_train = X[is_train], y[is_train], qid[is_train]
X_val, y_val, qid_val = X[~is_train], y[~is_train], qid[~is_train]
# Fit arguments for the training rows: their queries, and the other queries to stop on
STOP = {"qid": qid_train, "X_val": X_val, "y_val": y_val, "qid_val": qid_val}


def held_out(n_queries):
    """Rows of the queries that a ranker with random_state=0 holds out."""
    return np.isin(qid, np.unique(qid)[np.random.RandomState(0).permutation(50)[:n_queries]])


def stopping(estimator, **parameters):
    settings = {"early_stopping": True, "n_iter_no_change": PATIENCE, "random_state": 0}
    estimator = ESTIMATORS.get(estimator, estimator) if isinstance(estimator, str) else estimator
    return sg.QueryRanker(estimator, **settings | parameters)


def stopped(estimator, fit_params=(), **parameters):
    """Return a ranker that is fitted on all queries and holds out some of them."""
    return stopping(estimator, **parameters).fit(X, y, qid=qid, **dict(fit_params))


@cache
def known(name, **parameters):
    """Return the ranker of `stopped`, which is fitted once for all tests."""
    return stopped(name, **parameters)


def after(model, X, n_rounds):
    """Predictions after a number of rounds, computed by the library."""
    if isinstance(model, lightgbm.LGBMModel):
        return model.predict(X, num_iteration=n_rounds)
    if isinstance(model, xgboost.XGBModel):
        return model.predict(X, iteration_range=(0, n_rounds))
    return model.predict(X, ntree_end=n_rounds)


# Compared with a full training run ---------------------------------------------------------------


@pytest.mark.parametrize("patience", [PATIENCE, ROUNDS])
@every_estimator
def test_training_stops_after_the_best_round_and_prints_nothing(name, patience, capfd):
    measure, weight, weight_val = sg.NDCNG(k=10), None, None
    if patience == PATIENCE:
        weights = np.random.default_rng(0).uniform(0.01, 5, 50)
        measure, weight, weight_val = sg.MuAP(), weights[qid_train], weights[qid_val]
    ranker = stopping(name, measure=measure, n_iter_no_change=patience)
    ranker.fit(X_train, y_train, **STOP, sample_weight=weight, sample_weight_val=weight_val)

    plain = sg.QueryRanker(ESTIMATORS[name])
    full = plain.fit(X_train, y_train, qid=qid_train, sample_weight=weight).estimator_
    values = [
        measure(y_val, after(full, X_val, i + 1), qid=qid_val, sample_weight=weight_val)
        for i in range(ranker.n_iter_)
    ]
    best = int(np.argmax(values)) + 1  # the first of equal values
    if patience == PATIENCE:
        assert ranker.n_iter_ == best + PATIENCE < ROUNDS
    else:
        assert ranker.n_iter_ == ROUNDS > best
    assert ranker.best_iteration_ == best
    assert ranker.best_score_ == pytest.approx(values[best - 1], abs=1e-9)
    result = ranker.evals_result_["validation"][measure.name]
    np.testing.assert_allclose(result, values, rtol=0, atol=1e-9)
    scores = ranker.predict(X_train)
    np.testing.assert_allclose(scores, after(full, X_train, best), rtol=0, atol=1e-6)
    assert capfd.readouterr() == ("", "")


def test_the_first_round_of_a_flat_curve_is_the_best():
    # Without a cut-off, precision is the same for all rankings.
    ranker = known("LGBMRanker", measure="p", n_iter_no_change=5)
    assert (ranker.best_iteration_, ranker.n_iter_) == (1, 1 + 5)


@every_estimator
def test_held_out_queries_stop_the_training_like_the_same_queries_as_X_val(name):
    weights = np.random.default_rng(0).uniform(0.1, 5, len(y))
    ranker = stopping(name, validation_fraction=0.3)
    ranker.fit(X, y, qid=qid, sample_weight=weights)
    held = held_out(15)
    evaluated = stopping(name).fit(
        X[~held],
        y[~held],
        qid=qid[~held],
        sample_weight=weights[~held],
        X_val=X[held],
        y_val=y[held],
        qid_val=qid[held],
        sample_weight_val=weights[held],
    )
    assert ranker.evals_result_ == evaluated.evals_result_
    assert ranker.best_iteration_ == evaluated.best_iteration_
    np.testing.assert_array_equal(ranker.predict(X), evaluated.predict(X))


def test_the_first_of_several_measures_decides_and_all_are_recorded():
    ranker = known("LGBMRanker", measure=("mu_map", "rr"))
    alone = known("LGBMRanker", measure="mu_map")
    history = ranker.evals_result_["validation"]
    assert list(history) == ["MuAP", "RR"]
    assert history["MuAP"] == alone.evals_result_["validation"]["MuAP"]
    assert len(history["RR"]) == ranker.n_iter_ == alone.n_iter_
    assert ranker.best_iteration_ == alone.best_iteration_
    assert ranker.best_score_ == max(history["MuAP"])


@pytest.mark.parametrize("name", ["LGBMRegressor", "XGBRegressor", "CatBoostRegressor"])
def test_measures_receive_grades_in_double_precision(name):
    # 0.7 as a 32-bit float is below 0.7, so no grade would reach the threshold.
    measure = sg.AP(threshold=0.7)
    ranker = stopping(name, measure=measure).fit(X, np.where(y > 1, 0.7, 0), qid=qid)
    binary = stopping(name, measure="ap").fit(X, np.where(y > 1, 0.7, 0), qid=qid)
    assert ranker.best_score_ == binary.best_score_ > 0.2


# Rows that are held out --------------------------------------------------------------------------


def test_random_state_determines_which_queries_are_held_out():
    def history(random_state):
        return stopped("LGBMRanker", random_state=random_state).evals_result_

    assert history(1) == history(np.random.RandomState(1)) != known("LGBMRanker").evals_result_
    np.random.seed(1)
    assert history(None) == history(1) != history(None)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("csr", "XGBRanker"),
        ("csr", "CatBoostRanker"),
        ("csc", "LGBMRanker"),
        ("arrow", "LGBMRanker"),
        ("polars", "LGBMRanker"),
        ("polars", "XGBRanker"),
    ],
)
def test_queries_are_held_out_from_tables_of_any_kind(kind, name):
    make, expected = TABLES[kind], known(name)
    ranker = stopping(name).fit(make(X), y, qid=qid)
    assert ranker.best_iteration_ == expected.best_iteration_
    np.testing.assert_allclose(ranker.predict(make(X)), expected.predict(X), rtol=0, atol=1e-6)


def test_X_val_contains_the_query_column_or_is_looked_up_in_the_series():
    expected = stopping("LGBMRanker").fit(X_train, y_train, **STOP)
    frame, eval_frame = pd.DataFrame(X_train), pd.DataFrame(X_val)
    eval_frame.index += 1000
    queries = np.append(qid_train, qid_val)
    series = pd.Series(queries, index=[*frame.index, *eval_frame.index])
    by_index = stopping("LGBMRanker", qid=series)
    by_index.fit(frame, y_train, X_val=eval_frame, y_val=y_val)
    assert by_index.evals_result_ == expected.evals_result_

    by_column, eval_frame = stopping("LGBMRanker", qid="query"), eval_frame.assign(query=qid_val)
    by_column.fit(frame.assign(query=qid_train), y_train, X_val=eval_frame, y_val=y_val)
    assert by_column.n_features_in_ == X.shape[1]
    assert by_column.evals_result_ == expected.evals_result_


def test_categories_are_held_out_with_their_rows():
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = np.array(["x", "y", "z", "u", "v"])[y]  # determines the grade
    ranker = stopping("CatBoostRanker").fit(frame, y, qid=qid, cat_features=["kind"])
    assert ranker.best_score_ > 0.95
    by_constructor = stopping(CatBoostRanker(cat_features=["kind"], **CATBOOST))
    assert by_constructor.fit(frame, y, qid=qid).evals_result_ == ranker.evals_result_
    frame["kind"] = frame["kind"].astype("category")
    for estimator in (ESTIMATORS["LGBMRanker"], XGBRanker(enable_categorical=True, **XGBOOST)):
        assert stopping(estimator).fit(frame, y, qid=qid).best_score_ > 0.95


# Settings of the estimator -----------------------------------------------------------------------


class XGBCounter(xgboost.callback.TrainingCallback):
    """A callback of XGBoost that counts the rounds and ends the training after round `last`."""

    def __init__(self, last=None):
        self.n, self.last = 0, last

    def after_iteration(self, model, epoch, evals_log):
        self.n += 1
        return self.n == self.last


OWN_STOPPING = {
    "LGBMRanker": {
        "early_stopping_round": 1,
        "metric": "ndcg",
        "first_metric_only": True,
        "num_iterations": ROUNDS,
    },
    "LGBMRegressor": {"early_stopping_rounds": 1, "metrics": ["l2", "l1"]},
    "XGBRanker": {"early_stopping_rounds": 1, "eval_metric": ["ndcg@5", "map"]},
    "XGBRegressor": {"early_stopping_rounds": 1, "eval_metric": "rmse"},
    "CatBoostRanker": {
        "od_type": "Iter",
        "od_wait": 1,
        "eval_metric": "PFound",
        "metric_period": 7,
        "use_best_model": True,
        "eval_fraction": 0.3,
        "best_model_min_trees": 30,
    },
    "CatBoostRegressor": {"early_stopping_rounds": 1, "eval_metric": "MAE", "metric_period": 5},
}


@every_estimator
def test_stopping_settings_of_the_estimator_are_ignored_and_kept(name):
    estimator = type(ESTIMATORS[name])(**ESTIMATORS[name].get_params() | OWN_STOPPING[name])
    before = estimator.get_params()
    expected, ranker = known(name, refit=True), stopped(estimator, refit=True)
    assert ranker.evals_result_ == expected.evals_result_
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    ranker = stopped(estimator)
    np.testing.assert_array_equal(ranker.predict(X), known(name).predict(X))
    assert str(estimator.get_params()) == str(before)
    with pytest.raises(Exception, match=r"(?i)fit"):  # the estimator itself is not fitted
        estimator.predict(X)


def test_missing_values_and_feature_types_of_xgboost_also_apply_to_held_out_rows():
    gaps = np.random.default_rng(0).random(X.shape) < 0.3
    expected = stopping("XGBRanker").fit(np.where(gaps, np.nan, X), y, qid=qid)
    ranker = stopping(XGBRanker(missing=-9.0, **XGBOOST)).fit(np.where(gaps, -9.0, X), y, qid=qid)
    assert ranker.evals_result_ == expected.evals_result_
    table = np.column_stack([y, X[:, :2]]).astype(float)
    estimator = XGBRanker(feature_types=["c", "q", "q"], enable_categorical=True, **XGBOOST)
    assert stopping(estimator, random_state=2).fit(table, y, qid=qid).best_score_ == 1.0


@pytest.mark.parametrize("last", [1, 3])
def test_a_callback_may_end_xgboost_and_its_last_round_is_measured(last):
    ranker = stopped(XGBRanker(callbacks=[XGBCounter(last)], **XGBOOST))
    assert ranker.n_iter_ == last
    assert ranker.estimator_.get_booster().num_boosted_rounds() == last
    assert ranker.estimator_.best_iteration == ranker.best_iteration_ - 1
    assert ranker.estimator_.best_score == ranker.best_score_


@pytest.mark.parametrize("early_stopping", [False, True])
def test_catboost_accepts_sparse_rows_with_64_bit_indices(early_stopping):
    table = sparse.csr_matrix(np.where(X > 0, X, 0.0))
    wide = table.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected, result = (
        stopping("CatBoostRanker", early_stopping=early_stopping).fit(rows, y, qid=qid)
        for rows in (table, wide)
    )
    np.testing.assert_array_equal(result.predict(wide), expected.predict(table))
    assert wide.indices.dtype == np.int64


# As an estimator ---------------------------------------------------------------------------------


def test_pipelines_around_and_inside_the_ranker_transform_the_validation_set():
    # Shifted columns: trees from scaled rows would send unscaled validation rows to wrong leaves.
    table, fit_params = 5 * X_train + 100, STOP | {"X_val": 5 * X_val + 100}
    with sklearn.config_context(enable_metadata_routing=True):
        plain = Pipeline([("scale", StandardScaler()), ("rank", stopping("XGBRanker"))])
        outside = (
            clone(plain).set_params(transform_input=["X_val"]).fit(table, y_train, **fit_params)
        )
        untransformed = plain.fit(table, y_train, **fit_params)[-1]
    inside = stopping(make_pipeline(StandardScaler(), clone(ESTIMATORS["XGBRanker"])))
    inside.fit(table, y_train, **fit_params)
    np.testing.assert_array_equal(outside.predict(table), inside.predict(table))
    scaler = StandardScaler().fit(table)
    scaled, evaluated = scaler.transform(table), scaler.transform(fit_params["X_val"])
    by_hand = stopping("XGBRanker").fit(scaled, y_train, **fit_params | {"X_val": evaluated})
    np.testing.assert_array_equal(by_hand.predict(scaled), inside.predict(table))
    assert outside[-1].evals_result_ == inside.evals_result_ == by_hand.evals_result_
    assert outside[-1].best_iteration_ == inside.best_iteration_ == by_hand.best_iteration_ > 1
    assert untransformed.best_score_ < by_hand.best_score_


@pytest.mark.parametrize(
    ("name", "queries", "form"),
    [
        ("LGBMRanker", "group", "eval_set"),
        ("XGBRanker", "group", "eval_set"),
        ("LGBMRanker", "qid", "eval_set"),
        ("CatBoostRanker", "qid", "eval_set"),
        ("LGBMRanker", "group", "X_val"),
    ],
)
def test_the_validation_set_may_have_the_form_of_lightgbm(name, queries, form):
    X, y, qid = make_ranking(50, 10, 4, random_state=0)
    train, sizes = qid < 35, np.bincount(qid)
    X_val, y_val = X[~train], y[~train]
    evaluated = {"X_val": X_val, "y_val": y_val, "qid_val": qid[~train]}
    expected = stopping(name, refit=True).fit(X[train], y[train], qid=qid[train], **evaluated)
    if form == "eval_set":
        evaluated = {"eval_set": [(X_val, y_val)], "eval_group": [sizes[35:]]}
    of_training = {"group": sizes[:35]} if queries == "group" else {"qid": qid[train]}
    ranker = stopping(name, refit=True).fit(X[train], y[train], **of_training, **evaluated)
    assert ranker.evals_result_ == expected.evals_result_
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    if name in ("LGBMRanker", "XGBRanker"):  # whose fit has these arguments
        without = stopped(name, {"eval_set": None, "eval_group": None})
        assert without.evals_result_ == known(name).evals_result_


def test_fitting_again_without_early_stopping_removes_the_rounds():
    ranker = stopping("LGBMRanker").fit(X, y, qid=qid)
    ranker.set_params(early_stopping=False).fit(X, y, qid=qid)
    for attribute in ("n_iter_", "best_iteration_", "best_score_", "evals_result_"):
        assert not hasattr(ranker, attribute)
    for refit in (False, True):  # without early stopping, refit changes nothing
        expected = sg.QueryRanker(ESTIMATORS["LGBMRanker"], refit=refit).fit(X, y, qid=qid)
        np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))


def test_scoring_validation_queries_warns():
    ranker = stopped("LGBMRanker", validation_fraction=0.5)
    ranker.score(X, y, qid=qid)  # exactly the rows of the fit
    held = held_out(25)
    with pytest.warns(sg.TornQueryWarning, match="25 of the 25 queries"):
        ranker.score(X[held], y[held], qid=qid[held])

    ranker = stopping("LGBMRanker").fit(X_train, y_train, **STOP)
    ranker.score(X_train, y_train, qid=qid_train + 100)
    with pytest.warns(sg.TornQueryWarning, match="15 of the 15 queries"):
        ranker.score(X_val, y_val, qid=qid_val)
    with pytest.warns(sg.TornQueryWarning, match="1 of the 2 queries to score, such as 40,"):
        ranker.score(X_val[:8], y_val[:8], qid=[40] * 4 + [99] * 4)


# A last fit on all queries -----------------------------------------------------------------------


def of_the_best_rounds(ranker):
    """A ranker without early stopping that trains for the best number of rounds."""
    rounds = "iterations" if isinstance(ranker.estimator, CatBoost) else "n_estimators"
    booster = clone(ranker.estimator).set_params(**{rounds: ranker.best_iteration_})
    return sg.QueryRanker(booster)


@every_estimator
def test_refit_trains_on_all_queries_for_the_best_rounds(name):
    fit_params = {"qid": qid, "sample_weight": 1.0 + qid % 3}
    ranker = stopping(name, refit=True).fit(X, y, **fit_params)
    plain = stopping(name).fit(X, y, **fit_params)
    assert ranker.best_iteration_ == plain.best_iteration_ < ranker.n_iter_
    assert ranker.evals_result_ == plain.evals_result_
    whole = of_the_best_rounds(ranker).fit(X, y, **fit_params)
    np.testing.assert_allclose(ranker.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)
    assert not np.allclose(ranker.predict(X), plain.predict(X))


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("LGBMRanker", "none"),
        ("XGBRanker", "both sets"),
        ("CatBoostRanker", "one set"),
        ("CatBoostRegressor", "both sets"),
    ],
)
def test_refit_also_trains_on_the_rows_of_X_val(name, weights):
    # Sorted by query, because the regressors of CatBoost depend on the order of rows.
    order = np.concatenate([np.flatnonzero(qid_val == query) for query in dict.fromkeys(qid_val)])
    fit_params = STOP | {key: STOP[key][order] for key in ("X_val", "y_val", "qid_val")}
    by_hand = {"qid": np.append(qid_train, qid_val[order])}
    of_training, to_stop = 1.0 + qid_train % 3, np.ones(len(y_val))
    if weights == "both sets":
        to_stop += qid_val[order] % 2
        fit_params["sample_weight_val"] = to_stop
    if weights != "none":
        fit_params["sample_weight"] = of_training
        by_hand["sample_weight"] = np.append(of_training, to_stop)
    ranker = stopping(name, refit=True).fit(X_train, y_train, **fit_params)
    everything = np.concatenate([X_train, X_val[order]]), np.append(y_train, y_val[order])
    whole = of_the_best_rounds(ranker).fit(*everything, **by_hand)
    np.testing.assert_allclose(ranker.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars", "csr"])
def test_refit_stacks_tables_of_every_kind(kind):
    make = TABLES[kind]
    ranker = stopping("XGBRanker", refit=True)
    result = clone(ranker).fit(make(X_train), y_train, **STOP | {"X_val": make(X_val)})
    expected = ranker.fit(X_train, y_train, **STOP)
    np.testing.assert_allclose(result.predict(make(X)), expected.predict(X), rtol=1e-6)


def test_histogram_gradient_boosting_holds_out_no_random_rows():
    X, y, qid = sg.datasets.make_ranking(n_queries=600, random_state=0)
    assert len(y) > 10_000  # where scikit-learn's early_stopping="auto" means True
    booster = HistGradientBoostingRegressor(max_iter=30, learning_rate=0.9, n_iter_no_change=1)
    assert booster.fit(X, y).n_iter_ < 30
    for estimator in (booster, make_pipeline(StandardScaler(), booster)):
        ranker = sg.QueryRanker(estimator).fit(X, y, qid=qid).estimator_
        fitted = ranker[-1] if estimator is not booster else ranker
        assert fitted.n_iter_ == 30


@pytest.mark.parametrize("early_stopping", [False, True, 2])
def test_random_rows_of_histogram_gradient_boosting_are_an_error(early_stopping):
    booster = HistGradientBoostingRegressor(max_iter=3, early_stopping=True)
    ranker = sg.QueryRanker(booster, early_stopping=early_stopping)
    with pytest.raises(ValueError, match=r"splits queries.*QueryRanker\(…, early_stopping=5\)"):
        ranker.fit(X, y, qid=qid)


def test_refit_accepts_validation_rows_that_lack_a_category():
    X, y, qid = sg.datasets.make_ranking(n_queries=80, random_state=0)
    kind, late = np.where(X[:, 0] > 0, "high", "low"), qid >= 60
    kind[~late & (X[:, 1] > 1)] = "other"
    frame = pd.DataFrame({"f": X[:, 1], "kind": pd.Categorical(kind)})
    X_val = frame[late].assign(kind=pd.Categorical(kind[late]))
    settings = {"n_estimators": 5, "verbose": -1, "n_jobs": 1}
    ranker = sg.QueryRanker(LGBMRanker(**settings), early_stopping=True, refit=True)
    validation = {"X_val": X_val, "y_val": y[late], "qid_val": qid[late]}
    ranker.fit(frame[~late], y[~late], qid=qid[~late], **validation)
    expected = LGBMRanker(**settings | {"n_estimators": ranker.best_iteration_})
    expected.fit(frame, y, group=np.bincount(qid))
    np.testing.assert_allclose(ranker.predict(X_val), expected.predict(frame[late]))
