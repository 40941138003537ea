"""A pytest plugin: tests that need a package without a wheel for this Python are skipped.

SKGRADED_WITHOUT names these packages, see `.ci/interpreters`. If any other package is missing, the
tests that need it fail.

    PYTHONPATH=.ci SKGRADED_WITHOUT="catboost polars" python -m pytest -p left_out
"""

import doctest
import os

import pytest

WITHOUT = set(os.environ.get("SKGRADED_WITHOUT", "").replace("-cpu", "").split())


def missing_package(error):
    """Return the package of `WITHOUT` whose failed import caused `error`, or None."""
    while error is not None:
        if isinstance(error, doctest.UnexpectedException):
            error = error.exc_info[1]
        package = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ImportError) and package in WITHOUT:
            return package
        error = error.__cause__ or error.__context__
    return None


def skipped_if_missing(report, call):
    package = missing_package(call.excinfo.value) if report.failed and call.excinfo else None
    if package:
        path, line, _ = report.location
        report.outcome = "skipped"
        report.longrepr = (path, line or 0, f"{package} has no wheel for this Python")
    return report


def pytest_ignore_collect(collection_path):
    # pytest keeps a module whose import failed, so later imports would find half of its names.
    return True if "skgraded" in collection_path.parts and collection_path.stem in WITHOUT else None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    return skipped_if_missing(report, report.call)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return skipped_if_missing((yield), call)
