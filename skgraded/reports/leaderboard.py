"""Leaderboard of systems: a verdict, and means with intervals and significance marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from skgraded.reports.report import Table
from skgraded.writing import tables
from skgraded.writing.charts import turned
from skgraded.writing.sentences import Standing, verdict
from skgraded.writing.tables import Marked

if TYPE_CHECKING:
    import pandas

BETTER, WORSE = "▲", "▼"
ROUNDING = 1e-12  # means that differ by at most this amount are considered equal


@dataclass(frozen=True, repr=False, eq=False)
class Leaderboard(Table):
    """Table of the systems' means per measure, returned by `Comparison.leaderboard`.

    In Markdown and LaTeX, the best mean of each measure is bold.

    Attributes
    ----------
    systems : list of str
        Names, starting with the best system by the first measure.
    measures : list of str
        Column headings: measures or, with segments, measures in segments.
    cells : list of list of Marked
        One row per system and one cell per measure. A cell contains the mean as ``value``, whether
        it is the ``best``, a ``mark`` for significant differences, and the mean's ``interval``.
    letters : dict of str to str
        Letters that identify the systems in marks, in the order of `systems`.
    baseline : str or None
        The system that all other systems are compared with; None if all pairs are compared.
    note : str
        Explanation of the marks.
    verdict : str
        Sentences that name the leader by the first measure, the systems it significantly
        outperforms, and the measures that disagree.
    """

    systems: list[str]
    measures: list[str]
    cells: list[list[Marked]]
    letters: dict[str, str]
    baseline: str | None
    note: str
    verdict: str

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the means, one row per system, with ``system`` and one column per measure."""
        rows = zip(self.systems, self.cells, strict=True)
        return tables.frame(
            [[name, *(cell.value for cell in row)] for name, row in rows],
            columns=["system", *self.measures],
        )

    def _shown(self):
        rows = zip(self.names(), self.cells, strict=True)
        return tables.frame(
            [[name, *row] for name, row in rows], columns=["system", *self.measures], dtype=object
        )

    def names(self) -> list[str]:
        """Return the system names, preceded by letters if the marks contain letters."""
        if self.baseline is not None:
            return self.systems
        return [f"{self.letters[name]} {name}" for name in self.systems]

    def __str__(self) -> str:
        return f"{tables.aligned(self._shown())}\n{self.note}"

    def __repr__(self) -> str:
        return f"Leaderboard of {len(self.systems)} systems by {', '.join(self.measures)}"


def leaderboard_of(
    rows: Sequence[Any], systems: list[str], headings: Mapping[tuple[str, Any], str],
    baseline: str | None, intervals: Mapping[tuple[str, str], tuple[float, float]],
    segment_texts: Mapping[Any, str],
) -> Leaderboard:
    """Create a leaderboard from the shown rows of a comparison, with one column per heading.

    `headings` has the keys (measure, segment), and `intervals` the keys (system, heading).
    """
    means: dict = {}
    for row in rows:
        means.setdefault((row.system, row.heading), row.mean)
        means.setdefault((row.baseline, row.heading), row.baseline_mean)
    shown = list(headings.values())
    order = sorted(systems, key=lambda name: -_sortable(means[name, shown[0]]))
    letters = dict(zip(order, _letters(), strict=False))
    outcomes = {  # maps (heading, system, other) to whether the system outperforms the other
        (row.heading, *pair): row.winner == pair[0]
        for row in rows if row.is_significant is not None
        for pair in ((row.system, row.baseline), (row.baseline, row.system))
    }
    columns, standings = [], []
    for (measure, segment), heading in headings.items():
        sortable_means = [_sortable(means[name, heading]) for name in order]
        best = max(sortable_means)
        leaders = [
            name for name, mean in zip(order, sortable_means, strict=True)
            if mean >= best - ROUNDING and best > float("-inf")
        ]
        columns.append([
            Marked(
                means[name, heading], name in leaders,
                _mark(heading, name, order, letters, outcomes, baseline),
                intervals[name, heading],
            )
            for name in order
        ])
        standings.append(_standing(
            measure, segment_texts.get(segment), heading, order, leaders, outcomes
        ))
    is_tested = rows[0].is_significant is not None
    return Leaderboard(
        order, shown, [list(row) for row in zip(*columns, strict=True)], letters, baseline,
        _note(is_tested, baseline), verdict(standings, order, baseline, is_tested),
    )


def _mark(heading, name, order, letters, outcomes, baseline):
    """Return the mark that shows the significant differences of a system."""
    if name == baseline:
        return ""
    if baseline is not None:
        is_worse = outcomes.get((heading, baseline, name), False)
        return BETTER * outcomes.get((heading, name, baseline), False) + WORSE * is_worse
    shown: list[str] = []
    for is_beaten, group in groupby(order, lambda other: outcomes.get((heading, name, other))):
        run = [letters[other] for other in group]
        if is_beaten:  # runs of four or more letters are shortened, such as a–d
            shown += [f"{run[0]}–{run[-1]}"] if len(run) > 3 else run
    return ("" if len(order) <= 26 else ",").join(shown)


def _standing(measure, segment, heading, order, leaders, outcomes):
    beaten: list[str] = []
    unbeaten: list[str] = []
    for other in order:
        results = [outcomes.get((heading, leader, other)) for leader in leaders]
        if other in leaders or None in results:
            continue
        (beaten if all(results) else unbeaten).append(other)
    return Standing(measure, segment, leaders, beaten, unbeaten)


def winner_first(rows: Sequence[Any], order: Sequence[str], baseline: str | None) -> list[Any]:
    """Sort the rows of each heading by the order of systems.

    Without a baseline, the system with the higher mean comes first in each row.
    """
    places = {name: i for i, name in enumerate(order)}
    headings = {row.heading: i for i, row in reversed(list(enumerate(rows)))}
    if baseline is None:
        rows = [better_first(row, order) for row in rows]
    return sorted(
        rows, key=lambda row: (headings[row.heading], places[row.system], places[row.baseline])
    )


def better_first(row: Any, order: Sequence[str]) -> Any:
    """Swap the two systems if the baseline has the higher mean; ties follow `order`."""
    is_equal = not abs(row.difference) > ROUNDING  # also if the difference is nan
    is_later = order.index(row.system) > order.index(row.baseline)
    return turned(row) if (is_later if is_equal else row.difference < 0) else row


def _sortable(mean):
    return mean if mean == mean else float("-inf")


def _letters():
    """Generate a, b, …, z, aa, ab and so on."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _note(is_tested, baseline):
    if not is_tested:
        return "* best; not tested."
    if baseline is None:
        return "* best; letters: systems it significantly outperforms."
    return (
        f"* best; {BETTER} significantly better than the baseline {baseline}; "
        f"{WORSE} baseline significantly better."
    )
