"""Columns of the command's tables: their measures, with the names and totals of trec_eval."""

import re
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skgraded._input.messages import warn_user
from skgraded.measures import Measure, NumRel, NumRelRet, NumRet, measure
from skgraded.measures.parsing import (
    DEFAULT_MEASURES,
    OFFICIAL_COUNTS,
    OFFICIAL_MEANS,
    expand_name,
    set_threshold,
)
from skgraded.reports import Evaluation, Summary

OFFICIAL = (*OFFICIAL_COUNTS, "gm_map", *OFFICIAL_MEANS)


@dataclass(frozen=True)
class MeasureColumn:
    """A measure with the name of its column and the kind of its value over all queries."""

    name: str
    measure: Measure
    kind: str  # "mean", "total" or "geometric mean"


def read_measure_columns(args: Namespace) -> list[MeasureColumn]:
    """Return the columns that the options specify."""
    columns = []
    for text in args.texts or DEFAULT_MEASURES:
        source, *name = re.split(r"\s+as\s+", text.strip(), maxsplit=1)
        parts = []
        for part in expand_name(source):
            group = OFFICIAL if part == "official" else (part,)
            parts += [each for member in group for each in expand_name(member, args.names)]
        if name and len(parts) > 1:
            raise ValueError(f'-m "{text}": "as" requires one measure, but {source} is a list.')
        columns += [_parse_column(part, name, args) for part in parts]
    is_page = args.format == "html"
    if args.command == "compare" or is_page or args.intervals or args.by or args.weight_column:
        columns = _select_means(columns)
    names = ["run", "query", "n_queries", *(column.name for column in columns)]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f'{repeated[0]} names two columns: use -m "MEASURE as NAME".')
    return columns


def _parse_column(text: str, name: Sequence[str], args: Namespace) -> MeasureColumn:
    is_geometric = text == "gm_map" and args.names is not None
    parsed: Any = measure("map" if is_geometric else text, args.names)
    if args.ties not in (None, "trec") and hasattr(parsed, "ties"):
        parsed = replace(parsed, ties=args.ties)  # --ties trec changes scores instead
    if args.threshold is not None:
        parsed = set_threshold(parsed, args.threshold)
    is_count = isinstance(parsed, (NumRet, NumRel, NumRelRet))
    (name,) = name or [parsed.name if args.names is None else text]
    kind = "geometric mean" if is_geometric else "total" if is_count else "mean"
    return MeasureColumn(name, parsed, kind)


def _select_means(columns: Sequence[MeasureColumn]) -> list[MeasureColumn]:
    """Return the columns that contain means; warn about other columns."""
    means = [column for column in columns if column.kind == "mean"]
    others = ", ".join(
        f"{column.name} ({column.kind})" for column in columns if column not in means
    )
    text = "Comparisons, intervals, segments, weighted tables and HTML pages contain only means"
    if not means:
        raise ValueError(
            f"{text}: add a measure that is not a total or geometric mean; got {others}."
        )
    if others:
        warn_user(f"{text}. Left out: {others}.")
    return means


def rename_columns(ev: Evaluation, columns: Sequence[MeasureColumn]) -> Evaluation:
    """Return the Evaluation with the names of the columns."""
    values = {column.name: ev.per_query[column.measure.name] for column in columns}
    undefined = {column.name: ev.undefined[column.measure.name] for column in columns}
    return replace(ev, per_query=values, undefined=undefined)


def summarize_columns(
    report: Evaluation | Summary, columns: Sequence[MeasureColumn]
) -> dict[str, float]:
    """Return the value of each column over all queries: its mean, geometric mean or total."""
    values = report.mean()
    for column in columns:
        if column.kind == "total":
            values[column.name] = round(values[column.name] * report.n_queries)
        elif column.kind == "geometric mean" and isinstance(report, Evaluation):
            logarithms = np.log(np.maximum(report.per_query[column.name], 1e-5))  # as trec_eval
            values[column.name] = float(np.exp(logarithms.mean()))
    return values
