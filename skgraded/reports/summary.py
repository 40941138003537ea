"""`Summary` and `Summaries`, reports whose size is independent of the number of queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from itertools import combinations, pairwise
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from skgraded._input.door import check_kind, check_whole_number, make_object_array, number_validator
from skgraded._input.queries import make_sort_key
from skgraded._input.segments import Segments, refuse_too_many
from skgraded.measures import Measure
from skgraded.reports.comparing import Settings, compare_parts
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import Evaluation, check_evaluations, refuse_clusters
from skgraded.reports.pairing import Samples, pair_evaluations, refuse_unequal
from skgraded.reports.report import (
    LEVEL,
    Report,
    choose_evaluated_name,
    describe_means,
    list_numbers,
    render_evaluation,
    tabulate_measures,
)
from skgraded.reports.tallies import N_KEPT, Differences, Tally
from skgraded.stats.intervals import CHECK_LEVEL, ConfidenceInterval, compute_t_interval
from skgraded.stats.paired_tests import PairedSample
from skgraded.stats.rounding import Moments, sum_exactly
from skgraded.writing import tables
from skgraded.writing.json_text import VERSION, read_json_id, write_json_id

# Segments and labels -----------------------------------------------------------------------------

PLAIN = "by", "labels", "n_duplicates"  # fields stored unchanged in JSON


@dataclass(frozen=True, eq=False, kw_only=True)
class Mergeable(Report):
    """Base class for reports that can be merged if their queries are disjoint."""

    by: str | list[str] | None = None
    segments: dict[Any, Self] | None = None
    labels: list[str] = field(default_factory=list, compare=False)
    n_duplicates: int = field(default=0, compare=False)
    _rows: ClassVar[Callable[..., list[dict[str, Any]]]]  # the rows of `summary`
    _merged_with: ClassVar[Callable[..., Any]]

    def __post_init__(self) -> None:
        if self.segments is not None:
            ordered = sorted(self.segments.items(), key=lambda item: make_sort_key(item[0]))
            vars(self)["segments"] = Segments(ordered)  # the dataclass is frozen

    @classmethod
    def merge(cls, parts: Iterable[Self]) -> Self:
        """Merge reports; the result is bitwise equal to a single report on all queries.

        The caller must ensure that no two parts share a query. This is not checked, because a
        Summary does not store all its query ids. A ValueError is raised if the parts have different
        settings, or if two parts share a label.
        """
        parts = list(parts)
        if not parts:
            raise ValueError(f"merge received no parts: pass at least one {cls.__name__}.")
        check_summaries({f"part {i}": part for i, part in enumerate(parts)}, are_merged=True)
        return merge_in_order(parts)

    def summary(self, level: float = LEVEL) -> tables.DataFrame:
        """Tabulate means and their intervals at confidence level `level`.

        The pandas.DataFrame has one row per measure and, where applicable, per system and segment.
        The columns are ``system`` (for Summaries) and all columns of `Evaluation.summary`. If `by`
        is a list of names, columns with these names replace ``segment``.
        """
        return tables.frame(self._rows(level))

    def to_frame(self, level: float = LEVEL) -> tables.DataFrame:
        """Return the table from `summary`, with a ``label`` column if there are labels.

        If there are segments, the first rows describe all queries, and their segment is None. The
        label of a merged report consists of the first and the last label, as in "Monday to Friday".
        """
        rows = self._rows(level)
        names = list(rows[0])
        if self.segments is not None:
            rows = [*drop_segments(self)._rows(level), *rows]
        label = " to ".join(dict.fromkeys(self.labels[:1] + self.labels[-1:]))
        columns: dict[str, Any] = {name: [row.get(name) for row in rows] for name in names}
        for name in list_segment_names(self.by):  # not converted to floats
            columns[name] = make_object_array(columns[name])
        return tables.frame(({"label": [label] * len(rows)} if label else {}) | columns)

    def _shown(self) -> tables.DataFrame:
        """Return the table from `to_frame`, with "" instead of None in the rows for all queries."""
        return self.to_frame().fillna(dict.fromkeys(list_segment_names(self.by), ""))

    def _check_by(self, by: Any, name: str) -> None:
        """Raise a ValueError unless `by` equals the `by` attribute of this report."""
        if not isinstance(by, (str, list)) or by != self.by:
            raise ValueError(f"by must be {self.by!r}, the segment column of {name}; got {by!r}.")

    def _parts_to_dict(self) -> dict[str, Any]:
        """Return the fields of this class for `to_dict`."""
        segments = self.segments
        return {name: getattr(self, name) for name in PLAIN} | {
            "segments": None
            if segments is None
            else [
                {"segment": write_json_id(segment), **part.to_dict()}
                for segment, part in segments.items()
            ]
        }

    @classmethod
    def _parts_from_dict(cls, written: dict[str, Any]) -> dict[str, Any]:
        """Convert the result of `_parts_to_dict` to constructor arguments."""
        segments = written["segments"]
        return {name: written[name] for name in PLAIN} | {
            "segments": None
            if segments is None
            else {read_json_id(part["segment"]): cls.from_dict(part) for part in segments}
        }


def list_segment_names(by: str | list[str] | None) -> list[str]:
    """Return the names of the segment columns of a table."""
    return ["segment"] if isinstance(by, str) else by or []


def list_segment_cells(segment: Any, by: str | list[str] | None) -> dict[str, Any]:
    """Return the segment cells of a table row, keyed by column name."""
    values = segment if isinstance(by, list) else [segment] if by else []
    return dict(zip(list_segment_names(by), values, strict=True))


R = TypeVar("R", bound=Mergeable)


def add_label(report: R, label: str | None) -> R:
    """Return a copy whose only label is `label`, or the report itself if `label` is None."""
    if label is None:
        return report
    check_kind(label, str, "label")
    segments: Any = report.segments and {
        segment: add_label(part, label) for segment, part in report.segments.items()
    }
    return replace(report, segments=segments, labels=[label])


def merge_fields(first: R, second: R) -> dict[str, Any]:
    """Merge the fields that two reports inherit from `Mergeable`; return them as a dict."""
    segments: Any = first.segments and dict(first.segments)
    for name, part in (second.segments or {}).items():
        segments[name] = segments[name]._merged_with(part) if name in segments else part
    return {"by": first.by, "segments": segments} | {
        name: getattr(first, name) + getattr(second, name) for name in ("labels", "n_duplicates")
    }


def merge_in_order(parts: Iterable[R]) -> R:
    """Merge parts of one evaluation that have disjoint queries and the same settings."""
    return reduce(lambda whole, part: whole._merged_with(part), parts)


# All measures ------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class Summary(Mergeable):
    """A summary of an evaluation; its size does not depend on the number of queries.

    A Summary is returned by `evaluate_batches`, by ``evaluate`` in ``skgraded.dask`` and
    ``skgraded.spark``, and by `Summary.of`. For the same queries, these functions return
    bitwise equal Summaries.

    Attributes
    ----------
    n_queries : int
        Number of all queries.
    tallies : dict of str to Tally
        Summary of each measure's values: exact sums, a histogram, and the 20 queries with the
        lowest values.
    unjudged_documents : str or None
        As passed to the function that returned the Summary.
    is_weighted : bool
        Whether the queries have weights.
    unjudged : Fraction
        Sum over queries of the shares of unjudged documents; see `judged`.
    by : str, list of str or None
        Name of the column of segments, or of several columns.
    segments : dict of object to Summary, or None
        Summary of each segment, in ascending order of the segments; None without `by`. If `by` is a
        list, each segment is a tuple. Dates become
        ISO text, such as "2026-11-01"; ``segments[datetime.date(2026, 11, 1)]`` also works.
    labels : list of str
        Labels of the merged parts, such as days. Two Summaries with different labels can be equal.
    n_duplicates : int
        Number of rows dropped with ``duplicates="drop"``; ignored by ``==``, as are the labels.

    Examples
    --------
    >>> import skgraded as sg
    >>> monday = sg.evaluate([1, 0, 0, 1], [2, 1, 2, 1], qid=["a", "a", "b", "b"], measures="rr")
    >>> tuesday = sg.evaluate([1, 0], [2, 1], qid=["c", "c"], measures="rr")
    >>> summary = sg.Summary.merge([sg.Summary.of(monday), sg.Summary.of(tuesday)])
    >>> summary
    Summary(3 queries: RR=0.8333)
    >>> summary == sg.Summary.of(sg.Evaluation.concat([tuesday, monday]))
    True
    """

    n_queries: int
    tallies: dict[str, Tally]
    unjudged_documents: str | None = None
    is_weighted: bool = False
    unjudged: Fraction = Fraction(0)

    @classmethod
    def of(cls, evaluation: Evaluation, *, label: str | None = None) -> Summary:
        """Summarize an Evaluation; the optional `label` identifies it, for example by day."""
        check_kind(evaluation, Evaluation, "evaluation")
        refuse_clusters(evaluation, "Summary.of")
        unjudged = Fraction(0)
        if evaluation.judged is not None:
            shares = 1 - next(iter(evaluation.judged.values()))
            if evaluation.unanswered is not None:
                shares = np.where(evaluation.unanswered, 0.0, shares)
            unjudged = sum_exactly(np.nan_to_num(shares, nan=0.0))
        summary = cls(
            len(evaluation.query_ids),
            {name: Tally.of(evaluation, name) for name in evaluation.per_query},
            evaluation.unjudged_documents,
            evaluation.weights is not None,
            unjudged,
            n_duplicates=evaluation.n_duplicates,
        )
        return add_label(summary, label)

    def to_dict(self) -> dict[str, Any]:
        """Return what `to_json` writes, except package versions, as a dict."""
        return {
            "kind": "Summary",
            "version": VERSION,
            **list_numbers(self),
            "judged": self.judged if self.n_queries else None,
            "tallies": {name: tally.to_dict() for name, tally in self.tallies.items()},
            "unjudged_documents": self.unjudged_documents,
            "is_weighted": self.is_weighted,
            "unjudged": str(self.unjudged),
            **self._parts_to_dict(),
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> Self:
        """Create a Summary from the result of `to_dict`."""
        return cls(
            written["n_queries"],
            {
                name: Tally.from_dict(tally, at)
                for at, (name, tally) in enumerate(written["tallies"].items())
            },
            written["unjudged_documents"],
            written["is_weighted"],
            Fraction(written["unjudged"]),
            **cls._parts_from_dict(written),
        )

    def _merged_with(self, other: Summary) -> Summary:
        return Summary(
            self.n_queries + other.n_queries,
            {name: tally + other.tallies[name] for name, tally in self.tallies.items()},
            self.unjudged_documents,
            self.is_weighted,
            self.unjudged + other.unjudged,
            **merge_fields(self, other),
        )

    @property
    def judged(self) -> float:
        """Unweighted mean share of judged documents among the first k documents of each query.

        As in `Evaluation`, k is the cut-off of the first measure, or 10 if it has none. A query
        without retrieved documents has a share of 1.
        """
        return 1 - float(self.unjudged / self.n_queries) if self.n_queries else math.nan

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        return list(self.tallies)

    @property
    def n_defined(self) -> dict[str, int]:
        """Number of queries included in the mean of each measure; see `Evaluation.n_defined`."""
        return {name: tally.moments.n for name, tally in self.tallies.items()}

    @property
    def n_undefined(self) -> dict[str, int]:
        """Number of queries for which a measure is undefined, keyed by measure name."""
        return {name: tally.n_undefined for name, tally in self.tallies.items()}

    def mean(self) -> dict[str, float]:
        """Return the mean over queries for each measure, computed exactly and rounded once."""
        return {name: tally.moments.mean for name, tally in self.tallies.items()}

    def confidence_interval(self, level: float = 0.95) -> dict[str, ConfidenceInterval]:
        """Return Student's t interval for each mean; `level` is between 0 and 1.

        The intervals equal those from `Evaluation.confidence_interval` for the same queries.
        """
        level = CHECK_LEVEL(level)
        return {
            name: compute_t_interval(tally.moments, level) for name, tally in self.tallies.items()
        }

    def quantile(self, q: float) -> dict[str, float]:
        """Return a quantile of the per-query values of each measure, keyed by measure name.

        Quantiles are computed as in ``numpy.quantile``, over the queries included in the mean. For
        q=0, the lowest value is returned, and for q=1, the highest. Weights are ignored. The error
        is at most 0.001 for values up to 64, and at most 0.004 % of larger values, such as DCG.
        """
        q = number_validator("q", 0, 1)(q)
        return {name: tally.quantile(q) for name, tally in self.tallies.items()}

    def worst(self, n: int = 10, measure: str | Measure | None = None) -> tables.DataFrame:
        """Return the queries with the lowest values, in ascending order; see `Evaluation.worst`.

        A Summary stores 20 queries per measure; a ValueError is raised if `n` is larger and more
        than 20 queries have a value. Queries with equal values are sorted by id. Each query appears
        only once, even if it is in several merged parts.
        """
        tally = self.tallies[choose_evaluated_name(measure, self.measures)]
        n, n_stored = check_whole_number(n, "n", 1), len(tally.worst)
        if n > n_stored == N_KEPT < self.n_queries - tally.n_undefined:
            raise ValueError(
                f"n must be at most {N_KEPT}, because a Summary stores only the {N_KEPT} queries "
                f"with the lowest values of each measure; got {n}."
            )
        ids, columns = self._columns(dict(tally.worst[:n]))
        return tables.frame({"query_id": ids.tolist(), **columns})

    def _columns(
        self, rows: Mapping[Any, tuple[float | None, ...]]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Convert per-query rows to an array of ids and a dict of arrays keyed by measure name."""
        values = np.array(list(rows.values()), dtype=float).reshape(len(rows), len(self.tallies))
        return make_object_array(list(rows)), {
            name: values[:, i] for i, name in enumerate(self.tallies)
        }

    # Output --------------------------------------------------------------------------------------

    def _rows(self, level: float) -> list[dict[str, Any]]:
        if self.segments is None:
            return tabulate_measures(self, self.confidence_interval(level))
        return [
            list_segment_cells(segment, self.by) | row
            for segment, part in self.segments.items()
            for row in part._rows(level)
        ]

    def _page(self, title: str | None = None) -> str:
        frames = {"summary": drop_segments(self).summary()}
        if self.segments is not None:
            frames["segments"] = tables.frame(
                [
                    {"segment": segment, **row}
                    for segment, part in self.segments.items()
                    for row in part._rows(LEVEL)
                ]
            )
        worst = {query: row for tally in self.tallies.values() for query, row in tally.worst}
        queries, is_weighted = Evaluation(*self._columns(worst)), has_unequal_weights(self)
        return render_evaluation(title or "Summary", frames, queries, self.n_queries, is_weighted)

    def __repr__(self) -> str:
        n_segments = "" if self.segments is None else f" in {len(self.segments)} segments"
        return f"Summary({self.n_queries} queries{n_segments}: {describe_means(self)})"


# Several systems ---------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class Summaries(Mergeable, Samples):
    """Summaries of several systems on the same queries, and of their pairwise differences.

    Summaries are returned by `Summaries.of` and, if `y_score` is a list of columns, by all
    functions that otherwise return a `Summary`. ``summaries["bm25"]`` is the Summary of one system.
    Summaries can be passed to `compare`.

    Attributes
    ----------
    systems : dict of str to Summary
        Summaries keyed by system name.
    differences : dict of (str, str) to dict of str to Differences
        Differences keyed by pair of systems, in the order of `systems`, then by measure name.
    by, segments, labels
        As in `Summary`; the segments are Summaries.

    Examples
    --------
    >>> import pandas as pd
    >>> import skgraded as sg
    >>> day = pd.DataFrame({"grade": [1, 0, 0, 1, 0, 1], "query": list("aabbcc"),
    ...                     "bm25": [1, 2, 2, 1, 1, 2], "lgbm": [2, 1, 1, 2, 1, 2]})
    >>> summaries = sg.evaluate_batches([day], "grade", ["bm25", "lgbm"], "query", measures="rr")
    >>> summaries["lgbm"]
    Summary(3 queries: RR=1.0000)
    >>> sg.compare(summaries, baseline="bm25")
    Comparison(3 queries: bm25, lgbm by RR)
    """

    systems: dict[str, Summary]
    differences: dict[tuple[str, str], dict[str, Differences]]

    def __post_init__(self) -> None:
        super().__post_init__()
        # Each Summary has the segments of its system and the labels of all systems.
        vars(self)["systems"] = {
            name: replace(
                summary,
                by=self.by,
                labels=self.labels,
                n_duplicates=self.n_duplicates,
                segments=None
                if self.segments is None
                else {segment: part.systems[name] for segment, part in self.segments.items()},
            )
            for name, summary in self.systems.items()
        }

    def __getitem__(self, system: str) -> Summary:
        return self.systems[system]

    def __iter__(self) -> Iterator[str]:
        return iter(self.systems)

    @classmethod
    def of(cls, evaluations: Mapping[str, Evaluation], *, label: str | None = None) -> Summaries:
        """Summarize a mapping of system names to Evaluations of the same queries."""
        check_evaluations(evaluations)
        paired, names = pair_evaluations(evaluations), list(evaluations)
        differences = {
            (names[i], names[j]): {
                measure: Differences.of(values[i], values[j], paired.weights)
                for measure, values in paired.per_query.items()
            }
            for i, j in combinations(range(len(names)), 2)
        }
        systems = {name: Summary.of(ev) for name, ev in evaluations.items()}
        return add_label(cls(systems, differences), label)

    def to_dict(self) -> dict[str, Any]:
        """Return what `to_json` writes, except package versions, as a dict."""
        systems = {name: drop_segments(summary).to_dict() for name, summary in self.systems.items()}
        return {
            "kind": "Summaries",
            "version": VERSION,
            "n_queries": self.n_queries,
            **{
                key: {name: summary[key] for name, summary in systems.items()}
                for key in ("mean", "n_defined", "n_undefined", "judged")
            },
            "systems": systems,
            "differences": [
                {
                    "first": first,
                    "second": second,
                    "measures": {name: part.to_dict() for name, part in by_measure.items()},
                }
                for (first, second), by_measure in self.differences.items()
            ],
            **self._parts_to_dict(),
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> Self:
        """Create Summaries from the result of `to_dict`."""
        return cls(
            {name: Summary.from_dict(part) for name, part in written["systems"].items()},
            {
                (pair["first"], pair["second"]): {
                    name: Differences.from_dict(part) for name, part in pair["measures"].items()
                }
                for pair in written["differences"]
            },
            **cls._parts_from_dict(written),
        )

    def _merged_with(self, other: Summaries) -> Summaries:
        return Summaries(
            {
                name: merge_in_order(map(drop_segments, (summary, other.systems[name])))
                for name, summary in self.systems.items()
            },
            {
                pair: {
                    name: part + other.differences[pair][name] for name, part in by_measure.items()
                }
                for pair, by_measure in self.differences.items()
            },
            **merge_fields(self, other),
        )

    @property
    def n_queries(self) -> int:
        """Number of queries, including those without a value or with weight 0."""
        return next(iter(self.systems.values())).n_queries

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        return list(next(iter(self.systems.values())).tallies)

    def _rows(self, level: float) -> list[dict[str, Any]]:
        return [
            {"system": name, **row}
            for name, summary in self.systems.items()
            for row in summary._rows(level)
        ]

    def _compare(self, settings: Settings, by: Any = None) -> Comparison:
        """Compare the systems overall or within each segment; `settings` must be validated."""
        parts: dict[Any, Summaries] = {None: self}
        if by is not None:
            self._check_by(by, "the Summaries")
            parts = self.segments or {}
            refuse_too_many(list(parts))
        moments = [
            differences.moments
            for by_measure in self.differences.values()
            for differences in by_measure.values()
        ]
        if settings.test is not None:
            refuse_unequal_weights(
                moments,
                "Pass test=None to get weighted means and intervals without tests, or "
                "evaluate without sample_weight.",
            )
        return compare_parts(
            parts,
            list(self.systems),
            self.measures,
            settings,
            n_queries=self.n_queries,
            is_weighted=any(part.has_unequal_weights for part in moments),
        )

    def _summarize_pair(self, system: str, baseline: str, measure: str) -> PairedSample:
        """Summarize the differences between two systems."""
        if (baseline, system) in self.differences:
            return self.differences[baseline, system][measure].sample()
        return (-self.differences[system, baseline][measure]).sample()

    def _estimate_means(self, measure: str) -> list[tuple[str, float, Moments, bool]]:
        """Return the name, mean and moments of each system, and whether it has missing values."""
        moments = {name: part.tallies[measure].moments for name, part in self.systems.items()}
        is_lacking = dict.fromkeys(moments, False)
        for pair, differences in self.differences.items():
            n_shared = differences[measure].moments.n
            for system, other in (pair, pair[::-1]):
                is_lacking[system] |= moments[other].n > n_shared
        return [(name, part.mean, part, is_lacking[name]) for name, part in moments.items()]

    def _page(self, title: str | None = None) -> str:
        return self._compare(Settings(level=LEVEL))._page(title)

    def __repr__(self) -> str:
        systems = "; ".join(
            f"{name}: {describe_means(summary)}" for name, summary in self.systems.items()
        )
        return f"Summaries({self.n_queries} queries: {systems})"


# Several Summaries -------------------------------------------------------------------------------


def list_systems(report: Any) -> dict[Any, Summary]:
    """Return the Summaries keyed by system; for a single Summary, the only key is None."""
    return {None: report} if isinstance(report, Summary) else report.systems


def check_summaries(reports: Mapping[str, Any], are_merged: bool = False) -> None:
    """Raise an error unless the reports have the same settings and distinct labels.

    Reports to be merged must have the same `by`, and either all or none must have weights. If
    reports are only compared, a report whose weights are all equal counts as unweighted.
    """
    name_of_label: dict[str, str] = {}
    for name, report in reports.items():
        if not isinstance(report, Mergeable):
            raise TypeError(
                f"{name} must be a Summary; got {type(report).__name__}. Pass "
                "Summary.of(evaluation)."
            )
        for label in report.labels:
            if label in name_of_label:
                raise ValueError(
                    f"{name_of_label[label]} and {name} both have the label {label!r}: pass "
                    "each Summary only once, and only Summaries of different queries."
                )
            name_of_label[label] = name
    parts = {name: [*list_systems(report).values()][0] for name, report in reports.items()}
    counted = {name: part for name, part in parts.items() if part.n_queries}
    settings: dict[str, Mapping[str, object]] = {
        "systems": {name: list(list_systems(report)) for name, report in reports.items()},
        "measures": {name: part.measures for name, part in parts.items()},
        "by": {name: part.by for name, part in parts.items() if are_merged},
        "unjudged_documents": {name: part.unjudged_documents for name, part in counted.items()},
        "sample_weight": {
            name: "weights"
            if part.is_weighted and (are_merged or has_unequal_weights(part))
            else "no weights"
            for name, part in counted.items()
        },
    }
    for setting, values in settings.items():
        for (first_name, first), (name, value) in pairwise(values.items()):
            if first != value:
                raise ValueError(
                    f"All Summaries must have the same {setting}, but {first_name} has {first!r}, "
                    f"and {name} has {value!r}."
                )


def has_unequal_weights(summary: Summary) -> bool:
    """Return whether at least two queries of a Summary have different weights."""
    return any(tally.moments.has_unequal_weights for tally in summary.tallies.values())


def refuse_unequal_weights(moments: Iterable[Moments], advice: str) -> None:
    """Raise a ValueError if positive weights are unequal, because tests ignore weights."""
    for part in moments:
        if part.n:
            refuse_unequal(np.array([part.lightest, part.heaviest]), advice)


def drop_segments(summary: R) -> R:
    """Return a copy of the report without segments and labels."""
    return replace(summary, by=None, segments=None, labels=[])
