"""Import the library of an engine, or skip the test with the same reason in every file."""

import shutil

import pytest

LIBRARIES = {
    "dask": ("Dask", "test-all"),
    "distributed": ("Dask", "test-all"),
    "pyspark": ("PySpark", "test-all"),
}


def library(module):
    """Return the module; skip the test if its package is not installed."""
    name, extra = LIBRARIES[module.partition(".")[0]]
    return pytest.importorskip(module, reason=f'needs {name}: pip install "skgraded[{extra}]"')


def pyspark_and_java():
    """Skip the test unless PySpark and Java are installed."""
    library("pyspark")
    if shutil.which("java") is None:
        pytest.skip("needs Java 17, which Spark runs on")
