"""Comparisons within segments of the queries, and of the differences between segments."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.words import counted, object_array
from skgraded.reports.comparison_table import COLUMNS, pairs_of
from skgraded.reports.interactions import COLUMNS as BETWEEN
from skgraded.reports.kept import SEGMENTS, check_comparison, check_segments, filled
from skgraded.reports.pairs import fill_pairs
from skgraded.reports.query_comparison import QueryComparison, differences_of_all
from skgraded.reports.report import titled
from skgraded.stats.corrections import without_hsd
from skgraded.stats.paired_tests import ranks_contradict
from skgraded.writing import json_text, tables
from skgraded.writing.json_shapes import check_shape
from skgraded.writing.sentences import between_sentence, corrected, sentence
from skgraded.writing.text import label, labels

if TYPE_CHECKING:
    import pandas

SEGMENT_COLUMNS = ("segment", *COLUMNS)
OF_SEGMENTS = ("segment", "other_segment")  # columns that JSON holds as positions


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class SegmentComparison(QueryComparison):
    """Systems compared query by query within segments, made by `compare` with `by`.

    Attributes
    ----------
    systems, measures, query_ids, per_query, weights, baseline, test, correction, level, \
n_resamples, seed
        As in `Comparison`; `correction` and `level` are over all segments.
    segments : list
        In order of first appearance.
    segment : ndarray of shape (n_queries,) of int
        The position of each query's segment in `segments`.
    table : dict of str to list
        The columns of `to_frame`, an element a pair, measure and segment.
    between : dict of str to list
        The columns of `between_segments`.
    """

    segments: list[Any]
    segment: np.ndarray
    between: dict[str, list[Any]]

    def differences(
        self, system: str, baseline: str, measure: str, segment: Any
    ) -> np.ndarray:
        """Value of `system` less that of `baseline`, of the queries of a segment that count.

        Parameters
        ----------
        system, baseline, measure : str
            Names of two systems and of a measure.
        segment : object
            One of `segments`.

        Returns
        -------
        ndarray of shape (n,)
            Of the queries that have a value in both and, if queries are weighted, a weight.
        """
        own = self.segment == self.segments.index(segment)
        differences = differences_of_all(self, system, baseline, measure)[own]
        return differences[~np.isnan(differences)]

    def between_segments(self) -> pandas.DataFrame:
        """Tabulate how the differences of two systems differ between segments.

        Returns
        -------
        pandas.DataFrame
            A row a pair of systems, a measure and two segments, the later one first. Columns
            ``system``, ``measure``, ``segment``, ``other_segment``; ``difference`` and
            ``other_difference`` of the systems in each; ``interaction``, the first less the
            second; ``ci_low``, ``ci_high`` by Welch's t; ``p_value`` of Welch's t-test, as
            ``scipy.stats.ttest_ind(…, equal_var=False)``, and ``p_adjusted``, over all rows of
            this table; ``n_queries``, ``other_n_queries``; ``baseline``. p is no less than
            2^(1 - n) where the n differences of a segment are all the same, whatever the other's;
            nan where a segment has fewer than two queries.
        """
        import pandas as pd

        return pd.DataFrame(self.between)

    def sentences(self) -> list[str]:
        """Say in a plain sentence what each row shows, and then what differs between segments.

        Returns
        -------
        list of str
        """
        return self._own_sentences() + self._between_sentences()

    def _own_sentences(self):
        sizes = np.bincount(self.segment, minlength=len(self.segments)).tolist()
        said = self._corrected()
        return [
            sentence(
                {**self._labelled(row), **self._verdict(i, row)},
                sizes[self.segments.index(row["segment"])], self.level, said,
            )
            for i, row in enumerate(self._marked_rows())
        ]

    def _between_sentences(self):
        rows = tables.rows_of(self.between)
        n_tests = sum(row["p_value"] == row["p_value"] for row in rows)
        said = corrected(without_hsd(self.correction), n_tests)
        for row in rows:
            row |= {name: self._label(row[name]) for name in OF_SEGMENTS}
            row["told_apart"] = self.test and self._significant(row["p_adjusted"])
        return [between_sentence(row, self.level, said) for row in rows]

    def _label(self, segment):
        texts = labels(self.segments)
        return label(repr(segment) if texts.count(label(segment)) > 1 else segment)

    def _labelled(self, row):
        return row | {"measure": f"{row['measure']} in {self._label(row['segment'])}"}

    def _told_rows(self):
        return [self._labelled(row) for row in super()._told_rows()]

    def _shown_measures(self):
        return list(self._of_shown())

    def _of_shown(self):
        """The measure, and the position of the segment, of each name that is shown."""
        names = [self._label(segment) for segment in self.segments]
        return {
            f"{measure} in {name}": (measure, i)
            for measure in self.measures for i, name in enumerate(names)
        }

    def _n_shown(self):
        return f"{super()._n_shown()} in {counted(len(self.segments), 'segment', 'segments')}"

    def _ranks_contradict(self, test, row):
        names = (row[name] for name in ("system", "baseline", "measure", "segment"))
        return ranks_contradict(test, self.differences(*names), row["difference"])

    def _page(self, title=None):
        from skgraded.writing import comparison_page

        parts = self._page_parts() | {"sentences": self._sentences_with_between()}
        return comparison_page.summary_comparison_page(**titled(parts, title))

    def _fill_pairs(self, differences, measure, systems):
        name, i = self._of_shown()[measure]
        own = self.segment == i
        places = [self.systems.index(system) for system in systems]
        weights = None if self.weights is None else self.weights[own]
        return fill_pairs(differences, self.per_query[name][places][:, own], weights)

    def _sentences_with_between(self):
        """The sentence of each row, with those that compare its segment to earlier ones."""
        names = ("system", "baseline", "measure", "segment")
        said = dict(zip(zip(*(self.table[name] for name in names), strict=True),
                        self._own_sentences(), strict=True))
        keys = zip(*(self.between[name] for name in names), strict=True)
        for key, one in zip(keys, self._between_sentences(), strict=True):
            said[key] += f" {one}"
        return list(said.values())

    def _to_json(self):
        position = {segment: i for i, segment in enumerate(self.segments)}

        def numbered(table):
            return json_text.columns_to_json(_mapped(table, table, position))

        return super()._to_json() | {
            "segments": json_text.ids_to_json(object_array(self.segments), "segment"),
            "segment": self.segment.tolist(),
            "table": numbered(self.table),
            "between": numbered(self.between),
        }

    @classmethod
    def _of_json(cls, report):
        report = filled(report)
        check_shape(report, SEGMENTS)
        segments = json_text.ids_of_json(report["segments"], "segments").tolist()
        parts = cls._parts_of_json(report) | {
            "segments": segments,
            "segment": np.array(report["segment"], dtype=np.intp),
            "between": json_text.columns_of_json(report["between"]),
        }
        of = [
            (*pair, measure) for pair in pairs_of(parts["systems"], parts["baseline"])
            for measure in parts["measures"]
        ]
        positions = range(len(segments))
        check_comparison(parts, [(*one, i) for one in of for i in positions])
        check_segments(parts, [(*one, *two) for one in of for two in combinations(positions, 2)])
        return parts | {
            "table": _mapped(parts["table"], SEGMENT_COLUMNS, segments),
            "between": _mapped(parts["between"], BETWEEN, segments),
        }

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self._n_shown()}: {', '.join(self.systems)} by "
            f"{', '.join(self.measures)})"
        )


def _mapped(table, columns, segments):
    """Columns of a table, those of segments by a mapping or list."""
    return {
        name: [segments[cell] for cell in table[name]] if name in OF_SEGMENTS else table[name]
        for name in columns
    }
