"""Sentences for comparisons.

Systems are described by two patterns: "a leads on AP (0.5000); significantly better than b." and "a
is significantly better than b on AP: 0.5000 against 0.4000, +0.1000 (95 % interval 0.0500 to …".
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from skgraded._input.words import counted, plural
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.paired_tests import TESTS, assumption
from skgraded.writing import text

MOST_NAMED = 3  # maximum number of names in a list
MOST_RESULTS = 4  # maximum number of sentences in a verdict
MAX_JUDGED_GAP = 0.1 + 1e-12  # allows for rounding errors
DIFFERS = "differs significantly from"  # if a test of ranks does not favor the higher mean
Row = dict[str, Any]  # a row of a comparison, keyed by column


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


class Procedure(NamedTuple):
    """The test of a comparison, and the tests that one correction covers."""

    test: str | None
    level: float
    n_resamples: int | None
    correction: str | None
    n_tests: int
    part: str | None = None  # what a family covers, if not all rows

    @property
    def correction_text(self) -> str:
        """Phrase for the correction, or "" for a single test."""
        if self.n_tests < 2:
            return ""
        words = "no correction" if self.correction is None else CORRECTIONS[self.correction].words
        tests = (
            f"{self.n_tests} tests"
            if self.part is None
            else f"the {self.n_tests} tests of {self.part}"
        )
        return f" with {words} over {tests}"

    def __str__(self) -> str:
        return "no test" if self.test is None else TESTS[self.test].words + self.correction_text


def contains_zero(row: Row) -> bool:
    """Return whether the interval of a row has a width and contains 0."""
    return bool(row["ci_low"] <= 0 <= row["ci_high"] and row["ci_low"] < row["ci_high"])


def pair_counts(rows: Sequence[Row], is_tested: bool) -> str:
    """Count the pairs that differ significantly, and those among them whose interval contains 0."""
    pairs = counted(len(rows), "pair", "pairs")
    if not is_tested:
        return f"{pairs}, not tested"
    n = sum(row["is_significant"] for row in rows)
    n_zero = sum(row["is_significant"] and contains_zero(row) for row in rows)
    note = f", {n_zero} of them with an interval that contains 0" if n_zero else ""
    return f"{n} of {pairs} {plural(n, 'differs', 'differ')} significantly{note}"


def describe_pair(row: Row, procedure: Procedure) -> str:
    """Describe a row, whose `system` has the higher mean.

    The row also contains its ``heading``, and the smallest possible corrected p-value if no outcome
    could be significant (``smallest_p``, else nan), with whether the resamples limit it
    (``is_limited``).
    """
    is_known = row["difference"] == row["difference"]
    relation = "is not significantly better than"
    if procedure.test is None or not is_known:
        relation = "is not tested against"
    elif row["is_significant"]:
        relation = "is significantly better than" if row["has_winner"] else DIFFERS
    claim = f"{row['system']} {relation} {row['baseline']} on {row['heading']}"
    if not is_known:
        return f"{claim}: too few queries with a value."
    means = f"{text.fixed(row['mean'])} against {text.fixed(row['baseline_mean'])}"
    interval = text.level_interval((row["ci_low"], row["ci_high"]), procedure.level)
    p = ""
    if row["p_adjusted"] == row["p_adjusted"]:
        p_equation = text.p_equation(row["p_adjusted"], row["p_is_bound"])
        p = f", {p_equation}{procedure.correction_text}"
    counts = f"{text.outcomes(row)} over {query_counts(row['n_defined'])}"
    result = f"{claim}: {means}, {text.signed(row['difference'])}{interval}{p}; {counts}."
    return " ".join([result, *_notes(row, procedure, relation == DIFFERS)])


def _notes(row: Row, procedure: Procedure, ranks_decide: bool) -> list[str]:
    """Explain the result of a row, and count the queries without values."""
    n, n_differing = row["n_defined"], row["n_defined"] - row["ties"]
    is_significant, has_width = row["is_significant"], row["ci_low"] < row["ci_high"]
    is_step = row["p_value"] * procedure.n_tests > 1 - procedure.level + 1e-12
    why = (
        "intervals use Bonferroni's threshold, which is stricter than Holm's"
        if procedure.correction == "holm" and is_step
        else "Student's t makes other assumptions than the test"
    )
    assumed = is_significant and assumption(str(procedure.test), n_differing, procedure.level)
    limit = (
        f"{procedure.n_resamples:,} resamples"
        if row["is_limited"]
        else counted(n_differing, "query that differs", "queries that differ")
    )
    smallest_p, detectable = text.p_equation(row["smallest_p"]), row["min_detectable"]
    is_impossible = row["smallest_p"] == row["smallest_p"]
    is_detectable = not is_significant and not is_impossible and detectable == detectable
    notes = {
        "All differences are equal, so the interval has no width.": row["ci_low"] == row["ci_high"],
        f"The test compares ranks, which do not favor {row['system']}.": ranks_decide,
        f"The interval contains 0 because {why}.": (
            is_significant and not ranks_decide and contains_zero(row)
        ),
        f"With so few queries, the test assumes {assumed}.": assumed and has_width,
        f"No outcome could have been significant: with {limit}, the smallest possible {smallest_p}"
        f"{procedure.correction_text}.": is_impossible,
        f"With {query_counts(n)}, the smallest difference detectable at 80 % power is "
        f"{text.fixed(detectable)}.": is_detectable,
        f"Undefined or without weight: {query_counts(row['n_queries'] - n)}, left out.": (
            n < row["n_queries"]
        ),
        f"Undefined for both systems: {query_counts(row['n_undefined'])}.": row["n_undefined"] > 0,
    }
    return [note for note, is_true in notes.items() if is_true]


def query_counts(n: int) -> str:
    """Report the number of queries."""
    return counted(n, "query", "queries")
