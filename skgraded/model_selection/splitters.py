"""Splitters that read the query of each row from X and keep queries whole."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator, GroupKFold, KFold, TimeSeriesSplit

from skgraded._input.door import check_whole_number, is_missing, plain
from skgraded._input.messages import quote_names, warn_user
from skgraded._input.queries import QueryIds, make_sortable, query_codes
from skgraded._input.tables import Features, as_table
from skgraded.boosting.frames import find_cross_validated
from skgraded.model_selection.query_source import (
    QuerySource,
    Source,
    list_estimators,
    locate_columns,
)
from skgraded.model_selection.ranker import QueryRanker


class _QuerySplitter(BaseCrossValidator):
    """Base class that applies a scikit-learn splitter to the distinct queries or times in X."""

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Return the number of splits."""
        return self.n_splits

    def split(
        self, X: Features, y: object = None, groups: QueryIds | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the positions of training and test rows in each split.

        `y` is ignored. `groups`, the query of each row, is ignored if the splitter has a `qid`. A
        UserWarning lists columns that the splitter reads but a QueryRanker would use as features.
        """
        units, splitter = self._read_units(X, groups), self._make_splitter()
        inside = list_estimators(find_cross_validated(self))
        # Skip rankers that follow other pipeline steps, which may remove the splitter's columns.
        for ranker in [inner for inner, steps in inside if not steps]:
            sources = QuerySource.of_splitter(self) if isinstance(ranker, QueryRanker) else []
            columns = locate_columns(as_table(X), sources, unless_named_by=ranker)
            keys = [column.key for column in columns]
            if keys:
                warn_user(
                    f"cv names columns of X that QueryRanker uses as features: {quote_names(keys)}."
                    f" To remove them, pass drop={keys!r} to QueryRanker."
                )
        if isinstance(splitter, GroupKFold):
            yield from splitter.split(units, groups=units)
            return
        values, codes = np.unique(units, return_inverse=True)
        for train, test in splitter.split(values):
            yield np.flatnonzero(np.isin(codes, train)), np.flatnonzero(np.isin(codes, test))


class QueryKFold(_QuerySplitter):
    """K-fold cross-validation over queries: all rows of a query are in the same test fold.

    If the queries are in X, the splitter does not require `groups` or metadata routing.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    qid : str, int or pandas Series, optional
        The source of the query of each row, as in `QueryRanker`. If None, ``split`` requires the
        queries as `groups`, like ``GroupKFold``.
    shuffle : bool, default=False
        If False, use the folds of ``GroupKFold``, which contain about the same number of rows. If
        True, use random folds that contain about the same number of queries.
    random_state : int, RandomState instance or None, default=None
        Seed for `shuffle`.

    Examples
    --------
    >>> import pandas as pd
    >>> from skgraded import QueryKFold
    >>> X = pd.DataFrame({"session": ["a", "a", "b", "c", "c", "b"], "price": [3, 1, 2, 5, 4, 6]})
    >>> for train, test in QueryKFold(3, qid="session").split(X):
    ...     print(train, test)
    [0 1 2 5] [3 4]
    [0 1 3 4] [2 5]
    [2 3 4 5] [0 1]
    """

    __metadata_request__split = {"groups": True}

    def __init__(
        self,
        n_splits: int = 5,
        qid: Source = None,
        *,
        shuffle: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        QuerySource(qid)
        KFold(n_splits, shuffle=shuffle, random_state=random_state)  # raises if they are invalid
        self.n_splits, self.qid = n_splits, qid
        self.shuffle, self.random_state = shuffle, random_state

    def _make_splitter(self) -> BaseCrossValidator:
        if not self.shuffle:
            return GroupKFold(self.n_splits)
        return KFold(self.n_splits, shuffle=True, random_state=self.random_state)

    def _read_units(self, X: Any, groups: QueryIds | None) -> np.ndarray:
        if self.qid is not None:
            codes, ids = query_codes(QuerySource(self.qid).read(X))
        elif groups is not None:
            n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
            codes, ids = query_codes(groups, n_rows, "X", "groups")
        else:
            raise ValueError(
                "If QueryKFold has no qid, the query of each row must be passed as groups: call "
                "split(X, y, groups=qid) or fit(X, y, groups=qid); if metadata routing is "
                "enabled, call QueryKFold(…).set_split_request(groups='qid'). If the queries are a "
                "column of X, use QueryKFold(…, qid='query_id')."
            )
        return make_sortable(ids, codes)


class QueryTimeSeriesSplit(_QuerySplitter):
    """Time series cross-validation over queries: test queries are later than training queries.

    The distinct times are split with scikit-learn's ``TimeSeriesSplit``, so queries with the same
    time stay together.

    Parameters
    ----------
    n_splits : int, default=5
        Number of splits, at least 2.
    time : str, int or pandas Series
        The time of each row, such as a day: a number, a date, or text in ISO 8601, such as
        "2026-11-28". All rows of a query must have the same time. The time is specified in the same
        way as `qid`.
    qid : str, int or pandas Series
        The query of each row, as for `QueryKFold`.
    gap : int, default=0
        Number of distinct times to skip between the training and the test rows.
    test_size : int, optional
        Number of distinct times to test on; by default, ``n_times // (n_splits + 1)``.
    max_train_size : int, optional
        Maximum number of distinct times to train on; by default, all earlier times.

    See Also
    --------
    skgraded.QueryRanker : Holds out the latest queries if `early_stopping` is this splitter. For
        scikit-learn's functions, its `drop` must contain the time column.

    Examples
    --------
    >>> import pandas as pd
    >>> from skgraded import QueryTimeSeriesSplit
    >>> X = pd.DataFrame({"session": [1, 1, 2, 3, 3], "day": [20, 20, 21, 22, 22]})
    >>> for train, test in QueryTimeSeriesSplit(2, time="day", qid="session").split(X):
    ...     print(train, test)
    [0 1] [2]
    [0 1 2] [3 4]
    """

    def __init__(
        self,
        n_splits: int = 5,
        time: Source = None,
        qid: Source = None,
        *,
        gap: int = 0,
        test_size: int | None = None,
        max_train_size: int | None = None,
    ) -> None:
        QuerySource(time, "time", is_required=True)
        QuerySource(qid, is_required=True)
        self.n_splits, self.time, self.qid = n_splits, time, qid
        self.gap = check_whole_number(gap, "gap", 0)
        self.test_size, self.max_train_size = (
            None if size is None else check_whole_number(size, name, 1)
            for name, size in (("test_size", test_size), ("max_train_size", max_train_size))
        )
        self._make_splitter()  # raises if n_splits is invalid

    def _make_splitter(self) -> BaseCrossValidator:
        return TimeSeriesSplit(
            self.n_splits,
            gap=self.gap,
            test_size=self.test_size,
            max_train_size=self.max_train_size,
        )

    def _read_units(self, X: Any, groups: QueryIds | None) -> np.ndarray:
        codes, ids = query_codes(QuerySource(self.qid).read(X))
        source = QuerySource(self.time, "time")
        times = np.asarray(source.read(X))
        missing = [is_missing(time) for time in times] if times.dtype == object else times != times
        if np.any(missing):
            row = int(np.argmax(missing))
            raise ValueError(f"time is missing in row {row} of X, in {source.place}.")
        if times.dtype.kind in "UTO" and any(isinstance(time, str) for time in times):
            times = _parse_times(times, source.place)
        names, time_codes = np.unique(times, return_inverse=True)
        first = time_codes[np.unique(codes, return_index=True)[1]]  # of each query's first row
        differs = time_codes != first[codes]
        if differs.any():
            row = int(np.argmax(differs))
            raise ValueError(
                f"Query {plain(ids[codes[row]])!r} has rows at different times, "
                f"{plain(names[first[codes[row]]])} and {plain(times[row])} (row {row} of X): all "
                "rows of a query must have the same time."
            )
        return times


def _parse_times(texts: np.ndarray, place: str) -> np.ndarray:
    """Convert ISO 8601 text to times in UTC; reject other text, because it may sort differently."""
    import pandas as pd

    texts = np.array([str(text) for text in texts], dtype=object)
    times = pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=True)
    if times.hasnans:
        row = int(np.argmax(times.isna()))
        raise ValueError(
            f"Text in {place} must be in ISO 8601 format, such as '2026-11-28'; got {texts[row]!r} in row "
            f"{row} of X. Convert it with pd.to_datetime or, if it contains numbers, with "
            "pd.to_numeric."
        )
    return times.tz_localize(None).to_numpy()
