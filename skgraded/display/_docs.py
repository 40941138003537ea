"""Paragraphs that the docstrings of the displays share."""

import inspect

from skgraded._input.docs import with_parameters

PARAMETERS = r"""
y_true : array-like of shape (n,), or Judgments
    Grades ≥ 0, 0 = irrelevant.
y_score : array-like of shape (n,), or mapping of str to such
    The system's scores, the highest first; -inf: not retrieved. Of several systems the scores by
    name.
qid : array-like of shape (n,), optional
    The query of each row, in any row order.
group : array-like of shape (n_queries,), optional
    Sizes of consecutive queries, in place of `qid`.
sample_weight : array-like of shape (n,), optional
    A query's weight is the mean over its rows.
comparison : Comparison
    As `compare` makes it.
name : str, optional
    The system's name. A mapping has names of its own.
measure : Measure or str, optional
    By default the first.
measures : Measure, str, or list of these, optional
    By default all.
level, method, n_resamples, rng
    As for `Evaluation.summary`, of which it draws the numbers.
ax : matplotlib.axes.Axes, optional
    Where to draw; None: in a new figure.
**kwargs : dict
    Settings of matplotlib for what `plot` draws.
"""
END = """
Returns
-------
display
    Of this class.

Raises
------
ValueError, TypeError
    On bad input, before any work.
ImportError
    If there is no matplotlib."""


def documented(method):
    """Give a docstring the shared paragraph of each parameter that it says nothing of."""
    if method.__doc__ is not None:  # python -OO
        _, *names = inspect.signature(method).parameters  # without self or cls
        method.__doc__ = with_parameters(method.__doc__, names, PARAMETERS) + END
    return method
