"""Progress bars for long computations."""

import sys
import warnings
from contextlib import contextmanager

from skgraded._input.needs import is_installed


def progress_bar(*args, **settings):
    """Make a tqdm bar, shown only on a terminal or in a notebook; requires tqdm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm.auto warns if ipywidgets is not installed
        from tqdm.auto import tqdm

    # With disable=None, tqdm hides the bar if the output is not a terminal, as in a notebook.
    return tqdm(*args, **settings, disable=False if "ipykernel" in sys.modules else None)


def unseen(n):
    """Ignore progress that is not shown."""


@contextmanager
def counting_bar(is_shown, total, **settings):
    """Yield a function that adds to the progress; it advances a bar if tqdm is installed."""
    if not is_shown or not is_installed("tqdm"):
        yield unseen
        return
    with progress_bar(total=total, leave=False, delay=0.5, **settings) as bar:
        yield bar.update
