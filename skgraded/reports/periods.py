"""Comparisons of Summaries of different queries, from two periods or from many days."""

import math
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from skgraded._input.door import check_whole_number, number_validator
from skgraded._input.segments import number_days, refuse_too_many
from skgraded.reports.report import LEVEL
from skgraded.reports.summary import (
    Summaries,
    Summary,
    check_summaries,
    list_segment_cells,
    list_systems,
    refuse_unequal_weights,
)
from skgraded.stats.corrections import CHECK_CORRECTION, adjust, find_level_of_each, widen_to_zero
from skgraded.stats.independent_samples import (
    WIDTH,
    MeanGap,
    bound_share_errors,
    compute_prediction_limits,
    compute_share_p_value,
)
from skgraded.stats.intervals import CHECK_LEVEL
from skgraded.stats.rounding import are_equal
from skgraded.writing import tables

# Two periods -------------------------------------------------------------------------------------

CHECK_SMALLEST = number_validator("smallest", 0, above=True, optional=True)


def compare_periods(
    before: Summary | Summaries,
    after: Summary | Summaries,
    smallest: float | None = None,
    *,
    by: str | list[str] | None = None,
    correction: str | None = "holm",
    level: float = 0.95,
) -> tables.DataFrame:
    """Compare the means of two Summaries of different queries, for example from two days.

    The queries of the two periods are treated as independent samples.

    Parameters
    ----------
    before, after : Summary or Summaries
        Summaries with the same measures and systems.
    smallest : float, optional
        The smallest difference that matters, above 0, as a further column. A change matters if its
        whole interval is above `smallest` or below ``-smallest``.
    by : str or list of str, optional
        Attribute `by` of both Summaries. If passed, each segment that occurs in both periods is
        compared.
    correction, level
        As for `compare`.

    Returns
    -------
    pandas.DataFrame
        One row per measure (and system, and segment), with the columns

        - ``system`` (for `Summaries`), ``segment`` (if `by` is set; if it is a list, one
          column for each of its names), ``measure``,
        - ``before``, ``after``: means of the two periods,
        - ``difference``: ``after`` minus ``before``,
        - ``ci_low``, ``ci_high``: Welch's t interval, which a correction widens, as in
          `compare`,
        - ``p_value``, ``p_adjusted``: p-values of Welch's t-test
          (``scipy.stats.ttest_ind(…, equal_var=False)``) before and after the correction; nan if a
          period has fewer than two queries with a value,
        - ``smallest`` (if passed),
        - ``n_before``, ``n_after``: number of queries included in each mean,
        - ``undefined_before``, ``undefined_after``: shares of undefined queries,
        - ``p_undefined``: p-value of Fisher's exact test for equal shares, before the correction.

    Raises
    ------
    ValueError, TypeError
        If the Summaries have different systems or measures, share a label, have no segments in
        common, or have queries with unequal weights.

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
    >>> changes = sg.compare_periods(monday, tuesday, smallest=0.01)
    >>> changes[["measure", "difference", "ci_low", "smallest"]].round(3)
      measure  difference  ci_low  smallest
    0      RR       0.085   0.016      0.01
    """
    check_summaries({"before": before, "after": after})
    level = CHECK_LEVEL(level)
    CHECK_CORRECTION(correction)
    smallest = CHECK_SMALLEST(smallest)
    pairs: dict[Any, tuple[Any, Any]] = {None: (before, after)}
    if by is not None:
        for name, summary in (("before", before), ("after", after)):
            summary._check_by(by, f"the Summary {name!r}")
        new_parts: Mapping[Any, Any] = after.segments or {}
        pairs = {
            segment: (part, new_parts[segment])
            for segment, part in (before.segments or {}).items()
            if segment in new_parts
        }
        if not pairs:
            raise ValueError("The Summaries have no segment in common.")
        refuse_too_many(list(pairs))
    cases: list[tuple[Any, Any, str, Any]] = [
        (system, segment, measure, [list_systems(part)[system] for part in pair])
        for system in list_systems(before)
        for segment, pair in pairs.items()
        for measure in before.measures
    ]
    moments = [[part.tallies[measure].moments for part in parts] for _, _, measure, parts in cases]
    refuse_unequal_weights(
        chain(*moments),
        "Evaluate both periods without sample_weight; trend tabulates weighted "
        "means without tests.",
    )
    gaps = [MeanGap.of(late, early) for early, late in moments]
    adjusted = adjust(np.array([gap.p_value for gap in gaps]), correction)
    row_level = find_level_of_each(adjusted, level, correction)
    rows = []
    for (system, segment, measure, parts), (early, late), gap, p_adjusted in zip(
        cases, moments, gaps, adjusted, strict=True
    ):
        counts = tuple(part.n_undefined[measure] for part in parts)
        sizes = tuple(part.n_queries for part in parts)
        shares = [n / size if size else math.nan for n, size in zip(counts, sizes, strict=True)]
        low, high = map(float, widen_to_zero(gap.interval(row_level), p_adjusted, level))
        rows.append(
            {
                **({} if system is None else {"system": system}),
                **list_segment_cells(segment, by),
                "measure": measure,
                "before": early.mean,
                "after": late.mean,
                "difference": gap.difference,
                "ci_low": low,
                "ci_high": high,
                "p_value": gap.p_value,
                "p_adjusted": p_adjusted,
                **({} if smallest is None else {"smallest": smallest}),
                "n_before": early.n,
                "n_after": late.n,
                "undefined_before": shares[0],
                "undefined_after": shares[1],
                "p_undefined": compute_share_p_value(counts, sizes),
            }
        )
    return tables.frame(rows)


# Many days ---------------------------------------------------------------------------------------


def trend(
    summaries: Iterable[Summary | Summaries], *, season: int | None = None, level: float = LEVEL
) -> tables.DataFrame:
    r"""Tabulate the means of labeled Summaries, with control limits computed from earlier days.

    A mean outside the limits differs from the means of earlier days by more than the usual
    day-to-day variation. The limits of a day do not change when later days are added.

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
    pandas.DataFrame
        One row per label and measure, with the columns

        - ``system`` (for `Summaries`), ``label``, ``measure``,
        - ``mean``, ``ci_low``, ``ci_high``, ``n_queries``, ``n_defined``: as in `Summary.summary`,
        - ``center``: mean over the earlier labels or, if `season` is set, over the earlier labels
          at the same position in the season,
        - ``lower``, ``upper``: limits of the chart,
        - ``is_outside``: whether ``mean`` is outside the limits,
        - ``too_few``: whether there are too few earlier labels for limits, which are then nan,
        - ``n_queries_lower``, ``n_queries_upper``, ``n_queries_is_outside``: limits for the number
          of queries, which reveal a day with missing rows,
        - ``undefined``, ``undefined_lower``, ``undefined_upper``, ``undefined_is_outside``: the
          share of undefined queries with its limits.

    Raises
    ------
    ValueError, TypeError
        If the Summaries do not meet these conditions.

    Notes
    -----
    The limits of a day are m ± t · s · √(1 + 1/k), where m is the mean of the k earlier days (with
    `season`, at the same position in the season), and s is the standard deviation of the earlier
    days around their means. t is the 99.865 % quantile of Student's distribution with the degrees
    of freedom of s, of which at least 2 are required: without a season, the first three days have
    no limits. This is the prediction interval for the next day, so for independent, normally
    distributed means, a day is outside with probability 0.0027 (Quesenberry 1991), about once per
    year.

    The limits are at least three standard errors of the day's mean wide, so that a day with few
    queries is not outside by chance. The same limits are used for the number of queries n, at least
    3 √n wide. Days outside the limits count for later days, so a lasting change becomes the new
    usual level; leave out days of a known incident. For logs in which many queries have no relevant
    document, see `compare_periods`.

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
    >>> last = sg.trend(days).query("label == '2026-11-05'")
    >>> last[["measure", "mean", "lower", "upper", "is_outside"]].round(2)
        measure  mean  lower  upper  is_outside
    8  NDCNG@10  0.38   0.17   0.60       False
    9      MuAP  0.33   0.10   0.56       False
    """
    level = CHECK_LEVEL(level)
    summaries = list(summaries)
    check_summaries({f"summaries[{i}]": summary for i, summary in enumerate(summaries)})
    for i, summary in enumerate(summaries):
        if len(summary.labels) != 1:
            raise ValueError(
                f"Each Summary must have exactly one label; summaries[{i}] has the labels "
                f"{summary.labels}. Pass label= when evaluating."
            )
    labels = [summary.labels[0] for summary in summaries]
    if season is not None:
        check_whole_number(season, "season", 2)
    if len(labels) < 2 * (season or 1):
        raise ValueError(
            f"A trend requires at least {2 * (season or 1)} Summaries; got {len(labels)}."
        )
    days = number_days(labels, is_required=season is not None)
    seasons = np.zeros(len(labels)) if days is None else days % (season or 1)
    systems = [list_systems(part) for part in summaries]
    rows = []
    for system in systems[0]:
        parts = [by_system[system] for by_system in systems]
        charts = {measure: _chart(parts, measure, seasons, level) for measure in parts[0].measures}
        rows += [
            {"system": system, "label": label, "measure": measure}
            | {name: column[i] for name, column in chart.items()}
            for i, label in enumerate(labels)
            for measure, chart in charts.items()
        ]
    frame = tables.frame(rows)
    return frame if isinstance(summaries[0], Summaries) else frame.drop(columns="system")


def _chart(
    parts: list[Summary], measure: str, seasons: np.ndarray, level: float
) -> dict[str, np.ndarray]:
    """Return the columns of `trend` for one measure, with one element per label."""
    moments = [part.tallies[measure].moments for part in parts]
    means = np.array([part.mean for part in moments])
    intervals = np.array([part.confidence_interval(level)[measure] for part in parts])
    errors = np.array([part.standard_error if part.n > 1 else math.nan for part in moments])
    sizes = np.array([part.n_queries for part in parts])
    counts = np.array([part.n_undefined[measure] for part in parts])
    shares = np.divide(counts, sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)
    limits = compute_prediction_limits(means, seasons, WIDTH * errors)
    share_limits = compute_prediction_limits(
        shares, seasons, bound_share_errors(counts, sizes)
    ).clip(0, 1)
    size_limits = compute_prediction_limits(
        sizes.astype(float), seasons, WIDTH * np.sqrt(sizes)
    ).clip(0)
    return {
        "mean": means,
        "ci_low": intervals[:, 0],
        "ci_high": intervals[:, 1],
        "n_queries": sizes,
        "n_defined": np.array([part.n for part in moments]),
        "center": limits[:, 0],
        **_compare_with_limits("", means, limits),
        "too_few": np.isnan(limits[:, 0]),
        "undefined": shares,
        **_compare_with_limits("undefined_", shares, share_limits),
        **_compare_with_limits("n_queries_", sizes, size_limits),
    }


def _compare_with_limits(
    prefix: str, values: np.ndarray, limits: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the limits, and whether each value is outside them, as columns keyed by name.

    A value that is outside the limits only because of rounding errors counts as inside.
    """
    _, lower, upper = limits.T
    is_within = (lower <= values) & (values <= upper) | np.isnan(lower + values)
    size = np.maximum(np.abs(lower), np.abs(upper))
    is_within |= are_equal(values, lower, size) | are_equal(values, upper, size)
    return {f"{prefix}lower": lower, f"{prefix}upper": upper, f"{prefix}is_outside": ~is_within}
