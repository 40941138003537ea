"""Settings for evaluating a large table, shared by all engines."""

import pickle
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from skgraded._input.door import check_unjudged_documents, choice_validator
from skgraded._input.queries import check_duplicates
from skgraded.measures import Measure, as_measures
from skgraded.measures.parsing import Measures

# Columns of `Summary.to_frame` and per-query value files, except those of measures and segments.
OTHER_COLUMNS = (
    "query_id label system measure mean ci_low ci_high method n_queries n_defined n_undefined"
).split()
PARTITIONINGS = ("shuffle", "clustered", "whole")


@dataclass(frozen=True)
class Job:
    """The settings of an evaluation, such as columns and measures; each worker receives a copy."""

    y_true: str
    y_score: tuple[str, ...]
    qid: str
    measures: tuple[Measure, ...]
    sample_weight: str | None = None
    partitioning: str = "shuffle"
    unjudged_documents: str | None = None
    document: str | None = None
    duplicates: str = "raise"
    by: str | list[str] | None = None
    label: str | None = None

    @cached_property
    def is_single(self) -> bool:
        """Whether a single system is evaluated."""
        return len(self.y_score) == 1

    @cached_property
    def arguments(self) -> list[tuple[str, str]]:
        """Pairs (argument, name of its column)."""
        optional = [("sample_weight", self.sample_weight), ("document", self.document)]
        return [
            ("qid", self.qid),
            *(("y_score", name) for name in self.y_score),
            *(("by", name) for name in self.segment_columns),
            *((argument, name) for argument, name in optional if name is not None),
            ("y_true", self.y_true),
        ]

    @property
    def segment_columns(self) -> list[str]:
        """The names of the columns with segments."""
        return self.by if isinstance(self.by, list) else [] if self.by is None else [self.by]

    @cached_property
    def columns(self) -> dict[str, str]:
        """The argument that names each column, keyed by column name."""
        # Error messages list the columns in this order.
        names = dict.fromkeys([self.y_true, *self.y_score], "")
        return names | {name: argument for argument, name in self.arguments}

    @property
    def value_columns(self) -> list[str]:
        """The names of the columns of per-query values."""
        names = [measure.name for measure in self.measures]
        return names if self.sample_weight is None else [*names, "weight"]

    @property
    def ids(self) -> list[str]:
        """The names of the id columns, which are read as text from CSV files."""
        return [name for argument, name in self.arguments if argument in ("qid", "by", "document")]


def check_job(
    y_true: str,
    y_score: str | list[str] | tuple[str, ...],
    qid: str,
    measures: Measures,
    *,
    per_query: bool = False,
    **settings: Any,
) -> Job:
    """Validate the arguments and return a Job; `per_query` requires a single name as `y_score`."""
    names = [*y_score] if isinstance(y_score, (list, tuple)) else [y_score]
    if isinstance(settings.get("by"), tuple):
        settings["by"] = list(settings["by"])
    job = Job(y_true, tuple(names), qid, tuple(as_measures(measures)), **settings)
    choice_validator("partitioning", PARTITIONINGS)(job.partitioning)
    check_unjudged_documents(job.unjudged_documents)
    check_duplicates(job.duplicates, job.document)
    for argument, name in job.arguments:
        if not isinstance(name, str):
            raise TypeError(f"{argument} must be the name of a column; got {type(name).__name__}.")
    if not isinstance(job.label, (str, type(None))):
        raise TypeError(f"label must be a str; got {type(job.label).__name__}.")
    if names != [y_score] and not 1 < len(names) == len(set(names)):
        raise ValueError(
            f"y_score must be a column name or a list of at least two distinct names; got {y_score!r}."
        )
    if isinstance(job.by, list):
        check_segment_names(job)
    if per_query and not job.is_single:
        raise TypeError(f"y_score must be the name of one column; got {names!r}.")
    return job


def check_segment_names(job: Job) -> None:
    """Raise a ValueError if names in `by` cannot be column names of the result."""
    names = job.segment_columns
    is_taken = not {*OTHER_COLUMNS, *job.value_columns}.isdisjoint(names)
    if is_taken or len(set(names)) < len(names) or job.by == []:
        raise ValueError(
            "by must be a column name or a list of distinct column names; the names of measures "
            f"and the names {', '.join(OTHER_COLUMNS)} are reserved; got {job.by!r}."
        )


def check_for_workers(job: Job) -> None:
    """Reject measures that depend on the order of rows or that cannot be sent to workers."""
    pickle.dumps(job)  # raises an error if a measure contains a lambda
    for measure in job.measures if job.partitioning != "whole" else ():
        if vars(measure).get("ties") == "ordinal":
            raise ValueError(
                f"Measure {measure} ranks tied documents in row order, which the engine does not "
                "preserve: choose another value for 'ties', or keep each query in one partition "
                "and use partitioning='whole'."
            )
