"""Base classes for reports, and functions that tabulate and describe means."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skgraded._input.atomic_files import return_or_write
from skgraded._input.libraries import needs, versions
from skgraded._input.messages import counted
from skgraded.measures import Measure, mean_over_queries, measure as as_measure
from skgraded.stats.intervals import ConfidenceInterval
from skgraded.writing import json_text, tables, text
from skgraded.writing.pages import MAX_QUERIES, PageTable, render
from skgraded.writing.text import DIGITS, list_values, note_undefined, shorten_text, utf8

if TYPE_CHECKING:
    from skgraded.reports.evaluation import Evaluation
    from skgraded.reports.summary import Summary


MAX_ROWS = 40  # rows that a notebook shows
LEVEL = 0.95  # confidence level of intervals in HTML pages and notebooks


def tabulate_measures(
    report: Evaluation | Summary,
    intervals: Mapping[str, ConfidenceInterval],
    method: str = "t",
    n_clusters: Mapping[str, int] | None = None,
) -> list[dict[str, Any]]:
    """Return the means and intervals of an Evaluation or a Summary, one row per measure."""
    return [
        {
            "measure": name,
            "mean": mean,
            "ci_low": intervals[name].low,
            "ci_high": intervals[name].high,
            "method": method,
            "n_queries": report.n_queries,
            "n_defined": report.n_defined[name],
            **({} if n_clusters is None else {"n_clusters": n_clusters[name]}),
            "n_undefined": report.n_undefined[name],
        }
        for name, mean in report.mean().items()
    ]


def describe_means(report: Evaluation | Summary) -> str:
    """Return the means as text, with a note if many queries are undefined."""
    note = note_undefined(report.n_undefined.values(), report.n_queries)
    return list_values(report.mean()) + (f"; {note}" if note else "")


def list_numbers(report: Evaluation | Summary) -> dict[str, Any]:
    """Return the means (None for nan) and the query counts of an Evaluation or a Summary."""
    return {
        "n_queries": report.n_queries,
        "mean": {name: None if mean != mean else mean for name, mean in report.mean().items()},
        "n_defined": report.n_defined,
        "n_undefined": report.n_undefined,
    }


def choose_evaluated_name(measure: str | Measure | None, names: list[str]) -> str:
    """Return the name of an evaluated measure. If `measure` is None, return the first name."""
    name: Any = names[0] if measure is None else measure
    if not isinstance(name, str) or name not in names:
        name = as_measure(name).name
    if name not in names:
        raise ValueError(
            f"measure must be one of the evaluated measures {', '.join(names)}; got {name}."
        )
    return name


def concatenate(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Concatenate the arrays that have the same name."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class Table:
    """Base class for tables that can be written as Markdown and LaTeX."""

    to_frame: Callable[..., tables.DataFrame]  # defined by each subclass

    def _shown(self) -> Any:
        """Return the table for Markdown."""
        return self.to_frame()

    def _shown_in_latex(self) -> tuple[Any, str]:
        """Return the table for LaTeX, and a note that explains its marks.

        Subclasses may leave out columns that would not fit.
        """
        return self._shown(), ""

    def to_markdown(self) -> str:
        """Return the table as Markdown text, with 4 decimals."""
        return tables.markdown(self._shown())

    def to_latex(
        self, *, caption: str | None = None, label: str | None = None, digits: int = 4
    ) -> str:
        r"""Return the table as LaTeX text.

        Tables with more than 40 rows use longtable. The document requires
        ``\usepackage{booktabs,longtable}``. To shrink a shorter table that has no caption, use
        ``\resizebox{\linewidth}{!}{...}`` from graphicx.

        Parameters
        ----------
        caption : str, optional
            LaTeX text, such as ``r"Means with 95\,\% intervals"``. With a caption, a table of at
            most 40 rows is a ``table`` environment.
        label : str, optional
            Name for ``\ref``, such as "tab:means".
        digits : int, default=4
            Number of decimals. Small numbers that would be rounded to 0 are shown as 1.2e-06.
        """
        table, note = self._shown_in_latex()
        return tables.latex(table, caption=caption, label=label, digits=digits, note=note)


class Report(Table):
    """Base class for reports that can be written as tables, JSON and HTML pages.

    Reports are frozen dataclasses. Two reports are equal if they have the same class and equal
    fields; fields with ``compare=False`` are ignored.
    """

    summary: Callable[..., tables.DataFrame]  # these are defined by each subclass
    to_dict: Callable[[], dict[str, Any]]
    from_dict: Any  # the inverse, a class method
    _page: Callable[[str | None], str]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        names = [field.name for field in fields(self) if field.compare]  # type: ignore[arg-type]
        return all(have_equal_content(getattr(self, name), getattr(other, name)) for name in names)

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Write the table from `to_frame` as CSV with full precision; nan is written as "nan".

        If `path` is None, the text is returned. Spreadsheet programs may interpret names and query
        ids that begin with ``=``, ``+``, ``-`` or ``@`` as formulas; import these columns as text.
        """
        return tables.csv(self.to_frame(), path)

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write the report as JSON, with nan as null; `from_json` restores an equal report.

        If `path` is None, the text is returned. A TypeError is raised if a query id is not a str,
        int, float, bool or NumPy date, or a tuple of such values.
        """
        report = {**self.to_dict(), "versions": versions()}
        return return_or_write(json.dumps(report, allow_nan=False, separators=(",", ":")), path)

    @classmethod
    def from_json(cls, text_or_path: str | Path) -> Self:
        """Read a report of this class or of a subclass from JSON text or a JSON file.

        A ValueError that names the file is raised if the text is not the JSON of such a report, or
        if it was written in a different format version.

        Examples
        --------
        >>> import skgraded as sg
        >>> ev = sg.evaluate([1, 0], [1, 2], group=[2], measures="rr")
        >>> sg.Evaluation.from_json(ev.to_json())
        Evaluation(1 queries: RR=0.5000)
        """
        readers = {kind.__name__: kind.from_dict for kind in (cls, *cls.__subclasses__())}
        return json_text.read_report(text_or_path, readers)

    def to_html(self, path: str | Path | None = None, *, title: str | None = None) -> str | None:
        """Write the report as a self-contained HTML page.

        If `path` is None, the page is returned as a string. By default, the title names the
        type of report. An ImportError is raised if Jinja2 is not installed.
        """
        with needs("An HTML page", "jinja2"):
            import jinja2  # noqa: F401
        return return_or_write(self._page(title), path)

    def _in_notebook(self) -> tuple[str, tables.DataFrame]:
        """Return the text and the table to display in a notebook."""
        return repr(self), self.summary()

    def _repr_html_(self) -> str:
        words, frame = self._in_notebook()
        table = frame.to_html(
            index=False, max_rows=MAX_ROWS, float_format=f"{{:.{DIGITS}f}}".format
        )
        return utf8(
            '<div class="skgraded-report" style="overflow-x: auto">'
            f"<p>{escape(shorten_text(words))}</p>{table}</div>"
        )


def have_equal_content(first: object, second: object) -> bool:
    """Return whether two values of a field are equal; nan equals nan."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        one, other = np.asarray(first), np.asarray(second)
        return np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f")
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and have_equal_content(
            [*first.values()], [*second.values()]
        )
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(have_equal_content, first, second))
    if is_dataclass(first) and type(first).__eq__ is object.__eq__:
        return type(first) is type(second) and have_equal_content(vars(first), vars(second))
    return bool(first == second or (first != first and second != second))


# The page of means -----------------------------------------------------------------------------

QUERIES = {"summary": "queries", "segments": "the queries of each segment"}
CAPTION = (
    f"Means over {{}} with {text.format_percent(LEVEL)} intervals (Student's t). Defined: number of "
    "queries in the mean. Undefined: number of queries for which the measure is undefined; those "
    "that count as 0 or 1 are in both numbers."
)


def render_evaluation(
    title: str,
    frames: dict[str, tables.DataFrame],
    queries: Evaluation,
    n_queries: int,
    is_weighted: bool,
) -> str:
    """Render an Evaluation or a Summary as an HTML page.

    `frames` contains a table with one row per measure ("summary"), and optionally a table with one
    row per segment and measure ("segments"). For a Summary, `queries` contains only the
    lowest-scoring of all `n_queries` queries.
    """
    parts = [
        counted(n_queries, "query", "queries"),
        counted(len(queries.per_query), "measure", "measures"),
        *(
            f"{name} {text.fixed(mean_over_queries(shares, queries.weights))}"
            for name, shares in (queries.judged or {}).items()
        ),
    ]
    lead = ", ".join(parts) + ("; queries are weighted." if is_weighted else ".")
    if note := text.note_undefined(frames["summary"]["n_undefined"].tolist(), n_queries):
        lead += f" The measures are {note}."
    if n_unanswered := queries.n_unanswered:
        lead += f" Nothing was retrieved for {counted(n_unanswered, 'query', 'queries')}."
    first = next(iter(queries.per_query.values()))
    kept = np.sort(np.argsort(first, kind="stable")[:MAX_QUERIES])
    columns: list[dict[str, Any]] = [
        {
            "name": name,
            "values": text.round_for_json(values[kept]),
            "undefined": np.flatnonzero(queries.undefined[name][kept]).tolist(),
        }
        for name, values in queries.per_query.items()
    ]
    if queries.weights is not None:
        columns.append(
            {
                "name": "Weight",
                "kind": "plain",
                "values": text.round_for_json(queries.weights[kept]),
            }
        )
    is_sample = queries.n_queries < n_queries
    return render(
        "evaluation.html.j2",
        {
            "title": title,
            "lead": lead,
            "tables": {
                anchor: PageTable.of(frame, CAPTION.format(QUERIES[anchor]))
                for anchor, frame in frames.items()
            },
            "sections": {anchor: anchor.capitalize() for anchor in (*frames, "queries")},
            "n_queries": n_queries,
            "kept": f"the lowest by {'each measure' if is_sample else next(iter(queries.per_query))}",
            "data": {"ids": text.labels(queries.query_ids[kept]), "columns": columns},
        },
    )
