"""Distributed training in two processes: no metric is computed from the queries of one worker."""

import multiprocessing
import socket
from contextlib import ExitStack

import lightgbm as lgb
import numpy as np
import pytest
from distributed_worker import outputs_of
from xgboost.tracker import RabitTracker

from skgraded.datasets import make_ranking
from skgraded.lightgbm import eval_metric

PART = (
    "ValueError: In distributed training, {what} would report the mean over the "
    "queries of a single worker. Omit it"
)
SECONDS = 120
METRIC, RANKER = "eval_metric('NDCNG@10')", "QueryRanker(early_stopping=True)"
REFUSED = {
    "wrapped metric": METRIC,
    "second training": METRIC,
    "set_network": METRIC,
    "QueryRanker": RANKER,
}


def free_ports(n):
    """Return free ports; another process may use them before the test does."""
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(n)]
        return [server.getsockname()[1] for server in servers]


def run_both(pool):
    """The outputs of two workers."""
    tracker = RabitTracker(n_workers=2, host_ip="127.0.0.1")
    tracker.start()
    ports = np.reshape(free_ports(2 * len(REFUSED)), (-1, 2)).tolist()
    forms = dict(zip(REFUSED, ports, strict=True))
    results = pool.imap_unordered(
        outputs_of, [(rank, forms, tracker.worker_args()) for rank in (0, 1)]
    )
    outputs = [results.next(timeout=SECONDS) for _ in range(2)]
    tracker.wait_for(timeout=SECONDS)
    return outputs


@pytest.fixture(scope="module")
def by_worker():
    """The outputs of two workers; the first worker has five times the second's queries."""
    has_server = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if has_server else "spawn")
    context.set_forkserver_preload(["lightgbm", "xgboost"])  # imported once for both workers
    for attempt in range(3):
        with context.Pool(2) as pool:
            try:
                return run_both(pool)
            except lgb.basic.LightGBMError as error:
                if "Binding port" not in str(error) or attempt == 2:
                    raise


@pytest.mark.nightly
def test_the_metric_of_lightgbm_refuses_training_on_two_machines(by_worker):
    for worker in by_worker:
        errors = worker["lightgbm"]
        for form, refused in REFUSED.items():
            assert errors[form].startswith(PART.format(what=refused)), (form, errors[form])
            assert "booster.predict(X, num_iteration=n) for several n" in errors[form]


def test_the_metric_of_lightgbm_accepts_training_on_one_machine():
    X, y, qid = make_ranking(n_queries=10, random_state=0)
    data = lgb.Dataset(X, y, group=np.unique(qid, return_counts=True)[1])
    history = {}
    lgb.train(
        {
            "objective": "lambdarank",
            "metric": "None",
            "verbose": -1,
            "num_threads": 1,
            "machines": "127.0.0.1:12400",
        },
        data,
        2,
        valid_sets=[data],
        feval=eval_metric("ndcng@10"),
        callbacks=[lgb.record_evaluation(history)],
    )
    assert len(history["training"]["NDCNG@10"]) == 2


@pytest.fixture
def of_xgboost(by_worker):
    outputs = [worker["xgboost"] for worker in by_worker]
    assert [len(output["values of built-in"]) for output in outputs] in ([50, 10], [10, 50])
    return sorted(outputs, key=lambda output: -len(output["values of built-in"]))


@pytest.mark.nightly
def test_the_metric_of_xgboost_is_the_mean_over_the_queries_of_all_workers(of_xgboost):
    first, second = of_xgboost
    assert first["history"] == second["history"]
    by_round = [
        np.mean(values + others)
        for values, others in zip(first["values"], second["values"], strict=True)
    ]
    assert first["history"]["NDCG@5"] == pytest.approx(by_round, abs=1e-6)
    averaged = (np.mean(first["values"], axis=1) + np.mean(second["values"], axis=1)) / 2
    assert np.abs(averaged - by_round).max() > 1e-3
    best = int(np.argmax(by_round))
    assert first["stopped after"] == second["stopped after"] == best + 1 + 4 < 200


@pytest.mark.nightly
def test_a_worker_may_have_no_rows_and_an_error_ends_all_workers(of_xgboost):
    first, second = of_xgboost
    assert first["one empty"] == second["one empty"]
    assert len(first["one empty"]) == 3
    assert "The DMatrix has no queries" in second["one failing"]
    assert "failed on 1 of the workers: see the workers' errors" in first["one failing"]


@pytest.mark.nightly
def test_early_stopping_of_a_ranker_refuses_several_workers(of_xgboost):
    for output in of_xgboost:
        assert output["refused"].startswith(PART.format(what=RANKER))
        assert "skgraded.xgboost.custom_metric" in output["refused"]
    # XGBoost's built-in metric is also the mean over the queries of both workers.
    mean = np.mean(np.concatenate([output["values of built-in"] for output in of_xgboost]))
    assert [output["built-in"] for output in of_xgboost] == pytest.approx([mean] * 2, abs=1e-5)
