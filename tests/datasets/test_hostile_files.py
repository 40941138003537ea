"""Readers of hostile files: a table that plain Python agrees with, or one clear error."""

import pytest
from hostile_files import LINES, check, hostile_file
from hypothesis import assume, given, settings
from hypothesis import strategies as st


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("kind", LINES)
@pytest.mark.filterwarnings("ignore:.*grades are negative")
@settings(max_examples=150, deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_a_table_as_by_plain_python_or_one_clear_error(kind, rng):
    check(hostile_file(rng, kind), kind)


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("kind", LINES)
@settings(max_examples=50, deadline=None)
@given(data=st.binary(max_size=200))
def test_random_bytes(kind, data):
    assume(not data.startswith(b"PAR1"))  # Parquet, which needs Arrow
    check(data, kind)
