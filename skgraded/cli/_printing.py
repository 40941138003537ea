"""Formatting of Evaluations and Comparisons for the command line."""

import json
import math
import re
import textwrap
import warnings
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skgraded._input.words import plain, plain_list
from skgraded.cli._columns import Column, n_queries, summary
from skgraded.measures.base import MEASURES, other_names, parameters_of
from skgraded.reports.comparing import compare
from skgraded.reports.comparison import Comparison
from skgraded.reports.comparison_view import ComparisonView
from skgraded.reports.evaluation import Evaluation, mean_judged
from skgraded.writing import tables
from skgraded.writing.columns import fitting
from skgraded.writing.sentences import judged_gap, pair_counts, query_counts
from skgraded.writing.text import percent_text

SYNTAX = """\
Write a cut-off as in ndcg@10, and parameters as in "AP(threshold=2)@20".
With --names trec_eval, all names have the meaning of trec_eval; -m official selects its official
measures. Without it, trec_eval's ndcg is "ndcg(gain='linear')"."""
MOST_SENTENCES = 8  # maximum number of sentences; more pairs are counted
MOST_ROWS = 30  # maximum number of rows in a table of pairs; longer tables are omitted
FORMATS = ("table", "csv", "json", "markdown", "latex", "html")


def of_evaluations(
    evaluations: Mapping[str, Any], args: Namespace, title: str | None = None, width: int = 0
) -> str:
    """Format a dict of Evaluations as the options specify.

    With --per-query, the output includes per-query values; "csv" then contains only these values.
    "html" always includes per-query values. If `width` > 0, "table" wraps notes at `width`.
    Columns of counts contain totals over queries in tables and in "csv".
    """
    form, columns = args.format, args.columns
    if gap := judged_gap(list(evaluations), _judged(evaluations)):
        warnings.warn(gap, stacklevel=2)
    if form == "json":
        return _json(evaluations, args.per_query, columns)
    if form == "html":
        first, *others = evaluations.values()
        report = compare(evaluations, test=None) if others else first
        return str(report.to_html(title=title))
    if form == "csv":
        if args.per_query:
            return tables.csv_text(_values(evaluations, columns))
        return tables.csv_text(_summary(evaluations, args, counts=True))
    parts = [written(_values(evaluations, columns), args, is_main=False)] if args.per_query else []
    parts.append(written(_summary(_ranked(evaluations, columns), args), args))
    notes = "\n".join(filter(None, [_differing(evaluations), _undefined(evaluations)]))
    return _joined([*parts, prose(notes, form, width)])


def of_summaries(reports: Mapping[str, Any], args: Namespace) -> str:
    """Format the means of reports with their intervals, one row per system and measure."""
    if args.format == "html":
        if len(reports) > 1:
            raise ValueError("--format html with intervals requires a single run: use compare.")
        (report,) = reports.values()
        return of_report(report, args)
    rows = {name: report.summary().to_dict("records") for name, report in reports.items()}
    if args.format == "json":
        return _dumped(
            {
                name: {
                    "mean": _numbers(report.mean()),
                    "summary": [_numbers(row) for row in rows[name]],
                }
                for name, report in reports.items()
            }
        )
    table: Any = [{"run": name, **row} for name, of_run in rows.items() for row in of_run]
    return tables.csv_text(table) if args.format == "csv" else written(table, args)


def of_report(report: Any, args: Namespace) -> str:
    """Format a report with its own methods; "table" also prints its sentences."""
    if args.format == "html":
        return str(report.to_html(title=args.title))
    if args.format in ("json", "csv"):
        return str(getattr(report, f"to_{args.format}")())
    words: list[str] = getattr(report, "sentences", list)() if args.format == "table" else []
    frame = report.to_frame()
    if "segment" in frame:
        frame["segment"] = frame["segment"].where(frame["segment"].notna(), "")  # overall
    return _joined([written(frame, args), "\n".join(words)])


def _ranked(evaluations: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """Sort systems by the mean of the first measure that is no count, in descending order."""
    names = [column.name for column in columns if not column.is_count]

    def key(item: tuple[str, Any]) -> tuple[bool, float]:
        mean = next(value for name, value in item[1].mean().items() if name in names or not names)
        return (math.isnan(mean), -mean)

    return dict(sorted(evaluations.items(), key=key))


def of_comparison(
    evaluations: Mapping[str, Any], comparison: Comparison, args: Namespace, width: int = 0
) -> str:
    """Format a Comparison; for the parameters, see `of_evaluations`."""
    form, per_query = args.format, args.per_query
    if form == "json":
        return _json(evaluations, per_query, comparison=comparison)
    if form == "html":
        return str(comparison.to_html(title=args.title))
    if form == "csv":
        if per_query:
            return tables.csv_text(_side_by_side(comparison))
        return str(comparison.to_csv())
    parts = [written(_side_by_side(comparison), args, is_main=False)] if per_query else []
    view = ComparisonView(comparison)
    board, rows = view.leaderboard, view.ranked_rows
    if form == "table":
        parts.append(str(board))
        if len(rows) <= MOST_ROWS:
            parts.append(tables.aligned(fitting(view.frame(), "terminal")))
    elif form == "latex":
        parts += [
            board.to_latex(**latex_settings(args)),
            comparison.to_latex(**latex_settings(args, is_main=False)),
        ]
    else:
        parts += [board.to_markdown(), comparison.to_markdown()]
    verdict = prose(board.verdict, form, width)
    return _joined([verdict, *parts, prose(_below(comparison, rows, evaluations), form, width)])


def _below(comparison: Comparison, rows: list[Any], evaluations: Mapping[str, Any]) -> str:
    """Return notes on the method and undefined queries, and the findings for each measure."""
    lines = [
        f"{query_counts(comparison.n_queries)}; "
        f"{percent_text(comparison.level)} intervals; "
        f"{ComparisonView(comparison).procedure}.",
        *filter(None, [_undefined(evaluations)]),
    ]
    sentences, n = comparison.sentences(), len(rows) // len(comparison.measures)
    for i, measure in enumerate(comparison.measures):
        lines += ["", f"By {measure}:"]
        if len(rows) <= MOST_SENTENCES:
            lines += [f"- {sentence}" for sentence in sentences[i * n : (i + 1) * n]]
        else:
            lines += [f"- {pair_counts([row for row in rows if row.measure == measure])}."]
    if len(rows) > MOST_SENTENCES:
        lines += ["", "For a sentence per pair, use --format html; for all values, csv or json."]
    return "\n".join(lines)


def prose(text: str, form: str, width: int) -> str:
    """Make text safe in Markdown, turn it into LaTeX comments, or wrap it for a terminal."""
    lines = text.split("\n")
    if form == "markdown":
        lines = [tables.safe_in_markdown(line) for line in lines]
    if form == "latex" and text:
        lines = [f"% {line}".rstrip() for line in lines]
    if form == "table" and width > 0:
        lines = [
            textwrap.fill(
                line,
                width,
                subsequent_indent="  " * line.startswith("- "),
                break_long_words=False,
                break_on_hyphens=False,
            )
            for line in lines
        ]
    return "\n".join(lines)


def _joined(parts: list[str]) -> str:
    """Join the non-empty parts, separated by blank lines."""
    return "\n\n".join(filter(None, parts))


def of_measures() -> str:
    """Return a table of all measures with their names, parameters and one-line descriptions."""
    rows = [
        {
            "measure": name,
            "other names": ", ".join(
                f"{other} ({parameters})" if parameters else other
                for other, parameters in other_names(measure).items()
            ),
            "parameters": ", ".join(parameters_of(measure)),
            "what it is": (measure.__doc__ or "").split("\n")[0].rstrip("."),
        }
        for name, measure in MEASURES.items()
    ]
    return f"{tables.aligned(rows)}\n\n{SYNTAX}"


# Frames ------------------------------------------------------------------------------------------


def _summary(evaluations: Mapping[str, Any], args: Namespace, counts: bool = False) -> Any:
    """Return one row per system; `counts` adds the numbers of undefined queries."""
    rows, columns = [], args.columns
    judged = _judged(evaluations) if args.judged else {}
    for i, (name, evaluation) in enumerate(evaluations.items()):
        row = {"run": name, "n_queries": n_queries(evaluation), **summary(evaluation, columns)}
        row |= {key: shares[i] for key, shares in judged.items()}
        if counts:
            row |= {f"n_undefined {key}": n for key, n in evaluation.n_undefined.items()}
        rows.append(row)
    return rows


def _judged(evaluations: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the mean shares of judged documents, keyed by name."""
    reports = list(evaluations.values())
    if all(isinstance(report, Evaluation) for report in reports):
        return mean_judged(reports)
    shares = np.array([report.judged for report in reports])
    k = re.search(r"@(\d+)$", next(iter(reports[0].mean())))
    return {f"Judged@{k[1] if k else 10}": shares} if (shares < 1).any() else {}


def _values(evaluations: Mapping[str, Any], names: Sequence[Column]) -> dict[str, list[Any]]:
    """Return columns with one row per system and query."""
    columns: dict[str, list[Any]] = {"run": [], "query": []}
    counts = {column.name for column in names if column.is_count}
    for name, evaluation in evaluations.items():
        ids = plain_list(evaluation.query_ids)
        columns["run"] += [name] * len(ids)
        columns["query"] += ids
        for measure, values in evaluation.per_query.items():
            shown = values.astype(int) if measure in counts else values
            columns.setdefault(measure, []).extend(shown.tolist())
    return columns


def _side_by_side(comparison: Comparison) -> dict[str, list[Any]]:
    """Return columns with one row per measure and query, and one column per system."""
    ids, measures = plain_list(comparison.query_ids), comparison.measures
    columns = {
        "measure": [measure for measure in measures for _ in ids],
        "query": ids * len(measures),
    }
    for i, system in enumerate(comparison.systems):
        values = [comparison.per_query[measure][i] for measure in measures]
        columns[system] = np.concatenate(values).tolist()
    return columns


def _differing(evaluations: Mapping[str, Any]) -> str:
    """Return a line that warns of means over different queries, or "" if the queries are equal."""
    queries = [
        frozenset(plain_list(evaluation.query_ids))
        for evaluation in evaluations.values()
        if isinstance(evaluation, Evaluation)
    ]
    if len(set(queries)) <= 1:
        return ""
    return (
        "The runs contain different queries (see n_queries), so their means cannot be compared: "
        "use -c to count missing queries as empty rankings."
    )


def _undefined(evaluations: Mapping[str, Any]) -> str:
    """Return a line with the number of undefined queries per system, or "" if all are defined."""
    by_system = [
        f"{name}: " + ", ".join(f"{key} {n}" for key, n in evaluation.n_undefined.items() if n)
        for name, evaluation in evaluations.items()
        if any(evaluation.n_undefined.values())
    ]
    if not by_system:
        return ""
    return f"Undefined queries (their value is the parameter undefined): {'; '.join(by_system)}."


# Text --------------------------------------------------------------------------------------------


def latex_settings(args: Namespace, is_main: bool = True) -> dict[str, Any]:
    """Return the settings of a LaTeX table; only the main table has a caption and a label."""
    names = ("caption", "label", "digits") if is_main else ("digits",)
    return {name: vars(args)[name] for name in names if vars(args)[name] is not None}


def written(table: Any, args: Namespace, is_main: bool = True) -> str:
    """Format a table as text, Markdown or LaTeX; see `latex_settings`."""
    if args.format == "latex":
        return tables.latex(table, **latex_settings(args, is_main))
    return (tables.markdown if args.format == "markdown" else tables.aligned)(table)


def _json(
    evaluations: Mapping[str, Any],
    per_query: bool,
    columns: Sequence[Column] = (),
    comparison: Comparison | None = None,
) -> str:
    report: dict[str, dict[str, Any]] = {}
    judged = _judged(evaluations)
    compared: Any = comparison and comparison.to_frame()
    for i, (name, evaluation) in enumerate(evaluations.items()):
        values = _numbers(summary(evaluation, columns))
        totals = {column.name: values.pop(column.name) for column in columns if column.is_count}
        report[name] = entry = {
            "mean": values,
            "n_queries": n_queries(evaluation),
            "n_undefined": evaluation.n_undefined,
        }
        if totals:
            entry["total"] = totals
        if judged:
            entry["judged"] = {key: shares[i] for key, shares in judged.items()}
        if getattr(evaluation, "n_unanswered", 0):
            entry["n_unanswered"] = evaluation.n_unanswered
        if hasattr(evaluation, "tallies"):  # of a folder
            entry["summary"] = json.loads(evaluation.to_json())
        if comparison is not None:
            rows = compared[compared["system"] == name].drop(columns="system")
            entry["compared"] = list(map(_numbers, rows.to_dict("records")))
        if per_query:
            entry["per_query"] = {
                str(query): _numbers({key: v[q] for key, v in evaluation.per_query.items()})
                for q, query in enumerate(plain_list(evaluation.query_ids))
            }
    return _dumped(report)


def _dumped(report: Any) -> str:
    return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)


def _numbers(values: Mapping[str, float]) -> dict[str, float | None]:
    """Convert values for JSON; non-finite values become null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else plain(value)
        for name, value in values.items()
    }
