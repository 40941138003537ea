"""Changed JSON of reports: each change causes one clear error or is read as written."""

import base64
import copy
import functools
import json
import operator
import re
import zlib

import numpy as np
import pytest
from small_reports import REPORTS, evaluation, small_report

import skgraded as sg

# Replacements; each place is tested with two of them, which rotate.
INSTEAD = [
    None,
    True,
    "text",
    "",
    "7",
    -1,
    7,
    0,
    2.5,
    -0.25,
    10**400,
    1e100,
    [],
    [None],
    ["text"],
    [1, 2],
    {},
    {"a": 1},
]
OF_ANY_NAMES = (
    "per_query",
    "undefined",
    "train_scores",
    "values",
    "tallies",
    "systems",
    "counts",
    "confusions",
)
NESTED = functools.reduce(lambda value, _: {"tuple": [value]}, range(450), "a")
MADE_WITH = ("kind", "format", "versions")
# Segments of a Summary are sorted when they are read, so changed names change their order.
CHANGED = [name for name in REPORTS if name != "Summary of segments"]


def places(value, path=()):
    """Generate paths in JSON: one key of dicts with any keys, one list element per type."""
    if isinstance(value, dict):
        keys = list(value)[:1] if path and path[-1] in OF_ANY_NAMES else list(value)
    elif isinstance(value, list):
        keys = {type(element): i for i, element in enumerate(value)}.values()
    else:
        return
    for key in keys:
        if path or key not in MADE_WITH:
            yield (*path, key)
            yield from places(value[key], (*path, key))


def changed(written, path, change):
    """Return a copy in which `change` modified the value at the path."""
    result = json.loads(json.dumps(written))  # faster than deepcopy
    change(functools.reduce(operator.getitem, path[:-1], result), path[-1])
    return result


def read(kind, written):
    """Read a report; an error must be a ValueError in one line that names the report."""
    try:
        return kind.from_json(json.dumps(written))
    except ValueError as error:
        of_any = "Cannot read the text as JSON: an integer has 401 digits"
        assert str(error).startswith((f"The JSON of the {kind.__name__} ", of_any)), error
        assert "\n" not in str(error) and len(str(error)) < 1000
        return None


def assert_complete(result, written):
    """Check that all fields equal the written fields, and that the report can be shown."""
    again = json.loads(result.to_json())
    for name in again:
        if name not in MADE_WITH:
            assert again[name] == written[name]
    result.to_frame()
    for name in ("sentences", "leaderboard"):
        if hasattr(result, name):
            getattr(result, name)()


def is_read(kind, written, path, change):
    """Return whether changed JSON is read; if so, check that the report has the changed values."""
    other = changed(written, path, change)
    result = read(kind, other)
    if result is not None:
        assert_complete(result, other)
    return result is not None


@pytest.mark.parametrize("name", CHANGED)
def test_changed_json_is_an_error_or_is_read_as_written(name):
    kind, written = type(small_report(name)), json.loads(small_report(name).to_json())
    assert_complete(read(kind, written), written)
    are_read = [
        is_read(kind, written, path, lambda container, key: container.pop(key))
        for path in places(written)
    ]
    assert are_read.count(False) > 5
    are_read = [
        is_read(kind, written, path, lambda place, key: place.__setitem__(key, value))  # noqa: B023
        for i, path in enumerate(places(written))
        for value in INSTEAD[i % 9 :: 9]
    ]
    assert are_read.count(False) > 3 * are_read.count(True)

    def repeat_element(container, key):
        field = container[key]
        if isinstance(field, list) and field:
            field.append(copy.deepcopy(field[-1]))
        elif isinstance(field, dict) and key in OF_ANY_NAMES:
            field["one more"] = copy.deepcopy(next(iter(field.values())))

    for path in places(written):
        other = changed(written, path, repeat_element)
        if other != written and "tuple" not in path:  # a longer tuple is another valid id
            assert read(kind, other) is None, path


@pytest.mark.parametrize("name", CHANGED)
def test_extreme_values_at_every_place_are_errors_or_are_read(name):
    kind, written = type(small_report(name)), json.loads(small_report(name).to_json())
    for path in places(written):
        for value in (-5, 2**64, "9" * 2000, NESTED):
            is_read(kind, written, path, lambda place, key: place.__setitem__(key, value))  # noqa: B023


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "Cannot read the file .*report.json as JSON"),
        (b"\xff\xfe", "as JSON: 'utf-8' codec"),
        (b"[" * 200_000, "as JSON: it is nested too deeply"),
        (b"[1]", "must contain 'kind', but the file .*report.json does not"),
        (b'{"kind": "Evaluation", "a": NaN}', "it contains NaN, which is not valid JSON"),
        (b'{"kind": "Evaluation", "a": "\\uD800"}', "as JSON: .* surrogates not allowed"),
        (b'{"kind": "Evaluation", "format": "2"}', "its format is '2', but .* reads only format 1"),
        (b'{"kind": ["Evaluation"], "format": 1}', r"kind 'Evaluation'; got \['Evaluation'\]"),
        (b'{"kind": "Comparison", "format": 1}', "kind 'Evaluation'; got 'Comparison'"),
    ],
)
def test_files_that_contain_no_report_are_refused(content, message, tmp_path):
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        sg.Evaluation.from_json(path)


@pytest.mark.parametrize(
    "dtype, message",
    [
        ("<U2000000000", "query_ids requires a boolean, numeric, time or object dtype; got"),
        ("|i1", "The values of query_ids do not match the dtype '|i1'"),
        ("i4,i4", "query_ids requires a boolean, numeric, time or object dtype; got 'i4,i4'"),
        ("no dtype", "query_ids requires a boolean, numeric, time or object dtype; got 'no dtype'"),
    ],
)
def test_ids_that_do_not_match_their_dtype_are_refused(dtype, message):
    written = json.loads(small_report("Evaluation").to_json())
    written["query_ids"]["dtype"] = dtype
    with pytest.raises(ValueError, match=re.escape(message)):
        sg.Evaluation.from_json(json.dumps(written))


def packed_text(value):
    """Return a value as compressed JSON, in base64."""
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


SUMMARY_CHANGES = [
    ("n_queries", -1, "n_queries must be an integer ≥ 0; got -1"),
    ("n_queries", 2, r"n_queries must be at least 3, .* tallies\['AP'\]; got 2"),
    ("tallies", {}, "tallies must contain at least one measure"),
    ("tallies.AP.n_undefined", -1, r"tallies\['AP'\]: n_undefined must be ≥ 0; got -1"),
    ("tallies.AP.at", 1, r"Measures in tallies\['AP'\] must match the keys"),
    ("tallies.AP.at", 2, r"tallies\['AP'\]: The list 'worst' must contain a finite value"),
    ("mean.AP", 0.5, "mean must be .*; got .*0.5"),
    ("mean", ..., "mean must be .*; got None"),
    ("n_undefined.AP", 7, "n_undefined must be .*; got .*7"),
    ("judged", 0.5, "judged must be 1.0; got 0.5"),
    ("unjudged", "9/2", "unjudged must be from 0 to 4; got 9/2"),
    ("sketch", packed_text([2, 2]), "sketch must contain at most 64 ascending integers"),
    ("tallies.AP.counts", packed_text([[6, 1], [0, 2]]), "counts must add up to 2 values; got 2"),
    ("tallies.AP.counts", packed_text([[10**8], [2]]), "counts must add up to 2 values"),
    ("tallies.AP.counts", packed_text([[7], [3]]), "counts must add up to 2 values; got 3"),
    ("tallies.AP.counts", packed_text([[7], [10**30]]), "too large"),
    ("tallies.AP.counts", packed_text([[7, 8], [2]]), "two lists of the same length"),
    ("tallies.AP.counts", packed_text([[7], [2]])[:-8], "decompressed: it is incomplete"),
    ("tallies.AP.counts", "AAAA", "counts'. cannot be decompressed: "),
    ("tallies.AP.moments.n", -1, r"\['moments'\]: moments must describe -1 finite values"),
    ("tallies.AP.moments.highest", "inf", "must describe 2 finite values"),
    ("tallies.AP.moments.lowest", 2, "must describe 2 finite values"),
    ("tallies.AP.moments.w", "-3", "must describe 2 finite values with positive weights"),
    ("tallies.AP.moments.w", "1/0", "must be a fraction, such as '3/4'; got '1/0'"),
    *(
        (
            "tallies.AP.worst",
            packed_text(
                {
                    "query_ids": {"dtype": "|O", "values": ids},
                    "values": values,
                }
            ),
            message,
        )
        for ids, values, message in [
            (["a"], [[None, 1]], "'worst' must contain a finite value"),
            (["a", "b"], [[0.9, 1], [0.8, 1]], "'worst' must be sorted by value"),
            (["q0"], [[0.5, 1]] * 3, "has 1 queries, but 3 rows of values"),
        ]
    ),
]


CHANGES = [
    *(("Summary", *change) for change in SUMMARY_CHANGES),
    ("Evaluation", "query_ids", ..., "does not contain 'query_ids'"),
    ("Evaluation", "query_ids.values.0", NESTED, "0. contains more than 16 nested tuples"),
    ("SegmentComparison", "segments.values.0", NESTED, "0. contains more than 16 nested tuples"),
    ("Evaluation", "per_query.RR.2", "x", r"per_query\['RR'\]\[2\] must be a number"),
    ("Evaluation", "per_query", 7, "is invalid: per_query must be an object; got 7"),
    ("Evaluation", "undefined.RR.1", 0, r"undefined\['RR'\]\[1\] must be true or false; got 0"),
    ("Comparison", "rows.p_value", ..., "rows does not contain 'p_value'"),
    ("Comparison", "rows.mean", [0.5], "Columns of rows must have equal lengths"),
    ("Comparison", "rows.p_value.0", 1.5, "must be from 0 to 1; got 1.5"),
    ("Comparison", "rows.wins.0", 7, "wins, ties and losses of .* must add up to n_quer"),
    ("Comparison", "rows.n_undefined.0", 0.5, "must be an integer ≥ 0; got 0.5"),
    ("Comparison", "rows.ci_method.0", "z", "ci_method of .*'z'.* must be one of"),
    ("Comparison", "query_values", None, "test='randomization' requires query_values"),
    ("Comparison", "query_values.segment", [0] * 6, "segments .* must either both be None"),
    ("Comparison", "rows.ci_low.0", 1e300, "not exceed ci_high; got 1e.300 and"),
    ("Comparison", "rows.system.0", "d", r"rows\[0\] must compare .*'a'.*; got .*'d'"),
    ("Comparison", "query_values.per_query.MuAP", [[0.5]], r"got shape \(1, 1\)"),
    ("Comparison", "n_queries", 7, "query_values must match the systems"),
    ("Comparison", "family", "query", "family must be one of .*'measure'"),
    ("Comparison", "level", 95, "level must be a finite number > 0 and < 1; got 95"),
    ("Comparison", "baseline", "d", r"baseline must be one of \['a', 'b', 'c'\] or None"),
    ("SegmentComparison", "rows.segment.0", "z", r"rows\[0\] must compare .*'x'.*; got .*'z'"),
    ("SummaryComparison", "n_queries", 5, "n_queries=5 is less than the number"),
    ("Summaries", "systems", {}, r"At least two systems are required; got \[\]"),
    ("PredictionPowered", "estimates", {}, "estimates must contain measures of the same queries"),
    ("PredictionPowered", "estimates.AP.n", 19, "estimates must contain measures of the same"),
    ("PredictionPowered", "estimates.AP.weight", 1.5, "finite numbers.* a weight from 0 to 1"),
    ("PeriodComparison", "rows.smallest.0", 0, "smallest of .* must be above 0; got 0"),
    ("PeriodComparison", "rows.n_after.0", 0.5, r"\['n_after'\]\[0\] must be an integer"),
    ("PeriodComparison", "rows.measure.0", "MuAP", "rows must contain each measure once or"),
    ("PeriodComparison", "rows.segment.0", "x", "rows must contain each measure once or"),
    ("PeriodComparison", "correction", "sidak", "correction must be one of .*; got 'sidak'"),
    ("Trend", "labels.0", "day 1", "rows must contain each of the labels with each"),
    ("Trend", "rows.is_outside.0", True, "is_outside of .* does not match its mean and limits"),
    ("Trend", "season", 1, "season must be at least 2; got 1"),
    ("Summaries", "systems.a.n_queries", 7, "number of queries, but 'b' and 'a' differ"),
]


@pytest.mark.parametrize("name, path, value, message", CHANGES)
def test_an_inconsistent_report_is_refused(name, path, value, message):
    keys = [int(key) if key.isdigit() else key for key in path.split(".")]

    def change(holder, key):
        if value is ...:
            del holder[key]
        else:
            holder[key] = value

    written = changed(json.loads(small_report(name).to_json()), keys, change)
    kind = type(small_report(name))
    with pytest.raises(ValueError, match=f"^The JSON of the {kind.__name__} .*({message})"):
        kind.from_json(json.dumps(written))


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1.0, 1e12, 1e100])
def test_sums_of_any_size_are_read(scale):
    rng = np.random.default_rng(0)
    for n in (1, 2, 30):
        values = rng.choice([0.1, 1 / 3, 0.7, 1], n) * 1e-3
        summary = sg.Summary.of(evaluation({"AP": values}, weights=rng.random(n) * scale))
        assert sg.Summary.from_json(summary.to_json()) == summary
    tiny = sg.Summary.of(evaluation({"AP": [5e-324, 1e-310]}, weights=np.array([1e-10, 0.3])))
    assert sg.Summary.from_json(tiny.to_json()) == tiny
