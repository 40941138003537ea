"""Each Display draws the values, labels and order that its snapshot describes.

A snapshot is a text, which is compared line by line. After an intended change, write the snapshots
again, and review the difference:

    SKGRADED_WRITE_SNAPSHOTS=1 python -m pytest -q -n 0 tests/display/test_drawings.py
"""

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from drawings import described
from matplotlib.figure import Figure
from small_reports import drawn, systems

import skgraded as sg

FOLDER = Path(__file__).parent / "snapshots"
LIST = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]  # tables 1 and 2 of the paper
NAN = np.nan
MEASURES = ["NDCNG@5", "AP(undefined=nan)"]
HOSTILE = ["$x$ & $", "_hidden", "two\nlines", "x" * 300]


@cache
def queries():
    """Grades, query ids and weights of eight queries; one has no relevant document."""
    _, y, qid = sg.datasets.make_ranking(8, 6, random_state=1)
    y[qid == 3] = 0
    return y, qid, np.array([1, 0, 2, 1, 0.5, 1, 3, 1])[qid]


@cache
def scores(n_systems):
    """Scores of systems whose order by quality differs from the order of the names."""
    y, _, _ = queries()
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(n_systems, len(y)))
    return {f"s{i}": y + (1 + (i + 2) % n_systems) * errors for i, errors in enumerate(noise)}


@cache
def evaluations(n_systems, is_weighted=False):
    y, qid, weights = queries()
    return {
        name: sg.evaluate(
            y, values, qid=qid, measures=MEASURES, sample_weight=weights if is_weighted else None
        )
        for name, values in scores(n_systems).items()
    }


@cache
def comparison(n_systems, baseline=None, test="t", is_weighted=False):
    return sg.compare(evaluations(n_systems, is_weighted), baseline=baseline, **drawn(test))


@cache
def many_systems(n_systems, n_queries=40, baseline=None, is_summary=False):
    names = [f"run-{i}" for i in range(n_systems)]
    reports = systems(names, n_queries, ["NDCNG@10", "MuAP"])
    kept = sg.Summaries.of(reports) if is_summary else reports
    return sg.compare(kept, baseline=baseline, test="t")


def difference(values, **settings):
    names = {"measure": "AP", "system": "b", "baseline": "a", "level": 0.9}
    return sg.QueryDifferenceDisplay(values, **names | settings)


def curves(cls, systems=None, is_weighted=False, **settings):
    """Draw the curves of generated queries."""
    y, qid, weights = queries()
    settings["sample_weight"] = weights if is_weighted else None
    return cls.from_predictions(y, systems or scores(1)["s0"], qid=qid, **settings)


def threshold(*args, **settings):
    return curves(sg.ThresholdCurveDisplay, *args, **settings)


def cutoff(*args, **settings):
    return curves(sg.CutoffCurveDisplay, *args, **settings)


# Each function draws on the given axes and returns the Display.
CASES = {
    "ThresholdCurveDisplay": {
        "table 1": lambda ax: sg.ThresholdCurveDisplay.from_predictions(
            *LIST, relative=False, ax=ax
        ),
        "weights and ties": lambda ax: threshold(
            {"a": queries()[0] // 2, "b": 0 * queries()[0]}, is_weighted=True, ties="worst", ax=ax
        ),
        "twelve systems": lambda ax: threshold(scores(12), ax=ax),
        "nothing relevant": lambda ax: sg.ThresholdCurveDisplay.from_predictions(
            [0, 0, 0], [1, 2, 3], qid=[1, 1, 2], undefined=NAN, ax=ax
        ),
        "arrays": lambda ax: sg.ThresholdCurveDisplay(
            [1, 2, 5],
            [[0.5, 0.25, 0.125], [0.75, 0.25, NAN]],
            name=HOSTILE[:2],
            relative=False,
        ).plot(ax, line_kw={"linestyle": ":"}),
    },
    "CutoffCurveDisplay": {
        "table 2": lambda ax: sg.CutoffCurveDisplay.from_predictions(*LIST, ax=ax),
        "three systems": lambda ax: cutoff(scores(3), ax=ax),
        "two measures of three systems": lambda ax: cutoff(
            scores(3), measures=["ndcng", "ap"], ax=ax
        ),
        "twelve systems": lambda ax: cutoff(scores(12), ax=ax),
        "arrays": lambda ax: sg.CutoffCurveDisplay(
            [1, 2, 5],
            np.arange(30).reshape(10, 3) / 30,
            measures=[f"m{i}" for i in range(10)],
        ).plot(ax, line_kw={"markersize": 9}),
    },
    "QueryDifferenceDisplay": {
        "pair with a baseline": lambda ax: sg.QueryDifferenceDisplay.from_comparison(
            comparison(3, "s1"), system="s0", ax=ax
        ),
        "undefined queries": lambda ax: sg.QueryDifferenceDisplay.from_comparison(
            comparison(3), system="s2", baseline="s0", measure=MEASURES[1], ax=ax
        ),
        "only pair, weighted": lambda ax: sg.QueryDifferenceDisplay.from_comparison(
            comparison(2, test=None, is_weighted=True), ax=ax
        ),
        "one query": lambda ax: difference([0.5], mean=0.5, interval=(NAN, NAN)).plot(ax),
        "many queries": lambda ax: difference(
            np.sin(range(30_000)), mean=0.1, interval=(0, 0.2)
        ).plot(ax),
    },
    "IntervalDisplay": {
        "three systems": lambda ax: sg.IntervalDisplay.from_evaluations(
            evaluations(3), level=0.9, ax=ax
        ),
        "one evaluation": lambda ax: sg.IntervalDisplay.from_evaluations(
            evaluations(3)["s1"], ax=ax
        ),
        "different queries": lambda ax: sg.IntervalDisplay.from_evaluations(
            {**systems("ab", 20), **systems("c", 30)}, measures="ndcng@10", ax=ax
        ),
        "baseline": lambda ax: sg.IntervalDisplay.from_comparison(comparison(3, "s1"), ax=ax),
        "pairs": lambda ax: sg.IntervalDisplay.from_comparison(many_systems(5), ax=ax),
        "largest of many pairs": lambda ax: sg.IntervalDisplay.from_comparison(
            many_systems(13), ax=ax
        ),
        "many with a baseline": lambda ax: sg.IntervalDisplay.from_comparison(
            many_systems(30, baseline="run-3"), ax=ax
        ),
        "arrays": lambda ax: sg.IntervalDisplay(
            [[0.5], [NAN]],
            [[NAN], [NAN]],
            [[NAN], [NAN]],
            measures="AP",
            name=["one query", "none"],
        ).plot(ax, line_kw={"markersize": 9, "color": "black"}),
        "hostile names": lambda ax: sg.IntervalDisplay(
            [[1, 2]] * 4, [[0, 1]] * 4, [[2, 3]] * 4, measures=HOSTILE[:2], name=HOSTILE
        ).plot(ax),
    },
    "PositionBiasDisplay": {
        "a gap": lambda ax: sg.PositionBiasDisplay(
            [1, NAN, 0.5],
            [1, NAN, 0.4],
            [1, NAN, 0.7],
            click_rate=[0.5, NAN, 0.1],
            level=0.9,
        ).plot(ax),
    },
}


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases]
)
def test_a_display_draws_what_its_snapshot_describes(name, case):
    display = CASES[name][case](Figure().subplots())
    lines = [line.rstrip() for line in described(display)]
    path = FOLDER / f"{name}.json"
    if os.environ.get("SKGRADED_WRITE_SNAPSHOTS"):
        snapshots = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        snapshots = {key: snapshots.get(key) for key in CASES[name]} | {case: lines}
        text = json.dumps(snapshots, indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
    snapshots = json.loads(path.read_text(encoding="utf-8"))
    assert lines == snapshots[case]


def test_every_display_has_snapshots_of_its_cases_and_no_others():
    assert set(CASES) == set(sg.display.__all__)
    for name, cases in CASES.items():
        snapshots = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        assert list(snapshots) == list(cases)
