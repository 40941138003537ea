"""The displays draw what the measures give, threshold by threshold and cut-off by cut-off."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from queries import random_queries
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import skgraded as sg

THRESHOLD, CUTOFF = sg.ThresholdCurveDisplay, sg.CutoffCurveDisplay
BOTH = pytest.mark.parametrize("cls", [THRESHOLD, CUTOFF])
LIST = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]  # tables 1 and 2 of the paper


def hard_queries(seed, n_queries=12):
    """Queries of hard grades and scores, and weights, of which some are 0."""
    q = random_queries(seed, n_queries, (1, 12))
    weights = np.random.default_rng(seed).choice([0, 0.5, 1, 7], n_queries)
    weights[0] = 1
    return q, weights[q.qid]


def drawn_steps(line):
    """Ends, widths and heights of the steps of a drawn line."""
    assert line.get_drawstyle() == "steps-pre"  # each height holds up to its own threshold
    t, heights = line.get_data()
    assert t[0] == 0
    return t[1:], np.diff(t), heights[1:]


# ThresholdCurveDisplay ---------------------------------------------------------------------------

def test_table_1_of_the_paper(ax):
    display = THRESHOLD.from_predictions(*LIST, relative=False, ax=ax)
    t, widths, heights = drawn_steps(display.lines_[0])
    assert t.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(heights, [0.780, 0.483, 0.403, 0.125], atol=5e-4)
    assert display.lines_[0].get_label() == "area / 4 = μAP = 0.448"
    assert (widths @ heights) / 4 == pytest.approx(sg.MuAP()(*LIST), abs=1e-12)


@pytest.mark.parametrize("undefined", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("ties", ["average", "ordinal", "best", "worst"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_area_is_mu_map(weighted, ties, undefined):
    for seed in range(2):
        q, weights = hard_queries(seed)
        weights = weights if weighted else None
        display = THRESHOLD.from_predictions(
            q.y_true, q.y_score, qid=q.qid, sample_weight=weights, ties=ties, undefined=undefined,
            ax=Figure().subplots(),
        )
        t, widths, heights = drawn_steps(display.lines_[0])
        assert t[-1] == 1
        expected = sg.MuAP(ties=ties, undefined=undefined)(
            q.y_true, q.y_score, qid=q.qid, sample_weight=weights
        )
        assert widths @ heights == pytest.approx(expected, abs=1e-12)
        assert display.mu_ap == pytest.approx([expected], abs=1e-12)


@pytest.mark.parametrize("undefined", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("weighted", [False, True])
def test_on_the_absolute_axis_each_height_is_map_with_that_threshold(weighted, undefined):
    for seed in range(3):
        q, weights = hard_queries(seed)
        weights = weights if weighted else None
        display = THRESHOLD.from_predictions(
            q.y_true, q.y_score, qid=q.qid, sample_weight=weights, undefined=undefined,
            relative=False, ax=Figure().subplots(),
        )
        t, _, heights = drawn_steps(display.lines_[0])
        assert t.tolist() == sorted(set(q.y_true[q.y_true > 0].tolist()))
        measures = [sg.AP(threshold=one, undefined=undefined) for one in t.tolist()]
        expected = [m(q.y_true, q.y_score, qid=q.qid, sample_weight=weights) for m in measures]
        np.testing.assert_allclose(heights, expected, rtol=0, atol=1e-12)
        undefined_there = [m.n_undefined(q.y_true, qid=q.qid) for m in measures]
        assert display.n_undefined.tolist() == undefined_there
        assert display.mu_ap is None  # the area under a mean over absolute thresholds is nothing


def test_on_the_relative_axis_each_height_is_the_mean_of_the_queries_own(ax):
    q, weights = hard_queries(3)
    judgments = sg.Judgments(q.y_true, qid=q.qid, sample_weight=weights)
    t, _, heights = drawn_steps(THRESHOLD.from_predictions(judgments, q.y_score, ax=ax).lines_[0])
    for u, height in zip(t, heights, strict=True):
        values = []
        for grades, scores in q.parts:
            # r / r_max is compared, which rounds as the axis does
            relevant = np.array(grades) / (max(grades) or 1) >= u
            values.append(sg.AP()(relevant, scores))
        assert height == pytest.approx(np.average(values, weights=judgments.weights), abs=1e-12)


def test_nothing_relevant_is_the_undefined_value_and_without_weight_there_is_no_mean():
    for undefined in (0.0, 1.0, np.nan):
        display = THRESHOLD.from_predictions(
            [0, 0, 0], [1, 2, 3], qid=[1, 1, 2], undefined=undefined, ax=Figure().subplots()
        )
        np.testing.assert_array_equal(display.average_precision, [[undefined]])
        assert display.thresholds.tolist() == [1] and display.n_undefined.tolist() == [2]
    display = THRESHOLD.from_predictions(
        [1, 0, 2, 0], [1, 2, 1, 2], qid=[1, 1, 2, 2], sample_weight=[1, 1, 0, 0],
        undefined=np.nan, relative=False, ax=Figure().subplots(),
    )
    np.testing.assert_array_equal(display.average_precision, [[1 / 2, np.nan]])


def test_a_thousand_levels_and_many_queries_are_drawn_whole(ax, monkeypatch):
    rng = np.random.default_rng(0)
    y, score, qid = rng.random(1500), rng.random(1500), np.repeat(np.arange(15), 100)
    monkeypatch.setattr("skgraded.measures.curves.TABLE_SIZE", 5_000)  # three plans at once
    display = THRESHOLD.from_predictions(y, score, qid=qid, ax=ax)
    t, widths, heights = drawn_steps(display.lines_[0])
    assert len(t) == 1500 - 14  # all end at 1
    assert widths @ heights == pytest.approx(sg.MuAP()(y, score, qid=qid), abs=1e-12)


def test_the_texts_say_what_is_drawn(ax):
    y, score, qid = [1, 0, 2, 0, 0], [1, 2, 1, 2, 3], [1, 1, 2, 2, 3]
    display = THRESHOLD.from_predictions(y, score, qid=qid, name="bm25", ax=ax)
    assert ax.get_xlabel() == "threshold t / top grade of the query\n3 queries, 1 undefined"
    assert ax.get_ylabel() == "MAP with threshold t"
    (entry,) = ax.get_legend().get_texts()
    assert entry.get_text() == f"bm25 (area = μMAP = {1 / 3:.3f})"
    display = THRESHOLD.from_predictions(y, score, qid=qid, relative=False, ax=Figure().subplots())
    assert display.ax_.get_xlabel() == "threshold t\n3 queries, 1 to 2 undefined"
    assert display.ax_.get_ylabel() == "MAP with threshold t"
    assert display.ax_.get_legend() is None  # the area is no measure


# CutoffCurveDisplay ------------------------------------------------------------------------------

def test_table_2_of_the_paper(ax):
    display = CUTOFF.from_predictions(*LIST, ax=ax)
    ndcg, ndcng = display.lines_
    assert ndcg.get_xdata().tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    expected = [0.07, 0.05, 0.20, 0.31, 0.35, 0.35, 0.36, 0.55]
    np.testing.assert_allclose(ndcg.get_ydata(), expected, atol=5e-3)
    expected = [0.19, 0.13, 0.30, 0.42, 0.49, 0.47, 0.50, 0.65]
    np.testing.assert_allclose(ndcng.get_ydata(), expected, atol=5e-3)


def test_each_point_is_the_measure_with_that_cut_off():
    measures = ["ndcg", "ap(undefined=nan,threshold=2)", sg.Precision(ties="worst"), "recall", "rr"]
    for seed in range(5):
        q, weights = hard_queries(seed)
        display = CUTOFF.from_predictions(
            q.y_true, q.y_score, qid=q.qid, sample_weight=weights, measures=measures,
            cutoffs=[1, 2, 5, 40], ax=Figure().subplots(),
        )
        assert len(display.lines_) == len(measures)
        for line, text in zip(display.lines_, display.measures, strict=True):
            expected = [
                sg.measure(f"{text}@{n}")(q.y_true, q.y_score, qid=q.qid, sample_weight=weights)
                for n in (1, 2, 5, 40)
            ]
            np.testing.assert_array_equal(line.get_xdata(), [1, 2, 5, 40])
            np.testing.assert_allclose(line.get_ydata(), expected, rtol=0, atol=1e-12)
        expected = [sg.measure(text).n_undefined(q.y_true, qid=q.qid) for text in measures]
        assert display.n_undefined.tolist() == expected


def test_by_default_all_cut_offs_to_the_largest_query_or_a_hundred(ax):
    rng = np.random.default_rng(0)
    for n, deepest in ((7, 7), (250, 100)):
        display = CUTOFF.from_predictions(rng.integers(3, size=n), rng.random(n), ax=ax)
        assert display.cutoffs.tolist() == list(range(1, deepest + 1))


def test_one_tie_rule_for_all_measures(ax):
    y, score = [0, 2, 1], [5, 5, 5]
    display = CUTOFF.from_predictions(y, score, ties="worst", measures=["ndcg", "ap"], ax=ax)
    for values, cls in zip(display.values[0], (sg.NDCG, sg.AP), strict=True):
        assert values.tolist() == [cls(k=n, ties="worst")(y, score) for n in (1, 2, 3)]
    assert [line.get_label() for line in display.lines_] == [
        "NDCG(ties='worst')@n", "AP(ties='worst')@n"
    ]


def test_the_texts_of_cut_offs(ax):
    y, score, qid = [1, 0, 2, 0, 0], [1, 2, 1, 2, 3], [1, 1, 2, 2, 3]
    CUTOFF.from_predictions(y, score, qid=qid, name="bm25", ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "cut-off n\n3 queries, 1 undefined", "measure@n, mean"
    )
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["bm25, NDCG@n", "bm25, NDCNG@n"]
    ax = Figure().subplots()
    CUTOFF.from_predictions(y, score, qid=qid, name="bm25", measures="precision", ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("cut-off n\n3 queries", "Precision@n, mean")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["bm25"]


def test_ticks_of_the_cut_off_are_whole_unless_the_user_has_set_them():
    for ticks in (None, [1, 1.5, 2]):
        ax = Figure().subplots()
        if ticks:
            ax.set_xticks(ticks)
        CUTOFF.from_predictions([1, 0, 2], [3, 2, 1], ax=ax)
        found = ax.get_xticks()
        assert found.tolist() == ticks if ticks else (found == np.round(found)).all()


# Both: systems, axes, styles ---------------------------------------------------------------------

def heights(display):
    return [line.get_ydata().tolist() for line in display.lines_]


@BOTH
def test_several_systems_are_drawn_as_each_alone_the_best_first(cls, ax):
    q, weights = hard_queries(1)
    systems = {"a": q.y_score, "b": np.arange(len(q.y_true)), "c": np.zeros(len(q.y_true))}
    also = {"measures": ["ndcng", "ap"]} if cls is CUTOFF else {}
    also |= {"qid": q.qid, "sample_weight": weights}
    together = cls.from_predictions(q.y_true, systems, ax=ax, **also)
    alone = {
        name: cls.from_predictions(q.y_true, scores, name=name, ax=Figure().subplots(), **also)
        for name, scores in systems.items()
    }

    def height(name):
        display = alone[name]
        return display.mu_ap[0] if cls is THRESHOLD else display.values[0, 0, -1]

    order = sorted(systems, key=height, reverse=True)
    assert order != list(systems)
    assert heights(together) == [values for name in order for values in heights(alone[name])]
    labels = [line.get_label() for line in together.lines_]
    n_lines = len(labels) // 3
    assert [label[0] for label in labels] == np.repeat(order, n_lines).tolist()
    colors = [to_hex(line.get_color()) for line in together.lines_]
    assert len(set(colors)) == 3 and colors == np.repeat(colors[::n_lines], n_lines).tolist()
    # With several lines per system the style distinguishes the measures, else also the systems.
    n_styles = 3 if n_lines == 1 else n_lines
    assert len({line.get_linestyle() for line in together.lines_}) == n_styles


def test_a_system_has_the_same_colour_in_both_displays_whatever_its_rank():
    y, qid = [0, 1, 2, 0, 0, 3], [1, 1, 1, 2, 2, 2]
    systems = {"a": [3, 2, 1, 3, 2, 1], "b": [1, 2, 3, 1, 2, 3], "c": [1, 3, 2, 2, 1, 3]}
    colors = []
    for cls in (THRESHOLD, CUTOFF):
        lines = cls.from_predictions(y, systems, qid=qid, ax=Figure().subplots()).lines_
        assert [line.get_label()[0] for line in lines] == ["b", "c", "a"]
        colors.append({line.get_label()[0]: to_hex(line.get_color()) for line in lines})
    assert colors[0] == colors[1]
    assert [colors[0][name] for name in "abc"] == ["#0072b2", "#d55e00", "#009e73"]


@BOTH
def test_by_default_few_lines_are_drawn_those_of_the_best_systems(cls, ax):
    q, _ = hard_queries(4)
    noise = np.random.default_rng(0).normal(size=(12, len(q.y_true)))
    systems = {f"s{i}": q.y_true + i * noise[i] for i in range(12)}
    display = cls.from_predictions(q.y_true, systems, qid=q.qid, ax=ax)
    measure = sg.MuAP() if cls is THRESHOLD else sg.NDCNG(k=display.cutoffs[-1])
    values = {name: measure(q.y_true, scores, qid=q.qid) for name, scores in systems.items()}
    best = sorted(systems, key=values.get, reverse=True)
    assert [line.get_label().split()[0] for line in display.lines_] == best[:8]
    note = ax.get_legend().get_title().get_text()
    by = " (area = μMAP)" if cls is THRESHOLD else f" by NDCNG@{display.cutoffs[-1]}"
    assert note == f"best 8 of 12 systems{by}"
    for most, n in ((3, 3), (None, 12), (50, 12)):
        other = Figure().subplots()
        again = cls.from_predictions(q.y_true, systems, qid=q.qid, max_systems=most, ax=other)
        assert len(again.lines_) == n
        assert len(display.plot(ax=Figure().subplots(), max_systems=most).lines_) == n


def test_the_curve_of_several_systems_is_ndcng_unless_measures_are_named(ax):
    y, systems = [0, 1, 2], {"a": [1, 2, 3], "b": [3, 2, 1]}
    assert CUTOFF.from_predictions(y, systems, ax=ax).measures == ["NDCNG"]
    assert CUTOFF.from_predictions(y, {"a": [1, 2, 3]}, ax=ax).measures == ["NDCG", "NDCNG"]
    named = CUTOFF.from_predictions(y, systems, measures=["ap", "rr"], ax=Figure().subplots())
    assert len(named.lines_) == 4


@BOTH
def test_axes_are_used_again_and_a_display_is_plotted_again_under_another_name(cls, ax):
    first = cls.from_predictions(*LIST, name="first", ax=ax)
    second = cls.from_predictions(LIST[0], LIST[0], name="second", ax=ax)
    assert list(ax.lines) == [*first.lines_, *second.lines_]
    assert to_hex(first.lines_[0].get_color()) != to_hex(second.lines_[0].get_color())
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text.startswith(("first", "second")) for text in shown] == [True] * len(ax.lines)
    expected = heights(first)
    again = first.plot(ax=Figure().subplots(), name="other", color="black", ls=":")
    assert again is first and again.ax_ is not ax and heights(again) == expected
    for line in again.lines_:
        assert line.get_label().startswith("other")
        assert (line.get_color(), line.get_linestyle()) == ("black", ":")


@BOTH
def test_computed_values_are_drawn_as_they_are(cls, ax):
    x, y = [1, 2, 5], [0.5, 0.25, 0.125]
    also = {"measures": "NDCG"} if cls is CUTOFF else {"relative": False}
    display = cls(x, y, name="list", **also).plot(ax=ax)
    (line,) = display.lines_
    assert line.get_xdata()[-3:].tolist() == x and line.get_ydata()[-3:].tolist() == y
    assert line.get_label() == "list"
    two = cls(x, [y] if cls is THRESHOLD else [[y], [y]], **also)
    assert len(two.plot(ax=Figure().subplots()).lines_) == (1 if cls is THRESHOLD else 2)


@BOTH
def test_judgments_and_group_sizes_are_taken_and_no_plans_of_the_curve_kept(cls, ax):
    q, weights = hard_queries(2)
    judgments = sg.Judgments(q.y_true, qid=q.qid, sample_weight=weights)
    by_judgments = cls.from_predictions(judgments, q.y_score, ax=ax)
    by_columns = cls.from_predictions(
        q.y_true, q.y_score, qid=q.qid, sample_weight=weights, ax=Figure().subplots()
    )
    assert heights(by_judgments) == heights(by_columns)
    assert sum(key[0] == "_plan" for key in judgments._memory) <= 1
    y, score = [1, 0, 2, 0, 1], [1, 2, 3, 4, 5]
    by_group = cls.from_predictions(y, score, group=[2, 3], ax=Figure().subplots())
    by_qid = cls.from_predictions(y, score, qid=[7, 7, 3, 3, 3], ax=Figure().subplots())
    assert heights(by_group) == heights(by_qid)


# Estimators --------------------------------------------------------------------------------------

@BOTH
def test_an_estimator_is_scored_as_by_the_scorer(cls, ax, ranking):
    X, y, qid = ranking
    for estimator in (LinearRegression(), LogisticRegression(), sg.QueryRanker(LinearRegression())):
        given = {"qid": qid} if isinstance(estimator, sg.QueryRanker) else {}
        estimator.fit(X, y, **given)
        display = cls.from_estimator(estimator, X, y, qid=qid, ax=Figure().subplots())
        if isinstance(estimator, LogisticRegression):
            scores = estimator.predict_proba(X) @ estimator.classes_
        else:
            scores = estimator.predict(X)
        name = type(estimator).__name__
        expected = cls.from_predictions(y, scores, qid=qid, name=name, ax=Figure().subplots())
        assert heights(display) == heights(expected)
        assert display.name == [name]
    at_ten = sg.make_ranking_scorer("ndcng@8")(estimator, X, y, qid=qid)
    if cls is CUTOFF:
        assert display.values[0, 1, 7] == pytest.approx(at_ten, abs=1e-12)


@BOTH
def test_queries_of_several_estimators_are_found_where_they_find_them(cls, ax, ranking):
    X, y, qid = ranking
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    with_column = frame.assign(query=qid)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    models = {"tree": tree, "line": LinearRegression()}
    scores = {name: model.fit(X, y).predict(X) for name, model in models.items()}
    expected = cls.from_predictions(y, scores, qid=qid, ax=ax)
    for source, table in (("query", with_column), (-1, with_column), (pd.Series(qid), frame)):
        rankers = {
            name: sg.QueryRanker(model, qid=source).fit(table, y) for name, model in models.items()
        }
        display = cls.from_estimator(rankers, table, y, ax=Figure().subplots())
        assert display.name == ["tree", "line"]
        for found, values in zip(heights(display), heights(expected), strict=True):
            np.testing.assert_allclose(found, values, atol=1e-9)


@BOTH
def test_rows_are_never_taken_for_one_query_without_a_word(cls, ranking):
    X, y, qid = ranking
    column = np.column_stack((X, qid))
    plain = LinearRegression().fit(X, y)
    by_column = sg.QueryRanker(LinearRegression(), qid=-1).fit(column, y)
    elsewhere = sg.QueryRanker(LinearRegression(), qid=10).fit(column, y)
    for given in (plain, {"a": by_column, "b": plain}, {"a": by_column, "b": elsewhere}):
        with pytest.raises(ValueError, match="requires the query of each row: pass qid or group"):
            cls.from_estimator(given, X, y)


@BOTH
def test_seen_queries_are_warned_of(cls, ax, ranking):
    X, y, qid = ranking
    half = np.arange(len(y)) % 2 == 0
    model = sg.QueryRanker(LinearRegression()).fit(X[half], y[half], qid=qid[half])
    with pytest.warns(sg.TornQueryWarning, match="the ranker was fitted on"):
        cls.from_estimator(model, X[~half], y[~half], qid=qid[~half], ax=ax)
    with pytest.raises(NotFittedError):
        cls.from_estimator(LinearRegression(), X, y, qid=qid, ax=ax)


# Bad input ---------------------------------------------------------------------------------------

@BOTH
@pytest.mark.parametrize("y_score, given, error, message", [
    ([1, 2], {}, ValueError, r"^y_score has 2 rows, but y_true has 3"),
    ({"a": [1, 2, 3], "b": [1, 2]}, {}, ValueError, r"^y_score of 'b' has 2 rows"),
    ([1, np.nan, 3], {}, ValueError, r"^y_score must not contain NaN; got nan for row 1"),
    ({"a": [1, 2, np.nan]}, {}, ValueError, r"^y_score of 'a' must not .* NaN; got nan for row 2"),
    ({}, {}, ValueError, r"^The mapping y_score is empty"),
    ({"a": [1, 2, 3]}, {"name": "b"}, ValueError, r"must be None, because the keys of y_score"),
    ([1, 2, 3], {"name": ["b"]}, TypeError, r"^name must be a str.*got \['b'\]"),
    ([1, 2, 3], {"ties": "any"}, ValueError, r"^ties must be one of"),
    ([1, 2, 3], {"max_systems": 0}, ValueError, "^max_systems must be at least 1; got 0"),
    ([1, 2, 3], {"max_systems": 1.5}, ValueError, "^max_systems must be an integer"),
    ([1, 2, 3], {"qid": [1, 1]}, ValueError, r"^qid has 2 rows, but y_true has 3"),
    ([1, 2, 3], {"sample_weight": [1, -1, 1]}, ValueError, r"^sample_weight must be finite"),
    ([1, 2, 3], {"y_true": [1, -1, 0]}, ValueError, "y_true must contain only grades ≥ 0; got -1"),
    ([1, 2, 3], {"y_true": [1, 0, np.nan]}, ValueError, "nan for row 2"),
])
def test_bad_input_is_one_clear_error_and_no_figure(cls, y_score, given, error, message):
    with pytest.raises(error, match=message):
        cls.from_predictions(**{"y_true": [1, 0, 2], "y_score": y_score} | given)


@pytest.mark.parametrize("cls, given, message", [
    (THRESHOLD, {"y_true": [0, 0, 0], "relative": False}, "y_true contains no grade above 0"),
    (THRESHOLD, {"undefined": 0.5}, "'undefined' must be 0.0, 1.0 or nan; got 0.5"),
    (CUTOFF, {"measures": "tau_ap"}, r"^Measure TauAP does not accept a cut-off k"),
    (CUTOFF, {"measures": "ndcg@10"}, r"^Pass measure NDCG@10 without its cut-off"),
    (CUTOFF, {"measures": "ndcg@mean"}, r"^Pass measure NDCG@mean without its cut-off"),
    (CUTOFF, {"measures": []}, r"^measures is empty"),
    (CUTOFF, {"measures": ["ap", "map"]}, r"^measures contains AP twice"),
    (CUTOFF, {"cutoffs": [0, 1]}, r"^cutoffs must be at least 1; got 0"),
    (CUTOFF, {"cutoffs": [1, 1.5]}, r"^cutoffs must be an integer"),
    (CUTOFF, {"cutoffs": [2, 1]}, r"^cutoffs must be in ascending order; got \[2, 1\]"),
    (CUTOFF, {"cutoffs": []}, r"^cutoffs is empty"),
    (CUTOFF, {"cutoffs": 10}, r"^cutoffs must be 1-D; got a single value"),
])
def test_bad_cut_offs_and_thresholds(cls, given, message):
    with pytest.raises(ValueError, match=message):
        cls.from_predictions(**{"y_true": [1, 0, 2], "y_score": [1, 2, 3]} | given)
