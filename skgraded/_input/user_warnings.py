"""The line of the user's code that calls the package, and warnings that point to it."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

PACKAGE = __name__.partition(".")[0]
CALLERS = ("sklearn", "joblib", "catboost")  # libraries that call the package in their functions
_is_trusted: ContextVar[bool] = ContextVar("is_trusted", default=False)


@contextmanager
def trust_input() -> Iterator[None]:
    """Issue no warnings about input in this block, because a public function has checked it."""
    token = _is_trusted.set(True)
    try:
        yield
    finally:
        _is_trusted.reset(token)


def warn_of_input(message: str) -> None:
    """Issue a warning about input, unless a public function has already checked it."""
    if not _is_trusted.get():
        warn_user(message)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the first line outside the package and the libraries that call it."""
    frame = find_calling_frame(PACKAGE, *CALLERS)
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def find_calling_frame(*packages: str) -> FrameType:
    """Return the innermost frame outside some packages; Python 3.11 lacks `skip_file_prefixes`."""
    frame = sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in packages:
        frame = frame.f_back
    return frame
