"""Small reports for tests, and what tests ask of any report."""

from dataclasses import fields, is_dataclass, replace

import numpy as np

import skgraded as sg

HOSTILE = [
    "</script><script>window.broken = true</script>",
    "<img src=x onerror='window.broken = true'>",
    "<!--<script>",
    "a & b &amp; \"c\" 'd'",
    "{{ 7 * 7 }} {% raw %}",
    "naïve ранг 検索 🔎",
    "line\u2028separator\nand tab\t.",
    "half a pair \udc80",
    "x" * 200,
    ("de", 7, np.int64(8)),
    12,
    2.5,
]


def ids_of(values):
    """An array of objects, whatever they are."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def evaluation(values, query_ids=None, undefined=None, weights=None):
    """An Evaluation of given values, by measure name."""
    values = {name: np.asarray(column, dtype=float) for name, column in values.items()}
    n = len(next(iter(values.values())))
    nowhere = np.zeros(n, dtype=bool)
    undefined = {} if undefined is None else undefined
    return sg.Evaluation(
        ids_of([f"q{i}" for i in range(n)] if query_ids is None else query_ids), values,
        {name: np.asarray(undefined.get(name, nowhere), dtype=bool) for name in values},
        weights=weights,
    )


def columns(report):
    """Return the columns of `to_frame` as lists of Python objects."""
    return report.to_frame().to_dict("list")


def assert_same_report(report, expected):
    """Each field is the same, to the last bit and type."""
    assert type(report) is type(expected)
    for field in fields(report):
        _assert_same(*(getattr(one, field.name) for one in (report, expected)))


def _assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for name in a:
            _assert_same(a[name], b[name])
    elif is_dataclass(a):
        assert_same_report(a, b)
    elif isinstance(a, list) and a and is_dataclass(a[0]):
        _assert_same(*({field.name: [getattr(row, field.name) for row in rows]
                        for field in fields(a[0])} for rows in (a, b)))
    else:
        np.testing.assert_array_equal(a, b, strict=True)
        a, b = (np.asarray(values).ravel().tolist() for values in (a, b))
        assert [*map(type, a)] == [*map(type, b)]


def rows_of(comparison):
    """Rows of a comparison's table by system, baseline and measure."""
    return {
        (row["system"], row["baseline"], row["measure"]): row
        for row in comparison.to_frame().to_dict("records")
    }


def taken(ev, rows):
    """The Evaluation of some of its queries, in any order."""
    return replace(
        ev, query_ids=ev.query_ids[rows],
        per_query={name: values[rows] for name, values in ev.per_query.items()},
        undefined={name: flags[rows] for name, flags in ev.undefined.items()},
        weights=None if ev.weights is None else ev.weights[rows],
    )


def of_values(*values, **settings):
    """Evaluations of systems a, b, … by their values of AP."""
    named = zip("abcdefgh", values, strict=False)
    return {name: evaluation({"AP": one}, **settings) for name, one in named}


def compared(*values, **settings):
    """Systems a, b, … by their values of AP, compared to the first of them."""
    return sg.compare(of_values(*values), **{"baseline": "a", "rng": 0} | settings)


def systems(names, n_queries, measures=("NDCNG@10", "MuAP"), query_ids=None, weights=None, seed=0):
    """Evaluations of systems, each a little better than the one before."""
    rng = np.random.default_rng(seed)
    hardness = rng.beta(2, 2, n_queries)
    return {
        name: evaluation(
            {
                measure: np.clip(hardness + rng.normal(i / 50, 0.1, n_queries), 0, 1)
                for measure in measures
            },
            query_ids, weights=weights,
        )
        for i, name in enumerate(names)
    }


def cross_evaluation(errors=(None, None, None)):
    """A CrossEvaluation of six queries in three folds."""
    n = len(errors)
    ev = systems(["ranker"], 2 * n)["ranker"]
    return sg.CrossEvaluation(
        ev.query_ids, ev.per_query, ev.undefined, fold=np.repeat(np.arange(n), 2),
        fit_time=np.linspace(1.5, 2.5, n), score_time=np.linspace(0.125, 0.25, n),
        errors=list(errors),
    )
