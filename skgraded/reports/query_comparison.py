"""What comparisons that hold the values of each query share: of all queries, or of segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skgraded.reports.comparison_table import ComparisonTable
from skgraded.reports.differences import differences_by_query
from skgraded.stats.paired_tests import smallest_p
from skgraded.writing import json_text


@dataclass(frozen=True, repr=False, eq=False)
class QueryComparison(ComparisonTable):
    """Systems compared query by query; `Comparison` describes the attributes."""

    systems: list[str]
    measures: list[str]
    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]
    weights: np.ndarray | None
    baseline: str | None
    test: str | None
    correction: str | None
    level: float
    n_resamples: int
    table: dict[str, list[Any]]
    seed: int | None = None

    @property
    def _n_queries(self):
        return len(self.query_ids)

    @property
    def _is_weighted(self):
        return self.weights is not None

    def _smallest_p(self, test, row):
        return smallest_p(test, row, self.n_resamples)

    def _to_json(self):
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "query_ids": json_text.ids_to_json(self.query_ids),
            "weights": None if self.weights is None else self.weights.tolist(),
            "per_query": {
                measure: [json_text.numbers_to_json(values) for values in systems]
                for measure, systems in self.per_query.items()
            },
            "table": json_text.columns_to_json(self.table),
        }

    @staticmethod
    def _parts_of_json(report):
        return {
            **{name: report[name] for name in _PLAIN},
            "query_ids": json_text.ids_of_json(report["query_ids"], "query_ids"),
            "weights": _numbers_or_none(report["weights"]),
            "per_query": {
                measure: _of_systems(measure, systems)
                for measure, systems in report["per_query"].items()
            },
            "table": json_text.columns_of_json(report["table"]),
        }


def _of_systems(measure, systems):
    rows = [json_text.numbers_of_json(values) for values in systems]
    if len(set(map(len, rows))) > 1:
        raise ValueError(f"per_query[{measure!r}] has systems of {[*map(len, rows)]} values.")
    return np.array(rows)


def _numbers_or_none(written):
    return None if written is None else json_text.numbers_of_json(written)


def differences_of_all(
    comparison: QueryComparison, system: str, baseline: str, measure: str
) -> np.ndarray:
    """Differences of all queries, in their order: nan of those that do not count."""
    at, other = (comparison.systems.index(name) for name in (system, baseline))
    values = comparison.per_query[measure]
    return differences_by_query(values[at], values[other], comparison.weights)


_PLAIN = ("systems", "measures", "baseline", "test", "correction", "level", "n_resamples", "seed")
