"""Progress bars for long computations."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from skgraded._input.libraries import is_installed, needs


class Advance(Protocol):
    """A function that advances a progress bar by n steps, and shows a text after it."""

    def __call__(self, n: int, text: str = "") -> None: ...  # noqa: D102


def check_progress(progress: bool) -> None:
    """Raise an ImportError if a progress bar is requested, but tqdm is not installed."""
    if progress:
        with needs("progress=True", "tqdm"):
            import tqdm  # noqa: F401


def show_nothing(n: int, text: str = "") -> None:
    """Do nothing, because no progress bar is shown."""


@contextmanager
def show_progress(
    is_shown: bool,
    total: int | None,
    desc: str | None = None,
    unit: str = "it",
    unit_scale: bool = False,
) -> Iterator[Advance]:
    """Yield a function that advances a bar, which is shown only on a terminal or in a notebook."""
    if not is_shown or not is_installed("tqdm"):
        yield show_nothing
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm.auto warns if ipywidgets is not installed
        from tqdm.auto import tqdm

    # With disable=None, tqdm would hide the bar in notebooks, whose output is not a terminal.
    disable = False if "ipykernel" in sys.modules else None
    settings = {"desc": desc, "unit": unit, "unit_scale": unit_scale, "disable": disable}
    with tqdm(total=total, leave=False, delay=0.5, **settings) as bar:

        def advance(n: int, text: str = "") -> None:
            bar.set_postfix_str(text, refresh=False)
            bar.update(n)

        yield advance
