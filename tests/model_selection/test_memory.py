"""LightGBM's binned data in a Memory: the same models, binned once."""

import json
import pickle

import joblib
import numpy as np
import pandas as pd
import polars
import pytest
import sklearn
from lightgbm import LGBMRanker, LGBMRegressor
from lightgbm.basic import _ConfigAliases
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

import skgraded as sg
from skgraded.boosting.lightgbm import BINNING_PARAMETERS, LEAF_PARAMETERS, UNCACHED_PARAMETERS

SETTINGS = {"n_estimators": 10, "n_jobs": 1, "verbose": -1}
N_QUERIES, N_FEATURES = 60, 8


@pytest.fixture(scope="module")
def rows():
    """Rows with all that LightGBM bins by rules of its own: gaps, zeros, columns that exclude."""
    X, y, qid = sg.datasets.make_ranking(N_QUERIES, n_features=N_FEATURES, random_state=0)
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=len(y))
    X[:, 4] = kind
    X[:, 5] *= kind == 1
    X[:, 6] *= kind == 2
    X[:, 7] = 0
    X[rng.random(len(y)) < 0.05, 0] = np.nan
    order = rng.permutation(len(y))
    return X[order], y[order], qid[order]


def with_categories(X):
    frame = pd.DataFrame(X).add_prefix("f")
    return frame.assign(f4=pd.Categorical(frame["f4"].map({0: "low", 1: "größer", 2: "high"})))


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "bins")


def fit(estimator, rows, memory=None, ranker_params=None, **fit_params):
    X, y, qid = rows
    ranker = sg.QueryRanker(estimator, memory=memory, **(ranker_params or {}))
    return ranker.fit(X, y, qid=qid, **fit_params)


def model_of(ranker):
    """All of the fitted model as text: trees, features, parameters and categories."""
    last = ranker.estimator_[-1] if hasattr(ranker.estimator_, "steps") else ranker.estimator_
    names = list(getattr(last, "feature_names_in_", []))
    return last.booster_.model_to_string(), names, last.evals_result_, last.best_iteration_


def n_kept(folder):
    """How many data sets were binned for the memory."""
    items = joblib.Memory(folder, verbose=0).store_backend.get_items()
    return len({item.path for item in items})


def assert_same(estimator, rows, folder, n=None, **params):
    """The model with the memory is the model without it; twice, if n are to be kept by then."""
    expected = fit(estimator, rows, **params)
    X, *others = rows
    tables = [X] if n is None else [X, _safe_indexing(X, np.arange(X.shape[0]))]  # as a fold's
    for table in tables:
        ranker = fit(estimator, (table, *others), folder, **params)
        assert model_of(ranker) == model_of(expected)
        np.testing.assert_array_equal(ranker.predict(X), expected.predict(X), strict=True)
        assert n is None or n_kept(folder) == n


# The same models ---------------------------------------------------------------------------------

@pytest.mark.parametrize("parameters", [
    {},
    {"n_jobs": 2},
    {"max_bin": 7},
    {"max_bin": 1000, "min_data_in_bin": 1},
    {"max_bin_by_feature": [5] * N_FEATURES},
    {"min_child_samples": 200},
    {"bin_construct_sample_cnt": 300, "random_state": 3},
    {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.5, "random_state": 1},
    {"bagging_by_query": True, "subsample": 0.5, "subsample_freq": 1},
    {"enable_bundle": False},
    {"is_enable_sparse": False},
    {"zero_as_missing": True},
    {"use_missing": False},
    {"monotone_constraints": [1] + [0] * (N_FEATURES - 1)},
    {"feature_contri": [0.5] * N_FEATURES},
    {"boosting_type": "dart"},
    {"data_sample_strategy": "goss"},
    {"extra_trees": True},
    {"use_quantized_grad": True},
    {"categorical_column": [4]},
], ids=str)
def test_a_model_is_the_same_to_the_last_bit(rows, folder, parameters):
    assert_same(LGBMRanker(**SETTINGS | parameters), rows, folder, n=1)


@pytest.mark.parametrize("parameters", [{}, {"linear_tree": True}], ids=str)
def test_a_regressor_is_the_same_to_the_last_bit(rows, folder, parameters):
    assert_same(LGBMRegressor(**SETTINGS, **parameters), rows, folder, n=1)


TABLES = {
    "float32": np.float32,
    "Fortran": np.asfortranarray,
    "pandas": pd.DataFrame,
    "categories": with_categories,
    "CSR": lambda X: sparse.csr_matrix(np.nan_to_num(X)),
    "polars": lambda X: polars.DataFrame(X, schema=[f"f{i}" for i in range(X.shape[1])]),
}


with_and_without_stopping = pytest.mark.parametrize(
    "params", [{}, {"early_stopping": True, "random_state": 0}], ids=["all rows", "held out"]
)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@with_and_without_stopping
def test_a_model_of_any_table_is_the_same(rows, folder, table, params):
    rows = table(rows[0]), *rows[1:]
    assert_same(LGBMRanker(**SETTINGS), rows, folder, n=1, ranker_params=params)


@with_and_without_stopping
def test_names_and_categories_given_to_fit_are_those_of_the_model(rows, folder, params):
    given = {"feature_name": [f"ä{i}" for i in range(N_FEATURES)], "ranker_params": params}
    estimator = LGBMRanker(**SETTINGS)
    assert_same(estimator, rows, folder, n=1, categorical_feature=["ä4"], **given)
    assert_same(estimator, rows, folder, categorical_feature=[], **given)


@with_and_without_stopping
def test_columns_of_a_frame_may_be_named_as_categories(rows, folder, params):
    X, y, qid = rows
    rows = with_categories(X).assign(f7=y.astype(int)), y, qid
    given = {"ranker_params": params, "categorical_feature": ["f7"]}
    assert_same(LGBMRanker(**SETTINGS), rows, folder, n=1, **given)


def test_weights_and_first_scores_are_those_of_the_fit(rows, folder):
    X, y, qid = rows
    weights, scores = 1.0 + qid % 3, np.linspace(0, 1, len(y))
    for given in ({}, {"sample_weight": weights}, {"init_score": scores}):
        assert_same(LGBMRanker(**SETTINGS), rows, folder, n=1, **given)


def test_other_grades_and_queries_of_the_same_rows_share_bins(rows, folder):
    X, y, qid = rows
    estimator = LGBMRegressor(**SETTINGS)  # whose rows stay in their order
    for grades, queries in ((y, qid), (4 - y, qid), (y, qid % 7)):
        assert_same(estimator, (X, grades, queries), folder)
    assert n_kept(folder) == 1


def test_a_pipeline_and_a_last_fit_on_all_queries_are_the_same(rows, folder):
    estimator = make_pipeline(StandardScaler(), LGBMRanker(**SETTINGS))
    stopping = {"early_stopping": True, "random_state": 0, "refit": True}
    assert_same(estimator, rows, folder, n=1)
    # all rows, and those that are not held out
    assert_same(estimator, rows, folder, n=2, ranker_params=stopping)


def test_callbacks_of_the_user_are_called(rows, folder):
    rounds = []
    callbacks = [lambda env: rounds.append(env.iteration)]
    fit(LGBMRanker(**SETTINGS), rows, folder, callbacks=callbacks)
    assert rounds == list(range(SETTINGS["n_estimators"])) and len(callbacks) == 1


# Binned once -------------------------------------------------------------------------------------

def search(rows, memory, n_jobs=1):
    X, y, qid = rows
    grid = [{"estimator__num_leaves": [4], "estimator__learning_rate": [0.3]}, {}]
    cv = list(GroupKFold(3).split(X, y, qid))
    ranker = sg.QueryRanker(LGBMRanker(**SETTINGS), memory=memory)
    scorer = sg.make_ranking_scorer("ndcng@10")
    with sklearn.config_context(enable_metadata_routing=True):
        grid_search = GridSearchCV(ranker, grid, scoring=scorer, cv=cv, n_jobs=n_jobs)
        return grid_search.fit(X, y, qid=qid)


@pytest.fixture(scope="module")
def search_without_memory(rows):
    return search(rows, None)


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_candidates_of_a_fold_share_its_bins(rows, folder, backend, search_without_memory):
    expected = search_without_memory
    with joblib.parallel_config(backend=backend):
        found = search(rows, folder, n_jobs=2)
    assert n_kept(folder) == 3 + 1  # folds, and all rows for the last fit
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(found.cv_results_[name], expected.cv_results_[name])
    assert model_of(found.best_estimator_) == model_of(expected.best_estimator_)


@pytest.mark.parametrize("parameter, values", [
    ("max_bin", [7, 63]),
    ("min_child_samples", [5, 300]),
    ("min_data", [5, 300]),
    ("zero_as_missing", [False, True]),
    ("feature_pre_filter", [False, True]),
])
def test_candidates_that_bin_otherwise_have_other_bins(rows, folder, parameter, values):
    for value in values:
        assert_same(LGBMRanker(**SETTINGS, **{parameter: value}), rows, folder)
    assert n_kept(folder) == len(values)


def test_sizes_of_leaves_share_bins_where_they_leave_out_no_feature(rows, folder):
    for size in (5, 50, 300):
        unfiltered = {"min_child_samples": size, "feature_pre_filter": False}
        assert_same(LGBMRanker(**SETTINGS, **unfiltered), rows, folder)
    assert n_kept(folder) == 1


def test_other_data_of_the_same_shape_has_bins_of_its_own(rows, folder):
    X, y, qid = rows[0].copy(), rows[1], rows[2]
    estimator = LGBMRanker(**SETTINGS)
    fit(estimator, (X, y, qid), folder)
    X[0, 1] += 1e-9  # in place
    fit(estimator, (X, y, qid), folder)
    assert n_kept(folder) == 2
    X[:, 1] = -X[:, 1]
    assert_same(estimator, (X, y, qid), folder, n=3)


# Kept where, and how long ------------------------------------------------------------------------

def test_what_is_kept_is_about_a_byte_a_value_and_gone_when_asked(folder):
    X, y, qid = sg.datasets.make_ranking(400, n_features=40, random_state=0)
    memory = joblib.Memory(folder, verbose=0)
    expected = model_of(fit(LGBMRanker(**SETTINGS), (X, y, qid), memory))
    size = sum(item.size for item in memory.store_backend.get_items())
    assert X.size <= size < 1.5 * X.size
    memory.reduce_size(bytes_limit=size // 2)
    assert n_kept(folder) == 0
    assert model_of(fit(LGBMRanker(**SETTINGS), (X, y, qid), memory)) == expected
    memory.clear(warn=False)
    assert n_kept(folder) == 0


def test_clones_and_pickles_carry_no_data(rows, folder):
    for memory in (folder, joblib.Memory(folder, verbose=0)):
        ranker = fit(LGBMRanker(**SETTINGS), rows, memory)
        alone = fit(LGBMRanker(**SETTINGS), rows)
        assert len(pickle.dumps(ranker)) < len(pickle.dumps(alone)) + 1000 < rows[0].nbytes
        again = pickle.loads(pickle.dumps(ranker))
        np.testing.assert_array_equal(again.predict(rows[0]), alone.predict(rows[0]))
        assert len(pickle.dumps(clone(ranker))) < 3000
        assert model_of(clone(again).fit(*rows[:2], qid=rows[2])) == model_of(alone)


def test_a_training_takes_the_bins_that_its_memory_has(rows):
    class First:
        """A memory that gives what it was first asked for, whatever it is asked for."""

        def cache(self, function):
            def first(*args):
                if not hasattr(self, "result"):
                    self.result = function(*args)
                return self.result

            return first

    X, y, qid = rows
    memory, estimator = First(), LGBMRanker(**SETTINGS)
    first = fit(estimator, rows, memory)
    assert model_of(fit(estimator, (-X, y, qid), memory)) == model_of(first)
    assert model_of(fit(estimator, (-X, y, qid))) != model_of(first)


@pytest.mark.parametrize("memory", [3, True, ["folder"]])
def test_what_is_no_memory_is_refused(rows, memory):
    for estimator in (LGBMRanker(**SETTINGS), Ridge()):
        with pytest.raises(ValueError, match="joblib.Memory"):
            fit(estimator, rows, memory)


# What is not kept --------------------------------------------------------------------------------

def test_a_training_that_goes_on_from_a_model_is_left_alone(rows, folder):
    first = fit(LGBMRanker(**SETTINGS), rows).estimator_
    assert_same(LGBMRanker(**SETTINGS), rows, folder, n=0, init_model=first)


def test_bins_that_a_file_forces_are_read_anew(rows, folder, tmp_path):
    forced = tmp_path / "forced.json"
    estimator = LGBMRanker(**SETTINGS, max_bin=5, forcedbins_filename=str(forced))
    models = []
    for bound in (0.1, 0.7):
        forced.write_text(json.dumps([{"feature": 1, "bin_upper_bound": [bound]}]))
        models.append(model_of(fit(estimator, rows, folder)))
        assert models[-1] == model_of(fit(estimator, rows))
    assert models[0] != models[1] and n_kept(folder) == 0


def test_other_estimators_take_a_memory_and_leave_it(rows, folder):
    X, y, qid = np.nan_to_num(rows[0]), *rows[1:]
    ranker = fit(Ridge(), (X, y, qid), folder)
    np.testing.assert_array_equal(ranker.predict(X), fit(Ridge(), (X, y, qid)).predict(X))
    assert n_kept(folder) == 0


class LGBMWithoutCallbacks(LGBMRanker):
    def fit(self, X, y, group=None):
        return super().fit(X, y, group=group)


def test_a_ranker_without_callbacks_is_left_alone(rows, folder):
    assert_same(LGBMWithoutCallbacks(**SETTINGS), rows, folder, n=0)


def test_all_names_of_the_parameters_are_known():
    leaves, others = ["min_data_in_leaf"], ["seed", "verbosity", "num_threads"]
    assert LEAF_PARAMETERS == _ConfigAliases.get(*leaves)
    assert BINNING_PARAMETERS == _ConfigAliases.get(*leaves, *others)
    elsewhere = ["machines", "machine_list_filename", "num_machines", "device_type"]
    assert UNCACHED_PARAMETERS == _ConfigAliases.get(*elsewhere, "forcedbins_filename")
