"""Sentences for comparisons.

Systems are described by two patterns: "a leads on AP (0.5000); significantly better than b." and "a
is significantly better than b on AP: 0.5000 against 0.4000, +0.1000 (95 % interval 0.0500 to …".
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from skgraded._input.words import counted, plural
from skgraded.stats.corrections import CORRECTIONS, is_significant
from skgraded.stats.paired_tests import TESTS
from skgraded.writing import text

MOST_NAMED = 3  # maximum number of names in a list
MOST_RESULTS = 4  # maximum number of sentences in a verdict
MAX_JUDGED_GAP = 0.1 + 1e-12  # allows for rounding errors


class Standing(NamedTuple):
    """The systems with the highest mean of a measure, and how they compare with the others."""

    measure: str
    segment: str | None
    leaders: tuple[str, ...]  # empty if all means are nan
    mean: float
    results: tuple[tuple[str, tuple[str, ...]], ...]  # such as ("significantly better than", names)


def verdict(standings: Sequence[Standing]) -> str:
    """Describe who leads on the first measure, and on measures where other systems lead."""
    first = standings[0].measure
    leaders = {row.segment: row.leaders for row in standings if row.measure == first}
    groups: dict[Any, list[Standing]] = {}  # segments with the same result share a sentence
    for row in standings:
        disagrees = row.leaders and not set(row.leaders) & set(leaders[row.segment])
        if row.measure == first or disagrees:
            groups.setdefault((row.measure, row.leaders, row.results), []).append(row)
    ranked = sorted(groups.values(), key=lambda rows: (rows[0].measure != first, -len(rows)))
    texts = [_standing(rows) for rows in ranked[:MOST_RESULTS]]
    n_more = sum(map(len, ranked[MOST_RESULTS:]))
    if n_more:
        what = "measure" if standings[0].segment is None else "segment"
        texts.append(f"The result differs for {counted(n_more, f'more {what}', f'more {what}s')}.")
    return " ".join(texts)


def _standing(rows: Sequence[Standing]) -> str:
    """Describe a result on one measure: overall or, if there are several rows, in segments."""
    measure, segment, leaders, mean, results = rows[0]
    if segment is not None:
        measure += f" in {_named([str(row.segment) for row in rows], 'segments')}"
    if not leaders:
        return f"No query has a value of {measure}."
    lead = f"{_named(leaders)} {plural(len(leaders), 'leads', 'lead')} on {measure}"
    claims = [f"{result} {_named(names)}" for result, names in results]
    return "; ".join([lead + f" ({text.fixed(mean)})" * (len(rows) == 1), *claims]) + "."


def _named(names: Sequence[str], what: str = "systems") -> str:
    """List up to three names, or count them."""
    if len(names) > MOST_NAMED:
        return f"{len(names)} {what}"
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def judged_gap(systems: Sequence[str], judged: Mapping[str, Any]) -> str:
    """Describe a large difference between the systems' shares of judged documents, or return ""."""
    for name, shares in judged.items():
        by_share = sorted(zip(shares, systems, strict=True))
        (low, lowest), (high, highest) = by_share[0], by_share[-1]
        if high - low > MAX_JUDGED_GAP:
            return (
                f"{name} is {text.fixed(high)} for {highest} but {text.fixed(low)} for {lowest}: "
                "judgments favor the systems whose documents were selected for judging."
            )
    return ""


def unanswered(systems: Sequence[str], counts: Sequence[int] | None, n_queries: int) -> str:
    """Name the systems that retrieved nothing for more than half of the queries, or return ""."""
    return " ".join(
        f"{name} retrieved nothing for {n:,} of {n_queries:,} queries, so its values describe "
        "missing results more than its ranking."
        for name, n in zip(systems, counts or (), strict=False)
        if 2 * n > n_queries
    )


class Family(NamedTuple):
    """The tests that one correction covers."""

    correction: str | None
    n_tests: int
    of: str | None = None  # the measure, if each measure has its own family

    @property
    def text(self) -> str:
        """Phrase for the correction, or "" for a single test."""
        if self.n_tests < 2:
            return ""
        words = "no correction" if self.correction is None else CORRECTIONS[self.correction].words
        tests = f"{self.n_tests} tests"
        return f" with {words} over {tests if self.of is None else f'the {tests} of {self.of}'}"

    def notes_on_zero(self, row: Any, level: float) -> list[str]:
        """Explain why the interval of a significant difference contains 0, if it does."""
        if not (contains_zero(row) and is_significant(row.p_adjusted, level)):
            return []
        is_step = self.correction == "holm" and row.p_value * self.n_tests > 1 - level + 1e-12
        why = (
            "intervals use Bonferroni's threshold, which is stricter than Holm's"
            if is_step
            else "Student's t makes other assumptions than the test"
        )
        return [f"The interval contains 0 because {why}."]


def contains_zero(row: Any) -> bool:
    """Return whether the interval of a row has a width and contains 0."""
    return bool(row.ci_low <= 0 <= row.ci_high and row.ci_low < row.ci_high)


def pair_counts(rows: Sequence[Any]) -> str:
    """Count the pairs that differ significantly, and those among them whose interval contains 0."""
    pairs = counted(len(rows), "pair", "pairs")
    if rows[0].is_significant is None:
        return f"{pairs}, not tested"
    n = sum(row.is_significant for row in rows)
    n_zero = sum(bool(row.is_significant) and contains_zero(row) for row in rows)
    note = f", {n_zero} of them with an interval that contains 0" if n_zero else ""
    return f"{n} of {pairs} {plural(n, 'differs', 'differ')} significantly{note}"


class Findings(NamedTuple):
    """Test results for one row, except the p-value."""

    assumes: str | None = None  # what the test assumes if there are few queries
    smallest_p: float | None = None  # smallest possible adjusted p if it cannot be significant
    n_resamples: int | None = None  # if they limit how small p can be


def sentence(row: Any, findings: Findings, n_queries: int, level: float, family: Family) -> str:
    """Describe a row, whose `system` has the higher mean; `n_queries` includes excluded queries."""
    n, relation, notes = row.n_queries, "is not significantly better than", []
    if row.is_significant is None or row.difference != row.difference:
        relation = "is not tested against"
    elif row.winner:
        relation = "is significantly better than"
        notes = family.notes_on_zero(row, level)
    elif row.is_significant:
        relation = "differs significantly from"
        notes.append(f"The test compares ranks, which do not favor {row.system}.")
    if findings.assumes and row.ci_low < row.ci_high:
        notes.append(f"With so few queries, the test assumes {findings.assumes}.")
    if findings.smallest_p is not None:
        limit = counted(n - row.ties, "query that differs", "queries that differ")
        if findings.n_resamples is not None:
            limit = f"{findings.n_resamples:,} resamples"
        smallest = f"with {limit}, the smallest possible {text.p_equation(findings.smallest_p)}"
        notes.append(f"No outcome could have been significant: {smallest}{family.text}.")
    elif row.is_significant is False and row.min_detectable == row.min_detectable:
        smallest = f"difference detectable at 80 % power is {text.fixed(row.min_detectable)}"
        notes.append(f"With {query_counts(n)}, the smallest {smallest}.")
    if n < n_queries:
        notes.append(f"Undefined or without weight: {query_counts(n_queries - n)}, left out.")
    claim = f"{row.system} {relation} {row.baseline} on {row.heading}"
    counts = f"{text.outcomes(row)} over {query_counts(n)}"
    return _difference(claim, row, level, family, counts, notes)


def _difference(
    claim: str,
    row: Any,
    level: float,
    family: Family,
    counts: str,
    notes: Sequence[str],
) -> str:
    """Return a claim with two means, their difference, its interval and p-value, and counts."""
    if row.difference != row.difference:
        return f"{claim}: too few queries with a value."
    means = f"{text.fixed(row.mean)} against {text.fixed(row.baseline_mean)}"
    said = f"{claim}: {means}, {text.signed(row.difference)}"
    said += text.level_interval((row.ci_low, row.ci_high), level)
    if row.p_adjusted == row.p_adjusted:
        said += f", {text.p_equation(row.p_adjusted)}{family.text}"
    if row.ci_low == row.ci_high:
        notes = ["All differences are equal, so the interval has no width.", *notes]
    if row.n_undefined > 0:  # nan: unknown
        notes = [*notes, f"Undefined for both systems: {query_counts(row.n_undefined)}."]
    return " ".join([f"{said}; {counts}.", *notes])


def query_counts(n: int) -> str:
    """Report the number of queries."""
    return counted(n, "query", "queries")


def procedure(test: str | None, family: Family) -> str:
    """Return the name of the test and, for several tests, the name of the correction."""
    return "no test" if test is None else f"{TESTS[test].words}{family.text}"
