"""HTML pages for reports that consist of a table and sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skgraded.writing import text
from skgraded.writing.columns import PageTable
from skgraded.writing.evaluation_page import render

SECTIONS = {"table": "Table", "words": "Findings"}


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
        findings = [text.name_parts(sentence, ()) for sentence in self.sentences]
        return render(
            "tables.html.j2",
            {
                "title": self.title,
                "lead": self.lead,
                "verdict": findings[0] if findings else [],
                "tables": {"table": PageTable.of(self.frame, self.title)},
                "findings": findings,
                "data": None,
                "sections": SECTIONS if findings else {"table": SECTIONS["table"]},
            },
        )
