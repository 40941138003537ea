"""Support for other libraries: missing packages, versions, progress bars, unsupported objects."""

import platform
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Protocol

from skgraded._input.messages import PACKAGE, find_calling_frame
from skgraded._kernels.threads import count_threads

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


class Advance(Protocol):
    """A function that advances a progress bar by `n` steps and displays `text` after the bar."""

    def __call__(self, n: int, text: str = "") -> None: ...  # noqa: D102


def check_progress(progress: bool) -> None:
    """Raise an ImportError if a progress bar is requested but tqdm is not installed."""
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
    """Yield a function that advances a progress bar, which only terminals and notebooks display."""
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


LIBRARIES = ("skgraded", "numpy", "scipy", "scikit-learn")
OPTIONAL = (
    "joblib",
    "lightgbm",
    "xgboost",
    "xgboost-cpu",
    "catboost",
    "pandas",
    "narwhals",
    "polars",
    "pyarrow",
    "matplotlib",
    "Jinja2",
    "dask",
    "pyspark",
)


def versions() -> dict[str, str]:
    """Return a dict with the versions of Python and of the libraries that affect results."""
    return {"python": platform.python_version()} | _find_versions(LIBRARIES)


def show_versions() -> None:
    """Print the versions of Python, skgraded and its dependencies, for bug reports.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.show_versions()  # doctest: +ELLIPSIS
           python: ...
    """
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    system = {
        "python": sys.version.replace("\n", " "),
        "executable": sys.executable,
        "machine": platform.platform(),
        "threads": count_threads(),
        "GIL": "yes" if has_gil else "no",
    }
    for name, text in (system | _find_versions((*LIBRARIES, *OPTIONAL))).items():
        print(f"{name:>13}: {text}")


@cache
def _find_versions(names: Iterable[str]) -> dict[str, str]:
    from skgraded import __version__

    installed = {}
    for name in names:
        with suppress(PackageNotFoundError):
            installed[name] = __version__ if name == "skgraded" else version(name)
    return installed


ADVICE = (
    "With {0}, use a metric from skgraded.{0} to evaluate, or skgraded.QueryRanker(…, measure=…, "
    "early_stopping=True)."
)


def refuse_data_set(values: object, name: str) -> None:
    """Raise a TypeError for a polars LazyFrame or an object from a boosting library."""
    if type(values).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a polars LazyFrame, which has no rows yet: call collect().")
    modules = (cls.__module__.partition(".")[0] for cls in type(values).__mro__)
    library = next(filter(has_metrics, modules), None)
    if library is not None:
        raise TypeError(
            f"{name} must be an array; got a {type(values).__name__} from {library}. "
            f"{ADVICE.format(library)}"
        )


@cache
def has_metrics(library: str) -> bool:
    """Return whether skgraded has metrics and a public module for a boosting library."""
    return is_installed(f"skgraded.boosting.{library}", f"skgraded.{library}")


def refuse_library(measure: object) -> None:
    """Raise a TypeError if a boosting library uses the measure as a metric.

    XGBoost estimators would call the measure once per query or once for all rows, and minimize it.
    LightGBM and CatBoost are recognized when they copy a dict or list of parameters that contains
    the measure. If they copy another object that contains it, such as a custom metric, there is no
    error.
    """
    frame = find_calling_frame(PACKAGE)
    while frame.f_back and frame.f_globals.get("__name__") == "copy":
        if frame.f_code.co_name == "_reconstruct":
            return
        frame = frame.f_back
    library = str(frame.f_globals.get("__name__")).partition(".")[0]
    # CatBoost's get_params copies the parameters, but does not call the measure.
    if has_metrics(library) and frame.f_code.co_name != "get_params":
        raise TypeError(
            f"{measure} cannot be passed to {library}, which does not pass queries to metric "
            f"functions. {ADVICE.format(library)}"
        )
