"""Values do not depend on the number of threads, and nothing hangs after a fork."""

import json
import math
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import joblib
import manyrows
import numpy as np
import pytest

import skgraded as sg


@cache
def expected(seed=0):
    return manyrows.digests(seed)


def run(call, threads=None):
    """Evaluate a call of `manyrows` in a fresh interpreter; a hang is a failure."""
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    environment["PYTHONPATH"] = str(Path(__file__).parent.parent / "helpers")
    if threads is not None:
        environment["OMP_NUM_THREADS"] = threads
    code = f"import json, manyrows; print(json.dumps(manyrows.{call}))"
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_number_of_threads_changes_no_bit():
    settings = ["1", "2", "7", None, "2,1", "many", "", "0", "-1"]
    assert run(f"digests_by_threads({settings})") == [expected()] * len(settings)


def test_means_of_many_queries_are_summed_in_one_order():
    # On each number of threads; a BLAS that splits the sum gives other bits.
    settings = [*"1234", None]
    values = [np.random.default_rng(0).random(100_000) * 0.1 for _ in settings]
    found = run(f"means_by_threads({settings})")
    assert found == [float(math.fsum(one) / len(one)).hex() for one in values]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("threads", ["1", "2"])
def test_works_after_a_fork(threads):
    assert run("digests_after_fork()", threads) == [expected(), expected(), expected(1)]
    assert run("digests_in_a_bare_fork()", threads) == expected()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_works_in_joblib_workers(backend):
    jobs = (joblib.delayed(manyrows.digests)(seed) for seed in (0, 1, 0))
    found = joblib.Parallel(n_jobs=2, backend=backend)(jobs)
    assert found == [expected(), expected(1), expected()]


def test_works_when_called_from_several_threads_at_once():
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(manyrows.digests, [0, 1, 0, 1, 0, 1]))
    assert found == [expected(), expected(1)] * 3


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
