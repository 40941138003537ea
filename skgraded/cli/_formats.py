"""Columns and formats of the command-line output; `WRITERS` lists the formats."""

import json
import os
import re
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from skgraded._input.door import to_plain_list
from skgraded._input.messages import counted, warn_user
from skgraded.measures import Measure, NumRel, NumRelRet, NumRet, measure
from skgraded.measures.parsing import (
    DEFAULT_MEASURES,
    OFFICIAL_COUNTS,
    OFFICIAL_MEANS,
    expand_name,
    set_threshold,
)
from skgraded.reports import Comparison, Evaluation, Summaries, Summary, compare
from skgraded.reports.evaluating import choose_judged
from skgraded.reports.evaluation import mean_judged
from skgraded.writing import tables
from skgraded.writing.json_text import read_json_id
from skgraded.writing.tables import fitting
from skgraded.writing.text import format_percent

OFFICIAL = (*OFFICIAL_COUNTS, "gm_map", *OFFICIAL_MEANS)
MOST_PAIRS = 12  # maximum number of pairs that are described in sentences
DIFFERENT = (
    "The runs contain different queries (see n_queries), so their means cannot be compared: "
    "use -c to count missing queries as empty rankings."
)
_dump = partial(json.dumps, indent=2, ensure_ascii=False, allow_nan=False)
Systems: TypeAlias = Mapping[str, Any]  # Evaluations or Summaries, keyed by system name
Means: TypeAlias = dict[str, Evaluation] | Summary | Summaries


# Columns -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MeasureColumn:
    """A measure, its column name, and how its values are aggregated over queries."""

    name: str
    measure: Measure
    kind: str  # "mean", "total" or "geometric mean"


def read_measure_columns(args: Namespace) -> list[MeasureColumn]:
    """Return the columns that the options specify."""
    columns = []
    for text in args.texts or DEFAULT_MEASURES:
        source, *name = re.split(r"\s+as\s+", text.strip(), maxsplit=1)
        groups = (OFFICIAL if part == "official" else (part,) for part in expand_name(source))
        members = chain.from_iterable(groups)
        parts = [part for member in members for part in expand_name(member, args.names)]
        if name and len(parts) > 1:
            raise ValueError(f'-m "{text}": "as" requires one measure, but {source} is a list.')
        columns += [_parse_column(part, name, args) for part in parts]
    has_only_means = args.command == "compare" or args.format == "html"
    if has_only_means or args.intervals or args.by or args.weight_column:
        means = [column for column in columns if column.kind == "mean"]
        others = ", ".join(
            f"{column.name} ({column.kind})" for column in columns if column not in means
        )
        rule = "Comparisons, intervals, segments, weighted tables and HTML pages contain only means"
        if not means:
            raise ValueError(
                "At least one measure must be neither a total nor a geometric mean; got "
                f"{others}. {rule}."
            )
        if others:
            warn_user(f"{rule}. Left out: {others}.")
        columns = means
    names = ["run", "query", "n_queries", *(column.name for column in columns)]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(
            f'Two columns are named {repeated[0]}: rename one with -m "MEASURE as NAME".'
        )
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


def rename_columns(ev: Evaluation, columns: Sequence[MeasureColumn]) -> Evaluation:
    """Return an Evaluation whose measures are named after the columns."""
    values = {column.name: ev.per_query[column.measure.name] for column in columns}
    undefined = {column.name: ev.undefined[column.measure.name] for column in columns}
    return replace(ev, per_query=values, undefined=undefined)


def summarize_columns(
    report: Evaluation | Summary, columns: Sequence[MeasureColumn]
) -> dict[str, float]:
    """Aggregate each column over all queries to its mean, geometric mean or total."""
    values = report.mean()
    for column in columns:
        if column.kind == "total":
            values[column.name] = round(values[column.name] * report.n_queries)
        elif column.kind == "geometric mean" and isinstance(report, Evaluation):
            logarithms = np.log(np.maximum(report.per_query[column.name], 1e-5))  # as trec_eval
            values[column.name] = float(np.exp(logarithms.mean()))
    return values


# Tables ------------------------------------------------------------------------------------------


def _tabulate_systems(systems: Systems, args: Namespace) -> Any:
    """Return a table with one row per system (and per measure if --intervals is set)."""
    if args.intervals:
        return [
            {"run": name, **row}
            for name, report in systems.items()
            for row in report.summary().to_dict("records")
        ]
    judged = average_judged(systems, args)
    return [
        {"run": name, "n_queries": report.n_queries, **summarize_columns(report, args.columns)}
        | {key: shares[i] for key, shares in judged.items()}
        | {f"n_undefined {key}": n for key, n in report.n_undefined.items() if args.format == "csv"}
        for i, (name, report) in enumerate(systems.items())
    ]


def average_judged(systems: Systems, args: Namespace) -> dict[str, np.ndarray]:
    """Return the shares of judged documents, keyed by column; {} if all documents are judged."""
    reports = list(systems.values())
    if all(isinstance(report, Evaluation) for report in reports):
        return mean_judged(reports)
    shares = np.array([report.judged for report in reports])
    return {choose_judged(args.measures).name: shares} if (shares < 1).any() else {}


def _tabulate_values(systems: Systems, args: Namespace) -> Any:
    """Return a table with one row per system and query."""
    types = {column.name: int if column.kind == "total" else float for column in args.columns}
    return {
        "run": [name for name, report in systems.items() for _ in report.query_ids],
        "query": [
            query for report in systems.values() for query in to_plain_list(report.query_ids)
        ],
        **{
            name: np.concatenate([report.per_query[name] for report in systems.values()])
            .astype(dtype)
            .tolist()
            for name, dtype in types.items()
        },
    }


def _tabulate_side_by_side(comparison: Comparison) -> Any:
    """Return a table with one row per measure and query, and one column per system."""
    return [
        {"measure": measure, "query": query, **dict(zip(comparison.systems, cells, strict=True))}
        for measure, values in comparison.per_query.items()
        for query, cells in zip(to_plain_list(comparison.query_ids), values.T.tolist(), strict=True)
    ]


# Text with tables --------------------------------------------------------------------------------


def _write_table(
    table: Any, args: Namespace, caption: str | None = None, label: str | None = None
) -> str:
    if args.format == "latex":
        return tables.latex(table, caption=caption, label=label, digits=args.digits)
    return tables.markdown(table) if args.format == "markdown" else tables.aligned(table)


def _join_text(parts: list[str], lines: list[str], args: Namespace) -> str:
    """Join tables with blank lines, and append the lines of text as the last paragraph."""
    styles: dict[str, Any] = {"markdown": tables.escape_markdown, "latex": "% {}".format}
    prose = "\n".join(map(styles.get(args.format, str), lines))
    return "\n\n".join(filter(None, [*parts, prose]))


def _write_means(report: Means, systems: Systems, args: Namespace) -> str:
    parts = []
    if args.per_query:
        parts.append(_write_table(_tabulate_values(systems, args), args))
    if args.by is not None and not isinstance(report, dict):
        table = report._shown()
    else:
        # Systems are sorted by the first measure that is not a total, in descending order.
        first = min(args.columns, key=lambda column: column.kind == "total").name
        values = [
            summarize_columns(of_system, args.columns)[first] for of_system in systems.values()
        ]
        names = [list(systems)[i] for i in np.argsort(-np.array(values), kind="stable")]
        table = _tabulate_systems({name: systems[name] for name in names}, args)
    parts.append(_write_table(table, args, args.caption, args.label))
    lines = [DIFFERENT] if find_missing(systems) else []
    return _join_text(parts, [*lines, *_describe_undefined(systems)], args)


def _write_comparison(comparison: Comparison, systems: Systems, args: Namespace) -> str:
    board = comparison.leaderboard()
    parts = [_join_text([], board.verdict.split("\n"), args)]
    if args.per_query:
        parts.append(_write_table(_tabulate_side_by_side(comparison), args))
    has_few_pairs = len(comparison.rows["system"]) <= MOST_PAIRS
    if args.format == "latex":
        parts += (
            board.to_latex(caption=args.caption, label=args.label, digits=args.digits),
            comparison.to_latex(digits=args.digits),
        )
    elif args.format == "markdown":
        parts += board.to_markdown(), comparison.to_markdown()
    else:
        table = fitting(comparison._shown(), "terminal")
        parts += str(board), tables.aligned(table) if has_few_pairs else ""
    lines = [
        f"{counted(comparison.n_queries, 'query', 'queries')}; "
        f"{format_percent(comparison.level)} intervals; "
        f"{comparison._describe_procedure()}.",
        *_describe_undefined(systems),
    ]
    if has_few_pairs:
        lines += [f"- {sentence}" for sentence in comparison.sentences()]
    else:
        lines.append("For a sentence per pair, use --format html; for all values, csv or json.")
    return _join_text(parts, lines, args)


def find_missing(systems: Systems) -> tuple[str, Any] | None:
    """Return a pair (run, query) if a run lacks a query of another run, otherwise None."""
    ids = {
        name: dict.fromkeys(to_plain_list(report.query_ids))
        for name, report in systems.items()
        if isinstance(report, Evaluation)  # all systems in a folder have the same queries
    }
    queries = dict.fromkeys(chain.from_iterable(ids.values()))
    return next(((name, q) for name, known in ids.items() for q in queries if q not in known), None)


def _describe_undefined(systems: Systems) -> list[str]:
    """Return a list with one line about the undefined queries, or [] if there are none."""
    numbers = {
        name: ", ".join(f"{key} {n}" for key, n in report.n_undefined.items() if n)
        for name, report in systems.items()
    }
    if len(systems) > 1 and len(set(numbers.values())) == 1:
        numbers = {"each system": next(iter(numbers.values()))}
    texts = "; ".join(f"{name}: {text}" for name, text in numbers.items() if text)
    return (
        [f"Undefined queries (their value is the parameter undefined): {texts}."] if texts else []
    )


# CSV, JSON and pages -----------------------------------------------------------------------------


def _write_means_csv(report: Means, systems: Systems, args: Namespace) -> str:
    if args.by is not None and not isinstance(report, dict):
        return str(report.to_csv())
    tabulate = _tabulate_values if args.per_query else _tabulate_systems
    return str(tables.csv(tables.frame(tabulate(systems, args))))


def _write_comparison_csv(comparison: Comparison, systems: Systems, args: Namespace) -> str:
    if args.per_query:
        return str(tables.csv(tables.frame(_tabulate_side_by_side(comparison))))
    return str(comparison.to_csv())


def _write_report(report: Evaluation | Summary | Summaries, args: Namespace) -> dict[str, Any]:
    """Convert a report to a dict for JSON, with intervals if --intervals is set."""
    written = report.to_dict()
    if args.intervals:
        _add_intervals(written, report)
    return written


def _add_intervals(written: dict[str, Any], report: Any) -> None:
    if isinstance(report, Summaries):
        for name, entry in written["systems"].items():
            _add_intervals(entry, report[name])
        written["intervals"] = {
            name: entry["intervals"] for name, entry in written["systems"].items()
        }
    else:
        written["intervals"] = {
            name: [None if limit != limit else limit for limit in interval]
            for name, interval in report.confidence_interval().items()
        }
    for entry in written.get("segments") or ():
        _add_intervals(entry, report.segments[read_json_id(entry["segment"])])


def _write_means_json(report: Means, systems: Systems, args: Namespace) -> str:
    if not isinstance(report, dict):
        return _dump(_write_report(report, args))
    entries = {name: _write_report(of_system, args) for name, of_system in systems.items()}
    geometric = [column.name for column in args.columns if column.kind == "geometric mean"]
    for name, entry in entries.items():
        values = summarize_columns(systems[name], args.columns)
        # If `per_query` contained these columns, from_json would compute their arithmetic means.
        for column in geometric:
            entry["mean"][column] = values[column]
            del entry["per_query"][column], entry["undefined"][column]
        if totals := {c.name: values[c.name] for c in args.columns if c.kind == "total"}:
            entry["total"] = totals
    if geometric:
        warn_user(
            f"The JSON contains no per-query values of {', '.join(geometric)}, because "
            "from_json would compute the arithmetic mean."
        )
    return _dump(entries)


def _write_comparison_json(comparison: Comparison, systems: Systems, args: Namespace) -> str:
    report = comparison.to_dict()
    for name, of_system in systems.items():
        if name in report:
            raise ValueError(
                f"The JSON output already has a field {name!r}: choose different --system-names."
            )
        report[name] = {
            key: value
            for key, value in _write_report(of_system, args).items()
            if key in ("mean", "intervals", "n_queries", "n_defined", "n_undefined")
        }
    return _dump(report)


def _write_means_html(report: Means, systems: Systems, args: Namespace) -> str:
    if len(systems) > 1 and not isinstance(report, Summary):
        return str(compare(report, test=None).to_html(title=args.title))
    ((name, of_system),) = systems.items()
    title = name if len(args.files) > 1 else f"{os.path.basename(args.files[0])}: {name}"
    return str(of_system.to_html(title=args.title or title))


# Functions that convert a report to text, keyed by command and format.
# Each function receives the report to write, the report of each system, and the options.
WRITERS: dict[str, dict[str, Callable[[Any, Systems, Namespace], str]]] = {
    "evaluate": {
        "table": _write_means,
        "csv": _write_means_csv,
        "json": _write_means_json,
        "markdown": _write_means,
        "latex": _write_means,
        "html": _write_means_html,
    },
    "compare": {
        "table": _write_comparison,
        "csv": _write_comparison_csv,
        "json": _write_comparison_json,
        "markdown": _write_comparison,
        "latex": _write_comparison,
        "html": lambda comparison, systems, args: str(comparison.to_html(title=args.title)),
    },
}
