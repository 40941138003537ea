"""Messages for users: suggestions, plurals, and warnings that point to the user's code."""

import difflib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

LONGEST = 100  # maximum number of characters to compare, because comparisons take quadratic time


_IGNORED = str.maketrans("", "", "_- ")


def normalize_name(name: str) -> str:
    """Normalize a name for comparison: ignore case, underscores, hyphens and spaces."""
    return name.translate(_IGNORED).casefold()  # casefold unifies the two Unicode characters for μ


def find_nearest(word: object, known: Iterable[Any]) -> str | None:
    """Return the known word most similar to `word`, ignoring case, or None if none is similar."""
    by_key = {name.lower()[:LONGEST]: name for name in map(str, known)}
    near = difflib.get_close_matches(str(word).lower()[:LONGEST], by_key, n=1, cutoff=0.75)
    return by_key[near[0]] if near else None


def suggest_name(word: object, known: Iterable[Any]) -> str:
    """Return " Did you mean …?" with the nearest known word, or "" if no word is similar."""
    near = find_nearest(word, known)
    return "" if near is None else f" Did you mean {near!r}?"


def quote_names(names: Sequence[Any]) -> str:
    """Return the first 20 names for a message."""
    quoted = [f"{name!r:.60}" for name in names[:20]]
    return ", ".join(quoted if len(names) <= 20 else [*quoted, "…"]) or "none"


def choose_noun(n: int, singular: str, several: str) -> str:
    """Return the singular or plural form of a word for `n` items."""
    return singular if n == 1 else several


def counted(n: int, singular: str, several: str) -> str:
    """Return a number and the matching noun, such as "3 queries"."""
    return f"{n:,} {choose_noun(n, singular, several)}"


# Control characters (except tab and newline), text direction marks and lone surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape_unprintable(text: str) -> str:
    """Escape characters that a terminal would interpret or cannot print."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# Warnings at the line of the user's code that calls the package ----------------------------------

PACKAGE = __name__.partition(".")[0]


CALLERS = ("sklearn", "joblib", "catboost")  # libraries whose functions call this package


_is_trusted: ContextVar[bool] = ContextVar("is_trusted", default=False)


@contextmanager
def trust_input() -> Iterator[None]:
    """Suppress warnings about input that a public function has already checked."""
    token = _is_trusted.set(True)
    try:
        yield
    finally:
        _is_trusted.reset(token)


def warn_of_input(message: str) -> None:
    """Issue a warning about the input, unless a public function has already checked it."""
    if not _is_trusted.get():
        warn_user(message)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the innermost caller outside skgraded and the libraries in `CALLERS`."""
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
    """Return the innermost stack frame whose code is outside the given packages."""
    frame = sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in packages:
        frame = frame.f_back
    return frame
