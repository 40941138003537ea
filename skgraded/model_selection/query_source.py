"""Find the query ids of the rows of X, and warn if X lacks some rows of a query."""

import numbers
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import blake2b
from math import isfinite
from typing import Any, Self

import numpy as np

from skgraded._input import tables
from skgraded._input.user_warnings import warn_user
from skgraded._input.words import plain, suggest_name

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
SHARED = (
    "{shared} of the {scored} queries to score, such as {example!r}, are among those that the "
    "ranker was fitted on. Either the split divides queries, and the score is wrong (too high, "
    "or too low with few relevant documents): use cv=QueryKFold(5, qid='query_id') from "
    "skgraded.model_selection if X contains the queries, cv=GroupKFold(5) with fit(X, y, groups=qid), or, with metadata routing, "
    "cv=GroupKFold(5).set_split_request(groups='qid'). Or both sets use the same ids for "
    "different queries, as in files that number their queries from 0 or 1: use other ids, such as "
    "('test', qid)."
)


class TornQueryWarning(UserWarning):
    """Warning issued if a ranker is fitted on, or scores, only some rows of a query.

    KFold, ``cv=5`` and train_test_split split queries, so scores are wrong: too high because the
    ranker was fitted on the queries, or too low because parts of queries have no relevant document.
    Rows that are missing from X, as in HalvingGridSearchCV with ``resource="n_samples"``, are
    detected only if queries are looked up in a Series by the row index of X. Split by query, for
    example with QueryKFold or GroupKFold. With ``n_jobs``, the warning is issued in the workers, so
    ``warnings.catch_warnings`` in the caller does not catch it.
    """


@dataclass(frozen=True)
class TableColumn:
    """Position and name of a column of a table, used to find this column in other tables."""

    position: int
    name: str | None  # None if the table has no column names
    n_columns: int  # number of columns of the table

    def find_position(self, table: Any) -> int | None:
        """Return the position of the column in a table, or None if the table lacks it."""
        names = tables.column_names(table)
        if self.name is not None and names is not None:
            return names.index(self.name) if self.name in names else None
        return self.position if table.shape[1] == self.n_columns else None


def collect_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator and of the estimators inside it."""
    is_instance = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    return estimator.get_params() if is_instance else {}


def is_key(value: Any) -> bool:
    """Return whether a value can be the name or the position of a column."""
    return isinstance(value, (str, numbers.Integral)) and not isinstance(value, bool)


class QuerySource:
    """The source of the query ids of X: a column, a Series, or an argument of a call.

    Parameters
    ----------
    source : str, int, pandas Series or None
        Name or position of a column of X, a Series that is looked up by the row labels of X, or
        None for an argument of the call.
    name : str, default="qid"
        The name of the parameter. Times and columns to drop are specified in the same way.
    """

    column: TableColumn | None = None  # set by `locate`

    def __init__(self, source: Any, name: str = "qid", is_required: bool = False) -> None:
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
        self.source, self.name = source, name

    @classmethod
    def of_estimator(cls, estimator: Any, is_before_steps: bool = False) -> Self:
        """Return the source that a ranker, or the ranker in a search or pipeline, specifies.

        With `is_before_steps`, a position in the X that the steps of a pipeline return does not
        count, because the steps may move columns.
        """
        has_steps = False
        for inner, steps in list_estimators(estimator):
            has_steps = has_steps or bool(steps)
            source = cls(getattr(inner, "qid", None))
            if source.is_in_X:
                return source.move_before_steps() if is_before_steps and has_steps else source
        return cls(None)

    @classmethod
    def of_splitter(cls, splitter: Any) -> list[Self]:
        """Return the columns of queries and times that a splitter names."""
        keys = {name: getattr(splitter, name, None) for name in ("qid", "time")}
        return [cls(key, name) for name, key in keys.items() if is_key(key)]

    @classmethod
    def list_named(cls, estimator: Any) -> Iterator[Self]:
        """Yield the columns that an estimator, or an estimator inside it, names for its own fit."""
        for path, value in collect_parameters(estimator).items():
            keys: Iterable[Any] = ()
            match path.rpartition("__")[2]:
                case "qid" | "drop":
                    keys = value if isinstance(value, (list, tuple)) else [value]
                case "cv" | "early_stopping":
                    yield from cls.of_splitter(value)
                case "scoring":
                    scorers = value.values() if isinstance(value, dict) else [value]
                    queries = [getattr(scorer, "_queries", None) for scorer in scorers]
                    keys = [each.source for each in queries if isinstance(each, QuerySource)]
                case "transformers":  # positions in a ColumnTransformer refer to what it receives
                    names = (np.ravel(np.asarray(columns, object)) for *_, columns in value)
                    keys = [key for each in names for key in each if isinstance(key, str)]
            yield from (cls(key) for key in keys if is_key(key))

    @classmethod
    def of_drop(cls, drop: Any) -> list[Self]:
        """Return the columns in the parameter `drop`, which may be one column, a list or None."""
        keys = drop if isinstance(drop, (list, tuple)) else [] if drop is None else [drop]
        return [cls(key, "drop", is_required=True) for key in keys]

    @classmethod
    def of_argument(cls, qid: Any) -> Self:
        """Return the source for an argument that contains queries, or names a column of X."""
        return cls(qid if isinstance(qid, (str, numbers.Integral)) else None)

    def move_before_steps(self) -> Self:
        """Return the source in the X that a pipeline received, whose steps may move columns."""
        return type(self)(None if isinstance(self.source, numbers.Integral) else self.source)

    @property
    def place(self) -> str:
        """The place of the values in a message."""
        if self.is_series:
            return f"the Series {self.name}"
        return f"{'the ' if isinstance(self.source, str) else ''}column {self.source!r}"

    def locate(self, table: Any) -> Self:
        """Return the source for this table, and for tables with this column at another position."""
        located = copy(self)
        if self.is_column:
            position, names = self.find_position(table), tables.column_names(table)
            if position is None:
                raise self._describe_absence(table)
            name = None if names is None else names[position]
            located.column = TableColumn(position, name, table.shape[1])
        return located

    def find_position(self, table: Any) -> int | None:
        """Return the nonnegative position of the column in a table, or None if the table lacks it."""
        key, n_columns, names = self.source, table.shape[1], list(getattr(table, "columns", ()))
        if not isinstance(key, str):
            return int(key) % n_columns if -n_columns <= key < n_columns else None
        if names.count(key) > 1:
            tables.refuse_unknown({key: self.name}, names, "X: ")
        return names.index(key) if key in names else None

    def _describe_absence(self, table: Any) -> ValueError:
        """Return the error for a table that lacks the column."""
        key, names = self.source, list(getattr(table, "columns", ()))
        hint = suggest_name(key, names) or (f" {KEEP}" if self.name == "qid" else "")
        if not isinstance(key, str):
            return ValueError(
                f"{self.name} is column {key}, but X has only {table.shape[1]} columns.{hint}"
            )
        known = f"is a {type(table).__name__}, whose columns have no names"
        if names:
            shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
            known = f"has only the columns {shown}"
        return ValueError(f"{self.name} is the column {key!r}, but X {known}.{hint}")

    # Values of rows ------------------------------------------------------------------------------

    def read(self, X: Any) -> Any:
        """Return the value of each row of `X`, which must be a table after `locate`."""
        if self.is_series:
            return self._look_up(X)
        if self.column is None:
            table = tables.convert_features(X)
            position = self.find_position(table)
            if position is None:
                raise self._describe_absence(table)
        else:
            table, position = X, self.column.find_position(X)
            if position is None:
                raise ValueError(f"X does not contain the column qid={self.source!r}. {KEEP}")
        values = tables.take_column(table, position)
        if self.name == "qid" and str(values.dtype).lower().startswith(FRACTIONAL):
            self._refuse_fractions(np.asarray(values))
        return values

    def choose_queries(self, X: Any, caller: str, qid: Any, group: Any = None) -> Any:
        """Return the queries in `X` or else `qid`, or None if their sizes are passed as `group`."""
        n_sources = self.is_in_X + (qid is not None) + (group is not None)
        if n_sources > 1:
            raise ValueError(
                f"{caller}: the queries must be passed only once, in X or as qid or group."
            )
        if n_sources == 0:
            raise ValueError(NO_QID.format(caller=caller))
        return self.read(X) if self.is_in_X else qid

    def _look_up(self, X: Any) -> Any:
        """Return the value for the row label of each row of the pandas DataFrame `X`."""
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

    def _refuse_fractions(self, values: np.ndarray) -> None:
        """Raise a ValueError if a column contains numbers with fractions, which cannot be ids."""
        if values.dtype.kind == "f":
            fractional = np.isfinite(values) & (values != np.rint(values))
        else:
            fractional = [
                isinstance(x, (float, np.floating)) and isfinite(x) and x != round(x)
                for x in values
            ]
        if np.any(fractional):
            row = int(np.argmax(fractional))
            raise ValueError(
                f"qid is {self.place} of X, but that column contains {values[row]:g} in row {row}, "
                f"which looks like a feature value. {KEEP}"
            )

    def warn_of_partial_queries(self, X: Any, verb: str) -> None:
        """Issue a TornQueryWarning if X lacks some rows of a query; this source is a Series.

        `verb` is "fit" or "score".
        """
        in_X = np.zeros(len(self.source), dtype=bool)
        in_X[self.source.index.get_indexer(X.index)] = True
        if in_X.all():
            return
        codes, ids = self.source.factorize()
        known = codes >= 0  # a row without a query belongs to none
        sizes = np.bincount(codes[known], minlength=len(ids))
        seen = np.bincount(codes[known & in_X], minlength=len(ids))
        incomplete = np.flatnonzero((seen > 0) & (seen < sizes))
        if len(incomplete):
            message = PARTIAL.format(
                partial=len(incomplete),
                seen=np.count_nonzero(seen),
                verb=verb,
                example=plain(ids[incomplete[0]]),
                missing=(sizes - seen)[incomplete].sum(),
            )
            warn_user(message, TornQueryWarning)


def locate_columns(table: Any, sources: Iterable[QuerySource]) -> list[TableColumn]:
    """Return the columns of a table among the sources."""
    columns = [source.locate(table).column for source in sources]
    return [column for column in columns if column is not None]


def find_columns_to_remove(
    table: Any, sources: Iterable[QuerySource], estimator: Any
) -> list[TableColumn]:
    """Return the columns among the sources that the estimator does not name for its own fit."""
    columns = locate_columns(table, sources)
    named = (
        {each.find_position(table) for each in QuerySource.list_named(estimator)} if columns else ()
    )
    return [column for column in columns if column.position not in named]


def remove_columns(table: Any, columns: Sequence[TableColumn]) -> Any:
    """Return the table without those of the columns that it contains."""
    positions = {column.find_position(table) for column in columns} - {None}
    if not positions:
        return table
    if len(positions) == table.shape[1]:
        raise ValueError(
            f"X has no features besides the columns that are removed (qid, drop). {OR_ROUTING}"
        )
    return tables.drop_columns(table, sorted(positions))


# Queries that a ranker was fitted on -------------------------------------------------------------


def list_estimators(estimator: Any) -> Iterator[tuple[Any, list[Any] | None]]:
    """Yield the estimator and the estimators inside it, each with the transformers before it.

    The transformers are None for other meta-estimators than searches and pipelines.
    """
    steps: list[Any] | None = []
    while estimator is not None:
        yield estimator, steps
        if hasattr(estimator, "best_estimator_"):
            estimator, steps = estimator.best_estimator_, []
        elif hasattr(estimator, "steps"):
            *before, (_, last) = estimator.steps
            steps = [step for _, step in before if hasattr(step, "transform")]
            estimator = last
        else:
            inner = getattr(estimator, "estimator", None)
            estimator, steps = getattr(estimator, "estimator_", inner), None


class FittedQueries:
    """The id, the size and the sum of the grades of each query that a ranker was fitted on.

    `stopped_on` contains the ids of the validation queries that were not used for fitting. A pickle
    contains hashes of the ids, which may be personal data.
    """

    are_hashed = False

    def __init__(self, queries: Any, grades: np.ndarray, stopped_on: Iterable[Any]) -> None:
        self.ids, order, starts = queries
        self.sizes = np.diff(starts)
        self.sums = np.add.reduceat(grades if order is None else grades[order], starts[:-1])
        self.stopped_on = set(stopped_on)

    def __getstate__(self) -> dict[str, Any]:
        if self.are_hashed:
            return self.__dict__
        hashed = {"are_hashed": True, "ids": list(map(_hash_id, self.ids))}
        return self.__dict__ | hashed | {"stopped_on": set(map(_hash_id, self.stopped_on))}

    def find_shared(self, ids: Sequence[Any] | np.ndarray, layout: Any) -> list[int]:
        """Return the positions of ids seen during fit; none if the fitted queries are scored.

        Rows are assumed to be the fitted rows if they have the same queries, sizes and sums of
        grades.
        """
        known = {query: i for i, query in enumerate(self.ids)}
        if self.are_hashed:
            ids = [_hash_id(query) for query in ids]
        at = [known.get(query, -1) for query in ids]
        if len(at) == len(known) and min(at) >= 0:
            sums = layout.sum_levels(layout.levels * layout.counts)
            if np.array_equal(self.sizes[at], layout.sizes) and np.allclose(self.sums[at], sums):
                return []
        is_seen = [i >= 0 or query in self.stopped_on for query, i in zip(ids, at, strict=True)]
        return np.flatnonzero(is_seen).tolist()


def _hash_id(query: Any) -> int:
    """Return a 64-bit hash of an id, the same in all processes for numbers and text."""
    if isinstance(query, str):
        text = query
    else:
        is_whole = isinstance(query, numbers.Real) and isfinite(query) and query % 1 == 0
        text = f"{int(query) if is_whole else hash(query)} "
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def warn_of_split_queries(
    estimator: Any,
    X: Any,
    source: QuerySource,
    ids: np.ndarray,
    layout: Any,
    is_transformed: bool = False,
) -> None:
    """Issue a TornQueryWarning if scored queries are incomplete or were seen during fit.

    `ids` and `layout` belong to the judgments. Only a QueryRanker, which may be part of a search or
    pipeline, stores the queries of its fit. Their ids may be encoded by steps of the pipeline;
    `is_transformed` says that X is the result of such steps.
    """
    steps: list[Any] = []
    shared: list[int] = []
    for inner, before in list_estimators(estimator):
        steps += before or []
        fitted = getattr(inner, "_fitted_queries", None)
        if fitted is not None:
            seen = ids
            if (steps or is_transformed) and inner._queries.is_column:
                starts = layout.starts[:-1]
                rows = starts if layout.order is None else layout.order[starts]
                table = tables.take_rows(tables.as_table(X), rows)
                for step in steps:
                    table = step.transform(table)
                seen = np.asarray(inner._queries.read(tables.as_table(table)))
            shared = fitted.find_shared(seen, layout)
            break
    if shared:
        example = plain(ids[shared[0]])
        message = SHARED.format(shared=len(shared), scored=len(ids), example=example)
        warn_user(message, TornQueryWarning)
    elif source.is_series:
        source.warn_of_partial_queries(X, "score")
