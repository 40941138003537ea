"""Render self-contained HTML pages from templates.

A page contains its styles, script and data, and makes no network requests. Tables and charts are
static HTML; the script draws the table of queries and sorts tables.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np

from skgraded._input.libraries import versions
from skgraded.writing.tables import COLUMNS, join_limits, list_rows, select_names, select_rows
from skgraded.writing.text import format_cells, format_difference, label, shortened, signed, utf8

MAX_INTERVALS = 24  # maximum number of intervals on one axis
MAX_QUERIES = 2_000  # maximum number of table rows on a page (about 0.3 MB for 4 systems)


def render(template: str, page: dict[str, Any]) -> str:
    """Render a template with the content of a page."""
    from skgraded import __version__

    made = ", ".join(
        f"{name} {number}" for name, number in versions().items() if name != "skgraded"
    )
    template_of_page = _make_environment().get_template(template)
    return utf8(template_of_page.render(version=__version__, made=made, page=page))


@cache
def _make_environment() -> Any:
    """Return the Jinja environment, which is cached so that templates are compiled only once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("skgraded.writing"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters |= {"count": "{:,}".format, "shortened": shortened, "label": label}
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


# Tables ------------------------------------------------------------------------------------------


class PageTable(NamedTuple):
    """A table on a page: a caption, (heading, kind) pairs for the columns, and rows of cells.

    Cells with names or text are strings; cells with numbers are `Cell` objects.
    """

    caption: str
    columns: Sequence[tuple[Any, str]]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, table: Any, caption: str) -> Self:
        """Create a table from those columns of a DataFrame or dict that are shown on pages."""
        shown = join_limits({name: table[name] for name in select_names("page", table)})
        columns = [(COLUMNS[name].heading, COLUMNS[name].kind) for name in shown]
        cells = [format_cells(shown[name], COLUMNS[name].kind) for name in shown]
        return cls(caption, columns, list(zip(*cells, strict=True)))


# Charts ------------------------------------------------------------------------------------------


def forest(
    heading: str, rows: Mapping[str, np.ndarray], letters: Mapping[str, str], is_tested: bool
) -> dict[str, Any]:
    """Return the data for a forest plot of the differences in `rows`; the axis includes 0."""
    n_rows, rows = len(rows["system"]), select_rows(rows, slice(MAX_INTERVALS))
    note = f"The first {MAX_INTERVALS} of {n_rows} pairs are shown."
    ends = np.concatenate([rows[name] for name in ("difference", "ci_low", "ci_high")])
    ends = ends[np.isfinite(ends)]
    ticks, digits = _choose_ticks(float(ends.min(initial=0)), float(ends.max(initial=0)))
    margin = 0.08 * (ticks[-1] - ticks[0])  # space for half a label at each end
    low, high = ticks[0] - margin, ticks[-1] + margin
    drawn, short = [], {name: shortened(name) for name in letters}
    for row in list_rows(rows):
        pair = row["system"], row["baseline"]
        drawn.append(
            {
                "letters": " − ".join(letters[name] for name in pair),
                "name": " − ".join(short[name] for name in pair),
                "full": " − ".join(pair),
                "at": _locate_in_percent(row["difference"], low, high),
                "ends": [
                    _locate_in_percent(row[name], low, high) for name in ("ci_low", "ci_high")
                ],
                "is_open": is_tested and not row["is_significant"],
                "text": format_difference(row),
            }
        )
    return {
        "heading": heading,
        "note": note if n_rows > MAX_INTERVALS else "",
        "rows": drawn,
        "ticks": [(_locate_in_percent(tick, low, high), signed(tick, digits)) for tick in ticks],
        "zero": _locate_in_percent(0, low, high),
    }


def _locate_in_percent(value: float, low: float, high: float) -> float | None:
    """Return the position of a value as a percentage of the axis length; None for nan."""
    return None if math.isnan(value) else round(100 * (value - low) / (high - low), 2)


def _choose_ticks(low: float, high: float) -> tuple[list[float], int]:
    """Return three to six round tick positions from low to high, and the number of decimals."""
    if low == high:
        low, high = -1, 1
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * unit for unit in (1, 2, 5, 10) if span / (power * unit) <= 4)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)], digits
