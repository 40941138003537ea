"""The line of the user's code that calls the package, and warnings that point to it."""

import sys
import warnings
from types import FrameType

PACKAGE = __name__.partition(".")[0]


def warn_user(
    message: str, category: type[Warning] = UserWarning, *, through: str = PACKAGE
) -> None:
    """Issue a warning at the first line outside the package on the call stack.

    `through` is a library between the user's line and the package, such as one that calls metrics.
    """
    frame = find_calling_frame(through)
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def find_calling_frame(through: str = PACKAGE) -> FrameType:
    """Return the innermost frame outside the package, and outside the library `through`.

    Python 3.11 lacks `skip_file_prefixes`.
    """
    frame, inside = sys._getframe(1), (PACKAGE, through)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in inside:
        frame = frame.f_back
    return frame
