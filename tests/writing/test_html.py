"""Pages and fragments of HTML: what stands in them, and that no name can break them."""

import json
import math
import re
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import stats
from small_reports import HOSTILE, cross_evaluation, evaluation, rows_of, systems

import skgraded as sg
from skgraded.reports.comparison_rows import ShownRow
from skgraded.reports.comparison_view import ComparisonView
from skgraded.writing import charts, tables, text

LETTERS = {"new": "a", "old": "b"}
VOID = {"meta", "link", "br", "input"}
SVG = {"line", "circle", "path"}


class Page(HTMLParser):
    """Elements with their attributes, and texts, of HTML whose every element is closed."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in SVG
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append((tuple(self.open), text))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, *tags):
        """The text in elements of these tags, in order, with single spaces."""
        found = (text for tags_open, text in self.texts if set(tags) & set(tags_open))
        return " ".join(" ".join(found).split())

    @property
    def data(self):
        """The data of the page's script."""
        (text,) = [text for open_, text in self.texts if open_[-1:] == ("script",)
                   and text.startswith("{")]
        return json.loads(text)


def compared(names=("old", "new"), n_queries=30, baseline="old", **kwargs):
    settings = {key: kwargs.pop(key) for key in ("test", "correction") if key in kwargs}
    evaluations = systems(names, n_queries, **kwargs)
    return sg.compare(evaluations, baseline=baseline, n_resamples=199, rng=0, **settings)


@pytest.fixture(scope="module")
def reports():
    """The three kinds of reports with their pages."""
    ev, cv, cmp = systems(["a"], 30)["a"], cross_evaluation(), compared()
    return [(ev, ev.to_html()), (cv, cv.to_html()), (cmp, cmp.to_html())]


@pytest.fixture(scope="module")
def twenty():
    """All pairs of twenty systems, and their page."""
    cmp = compared([f"s{i}" for i in range(20)], 30, baseline=None, test="t")
    return cmp, Page(cmp.to_html())


def minus(value):
    return f"{value:.4f}".replace("-", "−")


def minus_plus(value):
    return minus(value) if value <= 0 else f"+{value:.4f}"


# Every page --------------------------------------------------------------------------------------

def test_a_page_asks_the_network_for_nothing_and_is_the_same_each_time(reports):
    for report, html in reports:
        assert report.to_html() == html
        assert report._repr_html_() == report._repr_html_()
        page = Page(html)
        for _, attributes in page.elements:
            for name in ("src", "srcset", "action", "data", "poster"):
                assert name not in attributes
            assert attributes.get("href", "#").startswith(("#", "data:,"))
        assert not re.search(r"@import|url\(|https?:", html)
        (policy,) = [
            meta["content"] for meta in page.all("meta")
            if meta.get("http-equiv") == "Content-Security-Policy"
        ]
        assert "default-src 'none'" in policy


def test_a_page_can_be_walked_by_a_screen_reader(reports):
    for _, html in reports:
        page = Page(html)
        assert [attributes["lang"] for attributes in page.all("html")] == ["en"]
        for landmark in ("h1", "header", "nav", "main", "footer"):
            assert len(page.all(landmark)) == 1
        assert len(page.all("table")) == len(page.all("caption"))
        assert {attributes.get("scope") for attributes in page.all("th")} <= {"col", "row"}
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        for _, attributes in page.elements:
            for name in ("aria-labelledby", "aria-controls", "for"):
                assert set(attributes.get(name, ids[0]).split()) <= set(ids)
        for link in page.all("a"):
            assert link["href"].removeprefix("#") in ids
        for svg in page.all("svg"):
            assert svg["aria-hidden"] == "true"  # each stands beside its numbers


# Evaluation --------------------------------------------------------------------------------------

def test_the_summary_stands_in_the_page_without_the_script():
    values = {"AP": [1, 0.5, 0, 0.25, 0.25], "KendallTau": [-0.5, 0, 0.5, 1, 0]}
    ev = evaluation(values, undefined={"AP": [False, False, True, True, False]})
    page = Page(ev.to_html())
    rows = [row.split() for row in page.text("td", "tbody").split("AP ")[1].split("KendallTau ")]
    for cells, record in zip(rows, ev.summary().to_dict("records"), strict=True):
        assert cells == [
            f"{record['mean']:.4f}", minus(record["ci_low"]), "to", minus(record["ci_high"]),
            "5", str(record["n_undefined"]),
        ]
    assert "95 % intervals (Student's t)" in page.text("caption")
    assert "5 queries, 2 measures" in page.text("header")
    assert "−1 0 1" in page.text("thead")
    assert "0 0.5 1" in Page(evaluation({"AP": [1, 1]}).to_html()).text("thead")


def test_the_data_are_the_values_of_the_queries():
    ev = evaluation(
        {"AP": [1 / 3, math.nan, 0.0], "RR": [1, 0.5, 1]},
        ["a", ("b", np.float64(0.5)), np.int64(3)],
        {"AP": np.array([False, True, False])}, weights=np.array([1, 2, 0.5]),
    )
    assert Page(ev.to_html()).data == {
        "ids": ["a", "('b', 0.5)", "3"],
        "columns": [
            {"name": "AP", "values": [0.333333, None, 0], "undefined": [1]},
            {"name": "RR", "values": [1, 0.5, 1], "undefined": []},
            {"name": "Weight", "kind": "plain", "values": [1, 2, 0.5]},
        ],
    }


def test_of_more_than_2000_queries_the_worst_and_the_best_are_kept_and_the_page_says_so():
    values = np.random.default_rng(0).random(3_000)
    page = Page(evaluation({"AP": values}).to_html())
    ranked = np.argsort(values)
    kept = sorted([*ranked[:1000], *ranked[-1000:]])
    assert page.data["ids"] == [f"q{i}" for i in kept]
    assert page.data["columns"][0]["values"] == [float(f"{values[i]:.6g}") for i in kept]
    assert (
        "The table contains 2,000 of 3,000 queries: the 1,000 lowest and the 1,000 highest by AP."
        in page.text("p")
    )
    for n in (2_000, 2_001):
        page = Page(evaluation({"AP": np.linspace(0, 1, n)}).to_html())
        assert len(page.data["ids"]) == 2_000
        assert ("The table contains" in page.text("p")) == (n > 2_000)


def sort_keys(html):
    """What the script sorts the cells of numbers by."""
    return [cell["data-value"] for cell in Page(html).all("td") if "data-value" in cell]


def test_tables_are_sorted_by_all_digits_and_what_is_nan_comes_last():
    ev = evaluation({"AP": [1 / 3], "RR": [math.nan]}, undefined={"RR": np.array([True])})
    third = repr(1 / 3)  # the interval of one query is unknown
    assert sort_keys(ev.to_html()) == [third, "", "1.0", "0.0", third, "", "", "0.0", "1.0", ""]
    ev = evaluation({"AP": [0.25, 0.5]})
    low = ev.summary()["ci_low"][0]
    assert sort_keys(ev.to_html()) == ["0.375", repr(float(low)), "2.0", "0.0", "0.375"]
    # intervals of one query and of none are unknown
    assert "AP 0.5000 unknown 1 0" in Page(evaluation({"AP": [0.5]}).to_html()).text("tr")
    ev = evaluation({"AP": [math.nan, math.nan]}, undefined={"AP": np.array([True, True])})
    page = Page(ev.to_html())
    assert "AP nan unknown 0 2" in page.text("tr")
    assert page.data["columns"][0]["values"] == [None, None]


def test_the_folds_stand_with_their_times_and_errors():
    cv = cross_evaluation([None, "ValueError: <no> queries", None])
    page = Page(cv.to_html())
    text = page.text("tr")
    frame = cv.by_fold()
    assert (
        f"0 2 {frame['NDCNG@10'][0]:.4f} {frame['MuAP'][0]:.4f} 1.500 0.125" in text
    )
    assert "2.000 0.188 ValueError: <no> queries" in text
    folds = {"name": "Fold", "kind": "plain", "digits": 0, "values": [0, 0, 1, 1, 2, 2]}
    assert page.data["columns"][0] == folds
    assert "6 queries, 2 measures, out-of-fold scores of 3 folds." in page.text("header")


# Comparison --------------------------------------------------------------------------------------

def test_the_comparison_stands_in_the_page_without_the_script():
    cmp = compared(["old", "new", "newer"])
    page = Page(cmp.to_html())
    text = page.text("tr")
    for row in cmp.to_frame().to_dict("records"):
        numbers = f"{row['mean']:.4f} {row['baseline_mean']:.4f} {minus_plus(row['difference'])}"
        interval = f"{minus(row['ci_low'])} to {minus(row['ci_high'])}"
        bound = "≤ " if row["p_value"] == 2 / (cmp.n_resamples + 1) else ""
        ps = f"{bound}{row['p_value']:.4f} {bound}{row['p_adjusted']:.4f}"
        outcome = f"{row['wins']} {row['ties']} {row['losses']} {minus_plus(row['effect_size'])} 30"
        assert f"{row['system']} {row['measure']} {numbers} {interval} {ps} {outcome}" in text
        shown = f"{row['system']} − old {minus_plus(row['difference'])} ({interval})"
        assert shown in page.text("li")
    for sentence in cmp.sentences():
        assert " ".join(sentence.split()) in page.text("li")
    assert (
        "Baseline: old. 30 queries; randomization test (sign flips) with Holm's correction over 4 "
        "tests." in page.text("header")
    )


def test_the_data_are_the_values_of_two_systems_which_have_no_matrix_of_pairs():
    cmp = compared(["new", "old"], n_queries=4)
    page = Page(cmp.to_html())
    assert "Pairs" not in page.text("h2") and "Pairs" not in page.text("nav")
    data = page.data
    assert (data["systems"], data["measures"]) == (["new", "old"], ["NDCNG@10", "MuAP"])
    assert data["baseline"] == 1
    assert data["ids"] == ["q0", "q1", "q2", "q3"]
    np.testing.assert_allclose(data["values"][1], cmp.per_query["MuAP"], rtol=1e-5)


@pytest.mark.parametrize("settings, method, columns", [
    ({}, "30 queries; randomization test", ["System Measure", "p p corrected"]),
    ({"test": None}, "30 queries; no test.", ["Interval Wins"]),
    ({"test": "t", "correction": None},
     "30 queries; paired t-test with no correction over 2 tests.", ["p Wins"]),
    ({"correction": "fdr_bh", "test": "wilcoxon"},
     "Wilcoxon signed-rank test with Benjamini and Hochberg's correction over 2 tests.", []),
    ({"test": "bootstrap", "correction": "bonferroni", "measures": ["AP"]}, "bootstrap test.", []),
    ({"baseline": None}, "All pairs. 30 queries", ["System Baseline Measure"]),
    ({"test": None, "weights": np.arange(30.0)}, "30 queries, weighted; no test.", []),
])
def test_the_page_names_its_method_and_leaves_out_columns_that_a_comparison_has_not(
    settings, method, columns
):
    page = Page(compared(**settings).to_html())
    assert method in page.text("header")
    for headings in columns:
        assert headings in page.text("thead")


def test_of_very_many_queries_the_largest_losses_and_wins_are_kept():
    cmp = compared(["old", "new", "newer"], 3_000, measures=["NDCNG@10"], test=None)
    page = Page(cmp.to_html())
    differences = cmp.per_query["NDCNG@10"][1:] - cmp.per_query["NDCNG@10"][0]
    losses, wins = np.argsort(differences.min(axis=0)), np.argsort(differences.max(axis=0))
    extremes = {*losses[:500], *wins[-500:]}
    kept = [int(name[1:]) for name in page.data["ids"]]
    assert kept == sorted(kept) and extremes < set(kept)
    others = sorted(set(range(3_000)) - extremes)
    assert set(kept) - extremes == {
        others[round(i * (len(others) - 1) / 999)] for i in range(1_000)
    }
    assert f"The table contains {len(kept):,} of 3,000 queries: " in page.text("p")


def test_of_very_many_values_fewer_queries_are_kept():
    names = [f"system {i}" for i in range(20)]
    measures = [f"M{i}" for i in range(5)]
    cmp = compared(names, 1_600, baseline=names[0], measures=measures, test=None)
    html = cmp.to_html()
    data = Page(html).data
    n_values = sum(len(values) for of_measure in data["values"] for values in of_measure)
    assert 100_000 < n_values <= 150_000
    assert len(html) < 3_000_000


def test_of_very_many_pairs_those_of_the_best_system_are_drawn_and_the_page_says_so(twenty):
    cmp, page = twenty
    for values in cmp.per_query.values():
        best = cmp.systems[values.mean(axis=1).argmax()]
        assert f"The 19 of 190 pairs with the best system by this measure, {best}, are shown." in (
            page.text("figcaption")
        )
        assert page.text("span").count(f"{best} − ") >= 19
    assert len([figure for figure in page.all("figure") if figure["class"] == "profile"]) == 24
    assert "The first 12 of 19 charts are shown." in page.text("p")


def test_a_pair_that_is_turned_says_the_same():
    rows = [
        replace(
            row(i / 100, i / 100 - 0.05, i / 100 + 0.02), system=f"s{i}", baseline=f"s{j}",
            mean=i / 30, baseline_mean=j / 30,
        )
        for i in range(8) for j in range(8) if i < j
    ]
    found, note = charts.charted(rows)
    assert [one.baseline for one in found] == [f"s{i}" for i in range(6, -1, -1)]
    turned = found[-1]
    assert (turned.system, turned.baseline, turned.wins, turned.losses) == ("s7", "s0", 3, 5)
    assert (turned.difference, turned.ci_low, turned.ci_high) == (0, -0.02, 0.05)
    assert turned.mean == 7 / 30 and turned.baseline_mean == 0
    assert note == "The 7 of 28 pairs with the best system by this measure, s7, are shown."
    assert charts.charted(rows[:24]) == (rows[:24], "")


def test_pairs_are_shaded_and_marked_where_they_are_told_apart():
    differences = np.array([[0, 0.1, 0.5], [-0.1, 0, np.nan], [-0.5, np.nan, 0]])
    told_apart = np.array([[np.nan, 0, 1], [0, np.nan, np.nan], [1, np.nan, np.nan]])
    found = charts.heat_map("AP", ["a", "b", "c"], differences, told_apart)
    cells = {(name, j): cell for name, of_row in found["rows"] for j, cell in enumerate(of_row)}
    assert [cells["a", j]["text"] for j in range(3)] == ["", "+.100", "+.500"]
    assert [cells["a", j]["shade"] for j in range(3)] == ["", "win-1", "win-5"]
    assert [cells["c", j]["shade"] for j in range(3)] == ["loss-5", "", ""]
    assert [key for key, cell in cells.items() if cell["significant"]] == [("a", 2), ("c", 0)]
    assert cells["b", 2]["text"] == "nan"


@pytest.mark.parametrize("baseline", [None, "s0"])
def test_the_page_shows_the_mean_differences_of_all_pairs(baseline):
    names = [f"s{i}" for i in range(4)]
    cmp = compared(names, 40, baseline=baseline, measures=["AP"], test="t")
    page = Page(cmp.to_html())
    order = cmp.leaderboard().systems
    assert "System a b c d a s" in page.text("tr")
    means = {name: cmp.per_query["AP"][names.index(name)].mean() for name in names}
    apart = [
        {system, other} for (system, other, _), row in rows_of(cmp).items()
        if row["p_adjusted"] <= 0.05
    ]
    for i, one in enumerate(order):
        cells = [
            f"{means[one] - means[other]:+.3f}".replace("-", "−").replace("0.", ".", 1)
            + " *" * ({one, other} in apart)
            for other in order if other != one
        ]
        assert f"{'abcd'[i]} {one} {' '.join(cells)}" in page.text("tr")
    assert ("(only pairs with the baseline are tested)" in page.text("caption")) == bool(baseline)


def test_of_many_findings_twelve_are_shown_and_the_others_folded(twenty):
    _, page = twenty
    texts = re.findall(r"(\w+@?\d*): (\d+) of 190 pairs differ significantly", page.text("h3"))
    assert [measure for measure, _ in texts] == ["NDCNG@10", "MuAP"]
    for _, n in texts:
        assert f"{int(n) - 12} more pairs with a significant difference" in page.text("summary")
        assert f"{190 - int(n)} pairs without a significant difference" in page.text("summary")
    sentences = [
        (open_, text) for open_, text in page.texts
        if "li" in open_ and re.match(r"s\d+ (is|and) ", text)
    ]
    assert len(sentences) == 2 * 190
    shown = [text for open_, text in sentences if "details" not in open_]
    assert len(shown) == 2 * 12 and all(" is significantly better than " in text for text in shown)


@pytest.mark.parametrize("baseline", [None, "old"])
def test_a_page_opens_with_the_verdict_and_a_leaderboard_of_intervals(baseline):
    cmp = compared(["old", "new", "newer"], 40, baseline=baseline, test="t")
    page, board = Page(cmp.to_html()), cmp.leaderboard()
    assert page.text("header").index(board.verdict) < page.text("header").index("40 queries")
    fragment = Page(cmp._repr_html_())
    assert board.verdict in fragment.text("p")
    for name, row in zip(board.systems, board.cells, strict=True):
        values = [cmp.per_query[measure][cmp.systems.index(name)] for measure in board.measures]
        for cell, of_system in zip(row, values, strict=True):
            expected = stats.t.interval(0.95, 39, of_system.mean(), stats.sem(of_system))
            assert cell.interval == pytest.approx(expected)
        text = f"{board.letters[name]} {name} " + "baseline " * (name == baseline)
        assert text + f"{row[0].value:.4f}" in page.text("tr")
    bars = [line for line in page.all("line") if line.get("class") == "reach"]
    assert len(bars) == 3 * 2  # systems and measures
    assert len([svg for svg in fragment.all("svg")]) == 3 * 2
    # The same letters name the systems everywhere.
    assert page.data["letters"] == ["a", "b", "c"] and page.data["systems"] == board.systems
    first, second = board.systems[:2]
    assert f"a − b {first} − {second}" in page.text("figcaption") or baseline
    options = [text for open_, text in page.texts if "option" in open_]
    assert [text for text in options if text.startswith("a ")] == [f"a {first}"] * 2


def test_the_bars_of_a_measure_have_one_axis_that_may_be_negative():
    ends = [(-0.4, -0.1), (0.0, 0.3), (math.nan, math.nan)]
    cells = [tables.Marked(value, False, "", interval) for value, interval in zip(
        (-0.25, 0.15, 0.1), ends, strict=True
    )]
    axis, bars = charts.interval_bars(cells)
    assert axis["ends"] == ["−0.4", "0.4"] and axis["grid"] == [0, 25, 50, 75, 100]
    assert [(bar["low"], bar["at"], bar["high"]) for bar in bars] == [
        (0, round(100 * 0.15 / 0.8, 2), 37.5), (50, round(100 * 0.55 / 0.8, 2), 87.5),
        (None, 62.5, None),
    ]
    nothing = [tables.Marked(math.nan, False, "")]
    assert charts.interval_bars(nothing) == (None, [])
    axis, (bar,) = charts.interval_bars([tables.Marked(0.5, True, "", (0.5, 0.5))])
    assert axis["ends"] == ["0.0", "0.6"]  # equal values: the axis begins at 0
    assert (bar["low"], bar["at"], bar["high"]) == (round(100 * 0.5 / 0.6, 2),) * 3


def test_long_names_are_shortened_and_listed_in_full_and_no_mark_in_them_is_obeyed():
    names = ["prefix-" * 20 + end for end in ("first", "second")]
    page = Page(compared(names, baseline=None, measures=["AP"]).to_html())
    short = [name[:31] + "…" + name[-16:] for name in names]
    for name, shown in zip(names, short, strict=True):
        assert shown in page.text("li") and name not in page.text("li")
        assert name in page.text("dd") and shown in page.text("dt")
    assert {cell.get("title") for cell in page.all("bdi")} >= set(names)
    assert sorted(page.data["systems"]) == names
    # marks of control and direction are shown and never obeyed
    page = Page(compared(["\u202eabc", "\x1b[31mred"], baseline=None, measures=["AP"]).to_html())
    assert sorted(page.data["systems"]) == [r"\u001b[31mred", r"\u202eabc"]
    assert not {"\u202e", "\x1b"} & set(" ".join(text for _, text in page.texts))
    assert r"\u202eabc" in page.text("td", "th") and r"\u001b[31mred" in page.text("li")


def test_names_from_right_to_left_are_isolated_in_sentences():
    names = ["שלום (1)", "bm25", "x" * 60]
    parts = text.name_parts(f"{names[0]} leads; better than {names[1]} and {names[2]}.", names)
    assert parts == [
        ("", ""), (names[0], names[0]), (" leads; better than bm25 and ", ""),
        ("x" * 31 + "…" + "x" * 16, names[2]), (".", ""),
    ]
    page = Page(compared(names[:2], baseline=None, measures=["AP"]).to_html())
    isolated = [found for open_, found in page.texts if {"bdi", "li"} <= set(open_)]
    assert isolated and set(isolated) == {names[0]}


def test_segments_have_a_table_of_their_own():
    ev = evaluation({"AP": [0.5, 1.0, 0.25, 0.25]})
    page = Page(ev.to_html(by=["head", "head", "tail", "tail"]))
    record = ev.summary(by=["head", "head", "tail", "tail"]).to_dict("records")[0]
    interval = f"{minus(record['ci_low'])} to {minus(record['ci_high'])}"
    assert f"head AP 0.7500 {interval} 2 0" in page.text("tr")
    assert "Segments" in page.text("nav")
    assert "Segments" not in Page(ev.to_html()).text("nav")
    with pytest.raises(ValueError, match="'by' contains 2 segments, but there are 4 queries"):
        ev.to_html(by=["head", "tail"])


def test_pages_of_many_queries_are_small_and_written_in_three_seconds():
    measures = ["NDCNG@10", "MuAP", "RR"]
    four = compared(["a", "b", "c", "d"], 1_000, baseline="a", measures=measures, test="t")
    two = systems(["bm25", "lgbm"], 100_000, measures)
    for report, most in (
        (four, 250_000), (two["bm25"], 400_000), (sg.compare(two, test="t"), 400_000),
    ):
        start = time.process_time()  # not the time in which others worked
        html = report.to_html()
        assert time.process_time() - start < 3
        assert len(html.encode()) < most


# Names -------------------------------------------------------------------------------------------

def as_read(name):
    """What a page shows of a name: a tuple's parts plain, half a pair of surrogates spelt out."""
    text = "('de', 7, 8)" if isinstance(name, tuple) else str(name)
    return text.encode("utf-8", "backslashreplace").decode()


def shown(name):
    """What a table shows of it: of more than 48 letters the first 31 and the last 16."""
    text = as_read(name)
    return text if len(text) <= 48 else f"{text[:31]}…{text[-16:]}"


def test_no_name_of_a_system_or_measure_breaks_a_page_or_a_fragment():
    names = [name for name in HOSTILE if isinstance(name, str)]
    like = [chr(ord("a") + i) * len(as_read(name)) for i, name in enumerate(names)]
    cmp, harmless = (
        compared(own, baseline=own[0], measures=[f"m {name}" for name in own])
        for own in (names, like)
    )
    html = cmp.to_html()
    html.encode()
    page, fragment = Page(html), Page(cmp._repr_html_())
    for found, expected in ((page, harmless.to_html()), (fragment, harmless._repr_html_())):
        tags, expected_tags = (
            [tag for tag, _ in one.elements if tag != "bdi"] for one in (found, Page(expected))
        )
        assert tags == expected_tags
        for name in names:
            assert " ".join(shown(name).split()) in found.text("td", "th")
    assert page.data["systems"] == [as_read(name) for name in cmp.leaderboard().systems]
    assert page.data["measures"] == [f"m {as_read(name)}" for name in names]


def test_no_query_id_breaks_a_page_or_a_fragment():
    values = {"AP": np.linspace(0, 1, len(HOSTILE))}
    page, harmless = (Page(evaluation(values, ids).to_html()) for ids in (HOSTILE, None))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in harmless.elements]
    assert page.data["ids"] == [as_read(name) for name in HOSTILE]
    for ids in (HOSTILE[:4], HOSTILE[4:8], HOSTILE[8:]):
        page = Page(evaluation({"AP": [0.5, 0.25, 0, 1]}, ids)._repr_html_())
        for name in ids:
            assert " ".join(shown(name).split()) in page.text("tbody")
        assert {tag for tag, _ in page.elements} == {
            "div", "style", "p", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td",
            "bdi", "details", "summary", "small", "svg", "path",
        }


# Charts ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("measure, values, mean, expected", [
    ("AP", [0.5, math.nan, 1, 0, 0.25], 0.4375, {
        "width": 4, "zero": 100, "up": "M0,100V0h1V50h1V75h1V100Z", "down": "",
        "mean": round(100 * (1 - 0.4375), 1),
    }),
    ("KendallTau", [-1, 0.5, 0], -0.5 / 3, {  # negative bars hang below zero
        "zero": 50, "scale": [(0, "1"), (50, "0"), (100, "−1")], "up": "M0,50V25h1V50Z",
        "down": "M2,50V100h1V50Z",
    }),
    ("AP", [1, 1], 1.0, {
        "zero": 100, "scale": [(0, "1"), (50, "0.5"), (100, "0")], "up": "M0,100V0h1V0h1V100Z",
        "ends": ["1, highest", "2, lowest"],
    }),
    ("AP", [math.nan], math.nan, {
        "width": 1, "up": "", "down": "", "mean": None, "text": "mean nan",
    }),
], ids=["values", "correlations", "ones", "none"])
def test_bars_stand_for_the_values_the_highest_first(measure, values, mean, expected):
    chart = charts.level_chart(measure, np.array(values), mean)
    assert {name: chart[name] for name in expected} == expected


def test_wins_stand_above_the_line_and_losses_hang_below():
    old = evaluation({"AP": [0.5, 0.5, 0.5, 0.5]})
    new = evaluation({"AP": [0.5, 0.25, 0.75, 1]})
    cmp = sg.compare({"old": old, "new": new}, baseline="old", test=None)
    (chart,) = charts.difference_charts(
        cmp.rows, [cmp.differences("new", "old", "AP")], LETTERS
    )
    assert chart["letters"] == "a − b"
    assert chart["text"] == "2 wins, 1 loss, 1 tie"
    assert chart["up"] == "M0,50V0h1V25h1V50Z"
    assert chart["down"] == "M3,50V75h1V50Z"
    assert chart["scale"] == [(0, "+0.5"), (50, "0.0"), (100, "−0.5")]
    assert chart["ends"] == ["1, largest win", "4, largest loss"]


def test_all_charts_of_a_measure_have_one_scale_and_those_of_no_differences_that_of_one():
    differences = [np.array([0.05]), np.array([0.45])]
    small, large = charts.difference_charts([row(0, 0, 0)] * 2, differences, LETTERS)
    assert small["scale"] == large["scale"]
    assert [text for _, text in small["scale"]] == ["+0.4", "+0.2", "0.0", "−0.2", "−0.4"]
    assert large["up"] == "M0,50V0h1V50Z"  # 0.45 of 0.45
    assert small["up"] == f"M0,50V{round(50 - 50 * 0.05 / 0.45, 1)}h1V50Z"
    (chart,) = charts.difference_charts([row(0, 0, 0)], [np.zeros(3)], LETTERS)
    assert chart["scale"] == [(0, "+1"), (50, "0"), (100, "−1")] and chart["zero"] == 50


def test_of_many_values_some_stand_for_all_both_ends_among_them():
    chart = charts.level_chart("AP", np.linspace(0, 1, 10_001), 0.5)
    heights = [float(height) for height in re.findall(r"V([\d.]+)h", chart["up"])]
    assert chart["width"] == 300
    assert len(heights) == 299  # the lowest is 0 and has no bar
    np.testing.assert_allclose(heights, np.linspace(0, 100, 300)[:-1], atol=0.06)


def row(difference, low, high):
    """A row of a comparison without a test, with 5 wins and 3 losses."""
    return ShownRow(
        None, "new", "AP", 0.5, difference, low, high, math.nan, math.nan, n_queries=8, wins=5,
        ties=0, losses=3, n_undefined=0, effect_size=0.0, min_detectable=math.nan, baseline="old",
        baseline_mean=0.5 - difference, heading="AP",
    )


@pytest.mark.parametrize("low, high, ticks", [
    (0.025, 0.054, ["0.00", "+0.02", "+0.04", "+0.06"]),
    (-0.3, 0.1, ["−0.3", "−0.2", "−0.1", "0.0", "+0.1"]),
    (-1, 1, ["−1.0", "−0.5", "0.0", "+0.5", "+1.0"]),
    (-2e-6, 1e-6, ["−0.000002", "−0.000001", "0.000000", "+0.000001"]),
    (0, 0, ["−1.0", "−0.5", "0.0", "+0.5", "+1.0"]),
    (-0.1, 0.2, ["−0.1", "0.0", "+0.1", "+0.2"]),
    (-0.05, 0.1, ["−0.05", "0.00", "+0.05", "+0.10"]),
    (0.0, 0.07, ["0.00", "+0.02", "+0.04", "+0.06", "+0.08"]),
    (0.0, 0.4, ["0.0", "+0.1", "+0.2", "+0.3", "+0.4"]),
])
def test_the_axis_has_round_numbers_that_span_the_intervals_and_zero(low, high, ticks):
    chart = charts.forest("AP", [row((low + high) / 2, low, high)], "", LETTERS)
    assert [text for _, text in chart["ticks"]] == ticks
    at = {float(text.replace("−", "-")): at for at, text in chart["ticks"]}
    mark = chart["rows"][0]["mark"]
    assert mark["zero"] == at[0]
    first, last = min(at.values()), max(at.values())
    assert 0 < first <= mark["low"] <= mark["at"] <= mark["high"] <= last < 100


def test_marks_lie_in_percent_of_a_line_with_margins_and_those_of_zero_are_hollow():
    chart = charts.forest("AP", [row(0.5, -1, 1)], "", LETTERS)
    width = 2 + 2 * 0.08 * 2
    mark = chart["rows"][0]["mark"]
    assert mark["zero"] == 50 and mark["at"] == round(50 + 100 * 0.5 / width, 2)
    assert mark["low"] == round(50 - 100 / width, 2)
    assert mark["high"] == round(50 + 100 / width, 2)
    assert [at for at, _ in chart["ticks"]] == [
        round(50 + 100 * tick / width, 2) for tick in (-1, -0.5, 0, 0.5, 1)
    ]
    rows = [row(0.1, 0.05, 0.2), row(0.1, -0.05, 0.2), row(0, 0, 0)]
    chart = charts.forest("AP", rows, "", LETTERS)
    assert [shown["mark"]["open"] for shown in chart["rows"]] == [False, True, True]


def test_a_mark_is_cut_at_the_ends_of_its_line_and_an_interval_without_an_end_is_not_drawn():
    mark = charts.interval_mark(0.5, (-0.25, 1.5), 0, 1)
    assert mark == {
        "at": 50, "low": 0, "high": 100, "zero": None, "open": False, "value": 0.5,
    }
    assert charts.interval_mark(0.5, (0, 1), -1, 1)["zero"] == 50
    for ends in ((math.nan, 0.5), (0.5, math.nan), (math.nan, math.nan)):
        mark = charts.interval_mark(0.5, ends, 0, 1)
        assert mark["at"] == 50 and mark["low"] is mark["high"] is None
    assert charts.interval_mark(math.nan, (0, 1), 0, 1)["at"] is None


def test_a_p_value_is_shown_as_a_bound_only_where_it_would_round_to_zero():
    cmp = compared(measures=["AP"])
    first = ComparisonView(cmp).rows[0]
    for p, shown_p in [
        (0.0049, "0.0049"), (0.0001, "0.0001"), (0.00006, "0.0001"), (0.00005, "0.0001"),
        (0.00004, "&lt; 0.0001"), (0.0, "&lt; 0.0001"), (1.0, "1.0000"), (math.nan, "nan"),
    ]:
        page = cmp._page()
        page = replace(page, rows=[replace(first, p_value=p)], hidden=page.hidden + ["p_adjusted"])
        fragment = page.fragment()
        assert re.findall(r"<td[^>]*>([^<]*)</td>", fragment).count(shown_p) == 1, p


# Fragments ---------------------------------------------------------------------------------------

def test_a_fragment_has_no_script_no_ids_and_no_styles_for_others(reports):
    for report, _ in reports:
        html = report._repr_html_()
        page = Page(html)
        assert page.elements[0] == ("div", {"class": "skgraded-report"})
        assert not {"script", "html", "body", "link", "h1"} & {tag for tag, _ in page.elements}
        for _, attributes in page.elements:
            assert "id" not in attributes
            assert attributes.get("class", "skgraded-").startswith("skgraded-")
            assert not any(name.startswith("on") for name in attributes)
        for rule in page.text("style").split("}")[:-1]:
            for selector in rule.split("{")[0].split(","):
                assert selector.strip().startswith(".skgraded-report")
        assert len(html) < 6_000


def test_a_fragment_holds_the_summary_and_the_lowest_queries_or_the_folds():
    ev = evaluation(
        {"AP": [1, 0.5, 0, 0.25]}, undefined={"AP": np.array([False, False, True, False])}
    )
    page = Page(ev._repr_html_())
    low, high = ev.confidence_interval(0.95, method="t")["AP"]
    assert f"AP 0.4375 {minus(low)} to {minus(high)} 4 1" in page.text("tr")
    assert "95 % intervals (Student's t)" in page.text("caption")
    assert page.text("tr").endswith("Query AP q3 0.2500 q1 0.5000 q0 1.0000")
    for html in (cross_evaluation()._repr_html_(), cross_evaluation().to_html()):
        assert "Fold Queries NDCNG@10 MuAP Fit (s) Score (s)" in Page(html).text("tr")


# Imports -----------------------------------------------------------------------------------------

def test_without_jinja2_the_error_says_what_to_install(monkeypatch):
    ev, cmp = systems(["a"], 5)["a"], compared(n_queries=5)
    monkeypatch.setitem(sys.modules, "jinja2", None)  # what import then finds is nothing
    message = r'An HTML page needs Jinja2: pip install "skgraded\[all\]"$'
    for call in (ev.to_html, cmp.to_html, ev._page().fragment, cmp._page().fragment):
        with pytest.raises(ImportError, match=message):
            call()
    assert ev._repr_html_() is None  # a notebook then shows the text
