"""Comparisons between Summaries of different queries, for two periods or many days."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.columns import whole_number
from skgraded._input.segments import refuse_too_many
from skgraded._input.words import counted
from skgraded.measures import Measure
from skgraded.reports import comparison_rows
from skgraded.reports.comparison import margins_of
from skgraded.reports.comparison_rows import check_numbers, columns_of, rows_form
from skgraded.reports.evaluation import LEVEL
from skgraded.reports.pairing import refuse_other_settings
from skgraded.reports.report import Report, evaluated_name
from skgraded.reports.summary import Summary, overall_rows, refuse_unequal_weights
from skgraded.stats.corrections import CORRECTIONS, widen_to_zero
from skgraded.stats.intervals import CHECK_LEVEL
from skgraded.stats.rounding import are_equal
from skgraded.stats.welch import GroupMean, gap_of, welch_interval, welch_p_value
from skgraded.writing import sentences, tables
from skgraded.writing.text import percent_text

if TYPE_CHECKING:
    import pandas

# Three standard deviations, in units of the mean moving range of two values: 3 / d₂(2).
LIMIT_FACTOR = 3 * math.sqrt(math.pi) / 2

PERIOD_CORRECTIONS = [name for name in CORRECTIONS if name != "hsd"]

# Two periods -------------------------------------------------------------------------------------

@dataclass(frozen=True)
class PeriodRow:
    """The change in the mean of one measure; see `compare_periods`."""

    segment: Any  # None without segments
    measure: str
    before: float
    after: float
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    p_adjusted: float
    smallest: float
    n_before: int
    n_after: int

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.smallest <= 0:
            raise ValueError(f"smallest of {self} must be above 0; got {self.smallest!r}.")


@dataclass(frozen=True, repr=False, eq=False)
class PeriodComparison(Report):
    """Changes in means between two periods, returned by `compare_periods`.

    Attributes
    ----------
    before, after : str
        Names of the periods: their labels, or "before" and "after".
    rows : list of PeriodRow
    correction, level
        As passed to `compare_periods`.
    """

    before: str
    after: str
    rows: list[PeriodRow]
    correction: str | None
    level: float

    _json = {"rows": rows_form(PeriodRow)}

    def __post_init__(self) -> None:
        CHECK_LEVEL(self.level)
        comparison_rows.check_choice("correction", self.correction, PERIOD_CORRECTIONS)
        segments = list(dict.fromkeys(row.segment for row in self.rows))
        measures = list(dict.fromkeys(row.measure for row in self.rows))
        keys = [(row.segment, row.measure) for row in self.rows]
        if not keys or keys != list(product(segments, measures)) or (
            None in segments and len(segments) > 1
        ):
            raise ValueError("rows must contain each measure once or, in order, once per segment.")

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the changes; the columns are described in `compare_periods`."""
        columns = columns_of(PeriodRow, self.rows)
        if self.rows[0].segment is None:
            del columns["segment"]
        if math.isnan(self.rows[0].smallest):
            del columns["smallest"]
        return tables.frame(columns)

    def sentences(self) -> list[str]:
        """Describe each change in a sentence.

        With `smallest`, a change matters if its whole interval is above smallest or below
        -smallest. It does not matter if the whole interval is between -smallest and smallest.
        Otherwise, the result is inconclusive.
        """
        families = comparison_rows.families_by_measure(self.correction, self.rows)
        names = self.before, self.after
        return [
            sentences.period_sentence(row, names, self.level, families[row.measure])
            for row in self.rows
        ]

    def _page(self, title: str | None = None) -> Any:
        from skgraded.writing.table_page import TablePage

        families = comparison_rows.families_by_measure(self.correction, self.rows)
        said = families[self.rows[0].measure].text
        return TablePage(
            f"Changes from {self.before} to {self.after}" if title is None else title,
            f"{percent_text(self.level)} intervals; Welch's t-test{said}.",
            self.to_frame(), self.sentences(),
        )

    def __repr__(self) -> str:
        rows = "; ".join(
            f"{row.measure}: {row.difference:+.4f}, p={row.p_adjusted:.3g}" for row in self.rows
        )
        return f"PeriodComparison({self.before} to {self.after}: {rows})"


def compare_periods(
    before: Summary, after: Summary, smallest: float | Mapping[str | Measure, float] | None = None,
    *, by: str | None = None, correction: str | None = "holm", level: float = 0.95,
) -> PeriodComparison:
    """Compare the means of two Summaries of different queries, such as two days.

    The queries of the two periods are treated as independent samples.

    Parameters
    ----------
    before, after : Summary
        Summaries with the same measures.
    smallest : float, or mapping of measures to floats, optional
        The smallest difference that matters, above 0; `PeriodComparison.sentences` then reports
        whether a change matters.
    by : str, optional
        Attribute `by` of both Summaries. If passed, each segment that occurs in both periods is
        compared.
    correction, level
        As for `compare`, without "hsd".

    Returns
    -------
    PeriodComparison
        The result of `to_frame` has the columns

        - ``segment`` (with `by`), ``measure``,
        - ``before``, ``after``: means of the two periods,
        - ``difference``: ``after`` minus ``before``,
        - ``ci_low``, ``ci_high``: Welch's t interval; with a correction it is wider, as in
          `compare`,
        - ``p_value``, ``p_adjusted``: p-values of Welch's t-test
          (``scipy.stats.ttest_ind(…, equal_var=False)``) before and after the correction; nan if a
          period has fewer than two queries with a value,
        - ``smallest`` (if passed),
        - ``n_before``, ``n_after``: number of queries included in each mean.

    Raises
    ------
    ValueError, TypeError
        If the Summaries have different measures, share a label, have no segments in common, or have
        queries with unequal weights: with few heavy queries, Welch's test rejects too often.

    Examples
    --------
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=400, random_state=0)
    >>> monday, tuesday = (
    ...     sg.Summary.of(sg.evaluate(y[part], X[part, i], qid=qid[part], measures="rr"), label=day)
    ...     for day, part, i in [("Monday", qid < 200, 0), ("Tuesday", qid >= 200, 1)])
    >>> periods = sg.compare_periods(monday, tuesday, smallest=0.01)
    >>> periods.sentences()[0].split(":")[0]
    'RR rose by more than 0.01 from Monday to Tuesday'
    """
    _check_summaries({"before": before, "after": after})
    CHECK_LEVEL(level)
    comparison_rows.check_choice("correction", correction, PERIOD_CORRECTIONS)
    smallest_of = {} if smallest is None else margins_of(smallest, before.measures, "smallest")
    cases = [
        (segment, measure, parts)
        for segment, parts in _paired_segments(before, after, by).items()
        for measure in before.measures
    ]
    moments = [[part.tallies[measure].moments for part in parts] for _, measure, parts in cases]
    refuse_unequal_weights(
        chain(*moments), "Evaluate both periods without sample_weight; trend tabulates weighted "
        "means without tests."
    )
    groups = [[GroupMean.of_moments(part) for part in parts] for parts in moments]
    p_values = np.array([welch_p_value(late, early) for early, late in groups])
    adjusted, levels = comparison_rows.corrected_p_values(
        p_values, correction, level, [list(range(len(cases)))]
    )
    rows = []
    for (segment, measure, _), (early, late), p, p_adjusted, row_level in zip(
        cases, groups, p_values.tolist(), adjusted, levels, strict=True
    ):
        low, high = widen_to_zero(welch_interval(late, early, row_level), p_adjusted, level)
        rows.append(PeriodRow(
            segment, measure, early.mean, late.mean, gap_of(late, early), low, high, p,
            p_adjusted, smallest_of.get(measure, math.nan), early.n, late.n,
        ))
    names = _name_of(before, "before"), _name_of(after, "after")
    return PeriodComparison(*names, rows, correction, level)


def _check_summaries(summaries: Mapping[str, Any]) -> None:
    """Raise an error unless all are Summaries with the same measures and different labels."""
    first: Any = next(iter(summaries.values()), None)
    name_of_label: dict[str, str] = {}
    for name, summary in summaries.items():
        if not isinstance(summary, Summary):
            kind = type(summary).__name__
            raise TypeError(f"{name} must be a Summary; got {kind}. Pass Summary.of(…).")
        if summary.measures != first.measures:
            raise ValueError(
                f"All Summaries must have the same measures; got {first.measures} and, for "
                f"{name}, {summary.measures}."
            )
        for label in summary.labels:
            if label in name_of_label:
                raise ValueError(
                    f"{name_of_label[label]} and {name} both have the label {label!r}: pass "
                    "Summaries of different periods."
                )
            name_of_label[label] = name
    refuse_other_settings(summaries, may_have_weights=True)


def _paired_segments(before: Any, after: Any, by: str | None) -> dict[Any, tuple[Any, Any]]:
    """Return pairs of Summaries keyed by segment; without `by`, the only key is None."""
    if by is None:
        return {None: (before, after)}
    for name, summary in (("before", before), ("after", after)):
        if summary.by != by:
            raise ValueError(f"by must be {summary.by!r}, as in the Summary {name!r}; got {by!r}.")
    shared = [segment for segment in before.segments if segment in after.segments]
    if not shared:
        raise ValueError("The Summaries have no segment in common.")
    refuse_too_many(shared)
    return {segment: (before.segments[segment], after.segments[segment]) for segment in shared}


def _name_of(summary: Any, default: str) -> str:
    return summary.labels[0] if len(summary.labels) == 1 else default


# Many days ---------------------------------------------------------------------------------------

@dataclass(frozen=True)
class TrendRow:
    """The mean of one measure on one day, with the limits of the chart; see `trend`."""

    label: str
    measure: str
    mean: float
    ci_low: float
    ci_high: float
    n_queries: int
    center: float
    lower: float
    upper: float
    is_outside: bool

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.is_outside != _is_outside(self.mean, self.lower, self.upper):
            raise ValueError(f"is_outside of {self} does not match its mean and limits.")


@dataclass(frozen=True, repr=False, eq=False)
class Trend(Report):
    """The mean for each of many days, with the limits of individuals charts, returned by `trend`.

    Attributes
    ----------
    labels, measures : list of str
    rows : list of TrendRow
        One row per label and measure, in the order of `labels`.
    season, level
        As passed to `trend`.
    """

    labels: list[str]
    measures: list[str]
    rows: list[TrendRow]
    season: int | None
    level: float

    _json = {"rows": rows_form(TrendRow)}

    def __post_init__(self) -> None:
        CHECK_LEVEL(self.level)
        if self.season is not None:
            whole_number(self.season, "season", 2)
        keys = [(row.label, row.measure) for row in self.rows]
        expected = [(label, measure) for label in self.labels for measure in self.measures]
        if not keys or keys != expected or len(set(keys)) < len(keys):
            raise ValueError(
                "rows must contain each of the labels with each of the measures once, in order."
            )

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the trend; the columns are described in `trend`."""
        return tables.frame(columns_of(TrendRow, self.rows))

    def _page(self, title: str | None = None) -> Any:
        from skgraded.writing.table_page import TablePage

        n_outside = sum(row.is_outside for row in self.rows)
        season = "" if self.season is None else f"; seasons of {self.season} labels"
        return TablePage(
            "Trend" if title is None else title,
            f"{counted(len(self.labels), 'label', 'labels')}, {self.labels[0]} to "
            f"{self.labels[-1]}{season}; {percent_text(self.level)} intervals of the means; "
            f"{counted(n_outside, 'mean', 'means')} outside the limits.",
            self.to_frame(),
        )

    def __repr__(self) -> str:
        n_outside = sum(row.is_outside for row in self.rows)
        return (
            f"Trend({len(self.labels)} labels, {self.labels[0]} to {self.labels[-1]}: "
            f"{', '.join(self.measures)}; {n_outside} means outside the limits)"
        )


def _is_outside(mean: float, lower: float, upper: float) -> bool:
    is_beyond = mean < lower or mean > upper
    return is_beyond and not (are_equal(mean, lower) or are_equal(mean, upper))


def rows_of_measure(trend: Trend, measure: str | Measure | None = None) -> list[TrendRow]:
    """Return the rows of one measure; the default is the first measure."""
    name = evaluated_name(measure, trend.measures)
    return [row for row in trend.rows if row.measure == name]


def trend(
    summaries: Iterable[Summary], *, season: int | None = None, level: float = LEVEL
) -> Trend:
    r"""Tabulate the means of labeled Summaries with the limits of individuals (XmR) charts.

    A mean outside the limits differs from the center by more than the usual variation between days.

    Parameters
    ----------
    summaries : iterable of Summary
        Summaries in chronological order, each with exactly one label and all with the same
        measures.
    season : int, optional
        Number of labels per season. With 7, each day is compared with the mean of the same
        weekday; labels must then be consecutive days. Requires at least two seasons.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Trend
        The result of `to_frame` has one row per label and measure, with the columns

        - ``label``, ``measure``,
        - ``mean``, ``ci_low``, ``ci_high``, ``n_queries``: as in `Summary.summary`,
        - ``center``: mean over all labels or, with `season`, over the labels at the
          same position in the season,
        - ``lower``, ``upper``: limits of the chart,
        - ``is_outside``: whether ``mean`` is outside the limits.

    Raises
    ------
    ValueError, TypeError
        If labels are missing or repeated, if measures differ, or if there are too few Summaries.

    Notes
    -----
    The limits are center ± 2.66 · MR, where MR is the mean of the moving ranges \|x_i - x_{i-1}\|.
    The values x are the means or, with `season`, the differences between the means and their
    centers. 2.66 is 3 / d₂, where d₂ = 1.128 is the expected range of two standard normal values
    (Wheeler and Chambers 1992, chapter 3). Moving ranges include the variation between days, which
    the intervals of the means do not.

    References
    ----------
    Wheeler, Chambers: Understanding statistical process control. SPC Press, 1992.

    Examples
    --------
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=400, random_state=0)
    >>> days = [
    ...     sg.Summary.of(
    ...         sg.evaluate(y[qid % 4 == i], X[qid % 4 == i, 0], qid=qid[qid % 4 == i]),
    ...         label=f"2026-11-0{i + 1}")
    ...     for i in range(4)]
    >>> sg.trend(days)
    Trend(4 labels, 2026-11-01 to 2026-11-04: NDCNG@10, MuAP; 0 means outside the limits)
    """
    CHECK_LEVEL(level)
    summaries = list(summaries)
    _check_summaries({f"summaries[{i}]": summary for i, summary in enumerate(summaries)})
    for i, summary in enumerate(summaries):
        if len(summary.labels) != 1:
            raise ValueError(
                f"Each Summary must have exactly one label; summaries[{i}] has the labels "
                f"{summary.labels}. Pass label= when evaluating."
            )
    labels = [summary.labels[0] for summary in summaries]
    if season is not None:
        whole_number(season, "season", 2)
    if len(labels) < 2 * (season or 1):
        raise ValueError(
            f"A trend requires at least {2 * (season or 1)} Summaries; got {len(labels)}."
        )
    measures = summaries[0].measures
    charts = {
        measure: _limits(np.array([part.mean()[measure] for part in summaries]), season or 1)
        for measure in measures
    }
    rows = [
        TrendRow(
            label, row["measure"], row["mean"], row["ci_low"], row["ci_high"], row["n_queries"],
            center, lower, upper,
            is_outside=_is_outside(row["mean"], lower, upper),
        )
        for i, (label, part) in enumerate(zip(labels, summaries, strict=True))
        for row in overall_rows(part, level)
        for center, lower, upper in [charts[row["measure"]][i].tolist()]
    ]
    return Trend(labels, measures, rows, season, level)


def _limits(means: np.ndarray, season: int) -> np.ndarray:
    """Return the center, lower and upper limit for each mean, of shape (n, 3), ignoring nan."""
    centers = np.empty(len(means))
    for day in range(season):
        same_day = means[day::season]
        known = same_day[~np.isnan(same_day)]
        centers[day::season] = known.mean() if len(known) else np.nan
    deviations = (means - centers)[~np.isnan(means)].tolist()
    ranges = [abs(value - before) for before, value in pairwise(deviations)]
    reach = LIMIT_FACTOR * np.mean(ranges) if ranges else np.nan
    return np.column_stack([centers, centers - reach, centers + reach])
