"""Access to the stack frames of a boosting library from inside its callbacks and metrics."""

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any


def library_locals(name: str, kind: type) -> Mapping[str, Any]:
    """Return the local variables of the innermost library function in which `name` is a `kind`.

    Metrics and callbacks do not receive the Booster or the Dataset, but both are local variables of
    the library functions that call them (listed in docs/relied_on.md). `kind` is a class of the
    library, such as its Booster. Return an empty dict if no such function is on the call stack.
    """
    library = kind.__module__.partition(".")[0]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package == library and isinstance(frame.f_locals.get(name), kind):
            return frame.f_locals
        frame = frame.f_back
    return {}
