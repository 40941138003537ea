"""What several measures ask of the grades: which are relevant, what they gain, on which scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgraded.judgments import Judgments
from skgraded.measures.base import call_checked

LN2 = np.log(2.0)
SMALL = 1e-200  # of top grades below this, what is computed may lose its digits


def relevant_levels(judgments: Judgments, threshold: float | None) -> np.ndarray:
    """Whether each level of each query is relevant: grade ≥ threshold, or > 0 if that is None."""
    if threshold is None:
        return judgments.levels > 0
    return judgments.levels >= judgments.on_scale(threshold)


def n_relevant(judgments: Judgments, relevant: np.ndarray) -> np.ndarray:
    """R_t: the number of documents of each query at its relevant levels, (n_queries,)."""
    return judgments.sum_levels(judgments.counts * relevant)


def relevant_weights(judgments: Judgments, relevant: np.ndarray, depth: float) -> np.ndarray:
    """1 / min(R_t, depth) of the query at the relevant levels, 0 elsewhere; (n_levels,)."""
    n = np.minimum(n_relevant(judgments, relevant), depth)
    return relevant / judgments.by_level(np.maximum(n, 1))


def divisors(values: np.ndarray) -> np.ndarray:
    """The values, 1 in place of 0: to divide by."""
    return np.where(values > 0, values, 1.0)


def normalized_levels(judgments: Judgments, max_grade: float | None) -> np.ndarray:
    """Each level's grade divided by `max_grade`, or by its query's top grade if that is None."""
    if max_grade is not None:
        refuse_grades_above(max_grade, judgments)
        return judgments.levels / judgments.on_scale(max_grade)
    return judgments.levels / judgments.by_level(divisors(judgments.top_grades))


def refuse_grades_above(max_grade: float, judgments: Judgments) -> None:
    """Raise a ValueError that names the first row whose grade is above `max_grade`."""
    highest = judgments.on_scale(max_grade)
    if judgments.levels.max() > highest:
        grades = judgments.grades
        row = int(np.argmax(grades > highest))
        raise ValueError(
            f"max_grade is {max_grade}, but y_true has {grades[row]:g} in row {row}. Give the "
            "top of the data set's scale."
        )


def relative_gains(measure: Any, grades: np.ndarray, judgments: Judgments) -> np.ndarray:
    """Gain of each level divided by the gain of its query's top level; 0 where that is 0."""
    if measure.gain == "exp2":
        return relative_exp2_gains(grades, judgments)
    if measure.gain == "linear":
        return grades / judgments.by_level(divisors(_of_tops(grades, judgments)))
    gains = _called_gains(measure, grades, judgments)
    return gains / judgments.by_level(divisors(_of_tops(gains, judgments)))


@np.errstate(under="ignore")  # beside a grade of 900, one of 1 gains nothing
def relative_exp2_gains(grades: np.ndarray, judgments: Judgments) -> np.ndarray:
    """Gain 2^g - 1 of each level g divided by that of its query's top level; 0 where that is 0."""
    tops = divisors(_of_tops(grades, judgments))
    if tops.min() < SMALL:  # speed only
        # 2^g - 1 of so small a g is g ln 2, and only ratios count
        scale = np.where(tops < SMALL, 2.0**600, 1.0)
        grades, tops = grades * judgments.by_level(scale), tops * scale
    # (2^g - 1) / (2^G - 1) = 2^(g - G) · expm1(-g ln 2) / expm1(-G ln 2), true for grades of
    # 900 as for 1e-300; step by step, since levels may be as many as rows
    gains = -LN2 * grades
    np.expm1(gains, out=gains)
    if (tops == tops[0]).all():  # one number in place of many
        tops = tops[:1]
    gains /= _of_levels(np.expm1(-LN2 * tops), judgments)
    below_top = grades - _of_levels(tops, judgments)
    gains *= np.exp2(below_top, out=below_top)
    return gains


def _called_gains(measure, grades, judgments):
    """What the user's function gives for the grades of all levels; it is called only once."""
    def call():
        gains = call_checked(measure.gain, "gain", grades)
        falls = np.diff(gains) < 0
        falls[judgments.level_starts[1:-1] - 1] = False  # from one query to the next
        if falls.any():
            i = int(np.argmax(falls))
            raise ValueError(
                f"gain must not fall where the grade rises: grade {grades[i]:g} has {gains[i]:g}, "
                f"grade {grades[i + 1]:g} has {gains[i + 1]:g}."
            )
        return gains

    return judgments.remember(("gain", measure), call)


def _of_tops(per_level, judgments):
    """The number of each query's top level, (n_queries,)."""
    return per_level[judgments.level_starts[1:] - 1]


def _of_levels(per_query, judgments):
    """A number of each query for each of its levels; one number of all queries as it is."""
    return per_query if len(per_query) == 1 else judgments.by_level(per_query)


def top_gains(measure: Any, judgments: Judgments) -> np.ndarray:
    """Gain of the top grade of each query, by which `relative_gains` divides; inf if too large."""
    if measure.gain == "linear":
        return judgments.top_grades
    if measure.gain == "exp2":
        with np.errstate(over="ignore"):
            return np.expm1(LN2 * judgments.top_grades)
    return _of_tops(_called_gains(measure, judgments.levels, judgments), judgments)


def refuse_gain_of_0(measure: Any, judgments: Judgments) -> None:
    """Raise a ValueError if a callable `gain` gives the grade 0, the first level, more than 0."""
    if not callable(measure.gain):
        return
    gains = _called_gains(measure, judgments.levels, judgments)[judgments.level_starts[:-1]]
    if gains.any():
        raise ValueError(
            f"gain must give 0 for the grade 0 in {type(measure).__name__}: no user takes an "
            f"irrelevant document for relevant; got {gains[gains > 0][:1]!r}."
        )


def without_gain(measure: Any, grades: np.ndarray, judgments: Judgments) -> np.ndarray:
    """Which queries have no grade > 0, or none that a callable `gain` gives one for."""
    irrelevant = judgments.top_grades <= 0
    if not callable(measure.gain):
        return irrelevant
    return irrelevant | (_of_tops(relative_gains(measure, grades, judgments), judgments) <= 0)
