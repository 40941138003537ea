"""Compare paired samples: differences between two systems, their tests, and one-sided outcomes."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.libraries import Advance, show_nothing
from skgraded._kernels.sums import mean_of_defined
from skgraded.stats.intervals import (
    BLOCK,
    MeanEstimate,
    Rng,
    estimate_mean,
    sum_clusters,
    sum_differences,
)
from skgraded.stats.rounding import are_equal, subtract

FEWEST, MOST = 9_999, 9_999_999  # lower and upper limits of the default number of resamples
PIECE = 1024  # number of queries per matrix product of sign flips and differences
# Maximum numbers of queries for the exact Wilcoxon test, with and without ties or zeros
MOST_TIED, MOST_DISTINCT = 13, 50
SLACK = 1e-12  # rounding error of a sum of differences, relative to the sum of absolute values
WIDE = 1e9  # if |a| > WIDE * |b| for differences a and b, the slack of a may exceed |b|


class PairedSample(NamedTuple):
    """Summary statistics for a system, its baseline and their differences, without a test."""

    mean: float
    baseline_mean: float
    wins: int
    ties: int
    losses: int
    n_undefined: float  # number of queries with undefined values for both systems; nan if unknown
    deviation: float  # standard deviation (ddof=1); 0 if all differences are equal
    unit_deviation: float  # for clusters: standard error times the square root of their number
    n_differing: int  # number of queries or clusters for which the (summed) difference is not 0
    estimate: MeanEstimate  # estimate of the mean difference
    differences: np.ndarray | None = None  # nan for excluded queries; None if not available


def summarize_pair(
    values: np.ndarray,
    baseline_values: np.ndarray,
    are_undefined: np.ndarray,
    weights: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
) -> PairedSample:
    """Summarize paired values; `are_undefined` marks queries undefined for both systems."""
    of_queries = subtract_baseline(values, baseline_values, weights, merge=True)
    is_known = ~np.isnan(of_queries)
    differences = of_queries[is_known]
    weights = None if weights is None else weights[is_known]
    cluster = None if cluster is None else cluster[is_known]
    estimate, deviation = estimate_mean(differences, weights, cluster), 0.0
    n = estimate.n
    if n > 1 and np.ptp(differences) > 0:
        variance = np.average((differences - estimate.mean) ** 2, weights=weights) * n / (n - 1)
        deviation = float(np.sqrt(variance))
    unit_deviation = deviation
    if cluster is not None:
        unit_deviation = estimate.standard_error * np.sqrt(estimate.n_units)
    return PairedSample(
        mean_of_defined(values[is_known], weights),
        mean_of_defined(baseline_values[is_known], weights),
        **count_outcomes(differences),
        n_undefined=int(np.count_nonzero(is_known & are_undefined)),
        deviation=deviation,
        unit_deviation=unit_deviation,
        n_differing=int(np.count_nonzero(sum_differences(differences, cluster))),
        estimate=estimate,
        differences=of_queries,
    )


def subtract_baseline(
    values: np.ndarray,
    baseline_values: np.ndarray,
    weights: np.ndarray | None,
    *,
    merge: bool = False,
) -> np.ndarray:
    """Return values - baseline_values, with nan where a value is missing or the weight is 0.

    A query counts as a tie if and only if the difference of its two values is 0; see `subtract`.
    """
    if weights is not None:
        values = np.where(weights > 0, values, np.nan)
    return subtract(values, baseline_values, merge=merge)


def count_outcomes(differences: np.ndarray) -> dict[str, int]:
    """Count wins, ties and losses: differences above, equal to and below 0."""
    wins, losses = (int(np.count_nonzero(x > 0)) for x in (differences, -differences))
    return {"wins": wins, "ties": len(differences) - wins - losses, "losses": losses}


def average_queries(values: np.ndarray, query: np.ndarray, n_queries: int) -> np.ndarray:
    """Return each query's mean value, ignoring nan, or nan for queries without values."""
    known = ~np.isnan(values)
    counts = np.bincount(query[known], minlength=n_queries)
    sums = np.bincount(query[known], values[known], minlength=n_queries)
    return np.divide(sums, counts, out=np.full(n_queries, np.nan), where=counts > 0)


# Tests -------------------------------------------------------------------------------------------


class PairedTest(NamedTuple):
    """A paired test. Each row passed to its function `p` contains at least two differences.

    Differences that are equal up to rounding errors must be exactly equal; see `subtract`.
    """

    words: str  # name of the test within a sentence
    # p(rows, n_resamples, seed, advance, cluster) returns one p-value per row, ignoring nan.
    # `cluster` is None or contains the cluster number of each query.
    p: Callable[..., Any]
    # smallest_p(n, n_resamples) returns the lowest possible p-value for n ≥ 1 nonzero differences.
    # It also returns whether a larger number of resamples would lower this p-value.
    smallest_p: Callable[[int, Any], tuple[float, bool]]
    # The sign of statistic(differences) shows which system the test favors. `statistic` is None
    # for tests that favor the system with the higher mean.
    statistic: Callable[[np.ndarray], float] | None
    efficiency: float  # Pitman efficiency relative to the t-test, for normal differences
    accepts_clusters: bool = False  # whether p uses `cluster`
    draws: bool = False  # whether the test draws resamples
    # p_of_t(n, t) returns the p-value; None for tests that require per-query values.
    p_of_t: Callable[[int, float], float] | None = None


def p_values(
    test: str,
    rows: np.ndarray,
    n_resamples: int,
    seed: Rng,
    advance: Advance = show_nothing,
    cluster: np.ndarray | None = None,
) -> np.ndarray:
    """Test whether differences are symmetric about 0 or, for "t" and "bootstrap", have mean 0.

    Each row contains the differences for one test; nan values are ignored. The two-sided p-value is
    1 if all differences are 0 or there is only one, and nan if there are none. `advance` is called
    with the number of resamples drawn, and `cluster` contains the cluster number of each query.
    """
    counting = np.count_nonzero(sum_clusters((~np.isnan(rows)).astype(int), cluster), axis=1)
    p = np.where(counting, 1.0, np.nan)
    differs = np.nan_to_num(rows).any(axis=1)
    tested = np.flatnonzero((counting > 1) & differs)
    if len(tested):
        p[tested] = TESTS[test].p(rows[tested], n_resamples, seed, advance, cluster)
    return p


def compute_p_of_sums(test: str, sample: PairedSample) -> float:
    """Return the two-sided p-value of a test that requires only the sums of the differences."""
    n, p_of_t = sample.estimate.n, TESTS[test].p_of_t
    if n < 2 or sample.ties == n:
        return 1.0 if n else math.nan
    if sample.deviation == 0:
        return compute_p_of_identical(n)
    assert p_of_t is not None  # `validate_settings` rejects tests that require per-query values
    return p_of_t(n, sample.estimate.mean / sample.estimate.standard_error)


def find_smallest_p_values(
    test: str, n_units: np.ndarray, n_differing: np.ndarray, n_resamples: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest possible p-value of each row, and whether `n_resamples` limits it."""
    n_differing = np.where(n_units < 2, 0, n_differing)
    sizes, size_of = np.unique(n_differing, return_inverse=True)
    smallest = [
        TESTS[test].smallest_p(n, n_resamples) if n else (1.0, False) for n in sizes.tolist()
    ]
    p, are_limits = map(np.array, zip(*smallest, strict=True))
    return p[size_of], are_limits[size_of]


def choose_n_resamples(n_tests: int, level: float, correction: str | None) -> int:
    """Return the number of resamples (at least 9,999) with which every test can be significant."""
    # p is at least 2 / (n + 1) for n resamples. Make this bound a tenth of the strictest threshold.
    strictest = (1 - level) / (max(n_tests, 1) if correction else 1)
    return min(max(FEWEST, math.ceil(20 / strictest * (1 - 1e-9)) - 1), MOST)


def _row_by_row(
    p_of_row: Callable[[np.ndarray, np.ndarray | None], float],
) -> Callable[..., list[float]]:
    """Convert a test of a single row without nan into a test of many rows that may contain nan."""

    def p_of_rows(rows: np.ndarray, *settings: Any) -> list[float]:
        cluster = settings[-1]
        return [
            p_of_row(row[known], None if cluster is None else cluster[known])
            for row, known in zip(rows, ~np.isnan(rows), strict=True)
        ]

    return p_of_rows


def _randomization(
    rows: np.ndarray, n_resamples: int, seed: Rng, advance: Advance, cluster: np.ndarray | None
) -> np.ndarray:
    known = ~np.isnan(rows).all(axis=0)
    cluster = None if cluster is None else cluster[known]
    rows = sum_differences(np.nan_to_num(rows[:, known]), cluster)
    # Sign flips do not change zeros. Omitting them makes the exact test feasible for more rows.
    n_differing = np.count_nonzero(rows, axis=1)
    p, exact = np.ones(len(rows)), np.array([2 ** int(n) <= n_resamples for n in n_differing])
    exact &= n_differing > 0  # sums of clusters can all be 0
    p[exact] = [
        _compute_p_of_flips(row[None, row != 0], None, None, show_nothing)[0] for row in rows[exact]
    ]
    drawn = (n_differing > 0) & ~exact
    if drawn.any():
        rng = np.random.default_rng(seed)
        p[drawn] = _compute_p_of_flips(rows[drawn], n_resamples, rng, advance)
    return p


def _compute_p_of_flips(
    rows: np.ndarray, n_resamples: int | None, rng: np.random.Generator | None, advance: Advance
) -> np.ndarray:
    """Compute p-values from random sign flips, or from all flips if `n_resamples` is None."""
    n = rows.shape[1]
    columns = np.ascontiguousarray(rows.T)
    sizes = np.abs(columns)
    slack: Any = SLACK * sizes.sum(axis=0)
    # Compute the slack for each flip if huge differences may make it exceed small differences.
    smallest = np.where(sizes > 0, sizes, np.inf).min(axis=0)
    is_hiding = (sizes.max(axis=0) > WIDE * smallest).any()
    n_less, n_greater = np.zeros((2, len(rows)), dtype=np.intp)
    n_drawn = 0
    for flipped in _yield_flips(n, n_resamples, rng):
        reductions = _product(flipped, columns)  # each flip reduces the sum by twice this value
        if is_hiding:
            slack = SLACK * _product(flipped, sizes)
        n_less += np.count_nonzero(reductions >= -slack, axis=0)
        n_greater += np.count_nonzero(reductions <= slack, axis=0)
        n_drawn += len(reductions)
        advance(reductions.size)
    n_observed = 0 if n_resamples is None else 1  # count the observed signs as one flip
    return np.minimum(
        1.0, 2 * (np.minimum(n_less, n_greater) + n_observed) / (n_drawn + n_observed)
    )


def _product(flipped: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Compute the matrix product flipped @ columns in pieces that fit in the cache."""
    pieces = range(0, len(columns), PIECE)
    return sum(flipped[:, i : i + PIECE].astype(float) @ columns[i : i + PIECE] for i in pieces)


def _yield_flips(
    n: int, n_resamples: int | None, rng: np.random.Generator | None
) -> Iterator[np.ndarray]:
    """Yield batches of random sign flips, or of all flips if the last two arguments are None."""
    n_bytes = -(-n // 8)
    for first, last in _split_resamples(n, 2**n if n_resamples is None else n_resamples):
        if rng is None:
            yield np.arange(first, last)[:, None] >> np.arange(n) & 1
        else:
            bits = np.frombuffer(rng.bytes((last - first) * n_bytes), np.uint8)
            yield np.unpackbits(bits.reshape(-1, n_bytes), axis=1, count=n)


def _split_resamples(n: int, n_resamples: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) for each batch of resamples; a resample contains n values."""
    size = max(64, BLOCK // n)  # affects only speed: small matrix products are slow
    for first in range(0, n_resamples, size):
        yield first, min(first + size, n_resamples)


@_row_by_row
def _t(differences: np.ndarray, cluster: np.ndarray | None) -> float:
    mean = differences.mean()
    sums = sum_differences(differences, cluster, mean)
    n = len(sums)
    if differences.max() == differences.min() or not sums.any():
        return (
            1.0 if are_equal(mean, 0.0, np.abs(differences).mean()) else compute_p_of_identical(n)
        )
    variance = np.mean(sums**2) * (n / (n - 1))
    return p_of_t(n, mean / (np.sqrt(variance / n) * (n / len(differences))))


def p_of_t(n: int, t: float) -> float:
    """Return the two-sided p-value of a t-test of n units, as in ``scipy.stats.ttest_1samp``."""
    from scipy.special import stdtr

    return float(2 * stdtr(n - 1, -abs(t)))


def compute_p_of_identical(n: int) -> float:
    """Return the p-value of a sign test of n identical differences, for which t is infinite."""
    return 2.0 ** (1 - n)


@_row_by_row
def _wilcoxon(differences: np.ndarray, _: np.ndarray | None) -> float:
    from scipy.special import ndtr

    n, ranks = len(differences), _double_ranks(differences)
    total, above = ranks.sum(), ranks[differences > 0].sum()
    is_exact = n <= MOST_TIED or n <= MOST_DISTINCT and len(np.unique(ranks[ranks > 0])) == n
    if not is_exact:
        z = (above - total / 2) / (np.sqrt(np.square(ranks).sum()) / 2)
        return float(2 * ndtr(-abs(z)))
    share = np.zeros(int(total) + 1)  # share[s]: share of sign flips whose positive ranks sum to s
    share[0] = 1.0
    for rank in map(int, ranks[ranks > 0]):
        share[rank:] += share[:-rank]
        share /= 2
    tails = share[: int(above) + 1].sum(), share[int(above) :].sum()
    return min(1.0, 2 * float(min(tails)))


def _double_ranks(differences: np.ndarray) -> np.ndarray:
    """Return the ranks of the absolute differences, doubled to be integers; 0 for differences of 0."""
    from scipy.stats import rankdata

    ranks, differs = np.zeros(len(differences)), differences != 0
    ranks[differs] = 2 * rankdata(np.abs(differences[differs]))
    return ranks


def _bootstrap(
    rows: np.ndarray, n_resamples: int, seed: Rng, advance: Advance, cluster: np.ndarray | None
) -> np.ndarray:
    p = np.empty(len(rows))
    counting = ~np.isnan(rows)
    patterns, of_row = np.unique(counting, axis=0, return_inverse=True)
    of_row = of_row.reshape(-1)
    for i, pattern in enumerate(patterns):
        part = None if cluster is None else cluster[pattern]
        known = rows[of_row == i][:, pattern]
        p[of_row == i] = _compute_p_of_draws(known, part, n_resamples, seed, advance)
    return p


def _compute_p_of_draws(
    rows: np.ndarray, cluster: np.ndarray | None, n_resamples: int, seed: Rng, advance: Advance
) -> np.ndarray:
    """Compute bootstrap p-values of rows without nan; all rows use the same resamples."""
    rng, means = np.random.default_rng(seed), rows.mean(axis=1)
    # If there are no clusters, each sum contains a single difference.
    centered = sum_differences(rows, cluster, means[:, None]).T
    sizes = None if cluster is None else np.bincount(cluster)[np.unique(cluster)]
    n, squares = len(centered), centered**2
    is_constant = (rows.max(axis=1) == rows.min(axis=1)) | ~centered.any(axis=0)
    slack = SLACK * np.abs(rows).mean(axis=1)
    n_extreme = np.zeros(len(rows), dtype=np.intp)
    with np.errstate(divide="ignore", invalid="ignore"):  # rows may be constant
        observed = np.abs(means) / centered.std(axis=0)
        if sizes is not None:
            observed = np.abs(means) * sizes.mean() / np.sqrt(squares.mean(axis=0))
        for first, last in _split_resamples(n, n_resamples):
            size = last - first
            drawn = rng.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
            times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n) / n
            drawn_means, drawn_squares = times @ centered, times @ squares
            if sizes is None:
                spreads = np.sqrt(np.maximum(drawn_squares - drawn_means**2, 0.0))
            else:  # Σ (S - n m)² over drawn clusters: S is the sum, n the size, m the overall mean
                drawn_sizes = (times @ sizes)[:, None]
                drawn_means /= drawn_sizes
                products = times @ (centered * sizes[:, None])
                shift = (times @ sizes**2)[:, None] * drawn_means**2
                drawn_squares += shift - 2 * drawn_means * products
                spreads = np.sqrt(np.maximum(drawn_squares, 0.0)) / drawn_sizes
            # The comparison does not divide by spreads, because they can be 0.
            n_extreme += np.count_nonzero(np.abs(drawn_means) >= observed * spreads - slack, axis=0)
            advance(size * len(rows))
    p_of_constant = np.where(
        are_equal(means, 0.0, np.abs(rows).mean(axis=1)), 1.0, compute_p_of_identical(n)
    )
    return np.where(is_constant, p_of_constant, (1 + n_extreme) / (1 + n_resamples))


TESTS = {
    "randomization": PairedTest(
        "randomization test (sign flips)",
        _randomization,
        lambda n, n_resamples: (  # few flips are enumerated
            (compute_p_of_identical(n), False)
            if 2**n <= n_resamples
            else (2 / (n_resamples + 1), True)
        ),
        statistic=None,
        efficiency=1,
        accepts_clusters=True,
        draws=True,
    ),
    "t": PairedTest(
        "paired t-test",
        _t,
        lambda n, _: (0.0, False),  # p can be arbitrarily small
        statistic=None,
        efficiency=1,
        accepts_clusters=True,
        p_of_t=p_of_t,
    ),
    "wilcoxon": PairedTest(
        "Wilcoxon signed-rank test",
        _wilcoxon,
        lambda n, _: (p_values("wilcoxon", np.arange(1.0, n + 1)[None], 0, 0)[0], False),
        statistic=lambda differences: float(_double_ranks(differences) @ np.sign(differences)),
        efficiency=3 / math.pi,
    ),
    "bootstrap": PairedTest(
        "bootstrap test",
        _bootstrap,
        lambda _, n_resamples: (1 / (n_resamples + 1), True),
        statistic=None,
        efficiency=1,
        accepts_clusters=True,
        draws=True,
    ),
}


def draws_resamples(test: str | None) -> bool:
    """Return whether `test` draws resamples; if `test` is None, return False."""
    return test is not None and TESTS[test].draws


# One-sided comparisons, which show whether a system loses more than a limit ---------------------

WORSE, NOT_WORSE, UNDECIDED = "worse", "not worse", "undecided"
MOST_UNITS = 10**12  # maximum number of units; more are never needed in practice


def judge_outcomes(
    difference: np.ndarray,
    standard_error: np.ndarray,
    n_units: np.ndarray,
    level: float,
    max_loss: float,
) -> dict[str, np.ndarray]:
    """Compare differences (system minus baseline) with the largest acceptable loss.

    Return columns: the one-sided limits ``low`` and ``high``, the ``outcome``, and ``n_needed``,
    the smallest number of units needed to decide the outcome, all else being equal, or nan if no
    number suffices. See `Comparison.outcomes`. A standard error of 0 means that all differences in
    a row are equal.
    """
    from scipy.special import stdtrit

    error = (1 - level) / len(difference)
    with np.errstate(invalid="ignore"):
        reach = stdtrit(n_units - 1, 1 - error) * standard_error
    is_unknown = (standard_error == 0) & (difference != 0) & (2.0 ** (1 - n_units) > error)
    reach = np.where(standard_error == 0, np.where(is_unknown, np.nan, 0.0), reach)
    low, high = difference - reach, difference + reach
    outcome = np.select([high < -max_loss, low >= -max_loss], [WORSE, NOT_WORSE], UNDECIDED)
    deviations = standard_error * np.sqrt(n_units)
    rows = zip(difference.tolist(), deviations.tolist(), strict=True)
    n_needed = np.array([_count_needed(*row, error, max_loss) for row in rows])
    return {"low": low, "high": high, "outcome": outcome, "n_needed": n_needed}


def _count_needed(difference: float, deviation: float, error: float, max_loss: float) -> float:
    """Return the number of units needed for a decision; nan if it exceeds `MOST_UNITS`."""
    from scipy.special import stdtrit

    margin = abs(difference + max_loss)
    if deviation == 0:
        return 2 if difference == 0 else max(2, 1 + math.ceil(-math.log2(error)))
    if not margin > 0:  # the margin may also be nan
        return math.nan

    def is_decided(n: int) -> bool:
        return bool(stdtrit(n - 1, 1 - error) * deviation / math.sqrt(n) <= margin)

    return (
        bisect_left(range(MOST_UNITS), True, lo=2, key=is_decided)
        if is_decided(MOST_UNITS)
        else math.nan
    )
