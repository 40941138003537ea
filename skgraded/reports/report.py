"""What reports have in common: CSV, JSON, a page, and checks of the arrays that they hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from skgraded._input.columns import as_array, column, refuse_other_length
from skgraded._input.needs import needs
from skgraded._input.queries import query_codes
from skgraded._input.versions import versions
from skgraded._input.words import plain, plain_list
from skgraded._input.writing import write_text
from skgraded.stats.intervals import ConfidenceInterval
from skgraded.writing import json_text, tables
from skgraded.writing.json_text import Form, read_fields, write_fields

if TYPE_CHECKING:
    import pandas


class ConfidenceIntervals(dict[str, ConfidenceInterval]):
    """Confidence intervals by measure name, made by `Evaluation.confidence_interval`.

    Attributes
    ----------
    level : float
    method : {"bootstrap", "t"}
    """

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


def summary_rows(
    report: Any, intervals: ConfidenceIntervals, n_queries: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Rows of the table that summarizes an Evaluation or a Summary, one per measure."""
    return [
        {
            "measure": name, "mean": mean, "ci_low": intervals[name].low,
            "ci_high": intervals[name].high, "method": intervals.method,
            "n_queries": n_queries[name], "n_undefined": report.n_undefined[name],
        }
        for name, mean in report.mean().items()
    ]


def concatenated(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Concatenate the arrays of each name."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class Checked:
    """A frozen dataclass that a pickle makes by its constructor, which checks the fields."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        type(self).__init__(self, **state)

    def _set(self, **fields: Any) -> None:
        """Set fields to what `__post_init__` has made of them."""
        self.__dict__.update(fields)


class Table:
    """A frame that is written as text too."""

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate it."""
        raise NotImplementedError

    def _shown(self):
        """The frame that is written."""
        return self.to_frame()

    def to_markdown(self) -> str:
        """Return the table as text in Markdown, with 4 decimals."""
        return tables.markdown(self._shown())

    def to_latex(self) -> str:
        r"""Return the table as text in LaTeX.

        A table that is wider than a line is shrunk to it, and one of more than 40 rows is a
        longtable. It needs ``\usepackage{booktabs,array,graphicx,longtable}``.
        """
        return tables.latex(self._shown())


class Report(Checked, Table):
    """A report with a frame, JSON and a page."""

    _json: ClassVar[Mapping[str, Form]]  # how its fields are written

    def _page(self, title: str | None = None) -> Any:
        """What its page shows, which has the methods `html` and `fragment`."""
        raise NotImplementedError

    def _to_json(self):
        return write_fields(self._json, self)

    @classmethod
    def _of_json(cls, report):
        """The arguments of the constructor, from what `_to_json` gave."""
        return read_fields(cls._json, report)

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Write the table of `to_frame` as CSV, with all digits; nan as "nan".

        Parameters
        ----------
        path : str or Path, optional
            The file to write; None: the text is returned.
        """
        return tables.csv(self.to_frame(), path)

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write all of it as JSON, from which `from_json` makes the same again; nan as null.

        Parameters
        ----------
        path : str or Path, optional
            The file to write; None: the text is returned.

        Raises
        ------
        TypeError
            If a query id is none of str, int, float, bool, tuples of these, and numpy's dates.
        """
        made = {"kind": type(self).__name__, "versions": versions()}
        return json_text.write({**made, **self._to_json()}, path)

    @classmethod
    def from_json(cls, text_or_path: str | Path) -> Self:
        """Read what `to_json` wrote.

        Parameters
        ----------
        text_or_path : str or Path
            The text, which begins with {, or the file.

        Returns
        -------
        Evaluation, CrossEvaluation or Comparison
            Whichever was written: this class or one made after it.

        Raises
        ------
        ValueError
            If it is not JSON, or of another class, or what it holds does not belong together: the
            message says what lacks or is wrong.

        Examples
        --------
        >>> import skgraded as sg
        >>> ev = sg.evaluate([1, 0], [1, 2], qid=[("de", 7), ("de", 7)], measures="rr")
        >>> same = sg.Evaluation.from_json(ev.to_json())
        >>> same.query_ids, same
        (array([('de', 7)], dtype=object), Evaluation(1 queries: RR=0.5000))
        """
        report = json_text.read(text_or_path)
        for report_class in (cls, *cls.__subclasses__()):
            if report["kind"] == report_class.__name__:
                try:
                    return report_class(**report_class._of_json(report))
                except (ValueError, TypeError, OverflowError) as error:
                    raise ValueError(
                        f"The JSON of the {report['kind']} is not as written: {error}"
                    ) from None
        raise ValueError(f"This is the JSON of kind {report['kind']!r}, not of {cls.__name__}.")

    def to_html(self, path: str | Path | None = None, *, title: str | None = None) -> str | None:
        """Write it as one page of HTML that needs nothing else.

        Parameters
        ----------
        path : str or Path, optional
            The file to write; None: the page is returned.
        title : str, optional
            Of the page, such as the name of the run; by default what kind of report it is.

        Raises
        ------
        ImportError
            Without pandas or Jinja2.
        """
        return written_page(lambda: self._page(title), path)

    def _repr_html_(self):
        try:
            return self._page().fragment()
        except ImportError:  # without pandas and Jinja2 a notebook shows the text
            return None


def written_page(make_page: Callable[[], Any], path: str | Path | None) -> str | None:
    """Write a page to a file, or return it without a path; an ImportError without its packages."""
    with needs("An HTML page", "pandas", "jinja2"):
        import jinja2  # noqa: F401
        import pandas  # noqa: F401
    page = make_page().html()
    if path is None:
        return page
    write_text(page, path)
    return None


# What reports hold: arrays by query, fold or test ------------------------------------------------

# The rule of weights, and what holds for them.
WEIGHTS = (
    "a weight is finite and not below 0", lambda weights: (weights >= 0) & (weights < np.inf)
)


def as_query_ids(ids: Any) -> np.ndarray:
    """Check ids: hashable, none missing, no two the same; text comes back as objects."""
    is_kept = type(ids) is np.ndarray and ids.dtype.kind not in "US"
    if getattr(ids, "shape", None) == (0,) or isinstance(ids, (list, tuple)) and not ids:
        return ids if is_kept else np.empty(0, dtype=object)
    codes, distinct = query_codes(ids, name="query_ids")
    if len(distinct) < len(codes):
        repeated = np.argmax(codes != np.arange(len(codes)))
        query = plain_list(distinct)[codes[repeated]]
        raise ValueError(f"query_ids has {query!r} more than once.")
    return ids if is_kept else distinct


class Axis(NamedTuple):
    """What arrays have an element for: queries, folds or tests."""

    element: str
    argument: str  # which has as many elements
    keys: Any

    def numbers(
        self, values: Any, name: str, rule: str, holds: Callable[[np.ndarray], Any]
    ) -> np.ndarray:
        """Check numbers for which a rule holds; they come back as floats."""
        n = len(self.keys)
        floats = column(values, name, n, self.argument) if n or np.size(values) else np.empty(0)
        right = holds(floats)
        if not right.all():
            i = int(np.argmin(right))
            key = plain(self.keys[i])
            raise ValueError(f"{name} has {floats[i]:g} for {self.element} {key!r}: {rule}.")
        return floats

    def values(self, values: Any, name: str) -> np.ndarray:
        """Check values of a measure, which may be nan."""
        return self.numbers(values, name, "a value is finite or nan", lambda v: ~np.isinf(v))

    def positions(self, values: Any, name: str, end: int) -> np.ndarray:
        """Check whole numbers from 0 to below `end`."""
        rule = f"it must be a whole number from 0 to {end - 1}"
        return self.numbers(
            values, name, rule, lambda v: (v >= 0) & (v < end) & (v == np.rint(v))
        ).astype(np.intp)

    def flags(self, flags: Any, name: str) -> np.ndarray:
        """Check booleans; 0 and 1 are refused."""
        if not len(self.keys) and not np.size(flags):
            return np.empty(0, dtype=bool)
        array = as_array(flags, name)
        refuse_other_length(array, name, len(self.keys), self.argument)
        for flag, key in zip(array, self.keys, strict=True) if array.dtype != bool else ():
            if not isinstance(flag, (bool, np.bool_)):
                raise TypeError(
                    f"{name} must hold booleans; it has {plain(flag)!r} for {self.element} "
                    f"{plain(key)!r}."
                )
        return array.astype(bool, copy=False)


def by_measure(
    values: Any, name: str, measures: Collection[str], check: Callable[[Any, str], np.ndarray]
) -> dict[str, np.ndarray]:
    """Check a dict with an array for each of the measures."""
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise TypeError(f"{name} must be a dict by names of measures; got {values!r:.60}.")
    if not values:
        raise ValueError(f"{name} has no measure.")
    if set(values) != set(measures):
        raise ValueError(f"{name} and per_query must have the same measures.")
    return {measure: check(values[measure], f"{name}[{measure!r}]") for measure in measures}
