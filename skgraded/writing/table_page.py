"""HTML for reports that consist of a table and sentences: a page and a fragment for notebooks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skgraded.writing import text
from skgraded.writing.evaluation_page import PageTable, render

SECTIONS = {"table": "Table", "words": "Findings"}
KINDS = {  # columns whose kind does not follow from the type of their cells
    "p_value": "p", "p_adjusted": "p", "difference": "signed", "ci_low": "interval",
}
KINDS_OF_TYPES = {bool: "text", int: "count", float: "value"}
YES_OR_NO = {True: "yes", False: "no"}


@dataclass(frozen=True)
class TablePage:
    """Content of the page for a report that is a table.

    `frame` contains the table. The first of the `sentences` is also the verdict.
    """

    title: str
    lead: str
    frame: Any
    sentences: Sequence[str] = ()

    def html(self) -> str:
        """Render the page as HTML; raise an ImportError if Jinja2 is not installed."""
        findings = [self._parts(sentence) for sentence in self.sentences]
        anchors = ["table"] + ["words"] * bool(findings)
        return render("table.html.j2", {
            "title": self.title, "lead": self.lead, "verdict": findings[0] if findings else [],
            "table": self._table(), "findings": findings, "data": None,
            "sections": {anchor: SECTIONS[anchor] for anchor in anchors},
        })

    def fragment(self) -> str:
        """Render the notebook fragment as HTML; raise an ImportError if Jinja2 is not installed."""
        verdict = [self._parts(sentence) for sentence in self.sentences[:1]]
        return render("fragment.html.j2", {
            "title": self.title, "lead": self.lead, "verdict": verdict[0] if verdict else [],
            "summary": self._table(), "details": {},
        })

    def _parts(self, sentence: str) -> list[tuple[str, str]]:
        return text.name_parts(sentence, ())

    def _table(self) -> PageTable:
        """Convert the frame; the columns ci_low and ci_high become one column."""
        columns, cells = [], []
        for name in self.frame:
            if name == "ci_high":
                continue
            values = self.frame[name].tolist()
            kind = KINDS.get(name) or KINDS_OF_TYPES.get(type(values[0]), "name")
            if kind == "interval":
                values = list(zip(values, self.frame["ci_high"].tolist(), strict=True))
            elif kind == "text":
                values = [YES_OR_NO[value] for value in values]
            elif kind == "name":
                values = text.labels(values)
            columns.append(("Interval" if kind == "interval" else name.replace("_", " "), kind))
            cells.append(values)
        return PageTable(self.title, columns, list(zip(*cells, strict=True)))
