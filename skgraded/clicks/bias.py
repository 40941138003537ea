"""Estimate position bias, that is, how often users examine each position, from a click log."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import column, number_validator
from skgraded._input.messages import warn_user
from skgraded._kernels import layout
from skgraded.clicks.impressions import (
    Impressions,
    combine_codes,
    read_positions,
    refuse_invalid,
)
from skgraded.stats.position_bias import METHODS, Interventions
from skgraded.writing import tables

UNITS = {"session": "sessions", "qid": "queries", "row": "rows"}
CHECK_CLIP = number_validator("clip", 1, optional=True)


@dataclass(frozen=True, repr=False, eq=False)
class PositionBias:
    """How often each position is examined, as estimated by `ClickLog.position_bias`.

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
    _columns: dict[str, np.ndarray]  # the columns of `to_frame`

    def weights(self, position: ArrayLike, clip: float | None = None) -> np.ndarray:
        """Return the inverse propensity weights 1 / examination for the positions of n rows.

        Weights above `clip`, a number ≥ 1, are set to `clip`. Positions that are not in the log
        have weight nan.
        """
        weights = invert_examination(np.append(self.examination, np.nan), CHECK_CLIP(clip))
        return weights[np.minimum(read_positions(position), len(self.examination))]

    def to_frame(self) -> tables.DataFrame:
        """Tabulate the estimates, one row per position.

        The pandas.DataFrame has the columns

        - ``position``, ``examination``,
        - ``ci_low``, ``ci_high``: limits of the bootstrap interval; nan if there are too few
          sessions or queries,
        - ``click_rate``: clicks per impression, not corrected for bias,
        - ``n_impressions``,
        - ``n_interventions``: number of pairs of a query and a document that were shown both at
          this and at another position.
        """
        return tables.frame(self._columns)

    def __repr__(self) -> str:
        values = np.array2string(self.examination, precision=3, threshold=20, separator=", ")
        return f"PositionBias({self._method}: {values})"


def estimate_bias(
    rows: Impressions,
    method: str,
    level: float,
    n_resamples: int,
    rng: int | np.random.Generator | None,
) -> PositionBias:
    """Estimate the examination of each position, with an interval; settings are not validated."""
    counts = Counts.of(rows, method)
    n_shown = np.bincount(rows.places, rows.impressions)
    clicks = np.bincount(rows.places, rows.clicks)
    if n_shown[0] == 0 or clicks[0] == 0:
        kind = "impressions" if n_shown[0] == 0 else "clicks"
        raise ValueError(f"Position 1 has no {kind}, but examination is relative to position 1.")
    examination = counts.estimate()
    limits = np.full((2, len(n_shown)), np.nan)
    known = ~np.isnan(examination)
    if n_resamples and known[1:].any() and counts.has_enough_units():
        samples = [
            counts.estimate(weights)[known]
            for weights in draw_weights(counts.n_units, n_resamples, rng)
        ]
        limits[:, known] = np.nanquantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
    unknown = 1 + np.flatnonzero(np.isnan(examination) & (n_shown > 0))
    if len(unknown):
        shown = ", ".join(map(str, unknown[:10])) + (", …" if len(unknown) > 10 else "")
        warn_user(
            f"{len(unknown)} of {np.count_nonzero(n_shown)} positions have no estimate (nan), "
            f"because no documents with clicks connect them with position 1: {shown}. Documents "
            "must be shown at several positions; the log of a single ranker cannot show position "
            "bias."
        )
    is_intervention = (np.bincount(counts.document) > 1)[counts.document] & (method != "randomized")
    columns = {
        "position": 1 + np.arange(len(n_shown)),
        "examination": examination,
        "ci_low": limits[0],
        "ci_high": limits[1],
        "click_rate": np.divide(
            clicks, n_shown, out=np.full(len(n_shown), np.nan), where=n_shown > 0
        ),
        "n_impressions": n_shown.astype(np.intp),
        "n_interventions": np.bincount(counts.position, is_intervention).astype(np.intp),
    }
    return PositionBias(examination, level, method, columns)


def draw_weights(
    n: int, n_resamples: int, rng: int | np.random.Generator | None
) -> Iterator[np.ndarray]:
    """Yield bootstrap resamples; each one is an array with the number of copies of each unit."""
    from threadpoolctl import threadpool_limits  # installed with scikit-learn

    rng = np.random.default_rng(rng)
    with threadpool_limits(1, "blas"):  # many small optimizations are faster in one thread
        for _ in range(n_resamples):
            yield np.bincount(rng.integers(n, size=n), minlength=n)


@dataclass(frozen=True)
class Counts:
    """Counts of log rows per cell (query, document, position).

    For the method "randomized", all rows are treated as impressions of one document, so all
    positions are comparable. The bootstrap resamples units. By default, these are sessions; if
    sessions are unknown, queries; and if both are unknown, rows.
    """

    rows: Impressions
    unit: np.ndarray  # unit of each row
    n_units: int
    unit_name: str
    cell: np.ndarray  # cell of each row
    position: np.ndarray  # position of each cell, from 0
    document: np.ndarray  # document of each cell
    query: np.ndarray | None  # the query of each cell if the units are queries
    pairs: Interventions
    method: str

    @classmethod
    def of(cls, rows: Impressions, method: str, unit: str | None = None) -> Self:
        """Count impressions and clicks; `unit` defaults to the unit that `Counts` describes."""
        codes, position = rows.codes, rows.places
        n = len(position)
        unit = unit or next((name for name in ("session", "qid") if name in codes), "row")
        has_queries = unit == "qid" and method != "randomized"
        document = np.zeros(n, dtype=np.intp)
        if method != "randomized":
            rows.require(f"method={method!r}", "qid", "item")
            keys = combine_codes([codes["qid"], codes["item"]])
            document, *_ = layout.number_by_appearance(keys)
        keys = document * rows.n_positions + position
        cell, first, *_ = layout.number_by_appearance(keys)
        order = np.argsort(keys[first])
        first = first[order]  # one row of each cell
        document, position = document[first], position[first]
        return cls(
            rows,
            codes.get(unit, np.arange(n)),
            len(rows.ids.get(unit, keys)),
            UNITS[unit],
            np.argsort(order)[cell],
            position,
            document,
            codes["qid"][first] if has_queries else None,
            Interventions.of(document, position, method),
            method,
        )

    @cached_property
    def _by_unit(self) -> tuple[Any, ...]:
        """Sparse matrices of impressions and clicks, with a row per cell and a column per unit."""
        from scipy.sparse import csr_array

        is_used = np.zeros(len(self.position), dtype=bool)
        is_used[self.pairs.first] = is_used[self.pairs.second] = True
        return tuple(
            csr_array(
                (numbers[used], (self.cell[used], self.unit[used])), (len(is_used), self.n_units)
            )
            for numbers in (self.rows.impressions, self.rows.clicks)
            for used in [is_used[self.cell] & (numbers > 0)]
        )

    def has_enough_units(self) -> bool:
        """Return whether enough units show documents at several positions; warn if not."""
        n, needed = int(np.count_nonzero(self._by_unit[0].sum(axis=0))), METHODS[self.method]
        if n < needed:
            warn_user(
                f"The limits of the intervals are nan, because only {n} {self.unit_name} show "
                f"documents at several positions. For method={self.method!r}, intervals from fewer "
                f"than {needed} are too narrow: use a longer log, or pass session."
            )
        return n >= needed

    def estimate(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Estimate θ_k / θ_1 from `weights` copies of each unit; None stands for one copy."""
        if weights is None:
            n_shown = np.bincount(self.cell, self.rows.impressions)
            clicks = np.bincount(self.cell, self.rows.clicks)
        else:
            n_shown, clicks = (part @ weights for part in self._by_unit)
        rates = clicks / np.maximum(n_shown, 1e-300)
        i, j = self.pairs.first, self.pairs.second
        times = (n_shown[i] > 0) & (n_shown[j] > 0)
        if weights is not None and self.query is not None:
            times = weights[self.query[i]]
        return self.pairs.estimate(rates, times.astype(float), self.rows.n_positions, self.method)


# Weights of clicks -------------------------------------------------------------------------------


def read_examination(rows: Impressions, bias: PositionBias | ArrayLike) -> np.ndarray:
    """Return examination probabilities, which must be known and positive for clicked positions."""
    examination = bias.examination if isinstance(bias, PositionBias) else column(bias, "bias")
    refuse_invalid(
        examination,
        ~(examination < 0) & ~np.isinf(examination),
        "bias must contain finite numbers ≥ 0, or nan",
    )
    n = rows.n_positions
    examination = np.append(examination, np.full(n, np.nan))[:n]
    bad = (rows.clicks > 0) & ~(examination[rows.places] > 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"Row {row} has a click at position {rows.places[row] + 1}, whose examination "
            "probability is unknown or 0. Leave out the rows at such positions, or pass bias as an "
            "array that contains a positive probability for these positions."
        )
    return examination


def invert_examination(examination: np.ndarray, clip: float | None) -> np.ndarray:
    """Return the inverse propensity weights 1 / examination, at most `clip`."""
    with np.errstate(divide="ignore"):
        return np.minimum(1 / examination, np.inf if clip is None else clip)
