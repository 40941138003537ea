"""Displays of many systems, and of systems with hostile names, can be read."""

import functools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from small_reports import rows_of, systems

import skgraded as sg

HOSTILE = [
    "$x$ & $", "_hidden", "\x1b[31m\u202ered", "two\nlines", "x" * 300, "a {b} \\\\ c%", "مرتب",
]
NAMES = [*HOSTILE, *(f"run-{i}" for i in range(13))]
MEASURES = ["NDCNG@10", "MuAP"]


@pytest.fixture(autouse=True, scope="module")
def no_figure_is_left_open():
    yield  # figures are drawn once for several tests
    plt.close("all")


def scores_of(names):
    X, y, qid = sg.datasets.make_ranking(20, 8, random_state=0)
    scores = {
        name: y + (1 + i / 4) * np.random.default_rng(i).normal(size=len(y))
        for i, name in enumerate(names)
    }
    return y, scores, qid


def folds_of(names):
    return {
        name: sg.CrossEvaluation(
            one.query_ids, one.per_query, one.undefined, fold=np.arange(20) % 4,
            fit_time=np.ones(4), score_time=np.ones(4), errors=[None] * 4,
        )
        for name, one in systems(names, 20, MEASURES).items()
    }


@functools.cache
def all_pairs(n_systems):
    return sg.compare(systems(NAMES[:n_systems], 40, MEASURES), test="t")


@functools.cache
def drawn(kind, n_systems):
    names = NAMES[:n_systems]
    y, scores, qid = scores_of(names)
    return {
        "threshold": lambda: sg.ThresholdCurveDisplay.from_predictions(y, scores, qid=qid),
        "cutoff": lambda: sg.CutoffCurveDisplay.from_predictions(y, scores, qid=qid),
        "cutoff of one measure": lambda: sg.CutoffCurveDisplay.from_predictions(
            y, scores, qid=qid, measures="ndcng"
        ),
        "intervals": lambda: sg.IntervalDisplay.from_comparison(all_pairs(n_systems)),
        "means": lambda: sg.IntervalDisplay.from_evaluations(systems(names, 40, MEASURES)),
        "folds": lambda: sg.FoldDisplay.from_cross_evaluation(folds_of(names)),
        "heat map": lambda: sg.DifferenceHeatmapDisplay.from_comparison(all_pairs(n_systems)),
    }[kind]()


@pytest.mark.parametrize("kind, n_systems", [
    ("threshold", 2), ("threshold", 20), ("cutoff", 5), ("cutoff", 20),
    ("cutoff of one measure", 2), ("cutoff of one measure", 20), ("intervals", 5),
    ("intervals", 20), ("means", 2), ("means", 20), ("folds", 5), ("folds", 20), ("heat map", 2),
    ("heat map", 5), ("heat map", 20),
])
def test_all_texts_are_in_the_figure_and_no_legend_hides_a_curve(kind, n_systems):
    display = drawn(kind, n_systems)
    figure, ax = display.figure_, display.ax_
    figure.draw_without_rendering()
    low, high = sorted(ax.get_ylim())
    rows = [
        label for at, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
        if low <= at <= high and label.get_text()
    ]
    legend = ax.get_legend()
    texts = [*rows, ax.xaxis.label, ax.yaxis.label]
    texts += [] if legend is None else legend.get_texts()
    for text in filter(lambda text: text.get_text(), texts):
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 + 1 and box.x1 - 1 <= figure.bbox.x1, text.get_text()
        assert figure.bbox.y0 <= box.y0 + 1 and box.y1 - 1 <= figure.bbox.y1, text.get_text()
    if legend is not None and len(legend.get_texts()) > 8:
        assert legend.get_window_extent().x0 >= ax.bbox.x1
    boxes = [label.get_window_extent() for label in rows]
    assert all(one.y1 <= other.y0 + 1 or other.y1 <= one.y0 + 1
               for one, other in zip(boxes, boxes[1:], strict=False))


@pytest.mark.parametrize("kind", ["threshold", "cutoff", "cutoff of one measure", "folds"])
def test_every_system_has_its_entry_in_the_legend(kind):
    display = drawn(kind, 20)
    entries = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    n = 40 if kind == "cutoff" else 20
    assert len(entries) == n
    shown = " ".join(" ".join(entries).split()).replace("\\$", "$")
    for name in ("$x$ & $", "_hidden", "two lines", r"\u001b[31m\u202ered", "run-12"):
        assert name in shown
    assert "x" * 40 not in shown.replace("…", " ")  # of 300 letters the first 31 and the last 16


@pytest.mark.parametrize("n_systems, n_measures, n_styles", [
    (20, 1, 4), (20, 2, 2), (1, 10, 4), (2, 10, 4),
])
def test_no_two_systems_or_measures_look_alike(n_systems, n_measures, n_styles):
    values, measures = np.zeros((n_systems, n_measures, 2)), [f"m{i}" for i in range(n_measures)]
    ax = Figure().subplots()
    sg.CutoffCurveDisplay([1, 2], values, measures=measures, name=NAMES[:n_systems]).plot(ax=ax)
    looks = {(to_hex(o.get_color()), o.get_linestyle(), o.get_marker()) for o in ax.lines}
    assert len(looks) == len(ax.lines) == n_systems * n_measures
    assert len({line.get_linestyle() for line in ax.lines}) == n_styles


def test_of_very_many_pairs_those_of_the_best_system_are_drawn():
    compared = sg.compare(systems(NAMES[7:], 40, MEASURES), test="t")
    best = compared.leaderboard().systems[0]
    display = sg.IntervalDisplay.from_comparison(compared, ax=Figure().subplots())
    assert display.means.shape == (12, 2)
    assert all(name.startswith(f"{best} − ") for name in display.name)
    assert f"12 of {best} among 78" in display.ax_.get_xlabel().replace("\n", " ")
    rows = rows_of(compared)
    for name, differences in zip(display.name, display.means, strict=True):
        other = name.removeprefix(f"{best} − ")
        for measure, difference in zip(MEASURES, differences, strict=True):
            if (best, other, measure) in rows:
                assert difference == rows[best, other, measure]["difference"]
            else:
                assert difference == -rows[other, best, measure]["difference"]


@pytest.mark.parametrize("n_systems", [2, 5])
def test_points_of_what_is_not_told_apart_are_hollow(n_systems):
    compared = sg.compare(systems(NAMES[7 : 7 + n_systems], 60, MEASURES), test="t")
    display = sg.IntervalDisplay.from_comparison(compared, ax=Figure().subplots())
    frame = compared.to_frame()
    hollow = np.concatenate([np.isfinite(line.get_xdata()) for line in display.hollow_])
    by_measure = [frame[frame.measure == measure].p_adjusted > 0.05 for measure in MEASURES]
    assert hollow.tolist() == np.concatenate(by_measure).tolist()
    untested = sg.compare(systems(NAMES[:2], 60, MEASURES), test=None)
    assert sg.IntervalDisplay.from_comparison(untested, ax=Figure().subplots()).hollow_ == []


# Heat maps ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("baseline, kept", [
    (None, dict), ("run-0", dict), (None, sg.Summaries.of),
])
def test_a_heat_map_shows_all_mean_differences_and_marks_what_is_told_apart(baseline, kept):
    evaluations = systems([f"run-{i}" for i in range(4)], 60, MEASURES)
    compared = sg.compare(kept(evaluations), baseline=baseline, test="t")
    display = sg.DifferenceHeatmapDisplay.from_comparison(
        compared, measure="MuAP", ax=Figure().subplots()
    )
    means = np.array([evaluations[name].mean()["MuAP"] for name in display.name])
    assert display.name == compared.leaderboard().systems
    np.testing.assert_allclose(display.image_.get_array(), means[:, None] - means, atol=1e-12)
    texts = iter(display.texts_)
    apart = [
        {system, other} for (system, other, measure), row in rows_of(compared).items()
        if measure == "MuAP" and row["p_adjusted"] <= 0.05
    ]
    for i, one in enumerate(display.name):
        for j, other in enumerate(display.name):
            if i != j:
                text = next(texts)
                assert text.get_position() == (j, i)
                marked = {one, other} in apart
                assert text.get_text().endswith("*") == marked
                assert (text.get_fontweight() == "bold") == marked


def test_a_heat_map_of_very_many_systems_has_dots_for_numbers():
    names = [f"run-{i}" for i in range(42)]
    settings = {"correction": None, "n_resamples": 199, "rng": 0}
    compared = sg.compare(systems(names, 30, ["AP"]), **settings)
    display = sg.DifferenceHeatmapDisplay.from_comparison(compared, ax=Figure().subplots())
    assert display.image_.get_array().shape == (40, 40)
    assert {text.get_text() for text in display.texts_} == {"·"}
    assert display.ax_.get_xlabel() == "system; · told apart by the test; 2 more systems"


# Folds of several models -------------------------------------------------------------------------

def test_folds_of_several_models_are_drawn_as_each_alone():
    models = folds_of(["a", "b", "c"])
    together = sg.FoldDisplay.from_cross_evaluation(models, measure="MuAP", ax=Figure().subplots())
    assert together.name == list(models)
    for i, one in enumerate(models.values()):
        alone = sg.FoldDisplay.from_cross_evaluation(one, measure="MuAP", ax=Figure().subplots())
        np.testing.assert_array_equal(
            together.points_[i].get_ydata(), alone.points_.get_ydata()
        )
        assert together.mean_line_[i].get_ydata()[0] == one.mean()["MuAP"]
        for box, single in zip(together.boxes_[4 * i : 4 * i + 4], alone.boxes_, strict=True):
            heights, expected = (b.get_path().vertices[:, 1] for b in (box, single))
            assert (heights.min(), heights.max()) == (expected.min(), expected.max())
    places = np.sort(np.concatenate([points.get_xdata() for points in together.points_]))
    assert np.diff(places).min() > 0.2
    low, high = models["a"].confidence_interval(0.95, method="t")["MuAP"]
    label = together.points_[0].get_label()
    assert label == f"a: mean {models['a'].mean()['MuAP']:.3f} ({low:.3f} to {high:.3f})"
