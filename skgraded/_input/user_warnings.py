"""The line of the user's code that calls the package, and warnings that point to it."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

PACKAGE = __name__.partition(".")[0]
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
