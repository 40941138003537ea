"""What the parts of a table contribute to the whole, and the check that no query is split."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skgraded._input.words import plain_list
from skgraded.large.parts import EDGES, joined, measure_together, refuse_nothing, split_error
from skgraded.reports.summary import Summary
from skgraded.reports.system_summaries import Summaries


@dataclass
class Result:
    """The mergeable result of some parts: sums over their queries, and what the check needs."""

    sums: Summary | Summaries | None  # None where per-query values are kept
    marks: list[tuple[str, np.ndarray]]  # the name of each part, and 64 bits of each query
    edges: list[Any]  # clean tables with the rows of queries that other parts may continue
    id_types: frozenset[str | None]  # None of a part without rows

    @classmethod
    def of(cls, measured, job, with_sums=True):
        """The result of one part."""
        sums = job.summed(measured.evaluations) if with_sums else None
        marks = [] if measured.place is None else [(measured.place, measured.marks)]
        return cls(sums, marks, [measured.edges], frozenset([measured.id_type]))

    @classmethod
    def merge(cls, results, job):
        """The result of all parts, in order."""
        merged = cls(None, [], [], frozenset())
        for result in results:
            merged.add(result, job)
        return merged

    def add(self, other, job):
        """Merge the result of the parts that follow into this one."""
        self.sums = other.sums if self.sums is None else job.merged([self.sums, other.sums])
        self.marks += other.marks
        self.edges += other.edges
        self.id_types |= other.id_types

    def measure_edges(self, job, ids_of):
        """Measure the queries at the edges of all parts, once no query is split.

        `ids_of` returns the ids of a part from its number; see `refuse_split`.
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
        """The sums over all queries of all parts, once no query is split."""
        edges = self.measure_edges(job, ids_of)
        return refuse_nothing(job.merged([self.sums, job.summed(edges.evaluations)]), job)


def refuse_other_types(id_types):
    """Raise a TypeError if ids are of several types, in which the same id may look different."""
    kinds = sorted(id_types - {None})
    if len(kinds) > 1:
        raise TypeError(
            f"qid is of the types {' and '.join(kinds)} in different partitions. Give it the same "
            "type in all."
        )


def refuse_split(parts, ids_of):
    """Raise a ValueError that names a query in two parts, and these parts.

    `parts` are the name of each part and the marks of its queries. `ids_of` returns the ids of a
    part from its number, and may read the part again; it is None if the ids are lost.
    """
    marks = np.concatenate([np.empty(0, dtype=np.uint64), *(marks for _, marks in parts)])
    marks.sort()
    for mark in marks[1:][marks[1:] == marks[:-1]]:
        sharing = [i for i, (_, of_part) in enumerate(parts) if (of_part == mark).any()]
        if len(sharing) > 1:  # and not two ids in one part that share their mark
            _refuse_shared(mark, sharing, parts, ids_of)


def _refuse_shared(mark, sharing, parts, ids_of):
    """Raise a ValueError about an id in two parts; different ids may share a mark."""
    from skgraded._input import arrow

    part_of: dict = {}
    for i in sharing if ids_of else []:
        ids = ids_of(i)
        for query in plain_list(ids[arrow.marks(ids) == mark]):
            if query in part_of:
                raise split_error(query, parts[part_of[query]][0], parts[i][0])
            part_of[query] = i
    if len(part_of) < 2:  # ids are lost, or parts that were read again hold other rows
        raise split_error(next(iter(part_of), None), *(parts[i][0] for i in sharing[:2]))
