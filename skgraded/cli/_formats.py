"""Formats of the output, in the table `FORMATS`."""

import json
import math
import os
from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.words import counted, plain_list
from skgraded.cli._columns import summarize_columns
from skgraded.measures import Judged
from skgraded.reports import Comparison, Evaluation, compare
from skgraded.reports.comparison_view import (
    describe_procedure,
    rank_rows,
    select_columns,
)
from skgraded.reports.evaluation import mean_judged
from skgraded.writing import tables
from skgraded.writing.columns import fitting, list_rows
from skgraded.writing.sentences import count_significant
from skgraded.writing.text import percent_text

MOST_SENTENCES = 8  # maximum number of sentences; more pairs are counted
MOST_ROWS = 30  # maximum number of rows in a table of pairs; longer tables are omitted
_dump = partial(json.dumps, indent=2, ensure_ascii=False, allow_nan=False)
Systems = Mapping[str, Any]  # Evaluations or Summaries, keyed by the name of the system


# Tables ------------------------------------------------------------------------------------------


def _tabulate_means(systems: Systems, args: Namespace) -> Any:
    """Return one row per system or, with intervals, per system and measure."""
    if args.intervals:
        return [
            {"run": name, **row}
            for name, report in systems.items()
            for row in report.summary().to_dict("records")
        ]
    judged = share_of_judged(systems, args)
    return [
        {"run": name, "n_queries": report.n_queries, **summarize_columns(report, args.columns)}
        | {key: shares[i] for key, shares in judged.items()}
        for i, (name, report) in enumerate(systems.items())
    ]


def share_of_judged(systems: Systems, args: Namespace) -> dict[str, np.ndarray]:
    """Return the mean shares of judged documents, keyed by name; {} if all are judged."""
    reports = list(systems.values())
    if all(isinstance(report, Evaluation) for report in reports):
        return mean_judged(reports)
    k = getattr(args.measures[0], "k", None)
    shares = np.array([report.judged for report in reports])
    return {Judged(k=k if isinstance(k, int) else 10).name: shares} if (shares < 1).any() else {}


def _tabulate_values(systems: Systems, args: Namespace) -> Any:
    """Return one row per system and query."""
    rows = []
    for name, evaluation in systems.items():
        values = [
            evaluation.per_query[column.name].astype(int if column.is_count else float).tolist()
            for column in args.columns
        ]
        rows += [
            {"run": name, "query": query, **dict(zip(evaluation.per_query, cells, strict=True))}
            for query, *cells in zip(plain_list(evaluation.query_ids), *values, strict=True)
        ]
    return rows


def _tabulate_side_by_side(comparison: Comparison) -> Any:
    """Return one row per measure and query, with one column per system."""
    return [
        {"measure": measure, "query": query, **dict(zip(comparison.systems, cells, strict=True))}
        for measure, values in comparison.per_query.items()
        for query, cells in zip(plain_list(comparison.query_ids), values.T.tolist(), strict=True)
    ]


# Text with tables --------------------------------------------------------------------------------


class Style(NamedTuple):
    """How a format of text writes a table, a line of prose, and the tables of a Comparison."""

    table: Callable[..., str]  # also receives the settings of LaTeX tables
    line: Callable[[str], str]
    compared: Callable[[Comparison, Namespace], list[str]]


def _list_terminal_tables(comparison: Comparison, args: Namespace) -> list[str]:
    parts = [str(comparison.leaderboard())]
    if len(comparison.rows["system"]) <= MOST_ROWS:
        parts.append(
            tables.aligned(fitting(select_columns(comparison, rank_rows(comparison)), "terminal"))
        )
    return parts


def _get_latex_settings(args: Namespace) -> dict[str, Any]:
    return {"caption": args.caption, "label": args.label, "digits": args.digits}


TERMINAL = Style(lambda table, **_: tables.aligned(table), str, _list_terminal_tables)
MARKDOWN = Style(
    lambda table, **_: tables.markdown(table),
    tables.safe_in_markdown,
    lambda comparison, args: [comparison.leaderboard().to_markdown(), comparison.to_markdown()],
)
LATEX = Style(
    tables.latex,
    lambda line: f"% {line}".rstrip(),
    lambda comparison, args: [
        comparison.leaderboard().to_latex(**_get_latex_settings(args)),
        comparison.to_latex(digits=args.digits),
    ],
)


def _means_to_text(style: Style, report: Any, systems: Systems, args: Namespace) -> str:
    parts = []
    if args.per_query:
        parts.append(style.table(_tabulate_values(systems, args), digits=args.digits))
    if args.by is not None:
        table = report.to_frame()
        table["segment"] = table["segment"].where(table["segment"].notna(), "")  # all queries
    else:
        table = _tabulate_means(systems if args.intervals else _sort_systems(systems, args), args)
    parts.append(style.table(table, **_get_latex_settings(args)))
    return _join_text(style, parts, _describe_queries(systems))


def _comparison_to_text(
    style: Style, comparison: Comparison, systems: Systems, args: Namespace
) -> str:
    if args.by is not None:
        table = style.table(comparison.to_frame(), **_get_latex_settings(args))
        return _join_text(style, [table], comparison.sentences() if style is TERMINAL else [])
    parts = [_join_text(style, [], comparison.leaderboard().verdict.split("\n"))]
    if args.per_query:
        parts.append(style.table(_tabulate_side_by_side(comparison), digits=args.digits))
    parts += style.compared(comparison, args)
    return _join_text(style, parts, _describe_findings(comparison, systems))


def _join_text(style: Style, parts: list[str], lines: list[str]) -> str:
    """Join parts, and lines of prose at the end, separated by blank lines."""
    return "\n\n".join(filter(None, [*parts, "\n".join(map(style.line, lines))]))


def _sort_systems(systems: Systems, args: Namespace) -> Systems:
    """Sort systems by the mean of the first measure that is no count, in descending order."""
    first = min(args.columns, key=lambda column: column.is_count).name
    means = {name: report.mean()[first] for name, report in systems.items()}
    by_mean = sorted(means.items(), key=lambda item: (math.isnan(item[1]), -item[1]))
    return {name: systems[name] for name, _ in by_mean}


def _describe_queries(systems: Systems) -> list[str]:
    """Return lines about means over different queries, and the numbers of undefined queries."""
    lines = []
    evaluations = [report for report in systems.values() if isinstance(report, Evaluation)]
    if len({frozenset(plain_list(report.query_ids)) for report in evaluations}) > 1:
        lines.append(
            "The runs contain different queries (see n_queries), so their means cannot be "
            "compared: use -c to count missing queries as empty rankings."
        )
    by_system = [
        f"{name}: " + ", ".join(f"{key} {n}" for key, n in report.n_undefined.items() if n)
        for name, report in systems.items()
        if any(report.n_undefined.values())
    ]
    if by_system:
        lines.append(
            f"Undefined queries (their value is the parameter undefined): {'; '.join(by_system)}."
        )
    return lines


def _describe_findings(comparison: Comparison, systems: Systems) -> list[str]:
    """Return lines about the method and undefined queries, and the findings for each measure."""
    sentences, rows = comparison.sentences(), list_rows(rank_rows(comparison))
    n = len(rows) // len(comparison.measures)
    lines = [
        f"{counted(comparison.n_queries, 'query', 'queries')}; "
        f"{percent_text(comparison.level)} intervals; "
        f"{describe_procedure(comparison)}.",
        *_describe_queries(systems),
    ]
    for i, measure in enumerate(comparison.measures):
        lines += ["", f"By {measure}:"]
        if len(rows) <= MOST_SENTENCES:
            lines += [f"- {sentence}" for sentence in sentences[i * n : (i + 1) * n]]
        else:
            pairs = [row for row in rows if row["measure"] == measure]
            lines.append(f"- {count_significant(pairs, comparison.test is not None)}.")
    if len(rows) > MOST_SENTENCES:
        lines += ["", "For a sentence per pair, use --format html; for all values, csv or json."]
    return lines


# CSV, JSON and pages -----------------------------------------------------------------------------


def _means_to_csv(report: Any, systems: Systems, args: Namespace) -> str:
    if args.by is not None:
        return str(report.to_csv())
    if args.per_query:
        return tables.csv_text(_tabulate_values(systems, args))
    rows = _tabulate_means(systems, args)
    if not args.intervals:
        rows = [
            row | {f"n_undefined {key}": n for key, n in of_system.n_undefined.items()}
            for row, of_system in zip(rows, systems.values(), strict=True)
        ]
    return tables.csv_text(rows)


def _comparison_to_csv(comparison: Comparison, systems: Systems, args: Namespace) -> str:
    if args.per_query:
        return tables.csv_text(_tabulate_side_by_side(comparison))
    return str(comparison.to_csv())


def _means_to_json(report: Any, systems: Systems, args: Namespace) -> str:
    entries = {name: of_system.to_dict() for name, of_system in systems.items()}
    for name, entry in entries.items():
        values = summarize_columns(systems[name], args.columns)
        entry["mean"] |= {c.name: values[c.name] for c in args.columns if c.is_geometric}
        if totals := {c.name: values[c.name] for c in args.columns if c.is_count}:
            entry["total"] = totals
    return _dump(entries)


def _comparison_to_json(comparison: Comparison, systems: Systems, args: Namespace) -> str:
    report = comparison.to_dict()
    for name, of_system in systems.items():
        if name in report:
            raise ValueError(
                f"The JSON of compare has a field {name!r}: choose other names with --system-names."
            )
        report[name] = {
            key: value
            for key, value in of_system.to_dict().items()
            if key in ("mean", "n_queries", "n_defined", "n_undefined")
        }
    return _dump(report)


def _means_to_html(report: Any, systems: Systems, args: Namespace) -> str:
    if len(systems) > 1:
        return str(compare(report, test=None).to_html(title=args.title))
    ((name, of_system),) = systems.items()
    if len(args.files) == 1:
        name = f"{os.path.basename(args.files[0].rstrip('/')) or args.files[0]}: {name}"
    return str(of_system.to_html(title=args.title or name))


class Format(NamedTuple):
    """The functions that print what `evaluate` and `compare` return, and the reports by system."""

    evaluate: Callable[[Any, Systems, Namespace], str]
    compare: Callable[[Comparison, Systems, Namespace], str]


FORMATS = {
    "table": Format(partial(_means_to_text, TERMINAL), partial(_comparison_to_text, TERMINAL)),
    "csv": Format(_means_to_csv, _comparison_to_csv),
    "json": Format(_means_to_json, _comparison_to_json),
    "markdown": Format(partial(_means_to_text, MARKDOWN), partial(_comparison_to_text, MARKDOWN)),
    "latex": Format(partial(_means_to_text, LATEX), partial(_comparison_to_text, LATEX)),
    "html": Format(
        _means_to_html,
        lambda comparison, systems, args: str(comparison.to_html(title=args.title)),
    ),
}
