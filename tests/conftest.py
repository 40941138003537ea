"""Fixtures that every test may use: the folder of real data, and the kinds of columns."""

import gc
import os
import signal
import sys
from collections import Counter
from pathlib import Path

# Threads cost small fits more time than they save. The variables must be set before the boosting
# libraries are imported; LightGBM ignores OMP_NUM_THREADS. test_threads.py tests several threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_THREAD_LIMIT", "1")

# A shell ignores interrupts in background processes, and so would processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import numpy as np
import pandas as pd
import pytest

# Test files import the helpers (oracle, queries, registry, …) and the conformance suite by name.
sys.path.insert(0, str(Path(__file__).parent / "helpers"))
sys.path.append(str(Path(__file__).parents[1] / "conformance"))


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Run the whole suite on all processors if pytest-xdist is installed."""
    is_whole = Path(__file__).parent in [Path(argument).absolute() for argument in config.args]
    has_xdist = config.pluginmanager.hasplugin("xdist") and not hasattr(config, "workerinput")
    if is_whole and has_xdist and config.option.numprocesses is None:
        config.option.numprocesses, config.option.maxprocesses = "auto", 8
        config.option.dist = "loadfile"  # a file's fixtures, such as a browser, are created once
        config.option.loadscopereorder = False  # files with many tests are not the slowest


# The slowest files, which run first so that no processor idles at the end.
SLOWEST = (
    "test_spark",
    "test_dask",
    "test_hostile_streams",
    "test_html_browser",
    "test_examples",
)


def pytest_collection_modifyitems(items):
    """Run the slowest files first, and skip nightly tests unless SKGRADED_NIGHTLY is set."""
    items.sort(key=lambda item: item.path.stem not in SLOWEST)
    if not os.environ.get("SKGRADED_NIGHTLY"):
        for item in items:
            if item.get_closest_marker("nightly"):
                item.add_marker(pytest.mark.skip(reason="runs nightly: set SKGRADED_NIGHTLY=1"))


def pytest_collection_finish():
    """Exclude the objects that the collection created from garbage collection.

    Some tests run the garbage collector to find live objects; this makes it faster.
    """
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Include these objects again, because other plugins may search for objects."""
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter):
    """Print each reason for skipped tests once, with the number of tests.

    If SKGRADED_SKIPPED names a file, write the node ids of the skipped tests to it, one per line:
    pytest runs these tests if it receives @ and the name of the file.
    """
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    if reasons:
        terminalreporter.section("skipped tests")
    for reason, n in reasons.most_common():
        terminalreporter.write_line(f"{n:5} {reason}")
    if path := os.environ.get("SKGRADED_SKIPPED"):
        node_ids = dict.fromkeys(report.nodeid for report in reports)
        Path(path).write_text("".join(f"{node_id}\n" for node_id in node_ids), encoding="utf-8")


@pytest.fixture(scope="session")
def data_dir():
    """Folder of the real data; the test is skipped if there is no such folder."""
    folder = os.environ.get("SKGRADED_DATA")
    if not folder:
        pytest.skip("SKGRADED_DATA is not set: it names the folder of the real test data")
    return Path(folder)


def _polars_series(values, dtype):
    polars = pytest.importorskip("polars")
    return polars.Series("grade", values, dtype=getattr(polars, dtype))


# Each function converts non-negative integers to a column in one kind of container.
COLUMN_KINDS = {
    "list": list,
    "list of floats": lambda values: [float(value) for value in values],
    "tuple": tuple,
    "range-like list of numpy scalars": lambda values: [np.int32(value) for value in values],
    "float64": lambda values: np.array(values, dtype=np.float64),
    "float32": lambda values: np.array(values, dtype=np.float32),
    "float16": lambda values: np.array(values, dtype=np.float16),
    "long double": lambda values: np.array(values, dtype=np.longdouble),
    "int64": lambda values: np.array(values, dtype=np.int64),
    "int8": lambda values: np.array(values, dtype=np.int8),
    "uint8": lambda values: np.array(values, dtype=np.uint8),
    "uint64": lambda values: np.array(values, dtype=np.uint64),
    "big-endian float": lambda values: np.array(values, dtype=">f8"),
    "big-endian int": lambda values: np.array(values, dtype=">i4"),
    "bool": lambda values: np.array(values, dtype=bool),
    "object": lambda values: np.array([int(value) for value in values], dtype=object),
    "strided": lambda values: np.repeat(np.array(values, dtype=float), 3)[::3],
    "reversed view": lambda values: np.array(values[::-1], dtype=float)[::-1],
    "read-only": lambda values: np.frombuffer(np.array(values, dtype=float).tobytes()),
    "memoryview": lambda values: memoryview(np.array(values, dtype=float)),
    "pandas float": lambda values: pd.Series(values, dtype=float),
    "pandas int": lambda values: pd.Series(values, dtype=int),
    "pandas bool": lambda values: pd.Series(values, dtype=bool),
    "pandas Int64": lambda values: pd.Series(values, dtype="Int64"),
    "pandas Float64": lambda values: pd.Series(values, dtype="Float64"),
    "pandas boolean": lambda values: pd.Series([bool(v) for v in values], dtype="boolean"),
    "pandas object": lambda values: pd.Series([int(v) for v in values], dtype=object),
    # Labels that decrease and repeat, which must be ignored
    "pandas odd index": lambda values: pd.Series(
        values, dtype=float, index=[i // 2 for i in range(len(values), 0, -1)]
    ),
    "polars Int64": lambda values: _polars_series(values, "Int64"),
    "polars UInt8": lambda values: _polars_series(values, "UInt8"),
    "polars Float64": lambda values: _polars_series([float(v) for v in values], "Float64"),
    "polars Boolean": lambda values: _polars_series([bool(v) for v in values], "Boolean"),
}


@pytest.fixture(params=COLUMN_KINDS.values(), ids=COLUMN_KINDS.keys())
def make_column(request):
    """``make_column(values) -> (column, numbers)``: a column of one kind, and its values.

    ``values`` are whole numbers >= 0; ``numbers`` are the values of the column as floats, which
    differ from ``values`` for boolean columns.
    """

    def make(values):
        column = request.param(list(values))
        return column, [float(value) for value in column]

    return make
