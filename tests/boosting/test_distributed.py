"""Trainings on two workers, processes that talk to each other: no metric is of one part only."""

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
            assert "skgraded.lightgbm.evaluate_rounds(booster, data, every=10)" in error


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


@pytest.fixture(scope="module")
def of_xgboost():
    """What came of two workers, the first of which has five times the queries of the second."""
    tracker = pytest.importorskip("xgboost.tracker").RabitTracker(n_workers=2, host_ip="127.0.0.1")
    tracker.start()
    errors, found = outcomes(
        {"library": "xgboost", "rank": rank, "arguments": tracker.worker_args()} for rank in (0, 1)
    )
    assert not errors, errors[0]
    tracker.wait_for(timeout=SECONDS)
    assert [len(one["values of own"]) for one in found] in ([50, 10], [10, 50])
    return sorted(found, key=lambda one: -len(one["values of own"]))


def test_xgboost_counts_the_queries_of_all_workers(of_xgboost):
    first, second = of_xgboost
    assert first["history"] == second["history"]
    by_round = [
        np.mean(own + other) for own, other in zip(first["values"], second["values"], strict=True)
    ]
    assert first["history"]["NDCG@5"] == pytest.approx(by_round, abs=1e-6)
    averaged = (np.mean(first["values"], axis=1) + np.mean(second["values"], axis=1)) / 2
    assert np.abs(averaged - by_round).max() > 1e-3


def test_xgboost_stops_where_the_pooled_truth_does(of_xgboost):
    first, second = of_xgboost
    by_round = [
        np.mean(own + other) for own, other in zip(first["values"], second["values"], strict=True)
    ]
    best = int(np.argmax(by_round))
    assert first["stopped after"] == second["stopped after"] == best + 1 + 4 < 200
    assert first["every"][1] == first["every"][0] and first["every"][3] == first["every"][2]


def test_a_worker_without_rows_adds_nothing(of_xgboost):
    first, second = of_xgboost
    assert first["one empty"] == second["one empty"]
    assert len(first["one empty"]) == 3


def test_the_error_of_a_worker_ends_the_others(of_xgboost):
    first, second = of_xgboost
    assert "The DMatrix has no queries" in second["one failing"]
    assert "failed on 1 of the workers, which says why" in first["one failing"]


def test_the_early_stopping_of_a_ranker_refuses_several_workers(of_xgboost):
    for one in of_xgboost:
        assert one["refused"].startswith(PART.format(what="QueryRanker(early_stopping=True)"))
        assert "skgraded.xgboost.custom_metric" in one["refused"]
    # as XGBoost's own metric has it: the mean over the queries of both
    everywhere = np.mean(np.concatenate([one["values of own"] for one in of_xgboost]))
    assert [one["own"] for one in of_xgboost] == pytest.approx([everywhere] * 2, abs=1e-5)
