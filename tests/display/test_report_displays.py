"""The displays of reports draw the numbers of their tables, and their texts can be read."""

import functools
import itertools
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor
from small_reports import rows_of

import skgraded as sg

DIFFERENCE, INTERVAL, FOLD = sg.QueryDifferenceDisplay, sg.IntervalDisplay, sg.FoldDisplay
HEAT, THRESHOLD, CUTOFF = (
    sg.DifferenceHeatmapDisplay, sg.ThresholdCurveDisplay, sg.CutoffCurveDisplay,
)
LONG = "experiment-2026-11_lambdarank_depth8_leaves63_$seed$_{}"
LIST = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]
MEASURES = ["ndcng@5", "map(undefined=nan)"]
NAMES = ["NDCNG@5", "AP(undefined=nan)"]


def evaluations_of(names, n_queries=40, measures=MEASURES, weights=None):
    """Evaluations of systems that are the noisier the later they stand."""
    X, y, qid = sg.datasets.make_ranking(n_queries, 6, random_state=1)
    first = np.unique(qid, return_index=True)[1]
    y[first] = np.maximum(y[first], 1)
    y[np.isin(qid, [3, 5])] = 0  # the queries without a relevant document
    w = None if weights is None else np.asarray(weights)[qid]
    noise = (np.random.default_rng(i).normal(0, 1 + i, len(y)) for i in range(len(names)))
    return {
        name: sg.evaluate(y, y + errors, qid=qid, measures=measures, sample_weight=w)
        for name, errors in zip(names, noise, strict=True)
    }


def compared(names, baseline=None, n_queries=40, measures=MEASURES, weights=None):
    found = evaluations_of(names, n_queries, measures, weights)
    return sg.compare(found, baseline=baseline, test=None, n_resamples=200, rng=0)


@pytest.fixture(scope="module")
def all_pairs():
    return compared(["good", "fair", "poor"])


@pytest.fixture(scope="module")
def against_fair():
    return compared(["good", "fair", "poor"], "fair")


@pytest.fixture(scope="module")
def cv(ranking):
    X, y, qid = ranking
    ranker = sg.QueryRanker(LinearRegression())
    return sg.cross_evaluate(ranker, X, y, qid=qid, cv=4, measures=MEASURES)


# What is drawn -----------------------------------------------------------------------------------

def drawn_differences(display):
    wins, edges, _ = display.wins_.get_data()
    losses, also_edges, _ = display.losses_.get_data()
    assert edges.tolist() == also_edges.tolist() == list(range(len(wins) + 1))
    assert not (wins * losses).any() and (wins >= 0).all() and (losses <= 0).all()
    return wins + losses


def drawn_band(band):
    """Low and high end of a band."""
    heights = band.get_patch_transform().transform(band.get_path().vertices)[:, 1]
    return pytest.approx((heights.min(), heights.max()), abs=1e-12)


def drawn_intervals(collection):
    return [
        (segment[0, 0], segment[1, 0], segment[0, 1]) for segment in collection.get_segments()
    ]


def tick_texts(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


# QueryDifferenceDisplay --------------------------------------------------------------------------

def test_differences_are_those_of_the_comparison_and_counted_as_in_its_table(all_pairs):
    for (system, baseline, measure), row in rows_of(all_pairs).items():
        display = DIFFERENCE.from_comparison(
            all_pairs, system=system, baseline=baseline, measure=measure, ax=Figure().subplots()
        )
        expected = np.sort(all_pairs.differences(system, baseline, measure))[::-1]
        assert drawn_differences(display).tolist() == expected.tolist()
        assert (display.wins, display.ties, display.losses) == tuple(
            row[key] for key in ("wins", "ties", "losses")
        )
        assert set(display.mean_line_.get_ydata()) == {row["difference"]}
        assert drawn_band(display.interval_) == (row["ci_low"], row["ci_high"])


def test_each_difference_keeps_its_query_and_undefined_ones_are_left_out(against_fair, ax):
    display = DIFFERENCE.from_comparison(against_fair, system="poor", measure=MEASURES[1], ax=ax)
    values = against_fair.per_query[NAMES[1]]
    expected = dict(zip(against_fair.query_ids.tolist(), values[2] - values[1], strict=True))
    for query, drawn in zip(display.query_ids.tolist(), drawn_differences(display), strict=True):
        assert drawn == expected[query]
    assert len(display.differences) == 38 and display.n_left_out == 2
    assert not {3, 5} & set(display.query_ids.tolist())
    assert ax.get_xlabel() == f"38 queries by difference, {display.ties} equal, 2 more left out"


def test_queries_without_weight_are_left_out(ax):
    weights = np.arange(40) % 4
    found = compared(["a", "b"], "a", weights=weights)
    display = DIFFERENCE.from_comparison(found, ax=ax)
    assert sorted(display.query_ids.tolist()) == [q for q in range(40) if q % 4]
    row = rows_of(found)["b", "a", NAMES[0]]
    assert len(display.differences) == row["n_queries"]
    expected = np.average(found.per_query[NAMES[0]][1] - found.per_query[NAMES[0]][0],
                          weights=weights)
    assert display.mean_line_.get_ydata()[0] == pytest.approx(expected, abs=1e-12)


def test_wins_and_losses_are_told_apart_without_colour(ax):
    display = DIFFERENCE([0.5, -0.25, 1e-15, 0.1], measure="AP", system="b", baseline="a").plot(ax)
    assert drawn_differences(display).tolist() == [0.5, 0.1, 1e-15, -0.25]
    assert (display.wins, display.ties, display.losses) == (2, 1, 1)  # rounding makes no win
    assert display.losses_.get_hatch() and not display.wins_.get_hatch()
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["2 queries: b better", "1 query: a better"]
    assert ax.get_ylabel() == "difference in AP"
    assert ax.get_xlabel() == "4 queries by difference, 1 equal"


def test_few_queries_are_named(ax):
    ids = [f"query-{i}" for i in range(20)]
    named = DIFFERENCE(np.arange(20), measure="AP", system="b", baseline="a", query_ids=ids)
    assert tick_texts(named.plot(ax).ax_.xaxis) == ids[::-1]
    more = DIFFERENCE(np.arange(21), measure="AP", system="b", baseline="a", query_ids=[*ids, "x"])
    assert not set(tick_texts(more.plot(Figure().subplots()).ax_.xaxis)) & set(ids)


def test_a_pair_that_follows_need_not_be_said(all_pairs, against_fair, ax):
    two = compared(["a", "b"])
    assert DIFFERENCE.from_comparison(two, ax=ax).system == "b"
    by_system = DIFFERENCE.from_comparison(against_fair, system="good", ax=ax)
    assert (by_system.baseline, by_system.measure) == ("fair", NAMES[0])
    assert DIFFERENCE.from_comparison(all_pairs, system="fair", ax=ax).baseline == "good"


@pytest.mark.parametrize("given, message", [
    ({}, r"select 2\. Choose one of these pairs: system='good', baseline='fair'; system='poor'"),
    ({"system": "fair"}, r"system='fair' and baseline=None must .* select 0"),
    ({"system": "god"}, r"system must be one of .*'god'\. Did you mean 'good'\?"),
    ({"system": "good", "baseline": "fairr"}, r"^baseline must be .*Did you mean 'fair'\?"),
    ({"system": "good", "measure": "ndcg"}, r"the evaluated measures NDCNG@5, .*; got NDCG\."),
    ({"system": "good", "measure": "ndcgn@5"}, r"(?i)did you mean|nearest"),
])
def test_unknown_systems_and_measures(against_fair, cv, given, message):
    with pytest.raises(ValueError, match=message):
        DIFFERENCE.from_comparison(against_fair, **given)
    with pytest.raises(ValueError, match="^measure must be one of .*; got RR"):
        FOLD.from_cross_evaluation(cv, measure="rr")


def test_differences_need_two_systems():
    for other in ([1, 2, 3], {"a": [1, 2, 3]}, dict.fromkeys("abc", [1, 2, 3])):
        with pytest.raises(ValueError, match="^Argument y_score must be a mapping of two systems"):
            DIFFERENCE.from_predictions([1, 0, 2], other)
        with pytest.raises(ValueError, match="^Argument estimator must be a mapping of two"):
            DIFFERENCE.from_estimator(other, [[1], [2], [3]], [1, 0, 2])


def test_no_few_and_many_queries_are_as_few_artists():
    for n_queries in (0, 1, 2, 30_000):
        values = [np.nan, *np.random.default_rng(0).normal(size=n_queries)]
        ax = Figure().subplots()
        display = DIFFERENCE(values, measure="AP", system="b", baseline="a", mean=0.1).plot(ax)
        assert len(ax.patches) == 2 and len(drawn_differences(display)) == n_queries
        display.figure_.draw_without_rendering()
        assert ax.get_xlabel().startswith(f"{n_queries:,} ")
        assert ax.get_xlabel().endswith(" by difference, 1 more left out")


# IntervalDisplay ---------------------------------------------------------------------------------

def test_means_and_intervals_are_those_of_the_summaries_the_best_system_first(ax):
    found = evaluations_of(["poor", "good", "fair"])
    found = dict(zip(["poor", "good", "fair"], reversed(found.values()), strict=True))
    display = INTERVAL.from_evaluations(found, level=0.9, n_resamples=200, ax=ax)
    tables = {name: one.summary(0.9, n_resamples=200) for name, one in found.items()}
    order = sorted(tables, key=lambda name: tables[name]["mean"].iloc[0], reverse=True)
    assert order != list(found) and tick_texts(ax.yaxis) == order
    for j, (points, intervals) in enumerate(zip(display.points_, display.intervals_, strict=True)):
        x, y = points.get_data()
        for i, (low, high, at) in enumerate(drawn_intervals(intervals)):
            row = tables[order[i]].iloc[j]
            assert (x[i], low, high) == (row["mean"], row["ci_low"], row["ci_high"])
            assert at == y[i] and round(at) == i
    assert [text.get_text() for text in ax.get_legend().get_texts()] == NAMES
    assert ax.get_xlabel() == "mean\n90 % intervals, 40 queries, 2 undefined"
    assert len({points.get_marker() for points in display.points_}) == 2
    assert ax.yaxis_inverted()  # the first row is on top


def test_for_one_evaluation_a_row_is_a_measure(ax):
    (found,) = evaluations_of(["good"]).values()
    display = INTERVAL.from_evaluations(found, ax=ax)
    (points,) = display.points_
    means = dict(sorted(found.mean().items(), key=lambda item: -item[1]))
    assert points.get_xdata().tolist() == list(means.values())
    assert points.get_ydata().tolist() == [0, 1]
    assert tick_texts(ax.yaxis) == list(means) and ax.get_legend() is None
    named = INTERVAL.from_evaluations(found, name="good", ax=Figure().subplots())
    assert named.ax_.get_xlabel().startswith("good: mean\n") and ax.get_legend() is None
    one = INTERVAL.from_evaluations({"good": found}, measures="ndcng@5", ax=Figure().subplots())
    assert tick_texts(one.ax_.yaxis) == ["good"]
    assert one.ax_.get_xlabel().startswith("NDCNG@5: mean\n")
    found = {**evaluations_of(["a"], 20), **evaluations_of(["b"], 30)}
    INTERVAL.from_evaluations(found, measures="ndcng@5", n_resamples=200, ax=one.ax_)
    text = one.ax_.get_xlabel()
    assert text == "NDCNG@5: mean\n95 % intervals, 20 to 30 queries, 2 undefined"


@pytest.mark.parametrize("baseline", ["fair", None])
def test_differences_and_intervals_are_those_of_the_table(all_pairs, against_fair, baseline, ax):
    comparison = all_pairs if baseline is None else against_fair
    table = {}
    for (system, other, measure), row in rows_of(comparison).items():
        name = system if baseline else f"{system} − {other}"
        table[name, measure] = row["difference"], row["ci_low"], row["ci_high"]
        reverse = -row["difference"], -row["ci_high"], -row["ci_low"]
        table[f"{other} − {system}", measure] = reverse
    display = INTERVAL.from_comparison(comparison, ax=ax)
    names = tick_texts(ax.yaxis)
    assert len(names) == (2 if baseline else 3)
    first = [table[name, NAMES[0]][0] for name in names]
    assert first == sorted(first, reverse=True) and (baseline or min(first) >= 0)
    for measure, points, intervals in zip(
        NAMES, display.points_, display.intervals_, strict=True
    ):
        rows = [table[name, measure] for name in names]
        assert points.get_xdata().tolist() == [difference for difference, _, _ in rows]
        drawn = [(low, high) for low, high, _ in drawn_intervals(intervals)]
        assert drawn == [(low, high) for _, low, high in rows]
    assert any(list(line.get_xdata()) == [0, 0] for line in ax.lines)  # the zero line
    to = " to fair" if baseline else ""
    assert ax.get_xlabel() == f"mean difference{to}\n95 % intervals, 38 to 40 queries"


def test_where_there_is_no_interval_there_is_the_mean(ax):
    nan = np.nan
    display = INTERVAL(
        [[0.5], [nan]], [[nan], [nan]], [[nan], [nan]], measures="AP", name=["one query", "none"]
    ).plot(ax)
    np.testing.assert_array_equal(display.points_[0].get_xdata(), [0.5, nan])
    display.figure_.draw_without_rendering()
    assert tick_texts(ax.yaxis) == ["one query", "none"] and ax.get_xlabel() == "AP: mean"


def test_displays_of_scores_and_of_estimators_are_those_of_their_reports(ranking):
    X, y, qid = ranking
    models = {
        "tree": sg.QueryRanker(DecisionTreeRegressor(max_depth=2)).fit(X, y, qid=qid),
        "line": LinearRegression().fit(X, y),
    }
    scores = {name: model.predict(X) for name, model in models.items()}
    reports = {name: sg.evaluate(y, s, qid=qid, measures="ap") for name, s in scores.items()}
    comparison = sg.compare(reports, baseline="tree", test=None, rng=0)
    expected = DIFFERENCE.from_comparison(comparison, ax=Figure().subplots())
    data = {"qid": qid, "measure": "ap", "ax": Figure().subplots()}
    for display in (
        DIFFERENCE.from_predictions(y, scores, **data),
        DIFFERENCE.from_estimator(models, X, y, **data),
    ):
        assert drawn_differences(display).tolist() == drawn_differences(expected).tolist()
        assert (display.system, display.baseline) == ("line", "tree")
        assert (display.mean, display.interval) == (expected.mean, expected.interval)
    settings = {"level": 0.8, "n_resamples": 200}
    expected = INTERVAL.from_evaluations(reports["line"], **settings, ax=Figure().subplots())
    data = {"qid": qid, "measures": "ap"} | settings
    for display in (
        INTERVAL.from_predictions(y, scores["line"], name="line", **data, ax=Figure().subplots()),
        INTERVAL.from_estimator({"line": models["line"]}, X, y, **data, ax=Figure().subplots()),
    ):
        assert (display.low, display.means, display.high) == (
            expected.low, expected.means, expected.high
        )
        assert tick_texts(display.ax_.yaxis) == ["line"]


def test_evaluations_that_do_not_fit():
    found = evaluations_of(["a", "b"])
    other = sg.evaluate([1, 0], [2, 1], group=[2], measures="rr")
    for given, measures, message in [
        ({}, None, "^The mapping evaluations is empty"),
        ({"a": found["a"], "b": other}, None, r"evaluations\['b'\] does not contain the measure"),
        (found, [], "^measures is empty"),
        (found, "rr", "^measure must be one of the evaluated measures NDCNG@5, .*RR"),
    ]:
        with pytest.raises(ValueError, match=message):
            INTERVAL.from_evaluations(given, measures=measures)
    with pytest.raises(ValueError, match="level"):
        INTERVAL.from_evaluations(found, level=95)


# FoldDisplay -------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", NAMES)
def test_fold_means_are_those_of_the_table_and_boxes_hold_half_the_queries(cv, name, ax):
    display = FOLD.from_cross_evaluation(cv, measure=name, n_resamples=200, ax=ax)
    x, means = display.points_.get_data()
    table = cv.by_fold()
    assert list(x) == table["fold"].tolist() and list(means) == table[name].tolist()
    for fold, box in enumerate(display.boxes_):
        values = cv.per_query[name][cv.fold == fold]
        low, high = np.nanpercentile(values, [25, 75])
        heights = box.get_path().vertices[:, 1]
        assert (heights.min(), heights.max()) == pytest.approx((low, high), abs=1e-12)
    row = cv.summary(n_resamples=200).set_index("measure").loc[name]
    assert display.mean_line_.get_ydata()[0] == row["mean"]
    assert drawn_band(display.interval_) == (row["ci_low"], row["ci_high"])
    assert ax.get_ylabel() == name


def test_undefined_queries_of_folds_and_a_fold_that_failed(ax):
    nan = np.nan
    display = FOLD(
        [0.1, nan, nan, nan, 0.7, 0.9], [0, 0, 1, 1, 2, 2], [0.1, nan, 0.8], measure="AP", mean=nan
    ).plot(ax)
    display.figure_.draw_without_rendering()
    np.testing.assert_array_equal(display.points_.get_ydata(), [0.1, nan, 0.8])
    assert ax.get_xlabel() == "fold\n0 to 2 queries each, 3 left out"
    assert display.mean_line_ is None and len(display.boxes_) == 3


def test_weights_of_folds(ranking, ax):
    X, y, qid = ranking
    weights = np.arange(30) % 3
    cv = sg.cross_evaluate(
        sg.QueryRanker(LinearRegression()), X, y, qid=qid, cv=3, measures="ap",
        sample_weight=weights[qid],
    )
    display = FOLD.from_cross_evaluation(cv, n_resamples=200, ax=ax)
    for fold, mean in enumerate(display.points_.get_ydata()):
        there = cv.fold == fold
        expected = np.average(cv.per_query["AP"][there], weights=cv.weights[there])
        assert mean == pytest.approx(expected, abs=1e-12)
    assert np.isnan(display.values).sum() == 10  # those of weight 0
    assert display.mean == cv.mean()["AP"]


# All displays ------------------------------------------------------------------------------------

@pytest.fixture(params=[
    "difference", "interval", "interval of differences", "fold", "threshold", "cut-off",
])
def draw(request, against_fair, cv):
    """Draw a display, given axes and settings of matplotlib."""
    return {
        "threshold": lambda **given: THRESHOLD.from_predictions(*LIST, **given),
        "cut-off": lambda **given: CUTOFF.from_predictions(*LIST, **given),
        "difference": lambda **given: DIFFERENCE.from_comparison(
            against_fair, system="poor", **given
        ),
        "interval": lambda **given: INTERVAL.from_evaluations(cv, n_resamples=200, **given),
        "interval of differences": lambda **given: INTERVAL.from_comparison(against_fair, **given),
        "fold": lambda **given: FOLD.from_cross_evaluation(cv, n_resamples=200, **given),
    }[request.param]


def test_axes_are_used_again_and_may_be_of_a_subfigure(draw, ax):
    first, second = draw(ax=ax), draw(ax=ax)
    assert first is not second and first.ax_ is second.ax_ is ax
    assert first.figure_ is ax.figure
    left, right = Figure(layout="constrained").subfigures(1, 2)
    right.subplots()
    assert second.plot(ax=left.subplots()) is second and second.figure_ is left
    # without axes there is a new figure
    display = draw()
    try:
        assert plt.get_fignums() == [display.figure_.number]
        assert display.ax_ in display.figure_.axes
    finally:
        plt.close(display.figure_)


def test_settings_of_matplotlib_are_handed_on(against_fair, cv, ax):
    display = DIFFERENCE.from_comparison(against_fair, system="poor", ax=ax, lw=2, alpha=0.5)
    for patch in (display.wins_, display.losses_):
        assert (patch.get_linewidth(), patch.get_alpha()) == (2, 0.5)
    intervals = INTERVAL.from_comparison(against_fair, ax=Figure().subplots(), ms=9, c="black")
    for points, lines in zip(intervals.points_, intervals.intervals_, strict=True):
        assert (points.get_markersize(), points.get_color()) == (9, "black")
        assert lines.get_color().tolist() == [[0, 0, 0, 1]]
    folds = FOLD.from_cross_evaluation(cv, n_resamples=200, ax=Figure().subplots(), widths=0.25)
    assert np.ptp(folds.boxes_[0].get_path().vertices[:, 0]) == pytest.approx(0.25, abs=1e-12)


def test_without_matplotlib_the_error_says_what_to_install(draw, ranking, monkeypatch):
    X, y, qid = ranking
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # what import then finds is nothing
    with pytest.raises(ImportError, match=r"Display\.from_\w+ needs matplotlib: pip install \""):
        draw()
    curve = CUTOFF([1], [0.5], measures="NDCG")
    for method, call in [
        ("plot", curve.plot),
        ("from_estimator", lambda: curve.from_estimator(LinearRegression(), X, y, qid=qid)),
    ]:
        message = rf"CutoffCurveDisplay\.{method} needs matplotlib: pip install "
        with pytest.raises(ImportError, match=message):
            call()


@pytest.mark.parametrize("make, name, message", [
    *((cls.from_comparison, name, rf"must be of type Comparison.*; got {got}\.")
      for cls in (DIFFERENCE, INTERVAL, HEAT)
      for name, got in (("mapping", "dict"), ("evaluation", "Evaluation"))),
    (INTERVAL.from_evaluations, "comparison",
     "^Argument evaluations must be of type Evaluation, as returned by evaluate; got Comparison"),
    (INTERVAL.from_evaluations, "list", "Argument evaluations must be .*got list"),
    (INTERVAL.from_evaluations, "half", r"evaluations\['half'\] must be .*got list"),
    (FOLD.from_cross_evaluation, "evaluation",
     "must be of type CrossEvaluation, as returned by cross_evaluate"),
    (FOLD.from_cross_evaluation, "mapping", "must be of type CrossEvaluation"),
])
def test_reports_of_another_type_are_refused(all_pairs, make, name, message):
    found = evaluations_of(["a"])
    reports = {
        "mapping": found, "evaluation": found["a"], "comparison": all_pairs, "list": [found["a"]],
        "half": found | {"half": [1]},
    }
    with pytest.raises(TypeError, match=message):
        make(reports[name])


@pytest.mark.parametrize("make, message", [
    (lambda: DIFFERENCE([1, 2], measure="AP", system="b", baseline="a", query_ids=[1]),
     "query_ids has 1 rows, but differences has 2"),
    (lambda: INTERVAL([[1, 2]], [[1, 2]], [[1, 2]], measures="AP"),
     r"means must have shape \(n_systems, 1\); got \(1, 2\)"),
    (lambda: INTERVAL([[1], [2]], [[1]], [[1], [2]], measures="AP"),
     r"shape of low must match .* means, \(2, 1\); got \(1, 1\)"),
    (lambda: INTERVAL([[1]], [[1]], [[1]], measures="AP", name=["a", "b"]),
     "name must contain 1 names, one per system"),
    (lambda: FOLD([0.5, 0.5], [0, 2], [0.5, 0.5], measure="AP"),
     "fold contains 2, but fold_means contains only folds 0 to 1"),
    (lambda: FOLD([0.5, 0.5], [0], [0.5], measure="AP"), "fold has 1 rows, but values has 2"),
    (lambda: FOLD([0.5], [-1], [0.5], measure="AP"), "fold must be at least 0; got -1"),
    (lambda: FOLD([[1], [1]], [[0]], [[1], [1]], measure="AP", name=["a", "b"]),
     "must each have one element per model; got lengths 2, 1 and 2"),
    (lambda: HEAT([[0, 1]], name=["a", "b"], measure="AP"),
     r"differences must have shape \(n_systems, n_systems\); got \(1, 2\)"),
    (lambda: HEAT([[0, 1], [1, 0]], [[1]], name=["a", "b"], measure="AP"),
     r"significant must have the same shape as differences, \(2, 2\)"),
    *((lambda wrong=wrong: THRESHOLD(wrong, [0.5, 0.5]),
       "thresholds must be positive, finite and in ascending order")
      for wrong in ([0, 1], [2, 1], [1, np.nan], [1, np.inf])),
    (lambda: THRESHOLD([1, 2], [0.5, 0.5, 0.5]),
     r"average_precision must have shape \(n_systems, 2\)"),
    (lambda: CUTOFF([1, 2, 3], np.zeros((3, 2)), measures=["a", "b"]),
     r"values must have shape \(n_systems, 2, 3\)"),
    (lambda: THRESHOLD([1, 2], [0.5, 0.5], mu_ap=[0.5, 0.5]),
     "mu_ap has 2 rows, but average_precision has 1"),
    (lambda: THRESHOLD([1, 2], [0.5, 0.5], name=["a", "b"]),
     r"name must contain 1 names, one per system; got \['a'"),
    (lambda: THRESHOLD([1], [[0.5], [0.4]]).plot(name="a", ax=Figure().subplots()),
     "name must contain 2 names, one per system; got 'a'"),
])
def test_arrays_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# Texts -------------------------------------------------------------------------------------------

def assert_readable(display, whole=True):
    """Texts do not overlap nor, if `whole`, leave the figure, and no legend covers the data."""
    ax, figure = display.ax_, display.figure_
    figure.draw_without_rendering()
    texts = [ax.xaxis.label, ax.yaxis.label]
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
        texts += [label for at, label in ticks if low <= at <= high]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    assert len(boxes) >= 4
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        assert not a.overlaps(b), (one, other)
    if whole:
        for text, box in boxes:
            assert figure.bbox.x0 <= box.x0 + 1 and box.x1 - 1 <= figure.bbox.x1, text
            assert figure.bbox.y0 <= box.y0 + 1 and box.y1 - 1 <= figure.bbox.y1, text
    legend = ax.get_legend()
    if legend is not None:
        box = legend.get_window_extent()
        drawn = ax.dataLim.transformed(ax.transData)
        if whole:  # below the axes and their label
            assert box.y1 <= ax.xaxis.label.get_window_extent().y0
            assert box.x0 >= figure.bbox.x0 and box.x1 <= figure.bbox.x1
        else:
            assert box.y0 >= max(drawn.y0, drawn.y1)
            assert box.x0 >= ax.bbox.x0 and box.x1 <= ax.bbox.x1


NEW, OWN = True, False  # a figure that makes room for all texts, or axes of one that does not


def assert_readable_on(new, draw):
    """Draw on new or on given axes."""
    display = draw(ax=None if new else Figure().subplots())
    try:
        assert_readable(display, whole=new)
    finally:
        plt.close(display.figure_)


@pytest.mark.parametrize("n_queries, name, new", [
    (6, "{}", NEW), (6, LONG, OWN), (20, LONG, NEW), (20, "{}", OWN), (300, LONG, NEW),
    (300, "{}", OWN),
])
def test_texts_of_differences_can_be_read(n_queries, name, new):
    comparison = compared([name.format(i) for i in range(2)], name.format(0), n_queries)
    assert_readable_on(new, functools.partial(
        DIFFERENCE.from_comparison, comparison, measure=MEASURES[1]
    ))


def test_long_query_ids_leave_room_for_the_legend():
    display = DIFFERENCE(
        np.linspace(-0.5, 1, 20), measure="AP(threshold=2,ties='worst',undefined=nan)@20",
        system=LONG.format(1), baseline=LONG.format(2), mean=0.25,
        query_ids=[f"a long identifier of query {i} of 20" for i in range(20)],
    )
    assert_readable_on(NEW, display.plot)


@pytest.mark.parametrize("n_systems, baseline, name, new", [
    (2, True, "{}", NEW), (2, True, LONG, OWN), (10, True, LONG, NEW), (10, True, "{}", OWN),
    (4, False, "{}", OWN), (4, False, LONG, NEW),
])
def test_texts_of_intervals_can_be_read(n_systems, baseline, name, new):
    names = [name.format(i) for i in range(n_systems)]
    measures = [*MEASURES, "rr", "ap(threshold=2,ties='worst')@20"]
    comparison = compared(names, names[0] if baseline else None, 20, measures)
    assert_readable_on(new, functools.partial(INTERVAL.from_comparison, comparison))


@pytest.mark.parametrize("n_folds, new", [(2, NEW), (5, OWN), (30, NEW), (30, OWN)])
def test_texts_of_folds_can_be_read(ranking, n_folds, new):
    X, y, qid = ranking
    ranker = sg.QueryRanker(LinearRegression())
    cv = sg.cross_evaluate(ranker, X, y, qid=qid, cv=n_folds, measures="ndcng")
    assert_readable_on(new, functools.partial(FOLD.from_cross_evaluation, cv, n_resamples=200))
