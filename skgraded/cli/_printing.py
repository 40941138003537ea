"""What the command prints of Evaluations and of a Comparison, in each format."""

import json
import math

from skgraded._input.words import counted, plain, plain_list, plural
from skgraded.measures.base import MEASURES, other_names
from skgraded.reports.comparing import compare
from skgraded.writing import tables
from skgraded.writing.text import percent_text

SYNTAX = """\
A cut-off: ndcg@10. Parameters: "AP(threshold=2)@20".
With --ties trec, map, recip_rank, P_10, recall_10 and ndcg_cut_10 have trec_eval's values.
trec_eval's ndcg is "ndcg(gain='linear')"."""
MOST_SENTENCES = 8  # more are a wall that nobody reads
MOST_ROWS = 30  # of the table of pairs on a terminal
FORMATS = ("table", "csv", "json", "markdown", "latex", "html")


def of_evaluations(evaluations, form, per_query):
    """Report on systems, by name, in one of the `FORMATS`.

    With values of every query if `per_query`; "csv" then has nothing else, "html" always has them.
    """
    if form == "json":
        return _json(evaluations, per_query)
    if form == "html":
        first, *others = evaluations.values()
        report = compare(evaluations, test=None, rng=0) if others else first
        return report.to_html()
    if form == "csv":
        columns = _values(evaluations) if per_query else _summary(evaluations, counts=True)
        return tables.csv_text(columns)
    write = WRITERS[form]
    parts = [write(_values(evaluations))] if per_query else []
    return _text([*parts, write(_summary(evaluations))], _undefined(evaluations), form)


def of_comparison(evaluations, comparison, form, per_query):
    """Report on a comparison of systems; arguments as of `of_evaluations`."""
    if form == "json":
        return _json(evaluations, per_query, comparison)
    if form == "html":
        return comparison.to_html()
    if form == "csv":
        return tables.csv(_side_by_side(comparison)) if per_query else comparison.to_csv()
    parts = [WRITERS[form](_side_by_side(comparison))] if per_query else []
    board = comparison.leaderboard()
    if form == "table":
        differences = _differences(comparison)
        parts.append(str(board))
        parts += [tables.aligned(differences)] if len(differences) <= MOST_ROWS else []
    else:
        parts += [getattr(report, f"to_{form}")() for report in (board, comparison)]
    return _text(parts, _said(comparison, evaluations), form)


def _said(comparison, evaluations):
    """What is to be said below the table."""
    return "\n".join([
        f"{comparison.n_queries} {plural(comparison.n_queries, 'query', 'queries')}; intervals of "
        f"{percent_text(comparison.level)}; test: {comparison.test or 'none'}, corrected by "
        f"{comparison.correction or 'nothing'} over all rows.",
        _undefined(evaluations), *_verdicts(comparison),
    ])


def _verdicts(comparison):
    """Lines, under a heading a measure: of few pairs a sentence each, of many who beats whom."""
    rows = comparison.shown_rows()
    said = list(zip(rows, comparison.sentences(), strict=True))
    lines = []
    for measure in comparison.measures:
        lines += ["", f"By {measure}:"]
        if len(rows) <= MOST_SENTENCES:
            lines += [f"- {sentence}" for row, sentence in said if row.measure == measure]
        else:
            lines += _lists([row for row in rows if row.measure == measure], comparison)
    if len(rows) > MOST_SENTENCES:
        lines += ["", "A sentence a pair: --format html; all numbers: --format csv or json."]
    return lines


def _lists(rows, comparison):
    """Of each system than which others it is better, the best first."""
    if comparison.test is None:
        return [f"- {counted(len(rows), 'pair', 'pairs')}, not tested."]
    order = comparison.leaderboard().systems
    better: dict = {name: [] for name in order}
    apart = [row for row in rows if row.is_significant]
    for row in apart:
        if row.difference > 0:
            better[row.system].append(row.baseline)
        elif row.difference < 0:  # a rank test may tell apart what has the same mean
            better[row.baseline].append(row.system)
    return [
        f"- {len(apart)} of {counted(len(rows), 'pair', 'pairs')} told apart.",
        *(
            f"- {winner} is better than {', '.join(sorted(losers, key=order.index))}."
            for winner, losers in better.items() if losers
        ),
    ]


def _text(parts, below, form):
    """Tables as text, and what is said below them, which is a comment in LaTeX."""
    if form == "latex":
        below = "\n".join(f"% {line}".rstrip() for line in below.split("\n"))
    return "\n\n".join([*parts, below])


def of_measures():
    """List the measures: name, other names, parameters, and what each is."""
    rows = [
        {
            "measure": name, "other names": ", ".join(
                f"{other} ({parameters})" if parameters else other
                for other, parameters in other_names(measure).items()
            ),
            "parameters": ", ".join(measure.fields),
            "what it is": (measure.__doc__ or "").split("\n")[0].rstrip("."),
        }
        for name, measure in MEASURES.items()
    ]
    return f"{tables.aligned(rows)}\n\n{SYNTAX}"


# Frames ------------------------------------------------------------------------------------------

def _summary(evaluations, counts=False):
    """A row a system; with counts also of the undefined queries by measure."""
    rows = []
    for name, evaluation in evaluations.items():
        row = {"run": name, "n_queries": _n_queries(evaluation), **evaluation.mean()}
        if counts:
            row |= {f"n_undefined {key}": n for key, n in evaluation.n_undefined.items()}
        rows.append(row)
    return {name: [row[name] for row in rows] for name in rows[0]}


def _values(evaluations):
    """A row a system and query."""
    columns: dict = {"run": [], "query": []}
    for name, evaluation in evaluations.items():
        ids = plain_list(evaluation.query_ids)
        columns["run"] += [name] * len(ids)
        columns["query"] += ids
        for measure, values in evaluation.per_query.items():
            columns.setdefault(measure, []).extend(values.tolist())
    return columns


def _side_by_side(comparison):
    """A row a measure and query, a column a system."""
    import pandas as pd

    return pd.concat([
        pd.DataFrame({
            "measure": measure, "query": _ids(comparison),
            **dict(zip(comparison.systems, comparison.per_query[measure], strict=True)),
        })
        for measure in comparison.measures
    ], ignore_index=True)


def _n_queries(report):
    """How many queries an Evaluation, a Summary or a comparison is of."""
    return report.n_queries if hasattr(report, "n_queries") else len(report.query_ids)


def _ids(report):
    """Query ids as they are, whatever stands above or below them."""
    import pandas as pd

    return pd.Series(plain_list(report.query_ids), dtype=object)


def _differences(comparison):
    """What fits the width of a terminal."""
    frame = comparison.to_frame()
    columns = ["system", "measure", "mean", "difference", "ci_low", "ci_high"]
    if comparison.baseline is None:
        columns.insert(1, "baseline")
    if comparison.test is not None:
        columns += ["p_value", "p_adjusted"]
    return frame[[*columns, "wins", "ties", "losses"]]


def _undefined(evaluations):
    """How many queries have no value of their own, in one line."""
    by_system = [
        f"{name}: " + ", ".join(f"{key} {n}" for key, n in evaluation.n_undefined.items() if n)
        for name, evaluation in evaluations.items() if any(evaluation.n_undefined.values())
    ]
    if not by_system:
        return "No query is undefined."
    return f"Undefined queries, which count as the measure's undefined=: {'; '.join(by_system)}."


# Text --------------------------------------------------------------------------------------------

WRITERS = {"table": tables.aligned, "markdown": tables.markdown, "latex": tables.latex}


def _json(evaluations, per_query, comparison=None):
    report = {}
    for name, evaluation in evaluations.items():
        values = report[name] = {
            "mean": _numbers(evaluation.mean()),
            "n_queries": _n_queries(evaluation),
            "n_undefined": evaluation.n_undefined,
        }
        if comparison is not None:
            records = comparison.to_frame().to_dict("records")
            values["compared"] = [
                _numbers(record) for record in records if record.pop("system") == name
            ]
        if per_query:
            values["per_query"] = {
                str(query): _numbers({key: v[i] for key, v in evaluation.per_query.items()})
                for i, query in enumerate(plain_list(evaluation.query_ids))
            }
    return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)


def _numbers(values):
    """Values that JSON knows: null for what is not finite."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else plain(value)
        for name, value in values.items()
    }
