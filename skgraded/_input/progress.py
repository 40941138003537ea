"""Progress bars for long computations."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from skgraded._input.needs import is_installed, needs


def check_progress(progress: bool) -> None:
    """Raise an ImportError if a progress bar is requested, but tqdm is not installed."""
    if progress:
        with needs("progress=True", "tqdm"):
            import tqdm  # noqa: F401


def progress_bar(*args: Any, **settings: Any) -> Any:
    """Return a tqdm progress bar that is shown only on a terminal or in a notebook."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm.auto warns if ipywidgets is not installed
        from tqdm.auto import tqdm

    # With disable=None, tqdm would hide the bar in notebooks, whose output is not a terminal.
    return tqdm(*args, **settings, disable=False if "ipykernel" in sys.modules else None)


def unseen(n: int) -> None:
    """Do nothing; used if no progress bar is shown."""


@contextmanager
def counting_bar(
    is_shown: bool, total: int | None, **settings: Any
) -> Iterator[Callable[[int], Any]]:
    """Yield a function that advances a progress bar or, if no bar is shown, does nothing."""
    if not is_shown or not is_installed("tqdm"):
        yield unseen
        return
    with progress_bar(total=total, leave=False, delay=0.5, **settings) as bar:
        yield bar.update
