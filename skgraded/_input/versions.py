"""Versions of what a report was made with."""

import platform
from importlib.metadata import PackageNotFoundError, version

LIBRARIES = ("skgraded", "numpy", "scipy", "scikit-learn")
OPTIONAL = (
    "joblib", "lightgbm", "xgboost", "xgboost-cpu", "catboost", "pandas", "polars", "pyarrow",
    "matplotlib", "Jinja2", "dask", "pyspark",
)


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that values and intervals come from, by name."""
    return {"python": platform.python_version()} | _versions_of(LIBRARIES)


def show_versions() -> None:
    """Print versions of Python, of skgraded and of all that it may use, for a report of a bug.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.show_versions()  # doctest: +ELLIPSIS
    python ...
    """
    found = versions() | {"platform": platform.platform()} | _versions_of(OPTIONAL)
    width = max(map(len, found))
    for name, text in found.items():
        print(f"{name.ljust(width)}  {text}")


def _versions_of(names):
    from skgraded import __version__

    found = {}
    for name in names:
        try:
            found[name] = __version__ if name == "skgraded" else version(name)
        except PackageNotFoundError:
            continue
    return found
