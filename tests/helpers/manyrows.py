"""Rows for several threads and digests of their values; workers and forks import this file."""

import numpy as np

import skgraded as sg

MEASURES = [
    "ndcng@10",
    "ndcg",
    "mu_map",
    "NDCG@mean",
    "ap@7",
    "p@5",
    "recall@9",
    "rr",
    "generalized_precision@5",
    "tau_ap",
    "TauAP(ties='worst')",
    "edrc",
    "EDRC(discount='exp2')",
]


def make_rows(seed=0, n=200_000):
    """Long and short queries, with ties."""
    rng = np.random.default_rng(seed)
    y_true = rng.choice([0, 0, 0, 1, 2, 4], n)
    y_score = np.round(rng.normal(size=n), 2)
    qid = np.minimum(rng.integers(0, 2000, n), rng.integers(0, 4000, n))
    return y_true, y_score, np.sort(qid)


def digests(seed=0):
    """Return one text per measure; texts are equal only if all bits of the values are equal."""
    y_true, y_score, qid = make_rows(seed)
    judgments = sg.Judgments(y_true, qid=qid)
    values = [sg.measure(m).per_query(judgments, y_score) for m in MEASURES]
    return [value.tobytes().hex()[:2000] + float(value.sum()).hex() for value in values]


def digests_after_fork():
    """Return digests of three calls in forked pool workers and of a call in a child of ``os.fork``.

    This process has used threads before. The child of ``os.fork`` may use threads.
    """
    import json
    import multiprocessing
    import os

    digests()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        of_workers = pool.map(digests, [0, 0, 1])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "w") as pipe:
            json.dump(digests(), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        of_child = json.load(pipe)
    os.waitpid(child, 0)
    return [*of_workers, of_child]
