"""Merging of results from the parts of a table, and detection of split queries."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skgraded._input.words import plain_list
from skgraded.large.parts import EDGES, joined, measure_together, refuse_empty, split_error
from skgraded.reports.summary import Summary
from skgraded.reports.system_summaries import Summaries


@dataclass
class Result:
    """Merged result of several parts: sums over queries, and data to detect split queries."""

    sums: Summary | Summaries | None  # None for per-query values
    marks: list[tuple[str, np.ndarray]]  # name of each part, and a 64-bit mark per query
    edges: list[Any]  # cleaned rows of queries that may continue in other parts
    id_types: frozenset[str | None]  # None for parts without rows

    @classmethod
    def of(cls, measured, job, with_sums=True):
        """Return the result of one part."""
        sums = job.summed(measured.evaluations) if with_sums else None
        marks = [] if measured.place is None else [(measured.place, measured.marks)]
        return cls(sums, marks, [measured.edges], frozenset([measured.id_type]))

    @classmethod
    def merge(cls, results, job):
        """Return the merged results of several parts, in the given order."""
        merged = cls(None, [], [], frozenset())
        for result in results:
            merged.add(result, job)
        return merged

    def add(self, other, job):
        """Merge the result of subsequent parts into this result, in place."""
        self.sums = other.sums if self.sums is None else job.merged([self.sums, other.sums])
        self.marks += other.marks
        self.edges += other.edges
        self.id_types |= other.id_types

    def measure_edges(self, job, ids_of):
        """Check that no query is split; evaluate the first and last queries of all parts.

        `ids_of` returns the query ids of the part with a given index; see `refuse_split`.
        """
        refuse_other_types(self.id_types)
        edges = measure_together(joined(self.edges), job, EDGES, is_clustered=True)
        n_parts = len(self.marks)
        refuse_split(
            [*self.marks, (EDGES, edges.marks)],
            ids_of and (lambda i: edges.query_ids if i == n_parts else ids_of(i)),
        )
        return edges

    def finished(self, job, ids_of):
        """Check that no query is split; return the sums over all queries of all parts."""
        edges = self.measure_edges(job, ids_of)
        return refuse_empty(job.merged([self.sums, job.summed(edges.evaluations)]), job)


def refuse_other_types(id_types):
    """Raise a TypeError if ids have several types, which could hide equal ids."""
    types = sorted(id_types - {None})
    if len(types) > 1:
        raise TypeError(
            f"qid has the types {' and '.join(types)} in different partitions. Use the same type "
            "in all partitions."
        )


def refuse_split(parts, ids_of):
    """Raise a ValueError if two parts contain the same query; name the query and the parts.

    `parts` contains the name and the query keys of each part. `ids_of` returns the query ids of the
    part with a given index, and may read that part again; it is None if ids are unavailable.
    """
    marks = np.concatenate([np.empty(0, dtype=np.uint64), *(marks for _, marks in parts)])
    marks.sort()
    for mark in marks[1:][marks[1:] == marks[:-1]]:
        sharing = [i for i, (_, part_marks) in enumerate(parts) if (part_marks == mark).any()]
        if len(sharing) > 1:  # two ids in the same part may have the same mark
            _refuse_shared_id(mark, sharing, parts, ids_of)


def _refuse_shared_id(mark, sharing, parts, ids_of):
    """Raise a ValueError if parts share an id; different ids may have the same 64-bit key."""
    from skgraded._input import arrow

    part_of: dict = {}
    for i in sharing if ids_of else []:
        ids = ids_of(i)
        for query in plain_list(ids[arrow.marks(ids) == mark]):
            if query in part_of:
                raise split_error(query, parts[part_of[query]][0], parts[i][0])
            part_of[query] = i
    if len(part_of) < 2:  # no ids are available, or rows changed between reads
        raise split_error(next(iter(part_of), None), *(parts[i][0] for i in sharing[:2]))
