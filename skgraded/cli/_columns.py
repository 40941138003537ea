"""Columns of the command's tables: their measures, with the names and totals of trec_eval."""

import re
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skgraded.measures import Measure, NumRel, NumRelRet, NumRet, measure
from skgraded.measures.parsing import (
    DEFAULT_MEASURES,
    OFFICIAL_COUNTS,
    OFFICIAL_MEANS,
    expand_name,
    set_threshold,
)
from skgraded.reports import Evaluation


@dataclass(frozen=True)
class Column:
    """A measure with the name of its column, which contains means, totals or geometric means."""

    name: str
    measure: Measure
    is_count: bool
    is_geometric: bool


def read_measure_columns(args: Namespace) -> list[Column]:
    """Return the columns that the options specify; update `args.names` and `args.ties`."""
    texts = args.measures or DEFAULT_MEASURES
    if "official" in texts:
        args.names = "trec_eval"
    if args.names is not None:
        args.ties = args.ties or "trec"
    # gm_map and totals are no means of per-query values, which pages and comparisons contain.
    args.only_means = args.command == "compare" or args.format == "html"
    official = OFFICIAL_MEANS if args.only_means else (*OFFICIAL_COUNTS, "gm_map", *OFFICIAL_MEANS)
    columns = []
    for text in texts:
        source, *name = re.split(r"\s+as\s+", text.strip(), maxsplit=1)
        parts = [source]
        if args.names is not None:
            groups = official if source == "official" else parts
            parts = [part for group in groups for part in expand_name(group)]
        columns += [_parse_column(part, name, args) for part in parts]
    names = ["run", "query", "n_queries", *(column.name for column in columns)]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f'{repeated[0]} names two columns: use -m "MEASURE as NAME".')
    return columns


def _parse_column(text: str, name: Sequence[str], args: Namespace) -> Column:
    is_geometric = text == "gm_map" and args.names is not None and not args.only_means
    parsed: Any = measure("map" if is_geometric else text, args.names)
    if args.ties not in (None, "trec") and hasattr(parsed, "ties"):
        parsed = replace(parsed, ties=args.ties)  # --ties trec changes scores instead
    if args.threshold is not None:
        parsed = set_threshold(parsed, args.threshold)
    is_count = isinstance(parsed, (NumRet, NumRel, NumRelRet))
    (name,) = name or [parsed.name if args.names is None else text]
    return Column(name, parsed, is_count, is_geometric)


def rename_columns(ev: Evaluation, columns: Sequence[Column]) -> Evaluation:
    """Return the Evaluation with the names of the columns; geometric ones contain logarithms."""
    values = {
        column.name: np.log(np.maximum(ev.per_query[column.measure.name], 1e-5))  # as trec_eval
        if column.is_geometric
        else ev.per_query[column.measure.name]
        for column in columns
    }
    undefined = {column.name: ev.undefined[column.measure.name] for column in columns}
    return replace(ev, per_query=values, undefined=undefined)


def summarize_columns(report: Any, columns: Sequence[Column]) -> dict[str, float]:
    """Return the value of each column over all queries: its mean, geometric mean or total."""
    means, n = report.mean(), report.n_queries
    totals = {c.name: round(means[c.name] * n) for c in columns if c.is_count}
    geometric = {c.name: float(np.exp(means[c.name])) for c in columns if c.is_geometric}
    return means | totals | geometric
