"""Names of arguments in scikit-learn and in other tools, for error messages."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")

# Our names of arguments, keyed by the names in other tools; a function has at most one of them.
OUR_NAMES = {
    "metrics": ("measures", "measure"),
    "metric": ("measures", "measure"),
    "groups": ("qid",),
    "y_pred": ("y_score", "runs"),
    "scores": ("y_score", "runs"),
}


def suggest_arguments(function: Callable[P, Result]) -> Callable[P, Result]:
    """Raise a TypeError with our name of an argument that has another name in other tools."""
    known = inspect.signature(function).parameters

    @wraps(function)
    def call_function(*args: P.args, **kwargs: P.kwargs) -> Result:
        for name in OUR_NAMES.keys() & kwargs.keys() - known.keys():
            for ours in known.keys() & set(OUR_NAMES[name]):
                raise TypeError(
                    f"{function.__name__}() has no argument {name!r}: pass it as {ours}=."
                )
        return function(*args, **kwargs)

    return call_function
