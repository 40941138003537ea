"""What reports have in common: CSV, a page of HTML, what a notebook shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skgraded.reports.write import json_text, tables

if TYPE_CHECKING:
    import pandas


class Report:
    """A report with a frame and a page."""

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the report."""
        raise NotImplementedError

    def _to_json(self):
        raise NotImplementedError

    def _page(self):
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
        return json_text.write({"kind": type(self).__name__, **self._to_json()}, path)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write it as one page of HTML that needs nothing else.

        Parameters
        ----------
        path : str or Path, optional
            The file to write.

        Returns
        -------
        str or None
            The page if there is no path.

        Raises
        ------
        ImportError
            Without pandas or Jinja2.
        """
        page = self._page()
        if path is None:
            return page
        Path(path).write_text(page, encoding="utf-8")
        return None

    def _repr_html_(self):
        try:
            return self._fragment()
        except ImportError:  # without pandas and Jinja2 a notebook shows the text
            return None
