"""Small reports for tests, and comparisons of reports."""

from dataclasses import fields, is_dataclass, replace
from functools import cache

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
    "next to the surrogates \ud7ff \ue000",
    "x" * 200,
    ("de", 7, np.int64(8)),
    12,
    2.5,
]

RNG = np.random.default_rng(5)
VALUES = RNG.beta(2, 2, 40)
PAIR = VALUES, np.clip(VALUES + RNG.normal(0.04, 0.1, 40), 0, 1)  # of two systems


def ids_of(values):
    """Return an array of dtype object."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def evaluation(values, query_ids=None, undefined=None, weights=None):
    """Return an Evaluation of the given per-query values by measure."""
    values = {name: np.asarray(column, dtype=float) for name, column in values.items()}
    n = len(next(iter(values.values())))
    nowhere = np.zeros(n, dtype=bool)
    undefined = {} if undefined is None else undefined
    return sg.Evaluation(
        ids_of([f"q{i}" for i in range(n)] if query_ids is None else query_ids),
        values,
        {name: np.asarray(undefined.get(name, nowhere), dtype=bool) for name in values},
        weights=weights,
    )


def columns(report):
    """Return the columns of `to_frame` as lists of Python objects."""
    return report.to_frame().to_dict("list")


def assert_same_report(report, expected):
    """Check that all fields have the same types and bits."""
    assert type(report) is type(expected)
    for field in fields(report):
        _assert_same(getattr(report, field.name), getattr(expected, field.name))


def _assert_same(a, b):
    a, b = (value.item() if isinstance(value, np.generic) else value for value in (a, b))
    assert type(a) is type(b)
    if hasattr(a, "_asdict"):
        a, b = a._asdict(), b._asdict()
    if isinstance(a, dict):
        assert list(a) == list(b)
        for name in a:
            _assert_same(a[name], b[name])
    elif is_dataclass(a):
        assert_same_report(a, b)
    elif isinstance(a, (list, tuple)):
        for pair in zip(a, b, strict=True):
            _assert_same(*pair)
    else:
        np.testing.assert_array_equal(a, b, strict=True)
        a, b = (np.asarray(values).ravel().tolist() for values in (a, b))
        assert [*map(type, a)] == [*map(type, b)]


def drawn(test="auto", *, rng=0, **settings):
    """Return settings of `compare` with a seed."""
    return {"test": test, "rng": rng, **settings}


def of_values(*values, **settings):
    """Return Evaluations of the systems a, b, … with these values of AP."""
    named = zip("abcdefgh", values, strict=False)
    return {name: evaluation({"AP": column}, **settings) for name, column in named}


def compared(*values, **settings):
    """Compare the systems b, c, … with system a, given their values of AP."""
    return sg.compare(of_values(*values), **{"baseline": "a"} | drawn(**settings))


def systems(names, n_queries, measures=("NDCNG@10", "MuAP"), query_ids=None, weights=None, seed=0):
    """Return Evaluations of systems whose means increase slightly from system to system."""
    rng = np.random.default_rng(seed)
    hardness = rng.beta(2, 2, n_queries)
    return {
        name: evaluation(
            {
                measure: np.clip(hardness + rng.normal(i / 50, 0.1, n_queries), 0, 1)
                for measure in measures
            },
            query_ids,
            weights=weights,
        )
        for i, name in enumerate(names)
    }


def cross_evaluation(errors=(None, None, None)):
    """Return a CrossEvaluation with two queries per fold."""
    n = len(errors)
    ev = systems(["ranker"], 2 * n)["ranker"]
    return sg.CrossEvaluation(
        ev.query_ids,
        ev.per_query,
        ev.undefined,
        fold=np.repeat(np.arange(n), 2),
        fit_time=np.linspace(1.5, 2.5, n),
        score_time=np.linspace(0.125, 0.25, n),
        errors=list(errors),
    )


def crossed():
    """A CrossEvaluation in which each query is tested twice."""
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GroupKFold

    X, y, qid = sg.datasets.make_ranking(n_queries=6, random_state=0)
    cv = [
        split
        for seed in (0, 1)
        for split in GroupKFold(2, shuffle=True, random_state=seed).split(X, y, qid)
    ]
    settings = {"qid": qid, "measures": ["ap", "rr"]}
    return sg.cross_evaluate(Ridge(), X, y, cv=cv, **settings)


def weighted():
    """An Evaluation with weights, an undefined query and a missing value."""
    values = {"AP": [0.5, 1, np.nan, 0.25], "RR": [0.5, 1, 0, 0]}
    undefined = {"RR": [False, False, False, True]}
    return evaluation(values, undefined=undefined, weights=np.array([0.5, 1, 2, 0]))


def partly_judged():
    """An Evaluation of partly judged documents."""
    shares = np.array([0.5, 1, np.nan, 0])
    return replace(
        weighted(),
        judged={"Judged@10": shares, "Judged@5": shares},
        unanswered=np.array([True, False, False, True]),
    )


def labelled_summary(seed, label):
    """A Summary with a label and two segments."""
    whole = systems(["a"], 8, seed=seed)["a"]
    parts = {name: sg.Summary.of(whole.take(np.arange(i, 8, 2))) for i, name in enumerate("xy")}
    summary = sg.Summary.merge(parts.values())
    return replace(summary, by="part", segments=parts, labels=[label])


def in_segments(**settings):
    """A Comparison within segments, with query ids of several types."""
    ids = [("de", 1), "q", 2, 2.5, -0.25, True]
    both = systems(["a", "b"], 6, query_ids=ids)
    return sg.compare(both, by=["x", ("de", 2), ("de", 2)] * 2, rng=0, n_resamples=100, **settings)


REPORTS = {  # small reports of every class, by description
    "Evaluation": weighted,
    "Evaluation with unjudged documents": partly_judged,
    "CrossEvaluation": crossed,
    "Comparison": lambda: sg.compare(
        systems("abc", 6),
        baseline="b",
        rng=0,
        n_resamples=100,
        correction="fdr_bh",
        family="measure",
    ),
    "Comparison of weights": lambda: sg.compare(
        {"a": weighted(), "b": weighted()}, test=None, level=0.9
    ),
    "Comparison with unjudged documents": lambda: sg.compare(
        {"a": partly_judged(), "b": partly_judged()}, test=None
    ),
    "SegmentComparison": in_segments,
    "SummaryComparison": lambda: sg.compare(sg.Summaries.of(systems("abc", 6)), test="t"),
    "Summary": lambda: sg.Summary.of(weighted()),
    "Summary of segments": lambda: labelled_summary(0, "day 0"),
    "Summaries": lambda: sg.Summaries.of(systems("abc", 6)),
}


@cache
def small_report(name):
    """Return one of the `REPORTS`."""
    return REPORTS[name]()


def only_row(result):
    """Return the only row of a comparison as a dict."""
    (row,) = result.to_frame().to_dict("records")
    return row
