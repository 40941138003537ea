"""Logs of clicks: reading their columns, preferences from sessions, and simulated sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door, tables
from skgraded._input.queries import group_by_query, query_codes, rows_by_query
from skgraded._input.words import plain_list
from skgraded._kernels.layout import relative_exp2_gains
from skgraded.datasets.entries import repeated_keys

if TYPE_CHECKING:
    from sklearn.utils import Bunch

MAX_POSITION = 10**7  # larger numbers are not positions, but ids or times
RULES = "click_skip_above", "last_click_skip_above", "click_skip_previous", "click_no_click_next"


# Columns -----------------------------------------------------------------------------------------


def read_positions(position: Any) -> np.ndarray:
    """Return the checked positions as integers from 0."""
    places = door.column(position, "position")
    is_valid = (places >= 1) & (places <= MAX_POSITION) & (places == np.floor(places))
    advice = " If positions start at 0, pass position + 1." * bool(places.min() == 0)
    rule = f"position must contain integers from 1 to {MAX_POSITION:,}"
    refuse_invalid(places, is_valid, rule, advice)
    return places.astype(np.int64) - 1


def read_clicks(
    clicked: Any, position: Any, n_impressions: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the impressions with a click, the positions from 0, and the impressions of each row.

    Without counts, each row is one impression, and every number above 0 is one click.
    """
    places = read_positions(position)
    clicks = door.column(clicked, "clicked", len(places), "position")
    rule = "clicked must contain numbers ≥ 0"
    refuse_invalid(clicks, (clicks >= 0) & (clicks < np.inf), rule)
    if n_impressions is None:
        return (clicks > 0).astype(float), places, np.ones(len(clicks))
    impressions = door.column(n_impressions, "n_impressions", len(clicks), "clicked")
    is_valid = (impressions >= 1) & (impressions < np.inf) & (impressions == np.floor(impressions))
    refuse_invalid(impressions, is_valid, "n_impressions must contain integers ≥ 1")
    refuse_invalid(
        clicks,
        (clicks <= impressions) & (clicks == np.floor(clicks)),
        "With n_impressions, clicked must contain the number of impressions with a click, an "
        "integer ≤ n_impressions",
        " Count them with count_if(clicks > 0), not with sum(clicks).",
    )
    return clicks, places, impressions


def refuse_invalid(values: np.ndarray, is_valid: np.ndarray, rule: str, advice: str = "") -> None:
    """Raise a ValueError that states the rule and the first invalid value."""
    if not is_valid.all():
        row = int(np.argmin(is_valid))
        raise ValueError(f"{rule}; got {values[row]:g} in row {row}.{advice}")


# Preferences -------------------------------------------------------------------------------------


def click_preferences(
    clicked: Any,
    position: Any,
    *,
    session: Any,
    item: Any,
    rule: str = "click_skip_above",
    data: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Turn the clicks of sessions into preferences between items.

    A user who clicks an item after skipping another one probably prefers it. Unlike clicks
    themselves, these preferences depend little on which positions are examined [1]_.

    Parameters
    ----------
    clicked : array-like of shape (n,), or str
        Whether each shown item was clicked: every number above 0 is one click.
    position : array-like of shape (n,), or str
        Position of the item in its session, from 1. Positions may have gaps.
    session, item : array-like of shape (n,), or str
        Session and item of each row, in any row order.
    rule : str, default="click_skip_above"
        Which pairs are preferences:

        - ``"click_skip_above"``: a clicked item over each item above it without a click,
        - ``"last_click_skip_above"``: the same, only for the lowest clicked item of a session,
        - ``"click_skip_previous"``: a clicked item over its upper neighbor without a click,
        - ``"click_no_click_next"``: a clicked item over its lower neighbor without a click.
    data : DataFrame, Arrow table, DuckDB relation, or dict of columns, optional
        If passed, the other arguments are names of its columns.

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2)
        The preferred item and the other item. Sessions are in order of first appearance.
    session : ndarray of shape (n_pairs,)
        Session of each pair, for ``evaluate_preferences(pairs, …, qid=session)``.

    Raises
    ------
    ValueError, TypeError
        If a column is invalid, or a session shows an item twice or two items at one position.

    References
    ----------
    .. [1] Joachims, Granka, Pan, Hembrooke, Radlinski & Gay (2007), "Evaluating the accuracy of
       implicit feedback from clicks and query reformulations in Web search", ACM TOIS 25(2).

    Examples
    --------
    >>> from skgraded.datasets import click_preferences
    >>> pairs, session = click_preferences(
    ...     [0, 0, 1], [1, 2, 3], session=["s", "s", "s"], item=["a", "b", "c"])
    >>> pairs.tolist(), session.tolist()
    ([['c', 'a'], ['c', 'b']], ['s', 's'])
    """
    door.choice_validator("rule", RULES)(rule)
    log = tables.read_named(
        data, {"clicked": clicked, "position": position, "session": session, "item": item}
    )
    clicks, places, _ = read_clicks(log["clicked"], log["position"])
    sessions, session_ids = query_codes(log["session"], len(clicks), "clicked", name="session")
    items, item_ids = query_codes(log["item"], len(clicks), "clicked", name="item")
    for name, codes in (("item", items), ("position", places)):
        for row in repeated_keys(sessions * (codes.max() + 1) + codes)[0]:
            value = plain_list(item_ids)[items[row]] if name == "item" else int(places[row]) + 1
            raise ValueError(
                f"Session {plain_list(session_ids)[sessions[row]]!r} contains {name} {value!r} "
                f"twice (again in row {row}): keep one row per item, and number the items of a "
                "session from top to bottom."
            )
    rows, starts = rows_by_query(sessions, len(session_ids))
    rows = np.arange(len(clicks)) if rows is None else rows
    steps = np.diff(places[rows])
    steps[starts[1:-1] - 1] = 1  # the next row is the first of another session
    if (steps <= 0).any():
        rows = rows[np.lexsort((places[rows], sessions[rows]))]
    first, second = (rows[side] for side in _pairs_of_rule(clicks[rows] > 0, starts, rule))
    pairs = np.column_stack([item_ids[items[first]], item_ids[items[second]]])
    return pairs, session_ids[sessions[first]]


def _pairs_of_rule(
    clicked: np.ndarray, starts: np.ndarray, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the preferred row and the other row of each pair; rows are sorted by position."""
    session = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    is_same = session[1:] == session[:-1]
    if rule == "click_skip_previous":
        first = 1 + np.flatnonzero(clicked[1:] & ~clicked[:-1] & is_same)
        return first, first - 1
    if rule == "click_no_click_next":
        first = np.flatnonzero(clicked[:-1] & ~clicked[1:] & is_same)
        return first, first + 1
    hits, skips = np.flatnonzero(clicked), np.flatnonzero(~clicked)
    if rule == "last_click_skip_above":
        hits = hits[np.append(session[hits[1:]] != session[hits[:-1]], True)[: len(hits)]]
    # The skipped rows above a hit are skips[start : stop].
    start = np.searchsorted(skips, starts[session[hits]])
    counts = np.searchsorted(skips, hits) - start
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(hits, counts), skips[np.repeat(start, counts) + offsets]


# Simulation --------------------------------------------------------------------------------------


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
    - ``"cascade"``: with the probability γ, from top to bottom until the first click,
    - ``"trust"``: with the probability θ_k (ε⁺ γ + ε⁻ (1 − γ)), where ε⁺ = 1 − .1 (k − 1) / K, and
      ε⁻ = .3 / k is the probability to click an unattractive document because of its rank [1]_.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Grades ≥ 0.
    y_scores : array-like of shape (n,), or a list of them
        Scores of one or more rankers. Each session shows the ranking of a random one; ties are in
        row order.
    qid : array-like of shape (n,)
        Query of each row.
    n_sessions : int, default=1000
        Number of sessions.
    model : {"position", "cascade", "trust"}, default="position"
        Click model.
    examination : array-like of shape (n_positions,), optional
        θ_k from 0 to 1, by default 1 / k. Sessions show at most n_positions documents. Not allowed
        for the cascade model, which determines it.
    noise : float, default=0.1
        Attractiveness of documents with grade 0, from 0 to 1.
    random_state : int, RandomState instance or None, default=None
        Determines the sessions; pass an int for reproducible output across calls.

    Returns
    -------
    Bunch
        One row per impression, ``session``, ``qid``, ``item`` (row of `y_true`), ``position`` (from
        1) and ``clicked`` (0 or 1), and ``examination`` of shape (n_positions,): θ_k or, for the
        cascade model, the share of sessions in which the position was examined.

    Warns
    -----
    UserWarning
        If two arguments are pandas Series with the same row labels in a different order.

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

    door.choice_validator("model", ("position", "cascade", "trust"))(model)
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
        if model == "cascade":
            raise ValueError("The cascade model determines the examination: pass examination=None.")
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
    rates = attraction if model == "cascade" else theta[place] * attraction
    if model == "trust":
        trusted = (1 - 0.1 * place / len(theta)) * attraction
        rates = theta[place] * (trusted + 0.3 / (place + 1) * (1 - attraction))
    clicked = rng.random_sample(len(session)) < rates
    if model == "cascade":
        clicked, theta = _until_first_click(clicked, session, place)
    return Bunch(
        session=session,
        qid=query_ids[query[session]],
        item=item,
        position=place + 1,
        clicked=clicked.astype(np.int8),
        examination=theta,
    )


def _until_first_click(
    clicked: np.ndarray, session: np.ndarray, place: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Keep the first click of each session; also return the share of sessions at each position."""
    earlier = np.cumsum(clicked) - clicked  # clicks in the rows above
    is_examined = earlier == earlier[place == 0][session]
    return clicked & is_examined, np.bincount(place, is_examined) / np.bincount(place)
