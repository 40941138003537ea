"""HTML pages for comparisons of judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skgraded._input.words import counted
from skgraded.writing import text
from skgraded.writing.columns import PageTable
from skgraded.writing.evaluation_page import render

MAX_GRADES = 24  # maximum number of rows and columns of a confusion table on a page
SECTIONS = {
    "grades": "Grades",
    "leaderboards": "Leaderboards",
    "words": "Findings",
    "confusions": "Confusion",
    "means": "Means",
}


@dataclass(frozen=True, kw_only=True)
class JudgesPage:
    """Content of the page for a JudgeComparison, whose tables are dicts of columns."""

    title: str
    truth: str
    level: float
    procedure: str  # test and correction used to compare systems
    n_systems: int
    labels: Mapping[str, Sequence[Any]]
    leaderboards: Mapping[str, Sequence[Any]]
    means: Mapping[str, Sequence[Any]]
    confusions: Mapping[str, Any]
    verdict: str
    sentences: Sequence[str]

    def html(self) -> str:
        """Render the page as HTML; raise an ImportError if Jinja2 is not installed."""
        tables = {"grades": self._labels()}
        if self.n_systems:
            tables |= {
                "leaderboards": self._leaderboards(),
                "means": PageTable.of(
                    self.means,
                    "Means of the systems under the truth and under the judge, with "
                    f"{text.percent_text(self.level)} intervals (Student's t)",
                ),
            }
        confusions = [self._confusion(name, table) for name, table in self.confusions.items()]
        return render(
            "tables.html.j2",
            {
                "title": self.title,
                "lead": self._lead(),
                "verdict": self._parts(self.verdict),
                "tables": tables,
                "confusions": [table for table in confusions if table],
                "sections": {
                    anchor: heading
                    for anchor, heading in SECTIONS.items()
                    if anchor in ("words", "confusions", *tables)
                },
                "findings": [self._parts(sentence) for sentence in self.sentences],
                "data": None,
            },
        )

    def _parts(self, sentence: str) -> list[tuple[str, str]]:
        return text.name_parts(sentence, [self.truth, *self.confusions])

    def _lead(self) -> str:
        lead = f"Truth: {self.truth}. {counted(len(self.confusions), 'judge', 'judges')}"
        if not self.n_systems:
            return f"{lead}."
        return f"{lead}; {self.n_systems} systems, {self.procedure}."

    def _labels(self) -> PageTable:
        return PageTable.of(
            self.labels,
            "Agreement with the truth on documents that both judged, with "
            f"{text.percent_text(self.level)} intervals over queries",
            first=("segment", "judge", "alpha", "alpha_low", "kappa", "kappa_low"),
        )

    def _leaderboards(self) -> PageTable:
        return PageTable.of(
            self.leaderboards,
            "Leaderboards under the truth and under the judge. "
            "Spread: quantiles of τ over resampled queries, not a confidence interval. Agree to "
            "Only judge: numbers of significantly different pairs of systems",
            hidden=("n_systems",),
        )

    def _confusion(self, judge: str, confusion: Any) -> Any:
        if confusion is None or len(confusion.grades) > MAX_GRADES:
            return None
        grades = [f"{grade:g}" for grade in confusion.grades.tolist()]
        columns = [("Grade", "text"), *((grade, "count") for grade in grades)]
        rows = list(zip(grades, *confusion.counts.T.tolist(), strict=True))
        caption = f"Documents by the grade of {self.truth} (rows) and of {judge} (columns)"
        return judge, PageTable(caption, columns, rows)
