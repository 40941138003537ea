"""Values do not depend on the number of threads, and nothing hangs after a fork."""

import json
import math
import os
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from multiprocessing.pool import ThreadPool
from pathlib import Path

import joblib
import manyrows
import numpy as np
import pytest

import skgraded as sg
from skgraded._kernels.threads import ROWS_PER_THREAD, n_threads, run_chunks
from skgraded.judgments import MOST_REMEMBERED


@cache
def expected(seed=0):
    return manyrows.digests(seed)


def run(call, threads=None):
    """Evaluate calls of `manyrows` in a fresh interpreter; a hang is a failure."""
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    environment["PYTHONPATH"] = str(Path(__file__).parent.parent / "helpers")
    if threads is not None:
        environment["OMP_NUM_THREADS"] = threads
    code = f"import json; from manyrows import *; print(json.dumps({call}))"
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_number_of_threads_changes_no_bit():
    # Of queries, and of the mean of many queries; a BLAS that splits a sum gives other bits.
    by_rows = ["1", "2", "7", None, "2,1", "many", "", "0", "-1"]
    by_mean = [*"1234", None]
    found, means = run(f"[digests_by_threads({by_rows}), means_by_threads({by_mean})]")
    assert found == [expected()] * len(by_rows)
    values = np.random.default_rng(0).random(100_000) * 0.1
    assert means == [float(math.fsum(values) / len(values)).hex()] * len(by_mean)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_works_after_a_fork():
    assert run("digests_after_fork()", "2") == [expected(), expected(), expected(1), expected()]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_works_in_joblib_workers(backend):
    jobs = (joblib.delayed(manyrows.digests)(seed) for seed in (0, 1, 0))
    found = joblib.Parallel(n_jobs=2, backend=backend)(jobs)
    assert found == [expected(), expected(1), expected()]


def test_works_when_called_from_several_threads_at_once():
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(manyrows.digests, [0, 1, 0, 1]))
    assert found == [expected(), expected(1)] * 2


def test_one_judgments_serves_several_threads_at_once():
    # The first calls of all measures meet on a Judgments that has nothing laid out yet.
    y_true, y_score, qid = manyrows.make_rows()
    measures = [sg.measure(text) for text in manyrows.MEASURES] * 2
    alone = {m: m.per_query(y_true, y_score, qid=qid) for m in set(measures)}
    for _ in range(3):
        judgments = sg.Judgments(y_true, qid=qid)
        start = threading.Barrier(len(measures))  # all begin at once

        def score(measure, judgments=judgments, start=start):
            start.wait(timeout=30)
            return measure.per_query(judgments, y_score)

        with ThreadPoolExecutor(len(measures)) as pool:
            for measure, values in zip(measures, pool.map(score, measures), strict=True):
                np.testing.assert_array_equal(values, alone[measure])


def test_threads_that_make_each_other_forget_get_the_same_values():
    # More measures than a Judgments remembers, in another order in each thread.
    y_true, y_score, qid = manyrows.make_rows(n=2 * ROWS_PER_THREAD)
    measures = [sg.NDCG(k=k) for k in range(1, MOST_REMEMBERED // 2 + 5)]
    alone = {m: m.per_query(y_true, y_score, qid=qid) for m in measures}
    judgments = sg.Judgments(y_true, qid=qid)
    start = threading.Barrier(4)

    def score(seed):
        start.wait(timeout=30)
        order = np.random.default_rng(seed).permutation(len(measures))
        return {measures[i]: measures[i].per_query(judgments, y_score) for i in order}

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(score, range(4)):
            for measure, values in found.items():
                np.testing.assert_array_equal(values, alone[measure])


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has a GIL"
)
def test_a_free_threaded_python_stays_so():
    code = (
        "import sys, skgraded as sg; from skgraded.boosting.objective import Objective; "
        "sg.measure('ndcng')([1, 0], [2, 1]); print(sys._is_gil_enabled())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# How many threads, and what they do ---------------------------------------------------------------

STARTS = np.arange(0, 10 * ROWS_PER_THREAD + 1, 1000)  # rows for up to ten threads


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("3", 3), ("3,1", 3), ("0", 1), ("-1", 1), ("many", None), ("", None), (None, None)],
)
def test_there_are_as_many_threads_as_omp_num_threads_says(setting, expected, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    if setting is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", setting)
    has_affinity = hasattr(os, "sched_getaffinity")
    allowed = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
    assert n_threads() == (allowed if expected is None else expected)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_a_process_on_one_processor_has_one_thread(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert n_threads() == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_a_worker_of_a_thread_pool_has_one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with ThreadPool(1) as pool:
        assert pool.apply(n_threads) == 1
    assert n_threads() == 3


def test_a_worker_process_has_one_thread_whatever_omp_num_threads_says():
    jobs = [joblib.delayed(manyrows.threads_where)("3")] * 2
    assert joblib.Parallel(n_jobs=2, backend="loky")(jobs) == [1, 1]
    assert manyrows.threads_where("3") == 3


def test_all_threads_work_at_once_and_every_query_is_worked_on_once(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    together = threading.Barrier(3, timeout=30)
    waited = threading.local()

    def work(first, last):
        if not hasattr(waited, "here"):  # a thread's first chunk waits for those of the others
            waited.here = together.wait()
        return range(first, last)

    queries = [query for chunk in run_chunks(work, STARTS) for query in chunk]
    assert sorted(queries) == list(range(len(STARTS) - 1))


@pytest.mark.parametrize("where", ["the calling thread", "another"])
def test_an_error_in_a_thread_is_raised_by_the_call(where, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    caller, failed = threading.get_ident(), threading.Event()

    def work(first, last):
        if (threading.get_ident() == caller) == (where == "the calling thread"):
            failed.set()
            raise MemoryError(where)
        assert failed.wait(timeout=30)

    with pytest.raises(MemoryError, match=where):
        run_chunks(work, STARTS)
