"""Random columns in containers of all kinds, and their values as plain Python objects.

A `Column` has the `container` and the values that it means (`meant`; None if every measure must
refuse them). This module does not use the package under test.
"""

import datetime
import math
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

INF, NAN = math.inf, math.nan
# Sums of powers of 2, which float32 represents exactly and the oracle accepts.
PLAIN = (0, 0, 1, 2, 3, 0.5, 0.25, 64, 900)
HUGE_AND_TINY = (2.0**1023, 1.7e308, 2.0**70, 2.0**-70, 2.0**-1022, 5e-324, -0.0, 10**400)
SCORES = (0, 1, 2, 0.5, -1, -0.0, 2.0**-1074, 1.7e308, -1.7e308, INF, -INF)
BAD = (NAN, None, INF, -INF, -1, -5e-324, "1", "", b"1", 1j, (1,), object())


class Column(NamedTuple):
    container: Any
    meant: list | None


def _frozen(values):
    array = np.array(values, dtype=float)
    array.flags.writeable = False
    return array


def _of_objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _days(ids):
    days = np.array(ids, dtype="M8[D]")
    if np.abs(days.astype(int)).max() > 100_000:  # years out of pandas' range
        raise ValueError
    return days


IMPOSSIBLE = (ValueError, TypeError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError)


def made(kind, values, instead):
    """Return a container of this kind, or `instead` if it cannot contain the values."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return kind(values)
    except IMPOSSIBLE:
        return instead


NUMBERS = [
    list,
    tuple,
    _of_objects,
    lambda values: np.ma.masked_invalid(np.array(values, dtype=float)),
    lambda values: np.repeat(np.array(values, dtype=float), 2)[::2],
    _frozen,
    lambda values: [Decimal(float(value)) for value in values],
    lambda values: [Fraction(float(value)) for value in values],
    lambda values: memoryview(np.array(values, dtype=float)),
    lambda values: pd.Index(values, dtype=float),
    lambda values: pd.Series(values, index=[0] * len(values)),
    lambda values: pa.array(values),
    lambda values: pa.chunked_array([values]),
    *(
        partial(np.array, dtype=dtype)
        for dtype in (float, ">f8", "f4", "f2", "g", int, "u1", "i1", "u8", ">i4", bool)
    ),
    *(
        partial(pd.Series, dtype=dtype)
        for dtype in (
            float,
            object,
            "Int64",
            "Float64",
            "Float32",
            "UInt8",
            "boolean",
            "category",
            "double[pyarrow]",
        )
    ),
    *(
        partial(pl.Series, "x", dtype=dtype)
        for dtype in (pl.Float64, pl.Float32, pl.Int64, pl.UInt8, pl.Boolean)
    ),
]
# Objects that are not columns of numbers.
NO_COLUMN = [
    set,
    frozenset,
    dict.fromkeys,
    iter,
    str,
    repr,
    lambda values: None,
    lambda values: 1.5,
    lambda values: [values],
    lambda values: [[value] for value in values],
    lambda values: [values, values[1:]],
    lambda values: np.array([values]).T,
    lambda values: pd.DataFrame({"x": values}),
    lambda values: pl.DataFrame({"x": values}),
    lambda values: [str(value) for value in values],
    lambda values: np.array(values, dtype=str),
    lambda values: np.array(values, dtype=complex),
    lambda values: [],
    lambda values: np.empty(0),
    lambda values: pd.Series([str(value) for value in values]),
    lambda values: np.array(["2026-01-01"] * len(values), dtype="M8[D]"),
    lambda values: np.zeros(len(values), dtype=[("a", float)]),
    lambda values: values.append,
]


def read(column):
    """Return the values of a column as floats (NaN: missing), or None if one is not a number."""
    floats = []
    for value in column.tolist() if hasattr(column, "tolist") else list(column):
        value = value.as_py() if hasattr(value, "as_py") else value
        if value is None or value is pd.NA:
            value = NAN
        if not isinstance(value, (int, float, Decimal, Fraction, np.number, np.bool_)):
            return None
        try:
            floats.append(float(value))
        except OverflowError:
            return None
    return floats


@st.composite
def numbers(draw, n, pool=PLAIN):
    """Draw about n numbers, mostly from the pool, in any container."""
    n = draw(st.sampled_from([n] * 30 + [n + 1, max(n - 1, 0)]))
    spoilt = draw(st.integers(0, 12)) == 12
    number = st.sampled_from(pool + BAD * spoilt)
    values = draw(st.lists(number, min_size=n, max_size=n))
    if n and draw(st.integers(0, 25)) == 25:
        return Column(made(draw(st.sampled_from(NO_COLUMN)), values, instead=set()), None)
    container = made(draw(st.sampled_from(NUMBERS)), values, instead=values)
    return Column(container, read(container) or None)


# Ids ---------------------------------------------------------------------------------------------

DAYS = [datetime.date(2026, 11, day) for day in (1, 2, 3)]
GOOD_IDS = [
    (1, 2, 3),
    (-(2**63), 2**63 - 1, 0),
    (2**63 - 1, 2**63, 2**64 - 1),
    (0, 2**100, -1),
    (0.5, -INF, 1e300),
    (0.0, -0.0, 1),
    (True, 1, 2.0),
    ("a", "b", ""),
    ("1", 1, 1.0),
    ((1, "a"), (1, "b"), ()),
    tuple(DAYS),
    (uuid.UUID(int=1), Decimal(1), Fraction(1, 3)),
    (1j, 2, 3),
    (b"x", "x", 7),
]
BAD_IDS = [(NAN, 1, 2), (None, "x"), ((1, None), 1, 2), ([1], 1, 2), ({}, 1, 2)]
IDS = GOOD_IDS * 3 + BAD_IDS
ID_KINDS = [
    list,
    tuple,
    np.array,
    _of_objects,
    pd.Series,
    pl.Series,
    pa.array,
    lambda ids: pd.Series(ids, dtype="category"),
    lambda ids: np.array(ids, dtype=str),
    lambda ids: np.array(ids, dtype="u8"),
    _days,
    lambda ids: pd.Series(ids, dtype="string"),
    lambda ids: np.ma.array(_of_objects(ids)),
    lambda ids: np.ma.array(_of_objects(ids), mask=[i == 5 for i in range(len(ids))]),
    lambda ids: pd.Series(ids, dtype="datetime64[ns]"),
]
NO_IDS = [
    set,
    frozenset,
    dict.fromkeys,
    iter,
    str,
    lambda ids: 1,
    lambda ids: [],
    lambda ids: np.ones((len(ids), 1)),
    lambda ids: pd.DataFrame({"x": range(len(ids))}),
]


def _id(value):
    """Return an id as a plain Python object, or None if the value cannot be an id."""
    value = value.as_py() if hasattr(value, "as_py") else value
    if isinstance(value, np.generic):
        value = None if value != value else str(value) if value.dtype.kind in "mM" else value.item()
    if value is pd.NaT or value is pd.NA or isinstance(value, tuple) and None in value:
        return None
    try:
        hash(value)
    except TypeError:
        return None
    return None if value is None or value != value else value


@st.composite
def ids(draw, n, distinct=False):
    """Draw about n ids in any container."""
    n = draw(st.sampled_from([n] * 30 + [n + 1]))
    pool = draw(st.sampled_from(IDS))
    values = draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n))
    if distinct:
        values = draw(st.permutations(list(dict.fromkeys(sum(GOOD_IDS, ())))))[:n]
    if draw(st.integers(0, 25)) == 25:
        return Column(draw(st.sampled_from(NO_IDS))(list(map(str, values))), None)
    container = made(draw(st.sampled_from(ID_KINDS)), values, instead=values)
    if not isinstance(container, (list, tuple)) and len(np.shape(container)) != 1:
        container = values  # tuples became a 2-D array
    if np.ma.isMaskedArray(container):
        read = container.tolist()
    elif hasattr(container, "dtype") and isinstance(container.dtype, np.dtype):
        read = list(container) if container.dtype.kind in "mM" else container.tolist()
    else:
        read = list(container)
    meant = [_id(value) for value in read]
    return Column(container, None if any(value is None for value in meant) else meant)
