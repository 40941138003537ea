"""The only code that reads the stack frames of a boosting library while the library calls us."""

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any


def library_locals(name: str, kind: type) -> Mapping[str, Any]:
    """Find the local variables of the innermost library function whose variable `name` is a `kind`.

    Metrics and callbacks receive neither the training nor the data set, but the library functions
    that call them have both in local variables, which docs/relied_on.md lists. `kind` is a class
    of the library, such as its Booster. If no library is calling, the result is empty.
    """
    library = kind.__module__.partition(".")[0]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package == library and isinstance(frame.f_locals.get(name), kind):
            return frame.f_locals
        frame = frame.f_back
    return {}
