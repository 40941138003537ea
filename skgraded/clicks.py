"""Position bias and grades from logs of clicks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import choice_validator, column, number_validator, whole_number
from skgraded._input.queries import query_codes
from skgraded._input.tables import read_named
from skgraded._kernels import layout
from skgraded.datasets.click_logs import read_clicks, read_positions
from skgraded.stats.intervals import CHECK_LEVEL, check_rng
from skgraded.stats.position_bias import METHODS, Interventions
from skgraded.writing import tables

if TYPE_CHECKING:
    import pandas

__all__ = ["PositionBias", "click_grades", "position_bias"]

UNITS = {"session": "sessions", "qid": "queries", "row": "rows"}
# Minimum number of units for intervals. With fewer units, the coverage of 95 % intervals is below
# 90 %; see `benchmarks/clicks.py coverage`.
MIN_UNITS = {"all_pairs": 15, "adjacent_chain": 15, "pivot": 50, "randomized": 15}


@dataclass(frozen=True, repr=False, eq=False)
class PositionBias:
    """How often each position is examined, returned by `position_bias`.

    Attributes
    ----------
    examination : ndarray of shape (n_positions,)
        Estimates of θ_k / θ_1; nan where the log contains no information. They are not clipped, so
        they may exceed 1.
    level : float
        Level of the intervals in `to_frame`.
    """

    examination: np.ndarray
    level: float
    _method: str
    _columns: dict[str, np.ndarray]  # the further columns of `to_frame`

    def weights(self, position: ArrayLike, clip: float | None = None) -> np.ndarray:
        """Return the inverse propensity weights 1 / examination of the positions of n rows.

        Weights above `clip`, a number ≥ 1, are set to `clip`. Positions that are not in the log have
        the weight nan.
        """
        return _weights(self.examination, read_positions(position), clip)

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the estimates, one row per position.

        The pandas.DataFrame has the columns

        - ``position``, ``examination``,
        - ``ci_low``, ``ci_high``: limits of the bootstrap interval; nan with too few sessions or
          queries,
        - ``click_rate``: clicks per impression, not corrected,
        - ``n_impressions``,
        - ``n_interventions``: number of documents of a query that were also shown at another
          position.
        """
        estimates = {
            "position": 1 + np.arange(len(self.examination)),
            "examination": self.examination,
        }
        return tables.frame(estimates | self._columns)

    def __repr__(self) -> str:
        values = np.array2string(self.examination, precision=3, threshold=20, separator=", ")
        return f"PositionBias({self._method}: {values})"


def position_bias(
    clicked: Any,
    position: Any,
    *,
    qid: Any = None,
    item: Any = None,
    session: Any = None,
    n_impressions: Any = None,
    method: str = "all_pairs",
    level: float = 0.95,
    n_resamples: int = 200,
    rng: Any = None,
    data: Any = None,
) -> PositionBias:
    r"""Estimate how often each position is examined, relative to the first.

    In the position-based model, a document at position k is clicked with the probability
    :math:`\theta_k \gamma`: the position is examined, and the document is attractive. Documents
    that were shown at several positions for the same query identify the ratios of θ [1]_.

    Parameters
    ----------
    clicked : array-like of shape (n,), or str
        Whether each impression was clicked: every number above 0 is one click, also a number of
        clicks or a dwell time. With `n_impressions`, the number of impressions with a click.
    position : array-like of shape (n,), or str
        Position of each row, from 1.
    qid, item : array-like of shape (n,), or str
        Query and document of each row. Optional for ``method="randomized"``.
    session : array-like of shape (n,), or str, optional
        Session of each row. The intervals resample sessions or, without sessions, queries.
    n_impressions : array-like of shape (n,), or str, optional
        Number of impressions of each row, if a database counted the log per query, item and
        position. Count clicks with ``count_if(clicks > 0)``: ``sum(clicks)`` counts two clicks on
        one impression twice, and the estimates are then wrong. By default, each row is one
        impression.
    method : str, default="all_pairs"
        - ``"all_pairs"``: the maximum of a likelihood of all pairs of positions; the most precise,
        - ``"adjacent_chain"``: the product of the ratios of adjacent positions,
        - ``"pivot"``: the ratio of each position to the first,
        - ``"randomized"``: ratios of click rates. Only for logs of random rankings.
    level : float, default=0.95
        Level of the intervals.
    n_resamples : int, default=200
        Number of bootstrap resamples; 0 means no intervals.
    rng : int, numpy.random.Generator or None, default=None
        Random numbers of the bootstrap.
    data : DataFrame, Arrow table, DuckDB relation, or dict of columns, optional
        If passed, the other arguments are names of its columns.

    Returns
    -------
    PositionBias

    Raises
    ------
    ValueError, TypeError
        If a column is invalid, position 1 has no impressions or no clicks, or "all_pairs" has more
        than 500 positions.

    Warns
    -----
    UserWarning
        If positions have no estimate, because no document was shown there and elsewhere, as in the
        log of a single ranker. Also if the limits of the intervals are nan, because fewer than 15
        sessions (or, without sessions, queries) show documents at several positions; "pivot"
        requires 50.

    References
    ----------
    .. [1] Agarwal, Zaitsev, Wang, Li, Najork & Joachims (2019), "Estimating position bias without
       intrusive interventions", WSDM.

    Examples
    --------
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=200, n_documents=5, random_state=0)
    >>> log = sg.datasets.make_clicks(y, [X[:, 0], X[:, 1]], qid, n_sessions=50_000, random_state=0)
    >>> bias = sg.position_bias(
    ...     log.clicked, log.position, qid=log.qid, item=log.item, session=log.session, rng=0)
    >>> bias.examination[:3].round(1).tolist(), log.examination[:3].round(1).tolist()
    ([1.0, 0.5, 0.3], [1.0, 0.5, 0.3])
    """
    from threadpoolctl import threadpool_limits  # installed with scikit-learn

    choice_validator("method", METHODS)(method)
    level = CHECK_LEVEL(level)
    n_resamples = whole_number(n_resamples, "n_resamples", 0)
    check_rng(rng)
    rng = np.random.default_rng(rng)
    log = read_named(
        data,
        {
            "clicked": clicked,
            "position": position,
            "qid": qid,
            "item": item,
            "session": session,
            "n_impressions": n_impressions,
        },
    )
    if method != "randomized":
        for argument in ("qid", "item"):
            if log[argument] is None:
                raise ValueError(f"method={method!r} requires {argument}.")
    counts = _Counts.of(log, method)
    places = counts.position[counts.cell]
    n_shown, clicks = np.bincount(places, counts.impressions), np.bincount(places, counts.clicks)
    if n_shown[0] == 0 or clicks[0] == 0:
        kind = "impressions" if n_shown[0] == 0 else "clicks"
        raise ValueError(f"Position 1 has no {kind}, but examination is relative to position 1.")
    examination, n = counts.estimate(), counts.n_units
    limits = np.full((2, len(n_shown)), np.nan)
    known = ~np.isnan(examination)
    if n_resamples and known[1:].any() and counts.has_enough_units():
        with threadpool_limits(1, "blas"):  # threads slow the many small optimizations down
            samples = np.array(
                [
                    counts.estimate(np.bincount(rng.integers(n, size=n), minlength=n))[known]
                    for _ in range(n_resamples)
                ]
            )
        limits[:, known] = np.nanquantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
    unknown = 1 + np.flatnonzero(np.isnan(examination) & (n_shown > 0))
    if len(unknown):
        shown = ", ".join(map(str, unknown[:10])) + (", …" if len(unknown) > 10 else "")
        warnings.warn(
            f"{len(unknown)} of {np.count_nonzero(n_shown)} positions have no estimate (nan), "
            f"because no documents with clicks connect them with position 1: {shown}. Documents "
            "must be shown at several positions; the log of a single ranker cannot show position "
            "bias.",
            stacklevel=2,
        )
    is_intervention = (np.bincount(counts.document) > 1)[counts.document] & (method != "randomized")
    columns = {
        "ci_low": limits[0],
        "ci_high": limits[1],
        "click_rate": np.divide(
            clicks, n_shown, out=np.full(len(n_shown), np.nan), where=n_shown > 0
        ),
        "n_impressions": n_shown.astype(np.intp),
        "n_interventions": np.bincount(counts.position, is_intervention).astype(np.intp),
    }
    return PositionBias(examination, level, method, columns)


@dataclass(frozen=True)
class _Counts:
    """Counts of log rows per cell (query, document, position).

    In a randomized log, all rows have the same document, so all positions are comparable. The
    bootstrap resamples the units of the rows: sessions, queries or, without both, rows.
    """

    clicks: np.ndarray
    impressions: np.ndarray
    unit: np.ndarray
    n_units: int
    unit_name: str
    cell: np.ndarray  # of each row
    position: np.ndarray  # of each cell, from 0
    document: np.ndarray  # of each cell
    query: np.ndarray | None  # of each cell, if queries are the units
    pairs: Interventions
    method: str

    @classmethod
    def of(cls, log: dict[str, Any], method: str) -> _Counts:
        clicks, position, impressions = read_clicks(
            log.pop("clicked"), log.pop("position"), log.pop("n_impressions")
        )
        n = len(clicks)
        codes = {  # arrays with one element per row are freed as early as possible
            name: query_codes(log.pop(name), n, "clicked", name=name)
            for name in ("session", "qid", "item")
            if log[name] is not None
        }
        name = "session" if "session" in codes else "qid" if "qid" in codes else "row"
        unit, units = codes.get(name, (np.arange(n), np.arange(n)))
        has_queries = name == "qid" and method != "randomized"
        query = document = np.zeros(n, dtype=np.intp)
        if method != "randomized":
            query, items = codes["qid"][0], codes.pop("item")
            document, *_ = layout.number_by_appearance(query * len(items[1]) + items[0])
            del items, codes
        keys = document * (position.max() + 1) + position
        cell, first, *_ = layout.number_by_appearance(keys)
        order = np.argsort(keys[first])
        first = first[order]  # one row of each cell
        query, document, position = query[first], document[first], position[first]
        del keys
        return cls(
            clicks,
            impressions,
            unit,
            len(units),
            UNITS[name],
            np.argsort(order)[cell],
            position,
            document,
            query if has_queries else None,
            Interventions.of(document, position, method),
            method,
        )

    @cached_property
    def _by_unit(self) -> tuple[Any, ...]:
        """Impressions and clicks as sparse matrices of cells and units."""
        from scipy.sparse import csr_array

        is_used = np.zeros(len(self.position), dtype=bool)
        is_used[self.pairs.first] = is_used[self.pairs.second] = True
        return tuple(
            csr_array(
                (numbers[used], (self.cell[used], self.unit[used])), (len(is_used), self.n_units)
            )
            for numbers in (self.impressions, self.clicks)
            for used in [is_used[self.cell] & (numbers > 0)]
        )

    def has_enough_units(self) -> bool:
        """Return whether enough units show documents that others also show; warn if not."""
        n, needed = int(np.count_nonzero(self._by_unit[0].sum(axis=0))), MIN_UNITS[self.method]
        if n < needed:
            warnings.warn(
                f"The limits of the intervals are nan, because only {n} {self.unit_name} show "
                f"documents at several positions. For method={self.method!r}, intervals from fewer "
                f"than {needed} are too narrow: use a longer log, or pass session.",
                stacklevel=3,
            )
        return n >= needed

    def estimate(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the examination if each unit occurs `weights` times (None: once)."""
        if weights is None:
            n_shown = np.bincount(self.cell, self.impressions)
            clicks = np.bincount(self.cell, self.clicks)
        else:
            n_shown, clicks = (part @ weights for part in self._by_unit)
        rates = clicks / np.maximum(n_shown, 1e-300)
        i, j = self.pairs.first, self.pairs.second
        times = (n_shown[i] > 0) & (n_shown[j] > 0)
        if weights is not None and self.query is not None:
            times = weights[self.query[i]]
        n_positions = int(self.position.max()) + 1
        return self.pairs.estimate(rates, times.astype(float), n_positions, self.method)


# Grades ------------------------------------------------------------------------------------------


def click_grades(
    clicked: ArrayLike,
    position: ArrayLike,
    bias: PositionBias | ArrayLike,
    clip: float | None = None,
    n_impressions: ArrayLike | None = None,
) -> np.ndarray:
    """Return clicks divided by the examination of their positions, as grades without bias.

    An impression with a click has the grade 1 / examination, also if it was clicked twice.
    For any sum over documents of grade · discount, such as `DCG` with ``gain="linear"``, these
    grades have the same expectation as the attractiveness of the documents [1]_. This does not
    hold for measures that divide by an ideal value, such as NDCG, NDCNG and μAP: the ideal value is
    then computed from noisy grades.

    Parameters
    ----------
    clicked : array-like of shape (n,)
        Whether each impression was clicked: every number above 0 is one click, also a number of
        clicks or a dwell time. With `n_impressions`, the number of impressions with a click.
    position : array-like of shape (n,)
        Position at which the document was shown, from 1.
    bias : PositionBias, or array-like of shape (n_positions,)
        Result of `position_bias`, or the examination of each position.
    clip : float, optional
        Largest weight of a click, at least 1. It reduces the variance, and biases sums downwards.
    n_impressions : array-like of shape (n,), optional
        Number of impressions of each row of a counted log, as in `position_bias`. The grades of a
        row's impressions are summed.

    Returns
    -------
    ndarray of shape (n,)
        Grades ≥ 0, for ``evaluate(…, measures="dcg(gain='linear')@10")`` or
        ``QueryRanker(…, grades="gain")``.

    Raises
    ------
    ValueError, TypeError
        If a column is invalid, or a clicked position has no examination.

    References
    ----------
    .. [1] Joachims, Swaminathan & Schnabel (2017), "Unbiased learning-to-rank with biased
       feedback", WSDM.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.click_grades([1, 0, 2], [1, 2, 3], [1, 0.5, 0.25]).tolist()  # clicked twice: one click
    [1.0, 0.0, 4.0]
    >>> sg.click_grades([2], [3], [1, 0.5, 0.25], n_impressions=[10]).tolist()  # 2 of 10 clicked
    [8.0]
    """
    clicks, places, _ = read_clicks(clicked, position, n_impressions)
    examination = bias.examination if isinstance(bias, PositionBias) else column(bias, "bias")
    weights = _weights(examination, places, clip)
    bad = (clicks > 0) & ~np.isfinite(weights)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"Row {row} has a click at position {places[row] + 1}, whose examination is unknown or "
            "0. Leave out the rows at such positions, or pass an array with a value for them."
        )
    return np.where(clicks > 0, clicks * weights, 0.0)


def _weights(examination: np.ndarray, places: np.ndarray, clip: float | None) -> np.ndarray:
    """Return 1 / examination of each place, from 0, at most `clip`; nan beyond the last place."""
    clip = number_validator("clip", 1, optional=True)(clip)
    with np.errstate(divide="ignore"):
        weights = 1 / np.append(examination, np.nan)
    weights = weights[np.minimum(places, len(examination))]
    return weights if clip is None else np.minimum(weights, clip)
