"""Ctrl-C ends the command at once and in silence; whoever imports the package keeps Python's way.

Python's way is an exception, whose traceback would be shown while the command still imports what it
needs, which takes a second or more. The system's way is to end the process.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def end_quietly() -> None:
    """Let Ctrl-C end this process, if it is the command and nobody has chosen another way."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def raising() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt where the command must clean up after itself."""
    ends = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    )
    if not ends:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _is_command():
    """Whether the process is `skgraded` or `python -m skgraded`, which is being imported."""
    if threading.current_thread() is not threading.main_thread():
        return False
    first = sys.argv[0] if getattr(sys, "argv", None) else ""
    if first == "-m":  # Python looks for the module that it is to run
        given = sys.orig_argv
        return any(
            word == "-mskgraded" or (word == "-m" and following == "skgraded")
            for word, following in zip(given, [*given[1:], ""], strict=True)
        )
    return os.path.basename(first).removesuffix(".exe") == "skgraded"
