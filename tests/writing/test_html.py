"""HTML pages and tables in notebooks: their content, and names that must not break them."""

import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from html_page import Page
from scipy import stats
from small_reports import (
    HOSTILE,
    cross_evaluation,
    drawn,
    evaluation,
    small_report,
    systems,
)

import skgraded as sg
from skgraded.writing import text
from skgraded.writing.pages import PageTable, forest
from skgraded.writing.tables import list_rows

REPORTS = (  # one report per class
    "Evaluation with unjudged documents",
    "Comparison",
    "SegmentComparison",
    "SummaryComparison",
    "Summary of segments",
    "Summaries",
)


def compared(names=("old", "new"), n_queries=30, baseline="old", **kwargs):
    settings = {key: kwargs.pop(key) for key in ("test", "correction") if key in kwargs}
    evaluations = systems(names, n_queries, **kwargs)
    return sg.compare(evaluations, baseline=baseline, **drawn(n_resamples=199, **settings))


@pytest.fixture(scope="module")
def pages():
    """Pages of reports of every class."""
    return [report.to_html() for report in (*map(small_report, REPORTS), cross_evaluation())]


# Every page --------------------------------------------------------------------------------------


def test_a_page_makes_no_network_request(pages):
    for html in pages:
        page = Page(html)
        for _, attributes in page.elements:
            assert not {"src", "srcset", "action", "data", "poster"} & set(attributes)
            assert attributes.get("href", "#").startswith(("#", "data:,"))
        assert not re.search(r"@import|url\(|https?:", html)
        assert "light-dark(" not in html  # browsers before 2024 would show no colors
        (policy,) = [
            meta["content"]
            for meta in page.all("meta")
            if meta.get("http-equiv") == "Content-Security-Policy"
        ]
        assert "default-src 'none'" in policy


def test_a_page_has_landmarks_captions_and_valid_references(pages):
    for html in pages:
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
        assert {link["href"].removeprefix("#") for link in page.all("a")} <= set(ids)
        assert all(svg["aria-hidden"] == "true" for svg in page.all("svg"))


def test_a_notebook_shows_a_small_table_without_scripts_ids_and_styles():
    for name in REPORTS:
        html = small_report(name)._repr_html_()
        page = Page(html)
        assert len(html) < 20_000 and page.elements[0][1]["class"] == "skgraded-report"
        assert {tag for tag, _ in page.elements} <= {
            "div",
            "p",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
        }
        assert not any("id" in attributes for _, attributes in page.elements)


def test_without_jinja2_an_error_names_the_extra_to_install(monkeypatch):
    ev, cmp = systems(["a"], 5)["a"], compared(n_queries=5)
    monkeypatch.setitem(sys.modules, "jinja2", None)  # an import then fails
    for call in (ev.to_html, cmp.to_html):
        with pytest.raises(ImportError, match=r'needs Jinja2: pip install "skgraded\[all\]"$'):
            call()


# Columns -----------------------------------------------------------------------------------------


def test_a_table_merges_the_limits_of_intervals():
    cells = {"segment": ["a"], "ci_low": [0.0], "ci_high": [1.0], "p_value": [0.5], "other": [2]}
    table = PageTable.of(cells, "Caption")
    assert table.columns == [("Segment", "name"), ("Interval", "interval"), ("p", "p")]
    assert table.rows == [
        ("a", ("0.0000 to 1.0000", "0.0", (0.0, 1.0)), ("0.5000", "0.5", 0.5)),
    ]


# Evaluation --------------------------------------------------------------------------------------


def test_the_page_of_an_evaluation_contains_its_summary():
    values = {"AP": [1, 0.5, 0, 0.25, 0.25], "KendallTau": [-0.5, 0, 0.5, 1, 0]}
    ev = evaluation(values, undefined={"AP": [False, False, True, True, False]})
    page = Page(ev.to_html())
    assert page.rows("Measure", "Mean", "Interval", "Queries", "Defined", "Undefined") == [
        [
            row["measure"],
            text.fixed(row["mean"]),
            interval_of(row),
            "5",
            "5",
            str(row["n_undefined"]),
        ]
        for row in ev.summary().to_dict("records")
    ]
    assert "95 % intervals (Student's t)" in page.text("caption")
    assert "5 queries, 2 measures" in page.text("header")


def interval_of(row):
    return text.format_interval((row["ci_low"], row["ci_high"]))


def test_the_data_for_the_script_are_the_per_query_values():
    ev = evaluation(
        {"AP": [1 / 3, math.nan, 0.0], "RR": [1, 0.5, 1]},
        ["a", ("b", np.float64(0.5)), np.int64(3)],
        {"AP": np.array([False, True, False])},
        weights=np.array([1, 2, 0.5]),
    )
    assert Page(ev.to_html()).data == {
        "ids": ["a", "('b', 0.5)", "3"],
        "columns": [
            {"name": "AP", "values": [0.333333, None, 0], "undefined": [1]},
            {"name": "RR", "values": [1, 0.5, 1], "undefined": []},
            {"name": "Weight", "kind": "plain", "values": [1, 2, 0.5]},
        ],
    }


def test_with_more_than_2000_queries_the_lowest_are_kept():
    values = np.random.default_rng(0).random(3_000)
    page = Page(evaluation({"AP": values}).to_html())
    assert page.data["ids"] == [f"q{i}" for i in sorted(np.argsort(values)[:2000])]
    assert "2,000 of 3,000 queries: the lowest by AP." in page.text("p")
    page = Page(evaluation({"AP": values[:2000]}).to_html())
    assert len(page.data["ids"]) == 2_000 and "The table contains" not in page.text("p")


def test_sort_keys_have_all_digits_and_unknown_values_have_none():
    ev = evaluation({"AP": [1 / 3], "RR": [math.nan]}, undefined={"RR": np.array([True])})
    page = Page(ev.to_html())
    keys = [cell["data-value"] for cell in page.all("td") if "data-value" in cell]
    third = repr(1 / 3)  # the interval of a single query is unknown
    assert keys == [third, "", "1.0", "1.0", "0.0", "", "", "1.0", "0.0", "1.0"]
    assert page.rows("Mean", "Interval") == [["0.3333", "unknown"], ["nan", "unknown"]]
    assert page.data["columns"][1]["values"] == [None]


def test_segments_have_a_table():
    ev = evaluation({"AP": [0.5, 1.0, 0.25, 0.25]})
    parts = {name: sg.Summary.of(ev.take(np.array(at))) for name, at in (("x", [0, 1]), ("y", [2]))}
    whole = sg.Summary.merge(parts.values())
    page = Page(replace(whole, by="part", segments=parts).to_html())
    interval = interval_of(parts["x"].summary().to_dict("records")[0])
    assert page.rows("Segment", "Mean", "Interval")[0] == ["x", "0.7500", interval]
    assert "Segments" in page.text("nav") and "Segments" not in Page(ev.to_html()).text("nav")


# Comparison --------------------------------------------------------------------------------------


def test_the_page_of_a_comparison_contains_its_table_intervals_and_sentences():
    cmp = compared(["old", "new", "newer"])
    page = Page(cmp.to_html())
    names = [
        "System",
        "Measure",
        "Mean",
        "Difference",
        "Interval",
        "p",
        "p corrected",
        "Queries",
        "Defined",
        "Wins",
        "Ties",
        "Losses",
        "Effect size",
        "Baseline mean",
    ]
    rows = {tuple(cells[:2]): cells[2:] for cells in page.rows(*names)}
    for row in cmp.to_frame().to_dict("records"):
        bound = "≤ " if row["p_value"] == 2 / (cmp.n_resamples + 1) else ""
        difference = text.signed(row["difference"])
        assert rows[row["system"], row["measure"]] == [
            text.fixed(row["mean"]),
            difference,
            interval_of(row),
            f"{bound}{row['p_value']:.4f}",
            f"{bound}{row['p_adjusted']:.4f}",
            "30",
            "30",
            str(row["wins"]),
            str(row["ties"]),
            str(row["losses"]),
            text.signed(row["effect_size"]),
            text.fixed(row["baseline_mean"]),
        ]
        assert f"{row['system']} − old {difference} ({interval_of(row)})" in page.text("li")
    for sentence in cmp.sentences():
        assert sentence in page.text("li")
    procedure = "randomization test (sign flips) with Holm's correction over 4 tests."
    assert f"Baseline: old. 30 queries; {procedure}" in page.text("header")


@pytest.mark.parametrize("baseline", [None, "old"])
def test_a_page_opens_with_the_verdict_the_intervals_and_a_leaderboard(baseline):
    cmp = compared(["old", "new", "newer"], 40, baseline=baseline, test="t")
    html = cmp.to_html()
    parts = ['<p class="verdict">', '<h2 id="intervals">', 'id="leaderboard"', 'id="table"']
    assert sorted(parts, key=html.index) == parts
    page, board = Page(html), cmp.leaderboard()
    assert page.text("header").index(board.verdict) < page.text("header").index("40 queries")
    assert board.verdict in Page(cmp._repr_html_()).text("p")
    names = list(board.letters)
    for row in list_rows(board.rows):
        name = row["system"]
        values = cmp.per_query[row["measure"]][cmp.systems.index(name)]
        expected = stats.t.interval(0.95, 39, values.mean(), stats.sem(values))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected)
        system = f"{board.letters[name]} {name} " + ("baseline " if name == baseline else "")
        if row["measure"] == cmp.measures[0]:
            assert system + f"{row['mean']:.4f}" in page.text("tr")
    assert page.data["letters"] == ["a", "b", "c"] and page.data["systems"] == names
    values = [cmp.per_query["MuAP"][cmp.systems.index(name)] for name in names]
    np.testing.assert_allclose(page.data["values"][1], values, rtol=1e-5)
    options = [text for tags, text in page.texts if "option" in tags]
    assert options.count(f"a {names[0]}") == 2


@pytest.mark.parametrize(
    "settings, method, absent",
    [
        (
            {"test": None, "weights": np.arange(30.0)},
            "30 queries, weighted; no test.",
            {"p", "p corrected", "Baseline"},
        ),
        (
            {"test": "t", "correction": None},
            "paired t-test with no correction over 2 tests.",
            {"Baseline"},
        ),
        (
            {"test": "bootstrap", "measures": ["AP"], "baseline": None},
            "All pairs. 30 queries; bootstrap test.",
            set(),
        ),
    ],
)
def test_the_page_names_the_test_and_omits_uninformative_columns(settings, method, absent):
    page = Page(compared(**settings).to_html())
    assert method in page.text("header")
    optional = ("p", "p corrected", "Baseline")
    assert {name for name in optional if not page.rows("Effect size", name)} == absent


def test_with_many_queries_those_with_the_largest_differences_are_kept(monkeypatch):
    monkeypatch.setattr("skgraded.reports.comparison.MAX_VALUES", 6 * 250)
    cmp = compared(["old", "new", "newer"], 300, test=None)
    page = Page(cmp.to_html())
    spread = np.ptp(cmp.per_query["NDCNG@10"], axis=0)
    assert page.data["ids"] == [f"q{i}" for i in sorted(np.argsort(-spread)[:250])]
    note = "250 of 300 queries: those with the largest differences by NDCNG@10."
    assert note in page.text("p")


def test_with_many_pairs_24_are_drawn_and_twelve_findings_are_visible():
    cmp = compared([f"s{i}" for i in range(20)], 30, baseline=None, test="t")
    page = Page(cmp.to_html())
    assert page.text("figcaption").count("The first 24 of 190 pairs are shown.") == 2
    assert page.text("span").count(f"{next(iter(cmp.leaderboard().letters))} − ") >= 19
    counts = re.findall(r"(\w+@?\d*): (\d+) of 190 pairs differ significantly", page.text("h3"))
    assert [measure for measure, _ in counts] == ["NDCNG@10", "MuAP"]
    assert page.text("summary").count("178 more") == 2
    findings = [(tags, text) for tags, text in page.texts if "li" in tags and " against " in text]
    assert len(findings) == 2 * 190
    visible = [text for tags, text in findings if "details" not in tags]
    assert len(visible) == 2 * 12 and all("is significantly better" in text for text in visible)


# Names -------------------------------------------------------------------------------------------


def read_back(name):
    """The text of a name; tuples contain plain numbers."""
    return "('de', 7, 8)" if isinstance(name, tuple) else str(name)


def shortened(name):
    """The text of a name in a table, which has at most 48 characters."""
    text = read_back(name)
    return " ".join((text if len(text) <= 48 else f"{text[:31]}…{text[-16:]}").split())


def test_control_characters_are_escaped_and_long_names_are_shortened_in_tables():
    long = "prefix-" * 20
    names = ["\u202eabc", "\x1b[31mred", long]
    page = Page(compared(names, baseline=None, measures=["AP"]).to_html())
    assert long in [cell.get("title") for cell in page.all("bdi")]
    assert shortened(long) in page.text("td", "th")
    assert sorted(page.data["systems"]) == [r"\u001b[31mred", r"\u202eabc", long]
    assert not {"\u202e", "\x1b"} & set(" ".join(text for _, text in page.texts))
    assert r"\u202eabc" in page.text("td", "th") and r"\u001b[31mred" in page.text("li")


def test_no_name_of_a_system_or_measure_breaks_a_page():
    names = [name for name in HOSTILE if isinstance(name, str)]
    like = [chr(ord("a") + i) * len(read_back(name)) for i, name in enumerate(names)]
    cmp, harmless = (
        compared(hostile, baseline=hostile[0], measures=[f"m {name}" for name in hostile])
        for hostile in (names, like)
    )
    page = Page(cmp.to_html())
    for method in ("to_html", "_repr_html_"):
        tags = [
            [tag for tag, _ in Page(getattr(report, method)()).elements if tag != "bdi"]
            for report in (cmp, harmless)
        ]
        assert tags[0] == tags[1]
    for name in names:
        assert shortened(name) in page.text("td", "th")
    assert page.data["systems"] == [read_back(name) for name in cmp.leaderboard().letters]
    assert page.data["measures"] == [f"m {read_back(name)}" for name in names]


def test_names_of_columns_are_allowed_as_names_of_measures():
    names = ["alpha_low", "ci_low", "ci_high", "x_high", "query", "weight", "error", "m_(my_gain)"]
    ev = evaluation({name: [i / 8, 1] for i, name in enumerate(names)})
    page = Page(ev.to_html())
    assert [name for (name,) in page.rows("Measure")] == names
    assert [column["name"] for column in page.data["columns"]] == names


def test_no_query_id_breaks_a_page():
    values = {"AP": np.linspace(0, 1, len(HOSTILE))}
    page, harmless = (Page(evaluation(values, ids).to_html()) for ids in (HOSTILE, None))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in harmless.elements]
    assert page.data["ids"] == [read_back(name) for name in HOSTILE]


# Charts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "low, high, ticks",
    [
        (0.025, 0.054, ["0.00", "+0.02", "+0.04", "+0.06"]),
        (-0.3, 0.1, ["−0.3", "−0.2", "−0.1", "0.0", "+0.1"]),
        (-2e-6, 1e-6, ["−0.000002", "−0.000001", "0.000000", "+0.000001"]),
        (0, 0, ["−1.0", "−0.5", "0.0", "+0.5", "+1.0"]),
    ],
)
def test_an_axis_has_round_ticks_that_span_the_intervals_and_zero(low, high, ticks):
    row = {"difference": (low + high) / 2, "ci_low": low, "ci_high": high, "is_significant": False}
    columns = {"system": "new", "baseline": "old"} | row
    rows = {name: np.array([cell]) for name, cell in columns.items()}
    chart = forest("AP", rows, {"new": "a", "old": "b"}, is_tested=True)
    assert [text for _, text in chart["ticks"]] == ticks
    at = {float(text.replace("−", "-")): at for at, text in chart["ticks"]}
    (mark,) = chart["rows"]
    assert chart["zero"] == at[0] and mark["is_open"]
    assert 0 < min(at.values()) <= mark["ends"][0] <= mark["at"] <= mark["ends"][1]
    assert mark["ends"][1] <= max(at.values()) < 100
