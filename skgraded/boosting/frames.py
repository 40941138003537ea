"""Access to stack frames of other libraries, for values that are not passed to our code."""

import sys
from collections.abc import Mapping
from traceback import walk_stack
from typing import Any


def find_library_locals(name: str, kind: type) -> Mapping[str, Any]:
    """Return the locals of the innermost library frame whose variable `name` has type `kind`.

    Metrics and callbacks do not receive the Booster or the Dataset, but both are local variables of
    the calling library functions. Without such a function on the stack, the dict is empty.
    """
    library = kind.__module__.partition(".")[0]
    for frame, _ in walk_stack(sys._getframe(1)):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package == library and isinstance(frame.f_locals.get(name), kind):
            return frame.f_locals
    return {}


def find_pipeline_input(X: Any) -> Any:
    """Return the X that was passed to the outermost ``Pipeline.score`` on the stack, or else `X`.

    A pipeline calls ``score`` of its last step with the rows that the other steps return, in which
    the query ids may be encoded.
    """
    from sklearn.pipeline import Pipeline

    passed = X
    for frame, _ in walk_stack(sys._getframe(2)):
        if frame.f_code.co_name == "score" and isinstance(frame.f_locals.get("self"), Pipeline):
            outer: Any = frame.f_locals.get("X")
            # If a step scores other rows, the number of rows differs.
            if hasattr(outer, "shape") and outer.shape[0] == X.shape[0]:
                passed = outer
    return passed


def find_cross_validated(splitter: object) -> Any:
    """Return the estimator that a function of scikit-learn cross-validates with a splitter, or None.

    These functions call the splitter with X, but do not pass the estimator.
    """
    for frame, _ in walk_stack(sys._getframe(1)):
        is_of_sklearn = str(frame.f_globals.get("__name__")).startswith("sklearn.")
        if is_of_sklearn and frame.f_locals.get("cv") is splitter:
            return frame.f_locals.get("base_estimator", frame.f_locals.get("estimator"))
    return None
