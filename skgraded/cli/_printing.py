"""What the command prints of Evaluations and of a Comparison, in each format."""

import json
import math

from skgraded._input.words import plain, plain_list, plural
from skgraded.reports.comparison import compare
from skgraded.reports.write import tables
from skgraded.reports.write.text import percent_text

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
        frame = _values(evaluations) if per_query else _summary(evaluations, counts=True)
        return tables.csv(frame)
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
    if form == "table":
        parts.append(aligned(_differences(comparison)))
    else:
        parts.append(comparison.to_markdown() if form == "markdown" else comparison.to_latex())
    return _text(parts, _said(comparison, evaluations), form)


def _said(comparison, evaluations):
    """What is to be said below the table."""
    n = len(comparison.query_ids)
    lines = [
        f"{n} {plural(n, 'query', 'queries')}; intervals of {percent_text(comparison.level)}; "
        f"test: {comparison.test or 'none'}, corrected by "
        f"{comparison.correction or 'nothing'} over all rows.",
        _undefined(evaluations),
    ]
    sentences = [f"- {sentence}" for sentence in comparison.sentences()]
    return "\n".join([*lines, "", *sentences])


def _text(parts, below, form):
    """Tables as text, and what is said below them, which is a comment in LaTeX."""
    if form == "latex":
        below = "\n".join(f"% {line}".rstrip() for line in below.split("\n"))
    return "\n\n".join([*parts, below])


# Frames ------------------------------------------------------------------------------------------

def _summary(evaluations, counts=False):
    """A row a system; with counts also of the undefined queries by measure."""
    import pandas as pd

    rows = []
    for name, evaluation in evaluations.items():
        row = {"run": name, "n_queries": len(evaluation.query_ids), **evaluation.mean()}
        if counts:
            counted = evaluation.n_undefined.items()
            row |= {f"n_undefined {measure}": n for measure, n in counted}
        rows.append(row)
    return pd.DataFrame(rows)


def _values(evaluations):
    """A row a system and query."""
    import pandas as pd

    return pd.concat([
        pd.DataFrame({"run": name, "query": _ids(evaluation), **evaluation.per_query})
        for name, evaluation in evaluations.items()
    ], ignore_index=True)


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
    counts = {
        name: {measure: n for measure, n in evaluation.n_undefined.items() if n}
        for name, evaluation in evaluations.items()
    }
    if not any(counts.values()):
        return "No query is undefined."
    by_system = [
        f"{name}: " + ", ".join(f"{measure} {n}" for measure, n in found.items())
        for name, found in counts.items() if found
    ]
    return f"Undefined queries, which count as the measure's undefined=: {'; '.join(by_system)}."


# Text --------------------------------------------------------------------------------------------

def aligned(frame) -> str:
    """Write a frame as aligned text, names to the left and numbers to the right."""
    cells = [
        [str(name), *(tables.cell_text(cell, 4) for cell in frame[name])] for name in frame.columns
    ]
    numeric = tables.are_numbers(frame)
    columns = []
    for column, is_number in zip(cells, numeric, strict=True):
        width = max(map(len, column))
        columns.append([c.rjust(width) if is_number else c.ljust(width) for c in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


WRITERS = {"table": aligned, "markdown": tables.markdown, "latex": tables.latex}


def _json(evaluations, per_query, comparison=None):
    report = {}
    for name, evaluation in evaluations.items():
        found = report[name] = {
            "mean": _numbers(evaluation.mean()),
            "n_queries": len(evaluation.query_ids),
            "n_undefined": evaluation.n_undefined,
        }
        if comparison is not None:
            records = comparison.to_frame().to_dict("records")
            found["compared"] = [
                {key: _number(value) for key, value in record.items() if key != "system"}
                for record in records if record["system"] == name
            ]
        if per_query:
            found["per_query"] = _by_query(evaluation)
    return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)


def _by_query(evaluation):
    columns = [values.tolist() for values in evaluation.per_query.values()]
    return {
        str(query): _numbers(dict(zip(evaluation.per_query, values, strict=True)))
        for query, *values in zip(plain_list(evaluation.query_ids), *columns, strict=True)
    }


def _numbers(values):
    return {name: _number(value) for name, value in values.items()}


def _number(value):
    """A value that JSON knows: null for what is not finite."""
    value = plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
