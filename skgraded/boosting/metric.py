"""What the metrics of the boosting libraries share: their rounds, their truth and refusals."""

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


class BoostingMetric:
    """Measures that a boosting library calls at each round; its subclass adds the call."""

    factory: str  # the name of the function that makes it
    direction: tuple[bool, ...] = ()  # what the library expects after a value: higher is better

    def __init__(self, measures: str | Measure | Iterable[str | Measure], every: int = 1) -> None:
        self.measures = as_measures(measures)
        self.every = whole_number(every, "every", 1)
        self._one = isinstance(measures, (str, Measure))
        # By Booster its first round that was measured, and the last values of each data set.
        self._trainings: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        measures = repr(self.measures[0].name if self._one else [m.name for m in self.measures])
        every = f", every={self.every}" if self.every > 1 else ""
        return f"{self.factory}({measures}{every})"

    # of copies and pickles too: they start with nothing remembered
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.measures[0] if self._one else self.measures, self.every)

    def results(
        self, booster: Any, n_rounds: int, data: Any, compute: Callable[[str], list[float]]
    ) -> Any:
        """Name and value of each measure at a training's round, alone if there is only one measure.

        Between the rounds that count, the last values of the data are repeated. Without a Booster,
        in a call by hand, each call computes.
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
        return results[0] if self._one else results

    def means(self, judgments: Judgments, preds: ArrayLike, when: str = "") -> list[float]:
        """Mean of each measure over the queries; `when`, such as " at round 3", is for errors."""
        means = self._scored(mean_scores, judgments, preds, when)
        for measure in self.measures:
            if not has_value(measure, judgments):
                _refuse_undefined(measure, judgments.weights)
        return means

    def sums(self, judgments: Judgments, preds: ArrayLike, when: str = "") -> np.ndarray:
        """Σ w v, Σ w and Σ w of the queries that have a value of their own, (3, n_measures)."""
        all_values = self._scored(score_queries, judgments, preds, when)
        weights = np.ones(judgments.n_queries) if judgments.weights is None else judgments.weights
        sums = np.zeros((3, len(all_values)))
        for i, (measure, values) in enumerate(zip(self.measures, all_values, strict=True)):
            counted = np.where(np.isnan(values), 0.0, weights)
            defined = ~measure.undefined_queries(judgments)
            sums[:2, i] = total(counted * np.nan_to_num(values)), total(counted)
            sums[2, i] = weights[defined].sum()
        return sums

    def _scored(self, score, judgments, preds, when):
        """What `score` makes of predictions that are fit for it."""
        check_shape(preds, judgments)
        try:
            return score(self.measures, judgments, preds)
        except ValueError:
            refuse_nan(preds, when)
            raise

    def means_of_sums(self, sums: np.ndarray) -> list[float]:
        """Means of all queries, of the `sums` of all workers."""
        for measure, defined in zip(self.measures, sums[2], strict=True):
            if defined == 0:
                _refuse_undefined(measure, defined)
        return (sums[0] / sums[1]).tolist()


def has_value(measure: Measure, judgments: Judgments) -> bool:
    """Whether a measure is defined for any query that has weight."""
    defined = ~measure.undefined_queries(judgments)
    return bool((defined if judgments.weights is None else judgments.weights[defined]).any())


# The truth of a data set -------------------------------------------------------------------------

@dataclass(eq=False)
class Truth:
    """Judgments, and copies of the labels, groups and weights that they were laid out from."""

    judgments: Judgments
    columns: list[np.ndarray]
    is_whole: bool = False  # whether a library has checked that no query lacks rows


_truths: dict[int, Truth] = {}  # by id of the data set; several metrics may watch the same


def truth_of(owner: object, labels: Any, group: Any, weight: Any) -> Truth:
    """Look up, or lay out, the truth of a data set, or of the labels that stand for one."""
    columns = (labels, group, weight)
    truth = _truths.get(id(owner))
    if truth is None or not all(map(np.array_equal, truth.columns, columns)):  # None equals None
        grades = np.asarray(labels, dtype=np.float32)  # as all libraries keep them
        judgments = Judgments(grades, group=group, sample_weight=weight)
        truth = Truth(judgments, [np.array(values) for values in columns])
        keep_while_alive(_truths, owner, truth)
    return truth


def keep_while_alive(values: dict[int, Any], owner: object, value: Any) -> None:
    """Keep a value by the id of its owner, which may have no hash, until the owner is gone."""
    try:
        if id(owner) not in values:
            weakref.finalize(owner, values.pop, id(owner), None)
    except TypeError:  # a list, of a call by hand
        return
    values[id(owner)] = value


# Errors ------------------------------------------------------------------------------------------

def refuse_part(what: str, instead: str) -> NoReturn:
    """Raise in a training on several workers, each of which has the scores of its rows only."""
    raise ValueError(
        f"{what} would see the queries of one worker only, and show their mean as that of all: "
        f"this training runs on several workers. Leave it out, and {instead}."
    )


def check_shape(preds: ArrayLike, judgments: Judgments) -> None:
    """Refuse predictions that are not one score a document."""
    shape = np.shape(preds)
    if len(shape) != 1:
        raise ValueError(
            f"Predictions must be 1-D, one score a document; got shape {shape}. An objective of "
            "several classes has no ranking of its own: use a ranking, regression or binary one."
        )
    if shape[0] != judgments.n_rows:
        raise ValueError(f"There are {shape[0]} predictions, but {judgments.n_rows} labels.")


def refuse_nan(preds: ArrayLike, when: str) -> None:
    """Raise if there is a prediction that is NaN, and name the first."""
    missing = np.isnan(np.asarray(preds, dtype=float))
    if missing.any():
        raise ValueError(
            f"Predictions must not be NaN: row {int(np.argmax(missing))} is nan{when}. Look at "
            "the objective, the learning rate and the initial scores."
        ) from None


def _refuse_undefined(measure, weights):
    of_weight, and_weights = ("", "") if weights is None else (" with weight", " and weights")
    raise ValueError(
        f"{measure} is undefined for every query{of_weight} of this data set: none has a "
        "relevant document, so there is nothing to measure or to stop on. Look at its labels"
        f"{and_weights}."
    )
