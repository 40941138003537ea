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
import threadpoolctl

import skgraded as sg
from skgraded._kernels.threads import ROWS_PER_THREAD, count_threads, run_chunks
from skgraded.measures import mean_over_queries


@cache
def expected(seed=0):
    return manyrows.digests(seed)


@pytest.fixture
def use(monkeypatch):
    """Return a function that sets or removes OMP_NUM_THREADS."""

    def set_threads(setting):
        if setting is None:
            monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        else:
            monkeypatch.setenv("OMP_NUM_THREADS", setting)

    return set_threads


@pytest.mark.parametrize("setting", ["1", "2", "7", None])
def test_the_number_of_threads_changes_no_bit(setting, use):
    use(setting)
    assert manyrows.digests() == expected()


@pytest.mark.parametrize("setting", [1, 2, 4, None])
def test_the_mean_does_not_depend_on_the_threads_of_blas(setting):
    # A BLAS that splits a sum among threads rounds differently.
    values = np.random.default_rng(0).random(100_000) * 0.1
    with threadpoolctl.threadpool_limits(setting):
        mean, weighted = mean_over_queries(values), mean_over_queries(values, values * 0 + 0.3)
    assert mean == weighted == math.fsum(values) / len(values)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_results_are_the_same_after_a_fork():
    # A fresh interpreter has no threads of other libraries; the time limit detects a hang.
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parent.parent / "helpers"),
        "OMP_NUM_THREADS": "2",
    }
    code = "import json; from manyrows import *; print(json.dumps(digests_after_fork()))"
    command = [sys.executable, "-W", "ignore", "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout) == [expected(), expected(), expected(1), expected()]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_works_in_joblib_workers(backend):
    jobs = (joblib.delayed(manyrows.digests)(seed) for seed in (0, 1, 0))
    result = joblib.Parallel(n_jobs=2, backend=backend)(jobs)
    assert result == [expected(), expected(1), expected()]


def test_several_threads_can_use_the_same_judgments_at_once():
    # All measures compute and cache their plans on the same Judgments at the same time.
    y_true, y_score, qid = manyrows.make_rows()
    measures = [sg.measure(text) for text in manyrows.MEASURES] * 2
    alone = {m: m.per_query(y_true, y_score, qid=qid) for m in set(measures)}
    for _ in range(3):
        judgments = sg.Judgments(y_true, qid=qid)
        start = threading.Barrier(len(measures))  # all threads start at the same time

        def score(measure, judgments=judgments, start=start):
            start.wait(timeout=30)
            return measure.per_query(judgments, y_score)

        with ThreadPoolExecutor(len(measures)) as pool:
            for measure, values in zip(measures, pool.map(score, measures), strict=True):
                np.testing.assert_array_equal(values, alone[measure])


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has a GIL"
)
def test_importing_skgraded_does_not_enable_the_gil():
    code = (
        "import sys, skgraded as sg; from skgraded.boosting.rounds import Objective; "
        "sg.measure('ndcng')([1, 0], [2, 1]); print(sys._is_gil_enabled())"
    )
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "False"


# Numbers of threads -----------------------------------------------------------------------------

STARTS = np.arange(0, 10 * ROWS_PER_THREAD + 1, 1000)  # rows for up to ten threads


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("3", 3), ("3,1", 3), ("0", 1), ("-1", 1), ("many", None), ("", None), (None, None)],
)
def test_omp_num_threads_sets_the_number_of_threads(setting, expected, use):
    use(setting)
    has_affinity = hasattr(os, "sched_getaffinity")
    allowed = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
    assert count_threads() == (allowed if expected is None else expected)


def test_workers_of_thread_pools_and_process_pools_have_one_thread(use):
    use("3")
    with ThreadPool(1) as pool:
        assert pool.apply(count_threads) == 1
    with joblib.parallel_config("loky", inner_max_num_threads=3):
        assert joblib.Parallel(n_jobs=2)([joblib.delayed(count_threads)()] * 2) == [1, 1]
    assert count_threads() == 3


@pytest.mark.parametrize("where", ["the calling thread", "another"])
def test_an_error_in_a_thread_is_raised_by_the_call(where, use):
    use("2")
    caller, failed = threading.get_ident(), threading.Event()

    def work(first, last):
        if (threading.get_ident() == caller) == (where == "the calling thread"):
            failed.set()
            raise MemoryError(where)
        assert failed.wait(timeout=30)

    with pytest.raises(MemoryError, match=where):
        run_chunks(work, STARTS)
