"""Simulated sessions, in which users examine rankings and click documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door, tables
from skgraded._input.queries import group_by_query
from skgraded._kernels.layout import relative_exp2_gains

if TYPE_CHECKING:
    from sklearn.utils import Bunch


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

    Each session shows one ranking of one random query. With :math:`\gamma` = noise + (1 − noise)
    (2^grade − 1) / (2^max − 1) as the attractiveness of a document and θ_k as the probability that
    position k is examined, a user clicks as in one of these models:

    - ``"position"``: with the probability θ_k γ,
    - ``"trust"``: with the probability θ_k (ε⁺ γ + ε⁻ (1 − γ)), where ε⁺ = 1 − .1 (k − 1) / K, and
      ε⁻ = .3 / k is the probability to click an unattractive document because of its rank [1]_.

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
    n_sessions = door.whole_number(n_sessions, "n_sessions", 1)
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
            raise ValueError(f"examination must be from 0 to 1; got {theta.tolist()!r:.200}.")
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
