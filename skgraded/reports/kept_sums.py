"""Checks of Summaries that were read from JSON, which anyone may have written or cut."""

import math
import re
from fractions import Fraction
from itertools import combinations, pairwise

from skgraded.stats.exact_sums import Moments
from skgraded.writing.json_shapes import Maybe, check_shape

FRACTION = re.compile(r"-?\d{1,2500}(/\d{1,2500})?")  # of floats and their squares: 1,300 digits
SUMS = ("w", "wv", "ww", "wwv", "wwvv", "wvv")
TALLY = {
    "moments": list, "n_undefined": int, "counts": ([int], [int]),
    "worst": ({"dtype": str, "values": list}, [[Maybe(float)]]),
}
SUMMARY = {"n_queries": int, "tallies": {str: TALLY}}


def checked_fraction(written: str, name: str) -> Fraction:
    """The fraction that a text is; a ValueError names it if it is none."""
    check_shape(written, str, name)
    if not FRACTION.fullmatch(written) or re.search("/0+$", written):
        raise ValueError(f"{name} must be a fraction such as '3/4'; got {written[:60]!r}.")
    return Fraction(written)


def checked_moments(written: list, name: str) -> Moments:
    """The moments that a list holds; a ValueError names what is none, or contradicts another."""
    if not isinstance(written, list) or len(written) != 5 + len(SUMS):
        raise ValueError(f"{name} must be a list of {5 + len(SUMS)} moments; got {written!r:.60}.")
    n, *ends = written[:5]
    check_shape(n, int, f"{name}[0]")
    lowest, highest, lightest, heaviest = (
        float(end) if end in ("inf", "-inf") else _finite(end, f"{name}[{i}]")
        for i, end in enumerate(ends, 1)
    )
    sums = [checked_fraction(one, f"{name}[{i}]") for i, one in enumerate(written[5:], 5)]
    moments = Moments(n, lowest, highest, lightest, heaviest, *sums)
    if not (_are_sums(moments) if n else moments == Moments(0, *_NOWHERE, *[Fraction(0)] * 6)):
        raise ValueError(f"{name} are no sums of {n} values: they contradict each other.")
    return moments


_NOWHERE = (math.inf, -math.inf, math.inf, -math.inf)


def _finite(value, name):
    check_shape(value, float, name)
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}, which is not finite.")
    return float(value)


def _are_sums(one):
    """Whether sums can be those of n > 0 values with weights between the ends."""
    ends = (one.lowest, one.highest, one.lightest, one.heaviest)
    if one.n < 0 or not all(map(math.isfinite, ends)):
        return False
    within = one.lowest <= one.highest and 0 < one.lightest <= one.heaviest
    low, high, light, heavy = map(Fraction, ends)
    if not within or not one.n * light <= one.w <= one.n * heavy:
        return False
    mean = one.wv / one.w
    # products are rounded to floats
    slack = Fraction(1, 10**12) * (abs(low) + abs(high)) + Fraction(1, 10**300)
    squares = one.wwvv - 2 * mean * one.wwv + mean * mean * one.ww
    return (
        low - slack <= mean <= high + slack
        and one.w * light <= one.ww <= one.w * heavy
        and squares >= 0 and one.wvv / one.w - mean * mean >= -slack * (abs(low) + abs(high))
    )


def check_summary(summary, name: str = "") -> None:
    """Refuse parts of a Summary that do not belong together; ValueError says which."""
    n = summary.n_queries
    if n < 0:
        raise ValueError(f"{name}n_queries is {n}.")
    if not summary.tallies:
        raise ValueError(f"{name}tallies has no measure.")
    for measure, tally in summary.tallies.items():
        _check_tally(tally, n, len(summary.tallies), f"{name}tallies[{measure!r}]")


def _check_tally(tally, n_queries, n_measures, name):
    n = tally.moments.n
    if not 0 <= n <= n_queries or not 0 <= tally.n_undefined <= n_queries:
        raise ValueError(
            f"{name} has {n} values and {tally.n_undefined} undefined queries of {n_queries}."
        )
    if int(tally.counts.sum()) != n:
        raise ValueError(f"{name}['counts'] are of {tally.counts.sum()} values, but there are {n}.")
    _check_worst(tally, n_queries - tally.n_undefined, n_measures, f"{name}['worst']")


def _check_worst(tally, n_defined, n_measures, name):
    ids = [query for query, _ in tally.worst]
    if len(set(ids)) < len(ids):
        raise ValueError(f"{name} has a query more than once.")
    if len(ids) > n_defined:
        raise ValueError(f"{name} has {len(ids)} queries of {n_defined} with a value.")
    for i, (_, values) in enumerate(tally.worst):
        if len(values) != n_measures:
            raise ValueError(f"{name}[1][{i}] has {len(values)} values of {n_measures} measures.")
        if values[tally.at] is None or not all(one is None or math.isfinite(one) for one in values):
            raise ValueError(f"{name}[1][{i}] lacks a finite value.")
    for (_, one), (query, other) in pairwise(tally.worst):
        if one[tally.at] > other[tally.at]:
            raise ValueError(f"{name} has query {query!r} behind one of a higher value.")


def check_counts(steps: list, counts: list, largest: int, name: str) -> None:
    """Refuse what are no counts of values by steps from -largest to largest."""
    if len(steps) != len(counts):
        raise ValueError(f"{name} has {len(steps)} steps, but {len(counts)} counts.")
    for before, step in pairwise([-largest - 1, *steps]):
        if not before < step <= largest:
            raise ValueError(f"{name}[0] has {step} behind {before}, of steps up to {largest}.")
    for count in counts:
        if count < 1:
            raise ValueError(f"{name}[1] has {count}, which is no count.")


def check_summaries(summaries) -> None:
    """Refuse Summaries of systems that are not of the same queries, measures and pairs."""
    systems = list(summaries.systems)
    if len(systems) < 2:
        raise ValueError(f"systems are {systems}: too few to compare.")
    first = summaries.systems[systems[0]]
    for name, one in summaries.systems.items():
        check_summary(one, f"systems[{name!r}]: ")
        if one.n_queries != first.n_queries or list(one.tallies) != list(first.tallies):
            raise ValueError(
                f"systems[{name!r}] has other measures, or another number of queries, than "
                f"{systems[0]!r}."
            )
    if list(summaries.differences) != list(combinations(systems, 2)):
        raise ValueError(
            f"differences are of {list(summaries.differences)}, not of each pair of {systems}."
        )
    for pair, by_measure in summaries.differences.items():
        if list(by_measure) != list(first.tallies):
            raise ValueError(f"differences of {pair} are by {list(by_measure)}.")
        for measure, one in by_measure.items():
            _check_differences(one, first.n_queries, f"differences of {pair} by {measure!r}")


def _check_differences(one, n_queries, name):
    counts, n = (one.wins, one.ties, one.losses), one.moments.n
    if n > n_queries or min(counts) < 0 or sum(counts) != n:
        raise ValueError(f"{name} have wins, ties and losses {counts} of {n} queries.")
    if not n:
        return
    largest = max(abs(one.moments.lowest), abs(one.moments.highest), abs(one.first / one.moments.w))
    found = (one.second - one.first) / one.moments.w - one.moments.wv / one.moments.w
    if abs(found) > Fraction(largest) / 10**9:
        raise ValueError(f"{name} are not the second system's sum less the first's.")
