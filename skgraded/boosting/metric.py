"""Code shared by the metrics for all boosting libraries: rounds, cached judgments, and errors."""

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import whole_number
from skgraded._kernels.sums import total
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures, mean_scores, score_queries
from skgraded.measures.base import undefined_of


class BoostingMetric:
    """Base class of metrics that are reported at each round; subclasses add calling conventions."""

    factory: str  # name of the public function that creates the metric
    direction: tuple[bool, ...] = ()  # (True,) if the library expects a flag for "higher is better"

    def __init__(self, measures: str | Measure | Iterable[str | Measure], every: int = 1) -> None:
        self.measures: list[Measure] = as_measures(measures)
        self.every: int = whole_number(every, "every", 1)
        self._is_single = isinstance(measures, (str, Measure))
        # Maps each Booster to its first evaluated round and to the latest values for each data set.
        self._trainings: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        names = [measure.name for measure in self.measures]
        measures = repr(names[0] if self._is_single else names)
        every = f", every={self.every}" if self.every > 1 else ""
        return f"{self.factory}({measures}{every})"

    # Copies and pickles do not contain values from earlier rounds.
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.measures[0] if self._is_single else self.measures, self.every)

    def results(
        self, booster: Any, n_rounds: int, data: Any, compute: Callable[[str], list[float]]
    ) -> Any:
        """Return a list of (name, value, …) tuples, or one tuple for a single measure.

        If a round is not evaluated, the last values for the data set are returned again. A direct
        call, without a Booster, always computes the values.
        """
        if booster is None:
            values = compute("")
        else:
            first_round, last_values = self._trainings.setdefault(
                booster, (n_rounds, weakref.WeakKeyDictionary())
            )
            n_before = n_rounds - first_round
            if n_before % self.every == 0 or data not in last_values:
                last_values[data] = compute(f" at round {n_before + 1} of the training")
            values = last_values[data]
        names = [measure.name for measure in self.measures]
        results = [(*pair, *self.direction) for pair in zip(names, values, strict=True)]
        return results[0] if self._is_single else results

    def means(self, judgments: Judgments, preds: ArrayLike, when: str = "") -> list[float]:
        """Return the mean of each measure; error messages contain `when`, such as " at round 3"."""
        means = self._scored(mean_scores, judgments, preds, when)
        for measure in self.measures:
            if not has_value(measure, judgments):
                _refuse_undefined(measure, judgments.weights)
        return means

    def sums(self, judgments: Judgments, preds: ArrayLike, when: str = "") -> np.ndarray:
        """Return three rows: sums of weighted values, weights, and weights of defined queries."""
        all_values = self._scored(score_queries, judgments, preds, when)
        weights = np.ones(judgments.n_queries) if judgments.weights is None else judgments.weights
        sums = np.zeros((3, len(all_values)))
        for i, (measure, values) in enumerate(zip(self.measures, all_values, strict=True)):
            counted = np.where(np.isnan(values), 0.0, weights)
            defined = ~undefined_of(measure, judgments)
            sums[:2, i] = total(counted * np.nan_to_num(values)), total(counted)
            sums[2, i] = weights[defined].sum()
        return sums

    def _scored(
        self, score: Callable[..., Any], judgments: Judgments, preds: Any, when: str
    ) -> list[float]:
        """Check the predictions and evaluate them with the function `score`."""
        check_shape(preds, judgments)
        try:
            return score(self.measures, judgments, preds)
        except ValueError:
            refuse_nan(preds, when)
            raise

    def means_of_sums(self, sums: np.ndarray) -> list[float]:
        """Return the means over the queries of all workers; `sums` is the total of all workers."""
        for measure, defined in zip(self.measures, sums[2], strict=True):
            if defined == 0:
                _refuse_undefined(measure, defined)
        return (sums[0] / sums[1]).tolist()


def has_value(measure: Measure, judgments: Judgments) -> bool:
    """Return whether the measure is defined for at least one query with a positive weight."""
    defined = ~undefined_of(measure, judgments)
    return bool((defined if judgments.weights is None else judgments.weights[defined]).any())


# Judgments of a data set -------------------------------------------------------------------------

@dataclass(eq=False)
class Truth:
    """Judgments, and copies of the labels, group sizes and weights from which they were created."""

    judgments: Judgments
    columns: list[np.ndarray]
    is_whole: bool = False  # True once the data set is known to contain no split queries


_truths: dict[int, Truth] = {}  # keyed by the id() of the data set; shared by all metrics


def truth_of(owner: object, labels: Any, group: Any, weight: Any) -> Truth:
    """Return the Truth of a data set or label array, cached until the arguments change."""
    columns = (labels, group, weight)
    truth = _truths.get(id(owner))
    if truth is None or not all(map(np.array_equal, truth.columns, columns)):  # None equals None
        grades = np.asarray(labels, dtype=np.float32)  # all libraries store 32-bit labels
        judgments = Judgments(grades, group=group, sample_weight=weight)
        truth = Truth(judgments, [np.array(values) for values in columns])
        keep_while_alive(_truths, owner, truth)
    return truth


def keep_while_alive(values: dict[int, Any], owner: object, value: Any) -> None:
    """Cache a value until its owner is garbage-collected; the key is the id of the owner."""
    try:
        if id(owner) not in values:
            weakref.finalize(owner, values.pop, id(owner), None)
    except TypeError:  # a list, as passed in a direct call, does not support weak references
        return
    values[id(owner)] = value


# Errors ------------------------------------------------------------------------------------------

def refuse_part(what: str, instead: str) -> NoReturn:
    """Raise a ValueError for distributed training, in which each worker has only some queries."""
    raise ValueError(
        f"In distributed training, {what} would report the mean over the queries of a single "
        f"worker. Omit it, and {instead}."
    )


def check_shape(preds: ArrayLike, judgments: Judgments) -> None:
    """Raise an error unless there is one score per document."""
    shape = np.shape(preds)
    if len(shape) != 1:
        raise ValueError(
            f"Predictions must be 1-D, with one score per document; got shape {shape}. Multiclass "
            "objectives do not define a ranking: use a ranking, regression or binary objective."
        )
    if shape[0] != judgments.n_rows:
        raise ValueError(f"There are {shape[0]} predictions for {judgments.n_rows} labels.")


def refuse_nan(preds: ArrayLike, when: str) -> None:
    """Raise a ValueError that names the first NaN prediction, if there is one."""
    missing = np.isnan(np.asarray(preds, dtype=float))
    if missing.any():
        raise ValueError(
            f"Predictions must not contain NaN; got nan for row {int(np.argmax(missing))}{when}: "
            "check the objective, the learning rate and the initial scores."
        ) from None


def _refuse_undefined(measure: Measure, weights: np.ndarray | None) -> None:
    condition, and_weights = "", ""
    if weights is not None:
        condition, and_weights = " with positive weight", " and weights"
    raise ValueError(
        f"The measure {measure} is undefined for every query{condition} in this data set, usually "
        f"because no document is relevant: check the labels{and_weights}."
    )
