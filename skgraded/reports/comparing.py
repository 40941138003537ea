"""The function `compare`: paired comparisons of systems, with tests and corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import argument_error, choice_validator, whole_number
from skgraded._input.segments import segments_of
from skgraded._input.user_warnings import warn_user
from skgraded.reports import pairing
from skgraded.reports.comparison import Comparison
from skgraded.reports.comparison_rows import (
    FAMILIES,
    Settings,
    compare_parts,
)
from skgraded.reports.evaluation import (
    CrossEvaluation,
    Evaluation,
    check_evaluations,
    mean_judged,
)
from skgraded.reports.system_summaries import Summaries
from skgraded.stats.corrections import CHECK_CORRECTION
from skgraded.stats.intervals import (
    CHECK_LEVEL,
    FEWEST_RESAMPLES,
    Rng,
    check_rng,
)
from skgraded.stats.paired_tests import TESTS
from skgraded.writing.sentences import describe_caveats


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
        Whether to show a progress bar for the resamples; requires tqdm.

    Returns
    -------
    Comparison
        The result of `to_frame` has the columns

        - ``segment`` (with `by`), ``system``, ``measure``,
        - ``mean``, ``baseline_mean``: means over ``n_defined`` queries,
        - ``difference``: ``mean`` minus ``baseline_mean``,
        - ``ci_low``, ``ci_high``: Student's t interval for the difference (``ci_method`` "t"),
        - ``p_value``, ``p_adjusted``: p-value before and after the correction; nan without a test,
        - ``n_queries``: number of all queries (with `by`, of the segment),
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
    are_sums = isinstance(evaluations, Summaries)
    if not are_sums:
        check_evaluations(evaluations)
    settings = validate_settings(
        list(evaluations),
        are_sums,
        baseline=baseline,
        test=test,
        correction=correction,
        family=family,
        level=level,
        n_resamples=n_resamples,
        rng=rng,
    )
    if isinstance(evaluations, Summaries):
        return evaluations._compare(settings, by)
    settings = settings._replace(seed=int(np.random.default_rng(rng).integers(2**63)))
    seed = int(rng) if isinstance(rng, (int, np.integer)) else None
    report = _compare_evaluations(evaluations, settings, by, seed, progress)
    _warn_of_different_folds(evaluations)
    for text in describe_caveats(
        report.systems, report.judged or {}, report.n_unanswered or (), report.n_queries
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
    """Check arguments of `compare`; the command calls this function before it reads files."""
    choice_validator("baseline", systems, optional=True)(baseline)
    choice_validator("test", [*TESTS, "auto"], optional=True)(test)
    if test == "auto":
        test = "t" if are_sums else "randomization"
    CHECK_CORRECTION(correction)
    choice_validator("family", FAMILIES)(family)
    level = CHECK_LEVEL(level)
    check_rng(rng)
    if n_resamples is not None:
        whole_number(n_resamples, "n_resamples", FEWEST_RESAMPLES)
    if are_sums and test is not None and TESTS[test].p_of_t is None:
        raise argument_error(
            f"test={test!r} requires per-query values, but Summaries contain only sums: use "
            "test='t' or none.",
            "test",
        )
    return Settings(baseline, test, correction, family, level, int(n_resamples or 0))


def _compare_evaluations(
    evaluations: Mapping[str, Evaluation],
    settings: Settings,
    by: ArrayLike | Mapping[Any, Any] | None,
    seed: int | None,
    progress: bool,
) -> Comparison:
    """Compare Evaluations with valid settings."""
    test, paired = settings.test, pairing.pair_evaluations(evaluations)
    if test is not None:
        pairing.refuse_unequal(
            paired.weights,
            "Pass test=None to get weighted means and intervals without tests, or evaluate without "
            "sample_weight.",
        )
    if paired.cluster is not None and test is not None and not TESTS[test].accepts_clusters:
        others = [name for name, entry in TESTS.items() if entry.accepts_clusters]
        raise ValueError(f"test={test!r} does not support clusters: use one of {others}.")
    parts, codes = {None: paired}, None
    if by is not None:
        segments, codes = _number_segments(evaluations, by, paired.first)
        parts = {name: paired.take(np.flatnonzero(codes == i)) for i, name in enumerate(segments)}
    n_unanswered = [evaluation.n_unanswered for evaluation in evaluations.values()]
    return compare_parts(
        parts,
        paired.systems,
        list(paired.per_query),
        settings,
        n_clusters=None if paired.cluster is None else len(np.unique(paired.cluster)),
        seed=seed,
        progress=progress,
        n_queries=paired.n_queries,
        is_weighted=paired.weights is not None,
        query_ids=paired.query_ids,
        per_query=paired.per_query,
        weights=paired.weights,
        segment=codes,
        judged=mean_judged(list(evaluations.values())) or None,
        n_unanswered=n_unanswered if any(n_unanswered) else None,
    )


def _number_segments(
    evaluations: Mapping[str, Evaluation], by: ArrayLike | Mapping[Any, Any], first: np.ndarray
) -> tuple[list[Any], np.ndarray]:
    """Return the segments in order of first appearance, and the number of each query's segment.

    An array `by` has the query order of the first system; `first` contains positions in that order.
    """
    ids = next(iter(evaluations.values())).query_ids
    names, positions = zip(*segments_of(ids, by, are_compared=True), strict=True)
    codes = np.empty(len(ids), dtype=np.intp)
    for i, of_segment in enumerate(positions):
        codes[of_segment] = i
    order = np.argsort(np.unique(codes[first], return_index=True)[1])
    return [names[i] for i in order], np.argsort(order)[codes[first]]


def _warn_of_different_folds(evaluations: Mapping[str, Evaluation]) -> None:
    """Warn about systems with other folds than the first cross-evaluated system.

    Such systems were trained on different queries, which affects the differences in their values.
    """
    crossed = {
        name: evaluation
        for name, evaluation in evaluations.items()
        if isinstance(evaluation, CrossEvaluation)
    }
    positions = pairing.positions_of(crossed) if len(crossed) > 1 else {}
    folds = {name: crossed[name].fold[rows] for name, rows in positions.items()}
    for name, fold in folds.items():
        first = next(iter(folds))
        pairs = np.unique(np.stack([fold, folds[first]]), axis=1)
        # Fold numbers may differ; the folds agree if each number occurs in exactly one pair.
        if any(pairs.shape[1] != len(np.unique(numbers)) for numbers in pairs):
            warn_user(
                f"{name!r} was cross-evaluated on different folds than {first!r}, so the training "
                "queries also affect their differences. Pass the same cv for both."
            )
