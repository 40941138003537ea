"""Sentences for comparisons.

Systems are described by two patterns: "a leads on AP (0.5000); significantly better than b." and "a
is significantly better than b on AP: 0.5000 against 0.4000, +0.1000 (95 % interval 0.0500 to …".
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from skgraded._input.words import choose_noun, counted
from skgraded.writing import text

MOST_NAMED = 3  # maximum number of systems in a list of names
MOST_LEADS = 4  # maximum number of sentences in a verdict
MAX_JUDGED_GAP = 0.1 + 1e-12  # allows for rounding errors
Row = dict[str, Any]  # a row of a comparison, keyed by column


class Lead(NamedTuple):
    """The systems with the highest mean under a heading, and results against other systems."""

    heading: str
    leaders: list[str]  # empty if all means are nan
    mean: float
    results: dict[str, list[str]]  # names keyed by a phrase such as "significantly better than"


def verdict(leads: Sequence[Lead], n_segments: int) -> str:
    """Describe who leads on the first measure, and on measures where other systems lead.

    `leads` contains the segments of the first measure, followed by the segments of other measures.
    """
    shown = []
    for i, lead in enumerate(leads):
        first = leads[i % n_segments]  # the same segment of the first measure
        if i < n_segments or (lead.leaders and not set(lead.leaders) & set(first.leaders)):
            shown.append(lead)
    texts = [_describe_lead(lead) for lead in shown[:MOST_LEADS]]
    if n_more := len(shown[MOST_LEADS:]):
        texts.append(f"The leaderboard contains {counted(n_more, 'more result', 'more results')}.")
    return " ".join(texts)


def _describe_lead(lead: Lead) -> str:
    heading, leaders, mean, results = lead
    if not leaders:
        return f"No query has a value of {heading}."
    verb = choose_noun(len(leaders), "leads", "lead")
    claim = f"{_list_names(leaders)} {verb} on {heading} ({text.fixed(mean)})"
    claims = [f"{result} {_list_names(names)}" for result, names in results.items() if names]
    return "; ".join([claim, *claims]) + "."


def _list_names(names: Sequence[str]) -> str:
    """List up to three systems, or count them."""
    if len(names) > MOST_NAMED:
        return f"{len(names)} systems"
    return _join_names(names)


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def describe_caveats(
    systems: Sequence[str],
    judged: Mapping[str, Any],
    n_unanswered: Sequence[int] = (),
    n_queries: int = 0,
) -> list[str]:
    """Report different shares of judged documents, and systems that retrieved nothing."""
    texts = []
    for name, shares in judged.items():
        by_share = sorted(zip(shares, systems, strict=True))
        (low, lowest), (high, highest) = by_share[0], by_share[-1]
        if high - low > MAX_JUDGED_GAP:
            texts.append(
                f"{name} is {text.fixed(high)} for {highest} but {text.fixed(low)} for {lowest}: "
                "judgments favor the systems whose documents were selected for judging."
            )
    for name, n in sorted(zip(systems, n_unanswered, strict=False)):
        if 2 * n > n_queries:
            texts.append(
                f"{name} retrieved nothing for {n:,} of {n_queries:,} queries, so its values "
                "describe missing results more than its ranking."
            )
    return texts


def describe_lacking(heading: str, names: Sequence[str]) -> str:
    """Report the systems without a value for some queries of other systems."""
    return (
        f"{_join_names(sorted(names))} {choose_noun(len(names), 'has', 'have')} no value of {heading} for "
        "some queries of other systems, so the means are over different queries."
    )


def count_significant(rows: Sequence[Row], is_tested: bool) -> str:
    """Count the pairs that differ significantly."""
    pairs = counted(len(rows), "pair", "pairs")
    if not is_tested:
        return f"{pairs}, not tested"
    n = sum(row["is_significant"] for row in rows)
    return f"{n} of {pairs} {choose_noun(n, 'differs', 'differ')} significantly"


def describe_pair(row: Row, level: float, correction: str, is_tested: bool) -> str:
    """Describe a row, whose `system` has the higher mean; `correction` follows the p-value."""
    # A test of ranks can favor the system with the lower mean.
    relation = "is significantly better than" if row["has_winner"] else "differs significantly from"
    if not row["is_significant"]:
        relation = "is not significantly better than"
    is_known = row["difference"] == row["difference"]
    if not (is_tested and is_known):
        relation = "is not tested against"
    claim = f"{row['system']} {relation} {row['baseline']} on {row['heading']}"
    if not is_known:
        return f"{claim}: too few queries with a value."
    means = f"{text.fixed(row['mean'])} against {text.fixed(row['baseline_mean'])}"
    difference = text.difference_text(row, level)
    p = ""
    if is_tested:
        p = row["p_adjusted"]
        p = text.p_text(text.Bound(p) if row["p_is_bound"] else p)
        p = f", p {'= ' if p[0].isdigit() else ''}{p}{correction}"
    outcomes = ", ".join(
        [
            counted(row["wins"], "win", "wins"),
            counted(row["losses"], "loss", "losses"),
            counted(row["ties"], "tie", "ties"),
        ]
    )
    queries = count_queries(row["n_defined"], row.get("n_clusters"))
    texts = [f"{claim}: {means}, {difference}{p}; {outcomes} over {queries}."]
    if is_tested and not row["is_significant"] and row["ci_low"] < row["ci_high"]:
        smallest = row["min_detectable"]
        detectable = "no difference is detectable at 80 % power."
        if smallest == smallest:
            detectable = (
                f"the smallest difference detectable at 80 % power is {text.fixed(smallest)}."
            )
        texts.append(f"With {queries}, {detectable}")
    if n_left_out := row["n_queries"] - row["n_defined"]:
        texts.append(f"Undefined or without weight: {count_queries(n_left_out)}, left out.")
    if row["n_undefined"] > 0:  # nan: unknown
        texts.append(f"Undefined for both systems: {count_queries(row['n_undefined'])}.")
    return " ".join(texts)


def count_queries(n: int, n_clusters: int | None = None) -> str:
    """Report the numbers of queries and, if there are any, of clusters."""
    text = counted(n, "query", "queries")
    return text if n_clusters is None else f"{text} in {counted(n_clusters, 'cluster', 'clusters')}"
