"""Sentences for comparisons, periods and judges.

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
NO_ERROR = "The estimated standard error is 0, so the interval is unknown."
FEW_FOR_RR = 50  # RR has few distinct values; see benchmarks/README.md


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


def period_sentence(
    row: Any,
    names: tuple[str, str],
    level: float,
    family: Family,
    corrected: tuple[float, float],
) -> str:
    """Describe the change of a mean between two periods; `names` contains their names.

    `corrected` contains the corrected p-values for the undefined share and the defined queries.
    """
    change = f"may or may not have changed by more than {row.smallest:g}"
    verb = "rose" if row.difference > 0 else "fell"
    if row.smallest != row.smallest:
        is_change = is_significant(row.p_adjusted, level)
        change = f"{verb} significantly" if is_change else "did not change significantly"
    elif row.ci_low >= row.smallest or row.ci_high <= -row.smallest:
        change = f"{verb} by more than {row.smallest:g}"
    elif -row.smallest < row.ci_low and row.ci_high < row.smallest:
        change = f"changed by less than {row.smallest:g}"
    measure, between = text.measured(row), f"from {names[0]} to {names[1]}"
    claim = f"{measure} {change} {between}"
    if row.ci_low != row.ci_low:
        claim = f"The change of {measure} {between} is not tested"
    means = row.after, row.before, row.difference
    counts = f"{row.n_after:,} and {query_counts(row.n_before)}"
    said = _difference(claim, row, level, family, counts, family.notes_on_zero(row, level), means)
    return " ".join([said, *_undefined_notes(row, level, corrected, family)])


def _undefined_notes(
    row: Any, level: float, corrected: tuple[float, float], family: Family
) -> list[str]:
    """Describe whether the share of undefined queries or the mean of the defined ones changed."""

    def change(difference: float, p: float) -> str:
        if not is_significant(p, level):
            return "did not change significantly"
        return "rose significantly" if difference > 0 else "fell significantly"

    if not row.undefined_before + row.undefined_after > 0:
        return []
    (p, p_defined), gap = corrected, row.undefined_after - row.undefined_before
    shares = " against ".join(map(text.share, (row.undefined_after, row.undefined_before)))
    notes = [
        f"The share of undefined queries {change(gap, p)}: {shares}, "
        f"{text.p_equation(p)}{family.text}."
    ]
    if row.p_defined == row.p_defined:
        notes.append(
            f"The mean of the defined queries {change(row.defined_difference, p_defined)}: "
            f"{text.signed(row.defined_difference)}, {text.p_equation(p_defined)}{family.text}."
        )
    return notes


def trend_sentence(row: Any) -> str:
    """Describe a label whose mean or share of undefined queries is outside its limits."""
    parts = "the mean", row.mean, row.lower, row.upper, row.is_outside, text.fixed
    limits = row.undefined_lower, row.undefined_upper, row.undefined_is_outside
    shares = "the share of undefined queries", row.undefined, *limits, text.share
    places = [
        f"{name}, {shown(value)}, is {'outside' if is_outside else 'within'} the limits "
        f"{shown(lower)} to {shown(upper)}"
        for name, value, lower, upper, is_outside, shown in (parts, shares)
        if name == "the mean" or value or is_outside
    ]
    said = f"{text.measured(row)} on {row.label}: {'; '.join(places)}."
    if row.is_outside and row.undefined_is_outside and "undefined=nan" not in row.measure:
        said += " Undefined queries count in this mean; undefined=nan would exclude them."
    return said


def _difference(
    claim: str,
    row: Any,
    level: float,
    family: Family,
    counts: str,
    notes: Sequence[str] = (),
    means: tuple[float, float, float] | None = None,
) -> str:
    """Return a claim with two means, their difference, its interval and p-value, and counts."""
    mean, other, difference = means or (row.mean, row.baseline_mean, row.difference)
    if difference != difference:
        return f"{claim}: too few queries with a value."
    said = f"{claim}: {text.fixed(mean)} against {text.fixed(other)}, {text.signed(difference)}"
    said += text.level_interval((row.ci_low, row.ci_high), level)
    if row.p_adjusted == row.p_adjusted:
        said += f", {text.p_equation(row.p_adjusted)}{family.text}"
    if row.ci_low == row.ci_high and means is None:
        notes = ["All differences are equal, so the interval has no width.", *notes]
    if getattr(row, "n_undefined", 0) > 0:  # nan: unknown
        notes = [*notes, f"Undefined for both systems: {query_counts(row.n_undefined)}."]
    return " ".join([f"{said}; {counts}.", *notes])


def query_counts(n: int, n_judge: int | None = None) -> str:
    """Report the number of queries and, with a judge, how many of them only the judge judged."""
    if n_judge is None:
        return counted(n, "query", "queries")
    return f"{n:,} human-judged queries and {n_judge:,} further queries of the judge"


def procedure(test: str | None, family: Family) -> str:
    """Return the name of the test and, for several tests, the name of the correction."""
    return "no test" if test is None else f"{TESTS[test].words}{family.text}"


def powered_sentence(row: Any, level: float) -> str:
    """Describe a prediction-powered mean; `row` is a dict with the columns of the summary."""
    is_rr = row["measure"].partition("@")[0].partition("(")[0] == "RR"
    note = f" With up to {FEW_FOR_RR} human-judged queries, intervals for RR are too narrow."
    if row["ci_low"] != row["ci_low"]:
        return f"{row['measure']} is {text.fixed(row['mean'])}. {NO_ERROR}"
    return (
        f"{row['measure']} is {text.fixed(row['mean'])}"
        f"{text.level_interval((row['ci_low'], row['ci_high']), level)}: {row['n_human']:,} "
        f"human-judged queries and {row['n_judge']:,} queries of the judge are as informative as "
        f"{row['worth']:,.0f} human-judged queries alone."
    ) + note * (is_rr and row["n_human"] <= FEW_FOR_RR)


def judges_verdict(rows: Sequence[Any], boards: Sequence[Any], truth: str, level: float) -> str:
    """Name the judge that agrees best with the truth by α and, without segments, by each criterion.

    The other criteria are κ, the τ of each leaderboard and the number of reversed pairs of systems.
    """
    known = [row for row in rows if row.alpha == row.alpha]
    if not known:
        return f"The agreement with {truth} is unknown, because the grades do not vary."
    row = max(known, key=lambda row: row.alpha)
    verb, by = ("agrees", "") if len(known) == 1 else ("agrees best", " by α")
    verdict = label_sentence(row, truth, level, verb, by)
    if len(rows) == 1 or rows[0].segment is not None:
        return verdict
    criteria = {"κ": {row.judge: row.kappa for row in rows}}
    n_reversed = dict.fromkeys(criteria["κ"], 0)
    for board in boards:
        criteria.setdefault(f"τ on {board.measure}", {})[board.judge] = board.tau_b
        n_reversed[board.judge] += board.reversed
    best = [
        f"by {criterion}: {_named([name for name, value in by_judge.items() if value == highest])}"
        f" ({text.fixed(highest)})"
        for criterion, by_judge in criteria.items()
        if (highest := max(filter(lambda v: v == v, by_judge.values()), default=None)) is not None
    ]
    if boards:
        fewest = min(n_reversed.values())
        names = [name for name, n in n_reversed.items() if n == fewest]
        best.append(f"by reversed pairs of systems: {_named(names, 'judges')} ({fewest})")
    return f"{verdict} Best {'; '.join(best)}." if best else verdict


def label_sentence(row: Any, truth: str, level: float, verb: str = "agrees", by: str = "") -> str:
    """Describe how well a judge's grades agree with the truth's grades."""
    if not row.n_shared:
        return f"{row.judge}{text.in_segment(row)} and {truth} graded no document in common."
    interval = text.level_interval((row.alpha_low, row.alpha_high), level)
    agreement = f"α = {text.fixed(row.alpha)}{interval}"
    if row.kappa == row.kappa:
        interval = text.level_interval((row.kappa_low, row.kappa_high), level)
        agreement += f", κ = {text.fixed(row.kappa)}{interval}"
    documents = counted(row.n_shared, "document", "documents")
    return (
        f"{row.judge}{text.in_segment(row)} {verb} with {truth}{by}: {agreement}; "
        f"{text.percent_text(round(row.exact, 3))} of {documents} with the same grade, "
        f"mean difference {text.signed(row.bias)}."
    )


def outside_sentences(rows: Sequence[Any], truth: str) -> list[str]:
    """Report each judge's grades outside the range of the truth's grades."""
    texts = []
    for judge in dict.fromkeys(row.judge for row in rows):
        of_judge = [row for row in rows if row.judge == judge]
        documents = counted(sum(row.n for row in of_judge), "document", "documents")
        grades = _named([f"{row.grade:g}" for row in of_judge[:MOST_NAMED]])
        texts.append(f"{judge} grades {documents} outside the range of {truth}, such as {grades}.")
    return texts


def leaderboard_sentence(row: Any, truth: str) -> str:
    """Describe how well a judge's leaderboard agrees with the truth's leaderboard."""
    return (
        f"{row.judge} and {truth} rank {row.n_systems} systems on {row.measure}"
        f"{text.in_segment(row)} with τ = {text.fixed(row.tau_b)} (spread over resampled queries: "
        f"{text.interval_text((row.tau_low, row.tau_high))}). Significantly different pairs: "
        f"{row.agree} under both judges, {row.reversed} in opposite directions, {row.only_truth} "
        f"only under {truth}, {row.only_judge} only under {row.judge}. Largest drop of a system: "
        f"{row.largest_drop:g} {plural(row.largest_drop, 'place', 'places')}."
    )
