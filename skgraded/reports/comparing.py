"""Paired comparisons of systems, with significance tests and multiple-testing corrections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import (
    check_whole_number,
    choice_validator,
    make_argument_error,
    make_object_array,
)
from skgraded._input.libraries import show_progress
from skgraded._input.messages import warn_user
from skgraded._input.segments import group_segments
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import (
    CrossEvaluation,
    Evaluation,
    check_evaluations,
    mean_judged,
)
from skgraded.reports.pairing import (
    Paired,
    Samples,
    find_positions_in,
    pair_evaluations,
    refuse_unequal,
    warn_of_few_clusters,
)
from skgraded.stats import corrections
from skgraded.stats.corrections import CHECK_CORRECTION, is_significant, widen_to_zero
from skgraded.stats.intervals import (
    CHECK_LEVEL,
    FEWEST_RESAMPLES,
    MeanEstimate,
    Rng,
    are_identical,
    check_rng,
    compute_t_interval,
    compute_t_limits,
    compute_t_reach,
)
from skgraded.stats.paired_tests import (
    TESTS,
    PairedSample,
    choose_n_resamples,
    compute_p_of_sums,
    draws_resamples,
    find_smallest_p_values,
    p_values,
)
from skgraded.stats.power import find_detectable_effect
from skgraded.writing.tables import Rows, group_rows
from skgraded.writing.text import describe_caveats

if TYPE_CHECKING:
    from skgraded.reports.summary import Summaries

KEYS = ("segment", "system", "measure", "baseline")  # columns that identify a row
MEANS = (  # columns of `Comparison.means`
    "segment",
    "measure",
    "system",
    "mean",
    "ci_low",
    "ci_high",
    "n_defined",
    "lacks_values",
)
FAMILIES = ("all", "measure")  # values of `family`


class Settings(NamedTuple):
    """Validated settings of a comparison, named after the parameters of `compare`."""

    baseline: str | None = None
    test: str | None = None
    correction: str | None = None
    family: str = "all"
    level: float = 0.95
    n_resamples: int = 0  # 0: use `choose_n_resamples`
    rng: Rng = None


def compare(
    evaluations: Mapping[str, Evaluation] | Summaries,
    *,
    baseline: str | None = None,
    test: str | None = "auto",
    correction: str | None = "holm",
    family: str = "all",
    level: float = 0.95,
    n_resamples: int | None = None,
    rng: Rng = None,
    by: ArrayLike | Mapping[Any, Any] | str | None = None,
    progress: bool = False,
) -> Comparison:
    r"""Compare systems with paired tests of their per-query values.

    Per-query values are paired by query id. The query, never the fold, is the unit of inference.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation, or Summaries
        At least two systems, keyed by name, with the same queries and measures.
    baseline : str, optional
        The system to compare all others with. If None, all pairs are compared, each with the
        earlier system as baseline.
    test : {"auto", "randomization", "t", "wilcoxon", "bootstrap"} or None, default="auto"
        Two-sided test; see Notes. "auto" is "randomization", but "t" for Summaries, which support
        only "t" and None.
    correction : {"holm", "bonferroni", "fdr_bh"} or None, default="holm"
        Correction for the number of tests in a family; "fdr_bh" controls the false discovery rate.
    family : {"all", "measure"}, default="all"
        The tests that one correction covers, in all segments: all tests, or each measure's tests.
    level : float, default=0.95
        Confidence level of the intervals. Two systems differ significantly if ``p_adjusted`` ≤
        1 - level.
    n_resamples : int, optional
        Number of random sign flips or bootstrap resamples, at least 100. By default, the smallest
        possible p-value is a tenth of the strictest threshold: 9,999 for up to 25 tests.
    rng : int or numpy.random.Generator, optional
        Pass an int for reproducible p-values. All rows share the resamples.
    by : array-like of shape (n_queries,), mapping, pandas Series or str, optional
        The segment of each query, in the order of the first system's `query_ids` or keyed by query
        id. For Summaries, the `by` with which they were evaluated.
    progress : bool, default=False
        Whether to show a progress bar; requires tqdm.

    Returns
    -------
    Comparison
        The result of `to_frame` has the columns

        - ``segment`` (if `by` is set), ``system``, ``measure``,
        - ``mean``, ``baseline_mean``: means over ``n_defined`` queries,
        - ``difference``: ``mean`` minus ``baseline_mean``,
        - ``ci_low``, ``ci_high``: Student's t interval for the difference (``ci_method`` "t"),
        - ``p_value``, ``p_adjusted``: p-values before and after the correction; nan without a test,
        - ``n_queries``: number of queries (in the segment if `by` is set),
        - ``n_defined``: number of queries with values for both systems and a positive weight,
        - ``n_clusters`` (with clusters),
        - ``wins``, ``ties``, ``losses``: number of queries with d > 0, d = 0 and d < 0,
        - ``n_undefined``: number of ties that are undefined for both systems; nan for Summaries,
        - ``effect_size``: Cohen's d_z = d̄ / s; nan if it is not finite,
        - ``min_detectable``: the smallest difference detectable with 80 % power,
        - ``baseline``.

    Raises
    ------
    ValueError
        If the systems have different queries, measures or weights, or the weights are unequal and
        `test` is not None.

    Warns
    -----
    UserWarning
        If shares of judged documents differ by more than 0.1, if a system retrieved nothing for
        more than half of the queries, for fewer than 15 clusters, or for different folds.

    Notes
    -----
    The n = ``n_defined`` per-query differences d have the mean d̄ and the standard deviation s with
    the divisor n - 1. A difference is 0 if the values differ by at most 5e-13 times the larger
    value or the mean size of the row's values.

    - "randomization" is Fisher's test [1]_: p = 2 · min(P(d̄* ≤ d̄), P(d̄* ≥ d̄)), at most 1, over
      all sign flips or, if they exceed `n_resamples`, over random flips and the observed signs.
    - "t" and "wilcoxon" are ``scipy.stats.ttest_1samp`` and, with the defaults of SciPy 1.15,
      ``scipy.stats.wilcoxon``.
    - "bootstrap" resamples d - d̄ and compares t = d̄ / s ([2]_, eq. 4.11):
      p = (1 + #{\|t*\| ≥ \|t\|}) / (1 + n_resamples).

    p is 1 if all differences are 0. If they are equal but not 0, "t" and "bootstrap" return
    2^(1 - n), the p-value of all sign flips.

    The page "Intervals and tests" gives the levels of the intervals and ``min_detectable``.

    References
    ----------
    .. [1] Smucker, Allan, Carterette: A comparison of statistical significance tests. CIKM 2007.
    .. [2] Davison, Hinkley: Bootstrap methods and their application. 1997.

    Examples
    --------
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> bad, good = (sg.evaluate(y, x, qid=qid, measures="ndcng@10") for x in (X[:, 9], y))
    >>> comparison = sg.compare({"bad": bad, "good": good}, baseline="bad", rng=0)
    >>> comparison.to_frame()[["system", "measure", "p_value", "n_queries"]].values.tolist()
    [['good', 'NDCNG@10', 0.0002, 60]]
    """
    if not isinstance(evaluations, Samples):
        check_evaluations(evaluations)
    settings = validate_settings(
        list(evaluations),
        isinstance(evaluations, Samples),
        baseline=baseline,
        test=test,
        correction=correction,
        family=family,
        level=level,
        n_resamples=n_resamples,
        rng=rng,
    )
    if isinstance(evaluations, Samples):
        return evaluations._compare(settings, by)
    paired = pair_evaluations(evaluations)
    entry = None if settings.test is None else TESTS[settings.test]
    if entry is not None:
        refuse_unequal(
            paired.weights,
            "Pass test=None to get weighted means and intervals without tests, or evaluate without "
            "sample_weight.",
        )
        if paired.cluster is not None and not entry.accepts_clusters:
            others = [name for name, other in TESTS.items() if other.accepts_clusters]
            raise ValueError(
                f"test={settings.test!r} does not support clusters: use one of {others}."
            )
    parts, segment = {None: paired}, None
    if by is not None:
        # If `by` is an array, it is in the query order of the first system.
        ids, place = next(iter(evaluations.values())).query_ids, np.argsort(paired.first)
        queries = {
            name: np.sort(place[positions])
            for name, positions in group_segments(ids, by, are_compared=True)
        }
        names = sorted(queries, key=lambda name: queries[name][0])
        parts = {name: paired.take(queries[name]) for name in names}
        segment = np.empty_like(place)
        for i, name in enumerate(names):
            segment[queries[name]] = i
    n_unanswered = [evaluation.n_unanswered for evaluation in evaluations.values()]
    report = compare_parts(
        parts,
        paired.systems,
        list(paired.per_query),
        settings,
        n_clusters=None if paired.cluster is None else len(np.unique(paired.cluster)),
        progress=progress,
        n_queries=paired.n_queries,
        is_weighted=paired.weights is not None,
        query_ids=paired.query_ids,
        per_query=paired.per_query,
        weights=paired.weights,
        segment=segment,
        judged=mean_judged(list(evaluations.values())) or None,
        n_unanswered=n_unanswered if any(n_unanswered) else None,
    )
    _warn_of_different_folds(evaluations)
    for text in describe_caveats(
        report.systems, report.judged or {}, n_unanswered, report.n_queries
    ):
        warn_user(text)
    return report


def validate_settings(
    systems: Sequence[str],
    are_sums: bool,
    *,
    baseline: str | None,
    test: str | None,
    correction: str | None,
    family: str,
    level: float,
    n_resamples: int | None,
    rng: Rng,
) -> Settings:
    """Validate the arguments of `compare`; the command-line tool does so before reading files."""
    choice_validator("baseline", systems, optional=True)(baseline)
    choice_validator("test", [*TESTS, "auto"], optional=True)(test)
    if test == "auto":
        test = "t" if are_sums else "randomization"
    CHECK_CORRECTION(correction)
    choice_validator("family", FAMILIES)(family)
    level = CHECK_LEVEL(level)
    check_rng(rng)
    if n_resamples is not None:
        check_whole_number(n_resamples, "n_resamples", FEWEST_RESAMPLES)
    if are_sums and test is not None and TESTS[test].p_of_t is None:
        raise make_argument_error(
            f"test={test!r} requires per-query values, but Summaries contain only sums: use "
            "test='t' or no test.",
            "test",
        )
    return Settings(baseline, test, correction, family, level, int(n_resamples or 0), rng)


def _warn_of_different_folds(evaluations: Mapping[str, Evaluation]) -> None:
    """Warn if a system was cross-evaluated on different folds than the first system.

    If the folds differ, so do the training queries, which affects the per-query differences.
    """
    crossed = {
        name: evaluation
        for name, evaluation in evaluations.items()
        if isinstance(evaluation, CrossEvaluation)
    }
    positions = find_positions_in(crossed) if len(crossed) > 1 else {}
    folds = {name: crossed[name].fold[rows] for name, rows in positions.items()}
    for name, fold in folds.items():
        first = next(iter(folds))
        pairs = np.unique(np.stack([fold, folds[first]]), axis=1)
        # The folds are equal if there is a one-to-one mapping between their numbers.
        if any(pairs.shape[1] != len(np.unique(numbers)) for numbers in pairs):
            warn_user(
                f"{name!r} was cross-evaluated on different folds than {first!r}, so the training "
                "queries also affect their differences. Pass the same cv for both."
            )


def compare_parts(
    parts: Mapping[Any, Samples],
    systems: list[str],
    measures: list[str],
    settings: Settings,
    *,
    n_clusters: int | None = None,
    progress: bool = False,
    **fields: Any,
) -> Comparison:
    """Compare the systems in each part of the queries.

    `parts` is keyed by segment; if `by` is None, the only key is None. `fields` contains additional
    fields of the Comparison.
    """
    baseline = settings.baseline
    pairs = list(combinations(systems, 2))
    if baseline is not None:
        pairs = [(baseline, system) for system in systems if system != baseline]
    keys = _arrange(
        KEYS,
        [
            (segment, system, measure, first)
            for first, system in pairs
            for measure in measures
            for segment in parts
        ],
    )
    families = [np.arange(len(keys["measure"]))]  # positions of the tests in each family
    if settings.family == "measure":
        families = [np.flatnonzero(keys["measure"] == name) for name in measures]
    if not settings.n_resamples:
        n_tests = max(map(len, families))
        settings = settings._replace(
            n_resamples=choose_n_resamples(n_tests, settings.level, settings.correction)
        )
    samples = [
        parts[segment]._summarize_pair(system, first, measure)
        for segment, system, measure, first in zip(*keys.values(), strict=True)
    ]
    if n_clusters is not None:
        warn_of_few_clusters(sample.estimate.n_units for sample in samples)
    p = _test_samples(samples, keys, parts, settings, progress)
    means = [
        (
            segment,
            measure,
            system,
            mean,
            *compute_t_interval(estimate, settings.level),
            estimate.n,
            lacks,
        )
        for measure in measures
        for segment, part in parts.items()
        for system, mean, estimate, lacks in part._estimate_means(measure)
    ]
    draws = draws_resamples(settings.test)
    return Comparison(
        systems=systems,
        measures=measures,
        baseline=baseline,
        test=settings.test,
        correction=settings.correction,
        family=settings.family,
        level=settings.level,
        rows=compare_rows(keys, parts, samples, p, families, settings, n_clusters is not None),
        n_resamples=settings.n_resamples if draws else None,
        seed=int(settings.rng) if draws and isinstance(settings.rng, (int, np.integer)) else None,
        means=_arrange(MEANS, means),
        segments=None if None in parts else list(parts),
        n_clusters=n_clusters,
        **fields,
    )


def _arrange(names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Rows:
    """Convert rows to a table of columns."""
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return {
        name: make_object_array(cells)
        if name == "segment"
        else np.array(cells, dtype=object if name in KEYS else None)
        for name, cells in columns
    }


def _test_samples(
    samples: Sequence[PairedSample],
    keys: Rows,
    parts: Mapping[Any, Samples],
    settings: Settings,
    progress: bool,
) -> np.ndarray:
    """Return the p-value of each row; all rows of a segment share the same resamples."""
    test, n_resamples, p = settings.test, settings.n_resamples, np.full(len(samples), np.nan)
    if test is None:
        return p
    seed = int(np.random.default_rng(settings.rng).integers(2**63))
    work, is_shown = len(samples) * n_resamples, progress and draws_resamples(test)
    with show_progress(is_shown, work, desc="resamples", unit=" rows", unit_scale=True) as advance:
        for (segment,), rows in group_rows(keys, "segment").items():
            part = parts[segment]
            if isinstance(part, Paired):
                differences = np.array([samples[i].differences for i in rows])
                p[rows] = p_values(test, differences, n_resamples, seed, advance, part.cluster)
            else:
                p[rows] = [compute_p_of_sums(test, samples[i]) for i in rows]
    return p


def compare_rows(
    keys: Rows,
    parts: Mapping[Any, Samples],
    samples: Sequence[PairedSample],
    p: np.ndarray,
    families: Sequence[np.ndarray],
    settings: Settings,
    has_clusters: bool,
) -> Rows:
    """Return the rows of a comparison; see `compare` and `Comparison` for the columns.

    `parts` is keyed by segment, and `families` contains the row indices for each family of tests.
    The p-values `p` are nan if there is no test.
    """
    test, correction, level = settings.test, settings.correction, settings.level
    sizes = {segment: part.n_queries for segment, part in parts.items()}
    sample: Any = {
        name: np.array([getattr(row, name) for row in samples])
        for name in PairedSample._fields[:-2]
    }
    mean, baseline_mean, ties = sample["mean"], sample["baseline_mean"], sample["ties"]
    fields: Any = map(np.array, zip(*(sample.estimate for sample in samples), strict=True))
    estimates: Any = MeanEstimate(*fields)
    n, n_units = estimates.n, estimates.n_units
    p_adjusted, levels = p.copy(), np.full(len(n), level)
    for tests in families:
        p_adjusted[tests] = corrections.adjust(p[tests], correction)
        levels[tests] = corrections.find_level_of_each(p_adjusted[tests], level, correction)
    significant = is_significant(p_adjusted, level)
    ci_low, ci_high = widen_to_zero(compute_t_limits(estimates, levels), p_adjusted, level)
    is_constant = (n_units > 1) & are_identical(estimates)
    with np.errstate(all="ignore"):
        deviation = np.where(sample["deviation"] == 0, np.nan, sample["deviation"])
        difference = np.where((n > 0) & (ties == n), 0.0, mean - baseline_mean)
    min_detectable, is_bound = np.full(len(n), np.nan), np.zeros(len(n), dtype=bool)
    has_winner = significant & (difference != 0)
    if test is not None:
        n_differing, unit_deviation = sample["n_differing"], sample["unit_deviation"]
        smallest, are_limits = find_smallest_p_values(
            test, n_units, n_differing, settings.n_resamples
        )
        is_bound = are_limits & ~(p > smallest * (1 + 1e-9))
        can_detect = (unit_deviation > 0) & is_significant(smallest, levels)
        effect = find_detectable_effect(n_units, compute_t_reach(n_units, levels))
        detectable = effect * unit_deviation / np.sqrt(TESTS[test].efficiency)
        min_detectable = np.where(can_detect, detectable, np.nan)
        if (statistic := TESTS[test].statistic) is not None:
            for i in np.flatnonzero(has_winner).tolist():
                differences: Any = samples[i].differences
                known = differences[~np.isnan(differences)]
                has_winner[i] = statistic(known) * difference[i] > 0
    return {
        "segment": keys["segment"],
        "system": keys["system"],
        "measure": keys["measure"],
        "mean": mean,
        "difference": difference,
        "ci_low": ci_low,
        "ci_high": ci_high,
        "p_value": p,
        "p_adjusted": p_adjusted,
        "n_queries": np.array([sizes[segment] for segment in keys["segment"]]),
        "n_defined": n,
        **({"n_clusters": n_units} if has_clusters else {}),
        **{name: sample[name] for name in ("wins", "ties", "losses", "n_undefined")},
        "effect_size": np.where((n > 1) & (ties == n), 0.0, estimates.mean / deviation),
        "min_detectable": min_detectable,
        "baseline": keys["baseline"],
        "baseline_mean": baseline_mean,
        "ci_method": np.full(len(n), "t", dtype=object),
        "is_significant": significant,
        "has_winner": has_winner,
        "p_is_bound": is_bound,
        "standard_error": np.where(is_constant, 0.0, estimates.standard_error),
    }
