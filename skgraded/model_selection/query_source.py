"""Find the query ids in X, and the columns of X that an estimator must not receive."""

import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import tables
from skgraded._input.door import plain
from skgraded._input.messages import suggest_name, warn_user
from skgraded._input.queries import QueryIds
from skgraded._input.tables import Features, FeatureTable

if TYPE_CHECKING:
    import pandas as pd

Key: TypeAlias = str | int  # name or position of a column
Source: TypeAlias = "Key | pd.Series | None"

OR_ROUTING = "Alternatively, pass qid with metadata routing, which does not depend on X."
KEEP = (
    "A preceding step probably dropped, renamed, moved or encoded the column: in a "
    "ColumnTransformer, keep it with remainder='passthrough', verbose_feature_names_out=False and "
    f"set_output(transform='pandas'). {OR_ROUTING}"
)
FRACTIONAL = ("float", "double", "object")  # types of columns that may contain fractions
PASS_ARRAY = " To pass an array, enable metadata routing and call fit(X, y, qid=qid)."
NO_QID = (
    "{caller} got no qid: pass qid=qid, in a search after sklearn.set_config("
    "enable_metadata_routing=True) with search.fit(X, y, qid=qid) (cross_validate: params={{'qid': "
    "qid}}); or name a column of X, QueryRanker(…, qid='query_id') or make_ranking_scorer(…, "
    "qid='query_id') (in a pipeline, the position of a column in QueryRanker does not count, because "
    "steps may move columns); or pass a Series with the row labels of X in the same way, qid=series."
)
PARTIAL = (
    "{partial} of the {seen} queries to {verb}, such as {example!r}, are incomplete: X does not "
    "contain {missing} of their rows in qid. Rows were drawn instead of queries, as in KFold and "
    "HalvingGridSearchCV(resource='n_samples'): split with QueryKFold or GroupKFold, or choose "
    "another resource. "
    "If rows were omitted on purpose, omit them from qid too: qid=series.loc[X.index]."
)


class TornQueryWarning(UserWarning):
    """Warning that a ranker was fitted or scored on only some of the rows of a query.

    KFold, ``cv=5`` and train_test_split split queries, which makes scores wrong. Split by query
    instead, for example with QueryKFold or GroupKFold. Rows that are missing from X are detected
    only if queries are looked up in a Series. If ``n_jobs`` is set, the warning is issued
    in the workers.
    """


@dataclass(frozen=True)
class TableColumn:
    """Position and name of a column of a table, used to find this column in other tables."""

    position: int
    name: str | None  # None if the table has no column names
    n_columns: int  # number of columns of the table

    @property
    def key(self) -> int | str:
        """The name of the column or, if the table has no column names, its position."""
        return self.position if self.name is None else self.name

    def find_position(self, table: FeatureTable) -> int | None:
        """Return the position of the column in a table, or None if the table lacks it."""
        names = tables.column_names(table)
        if self.name is not None and names is not None:
            return names.index(self.name) if self.name in names else None
        return self.position if table.shape[1] == self.n_columns else None


def is_key(value: object) -> TypeGuard[Key]:
    """Return whether a value can be the name or the position of a column."""
    return isinstance(value, (str, numbers.Integral)) and not isinstance(value, bool)


class QuerySource:
    """The source of the query ids of X: a column, a Series, or an argument of a call.

    Parameters
    ----------
    source : str, int, pandas Series or None
        As `qid` in `QueryRanker`; None for an argument of the call.
    name : str, default="qid"
        The name of the parameter. Times and columns to drop are specified in the same way.
    """

    column: TableColumn | None = None  # for a fitted ranker: the column in its training table

    def __init__(self, source: object, name: str = "qid", is_required: bool = False) -> None:
        self.is_column = is_key(source)
        is_series = hasattr(source, "iloc") and getattr(source, "ndim", None) == 1
        self.is_series = is_series and name != "drop"
        self.is_in_X = self.is_column or self.is_series
        if not self.is_in_X and (source is not None or is_required):
            other = "a pandas Series indexed by the row labels of X"
            raise TypeError(
                f"{name} must be the name (str) or the position (int) of a column of X, or "
                f"{'a list of these' if name == 'drop' else other}; got {type(source).__name__}."
                f"{PASS_ARRAY if name == 'qid' else ''}"
            )
        self.source: Any = source
        self.name = name
        # The place of the values in a message
        noun = "the column" if isinstance(source, str) else "column"
        self.place = f"the Series {name}" if self.is_series else f"{noun} {source!r}"

    @classmethod
    def of_call(cls, qid: object, group: object, estimator: object, cv: object = None) -> Self:
        """Return the source of the queries for a call, whose argument `qid` may name a column of X.

        If `qid` and `group` are None, the source is taken from the estimator or, if it has none,
        from the splitter `cv`.
        """
        if qid is not None or group is not None:
            return cls(qid if isinstance(qid, (str, numbers.Integral)) else None)
        source = cls.of_estimator(estimator, is_before_steps=True)
        return source if source.is_in_X else cls(getattr(cv, "qid", None))

    @classmethod
    def of_estimator(cls, estimator: object, is_before_steps: bool = False) -> Self:
        """Return the source specified by a ranker, or by the ranker in a search or pipeline.

        If `is_before_steps` is true, ignore a column position that refers to the output of pipeline
        steps.
        """
        has_steps = False
        for inner, steps in list_estimators(estimator):
            has_steps = has_steps or bool(steps)
            source = cls(getattr(inner, "qid", None))
            if source.is_in_X:
                return source.move_before_steps() if is_before_steps and has_steps else source
        return cls(None)

    @classmethod
    def of_splitter(cls, splitter: object) -> list[Self]:
        """Return the query and time columns named by a splitter."""
        keys = {name: getattr(splitter, name, None) for name in ("qid", "time")}
        return [cls(key, name) for name, key in keys.items() if is_key(key)]

    @classmethod
    def of_drop(cls, drop: Key | Iterable[Key] | None) -> list[Self]:
        """Return the columns in the parameter `drop`, which may be one column, a list or None."""
        keys = drop if isinstance(drop, (list, tuple)) else [] if drop is None else [drop]
        return [cls(key, "drop", is_required=True) for key in keys]

    def move_before_steps(self) -> Self:
        """Return the source for a pipeline's input; ignore positions, as steps may move columns."""
        return type(self)(None if isinstance(self.source, numbers.Integral) else self.source)

    def locate(self, table: FeatureTable) -> TableColumn | None:
        """Locate the source in a table; return None if the source is not a column."""
        if not self.is_column:
            return None
        position, names = self.find_position(table), tables.column_names(table)
        return TableColumn(position, None if names is None else names[position], table.shape[1])

    def find_position(self, table: FeatureTable) -> int:
        """Return the nonnegative position of the column; raise an error if the table lacks it."""
        key, names = self.source, list(getattr(table, "columns", ()))
        if self.column is not None:
            position = self.column.find_position(table)
        elif isinstance(key, str):
            if names.count(key) > 1:
                tables.refuse_unknown({key: self.name}, names, "X: ")
            position = names.index(key) if key in names else None
        else:
            n_columns = table.shape[1]
            position = int(key) % n_columns if -n_columns <= key < n_columns else None
        if position is not None:
            return position
        hint = suggest_name(key, names) or (f" {KEEP}" if self.name == "qid" else "")
        known = f"has only {table.shape[1]} columns"
        if isinstance(key, str) and not names:
            known = f"is a {type(table).__name__}, whose columns have no names"
        elif isinstance(key, str):
            shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
            known = f"has only the columns {shown}"
        raise ValueError(f"{self.name} is {self.place}, but X {known}.{hint}")

    # Values of rows ------------------------------------------------------------------------------

    def read(self, X: Features) -> Any:
        """Return the query or time of each row of `X`, which must be a table if `column` is set."""
        if self.is_series:
            return self._look_up(X)
        table: Any = tables.convert_features(X) if self.column is None else X
        values = tables.take_column(table, self.find_position(table))
        if self.name != "qid" or not str(values.dtype).lower().startswith(FRACTIONAL):
            return values
        ids = np.asarray(values)
        if ids.dtype.kind == "f":
            fractional = np.isfinite(ids) & (ids != np.rint(ids))
        else:
            fractional = [
                isinstance(x, (float, np.floating)) and isfinite(x) and x != round(x) for x in ids
            ]
        if np.any(fractional):
            row = int(np.argmax(fractional))
            raise ValueError(
                f"qid is {self.place} of X, but that column contains {ids[row]:g} in row {row}, "
                f"which looks like a feature value. {KEEP}"
            )
        return values

    def choose_queries(
        self, X: Features, caller: str, qid: QueryIds | None, group: ArrayLike | None = None
    ) -> Any:
        """Return the query ids from `X` or `qid`, or None if query sizes are passed as `group`."""
        n_sources = self.is_in_X + (qid is not None) + (group is not None)
        if n_sources > 1:
            raise ValueError(
                f"{caller}: the queries must be passed only once: in X, as qid, or as group."
            )
        if n_sources == 0:
            raise ValueError(NO_QID.format(caller=caller))
        return self.read(X) if self.is_in_X else qid

    def _look_up(self, X: Any) -> Any:
        """Look up the value of each row of the pandas DataFrame `X` by its row label."""
        if not hasattr(X, "iloc"):
            raise ValueError(
                f"A preceding step probably returned an array: {self.name} is matched to the rows "
                f"of X by row label, but X is a {type(X).__name__}, which has no row labels. Pass X "
                "as a pandas DataFrame, or call set_output(transform='pandas') on that step. "
                f"{OR_ROUTING}"
            )
        if not self.source.index.is_unique:
            label = plain(self.source.index[self.source.index.duplicated()][0])
            raise ValueError(
                f"The index of {self.name} contains {label!r} more than once, but the row labels "
                "of X are looked up in it: reset the index of X and of the Series."
            )
        positions = self.source.index.get_indexer(X.index)
        if (positions < 0).any():
            row = int(np.argmax(positions < 0))
            raise ValueError(
                f"{self.name} has no value for the label {plain(X.index[row])!r} (row {row} of X): "
                f"the index of {self.name} must contain every row label of X. Was the index of X "
                "reset?"
            )
        return self.source.iloc[positions]

    def warn_of_partial_queries(self, X: Any, verb: str) -> None:
        """Issue a TornQueryWarning if X lacks some rows of a query; the source must be a Series.

        `verb` is "fit" or "score".
        """
        is_in_X = np.isin(np.arange(len(self.source)), self.source.index.get_indexer(X.index))
        if is_in_X.all():
            return
        codes, ids = self.source.factorize()  # the code of a row without a query is -1
        n_in_X, n_missing = (
            np.bincount(codes[rows] + 1, minlength=len(ids) + 1)[1:] for rows in (is_in_X, ~is_in_X)
        )
        incomplete = np.flatnonzero((n_in_X > 0) & (n_missing > 0))
        if len(incomplete):
            message = PARTIAL.format(
                partial=len(incomplete),
                seen=np.count_nonzero(n_in_X),
                verb=verb,
                example=plain(ids[incomplete[0]]),
                missing=n_missing[incomplete].sum(),
            )
            warn_user(message, TornQueryWarning)


# Columns -----------------------------------------------------------------------------------------


def locate_columns(
    table: FeatureTable, sources: Iterable[QuerySource], unless_named_by: object = None
) -> list[TableColumn]:
    """Return the columns of a table that `sources` refer to, except those named by an estimator."""
    columns = [column for column in (source.locate(table) for source in sources) if column]
    if not columns or unless_named_by is None:
        return columns
    named = set(list_named_columns(unless_named_by))
    return [
        column
        for column in columns
        if named.isdisjoint((column.name, column.position, column.position - column.n_columns))
    ]


def remove_columns(table: FeatureTable, columns: Iterable[TableColumn]) -> Any:
    """Return the table without the given columns; columns that it lacks are ignored."""
    positions = {column.find_position(table) for column in columns} - {None}
    if not positions:
        return table
    if len(positions) == table.shape[1]:
        raise ValueError(
            f"X has no features besides the columns that are removed (qid, drop). {OR_ROUTING}"
        )
    return tables.drop_columns(table, sorted(positions))


# Estimators inside estimators --------------------------------------------------------------------


def list_estimators(estimator: Any) -> list[tuple[Any, list[Any] | None]]:
    """Return the estimator and the estimators inside it, each with the transformers before it.

    The transformers are None inside meta-estimators other than fitted searches and pipelines.
    """
    inside: list[tuple[Any, list[Any] | None]] = []
    steps: list[Any] | None = []
    while estimator is not None:
        inside.append((estimator, steps))
        if hasattr(estimator, "best_estimator_"):
            estimator, steps = estimator.best_estimator_, []
        elif hasattr(estimator, "steps"):
            *before, (_, last) = estimator.steps
            steps = [step for _, step in before if hasattr(step, "transform")]
            estimator = last
        else:
            inner = getattr(estimator, "estimator", None)
            estimator, steps = getattr(estimator, "estimator_", inner), None
    return inside


def list_named_columns(estimator: Any) -> list[Key]:
    """Return the columns named by the parameters of an estimator or of its inner estimators."""
    named: list[object] = []
    has_parameters = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    parameters = estimator.get_params() if has_parameters else {}
    for path, value in parameters.items():
        match path.rpartition("__")[2]:
            case "qid" | "drop":
                named += value if isinstance(value, (list, tuple)) else [value]
            case "cv" | "early_stopping":
                named += [source.source for source in QuerySource.of_splitter(value)]
            case "scoring":
                scorers = value.values() if isinstance(value, dict) else [value]
                queries = [getattr(scorer, "_queries", None) for scorer in scorers]
                named += [each.source for each in queries if isinstance(each, QuerySource)]
            case "transformers":  # positions in a ColumnTransformer refer to its input, not to X
                names = [np.ravel(np.asarray(columns, object)) for *_, columns in value]
                named += [key for each in names for key in each if isinstance(key, str)]
    return [key for key in named if is_key(key)]
