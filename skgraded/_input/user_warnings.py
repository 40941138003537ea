"""The line of the user's code that calls the package, and warnings that point to it."""

import sys
import warnings
from types import FrameType

PACKAGE = __name__.partition(".")[0]


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the first line outside the package on the call stack."""
    frame = calling_frame()
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def calling_frame() -> FrameType:
    """Return the innermost frame outside the package; Python 3.11 lacks `skip_file_prefixes`."""
    frame = sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE:
        frame = frame.f_back
    return frame
