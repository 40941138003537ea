"""Helpers that check for optional packages and raise errors that name missing packages."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

DISTRIBUTIONS = {"jinja2": "Jinja2"}  # distribution names that differ from module names


@contextmanager
def needs(caller: str, *packages: str, extra: str = "all") -> Iterator[None]:
    """Raise an ImportError with a pip command if an import in the ``with`` block fails.

    The error names the missing `packages` or, if all are installed, the module that failed to load.
    """
    try:
        yield
    except ImportError as error:
        failed = (error.name or " ".join(str(error).split())).partition(".")[0]
        missing = [name for name in packages if not is_installed(name)] or [failed]
        *others, last = [DISTRIBUTIONS.get(name, name) for name in missing]
        shown = f"{', '.join(others)} and {last}" if others else last
        raise ImportError(f'{caller} needs {shown}: pip install "skgraded[{extra}]"') from error


def is_installed(*packages: str) -> bool:
    """Return whether the given packages or modules all exist, without importing them."""
    try:
        return all(find_spec(name) is not None for name in packages)
    except ImportError:  # raised by an import hook
        return False
