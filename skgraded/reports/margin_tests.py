"""Whether two systems are as good as each other, or one not much worse, up to a margin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.columns import number
from skgraded.measures import Measure
from skgraded.reports.evaluation import evaluated_name
from skgraded.reports.report import Table
from skgraded.stats.corrections import adjust, is_significant, level_of_each, without_hsd
from skgraded.stats.intervals import mean_interval
from skgraded.stats.paired_tests import TIE
from skgraded.writing import tables
from skgraded.writing.sentences import corrected, margin_sentence

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "system", "measure", "margin", "difference", "ci_low", "ci_high", "p_value", "p_adjusted",
    "n_queries", "n_undefined", "baseline", "mean", "baseline_mean",
)


@dataclass(frozen=True, repr=False, eq=False)
class MarginTests(Table):
    """Tests of differences against margins, made by `Comparison.equivalence` and `.noninferiority`.

    Attributes
    ----------
    question : {"equivalence", "noninferiority"}
    correction : str or None
    level : float
        The question is answered with yes where p_adjusted ≤ 1 - level.
    table : dict of str to list
        The columns of `to_frame`.
    """

    question: str
    correction: str | None
    level: float
    table: dict[str, list[Any]]

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the tests, a row a pair of systems and measure.

        Returns
        -------
        pandas.DataFrame
            Columns as `Comparison.equivalence` describes them.
        """
        import pandas as pd

        return pd.DataFrame(self.table)

    def sentences(self) -> list[str]:
        """Say in a plain sentence what each row shows.

        Returns
        -------
        list of str
        """
        said = corrected(self.correction, sum(p == p for p in self.table["p_value"]))
        return [
            margin_sentence(
                row | {"shown": is_significant(row["p_adjusted"], self.level)},
                self.question, self.level, said,
            )
            for row in tables.rows_of(self.table)
        ]

    def to_latex(self) -> str:
        r"""Write the columns up to `p_adjusted` in LaTeX.

        It needs ``\usepackage{booktabs,array,graphicx,longtable}``.

        Returns
        -------
        str
        """
        return tables.latex(self.to_frame()[list(COLUMNS[:8])])

    def __repr__(self) -> str:
        rows = "; ".join(
            f"{row['system']} - {row['baseline']}, {row['measure']}: "
            f"{row['difference']:+.4f}, margin {row['margin']:g}, p={row['p_value']:.3g}"
            for row in tables.rows_of(self.table)
        )
        return f"{self.question}({rows})"


def margin_tests(comparison: Any, margin: Any, question: str) -> MarginTests:
    """Test the differences of a Comparison against margins; its methods say how."""
    margins = _margins(margin, comparison.measures)
    level, correction = comparison.level, without_hsd(comparison.correction)
    if level <= 0.5:
        raise ValueError(
            f"The comparison's level is {level}, but intervals of 1 - 2 (1 - level) need one above "
            "0.5: compare with level=0.95."
        )
    rows = tables.rows_of(comparison.table)
    samples = [comparison.differences(*(row[name] for name in _NAMES)) for row in rows]
    p = np.array([
        _p_value(sample, margins[row["measure"]], question)
        for sample, row in zip(samples, rows, strict=True)
    ])
    adjusted = adjust(p, correction)
    within = 2 * level_of_each(adjusted, level, correction) - 1
    table: dict[str, list] = {name: [] for name in COLUMNS}
    for i, (row, sample) in enumerate(zip(rows, samples, strict=True)):
        low, high = mean_interval(sample, None, within, "t")
        found = row | {"margin": margins[row["measure"]], "ci_low": low, "ci_high": high}
        found |= {"p_value": float(p[i]), "p_adjusted": float(adjusted[i])}
        for name in COLUMNS:
            table[name].append(found[name])
    return MarginTests(question, correction, level, table)


_NAMES = ("system", "baseline", "measure")


def _margins(margin: float | Mapping[str | Measure, float], measures) -> dict[str, float]:
    """The margin of each measure, by name."""
    if not isinstance(margin, Mapping):
        return dict.fromkeys(measures, _margin("margin", margin))
    found = {
        evaluated_name(measure, measures): _margin(f"margin[{str(measure)!r}]", own)
        for measure, own in margin.items()
    }
    lacking = [measure for measure in measures if measure not in found]
    if lacking:
        raise ValueError(f"margin lacks {', '.join(lacking)}: give one for each measure.")
    return found


def _margin(name, value):
    return number(name, 0, math.inf, above=True)(value)


def _p_value(differences, margin, question):
    """P of "the mean is the margin or further off", by the larger of two one-sided t-tests."""
    below = _p_above(differences, -margin)
    return below if question == "noninferiority" else max(below, _p_above(-differences, -margin))


def _p_above(differences, bound):
    """One-sided p of "the mean is at most the bound"; that of the signs if all are the same."""
    from scipy.special import stdtr

    n = len(differences)
    if n < 2:
        return 1.0 if n else math.nan
    if np.ptp(np.round(differences, TIE)) == 0:
        return 2.0**-n if round(differences[0] - bound, TIE) > 0 else 1.0
    t = (differences.mean() - bound) / (differences.std(ddof=1) / math.sqrt(n))
    return float(stdtr(n - 1, -t))
