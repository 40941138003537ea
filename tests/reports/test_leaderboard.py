"""Leaderboards: means, the best, and marks of what a comparison tells apart."""

import re

import numpy as np
import pytest
from small_reports import evaluation, of_values

import skgraded as sg


@pytest.fixture(scope="module")
def three():
    """b is better than a and c by AP for every query; c is the best by RR, by a hair."""
    rng = np.random.default_rng(0)
    a = rng.uniform(0.2, 0.5, 30)
    same = rng.uniform(0.2, 0.5, 30)
    return {
        "a": evaluation({"AP": a, "RR": same}),
        "b": evaluation({"AP": a + 0.2, "RR": same + rng.normal(0, 0.1, 30)}),
        "c": evaluation({"AP": a + 0.001 * rng.normal(size=30), "RR": same + 0.001}),
    }


def test_marks_are_those_of_the_test_against_the_baseline(three):
    found = sg.compare(three, baseline="a", rng=0)
    board = found.leaderboard()
    assert board.systems[0] == "b" and set(board.systems) == {"a", "b", "c"}
    cells = dict(zip(board.systems, board.cells, strict=True))
    for row in found.to_frame().to_dict("records"):
        cell = cells[row["system"]][["AP", "RR"].index(row["measure"])]
        assert cell.value == row["mean"]
        expected = ("▲" if row["difference"] > 0 else "▼") if row["p_adjusted"] <= 0.05 else ""
        assert cell.mark == expected
    assert cells["b"][0].mark == "▲"
    assert [cell.mark for cell in cells["a"]] == ["", ""]
    for i in range(2):
        means = [row[i].value for row in board.cells]
        assert [row[i].best for row in board.cells] == [mean == max(means) for mean in means]


def test_a_worse_system_is_marked_and_equal_best_ones_are_both_the_best():
    values = np.linspace(0.4, 0.6, 20)
    found = sg.compare(of_values(values, values, values - 0.1), baseline="a", rng=0)
    board = found.leaderboard()
    marks = dict(zip(board.systems, (row[0].mark for row in board.cells), strict=True))
    assert marks == {"a": "", "b": "", "c": "▼"}
    assert [row[0].best for row in board.cells] == [True, True, False]


def test_without_a_baseline_letters_say_than_which_a_system_is_better(three):
    board = sg.compare(three, rng=0).leaderboard()
    assert board.letters[board.systems[0]] == "a" and board.systems[0] == "b"
    others = "".join(sorted(board.letters[name] for name in ("a", "c")))
    assert others == "bc" and board.cells[0][0].mark == "bc"
    assert "a b " in str(board)


def test_without_a_test_there_are_no_marks(three):
    board = sg.compare(three, test=None).leaderboard()
    assert not any(cell.mark for row in board.cells for cell in row)
    assert str(board).endswith("* the best; not tested.")


def test_every_form_shows_the_best_and_the_marks(three):
    board = sg.compare(three, baseline="a", rng=0).leaderboard()
    best = f"{board.cells[0][0].value:.4f}"
    assert f"*{best} ▲" in str(board)
    assert f"| b        | **{best}** ▲" in board.to_markdown()
    assert rf"\textbf{{{best}}}\textsuperscript{{$\uparrow$}}" in board.to_latex()
    assert board.to_frame()["AP"].tolist() == [row[0].value for row in board.cells]
    page = sg.compare(three, baseline="a", rng=0).to_html()
    assert re.search(rf"<strong>{best}</strong> ▲", page)
    assert page.index('id="leaderboard"') < page.index('id="words"') < page.index('id="table"')
    assert repr(board) == "Leaderboard of 3 systems by AP, RR"


def test_letters_that_follow_each_other_are_a_range_and_more_than_26_are_there():
    values = np.linspace(0.2, 0.5, 40)
    noise = np.random.default_rng(0).normal(0, 0.001, (8, 40))
    levels = (values + i / 20 + noise[i] for i in range(8))
    found = sg.compare(of_values(*levels), test="t")
    marks = [row[0].mark for row in found.leaderboard().cells]
    assert marks == ["b–h", "c–h", "d–h", "e–h", "fgh", "gh", "h", ""]
    rng = np.random.default_rng(0)
    systems = {f"s{i}": evaluation({"AP": rng.random(5) / 2 + i / 100}) for i in range(30)}
    board = sg.compare(systems, test="t", correction=None).leaderboard()
    assert len(set(board.letters.values())) == 30
    assert board.letters[board.systems[25]] == "z" and board.letters[board.systems[26]] == "aa"


def test_a_page_has_the_title_the_seed_the_resamples_and_the_versions(three):
    page = sg.compare(three, rng=7, n_resamples=199).to_html(title="Run <7>")
    assert "<h1>Run &lt;7&gt;</h1>" in page and "199 resamples, seed 7." in page
    assert f"numpy {np.__version__}" in page
    assert "<title>bm25</title>" in three["a"].to_html(title="bm25")
    assert "<title>Evaluation</title>" in three["a"].to_html()
