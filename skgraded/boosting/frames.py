"""Access to stack frames of a boosting library from within callbacks and metrics."""

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any


def library_locals(name: str, kind: type) -> Mapping[str, Any]:
    """Return the locals of the innermost library frame whose variable `name` has type `kind`.

    Metrics and callbacks do not receive the Booster or the Dataset, but both are local variables of
    the calling library functions. Without such a function on the stack, the dict is empty.
    """
    library = kind.__module__.partition(".")[0]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package == library and isinstance(frame.f_locals.get(name), kind):
            return frame.f_locals
        frame = frame.f_back
    return {}
