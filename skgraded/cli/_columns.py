"""Columns of the command's tables: their measures, with the names and totals of trec_eval."""

import dataclasses
import re
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import numpy as np

from skgraded.measures import Measure, NumRel, NumRelRet, NumRet, measure
from skgraded.measures.parsing import FAMILIES
from skgraded.reports.evaluation import Evaluation

OFFICIAL = (  # without runid and num_q, which every table contains
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "gm_map",
    "Rprec",
    "bpref",
    "recip_rank",
    "iprec_at_recall",
    "P",
)


@dataclasses.dataclass(frozen=True)
class Column:
    """A measure with the name of its column; `is_geometric` selects the geometric mean."""

    name: str
    measure: Measure
    is_geometric: bool = False

    @property
    def is_count(self) -> bool:
        """Whether tables contain the total over queries instead of the mean."""
        return isinstance(self.measure, (NumRet, NumRel, NumRelRet))


def read_columns(args: Namespace) -> list[Column]:
    """Return the columns that the options specify; set --names and the default of --ties."""
    texts = args.measures or ["ndcng@10", "mu_map"]
    if "official" in texts:
        args.names = "trec_eval"
    if args.names is not None:
        args.ties = args.ties or "trec"
    columns = []
    for text in texts:
        source, *name = re.split(r"\s+as\s+", text.strip(), maxsplit=1)
        parts = [source] if args.names is None else _trec_eval_names(source)
        read = [_column(part, *name, args=args) for part in parts]
        if args.command == "compare" or args.format == "html":  # these contain only means
            if source == "official":
                read = [column for column in read if not (column.is_count or column.is_geometric)]
            elif any(column.is_geometric for column in read):
                raise ValueError("gm_map requires evaluate with a format other than html: use map.")
        columns += read
    used = ["run", "query", "n_queries"]
    for column in columns:
        if column.name in used:
            raise ValueError(f'{column.name} names two columns: use -m "MEASURE as NAME".')
        used.append(column.name)
    return columns


def _trec_eval_names(text: str) -> list[str]:
    """Return the names of single measures that a name or an option of trec_eval selects."""
    if text == "official":
        return [name for part in OFFICIAL for name in _trec_eval_names(part)]
    if text in FAMILIES:
        return [f"{text}_{cut_off}" for cut_off in FAMILIES[text].split()]
    option = re.fullmatch(r"([A-Za-z_]+)\.([\d.]+(?:,[\d.]+)*)", text)  # such as P.5,10
    return [f"{option[1]}_{part}" for part in option[2].split(",")] if option else [text]


def _column(text: str, name: str | None = None, *, args: Namespace) -> Column:
    if text == "num_q":
        raise ValueError("num_q is the column n_queries, which every table contains: omit it.")
    is_geometric = text == "gm_map" and args.names is not None
    parsed = measure("map" if is_geometric else text, args.names)
    parsed = with_ties(parsed, args)
    return Column(name or (parsed.name if args.names is None else text), parsed, is_geometric)


def with_ties(measure: Any, args: Namespace) -> Measure:
    """Return the measure with the rule of --ties; trec's rule changes the scores instead."""
    is_set = args.ties not in (None, "trec") and hasattr(measure, "ties")
    return dataclasses.replace(measure, ties=args.ties) if is_set else measure


def n_queries(report: Any) -> int:
    """Return the number of queries of an Evaluation or a Summary."""
    return report.n_queries if hasattr(report, "n_queries") else len(report.query_ids)


def renamed(systems: dict[str, Evaluation], columns: Sequence[Column]) -> dict[str, Evaluation]:
    """Return the evaluations with the names of the columns; geometric ones contain logarithms."""
    named = {}
    for name, ev in systems.items():
        values = {column.name: ev.per_query[column.measure.name] for column in columns}
        for column in columns:
            if column.is_geometric:
                values[column.name] = np.log(np.maximum(values[column.name], 1e-5))  # as trec_eval
        undefined = {column.name: ev.undefined[column.measure.name] for column in columns}
        named[name] = dataclasses.replace(ev, per_query=values, undefined=undefined)
    return named


def summary(report: Any, columns: Sequence[Column]) -> dict[str, float]:
    """Return the value of each column over all queries: its mean, geometric mean or total."""
    values = dict(report.mean())
    for column in columns:
        if column.is_geometric:
            values[column.name] = float(np.exp(values[column.name]))
        elif column.is_count:
            values[column.name] = round(values[column.name] * n_queries(report))
    return values
