"""Warnings that point to the user's line, however many calls of the package are in between."""

import sys
import warnings

PACKAGE = __name__.partition(".")[0]


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the first line outside the package on the call stack."""
    frame, stacklevel = sys._getframe(1), 2  # Python 3.11 lacks `skip_file_prefixes`
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(message, category, stacklevel=stacklevel)
