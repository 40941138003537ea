"""Rows enough for several threads, and digests of their values; imported by fresh interpreters."""

import numpy as np

import skgraded as sg

MEASURES = [
    "ndcng@10", "ndcg", "mu_map", "NDCG@mean", "ap@7", "p@5", "recall@9", "rr",
    "generalized_precision@5", "tau_ap", "TauAP(ties='worst')", "edrc", "EDRC(discount='exp2')",
]


def make_rows(seed=0, n=400_000):
    """Long and short queries, with ties."""
    rng = np.random.default_rng(seed)
    y_true = rng.choice([0, 0, 0, 1, 2, 4], n)
    y_score = np.round(rng.normal(size=n), 2)
    qid = np.minimum(rng.integers(0, 4000, n), rng.integers(0, 8000, n))
    return y_true, y_score, np.sort(qid)


def digests(seed=0):
    """Return a text a measure; two are equal only when every bit of the values is."""
    y_true, y_score, qid = make_rows(seed)
    judgments = sg.Judgments(y_true, qid=qid)
    values = [sg.measure(m).per_query(judgments, y_score) for m in MEASURES]
    return [value.tobytes().hex()[:2000] + float(value.sum()).hex() for value in values]


def digests_by_threads(settings):
    """Digests by each setting of OMP_NUM_THREADS, None: not set."""
    import os

    found = []
    for setting in settings:
        os.environ.pop("OMP_NUM_THREADS", None)
        if setting is not None:
            os.environ["OMP_NUM_THREADS"] = setting
        found.append(digests())
    return found


def means_by_threads(settings):
    """The mean of many values, every bit of it, by each setting of the libraries' threads."""
    import threadpoolctl

    from skgraded.measures import mean_over_queries

    values = np.random.default_rng(0).random(100_000) * 0.1
    found = []
    for setting in settings:
        with threadpoolctl.threadpool_limits(None if setting is None else int(setting)):
            found.append(mean_over_queries(values).hex())
            weighted = mean_over_queries(values, np.full(len(values), 0.3)).hex()
            assert weighted == found[-1]
    return found


def threads_where(setting):
    """How many threads a call has in this process, with OMP_NUM_THREADS set."""
    import os

    from skgraded._kernels.threads import n_threads

    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = setting
    try:
        return n_threads()
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def digests_after_fork():
    """Digests computed in a forked child, after this process has used its threads."""
    import multiprocessing

    digests()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(digests, [0, 0, 1])


def digests_in_a_bare_fork():
    """Digests of a child of ``os.fork``, which is no pool's worker and may use threads."""
    import json
    import os

    digests()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "w") as pipe:
            json.dump(digests(), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        found = json.load(pipe)
    os.waitpid(child, 0)
    return found
