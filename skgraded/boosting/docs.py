"""Paragraphs that the docstrings of the boosting libraries share."""

import inspect
from collections.abc import Callable
from typing import TypeVar

from skgraded._input.docs import with_parameters

PARAMETERS = """
measure : Measure or str
    NDCG, NDCNG, AP, MuAP, GAP or RBP, with or without a cut-off.
measures : Measure, str, or list of these
    What to compute; a list is computed from one sort of the predictions.
every : int, default=1
    Compute at rounds 1, every + 1, 2 · every + 1, … and repeat the last values between. Each
    training counts anew.
truncation : int, default=30
    One document of each pair must be among this many first ranks, as with LightGBM's
    ``lambdarank_truncation_level`` and XGBoost's ``lambdarank_num_pair_per_sample``; a few more
    than the cut-off.
sigmoid : float, default=1.0
    How steep the probability of a wrong order is: 1 / (1 + exp(sigmoid · difference)).
norm : bool, default=True
    Whether a pair counts less the further its scores are apart, and a query with large
    gradients less, as with LightGBM's ``lambdarank_norm``.
"""
RAISES = """

Raises
------
ValueError, TypeError
    If a measure cannot be read, is given twice or cannot be used here, or if another argument is
    out of range."""
ON_METRICS = """

Notes
-----
The values are those of the measures themselves, ties and all. The weight of a query is the mean
over its rows.

A call raises a ValueError where a number would mislead: for predictions that are NaN or of several
classes; for a set without queries, or one in which a measure is undefined for every query that has
weight, whatever the measure's `undefined`.

The grades of a set are laid out when it is first met and released with it. If its labels, queries
or weights change, also in place, they are laid out anew.

The libraries keep labels as 32-bit floats, and 0.7 as one of these is below 0.7. So each label is
read as the shortest decimal that it may have come from: a grade written with up to six digits is
itself again. The `threshold` and `max_grade` of a measure are rounded the same way, so that a grade
that reached a threshold still does."""
ON_OBJECTIVES = """

Notes
-----
Swapping two documents changes the measure by Δ. The document with the higher grade is pushed up by
σ abs(Δ) / (1 + exp(σ d)) and the other down, where d is how much the higher grade's score is above
the other's. With ``norm`` abs(Δ) is divided by 0.01 + abs(d), and the gradients of a query, λ the
sum of all pushes, are multiplied by log2(1 + λ) / λ. The weight of a query, the mean over its rows,
multiplies its gradients. Tied documents, at the first round all, are ranked by chance (the same in
each training), not in the order of rows.

Both derivatives are finite 32-bit floats. If `sigmoid` or a weight is so large that a derivative
exceeds 1.7e38 in magnitude, half of the largest such float, it is set to this limit.

A call raises a ValueError for a set without queries and for predictions that are not finite."""
F = TypeVar("F", bound=Callable)


def documented(notes: str = "") -> Callable[[F], F]:
    """Make a decorator that adds shared paragraphs: omitted parameters, the notes, and errors."""
    def decorate(function):
        if function.__doc__ is not None:  # python -OO
            names = inspect.signature(function).parameters
            doc = with_parameters(function.__doc__, names, PARAMETERS)
            function.__doc__ = doc + notes + RAISES
        return function

    return decorate
