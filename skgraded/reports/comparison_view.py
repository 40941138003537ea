"""The class `ComparisonView`: what pages, plots and the command line show of a Comparison."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.words import counted
from skgraded.reports import comparison_rows
from skgraded.reports.comparison_rows import ComparisonRow, ShownRow
from skgraded.reports.comparison_tables import (
    Leaderboard,
    better_first,
    leaderboard_of,
    winner_first,
)
from skgraded.stats import corrections, paired_tests
from skgraded.writing import sentences, tables
from skgraded.writing.text import Bound

if TYPE_CHECKING:
    import pandas


class ComparisonView:
    """The rows, headings, leaderboard, matrices and sentences of a Comparison.

    Each part is computed once, when it is first needed.

    Attributes
    ----------
    comparison : Comparison
    headings : dict of (str, object) to str
        A heading for each pair (measure, segment); without `by`, the segment is None.
    segment_texts : dict of object to str
        The text of each segment, which is unique.
    """

    def __init__(self, comparison: Any) -> None:
        self.comparison = comparison
        segments = comparison.segments
        self.headings = comparison_rows.headings_of(comparison.measures, segments)
        self.segment_texts = comparison_rows.segment_texts(segments or [])

    # Rows ----------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> list[ShownRow]:
        """The rows with headings and significance; p-values that are only bounds are marked."""
        return [
            ShownRow(
                **vars(row) | self._bounds(row), heading=self.headings[row.measure, row.segment],
                is_significant=self.is_significant(row.p_adjusted),
                ranks_contradict=self._ranks_contradict(row),
            )
            for row in self.comparison.rows
        ]

    @cached_property
    def ranked_rows(self) -> list[ShownRow]:
        """The rows of each measure in leaderboard order, best system first.

        Without a baseline, `system` is the better of the two systems in each row.
        """
        return winner_first(self.rows, self.leaderboard.systems, self.comparison.baseline)

    def is_significant(self, p: float) -> bool | None:
        """Return whether a corrected p-value is significant, or None without a test."""
        if self.comparison.test is None:
            return None
        return corrections.is_significant(p, self.comparison.level)

    def _ranks_contradict(self, row: ComparisonRow) -> bool:
        """Return whether a significant rank test favors the system with the lower mean."""
        test = self.comparison.test
        if test is None or not paired_tests.TESTS[test].compares_ranks:
            return False
        return bool(self.is_significant(row.p_adjusted)) and paired_tests.ranks_contradict(
            self._differences_of(row), row.difference
        )

    def _differences_of(self, row: ComparisonRow) -> np.ndarray:
        return self.comparison.differences(row.system, row.baseline, row.measure, row.segment)

    def _bounds(self, row: ComparisonRow) -> dict[str, Bound]:
        """Return the p-values of a row that are only upper bounds, as instances of `Bound`."""
        if self.comparison.test is None or not paired_tests.is_bound(
            row.p_value, *self._smallest_p(row)
        ):
            return {}
        is_hsd = self.comparison.correction == "hsd"
        adjusted = {} if is_hsd else {"p_adjusted": Bound(row.p_adjusted)}
        return {"p_value": Bound(row.p_value), **adjusted}

    def _smallest_p(self, row: ComparisonRow) -> tuple[float, bool]:
        return paired_tests.smallest_p(
            self.comparison.test, row.n_queries, row.ties, self.comparison.n_resamples
        )

    # Tables --------------------------------------------------------------------------------------

    @cached_property
    def leaderboard(self) -> Leaderboard:
        """The result of `Comparison.leaderboard`."""
        return leaderboard_of(self)

    @cached_property
    def matrices(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Two matrices of shape (n_systems, n_systems) for each heading, in leaderboard order.

        The first contains the mean of the row's system minus the mean of the column's system; nan
        if unknown. The second contains 1 if the difference is significant, 0 if it is not, and nan
        if it was not tested.
        """
        comparison, systems = self.comparison, self.leaderboard.systems
        order = [comparison.systems.index(name) for name in systems]
        matrices = {}
        for (measure, segment), heading in self.headings.items():
            differences, significant = np.full((2, len(systems), len(systems)), np.nan)
            np.fill_diagonal(differences, 0.0)
            for row in self.rows:
                if row.heading == heading:
                    i, j = systems.index(row.system), systems.index(row.baseline)
                    differences[i, j], differences[j, i] = row.difference, -row.difference
                    if row.is_significant is not None:
                        significant[i, j] = significant[j, i] = row.is_significant
            if comparison.query_values is not None:
                comparison.query_values.fill_pairs(differences, order, measure, segment)
            matrices[heading] = differences, significant
        return matrices

    def frame(self) -> pandas.DataFrame:
        """Return the DataFrame for Markdown and LaTeX, without uninformative columns."""
        comparison = self.comparison
        columns = comparison_rows.columns_of(ComparisonRow, self.ranked_rows)
        hidden = ["ci_method"] + ["baseline"] * (comparison.baseline is not None)
        hidden += ["segment"] * (comparison.segments is None)
        hidden += ["weight", "worth"] * (comparison.n_judge is None)
        if comparison.test is None:
            hidden += ["p_value", "p_adjusted", "min_detectable"]
        if not any(row.n_undefined > 0 for row in comparison.rows):
            hidden.append("n_undefined")
        shown = {name: column for name, column in columns.items() if name not in hidden}
        return tables.frame(shown, dtype=object)

    # Text ----------------------------------------------------------------------------------------

    def row_sentences(self) -> list[tuple[ShownRow, str]]:
        """Return (row, sentence) pairs; significant rows of each measure come first."""
        comparison = self.comparison
        p_values = np.array([row.p_value for row in comparison.rows], dtype=float)
        said = comparison_rows.correction_text(comparison.correction, comparison.rows)
        sizes = self._segment_sizes()
        headings = list(self.headings.values())
        order = self.leaderboard.systems
        numbered = [(i, better_first(row, order)) for i, row in enumerate(self.rows)]
        numbered.sort(key=lambda pair: (
            headings.index(pair[1].heading), not pair[1].is_significant,
            order.index(pair[1].system), order.index(pair[1].baseline),
        ))
        return [
            (row, sentences.sentence(
                row, self._findings(i, row, p_values), sizes[row.segment], comparison.level, said
            ))
            for i, row in numbered
        ]

    def _segment_sizes(self) -> dict[Any, int]:
        """Return the number of queries in each segment, and overall with the key None."""
        comparison = self.comparison
        sizes = {None: comparison.n_queries}
        for segment in comparison.segments or []:
            if comparison.query_values is not None:
                sizes[segment] = len(comparison.query_values.queries_of(segment))
            else:  # for Summaries, only the number of queries with values is known
                rows = [row for row in comparison.rows if row.segment == segment]
                sizes[segment] = max(row.n_queries for row in rows)
        return sizes

    def _findings(self, i: int, row: ShownRow, p_values: np.ndarray) -> sentences.Findings:
        """Return the results of the test for row i, other than the p-value."""
        test, level = self.comparison.test, self.comparison.level
        if test is None or row.ties == row.n_queries:
            return sentences.Findings()
        if row.is_significant:
            assumes = paired_tests.assumption(test, row.n_queries - row.ties, level)
            return sentences.Findings(assumes=assumes)
        p_values = p_values.copy()
        p_values[i], by_resamples = self._smallest_p(row)
        adjusted = corrections.adjust(p_values, self.comparison.correction)[i]
        if corrections.is_significant(adjusted, level):
            return sentences.Findings()
        n_resamples = self.comparison.n_resamples if by_resamples else None
        return sentences.Findings(smallest_p=adjusted, n_resamples=n_resamples)

    def gap_sentences(self) -> list[str]:
        """Return one sentence per comparison between segments; significant ones come first."""
        comparison, level = self.comparison, self.comparison.level
        said = comparison_rows.correction_text(
            corrections.without_hsd(comparison.correction), comparison.gaps
        )
        gaps = sorted(comparison.gaps, key=lambda gap: (
            comparison.measures.index(gap.measure), not self.is_significant(gap.p_adjusted)
        ))
        return [
            sentences.gap_sentence(
                comparison_rows.larger_lead_first(gap), self.segment_texts, level, said
            )
            for gap in gaps
        ]

    def n_shown(self) -> str:
        """Return the numbers of queries and segments as text."""
        comparison = self.comparison
        shown = sentences.query_counts(comparison.n_queries, comparison.n_judge)
        if comparison.segments is not None:
            shown += f" in {counted(len(comparison.segments), 'segment', 'segments')}"
        return shown

    def _lead(self) -> str:
        """Describe the comparison and its test in the text below the title of a page."""
        comparison = self.comparison
        against = "All pairs" if comparison.baseline is None else f"Baseline: {comparison.baseline}"
        weighted = ", weighted" if comparison.is_weighted else ""
        n_tests = len(comparison.rows)
        lead = f"{against}. {self.n_shown()}{weighted}; "
        lead += f"{sentences.procedure(comparison.test, comparison.correction, n_tests)}."
        if comparison.test in paired_tests.DRAWS:
            seed = "" if comparison.seed is None else f", seed {comparison.seed}"
            lead += f" {comparison.n_resamples:,} resamples{seed}."
        return lead

    def page(self, title: str | None = None) -> Any:
        """Return the content of the HTML page."""
        from skgraded.writing.comparison_page import ComparisonPage, QueryTable

        comparison, board, queries, frame = self.comparison, self.leaderboard, None, self.frame()
        if comparison.correction is None:
            frame = frame.drop(columns="p_adjusted", errors="ignore")
        if comparison.query_values is not None and comparison.segments is None:
            order = [comparison.systems.index(name) for name in board.systems]
            second = board.systems[1] if comparison.baseline is None else comparison.baseline
            queries = QueryTable(
                comparison.query_ids,
                {name: values[order] for name, values in comparison.per_query.items()},
                comparison.weights, board.systems, board.systems.index(second),
                self._differences_of,
            )
        return ComparisonPage(
            title=f"Comparison of {len(comparison.systems)} systems" if title is None else title,
            lead=self._lead(), board=board, level=comparison.level, rows=self.ranked_rows,
            frame=frame,
            sentences=self.row_sentences, gap_sentences=self.gap_sentences,
            matrices=lambda: self.matrices, queries=queries,
        )
