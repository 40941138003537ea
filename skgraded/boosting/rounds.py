"""Metric values, early stopping and gradients for all boosting libraries."""

import weakref
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import check_whole_number, number_validator
from skgraded._kernels.gradients import push_queries
from skgraded._kernels.sums import LINEAR, PAIR, total
from skgraded._kernels.threads import run_chunks
from skgraded.judgments import Judgments, Layout, get_layout
from skgraded.measures import MEASURES, Measure, as_measures, measure as as_measure
from skgraded.measures.base import compute_means, find_undefined, prepare, score_queries
from skgraded.measures.parsing import Measures


class BoostingMetric:
    """Base class for metrics reported after each round; subclasses add calling conventions."""

    factory = "eval_metric"  # name of the public function that creates the metric
    # Elements appended to each result for libraries that require the metric's direction
    direction: tuple[bool, ...] = ()

    def __init__(self, measures: Measures) -> None:
        self.measures: list[Measure] = as_measures(measures)
        self.names = [measure.name for measure in self.measures]
        self._is_single = isinstance(measures, (str, Measure))

    def __repr__(self) -> str:
        return f"{self.factory}({self.names[0] if self._is_single else self.names!r})"

    def format_results(self, values: list[float]) -> tuple[Any, ...] | list[tuple[Any, ...]]:
        """Return a list of (name, value, *direction) tuples, or one tuple for a single measure."""
        results = [(*pair, *self.direction) for pair in zip(self.names, values, strict=True)]
        return results[0] if self._is_single else results

    def compute_means(self, judgments: Judgments, preds: ArrayLike) -> list[float]:
        """Return the mean of each measure."""
        scores = read_predictions(preds, judgments.n_rows)
        means = compute_means(self.measures, judgments, scores)
        for measure in self.measures:
            if not has_value(measure, judgments):
                _refuse_undefined(measure)
        return means

    def compute_sums(self, judgments: Judgments, preds: ArrayLike) -> np.ndarray:
        """Return three sums for each measure, as an array of shape (3, n_measures).

        Row 0 contains the sums of the weighted values, row 1 the sums of the weights of these
        values, and row 2 the sums of the weights of the queries for which the measure is defined.
        """
        scores = read_predictions(preds, judgments.n_rows)
        all_values = score_queries(self.measures, judgments, scores)
        weights = np.ones(judgments.n_queries) if judgments.weights is None else judgments.weights
        sums = np.zeros((3, len(all_values)))
        for i, (measure, values) in enumerate(zip(self.measures, all_values, strict=True)):
            counted = np.where(np.isnan(values), 0.0, weights)
            defined = ~find_undefined(measure, judgments)
            sums[:2, i] = total(counted * np.nan_to_num(values)), total(counted)
            sums[2, i] = weights[defined].sum()
        return sums

    def combine_sums(self, sums: np.ndarray) -> list[float]:
        """Return the means over all workers' queries, given the sums over all workers."""
        for measure, defined in zip(self.measures, sums[2], strict=True):
            if not defined > 0:
                _refuse_undefined(measure)
        return (sums[0] / sums[1]).tolist()


def has_value(measure: Measure, judgments: Judgments) -> bool:
    """Return whether the measure is defined for at least one query with a positive weight."""
    defined = ~find_undefined(measure, judgments)
    return bool((defined if judgments.weights is None else judgments.weights[defined]).any())


# Judgments of a data set -------------------------------------------------------------------------

# Maps the id() of a data set to its judgments and to copies of its labels, group sizes and weights.
# All metrics and objectives share this cache.
_judgments: dict[int, tuple[Judgments, list[np.ndarray]]] = {}


def cache_judgments(
    owner: object,
    labels: ArrayLike,
    group: ArrayLike,
    weight: ArrayLike | None,
    check: Callable[[], None] | None = None,
) -> Judgments:
    """Return the Judgments for a data set or label array; cache them until the arguments change.

    `check` is called before new Judgments are created.
    """
    columns: tuple[Any, ...] = (labels, group, weight)
    judgments, known = _judgments.get(id(owner), (None, ()))
    # Two missing weights are equal.
    if judgments is None or not all(map(np.array_equal, known, columns)):
        if check is not None:
            check()
        grades = np.asarray(labels, dtype=np.float32)  # all libraries store 32-bit labels
        judgments = Judgments(grades, group=group, sample_weight=weight)
        if id(owner) not in _judgments:
            weakref.finalize(owner, _judgments.pop, id(owner), None)
        _judgments[id(owner)] = judgments, [np.array(values) for values in columns]
    return judgments


# Errors ------------------------------------------------------------------------------------------


def refuse_part(what: object, instead: str) -> NoReturn:
    """Raise a ValueError for distributed training, where each worker has only some queries."""
    raise ValueError(
        f"In distributed training, {what} would report the mean over the queries of a single "
        f"worker. Omit it, and {instead}."
    )


def read_predictions(preds: ArrayLike, n_rows: int) -> np.ndarray:
    """Return the predictions as float64; raise an error unless there is one score per document."""
    scores = np.ascontiguousarray(preds, dtype=np.float64)
    if scores.ndim != 1:
        raise ValueError(
            f"Predictions must be 1-D, with one score per document; got shape {scores.shape}. "
            "Multiclass objectives do not define a ranking: use a ranking, regression or binary "
            "objective."
        )
    if len(scores) != n_rows:
        raise ValueError(f"There are {len(scores)} predictions for {n_rows} labels.")
    if np.isnan(scores.max()):
        row = int(np.argmax(np.isnan(scores)))
        raise ValueError(
            f"Predictions must not contain NaN; got nan for row {row}: check the objective, the "
            "learning rate and the initial scores."
        )
    return scores


def _refuse_undefined(measure: Measure) -> NoReturn:
    raise ValueError(
        f"The measure {measure} is undefined for every query with positive weight in this data "
        "set, usually because no document is relevant: check the labels and weights."
    )


@dataclass
class StoppingState:
    """Validation scores per measure and round, and the rule for early stopping.

    Training stops after `patience` rounds without a new best value of the first measure.
    """

    measures: list[Measure]
    judgments: Judgments
    patience: int
    n_jobs: int | None = None  # number of folds that joblib trains in parallel
    n_rounds: int = 0
    best_round: int = 0  # counted from 1
    best_score: float = -np.inf

    def __post_init__(self) -> None:
        self.history: dict[str, list[float]] = {measure.name: [] for measure in self.measures}

    def add_round(self, scores: np.ndarray) -> None:
        """Evaluate the validation scores of a new round and update the best round."""
        means = self._average(read_predictions(scores, self.judgments.n_rows))
        for values, mean in zip(self.history.values(), means, strict=True):
            values.append(mean)
        self.n_rounds += 1
        if means[0] > self.best_score:
            self.best_score, self.best_round = means[0], self.n_rounds

    def _average(self, scores: np.ndarray) -> list[float]:
        """Return the mean of each measure over the validation queries."""
        return compute_means(self.measures, self.judgments, scores)

    @property
    def over_at(self) -> int:
        """The round after which training stops unless the score improves."""
        return self.best_round + self.patience

    @property
    def is_over(self) -> bool:
        """Whether the best score has not improved in the last `patience` rounds."""
        return self.n_rounds >= self.best_round + self.patience


@dataclass(frozen=True, repr=False)
class Objective:
    """Base class for objectives computed from a measure; subclasses add calling conventions."""

    measure: Any
    _: KW_ONLY
    truncation: int = 30
    sigmoid: float = 1.0
    norm: bool = True

    def __post_init__(self) -> None:
        for name, value in {
            "measure": as_measure(self.measure),
            "truncation": check_whole_number(self.truncation, "truncation", 1),
            "sigmoid": number_validator("sigmoid", 0, above=True)(self.sigmoid),
            "norm": bool(self.norm),
        }.items():
            object.__setattr__(self, name, value)
        if not is_trainable(self.measure):
            trainable = [name for name, cls in MEASURES.items() if is_trainable(cls())]
            raise TypeError(
                f"The measure {self.measure} cannot be used as an objective: choose one of "
                f"{', '.join(trainable)}, with or without a cut-off, or use "
                f"{self.measure} as a metric."
            )

    def __repr__(self) -> str:
        settings = [field for field in fields(self) if getattr(self, field.name) != field.default]
        shown = [f", {field.name}={getattr(self, field.name)}" for field in settings[1:]]
        return f"objective({self.measure.name!r}{''.join(shown)})"

    def compute_gradients(
        self, judgments: Judgments, preds: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient and hessian of each row, multiplied by the query weights.

        Their magnitudes are clipped to half the largest 32-bit float, so they are finite.
        """
        scores, layout = read_predictions(preds, judgments.n_rows), get_layout(judgments)
        order, codes = layout.remember("swaps", lambda: _shuffle_rows(layout))
        plan = prepare(self.measure, layout).plan
        gradients = np.empty(judgments.n_rows, dtype=np.float32)
        hessians = np.empty_like(gradients)
        all_finite = run_chunks(
            lambda first, last: push_queries(
                scores,
                order,
                layout.starts,
                codes,
                layout.level_starts,
                plan,
                judgments.weights,
                min(self.truncation, judgments.n_rows),
                self.sigmoid,
                self.norm,
                gradients,
                hessians,
                first,
                last,
            ),
            layout.starts,
        )
        if not all(all_finite):
            row = int(np.argmax(np.isinf(scores)))
            raise ValueError(
                f"Predictions must be finite; got {scores[row]} for row {row}: check the learning "
                "rate and the initial scores."
            )
        return gradients, hessians


def is_trainable(measure: Measure) -> bool:
    """Return whether the kernel can compute how swapping two documents changes the measure."""
    # Any judgments suffice, because the kind of plan does not depend on the grades.
    plan = prepare(measure, get_layout(Judgments([0.0]))).plan
    if plan is None:
        return False
    # If there is no discount, swapping two of the first k documents does not change the measure.
    return plan.kind == PAIR or (plan.kind == LINEAR and plan.discount is not None)


def _shuffle_rows(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return row positions and grade codes, sorted by query and shuffled within each query."""
    # Without shuffling, ties would be ranked in row order, which is often the order of the grades.
    random_keys = np.random.default_rng(0).random(layout.n_rows)
    query = np.repeat(np.arange(layout.n_queries), layout.sizes)
    shuffle = np.lexsort((random_keys, query))
    order = shuffle if layout.order is None else layout.order[shuffle]
    return order, layout.codes[shuffle]
