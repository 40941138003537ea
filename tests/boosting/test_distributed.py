"""Trainings on two workers, processes that talk to each other: no metric is of one part only."""

import json
import socket
import subprocess
import sys
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
REFUSED = {
    "train": METRIC, "wrapped metric": METRIC, "set_network": METRIC, "ranker": METRIC,
    "QueryRanker": RANKER,
}


def free_ports(n):
    """Ports that are free now; another process may take one before it is used."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def outcomes(arguments):
    """What two processes print, by rank, and the errors of those that failed."""
    forms = [*REFUSED, "no metric"]
    ports = np.reshape(free_ports(2 * len(forms)), (-1, 2)).tolist()
    task = {"forms": dict(zip(forms, ports, strict=True)), "arguments": arguments}
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
    """What came of two workers, the first of which has five times the queries of the second."""
    for _ in range(3):
        tracker = RabitTracker(n_workers=2, host_ip="127.0.0.1")
        tracker.start()
        found, errors = outcomes(tracker.worker_args())
        if not any("port" in error for error in errors):
            break
    assert not errors, errors[0]
    tracker.wait_for(timeout=SECONDS)
    return found


def test_lightgbm_on_two_machines(by_worker):
    for worker in by_worker:
        errors = worker["lightgbm"]
        assert errors.pop("no metric") == "nothing"
        for form, refused in REFUSED.items():
            assert errors[form].startswith(PART.format(what=refused)), (form, errors[form])
            assert "skgraded.lightgbm.evaluate_rounds(booster, data, every=10)" in errors[form]


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


@pytest.fixture
def of_xgboost(by_worker):
    found = [worker["xgboost"] for worker in by_worker]
    assert [len(one["values of own"]) for one in found] in ([50, 10], [10, 50])
    return sorted(found, key=lambda one: -len(one["values of own"]))


def test_xgboost_counts_the_queries_of_all_workers_and_stops_at_their_best_round(of_xgboost):
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
    assert first["every"][1] == first["every"][0] and first["every"][3] == first["every"][2]


def test_a_worker_without_rows_adds_nothing_and_an_error_of_one_ends_the_others(of_xgboost):
    first, second = of_xgboost
    assert first["one empty"] == second["one empty"]
    assert len(first["one empty"]) == 3
    assert "The DMatrix has no queries" in second["one failing"]
    assert "failed on 1 of the workers: see the workers' errors" in first["one failing"]


def test_the_early_stopping_of_a_ranker_refuses_several_workers(of_xgboost):
    for one in of_xgboost:
        assert one["refused"].startswith(PART.format(what="QueryRanker(early_stopping=True)"))
        assert "skgraded.xgboost.custom_metric" in one["refused"]
    # as XGBoost's own metric has it: the mean over the queries of both
    everywhere = np.mean(np.concatenate([one["values of own"] for one in of_xgboost]))
    assert [one["own"] for one in of_xgboost] == pytest.approx([everywhere] * 2, abs=1e-5)
