"""Labels do not overlap, names are shortened, and legends are beside the axes."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from small_reports import systems

import skgraded as sg

LONG = "experiment-2026-11_lambdarank_depth8_leaves63_$seed$_{}"
MEASURES = ["NDCNG@10", "AP(threshold=2,ties='worst',undefined=nan)@20"]
NAMES = ["$x$ & $", "_hidden", "\x1b[31m\u202ered", "two\nlines", "x" * 300, "مرتب"]


def differences(ax):
    return sg.QueryDifferenceDisplay(
        np.linspace(-0.5, 1, 20),
        measure=MEASURES[1],
        system=LONG.format(1),
        baseline=LONG.format(2),
        mean=0.25,
        interval=(0.1, 0.4),
        level=0.95,
    ).plot(ax)


def intervals(ax):
    reports = systems([LONG.format(i) for i in range(7)], 20, MEASURES)
    comparison = sg.compare(reports, test="t")
    return sg.IntervalDisplay.from_comparison(comparison, measures=MEASURES[1], ax=ax)


def curves(ax):
    X, y, qid = sg.datasets.make_ranking(10, 8, n_features=len(NAMES), random_state=0)
    scores = dict(zip(NAMES, X.T, strict=True))
    return sg.ThresholdCurveDisplay.from_predictions(y, scores, qid=qid, ax=ax)


def visible_labels(ax):
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
        yield from (label for at, label in ticks if low <= at <= high)
        if axis.label.get_text():
            yield axis.label


@pytest.mark.parametrize("draw", [curves, differences, intervals])
def test_a_new_figure_has_room_for_all_labels_and_the_legend(draw):
    display = draw(None)
    plt.close(display.figure_)
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend().get_window_extent()
    boxes = [label.get_window_extent() for label in visible_labels(display.ax_)]
    assert legend.x0 > display.ax_.bbox.x1
    assert not any(a.padded(-1).overlaps(b) for a, b in itertools.combinations(boxes, 2))
    for box in [*boxes, legend]:
        assert box.x0 >= -1 and box.x1 <= display.figure_.bbox.x1 + 1
        assert box.y0 >= -1 and box.y1 <= display.figure_.bbox.y1 + 1


def test_without_a_layout_engine_the_legend_is_inside_the_axes(ax):
    legend = curves(ax).ax_.get_legend()
    ax.figure.draw_without_rendering()
    assert ax.bbox.containsx(legend.get_window_extent().x0)


def test_every_system_is_named_and_long_names_are_shortened(ax):
    texts = [text.get_text() for text in curves(ax).ax_.get_legend().get_texts()]
    assert sorted(text.partition(" (")[0] for text in texts) == [
        " _hidden",
        r"\$x\$ & \$",
        r"\u001b[31m\u202ered",
        "two lines",
        "x" * 18 + "…" + "x" * 9,
        "مرتب",
    ]
