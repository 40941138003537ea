"""Readers return what plain Python reads, or raise one clear error, for any file."""

import os
from itertools import product

import pytest
from doubles import doubles
from hostile_files import LINES, check, hostile_file, read
from hypothesis import given, settings, strategies as st

EXAMPLES = int(os.environ.get("SKGRADED_EXAMPLES", 60))


# Arrow is not used for LETOR files.
@pytest.mark.parametrize(
    ("arrow", "kind"),
    [("without", "letor"), *product(("with Arrow", "without"), sorted({*LINES} - {"letor"}))],
    indirect=["arrow"],
)
@pytest.mark.filterwarnings("ignore:.*(grades are negative|the rank column is ignored)")
@settings(max_examples=EXAMPLES, deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_damaged_files_are_read_as_by_plain_python_or_raise_one_error(arrow, kind, rng):
    check(hostile_file(rng, kind), kind)


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("quote", ["", '"'])
def test_numbers_in_csv_tables_are_read_exactly(quote):
    words = ["1e400", "-1e400", "Infinity", "+1", " 2 ", ".5", "5.", "1e-400", "00012"]
    words += map(repr, doubles(3000))
    lines = [f"{quote}q{quote},1,{quote}{word}{quote},d{i}\n" for i, word in enumerate(words)]
    text = "query,grade,score,document\n" + "".join(lines)
    assert [row[3] for row in read(text.encode(), "csv")] == [float(word) for word in words]
