"""Functions that find values in the stack frames of libraries that do not pass them to our code."""

import sys
from collections.abc import Mapping
from traceback import walk_stack
from typing import Any


def find_library_locals(name: str, kind: type) -> Mapping[str, Any]:
    """Return the locals of the innermost library frame whose variable `name` has type `kind`.

    Metrics and callbacks do not receive the Booster or the Dataset, but the library functions that
    call them have both as local variables. If there is no matching frame, return an empty dict.
    """
    library = kind.__module__.partition(".")[0]
    for frame, _ in walk_stack(sys._getframe(1)):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package == library and isinstance(frame.f_locals.get(name), kind):
            return frame.f_locals
    return {}


def find_pipeline_input(X: Any) -> Any:
    """Return the X of the outermost ``Pipeline.score`` call on the stack, or `X` if there is none.

    The transformers of a pipeline may have encoded the query ids in the `X` of its last step.
    """
    from sklearn.pipeline import Pipeline

    passed = X
    for frame, _ in walk_stack(sys._getframe(2)):
        if frame.f_code.co_name == "score" and isinstance(frame.f_locals.get("self"), Pipeline):
            outer: Any = frame.f_locals.get("X")
            # If the numbers of rows differ, a step of this pipeline is scoring other data.
            if hasattr(outer, "shape") and outer.shape[0] == X.shape[0]:
                passed = outer
    return passed


def find_cross_validated(splitter: object) -> Any:
    """Return the estimator that scikit-learn is cross-validating with the splitter, or None.

    scikit-learn calls the splitter with X, but does not pass the estimator.
    """
    for frame, _ in walk_stack(sys._getframe(1)):
        is_of_sklearn = str(frame.f_globals.get("__name__")).startswith("sklearn.")
        if is_of_sklearn and frame.f_locals.get("cv") is splitter:
            return frame.f_locals.get("base_estimator", frame.f_locals.get("estimator"))
    return None
