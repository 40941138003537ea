"""What the command prints of ids: those of a Parquet file keep their types."""

import numpy as np
import pandas as pd
import pytest

from skgraded.cli import main

DAYS = ["2026-01-02T00:00:00.000000000", "2026-01-01T00:00:00.000000000"]


@pytest.fixture
def printed(tmp_path, capsys):
    """Make what the command prints of a table whose queries are dates."""
    frame = pd.DataFrame({
        "query": np.array(DAYS, dtype="datetime64[ns]").repeat(2), "grade": [1, 0, 0, 1],
        "score": [2, 1, 2, 1], "other": [1, 2, 2, 1],
    })
    frame.to_parquet(tmp_path / "t.parquet")

    def printed(command, *arguments):
        path = str(tmp_path / "t.parquet")
        assert main([command, path, "-m", "rr", "--per-query", *arguments]) == 0
        return capsys.readouterr().out

    return printed


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown", "latex"])
def test_dates_are_printed_as_dates(printed, form):
    out = printed("evaluate", "--format", form)
    assert [out.count(day) for day in DAYS] == [1, 1]
    scores = ("--score-column", "score", "--score-column", "other")
    out = printed("compare", *scores, "--format", form)
    n = 2 if form == "json" else 1  # there once a system
    assert [out.count(day) for day in DAYS] == [n, n]
