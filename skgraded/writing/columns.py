"""The columns of all tables: how pages, the command and LaTeX show each column of a frame.

Frames, CSV and Markdown contain every column of a table. A column that is not listed here also
appears on pages; its heading is its name, and its kind follows from the type of its cells.
"""

from collections.abc import Collection, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

OUTPUTS = ("page", "terminal", "latex")  # from the widest to the narrowest


class Column(NamedTuple):
    """How a column of a frame is shown."""

    heading: str
    kind: str  # see `text.shown`; an "interval" combines the columns NAME_low and NAME_high
    narrowest: str = "page"  # the narrowest of the OUTPUTS that have space for the column


COLUMNS = {
    "segment": Column("Segment", "name", "latex"),
    "judge": Column("Judge", "name"),
    "system": Column("System", "name", "latex"),
    "baseline": Column("Baseline", "name", "latex"),
    "measure": Column("Measure", "text", "latex"),
    "mean": Column("Mean", "value", "latex"),
    "baseline_mean": Column("Baseline mean", "value"),
    "difference": Column("Difference", "signed", "latex"),
    "ci_low": Column("Interval", "interval", "latex"),
    "ci_high": Column("Interval", "interval", "latex"),
    "p_value": Column("p", "p", "terminal"),
    "p_adjusted": Column("p corrected", "p", "latex"),
    "wins": Column("Wins", "count", "terminal"),
    "ties": Column("Ties", "count", "terminal"),
    "losses": Column("Losses", "count", "terminal"),
    "n_undefined": Column("Undefined", "count"),
    "effect_size": Column("Effect size", "signed"),
    "n_queries": Column("Queries", "count"),
    "weight": Column("Weight of judge", "value", "terminal"),
    "worth": Column("Worth", "value", "terminal"),
    # judges
    "exact": Column("Equal", "value"),
    "kappa": Column("κ", "value"),
    "kappa_low": Column("κ interval", "interval"),
    "kappa_weighted": Column("Weighted κ", "value"),
    "alpha": Column("α", "value"),
    "alpha_low": Column("α interval", "interval"),
    "tau_b": Column("τ", "value"),
    "tau_low": Column("Spread of τ", "interval"),
    "tau_ap": Column("τ AP", "value"),
    "rbo": Column("RBO", "value"),
    "bias": Column("Bias", "signed"),
    "n_shared": Column("Documents", "count"),
    "only_truth": Column("Only truth", "count"),
    "only_judge": Column("Only judge", "count"),
    "largest_drop": Column("Largest drop", "places"),
    "agree": Column("Agree", "count"),
    "reversed": Column("Reversed", "count"),
    "n_systems": Column("Systems", "count"),
    "truth_mean": Column("Truth", "value"),
    "truth_low": Column("Truth interval", "interval"),
    "human_mean": Column("Human mean", "value"),
    "n_human": Column("Human queries", "count"),
    "n_judge": Column("Judge queries", "count"),
    "judge_mean": Column("Judge mean", "value"),
    "judge_low": Column("Judge interval", "interval"),
    "query": Column("Query", "name"),
    # periods and trends
    "label": Column("Label", "name"),
    "before": Column("Before", "value"),
    "after": Column("After", "value"),
    "smallest": Column("Smallest", "value"),
    "n_before": Column("Queries before", "count"),
    "n_after": Column("Queries after", "count"),
    "center": Column("Center", "value"),
    "lower": Column("Lower limit", "value"),
    "upper": Column("Upper limit", "value"),
    "is_outside": Column("Outside", "flag"),
    "p_undefined": Column("p undefined", "p"),
    "defined_difference": Column("Difference if defined", "signed"),
    "p_defined": Column("p if defined", "p"),
    # folds
    "fold": Column("Fold", "count"),
    "fit_time": Column("Fit\u00a0(s)", "seconds"),
    "score_time": Column("Score\u00a0(s)", "seconds"),
    "error": Column("Error", "text"),
}
HIGH = {  # maps the column of each lower limit to the column of the upper limit
    name: f"{name.removesuffix('low')}high"
    for name, column in COLUMNS.items()
    if column.kind == "interval" and name.endswith("_low")
}
KINDS = {bool: "flag", Integral: "count", Real: "value"}  # of columns that are not listed


def fitting(table: Any, output: str) -> dict[str, list[Any]]:
    """Return the columns that one of the `OUTPUTS` has space for, in the order of `COLUMNS`."""
    narrow = OUTPUTS[OUTPUTS.index(output) :]
    return {
        name: list(table[name])
        for name, column in COLUMNS.items()
        if name in table and column.narrowest in narrow
    }


class PageTable(NamedTuple):
    """A table on a page: a caption, columns as pairs (heading, kind), and rows of cells."""

    caption: str
    columns: Sequence[tuple[Any, str]]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(
        cls,
        table: Any,
        caption: str,
        first: Sequence[str] = (),
        hidden: Sequence[str] = (),
        measures: Collection[str] = (),
    ) -> Self:
        """Create a table from a frame or a dict of columns.

        The columns `first` come first, and the columns `hidden` are omitted. Columns with the names
        of `measures` are not looked up in `COLUMNS`, and their headings are these names.
        """
        names = [name for name in first if name in table]
        names += [name for name in table if name not in (*first, *hidden)]
        columns, cells = [], []
        for name in names:
            values = list(table[name])
            if name in measures:
                heading, kind = name, _kind(values)
            elif name in HIGH.values():
                continue
            elif name in HIGH:
                heading, kind = COLUMNS[name].heading, "interval"
                values = list(zip(values, table[HIGH[name]], strict=True))
            else:
                unlisted = Column(name.replace("_", " "), _kind(values))
                heading, kind, _ = COLUMNS.get(name, unlisted)
            columns.append((heading, kind))
            cells.append(values)
        return cls(caption, columns, list(zip(*cells, strict=True)))


def _kind(cells: Sequence[Any]) -> str:
    kinds = (kind for of_type, kind in KINDS.items() if cells and isinstance(cells[0], of_type))
    return next(kinds, "name")
