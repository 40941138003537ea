"""The scripts that repeat the experiments of Scheel, Lommatzsch, Albayrak 2011, with few runs.

Their output is compared with the paper, and for OHSUMED with the measures.
"""

import re

import numpy as np
import pytest
from scripts import PNG, run

import skgraded as sg
from skgraded.datasets import read_letor

pytest.importorskip("matplotlib")


def row(text, name):
    """Return the numbers in the first line that starts with a name."""
    line = re.search(rf"^ *{re.escape(name)} .*$", text, re.MULTILINE)
    assert line, f"no line {name!r} in:\n{text}"
    rest = line[0].split(name, 1)[1]
    return [float(number) for number in re.findall(r"(?<![\w.])[-+]?\d+(?:\.\d+)?", rest)]


def section(output, title):
    """Return the text from a title to the next blank line after its table."""
    assert title in output, output
    return output.split(title, 1)[1].split("\n\n", 2)[1]


# swapped_rankings.py -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swapped(tmp_path_factory):
    picture = tmp_path_factory.mktemp("swapped") / "picture.png"
    output = run("swapped_rankings.py", "--runs", 6, "--output", picture, N_SWAPS=range(0, 100, 33))
    return output, picture


def test_tables_1_and_2_equal_the_tables_in_the_paper(swapped):
    table = section(swapped[0], "Table 1")
    for line, value in {
        "t = 5": 0,
        "t = 4": 0.125,
        "t = 3": 0.403,
        "t = 2": 0.483,
        "t = 1": 0.780,
        "t = 0": 1,
        "mean": 0.465,
        "mean of 5 > t > 0, which is μAP": 0.448,
    }.items():
        assert row(table, line)[-1] == value, line
    table = section(swapped[0], "Table 2")
    for line, values in {
        "NDCG": [0.07, 0.05, 0.20, 0.31, 0.35, 0.35, 0.36, 0.55, 0.28],
        "NDCG, grades doubled": [0.01, 0.01, 0.11, 0.19, 0.20, 0.20, 0.20, 0.44, 0.17],
        "NDCNG": [0.19, 0.13, 0.30, 0.42, 0.49, 0.47, 0.50, 0.65, 0.39],
        "NDCNG, grades doubled": [0.19, 0.13, 0.30, 0.42, 0.49, 0.47, 0.50, 0.65, 0.39],
    }.items():
        assert row(table, line) == values, line


def test_only_mu_map_and_ndcng_do_not_depend_on_the_number_of_levels(swapped):
    MAP, mu_map, ndcg, ndcng = row(section(swapped[0], "Figure 4"), "spread")
    assert mu_map < 0.04 and ndcng < 0.04
    assert MAP > 0.25 and ndcg > 0.25
    MAP, mu_map, ndcg, ndcng = row(section(swapped[0], "Figure 5"), "2 levels")
    assert MAP == mu_map and ndcg == ndcng  # the other measures are binary
    assert row(section(swapped[0], "Figure 5"), "spread")[2] > 0.25
    assert "only on average over distributions" in swapped[0]
    assert swapped[1].read_bytes().startswith(PNG) and f"saved to {swapped[1]}" in swapped[0]


# ohsumed.py --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ohsumed(data_dir, tmp_path_factory):
    picture = tmp_path_factory.mktemp("ohsumed") / "picture.png"
    data = data_dir / "ohsumed" / "OHSUMED.txt.gz"
    return run("ohsumed.py", "--data", data, "--output", picture), picture, read_letor(data)


@pytest.mark.parametrize(("figure", "judge"), [(6, None), (7, 1), (8, 9)])
@pytest.mark.parametrize("strategy", [1, 5, 11])
def test_figures_6_to_8_equal_the_measures(ohsumed, figure, judge, strategy):
    output, _, data = ohsumed
    features = data.X.toarray()
    grades = data.y if judge is None else features[:, judge - 1]
    measures = ["ap", "mu_map", "ndcg@mean", "ndcng@mean"]
    values = sg.evaluate(grades, features[:, strategy - 1], qid=data.qid, measures=measures)
    printed = row(section(output, f"Figure {figure}"), str(strategy))[:4]
    np.testing.assert_allclose(printed, list(values.mean().values()), rtol=0, atol=1e-6)


def test_each_strategy_scores_1_for_the_grades_that_it_sorts_by_and_the_picture_is_saved(ohsumed):
    output, picture, _ = ohsumed
    for figure, judge in ((7, 1), (8, 9)):
        values = row(section(output, f"Figure {figure}"), str(judge))
        assert values == [1] * len(values)
    assert "strategy 1 has 9 levels of relevance, strategy 9 has 1126" in output
    assert "their Pearson correlation is 0.96" in output
    assert picture.read_bytes().startswith(PNG) and f"saved to {picture}" in output


def test_only_ndcg_falls_from_figure_7_to_8(ohsumed):
    table = section(ohsumed[0], "From figure 7 to figure 8")
    changes = {name: row(table, name)[-1] for name in ("μMAP", "mean NDCG", "mean NDCNG")}
    assert changes["mean NDCG"] < -30  # per cent
    assert abs(changes["μMAP"]) < 2 and abs(changes["mean NDCNG"]) < 2


def test_the_values_of_constant_strategies_depend_on_the_tie_rule(ohsumed):
    table = ohsumed[0].split("Strategies 5 and 15 assign the same score to all documents")[1]
    for i in range(4):
        best, worst, average, file_order = (
            row(table, line)[i]
            for line in (
                "the best order",
                "the worst order",
                "mean over all orders",
                "order of rows in the file",
            )
        )
        assert worst < average < file_order < best
    # One query has no relevant document; all other queries have the value 1 in the ideal order.
    assert row(table, "the best order") == [round(105 / 106, 4)] * 4
