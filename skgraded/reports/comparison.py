"""The class `Comparison`: paired mean differences between systems, with intervals and tests."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skgraded._input.words import object_array
from skgraded.reports import comparison_view as view
from skgraded.reports.comparison_view import Leaderboard
from skgraded.reports.gate import tabulate_outcomes
from skgraded.reports.report import Report
from skgraded.stats.paired_samples import differences_by_query
from skgraded.writing import tables
from skgraded.writing.columns import Rows, fitting, names_in
from skgraded.writing.json_text import (
    VERSION,
    id_from_json,
    id_to_json,
    ids_from_json,
    ids_to_json,
    read_arrays,
    write_arrays,
)

if TYPE_CHECKING:
    import pandas

ARRAYS = "per_query", "weights", "judged", "segment"  # fields
TABLES = "rows", "means"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Comparison(Report):
    """A comparison of systems over the same queries, returned by `compare`.

    Attributes
    ----------
    systems, measures : list of str
    rows : dict of str to ndarray
        The columns of `to_frame`, and three columns of bool: ``is_significant``; ``has_winner``,
        whether one system is significantly better (false if a significant test of ranks favors the
        lower mean); and ``p_is_bound``, whether the p-value is only an upper bound.
    baseline, test, correction, family, level, n_resamples
        As in `compare`; `test` is not "auto", and `n_resamples` is None only if the test draws no
        resamples.
    seed : int or None
        The `rng` passed to `compare` if it was an int, else None.
    n_queries : int
        Number of all queries.
    n_clusters : int or None
        Number of clusters of queries; None without clusters.
    is_weighted : bool
        Whether queries have weights; in a comparison of Summaries, whether the weights are unequal.
    query_ids : ndarray of shape (n_queries,), or None
        Query ids in the common order of the systems, or sorted if the orders differ. For Summaries,
        this and the next two fields are None.
    per_query : dict of str to ndarray of shape (n_systems, n_queries), or None
        Per-query values, keyed by measure name.
    weights : ndarray of shape (n_queries,), or None
        Weights of the queries in means and intervals.
    means : dict of str to ndarray
        Columns of a table with one row per segment, measure and system; each mean is over all
        queries of the system. ``ci_low`` and ``ci_high`` are Student's t interval with the
        confidence `level`. A system ``lacks_values`` if it has no value for a query of another
        system.
    judged : dict of str to ndarray of shape (n_systems,), or None
        Mean of `Evaluation.judged` for each system; None if every document is judged.
    n_unanswered : list of int, or None
        Number of queries for which each system retrieved nothing; None if there are none.
    segments : list or None
        Segments in the order of their rows; None without `by`.
    segment : ndarray of shape (n_queries,) of int, or None
        Position of each query's segment in `segments`.
    """

    systems: list[str]
    measures: list[str]
    rows: Rows
    baseline: str | None
    test: str | None
    correction: str | None
    level: float
    n_resamples: int | None
    seed: int | None
    n_queries: int
    is_weighted: bool
    means: Rows
    query_ids: Any = None
    per_query: Any = None
    weights: np.ndarray | None = None
    judged: dict[str, np.ndarray] | None = None
    n_unanswered: list[int] | None = None
    segments: list[Any] | None = None
    segment: np.ndarray | None = None
    family: str = "all"
    n_clusters: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `to_json` as a dict, without the versions of the packages."""
        arrays = {name: write_arrays(getattr(self, name)) for name in ARRAYS}
        return {
            "kind": "Comparison",
            "version": VERSION,
            **vars(self),
            **arrays,
            **{name: _table_to_json(getattr(self, name)) for name in TABLES},
            "segments": None if self.segments is None else list(map(id_to_json, self.segments)),
            "query_ids": None if self.query_ids is None else ids_to_json(self.query_ids),
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> Self:
        """Create a Comparison from the result of `to_dict`."""
        segments, segment, ids = written["segments"], written["segment"], written["query_ids"]
        report = {field.name: written[field.name] for field in fields(cls)}
        return cls(
            **report
            | {name: read_arrays(written[name]) for name in ARRAYS}
            | {name: _table_from_json(written[name]) for name in TABLES}
            | {
                "segments": None if segments is None else list(map(id_from_json, segments)),
                "segment": read_arrays(segment, np.intp),
                "query_ids": None if ids is None else ids_from_json(ids),
            }
        )

    def differences(
        self, system: str, baseline: str, measure: str, segment: object = None
    ) -> np.ndarray:
        """Return the per-query values of `system` minus those of `baseline`, shape (n,).

        The n queries are those with both values and a positive weight; with `segment`, only the
        queries of this segment. Comparisons of Summaries have no per-query values.
        """
        pair = [self.systems.index(name) for name in (system, baseline)]
        values = self.per_query[measure][pair]
        if self.segments is not None and segment is not None:
            # A dict, because == of a NumPy date and a tuple returns an array.
            place = {name: i for i, name in enumerate(self.segments)}
            values = np.where(self.segment == place[segment], values, np.nan)
        differences = differences_by_query(values[0], values[1], self.weights, merge=True)
        return differences[~np.isnan(differences)]

    # Tables --------------------------------------------------------------------------------------

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the rows of the comparison in a pandas.DataFrame; see `compare`."""
        names = names_in("frame", self.rows)
        if self.segments is None:
            names.remove("segment")
        return tables.frame({name: self.rows[name].tolist() for name in names})

    def outcomes(self, max_loss: float = 0.0) -> pandas.DataFrame:
        r"""Tell for each system whether it is worse than the baseline, as a gate before a release.

        Parameters
        ----------
        max_loss : float, default=0.0
            The largest acceptable loss of the mean, ≥ 0, in units of the measures.

        Returns
        -------
        pandas.DataFrame
            One row per (segment,) system and measure, with the columns ``segment`` (with `by`),
            ``system``, ``measure``, ``difference`` (system minus baseline), ``low``, ``high`` and
            ``outcome``: "worse" if ``high`` < -`max_loss`, so the loss is shown to exceed
            `max_loss`; "not worse" if ``low`` ≥ -`max_loss`; otherwise "undecided".

        Raises
        ------
        ValueError
            If the comparison has no baseline, or if queries have different weights.

        Notes
        -----
        ``low`` and ``high`` are one-sided limits of Student's t for the mean difference. Each has
        the confidence `level` of the comparison, with Bonferroni's correction over all rows, so all
        outcomes "worse" and "not worse" are right together with at least this probability. The
        limits are nan if the n queries or clusters of a row have equal differences other than 0,
        and 2^(1 - n) exceeds the corrected error probability.

        Examples
        --------
        >>> import skgraded as sg
        >>> queries = list(range(8))
        >>> old = sg.Evaluation(queries, {"AP": [0.5, 0.6, 0.2, 0.9, 0.4, 0.7, 0.3, 0.6]})
        >>> new = sg.Evaluation(queries, {"AP": [0.5, 0.5, 0.3, 0.9, 0.4, 0.8, 0.3, 0.6]})
        >>> comparison = sg.compare({"old": old, "new": new}, baseline="old", test="t")
        >>> comparison.outcomes(max_loss=0.05).round(3)
          system measure  difference   low   high    outcome
        0    new      AP       0.012 -0.03  0.055  not worse
        """
        outcomes = tables.frame(tabulate_outcomes(self, max_loss)).drop(columns="n_needed")
        return outcomes if self.segments is not None else outcomes.drop(columns="segment")

    def summary(self) -> pandas.DataFrame:
        """Tabulate the means of all systems, best system first; see `Leaderboard.to_frame`."""
        return self.leaderboard().to_frame()

    def leaderboard(self) -> Leaderboard:
        """Return the means of all systems, starting with the best system by the first measure.

        Examples
        --------
        >>> import skgraded as sg
        >>> X, y, qid = sg.datasets.make_ranking(n_queries=200, random_state=0)
        >>> systems = sg.evaluate(y, {"a": X[:, 0], "b": X[:, 0] + X[:, 8]}, qid=qid, measures="rr")
        >>> print(sg.compare(systems, baseline="a", rng=0).leaderboard())
        system         RR
        b       *0.7910 ▲
        a        0.7052
        * best; ▲ significantly better than the baseline a; ▼ baseline significantly better.
        """
        return view.create_leaderboard(self)

    def _shown(self) -> dict[str, list[Any]]:
        return view.select_columns(self, view.rank_rows(self))

    def _shown_in_latex(self) -> dict[str, list[Any]]:
        table = fitting(self._shown(), "latex")
        table["ci_low"] = list(map(tables.Interval, table["ci_low"], table.pop("ci_high")))
        return {"interval" if name == "ci_low" else name: cells for name, cells in table.items()}

    def sentences(self) -> list[str]:
        """Return one sentence per row.

        Significant differences come first. Each sentence begins with the system that has the higher
        mean. The last sentences report different shares of judged documents and missing results.
        """
        return [*(text for _, text in view.describe_rows(self)), *view.list_caveats(self)]

    def __repr__(self) -> str:
        size, systems = view.describe_size(self), ", ".join(self.systems)
        return f"Comparison({size}: {systems} by {', '.join(self.measures)})"

    def _page(self, title: str | None = None) -> str:
        from skgraded.reports.comparison_page import render_comparison

        return render_comparison(self, title)

    def _in_notebook(self) -> tuple[str, pandas.DataFrame]:
        return self.leaderboard().verdict, self.to_frame()


def _table_to_json(rows: Rows) -> dict[str, Any]:
    return write_arrays(rows) | {"segment": list(map(id_to_json, rows["segment"]))}


def _table_from_json(written: dict[str, Any]) -> Rows:
    """Convert the result of `_table_to_json`; None in a column of numbers becomes nan."""
    columns = {
        name: object_array(cells)
        if isinstance(cells[0], str)
        else np.array([math.nan if cell is None else cell for cell in cells])
        for name, cells in written.items()
        if name != "segment"
    }
    return {"segment": object_array(list(map(id_from_json, written["segment"]))), **columns}
