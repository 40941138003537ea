"""Readers of hostile files: a table that plain Python agrees with, or one clear error."""

import os
from itertools import product

import pytest
from hostile_files import check, hostile_file
from hypothesis import assume, given, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("SKGRADED_EXAMPLES", 60))
# LETOR files are read without Arrow.
every_reader = pytest.mark.parametrize(
    ("arrow", "kind"),
    [("without", "letor"), *product(("with Arrow", "without"), ("qrels", "run", "csv"))],
    indirect=["arrow"],
)


@every_reader
@pytest.mark.filterwarnings("ignore:.*grades are negative")
@settings(max_examples=EXAMPLES, deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_a_table_as_by_plain_python_or_one_clear_error(arrow, kind, rng):
    check(hostile_file(rng, kind), kind)


@every_reader
@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(data=st.binary(max_size=200))
def test_random_bytes(arrow, kind, data):
    assume(not data.startswith(b"PAR1"))  # Parquet, which needs Arrow
    check(data, kind)
