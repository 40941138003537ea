"""The class `Evaluation`: per-query values of measures, with their means and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.columns import whole_number
from skgraded._input.segments import segments_of
from skgraded._input.words import object_array, plain_list
from skgraded.measures import Measure, mean_over_queries
from skgraded.measures import measure as as_measure
from skgraded.reports.report import (
    SHARES,
    WEIGHTS,
    Axis,
    ConfidenceIntervals,
    Report,
    as_query_ids,
    by_measure,
    concatenated,
    means_rows,
)
from skgraded.stats.intervals import check_settings, mean_interval
from skgraded.writing import tables
from skgraded.writing.json_text import FLAGS, IDS, by_name

if TYPE_CHECKING:
    import pandas

LEVEL = 0.95  # confidence level of intervals in HTML pages and notebooks
N_WORST = 5  # number of lowest-scoring queries shown in notebooks


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Report):
    """Per-query values of measures, returned by `evaluate`.

    The constructor also accepts lists and Series, which it validates and converts to arrays.

    Attributes
    ----------
    query_ids : ndarray of shape (n_queries,)
        Query ids in order of first appearance.
    per_query : dict of str to ndarray of shape (n_queries,)
        Values keyed by measure name; the value of an undefined query is the measure's `undefined`.
    undefined : dict of str to ndarray of shape (n_queries,) of bool
        Boolean masks of undefined queries, keyed by measure name.
    weights : ndarray of shape (n_queries,) or None
        Query weights for means and intervals.
    judged : dict of str to ndarray of shape (n_queries,), or None
        Share of judged documents among the first k, keyed by a name such as "Judged@10"; k is the
        cut-off of the first measure, or 10. None if every document is judged.

    Examples
    --------
    >>> import skgraded as sg
    >>> y_true = [2, 0, 1, 0, 1, 0, 0, 0, 1]
    >>> ev = sg.evaluate(y_true, range(9), group=[3, 3, 3], measures=["ap", "rr"])
    >>> ev.mean()["RR"], ev.n_undefined
    (0.8333333333333334, {'AP': 0, 'RR': 0})
    >>> ev.worst(1)
       query_id   AP   RR
    1         1  0.5  0.5
    >>> ev.summary().round(2)
      measure  mean  ci_low  ci_high method  n_queries  n_undefined
    0      AP  0.78    0.15     1.41      t          3            0
    1      RR  0.83    0.12     1.55      t          3            0
    """

    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]
    undefined: dict[str, np.ndarray]
    _: KW_ONLY
    weights: np.ndarray | None = None
    judged: dict[str, np.ndarray] | None = None

    _json = {"query_ids": IDS, "undefined": by_name(FLAGS)}

    def __post_init__(self) -> None:
        queries = Axis("query", "query_ids", as_query_ids(self.query_ids))
        self._set(
            query_ids=queries.keys,
            per_query=by_measure(self.per_query, "per_query", self.per_query, queries.numbers),
            undefined=by_measure(self.undefined, "undefined", self.per_query, queries.flags),
            weights=None if self.weights is None
            else queries.numbers(self.weights, "weights", WEIGHTS),
            judged=None if self.judged is None
            else by_measure(self.judged, "judged", self.judged, queries.numbers, SHARES),
        )

    @property
    def n_undefined(self) -> dict[str, int]:
        """Number of undefined queries, keyed by measure name."""
        return {name: int(flags.sum()) for name, flags in self.undefined.items()}

    def mean(self) -> dict[str, float]:
        """Return the mean over queries for each measure, as a dict keyed by measure name."""
        return {
            name: mean_over_queries(values, self.weights)
            for name, values in self.per_query.items()
        }

    def confidence_interval(
        self,
        level: float = 0.95,
        *,
        method: str = "t",
        n_resamples: int = 9999,
        rng: int | np.random.Generator | None = None,
    ) -> ConfidenceIntervals:
        r"""Return a confidence interval for the mean of each measure, over a population of queries.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level.
        method : {"t", "bootstrap"}, default="t"
            "t" is Student's interval m ± t · s for n queries with values v and weights w, where
            m = Σ w v / Σ w and s² = n / (n - 1) Σ (w (v - m))² / (Σ w)². With equal weights, s² is
            the variance of v divided by n. "bootstrap" is the bias-corrected and accelerated
            bootstrap (BCa) over queries [1]_, as in ``scipy.stats.bootstrap``. Its intervals are
            too short for few queries (``benchmarks/README.md``), and agree with "t" for many.
        n_resamples : int, default=9999
            Number of bootstrap resamples, at least 100.
        rng : int or numpy.random.Generator, optional
            Seed or random generator for the bootstrap. With a seed, the interval for a measure
            does not depend on the other measures.

        Returns
        -------
        ConfidenceIntervals
            A dict of ``ConfidenceInterval(low, high)`` keyed by measure name. Queries with value
            nan or weight 0 are ignored. If all values are identical, both limits equal that value.
            For a single query, both limits are nan.

        References
        ----------
        .. [1] Efron: Better bootstrap confidence intervals. JASA 82, 1987.

        Examples
        --------
        >>> import skgraded as sg
        >>> ev = sg.evaluate([1, 0, 0, 1, 0, 1], [2, 1, 2, 1, 2, 1], group=[2, 2, 2], measures="ap")
        >>> intervals = ev.confidence_interval(0.9)
        >>> intervals
        ConfidenceIntervals(0.9, t: AP=[0.1800, 1.1533])
        >>> low, high = intervals["AP"]
        """
        level, method, n_resamples = check_settings(level, method, n_resamples, rng)
        intervals = {
            name: mean_interval(values, self.weights, level, method, n_resamples, rng)
            for name, values in self.per_query.items()
        }
        return ConfidenceIntervals(intervals, level, method)

    @staticmethod
    def concat(parts: Iterable[Evaluation]) -> Evaluation:
        """Concatenate evaluations of disjoint queries.

        Parameters
        ----------
        parts : iterable of Evaluation
            Evaluations with the same measures; either all or none must have weights.

        Returns
        -------
        Evaluation
            Equal to an evaluation of all rows at once, with the queries in the order of the parts.
            The folds of a `CrossEvaluation` are dropped. If only some parts contain unjudged
            documents, `judged` is 1 for the queries of the other parts.

        Raises
        ------
        ValueError
            If two parts share a query, or if the measures differ.

        Examples
        --------
        >>> import skgraded as sg
        >>> monday = sg.evaluate([1, 0], [2, 1], qid=["a", "a"], measures="rr")
        >>> tuesday = sg.evaluate([1, 0], [1, 2], qid=["b", "b"], measures="rr")
        >>> sg.Evaluation.concat([monday, tuesday])
        Evaluation(2 queries: RR=0.7500)
        """
        parts = list(parts)
        if not parts:
            raise ValueError("concat received no parts: pass at least one Evaluation.")
        for i, part in enumerate(parts):
            if not isinstance(part, Evaluation):
                raise TypeError(
                    f"Part {i} passed to concat must be an Evaluation; got {type(part).__name__}."
                )
            _refuse_mismatch(i, part, parts[0])
        _refuse_overlap(parts)
        weights = [part.weights for part in parts if part.weights is not None]
        judged = {name: np.concatenate(shares) for name, shares in _judged_shares(parts).items()}
        return Evaluation(
            _joined_ids([part.query_ids for part in parts]),
            concatenated([part.per_query for part in parts]),
            concatenated([part.undefined for part in parts]),
            weights=np.concatenate(weights) if weights else None,
            judged=judged or None,
        )

    # Looking closer ------------------------------------------------------------------------------

    def worst(self, n: int = 10, measure: str | Measure | None = None) -> pandas.DataFrame:
        """Return the rows of `to_frame` with the lowest values, in ascending order.

        The rows keep their index. Undefined queries are excluded, because their values do not
        depend on the ranking.

        Parameters
        ----------
        n : int, default=10
            Maximum number of rows.
        measure : Measure or str, optional
            The measure to sort by; by default, the first measure.
        """
        return self._sorted_rows(n, measure, best_first=False)

    def best(self, n: int = 10, measure: str | Measure | None = None) -> pandas.DataFrame:
        """Return the rows with the highest values, best first; see `worst` for the parameters."""
        return self._sorted_rows(n, measure, best_first=True)

    def _sorted_rows(
        self, n: int, measure: str | Measure | None, best_first: bool
    ) -> pandas.DataFrame:
        n = whole_number(n, "n", 1)
        ranked = self._ranked(evaluated_name(measure, list(self.per_query)), best_first)
        return self.to_frame().iloc[ranked[:n]]

    def _ranked(self, name: str, best_first: bool) -> np.ndarray:
        """Return the positions of the defined queries, sorted by value (best or worst first)."""
        values = self.per_query[name]
        ranked = np.flatnonzero(~self.undefined[name] & ~np.isnan(values))
        keys = -values[ranked] if best_first else values[ranked]
        return ranked[np.argsort(keys, kind="stable")]

    def summary(
        self,
        level: float = 0.95,
        by: Any = None,
        *,
        method: str = "t",
        n_resamples: int = 9999,
        rng: int | np.random.Generator | None = 0,
    ) -> pandas.DataFrame:
        """Tabulate means and intervals, with one row per measure, or per segment and measure.

        Parameters
        ----------
        level, method, n_resamples, rng
            As for `confidence_interval`, except that `rng` defaults to 0 for reproducibility.
        by : array-like of shape (n_queries,), mapping or pandas Series, optional
            The segment of each query, in the order of `query_ids` or keyed by query id. Means and
            intervals are then computed for each segment.

        Returns
        -------
        pandas.DataFrame
            Columns ``segment`` (with `by`), ``measure``, ``mean``, ``ci_low``, ``ci_high``,
            ``method``, ``n_queries`` (number of queries in the mean) and ``n_undefined``. Segments
            are in order of first appearance.

        Examples
        --------
        >>> import skgraded as sg
        >>> ev = sg.evaluate([1, 0, 0, 1, 0, 1], [2, 1, 2, 1, 2, 1], qid=["a", "a", "b", "b", "c",
        ...                  "c"], measures="rr")
        >>> ev.summary(by={"a": "head", "b": "tail", "c": "tail"})[["segment", "mean", "n_queries"]]
          segment  mean  n_queries
        0    head   1.0          1
        1    tail   0.5          2
        """
        settings = {"method": method, "n_resamples": n_resamples, "rng": rng}
        if by is None:
            return tables.frame(self._summary_rows(level, settings))
        return tables.frame([
            {"segment": segment, **row}
            for segment, positions in segments_of(self.query_ids, by)
            for row in self.take(positions)._summary_rows(level, settings)
        ])

    def _summary_rows(self, level: float, settings: Any) -> list[dict[str, Any]]:
        counts = True if self.weights is None else self.weights > 0
        n_queries = {
            name: int(np.count_nonzero(counts & ~np.isnan(values)))
            for name, values in self.per_query.items()
        }
        return means_rows(self, self.confidence_interval(level, **settings), n_queries)

    def take(self, positions: np.ndarray) -> Evaluation:
        """Return an Evaluation of a subset of the queries.

        `positions` are their positions in `query_ids`, without duplicates, or a boolean mask.
        """
        return Evaluation(
            self.query_ids[positions],
            {name: values[positions] for name, values in self.per_query.items()},
            {name: flags[positions] for name, flags in self.undefined.items()},
            weights=None if self.weights is None else self.weights[positions],
            judged=None if self.judged is None
            else {name: shares[positions] for name, shares in self.judged.items()},
        )

    # Output --------------------------------------------------------------------------------------

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the per-query values, one row per query.

        The pandas.DataFrame has the column ``query_id``, one column per measure and, if queries are
        weighted, ``weight``.
        """
        weight = {} if self.weights is None else {"weight": self.weights}
        return tables.frame({"query_id": self.query_ids, **self.per_query, **weight})

    def to_markdown(self, per_query: bool = False) -> str:
        """Return the table of `summary` or, with `per_query`, of `to_frame` as Markdown text."""
        return tables.markdown(self._table(per_query))

    def to_latex(self, per_query: bool = False) -> str:
        """Return the table of `to_markdown` as LaTeX text, as in `Comparison.to_latex`."""
        return tables.latex(self._table(per_query))

    def _table(self, per_query: bool) -> Any:
        if not per_query:
            return self._summary_rows(LEVEL, {"rng": 0})
        query_ids = [str(query) for query in plain_list(self.query_ids)]  # text is not rounded
        weight = {} if self.weights is None else {"weight": self.weights}
        return {"query_id": query_ids, **self.per_query, **weight}

    def to_html(
        self, path: str | Path | None = None, *, title: str | None = None, by: Any = None
    ) -> str | None:
        """Write the report as a self-contained HTML page.

        Parameters
        ----------
        path, title
            As for `Summary.to_html`.
        by : array-like of shape (n_queries,), mapping or pandas Series, optional
            As for `summary`; adds a table of segments.
        """
        return self._write_page(path, title, by)

    def _page(self, title: str | None = None, by: Any = None) -> Any:
        from skgraded.writing.evaluation_page import EvaluationPage

        return EvaluationPage(
            title="Evaluation" if title is None else title, level=LEVEL,
            summary=self.summary(LEVEL),
            segments=None if by is None else self.summary(LEVEL, by),
            n_queries=len(self.query_ids), is_weighted=self.weights is not None,
            query_ids=self.query_ids, per_query=self.per_query, undefined=self.undefined,
            weights=self.weights,
            judged={name: float(mean) for name, (mean,) in mean_judged([self]).items()},
            lowest=self._ranked(next(iter(self.per_query)), best_first=False)[:N_WORST],
        )

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.mean().items())
        return f"{type(self).__name__}({len(self.query_ids)} queries: {means})"


def evaluated_name(measure: str | Measure | None, names: list[str]) -> str:
    """Return the name of an evaluated measure. If `measure` is None, return the first name."""
    if measure is None:
        return names[0]
    if isinstance(measure, str) and measure in names:
        return measure
    name = as_measure(measure).name
    if name not in names:
        known = ", ".join(names)
        raise ValueError(f"measure must be one of the evaluated measures {known}; got {name}.")
    return name


# Unjudged documents ------------------------------------------------------------------------------

def mean_judged(evaluations: Sequence[Evaluation]) -> dict[str, np.ndarray]:
    """Return each evaluation's mean share of judged documents, keyed by names like "Judged@10".

    The dict is empty if every document is judged, or if no name occurs in all evaluations.
    """
    return {
        name: np.array([
            mean_over_queries(values, evaluation.weights)
            for values, evaluation in zip(shares, evaluations, strict=True)
        ])
        for name, shares in _judged_shares(evaluations).items()
    }


def _judged_shares(evaluations: Sequence[Evaluation]) -> dict[str, list[np.ndarray]]:
    """Return one array of shares per evaluation; all shares are 1 if every document is judged."""
    known: list[Mapping[str, Any]] = [ev.judged for ev in evaluations if ev.judged is not None]
    return {
        name: [
            np.ones(len(ev.query_ids)) if ev.judged is None else ev.judged[name]
            for ev in evaluations
        ]
        for name in (known[0] if known else ()) if all(name in shares for shares in known)
    }


# Concatenation -----------------------------------------------------------------------------------

def _refuse_mismatch(i: int, part: Evaluation, first: Evaluation) -> None:
    if part.per_query.keys() != first.per_query.keys():
        raise ValueError(
            "All parts passed to concat must have the same measures: part 0 has "
            f"{', '.join(first.per_query)}, and part {i} has {', '.join(part.per_query)}."
        )
    if (part.weights is None) != (first.weights is None):
        weighted, unweighted = (0, i) if part.weights is None else (i, 0)
        raise ValueError(
            f"Part {weighted} passed to concat has weights, but part {unweighted} has none: "
            "evaluate either all parts or none of them with sample_weight."
        )


def _refuse_overlap(parts: Sequence[Evaluation]) -> None:
    seen: set[Any] = set()
    shared = []
    for part in parts:
        ids = plain_list(part.query_ids)
        shared += [query for query in ids if query in seen]
        seen.update(ids)
    if shared:
        named = ", ".join(map(repr, shared[:5])) + (", …" if len(shared) > 5 else "")
        raise ValueError(
            f"Parts passed to concat must not share queries; got {len(shared)} in several parts: "
            f"{named}. With group, queries are numbered from 0 in each part: use qid instead."
        )


def _joined_ids(arrays: list[np.ndarray]) -> np.ndarray:
    if len({array.dtype.kind for array in arrays}) == 1:
        return np.concatenate(arrays)
    # np.concatenate would convert ids to a common type, for example the integer 1 to 1.0.
    return object_array([query for array in arrays for query in plain_list(array)])
