"""`compare`: systems paired by query, tested, and corrected over all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skgraded._input.progress import counting_bar
from skgraded._input.segments import few_segments_of
from skgraded.reports import comparison_rows, pairing
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.system_summaries import Summaries, compare_sums
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.intervals import check_settings
from skgraded.stats.paired_tests import DRAWS, FEWEST, TESTS, enough_resamples


def compare(
    evaluations: Mapping[str, Evaluation] | Summaries,
    *,
    baseline: str | None = None,
    test: str | None = "randomization",
    correction: str | None = "holm",
    level: float = 0.95,
    n_resamples: int | None = None,
    rng: int | np.random.Generator | None = None,
    by: Any = None,
    progress: bool = False,
) -> Comparison:
    r"""Compare systems query by query.

    Systems are paired by query id, in whatever order each holds its queries. The query is the
    unit of inference, also of a `CrossEvaluation`: folds share most of their training data and
    are too few to test on.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation, or Summaries
        At least two systems by name, evaluated on the same queries by the same measures. Summaries
        hold sums only: of these `test` is "t" or None, and intervals are by t.
    baseline : str, optional
        The system that all others are compared to; None: every pair is compared, the later
        system to the earlier.
    test : {"randomization", "t", "wilcoxon", "bootstrap"} or None, default="randomization"
        Two-sided test of the differences d of the queries, see Notes. None: no test.
    correction : {"holm", "bonferroni", "fdr_bh", "hsd"} or None, default="holm"
        For the number of tests in the whole table (pairs × measures): Holm (1979), Bonferroni,
        the false discovery rate of Benjamini and Hochberg (1995), or randomized Tukey HSD [8]_,
        which finds more between many systems: the values of each query are dealt out to the
        systems at random, and a difference is compared with the largest of all pairs, over the
        queries that count for all systems; times the number of measures.
    level : float, default=0.95
        Level of the intervals, between 0 and 1: see Notes. Two systems differ significantly if
        ``p_adjusted`` ≤ 1 - level.
    n_resamples : int, optional
        Random sign flips, or resamples of the bootstrap test; at least 100. By default so many that
        the smallest p is a tenth of what the first step of the correction asks for: 9,999 up to 25
        tests, 110,399 for 276.
    rng : int or numpy.random.Generator, optional
        The same whole number gives the same p-values. Resamples are shared: with the same
        `n_resamples` a pair's p does not depend on which other systems and measures there are.
    by : array-like of shape (n_queries,), mapping or pandas Series, optional
        The segment of each query: in the order of the first system's `query_ids`, or by query id.
        Systems are then compared within each segment, corrected over all of them, and their
        differences between segments.
    progress : bool, default=False
        Whether a bar shows the resamples that are done, on a terminal or in a notebook; needs
        tqdm.

    Returns
    -------
    Comparison
        Its frame has the columns

        - ``segment`` (with `by`), ``system``, ``measure``,
        - ``mean``: of the system, over the queries that count,
        - ``difference``: that mean less ``baseline_mean``,
        - ``ci_low``, ``ci_high``: interval of the mean difference by Student's t, see Notes,
        - ``p_value``, ``p_adjusted``: before and after the correction; nan without a test,
        - ``n_queries``: how many count: both systems have a value, and the weight is above 0,
        - ``wins``, ``ties``, ``losses``: queries for which the system is better, equal up to
          rounding (1e-12), worse,
        - ``n_undefined``: how many of the ties have no value of their own in both systems, and
          count as the measure's ``undefined=``; nan of Summaries,
        - ``effect_size``: Cohen's d_z, the mean of d by its standard deviation (with n - 1); 0 if
          all d are 0, nan if they are all the same otherwise, or for one query,
        - ``min_detectable``: the smallest difference that the test would have shown with a power
          of 0.8, see Notes,
        - ``baseline``, ``baseline_mean``, and ``ci_method``, which is "t".

    Raises
    ------
    ValueError, TypeError
        On bad input, before any work: if a system lacks queries or measures of another, or has
        other weights; if the weights are unequal and `test` is not None.

    Warns
    -----
    UserWarning
        If systems were cross-evaluated on different folds.

    Notes
    -----
    Of n differences d with mean d̄,

    - "randomization" flips their signs: p = 2 · min(P(d̄* ≤ d̄), P(d̄* ≥ d̄)), at most 1, over all
      2^n flips where these are no more than `n_resamples` (a d of 0 is not flipped and does not
      count in n), else over `n_resamples` random ones and what was observed: scipy's
      ``permutation_test`` with ``permutation_type="samples"``. Fisher's test, see Smucker,
      Allan, Carterette (2007).
    - "t" is ``scipy.stats.ttest_1samp``.
    - "wilcoxon" is ``scipy.stats.wilcoxon`` with its defaults: differences of 0 are left out
      (``zero_method="wilcox"``). They are rounded to 12 decimals before, so that rounding makes
      and breaks no ties.
    - "bootstrap" draws n of d - d̄ with replacement, `n_resamples` times, and compares
      t = d̄ / s, s the standard deviation: p = (1 + #{\|t*\| ≥ \|t\|}) / (1 + n_resamples)
      (Efron and Tibshirani 1993, section 16.4; Sakai 2006, with the 1 of Davison and Hinkley
      1997, eq. 4.11, so that p is never 0).

    p is 1 if all differences are 0, or for a single query. If n differences are all the same, t is
    not finite, and "t" and "bootstrap" give the p of all sign flips, 2^(1 - n): two equal
    differences show nothing. A p that no resample reached is written with "≤".

    Intervals have the level 1 - (1 - level) / m with Holm's or Bonferroni's correction for m tests,
    so that all of them hold at once with `level`; 1 - (1 - level) · R / m with the false discovery
    rate if R tests reject (Benjamini and Yekutieli 2005); `level` without a correction or a test.
    Without a significant difference, the interval is stretched to contain 0, unless all differences
    are equal.

    The smallest difference that n queries show is δ · s, where s is the standard deviation of d and
    δ √n the noncentrality at which a t-test of the interval's level rejects in 80 of 100 cases
    [9]_. Sign flips and the bootstrap have the power of t with enough queries, Wilcoxon's test that
    of 3/π of the queries for normal d; HSD takes the difference that it needs. It says nothing of
    the observed difference, only how fine a comparison on such queries is; nan if no outcome would
    be significant, without spread or a test.

    A mean of RR is a mean of 1, 1/2, 1/3, …, whose steps are not equal: whether such means may be
    compared is disputed (Fuhr 2017, Sakai 2020). The effect size depends on how much the queries
    differ, and so on the collection: it compares systems on the same queries only.

    References
    ----------
    .. [1] Smucker, Allan, Carterette: A comparison of statistical significance tests for
       information retrieval evaluation. CIKM 2007.
    .. [2] Efron, Tibshirani: An introduction to the bootstrap. 1993.
    .. [3] Sakai: Evaluating evaluation metrics based on the bootstrap. SIGIR 2006.
    .. [4] Davison, Hinkley: Bootstrap methods and their application. 1997.
    .. [5] Benjamini, Yekutieli: False discovery rate-adjusted multiple confidence intervals for
       selected parameters. JASA 100, 2005.
    .. [6] Fuhr: Some common mistakes in IR evaluation, and how they can be avoided. SIGIR Forum
       51(3), 2017.
    .. [7] Sakai: On Fuhr's guideline for IR evaluation. SIGIR Forum 54(1), 2020.
    .. [8] Carterette: Multiple testing in statistical analysis of systems-based information
       retrieval experiments. ACM TOIS 30(1), 2012.
    .. [9] Sakai: Topic set size design. Information Retrieval Journal 19, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> noise = np.random.default_rng(0).normal(size=len(y))
    >>> noisy = sg.evaluate(y, y + 2 * noise, qid=qid, measures="ndcng@10")
    >>> good = sg.evaluate(y, y + noise, qid=qid, measures="ndcng@10")
    >>> found = sg.compare({"noisy": noisy, "good": good}, baseline="noisy", rng=0)
    >>> frame = found.to_frame()
    >>> frame[["system", "measure", "p_value", "n_queries"]].values.tolist()
    [['good', 'NDCNG@10', 0.0002, 60]]
    >>> found.sentences()[0].split(":")[0]
    'good is better than noisy by NDCNG@10'
    """
    if isinstance(evaluations, Summaries):
        systems = list(evaluations.systems)
    else:
        pairing.check_evaluations(evaluations)
        systems = list(evaluations)
    if baseline is not None:
        pairing.check_system("baseline", baseline, systems)
    comparison_rows.check_choice("test", test, TESTS)
    comparison_rows.check_choice("correction", correction, CORRECTIONS)
    level, _, checked = check_settings(
        level, "t", FEWEST if n_resamples is None else n_resamples, rng
    )
    if correction == "hsd" and test != "randomization":
        raise ValueError(f"correction='hsd' is a randomization test; test is {test!r}.")
    if isinstance(evaluations, Summaries):
        if by is not None:
            raise ValueError("Summaries hold no values by query: by must be None.")
        settings = comparison_rows.Settings(test, correction, level, FEWEST, 0)
        return compare_sums(evaluations, settings, baseline)
    paired = pairing.pair_evaluations(evaluations)
    pairing.warn_of_other_folds(paired.folds)
    values = paired.values
    segments = [] if by is None else few_segments_of(values.query_ids, by)
    if test is not None:
        pairing.refuse_unequal(values.weights, values.query_ids)
    if by is not None:
        segment = np.empty(len(values.query_ids), dtype=np.intp)
        for i, (_, positions) in enumerate(segments):
            segment[positions] = i
        values = replace(values, segments=[name for name, _ in segments], segment=segment)
    measures = list(values.per_query)
    cases = comparison_rows.cases_of(systems, measures, baseline, segments)
    if n_resamples is None:
        checked = enough_resamples(len(cases), level, correction)
    settings = comparison_rows.Settings(
        test, correction, level, checked, int(np.random.default_rng(rng).integers(2**63))
    )
    source = pairing.QuerySamples(values, paired.undefined, cases)
    work = len(cases) * (checked + (correction == "hsd") * settings.n_tukey)
    shown = progress and test in DRAWS
    with counting_bar(shown, work, desc="resamples", unit=" rows", unit_scale=True) as done:
        rows = comparison_rows.compared_rows(source, systems, settings, done)
    return Comparison(
        systems=systems, measures=measures, rows=rows, baseline=baseline, test=test,
        correction=correction, level=level, n_resamples=checked,
        seed=int(rng) if isinstance(rng, (int, np.integer)) else None,
        n_queries=len(values.query_ids), is_weighted=values.weights is not None,
        query_values=values, gaps=comparison_rows.gaps_between(source, systems, settings),
    )
