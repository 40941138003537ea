"""Equivalence and noninferiority tests of differences against a margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.columns import number
from skgraded.measures import Measure
from skgraded.reports.comparison_rows import columns_of, corrected_p_values
from skgraded.reports.evaluation import evaluated_name
from skgraded.reports.pairing import refuse_unequal
from skgraded.reports.report import Table
from skgraded.stats.corrections import is_significant, without_hsd
from skgraded.stats.intervals import mean_interval
from skgraded.stats.paired_tests import margin_p_value
from skgraded.writing import tables
from skgraded.writing.sentences import corrected, margin_sentence

if TYPE_CHECKING:
    import pandas

@dataclass(frozen=True)
class MarginRow:
    """The difference between two systems and its margin test; see `Comparison.equivalence`."""

    system: str
    measure: str
    margin: float
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    p_adjusted: float
    n_queries: int
    n_undefined: float
    baseline: str
    mean: float
    baseline_mean: float


@dataclass(frozen=True, repr=False, eq=False)
class MarginTests(Table):
    """Results of `Comparison.equivalence` or `Comparison.noninferiority`.

    Attributes
    ----------
    question : {"equivalence", "noninferiority"}
    correction : str or None
    level : float
        Equivalence or noninferiority is shown if p_adjusted ≤ 1 - level.
    rows : list of MarginRow
    """

    question: str
    correction: str | None
    level: float
    rows: list[MarginRow]

    @property
    def table(self) -> dict[str, list[Any]]:
        """The columns of `to_frame`."""
        return columns_of(MarginRow, self.rows)

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the tests, one row per pair of systems and measure.

        The columns are described in `Comparison.equivalence`.
        """
        return tables.frame(self.table)

    def sentences(self) -> list[str]:
        """Describe each row in a sentence; significant results come first for each measure."""
        said = corrected(self.correction, sum(row.p_value == row.p_value for row in self.rows))
        measures = list(dict.fromkeys(row.measure for row in self.rows))
        shown = [(is_significant(row.p_adjusted, self.level), row) for row in self.rows]
        shown.sort(key=lambda pair: (measures.index(pair[1].measure), not pair[0]))
        return [
            margin_sentence(row, self.question, is_shown, self.level, said)
            for is_shown, row in shown
        ]

    def to_latex(self) -> str:
        """Return the columns up to `p_adjusted` as LaTeX text; see `Evaluation.to_latex`."""
        return tables.latex(self.to_frame().loc[:, :"p_adjusted"])

    def __repr__(self) -> str:
        rows = "; ".join(
            f"{row.system} - {row.baseline}, {row.measure}: {row.difference:+.4f}, "
            f"margin {row.margin:g}, p={row.p_value:.3g}"
            for row in self.rows
        )
        return f"{self.question}({rows})"


def margin_tests(comparison: Any, margin: Any, question: str) -> MarginTests:
    """Test the difference in each row of a Comparison against a margin."""
    if comparison.segments is not None:
        raise ValueError("Margins are tested over all queries only: call compare without by.")
    refuse_unequal(comparison.weights, comparison.query_ids)
    margins = _margins(margin, comparison.measures)
    level, correction = comparison.level, without_hsd(comparison.correction)
    if level <= 0.5:
        raise ValueError(
            f"The comparison has the level {level}, but margin tests require a level above 0.5, "
            "such as compare(…, level=0.95)."
        )
    samples = [
        comparison.differences(row.system, row.baseline, row.measure) for row in comparison.rows
    ]
    p_values = np.array([
        margin_p_value(sample, margins[row.measure], question)
        for sample, row in zip(samples, comparison.rows, strict=True)
    ])
    adjusted, within = corrected_p_values(p_values, correction, level)
    rows = []
    for i, row in enumerate(comparison.rows):
        low, high = mean_interval(samples[i], None, 2 * within - 1, "t")
        rows.append(MarginRow(
            row.system, row.measure, margins[row.measure], row.difference, low, high,
            float(p_values[i]), adjusted[i], row.n_queries, row.n_undefined, row.baseline,
            row.mean, row.baseline_mean,
        ))
    return MarginTests(question, correction, level, rows)


def _margins(margin: float | Mapping[str | Measure, float], measures) -> dict[str, float]:
    """Return the margin for each measure, keyed by measure name."""
    if not isinstance(margin, Mapping):
        return dict.fromkeys(measures, number("margin", 0, above=True)(margin))
    margins = {
        evaluated_name(measure, measures): number(f"margin[{str(measure)!r}]", 0, above=True)(value)
        for measure, value in margin.items()
    }
    missing = [measure for measure in measures if measure not in margins]
    if missing:
        raise ValueError(f"margin lacks {', '.join(missing)}: pass a margin for each measure.")
    return margins
