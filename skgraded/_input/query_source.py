"""Lookup of the query or time of each row, in a column of X or in a Series by row label."""

import numbers
from dataclasses import dataclass

import numpy as np

from skgraded._input.tables import as_table, column_names, drop_column, is_pandas_frame, take_column
from skgraded._input.words import did_you_mean, plain

OR_ROUTING = "Or pass qid with metadata routing, which does not depend on X."
KEEP = (
    "In a ColumnTransformer, keep it with remainder='passthrough', verbose_feature_names_out=False "
    f"and set_output(transform='pandas'). {OR_ROUTING}"
)


def check_source(source, name="qid"):
    """Raise a TypeError unless the source is None, a name, a position or a pandas Series."""
    is_position = isinstance(source, numbers.Integral) and not isinstance(source, (bool, np.bool_))
    is_series = hasattr(source, "iloc") and getattr(source, "ndim", None) == 1
    if source is None or isinstance(source, str) or is_position or is_series:
        return
    if is_pandas_frame(source):
        raise TypeError(f"{name} is a DataFrame; pass only the column to read it from.")
    raise TypeError(
        f"{name} must be the name of a column of X (str), its position (int), or a pandas Series "
        f"that is looked up by the row index of X; got {type(source).__name__}. An array of "
        "queries cannot be split with the rows here: pass it to fit(X, y, qid=qid) with metadata "
        "routing."
    )


def is_column(source):
    """Return whether the source specifies a column of X."""
    return isinstance(source, (str, numbers.Integral))


def values_of(X, source, name):
    """Read the value for each row of `X` from the column or Series `source`."""
    if not is_column(source):
        return look_up(X, source, name)
    table = as_table(X)
    return take_column(table, find_column(table, source, name))


def queries_of(X, source):
    """Read the query of each row of `X` from the column or Series `source`."""
    return checked_queries(values_of(X, source, "qid"), source)


def look_up(X, series, name="qid"):
    """Look up the query of each row of the pandas frame `X` by its row label."""
    if not series.index.is_unique:
        label = series.index[series.index.duplicated()][0]
        raise ValueError(
            f"{name} is looked up by the row index of X, but the index of {name} contains "
            f"{plain(label)!r} twice."
        )
    if not is_pandas_frame(X):
        raise ValueError(
            f"A preceding step probably returned an array: {name} is a Series to look up by the "
            f"row index of X, but X is a {type(X).__name__} and has no row index. Pass X as a "
            f"pandas DataFrame, or call set_output(transform='pandas') of that step. {OR_ROUTING}"
        )
    positions = series.index.get_indexer(X.index)
    if (positions < 0).any():
        row = int(np.argmax(positions < 0))
        raise ValueError(
            f"{name} has no query for the label {plain(X.index[row])!r} (row {row} of X): its "
            "index must contain every row label of X. Was the index of X reset?"
        )
    return series.iloc[positions]


def find_column(table, key, name="qid"):
    """Return the position ≥ 0 of the column with name `key` (str) or position `key` (int)."""
    n_columns = table.shape[1]
    if not isinstance(key, str):
        if not -n_columns <= key < n_columns:
            raise ValueError(
                f"A preceding step probably dropped the column: {name} is column {key}, but X has "
                f"{n_columns} columns. {KEEP}"
            )
        return int(key) % n_columns
    if not hasattr(table, "columns"):
        raise ValueError(
            f"A preceding step probably dropped the column or its name: {name} is the column "
            f"{key!r}, but X is a {type(table).__name__}, whose columns have no names. Pass X as a "
            f"frame. {KEEP}"
        )
    names = list(table.columns)
    if names.count(key) == 1:
        return names.index(key)
    if key in names:
        raise ValueError(
            f"{name} is the column {key!r}, but X has {names.count(key)} columns with this name."
        )
    shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    fact = f"{name} is the column {key!r}, but X has only {shown}."
    for renamed in names:
        if str(renamed).endswith(f"__{key}"):
            raise ValueError(
                f"A preceding step renamed the column to {renamed!r}: {fact} Set "
                "verbose_feature_names_out=False in the ColumnTransformer."
            )
    if hint := did_you_mean(key, names):
        raise ValueError(fact + hint)
    raise ValueError(f"A preceding step probably dropped the column: {fact} {KEEP}")


def checked_queries(queries, source):
    """Return the query column; reject a column selected by position if it contains fractions."""
    if isinstance(source, numbers.Integral):
        values = np.asarray(queries)
        fractional = values.dtype.kind == "f" and np.isfinite(values) & (values != np.rint(values))
        if np.any(fractional):
            row = int(np.argmax(fractional))
            raise ValueError(
                f"A preceding step probably moved or dropped the query column: qid is "
                f"column {source} of X, but that column has {values[row]:g} in row {row}, which "
                f"looks like a feature. {KEEP}"
            )
    return queries


@dataclass(frozen=True)
class QueryColumn:
    """The query column of a table, which can be looked up in other tables."""

    position: int
    name: str | None  # None if X has no column names or if the name is not unique
    n_columns: int  # number of columns of the X in which the column was found

    @classmethod
    def of(cls, table, source):
        """Return the query column of a table, or None if the source is not a column."""
        check_source(source)
        if not is_column(source):
            return None
        position = find_column(table, source)
        names = column_names(table) or []
        name = names[position] if names else None
        return cls(position, name if names.count(name) == 1 else None, table.shape[1])

    def position_in(self, table):
        """Return the position of the column in a table, or None if the table lacks the column."""
        names = column_names(table)
        if self.name is not None and names is not None:
            return names.index(self.name) if self.name in names else None
        return self.position if table.shape[1] == self.n_columns else None

    def take_out(self, table):
        """Return the table without the query column; a table without the column is unchanged."""
        position = self.position_in(table)
        if position is None:
            return table
        if table.shape[1] == 1:
            raise ValueError(f"X has no feature besides the query column. {OR_ROUTING}")
        return drop_column(table, position)
