"""Code shared by the metrics for all boosting libraries: values, cached judgments, and errors."""

import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from skgraded._kernels.sums import total
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures
from skgraded.measures.base import compute_means, find_undefined, score_queries
from skgraded.measures.parsing import Measures


class BoostingMetric:
    """Base class of metrics that are reported at each round; subclasses add calling conventions."""

    factory = "eval_metric"  # name of the public function that creates the metric
    direction: tuple[bool, ...] = ()  # follows each value, for libraries that require it

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
        """Return three rows: sums of weighted values, weights, and weights of defined queries."""
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
        """Return the means over the queries of all workers; `sums` is the total of all workers."""
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
# All metrics and objectives share the dict.
_judgments: dict[int, tuple[Judgments, list[np.ndarray]]] = {}


def cache_judgments(
    owner: object,
    labels: ArrayLike,
    group: ArrayLike,
    weight: ArrayLike | None,
    check: Callable[[], None] | None = None,
) -> Judgments:
    """Return the Judgments of a data set or label array, cached until the arguments change.

    Before new Judgments are created, `check` is called.
    """
    columns: tuple[Any, ...] = (labels, group, weight)
    judgments, known = _judgments.get(id(owner), (None, ()))
    if judgments is None or not all(map(np.array_equal, known, columns)):  # None equals None
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
    """Raise a ValueError for distributed training, in which each worker has only some queries."""
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
