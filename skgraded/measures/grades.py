"""What several measures ask of the grades: which are relevant, and whether they fit a scale."""

import numpy as np


def relevant_levels(judgments, threshold):
    """Whether each level of each query is relevant: grade ≥ threshold, or > 0 if that is None."""
    return judgments.levels > 0 if threshold is None else judgments.levels >= threshold


def n_relevant(judgments, relevant):
    """R_t: the number of documents of each query at its relevant levels, (n_queries,)."""
    return judgments.sum_levels(judgments.counts * relevant)


def share(relevant, judgments, n):
    """1 / n of the query at the relevant levels, 0 elsewhere; (n_levels,)."""
    return relevant / judgments.by_level(np.maximum(n, 1))


def normalized_levels(judgments, max_grade):
    """Each level's grade divided by `max_grade`, or by its query's top grade if that is None."""
    if max_grade is not None:
        refuse_grades_above(max_grade, judgments)
        return judgments.levels / max_grade
    tops = judgments.top_grades
    return judgments.levels / judgments.by_level(np.where(tops > 0, tops, 1.0))


def refuse_grades_above(max_grade, judgments):
    """Raise a ValueError that names the first row whose grade is above `max_grade`."""
    # As a 32-bit float, which is what LightGBM has, the top itself may be a little above it.
    highest = max(float(max_grade), float(np.float32(max_grade)))
    if judgments.levels.max() > highest:
        grades = judgments.grades
        row = int(np.argmax(grades > highest))
        raise ValueError(
            f"max_grade is {max_grade}, but y_true has {grades[row]:g} in row {row}. Give the "
            "top of the data set's scale."
        )
