"""What reports have in common: CSV, a page of HTML, what a notebook shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from skgraded._input.versions import versions
from skgraded._input.writing import write_text
from skgraded.writing import json_text, tables

if TYPE_CHECKING:
    import pandas


class Table:
    """A frame that is written as text too."""

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate it."""
        raise NotImplementedError

    def _shown(self):
        """The frame that is written."""
        return self.to_frame()

    def to_markdown(self) -> str:
        """Write the table in Markdown, with 4 decimals.

        Returns
        -------
        str
        """
        return tables.markdown(self._shown())

    def to_latex(self) -> str:
        r"""Write the table in LaTeX.

        A table that is wider than a line is shrunk to it, and one of more than 40 rows is a
        longtable. It needs ``\usepackage{booktabs,array,graphicx,longtable}``.

        Returns
        -------
        str
        """
        return tables.latex(self._shown())


class Report(Table):
    """A report with a frame and a page."""

    def _to_json(self):
        raise NotImplementedError

    @staticmethod
    def _of_json(report) -> dict[str, Any]:
        """The arguments of the constructor, of what `_to_json` gave."""
        raise NotImplementedError

    def _page(self, title=None):
        raise NotImplementedError

    def _fragment(self):
        raise NotImplementedError

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Write the table of `to_frame` as CSV, with all digits; nan as "nan".

        Parameters
        ----------
        path : str or Path, optional
            The file to write.

        Returns
        -------
        str or None
            The text if there is no path.
        """
        return tables.csv(self.to_frame(), path)

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write all of it as JSON, from which `from_json` makes the same again.

        Parameters
        ----------
        path : str or Path, optional
            The file to write.

        Returns
        -------
        str or None
            The text if there is no path. Values that are nan are null in it.

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
        for one in (cls, *cls.__subclasses__()):
            if report["kind"] == one.__name__:
                return one(**_parts(one, report))
        raise ValueError(f"This is the JSON of kind {report['kind']!r}, not of {cls.__name__}.")

    def to_html(
        self, path: str | Path | None = None, *, title: str | None = None
    ) -> str | None:
        """Write it as one page of HTML that needs nothing else.

        Parameters
        ----------
        path : str or Path, optional
            The file to write.
        title : str, optional
            Of the page, such as the name of the run; by default what kind of report it is.

        Returns
        -------
        str or None
            The page if there is no path.

        Raises
        ------
        ImportError
            Without pandas or Jinja2.
        """
        return written_page(self._page(title), path)

    def _repr_html_(self):
        try:
            return self._fragment()
        except ImportError:  # without pandas and Jinja2 a notebook shows the text
            return None


def written_page(page: str, path: str | Path | None) -> str | None:
    """Write a page to a file; or give it back where there is none."""
    if path is None:
        return page
    write_text(page, path)
    return None


def titled(parts: dict[str, Any], title: str | None) -> dict[str, Any]:
    """The parts of a page with another title, if there is one."""
    return parts if title is None else parts | {"title": title}


def _parts(report_class, report):
    """The arguments of a constructor; a ValueError says what lacks or is of another kind."""
    try:
        return report_class._of_json(report)
    except KeyError as error:
        raise ValueError(f"The JSON of the {report['kind']} lacks {error}.") from None
    except (TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"The JSON of the {report['kind']} is not as written: {error}.") from None
    except ValueError as error:
        raise ValueError(f"The JSON of the {report['kind']} is not as written: {error}") from None
