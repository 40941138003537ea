"""Parameters of measures: fields with a default and a check, and the checks that measures share."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import choice_validator, number_validator
from skgraded._kernels import sums

Function = Callable[[np.ndarray], ArrayLike]  # a user-defined gain or discount
TIES = {"average": sums.AVERAGE, "ordinal": sums.ORDINAL, "best": sums.BEST, "worst": sums.WORST}


def parameter(*, default: object, check: Callable[[Any], Any], kw_only: bool = True) -> Any:
    """Declare a parameter of a measure, which the docstring of the class describes.

    `check` raises a ValueError for an invalid value, and returns a valid value in the form in which
    it is stored. `default` must have this form.
    Pass it by name, so that editors can read it.
    """
    return dataclasses.field(default=default, kw_only=kw_only, metadata={"check": check})


check_ties = choice_validator("ties", TIES)
check_threshold = number_validator("threshold", 0, optional=True)
check_gain = choice_validator("gain", ("exp2", "linear"), or_callable=True)
check_persistence = number_validator("persistence", 0, 1, below=True)


def call_function(
    function: Function, name: str, arguments: np.ndarray, above_0: bool = False
) -> np.ndarray:
    """Call a user's function; check that it returns finite values ≥ 0 (> 0 if `above_0`)."""
    result = function(arguments.copy())
    try:
        values = np.array(result, dtype=float, order="C")  # the function may reuse its array
        good = np.shape(result) == arguments.shape and np.isfinite(values).all()
    except (TypeError, ValueError):
        good = False
    if not good or values.min() < 0 or (above_0 and values.min() == 0):
        bound = "> 0" if above_0 else "≥ 0"
        raise ValueError(
            f"Function {name} must return a finite number {bound} for each element of its "
            f"argument; for {arguments!r}, it returned {result!r}."
        )
    return values
