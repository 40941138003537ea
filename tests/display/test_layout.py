"""Texts do not overlap or leave the figure, and legends do not cover the data."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from small_reports import systems

import skgraded as sg

LONG = "experiment-2026-11_lambdarank_depth8_leaves63_$seed$_{}"
NAMES = [
    "$x$ & $",
    "_hidden",
    "\x1b[31m\u202ered",
    "two\nlines",
    "x" * 300,
    "a {b} \\\\ c%",
    "مرتب",
    *(f"run-{i}" for i in range(13)),
]
MEASURES = ["NDCNG@10", "AP(threshold=2,ties='worst',undefined=nan)@20"]


def compared(names, **settings):
    return sg.compare(systems(names, 20, MEASURES), test="t", **settings)


def differences(n_queries):
    return sg.QueryDifferenceDisplay(
        np.linspace(-0.5, 1, n_queries),
        measure=MEASURES[1],
        system=LONG.format(1),
        baseline=LONG.format(2),
        mean=0.25,
        interval=(0.1, 0.4),
        level=0.95,
        query_ids=[f"a long identifier of query {i} of {n_queries}" for i in range(n_queries)],
    )


def curves(cls, n_systems, **settings):
    X, y, qid = sg.datasets.make_ranking(10, 8, n_features=len(NAMES), random_state=0)
    scores = dict(zip(NAMES[:n_systems], X.T, strict=False))
    return cls.from_predictions(y, scores, qid=qid, **settings)


DRAW = {
    "threshold": lambda n, ax: curves(sg.ThresholdCurveDisplay, n, ax=ax),
    "cutoff": lambda n, ax: curves(sg.CutoffCurveDisplay, n, measures=["ndcng", "ap"], ax=ax),
    "difference": lambda n, ax: differences(n).plot(ax=ax),
    "differences": lambda n, ax: sg.IntervalDisplay.from_comparison(compared(NAMES[:n]), ax=ax),
    "baseline": lambda n, ax: sg.IntervalDisplay.from_comparison(
        compared([LONG.format(i) for i in range(n)], baseline=LONG.format(0)), ax=ax
    ),
    "means": lambda n, ax: sg.IntervalDisplay.from_evaluations(
        systems(NAMES[:n], 20, MEASURES), ax=ax
    ),
}


def labels_of(ax):
    """Return the labels of the axes and of the visible ticks, except empty ones."""
    yield from filter(lambda text: text.get_text(), (ax.xaxis.label, ax.yaxis.label))
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        for at, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True):
            if low <= at <= high and label.get_text():
                yield label


def check_layout(display, is_new):
    """Check the positions of all texts; only new figures have room for all labels."""
    ax, figure = display.ax_, display.figure_
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in labels_of(ax)]
    assert len(boxes) >= 4
    for (text, box), (other, other_box) in itertools.combinations(boxes, 2):
        assert not box.padded(-1).overlaps(other_box), (text, other)
    legend = ax.get_legend()
    box = None if legend is None else legend.get_window_extent()
    if is_new:
        boxes += [] if legend is None else [("legend", box)]
        for text, extent in boxes:
            assert figure.bbox.x0 <= extent.x0 + 1 and extent.x1 - 1 <= figure.bbox.x1, text
            assert figure.bbox.y0 <= extent.y0 + 1 and extent.y1 - 1 <= figure.bbox.y1, text
        if legend is not None:
            assert box.y1 <= ax.xaxis.label.get_window_extent().y0
    elif legend is not None:
        drawn = ax.dataLim.transformed(ax.transData)
        assert box.y0 >= max(drawn.y0, drawn.y1)
        assert box.x0 >= ax.bbox.x0 and box.x1 <= ax.bbox.x1


@pytest.mark.parametrize(
    ("kind", "n", "width"),
    [
        ("threshold", 20, 6.4),
        ("threshold", 20, 4),
        ("cutoff", 5, 6.4),
        ("difference", 6, 6.4),
        ("difference", 20, 6.4),
        ("differences", 5, 6.4),
        ("differences", 20, 4),
        ("baseline", 10, 6.4),
        ("means", 20, 6.4),
    ],
)
def test_a_new_figure_has_room_for_all_texts(kind, n, width):
    with plt.rc_context({"figure.figsize": (width, 0.75 * width)}):
        display = DRAW[kind](n, None)
    try:
        check_layout(display, is_new=True)
        assert display.figure_.get_figwidth() == width
    finally:
        plt.close(display.figure_)


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (
            lambda n: sg.IntervalDisplay(
                *[np.full((n, 1), 0.5)] * 3, measures="AP", name=["system"] * n
            ),
            (6.4, 5.94),
        ),
        (
            lambda n: sg.IntervalDisplay(  # the height of the legend depends on the font
                *[np.full((n, 5), 0.5)] * 3, measures=list("abcde"), name=["system"] * n
            ),
            pytest.approx((6.4, 15.8), abs=0.4),
        ),
    ],
)
def test_the_size_of_a_new_figure_depends_on_the_number_of_rows(make, size):
    display = make(20).plot()
    try:
        assert tuple(display.figure_.get_size_inches().round(4)) == size
    finally:
        plt.close(display.figure_)


@pytest.mark.parametrize(
    ("kind", "n"),
    [
        ("threshold", 3),
        ("difference", 6),
        ("differences", 4),
    ],
)
def test_the_legend_does_not_cover_the_data_on_axes_of_the_user(kind, n):
    check_layout(DRAW[kind](n, Figure().subplots()), is_new=False)


def test_every_system_is_named_and_long_names_are_shortened():
    ax = Figure().subplots()
    curves(sg.ThresholdCurveDisplay, 20, max_systems=None, ax=ax)
    means = DRAW["means"](20, Figure().subplots())
    for texts in (ax.get_legend().get_texts(), means.ax_.get_yticklabels()):
        assert len(texts) == 20
        shown = " ".join(" ".join(text.get_text() for text in texts).split()).replace("\\$", "$")
        for name in ("$x$ & $", "_hidden", "two lines", r"\u001b[31m\u202ered", "run-12"):
            assert name in shown
        assert "x" * 40 not in shown.replace("…", " ")
