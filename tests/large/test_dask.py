"""Dask frames on a real cluster of two processes: the Summary is that of all rows in memory."""

import pickle
import runpy
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from large_tables import COLUMNS, MEASURES, in_memory, mixed, pieces, table, torn_off, whole_pieces
from scripts import EXAMPLES

import skgraded as sg

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
from dask.sizeof import sizeof  # noqa: E402

import skgraded.dask as engine  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def cluster():
    """Two workers that are processes; errors of tasks are raised and need not be logged too."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def frame_of(parts):
    return dd.concat([dd.from_pandas(part, npartitions=1, sort=False) for part in parts])


def measured(parts, partitioning="shuffle", measures=MEASURES, **others):
    columns = COLUMNS | others
    return engine.evaluate(
        frame_of(parts), measures=measures, partitioning=partitioning, **columns
    )


def test_partitions_give_the_summary_of_all_rows():
    numbers, text = table(), table(text=True)
    expected = sg.Summary.of(in_memory(numbers))
    assert measured(pieces(numbers, 5), "clustered") == expected
    assert measured(pieces(mixed(numbers), 5)) == expected
    expected = sg.Summary.of(in_memory(text))
    assert measured(whole_pieces(text, 5), "whole") == expected
    assert measured(pieces(text, 5)) == expected


def test_categories_of_each_partition():
    frame = table(text=True)
    parts = [part.astype({"query": "category"}) for part in pieces(mixed(frame), 4)]
    assert measured(parts) == sg.Summary.of(in_memory(frame))


def test_one_partition_is_not_shuffled():
    frame = mixed(table())
    assert measured([frame]) == sg.Summary.of(in_memory(frame))


def test_many_partitions_are_merged_step_by_step_and_send_several_pieces_together():
    frame = table(20)
    expected = sg.Summary.of(in_memory(frame))
    assert measured(pieces(frame, 18), "clustered") == expected  # 16 are merged at once
    assert measured(pieces(mixed(frame), 51)) == expected  # two go together, and one is left over


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler:UserWarning")
@pytest.mark.parametrize("settings", [
    {"dataframe.shuffle.method": "tasks"},
    {"dataframe.shuffle.method": "disk", "scheduler": "threads"},  # as without a cluster
], ids=["tasks", "disk"])
def test_other_shuffles_of_dask(settings):
    frame = table(text=True)
    with dask.config.set(settings):
        assert measured(pieces(mixed(frame), 4)) == sg.Summary.of(in_memory(frame))


@pytest.mark.parametrize(("partitioning", "text"), [
    ("shuffle", True), ("clustered", False), ("clustered", True), ("whole", False),
])
def test_values_by_query_are_lazy_and_those_of_the_evaluation(partitioning, text):
    frame = table(text=text)
    parts = whole_pieces(frame, 4) if partitioning == "whole" else pieces(frame, 4)
    lazy = engine.evaluate_per_query(
        frame_of(parts), measures=MEASURES, partitioning=partitioning, **COLUMNS
    )
    assert isinstance(lazy, dd.DataFrame)
    found, expected = (
        values.sort_values("query_id", ignore_index=True)
        for values in (lazy.compute(), in_memory(frame).to_frame())
    )
    pd.testing.assert_frame_equal(found, expected.astype(lazy.dtypes.to_dict()), check_exact=True)
    assert found.dtypes.to_dict() == lazy.dtypes.to_dict()


TIMES = {
    "with a zone": lambda days: days.dt.tz_localize("America/New_York"),
    "dates": lambda days: days.astype("date32[pyarrow]"),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_are_the_same_as_before(kind):
    frame = table(12)
    frame["query"] = TIMES[kind](pd.to_datetime(frame["query"], unit="D"))
    lazy = engine.evaluate_per_query(frame_of(pieces(frame, 3)), measures=MEASURES, **COLUMNS)
    found = lazy.compute()["query_id"]
    assert found.dtype == lazy.dtypes["query_id"]
    assert set(found) == set(frame["query"].map(pd.Timestamp))


@pytest.mark.parametrize("partitioning", ["shuffle", "clustered", "whole"])
def test_ids_of_two_types_are_refused(partitioning):
    """The same time in seconds and in nanoseconds would be two queries."""
    frame = table(12).astype({"query": "datetime64[s]"})
    first, second = pieces(frame, 3)[1:]
    parts = [first, second.astype({"query": "datetime64[ns]"})]
    parts = dd.from_map(lambda part: part, parts, meta=first[:0])
    settings = {"measures": MEASURES, "partitioning": partitioning, **COLUMNS}
    for measure in (
        lambda: engine.evaluate(parts, **settings),
        lambda: engine.evaluate_per_query(parts, **settings).compute(),
    ):
        with pytest.raises(TypeError, match=r"is of the types timestamp\[ns\] and timestamp\[s\]"):
            measure()


def test_numbers_that_are_categories_stay_numbers():
    data = frame_of(pieces(table(12).astype({"query": "category"}), 3))
    found = engine.evaluate_per_query(data, measures=MEASURES, **COLUMNS).compute()
    assert sorted(found["query_id"]) == list(range(12))
    unknown = data.assign(query=data["query"].cat.as_unknown())
    with pytest.raises(TypeError, match=r"Dask takes for text .*cat\.as_known\(\)"):
        engine.evaluate_per_query(unknown, measures=MEASURES, **COLUMNS).compute()


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_a_torn_query_is_named(text):
    frame = table(60, text)
    query, lost = torn_off(frame)
    parts = [*whole_pieces(frame.drop(index=lost), 2), frame.loc[lost]]
    for partitioning in ("clustered", "whole"):
        with pytest.raises(ValueError, match=f"Query {query!r} is torn"):
            measured(parts, partitioning)
        lazy = engine.evaluate_per_query(
            frame_of(parts), measures=MEASURES, partitioning=partitioning, **COLUMNS
        )
        name = "A query" if text else f"Query {query}"  # of text only the hashes are left
        with pytest.raises(ValueError, match=f"{name} is torn: partition"):
            lazy.compute()


@pytest.mark.parametrize("partitioning", ["shuffle", "clustered"])
def test_an_error_says_in_which_partition_and_row(partitioning):
    frame = table()
    frame.loc[117, "score"] = np.nan
    with pytest.raises(ValueError, match="In partition 1, .* y_score must not be NaN: row 17 is"):
        measured([frame[:100], frame[100:200], frame[200:]], partitioning)


ONE = table(3)
BAD = {
    "ddf must be a Dask DataFrame; got DataFrame": lambda: engine.evaluate(ONE, **COLUMNS),
    "There is no column 'grades'": lambda: measured([ONE], y_true="grades"),
    "partitioning must be one of": lambda: measured([ONE], "sorted"),
    "takes tied documents in the order of rows": lambda: measured(
        [ONE], measures="p(ties='ordinal')"
    ),
    "its gain is a lambda": lambda: measured([ONE], measures=sg.NDCG(gain=lambda grade: grade)),
    "y_true is empty": lambda: measured([ONE[:0]], "clustered"),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(message):
    with pytest.raises(Exception, match=message):
        BAD[message]()


def test_cross_evaluate_runs_on_the_cluster():
    import joblib
    from joblib._dask import DaskDistributedBackend
    from sklearn.linear_model import Ridge

    if not DaskDistributedBackend.supports_retrieve_callback:
        pytest.skip("the Dask backend of this joblib gives no results one by one")
    X, y, qid = sg.datasets.make_ranking(n_queries=20, random_state=0)
    here = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=3)
    with joblib.parallel_config("dask"):
        there = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=3, n_jobs=2)
    assert there.to_frame().equals(here.to_frame())


@pytest.fixture(scope="module")
def on_workers(cluster):
    """Rankings for two workers, one with five times the queries of the other, and a splitter."""
    X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    workers = list(cluster.scheduler_info()["workers"])
    assert len(workers) == 2

    def split(values):
        n_first = 50 if len(values) == 60 else int(np.searchsorted(qid, 50))
        parts = (values[:n_first], values[n_first:])
        return da.concatenate([
            cluster.persist(da.from_array(part, chunks=-1), workers=[worker])
            for part, worker in zip(parts, workers, strict=True)
        ])

    return X, y, qid, split


def test_xgboost_stops_where_the_pooled_truth_does(cluster, on_workers):
    reason = "XGBoost 2 asks Dask for what it has no more"
    xgb = pytest.importorskip("xgboost", minversion="3.0", reason=reason)
    from xgboost import dask as dxgb

    from skgraded.xgboost import EarlyStopping, custom_metric

    X, y, qid, split = on_workers
    noise = np.random.default_rng(0).permutation(X[:, 0])
    worse = np.column_stack([noise, X[:, 1:]])
    train = dxgb.DaskDMatrix(cluster, split(X), split(y), qid=split(qid))
    valid = dxgb.DaskDMatrix(cluster, split(worse), split(y), qid=split(qid))
    output = dxgb.train(
        cluster, {"objective": "rank:ndcg", "nthread": 1, "disable_default_eval_metric": 1}, train,
        100, evals=[(valid, "valid")], custom_metric=custom_metric("ndcg@5"),
        callbacks=[EarlyStopping(rounds=4)],
    )
    booster, history = output["booster"], output["history"]["valid"]["NDCG@5"]
    assert 4 < len(history) < 100
    for i, value in enumerate(history):
        scores = booster.predict(xgb.DMatrix(worse), iteration_range=(0, i + 1))
        assert value == pytest.approx(sg.NDCG(k=5)(y, scores, qid=qid), abs=1e-6)
    assert len(history) == int(np.argmax(history)) + 1 + 4


# LightGBM's own: the workers' ports, and parameters that a Dask estimator sets itself
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_each_worker_of_lightgbm_has_gradients_of_its_own_queries(cluster, on_workers):
    from lightgbm import DaskLGBMRanker

    from skgraded.lightgbm import objective

    X, y, qid, split = on_workers
    y = np.exp(y)
    ranker = DaskLGBMRanker(
        client=cluster, objective=objective("mu_map"), metric="None", n_estimators=20,
        min_child_samples=5, verbose=-1,
    ).fit(split(X), split(y), group=split(np.bincount(qid)))
    scores = ranker.to_local().predict(X)
    assert sg.MuAP()(y, scores, qid=qid) > sg.MuAP()(y, 0 * y, qid=qid) + 0.1


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.filterwarnings("ignore:.*:FutureWarning")
def test_the_example_of_large_data_is_measured_as_in_memory(cluster):
    reason = "XGBoost 2 asks Dask for what it has no more"
    pytest.importorskip("xgboost", minversion="3.0", reason=reason)
    example = SimpleNamespace(**runpy.run_path(str(EXAMPLES / "large_data.py")))
    frame, features = example.make(n_queries=80)
    summaries, scored = example.on_this_cluster(
        frame[frame["query"] < 50], frame[frame["query"] >= 50], features
    )
    assert list(summaries.systems) == ["lightgbm", "xgboost"]
    for name, summary in summaries.systems.items():
        expected = sg.evaluate(
            scored["grade"], scored[name], qid=scored["query"], measures=example.MEASURES
        )
        assert summary == sg.Summary.of(expected)
