"""The `Evaluation` and `CrossEvaluation` classes, which contain per-query measure values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from textwrap import shorten
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import (
    check_kind,
    check_names,
    check_weights,
    check_whole_number,
    column,
    make_object_array,
    plain,
    replace_masked,
    to_plain_list,
)
from skgraded._input.messages import suggest_name
from skgraded._input.queries import query_codes
from skgraded._input.segments import group_segments
from skgraded.measures import Measure, mean_over_queries
from skgraded.reports import pairing
from skgraded.reports.report import (
    LEVEL,
    Report,
    choose_evaluated_name,
    concatenate,
    describe_means,
    list_numbers,
    render_evaluation,
    tabulate_measures,
)
from skgraded.stats.intervals import ConfidenceInterval, Rng, check_settings, mean_interval
from skgraded.stats.rounding import subtract
from skgraded.writing import tables
from skgraded.writing.json_text import (
    VERSION,
    read_arrays,
    read_json_ids,
    write_arrays,
    write_json_ids,
)


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Report):
    """Per-query values of measures, returned by `evaluate`.

    The constructor also accepts lists and pandas Series. The index of a Series must contain the
    query ids, in any order, unless it is an unnamed RangeIndex or equals the index of the Series
    `query_ids`. In these two cases, the values must be in the order of `query_ids`. Means exclude
    queries whose value is nan. A ValueError is raised if the input is invalid.

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
    clusters : ndarray of shape (n_queries,) or None
        Cluster of each query; see `evaluate`.
    judged : dict of str to ndarray of shape (n_queries,), or None
        Share of judged documents among the first k, keyed by a name such as "Judged@10"; k is the
        cut-off of the first measure, or 10 if it has none. None if every document is judged.
    unanswered : ndarray of shape (n_queries,) of bool, or None
        Mask of the queries for which every score is -inf; None if there are none.
    unjudged_documents : str or None
        As passed to `evaluate`.
    n_duplicates : int
        Number of rows that `evaluate` dropped with ``duplicates="drop"``.

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

    Values computed elsewhere, such as revenue, can be compared too:

    >>> sg.Evaluation(["q1", "q2"], {"revenue": [12.5, 30]}).mean()
    {'revenue': 21.25}
    """

    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]
    undefined: dict[str, np.ndarray] = None  # type: ignore[assignment]  # set by __post_init__
    _: KW_ONLY
    weights: np.ndarray | None = None
    clusters: np.ndarray | None = None
    judged: dict[str, np.ndarray] | None = None
    unanswered: np.ndarray | None = None
    unjudged_documents: str | None = None
    n_duplicates: int = 0

    def __post_init__(self) -> None:
        ids = as_query_ids(self.query_ids)
        rows = ids, self.query_ids
        per_query = read_fields(self.per_query, "per_query", *rows)
        undefined = read_fields(
            {} if self.undefined is None else self.undefined, "undefined", *rows, bool
        )
        for name in undefined:
            if name not in per_query:
                near = suggest_name(name, per_query)
                raise ValueError(f"undefined contains {name!r}, which is not in per_query.{near}")
        weights = None if self.weights is None else read_field(self.weights, "weights", *rows)
        if weights is not None and len(ids):
            check_weights(
                weights, len(ids), "query_ids", name="weights", row_name=partial(name_query, ids)
            )
        clusters = in_query_order(self.clusters, "clusters", *rows)
        if clusters is not None:
            codes, distinct = query_codes(clusters, len(ids), "query_ids", "clusters")
            clusters = distinct[codes]
        vars(self).update(  # the dataclass is frozen
            query_ids=ids,
            per_query=per_query,
            undefined=dict.fromkeys(per_query, np.zeros(len(ids), dtype=bool)) | undefined,
            weights=weights,
            clusters=clusters,
            judged=None if self.judged is None else read_fields(self.judged, "judged", *rows),
            unanswered=None
            if self.unanswered is None
            else read_field(self.unanswered, "unanswered", *rows, bool),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what `to_json` writes, except package versions, as a dict."""
        return {
            "kind": type(self).__name__,
            "version": VERSION,
            **list_numbers(self),
            "query_ids": write_json_ids(self.query_ids),
            "per_query": write_arrays(self.per_query),
            "undefined": write_arrays(self.undefined),
            "weights": write_arrays(self.weights),
            "clusters": None if self.clusters is None else write_json_ids(self.clusters),
            "judged": write_arrays(self.judged),
            "unanswered": write_arrays(self.unanswered),
            "unjudged_documents": self.unjudged_documents,
            "n_duplicates": self.n_duplicates,
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> Self:
        """Create an Evaluation from the result of `to_dict`."""
        evaluation = cls(
            read_json_ids(written["query_ids"]),
            read_arrays(written["per_query"]),
            read_arrays(written["undefined"], bool),
            clusters=None if written["clusters"] is None else read_json_ids(written["clusters"]),
            judged=read_arrays(written["judged"]),
            unanswered=read_arrays(written["unanswered"], bool),
            unjudged_documents=written["unjudged_documents"],
            n_duplicates=written["n_duplicates"],
        )
        return replace_fields(evaluation, weights=read_arrays(written["weights"]))

    @property
    def n_queries(self) -> int:
        """Number of queries, including those without a value or with weight 0."""
        return len(self.query_ids)

    @property
    def n_defined(self) -> dict[str, int]:
        """Number of queries with a positive weight and a non-nan value, keyed by measure name.

        Undefined queries that count as 0 or 1 are included both here and in `n_undefined`.
        """
        is_counted = True if self.weights is None else self.weights > 0
        return {
            name: int(np.count_nonzero(is_counted & ~np.isnan(values)))
            for name, values in self.per_query.items()
        }

    @property
    def n_undefined(self) -> dict[str, int]:
        """Number of queries for which a measure is undefined, keyed by measure name."""
        return {name: int(flags.sum()) for name, flags in self.undefined.items()}

    @property
    def n_unanswered(self) -> int:
        """Number of queries for which nothing was retrieved."""
        return 0 if self.unanswered is None else int(self.unanswered.sum())

    def mean(self) -> dict[str, float]:
        """Return the mean over queries for each measure, as a dict keyed by measure name."""
        return {
            name: mean_over_queries(values, self.weights) for name, values in self.per_query.items()
        }

    def confidence_interval(
        self,
        level: float = 0.95,
        *,
        method: str = "t",
        n_resamples: int = 9999,
        rng: Rng = None,
    ) -> dict[str, ConfidenceInterval]:
        r"""Return a confidence interval for each measure's mean over the population of queries.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level.
        method : {"t", "bootstrap"}, default="t"
            "t" is Student's interval m ± t · s for n queries with values v and weights w, where
            m = Σ w v / Σ w and s² = n / (n - 1) Σ (w (v - m))² / (Σ w)². "bootstrap" is the
            bias-corrected and accelerated bootstrap (BCa) over queries [1]_, as in
            ``scipy.stats.bootstrap``, whose intervals are too short for few queries.
        n_resamples : int, default=9999
            Number of bootstrap resamples, at least 100.
        rng : int or numpy.random.Generator, optional
            Seed or random generator for the bootstrap.

        Returns
        -------
        dict of str to ConfidenceInterval
            Named tuples ``(low, high)`` keyed by measure name. Queries with value nan or weight 0
            are ignored. Both limits are nan for a single query.

        References
        ----------
        .. [1] Efron: Better bootstrap confidence intervals. JASA 82, 1987.

        Examples
        --------
        >>> import skgraded as sg
        >>> ev = sg.evaluate([1, 0, 0, 1, 0, 1], [2, 1, 2, 1, 2, 1], group=[2, 2, 2], measures="ap")
        >>> low, high = ev.confidence_interval(0.9)["AP"]
        >>> round(low, 2), round(high, 2)
        (0.18, 1.15)
        """
        level, method, n_resamples = check_settings(level, method, n_resamples, rng)
        cluster = pairing.number_clusters(self)
        if n_clusters := pairing.count_clusters(self):
            pairing.warn_of_few_clusters(n_clusters.values())
        return {
            name: mean_interval(values, self.weights, level, method, n_resamples, rng, cluster)
            for name, values in self.per_query.items()
        }

    @staticmethod
    def concat(parts: Iterable[Evaluation]) -> Evaluation:
        """Concatenate Evaluations of disjoint queries into a single Evaluation.

        The parts must have the same measures. Weights and clusters must each be present in
        all parts or in none.

        Examples
        --------
        >>> import skgraded as sg
        >>> monday = sg.evaluate([1, 0], [2, 1], qid=["a", "a"], measures="rr")
        >>> tuesday = sg.evaluate([1, 0], [1, 2], qid=["b", "b"], measures="rr")
        >>> sg.Evaluation.concat([monday, tuesday])
        Evaluation(2 queries: RR=0.7500)
        """
        parts = list(parts)
        for part in parts:
            check_kind(part, Evaluation, "Each part passed to concat")
        settings = [
            (set(p.per_query), p.unjudged_documents, p.weights is None, p.clusters is None)
            for p in parts
        ]
        if not parts or any(of_part != settings[0] for of_part in settings):
            raise ValueError(
                "concat requires at least one part. All parts must have the same measures and the "
                "same unjudged_documents. Weights and clusters must each be present in all parts or "
                "in none."
            )
        weights = [part.weights for part in parts if part.weights is not None]
        clusters = [part.clusters for part in parts if part.clusters is not None]
        unanswered = np.concatenate(
            [
                np.zeros(part.n_queries, dtype=bool) if part.unanswered is None else part.unanswered
                for part in parts
            ]
        )
        whole = Evaluation(
            _join_ids([part.query_ids for part in parts]),
            concatenate([part.per_query for part in parts]),
            concatenate([part.undefined for part in parts]),
            clusters=_join_ids(clusters) if clusters else None,
            judged={
                name: np.concatenate(shares) for name, shares in read_judged_shares(parts).items()
            }
            or None,
            unanswered=unanswered if unanswered.any() else None,
            unjudged_documents=parts[0].unjudged_documents,
            n_duplicates=sum(part.n_duplicates for part in parts),
        )
        return replace_fields(whole, weights=np.concatenate(weights) if weights else None)

    def minus(self, other: Evaluation) -> Evaluation:
        """Return an Evaluation of per-query differences: this Evaluation minus `other`.

        Queries are paired by id and remain in the order of this Evaluation; the weights are kept.
        A difference is undefined or nan if either value is. As in `compare`, the difference is 0 if
        the values are equal up to rounding errors.

        Parameters
        ----------
        other : Evaluation
            Must have the same queries, measures and weights.

        Examples
        --------
        >>> import skgraded as sg
        >>> first = sg.evaluate([1, 0, 0, 1], [2, 1, 2, 1], qid=list("aabb"), measures="rr")
        >>> second = sg.evaluate([1, 0, 0, 1], [1, 2, 2, 1], qid=list("aabb"), measures="rr")
        >>> first.minus(second).per_query["RR"]
        array([0.5, 0. ])
        """
        check_kind(other, Evaluation, "other")
        paired = pairing.pair_evaluations({"self": self, "other": other})
        differences = Evaluation(
            paired.query_ids,
            {name: subtract(*of_both) for name, of_both in paired.per_query.items()},
            {name: np.logical_or(*of_both) for name, of_both in paired.undefined.items()},
            clusters=None if self.clusters is None else self.clusters[paired.first],
        )
        in_this_order = np.argsort(paired.first)
        return replace_fields(differences, weights=paired.weights).take(in_this_order)

    # Looking closer ------------------------------------------------------------------------------

    def worst(self, n: int = 10, measure: str | Measure | None = None) -> tables.DataFrame:
        """Return the rows of `to_frame` with the lowest values, in ascending order.

        Undefined queries are excluded.

        Parameters
        ----------
        n : int, default=10
            Maximum number of rows.
        measure : Measure or str, optional
            The measure to sort by; by default, the first measure.
        """
        n, name = (
            check_whole_number(n, "n", 1),
            choose_evaluated_name(measure, list(self.per_query)),
        )
        values = self.per_query[name]
        defined = np.flatnonzero(~self.undefined[name] & ~np.isnan(values))
        lowest = defined[np.argsort(values[defined], kind="stable")[:n]]
        return self.to_frame().iloc[lowest]

    def summary(
        self,
        level: float = 0.95,
        by: ArrayLike | Mapping[Any, Any] | None = None,
        *,
        method: str = "t",
        n_resamples: int = 9999,
        rng: Rng = 0,
    ) -> tables.DataFrame:
        """Tabulate means and intervals, one row per measure and, if `by` is passed, per segment.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level of the intervals, between 0 and 1.
        by : array-like of shape (n_queries,), mapping or pandas Series, optional
            The segment of each query, in the order of `query_ids` or keyed by query id.
        method, n_resamples, rng
            As for `confidence_interval`, except that `rng` defaults to 0 for reproducibility.

        Returns
        -------
        pandas.DataFrame
            Columns ``segment`` (if `by` is set), ``measure``, ``mean``, ``ci_low``, ``ci_high``,
            ``method``, ``n_queries``, ``n_defined`` (queries in the mean), ``n_clusters`` (with
            clusters) and ``n_undefined``.

        Examples
        --------
        >>> import skgraded as sg
        >>> ev = sg.evaluate([1, 0, 0, 1, 0, 1], [2, 1] * 3, group=[2, 2, 2], measures="rr")
        >>> ev.summary(by=["head", "tail", "tail"])[["segment", "mean", "n_queries"]]
          segment  mean  n_queries
        0    head   1.0          1
        1    tail   0.5          2
        """
        parts: Any = [({}, self)]
        if by is not None:
            parts = [
                ({"segment": name}, self.take(positions))
                for name, positions in group_segments(self.query_ids, by)
            ]
        return tables.frame(
            [
                labels | row
                for labels, part in parts
                for row in tabulate_measures(
                    part,
                    part.confidence_interval(
                        level, method=method, n_resamples=n_resamples, rng=rng
                    ),
                    method,
                    pairing.count_clusters(part),
                )
            ]
        )

    def take(self, positions: ArrayLike) -> Self:
        """Return an Evaluation of the queries selected by their positions or by a boolean mask.

        Parameters
        ----------
        positions : array-like of int, or array-like of shape (n_queries,) of bool
            A Series of booleans is read by its index, as in the constructor.

        Examples
        --------
        >>> import pandas as pd, skgraded as sg
        >>> ev = sg.evaluate([1, 0, 0, 1], [2, 1, 2, 1], qid=list("bbaa"), measures="rr")
        >>> ev.take(pd.Series({"a": False, "b": True}))
        Evaluation(1 queries: RR=1.0000)
        """
        part = take_queries(self, self._positions(positions))
        as_query_ids(part.query_ids)  # positions may be repeated
        return part

    def _positions(self, positions: Any) -> np.ndarray:
        """Convert positions or a boolean mask to an array of positions."""
        if hasattr(positions, "iloc") and positions.dtype.kind == "b":
            positions = read_field(positions, "positions", self.query_ids, dtype=bool)
        return np.arange(self.n_queries)[positions]

    # Output --------------------------------------------------------------------------------------

    def to_frame(self) -> tables.DataFrame:
        """Tabulate the per-query values, one row per query.

        The pandas.DataFrame has the column ``query_id``, one column per measure and, if queries are
        weighted, ``weight``.
        """
        weight = {} if self.weights is None else {"weight": self.weights}
        return tables.frame({"query_id": self.query_ids, **self.per_query, **weight})

    def _shown(self) -> tables.DataFrame:
        return self.summary(LEVEL)

    def _page(self, title: str | None = None) -> str:
        return render_evaluation(
            title or type(self).__name__,
            {"summary": self.summary(LEVEL)},
            self,
            self.n_queries,
            self.weights is not None,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_queries} queries: {describe_means(self)})"


AnyEvaluation = TypeVar("AnyEvaluation", bound=Evaluation)


def replace_fields(evaluation: AnyEvaluation, **fields: Any) -> AnyEvaluation:
    """Return a copy with some fields replaced; the new values are not validated.

    Unlike in the constructor, all weights may be 0, for example in a subset of the queries.
    """
    changed = copy(evaluation)
    vars(changed).update(fields)
    return changed


FIELDS = ("query_ids", "per_query", "undefined", "weights", "clusters", "judged", "unanswered")


def refuse_clusters(evaluation: Evaluation, use: str) -> None:
    """Raise a ValueError if an Evaluation has clusters, saying that `use` does not support them."""
    if evaluation.clusters is not None:
        raise ValueError(
            f"{use} does not support clusters, so its intervals would be too narrow. Evaluate "
            "without clusters, or use Evaluation.confidence_interval() or skgraded.compare(), "
            "which support them."
        )


def take_queries(evaluation: AnyEvaluation, rows: np.ndarray | slice) -> AnyEvaluation:
    """Return an Evaluation of the queries at the given positions, which must be distinct."""
    fields: dict[str, Any] = {"n_duplicates": 0}
    for name in FIELDS:
        values = getattr(evaluation, name)
        if isinstance(values, dict):
            fields[name] = {key: array[rows] for key, array in values.items()}
        elif values is not None:
            fields[name] = values[rows]
    return replace_fields(evaluation, **fields)


def check_evaluations(evaluations: object, argument: str = "evaluations") -> None:
    """Raise an error unless `evaluations` maps at least two names to Evaluations."""
    if not isinstance(evaluations, Mapping) or len(evaluations) < 2:
        raise TypeError(
            f"{argument} must be a mapping of at least two names to Evaluations, such as "
            f"{{'bm25': ev1, 'lgbm': ev2}}; got {shorten(repr(evaluations), 80)}."
        )
    check_names(evaluations, argument)
    for name, evaluation in evaluations.items():
        check_kind(evaluation, Evaluation, f"Element {argument}[{name!r}]")


# Arrays of the constructor -----------------------------------------------------------------------


def as_query_ids(ids: Any) -> np.ndarray:
    """Check that ids are unique and not missing; convert strings to an object array."""
    is_kept = type(ids) is np.ndarray and ids.dtype.kind not in "US"
    if len(ids) == 0:
        return ids if is_kept else np.empty(0, dtype=object)
    # For ascending integers and distinct strings, these checks are faster than `query_codes`.
    if is_kept and ids.dtype.kind in "iu" and ids.ndim == 1 and (ids[1:] > ids[:-1]).all():
        return ids
    are_strings = is_kept and ids.dtype.kind == "O" and set(map(type, ids)) == {str}
    if are_strings and len(set(ids)) == len(ids):
        return ids
    codes, distinct = query_codes(ids, name="query_ids")
    if len(distinct) < len(codes):
        repeated = codes[np.argmax(codes != np.arange(len(codes)))]
        raise ValueError(
            f"query_ids contains {to_plain_list(distinct)[repeated]!r} more than once."
        )
    return ids if is_kept else distinct


def in_query_order(values: Any, name: str, query_ids: np.ndarray, source: Any = None) -> Any:
    """Reorder a pandas Series to match the query ids; return other values unchanged.

    The index must contain the query ids, unless it is an unnamed RangeIndex or equals the index of
    `source`, the Series from which the query ids were read.
    """
    if not hasattr(values, "iloc"):
        return values
    index = values.index
    is_default = type(index).__name__ == "RangeIndex" and index.name is None
    if is_default or hasattr(source, "iloc") and index.equals(source.index):
        return values
    advice = "If its values are in the order of query_ids, pass its array, series.to_numpy()."
    if not index.is_unique:
        label = index[index.duplicated()][0]
        raise ValueError(f"The index of {name} contains {plain(label)!r} more than once. {advice}")
    positions = index.get_indexer(query_ids)
    if (positions < 0).any():
        query = to_plain_list(query_ids[positions < 0])[0]
        raise ValueError(f"The index of {name} lacks the query id {query!r}. {advice}")
    return values.iloc[positions]


def read_field(
    values: ArrayLike,
    name: str,
    query_ids: np.ndarray,
    source: Any = None,
    dtype: type = float,
) -> np.ndarray:
    """Convert values to an array in query order; numbers must be finite or nan."""
    values = in_query_order(values, name, query_ids, source)
    try:
        array: np.ndarray = np.asarray(replace_masked(values), dtype=dtype)
    except (TypeError, ValueError):
        array = column(values, name)  # raises an error that reports the row and the value
    if array.shape != query_ids.shape:
        raise ValueError(
            f"{name} must have shape {query_ids.shape}, like query_ids; got {array.shape}."
        )
    if dtype is float and np.isinf(array).any():
        i = int(np.argmax(np.isinf(array)))
        raise ValueError(
            f"{name} must not be infinite; got {array[i]} for {name_query(query_ids, i)}."
        )
    return array


def name_query(query_ids: np.ndarray, i: int) -> str:
    """Return the name of a query in messages."""
    return f"query {to_plain_list(query_ids[[i]])[0]!r}"


def read_fields(
    fields: Mapping[str, ArrayLike],
    name: str,
    query_ids: np.ndarray,
    source: Any,
    dtype: type = float,
) -> dict[str, np.ndarray]:
    """Convert each value of a dict with `read_field`."""
    if not hasattr(fields, "items"):
        raise TypeError(
            f"{name} must be a dict of arrays keyed by measure name, such as {{'credit': values}}; "
            f"got {type(fields).__name__}."
        )
    return {
        key: read_field(values, f"{name}[{key!r}]", query_ids, source, dtype)
        for key, values in fields.items()
    }


# Unjudged documents ------------------------------------------------------------------------------


def mean_judged(evaluations: Sequence[Evaluation]) -> dict[str, np.ndarray]:
    """Return each evaluation's mean share of judged documents, keyed by names like "Judged@10".

    The dict is empty if every document is judged, or if the evaluations have no such name in
    common.
    """
    return {
        name: np.array(
            [
                mean_over_queries(values, evaluation.weights)
                for values, evaluation in zip(shares, evaluations, strict=True)
            ]
        )
        for name, shares in read_judged_shares(evaluations).items()
    }


def read_judged_shares(evaluations: Sequence[Evaluation]) -> dict[str, list[np.ndarray]]:
    """Return the share of judged documents for each query, as one array per evaluation.

    If all documents of an evaluation are judged, its shares are 1.
    """
    known: list[Mapping[str, Any]] = [ev.judged for ev in evaluations if ev.judged is not None]
    return {
        name: [
            np.ones(len(ev.query_ids)) if ev.judged is None else ev.judged[name]
            for ev in evaluations
        ]
        for name in (known[0] if known else ())
        if all(name in shares for shares in known)
    }


def _join_ids(arrays: list[np.ndarray]) -> np.ndarray:
    if len({array.dtype.kind for array in arrays}) == 1:
        return np.concatenate(arrays)
    # np.concatenate would convert ids to a common type, for example the integer 1 to 1.0.
    return make_object_array([query for array in arrays for query in to_plain_list(array)])


# Cross-validation --------------------------------------------------------------------------------


class FoldValues(NamedTuple):
    """Per-query results of all folds, with one element for each query in each test fold."""

    query: np.ndarray  # position of the query in `query_ids`
    fold: np.ndarray  # the fold in which the query was tested
    values: dict[str, np.ndarray]  # keyed by measure name


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CrossEvaluation(Evaluation):
    """Per-query values computed from out-of-fold scores, returned by `cross_evaluate`.

    Attributes
    ----------
    query_ids, per_query, undefined, weights
        As in `Evaluation`.
    fold : ndarray of shape (n_queries,) of int
        Index of the fold in which each query was tested.
    fit_time : ndarray of shape (n_folds,)
        Fit time of each fold in seconds; nan if the fit failed.
    score_time : ndarray of shape (n_folds,)
        Prediction time for the test queries in seconds; nan if the prediction failed.
    errors : list of (str or None), of length n_folds
        Error message for each fold; None if the fold did not fail.
    tests : FoldValues or None
        All tests, if any query was tested more than once. In this case, `per_query` contains the
        mean of each query's values, and `fold` contains the first fold of each query.
    estimators : list of (estimator or None), of length n_folds, or None
        Fitted clone for each fold, or None if the fold failed; None without `return_estimator`.

    Examples
    --------
    >>> import skgraded as sg
    >>> from sklearn.linear_model import Ridge
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    >>> cv = sg.cross_evaluate(Ridge(), X, y, qid=qid, measures=["ap", "rr"], cv=3)
    >>> cv.by_fold().columns.tolist()
    ['fold', 'n_queries', 'AP', 'RR', 'fit_time', 'score_time']
    """

    fold: np.ndarray
    fit_time: np.ndarray
    score_time: np.ndarray
    errors: list[str | None]
    tests: FoldValues | None = None
    estimators: list[Any] | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict what `to_json` writes, except package versions; omit the estimators."""
        return {
            **super().to_dict(),
            "fold": write_arrays(self.fold),
            "fit_time": write_arrays(self.fit_time),
            "score_time": write_arrays(self.score_time),
            "errors": self.errors,
            "tests": None if self.tests is None else write_arrays(self.tests._asdict()),
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> Self:
        """Create a CrossEvaluation from the result of `to_dict`."""
        tests, read_positions = written["tests"], partial(read_arrays, dtype=np.intp)
        evaluation = Evaluation.from_dict(written)
        cross_evaluation = cls(
            **vars(replace_fields(evaluation, weights=None)),
            fold=read_positions(written["fold"]),
            fit_time=read_arrays(written["fit_time"]),
            score_time=read_arrays(written["score_time"]),
            errors=written["errors"],
            tests=None
            if tests is None
            else FoldValues(
                read_positions(tests["query"]),
                read_positions(tests["fold"]),
                read_arrays(tests["values"]),
            ),
        )
        return replace_fields(cross_evaluation, weights=evaluation.weights)

    def take(self, positions: ArrayLike) -> Self:
        """Return a CrossEvaluation of the queries selected by positions or by a boolean mask."""
        part, rows, tests = super().take(positions), self._positions(positions), self.tests
        if tests is not None:
            new_position = np.full(len(self.query_ids), -1)
            new_position[rows] = np.arange(len(rows))
            query = new_position[tests.query]
            kept = query >= 0
            values = {name: array[kept] for name, array in tests.values.items()}
            tests = FoldValues(query[kept], tests.fold[kept], values)
        return replace_fields(part, fold=self.fold[rows], tests=tests)

    def by_fold(self) -> tables.DataFrame:
        """Tabulate the folds, one row per fold.

        The columns of the pandas.DataFrame are ``fold``, ``n_queries``, the mean of each measure,
        ``fit_time``, ``score_time`` and, if a fold failed, ``error``. The means of different folds
        are not independent, because the folds share most of their training data.
        """
        tests = self.tests or FoldValues(np.arange(self.n_queries), self.fold, self.per_query)
        weights = None if self.weights is None else self.weights[tests.query]
        folds = [np.flatnonzero(tests.fold == fold) for fold in range(len(self.fit_time))]
        columns = {
            "fold": range(len(folds)),
            "n_queries": list(map(len, folds)),
            **{
                name: [
                    mean_over_queries(values[rows], None if weights is None else weights[rows])
                    for rows in folds
                ]
                for name, values in tests.values.items()
            },
            "fit_time": self.fit_time,
            "score_time": self.score_time,
        }
        if any(self.errors):
            columns["error"] = [error or "" for error in self.errors]
        return tables.frame(columns)

    def to_frame(self) -> tables.DataFrame:
        """Tabulate the per-query values, with the ``fold`` of each query in the second column."""
        frame = super().to_frame()
        frame.insert(1, "fold", self.fold)
        return frame
