"""The table of a comparison of systems, and what is written of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.words import counted
from skgraded.reports.leaderboard import Leaderboard, leaderboard_of
from skgraded.reports.pairs import pairwise
from skgraded.reports.report import Report
from skgraded.stats.corrections import adjust, is_significant
from skgraded.stats.paired_tests import DRAWS, assumed, is_bound
from skgraded.writing import tables
from skgraded.writing.sentences import corrected, procedure, sentence
from skgraded.writing.text import Bound

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "system", "measure", "mean", "difference", "ci_low", "ci_high", "p_value", "p_adjusted",
    "n_queries", "wins", "ties", "losses", "n_undefined", "effect_size", "min_detectable",
    "baseline", "baseline_mean", "ci_method",
)


def pairs_of(systems: list[str], baseline: str | None) -> list[tuple[str, str]]:
    """Pairs of systems to compare, the later one to the earlier or each to the baseline."""
    if baseline is None:
        return list(combinations(systems, 2))
    return [(baseline, system) for system in systems if system != baseline]


def matrices_of(comparison: Any, measure):
    """Systems, the best first, and matrices of their mean differences and of what is told apart."""
    systems = comparison.leaderboard().systems
    return systems, *comparison._pairwise(measure, systems, comparison._told_rows())


class ComparisonTable(Report):
    """A table with a row a pair of systems and measure, whatever it was made from."""

    systems: Sequence[str]
    measures: list[str]
    baseline: str | None
    test: str | None
    correction: str | None
    level: float
    n_resamples: int
    seed: int | None
    table: dict[str, list[Any]]

    @property
    def _n_queries(self) -> int:
        raise NotImplementedError

    @property
    def _is_weighted(self) -> bool:
        raise NotImplementedError

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the comparison, a row a pair of systems and measure.

        Returns
        -------
        pandas.DataFrame
            Columns as `compare` describes them.
        """
        import pandas as pd

        return pd.DataFrame(self.table)

    def sentences(self) -> list[str]:
        """Say in a plain sentence what each row shows.

        Two systems are told apart where the adjusted p-value is at most 1 - level. Where they are
        not, and could not have been however the differences had turned out (five queries have no
        more than 2^5 sign flips), the sentence says so.

        Returns
        -------
        list of str
        """
        said = self._corrected()
        return [
            sentence({**row, **self._verdict(i, row)}, self._n_queries, self.level, said)
            for i, row in enumerate(self._marked_rows())
        ]

    def _corrected(self):
        return corrected(self.correction, sum(p == p for p in self.table["p_value"]))

    def leaderboard(self) -> Leaderboard:
        """Show systems × measures: means, the best of each, and what is told apart.

        Returns
        -------
        Leaderboard
            The best system by the first measure first, the baseline among the others. A mark says
            which are better or worse than the baseline, or than which systems each is better.

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
        one        0.5674     0.7052
        * the best; ▲ better and ▼ worse than the baseline one, told apart by the test.
        """
        return leaderboard_of(
            self._told_rows(), list(self.systems), self._shown_measures(), self.baseline
        )

    def _shown_measures(self):
        """What the told rows are of."""
        return self.measures

    def _told_rows(self):
        """Rows, and whether the test tells their systems apart; None without one."""
        return [
            row | {"told_apart": self.test and self._significant(row["p_adjusted"])}
            for row in self._marked_rows()
        ]

    def _significant(self, p):
        return is_significant(p, self.level)

    def _marked_rows(self):
        """Rows of the table, p-values that may be smaller marked as bounds."""
        rows = tables.rows_of(self.table)
        for row in rows:
            if self.test is not None and is_bound(row, *self._smallest_p(self.test, row)):
                bounds = ["p_value"] + ["p_adjusted"] * (self.correction != "hsd")
                row |= {name: Bound(row[name]) for name in bounds}
        return rows

    def to_markdown(self) -> str:
        """Tabulate the comparison as Markdown.

        Returns
        -------
        str
            The frame's columns that say something of this comparison: without `ci_method`, and
            without the baseline if there is one, or p-values if there is no test.

        Raises
        ------
        ImportError
            Without tabulate.
        """
        return tables.markdown(self._shown())

    def to_latex(self) -> str:
        r"""Tabulate the comparison in LaTeX.

        A table that is wider than a line is shrunk to it, and one of more than 40 rows is a
        longtable. It needs ``\usepackage{booktabs,array,graphicx,longtable}``.

        Returns
        -------
        str
            Of the columns of `to_markdown` those that fit the width of a page.

        Raises
        ------
        ImportError
            Without Jinja2.
        """
        shown = self._shown()
        shown.insert(
            shown.columns.get_loc("ci_low"), "interval",
            ["unknown" if low != low else f"[{low:.4f}, {high:.4f}]" for low, high in zip(*(
                shown[end] for end in ("ci_low", "ci_high")
            ), strict=True)],
        )
        names = ["segment", "system", "baseline", "measure", "mean", "difference", "interval"]
        names.append("p_adjusted")
        return tables.latex(shown[[name for name in names if name in shown]])

    def _fragment(self):
        from skgraded.writing import comparison_page

        return comparison_page.comparison_fragment(**self._parts())

    def _page_parts(self):
        """What a page shows besides."""
        parts = self._parts()
        systems = parts["leaderboard"].systems
        matrices = {
            measure: self._pairwise(measure, systems, parts["rows"])
            for measure in self._shown_measures()
        }
        return {**parts, "matrices": matrices, "sentences": self.sentences()}

    def _pairwise(self, measure, systems, rows):
        """Matrices of the mean differences of all pairs, and of what is told apart."""
        of_measure = [row for row in rows if row["measure"] == measure]
        differences, told_apart = pairwise(of_measure, systems)
        return self._fill_pairs(differences, measure, systems), told_apart

    def _fill_pairs(self, differences, measure, systems):
        """The mean differences also of pairs that are not in the table, where they are known."""
        return differences

    def _parts(self):
        """What a page and a notebook show."""
        rows = self._told_rows()
        against = "All pairs" if self.baseline is None else f"Baseline: {self.baseline}"
        weighted = ", weighted" if self._is_weighted else ""
        how = procedure(self.test, self.correction, len(rows))
        return {
            "title": f"Comparison of {len(self.systems)} systems",
            "lead": f"{against}. {self._n_shown()}{weighted}; {how}.{self._drawn()}",
            "leaderboard": self.leaderboard(),
            "rows": rows,
            "left_out": self._left_out() + ["p_adjusted"] * (self.correction is None),
            "level": self.level,
        }

    def _n_shown(self):
        return counted(self._n_queries, "query", "queries")

    def _drawn(self):
        """What the resamples of the test were, for a page."""
        if self.test not in DRAWS:
            return ""
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f" {self.n_resamples:,} resamples{seed}."

    def _left_out(self):
        """Columns that say nothing of this comparison."""
        left_out = ["ci_method"]
        if self.baseline is not None:
            left_out.append("baseline")
        if self.test is None:
            left_out += ["p_value", "p_adjusted", "min_detectable"]
        if not any(n > 0 for n in self.table["n_undefined"]):
            left_out.append("n_undefined")
        return left_out

    def _shown(self):
        import pandas as pd

        frame = pd.DataFrame(self._marked_rows(), columns=list(self.table), dtype=object)
        return frame.drop(columns=self._left_out())

    def __repr__(self) -> str:
        columns = (self.table[name] for name in (
            "system", "baseline", "measure", "difference", "p_adjusted"
        ))
        rows = "; ".join(
            f"{system} - {baseline}, {measure}: {difference:+.4f}, p={p:.3g}"
            for system, baseline, measure, difference, p in zip(*columns, strict=True)
        )
        return f"{type(self).__name__}({self._n_queries} queries: {rows})"

    def _verdict(self, i, row):
        """What the test says of row i, for its sentence."""
        names = ("told_apart", "ranks_contradict", "out_of_reach", "would_show", "assumes")
        facts = dict.fromkeys(names)
        if self.test is None or row["ties"] == row["n_queries"]:
            return facts
        facts["told_apart"] = self._significant(row["p_adjusted"])
        if facts["told_apart"]:
            facts["ranks_contradict"] = self._ranks_contradict(self.test, row)
            facts["assumes"] = assumed(self.test, row, self.level)
        else:
            facts["out_of_reach"] = self._out_of_reach(i, *self._smallest_p(self.test, row))
            facts["would_show"] = facts["out_of_reach"] is None
        return facts

    def _ranks_contradict(self, test, row):
        """Whether the test of a row compares ranks, and they favour the worse in the mean."""
        raise NotImplementedError

    def _smallest_p(self, test, row):
        """The smallest p that the test of a row could give, and whether n_resamples bounds it."""
        raise NotImplementedError

    def _out_of_reach(self, i, p, by_resamples):
        """The smallest p of row i, if even that would not tell the systems apart."""
        p_values = np.array(self.table["p_value"], dtype=float)
        p_values[i] = p
        adjusted = adjust(p_values, self.correction)[i]
        if self._significant(adjusted):
            return None
        n_resamples = self.n_resamples if by_resamples else None
        return {"p": p, "adjusted": adjusted, "n_resamples": n_resamples}
