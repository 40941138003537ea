"""LETOR's own baselines: all 25 features of OHSUMED, by its definitions in plain NumPy."""

import numpy as np
import pytest

import skgraded as sg


@pytest.fixture(scope="module")
def collection(data_dir):
    return sg.datasets.read_letor(data_dir / "ohsumed" / "OHSUMED.txt.gz")


def ranked_grades(data, feature):
    """Each query's grades in the feature's order, tied documents in the order of the file."""
    scores = data.X[:, [feature - 1]].toarray().ravel()
    for query in dict.fromkeys(data.qid):
        rows = np.flatnonzero(data.qid == query)
        yield data.y[rows[np.argsort(-scores[rows], kind="stable")]]


def average_precision(grades):
    relevant = grades > 0
    precision = np.cumsum(relevant) / np.arange(1, len(grades) + 1)
    return precision[relevant].sum() / max(relevant.sum(), 1)


def precision(grades, n):
    return (grades[:n] > 0).sum() / n


def ndcg(grades, n):
    ranks = np.arange(1, len(grades) + 1)
    discount = np.where(ranks <= 2, 1.0, 1.0 / np.log2(np.maximum(ranks, 2)))
    gains, ideal = 2.0**grades - 1, 2.0 ** np.sort(grades)[::-1] - 1
    best = (ideal * discount)[:n].sum()
    return (gains * discount)[:n].sum() / best if best else 0.0


@pytest.mark.parametrize("feature", range(1, 26))
def test_the_baselines_of_letor(collection, feature):
    measures = {"AP(ties='ordinal')": average_precision}
    for n in (1, 3, 5, 10):
        measures[f"Precision(ties='ordinal')@{n}"] = lambda grades, n=n: precision(grades, n)
        measures[f"NDCG(ties='ordinal',discount='letor')@{n}"] = lambda grades, n=n: ndcg(grades, n)
    scores = collection.X[:, [feature - 1]].toarray().ravel()
    found = sg.evaluate(collection.y, scores, qid=collection.qid, measures=list(measures))
    lists = list(ranked_grades(collection, feature))
    for name, definition in measures.items():
        expected = [definition(grades) for grades in lists]
        np.testing.assert_allclose(found.per_query[name], expected, atol=1e-9)
