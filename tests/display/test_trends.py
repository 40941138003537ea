"""The chart of a trend."""

import numpy as np
import pytest

import skgraded as sg

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure


def trend(n=30, outlier=None):
    rng = np.random.default_rng(0)
    days = []
    for i in range(n):
        values = rng.normal(0.3 if i == outlier else 0.5, 0.05, 50).clip(0, 1)
        evaluation = sg.Evaluation(np.arange(50), {"RR": values}, {"RR": np.zeros(50, dtype=bool)})
        days.append(sg.Summary.of(evaluation, label=f"2026-11-{i + 1:02d}"))
    return sg.trend(days)


def test_the_lines_are_the_columns_of_the_trend():
    report = trend(outlier=20)
    display = sg.TrendDisplay.from_trend(report, ax=Figure().subplots())
    frame = report.to_frame()
    means, *_ = display.line_.lines
    assert means.get_ydata().tolist() == frame["mean"].tolist()
    for line, name in zip(display.limits_, ["center", "lower", "upper"], strict=True):
        assert line.get_ydata().tolist() == frame[name].tolist()
    assert display.outside_.get_xdata().tolist() == np.flatnonzero(frame["is_outside"]).tolist()
    assert 20 in display.outside_.get_xdata()
    assert display.ax_.get_ylabel() == "RR: mean"


def test_many_labels_are_thinned():
    display = sg.TrendDisplay.from_trend(trend(100), ax=Figure().subplots())
    assert len(display.ax_.get_xticks()) <= 12
    assert display.ax_.get_xticklabels()[0].get_text() == "2026-11-01"


def test_bad_input():
    with pytest.raises(TypeError, match="trend must be a Trend; got list"):
        sg.TrendDisplay.from_trend([])
    with pytest.raises(ValueError, match=r"All arrays must have the shape \(2,\)"):
        sg.TrendDisplay(
            [1, 2], [1, 2], [1, 2], center=[1, 2], lower=[1, 2], upper=[1], labels=["a", "b"],
            measure="RR", level=0.95,
        )
