"""Versions of what a report was made with."""

import platform
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from skgraded._kernels.sort import fastest
from skgraded._kernels.threads import n_threads

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
    System:
        python: ...
    """
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    sections = {
        "System": {
            "python": sys.version.replace("\n", " "),
            "executable": sys.executable,
            "machine": platform.platform(),
        },
        "Python dependencies": _versions_of((*LIBRARIES, *OPTIONAL)),
        "Compiled code": {
            "keys sorted by": fastest(),
            "threads": n_threads(),
            "GIL": "yes" if has_gil else "no",
        },
    }
    width = max(len(name) for section in sections.values() for name in section)
    texts = []
    for title, section in sections.items():
        lines = [f"{name.rjust(width)}: {text}" for name, text in section.items()]
        texts.append("\n".join([f"{title}:", *lines]))
    print("\n\n".join(texts))


@cache
def _versions_of(names):
    from skgraded import __version__

    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = __version__ if name == "skgraded" else version(name)
    return found
