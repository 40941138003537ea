"""Systems × measures at a glance: means, the best of each measure, and what is told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, groupby, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from skgraded.reports.report import Table
from skgraded.writing import tables
from skgraded.writing.tables import Marked

if TYPE_CHECKING:
    import pandas

BETTER, WORSE = "▲", "▼"


@dataclass(frozen=True, repr=False, eq=False)
class Leaderboard(Table):
    """Means of systems by measure, made by `Comparison.leaderboard`; printed as a table.

    In Markdown and LaTeX the best of each measure is bold.

    Attributes
    ----------
    systems : list of str
        The best by the first measure first.
    measures : list of str
    cells : list of list of Marked
        A row a system, a cell a measure: its mean as ``value``, whether it is the ``best``, and the
        ``mark`` of what it is told apart from.
    letters : dict of str to str
        The letter of each system, if all pairs are compared; else empty.
    note : str
        What the marks say.
    """

    systems: list[str]
    measures: list[str]
    cells: list[list[Marked]]
    letters: dict[str, str]
    note: str

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the means, a row a system: ``system`` and a column of floats per measure."""
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
        """Name the systems, with their letters if they have any."""
        return [
            f"{self.letters[name]} {name}" if self.letters else name for name in self.systems
        ]

    def __str__(self) -> str:
        return f"{tables.aligned(self._shown())}\n{self.note}"

    def __repr__(self) -> str:
        return f"Leaderboard of {len(self.systems)} systems by {', '.join(self.measures)}"


def leaderboard_of(
    rows: Sequence[Any], systems: list[str], headings: list[str], baseline: str | None
) -> Leaderboard:
    """Make the leaderboard of the shown rows of a comparison, with a column per heading."""
    means: dict = {}
    wins = set()
    for row in rows:
        means.setdefault((row.system, row.heading), row.mean)
        means.setdefault((row.baseline, row.heading), row.baseline_mean)
        if row.is_significant:
            pair = (row.system, row.baseline)
            wins.add((row.heading, *(pair if row.difference > 0 else pair[::-1])))
    order = sorted(systems, key=lambda name: -_number(means[name, headings[0]]))
    letters = dict(zip(order, _letters(), strict=False)) if baseline is None else {}

    def mark(heading, name):
        if name == baseline:
            return ""
        if baseline is not None:
            is_worse = (heading, baseline, name) in wins
            return BETTER * ((heading, name, baseline) in wins) + WORSE * is_worse
        shown: list[str] = []
        for is_beaten, group in groupby(order, lambda other: (heading, name, other) in wins):
            run = [letters[other] for other in group]
            if is_beaten:  # four or more in a row as the first and the last of them
                shown += [f"{run[0]}–{run[-1]}"] if len(run) > 3 else run
        return ("" if len(order) <= 26 else ",").join(shown)

    columns = []
    for heading in headings:
        best = max(_number(means[name, heading]) for name in order) - 1e-12
        columns.append([
            Marked(means[name, heading], means[name, heading] >= best, mark(heading, name))
            for name in order
        ])
    cells = [list(row) for row in zip(*columns, strict=True)]
    return Leaderboard(order, headings, cells, letters, _note(rows, baseline))


def _number(mean):
    return mean if mean == mean else float("-inf")


def _letters():
    """Generate a, b, …, z, aa, ab and so on."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _note(rows, baseline):
    if rows[0].is_significant is None:
        return "* the best; not tested."
    if baseline is None:
        return "* the best; letters: the systems than which it is better, told apart by the test."
    return (
        f"* the best; {BETTER} better and {WORSE} worse than the baseline {baseline}, told apart "
        "by the test."
    )
