"""FeatureImportanceDisplay draws the numbers of permutation_importance, in whatever form."""

import numpy as np
import pandas as pd
import pytest
import sklearn.inspection
from sklearn.linear_model import Ridge

import skgraded as sg
from skgraded.inspection import permutation_importance

IMPORTANCE = sg.FeatureImportanceDisplay
BY_FEATURE = {"links": 0.25, "title": 0.5, "age": -0.125}


def bars_of(display):
    """Widths of the bars by the name of their row, from the top."""
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    return dict(zip(names, [bar.get_width() for bar in display.bars_], strict=True))


def drawn_intervals(display):
    return [(start[0], end[0]) for start, end in display.intervals_.get_segments()]


@pytest.fixture(scope="module")
def frame(ranking):
    X, y, qid = ranking
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]), y, qid


@pytest.fixture(scope="module")
def ranker(frame):
    X, y, qid = frame
    return sg.QueryRanker(Ridge()).fit(X, y, qid=qid)


def test_bars_are_the_means_and_lines_the_standard_deviations_of_the_repeats(frame, ranker, ax):
    X, y, qid = frame
    settings = {"qid": qid, "measure": "mu_map", "n_repeats": 4, "random_state": 1}
    expected = permutation_importance(ranker, X, y, **settings)
    display = IMPORTANCE.from_estimator(ranker, X, y, **settings, ax=ax)
    order = np.argsort(-expected.importances_mean)
    assert bars_of(display) == {
        f"x{i}": expected.importances[i].mean() for i in order
    }
    np.testing.assert_allclose(drawn_intervals(display), [
        (row.mean() - row.std(), row.mean() + row.std()) for row in expected.importances[order]
    ], rtol=0, atol=1e-15)
    text = " ".join(ax.get_xlabel().split())
    assert text == (
        "decrease in MuAP if permuted mean ± standard deviation, 4 permutations"
    )


@pytest.mark.parametrize("importances", [
    BY_FEATURE, pd.Series(BY_FEATURE), {name: np.float32(x) for name, x in BY_FEATURE.items()},
])
def test_a_mapping_or_a_series_names_the_features_of_single_values(importances, ax):
    display = IMPORTANCE.from_importances(importances, ax=ax)
    assert bars_of(display) == {"title": 0.5, "links": 0.25, "age": -0.125}
    assert display.intervals_ is None and ax.get_xlabel() == "importance"


def test_repeats_and_plain_arrays(ax):
    repeats = {"a": [0.0, 0.5], "b": [0.5, 1.0]}
    display = IMPORTANCE.from_importances(repeats, ax=ax)
    assert bars_of(display) == {"b": 0.75, "a": 0.25}
    assert drawn_intervals(display) == [(0.5, 1.0), (0.0, 0.5)]
    display = IMPORTANCE.from_importances(np.array([[0.0, 0.5], [0.5, 1.0]]), ax=ax)
    assert bars_of(display) == {"column 1": 0.75, "column 0": 0.25}
    display = IMPORTANCE.from_importances([1, 2, 3], features=["a", "b", "c"], ax=ax)
    assert bars_of(display) == {"c": 3, "b": 2, "a": 1}


def test_a_measure_selects_a_result_of_several_by_default_the_first(frame, ranker, ax):
    X, y, qid = frame
    results = permutation_importance(
        ranker, X, y, qid=qid, measure=["ndcng@10", "mu_map"], random_state=0
    )
    for measure, name in ((None, "NDCNG@10"), ("mu_map", "MuAP"), (sg.MuAP(), "MuAP")):
        display = IMPORTANCE.from_importances(results, measure=measure, ax=ax)
        assert display.measure == name
        assert sorted(bars_of(display).values()) == sorted(results[name].importances_mean)
    with pytest.raises(ValueError, match="lacks the measure RR; it contains NDCNG@10, MuAP"):
        IMPORTANCE.from_importances(results, measure="rr")


def test_the_result_of_scikit_learn_is_drawn_under_given_names(frame, ax):
    X, y, _ = frame
    model = Ridge().fit(X, y)
    result = sklearn.inspection.permutation_importance(model, X, y, random_state=0, n_repeats=3)
    display = IMPORTANCE.from_importances(result, features=list(X.columns), ax=ax)
    best = int(np.argmax(result.importances_mean))
    assert next(iter(bars_of(display))) == f"x{best}" and display.n_repeats == 3


def test_by_default_twenty_features_are_drawn(ax):
    importances = np.random.default_rng(0).normal(size=30)
    display = IMPORTANCE.from_importances(importances, ax=ax)
    assert list(bars_of(display).values()) == sorted(importances, reverse=True)[:20]
    assert ax.get_xlabel() == "importance\n20 of 30 features"
    for most, n in ((5, 5), (None, 30)):
        assert len(bars_of(display.plot(ax=ax, max_features=most))) == n


@pytest.mark.parametrize(("importances", "settings", "error", "message"), [
    *((empty, {}, ValueError, "^importances must be a mapping of .*; got shape")
      for empty in ({}, [], None, 0.5, "text", {"a": []}, np.zeros((2, 0)), np.zeros((2, 2, 2)))),
    ([1, np.nan], {}, ValueError, "^importances_mean must be finite; got nan for row 1"),
    (["a", "b"], {}, TypeError, "^importances_mean must contain numbers"),
    ({"a": [1, 2], "b": [1]}, {}, ValueError, "^importances must contain the same number of"),
    ([1, 2], {"features": ["a"]}, ValueError, "^features must contain 2 elements, one per"),
    ([1, 2], {"max_features": 0}, ValueError, "^max_features must be at least 1; got 0"),
    ([1, 2], {"measure": "ndgc"}, ValueError, "(?i)ndcg"),
])
def test_bad_input_is_one_clear_error_and_no_figure(importances, settings, error, message):
    with pytest.raises(error, match=message):
        IMPORTANCE.from_importances(importances, **settings)


def test_hostile_and_long_names_are_in_the_figure():
    names = ["$x$", "_hidden", "two\nlines", "y" * 200, "category_of_the_document_in_the_catalogue"]
    display = IMPORTANCE(np.arange(5.0), features=names).plot(max_features=None)
    figure = display.figure_
    try:
        figure.draw_without_rendering()
        for label in display.ax_.get_yticklabels():
            box = label.get_window_extent()
            assert figure.bbox.x0 <= box.x0 and box.x1 <= display.ax_.bbox.x0
    finally:
        import matplotlib.pyplot as plt

        plt.close(figure)
