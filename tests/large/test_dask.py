"""Dask with two workers: its shuffles, types of ids, and training of boosting libraries."""

import numpy as np
import pandas as pd
import pytest
from engine_contract import LazyEngineContract
from file_contract import FileContract
from large_tables import COLUMNS, MEASURES, in_memory, mixed, pieces, table, whole_pieces

import skgraded as sg


@pytest.fixture
def engine(dask):
    return dask


class TestContract(LazyEngineContract):
    """The tests of all engines."""


@pytest.mark.nightly
class TestFiles(FileContract):
    """The tests of files and of queries of extreme sizes."""


def test_categories_may_differ_between_dask_partitions(dask):
    frame = table(text=True)
    parts = [part.astype({"query": "category"}) for part in pieces(mixed(frame), 4)]
    assert dask.measured(parts) == sg.Summary.of(in_memory(frame))


def test_many_small_partitions_are_combined(dask, monkeypatch):
    from skgraded.large import dask as module

    monkeypatch.setattr(module, "MANY_PARTITIONS", 10)
    frame = mixed(table(100, text=True))
    parts = pieces(frame, 12)
    expected = sg.Summary.of(in_memory(frame))
    for rows_per_group in (2**18, 300):  # a single group, several groups
        monkeypatch.setattr(module, "ROWS_PER_GROUP", rows_per_group)
        assert dask.measured(parts) == expected
    parts[7] = parts[7].assign(score=np.nan)
    with pytest.raises(ValueError, match="In partition 7, .* contains NaN in row 0"):
        dask.measured(parts)


# Query ids ---------------------------------------------------------------------------------------

TIMES = {
    "with a zone": lambda days: days.dt.tz_localize("America/New_York"),
    "dates": lambda days: days.astype("date32[pyarrow]"),
    "within a microsecond": lambda days: pd.to_datetime(days.dt.day, unit="ns"),
}


# pyarrow 25 reads an attribute that pandas 3.1 deprecates.
@pytest.mark.filterwarnings("ignore:Series.values returning:DeprecationWarning")
@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("partitioning", ["shuffle", "whole"])
def test_per_query_values_preserve_times_as_ids(dask, kind, partitioning):
    parts = [
        part.assign(query=TIMES[kind](pd.to_datetime(part["query"], unit="D")))
        for part in whole_pieces(table(12), 3)
    ]
    lazy = dask.per_query(parts, partitioning)
    query_ids = lazy.compute()["query_id"]
    assert query_ids.dtype == lazy.dtypes["query_id"]
    assert set(query_ids) == {pd.Timestamp(query) for part in parts for query in part["query"]}


@pytest.mark.parametrize("partitioning", ["shuffle", "clustered"])
def test_ids_of_two_types_are_refused(dask, partitioning):
    """Otherwise, a time in seconds and the same time in nanoseconds would be two queries."""
    from dask import dataframe as dd

    frame = table(12).astype({"query": "datetime64[s]"})
    first, second = pieces(frame, 3)[1:]
    parts = [first, second.astype({"query": "datetime64[ns]"})]
    ddf = dd.from_map(lambda part: part, parts, meta=first[:0])
    settings = {"measures": MEASURES, "partitioning": partitioning, **COLUMNS}
    message = r"qid must .*; got timestamp\[ns\] and timestamp\[s\]"
    with pytest.raises(TypeError, match=message):
        dask.evaluate(ddf, **settings)
    with pytest.raises(TypeError, match=message):
        dask.module.evaluate_per_query(ddf, **settings).compute()


def test_categories_of_numbers_remain_numbers(dask):
    data = dask.frame_of(pieces(table(12).astype({"query": "category"}), 3))
    values = dask.module.evaluate_per_query(data, measures=MEASURES, **COLUMNS).compute()
    assert sorted(values["query_id"]) == list(range(12))


# Training on workers that are processes ----------------------------------------------------------


@pytest.mark.nightly
def test_cross_evaluate_runs_on_the_cluster(cluster):
    import joblib
    from joblib._dask import DaskDistributedBackend
    from sklearn.linear_model import Ridge

    if not DaskDistributedBackend.supports_retrieve_callback:
        pytest.skip("the Dask backend of this joblib returns no results one at a time")
    X, y, qid = sg.datasets.make_ranking(n_queries=20, random_state=0)
    here = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=3)
    with joblib.parallel_config("dask"):
        there = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=3, n_jobs=2)
    assert there.to_frame().equals(here.to_frame())


@pytest.fixture
def xgb():
    reason = "XGBoost 2 uses functions that were removed in Dask 2025.1"
    pytest.importorskip("xgboost", minversion="3.0", reason=reason)
    import xgboost.dask

    return xgboost


PARAMETERS = {"objective": "rank:ndcg", "nthread": 1, "disable_default_eval_metric": 1}


@pytest.fixture(scope="module")
def on_workers(cluster):
    """Return rankings, and a function that gives one worker five times the other's queries."""
    from dask import array as da

    X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    workers = list(cluster.scheduler_info()["workers"])
    assert len(workers) == 2

    def split(values):
        n_first = 50 if len(values) == 60 else int(np.searchsorted(qid, 50))
        parts = (values[:n_first], values[n_first:])
        return da.concatenate(
            [
                cluster.persist(da.from_array(part, chunks=-1), workers=[worker])
                for part, worker in zip(parts, workers, strict=True)
            ]
        )

    return X, y, qid, split


@pytest.mark.nightly
def test_xgboost_stops_at_the_best_mean_over_the_queries_of_all_workers(cluster, xgb, on_workers):
    from skgraded.xgboost import EarlyStopping, custom_metric

    X, y, qid, split = on_workers
    noise = np.random.default_rng(0).permutation(X[:, 0])
    worse = np.column_stack([noise, X[:, 1:]])
    train = xgb.dask.DaskDMatrix(cluster, split(X), split(y), qid=split(qid))
    valid = xgb.dask.DaskDMatrix(cluster, split(worse), split(y), qid=split(qid))
    output = xgb.dask.train(
        cluster,
        PARAMETERS,
        train,
        100,
        evals=[(valid, "valid")],
        custom_metric=custom_metric("ndcg@5"),
        callbacks=[EarlyStopping(rounds=4)],
    )
    booster, history = output["booster"], output["history"]["valid"]["NDCG@5"]
    assert 4 < len(history) < 100
    for i, value in enumerate(history):
        scores = booster.predict(xgb.DMatrix(worse), iteration_range=(0, i + 1))
        assert value == pytest.approx(sg.NDCG(k=5)(y, scores, qid=qid), abs=1e-6)
    assert len(history) == int(np.argmax(history)) + 1 + 4


# LightGBM warns about the workers' ports, and about parameters that a Dask estimator sets itself.
@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_each_worker_of_lightgbm_computes_gradients_for_its_queries(cluster, on_workers):
    from lightgbm import DaskLGBMRanker

    from skgraded.lightgbm import objective

    X, y, qid, split = on_workers
    y = np.exp(y)
    ranker = DaskLGBMRanker(
        client=cluster,
        objective=objective("mu_map"),
        metric="None",
        n_estimators=20,
        min_child_samples=5,
        verbose=-1,
    ).fit(split(X), split(y), group=split(np.bincount(qid)))
    scores = ranker.to_local().predict(X)
    assert sg.MuAP()(y, scores, qid=qid) > sg.MuAP()(y, 0 * y, qid=qid) + 0.1
