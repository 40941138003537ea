"""Distributed training in two processes: no metric is computed from the queries of one worker."""

import json
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
from xgboost.tracker import RabitTracker

from skgraded.datasets import make_ranking
from skgraded.lightgbm import eval_metric

WORKER = Path(__file__).parents[1] / "helpers" / "distributed_worker.py"
PART = (
    "ValueError: In distributed training, {what} would report the mean over the "
    "queries of a single worker. Omit it"
)
SECONDS = 120


METRIC, RANKER = "eval_metric('NDCNG@10')", "QueryRanker(early_stopping=True)"
REFUSED = {"wrapped metric": METRIC, "set_network": METRIC, "QueryRanker": RANKER}


def free_ports(n):
    """Ports that are free now; another process may take one before it is used."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(n)
        ]
        return [server.getsockname()[1] for server in servers]


def outcomes(arguments):
    """The output of the two processes by rank, and the errors of those that failed."""
    ports = np.reshape(free_ports(2 * len(REFUSED)), (-1, 2)).tolist()
    task = {"forms": dict(zip(REFUSED, ports, strict=True)), "arguments": arguments}
    workers = [
        subprocess.Popen(
            [sys.executable, WORKER, json.dumps(task | {"rank": rank})], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for rank in (0, 1)
    ]
    try:
        printed = [worker.communicate(timeout=SECONDS) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    errors = [err for worker, (_, err) in zip(workers, printed, strict=True) if worker.returncode]
    return [out and json.loads(out.splitlines()[-1]) for out, _ in printed if not errors], errors


@pytest.fixture(scope="module")
def by_worker():
    """The output of two workers; the first has five times as many queries as the second."""
    for _ in range(3):
        tracker = RabitTracker(n_workers=2, host_ip="127.0.0.1")
        tracker.start()
        found, errors = outcomes(tracker.worker_args())
        if not any("Binding port" in error for error in errors):
            break
    assert not errors, errors[0]
    tracker.wait_for(timeout=SECONDS)
    return found


def test_the_metric_of_lightgbm_refuses_training_on_two_machines(by_worker):
    for worker in by_worker:
        errors = worker["lightgbm"]
        for form, refused in REFUSED.items():
            assert errors[form].startswith(PART.format(what=refused)), (form, errors[form])
            assert "skgraded.lightgbm.evaluate_rounds(booster, data, every=10)" in errors[form]


def test_the_metric_of_lightgbm_accepts_training_on_one_machine():
    X, y, qid = make_ranking(n_queries=10, random_state=0)
    data = lgb.Dataset(X, y, group=np.unique(qid, return_counts=True)[1])
    history = {}
    lgb.train(
        {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1,
         "machines": "127.0.0.1:12400"},
        data, 2, valid_sets=[data], feval=eval_metric("ndcng@10"),
        callbacks=[lgb.record_evaluation(history)],
    )
    assert len(history["training"]["NDCNG@10"]) == 2


@pytest.fixture
def of_xgboost(by_worker):
    outputs = [worker["xgboost"] for worker in by_worker]
    assert [len(output["values of own"]) for output in outputs] in ([50, 10], [10, 50])
    return sorted(outputs, key=lambda output: -len(output["values of own"]))


def test_the_metric_of_xgboost_is_the_mean_over_the_queries_of_all_workers(of_xgboost):
    first, second = of_xgboost
    assert first["history"] == second["history"]
    by_round = [
        np.mean(own + other) for own, other in zip(first["values"], second["values"], strict=True)
    ]
    assert first["history"]["NDCG@5"] == pytest.approx(by_round, abs=1e-6)
    averaged = (np.mean(first["values"], axis=1) + np.mean(second["values"], axis=1)) / 2
    assert np.abs(averaged - by_round).max() > 1e-3
    best = int(np.argmax(by_round))
    assert first["stopped after"] == second["stopped after"] == best + 1 + 4 < 200


def test_a_worker_may_have_no_rows_and_an_error_ends_all_workers(of_xgboost):
    first, second = of_xgboost
    assert first["one empty"] == second["one empty"]
    assert len(first["one empty"]) == 3
    assert "The DMatrix has no queries" in second["one failing"]
    assert "failed on 1 of the workers: see the workers' errors" in first["one failing"]


def test_early_stopping_of_a_ranker_refuses_several_workers(of_xgboost):
    for output in of_xgboost:
        assert output["refused"].startswith(PART.format(what=RANKER))
        assert "skgraded.xgboost.custom_metric" in output["refused"]
    # XGBoost's own metric is also the mean over the queries of both workers.
    mean = np.mean(np.concatenate([output["values of own"] for output in of_xgboost]))
    assert [output["own"] for output in of_xgboost] == pytest.approx([mean] * 2, abs=1e-5)
