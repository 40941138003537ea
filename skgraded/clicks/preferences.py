"""Preferences between the items of a session, inferred from its clicks."""

from __future__ import annotations

import numpy as np

from skgraded._kernels.layout import starts_of
from skgraded.clicks.impressions import Impressions

RULES = ("click_skip_above", "last_click_skip_above")


def infer_preferences(rows: Impressions, rule: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the preferred and the other item of each pair, and the session of each pair."""
    rows.require("preferences", "session", "item")
    rows.check_sessions("item", "position")
    sessions, items = rows.codes["session"], rows.codes["item"]
    order, starts = np.lexsort((rows.places, sessions)), starts_of(np.bincount(sessions))
    first, second = (order[side] for side in _pairs_of_rule(rows.clicks[order] > 0, starts, rule))
    pairs = np.column_stack([rows.ids["item"][items[side]] for side in (first, second)])
    return pairs, rows.ids["session"][sessions[first]]


def _pairs_of_rule(
    clicked: np.ndarray, starts: np.ndarray, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the preferred row and the other row of each pair; rows are sorted by position."""
    session = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    hits, skips = np.flatnonzero(clicked), np.flatnonzero(~clicked)
    if rule == "last_click_skip_above":
        hits = hits[np.append(session[hits[1:]] != session[hits[:-1]], True)[: len(hits)]]
    # The skipped rows above a hit are skips[start : stop].
    start = np.searchsorted(skips, starts[session[hits]])
    counts = np.searchsorted(skips, hits) - start
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(hits, counts), skips[np.repeat(start, counts) + offsets]
