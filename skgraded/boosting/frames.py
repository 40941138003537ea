"""The one place that looks into the frames of a boosting library while it calls us."""

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any


def library_locals(name: str, kind: type) -> Mapping[str, Any]:
    """Find the local variables of the innermost library function whose variable `name` is a `kind`.

    The libraries call metrics and callbacks without their training or their data set, which the
    calling functions have as local variables: docs/relied_on.md lists them. `kind` is a class of
    the library, such as its Booster. The result is empty for a call by hand.
    """
    library = kind.__module__.partition(".")[0]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package == library and isinstance(frame.f_locals.get(name), kind):
            return frame.f_locals
        frame = frame.f_back
    return {}
