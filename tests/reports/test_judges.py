"""compare_judges, and means, plans and samples that combine people and a judge."""

import re
import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from small_reports import drawn, evaluation

import skgraded as sg
from skgraded.stats.judges import estimate_powered_mean

LABELS = (
    "judge n_shared only_truth only_judge exact kappa kappa_low kappa_high kappa_weighted alpha "
    "alpha_low alpha_high tau_b bias"
).split()
LEADERBOARDS = (
    "judge measure n_systems n_queries tau_b tau_low tau_high tau_ap rbo largest_drop agree "
    "reversed only_truth only_judge"
).split()


def grades_and_scores(n_queries=12, n_judges=2, n_systems=4, seed=0, missing=0.0):
    """Grades of "human" and of judges, scores of systems with different noise, and qid."""
    rng = np.random.default_rng(seed)
    qid = np.repeat([f"q{i}" for i in range(n_queries)], 12)
    human = rng.integers(0, 4, len(qid)).astype(float)
    judges = {"human": human}
    for i in range(n_judges):
        judges[f"j{i}"] = np.clip(human + rng.integers(-1, 2 + i, len(qid)), 0, 3)
    noise = rng.normal(size=(n_systems, len(qid)))
    scores = {f"s{i}": i % 3 / 3 * human + noise[i] for i in range(n_systems)}
    for name, grades in judges.items():
        judges[name] = np.where(rng.random(len(qid)) < missing, np.nan, grades)
    return judges, scores, qid


def compared(rng=0, **sizes):
    judges, scores, qid = grades_and_scores(**sizes)
    return sg.compare_judges(judges, scores, qid=qid, rng=rng)


def assert_same_tables(report, expected):
    for name in ("labels", "leaderboards"):
        pd.testing.assert_frame_equal(getattr(report, name)(), getattr(expected, name)())
    for judge in expected.labels()["judge"]:
        pd.testing.assert_frame_equal(report.confusion(judge), expected.confusion(judge))


REPORT = compared(missing=0.1)


# Tables ------------------------------------------------------------------------------------------


def test_columns_and_their_order():
    assert REPORT.labels().columns.tolist() == LABELS
    assert REPORT.leaderboards().columns.tolist() == LEADERBOARDS
    pd.testing.assert_frame_equal(REPORT.to_frame(), REPORT.labels())
    assert REPORT.labels()["judge"].tolist() == ["j0", "j1"]
    keys = REPORT.leaderboards()[["judge", "measure"]].values.tolist()
    assert keys == [[judge, name] for judge in ("j0", "j1") for name in ("NDCNG@10", "MuAP")]
    assert repr(REPORT).startswith("JudgeComparison(truth human; j0: κ=")


def test_labels_are_computed_over_documents_that_both_judged():
    judges, _, _ = grades_and_scores(missing=0.1)
    is_known = {name: ~np.isnan(grades) for name, grades in judges.items()}
    for row in REPORT.labels().to_dict("records"):
        known, other = is_known["human"], is_known[row["judge"]]
        x, y = (judges[name][known & other].astype(int) for name in ("human", row["judge"]))
        assert row == row | {
            "n_shared": len(x),
            "only_truth": (known & ~other).sum(),
            "only_judge": (other & ~known).sum(),
            "exact": (x == y).mean(),
            "kappa": pytest.approx(cohen_kappa_score(x, y)),
            "kappa_weighted": pytest.approx(cohen_kappa_score(x, y, weights="quadratic")),
            "tau_b": pytest.approx(stats.kendalltau(x, y).statistic),
            "bias": pytest.approx((y - x).mean()),
        }
        assert row["only_truth"] != row["only_judge"] != 0
        assert row["kappa_low"] < row["kappa"] < row["kappa_high"]
        assert row["alpha_low"] < row["alpha"] < row["alpha_high"]


def test_confusion_counts_pairs_of_grades():
    judges, _, _ = grades_and_scores(missing=0.1)
    frame = REPORT.confusion("j1")
    pairs = pd.DataFrame(judges)[["human", "j1"]].dropna().astype(int)
    expected = pd.crosstab(pairs["human"], pairs["j1"]).reindex(
        index=range(4), columns=range(4), fill_value=0
    )
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)
    assert (frame.index.name, frame.columns.name) == ("human", "j1")


def test_grades_of_a_single_judge_are_rows_and_columns():
    judges = {"human": [0, 1, 5], "model": [0, 1, 3]}
    frame = sg.compare_judges(judges, group=[3]).confusion("model")
    assert frame.index.tolist() == frame.columns.tolist() == [0, 1, 3, 5]
    assert frame.loc[5].tolist() == [0, 0, 1, 0] and frame[5].tolist() == [0, 0, 0, 0]


def test_the_published_table(data_dir):
    folder = data_dir / "llm-judges"
    published = pd.read_csv(folder / "published.csv", index_col="judge")
    rows = sg.datasets.join_judgments(
        {
            name: sg.datasets.read_qrels(folder / f"{name}.txt.gz")
            for name in ("human", *published.index)
        }
    )
    # Only one judge gives a grade above 3, for one document.
    with pytest.warns(
        UserWarning, match=r"zeroshot2'\] has .* 0 to 10 \(grade 10: 1 doc"
    ) as caught:
        report = sg.compare_judges(rows.y_judges, qid=rows.qid, truth="human")
    assert len(caught) == 1
    table = report.labels().set_index("judge")
    assert len(table) == 17 and table.index.tolist() == published.index.tolist()
    assert table["kappa"].round(4).tolist() == published["kappa"].tolist()
    assert table["alpha"].round(4).tolist() == published["alpha"].tolist()
    assert (table["n_shared"] == 4423).all()
    assert report.confusion("h2oloo-zeroshot2")[10].sum() == 1


# Leaderboards ------------------------------------------------------------------------------------


def boards_of(names, judges, scores, qid, rng, unjudged="irrelevant", **settings):
    """One comparison of the systems per judge, over queries that all these judges judged."""
    is_known = np.logical_and.reduce(
        [pd.Series(~np.isnan(judges[name])).groupby(qid).transform("any") for name in names]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about shares of judged documents
        return [
            sg.compare(
                {
                    system: sg.evaluate(
                        judges[name][is_known],
                        values[is_known],
                        qid=qid[is_known],
                        measures=["ndcng@10", "mu_map"],
                        unjudged_documents=unjudged,
                    )
                    for system, values in scores.items()
                },
                **drawn(rng=rng, **settings),
            )
            for name in names
        ]


@pytest.mark.parametrize("unjudged", ["irrelevant", "drop"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"test": "t", "correction": None},
        {"test": "t", "level": 0.8, "correction": "fdr_bh"},
    ],
)
def test_significant_pairs_equal_two_comparisons(unjudged, settings):
    judges, scores, qid = grades_and_scores(30, seed=1, missing=0.1)
    judges["j1"] = np.where(np.isin(qid, ["q3", "q4"]), np.nan, 3 - judges["j1"])  # reversed grades
    judges["human"] = np.where(qid == "q5", np.nan, judges["human"])
    report = sg.compare_judges(
        judges, scores, qid=qid, unjudged_documents=unjudged, rng=7, **settings
    )
    level = settings.get("level", 0.95)
    for row in report.leaderboards().to_dict("records"):
        boards = boards_of(("human", row["judge"]), judges, scores, qid, 7, unjudged, **settings)
        frames = [board.to_frame() for board in boards]
        first, second = (
            frame[frame["measure"] == row["measure"]].reset_index(drop=True) for frame in frames
        )
        signs = [
            np.sign(frame["difference"]) * (frame["p_adjusted"] <= 1 - level + 1e-12)
            for frame in (first, second)
        ]
        means = [
            board.summary().set_index(["measure", "system"])["mean"][row["measure"]][[*scores]]
            for board in boards
        ]
        places = [stats.rankdata(-np.array(values)) for values in means]
        assert row == row | {
            "agree": (signs[0] * signs[1] > 0).sum(),
            "reversed": (signs[0] * signs[1] < 0).sum(),
            "only_truth": ((signs[0] != 0) & (signs[1] == 0)).sum(),
            "only_judge": ((signs[1] != 0) & (signs[0] == 0)).sum(),
            "n_queries": {"j0": 29, "j1": 27}[row["judge"]],
            "n_systems": 4,
            "tau_b": pytest.approx(stats.kendalltau(*means).statistic),
            "rbo": pytest.approx(sg.rbo(*means, p=0.9)),
            "tau_ap": pytest.approx(sg.TauAP()(*map(stats.rankdata, means))),
            "largest_drop": (places[1] - places[0]).max(),
        }
        assert -1 <= row["tau_low"] <= row["tau_high"] <= 1
    assert report.leaderboards()["reversed"].sum() > 0


def test_an_integer_seed_gives_the_same_report():
    first, second, other = (compared(n_systems=9, rng=seed) for seed in (3, 3, 4))
    assert_same_tables(first, second)
    assert not first.leaderboards().equals(other.leaderboards())
    assert_same_tables(*(compared(rng=np.random.default_rng(5)) for _ in range(2)))


# Input -------------------------------------------------------------------------------------------


def test_compare_judges_accepts_group_sizes_and_rows_in_any_order():
    judges, scores, qid = grades_and_scores()
    for values in (*judges.values(), *scores.values()):
        values.flags.writeable = False  # input is not changed
    by_id = sg.compare_judges(judges, scores, qid=qid, rng=0)
    assert_same_tables(sg.compare_judges(judges, scores, group=[12] * 12, rng=0), by_id)
    order = np.random.default_rng(0).permutation(len(qid))
    mixed = sg.compare_judges(
        {name: values[order] for name, values in judges.items()}, qid=qid[order]
    )
    pd.testing.assert_frame_equal(mixed.labels(), by_id.labels())
    assert mixed.leaderboards().empty and mixed.leaderboards().columns.tolist() == LEADERBOARDS


# Grades of other scales --------------------------------------------------------------------------


def test_real_grades_have_interval_alpha_and_no_kappa():
    judges, scores, qid = grades_and_scores()
    judges = {"human": judges["human"], "real": judges["j0"] * 0.7 + 0.1, "whole": judges["j1"]}
    with pytest.warns(UserWarning, match=r"^kappa of y_judges\['real'\] is nan, because .* 0.1 is"):
        report = sg.compare_judges(judges, scores, qid=qid, rng=0)
    labels = report.labels().set_index("judge")
    assert labels.loc["real", ["kappa", "kappa_low", "kappa_high", "kappa_weighted"]].isna().all()
    x, y = judges["human"], judges["real"]
    both = np.concatenate([x, y])
    pairs = (both[:, None] - both) ** 2
    expected = 1 - ((x - y) ** 2).mean() / (pairs.sum() / (len(both) * (len(both) - 1)))
    assert labels["alpha"]["real"] == pytest.approx(expected)
    assert labels["tau_b"]["real"] == pytest.approx(stats.kendalltau(x, y).statistic)
    assert labels.loc["whole"].notna().all()


OTHER_SCALES = {  # conversions of the grades 0 to 3, and parts of the warning
    "thirds": (lambda y: y / 3, ["from 0 to 1", "np.rint(y_judges['j'] * 3).", "0.333333 is not"]),
    "percent": (lambda y: y * 33, ["from 0 to 99", "np.rint(y_judges['j'] * 0.030303)."]),
    "from 1": (lambda y: y + 1, ["from 1 to 4", "for example with y_judges['j'] - 1."]),
    "from 2": (lambda y: y + 2, ["from 2 to 5", "for example with y_judges['j'] - 2."]),
    "relevant or not": (lambda y: np.minimum(y, 1), ["from 0 to 1 (grade 1: 18 documents)"]),
}


@pytest.mark.parametrize("convert, parts", OTHER_SCALES.values(), ids=OTHER_SCALES)
def test_a_judge_on_another_scale_causes_one_warning(convert, parts):
    human = np.tile([0, 1, 2, 3], 6)
    judges = {"human": human, "same": human[::-1], "j": convert(human)}
    for names in (["human", "same", "j"], ["j", "human"]):
        with pytest.warns(UserWarning, match=rf"^y_judges\['{names[-1]}'\] has grades") as caught:
            sg.compare_judges({name: judges[name] for name in names}, group=[4] * 6)
        (warning,) = caught
        text = str(warning.message)
        assert warning.filename == __file__ and "from 0 to 3" in text and parts[0] in text
        assert names[0] == "j" or all(part in text for part in parts)


def test_similar_ranges_and_single_grades_are_no_other_scale(recwarn):
    human = np.tile([0, 1, 2, 3], 6)
    others = [np.minimum(human, 2), np.maximum(human, 1)]
    judges = {str(i): grades for i, grades in enumerate(others)}
    sg.compare_judges({"human": human, **judges}, group=[4] * 6)
    assert not recwarn
    for other in (human / 2 + 0.5, human + 0.5):
        with pytest.warns(UserWarning, match="^kappa of .* the grade 0.5 is not an integer.$"):
            sg.compare_judges({"human": human, "half": other}, group=[4] * 6)
    with pytest.warns(UserWarning, match="^tau_b of .* one side gave"):
        sg.compare_judges({"human": human, "zero": human * 0}, group=[4] * 6)


def test_many_distinct_integer_grades_are_measurements():
    human = np.random.default_rng(0).integers(0, 10**15, 1200).astype(float)
    with pytest.warns(UserWarning, match="^kappa of .* more than 1,000 different grades.$"):
        report = sg.compare_judges({"human": human, "model": human[::-1]}, group=[100] * 12)
    (row,) = report.labels().to_dict("records")
    observed = ((human - human[::-1]) ** 2).mean()
    # Both judges give each of 1200 grades once, so the sum over all pairs is 4 times as large.
    expected = 4 * ((human[:, None] - human) ** 2).sum() / (2400 * 2399)
    assert row["alpha"] == pytest.approx(1 - observed / expected) and np.isnan(row["kappa"])


def test_constant_grades_have_no_rank_correlation():
    ones = np.ones(12)
    judges = {"human": ones, "same": ones, "other": np.zeros(12)}
    with pytest.warns(UserWarning, match="^(kappa of .* same grade. )?tau_b of .* one side"):
        labels = sg.compare_judges(judges, group=[3] * 4).labels().set_index("judge")
    assert labels["exact"].tolist() == [1, 0] and labels["tau_b"].isna().all()
    assert labels.loc["same", ["kappa", "alpha", "kappa_weighted"]].isna().all()
    assert labels["kappa"]["other"] == 0
    # For these 24 values, the observed disagreement is 1 and the expected one 12/23.
    assert labels["alpha"]["other"] == pytest.approx(1 - 1 / (12 / 23))


# Few and many ------------------------------------------------------------------------------------


def test_one_query_has_no_intervals():
    report = compared(n_queries=1)
    labels, boards = report.labels(), report.leaderboards()
    assert labels[["kappa", "alpha"]].notna().all(axis=None)
    assert labels[["kappa_low", "kappa_high", "alpha_low", "alpha_high"]].isna().all(axis=None)
    assert boards[["tau_low", "tau_high"]].isna().all(axis=None)
    assert not boards[["agree", "reversed", "only_truth", "only_judge"]].any(axis=None)


# Values of 240 queries: people judged 40 random ones of them, and a biased judge all.
MEASURES = ("AP", "RR")
RNG = np.random.default_rng(0)
DRAWN = np.sort(RNG.choice(240, 40, replace=False))
TRUTH = {measure: RNG.beta(2, 2, 240) for measure in MEASURES}
A = evaluation(TRUTH).take(DRAWN)
J = evaluation(
    {
        measure: np.clip(0.5 * values + 0.5 * RNG.beta(2, 2, 240) + 0.1, 0, 1)
        for measure, values in TRUTH.items()
    }
)


def shuffled(part, seed=1):
    """The same Evaluation with its queries and measures in another order."""
    order = np.random.default_rng(seed).permutation(len(part.query_ids))
    return evaluation(
        {name: values[order] for name, values in reversed(part.per_query.items())},
        [part.query_ids[i] for i in order],
    )


def split(human, judge, measure):
    """Values from people, and from the judge for the same queries and for the other queries."""
    position = {query: i for i, query in enumerate(judge.query_ids)}
    rows = [position[query] for query in human.query_ids]
    values = judge.per_query[measure]
    return human.per_query[measure], values[rows], np.delete(values, rows)


# Means -------------------------------------------------------------------------------------------


def test_the_summary_contains_the_powered_means():
    powered = sg.prediction_powered(A, J, level=0.9)
    frame = powered.summary()
    assert frame.equals(powered.to_frame())
    for name, row in zip(MEASURES, frame.to_dict("records"), strict=True):
        expected = estimate_powered_mean(*split(A, J, name))
        low, high = expected.interval(0.9)
        assert powered.mean()[name] == expected.mean and 0 < expected.weight < 1
        assert powered.confidence_interval()[name] == (low, high)
        assert powered.confidence_interval(0.99)[name] == expected.interval(0.99)
        assert row == {
            "measure": name,
            "mean": expected.mean,
            "ci_low": low,
            "ci_high": high,
            "n_human": 40,
            "n_judge": 200,
            "weight": expected.weight,
            "human_mean": expected.human_mean,
            "judge_mean": expected.judge_mean,
            "worth": expected.worth,
        }


def test_queries_and_measures_may_be_in_another_order():
    expected = sg.prediction_powered(A.minus(squared(A)), J.minus(squared(J))).summary()
    human, judge = A.minus(shuffled(squared(A))), shuffled(J).minus(shuffled(squared(J), 2))
    result = sg.prediction_powered(human, judge).summary()
    assert_frame_equal(result, expected, rtol=0, atol=1e-9)


# Warnings ----------------------------------------------------------------------------------------


def constant(part, values):
    return evaluation({"AP": np.resize(values, len(part.query_ids))}, part.query_ids)


@pytest.mark.parametrize(
    "human, message",
    [
        (
            A.take(np.arange(19)),
            "^human has 19 queries and as few as 19 distinct values.* 20 human",
        ),
        (constant(A, [0.0]), "^human has 40 queries and as few as 1 distinct values.* 5 distinct"),
        (constant(A, [0, 1]), "^human has 40 queries and as few as 2 distinct values"),
    ],
)
def test_few_queries_or_values_warn_at_the_caller(human, message):
    judge = sg.Evaluation(J.query_ids, {name: J.per_query[name] for name in human.per_query})
    with pytest.warns(UserWarning, match=message) as record:
        interval = sg.prediction_powered(human, judge).confidence_interval()["AP"]
    assert [warning.filename for warning in record] == [__file__]
    is_constant = np.ptp(human.per_query["AP"]) == 0
    assert np.isnan(interval).all() if is_constant else interval.low < interval.high


# Differences -------------------------------------------------------------------------------------


def squared(part):
    """An Evaluation of a worse system on the same queries."""
    return evaluation({k: v**2 for k, v in part.per_query.items()}, part.query_ids)


def test_differences_are_estimated_in_the_same_way():
    worse, of_judge = squared(A), squared(J)
    powered = sg.prediction_powered(A.minus(worse), J.minus(of_judge), level=0.9)
    for name in MEASURES:
        pairs = zip(split(A, J, name), split(worse, of_judge, name), strict=True)
        expected = estimate_powered_mean(*(a - b for a, b in pairs))
        assert powered.mean()[name] == pytest.approx(expected.mean, abs=1e-12)
        reach = stats.t.ppf(0.95, 38) * expected.standard_error
        assert powered.confidence_interval()[name] == pytest.approx(
            (expected.mean - reach, expected.mean + reach), abs=1e-9
        )


@pytest.mark.filterwarnings("ignore:human has 40 queries and as few as")
def test_equal_systems_have_no_difference():
    # Rounding errors change nothing.
    noise = 1e-16 * np.random.default_rng(0).normal(size=40)
    noisy = evaluation({k: v + noise for k, v in A.per_query.items()}, A.query_ids)
    for human in (A, noisy):
        for row in sg.prediction_powered(human.minus(A), J.minus(J)).summary().to_dict("records"):
            assert (row["mean"], row["weight"], row["worth"]) == (0, 0, 40)
            assert np.isnan([row["ci_low"], row["ci_high"]]).all()


# Plans and samples -------------------------------------------------------------------------------


def test_a_plan_has_one_row_per_measure():
    plan = sg.plan_judgments(A, J, 0.05)
    assert list(plan) == [
        "measure",
        "half_width",
        "n_human_alone",
        "n_human_with_judge",
        "n_queries",
    ]
    assert plan["measure"].tolist() == list(MEASURES) and set(plan["n_queries"]) == {240}
    assert set(plan["half_width"]) == {0.05}
    assert (plan["n_human_with_judge"] <= plan["n_human_alone"]).all()


def test_a_plan_never_contains_more_queries_than_there_are():
    rr = [0.3, 0.5, 0.4, 0.45, 0.55]
    human = evaluation({"AP": [0, 1] * 20, "RR": rr * 8}, range(40))
    judge = evaluation({"AP": [0, 1] * 50, "RR": rr * 20}, range(100))
    # With s² = 1/4 · 40/39, AP would need 397 queries: t · s / √397 < 0.05.
    with pytest.warns(UserWarning) as record:  # the first warns of few distinct values
        plan = sg.plan_judgments(human, judge, 0.05)
    message = "half_width=0.05 is out of reach for AP: .* people judged all 100 queries"
    assert re.match(message, str(record[-1].message)) and record[-1].filename == __file__
    assert plan["n_human_alone"].isna().tolist() == [True, False]
    assert plan["n_human_with_judge"].isna().tolist() == [True, False]
    assert plan["n_human_with_judge"][1] <= plan["n_human_alone"][1] <= 100


def test_each_subset_is_equally_likely():
    counts = {}
    rng = np.random.default_rng(0)
    for _ in range(6000):
        subset = tuple(sg.sample_queries(["d", "a", "c", "b"], 2, rng).tolist())
        counts[subset] = counts.get(subset, 0) + 1
    assert set(counts) == {("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")}
    assert stats.chisquare(list(counts.values())).pvalue > 0.001


def test_samples_are_reproducible_and_distinct():
    qid = np.repeat(np.arange(500, 700), 3)
    sample = sg.sample_queries(qid, 50, rng=3)
    assert sample.dtype == qid.dtype and len(set(sample.tolist())) == 50
    assert sample.tolist() == sg.sample_queries(np.arange(500, 700), 50, rng=3).tolist()
    assert sg.sample_queries(qid, 200).tolist() == list(range(500, 700))


@pytest.mark.parametrize(
    "ids",  # in sorted order
    [[1, 2, 3], ["a", "b", "c"], [1, 1.5, 2, "a", "b"], ["c", ("a", 2), ("a", "b"), ("b", 1)]],
)
def test_the_order_of_the_rows_changes_no_sample(ids):
    drawn = np.sort(np.random.default_rng(5).choice(len(ids), 2, replace=False))
    for rows in permutations(ids):
        assert sg.sample_queries(rows, 2, rng=5).tolist() == [ids[i] for i in drawn]
