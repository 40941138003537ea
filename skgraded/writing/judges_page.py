"""HTML for comparisons of judges: a self-contained page and a fragment for notebooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skgraded._input.words import counted
from skgraded.writing import text
from skgraded.writing.charts import interval_axis, interval_mark
from skgraded.writing.evaluation_page import PageTable, render

MAX_GRADES = 24  # maximum number of rows and columns of a confusion table on a page
SECTIONS = {
    "grades": "Grades", "leaderboards": "Leaderboards", "words": "Findings",
    "confusions": "Confusion", "means": "Means",
}
LABELS: dict[str, tuple[str, ...]] = {  # heading of each column: (type, attributes of a row)
    "Judge": ("name", "judge"),
    "α": ("value", "alpha"),
    "α interval": ("interval", "alpha_low", "alpha_high"),
    "κ": ("value", "kappa"),
    "κ interval": ("interval", "kappa_low", "kappa_high"),
    "Weighted κ": ("value", "kappa_weighted"),
    "Equal": ("value", "exact"),
    "τ": ("value", "tau_b"),
    "Bias": ("signed", "bias"),
    "Documents": ("count", "n_shared"),
    "Only truth": ("count", "only_truth"),
    "Only judge": ("count", "only_judge"),
}
LEADERBOARDS: dict[str, tuple[str, ...]] = {
    "Judge": ("name", "judge"),
    "Measure": ("text", "measure"),
    "τ": ("value", "tau_b"),
    "Spread of τ": ("interval", "tau_low", "tau_high"),
    "τ AP": ("value", "tau_ap"),
    "RBO": ("value", "rbo"),
    "Largest drop": ("places", "largest_drop"),
    "Agree": ("count", "agree"),
    "Reversed": ("count", "reversed"),
    "Only truth": ("count", "only_truth"),
    "Only judge": ("count", "only_judge"),
    "Queries": ("count", "n_queries"),
}
MEANS: dict[str, tuple[str, ...]] = {
    "Judge": ("name", "judge"),
    "Measure": ("text", "measure"),
    "System": ("name", "system"),
    "Truth": ("value", "truth_mean"),
    "Truth interval": ("interval", "truth_low", "truth_high"),
    "Judge mean": ("value", "judge_mean"),
    "Judge interval": ("interval", "judge_low", "judge_high"),
}


@dataclass(frozen=True, kw_only=True)
class JudgesPage:
    """Content of the page for a JudgeComparison. Each row has its columns as attributes."""

    title: str
    truth: str
    level: float
    procedure: str  # test and correction used to compare systems
    has_segments: bool
    labels: Sequence[Any]
    leaderboards: Sequence[Any]
    means: Sequence[Any]
    confusions: Mapping[str, Any]
    verdict: str
    sentences: Sequence[str]

    def html(self) -> str:
        """Render the page as HTML; raise an ImportError if Jinja2 is not installed."""
        tables = {"grades": self._labels(drawn=True)}
        if self.leaderboards:
            tables |= {"leaderboards": self._leaderboards(), "means": self._table(
                MEANS, self.means, "Means of the systems under the truth and under the judge, with "
                f"{text.percent_text(self.level)} intervals (Student's t)",
            )}
        confusions = [self._confusion(name, table) for name, table in self.confusions.items()]
        return render("judges.html.j2", {
            "title": self.title, "lead": self._lead(), "verdict": self._parts(self.verdict),
            "tables": tables, "confusions": [table for table in confusions if table],
            "sections": {
                anchor: heading for anchor, heading in SECTIONS.items()
                if anchor in ("words", "confusions", *tables)
            },
            "findings": [self._parts(sentence) for sentence in self.sentences], "data": None,
        })

    def fragment(self) -> str:
        """Render the notebook fragment as HTML; raise an ImportError if Jinja2 is not installed."""
        details = {"Leaderboards": self._leaderboards()} if self.leaderboards else {}
        return render("fragment.html.j2", {
            "title": self.title, "lead": self._lead(), "verdict": self._parts(self.verdict),
            "summary": self._labels(), "details": details,
        })

    def _parts(self, sentence: str) -> list[tuple[str, str]]:
        return text.name_parts(sentence, [self.truth, *self.confusions])

    def _lead(self) -> str:
        lead = f"Truth: {self.truth}. {counted(len(self.confusions), 'judge', 'judges')}"
        if not self.leaderboards:
            return f"{lead}."
        row = self.leaderboards[0]
        return f"{lead}; {row.n_systems} systems, {self.procedure}."

    def _table(
        self, columns: dict[str, tuple[str, ...]], rows: Sequence[Any], caption: str
    ) -> PageTable:
        if self.has_segments:
            columns = {"Segment": ("text", "segment")} | columns
            rows = [replace(row, segment=text.label(row.segment)) for row in rows]
        return PageTable.of(rows, columns, caption)

    def _labels(self, drawn: bool = False) -> PageTable:
        table = self._table(
            LABELS, self.labels, "Agreement with the truth on documents that both judged, with "
            f"{text.percent_text(self.level)} intervals over queries",
        )
        if not drawn:
            return table
        low = -1 if any(row.alpha_low < 0 for row in self.labels) else 0
        marks = [
            interval_mark(row.alpha, [row.alpha_low, row.alpha_high], low, 1)
            for row in self.labels
        ]
        return PageTable(
            table.caption, [*table.columns, (interval_axis(low, 1), "strip")],
            [[*cells, mark] for cells, mark in zip(table.rows, marks, strict=True)],
        )

    def _leaderboards(self) -> PageTable:
        return self._table(
            LEADERBOARDS, self.leaderboards, "Leaderboards under the truth and under the judge. "
            "Spread: quantiles of τ over resampled queries, not a confidence interval. Agree to "
            "Only judge: numbers of significantly different pairs of systems",
        )

    def _confusion(self, judge: str, confusion: Any) -> Any:
        if confusion is None or len(confusion.grades) > MAX_GRADES:
            return None
        grades = [f"{grade:g}" for grade in confusion.grades.tolist()]
        counts = confusion.counts.tolist()
        rows = [[grade, *of_grade] for grade, of_grade in zip(grades, counts, strict=True)]
        caption = f"Documents by the grade of {self.truth} (rows) and of {judge} (columns)"
        columns = [("Grade", "text"), *((grade, "count") for grade in grades)]
        return judge, PageTable(caption, columns, rows)
