"""Base classes for measures with a relevance threshold, a grade scale or a gain."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgraded._kernels.layout import relative_exp2_gains
from skgraded.judgments import Layout
from skgraded.measures.base import Function, Measure, Ranked, call_checked, shared_fields

LN2 = np.log(2.0)


@shared_fields
class Relevance(Measure):
    """Base class for measures that are undefined for queries without relevant documents."""

    threshold: float | None = None

    def _relevant(self, layout: Layout) -> np.ndarray:
        """Return a mask of the levels with a grade ≥ `threshold` (> 0 if it is None)."""
        if self.threshold is None:
            return layout.levels > 0
        return layout.levels >= layout.on_scale(self.threshold)

    def _relevant_weights(self, layout: Layout, depth: int) -> np.ndarray:
        """Return the weight of each level: 1 / min(R_t, depth) for relevant levels, else 0."""
        relevant = self._relevant(layout)
        n = np.minimum(n_relevant(layout, relevant), depth)
        return relevant / layout.by_level(np.maximum(n, 1))

    def _undefined(self, layout: Layout) -> np.ndarray:
        return n_relevant(layout, self._relevant(layout)) == 0


@shared_fields
class Thresholded(Ranked, Relevance):
    """Base class for measures with a relevance threshold, a cut-off and a tie rule."""


class Graded(Ranked):
    """Base class for graded measures, which are undefined for queries without a grade > 0."""

    def _check(self, layout: Layout) -> None:
        max_grade = getattr(self, "max_grade", None)
        if max_grade is not None and layout.top_grades.max() > layout.on_scale(max_grade):
            raise too_high(self, layout.grades, layout.on_scale(max_grade))

    def _undefined(self, layout: Layout) -> np.ndarray:
        return layout.top_grades <= 0

    def _tops(self, layout: Layout) -> np.ndarray | float:
        """Return the scale's top grade for each level: `max_grade` or the query's highest grade."""
        max_grade = getattr(self, "max_grade", None)
        if max_grade is None:
            return layout.by_level(layout.top_grades)
        return layout.on_scale(max_grade)

    def _normalized(self, layout: Layout) -> np.ndarray:
        """Divide the grade of each level by the highest grade of its scale."""
        max_grade = getattr(self, "max_grade", None)
        if max_grade is None:
            return layout.divided(layout.levels, layout.top_grades)
        return layout.levels / layout.on_scale(max_grade)


class Gained(Graded):
    """Base class for measures with the parameter `gain`, which maps grades to gains."""

    gain: str | Function

    def _gained_grades(self, layout: Layout) -> np.ndarray:
        """Return the grade of each level, as passed to the gain function."""
        return layout.levels

    def _gains(self, layout: Layout) -> np.ndarray:
        """Divide the gain of each level by the top gain of its query, unless the top gain is 0."""
        if self.gain == "exp2":
            return relative_exp2_gains(self._gained_grades(layout), layout.level_starts)
        is_linear = self.gain == "linear"
        gains = self._gained_grades(layout) if is_linear else self._called_gains(layout)
        return layout.divided(gains, of_tops(gains, layout))

    def _called_gains(self, layout: Layout) -> np.ndarray:
        """Compute the gains of all levels with a single call of the user's function."""

        def call() -> np.ndarray:
            grades = self._gained_grades(layout)
            gains = call_checked(self.gain, "gain", grades)
            falls = np.diff(gains) < 0
            falls[layout.level_starts[1:-1] - 1] = False  # steps between two queries may fall
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
        gains = self._called_gains(layout)[layout.level_starts[:-1]]
        if gains.any():
            raise ValueError(
                f"In {type(self).__name__}, gain must return 0 for grade 0, because grade 0 means "
                f"irrelevant; got {gains[gains > 0][:1]!r}."
            )

    def _undefined(self, layout: Layout) -> np.ndarray:
        undefined = super()._undefined(layout)
        if callable(self.gain):
            undefined |= of_tops(self._called_gains(layout), layout) <= 0
        return undefined


def too_high(measure: Any, grades: np.ndarray, highest: float) -> ValueError:
    """Return the error for the first grade above the measure's `max_grade`."""
    row = int(np.argmax(grades > highest))
    return ValueError(
        f"max_grade is {measure.max_grade}, but y_true contains grade {grades[row]:g} in row "
        f"{row}. Set max_grade to the highest grade of the data set's scale."
    )


def n_relevant(layout: Layout, relevant: np.ndarray) -> np.ndarray:
    """Return R_t, the number of relevant documents in each query, as an array."""
    return layout.sum_levels(layout.counts * relevant)


def of_tops(per_level: np.ndarray, layout: Layout) -> np.ndarray:
    """Return the value for the highest level of each query, as an array."""
    return per_level[layout.level_starts[1:] - 1]
