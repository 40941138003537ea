"""Checks of Summaries of several systems that were read from JSON."""

from fractions import Fraction
from itertools import combinations

from skgraded.reports.summary import MOMENTS
from skgraded.writing.json_text import FRACTION

SUMMARY: dict = {}  # its class checks it
checked_fraction = FRACTION.read
checked_moments = MOMENTS.read
moments_to_json = MOMENTS.write


def check_summaries(summaries) -> None:
    """Refuse Summaries of systems that are not of the same queries, measures and pairs."""
    systems = list(summaries.systems)
    if len(systems) < 2:
        raise ValueError(f"systems are {systems}: too few to compare.")
    first = summaries.systems[systems[0]]
    for name, one in summaries.systems.items():
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
