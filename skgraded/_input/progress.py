"""Bars that show how far long work is."""

import sys
import warnings


def progress_bar(*args, **settings):
    """A bar of tqdm, on a terminal or in a notebook only; an ImportError without tqdm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in a notebook without widgets tqdm.auto advises on them
        from tqdm.auto import tqdm

    # None: shown if standard error is a terminal, which it is not in a notebook
    return tqdm(*args, **settings, disable=False if "ipykernel" in sys.modules else None)
