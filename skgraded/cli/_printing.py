"""Formatting of Evaluations and Comparisons for the command line."""

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skgraded._input.words import plain, plain_list
from skgraded.cli._columns import Column, summary
from skgraded.measures.base import MEASURES, other_names, parameters_of
from skgraded.reports.comparing import compare, warn_of_judged_gap
from skgraded.reports.comparison import Comparison
from skgraded.reports.comparison_view import ComparisonView
from skgraded.reports.evaluation import Evaluation, mean_judged
from skgraded.writing import tables
from skgraded.writing.columns import fitting
from skgraded.writing.sentences import pair_counts, query_counts
from skgraded.writing.text import percent_text

SYNTAX = """\
Write a cut-off as in ndcg@10, and parameters as in "AP(threshold=2)@20".
With --names trec_eval, all names have the meaning of trec_eval; -m official selects its official
measures. Without it, trec_eval's ndcg is "ndcg(gain='linear')"."""
MOST_SENTENCES = 8  # maximum number of sentences; more pairs are counted
MOST_ROWS = 30  # maximum number of rows in a table of pairs; longer tables are omitted
FORMATS = ("table", "csv", "json", "markdown", "latex", "html")


def of_evaluations(
    evaluations: Mapping[str, Any], form: str, per_query: bool, title: str | None = None,
    width: int = 0, columns: Sequence[Column] = (),
) -> str:
    """Format a dict of Evaluations in one of the `FORMATS`.

    If `per_query` is True, the output includes per-query values; "csv" then contains only these
    values. "html" always includes per-query values. If `width` > 0, "table" wraps notes at `width`.
    Columns of counts contain totals over queries in tables and in "csv".
    """
    warn_of_judged_gap(list(evaluations), _judged(evaluations))
    if form == "json":
        return _json(evaluations, per_query, columns)
    if form == "html":
        first, *others = evaluations.values()
        report = compare(evaluations, test=None) if others else first
        return str(report.to_html(title=title))
    if form == "csv":
        rows = _values(evaluations, columns) if per_query else _summary(evaluations, columns, True)
        return tables.csv_text(rows)
    write = WRITERS[form]
    parts = [write(_values(evaluations, columns))] if per_query else []
    parts.append(write(_summary(_ranked(evaluations, columns), columns)))
    return _joined([*parts, prose(_undefined(evaluations), form, width)])


def _ranked(evaluations: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """Sort systems by the mean of the first measure that is no count, in descending order."""
    names = [column.name for column in columns if not column.is_count]
    def key(item: tuple[str, Any]) -> tuple[bool, float]:
        mean = next(value for name, value in item[1].mean().items() if name in names or not names)
        return (math.isnan(mean), -mean)
    return dict(sorted(evaluations.items(), key=key))


def of_comparison(
    evaluations: Mapping[str, Any], comparison: Comparison, form: str, per_query: bool,
    title: str | None = None, width: int = 0
) -> str:
    """Format a Comparison; for the parameters, see `of_evaluations`."""
    if form == "json":
        return _json(evaluations, per_query, comparison=comparison)
    if form == "html":
        return str(comparison.to_html(title=title))
    if form == "csv":
        if per_query:
            return tables.csv_text(_side_by_side(comparison))
        return str(comparison.to_csv())
    parts = [WRITERS[form](_side_by_side(comparison))] if per_query else []
    view = ComparisonView(comparison)
    board, rows = view.leaderboard, view.ranked_rows
    if form == "table":
        parts.append(str(board))
        if len(rows) <= MOST_ROWS:
            parts.append(tables.aligned(fitting(view.frame(), "terminal")))
    else:
        parts += [getattr(report, f"to_{form}")() for report in (board, comparison)]
    verdict = prose(board.verdict, form, width)
    return _joined([verdict, *parts, prose(_below(comparison, rows, evaluations), form, width)])


def _below(comparison: Comparison, rows: list[Any], evaluations: Mapping[str, Any]) -> str:
    """Return notes on the method and undefined queries, and the findings for each measure."""
    lines = [
        f"{query_counts(comparison.n_queries, comparison.n_judge)}; "
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
                line, width, subsequent_indent="  " * line.startswith("- "),
                break_long_words=False, break_on_hyphens=False,
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
            "measure": name, "other names": ", ".join(
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

def _summary(
    evaluations: Mapping[str, Any], columns: Sequence[Column], counts: bool = False
) -> dict[str, list[Any]]:
    """Return columns with one row per system; `counts` adds the numbers of undefined queries."""
    rows, judged = [], _judged(evaluations)
    for i, (name, evaluation) in enumerate(evaluations.items()):
        row = {"run": name, "n_queries": _n_queries(evaluation), **summary(evaluation, columns)}
        row |= {key: shares[i] for key, shares in judged.items()}
        if counts:
            row |= {f"n_undefined {key}": n for key, n in evaluation.n_undefined.items()}
        rows.append(row)
    return {name: [row[name] for row in rows] for name in rows[0]}


def _judged(evaluations: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the mean shares of judged documents, keyed by name; Summaries are ignored."""
    return mean_judged([ev for ev in evaluations.values() if isinstance(ev, Evaluation)])


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
        "measure": [measure for measure in measures for _ in ids], "query": ids * len(measures),
    }
    for i, system in enumerate(comparison.systems):
        values = [comparison.per_query[measure][i] for measure in measures]
        columns[system] = np.concatenate(values).tolist()
    return columns


def _n_queries(report: Any) -> int:
    """Return the number of queries of an Evaluation or a Summary."""
    return report.n_queries if hasattr(report, "n_queries") else len(report.query_ids)


def _undefined(evaluations: Mapping[str, Any]) -> str:
    """Return a line with the number of undefined queries per system, or "" if all are defined."""
    by_system = [
        f"{name}: " + ", ".join(f"{key} {n}" for key, n in evaluation.n_undefined.items() if n)
        for name, evaluation in evaluations.items() if any(evaluation.n_undefined.values())
    ]
    if not by_system:
        return ""
    return f"Undefined queries (their value is the parameter undefined): {'; '.join(by_system)}."


# Text --------------------------------------------------------------------------------------------

WRITERS = {"table": tables.aligned, "markdown": tables.markdown, "latex": tables.latex}


def _json(
    evaluations: Mapping[str, Any], per_query: bool, columns: Sequence[Column] = (),
    comparison: Comparison | None = None
) -> str:
    report: dict[str, dict[str, Any]] = {
        name: {
            "mean": _numbers(summary(evaluation, columns)),
            "n_queries": _n_queries(evaluation),
            "n_undefined": evaluation.n_undefined,
        }
        for name, evaluation in evaluations.items()
    }
    for column in columns:
        if column.is_count:
            for values in report.values():
                values.setdefault("total", {})[column.name] = values["mean"].pop(column.name)
    for key, shares in _judged(evaluations).items():
        for values, share in zip(report.values(), shares, strict=True):
            values.setdefault("judged", {})[key] = share
    for name, evaluation in evaluations.items():
        if getattr(evaluation, "n_unanswered", 0):
            report[name]["n_unanswered"] = evaluation.n_unanswered
    if comparison is not None:
        for values in report.values():
            values["compared"] = []
        for row in comparison.to_frame().to_dict("records"):
            report[row.pop("system")]["compared"].append(_numbers(row))
        if comparison.system_means and comparison.n_judge is not None:
            for i, name in enumerate(comparison.systems):
                means = comparison.system_means.items()
                report[name]["mean"] = {key: float(mean[i, 0]) for key, mean in means}
                report[name]["n_judge"] = comparison.n_judge
    if per_query:
        for name, evaluation in evaluations.items():
            report[name]["per_query"] = {
                str(query): _numbers({key: v[i] for key, v in evaluation.per_query.items()})
                for i, query in enumerate(plain_list(evaluation.query_ids))
            }
    return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)


def _numbers(values: Mapping[str, float]) -> dict[str, float | None]:
    """Convert values for JSON; non-finite values become null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else plain(value)
        for name, value in values.items()
    }
