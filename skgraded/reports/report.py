"""Base classes for reports: CSV, JSON and HTML output, and validation of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from skgraded._input.arrow_strings import texts_of_strings
from skgraded._input.atomic_files import write_text
from skgraded._input.columns import as_array, column, refuse_other_length
from skgraded._input.needs import needs
from skgraded._input.queries import query_codes
from skgraded._input.versions import versions
from skgraded._input.words import is_writable, plain, plain_list, refuse_unwritable
from skgraded.measures import Measure
from skgraded.measures import measure as as_measure
from skgraded.stats.intervals import ConfidenceInterval
from skgraded.writing import json_text, tables
from skgraded.writing.json_text import Form, forms_of, read_fields, write_fields
from skgraded.writing.text import undefined_note, utf8

if TYPE_CHECKING:
    import pandas


MAX_ROWS, MAX_TEXT = 40, 1000  # rows and characters that a notebook shows


class ConfidenceIntervals(dict[str, ConfidenceInterval]):
    """Confidence intervals keyed by measure name, with the attributes `level` and `method`."""

    def __init__(
        self, intervals: Mapping[str, ConfidenceInterval], level: float, method: str
    ) -> None:
        super().__init__(intervals)
        self.level = level
        self.method = method

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self.level, self.method)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}=[{low:.4f}, {high:.4f}]" for name, (low, high) in self.items())
        return f"ConfidenceIntervals({self.level:g}, {self.method}: {shown})"


def means_rows(
    report: Any, intervals: ConfidenceIntervals, n_queries: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return the means and intervals of an Evaluation or a Summary, one row per measure."""
    return [
        {
            "measure": name,
            "mean": mean,
            "ci_low": intervals[name].low,
            "ci_high": intervals[name].high,
            "method": intervals.method,
            "n_queries": n_queries[name],
            "n_undefined": report.n_undefined[name],
        }
        for name, mean in report.mean().items()
    ]


def means_text(report: Any) -> str:
    """Return the means of an Evaluation or a Summary, with a note on many undefined queries."""
    means = ", ".join(f"{name}={value:.4f}" for name, value in report.mean().items())
    n_queries = report.n_queries if hasattr(report, "n_queries") else len(report.query_ids)
    return "; ".join(filter(None, [means, undefined_note(report.n_undefined, n_queries)]))


def plain_numbers(report: Any) -> dict[str, Any]:
    """Return the means, with None for nan, and the counts of an Evaluation or a Summary."""
    means = {name: None if mean != mean else mean for name, mean in report.mean().items()}
    return {"mean": means, "n_undefined": report.n_undefined}


def evaluated_name(measure: str | Measure | None, names: list[str]) -> str:
    """Return the name of an evaluated measure. If `measure` is None, return the first name."""
    if measure is None:
        return names[0]
    if isinstance(measure, str) and measure in names:
        return measure
    name = as_measure(measure).name
    if name not in names:
        known = ", ".join(names)
        raise ValueError(f"measure must be one of the evaluated measures {known}; got {name}.")
    return name


def concatenated(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Concatenate the arrays that have the same name."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class Checked:
    """Base class for frozen dataclasses whose fields are also validated when unpickled."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        other = state.keys() ^ {field.name for field in fields(self)}  # type: ignore[arg-type]
        if other:
            raise ValueError(
                f"Cannot unpickle {type(self).__name__}: another version of skgraded wrote it; the "
                f"fields {sorted(other)} differ. Use to_json and from_json to exchange reports."
            )
        type(self).__init__(self, **state)

    def _set(self, **fields: Any) -> None:
        """Set fields to values converted in `__post_init__`, the only place that may call this."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)


class Table:
    """Base class for tables that can be written as Markdown and LaTeX."""

    def to_frame(self) -> pandas.DataFrame:
        """Return the table as a pandas.DataFrame."""
        raise NotImplementedError

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
        ``\usepackage{booktabs,longtable}``. A table may be wider than a line: without a caption and
        with at most 40 rows, ``\resizebox{\linewidth}{!}{...}`` of graphicx shrinks it.

        Parameters
        ----------
        caption : str, optional
            LaTeX text, such as ``r"Means with 95\,\% intervals"``. With a caption, a table of at
            most 40 rows is a ``table`` environment.
        label : str, optional
            Name for ``\ref``, such as "tab:means"; requires `caption`.
        digits : int, default=4
            Number of decimals. Small numbers that would be rounded to 0 are shown as 1.2e-06.

        Raises
        ------
        ValueError
            If `digits` is not an integer ≥ 0, `label` is passed without `caption`, or one of them
            contains ``%``, ``#`` or ``&`` without a backslash.
        ImportError
            If pandas or Jinja2 is not installed.
        """
        return tables.latex(self._shown_in_latex(), caption=caption, label=label, digits=digits)


class Report(Checked, Table):
    """Base class for reports that can be written as tables, JSON and HTML pages."""

    # JSON forms of fields, keyed by field name; `forms_of` finds the forms of the other fields.
    _json: ClassVar[Mapping[str, Form]]

    def _page(self, title: str | None = None) -> Any:
        """Return the page content, an object with the method `html`."""
        raise NotImplementedError

    def _to_json(self) -> dict[str, Any]:
        return write_fields(forms_of(type(self), **self._json), self)

    @classmethod
    def _of_json(cls, report: dict[str, Any]) -> dict[str, Any]:
        """Return the constructor arguments, read from the result of `_to_json`."""
        return read_fields(forms_of(cls, **cls._json), report)

    def _numbers(self) -> dict[str, Any]:
        """Return means and counts for readers of the JSON other than `from_json`."""
        return {}

    @classmethod
    def _read(cls, report: dict[str, Any]) -> Self:
        """Create a report from JSON; raise a ValueError if its `_numbers` differ."""
        made = cls(**cls._of_json(report))
        for name, value in made._numbers().items():
            if not json_text.agree(report.get(name), value):
                raise ValueError(f"{name} must be {value}; got {report.get(name)}.")
        return made

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Write the table of `to_frame` as CSV, with all digits; nan is written as "nan".

        If `path` is None, the text is returned. Names and query ids are written unchanged. A
        spreadsheet can read those that begin with ``=``, ``+``, ``-`` or ``@`` as formulas, so
        import the columns of unknown runs as text.
        """
        return tables.csv(self.to_frame(), path)

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write the report as JSON, with nan as null; `from_json` restores an equal report.

        If `path` is None, the text is returned. A TypeError is raised if a query id is not a str,
        int, float, bool, NumPy date, or tuple of these.
        """
        origin = {"kind": type(self).__name__, "versions": versions()}
        return json_text.write({**origin, **self._to_json(), **self._numbers()}, path)

    @classmethod
    def from_json(cls, text_or_path: str | Path) -> Self:
        """Read a report of this class, or of a subclass, from JSON text or a path of a JSON file.

        A ValueError is raised if the text is not JSON, describes an object of another class, or is
        inconsistent.

        Examples
        --------
        >>> import skgraded as sg
        >>> ev = sg.evaluate([1, 0], [1, 2], group=[2], measures="rr")
        >>> sg.Evaluation.from_json(ev.to_json())
        Evaluation(1 queries: RR=0.5000)
        """
        report = json_text.read(text_or_path)
        kind = report["kind"]
        for report_class in (cls, *cls.__subclasses__()):
            if kind == report_class.__name__:
                try:
                    return report_class._read(report)
                except (ValueError, TypeError, OverflowError, RecursionError) as error:
                    raise ValueError(f"The JSON of the {kind} is invalid: {error!s:.800}") from None
        raise ValueError(f"The JSON must have kind {cls.__name__!r}; got {kind!r}.")

    def to_html(self, path: str | Path | None = None, *, title: str | None = None) -> str | None:
        """Write the report as a self-contained HTML page.

        If `path` is None, the page is returned as a string. The default title is the kind of
        report. An ImportError is raised if pandas or Jinja2 is not installed.
        """
        return write_page(lambda: self._page(title), path)

    def _in_notebook(self) -> tuple[str, pandas.DataFrame]:
        """Return the text and the table that a notebook shows."""
        return repr(self), self.to_frame()

    def _repr_html_(self) -> str | None:
        try:
            words, frame = self._in_notebook()
        except ImportError:  # without pandas, a notebook shows the repr
            return None
        table = frame.to_html(index=False, max_rows=MAX_ROWS, float_format="{:.4f}".format)
        words = escape(shorten(words, MAX_TEXT, placeholder=" …"))
        return utf8(
            f'<div class="skgraded-report" style="overflow-x: auto"><p>{words}</p>{table}</div>'
        )


def write_page(make_page: Callable[[], Any], path: str | Path | None) -> str | None:
    """Write a page, or return it if `path` is None; packages are checked before it is made."""
    check_page_packages()
    html: str = make_page().html()
    if path is None:
        return html
    write_text(html, path)
    return None


def check_page_packages() -> None:
    """Raise an ImportError if a package that HTML pages require is missing."""
    with needs("An HTML page", "pandas", "jinja2"):
        import jinja2  # noqa: F401
        import pandas  # noqa: F401


# Arrays with one element per query, fold or test -------------------------------------------------


class Rule(NamedTuple):
    """A rule for numbers, as text for messages and as a function that marks the exceptions."""

    text: str
    is_broken: Callable[[np.ndarray], Any]


FLOAT, BOOL = np.dtype(float), np.dtype(bool)
VALUES = Rule("values must be finite or nan", np.isinf)
WEIGHTS = Rule("weights must be finite and ≥ 0", lambda v: ~((v >= 0) & (v < np.inf)))
SHARES = Rule("shares must be from 0 to 1, or nan", lambda v: (v < 0) | (v > 1))
TIMES = Rule("times must be ≥ 0", lambda v: v < 0)


def as_query_ids(ids: Any) -> np.ndarray:
    """Check that ids are hashable, unique and not missing; convert strings to an object array."""
    is_kept = type(ids) is np.ndarray and ids.dtype.kind not in "US"
    if is_kept and ids.ndim == 1 and _are_distinct(ids):
        return ids
    if getattr(ids, "shape", None) == (0,) or isinstance(ids, (list, tuple)) and not ids:
        return ids if is_kept else np.empty(0, dtype=object)
    codes, distinct = query_codes(ids, name="query_ids")
    if len(distinct) < len(codes):
        repeated = np.argmax(codes != np.arange(len(codes)))
        query = plain_list(distinct)[codes[repeated]]
        raise ValueError(f"query_ids contains {query!r} more than once.")
    return ids if is_kept else distinct


def _are_distinct(ids: np.ndarray) -> bool:
    """Return whether ids are ascending integers, or distinct objects of type str or int."""
    if ids.dtype.kind in "iu":
        return bool((ids[1:] > ids[:-1]).all())
    if ids.dtype.kind != "O":
        return False
    texts = texts_of_strings(ids)
    if texts is not None:
        return not texts.have_equal_keys()
    objects = ids.tolist()
    return set(map(type, objects)) == {int} and len(set(objects)) == len(objects)


def _is_array(values: Any, n: int, dtype: np.dtype) -> bool:
    """Return whether values are an array that needs no conversion."""
    return (
        type(values) is np.ndarray
        and values.dtype == dtype
        and values.shape == (n,)
        and values.flags.c_contiguous
    )


class Axis(NamedTuple):
    """An axis of arrays with one element per query, fold or test."""

    element: str  # "query", "fold" or "test"
    argument: str  # parameter that determines the number of elements
    keys: Any

    def numbers(self, values: Any, name: str, rule: Rule = VALUES) -> np.ndarray:
        """Convert values to floats and check that they satisfy a rule."""
        n = len(self.keys)
        if _is_array(values, n, FLOAT):
            floats = values
        else:
            floats = column(values, name, n, self.argument) if n or np.size(values) else np.empty(0)
        is_broken = rule.is_broken(floats)
        if is_broken.any():
            i = int(np.argmax(is_broken))
            key = plain(self.keys[i])
            raise ValueError(
                f"{name} contains {floats[i]:g} for {self.element} {key!r}: {rule.text}."
            )
        return floats

    def positions(self, values: Any, name: str, end: int) -> np.ndarray:
        """Check that positions are integers from 0 to `end` - 1."""
        return self.numbers(
            values,
            name,
            Rule(
                f"values must be integers from 0 to {end - 1}",
                lambda v: ~((v >= 0) & (v < end) & (v == np.rint(v))),
            ),
        ).astype(np.intp)

    def flags(self, flags: Any, name: str) -> np.ndarray:
        """Check that flags are booleans; reject the integers 0 and 1."""
        if _is_array(flags, len(self.keys), BOOL):
            return flags
        if not len(self.keys) and not np.size(flags):
            return np.empty(0, dtype=bool)
        array = as_array(flags, name)
        refuse_other_length(array, name, len(self.keys), self.argument)
        for flag, key in zip(array, self.keys, strict=True) if array.dtype != bool else ():
            if not isinstance(flag, (bool, np.bool_)):
                raise TypeError(
                    f"Array {name} must contain booleans, but contains {plain(flag)!r} for "
                    f"{self.element} {plain(key)!r}."
                )
        return array.astype(bool, copy=False)


def by_measure(
    values: Any,
    name: str,
    measures: Mapping[str, Any],
    check: Callable[..., np.ndarray],
    *settings: Any,
) -> dict[str, np.ndarray]:
    """Check that `values` is a dict with one array per measure."""
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        shown = f"{values!r:.60}"
        raise TypeError(f"Argument {name} must be a dict keyed by measure name; got {shown}.")
    if not values:
        raise ValueError(f"{name} must contain at least one measure.")
    for measure in values:
        if not is_writable(measure):
            refuse_unwritable(measure, f"A name in {name}")
    if values.keys() != measures.keys():
        raise ValueError(f"Argument {name} must have the same measures as per_query.")
    return {
        measure: check(values[measure], f"{name}[{measure!r}]", *settings) for measure in measures
    }
