"""Base classes for reports: tables, CSV, JSON, HTML pages, equality and the arrays of fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.atomic_files import return_or_write
from skgraded._input.door import column, replace_masked
from skgraded._input.libraries import needs, versions
from skgraded._input.queries import query_codes
from skgraded._input.words import plain, plain_list
from skgraded.measures import Measure
from skgraded.measures import measure as as_measure
from skgraded.stats.intervals import ConfidenceInterval
from skgraded.writing import json_text, tables
from skgraded.writing.text import DIGITS, list_values, shorten_text, undefined_note, utf8

if TYPE_CHECKING:
    import pandas

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
    """Return the means of an Evaluation or a Summary, and a note if many queries are undefined."""
    notes = list_values(report.mean()), undefined_note(report.n_undefined, report.n_queries)
    return "; ".join(filter(None, notes))


def list_numbers(report: Evaluation | Summary) -> dict[str, Any]:
    """Return the means, with None for nan, and the counts of an Evaluation or a Summary."""
    means = {name: None if mean != mean else mean for name, mean in report.mean().items()}
    return {
        "n_queries": report.n_queries,
        "mean": means,
        "n_defined": report.n_defined,
        "n_undefined": report.n_undefined,
    }


def evaluated_name(measure: str | Measure | None, names: list[str]) -> str:
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

    to_frame: Callable[..., pandas.DataFrame]  # defined by each subclass

    def _shown(self) -> Any:
        """Return the table for Markdown."""
        return self.to_frame()

    def _shown_in_latex(self) -> Any:
        """Return the table for LaTeX, which has space for fewer columns."""
        return self._shown()

    def to_markdown(self) -> str:
        """Return the table as Markdown text, with 4 decimals."""
        return tables.markdown(self._shown())

    def to_latex(
        self, *, caption: str | None = None, label: str | None = None, digits: int = 4
    ) -> str:
        r"""Return the table as LaTeX text.

        Tables with more than 40 rows use longtable. The document requires
        ``\usepackage{booktabs,longtable}``. ``\resizebox{\linewidth}{!}{...}`` of graphicx shrinks a
        shorter table without a caption.

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
        table, note = self._shown_in_latex(), self._legend()
        return tables.latex(table, caption=caption, label=label, digits=digits, note=note)

    def _legend(self) -> str:
        """Return the explanation of the marks in the table, or "" if there are none."""
        return ""


class Report(Table):
    """Base class for reports that can be written as tables, JSON and HTML pages.

    Reports are frozen dataclasses. Two reports are equal if all compared fields are equal.
    """

    summary: Callable[..., pandas.DataFrame]  # these are defined by each subclass
    to_dict: Callable[[], dict[str, Any]]
    from_dict: Any  # the inverse, a class method
    _page: Callable[[str | None], str]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        names = [field.name for field in fields(self) if field.compare]  # type: ignore[arg-type]
        return all(have_equal_content(getattr(self, name), getattr(other, name)) for name in names)

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Write the table of `to_frame` as CSV, with all digits; nan is written as "nan".

        If `path` is None, the text is returned. A spreadsheet can read names and query ids that
        begin with ``=``, ``+``, ``-`` or ``@`` as formulas: import these columns as text.
        """
        return tables.csv(self.to_frame(), path)

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write the report as JSON, with nan as null; `from_json` restores an equal report.

        If `path` is None, the text is returned. A TypeError is raised if a query id is not a str,
        int, float, bool, NumPy date, or tuple of these.
        """
        report = {**self.to_dict(), "versions": versions()}
        return return_or_write(json.dumps(report, allow_nan=False, separators=(",", ":")), path)

    @classmethod
    def from_json(cls, text_or_path: str | Path) -> Self:
        """Read a report of this class, or of a subclass, from JSON text or a path of a JSON file.

        A ValueError that names the file is raised if the text is not JSON of such a report in this
        version of the layout.

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

        If `path` is None, the page is returned as a string. The default title is the kind of
        report. An ImportError is raised if Jinja2 is not installed.
        """
        with needs("An HTML page", "jinja2"):
            import jinja2  # noqa: F401
        return return_or_write(self._page(title), path)

    def _in_notebook(self) -> tuple[str, pandas.DataFrame]:
        """Return the text and the table that a notebook shows."""
        return repr(self), self.summary()

    def _repr_html_(self) -> str:
        words, frame = self._in_notebook()
        table = frame.to_html(
            index=False, max_rows=MAX_ROWS, float_format=f"{{:.{DIGITS}f}}".format
        )
        words = escape(shorten_text(words))
        return utf8(
            f'<div class="skgraded-report" style="overflow-x: auto"><p>{words}</p>{table}</div>'
        )


# Fields ------------------------------------------------------------------------------------------


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


def as_query_ids(ids: Any) -> np.ndarray:
    """Check that ids are unique and not missing; convert strings to an object array."""
    is_kept = type(ids) is np.ndarray and ids.dtype.kind not in "US"
    if len(ids) == 0:
        return ids if is_kept else np.empty(0, dtype=object)
    if is_kept and ids.ndim == 1 and _are_distinct(ids):
        return ids
    codes, distinct = query_codes(ids, name="query_ids")
    if len(distinct) < len(codes):
        repeated = codes[np.argmax(codes != np.arange(len(codes)))]
        raise ValueError(f"query_ids contains {plain_list(distinct)[repeated]!r} more than once.")
    return ids if is_kept else distinct


def _are_distinct(ids: np.ndarray) -> bool:
    """Return whether ids are ascending integers or distinct strings; a shortcut for large arrays."""
    if ids.dtype.kind in "iu":
        return bool((ids[1:] > ids[:-1]).all())
    objects = ids.tolist()
    return set(map(type, objects)) == {str} and len(set(objects)) == len(objects)


def index_of(values: Any) -> Any:
    """Return the index of a pandas Series, or None for other values."""
    return values.index if hasattr(values, "iloc") else None


def in_query_order(
    values: Any, name: str, query_ids: np.ndarray, row_labels: pandas.Index | None = None
) -> Any:
    """Sort a pandas Series by the query ids in its index; return other values unchanged.

    The index of a Series contains query ids unless it is an unnamed RangeIndex, or equal to
    `row_labels`, the index of the Series from which the query ids were read.
    """
    index = index_of(values)
    is_default = index is None or type(index).__name__ == "RangeIndex" and index.name is None
    if is_default or row_labels is not None and index.equals(row_labels):
        return values
    advice = "If its values are in the order of query_ids, pass its array, series.to_numpy()."
    if not index.is_unique:
        label = index[index.duplicated()][0]
        raise ValueError(f"The index of {name} contains {plain(label)!r} more than once. {advice}")
    positions = index.get_indexer(query_ids)
    if (positions < 0).any():
        query = plain_list(query_ids[positions < 0])[0]
        raise ValueError(f"The index of {name} lacks the query id {query!r}. {advice}")
    return values.iloc[positions]


def read_field(
    values: ArrayLike,
    name: str,
    query_ids: np.ndarray,
    row_labels: pandas.Index | None = None,
    dtype: type = float,
) -> np.ndarray:
    """Convert values to an array in the order of the queries; numbers must be finite or nan."""
    values = in_query_order(values, name, query_ids, row_labels)
    try:
        array: np.ndarray = np.asarray(replace_masked(values), dtype=dtype)
    except (TypeError, ValueError):
        array = column(values, name)  # raises an error that names the row and the value
    if array.shape != query_ids.shape:
        raise ValueError(
            f"{name} must have shape {query_ids.shape}, like query_ids; got {array.shape}."
        )
    if dtype is float and np.isinf(array).any():
        i = int(np.argmax(np.isinf(array)))
        query = name_query(query_ids, i)
        raise ValueError(f"{name} must not be infinite; got {array[i]} for {query}.")
    return array


def name_query(query_ids: np.ndarray, i: int) -> str:
    """Return the name of a query in messages."""
    return f"query {plain_list(query_ids[[i]])[0]!r}"


def read_fields(
    fields: Mapping[str, ArrayLike],
    name: str,
    query_ids: np.ndarray,
    row_labels: pandas.Index | None,
    dtype: type = float,
) -> dict[str, np.ndarray]:
    """Convert each value of a dict with `read_field`."""
    if not hasattr(fields, "items"):
        raise TypeError(
            f"{name} must be a dict of arrays keyed by measure name, such as {{'credit': values}}; "
            f"got {type(fields).__name__}."
        )
    return {
        key: read_field(values, f"{name}[{key!r}]", query_ids, row_labels, dtype)
        for key, values in fields.items()
    }
