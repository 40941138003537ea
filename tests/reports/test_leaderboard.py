"""Leaderboards: means, best systems, and marks of significant differences."""

import re

import numpy as np
import pytest
from small_reports import evaluation, of_values

import skgraded as sg
from skgraded.writing.tables import list_rows

RNG = np.random.default_rng(0)
AP, RR = RNG.uniform(0.2, 0.5, (2, 30))
# b is better than a and c by AP for every query; c has a slightly higher RR.
THREE = {
    "a": evaluation({"AP": AP, "RR": RR}),
    "b": evaluation({"AP": AP + 0.2, "RR": RR + RNG.normal(0, 0.1, 30)}),
    "c": evaluation({"AP": AP + 0.001 * RNG.normal(size=30), "RR": RR + 0.001}),
}


def test_marks_show_the_result_of_the_test_against_the_baseline():
    comparison = sg.compare(THREE, baseline="a", rng=0)
    board = comparison.leaderboard()
    rows = {(row["system"], row["measure"]): row for row in list_rows(board.rows)}
    assert list(rows)[0] == ("b", "AP") and {name for name, _ in rows} == {"a", "b", "c"}
    for row in comparison.to_frame().to_dict("records"):
        of_system = rows[row["system"], row["measure"]]
        assert of_system["mean"] == row["mean"]
        expected = ("▲" if row["difference"] > 0 else "▼") if row["p_adjusted"] <= 0.05 else ""
        assert of_system["mark"] == expected
    assert rows["b", "AP"]["mark"] == "▲"
    assert rows["a", "AP"]["mark"] == rows["a", "RR"]["mark"] == ""
    means, is_best = board.rows["mean"].reshape(2, 3), board.rows["is_best"].reshape(2, 3)
    assert is_best.tolist() == (means == means.max(axis=1, keepdims=True)).tolist()


def test_a_worse_system_is_marked_and_equal_best_ones_are_both_the_best():
    values = np.linspace(0.4, 0.6, 20)
    comparison = sg.compare(of_values(values, values, values - 0.1), baseline="a", rng=0)
    board = comparison.leaderboard()
    assert board.rows["system"].tolist() == ["a", "b", "c"]
    assert board.rows["mark"].tolist() == ["", "", "▼"]
    assert board.rows["is_best"].tolist() == [True, True, False]


def test_without_a_test_there_are_no_marks():
    board = sg.compare(THREE, test=None).leaderboard()
    assert not any(board.rows["mark"])
    assert str(board).endswith("* best; not tested.")


# Verdicts ----------------------------------------------------------------------------------------


def of_means(means, spread, measure="AP"):
    """Evaluations whose values differ from a common value by constants and a spread."""
    common, rng = np.linspace(0.3, 0.6, 30), np.random.default_rng(1)
    noise = rng.normal(0, spread, (len(means), 30))
    noise -= noise.mean(axis=1, keepdims=True)
    return {
        name: evaluation({measure: common + mean + noise[i]})
        for i, (name, mean) in enumerate(means.items())
    }


def verdict_on(systems, **settings):
    return sg.compare(systems, **{"test": "t"} | settings).leaderboard().verdict


BETTER, NOT_BETTER = "significantly better than", "not significantly better than"


@pytest.mark.parametrize(
    "means, expected",
    [
        ([0, 0.1], f"b leads on AP (0.4500); {BETTER} a."),
        ([0.1, 0.1], "a and b lead on AP (0.4500)."),
        ([0.1, 0.1, 0], f"a and b lead on AP (0.4500); {BETTER} c."),
        ([0.1] * 4 + [0], f"4 systems lead on AP (0.4500); {BETTER} e."),
        ([0.3, 0.2, 0.1, 0], f"a leads on AP (0.6500); {BETTER} b, c and d."),
        ([0, 0.1, 0.2, 0.3, 0.4], f"e leads on AP (0.7500); {BETTER} 4 systems."),
        ([-0.9, -1], f"a leads on AP (-0.5500); {BETTER} b.".replace("-", "−")),
        ([np.nan, np.nan], "No query has a value of AP."),
    ],
)
def test_the_verdict_names_up_to_three_systems(means, expected):
    values = np.linspace(0.2, 0.5, 40)
    assert verdict_on(of_values(*(values + mean for mean in means))) == expected


def test_no_system_is_best_without_a_value():
    board = sg.compare(of_values([np.nan] * 2, [np.nan] * 2), test="t").leaderboard()
    assert not board.rows["is_best"].any()


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({}, f"a leads on AP (0.5510); {BETTER} c; {NOT_BETTER} b."),
        ({"baseline": "c"}, f"a leads on AP (0.5510); {BETTER} c; not tested against b."),
        ({"baseline": "a"}, f"a leads on AP (0.5510); {BETTER} c; {NOT_BETTER} b."),
        ({"test": None}, "a leads on AP (0.5510); not tested against b and c."),
    ],
)
def test_the_verdict_distinguishes_significant_differences(settings, expected):
    systems = of_means({"a": 0.101, "b": 0.1, "c": 0}, 0.02)
    compared = sg.compare(systems, **{"test": "t"} | settings).leaderboard()
    assert compared.verdict == expected
    summaries = sg.compare(sg.Summaries.of(systems), **{"test": "t"} | settings).leaderboard()
    assert summaries.verdict == expected
    for name in ("ci_low", "ci_high"):
        assert compared.rows[name] == pytest.approx(summaries.rows[name])


def test_the_verdict_names_measures_that_disagree():
    first = of_means({"a": 0.1, "b": 0}, 0.02)
    for means, expected in [
        ({"a": 0.2, "b": 0}, ""),
        ({"a": 0, "b": 0.2}, f" b leads on RR (0.6500); {BETTER} a."),
        ({"a": 0, "b": 0.0001}, f" b leads on RR (0.4501); {NOT_BETTER} a."),
    ]:
        second = of_means(means, 0.02, "RR")
        both = {name: evaluation(first[name].per_query | second[name].per_query) for name in "ab"}
        assert verdict_on(both) == f"a leads on AP (0.5500); {BETTER} b.{expected}"


def test_a_verdict_counts_further_measures_that_disagree():
    a, b = (evaluation({f"M{i}": np.full(3, (i > 0) == is_b) for i in range(6)}) for is_b in (0, 1))
    texts = verdict_on({"a": a, "b": b}, test=None).split(". ")
    assert [text.split(" (")[0] for text in texts] == [
        "a leads on M0",
        "b leads on M1",
        "b leads on M2",
        "b leads on M3",
        "The leaderboard contains 2 more results.",
    ]


def test_the_mean_of_a_system_is_over_its_own_queries():
    nan = np.nan
    values = {
        "bad": [nan] * 6,
        "A": [1, 1, 0.6, nan, nan, nan],
        "B": [nan, nan, 0.9, 0.5, 0.4, 0.3],
        "C": [0.5, 0.6, 0.4, 0.6, 0.7, 0.5],
    }
    systems = {name: evaluation({"AP": column}) for name, column in values.items()}
    means = {"A": 2.6 / 3, "B": 2.1 / 4, "C": 3.3 / 6}
    for chosen in (systems, sg.Summaries.of(systems)):
        board = sg.compare(chosen, test="t").leaderboard()
        rows = {row["system"]: row for row in list_rows(board.rows)}
        assert list(rows) == ["A", "C", "B", "bad"]
        for name, mean in means.items():
            assert rows[name]["mean"] == pytest.approx(mean, rel=1e-15)
            assert rows[name]["ci_low"] < mean < rows[name]["ci_high"]
        assert np.isnan(rows["bad"]["mean"]) and not rows["bad"]["is_best"]
        assert board.verdict == (
            "A leads on AP (0.8667); not significantly better than C and B; not tested against "
            "bad. A, B and bad have no value of AP for some queries for which other systems have "
            "one, so the means are over different queries."
        )
        assert board.note.endswith("so the means are over different queries.")


def test_the_verdict_says_if_the_leader_is_worse_on_shared_queries():
    shared, nan = np.linspace(0.2, 0.4, 20), np.full(20, np.nan)
    leader = np.concatenate([shared, np.full(20, 0.9)])
    other = np.concatenate([shared + 0.1 + np.tile([0.01, -0.01], 10), nan])
    verdict = verdict_on(of_values(leader, other))
    assert verdict.startswith(
        "a leads on AP (0.6000); on the queries of both significantly worse than b."
    )


def test_the_verdict_names_the_leader_of_each_segment():
    values, by = np.linspace(0.2, 0.5, 60), np.repeat(["x", "y", "z"], 20)
    noise = np.random.default_rng(0).normal(0, 0.01, 60)
    lead = np.where(by == "z", -0.1, 0.1)

    def result(*systems, **settings):
        compared = sg.compare(of_values(*systems), by=by, **{"test": "t"} | settings)
        return compared.leaderboard().verdict

    assert result(values, values + lead + noise) == (
        f"b leads on AP in x (0.3465); {BETTER} a. b leads on AP in y (0.4506); {BETTER} a. "
        f"a leads on AP in z (0.4517); {BETTER} b."
    )
    small = np.where(by == "x", 0.1, 0.0001) + np.tile([0.01, -0.01], 30)
    assert result(values, values + small, values - 0.2) == (
        f"b leads on AP in x (0.3483); {BETTER} a and c. b leads on AP in y (0.3501); {BETTER} c; "
        f"{NOT_BETTER} a. b leads on AP in z (0.4518); {BETTER} c; {NOT_BETTER} a."
    )


def test_ranked_rows_begin_with_the_better_system_of_each_pair():
    comparison = sg.compare(THREE, rng=0)
    ranked, order = list_rows(comparison._rank_rows()), list(comparison.leaderboard().letters)
    assert [row["measure"] for row in ranked] == ["AP"] * 3 + ["RR"] * 3
    rows = {
        (row["system"], row["baseline"], row["measure"]): row
        for row in comparison.to_frame().to_dict("records")
    }
    for row in ranked:
        assert row["difference"] >= 0
        assert row["difference"] == row["mean"] - row["baseline_mean"]
        key = row["system"], row["baseline"], row["measure"]
        if key in rows:
            expected = [rows[key][name] for name in ("ci_low", "ci_high", "wins")]
        else:
            swapped = rows[key[1], key[0], key[2]]
            expected = [-swapped["ci_high"], -swapped["ci_low"], swapped["losses"]]
        assert [row[name] for name in ("ci_low", "ci_high", "wins")] == expected
    of_first = [(order.index(row["system"]), order.index(row["baseline"])) for row in ranked[:3]]
    assert of_first == [(0, 1), (0, 2), (1, 2)]


def test_text_aligns_the_values_at_the_decimal_point():
    lines = str(sg.compare(THREE, rng=0).leaderboard()).splitlines()[1:-1]
    for i in range(2):
        points = {[m.start() for m in re.finditer(r"\.", line)][i] for line in lines}
        assert len(points) == 1


def test_every_form_shows_the_best_and_the_marks():
    board = sg.compare(THREE, baseline="a", rng=0).leaderboard()
    best = f"{board.rows['mean'][0]:.4f}"
    low, high = THREE["b"].confidence_interval(0.95, method="t")["AP"]
    assert f"*{best} ▲" in str(board)
    assert f"| b        | **{best}** ▲ [{low:.4f}, {high:.4f}] |" in board.to_markdown()
    marked = rf"\textbf{{{best}}}\textsuperscript{{$\uparrow$}} [{low:.4f}, {high:.4f}]"
    assert marked in board.to_latex()
    frame = board.to_frame()
    assert frame["system"].tolist() == 2 * list(board.letters) and frame["measure"][0] == "AP"
    assert frame["mean"].tolist() == board.rows["mean"].tolist()
    page = sg.compare(THREE, baseline="a", rng=0).to_html()
    assert re.search(rf'<strong>{best}</strong> <span class="mark">▲</span>', page)


def test_marks_list_letters_and_there_are_more_than_26():
    values = np.linspace(0.2, 0.5, 40)
    noise = np.random.default_rng(0).normal(0, 0.001, (8, 40))
    levels = (values + i / 20 + noise[i] for i in range(8))
    comparison = sg.compare(of_values(*levels), test="t")
    board = comparison.leaderboard()
    assert list(board.letters.items())[:2] == [("h", "a"), ("g", "b")] and "a h " in str(board)
    assert board.rows["mark"].tolist() == [
        "bcdefgh",
        "cdefgh",
        "defgh",
        "efgh",
        "fgh",
        "gh",
        "h",
        "",
    ]
    rng = np.random.default_rng(0)
    systems = {f"s{i}": evaluation({"AP": rng.random(5) / 2 + i / 100}) for i in range(30)}
    board = sg.compare(systems, test="t", correction=None).leaderboard()
    assert len(set(board.letters.values())) == 30
    assert list(board.letters.values())[25:27] == ["z", "aa"]


def test_a_page_has_the_title_the_seed_the_resamples_and_the_versions():
    page = sg.compare(THREE, rng=7, n_resamples=199).to_html(title="Run <7>")
    assert "<h1>Run &lt;7&gt;</h1>" in page and "199 resamples, seed 7." in page
    assert f"numpy {np.__version__}" in page
    assert "<title>bm25</title>" in THREE["a"].to_html(title="bm25")
    assert "<title>Evaluation</title>" in THREE["a"].to_html()


# Ranks -------------------------------------------------------------------------------------------


def test_ranks_count_the_significantly_better_and_worse_systems():
    base = np.random.default_rng(0).uniform(0.2, 0.5, 40)
    noise = np.random.default_rng(1).normal(0, 0.01, (4, 40))
    evaluations = of_values(base + 0.2 + noise[0], base + 0.199 + noise[1], base + noise[2],
                            base - 0.2 + noise[3])  # fmt: skip
    board = sg.compare(evaluations, test="t").leaderboard()
    frame = board.to_frame()
    assert list(frame) == ["system", "measure", "mean", "rank_low", "rank_high"]
    ranks = {"a": (1, 2), "b": (1, 2), "c": (3, 3), "d": (4, 4)}
    assert {row.system: (row.rank_low, row.rank_high) for row in frame.itertuples()} == ranks
    assert frame.equals(sg.compare(evaluations, test="t").summary())
    assert "1–2" in str(board) and "1–2" in board.to_markdown()
    assert "1--2" in board.to_latex()
    assert ">1–2</span></td>" in sg.compare(evaluations, test="t").to_html()


@pytest.mark.parametrize("settings", [{"baseline": "a"}, {"test": None}])
def test_ranks_are_unknown_with_a_baseline_and_without_a_test(settings):
    evaluations = of_values([0.1, 0.2, 0.3], [0.2, 0.2, 0.4])
    board = sg.compare(evaluations, **{"test": "t"} | settings).leaderboard()
    assert board.to_frame()[["rank_low", "rank_high"]].isna().all(axis=None)
    assert "rank" not in str(board)
