"""HTML pages for comparisons."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skgraded._input.words import counted
from skgraded.writing import charts, sentences, text
from skgraded.writing.columns import PageTable, select_rows
from skgraded.writing.evaluation_page import MAX_QUERIES, render

MAX_VALUES = 150_000  # maximum number of per-query values on a page (about 1.5 MB)
MAX_SENTENCES = 12  # maximum number of visible sentences per measure; the rest are collapsed
SECTIONS = {
    "intervals": "Intervals",
    "leaderboard": "Leaderboard",
    "words": "Findings",
    "table": "Table",
    "queries": "Queries",
}
FIRST = "system", "baseline", "segment", "measure", "mean", "baseline_mean"  # columns


@dataclass(frozen=True)
class QueryTable:
    """Per-query values for the table of a page."""

    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]  # (n_systems, n_queries) by measure name
    weights: np.ndarray | None
    systems: list[str]
    baseline: int  # index of the system that the table shows first


@dataclass(frozen=True, kw_only=True)
class ComparisonPage:
    """Content of a comparison page.

    The rows of each measure are in leaderboard order; `table` contains the columns to show, in the
    same order.
    """

    title: str
    lead: str
    board: Any  # the leaderboard
    rows: dict[str, np.ndarray]
    table: dict[str, list[Any]]
    level: float  # of the intervals
    is_tested: bool
    sentences: list[tuple[dict[str, Any], str]]  # rows with their sentences
    queries: QueryTable | None = None  # None without per-query values

    def html(self) -> str:
        """Render the page as HTML."""
        systems, letters = self.board.systems, self.board.letters
        heading = self.rows["heading"]
        return render(
            "comparison.html.j2",
            {
                "title": self.title,
                "lead": self.lead,
                "verdict": self._parts(self.board.verdict),
                "leaderboard": self._leaderboard(),
                "letters": letters,
                "sections": {
                    at: name for at, name in SECTIONS.items() if at != "queries" or self.queries
                },
                "long_names": [
                    (text.shortened(name), text.label(name))
                    for name in systems
                    if text.shortened(name) != text.label(name)
                ],
                "groups": self._findings(),
                "percent": text.percent_text(self.level),
                "is_tested": self.is_tested,
                "forests": [
                    charts.forest(
                        name, select_rows(self.rows, heading == name), letters, self.is_tested
                    )
                    for name in dict.fromkeys(heading)
                ],
                "summary": self._differences(),
                **self._of_queries(),
            },
        )

    def _parts(self, sentence: str) -> list[tuple[str, str]]:
        return text.name_parts(sentence, self.board.systems)

    def _differences(self) -> PageTable:
        return PageTable.of(
            self.table,
            f"Mean differences with {text.percent_text(self.level)} intervals (Student's t); "
            "effect size: mean difference divided by the standard deviation of the differences",
            FIRST,
            hidden=("min_detectable",),
        )

    def _leaderboard(self) -> PageTable:
        board = self.board
        columns: list[list[Any]] = [
            [
                {"letter": board.letters[name], "name": name, "is_baseline": name == board.baseline}
                for name in board.systems
            ]
        ]
        for marked in zip(*board.cells, strict=True):
            cells = text.format_cells([cell.value for cell in marked], "value")
            columns.append(
                [
                    {"text": shown, "key": key, "best": cell.best, "mark": cell.mark}
                    for (shown, key), cell in zip(cells, marked, strict=True)
                ]
            )
        columns += [text.format_cells(shares, "value") for shares in board.more.values()]
        headings = [("System", "system"), *((name, "mean") for name in board.measures)]
        headings += [(name, "value") for name in board.more]
        note = board.note.replace("* best", "Means; bold: best")
        return PageTable(note, headings, list(zip(*columns, strict=True)))

    def _findings(self) -> list[tuple[str, str, list[Any], list[Any]]]:
        """Return a summary, visible sentences and collapsed sentences for each heading."""
        groups: dict[str, list[Any]] = {}
        for row, sentence in self.sentences:
            groups.setdefault(row["heading"], []).append((row, self._parts(sentence)))
        return [_finding(heading, pairs, self.is_tested) for heading, pairs in groups.items()]

    def _of_queries(self) -> dict[str, Any]:
        """Return the data for the table of queries."""
        queries = self.queries
        if queries is None:
            return {"data": None}
        first, values = next(iter(queries.per_query.items()))
        kept = _shown_queries(values, queries.baseline, len(queries.per_query))
        quarter = f"{len(kept) // 4:,}"
        weights = queries.weights
        return {
            "n_queries": len(queries.query_ids),
            "kept": (  # shown if the table does not contain all queries
                f"the {quarter} with the largest loss of any system against "
                f"{text.shortened(queries.systems[queries.baseline])} by {first}, "
                f"the {quarter} with the largest win, and an evenly spread sample of the others"
            ),
            "data": {
                "ids": text.labels(queries.query_ids[kept]),
                "systems": text.labels(queries.systems),
                "letters": list(self.board.letters.values()),
                "measures": text.labels(queries.per_query),
                "baseline": queries.baseline,
                "values": [
                    [text.json_numbers(values[kept]) for values in systems]
                    for systems in queries.per_query.values()
                ],
                "weights": None if weights is None else text.json_numbers(weights[kept]),
            },
        }


def _finding(
    heading: str, pairs: list[tuple[Any, Any]], is_tested: bool
) -> tuple[str, str, list[Any], list[Any]]:
    """Return the heading, a summary, visible sentences, and collapsed sentences with titles."""
    significant = [parts for row, parts in pairs if row["is_significant"]]
    others = [parts for row, parts in pairs if not row["is_significant"]]
    shown, more = significant[:MAX_SENTENCES], significant[MAX_SENTENCES:]
    title, outcome = counted(len(others), "pair", "pairs"), ""
    if len(pairs) > 1:
        outcome = sentences.pair_counts([row for row, _ in pairs], is_tested)
        if is_tested:
            title += " without a significant difference"
    folded = [
        (f"{counted(len(more), 'more pair', 'more pairs')} with a significant difference", more),
        (title, others),
    ]
    if not shown and len(others) <= 2:
        shown, folded = others, []
    return heading, outcome, shown, [group for group in folded if group[1]]


def _shown_queries(values: np.ndarray, base: int, n_measures: int) -> np.ndarray:
    """Select all queries, or those with the largest differences and a sample of the rest."""
    n_systems, n = values.shape
    limit = min(MAX_QUERIES, max(200, MAX_VALUES // (n_systems * n_measures)))
    if n <= limit:
        return np.arange(n)
    differences = np.delete(values, base, axis=0) - values[base]
    losses = np.argsort(np.fmin.reduce(differences), kind="stable")[: limit // 4]
    wins = np.argsort(-np.fmax.reduce(differences), kind="stable")[: limit // 4]
    others = np.setdiff1d(np.arange(n), np.union1d(losses, wins))
    spread = np.linspace(0, len(others) - 1, limit // 2).round().astype(int)
    return np.union1d(np.union1d(losses, wins), others[spread])
