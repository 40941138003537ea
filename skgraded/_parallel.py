"""Queries are independent: chunks of them go to a few threads when there is work enough."""

import multiprocessing
import multiprocessing.dummy
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

ROWS_A_CHUNK = 50_000  # under a millisecond of work; a thread costs a tenth of that


def n_threads():
    """How many threads to use here.

    As many as OMP_NUM_THREADS says, else as the process may use; one inside a worker of joblib
    or of another process pool, where the other processors are somebody else's.
    """
    in_worker = multiprocessing.parent_process() is not None or isinstance(
        threading.current_thread(), multiprocessing.dummy.DummyProcess
    )
    if in_worker:
        return 1
    try:
        return max(1, int(os.environ["OMP_NUM_THREADS"].split(",")[0]))
    except (KeyError, ValueError):
        pass
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_chunks(work, starts):
    """Call `work(first, last)` on ranges of queries that together are all.

    Parameters
    ----------
    work : callable
        Releases the GIL.
    starts : ndarray of shape (n_queries + 1,)
        The first row of each query.

    Returns
    -------
    list
        What the calls returned.
    """
    n_queries = len(starts) - 1
    n_chunks = min(int(starts[-1]) // ROWS_A_CHUNK, n_queries)
    threads = min(n_threads(), n_chunks) if n_chunks > 1 else 1
    if threads == 1:
        return [work(0, n_queries)]
    cuts = np.unique(np.searchsorted(starts, np.linspace(0, starts[-1], n_chunks + 1)))
    chunks = iter(list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)))

    def work_off():
        # a list's iterator hands each chunk to one thread only
        return [work(first, last) for first, last in chunks]

    # Threads are started by each call, which costs little and, unlike a lasting pool, is none
    # the worse for a fork; the calling thread does its share.
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work_off) for _ in range(threads - 1)]
        done = work_off()
        return sum((other.result() for other in others), done)
