"""Write names, numbers and the results of comparisons as text."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.door import plain
from skgraded._input.messages import choose_noun, counted, escape_unprintable

NAME = 48  # maximum number of characters in a name
NOTED_SHARE = 0.1  # reports contain a note if a measure is undefined for a larger share of queries
DIGITS = 4  # number of decimals in tables, sentences and pages
MOST_NAMED = 3  # maximum number of systems in a list of names
MOST_LEADS = 4  # maximum number of sentences in a verdict
MAX_JUDGED_GAP = 0.1 + 1e-12  # allows for rounding errors
Row = dict[str, Any]  # a row of a comparison, keyed by column

shorten_text = partial(shorten, width=1000, placeholder=" …")  # for notes


class Bound(NamedTuple):
    """A table cell for a p-value that is only an upper bound."""

    limit: float


class Interval(NamedTuple):
    """A table cell that contains the limits of an interval; nan if they are unknown."""

    low: float
    high: float


class Marked(NamedTuple):
    """A table cell that contains a mean, its significance mark and its interval."""

    value: float
    is_best: bool
    mark: str
    interval: Interval


def label(name: object) -> str:
    """Return a query id, a system or a measure as text."""
    if isinstance(name, tuple):  # repr would contain NumPy's types
        name = tuple(map(plain, name))
    text = str(name)
    return text if text.isprintable() else escape_unprintable(text)


def make_heading(measure: str, segment: object) -> str:
    """Return the heading of a measure, or of a measure in a segment."""
    return measure if segment is None else f"{measure} in {label(segment)}"


def labels(names: Iterable[Any]) -> list[str]:
    """Return query ids, systems or measures as texts."""
    return list(map(label, names))


def shortened(name: object, width: int = NAME) -> str:
    """Shorten a name to at most `width` characters by replacing its middle with "…"."""
    text = label(name)
    if len(text) <= width:
        return text
    return f"{text[: width - width // 3 - 1]}…{text[-(width // 3) :]}"


def utf8(text: str) -> str:
    """Escape lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode()


def round_for_json(values: np.ndarray) -> list[Any]:
    """Convert an array to lists of floats with six significant digits; nan becomes None."""
    numbers = [None if math.isnan(x) else float(f"{x:.6g}") for x in values.ravel().tolist()]
    return np.array(numbers, dtype=object).reshape(values.shape).tolist()


def format_percent(level: float) -> str:
    """Format a level between 0 and 1 as a percentage."""
    return f"{100 * level:g} %"


def list_values(values: Mapping[str, float]) -> str:
    """List values with their names, such as "AP=0.5000, RR=1.0000"."""
    return ", ".join(f"{name}={value:.{DIGITS}f}" for name, value in values.items())


def note_undefined(n_undefined: Iterable[int], n_queries: int) -> str:
    """Return a note on the highest share of undefined queries, or "" if it is at most a tenth."""
    shares = {n / max(n_queries, 1) for n in n_undefined}
    if not shares or max(shares) <= NOTED_SHARE:
        return ""
    up_to = "up to " if len(shares) > 1 else ""
    return f"undefined for {up_to}{format_percent(round(max(shares), 3))} of the queries"


def fixed(value: float, digits: int = DIGITS) -> str:
    """Format a number with `digits` decimals and a Unicode minus sign; zero has no sign."""
    return f"{value:z.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = DIGITS) -> str:
    """Format a number with its sign, unless it is zero."""
    text = fixed(value, digits)
    return text if text[0] == "−" or text == "nan" or float(text) == 0 else f"+{text}"


def format_interval(ends: tuple[float, float]) -> str:
    """Format the limits of an interval."""
    low, high = ends
    if math.isnan(low):
        return "unknown"  # a single query has no interval
    return f"{fixed(low)} to {fixed(high)}"


def format_difference(row: Mapping[str, Any], level: float | None = None) -> str:
    """Format a difference and its interval; leave out a nan interval only if `level` is passed."""
    text, interval = signed(row["difference"]), format_interval((row["ci_low"], row["ci_high"]))
    if level is None:
        return f"{text} ({interval})"
    is_known = not math.isnan(row["ci_low"])
    return f"{text} ({format_percent(level)} interval {interval})" if is_known else text


def format_p(p: float | Bound) -> str:
    """Format a p-value or its upper bound."""
    value = p.limit if isinstance(p, Bound) else p
    if value < 0.00005:
        return "< 0.0001"
    return f"≤ {fixed(value)}" if isinstance(p, Bound) else fixed(value)


class Cell(NamedTuple):
    """A table cell on a page; when a column is sorted, cells with the sort key "" come last."""

    text: str
    key: str
    value: Any


KINDS: dict[str, Callable[[Any], str]] = {  # of columns of numbers
    "value": fixed,
    "mean": lambda cell: fixed(cell.value),
    "signed": signed,
    "p": format_p,
    "count": lambda n: f"{n:,}".replace("-", "−"),
    "interval": format_interval,
}


def format_cells(values: list[Any], kind: str) -> list[Any]:
    """Format the cells of a column of numbers; return the cells of other columns unchanged."""
    if kind not in KINDS:
        return values
    cells = []
    for value in values:
        number = value[0] if isinstance(value, tuple) else value
        key = "" if math.isnan(number) else repr(float(number))
        cells.append(Cell(KINDS[kind](value), key, value))
    return cells


# Sentences for comparisons -----------------------------------------------------------------------


class Lead(NamedTuple):
    """The systems with the highest mean of a measure, and the results of all other systems."""

    heading: str
    leaders: list[str]  # empty if all means are nan
    mean: float
    results: dict[str, list[str]]  # systems keyed by a phrase such as "significantly better than"


def verdict(leads: Sequence[Lead], n_segments: int) -> str:
    """Describe the leaders on the first measure, and on other measures if their leaders differ.

    `leads` contains the leads on the first measure, one per segment, then those on each other
    measure.
    """
    shown = [
        lead
        for i, lead in enumerate(leads)
        if i < n_segments
        or lead.leaders
        # leads[i % n_segments] is the lead on the first measure for the same segment.
        and set(lead.leaders).isdisjoint(leads[i % n_segments].leaders)
    ]
    texts = [_describe_lead(lead) for lead in shown[:MOST_LEADS]]
    if n_more := len(shown[MOST_LEADS:]):
        texts.append(f"The leaderboard contains {counted(n_more, 'more result', 'more results')}.")
    return " ".join(texts)


def _describe_lead(lead: Lead) -> str:
    heading, leaders, mean, results = lead
    if not leaders:
        return f"No query has a value of {heading}."
    verb = choose_noun(len(leaders), "leads", "lead")
    claim = f"{_list_names(leaders, MOST_NAMED)} {verb} on {heading} ({fixed(mean)})"
    claims = [
        f"{result} {_list_names(names, MOST_NAMED)}" for result, names in results.items() if names
    ]
    return "; ".join([claim, *claims]) + "."


def _list_names(names: Sequence[str], most: int | None = None) -> str:
    """List system names, or return only their number if there are more than `most`."""
    if most is not None and len(names) > most:
        return f"{len(names)} systems"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def describe_caveats(
    systems: Sequence[str],
    judged: Mapping[str, Any],
    n_unanswered: Sequence[int] = (),
    n_queries: int = 0,
) -> list[str]:
    """Describe unequal shares of judged documents, and systems with many empty rankings."""
    texts = []
    for name, shares in judged.items():
        by_share = sorted(zip(shares, systems, strict=True))
        (low, lowest), (high, highest) = by_share[0], by_share[-1]
        if high - low > MAX_JUDGED_GAP:
            texts.append(
                f"{name} is {fixed(high)} for {highest} but {fixed(low)} for {lowest}: "
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
    """Report systems that lack values for some queries for which other systems have values."""
    return (
        f"{_list_names(sorted(names))} {choose_noun(len(names), 'has', 'have')} no value of "
        f"{heading} for some queries for which other systems have one, so the means are over "
        "different queries."
    )


def describe_pair(row: Row, level: float, correction: str, is_tested: bool) -> str:
    """Describe a row in which `system` has the higher mean; append `correction` to the p-value."""
    # A rank test can favor the system with the lower mean.
    relation = "is significantly better than" if row["has_winner"] else "differs significantly from"
    if not row["is_significant"]:
        relation = "is not significantly better than"
    is_known = row["difference"] == row["difference"]
    if not (is_tested and is_known):
        relation = "is not tested against"
    claim = f"{row['system']} {relation} {row['baseline']} on {row['heading']}"
    if not is_known:
        return f"{claim}: too few queries with a value."
    means = f"{fixed(row['mean'])} against {fixed(row['baseline_mean'])}"
    difference = format_difference(row, level)
    p = format_p(Bound(row["p_adjusted"]) if row["p_is_bound"] else row["p_adjusted"])
    result = f", p {'= ' if p[0].isdigit() else ''}{p}{correction}" if is_tested else ""
    outcomes = ", ".join(
        [
            counted(row["wins"], "win", "wins"),
            counted(row["losses"], "loss", "losses"),
            counted(row["ties"], "tie", "ties"),
        ]
    )
    queries = count_queries(row["n_defined"], row.get("n_clusters"))
    texts = [f"{claim}: {means}, {difference}{result}; {outcomes} over {queries}."]
    if is_tested and not row["is_significant"] and row["ci_low"] < row["ci_high"]:
        smallest = row["min_detectable"]
        detectable = (
            f"the smallest difference detectable at 80 % power is {fixed(smallest)}."
            if smallest == smallest
            else "no difference is detectable at 80 % power."
        )
        texts.append(f"With {queries}, {detectable}")
    if n_left_out := row["n_queries"] - row["n_defined"]:
        texts.append(f"Undefined or without weight: {count_queries(n_left_out)}, left out.")
    if row["n_undefined"] > 0:  # nan: unknown
        texts.append(f"Undefined for both systems: {count_queries(row['n_undefined'])}.")
    return " ".join(texts)


def count_queries(n: int, n_clusters: int | None = None) -> str:
    """Format the number of queries and, if known, the number of clusters as text."""
    text = counted(n, "query", "queries")
    return text if n_clusters is None else f"{text} in {counted(n_clusters, 'cluster', 'clusters')}"
