"""Sentences for comparisons: verdicts, pairs of systems, segments, margins and periods.

In all sentences, "better" means significantly better.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from skgraded._input.words import counted, plural
from skgraded.stats.corrections import CORRECTIONS, is_significant
from skgraded.stats.paired_tests import TESTS
from skgraded.writing.text import Bound, fixed, interval_text, label, percent_text

SAME = " All differences are equal, so the interval has no width."
MAX_JUDGED_GAP = 0.1 + 1e-12  # allows for rounding errors
MOST_NAMED = 3  # maximum number of names listed in a verdict; a count replaces longer lists
CHANCE = 0.1  # with a kappa up to this value, judges hardly agree more often than by chance
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


# Who leads ---------------------------------------------------------------------------------------

class Standing(NamedTuple):
    """Leading systems by one measure, overall or in a segment, and the systems they outperform."""

    measure: str
    segment: str | None
    leaders: list[str]  # systems that share the highest mean; empty if all means are nan
    beaten: list[str]  # systems that every leader significantly outperforms
    unbeaten: list[str]  # the other systems that were compared with every leader
    winners: Sequence[str] = ()  # systems significantly better than a leader, despite lower means

    @property
    def lead(self) -> str:
        """Names of the leading systems, followed by a verb, as in "bm25 leads"."""
        shown = self.leaders
        if len(shown) > MOST_NAMED:
            shown = [*shown[:2], f"{len(shown) - 2} more systems"]
        return f"{_listed(shown)} {'leads' if len(shown) == 1 else 'share the lead'}"


def verdict(
    standings: Sequence[Standing], systems: Sequence[str], baseline: str | None, is_tested: bool
) -> str:
    """Describe which systems lead, which they outperform, and which measures disagree."""
    first = standings[0]
    if first.segment is not None:
        return _segment_verdict(standings, baseline, is_tested)
    if not first.leaders:
        return f"No query has a value of {first.measure}."
    if len(first.leaders) == len(systems):
        who = _listed(systems) if len(systems) == 2 else f"All {len(systems)} systems"
        return f"{who} have the same mean {first.measure}.{_disagreement(standings)}"
    title = "The baseline " * (first.leaders == [baseline])
    claims = _claims(first, baseline) if is_tested else ["the differences are not tested"]
    n_compared = len(first.leaders + first.beaten + first.unbeaten)
    is_partial = is_tested and n_compared < len(systems)
    end = " Only pairs with the baseline are tested." if is_partial else ""
    text = "; ".join([f"{title}{first.lead} by {first.measure}", *claims])
    return f"{text}.{end}{_disagreement(standings)}"


def _claims(standing: Standing, baseline: str | None, each: str | None = None) -> list[str]:
    """Describe which systems the leaders significantly outperform, and which they do not."""
    beaten, unbeaten = (
        [f"the baseline {name}" if name == baseline else name for name in names]
        for names in (standing.beaten, standing.unbeaten)
    )
    if each is None:
        each = {1: "", 2: "both "}.get(len(standing.leaders), "all ")
    n = len(beaten) + len(unbeaten)
    if standing.winners:
        be = plural(len(standing.winners), "is", "are")
        return [f"{_listed(standing.winners)}, however, {be} significantly better"]
    if not n:
        return []
    if not beaten:
        whom = _listed(unbeaten) if n <= MOST_NAMED else f"any of the other {_word(n)}"
        return [f"not {each}significantly better than {whom}"]
    if not unbeaten:
        whom = _listed(beaten) if n <= MOST_NAMED else f"the other {_word(n)}"
        return [f"{each}better than {whom}"]
    many = len(unbeaten) > MOST_NAMED
    whom = f"{len(unbeaten)} of the other {n}" if many else _listed(unbeaten)
    is_named = len(beaten) == 1 or many and len(beaten) <= MOST_NAMED
    rest = _listed(beaten) if is_named else f"the other {_word(len(beaten))}"
    return [f"not {each}significantly better than {whom}", f"{each}better than {rest}"]


def _disagreement(standings: Sequence[Standing]) -> str:
    """Describe the measures by which other systems lead."""
    first, *others = standings
    differing = [
        other for other in others if other.leaders and not set(other.leaders) & set(first.leaders)
    ]
    if len(differing) > MOST_NAMED:
        return f" Other systems lead by {len(differing)} of the other {len(others)} measures."
    text = ""
    for other in differing:
        text += f" By {other.measure}, {other.lead}"
        if other.winners:
            text += f", although {_listed(other.winners)} {plural(len(other.winners), 'is', 'are')}"
            text += " significantly better"
        elif set(first.leaders) <= set(other.beaten):
            text += f", better than {_listed(first.leaders)}"
        elif set(first.leaders) <= {*other.beaten, *other.unbeaten}:
            text += f", not significantly better than {_listed(first.leaders)}"
        text += "."
    return text


def _segment_verdict(standings: Sequence[Standing], baseline: str | None, is_tested: bool) -> str:
    """Describe which systems lead in each segment, starting with the first measure."""
    by_measure: dict[str, list[Standing]] = {}
    for standing in standings:
        by_measure.setdefault(standing.measure, []).append(standing)
    (measure, firsts), *others = by_measure.items()
    groups: dict[tuple[str, ...], list[Standing]] = {}  # segments with the same leaders
    for standing in firsts:
        groups.setdefault(tuple(standing.leaders), []).append(standing)
    parts: list[str] = []
    for leaders, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        where = _segments_of(group, len(firsts))
        lead = group[0].lead if leaders else "no system has a mean"
        parts.append(lead + f" by {measure}" * (not parts) + f" in {where}")
        if is_tested and leaders:
            parts[-1] += _segment_claims(group, baseline)
    text = "; ".join(parts)
    for other_measure, of_measure in others:
        differing = [
            other for other, standing in zip(of_measure, firsts, strict=True)
            if not set(other.leaders) & set(standing.leaders)
        ]
        if differing:
            where = _segments_of(differing, len(firsts))
            text += f". By {other_measure}, other systems lead in {where}"
    return f"{text[0].upper() if text.startswith('no ') else text[0]}{text[1:]}."


def _segment_claims(group: Sequence[Standing], baseline: str | None) -> str:
    """Describe, in parentheses, which systems the leaders of a group of segments outperform."""
    compared = dict.fromkeys(
        name for standing in group for name in standing.beaten + standing.unbeaten
    )
    if not compared:
        return ""
    beaten = [name for name in compared if all(name in part.beaten for part in group)]
    unbeaten = [name for name in compared if name not in beaten]
    partly = [part for part in group if compared.keys() <= set(part.beaten)]
    where, each = "", None
    if len(compared) == 1 and unbeaten and partly:
        beaten, unbeaten, where = unbeaten, [], f" in {_segments_of(partly, None)}"
    elif any(name in part.beaten for name in unbeaten for part in group):
        each = "in every segment "
    claims = _claims(group[0]._replace(beaten=beaten, unbeaten=unbeaten), baseline, each)
    return f" ({'; '.join(claims)}{where})"


def _segments_of(standings: Sequence[Standing], n_segments: int | None) -> str:
    n = len(standings)
    if n == n_segments and n > 1:
        return "both segments" if n == 2 else f"all {n} segments"
    if n > MOST_NAMED:
        return f"{n} segments"
    return _listed([str(standing.segment) for standing in standings])


def _listed(names: Sequence[str]) -> str:
    """Join names with commas and a final "and"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _word(n: int) -> str:
    return NUMBERS[n] if n < len(NUMBERS) else str(n)


def judged_gap(systems: Sequence[str], judged: Mapping[str, Any]) -> str:
    """Describe a difference of more than 0.1 in the share of judged documents, or return "".

    `judged` contains an array of mean shares per system, keyed by a name such as "Judged@10".
    """
    for name, shares in judged.items():
        by_share = sorted(zip(shares, systems, strict=True))
        (low, lowest), (high, highest) = by_share[0], by_share[-1]
        if high - low > MAX_JUDGED_GAP:
            return (
                f"{name} is {high:.3f} for {highest} but {low:.3f} for {lowest}: judgments favour "
                "the systems whose documents were selected for judging."
            )
    return ""


# A pair of systems -------------------------------------------------------------------------------

class Unreachable(NamedTuple):
    """The smallest possible p-value of a test that cannot be significant."""

    p: float
    adjusted: float
    n_resamples: int | None  # None if the number of queries limits how small p can be


class Findings(NamedTuple):
    """Test results for one row, except the p-value."""

    assumes: str | None = None  # what the test assumes if there are few queries
    unreachable: Unreachable | None = None
    is_fine: bool = False  # whether significance was attainable but not reached


def sentence(row: Any, findings: Findings, n_queries: int, level: float, corrected: str) -> str:
    """Describe one row of a comparison; `row.system` has the higher mean.

    `n_queries` also counts the queries that the row excludes. `corrected` names the correction.
    """
    n, measure = row.n_queries, row.heading
    if n == 0:
        return f"{row.system} and {row.baseline} share no query with a value of {measure}."
    n_left_out = n_queries - n
    left_out = (
        f" {_queries(n_left_out)} {plural(n_left_out, 'is', 'are')} left out: undefined or without "
        "weight."
    )
    end = _undefined(row) + (left_out if n_left_out else "")
    if row.ties == n:
        everywhere = "the only query" if n == 1 else f"all {n} queries"
        return (
            f"{row.system} and {row.baseline} have the same {measure} for {everywhere}: "
            f"{row.mean:.3f}.{end}"
        )
    digits = 3 if abs(row.difference) >= 0.01 else 4
    p_text = "" if row.is_significant is None else f", {_p(row.p_adjusted)}{corrected}"
    few = SAME if row.ci_low == row.ci_high else ""  # nan for a single query
    if findings.assumes and not few:
        few = f" With so few queries, the test assumes {findings.assumes}."
    outcomes = (
        f"{counted(row.wins, 'win', 'wins')}, {counted(row.losses, 'loss', 'losses')} and "
        f"{counted(row.ties, 'tie', 'ties')} over {_queries(n)}"
    )
    return (
        f"{_relation(row)}: {row.mean:.{digits}f} against {row.baseline_mean:.{digits}f}, "
        f"{row.difference:+z.{digits}f}{_interval(row, level, digits)}{p_text}; "
        f"{outcomes}.{few}{_unreachable(row, findings.unreachable)}{_detectable(row, findings)}"
        f"{_worth(row)}{end}"
    )


def _worth(row: Any) -> str:
    """Report how many human-judged queries would give the same error without the judge."""
    if row.worth != row.worth:
        return ""
    return (
        f" With the judge, {row.n_queries:,} human-judged queries are as informative as "
        f"{round(row.worth):,} without it."
    )


def _undefined(row: Any) -> str:
    """Report how many ties are queries that are undefined for both systems."""
    n = row.n_undefined
    if not n > 0:  # nan: unknown
        return ""
    return f" {plural(n, '1 tie is a query', f'{n} ties are queries')} undefined for both systems."


def _relation(row: Any) -> str:
    system, baseline, measure = row.system, row.baseline, row.heading
    if row.is_significant is None and row.difference == 0:
        return f"{system} and {baseline} have the same mean {measure} (not tested)"
    if row.is_significant is None:
        return f"{system} has a higher mean {measure} than {baseline} (not tested)"
    if not row.is_significant:
        return f"{system} and {baseline} do not differ significantly by {measure}"
    if row.winner is None:
        return (
            f"{system} and {baseline} differ significantly by {measure}, but the ranks of the "
            f"differences, which the test compares, do not favor {system}, whose mean is higher"
        )
    return f"{system} is better than {baseline} by {measure}"


def _interval(row: Any, level: float, digits: int) -> str:
    if row.n_queries < 2:
        return ""
    return (
        f" ({percent_text(level)} interval {row.ci_low:z.{digits}f} to {row.ci_high:z.{digits}f})"
    )


def _unreachable(row: Any, smallest: Unreachable | None) -> str:
    """Explain why no outcome of the test can be significant; return "" if one can be."""
    if smallest is None:
        return ""
    n = row.n_queries - row.ties
    what = f"{_queries(n)} that {plural(n, 'differs', 'differ')}"
    if smallest.n_resamples is not None:
        what = f"{smallest.n_resamples:,} resamples"
    p, adjusted = smallest.p, smallest.adjusted
    after = f", {adjusted:.3g} after the correction" if adjusted > p else ""
    return (
        " No outcome could have been significant: "
        f"with {what}, the smallest possible p is {p:.3g}{after}."
    )


def _detectable(row: Any, findings: Findings) -> str:
    """Report the smallest difference that could have been detected."""
    smallest = row.min_detectable
    if not findings.is_fine or smallest != smallest:
        return ""
    digits = 3 if smallest >= 0.01 else 4
    return (
        f" With {_queries(row.n_queries)}, the smallest difference detectable at 80 % power is "
        f"{smallest:.{digits}f}."
    )


# Segments ----------------------------------------------------------------------------------------

def gap_sentence(
    gap: Any, segment: str, other: str, is_significant: bool | None, level: float, corrected: str
) -> str:
    """Describe how the lead of a system differs between two segments.

    The lead is larger in `segment` than in `other`.
    """
    what = f"The lead of {gap.system} over {gap.baseline} by {gap.measure}"
    few = [
        f"{name} has {'one' if n else 'no'} query that counts"
        for name, n in ((other, gap.other_n_queries), (segment, gap.n_queries)) if n < 2
    ]
    if few:
        return f"{what} is not compared between {segment} and {other}: {' and '.join(few)}."
    relation = {
        None: f"is larger in {segment} than in {other} (not tested)",
        False: f"does not differ significantly between {segment} and {other}",
        True: f"is significantly larger in {segment} than in {other}",
    }[is_significant]
    digits = 3 if abs(gap.interaction) >= 0.01 else 4
    p_text = "" if is_significant is None else f", {_p(gap.p_adjusted)}{corrected}"
    return (
        f"{what} {relation}: {gap.difference:+z.{digits}f} against "
        f"{gap.other_difference:+z.{digits}f}, {gap.interaction:+z.{digits}f}"
        f"{_interval(gap, level, digits)}{p_text}."
    )


# Margins -----------------------------------------------------------------------------------------

def margin_sentence(row: Any, question: str, is_shown: bool, level: float, corrected: str) -> str:
    """Describe the result of an equivalence or noninferiority test.

    `question` is "equivalence" or "noninferiority".
    """
    system, baseline, measure = row.system, row.baseline, row.measure
    if row.n_queries == 0:
        return f"{system} and {baseline} share no query with a value of {measure}."
    verb = "is" if is_shown else "is not shown to be"
    adjective, sign = ("equivalent", "±") if question == "equivalence" else ("noninferior", "")
    few = SAME if row.ci_low == row.ci_high else ""  # nan for a single query
    return (
        f"{system} {verb} {adjective} to {baseline} by {measure} (margin {sign}{row.margin:g}): "
        f"{row.mean:.4f} against {row.baseline_mean:.4f}, {row.difference:+z.4f}"
        f"{_interval(row, 2 * level - 1, 4)}, {_p(row.p_adjusted)}{corrected}; "
        f"{_queries(row.n_queries)}.{few}{_undefined(row)}"
    )


def _p(p: float) -> str:
    if isinstance(p, Bound) and p >= 0.0001:
        return f"p ≤ {p:.3g}"
    if p < 0.001:
        return "p < 0.0001" if p < 0.0001 else f"p = {p:.1g}"
    return f"p = {p:.3g}"


def _queries(n: int) -> str:
    return f"{n} {plural(n, 'query', 'queries')}"


# Tests and corrections --------------------------------------------------------------------------

def procedure(test: str | None, correction: str | None, n_tests: int) -> str:
    """Return the name of the test and, for several tests, the name of the correction."""
    if test is None:
        return "no test"
    words = TESTS[test].words
    if n_tests <= 1:
        return words
    if correction is None:
        return f"{words}, {n_tests} tests, not corrected"
    title = CORRECTIONS[correction].title or CORRECTIONS[correction].words
    return f"{words}, {title} over {n_tests} tests"


def corrected(correction: str | None, n_tests: int) -> str:
    """Return a phrase for the p-value correction, or "" for a single test."""
    if n_tests <= 1:
        return ""
    if correction is None:
        return f" not corrected for {n_tests} tests"
    return f" after {CORRECTIONS[correction].words} over {n_tests} tests"


# Periods -----------------------------------------------------------------------------------------

def period_sentence(row: Any, names: tuple[str, str], level: float, corrected: str) -> str:
    """Describe the change of a mean between two periods; `names` contains their names."""
    what = f"{row.measure}{_in_segment(row)}"
    if min(row.n_before, row.n_after) < 2:
        return f"{what} is not compared, because a period has fewer than two queries with a value."
    return (
        f"{what} {_change(row, level)}: {row.before:.4f} ({names[0]}) and {row.after:.4f} "
        f"({names[1]}), {row.difference:+z.4f} ({percent_text(level)} interval "
        f"{row.ci_low:z.4f} to {row.ci_high:z.4f}), {_p(row.p_adjusted)}{corrected}; "
        f"{row.n_before:,} and {row.n_after:,} queries."
    )


def _change(row: Any, level: float) -> str:
    """Describe the size of a change: significant or, with `smallest`, large enough to matter."""
    verb = "rose" if row.difference > 0 else "fell"
    if row.smallest != row.smallest:
        is_change = is_significant(row.p_adjusted, level)
        return f"{verb} significantly" if is_change else "did not change significantly"
    smallest = f"{row.smallest:g}, the smallest difference that matters"
    if row.ci_low >= row.smallest or row.ci_high <= -row.smallest:
        return f"{verb} by more than {smallest}"
    if -row.smallest < row.ci_low and row.ci_high < row.smallest:
        return f"changed by less than {smallest}"
    return f"may or may not have changed by more than {smallest}"


# Judges ------------------------------------------------------------------------------------------

FEW_FOR_RR = 20  # RR has few distinct values; see benchmarks/README.md


def query_counts(n: int, n_judge: int | None) -> str:
    """Report the number of queries and, with a judge, how many of them only the judge judged."""
    if n_judge is None:
        return counted(n, "query", "queries")
    return f"{n:,} human-judged queries and {n_judge:,} further queries of the judge"


def powered_sentence(row: Any, level: float) -> str:
    """Describe a prediction-powered mean; `row` is a dict with the columns of the summary."""
    worth = round(row["worth"])
    is_rr = row["measure"].partition("@")[0].partition("(")[0] == "RR"
    is_narrow = is_rr and row["n_human"] <= FEW_FOR_RR
    note = f" With up to {FEW_FOR_RR} human-judged queries, intervals for RR are too narrow."
    return (
        f"{row['measure']} is {fixed(row['mean'])} ({percent_text(level)} interval "
        f"{interval_text((row['ci_low'], row['ci_high']))}). It combines {row['n_human']:,} "
        f"human-judged queries with {row['n_judge']:,} queries of the judge, which makes them as "
        f"informative as {counted(worth, 'human-judged query', 'human-judged queries')} alone."
        + note * is_narrow
    )


def judges_verdict(rows: Sequence[Any], truth: str) -> str:
    """Name the judge whose grades agree best with the truth, according to Krippendorff's α."""
    known = [row for row in rows if row.alpha == row.alpha]
    if not known:
        return f"The agreement with {truth} is unknown, because the grades do not vary."
    best = max(known, key=lambda row: row.alpha)
    kappa = "" if best.kappa != best.kappa else f", κ = {fixed(best.kappa, 2)}"
    agrees = "agrees" if len(known) == 1 else "agrees best"
    alpha = _with_interval(best.alpha, best.alpha_low, best.alpha_high)
    return f"{best.judge}{_in_segment(best)} {agrees} with {truth}: α = {alpha}{kappa}."


def label_sentence(row: Any, truth: str, level: float) -> str:
    """Describe how well a judge's grades agree with the truth's grades."""
    name = f"{row.judge}{_in_segment(row)}"
    if not row.n_shared:
        return f"{name} and {truth} graded no document in common."
    text = (
        f"{name} gives the same grade as {truth} to {percent_text(round(row.exact, 3))} of "
        f"{counted(row.n_shared, 'document', 'documents')}: "
    )
    if row.kappa == row.kappa:
        text += f"κ = {_with_interval(row.kappa, row.kappa_low, row.kappa_high)}, "
    text += f"α = {_with_interval(row.alpha, row.alpha_low, row.alpha_high)}"
    text += f" ({percent_text(level)} intervals over queries)."
    if abs(row.bias) >= 0.005:
        direction = "higher" if row.bias > 0 else "lower"
        text += f" On average, its grades are {abs(row.bias):.2f} {direction}."
    if row.kappa <= CHANCE:
        text += f" A κ of at most {CHANCE:g} is hardly better than chance."
    return text


def outside_sentences(rows: Sequence[Any], truth: str) -> list[str]:
    """Report each judge's grades outside the range of the truth's grades."""
    texts = []
    for judge in dict.fromkeys(row.judge for row in rows):
        of_judge = [row for row in rows if row.judge == judge]
        documents = counted(sum(row.n for row in of_judge), "document", "documents")
        grades = [f"{row.grade:g}" for row in of_judge[:MOST_NAMED]]
        if len(of_judge) > MOST_NAMED:
            named = f"grades such as {', '.join(grades)}"
        else:
            named = f"the {plural(len(grades), 'grade', 'grades')} {', '.join(grades)}"
        texts.append(
            f"{judge} gives {documents} {named}, outside the range of the grades of {truth}."
        )
    return texts


def leaderboard_sentence(row: Any, truth: str) -> str:
    """Describe how well a judge's leaderboard agrees with the truth's leaderboard."""
    places = plural(row.largest_drop, "place", "places")
    return (
        f"The {row.measure} leaderboards{_in_segment(row)} of {row.n_systems} systems under "
        f"{row.judge} and under {truth} have τ = {fixed(row.tau_b, 2)} (spread over resampled "
        f"queries: {fixed(row.tau_low, 2)} to {fixed(row.tau_high, 2)}). Significantly different "
        f"pairs: {row.agree} under both judges, {row.reversed} in opposite directions, "
        f"{row.only_truth} only under {truth}, {row.only_judge} only under {row.judge}. The "
        f"largest drop of a system is {row.largest_drop:g} {places}."
    )


def _in_segment(row: Any) -> str:
    return "" if row.segment is None else f" in {label(row.segment)}"


def _with_interval(value: float, low: float, high: float) -> str:
    if low != low:
        return fixed(value, 2)
    return f"{fixed(value, 2)} [{fixed(low, 2)}, {fixed(high, 2)}]"
