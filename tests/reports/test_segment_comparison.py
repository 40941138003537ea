"""compare(by=…): systems within segments."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from small_reports import drawn, of_values, systems

import skgraded as sg
from skgraded.stats.paired_tests import TESTS
from skgraded.writing.tables import list_rows

IDS = [f"q{i}" for i in range(60)]
BY = np.array(["head", "tail", "tail"] * 20)
THREE = systems(["a", "b", "c"], 60)


@pytest.mark.parametrize("test", TESTS)
def test_a_segment_is_compared_as_its_queries_alone(test):
    settings = {"baseline": "a", "correction": None, **drawn(test, n_resamples=500)}
    table = sg.compare(THREE, by=BY, **settings).to_frame()
    for segment in ("head", "tail"):
        rows = table[table["segment"] == segment].drop(columns="segment").reset_index(drop=True)
        alone = {name: ev.take(BY == segment) for name, ev in THREE.items()}
        pd.testing.assert_frame_equal(rows, sg.compare(alone, **settings).to_frame(), rtol=1e-12)


@pytest.mark.parametrize("is_summary", [False, True])
def test_n_queries_counts_the_queries_of_a_segment(is_summary):
    frame = pd.DataFrame(
        {
            "grade": [1, 0, 0, 0, 1, 0, 0, 0, 0, 0],
            "a": range(10),
            "b": range(10, 0, -1),
            "query": np.repeat(list("vwxyz"), 2),
            "part": np.repeat(["head", "tail"], [4, 6]),
        }
    )
    measures = ["rr(undefined=nan)", "rr"]
    settings = {"qid": "query", "measures": measures}
    if is_summary:
        reports = sg.evaluate_batches([frame], "grade", ["a", "b"], by="part", **settings)
        comparison = sg.compare(reports, by="part")
    else:
        reports = sg.evaluate("grade", ["a", "b"], data=frame, **settings)
        comparison = sg.compare(reports, by=["head"] * 2 + ["tail"] * 3, test="t")
    table = comparison.to_frame()
    assert table["segment"].tolist() == ["head", "tail"] * 2
    assert table["n_queries"].tolist() == [2, 3] * 2
    assert table["n_defined"].tolist() == [1, 1, 2, 3]  # w, y and z have no relevant document
    assert "Undefined or without weight: 2 queries, left out." in " ".join(comparison.sentences())


def test_sentences_and_the_verdict_name_the_segments():
    rng = np.random.default_rng(0)
    values = rng.beta(2, 2, 60)
    better = values + np.where(BY == "head", 0.1, 0) + rng.normal(0, 0.02, 60)
    comparison = sg.compare(of_values(values, better), by=BY)
    texts = comparison.sentences()
    assert texts[0].startswith("b is significantly better than a on AP in head: ")
    assert texts[1].startswith("a is not significantly better than b on AP in tail: ")
    assert len(texts) == 2
    head, tail = comparison.leaderboard().verdict.split(". ")
    assert re.fullmatch(r"b leads on AP in head \(.*\); significantly better than a", head)
    assert re.fullmatch(r"a leads on AP in tail \(.*\); not significantly better than b\.", tail)
    assert "with Holm's correction over 2 tests" in texts[0]


@pytest.mark.parametrize(
    "by",
    [
        BY.tolist(),
        pd.Series(BY, IDS)[::-1],
        pa.array(BY),
        pa.chunked_array([BY[:7], BY[7:]]),
        pa.array(BY).dictionary_encode(),
        pl.Series(BY),
    ],
    ids=lambda by: type(by).__name__,
)
def test_segments_have_the_same_forms_as_for_summary(by):
    result = sg.compare(THREE, by=by, test="t")
    pd.testing.assert_frame_equal(result.to_frame(), sg.compare(THREE, by=BY, test="t").to_frame())
    assert result.segments == ["head", "tail"]
    assert sg.Comparison.from_json(result.to_json()).to_json() == result.to_json()
    means = THREE["a"].summary(by=by).set_index(["segment", "measure"])["mean"]
    for row in result.to_frame().query("baseline == 'a'").to_dict("records"):
        assert row["baseline_mean"] == pytest.approx(means[row["segment"], row["measure"]])


def test_tables_and_pages_name_the_segments():
    comparison = sg.compare(THREE, by=BY, baseline="a", rng=0)
    frame = comparison.to_frame()
    assert frame.columns.tolist()[:3] == ["segment", "system", "measure"]
    assert frame["segment"].tolist() == ["head", "tail"] * 4
    assert comparison.to_markdown().splitlines()[0].startswith("| segment   | system   | measure")
    assert "segment & system & measure & mean &" in comparison.to_latex()
    board = comparison.leaderboard()
    headings = [("NDCNG@10", "head"), ("NDCNG@10", "tail"), ("MuAP", "head"), ("MuAP", "tail")]
    assert [heading for heading, _ in board.columns()] == [" in ".join(key) for key in headings]
    keys = comparison.summary()[["measure", "segment", "system"]].values.tolist()
    assert keys == [[*key, name] for key in headings for name in board.letters]
    page = comparison.to_html(title="By length")
    assert "60 queries in 2 segments" in page and "<h1>By length" in page
    for sentence in comparison.sentences():
        assert sentence.replace("'", "&#39;") in page
    assert "<td>tail</td>" in comparison._repr_html_()
    assert repr(comparison) == ("Comparison(60 queries in 2 segments: a, b, c by NDCNG@10, MuAP)")
    assert comparison.differences("b", "a", "MuAP", "head") == pytest.approx(
        (THREE["b"].per_query["MuAP"] - THREE["a"].per_query["MuAP"])[BY == "head"]
    )


def test_many_segments_are_allowed_and_segments_may_have_equal_texts():
    board = sg.compare(THREE, by=[1] * 30 + ["1"] * 30, rng=0).leaderboard()
    assert [heading for heading, _ in board.columns()][:3:2] == ["NDCNG@10 in 1"] * 2
    for row in list_rows(board.rows):
        part = slice(30) if row["segment"] == 1 else slice(30, 60)
        values = THREE[row["system"]].per_query[row["measure"]][part]
        assert row["mean"] == pytest.approx(values.mean())
    both = systems(["a", "b"], 101)
    assert len(sg.compare(both, by=[i // 2 for i in range(101)], test="t").segments) == 51


def test_weighted_queries_give_means_and_intervals_without_tests():
    weighted = systems(["a", "b"], 60, weights=np.arange(60) % 4 / 2)
    comparison = sg.compare(weighted, by=BY, test=None)
    for row in comparison.to_frame().to_dict("records"):
        expected = weighted["b"].summary(by=BY).set_index(["segment", "measure"])["mean"]
        assert row["mean"] == pytest.approx(expected[row["segment"], row["measure"]])
    assert np.isnan(comparison.to_frame()["p_value"]).all()
    assert "not tested" in comparison.sentences()[-1]


TWO = systems(["a", "b"], 60)


@pytest.mark.parametrize(
    "evaluations, by, error, message",
    [
        (TWO, BY[:-1], ValueError, "'by' contains 59 segments, but there are 60 queries"),
        (
            sg.Summaries.of(TWO),
            BY,
            ValueError,
            "by must be None, the segment column of the Summaries",
        ),
        *(
            (TWO, by, ValueError, f"'by' .*numbers, text or dates; the segment of .*'q0' is {text}")
            for by, text in [
                (pa.array([{"a": 1}] * 60), "{'a': 1}"),
                (pl.Series([{"a": 1}] * 60), "{'a': 1}"),
                ([["de"]] * 60, r"\['de'\]"),
            ]
        ),
        (TWO, pa.nulls(60), ValueError, "'by' has no segment for query 'q0': the value is None"),
        (
            systems(["a", "b"], 101),
            range(101),
            ValueError,
            "'by' contains 101 segments, such as 0 and 1, but at most 100",
        ),
        (
            of_values([], []),
            [],
            ValueError,
            "'by' defines no segments, because there are no queries",
        ),
    ],
)
def test_bad_segments_are_refused(evaluations, by, error, message):
    with pytest.raises(error, match=message):
        sg.compare(evaluations, by=by, test="t")
