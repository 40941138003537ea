"""Trainings on two workers, processes that talk to each other: metrics of one part are refused."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest

from skgraded.datasets import make_ranking
from skgraded.lightgbm import eval_metric

WORKER = Path(__file__).parents[1] / "helpers" / "distributed_worker.py"
PART = (
    "ValueError: {what} would see the queries of one worker only, and show their mean as that of "
    "all: this training runs on several workers. Leave it out"
)
SECONDS = 120


def outcomes(tasks):
    """Errors of the processes, one a task, that failed, and what came of all if none did."""
    workers = [
        subprocess.Popen(
            [sys.executable, WORKER, json.dumps(task)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for task in tasks
    ]
    try:
        printed = [worker.communicate(timeout=SECONDS) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    errors = [err for worker, (_, err) in zip(workers, printed, strict=True) if worker.returncode]
    return errors, [out and json.loads(out.splitlines()[-1]) for out, _ in printed if not errors]


def free_ports(n):
    """Ports that are free now; another process may take one before it is used."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def of_lightgbm(forms):
    for _ in range(3):
        ports = np.reshape(free_ports(2 * len(forms)), (-1, 2)).tolist()
        tasks = [
            {"library": "lightgbm", "rank": rank, "forms": dict(zip(forms, ports, strict=True))}
            for rank in (0, 1)
        ]
        errors, found = outcomes(tasks)
        if not any("port" in error for error in errors):
            break
    assert not errors, errors[0]
    return found


def test_lightgbm_on_two_machines():
    metric, ranker = "eval_metric('NDCNG@10')", "QueryRanker(early_stopping=True)"
    expected = {
        "no metric": "nothing", "train": metric, "wrapped metric": metric, "set_network": metric,
        "ranker": metric, "QueryRanker": ranker,
    }
    for found in of_lightgbm(list(expected)):
        assert found.pop("no metric") == "nothing"
        for form, error in found.items():
            assert error.startswith(PART.format(what=expected[form])), (form, error)


def test_a_list_of_one_machine_is_no_distributed_training():
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


def test_xgboost_on_two_workers():
    tracker = pytest.importorskip("xgboost.tracker").RabitTracker(n_workers=2, host_ip="127.0.0.1")
    tracker.start()
    errors, found = outcomes(
        {"library": "xgboost", "rank": rank, "arguments": tracker.worker_args()} for rank in (0, 1)
    )
    assert not errors, errors[0]
    tracker.wait_for(timeout=SECONDS)
    for one in found:
        metric, ranker = one["errors"]
        assert metric.startswith(PART.format(what="custom_metric('NDCG@5')"))
        assert ranker.startswith(PART.format(what="QueryRanker(early_stopping=True)"))
        assert "XGBoost's own metrics, such as ndcg, count all workers" in metric
    # as the message says: the mean over the queries of both, whose own means are not that
    parts = [one["values"] for one in found]
    assert [len(values) for values in parts] in ([50, 10], [10, 50])
    everywhere = np.mean(np.concatenate(parts))
    assert [one["own"] for one in found] == pytest.approx([everywhere] * 2, abs=1e-5)
    assert min(abs(np.mean(values) - everywhere) for values in parts) > 1e-3
