"""Comparisons between Summaries of different queries, for two periods or many days."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.columns import number_validator, whole_number
from skgraded._input.segments import day_numbers, refuse_too_many
from skgraded._input.words import counted
from skgraded.measures import Measure
from skgraded.measures import measure as as_measure
from skgraded.reports import comparison_rows
from skgraded.reports.comparison_rows import check_numbers, columns_of, rows_form
from skgraded.reports.evaluation import LEVEL
from skgraded.reports.pairing import refuse_other_settings
from skgraded.reports.report import Report, evaluated_name
from skgraded.reports.summary import Summary, overall_rows, refuse_unequal_weights
from skgraded.reports.system_summaries import Summaries
from skgraded.stats.corrections import CORRECTIONS, adjust, widen_to_zero
from skgraded.stats.intervals import CHECK_LEVEL, WIDTH, prediction_limits, share_errors
from skgraded.stats.rounding import are_equal
from skgraded.stats.sketches import bins_of
from skgraded.stats.welch import GroupMean, gap_of, share_p_value, welch_interval, welch_p_value
from skgraded.writing import sentences, tables
from skgraded.writing.text import measured, percent_text

if TYPE_CHECKING:
    import pandas


# Two periods -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PeriodRow:
    """The change in the mean of one measure; see `compare_periods`."""

    system: Any  # None for Summaries, which describe one system
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
    undefined_before: float
    undefined_after: float
    p_undefined: float
    defined_difference: float  # nan if no queries are undefined, or if the means exclude them
    p_defined: float

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
        comparison_rows.check_choice("correction", self.correction, CORRECTIONS)
        keys = [(row.system, row.segment, row.measure) for row in self.rows]
        axes = [list(dict.fromkeys(key[i] for key in keys)) for i in range(3)]
        is_mixed = any(None in names and len(names) > 1 for names in axes)
        if not keys or keys != list(product(*axes)) or is_mixed:
            raise ValueError(
                "rows must contain each measure once or, in order, once per system and segment."
            )

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the changes; the columns are described in `compare_periods`."""
        columns = columns_of(PeriodRow, self.rows)
        optional = "system", "segment", "smallest", "defined_difference", "p_defined"
        return tables.frame(
            {
                name: cells
                for name, cells in columns.items()
                if name not in optional or any(cell is not None and cell == cell for cell in cells)
            }
        )

    def sentences(self) -> list[str]:
        """Describe each change in a sentence.

        With `smallest`, a change matters if its whole interval is above smallest or below
        -smallest. It does not matter if the whole interval is between -smallest and smallest.
        Otherwise, the result is inconclusive. Further sentences state whether the share of
        undefined queries and the mean of the defined queries changed significantly, after
        `correction` over all rows.
        """
        families = comparison_rows.families_by_measure(self.correction, self.rows)
        names = self.before, self.after
        columns = columns_of(PeriodRow, self.rows)
        p_values = zip(
            *(
                adjust(np.array(columns[name]), self.correction).tolist()
                for name in ("p_undefined", "p_defined")
            ),
            strict=True,
        )
        return [
            sentences.period_sentence(row, names, self.level, families[row.measure], corrected)
            for row, corrected in zip(self.rows, p_values, strict=True)
        ]

    def _page(self, title: str | None = None) -> Any:
        from skgraded.writing.table_page import TablePage

        families = comparison_rows.families_by_measure(self.correction, self.rows)
        said = families[self.rows[0].measure].text
        return TablePage(
            f"Changes from {self.before} to {self.after}" if title is None else title,
            f"{percent_text(self.level)} intervals; Welch's t-test{said}.",
            _page_frame(self),
            self.sentences(),
        )

    def __repr__(self) -> str:
        rows = "; ".join(
            f"{measured(row)}: {row.difference:+.4f}, p={row.p_adjusted:.3g}" for row in self.rows
        )
        return f"PeriodComparison({self.before} to {self.after}: {rows})"


def _page_frame(report: Any) -> pandas.DataFrame:
    """Return the frame of a report for its page, without shares if no queries are undefined."""
    frame = report.to_frame()
    names = frame.columns[frame.columns.str.contains("undefined")]
    is_share = names.str.fullmatch("undefined(_before|_after)?")
    return frame if frame[names[is_share]].any(axis=None) else frame.drop(columns=names)


def compare_periods(
    before: Summary | Summaries,
    after: Summary | Summaries,
    smallest: float | Mapping[str | Measure, float] | None = None,
    *,
    by: str | None = None,
    correction: str | None = "holm",
    level: float = 0.95,
) -> PeriodComparison:
    """Compare the means of two Summaries of different queries, such as two days.

    The queries of the two periods are treated as independent samples.

    Parameters
    ----------
    before, after : Summary or Summaries
        Summaries with the same measures and systems.
    smallest : float, or mapping of measures to floats, optional
        The smallest difference that matters, above 0; `PeriodComparison.sentences` then reports
        whether a change matters.
    by : str, optional
        Attribute `by` of both Summaries. If passed, each segment that occurs in both periods is
        compared.
    correction, level
        As for `compare`.

    Returns
    -------
    PeriodComparison
        The result of `to_frame` has the columns

        - ``system`` (for `Summaries`), ``segment`` (with `by`), ``measure``,
        - ``before``, ``after``: means of the two periods,
        - ``difference``: ``after`` minus ``before``,
        - ``ci_low``, ``ci_high``: Welch's t interval; with a correction it is wider, as in
          `compare`,
        - ``p_value``, ``p_adjusted``: p-values of Welch's t-test
          (``scipy.stats.ttest_ind(…, equal_var=False)``) before and after the correction; nan if a
          period has fewer than two queries with a value,
        - ``smallest`` (if passed),
        - ``n_before``, ``n_after``: number of queries included in each mean,
        - ``undefined_before``, ``undefined_after``: shares of undefined queries,
        - ``p_undefined``: p-value of Fisher's exact test for equal shares, before the correction,
        - ``defined_difference``, ``p_defined``: difference and uncorrected p-value for the means of
          the defined queries, if undefined queries count as 0 or 1 in the means.

    Raises
    ------
    ValueError, TypeError
        If the Summaries have different systems or measures, share a label, have no segments in
        common, or have queries with unequal weights: with few heavy queries, Welch's test rejects
        too often.

    Notes
    -----
    A mean in which undefined queries count as 0 also falls if only their share rises. For logs, in
    which many queries have no relevant document, evaluate with ``undefined=nan``: the mean then
    describes the ranking, and the share describes the queries.

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
    periods = {"before": before, "after": after}
    _check_summaries(periods)
    CHECK_LEVEL(level)
    comparison_rows.check_choice("correction", correction, CORRECTIONS)
    smallest_of = {} if smallest is None else _smallest_of(smallest, before.measures)
    late_systems = _systems_of(after)
    cases = [
        (system, segment, measure, parts)
        for system, summary in _systems_of(before).items()
        for segment, parts in _paired_segments(summary, late_systems[system], by).items()
        for measure in before.measures
    ]
    moments = [[part.tallies[measure].moments for part in parts] for _, _, measure, parts in cases]
    refuse_unequal_weights(
        chain(*moments),
        "Evaluate both periods without sample_weight; trend tabulates weighted "
        "means without tests.",
    )
    groups = [[GroupMean.of_moments(part) for part in parts] for parts in moments]
    p_values = np.array([welch_p_value(late, early) for early, late in groups])
    adjusted, levels = comparison_rows.corrected_p_values(
        p_values, correction, level, [list(range(len(cases)))]
    )
    rows = [
        PeriodRow(
            system,
            segment,
            measure,
            early.mean,
            late.mean,
            gap_of(late, early),
            *widen_to_zero(welch_interval(late, early, row_level), p_adjusted, level),
            p,
            p_adjusted,
            smallest_of.get(measure, math.nan),
            early.n,
            late.n,
            *_undefined_change(measure, *parts),
        )
        for (system, segment, measure, parts), (early, late), p, p_adjusted, row_level in zip(
            cases, groups, p_values.tolist(), adjusted, levels, strict=True
        )
    ]
    names = [part.labels[0] if len(part.labels) == 1 else name for name, part in periods.items()]
    return PeriodComparison(names[0], names[1], rows, correction, level)


def _smallest_of(
    smallest: float | Mapping[str | Measure, float], measures: list[str]
) -> dict[str, float]:
    """Return the smallest difference that matters for each measure, keyed by measure name."""
    if not isinstance(smallest, Mapping):
        return dict.fromkeys(measures, number_validator("smallest", 0, above=True)(smallest))
    by_name = {
        evaluated_name(measure, measures): number_validator(
            f"smallest[{str(measure)!r}]", 0, above=True
        )(value)
        for measure, value in smallest.items()
    }
    missing = [measure for measure in measures if measure not in by_name]
    if missing:
        raise ValueError(f"smallest has no value for {missing}: pass a value for every measure.")
    return by_name


def _undefined_change(measure: str, before: Summary, after: Summary) -> tuple[float, ...]:
    """Return both shares of undefined queries, their p-value, and the change without them."""
    counts = before.n_undefined[measure], after.n_undefined[measure]
    sizes = before.n_queries, after.n_queries
    shares = [n / size if size else math.nan for n, size in zip(counts, sizes, strict=True)]
    early, late = _defined_mean(measure, before), _defined_mean(measure, after)
    change = math.nan, math.nan
    if any(counts) and early is not None and late is not None:
        change = gap_of(late, early), welch_p_value(late, early)
    return *shares, share_p_value(counts, sizes), *change


def _defined_mean(measure: str, summary: Summary) -> GroupMean | None:
    """Return the mean without undefined queries that count as 0 or 1, or None if unknown."""
    tally = summary.tallies[measure]
    try:
        undefined = as_measure(measure).undefined
    except ValueError:  # a name chosen by the user
        return None
    bins, n_values = tally.counts
    if (
        undefined != undefined
        or tally.n_undefined > n_values[bins == bins_of(np.array([undefined]))].sum()
    ):
        return None
    return GroupMean.without(tally.moments, tally.n_undefined, undefined)


def _systems_of(report: Any) -> dict[Any, Summary]:
    """Return the Summary of each system; the key of a Summary is None."""
    return {None: report} if isinstance(report, Summary) else report.systems


def _check_summaries(summaries: Mapping[str, Any]) -> None:
    """Raise an error unless all reports have the same systems and measures, but other labels."""
    first: Any = next(iter(summaries.values()), None)
    name_of_label: dict[str, str] = {}
    for name, summary in summaries.items():
        if not isinstance(summary, (Summary, Summaries)):
            kind = type(summary).__name__
            raise TypeError(f"{name} must be a Summary; got {kind}. Pass Summary.of(…).")
        for kind in ("systems", "measures"):
            names, expected = (list(getattr(part, kind, [])) for part in (summary, first))
            if names != expected:
                raise ValueError(
                    f"All Summaries must have the same {kind}; got {expected} and, for {name}, "
                    f"{names}."
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


# Many days ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrendRow:
    """The mean of one measure on one day, with the limits of the chart; see `trend`."""

    system: Any  # None for Summaries, which describe one system
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
    too_few: bool
    undefined: float
    undefined_lower: float
    undefined_upper: float
    undefined_is_outside: bool

    segment = None  # for sentences

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.is_outside != _is_outside(self.mean, self.lower, self.upper):
            raise ValueError(f"is_outside of {self} does not match its mean and limits.")
        if (self.undefined_is_outside, self.too_few) != (
            _is_outside(self.undefined, self.undefined_lower, self.undefined_upper),
            math.isnan(self.center),
        ):
            raise ValueError(f"undefined_is_outside or too_few of {self} contradicts its limits.")


@dataclass(frozen=True, repr=False, eq=False)
class Trend(Report):
    """The mean for each of many days, with limits from the days before it, returned by `trend`.

    Attributes
    ----------
    labels, measures : list of str
    rows : list of TrendRow
        One row per system, label and measure, in the order of `labels`.
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
        keys = [(row.system, row.label, row.measure) for row in self.rows]
        systems = list(dict.fromkeys(row.system for row in self.rows))
        expected = list(product(systems, self.labels, self.measures))
        if not keys or keys != expected or len(set(keys)) < len(keys):
            raise ValueError(
                "rows must contain each of the labels with each of the measures once, in order."
            )
        day_numbers(self.labels, is_required=self.season is not None)

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the trend; the columns are described in `trend`."""
        columns = columns_of(TrendRow, self.rows)
        if self.rows[0].system is None:
            del columns["system"]
        return tables.frame(columns)

    def sentences(self) -> list[str]:
        """Describe each label at which a mean or a share of undefined queries is outside."""
        return [
            sentences.trend_sentence(row)
            for row in self.rows
            if row.is_outside or row.undefined_is_outside
        ]

    def _page(self, title: str | None = None) -> Any:
        from skgraded.writing.table_page import TablePage

        n_outside = sum(row.is_outside for row in self.rows)
        n_few = sum(row.too_few for row in self.rows)
        season = "" if self.season is None else f"; seasons of {self.season} days"
        return TablePage(
            "Trend" if title is None else title,
            f"{counted(len(self.labels), 'label', 'labels')}, {self.labels[0]} to "
            f"{self.labels[-1]}{season}; {percent_text(self.level)} intervals of the means; "
            f"{counted(n_outside, 'mean', 'means')} outside the limits; "
            f"{counted(n_few, 'mean has', 'means have')} too few earlier labels for limits.",
            _page_frame(self),
            self.sentences(),
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


def trend(
    summaries: Iterable[Summary | Summaries], *, season: int | None = None, level: float = LEVEL
) -> Trend:
    r"""Tabulate the means of labeled Summaries with control limits from the days before each day.

    A mean outside the limits differs from the days before by more than the usual variation between
    days. Limits of a day do not change when later days are added.

    Parameters
    ----------
    summaries : iterable of Summary or Summaries
        Summaries in chronological order, each with exactly one label and all with the same
        systems and measures.
    season : int, optional
        Number of days per season. With 7, each day is compared with the same weekday. Labels must
        then be ISO dates, such as "2026-11-20"; days may be missing. Requires at least two seasons.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Trend
        The result of `to_frame` has one row per label and measure, with the columns

        - ``system`` (for `Summaries`), ``label``, ``measure``,
        - ``mean``, ``ci_low``, ``ci_high``, ``n_queries``: as in `Summary.summary`,
        - ``center``: mean of the earlier labels or, with `season`, of those at the same position in
          the season,
        - ``lower``, ``upper``: limits of the chart,
        - ``is_outside``: whether ``mean`` is outside the limits,
        - ``too_few``: whether there are too few earlier labels for limits, which are then nan,
        - ``undefined``, ``undefined_lower``, ``undefined_upper``, ``undefined_is_outside``: the
          share of undefined queries with its limits.

    Raises
    ------
    ValueError, TypeError
        If labels are missing, repeated or, as dates, not in chronological order, if systems or
        measures differ, or if there are too few Summaries.

    Notes
    -----
    The limits of a day are m ± t · s · √(1 + 1/k), where m is the mean of the k earlier days (with
    `season`, at the same position in the season), and s is the standard deviation of the earlier
    days from their m. t is the 99.865 % quantile of Student's distribution with the degrees of
    freedom of s, of which at least 2 are required: without a season, the first three days have no
    limits. This is the prediction interval for the next day, so for independent, normally
    distributed means, a day is outside with probability 0.0027 (Quesenberry 1991), about once per
    year. With few earlier days, t is large and the limits are wide.

    The limits are at least three standard errors of the day's mean wide, so that a day with few
    queries is not outside by chance. Days that were outside count for later days, so a lasting
    change becomes the new usual level; leave out days of a known incident. For logs in which many
    queries have no relevant document, use ``undefined=nan``, as explained in `compare_periods`.

    References
    ----------
    Quesenberry: SPC Q charts for start-up processes and short or long runs. Journal of Quality
    Technology 23, 1991.

    Examples
    --------
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=400, random_state=0)
    >>> days = [
    ...     sg.Summary.of(
    ...         sg.evaluate(y[qid % 5 == i], X[qid % 5 == i, 0], qid=qid[qid % 5 == i]),
    ...         label=f"2026-11-0{i + 1}")
    ...     for i in range(5)]
    >>> sg.trend(days)
    Trend(5 labels, 2026-11-01 to 2026-11-05: NDCNG@10, MuAP; 0 means outside the limits)
    """
    CHECK_LEVEL(level)
    if isinstance(summaries, (Summary, Summaries)):
        raise TypeError("trend requires a list of Summaries, one per day; got one report.")
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
    days = day_numbers(labels, is_required=season is not None)
    seasons = np.zeros(len(labels)) if days is None else days % (season or 1)
    systems = [_systems_of(part) for part in summaries]
    rows = [
        row
        for system in systems[0]
        for row in _trend_rows(system, labels, [part[system] for part in systems], seasons, level)
    ]
    return Trend(labels, summaries[0].measures, rows, season, level)


def _trend_rows(
    system: Any, labels: list[str], parts: list[Summary], seasons: np.ndarray, level: float
) -> list[TrendRow]:
    """Return the rows of one system, ordered by label and measure."""
    charts = {}
    sizes = np.array([part.n_queries for part in parts])
    for measure in parts[0].measures:
        moments = [part.tallies[measure].moments for part in parts]
        means = np.array([part.mean for part in moments])
        errors = np.array([part.standard_error if part.n > 1 else math.nan for part in moments])
        counts = np.array([part.n_undefined[measure] for part in parts])
        shares = np.divide(counts, sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)
        limits = prediction_limits(means, seasons, WIDTH * errors)
        share_limits = prediction_limits(shares, seasons, share_errors(counts, sizes))
        charts[measure] = np.column_stack([limits, shares, share_limits.clip(0, 1)]).tolist()
    names = "measure", "mean", "ci_low", "ci_high", "n_queries"
    rows = []
    for i, (label, part) in enumerate(zip(labels, parts, strict=True)):
        for row in overall_rows(part, level):
            center, lower, upper, share, _, low, high = charts[row["measure"]][i]
            rows.append(
                TrendRow(
                    system,
                    label,
                    **{name: row[name] for name in names},
                    center=center,
                    lower=lower,
                    upper=upper,
                    is_outside=_is_outside(row["mean"], lower, upper),
                    too_few=math.isnan(center),
                    undefined=share,
                    undefined_lower=low,
                    undefined_upper=high,
                    undefined_is_outside=_is_outside(share, low, high),
                )
            )
    return rows
