"""Made-up rankings for examples, tests and benchmarks."""

from typing import Any

import numpy as np

from skgraded._input.columns import whole_number

LONGEST = 10_000  # rows of a query: the limit of LightGBM's lambdarank
IRRELEVANT = 0.6  # share of the rows that have grade 0
# Standard deviations of what is added to the signal, whose own is about 1.2: chosen so that a
# default LGBMRanker beats a constant model by 0.18 to 0.31 of NDCNG@5 (100 seeds), and by 0.1 to
# 0.35 with 10 to 120 documents, 3 to 50 features or 2 to 10 grades, one changed at a time.
QUERY_EFFECT = 1.0
NOISE = 2.0


def make_ranking(
    n_queries: int = 100,
    n_documents: int = 20,
    n_features: int = 10,
    n_levels: int = 5,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make a ranking problem: the sibling of `sklearn.datasets.make_classification`.

    Relevance is a bounded, non-linear function of up to three features, placed at random among
    the others, plus an effect of the query and noise; grades are cut from it so that the higher
    a grade, the rarer it is. A default ``LGBMRanker`` learns it, but not well: by 3-fold
    cross-validation over 100 queries its NDCNG@5 is some 0.24 (0.1 to 0.35) above that of a
    constant model.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    n_documents : int, default=20
        Mean number of documents of a query. Sizes are uniform from half of it to one and a half
        times; closer to it where they would pass 10,000, the most that LightGBM ranks, unless
        `n_documents` itself does.
    n_features : int, default=10
        Number of features, at most three of them informative.
    n_levels : int, default=5
        Number of grades, at least 2: 0, 1, …, ``n_levels - 1``. LightGBM's ranking objectives
        take at most 31.
    random_state : int, RandomState instance or None, default=None
        Determines the data; pass an int for the same data at every call.

    Returns
    -------
    X : ndarray of shape (n, n_features)
        Standard normal features, float64.
    y : ndarray of shape (n,)
        Integer grades. About 60 % are 0; a few queries may have nothing above 0.
    qid : ndarray of shape (n,)
        The query of each row, 0 to ``n_queries - 1``, the rows of a query together.

    Raises
    ------
    ValueError
        If a number is not whole or too small, or `random_state` cannot seed a generator.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraded.datasets import make_ranking
    >>> X, y, qid = make_ranking(n_queries=50, n_documents=8, random_state=0)
    >>> X.shape[1], len(np.unique(qid)), np.unique(y)
    (10, 50, array([0, 1, 2, 3, 4]))
    """
    from sklearn.utils import check_random_state

    n_queries = whole_number(n_queries, "n_queries", 1)
    n_documents = whole_number(n_documents, "n_documents", 1)
    n_features = whole_number(n_features, "n_features", 1)
    n_levels = whole_number(n_levels, "n_levels", 2)
    rng = check_random_state(random_state)

    spread = n_documents // 2
    if n_documents <= LONGEST:
        spread = min(spread, LONGEST - n_documents)
    sizes = rng.randint(n_documents - spread, n_documents + spread + 1, size=n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    X = rng.standard_normal((len(qid), n_features))

    relevance = _signal(X, rng.permutation(n_features))
    relevance += (QUERY_EFFECT * rng.standard_normal(n_queries))[qid]
    relevance += NOISE * rng.standard_normal(len(qid))
    return X, _grades(relevance, n_levels), qid


def _signal(X, columns):
    """Relevance as the features tell it: saturating, periodic, and one where another allows.

    Bounded, since the best of many documents would else stand out of any noise, and long queries
    be far easier than short ones.
    """
    a, b, c = (X[:, columns[i % len(columns)]] for i in range(3))
    return np.tanh(2 * a) + np.cos(2 * b) + np.tanh(2 * c) * (a > 0)


def _grades(relevance, n_levels):
    """Cut relevance into grades; above 0 their shares fall as the squares …, 9, 4, 1."""
    shares = np.arange(n_levels - 1, 0, -1.0) ** 2
    below = IRRELEVANT + (1 - IRRELEVANT) * np.append(0, np.cumsum(shares[:-1])) / shares.sum()
    return np.searchsorted(np.quantile(relevance, below), relevance)


def make_swapped_rankings(
    n_documents: int = 100,
    n_levels: int = 10,
    n_swaps: int = 50,
    n_rankings: int = 100,
    uniform: bool = True,
    random_state: Any = None,
) -> np.ndarray:
    """Make rankings that are worse than the ideal one by a known number of swaps.

    The test rankings of Scheel, Lommatzsch, Albayrak 2011, section 2.1: the ideal order of one
    list of grades, and in every ranking pairs of documents that change places.

    Parameters
    ----------
    n_documents : int, default=100
        Documents of each ranking, at least 2.
    n_levels : int, default=10
        Number of grades, at least 2: 0, 1, …, ``n_levels - 1``; at most `n_documents` if `uniform`.
    n_swaps : int, default=50
        Swaps in each ranking, one after the other: two distinct positions, drawn at random,
        exchange their documents, whatever was swapped before. 0 leaves the ideal order.
    n_rankings : int, default=100
        Number of rankings.
    uniform : bool, default=True
        Whether every grade has equally many documents. Where `n_levels` does not divide
        `n_documents` they differ by one at most. If False, the probabilities of the grades are
        drawn at random, every distribution being equally likely, and the documents' grades from
        them; some grades may be unused, but never all but one (it is drawn anew then, since there
        would be nothing to rank). This happens once a call: all rankings have the same grades,
        and values of measures depend on them, so average over calls.
    random_state : int, RandomState instance or None, default=None
        Determines the rankings; pass an int for the same rankings at every call. With one int the
        grades of ``uniform=False`` are the same for every `n_swaps` and `n_rankings`.

    Returns
    -------
    ndarray of shape (n_rankings, n_documents), int
        The grades of the ranked documents, the first position first.

    Raises
    ------
    ValueError
        If a number is not whole, too small, or `n_levels` too large, or `random_state` cannot
        seed a generator.
    TypeError
        If `uniform` is not True or False.

    Examples
    --------
    To measure them, give each ranking a falling score:

    >>> import numpy as np
    >>> import skgraded as sg
    >>> for n_swaps in (0, 10, 50):
    ...     grades = sg.datasets.make_swapped_rankings(n_swaps=n_swaps, random_state=0)
    ...     n_rankings, n_documents = grades.shape
    ...     scores = np.tile(-np.arange(n_documents), n_rankings)
    ...     value = sg.MuAP()(grades.ravel(), scores, group=[n_documents] * n_rankings)
    ...     print(f"{n_swaps:2} swaps: {value:.2f}")
     0 swaps: 1.00
    10 swaps: 0.88
    50 swaps: 0.65
    """
    from sklearn.utils import check_random_state

    n_documents = whole_number(n_documents, "n_documents", 2)
    n_levels = whole_number(n_levels, "n_levels", 2)
    n_swaps = whole_number(n_swaps, "n_swaps", 0)
    n_rankings = whole_number(n_rankings, "n_rankings", 1)
    if not isinstance(uniform, (bool, np.bool_)):
        raise TypeError(f"uniform must be True or False; got {uniform!r}.")
    if uniform and n_levels > n_documents:
        raise ValueError(
            f"n_levels must be at most n_documents = {n_documents} if uniform, so that every grade "
            f"has a document; got {n_levels}."
        )
    rng = check_random_state(random_state)

    if uniform:
        ideal = np.arange(n_documents)[::-1] * n_levels // n_documents
    else:
        ideal = _unevenly_graded(n_documents, n_levels, rng)
    first = rng.randint(n_documents, size=(n_swaps, n_rankings))
    second = rng.randint(n_documents - 1, size=(n_swaps, n_rankings))
    second += second >= first  # any position but the first
    # One ranking after the other in a single row: faster to index than a table.
    grades = np.tile(ideal, n_rankings)
    starts = np.arange(n_rankings) * n_documents
    for a, b in zip(first + starts, second + starts, strict=True):
        grades[a], grades[b] = grades[b], grades[a]
    return grades.reshape(n_rankings, n_documents)


def _unevenly_graded(n_documents, n_levels, rng):
    """Grades in ideal order, of a distribution drawn from all, at least two of them in use."""
    counts = np.array([n_documents])
    while counts.max() == n_documents:
        counts = rng.multinomial(n_documents, rng.dirichlet(np.ones(n_levels)))
    return np.repeat(np.arange(n_levels), counts)[::-1]
