"""Queries are independent: chunks of them go to a few threads when there is work enough."""

import _thread
import multiprocessing
import multiprocessing.dummy
import os
import threading
from contextlib import suppress

import numpy as np

ROWS_A_THREAD = 50_000  # some tenths of a millisecond of work; a thread costs less than one
ROWS_A_CHUNK = 20_000  # at least, where there are several threads


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
    with suppress(KeyError, ValueError):
        return max(1, int(os.environ["OMP_NUM_THREADS"].split(",")[0]))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_chunks(work, starts):
    """Call `work(first, last)`, which releases the GIL, on ranges of queries that together are all.

    `starts` is the first row of each query and then the number of rows. Returns what the calls do,
    in the order of the queries.
    """
    n_queries, n_rows = len(starts) - 1, int(starts[-1])
    threads = min(n_rows // ROWS_A_THREAD, n_queries)
    if threads > 1:  # n_threads takes 10 µs, as much as the work of a small call
        threads = min(threads, n_threads())
    if threads <= 1:
        return [work(0, n_queries)]
    chunks = [None] * threads + _chunks(starts, threads)[::-1]  # None: there is no more
    results, errors = {}, []

    def work_off(done):
        try:
            for first, last in iter(chunks.pop, None):  # gives a chunk to one thread only
                results[first] = work(first, last)
        except BaseException as error:
            errors.append(error)
        finally:
            done.release()

    # Each call starts its threads and does a share of the work itself. A lasting pool would keep
    # the process multi-threaded, about which Python warns at every later fork. Starting a thread
    # with `_thread` costs least, because nobody waits until it runs: NDCNG@10 of 20,000 queries of
    # 20 documents takes 1.9 ms, with threading.Thread 2.4 ms, with a ThreadPoolExecutor 2.6 ms.
    locks = [threading.Lock() for _ in range(threads)]
    for done in locks:
        done.acquire()
    for done in locks[1:]:
        _thread.start_new_thread(work_off, (done,))
    work_off(locks[0])
    for done in locks:
        done.acquire()
    if errors:
        raise errors[0]
    return [results[first] for first in sorted(results)]


def _chunks(starts, threads):
    """Ranges of queries, large ones first, so that all threads end at about the same time."""
    n_rows = int(starts[-1])
    row, rows = 0, [0]
    while row < n_rows:
        row = min(n_rows, row + max(ROWS_A_CHUNK, (n_rows - row) // (2 * threads)))
        rows.append(row)
    cuts = np.unique(np.searchsorted(starts, rows)).tolist()
    return list(zip(cuts[:-1], cuts[1:], strict=True))
