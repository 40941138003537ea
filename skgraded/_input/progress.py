"""Bars that show how far long work is."""

import sys
import warnings
from contextlib import contextmanager

from skgraded._input.needs import is_installed


def progress_bar(*args, **settings):
    """A bar of tqdm, on a terminal or in a notebook only; an ImportError without tqdm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in a notebook without widgets tqdm.auto advises on them
        from tqdm.auto import tqdm

    # None: shown if standard error is a terminal, which it is not in a notebook
    return tqdm(*args, **settings, disable=False if "ipykernel" in sys.modules else None)


def unseen(n):
    """Take note of work that nobody watches."""


@contextmanager
def counting_bar(is_shown, total, **settings):
    """A function to tell how many more of `total` are done; with tqdm it moves a bar, if shown."""
    if not is_shown or not is_installed("tqdm"):
        yield unseen
        return
    with progress_bar(total=total, leave=False, delay=0.5, **settings) as bar:
        yield bar.update
