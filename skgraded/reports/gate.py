"""A gate before a release, which shows whether a system loses too much against the baseline."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from skgraded._input.door import number_validator
from skgraded.reports.pairing import are_unequal
from skgraded.stats.outcomes import judge_outcomes
from skgraded.writing.columns import Rows, list_rows
from skgraded.writing.text import fixed, heading_of

if TYPE_CHECKING:
    from skgraded.reports.comparison import Comparison

CHECK_MAX_LOSS = number_validator("max_loss", 0)


def tabulate_outcomes(comparison: Comparison, max_loss: float) -> Rows:
    """Return the columns of `Comparison.outcomes`, the ``segment``, and ``n_needed``.

    ``n_needed`` is the number of queries needed for an outcome if all else is equal, or nan.
    """
    if comparison.baseline is None:
        raise ValueError("outcomes requires a baseline: call compare with baseline=.")
    is_of_sums = comparison.per_query is None
    if comparison.is_weighted and (is_of_sums or are_unequal(comparison.weights)):
        raise ValueError("outcomes requires equal weights: evaluate without sample_weight.")
    max_loss, rows = CHECK_MAX_LOSS(max_loss), comparison.rows
    n_units = rows.get("n_clusters", rows["n_defined"])
    judged = judge_outcomes(
        rows["difference"], rows["standard_error"], n_units, comparison.level, max_loss
    )
    judged["n_needed"] = judged["n_needed"] * (rows["n_defined"] / np.maximum(n_units, 1))
    return {name: rows[name] for name in ("segment", "system", "measure", "difference")} | judged


def describe_outcomes(outcomes: Rows) -> list[str]:
    """Return one line per row: the outcome, the largest possible loss, and the queries needed."""
    lines = []
    for row in list_rows(outcomes):
        where, n = heading_of(row["measure"], row["segment"]), row["n_needed"]
        needed = "none" if math.isnan(n) else f"{math.ceil(n):,}"
        lines.append(
            f"{row['system']} on {where}: {row['outcome']}; largest loss that is not excluded: "
            f"{fixed(-row['low'])}; queries needed for an outcome: {needed}"
        )
    return lines
