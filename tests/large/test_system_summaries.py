"""For Summaries of several systems, compare returns the same results as for Evaluations."""

import numpy as np
import pytest
from large_tables import COLUMNS, mixed, pieces, table
from small_reports import evaluation, systems

import skgraded as sg
from skgraded.writing.tables import list_rows

COMPARED = [
    "mean",
    "difference",
    "baseline_mean",
    "ci_low",
    "ci_high",
    "effect_size",
    "min_detectable",
]
COUNTED = ["n_queries", "wins", "ties", "losses", "system", "baseline", "measure"]


def expected_of(evaluations, **settings):
    """Compare the Evaluations; only for them, `compare` counts queries undefined in both."""
    return sg.compare(evaluations, **settings).to_frame().assign(n_undefined=np.nan)


def assert_same(result, expected):
    assert list(result) == list(expected)
    assert result[COUNTED].equals(expected[COUNTED])
    assert np.allclose(result[COMPARED], expected[COMPARED], rtol=0, atol=1e-12, equal_nan=True)
    p = ["p_value", "p_adjusted"]
    assert np.allclose(result[p], expected[p], rtol=1e-9, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "baseline, correction",
    [
        (None, "holm"),
        ("a", "holm"),
        ("c", "bonferroni"),
        (None, "fdr_bh"),
        ("a", None),
    ],
)
def test_a_comparison_of_summaries_equals_the_comparison_of_the_evaluations(baseline, correction):
    evaluations = systems(["a", "b", "c"], 60)
    settings = {"test": "t", "baseline": baseline, "correction": correction}
    comparison = sg.compare(sg.Summaries.of(evaluations), **settings | {"test": "auto"})
    assert comparison.test == "t"
    assert_same(comparison.to_frame(), expected_of(evaluations, **settings))
    by_values = sg.compare(evaluations, **settings)
    said = [sentence.split(" (")[0] for sentence in by_values.sentences()]
    assert [sentence.split(" (")[0] for sentence in comparison.sentences()] == said
    cells, expected = (
        [(f"{row['mean']:.4f}", row["is_best"], row["mark"]) for row in list_rows(board.rows)]
        for board in (comparison.leaderboard(), by_values.leaderboard())
    )
    assert cells == expected


def test_a_comparison_of_summaries_within_segments_equals_the_comparison_of_the_evaluations():
    frame = table(90)
    frame["country"] = np.array(["de", "fr", "us"])[frame["query"] % 3]
    frame["other"] = np.roll(frame["score"], 1)
    settings = COLUMNS | {"y_score": ["score", "other"], "sample_weight": None}
    summaries = sg.evaluate_batches([frame], **settings, by="country", measures=["ndcng@10", "rr"])
    del settings["sample_weight"]
    evaluations = sg.evaluate(**settings, data=frame, measures=["ndcng@10", "rr"])
    countries = frame.drop_duplicates("query").set_index("query")["country"]
    result = sg.compare(summaries, by="country")
    order = sorted(countries.unique())
    expected = sg.compare(evaluations, by=countries, test="t")
    rows = expected.to_frame().assign(n_undefined=np.nan)
    rows = rows.sort_values(["measure", "segment"], ignore_index=True)
    assert_same(result.to_frame().sort_values(["measure", "segment"], ignore_index=True), rows)
    assert result.segments == order
    assert sg.Comparison.from_json(result.to_json()).to_json() == result.to_json()
    assert result.to_html() and result.sentences() and result.leaderboard().to_markdown()
    assert sg.compare(summaries).segments is None
    with pytest.raises(
        ValueError, match="by must be 'country', the segment column of the Summaries; got 'day'"
    ):
        sg.compare(summaries, by="day")


def test_weights_count_in_means_and_intervals():
    weights = np.random.default_rng(0).integers(0, 4, 60) / 2
    evaluations = systems(["a", "b"], 60, weights=weights)
    comparison = sg.compare(sg.Summaries.of(evaluations), test=None, level=0.9)
    assert_same(comparison.to_frame(), expected_of(evaluations, test=None, level=0.9))
    with pytest.raises(ValueError, match="The tests weight all queries equally.* from 0.5 to 1.5"):
        sg.compare(sg.Summaries.of(evaluations), test="t")
    equal = systems(["a", "b"], 60, weights=np.full(60, 0.3))  # equal weights have no effect
    comparison = sg.compare(sg.Summaries.of(equal), test="t")
    assert_same(comparison.to_frame(), expected_of(equal, test="t"))


@pytest.mark.parametrize(
    "values",
    [
        {"a": [0.5, 0.5], "b": [0.5, 0.5]},
        {"a": [0.25, 0.5], "b": [0.5, 0.75]},
        {"a": [0.5], "b": [0.75]},
        {"a": [0.5, np.nan, 0.25], "b": [np.nan, 0.5, 0.75]},
        {"a": [np.nan], "b": [0.5]},
        {"a": [np.nan], "b": [np.nan]},
    ],
    ids=["same", "identical differences", "one query", "undefined", "nothing in common", "nothing"],
)
def test_comparisons_of_summaries_with_few_or_equal_values(values):
    evaluations = {name: evaluation({"AP": ap_values}) for name, ap_values in values.items()}
    sums = sg.Summaries.of(evaluations)
    assert sg.Summaries.from_json(sums.to_json()) == sums
    comparison = sg.compare(sums, test="t")
    assert sg.Comparison.from_json(comparison.to_json()).to_frame().equals(comparison.to_frame())
    expected = expected_of(evaluations, test="t")
    assert_same(comparison.to_frame(), expected)
    assert len(comparison._describe_rows()) == 1


rows = table(200)
noise = np.random.default_rng(5).normal(size=len(rows)).round(1)
# Two systems and two segments
FRAME = rows.assign(
    other_score=rows["score"] + rows["grade"] + noise, weight=1.0, part=rows["query"] % 2
)


def by_batches(parts, **settings):
    columns = COLUMNS | {"y_score": ["score", "other_score"], "sample_weight": None}
    return sg.evaluate_batches(parts, measures=["mu_map", "rr"], **columns | settings)


def test_batches_give_the_summaries_of_all_rows():
    names = {"y_true": "grade", "y_score": ["score", "other_score"], "qid": "query"}
    evaluations = sg.evaluate(**names, measures=["mu_map", "rr"], data=FRAME)
    expected = sg.Summaries.of(evaluations)
    assert by_batches(pieces(FRAME, 6)) == expected
    assert by_batches(pieces(FRAME, 6), partitioning="clustered") == expected
    assert by_batches(pieces(mixed(FRAME), 6)) == expected
    assert expected.systems["score"] == sg.Summary.of(evaluations["score"])
    shuffled = {name: ev.take(np.arange(200)[::-1]) for name, ev in evaluations.items()}
    assert sg.Summaries.of(evaluations | {"score": shuffled["score"]}) == expected


def test_the_summary_has_one_row_per_system_segment_and_measure():
    result = by_batches([FRAME], by="part")
    summary = result.summary(0.9)
    keys = ["system", "segment", "measure"]
    assert list(map(tuple, summary[keys].to_numpy())) == [
        (system, part, measure)
        for system in ("score", "other_score")
        for part in (0, 1)
        for measure in ("MuAP", "RR")
    ]
    expected = result.systems["other_score"].summary(0.9)
    assert summary[4:].drop(columns="system").reset_index(drop=True).equals(expected)
    assert (
        result.to_frame()[4:]
        .reset_index(drop=True)
        .equals(result.summary(0.95).astype({"segment": object}))
    )
    assert repr(result).startswith("Summaries(200 queries: score: MuAP=")
    assert "200 queries; paired t-test" in sg.compare(result, baseline="score").to_html()
    assert "other_score" in result._repr_html_()


def test_the_frame_contains_the_overall_rows_and_the_label():
    result = by_batches([FRAME], by="part", label="2026-11-01")
    table = result.to_frame()
    assert table.columns[:4].tolist() == ["label", "system", "segment", "measure"]
    assert set(table["label"]) == {"2026-11-01"} and len(table) == 2 * 2 * (1 + 2)
    whole, summary = table[table["segment"].isna()], result.systems["other_score"]
    assert whole["mean"].tolist()[2:] == list(summary.mean().values())
    assert summary.to_frame()["segment"].tolist() == [None, None, 0, 0, 1, 1]
    other = by_batches([FRAME.assign(query=FRAME["query"] + 1000)], by="part", label="2026-11-02")
    merged = sg.Summaries.merge([result, other])
    assert set(merged.to_frame()["label"]) == {"2026-11-01 to 2026-11-02"}


BAD = {
    "test='randomization' requires per-query values": lambda s: sg.compare(s, test="randomization"),
    "merge received no parts": lambda s: sg.Summaries.merge([]),
    "but part 0 has \\['a', 'b'\\], and part 1 has \\[None\\]": lambda s: sg.Summaries.merge(
        [s, s.systems["a"]]
    ),
    "have the same systems, but part 0 has \\['a', 'b'\\], and part 1 has \\['a', 'c'\\]": lambda s: (
        sg.Summaries.merge([s, sg.Summaries.of(systems(["a", "c"], 5))])
    ),
    "'other_score' \\(y_score\\) contains NaN in row 3": lambda s: by_batches(
        [FRAME.assign(other_score=FRAME["other_score"].mask(FRAME.index == 3))]
    ),
    "a list of at least two distinct names": lambda s: by_batches([FRAME], y_score=["score"]),
    "must be the name of a column; got int": lambda s: by_batches([FRAME], y_score=[1, 2]),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(message):
    with pytest.raises((ValueError, TypeError), match=message):
        BAD[message](sg.Summaries.of(systems(["a", "b"], 5)))
