"""Unjudged documents in batches, Dask, Ray and Spark, as in memory."""

import numpy as np
import pytest
from queries import random_queries

import skgraded as sg
from skgraded.large.jobs import PARTITIONINGS

pd = pytest.importorskip("pandas")

# pyspark leaves sockets open
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

MEASURES = ["ndcng@10", "judged@5", "bpref", "ap(undefined=nan)"]
COLUMNS = {"y_true": "grade", "y_score": "score", "qid": "query", "measures": MEASURES}
RULES = ("irrelevant", "drop")


@pytest.fixture(scope="module")
def frame():
    queries = random_queries(
        seed=4, n_queries=80, sizes=(1, 12), grades=(np.nan, np.nan, 0, 0, 1, 2),
        scores=(0, 1, 2, 3),
    )
    order = np.argsort(queries.qid, kind="stable")
    columns = {"grade": queries.y_true, "score": queries.y_score, "query": queries.qid}
    return pd.DataFrame({name: values[order] for name, values in columns.items()})


def expected(frame, rule):
    evaluation = sg.evaluate(
        "grade", "score", qid="query", data=frame, measures=MEASURES, unjudged_documents=rule
    )
    return sg.Summary.of(evaluation)


def whole_parts(frame, n):
    edges = np.linspace(0, 80, n + 1).astype(int)
    return [
        frame[(frame["query"] >= low) & (frame["query"] < high)]
        for low, high in zip(edges[:-1], edges[1:], strict=True)
    ]


@pytest.mark.parametrize("partitioning", PARTITIONINGS)
@pytest.mark.parametrize("rule", RULES)
def test_batches(frame, rule, partitioning):
    summary = sg.evaluate_batches(
        whole_parts(frame, 7), **COLUMNS, partitioning=partitioning, unjudged_documents=rule
    )
    assert summary == expected(frame, rule)


@pytest.mark.parametrize("rule", RULES)
def test_dask(frame, rule):
    dd = pytest.importorskip("dask.dataframe")
    from skgraded import dask

    ddf = dd.from_pandas(frame.sample(frac=1, random_state=0).reset_index(drop=True), npartitions=5)
    assert dask.evaluate(ddf, **COLUMNS, unjudged_documents=rule) == expected(frame, rule)
    values = dask.evaluate_per_query(ddf, **COLUMNS, unjudged_documents=rule).compute()
    assert len(values) == 80


@pytest.mark.parametrize("rule", RULES)
def test_ray(ray, frame, rule):
    dataset = ray.frame_of(whole_parts(frame.sample(frac=1, random_state=0), 5))
    assert ray.evaluate(dataset, **COLUMNS, unjudged_documents=rule) == expected(frame, rule)


@pytest.mark.parametrize("rule", RULES)
def test_spark(session, frame, rule):
    from skgraded import spark

    rows = frame.astype({"query": "int64", "score": float}).replace({"grade": {np.nan: None}})
    table = session.createDataFrame(
        [tuple(row) for row in rows.itertuples(index=False, name=None)],
        "grade double, score double, query long",
    ).repartition(4)
    summary = spark.evaluate(table, **COLUMNS, unjudged_documents=rule)
    assert summary == expected(frame, rule)


def test_a_null_is_an_error_that_names_the_rules(frame):
    with pytest.raises(ValueError, match="set unjudged_documents to 'irrelevant' .* or 'drop'"):
        sg.evaluate_batches([frame], **COLUMNS)
    with pytest.raises(ValueError, match="unjudged_documents must be"):
        sg.evaluate_batches([frame], **COLUMNS, unjudged_documents="keep")
    assert sg.evaluate_batches([frame], **COLUMNS | {"measures": "judged@5"}).n_queries == 80


def test_max_grade_is_checked_before_any_work(frame):
    with pytest.raises(ValueError, match="max_grade is 1, but y_true contains grade 2"):
        sg.evaluate_batches(
            [frame], **COLUMNS | {"measures": "ndcng(max_grade=1)"}, unjudged_documents="drop"
        )
