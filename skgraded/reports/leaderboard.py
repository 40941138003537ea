"""Systems × measures at a glance: means, the best of each measure, and what is told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
        """Tabulate the means, a row a system.

        Returns
        -------
        pandas.DataFrame
            Columns ``system`` and those of the measures, floats.
        """
        import pandas as pd

        means = zip(*([cell.value for cell in row] for row in self.cells), strict=True)
        by_measure = dict(zip(self.measures, map(list, means), strict=True))
        return pd.DataFrame({"system": self.systems, **by_measure})

    def _shown(self):
        import pandas as pd

        rows = zip(self.names(), self.cells, strict=True)
        return pd.DataFrame(
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
    better: dict = {(system, heading): [] for system in systems for heading in headings}
    worse: dict = {key: [] for key in better}
    for row in rows:
        means.setdefault((row.system, row.heading), row.mean)
        means.setdefault((row.baseline, row.heading), row.baseline_mean)
        if row.is_significant:
            pair = (row.system, row.baseline)
            winner, loser = pair if row.difference > 0 else pair[::-1]
            better[winner, row.heading].append(loser)
            worse[loser, row.heading].append(winner)
    order = sorted(systems, key=lambda name: -_number(means[name, headings[0]]))
    letters = {} if baseline else dict(zip(order, _letters(len(order)), strict=True))
    best = {
        heading: max(_number(means[name, heading]) for name in order) for heading in headings
    }

    def mark(name, heading):
        if baseline:
            return BETTER * bool(better[name, heading]) + WORSE * bool(worse[name, heading])
        is_beaten = [other in better[name, heading] for other in order]
        return ("" if len(order) <= 26 else ",").join(_runs(is_beaten, list(letters.values())))

    cells = [
        [
            Marked(
                means[name, heading], means[name, heading] >= best[heading] - 1e-12,
                "" if name == baseline else mark(name, heading),
            )
            for heading in headings
        ]
        for name in order
    ]
    return Leaderboard(order, headings, cells, letters, _note(rows, baseline))


def _number(mean):
    return mean if mean == mean else float("-inf")


def _letters(n):
    """Name n things: a, b, …, z, aa, ab and so on."""
    return [
        (ascii_lowercase[i // 26 - 1] if i >= 26 else "") + ascii_lowercase[i % 26]
        for i in range(n)
    ]


def _runs(found, letters):
    """The letters of what is found; four or more in a row as the first and the last of them."""
    shown: list[str] = []
    i = 0
    while i < len(found):
        n = next((n for n, one in enumerate(found[i:]) if not one), len(found) - i)
        run = letters[i : i + n]
        shown += [f"{run[0]}–{run[-1]}"] if n > 3 else run
        i += n + 1
    return shown


def _note(rows, baseline):
    if rows[0].is_significant is None:
        return "* the best; not tested."
    if baseline is None:
        return "* the best; letters: the systems than which it is better, told apart by the test."
    return (
        f"* the best; {BETTER} better and {WORSE} worse than the baseline {baseline}, told apart "
        "by the test."
    )
