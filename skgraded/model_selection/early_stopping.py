"""Early stopping for rankers: settings, held-out queries and fits."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from skgraded._input.door import check_whole_number, number_validator
from skgraded._input.messages import warn_user
from skgraded._input.queries import sort_positions
from skgraded._input.tables import FeatureTable
from skgraded.boosting.adapter import Adapter, Queries, Rows, judge_rows
from skgraded.boosting.rounds import StoppingState, has_value
from skgraded.measures import Measure
from skgraded.model_selection.candidates import train_jointly
from skgraded.model_selection.folds import split_queries

if TYPE_CHECKING:
    from skgraded.model_selection.ranker import QueryRanker

MANY_FOLDS = 20  # more folds than this trigger a warning, because users may mean a number of rounds
FEW_QUERIES = 50  # fewer held-out queries than this trigger a warning
CHECK_FRACTION = number_validator("validation_fraction", 0, 1, above=True, below=True)


def fit_stopped(
    ranker: QueryRanker,
    adapter: Adapter,
    measures: list[Measure],
    parts: list[tuple[Rows, Rows]],
    rows: Rows,
    queries: Queries,
    validation: Rows | None,
    fit_params: dict[str, Any],
) -> tuple[Any, StoppingState]:
    """Return the fitted estimator of a QueryRanker, and the validation scores of all rounds.

    `parts` contains the training rows and the validation rows of each fold. The final fit uses
    `rows`, and `validation` unless it is None. In a search, the ranker is either trained on
    the folds of the search, without a final fit, or fitted on all rows for a known number of
    rounds.
    """
    if ranker._rounds is not None and not parts:
        rows = adapter.order_rows(rows, queries)
        return adapter.fit(rows, fit_params, ranker._rounds.best_round), ranker._rounds
    for training, _ in parts:
        if training.weights is not None and not training.weights.any():
            raise ValueError("sample_weight must be positive in at least one training row.")
    state = ranker._rounds
    if state is None:
        judgments = judge_rows([validation_rows for _, validation_rows in parts])
        for measure in measures:
            if not has_value(measure, judgments):
                raise ValueError(
                    f"The measure {measure} is undefined for all {judgments.n_queries} validation "
                    "queries, because no query with positive weight has a relevant document. "
                    "Use validation_fraction, random_state or X_val to choose different queries."
                )
        state = StoppingState(measures, judgments, ranker.n_iter_no_change)
    model: Any = None
    if len(parts) == 1:
        model = adapter.fit_stopped(*parts[0], state, state.add_round, fit_params)
    else:  # these fits only determine the number of rounds
        train_jointly(adapter, parts, state, fit_params)
    parts.clear()  # free the copies of the rows
    has_final_fit = ranker.refit or classify_early_stopping(ranker.early_stopping) == "folds"
    if has_final_fit and ranker._rounds is None:
        rows = adapter.order_rows(rows, queries)
        rows = rows if validation is None else rows.join(validation)
        fit_params = adapter.remove_observers(fit_params)  # there are no validation values
        model = adapter.fit(rows, fit_params, state.best_round)
    return model, state


def classify_early_stopping(early_stopping: object) -> str | None:
    """Return the kind of early stopping: "fraction", "folds", "splitter" or, for False, None."""
    if isinstance(early_stopping, (bool, np.bool_)):
        return "fraction" if early_stopping else None
    if isinstance(early_stopping, Integral):
        check_whole_number(early_stopping, "early_stopping", 2)
        return "folds"
    is_instance = not isinstance(early_stopping, type)
    if is_instance and all(hasattr(early_stopping, name) for name in ("split", "get_n_splits")):
        return "splitter"
    raise TypeError(
        "early_stopping must be True, False, an integer ≥ 2 or a splitter such as "
        f"QueryTimeSeriesSplit; got {early_stopping!r}."
    )


# Rows --------------------------------------------------------------------------------------------


def split_rows(
    ranker: QueryRanker,
    adapter: Adapter,
    table: FeatureTable,
    rows: Rows,
    queries: Queries,
    validation: Rows | None,
) -> list[tuple[Rows, Rows]]:
    """Return the training rows and the validation rows of each fold.

    If the user passes `validation`, there is one fold, which trains on all `rows`; otherwise, each
    fold holds out some of the `rows`.
    """
    if validation is not None:
        return [(adapter.order_rows(rows, queries), validation)]
    by_query, search = adapter.query_argument is not None, ranker._rounds
    splits = _draw_splits(ranker, table, rows, queries) if search is None else search.splits
    held_out = [_find_rows(queries, tested, True) for _, tested in splits]
    if search is not None and held_out:
        search.begin([positions for positions, _ in held_out], adapter.scores_late)
    return [
        (rows.take(*_find_rows(queries, trained, by_query)), rows.take(*chosen))
        for (trained, _), chosen in zip(splits, held_out, strict=True)
    ]


def _draw_splits(
    ranker: QueryRanker, table: FeatureTable, rows: Rows, queries: Queries
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return boolean masks of the training rows and the validation rows of each fold."""
    kind = classify_early_stopping(ranker.early_stopping)
    n_queries, query_of_row = len(queries.ids), queries.of_row
    if kind == "splitter":
        splitter: Any = ranker.early_stopping
        splits = split_queries(
            splitter, table, rows.grades, queries.ids, query_of_row, "early_stopping"
        )
        trained, held_out = (np.isin(np.arange(len(query_of_row)), part) for part in splits[-1])
        return [(trained, held_out)]
    n_folds: Any = ranker.early_stopping if kind == "folds" else 2
    if n_queries < n_folds:
        raise ValueError(
            f"early_stopping={ranker.early_stopping} requires at least {n_folds} queries; got "
            f"{n_queries}, with n_samples={len(query_of_row)}. Pass more queries, or set "
            "early_stopping=False."
        )
    rng = check_random_state(ranker.random_state)
    order = sort_positions(queries.ids)[rng.permutation(n_queries)]
    fold_of_query = np.ones(n_queries, dtype=int)
    if kind == "folds":
        if n_folds > MANY_FOLDS:
            warn_user(
                f"early_stopping={n_folds} trains on {n_folds} folds of queries; it is not a number "
                "of rounds. To stop after this many rounds without a new best value, set "
                f"early_stopping=5 and n_iter_no_change={n_folds}."
            )
        fold_of_query[order] = np.arange(n_queries) % n_folds
    else:  # only fold 0 is held out
        n_folds, n_held_out = 1, max(1, round(ranker.validation_fraction * n_queries))
        fold_of_query[order[: min(n_held_out, n_queries - 1)]] = 0
        if n_held_out < FEW_QUERIES:
            warn_user(
                f"early_stopping=True chooses the number of rounds on only {n_held_out} of "
                f"{n_queries} queries. With fewer than {FEW_QUERIES} validation queries, this number "
                "is mostly chance: set early_stopping=5, which validates on all queries."
            )
    fold_of_row = fold_of_query[query_of_row]
    return [(fold_of_row != fold, fold_of_row == fold) for fold in range(n_folds)]


def _find_rows(
    queries: Queries, chosen: np.ndarray, by_query: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the positions of the chosen rows.

    If `by_query` is true, sort them by query, and also return the query sizes.
    """
    if not by_query:
        return np.flatnonzero(chosen), None
    order = np.arange(len(chosen)) if queries.order is None else queries.order
    sizes = np.add.reduceat(chosen[order], queries.starts[:-1], dtype=np.intp)
    return order[chosen[order]], sizes[sizes > 0]


# Errors ------------------------------------------------------------------------------------------


def check_arguments(
    ranker: QueryRanker, adapter: Adapter, fit_params: dict[str, Any], validation: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Check the settings; return the arguments for the estimator and those for validation.

    A validation set in LightGBM's form is among the arguments for validation.
    """
    if "eval_X" in fit_params:
        raise TypeError(
            "QueryRanker.fit has no argument eval_X: pass validation queries as X_val, y_val, "
            "qid_val and sample_weight_val."
        )
    kind = classify_early_stopping(ranker.early_stopping)
    sets: Any = fit_params.get("eval_set")
    all_sizes: Any = fit_params.get("eval_group")
    is_in_form_of_lightgbm = sets is not None and all_sizes is not None
    if kind == "fraction" and is_in_form_of_lightgbm and "X_val" not in validation:
        sets = [sets] if isinstance(sets, tuple) else sets
        if len(sets) != 1 or len(all_sizes) != 1:
            raise ValueError(
                "With early_stopping=True, eval_set=[(X_val, y_val)] and eval_group=[sizes] must "
                "each describe one validation set."
            )
        X_val, y_val = sets[0]
        validation = validation | {"X_val": X_val, "y_val": y_val, "group_val": all_sizes[0]}
        of_validation = ("eval_set", "eval_group")
        fit_params = {name: fit_params[name] for name in fit_params if name not in of_validation}
    if kind is not None:
        is_splitter, setting = kind == "splitter", ranker.early_stopping
        shown = f"{type(setting).__name__}(…)" if is_splitter else str(setting)
        adapter.check_stopping(fit_params, shown)
        CHECK_FRACTION(ranker.validation_fraction)
        check_whole_number(ranker.n_iter_no_change, "n_iter_no_change", 1)
    if validation and (kind != "fraction" or "X_val" not in validation):
        raise ValueError(
            f"Validation arguments, such as {next(iter(validation))}, require X_val and "
            "early_stopping=True in QueryRanker."
        )
    return fit_params, validation
