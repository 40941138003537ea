"""Displays of many systems, and of systems with hostile names, can be read."""

import functools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
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
            report.query_ids, report.per_query, report.undefined, fold=np.arange(20) % 4,
            fit_time=np.ones(4), score_time=np.ones(4), errors=[None] * 4,
        )
        for name, report in systems(names, 20, MEASURES).items()
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
    assert_all_texts_are_in_the_figure(drawn(kind, n_systems))


def assert_all_texts_are_in_the_figure(display):
    figure, ax = display.figure_, display.ax_
    figure.draw_without_rendering()
    low, high = sorted(ax.get_ylim())
    rows = [
        label for at, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
        if low <= at <= high and label.get_text()
    ]
    legend = ax.get_legend()
    texts = [*rows, ax.xaxis.label, ax.yaxis.label]
    texts += [] if legend is None else [*legend.get_texts(), legend.get_title()]
    for text in filter(lambda text: text.get_text(), texts):
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 + 1 and box.x1 - 1 <= figure.bbox.x1, text.get_text()
        assert figure.bbox.y0 <= box.y0 + 1 and box.y1 - 1 <= figure.bbox.y1, text.get_text()
    if legend is not None:  # below the axes and their label
        below = ax.xaxis.label.get_window_extent().y0
        assert legend.get_window_extent().y1 <= below
    boxes = [label.get_window_extent() for label in rows]
    assert all(one.y1 <= other.y0 + 1 or other.y1 <= one.y0 + 1
               for one, other in zip(boxes, boxes[1:], strict=False))


@pytest.mark.parametrize("kind", ["threshold", "cutoff", "folds", "means"])
def test_every_system_has_its_name_on_the_plot(kind):
    display = drawn(kind, 20)
    if kind in ("threshold", "cutoff"):
        display.plot(ax=Figure().subplots(), max_systems=None)
        texts = display.ax_.get_legend().get_texts()
    else:
        texts = display.ax_.get_yticklabels()
    assert len(texts) == 20
    shown = " ".join(" ".join(text.get_text() for text in texts).split()).replace("\\$", "$")
    for name in ("$x$ & $", "_hidden", "two lines", r"\u001b[31m\u202ered", "run-12"):
        assert name in shown
    assert "x" * 40 not in shown.replace("…", " ")  # of 300 letters the first 31 and the last 16


@pytest.mark.parametrize("n_systems, n_measures, n_styles", [
    (20, 1, 4), (20, 2, 2), (1, 10, 4), (2, 10, 4),
])
def test_no_two_systems_or_measures_look_alike(n_systems, n_measures, n_styles):
    values, measures = np.zeros((n_systems, n_measures, 2)), [f"m{i}" for i in range(n_measures)]
    ax = Figure().subplots()
    display = sg.CutoffCurveDisplay([1, 2], values, measures=measures, name=NAMES[:n_systems])
    display.plot(ax=ax, max_systems=None)
    looks = {(to_hex(o.get_color()), o.get_linestyle(), o.get_marker()) for o in ax.lines}
    assert len(looks) == len(ax.lines) == n_systems * n_measures
    assert len({line.get_linestyle() for line in ax.lines}) == n_styles


def test_of_very_many_pairs_those_of_the_best_system_are_drawn():
    evaluations = systems(NAMES[7:], 40, MEASURES)
    compared = sg.compare(evaluations, test="t")
    means = {name: report.mean()["NDCNG@10"] for name, report in evaluations.items()}
    best, *others = sorted(means, key=means.get, reverse=True)
    display = sg.IntervalDisplay.from_comparison(compared, ax=Figure().subplots())
    assert display.means.shape == (12, 2)
    assert display.name == others  # nearest to the best first
    label = display.ax_.get_xlabel().replace("\n", " ")
    assert label.startswith(f"mean difference to {best}, the best 95 % intervals, 40 queries")
    rows = rows_of(compared)
    for name, differences in zip(display.name, display.means, strict=True):
        for measure, difference in zip(MEASURES, differences, strict=True):
            if (name, best, measure) in rows:
                assert difference == rows[name, best, measure]["difference"]
            else:
                assert difference == -rows[best, name, measure]["difference"]


@pytest.mark.parametrize("n_systems", [2, 5])
def test_points_without_a_significant_difference_are_hollow_as_the_legend_says(n_systems):
    compared = sg.compare(systems(NAMES[7 : 7 + n_systems], 60, MEASURES), test="t")
    display = sg.IntervalDisplay.from_comparison(compared, ax=Figure().subplots())
    hollow = {round(x, 12) for line in display.hollow_ for x in line.get_xdata() if np.isfinite(x)}
    frame = compared.to_frame()
    expected = frame[frame.p_adjusted > 0.05].difference
    assert {abs(x) for x in hollow} == {abs(round(x, 12)) for x in expected}
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert ("no significant difference" in texts) == (len(expected) > 0)
    assert ("significant difference" in texts) == (len(expected) < len(frame))
    untested = sg.compare(systems(NAMES[:2], 60, MEASURES), test=None)
    display = sg.IntervalDisplay.from_comparison(untested, ax=Figure().subplots())
    assert display.hollow_ == [] and display.ax_.get_legend() is None


def test_pairs_have_the_better_system_first_and_are_sorted_by_difference():
    compared = sg.compare(systems(NAMES[7:12], 60, MEASURES), test="t")
    display = sg.IntervalDisplay.from_comparison(compared, ax=Figure().subplots())
    drawn = display.points_[0].get_xdata()
    assert (drawn >= 0).all() and (np.diff(drawn) <= 0).all()
    evaluations = systems(NAMES[7:12], 60, MEASURES)
    means = {name: report.mean()["NDCNG@10"] for name, report in evaluations.items()}
    for label, difference in zip(display.ax_.get_yticklabels(), drawn, strict=True):
        better, other = label.get_text().replace("\n", " ").split(" − ")
        assert difference == pytest.approx(means[better] - means[other], abs=1e-12)


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
    assert {text.get_text() for text in display.texts_} == {"•"}
    assert display.ax_.get_xlabel() == "• significant difference; 2 more systems"


def test_a_heat_map_writes_only_numbers_that_fit_and_names_systems_as_the_leaderboard_does():
    compared = all_pairs(20)
    for width, has_numbers in ((12, True), (4, False)):
        ax = Figure(figsize=(width, 8), layout="constrained").subplots()
        display = sg.DifferenceHeatmapDisplay.from_comparison(compared, ax=ax)
        ax.figure.draw_without_rendering()
        assert any(text.get_text()[:2] in ("+.", "−.") for text in display.texts_) == has_numbers
        (left, _), (right, _) = ax.transData.transform([(0, 0), (1, 0)])
        assert all(text.get_window_extent().width <= right - left for text in display.texts_)
        names = ["".join(text.get_text().split()) for text in ax.get_yticklabels()]
        letters = [text.get_text() for text in ax.get_xticklabels()]
        assert letters == list(compared.leaderboard().letters.values())
        assert [name[-1] for name in names] == letters


# Folds of several models -------------------------------------------------------------------------

def test_folds_of_several_models_are_drawn_as_each_alone_the_best_first():
    models = folds_of(["a", "b", "c"])
    order = sorted(models, key=lambda name: models[name].mean()["MuAP"], reverse=True)
    together = sg.FoldDisplay.from_cross_evaluation(models, measure="MuAP", ax=Figure().subplots())
    assert together.name == list(models)
    for i, name in enumerate(order):
        alone = sg.FoldDisplay.from_cross_evaluation(
            models[name], measure="MuAP", ax=Figure().subplots()
        )
        np.testing.assert_array_equal(
            together.points_[i].get_ydata(), alone.points_.get_ydata()
        )
        assert together.mean_line_[i].get_ydata()[0] == models[name].mean()["MuAP"]
        for box, single in zip(together.boxes_[4 * i : 4 * i + 4], alone.boxes_, strict=True):
            heights, expected = (b.get_path().vertices[:, 1] for b in (box, single))
            assert (heights.min(), heights.max()) == (expected.min(), expected.max())
    places = np.sort(np.concatenate([points.get_xdata() for points in together.points_]))
    assert np.diff(places).min() > 0.2
    low, high = models[order[0]].confidence_interval(0.95, method="t")["MuAP"]
    label = together.points_[0].get_label()
    mean = models[order[0]].mean()["MuAP"]
    assert label == f"{order[0]}: mean {mean:.3f} ({low:.3f} to {high:.3f})"


def test_many_models_are_rows_with_a_point_per_fold():
    models = folds_of([f"run-{i}" for i in range(5)])
    display = sg.FoldDisplay.from_cross_evaluation(models, measure="MuAP", ax=Figure().subplots())
    means = {name: report.mean()["MuAP"] for name, report in models.items()}
    order = sorted(means, key=means.get, reverse=True)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == order
    assert display.boxes_ == []
    ends = display.interval_.get_segments()
    for row, name in enumerate(order):
        points = display.points_[row]
        assert points.get_xdata().tolist() == models[name].by_fold()["MuAP"].tolist()
        assert set(points.get_ydata()) == {row}
        assert display.mean_line_[row].get_data() == ([means[name]], [row])
        low, high = models[name].confidence_interval(0.95, method="t")["MuAP"]
        assert ends[row].tolist() == [[low, row], [high, row]]
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["mean of a fold", "mean of all queries", "95 % interval"]


# Styles ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_colours_of_the_first_systems_have_contrast_on_light_and_dark_backgrounds(style):
    def luminance(color):
        red, green, blue = to_rgb(color)
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                  for c in (red, green, blue)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    y, scores, qid = scores_of([f"run-{i}" for i in range(8)])
    with plt.style.context(style):
        ax = Figure().subplots()
        display = sg.CutoffCurveDisplay.from_predictions(y, scores, qid=qid, ax=ax)
        back = luminance(display.ax_.get_facecolor()[:3])
        colors = {line.get_label(): line.get_color() for line in display.lines_}
        assert len(set(colors.values())) == 8
        for name in ("run-0", "run-1", "run-2", "run-3"):
            ends = sorted([luminance(colors[name]) + 0.05, back + 0.05])
            assert ends[1] / ends[0] >= 3


@pytest.mark.parametrize("kind", ["threshold", "cutoff", "intervals", "folds", "heat map"])
def test_a_narrow_figure_contains_all_texts(kind):
    with plt.rc_context({"figure.figsize": (4, 3)}):
        display = drawn.__wrapped__(kind, 20)
        assert_all_texts_are_in_the_figure(display)
        assert display.figure_.get_figwidth() == 4
        plt.close(display.figure_)
