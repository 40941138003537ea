"""Early stopping of a ranker: the queries held out, the value at each round, when it is over."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skgraded._input.columns import number, whole_number
from skgraded._input.words import plain, plain_list
from skgraded.boosting.metric import has_value
from skgraded.boosting.rows import WEIGHT, Queries, Rows
from skgraded.judgments import Judgments
from skgraded.measures import Measure, mean_scores


class Progress:
    """Values of the measures on the validation queries, round by round; the first decides.

    It is over after as many rounds without a new best value as the patience says.
    """

    def __init__(self, measures: list[Measure], judgments: Judgments, patience: int) -> None:
        self.history: dict[str, list[float]] = {measure.name: [] for measure in measures}
        self.best_round: int = 0  # counted from 1
        self.best_score: float = -np.inf
        self._measures = measures
        self._judgments = judgments
        self._patience = patience

    def see(self, scores: ArrayLike) -> None:
        """Measure the scores of the validation rows after another round."""
        means = mean_scores(self._measures, self._judgments, scores)
        for values, mean in zip(self.history.values(), means, strict=True):
            values.append(mean)
        if self.last > self.best_score:
            self.best_score = self.last
            self.best_round = self.n_rounds

    @property
    def _deciding(self):
        return next(iter(self.history.values()))

    @property
    def last(self) -> float:
        """The value of the deciding measure after the last round."""
        return self._deciding[-1]

    @property
    def n_rounds(self) -> int:
        """Rounds so far."""
        return len(self._deciding)

    @property
    def over_at(self) -> int:
        """The round after which it is over if none is better before."""
        return self.best_round + self._patience

    @property
    def is_over(self) -> bool:
        """Whether no round has been better for as long as the patience lasts."""
        return self.n_rounds >= self.over_at


def hold_out(n_queries: int, fraction: float, random_state: Any) -> np.ndarray:
    """Draw the queries to hold out, at least one: (n_queries,) of bool."""
    if n_queries < 2:
        raise ValueError(
            "early_stopping=True holds out whole queries, but there is only one. Give others by "
            "eval_X, eval_y and eval_qid, or set early_stopping=False."
        )
    n_held_out = max(1, round(fraction * n_queries))
    if n_held_out == n_queries:
        raise ValueError(
            f"validation_fraction={fraction} of {n_queries} queries leaves none to train on."
        )
    held_out = np.zeros(n_queries, dtype=bool)
    held_out[check_random_state(random_state).permutation(n_queries)[:n_held_out]] = True
    return held_out


def split(rows: Rows, queries: Queries, held_out: np.ndarray, by_query: bool) -> tuple[Rows, Rows]:
    """Part Rows into those to train, brought together if `by_query`, and those to stop on."""
    sizes = queries.sizes
    order = np.arange(len(rows.grades)) if queries.order is None else queries.order
    held = np.repeat(held_out, sizes)
    validation = rows.take(order[held], sizes[held_out])
    if by_query:
        return rows.take(order[~held], sizes[~held_out]), validation
    return rows.take(np.sort(order[~held]), None), validation


# Errors ------------------------------------------------------------------------------------------

def check_settings(ranker: Any) -> None:
    """Refuse bad settings of the stopping."""
    number("validation_fraction", 0, 1, above=True, below=True)(ranker.validation_fraction)
    whole_number(ranker.n_iter_no_change, "n_iter_no_change", 1)


def refuse_eval(given: dict[str, Any]) -> None:
    """Refuse a validation set where nothing is to be stopped."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} is for stopping early: set QueryRanker(…, early_stopping=True), or leave "
                "it out."
            )


def refuse_incomplete(given: dict[str, Any], group: Any, first_scores: list[str]) -> None:
    """Refuse a validation set of which a part is missing, or that cannot be told from training."""
    missing = [name for name, value in given.items() if value is None]
    if missing:
        raise ValueError(
            f"A validation set needs {', '.join(given)}: {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing."
        )
    if group is not None:
        raise ValueError(
            "With eval_X give the queries by qid, not by group: sizes do not show whether a query "
            "is on both sides."
        )
    for name in first_scores:
        raise ValueError(
            f"{name} is there for the rows of X only: leave out eval_X, so that queries of X are "
            "held out."
        )


def refuse_both_sides(ids: np.ndarray, eval_ids: np.ndarray) -> None:
    """Refuse a query that is both in training and validation."""
    known = set(plain_list(ids))
    both = [query for query in plain_list(eval_ids) if query in known]
    if both:
        raise ValueError(
            f"{len(both)} of the {len(eval_ids)} queries of eval_X, such as {plain(both[0])!r}, "
            "are among those of X too: a query must be either trained or stopped on."
        )


def check_parts(training: Rows, validation: Rows, measures: list[Measure]) -> Judgments:
    """Judgments of the validation rows, if there is something to train and to stop on."""
    for rows, which in ((training, "left to train on"), (validation, "held out to stop on")):
        if WEIGHT in rows.by_row and not rows.by_row[WEIGHT].any():
            raise ValueError(f"sample_weight is 0 in all rows {which}.")
    judgments = validation.judgments()
    for measure in measures:
        if not has_value(measure, judgments):
            raise ValueError(
                f"{measure} is undefined for all {judgments.n_queries} queries held out to stop "
                "on: none (of weight) has a relevant document. Hold out more, by "
                "validation_fraction, or others, by random_state or eval_X."
            )
    return judgments
