"""Tables in parts: between queries, within queries, and with shuffled rows."""

import numpy as np
import pandas as pd

import skgraded as sg

MEASURES = ["ndcng@10", "mu_map", "rr", "ap(undefined=nan)"]
COLUMNS = {"y_true": "grade", "y_score": "score", "qid": "query", "sample_weight": "weight"}


def table(n_queries=300, text=False, seed=0):
    """Return queries of different sizes with ties and weights; some have no relevant document."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 20, n_queries)
    query = np.repeat(rng.permutation(n_queries), sizes)
    n = len(query)
    return pd.DataFrame(
        {
            "grade": rng.integers(0, 4, n) * (rng.random(n) < 0.3) / 2,
            "score": np.round(rng.normal(size=n), 1),
            "query": [f"query {i}" for i in query] if text else query,
            "weight": np.repeat(rng.integers(0, 4, n_queries), sizes) * rng.random(n),
            "other": "not read",
        }
    )


def mixed(frame, seed=1):
    """Return the rows in random order."""
    return frame.sample(frac=1, random_state=seed, ignore_index=True)


def pieces(frame, n):
    """Cut the frame into n parts, the first of them empty; queries may be split."""
    cuts = np.linspace(0, len(frame), n).astype(int)
    return [frame[start:end] for start, end in zip(np.append(0, cuts), cuts, strict=False)]


def whole_pieces(frame, n):
    """Cut the frame into n parts of whole queries."""
    heads = np.flatnonzero(frame["query"] != frame["query"].shift())
    cuts = [0, *heads[np.linspace(0, len(heads) - 1, n + 1).astype(int)[1:-1]], len(frame)]
    return [frame[start:end] for start, end in zip(cuts[:-1], cuts[1:], strict=True)]


def texts_with_equal_keys():
    """Return two texts with the same key (`hash_of_bytes` in hashing.h), found by search."""
    return ["0000000000000000", '00000551<GNa"/$N']


def first_rows(frame):
    """Return a query near the beginning of the frame, and the label of its first row."""
    sizes = frame.groupby("query", sort=False).size()
    query = sizes.index[sizes > 2].tolist()[1]
    return query, frame.index[frame["query"] == query][:1]


def in_memory(frame, measures=MEASURES, weighted=True):
    """Evaluate all rows at once."""
    return sg.evaluate(
        frame["grade"],
        frame["score"],
        qid=frame["query"],
        measures=measures,
        sample_weight=frame["weight"] if weighted else None,
    )


def measured(batches, partitioning="shuffle", measures=MEASURES, **others):
    """Return the Summary from `evaluate_batches`."""
    return sg.evaluate_batches(
        batches, measures=measures, partitioning=partitioning, **COLUMNS | others
    )
