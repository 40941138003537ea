"""Early stopping of a ranker: settings, held-out queries and the stopping rule."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skgraded._input.columns import number_validator, whole_number
from skgraded._input.words import plain, plain_list
from skgraded.boosting.metric import has_value
from skgraded.boosting.rows import WEIGHT, Queries, Rows, joint_judgments
from skgraded.judgments import Judgments
from skgraded.measures import Measure, mean_scores
from skgraded.model_selection.folds import splits_of_queries

KINDS = ("training", "validation")  # of rows
FEW_QUERIES = 50  # fewer held-out queries than this issue a warning


@dataclass
class StoppingState:
    """Validation scores per measure and round, and the rule that decides when to stop.

    Training stops after `patience` rounds without a new best value of the first measure.
    """

    measures: list[Measure]
    judgments: Judgments
    patience: int
    report: Callable[[], object] | None  # called after each round
    n_rounds: int = 0
    last: float = np.nan  # last value of the first measure
    best_round: int = 0  # counted from 1
    best_score: float = -np.inf

    def __post_init__(self) -> None:
        self.history: dict[str, list[float]] = {measure.name: [] for measure in self.measures}

    def see(self, scores: np.ndarray) -> None:
        """Evaluate the validation scores of a new round and update the best round."""
        means = mean_scores(self.measures, self.judgments, scores)
        for values, mean in zip(self.history.values(), means, strict=True):
            values.append(mean)
        self.n_rounds += 1
        self.last = means[0]
        if self.last > self.best_score:
            self.best_score, self.best_round = self.last, self.n_rounds
        if self.report is not None:
            self.report()

    @property
    def over_at(self) -> int:
        """Round after which training stops if the best score does not improve."""
        return self.best_round + self.patience

    @property
    def is_over(self) -> bool:
        """Whether the best score has not improved in the last `patience` rounds."""
        return self.n_rounds >= self.over_at


def hold_out(
    ranker: Any, table: Any, rows: Rows, queries: Queries, by_query: bool
) -> tuple[Rows, Rows]:
    """Return training rows, which are sorted by query if `by_query`, and validation rows."""
    query_of_row = queries.of_row
    if is_splitter(ranker.early_stopping):
        splits = splits_of_queries(
            ranker.early_stopping, table, rows.grades, queries.ids, query_of_row, "early_stopping"
        )
        if not splits or not all(map(len, splits[-1])):
            raise ValueError(
                f"The last split of the {type(ranker.early_stopping).__name__} passed as "
                "early_stopping must contain both training and validation rows."
            )
        trained, held_out = (np.isin(np.arange(len(query_of_row)), part) for part in splits[-1])
    else:
        held_out = _drawn_queries(ranker, len(queries.ids), len(query_of_row))[query_of_row]
        trained = ~held_out
    return _parts(rows, queries, query_of_row, trained, held_out, by_query)


def folds(ranker: Any, rows: Rows, queries: Queries, by_query: bool) -> list[tuple[Rows, Rows]]:
    """Return the training and validation rows of each fold; folds are random sets of queries."""
    n_folds, n_queries = int(ranker.early_stopping), len(queries.ids)
    if n_queries < n_folds:
        raise ValueError(
            f"early_stopping={n_folds} requires at least {n_folds} queries; got {n_queries}."
        )
    fold_of_query = np.empty(n_queries, dtype=int)
    order = check_random_state(ranker.random_state).permutation(n_queries)
    fold_of_query[order] = np.arange(n_queries) % n_folds
    query_of_row = queries.of_row
    fold_of_row = fold_of_query[query_of_row]
    return [
        _parts(rows, queries, query_of_row, fold_of_row != fold, fold_of_row == fold, by_query)
        for fold in range(n_folds)
    ]


def _parts(
    rows: Rows,
    queries: Queries,
    query_of_row: np.ndarray,
    trained: np.ndarray,
    held_out: np.ndarray,
    by_query: bool,
) -> tuple[Rows, Rows]:
    """Return the rows in two boolean masks; validation rows are always sorted by query."""
    order = np.arange(len(query_of_row)) if queries.order is None else queries.order

    def part(chosen: np.ndarray) -> Rows:
        positions = order[chosen[order]]
        sizes = np.bincount(query_of_row[positions])
        return rows.take(positions, sizes[sizes > 0])

    training = part(trained) if by_query else rows.take(np.flatnonzero(trained), None)
    return training, part(held_out)


def _drawn_queries(ranker: Any, n_queries: int, n_rows: int) -> np.ndarray:
    """Return a random boolean mask, of shape (n_queries,), of the queries to hold out."""
    if n_queries < 2:
        raise ValueError(
            f"early_stopping=True requires at least two queries; got one, with n_samples={n_rows}. "
            "Pass validation queries as X_val, y_val and qid_val, or set early_stopping=False."
        )
    n_held_out = max(1, round(ranker.validation_fraction * n_queries))
    if n_held_out == n_queries:
        raise ValueError(
            f"validation_fraction={ranker.validation_fraction} holds out all {n_queries} queries: "
            "decrease it."
        )
    if n_held_out < FEW_QUERIES:
        warnings.warn(
            f"early_stopping=True chooses the number of rounds on only {n_held_out} of {n_queries} "
            f"queries. With fewer than {FEW_QUERIES} validation queries, this number is mostly "
            "chance: set early_stopping=5, which validates on all queries.",
            stacklevel=5,
        )
    held_out = np.zeros(n_queries, dtype=bool)
    held_out[check_random_state(ranker.random_state).permutation(n_queries)[:n_held_out]] = True
    return held_out


def is_splitter(early_stopping: Any) -> bool:
    """Return whether the value has the methods of a scikit-learn splitter."""
    is_instance = not isinstance(early_stopping, type)
    return is_instance and all(hasattr(early_stopping, name) for name in ("split", "get_n_splits"))


def is_true(early_stopping: Any) -> bool:
    """Return whether the value is True, also as a NumPy boolean."""
    return isinstance(early_stopping, (bool, np.bool_)) and bool(early_stopping)


def is_number_of_folds(early_stopping: Any) -> bool:
    """Return whether the value is an integer, which is a number of folds."""
    return isinstance(early_stopping, Integral) and not isinstance(early_stopping, bool)


def fits_all_rows(ranker: Any) -> bool:
    """Return whether the ranker is fitted on all rows once the number of rounds is known."""
    early_stopping = ranker.early_stopping
    return bool(early_stopping) and (ranker.refit or is_number_of_folds(early_stopping))


def pop_eval_set(fit_params: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Remove LightGBM's ``eval_set`` and ``eval_group``; return X, y and the query sizes."""
    sets, sizes = fit_params.pop("eval_set"), fit_params.pop("eval_group")
    sets = [sets] if isinstance(sets, tuple) else sets
    if len(sets) != 1 or len(sizes) != 1:
        raise ValueError(
            "With early_stopping=True, eval_set and eval_group must each describe one validation "
            f"set; got {len(sets)} and {len(sizes)}."
        )
    return *sets[0], sizes[0]


# Errors ------------------------------------------------------------------------------------------


def check_settings(
    ranker: Any,
    adapter: Any,
    group: Any,
    group_val: Any,
    fit_params: dict[str, Any],
    validation: dict[str, Any],
) -> None:
    """Raise an error if the stopping settings are invalid or conflict with the validation rows."""
    for name in ("eval_X", "eval_y", "eval_qid", "eval_sample_weight"):
        if name in fit_params:
            raise TypeError(
                f"QueryRanker.fit has no argument {name}: pass validation queries as X_val, y_val, "
                "qid_val and sample_weight_val."
            )
    early_stopping = ranker.early_stopping
    is_bool = isinstance(early_stopping, (bool, np.bool_))
    if not (is_bool or is_splitter(early_stopping) or is_number_of_folds(early_stopping)):
        raise TypeError(
            "early_stopping must be True, False, an integer ≥ 2 or a splitter such as "
            f"QueryTimeSeriesSplit; got {early_stopping!r}."
        )
    if is_number_of_folds(early_stopping):
        whole_number(early_stopping, "early_stopping", 2)
    present = [name for name, value in validation.items() if value is not None]
    if early_stopping:
        adapter.check_stopping(fit_params)
        check_fraction = number_validator("validation_fraction", 0, 1, above=True, below=True)
        check_fraction(ranker.validation_fraction)
        whole_number(ranker.n_iter_no_change, "n_iter_no_change", 1)
    if not present:
        return
    if not is_bool or not early_stopping:
        raise ValueError(
            f"Argument {present[0]} requires early_stopping=True: omit the argument, or set "
            "QueryRanker(…, early_stopping=True)."
        )
    needs_qid = "qid_val" in present or (ranker.qid is None and group_val is None)
    needed = ["X_val", "y_val"] + ["qid_val"] * needs_qid
    missing = [name for name in needed if name not in present]
    if missing:
        raise ValueError(
            f"A validation set requires {', '.join(needed)}: also pass {' and '.join(missing)}."
        )
    if group is not None and group_val is None:
        raise ValueError(
            "If X_val is passed, pass the queries as qid instead of group, because group sizes do "
            "not show whether a query is in both X and X_val."
        )
    for name in adapter.first_scores_in(fit_params):
        raise ValueError(
            f"Argument {name} contains values only for the rows of X: omit X_val, so that "
            "validation queries are held out from X."
        )


def refuse_shared_queries(ids: np.ndarray, validation_ids: np.ndarray) -> None:
    """Raise a ValueError if a query is in both the training and the validation rows."""
    known = set(plain_list(ids))
    shared = [query for query in plain_list(validation_ids) if query in known]
    if shared:
        raise ValueError(
            f"X also contains {len(shared)} of the {len(validation_ids)} queries in X_val, such "
            f"as {plain(shared[0])!r}: use each query either for training or for early stopping."
        )


def check_parts(parts: Sequence[tuple[Rows, Rows]], measures: list[Measure]) -> Judgments:
    """Check pairs of training and validation rows; return the Judgments of all validation rows."""
    for rows, kind in (pair for part in parts for pair in zip(part, KINDS, strict=True)):
        if WEIGHT in rows.by_row and not rows.by_row[WEIGHT].any():
            raise ValueError(f"sample_weight must be positive in at least one {kind} row.")
    judgments = joint_judgments([validation for _, validation in parts])
    for measure in measures:
        if not has_value(measure, judgments):
            raise ValueError(
                f"The measure {measure} is undefined for all {judgments.n_queries} validation "
                "queries, because no query with positive weight has a relevant document. Choose "
                "other queries with validation_fraction, random_state or X_val."
            )
    return judgments
