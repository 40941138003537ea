"""Dask frames on a real cluster of two processes: the Summary is that of all rows in memory."""

import pickle

import numpy as np
import pandas as pd
import pytest
from large_tables import COLUMNS, MEASURES, in_memory, mixed, pieces, table, torn_off, whole_pieces

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


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_partitions_give_the_summary_of_all_rows(text):
    frame = table(text=text)
    expected = sg.Summary.of(in_memory(frame))
    assert measured(pieces(frame, 5), "clustered") == expected
    assert measured(whole_pieces(frame, 5), "whole") == expected
    assert measured(pieces(frame, 5)) == expected
    assert measured(pieces(mixed(frame), 5)) == expected


def test_categories_of_each_partition():
    frame = table(text=True)
    parts = [part.astype({"query": "category"}) for part in pieces(mixed(frame), 4)]
    assert measured(parts) == sg.Summary.of(in_memory(frame))


def test_one_partition_is_not_shuffled():
    frame = mixed(table())
    assert measured([frame]) == sg.Summary.of(in_memory(frame))


def test_many_partitions_are_merged_step_by_step():
    frame = table(20)
    found = measured(pieces(frame, 40), "clustered")
    assert found == sg.Summary.of(in_memory(frame))


def test_many_partitions_send_several_pieces_together():
    frame = table(20)
    parts = pieces(mixed(frame), 53)  # two go together, and one is left over
    assert measured(parts) == sg.Summary.of(in_memory(frame))


def test_dask_knows_the_size_of_pieces_also_of_those_that_came_together():
    rows = []
    for size in (1_000, 20_000):
        row = np.full((1, 3), None).view(engine.Pieces)
        row[0, 0] = row[0, 2] = engine.Piece(bytes(size))
        rows.append(da.from_delayed(dask.delayed(row), row.shape, dtype=object))
    (blocks,) = da.concatenate(rows).rechunk({0: 2, 1: 2}, method="p2p").to_delayed()

    @dask.delayed
    def sized(block):
        from dask.sizeof import sizeof  # that of the worker

        return sizeof(block)

    assert dask.compute(*map(sized, blocks)) == (21_000, 21_000)


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler:UserWarning")
@pytest.mark.parametrize("settings", [
    {"dataframe.shuffle.method": "tasks"},
    {"dataframe.shuffle.method": "disk", "scheduler": "threads"},  # as without a cluster
], ids=["tasks", "disk"])
def test_other_shuffles_of_dask(settings):
    frame = table(text=True)
    with dask.config.set(settings):
        assert measured(pieces(mixed(frame), 4)) == sg.Summary.of(in_memory(frame))


def test_pieces_are_pickled_without_a_copy_where_that_can_be():
    given = np.arange(10_000, dtype=np.uint8)
    row = np.full((1, 2), None).view(engine.Pieces)
    row[0, 1] = engine.Piece(given)
    assert row.nbytes == row[:, 1:].copy().nbytes == sizeof(row) == 10_000
    for protocol in (4, 5):
        again = pickle.loads(pickle.dumps(row, protocol))
        assert again.nbytes == 10_000 and again[0, 1].held.equals(row[0, 1].held)
    frames = []
    assert len(pickle.dumps(row, 5, buffer_callback=frames.append)) < 1000
    (frame,) = frames
    assert np.shares_memory(np.frombuffer(frame, dtype=np.uint8), given)


@pytest.mark.parametrize("partitioning", ["shuffle", "clustered", "whole"])
@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_values_by_query_are_lazy_and_those_of_the_evaluation(partitioning, text):
    frame = table(text=text)
    parts = whole_pieces(frame, 4) if partitioning == "whole" else pieces(frame, 4)
    lazy = engine.evaluate_per_query(
        frame_of(parts), measures=MEASURES, partitioning=partitioning, **COLUMNS
    )
    assert isinstance(lazy, dd.DataFrame)
    found = lazy.compute().sort_values("query_id", ignore_index=True)
    expected = in_memory(frame).to_frame().sort_values("query_id", ignore_index=True)
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
    with pytest.raises(TypeError, match=r"qid is of the types timestamp\[ns\] and timestamp\[s\]"):
        engine.evaluate(parts, **settings)
    with pytest.raises(TypeError, match=r"qid is of the types timestamp\[ns\] and timestamp\[s\]"):
        engine.evaluate_per_query(parts, **settings).compute()


def test_numbers_that_are_categories_stay_numbers():
    data = frame_of(pieces(table(12).astype({"query": "category"}), 3))
    found = engine.evaluate_per_query(data, measures=MEASURES, **COLUMNS).compute()
    assert sorted(found["query_id"]) == list(range(12))
    unknown = data.assign(query=data["query"].cat.as_unknown())
    with pytest.raises(TypeError, match=r"Dask takes for text .*cat\.as_known\(\)"):
        engine.evaluate_per_query(unknown, measures=MEASURES, **COLUMNS).compute()


def torn_parts(text):
    frame = table(60, text)
    query, lost = torn_off(frame)
    rest = frame.drop(index=lost)
    return [*whole_pieces(rest, 2), frame.loc[lost]], query


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_a_torn_query_is_named(text):
    parts, query = torn_parts(text)
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


def test_xgboost_stops_where_the_pooled_truth_does(cluster):
    """Two workers, one with five times the queries of the other."""
    da = pytest.importorskip("dask.array")
    reason = "XGBoost 2 asks Dask for what it has no more"
    xgb = pytest.importorskip("xgboost", minversion="3.0", reason=reason)
    from xgboost import dask as dxgb

    from skgraded.xgboost import EarlyStopping, custom_metric

    X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    workers = list(cluster.scheduler_info()["workers"])
    cuts = [0, int(np.searchsorted(qid, 50)), len(qid)]

    def split(values):
        parts = []
        for start, end, worker in zip(cuts[:-1], cuts[1:], workers, strict=True):
            part = da.from_array(values[start:end], chunks=-1)
            parts.append(cluster.persist(part, workers=[worker]))
        return da.concatenate(parts)

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
    assert 4 < len(history) < 100 and len(workers) == 2
    for i, value in enumerate(history):
        scores = booster.predict(xgb.DMatrix(worse), iteration_range=(0, i + 1))
        assert value == pytest.approx(sg.NDCG(k=5)(y, scores, qid=qid), abs=1e-6)
    assert len(history) == int(np.argmax(history)) + 1 + 4
