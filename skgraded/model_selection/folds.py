"""Fitting and scoring of rankers on folds that keep queries whole."""

import numbers
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.utils.metadata_routing import MetadataRequest

from skgraded._input.door import check_grades, column, plain
from skgraded._input.libraries import show_progress
from skgraded._input.messages import trust_input, warn_user
from skgraded._input.queries import QueryIds, make_sortable, query_codes, warn_of_row_ids
from skgraded._input.tables import Features, FeatureTable, as_table, check_row_labels, take_rows
from skgraded.boosting.adapter import WEIGHT, Estimator, make_adapter
from skgraded.judgments import Judgments, get_layout
from skgraded.measures import Measure
from skgraded.measures.base import accepts_negative, find_undefined
from skgraded.model_selection.query_source import (
    Key,
    QuerySource,
    TableColumn,
    is_key,
    list_estimators,
    list_named_columns,
    locate_columns,
    remove_columns,
)
from skgraded.model_selection.scorer import ResponseMethod, check_response_method, score_documents
from skgraded.reports.evaluating import warn_of_grades_from_1

if TYPE_CHECKING:
    from skgraded.model_selection.candidates import CandidateRounds


class Splitter(Protocol):
    """A scikit-learn cross-validation splitter, or an object with the same methods."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Any, Any]]:
        """Return the positions of training and test rows in each split."""


Folds: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]] | None


@dataclass(frozen=True)
class RankerOnRows:
    """A ranker and judged rows; the methods fit copies of the ranker to some rows and score others.

    The splitter receives the table `X`; the ranker receives it without the columns in `removed`. A
    QueryRanker also drops the columns in `dropped`.
    """

    ranker: Estimator
    X: FeatureTable
    removed: list[TableColumn]
    dropped: list[Key]
    features: FeatureTable
    y: ArrayLike
    judgments: Judgments
    query_of_row: np.ndarray
    sample_weight: np.ndarray | None
    methods: list[str] | None  # methods of the estimator that may return the scores

    def __post_init__(self) -> None:
        """Raise a TypeError if ``fit`` requires queries but cannot receive them as `qid`."""
        adapter = make_adapter(self.ranker)
        needs_no_queries = set(adapter.query_arguments).isdisjoint(adapter.fit_parameters)
        if needs_no_queries or QuerySource.of_estimator(self.ranker).is_in_X:
            return
        with config_context(enable_metadata_routing=True):
            if "qid" not in _find_requests(self.ranker):
                raise TypeError(
                    f"Estimator {type(self.ranker).__name__} cannot receive query ids during "
                    "cross-validation: wrap it in QueryRanker, which sorts the rows by query."
                )

    def fit(self, rows: np.ndarray, rounds: "CandidateRounds | None" = None) -> Any:
        """Fit a copy of the ranker on the given rows, with the metadata that it requests.

        If `rounds` is given, a QueryRanker with early stopping trains on the folds in `rounds` or,
        if this training is over, on all rows for the best number of rounds.
        """
        with trust_input(), config_context(enable_metadata_routing=True):
            ranker = make_adapter(self.ranker).copy()
            if self.dropped:
                own = [source.source for source in QuerySource.of_drop(ranker.drop)]
                ranker.set_params(drop=own + self.dropped)
            metadata = {"qid": self.judgments.query_ids[self.query_of_row[rows]]}
            if self.sample_weight is not None:
                metadata[WEIGHT] = self.sample_weight[rows]
            requested = _find_requests(ranker) & metadata.keys()
            if rounds is not None:
                ranker._rounds = rounds
            fitted = ranker.fit(
                take_rows(self.features, rows),
                take_rows(self.y, rows),
                **{name: metadata[name] for name in requested},
            )
            vars(fitted).pop("_rounds", None)
            return fitted

    def predict_scores(self, fitted: Estimator, rows: np.ndarray) -> np.ndarray:
        """Score the given rows with a fitted copy of the ranker; NaN raises an error."""
        X = take_rows(self.features, rows)
        predicted = score_documents(fitted, X, self.methods)
        scores = column(predicted, "The prediction", len(rows), "the test set")
        if np.isnan(scores).any():
            row = rows[np.argmax(np.isnan(scores))]
            raise ValueError(f"Predictions must not contain NaN; got nan for row {row} of X.")
        return scores

    def judge(self, rows: np.ndarray) -> Judgments:
        """Return the grades of the given rows as Judgments, without weights.

        In the result, the id of each query is its index in `judgments.query_ids`.
        """
        return Judgments(take_rows(self.y, rows), qid=self.query_of_row[rows])

    def split(
        self, cv: Folds, cluster: np.ndarray | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the training and test rows of each fold, after checking that no query is split.

        If `cv` is an int, all queries of a `cluster` are in the same fold.
        """
        from sklearn.model_selection import GroupKFold, check_cv  # slow to import

        ids, query_of_row = self.judgments.query_ids, self.query_of_row
        if cluster is not None:
            codes, distinct = query_codes(cluster, name="clusters")
        if cv is None or isinstance(cv, numbers.Integral):
            splitter = GroupKFold(5 if cv is None else cv)
            if cluster is not None:
                cluster_of_row = make_sortable(distinct, codes)[query_of_row]
                return list(splitter.split(self.X, self.y, cluster_of_row))
        else:
            splitter = check_cv(cv)
        splits = split_queries(splitter, self.X, self.y, ids, query_of_row, "cv")
        if cluster is None:
            return splits
        for fold, (train, test) in enumerate(splits):
            shared = np.intersect1d(codes[query_of_row[train]], codes[query_of_row[test]])
            if len(shared):
                example = plain(distinct[shared[0]])
                warn_user(
                    f"In fold {fold} of cv, {len(shared)} clusters are split, such as {example!r}: "
                    "queries of a cluster are in the training and the test set, so the values are "
                    "too high. Pass an int as cv, or a splitter that keeps clusters whole."
                )
                break
        return splits


def check_cross_validation(
    ranker: Estimator,
    X: Features,
    y: ArrayLike,
    measures: list[Measure],
    qid: QueryIds | None,
    group: ArrayLike | None,
    sample_weight: ArrayLike | None,
    cv: Folds,
    response_method: ResponseMethod,
) -> RankerOnRows:
    """Check the arguments for cross-validation; return the ranker together with the judged rows.

    If the arguments `qid` and `group` are None, the queries are read from the source that the
    ranker specifies or, if it specifies none, the splitter `cv`. Columns of X that the argument
    `qid` or the splitter names are not features, unless parameters of the ranker name them too.
    """
    check_row_labels({"X": X, "y": y, "qid": qid, "sample_weight": sample_weight})
    methods = check_response_method(response_method)
    table, source = as_table(X), QuerySource.of_call(qid, group, ranker, cv)
    passed = QuerySource(qid if is_key(qid) else None)
    qid = source.choose_queries(X, "Cross-validation", None if is_key(qid) else qid, group)
    check_grades(y, "y", table.shape[0], allow_negative=all(map(accepts_negative, measures)))
    y = y if hasattr(y, "dtype") else np.asarray(y)  # such as a list
    with trust_input():
        judgments = Judgments(y, qid=qid, group=group, sample_weight=sample_weight)
    for measure in measures:
        find_undefined(measure, judgments)  # raises if the measure cannot be computed
    warn_of_grades_from_1(judgments)
    warn_of_row_ids(judgments.sizes)
    weights = None if sample_weight is None else column(sample_weight, "sample_weight")
    removed, dropped = _assign_columns(ranker, table, [passed, *QuerySource.of_splitter(cv)])
    return RankerOnRows(
        ranker,
        table,
        removed,
        dropped,
        remove_columns(table, removed),
        y,
        judgments,
        get_layout(judgments).query_of_row,
        weights,
        methods,
    )


def _assign_columns(
    ranker: Estimator, table: FeatureTable, sources: list[QuerySource]
) -> tuple[list[TableColumn], list[Key]]:
    """Return the columns to remove from X, and the columns that a QueryRanker must drop itself.

    A QueryRanker drops the columns itself, so that column positions in its parameters remain valid.
    """
    of_ranker = QuerySource.of_estimator(ranker)
    if of_ranker.is_column and not QuerySource.of_estimator(ranker, is_before_steps=True).is_in_X:
        # qid is a position in the output of the pipeline steps; its position in X is unknown.
        sources = [source for source in sources if source.name != "qid"]
    columns = locate_columns(table, sources, unless_named_by=ranker)
    keys = [column.key for column in columns]
    if hasattr(ranker, "get_params") and {"qid", "drop"} <= ranker.get_params().keys():
        return [], keys
    positions = [key for key in list_named_columns(ranker) if not isinstance(key, str)]
    if keys and positions:
        raise ValueError(
            f"cv uses the column {keys[0]!r}; because this column is removed from X, the position "
            f"{positions[0]} in {type(ranker).__name__} would refer to a different column. Pass X "
            f"as a DataFrame and refer to its columns by name, or pass drop=[{keys[0]!r}] to "
            "QueryRanker."
        )
    return columns, []


def run_in_parallel(calls: list[Any], n_jobs: int | None, progress: bool = False) -> list[Any]:
    """Return the results of delayed calls, one per fold; if `progress`, show a progress bar."""
    from sklearn.utils.parallel import Parallel

    results = []
    with show_progress(progress, len(calls), desc="folds") as advance:
        for result in Parallel(n_jobs=n_jobs, return_as="generator")(calls):
            results.append(result)
            advance(1)
    return results


def request_queries(request: MetadataRequest, are_in_X: bool) -> MetadataRequest:
    """Make a metadata request ignore query ids if the queries are in X, and return the request."""
    for method in ("fit", "score") if are_in_X else ():
        for name in request.consumes(method, ["qid", "qid_val"]):
            getattr(request, method).add_request(param=name, alias=False)
    return request


def _find_requests(estimator: Estimator) -> set[str]:
    """Return which of `qid` and `sample_weight` to pass to the ``fit`` of an estimator.

    Weights are passed unless a metadata request excludes them. Pipelines and searches, which pass
    on only requested metadata, receive weights only if they are requested.
    """
    requested, accepts_weights = set(), True
    if hasattr(estimator, "get_metadata_routing"):  # CatBoost's estimators have none
        routing = estimator.get_metadata_routing()
        requested = set(routing.consumes("fit", ["qid", WEIGHT]))
        is_single = isinstance(routing, MetadataRequest)
        accepts_weights = is_single and routing.fit.requests.get(WEIGHT) is None
    inside = [make_adapter(inner) for inner, _ in list_estimators(estimator)]
    if accepts_weights and all(WEIGHT in adapter.fit_parameters for adapter in inside):
        requested.add(WEIGHT)
    return requested


def split_queries(
    splitter: Splitter,
    X: FeatureTable,
    y: ArrayLike,
    ids: np.ndarray,
    query_of_row: np.ndarray,
    name: str,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the splits of a scikit-learn splitter, which receives the queries as groups.

    Raise a ValueError if a query is split. Error messages contain `name`, such as "cv".
    """
    groups = make_sortable(ids, query_of_row)
    with warnings.catch_warnings():
        # Splitters that ignore groups, such as PredefinedSplit, may still keep queries intact.
        warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
        try:
            splits = list(splitter.split(X, y, groups))
        except ValueError as error:
            raise ValueError(
                f"{name}={type(splitter).__name__}(…) cannot split X: {error} (In a search, X "
                "contains only the training rows of a fold.)"
            ) from None
    if not splits:
        raise ValueError(f"{name} has no splits: at least one is required.")
    sizes = np.bincount(query_of_row)
    for fold, (train, test) in enumerate(splits):
        if not np.size(test):
            raise ValueError(
                f"Fold {fold} of {name}={type(splitter).__name__}(…) has no test rows: use fewer "
                "splits, or a splitter whose folds all contain queries."
            )
        n_trained, n_tested = (
            np.bincount(query_of_row[rows], minlength=len(ids)) for rows in (train, test)
        )
        split = np.flatnonzero((n_tested > 0) & ((n_trained > 0) | (n_tested != sizes)))
        if len(split):
            raise ValueError(
                f"In fold {fold} of {name}, {len(split)} queries are split, such as "
                f"{plain(ids[split[0]])!r}: only some of their rows are test rows. Use a splitter "
                "that keeps queries whole, such as QueryKFold or GroupKFold."
            )
    return splits
