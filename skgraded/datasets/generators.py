"""Synthetic rankings and simulated click sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door, tables
from skgraded._input.door import check_whole_number
from skgraded._input.queries import group_by_query
from skgraded._kernels.layout import relative_exp2_gains

if TYPE_CHECKING:
    from sklearn.utils import Bunch


LONGEST = 10_000  # maximum number of rows per query in LightGBM's lambdarank
IRRELEVANT = 0.6  # fraction of the rows that have grade 0
# Standard deviations; for comparison, the standard deviation of the signal is about 1.2.
QUERY_EFFECT, NOISE = 1.0, 2.0


def make_ranking(
    n_queries: int = 100,
    n_documents: int = 20,
    n_features: int = 10,
    n_levels: int = 5,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generate a random ranking problem, like `sklearn.datasets.make_classification`.

    Relevance is a bounded, non-linear function of up to three randomly chosen features, plus a
    per-query effect and noise. It is discretized into grades; higher grades are rarer. A default
    ``LGBMRanker`` can learn the problem, but not perfectly.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    n_documents : int, default=20
        Mean number of documents per query. Sizes are uniform from 0.5 to 1.5 times this number, but
        at most 10,000, the limit of LightGBM, unless `n_documents` is larger.
    n_features : int, default=10
        Number of features, at most three of them informative.
    n_levels : int, default=5
        Number of grades, at least 2: 0, 1, …, ``n_levels - 1``.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible data.

    Returns
    -------
    X : ndarray of shape (n, n_features)
        Standard normal features, float64.
    y : ndarray of shape (n,)
        Integer grades. About 60 % are 0; some queries may have no grade above 0.
    qid : ndarray of shape (n,)
        Query of each row, 0 to ``n_queries - 1``; the rows of a query are contiguous.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraded.datasets import make_ranking
    >>> X, y, qid = make_ranking(n_queries=50, n_documents=8, random_state=0)
    >>> X.shape[1], len(np.unique(qid)), np.unique(y)
    (10, 50, array([0, 1, 2, 3, 4]))
    """
    from sklearn.utils import check_random_state

    n_queries = check_whole_number(n_queries, "n_queries", 1)
    n_documents = check_whole_number(n_documents, "n_documents", 1)
    n_features = check_whole_number(n_features, "n_features", 1)
    n_levels = check_whole_number(n_levels, "n_levels", 2)
    rng = check_random_state(random_state)

    spread = n_documents // 2
    if n_documents <= LONGEST:
        spread = min(spread, LONGEST - n_documents)
    sizes = rng.randint(n_documents - spread, n_documents + spread + 1, size=n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    X = rng.standard_normal((len(qid), n_features))

    columns = rng.permutation(n_features)
    a, b, c = (X[:, columns[i % n_features]] for i in range(3))
    # The signal is bounded so that queries with more documents are not easier to rank.
    relevance = np.tanh(2 * a) + np.cos(2 * b) + np.tanh(2 * c) * (a > 0)
    relevance += (QUERY_EFFECT * rng.standard_normal(n_queries))[qid]
    relevance += NOISE * rng.standard_normal(len(qid))
    # The share of a grade g > 0 is proportional to (n_levels - g)².
    shares = np.arange(n_levels - 1, 0, -1.0) ** 2
    below = IRRELEVANT + (1 - IRRELEVANT) * np.append(0, np.cumsum(shares[:-1])) / shares.sum()
    return X, np.searchsorted(np.quantile(relevance, below), relevance), qid


def make_swapped_rankings(
    n_documents: int = 100,
    n_levels: int = 10,
    n_swaps: int = 50,
    n_rankings: int = 100,
    uniform: bool = True,
    random_state: int | np.random.RandomState | None = None,
) -> np.ndarray:
    """Generate rankings that differ from the ideal ranking by a known number of swaps.

    These are the test rankings of Scheel, Lommatzsch and Albayrak (2011, section 2.1). Each ranking
    starts in ideal order; then random pairs of documents are swapped.

    Parameters
    ----------
    n_documents : int, default=100
        Number of documents per ranking, at least 2.
    n_levels : int, default=10
        Number of grades (0, 1, …, ``n_levels - 1``), at least 2. If `uniform`, at most
        `n_documents`.
    n_swaps : int, default=50
        Number of successive swaps in each ranking, each of two distinct random positions.
    n_rankings : int, default=100
        Number of rankings.
    uniform : bool, default=True
        Whether the numbers of documents with each grade differ by at most one. If False, the grades
        of all rankings are drawn from one random distribution, with at least two distinct grades.
    random_state : int, RandomState instance or None, default=None
        Determines the rankings. With the same int, the grades for ``uniform=False`` do not depend
        on `n_swaps` and `n_rankings`.

    Returns
    -------
    ndarray of shape (n_rankings, n_documents), int
        Grades of the ranked documents, from the first position to the last.

    Examples
    --------
    To evaluate the rankings, assign descending scores to the documents:

    >>> import numpy as np
    >>> import skgraded as sg
    >>> grades = sg.datasets.make_swapped_rankings(n_swaps=10, random_state=0)
    >>> scores = np.tile(-np.arange(100), 100)
    >>> round(sg.MuAP()(grades.ravel(), scores, group=[100] * 100), 2)
    0.88
    """
    from sklearn.utils import check_random_state

    n_documents = check_whole_number(n_documents, "n_documents", 2)
    n_levels = check_whole_number(n_levels, "n_levels", 2)
    n_swaps = check_whole_number(n_swaps, "n_swaps", 0)
    n_rankings = check_whole_number(n_rankings, "n_rankings", 1)
    if uniform and n_levels > n_documents:
        raise ValueError(
            f"If uniform=True, n_levels must be at most n_documents = {n_documents}, so that each "
            f"grade has at least one document; got {n_levels}."
        )
    rng = check_random_state(random_state)

    if uniform:
        ideal = np.arange(n_documents)[::-1] * n_levels // n_documents
    else:
        counts = np.array([n_documents])
        while counts.max() == n_documents:  # until at least two grades are distinct
            counts = rng.multinomial(n_documents, rng.dirichlet(np.ones(n_levels)))
        ideal = np.repeat(np.arange(n_levels), counts)[::-1]
    first = rng.randint(n_documents, size=(n_swaps, n_rankings))
    second = rng.randint(n_documents - 1, size=(n_swaps, n_rankings))
    second += second >= first  # any position except `first`
    # Indexing a flat array of all rankings is faster than indexing a 2-D array.
    grades = np.tile(ideal, n_rankings)
    starts = np.arange(n_rankings) * n_documents
    for a, b in zip(first + starts, second + starts, strict=True):
        grades[a], grades[b] = grades[b], grades[a]
    return grades.reshape(n_rankings, n_documents)


def make_clicks(
    y_true: ArrayLike,
    y_scores: ArrayLike | Sequence[ArrayLike],
    qid: Any,
    n_sessions: int = 1000,
    model: str = "position",
    examination: ArrayLike | None = None,
    noise: float = 0.1,
    random_state: Any = None,
) -> Bunch:
    r"""Simulate sessions in which users examine rankings and click documents.

    Each session shows one ranking of one random query. A document has the attractiveness
    :math:`\gamma` = noise + (1 − noise) (2^grade − 1) / (2^max − 1), and its position k is examined
    with the probability θ_k. The probability of a click depends on `model`:

    - ``"position"``: the probability is θ_k γ.
    - ``"trust"``: the probability is θ_k (ε⁺ γ + ε⁻ (1 − γ)) [1]_. For K positions,
      ε⁺ = 1 − 0.1 (k − 1) / K and ε⁻ = 0.3 / k. ε⁻ is the probability of clicking an
      unattractive document because of its rank.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Grades ≥ 0.
    y_scores : array-like of shape (n,), or a list of them
        Scores of one or more rankers. Each session shows the ranking of a random ranker; ties are
        in row order.
    qid : array-like of shape (n,)
        Query of each row.
    n_sessions : int, default=1000
        Number of sessions.
    model : {"position", "trust"}, default="position"
        Click model.
    examination : array-like of shape (n_positions,), optional
        θ_k from 0 to 1, by default 1 / k. Sessions show at most n_positions documents.
    noise : float, default=0.1
        Attractiveness of documents with grade 0, from 0 to 1.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible sessions.

    Returns
    -------
    Bunch
        One row per impression, with ``session``, ``qid``, ``item`` (row of `y_true`), ``position``
        (from 1) and ``clicked`` (0 or 1), and ``examination`` of shape (n_positions,): θ_k.
        `ClickLog` accepts it as `data`.

    References
    ----------
    .. [1] Agarwal, Wang, Li, Bendersky & Najork (2019), "Addressing trust bias for unbiased
       learning-to-rank", WWW.

    Examples
    --------
    >>> from skgraded.datasets import make_clicks
    >>> log = make_clicks(
    ...     [2, 0, 1], [[3, 2, 1], [1, 2, 3]], [7, 7, 7], n_sessions=100, random_state=0)
    >>> len(log.clicked), log.examination.round(2).tolist()
    (300, [1.0, 0.5, 0.33])
    """
    from sklearn.utils import Bunch, check_random_state

    door.choice_validator("model", ("position", "trust"))(model)
    noise = door.number_validator("noise", 0, 1)(noise)
    n_sessions = door.check_whole_number(n_sessions, "n_sessions", 1)
    grades = door.check_grades(y_true, "y_true")
    is_list = isinstance(y_scores, (list, tuple)) and len(y_scores) and np.ndim(y_scores[0])
    systems: Any = y_scores if is_list else [y_scores]
    by_name = {f"y_scores[{i}]" if is_list else "y_scores": y for i, y in enumerate(systems)}
    tables.check_row_labels({"y_true": y_true, **by_name, "qid": qid})
    rankers = [door.check_scores(scores, len(grades), "y_scores") for scores in systems]
    query_ids, order, starts = group_by_query(qid, len(grades))
    rows = np.arange(len(grades)) if order is None else order
    codes = np.repeat(np.arange(len(query_ids)), np.diff(starts))
    rankings = np.array([rows[np.lexsort((-scores[rows], codes))] for scores in rankers])
    theta = 1 / np.arange(1.0, np.diff(starts).max() + 1)
    if examination is not None:
        theta = door.column(examination, "examination")[: len(theta)]
        if not ((theta >= 0) & (theta <= 1)).all():
            raise ValueError(
                f"examination must contain probabilities from 0 to 1; got {theta.tolist()!r:.200}."
            )
    rng = check_random_state(random_state)

    query = rng.randint(len(query_ids), size=n_sessions)
    ranker = rng.randint(len(rankers), size=n_sessions)
    sizes = np.minimum(np.diff(starts)[query], len(theta))
    session = np.repeat(np.arange(n_sessions), sizes)
    place = np.arange(len(session)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    item = rankings[ranker[session], starts[query[session]] + place]
    levels, level = np.unique(grades, return_inverse=True)
    gains = relative_exp2_gains(levels, np.array([0, len(levels)]))[level]
    attraction = (noise + (1 - noise) * gains)[item]
    rates = theta[place] * attraction
    if model == "trust":
        trusted = (1 - 0.1 * place / len(theta)) * attraction
        rates = theta[place] * (trusted + 0.3 / (place + 1) * (1 - attraction))
    clicked = rng.random_sample(len(session)) < rates
    return Bunch(
        session=session,
        qid=query_ids[query[session]],
        item=item,
        position=place + 1,
        clicked=clicked.astype(np.int8),
        examination=theta,
    )
