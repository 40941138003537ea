"""Settings of an evaluation of a large table, with the documentation that all engines share."""

import pickle
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

from skgraded._input.door import check_unjudged_documents, choice_validator
from skgraded._input.queries import check_duplicates
from skgraded.measures import Measure, as_measures

PARTITIONINGS = ("shuffle", "clustered", "whole")
_check_partitioning = choice_validator("partitioning", PARTITIONINGS)

PARAMETERS = """
y_true, qid : str
    Names of the columns with the grades (≥ 0) and the query ids (numbers, text or dates).
y_score : str, or list of str
    Name of the column with the system's scores, or a list of names to compare several systems.
measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
    The measures to compute.
sample_weight : str, optional
    Name of the column with weights. The weight of a query is the mean weight of its rows.
partitioning : {"shuffle", "clustered", "whole"}, default="shuffle"
    How the rows are arranged. "shuffle" allows any order: the rows are first grouped by query,
    which is always correct but slowest. "clustered" requires contiguous rows for each query, which
    may continue in the next batch or partition. "whole" requires that each batch or partition
    contains whole queries. A query that is evaluated in two parts is an error.
unjudged_documents : {"irrelevant", "drop"}, optional
    How to treat grades that are null or NaN, as in `evaluate`.
document : str, optional
    Name of the column with document ids. A query that contains a document twice is then an error.
    Without this column, repeated rows are counted.
duplicates : {"raise", "drop"}, default="raise"
    "drop" counts rows with the same query and document once if their grades, scores and weights are
    equal; if they differ, an error is raised. `Summary.n_duplicates` is the number of rows dropped.
by : str, optional
    Name of the column with the segment of each query, such as its country. The result then also
    contains the Summary of each segment. Dates, and intervals as from ``pandas.cut``, become text.
label : str, optional
    Name of this part of the data, such as its date. Summaries that share a label cannot be merged,
    so that no part is counted twice.
"""
RETURNS = """
Returns
-------
Summary
    Equal to ``Summary.of(skgraded.evaluate(…))`` on all rows, however they are partitioned. With
    `by`, its attribute `segments` maps each segment to a Summary. For several systems, a
    `Summaries`, which `compare` accepts.
"""
RAISES = """
Raises
------
ValueError, TypeError
    If the input is invalid; the message names the partition and the row within it. Also if the
    rows are not arranged as `partitioning` states, or if a query has rows in two segments or, with
    `document`, contains a document twice; the message names the query.
"""


@dataclass(frozen=True)
class Job:
    """The settings of an evaluation, such as columns and measures; each worker receives a copy."""

    y_true: str
    y_score: tuple[str, ...]
    qid: str
    measures: tuple[Measure, ...]
    is_single: bool  # whether y_score was a single name rather than a list
    _: KW_ONLY
    sample_weight: str | None = None
    partitioning: str = "shuffle"
    unjudged_documents: str | None = None
    document: str | None = None
    duplicates: str = "raise"
    by: str | None = None
    label: str | None = None

    @cached_property
    def arguments(self) -> list[tuple[str, str]]:
        """Pairs (argument, name of its column)."""
        optional = [
            ("sample_weight", self.sample_weight),
            ("by", self.by),
            ("document", self.document),
        ]
        return [
            ("qid", self.qid),
            *(("y_score", name) for name in self.y_score),
            *((argument, name) for argument, name in optional if name is not None),
            ("y_true", self.y_true),
        ]

    @cached_property
    def columns(self) -> dict[str, str]:
        """The arguments, keyed by the names of their columns."""
        names = dict.fromkeys([self.y_true, *self.y_score], "")  # their order, for messages
        return names | {name: argument for argument, name in self.arguments}

    @property
    def ids(self) -> list[str]:
        """The names of the columns with ids, which are text in CSV files."""
        return [name for name in (self.qid, self.by, self.document) if name is not None]


def check_job(
    y_true: Any,
    y_score: Any,
    qid: Any,
    measures: Any,
    *,
    per_query: bool = False,
    **settings: Any,
) -> Job:
    """Validate the arguments and return a Job; if `per_query`, `y_score` must be a single name."""
    is_single = not isinstance(y_score, (list, tuple))
    scores = (y_score,) if is_single else tuple(y_score)
    job = Job(y_true, scores, qid, tuple(as_measures(measures)), is_single, **settings)
    _check_partitioning(job.partitioning)
    check_unjudged_documents(job.unjudged_documents)
    check_duplicates(job.duplicates, job.document)
    for argument, name in job.arguments:
        if not isinstance(name, str):
            raise TypeError(f"{argument} must be the name of a column; got {type(name).__name__}.")
    if not isinstance(job.label, (str, type(None))):
        raise TypeError(f"label must be a str; got {type(job.label).__name__}.")
    if not is_single and (len(scores) < 2 or len(set(scores)) < len(scores)):
        raise ValueError(
            f"y_score must be a column name or a list of several distinct names; got {y_score!r}."
        )
    if per_query and not is_single:
        raise TypeError(f"y_score must be the name of one column; got {list(scores)!r}.")
    return job


def check_for_workers(job: Job) -> None:
    """Reject measures that cannot be sent to workers, or that depend on the order of rows."""
    pickle.dumps(job)  # raises an error if a measure contains a lambda
    for measure in job.measures if job.partitioning != "whole" else ():
        if getattr(measure, "ties", None) == "ordinal":
            raise ValueError(
                f"Measure {measure} ranks tied documents in row order, which the engine does not "
                "preserve: choose another value for 'ties', or keep each query in one partition "
                "and use partitioning='whole'."
            )
