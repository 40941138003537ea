"""Versions of the libraries that produced a report."""

import platform
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from skgraded._kernels.threads import count_threads

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
    """Return a dict of the versions of Python and of the libraries that affect results."""
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
