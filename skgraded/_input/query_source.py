"""Functions that read the query or time of each row from a column of X or from a Series."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from skgraded._input import tables
from skgraded._input.words import did_you_mean, plain

OR_ROUTING = "Alternatively, pass qid with metadata routing, which does not depend on X."
KEEP = (
    "In a ColumnTransformer, keep it with remainder='passthrough', verbose_feature_names_out=False "
    f"and set_output(transform='pandas'). {OR_ROUTING}"
)


def check_source(source: Any, name: str = "qid") -> None:
    """Raise a TypeError unless the source is None, a name, a position or a pandas Series."""
    is_position = isinstance(source, numbers.Integral) and not isinstance(source, (bool, np.bool_))
    is_series = hasattr(source, "iloc") and getattr(source, "ndim", None) == 1
    if source is None or isinstance(source, str) or is_position or is_series:
        return
    raise TypeError(
        f"{name} must be the name (str) or the position (int) of a column of X, or a pandas Series "
        f"indexed by the row labels of X; got {type(source).__name__}. To pass an array, enable "
        "metadata routing and call fit(X, y, qid=qid)."
    )


def is_column(source: Any) -> bool:
    """Return whether the source specifies a column of X."""
    return isinstance(source, (str, numbers.Integral))


def values_of(X: Any, source: Any, name: str) -> Any:
    """Read the value for each row of `X` from the column or Series `source`."""
    if hasattr(source, "iloc"):
        return look_up(X, source, name)
    table = tables.as_table(X)
    return tables.take_column(table, find_column(table, source, name))


def read_queries(X: Any, source: Any) -> Any:
    """Read the query of each row of `X` from the column or Series `source`."""
    return checked_queries(values_of(X, source, "qid"), source)


def look_up(X: Any, series: Any, name: str = "qid") -> Any:
    """Look up the query of each row of the pandas DataFrame `X` by its row label."""
    if not series.index.is_unique:
        label = series.index[series.index.duplicated()][0]
        raise ValueError(
            f"The index of {name} contains {plain(label)!r} twice, but it must be unique: the "
            "row labels of X are looked up in it."
        )
    if not hasattr(X, "iloc"):
        raise ValueError(
            f"A preceding step probably returned an array: {name} is matched to the rows of X by "
            f"row label, but X is a {type(X).__name__}, which has no row labels. Pass X as a "
            f"pandas DataFrame, or call set_output(transform='pandas') on that step. {OR_ROUTING}"
        )
    positions = series.index.get_indexer(X.index)
    if (positions < 0).any():
        row = int(np.argmax(positions < 0))
        raise ValueError(
            f"{name} has no value for the label {plain(X.index[row])!r} (row {row} of X): the "
            f"index of {name} must contain every row label of X. Was the index of X reset?"
        )
    return series.iloc[positions]


def find_column(table: Any, key: Any, name: str = "qid") -> int:
    """Return the nonnegative position of the column whose name or position is `key`."""
    n_columns = table.shape[1]
    guess, advice = "", ""
    if name == "qid":  # the advice concerns only queries
        guess, advice = "A preceding step probably dropped the column: ", f" {KEEP}"
    if not isinstance(key, str):
        if not -n_columns <= key < n_columns:
            raise ValueError(
                f"{guess}{name} is column {key}, but X has only {n_columns} columns.{advice}"
            )
        return int(key) % n_columns
    if not hasattr(table, "columns"):
        raise ValueError(
            f"{name} refers to the column {key!r}, but X is a {type(table).__name__}, whose "
            "columns have no names. A preceding step probably dropped the column or its name. "
            f"Pass X as a DataFrame.{advice}"
        )
    names = list(table.columns)
    if key in names:
        return names.index(key)
    shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    fact = f"{name} is the column {key!r}, but X has only the columns {shown}."
    for renamed in names:
        if str(renamed).endswith(f"__{key}"):
            raise ValueError(
                f"A preceding step renamed the column to {renamed!r}: {fact} Set "
                "verbose_feature_names_out=False in the ColumnTransformer."
            )
    if hint := did_you_mean(key, names):
        raise ValueError(fact + hint)
    raise ValueError(f"{guess}{fact}{advice}")


def checked_queries(queries: Any, source: Any) -> Any:
    """Return the query column; reject fractional ids if the column was selected by position."""
    if isinstance(source, numbers.Integral):
        values = np.asarray(queries)
        fractional = values.dtype.kind == "f" and np.isfinite(values) & (values != np.rint(values))
        if np.any(fractional):
            row = int(np.argmax(fractional))
            raise ValueError(
                f"qid is column {source} of X, but that column contains {values[row]:g} in row "
                f"{row}, which looks like a feature value. A preceding step probably moved or "
                f"dropped the query column. {KEEP}"
            )
    return queries


@dataclass(frozen=True)
class TableColumn:
    """Position and name of a column of a table, used to find this column in other tables."""

    position: int
    name: str | None  # None if the table has no column names
    n_columns: int  # number of columns of the table

    @classmethod
    def of(cls, table: Any, source: Any, name: str = "qid") -> "TableColumn | None":
        """Return the column `source` of a table, or None if the source is not a column."""
        check_source(source, name)
        if not is_column(source):
            return None
        position = find_column(table, source, name)
        names = tables.column_names(table)
        return cls(position, None if names is None else names[position], table.shape[1])

    def position_in(self, table: Any) -> int | None:
        """Return the position of the column in a table, or None if the table lacks it."""
        names = tables.column_names(table)
        if self.name is not None and names is not None:
            return names.index(self.name) if self.name in names else None
        return self.position if table.shape[1] == self.n_columns else None


def columns_to_drop(table: Any, drop: Any) -> "list[TableColumn]":
    """Return the columns of a table whose names or positions `drop` contains."""
    sources = drop if isinstance(drop, (list, tuple)) else [] if drop is None else [drop]
    for source in sources:
        if not is_column(source) or isinstance(source, bool):
            raise TypeError(
                "drop must be a list of names (str) or positions (int) of columns of X; got "
                f"{drop!r}."
            )
    return [TableColumn.of(table, source, "drop") for source in sources]  # type: ignore[misc]


def without_columns(table: Any, columns: list[TableColumn]) -> Any:
    """Return the table without those of the columns that it contains."""
    positions = {column.position_in(table) for column in columns} - {None}
    if not positions:
        return table
    if len(positions) == table.shape[1]:
        also = " and the columns in drop" if len(columns) > 1 else ""
        raise ValueError(f"X has no features besides the query column{also}. {OR_ROUTING}")
    return tables.drop_columns(table, sorted(positions))
