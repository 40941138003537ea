"""Base classes for measures with a relevance threshold, a grade scale or a gain."""

from __future__ import annotations

import numpy as np

from skgraded._input.door import number_validator
from skgraded._kernels.layout import relative_exp2_gains
from skgraded.judgments import Layout
from skgraded.measures.base import Measure, Ranked, shared_fields
from skgraded.measures.parameters import Function, call_function, check_threshold, parameter

LN2 = np.log(2.0)


@shared_fields
class Relevance(Measure):
    """Base class for measures that are undefined for queries without relevant documents."""

    threshold: float | None = parameter(default=None, check=check_threshold)

    def _relevant(self, layout: Layout) -> np.ndarray:
        """Return a mask of the levels with a grade ≥ `threshold` (> 0 if it is None)."""
        if self.threshold is None:
            return layout.levels > 0
        return layout.levels >= layout.round_grade(self.threshold)

    def _relevant_weights(self, layout: Layout, depth: int) -> np.ndarray:
        """Return the weight of each level: 1 / min(R_t, depth) for relevant levels, else 0."""
        relevant = self._relevant(layout)
        n = np.minimum(count_relevant(layout, relevant), depth)
        return relevant / layout.repeat_by_level(np.maximum(n, 1))

    def _undefined(self, layout: Layout) -> np.ndarray:
        return count_relevant(layout, self._relevant(layout)) == 0


@shared_fields
class Thresholded(Relevance, Ranked):
    """Base class for measures with a relevance threshold, a cut-off and a tie rule."""


class Graded(Ranked):
    """Base class for graded measures, which are undefined for queries without a grade > 0."""

    def _undefined(self, layout: Layout) -> np.ndarray:
        return layout.top_grades <= 0


@shared_fields
class Scaled(Measure):
    """Base class for measures that depend on the highest grade of the scale."""

    max_grade: float | None = parameter(
        default=None, check=number_validator("max_grade", 0, above=True, optional=True)
    )

    def _check_scale(self, max_grade: float, layout: Layout) -> float:
        """Return the highest grade of the scale; raise a ValueError if a grade exceeds it."""
        scale = layout.round_grade(max_grade)

        def is_outside(grades: np.ndarray) -> np.ndarray:
            return (grades > scale) | ((grades > 0) & (grades / scale == 0))  # 0: underflow

        if is_outside(layout.top_grades).any():
            row = int(np.argmax(is_outside(layout.grades)))
            raise ValueError(
                f"max_grade is {max_grade}, but y_true contains grade {layout.grades[row]:g} in row "
                f"{row}. Set max_grade to the highest grade of the data set's scale."
            )
        return scale

    def _find_tops(self, layout: Layout) -> np.ndarray | float:
        """Return the scale's top grade for each level: `max_grade` or the query's highest grade."""
        if self.max_grade is None:
            return layout.repeat_by_level(layout.top_grades)
        return self._check_scale(self.max_grade, layout)

    def _normalize(self, layout: Layout) -> np.ndarray:
        """Divide the grade of each level by the highest grade of its scale."""
        if self.max_grade is None:
            return layout.divide_levels(layout.levels, layout.top_grades)
        return layout.levels / self._check_scale(self.max_grade, layout)


class Gained(Graded):
    """Base class for measures with the parameter `gain`, whose default depends on the measure."""

    gain: str | Function

    def _grades_to_gain(self, layout: Layout) -> np.ndarray:
        """Return the grade of each level, as passed to the gain function."""
        return layout.levels

    def _compute_gains(self, layout: Layout) -> np.ndarray:
        """Divide the gain of each level by the top gain of its query, unless the top gain is 0."""
        if self.gain == "exp2":
            return relative_exp2_gains(self._grades_to_gain(layout), layout.level_starts)
        gains = (
            self._call_gain(self.gain, layout)
            if callable(self.gain)
            else self._grades_to_gain(layout)
        )
        return layout.divide_levels(gains, take_tops(gains, layout))

    def _call_gain(self, gain: Function, layout: Layout) -> np.ndarray:
        """Compute the gains of all levels with a single call of the user's function."""

        def call() -> np.ndarray:
            grades = self._grades_to_gain(layout)
            gains = call_function(gain, "gain", grades)
            falls = np.diff(gains) < 0
            falls[layout.level_starts[1:-1] - 1] = False  # the next query may have lower gains
            if falls.any():
                i = int(np.argmax(falls))
                raise ValueError(
                    f"gain must not decrease as grades increase: the gain of grade {grades[i]:g} "
                    f"is {gains[i]:g}, but the gain of grade {grades[i + 1]:g} is {gains[i + 1]:g}."
                )
            return gains

        return layout.remember(("gain", self), call)

    def _refuse_gain_of_0(self, layout: Layout) -> None:
        """Raise a ValueError if a callable `gain` returns more than 0 for grade 0."""
        if not callable(self.gain):
            return
        gains = self._call_gain(self.gain, layout)[layout.level_starts[:-1]]
        if gains.any():
            raise ValueError(
                f"In {type(self).__name__}, gain must return 0 for grade 0, because grade 0 means "
                f"irrelevant; got {gains[gains > 0][:1]!r}."
            )

    def _undefined(self, layout: Layout) -> np.ndarray:
        tops = layout.top_grades
        if callable(self.gain):
            tops = np.minimum(tops, take_tops(self._call_gain(self.gain, layout), layout))
        return tops <= 0


def count_relevant(layout: Layout, relevant: np.ndarray) -> np.ndarray:
    """Return R_t, the number of relevant documents in each query, as an array."""
    return layout.sum_levels(layout.counts * relevant)


def take_tops(per_level: np.ndarray, layout: Layout) -> np.ndarray:
    """Return the value for the highest level of each query, as an array."""
    return per_level[layout.level_starts[1:] - 1]
