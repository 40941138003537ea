"""The class `Comparison`: paired mean differences between systems, with intervals and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.columns import choice_validator, whole_number
from skgraded.reports import comparison_rows
from skgraded.reports.comparison_view import ComparisonView, Leaderboard
from skgraded.reports.pairing import BY_SYSTEM, QUERY_VALUES, QueryValues
from skgraded.reports.report import SHARES, Axis, Report
from skgraded.stats import corrections, paired_tests
from skgraded.stats.intervals import CHECK_LEVEL
from skgraded.writing import json_text, tables
from skgraded.writing.columns import fitting
from skgraded.writing.json_text import Form

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Comparison(Report):
    """A comparison of systems over the same queries, returned by `compare`.

    Attributes
    ----------
    systems, measures : list of str
    rows : list of ComparisonRow
        One row per pair of systems, measure and, with `by`, segment.
    baseline, test, correction, family, level, n_resamples
        As in `compare`; `test` is not "auto", and `n_resamples` is None only if the test draws no
        resamples.
    seed : int or None
        The `rng` passed to `compare` if it was an int, else None.
    n_queries : int
        Number of queries, including queries without a value or a positive weight.
    is_weighted : bool
        Whether queries have weights; in a comparison of Summaries, whether the weights are unequal.
    query_values : QueryValues or None
        Per-query values; None in a comparison of Summaries.
    system_means : dict of str to ndarray of shape (n_systems, 3), or None
        Mean of each system and the limits of its interval, keyed by heading; None if they are
        computed from `query_values`.
    n_judge : int or None
        Number of queries that only the judge judged, in a comparison with a judge.
    judged : dict of str to ndarray of shape (n_systems,), or None
        Mean share of judged documents for each system, keyed by a name such as "Judged@10"; None if
        every document is judged.
    n_unanswered : list of int, or None
        Number of queries for which each system retrieved nothing; None if there are no such
        queries.
    segments : list or None
        Segments in the order of their rows; None without `by`.
    """

    systems: list[str]
    measures: list[str]
    rows: list[comparison_rows.ComparisonRow]
    baseline: str | None
    test: str | None
    correction: str | None
    level: float
    n_resamples: int | None
    seed: int | None
    n_queries: int
    is_weighted: bool
    query_values: QueryValues | None = None
    system_means: dict[str, np.ndarray] | None = None
    n_judge: int | None = None
    judged: dict[str, np.ndarray] | None = None
    n_unanswered: list[int] | None = None
    segments: list[Any] | None = None
    family: str = "all"

    _json = {
        "segments": json_text.maybe(json_text.SEGMENT_NAMES),
        "n_unanswered": json_text.maybe(json_text.list_of(json_text.INTEGER)),
        "rows": comparison_rows.rows_form(comparison_rows.ComparisonRow),
        "query_values": json_text.maybe(QUERY_VALUES),
        "system_means": json_text.maybe(
            json_text.by_name(
                Form(
                    lambda means: BY_SYSTEM.write(means.T),
                    lambda written, name: BY_SYSTEM.read(written, name).T,
                )
            )
        ),
    }

    def __post_init__(self) -> None:
        systems, measures, values = self.systems, self.measures, self.query_values
        for name, names in (("systems", systems), ("measures", measures)):
            if len(set(names)) < len(names):
                raise ValueError(f"Names in {name} must be unique; got {names}.")
        if len(systems) < 2 or not measures:
            raise ValueError(
                "A comparison requires at least two systems and at least one measure; got systems "
                f"{systems} and measures {measures}."
            )
        CHECK_LEVEL(self.level)
        if self.test in paired_tests.DRAWS or self.n_resamples is not None:
            whole_number(self.n_resamples, "n_resamples", 1)
        whole_number(self.n_queries, "n_queries", 0)
        for name, least in (("seed", 0), ("n_judge", 1)):
            if getattr(self, name) is not None:
                whole_number(getattr(self, name), name, least)
        comparison_rows.check_choice("test", self.test, paired_tests.TESTS)
        comparison_rows.check_choice("correction", self.correction, corrections.CORRECTIONS)
        comparison_rows.check_choice("baseline", self.baseline, systems)
        choice_validator("family", tuple(comparison_rows.FAMILIES))(self.family)
        if values is None and self.test not in ("t", None):
            raise ValueError(f"test={self.test!r} requires query_values, but query_values is None.")
        self._check_values()
        segments = [(segment, None) for segment in self.segments or []]
        cases = comparison_rows.cases_of(systems, measures, self.baseline, segments)
        comparison_rows.check_rows(self.rows, systems, cases, self.n_queries)

    def _check_values(self) -> None:
        """Check the per-query values, the means of the systems and the shares of documents."""
        systems, values, means = self.systems, self.query_values, self.system_means
        if values is not None and (
            values.systems != systems
            or list(values.per_query) != self.measures
            or values.segments != self.segments
            or len(values.query_ids) != self.n_queries
        ):
            raise ValueError(
                "query_values must match the systems, measures, segments and number of queries."
            )
        if means is not None and (
            list(means) != list(ComparisonView(self).headings.values())
            or any(array.shape != (len(systems), 3) for array in means.values())
        ):
            raise ValueError("system_means must match the systems, measures and segments.")
        if self.n_judge is not None and (values is not None or means is None):
            raise ValueError("A comparison with a judge needs system_means, not query_values.")
        for name, shares in (self.judged or {}).items():
            Axis("system", "systems", systems).numbers(shares, f"judged[{name!r}]", SHARES)
        if self.n_unanswered is not None:
            Axis("system", "systems", systems).positions(
                self.n_unanswered, "n_unanswered", self.n_queries + 1
            )

    def _values(self) -> QueryValues:
        if self.query_values is None:
            raise ValueError("Comparisons that use a judge or Summaries have no per-query values.")
        return self.query_values

    @property
    def query_ids(self) -> np.ndarray:
        """Query ids in the order of the first system, of shape (n_queries,)."""
        return self._values().query_ids

    @property
    def per_query(self) -> dict[str, np.ndarray]:
        """Per-query values of shape (n_systems, n_queries), keyed by measure name."""
        return self._values().per_query

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of the queries in means and intervals, of shape (n_queries,)."""
        return self._values().weights

    def differences(
        self, system: str, baseline: str, measure: str, segment: Any = None
    ) -> np.ndarray:
        """Return the per-query values of `system` minus those of `baseline`, shape (n,).

        The n queries are those with both values and a positive weight; with `segment`, only the
        queries of this segment.
        """
        differences = aligned_differences(self, system, baseline, measure, segment)
        return differences[~np.isnan(differences)]

    # Tables --------------------------------------------------------------------------------------

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the rows of the comparison in a pandas.DataFrame; see `compare`."""
        hidden = ["segment"] * (self.segments is None)
        hidden += ["weight", "worth"] * (self.n_judge is None)
        table = tables.frame(comparison_rows.columns_of(comparison_rows.ComparisonRow, self.rows))
        return table.drop(columns=hidden)

    def leaderboard(self) -> Leaderboard:
        """Return the means of all systems, starting with the best system by the first measure.

        Marks show which systems differ significantly from the baseline or, without a baseline,
        which systems each outperforms.

        Examples
        --------
        >>> import skgraded as sg
        >>> X, y, qid = sg.datasets.make_ranking(n_queries=200, random_state=0)
        >>> one, two = (
        ...     sg.evaluate(y, scores, qid=qid, measures=["ndcng@10", "rr"])
        ...     for scores in (X[:, 0], X[:, 0] + X[:, 8]))
        >>> print(sg.compare({"one": one, "two": two}, baseline="one", rng=0).leaderboard())
        system   NDCNG@10         RR
        two     *0.6112 ▲  *0.7910 ▲
        one      0.5674     0.7052
        * best; ▲ significantly better than the baseline one; ▼ baseline significantly better.
        """
        return ComparisonView(self).leaderboard

    def _shown(self) -> pandas.DataFrame:
        return ComparisonView(self).frame()

    def _shown_in_latex(self) -> dict[str, list[Any]]:
        table = fitting(self._shown(), "latex")
        table["ci_low"] = list(map(tables.Interval, table["ci_low"], table.pop("ci_high")))
        return {"interval" if name == "ci_low" else name: cells for name, cells in table.items()}

    def sentences(self) -> list[str]:
        """Return one sentence per row.

        For each measure, significant differences come first. Each sentence begins with the system
        that has the higher mean, and reports if no outcome of the test could have been significant.
        The last sentences report shares of judged documents that differ by more than 0.1, and
        systems that retrieved nothing for more than half of the queries.
        """
        view = ComparisonView(self)
        texts = [text for _, text in view.row_sentences()]
        return [*texts, *view.caveats()]

    def __repr__(self) -> str:
        if self.segments is not None:
            return (
                f"Comparison({ComparisonView(self).n_shown()}: {', '.join(self.systems)} by "
                f"{', '.join(self.measures)})"
            )
        rows = [
            f"{row.system} - {row.baseline}, {row.measure}: {row.difference:+.4f}, "
            f"p={row.p_adjusted:.3g}"
            for row in self.rows
        ]
        return f"Comparison({self.n_queries} queries: {'; '.join(rows)})"

    def _page(self, title: str | None = None) -> Any:
        return ComparisonView(self).page(title)

    def _in_notebook(self) -> tuple[str, pandas.DataFrame]:
        return self.leaderboard().verdict, self.to_frame()


def aligned_differences(
    comparison: Comparison, system: str, baseline: str, measure: str, segment: Any = None
) -> np.ndarray:
    """Return `Comparison.differences` for all queries, with nan for excluded queries."""
    values = comparison._values()
    first, second = (comparison.systems.index(name) for name in (system, baseline))
    return values.differences(first, second, measure, values.queries_of(segment))
