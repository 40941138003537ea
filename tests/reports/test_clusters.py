"""Queries in clusters: intervals and tests treat the clusters as independent, not the queries."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

import skgraded as sg

TESTS = ["t", "randomization", "bootstrap"]


def draw(n_queries, n_clusters, spread=0.1, seed=0):
    """Return Evaluations of two systems, whose differences are correlated within clusters."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, n_clusters, n_queries)
    cluster[:n_clusters] = np.arange(n_clusters)
    shift = rng.normal(0, spread, n_clusters)[cluster]
    a = rng.normal(0.5, 0.1, n_queries)
    b = a + 0.05 + shift + rng.normal(0, 0.05, n_queries)
    return [
        sg.Evaluation(np.arange(n_queries), {"AP": values}, clusters=cluster) for values in (a, b)
    ]


def compare(a, b, test="t", **settings):
    report = sg.compare({"a": a, "b": b}, baseline="a", test=test, rng=0, **settings)
    return report.to_frame().to_dict("records")[0]


def test_the_t_test_equals_the_cluster_covariance_of_statsmodels():
    statsmodels = pytest.importorskip("statsmodels.api")
    a, b = draw(200, 30)
    d = b.per_query["AP"] - a.per_query["AP"]
    settings = {"cov_type": "cluster", "cov_kwds": {"groups": a.clusters}, "use_t": True}
    expected = statsmodels.OLS(d, np.ones(200)).fit(**settings)
    row = compare(a, b)
    assert row["p_value"] == pytest.approx(expected.pvalues[0], rel=1e-9)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected.conf_int()[0], rel=1e-9)
    # The factor G / (G - 1), without statsmodels' correction for small samples of (n - 1) / (n - k)
    difference = a.minus(b)
    low, high = difference.confidence_interval()["AP"]
    assert (-high, -low) == pytest.approx((row["ci_low"], row["ci_high"]), rel=1e-12)


def test_the_weighted_error_sums_residuals_by_cluster():
    rng = np.random.default_rng(0)
    values, weights, cluster = rng.random(50), rng.random(50), rng.permutation(50) % 16
    ev = sg.Evaluation(np.arange(50), {"AP": values}, weights=weights, clusters=cluster)
    mean = np.average(values, weights=weights)
    sums = [np.sum((weights * (values - mean))[cluster == c]) for c in range(16)]
    error = np.sqrt(16 / 15 * np.sum(np.square(sums))) / weights.sum()
    low, high = ev.confidence_interval()["AP"]
    assert (high - low) / 2 == pytest.approx(error * stats.t.ppf(0.975, 15), rel=1e-12)


@pytest.mark.filterwarnings("ignore:Only 8 clusters")
def test_randomization_flips_the_signs_of_whole_clusters():
    a, b = draw(40, 8)
    d = b.per_query["AP"] - a.per_query["AP"]
    sums = np.bincount(a.clusters, d)
    flips = np.array(list(itertools.product([1, -1], repeat=8))) @ sums
    observed = sums.sum() * (1 - 1e-12)
    tails = np.mean(flips >= observed), np.mean(flips <= observed / (1 - 2e-12))
    assert compare(a, b, "randomization")["p_value"] == min(1, 2 * min(tails))


@pytest.mark.parametrize("test", TESTS)
def test_without_clusters_each_query_is_its_own_cluster(test):
    a, b = draw(60, 60)
    plain = [sg.Evaluation(ev.query_ids, ev.per_query) for ev in (a, b)]
    single = [
        sg.Evaluation(ev.query_ids, ev.per_query, clusters=[f"c{i}" for i in range(60)])
        for ev in (a, b)
    ]
    row, expected = compare(*single, test), compare(*plain, test)
    assert row.pop("n_clusters") == 60
    assert row.pop("min_detectable") == pytest.approx(expected.pop("min_detectable"), rel=1e-14)
    assert row == expected
    for method in ("t", "bootstrap"):
        intervals = [ev.confidence_interval(method=method, rng=0) for ev in (single[0], plain[0])]
        assert intervals[0]["AP"] == pytest.approx(intervals[1]["AP"], rel=1e-12)


@pytest.mark.parametrize("test", TESTS)
def test_clusters_of_equal_queries_count_once(test):
    """Five copies of each query give the intervals and p-values of one copy."""
    a, b = draw(40, 40, spread=0.02)
    one = compare(a, b, test)
    copies = [
        sg.Evaluation(
            np.arange(200), {"AP": np.repeat(ev.per_query["AP"], 5)}, clusters=np.arange(200) // 5
        )
        for ev in (a, b)
    ]
    five = compare(*copies, test)
    for name in ("p_value", "ci_low", "ci_high", "min_detectable"):
        assert five[name] == pytest.approx(one[name], rel=1e-9)
    assert (five["n_defined"], five["n_clusters"]) == (200, 40)
    assert five["effect_size"] == pytest.approx(one["effect_size"] * np.sqrt(199 / 195), rel=1e-9)


def test_evaluate_reads_the_cluster_of_each_row():
    y, s, qid = [1, 0, 0, 1, 1, 0], [2, 1, 2, 1, 1, 2], list("aabbcc")
    topic = ["x", "x", "y", "y", "x", "x"]
    ev = sg.evaluate(y, s, qid=qid, clusters=topic, measures="rr")
    assert ev.clusters.tolist() == ["x", "y", "x"]
    data = {"y": y, "s": s, "t": s, "qid": qid, "topic": topic}
    for part in sg.evaluate("y", ["s", "t"], qid="qid", clusters="topic", data=data).values():
        assert part.clusters.tolist() == ["x", "y", "x"]
    rows = pd.Series(topic, index=range(6))
    with pytest.warns(UserWarning, match="y_true and clusters have the same row labels in a diff"):
        sg.evaluate(pd.Series(y), s, qid=qid, clusters=rows[[1, 0, 2, 3, 4, 5]])


def test_a_series_of_clusters_per_query_is_paired_by_id():
    clusters = pd.Series({"b": 1, "a": 0})
    ev = sg.Evaluation(["a", "b"], {"AP": [0.5, 1]}, clusters=clusters)
    assert ev.clusters.tolist() == [0, 1]


def test_an_evaluation_keeps_its_clusters():
    a, b = draw(40, 20)
    assert a.take(np.arange(5)).clusters.tolist() == a.clusters[:5].tolist()
    assert a.minus(b).clusters.tolist() == a.clusters.tolist()
    parts = [a.take(np.arange(25)), a.take(np.arange(25, 40))]
    assert sg.Evaluation.concat(parts) == a
    assert sg.Evaluation.from_json(a.to_json()) == a
    assert a != sg.Evaluation(a.query_ids, a.per_query)
    assert a.summary()["n_clusters"].tolist() == [20]
    comparison = sg.compare({"a": a, "b": b}, test="t")
    assert sg.Comparison.from_json(comparison.to_json()) == comparison
    assert "40 queries in 20 clusters" in repr(comparison)
    assert "over 40 queries in 20 clusters" in comparison.sentences()[0]
    assert list(comparison.to_frame())[10:12] == ["n_clusters", "wins"]


def test_clusters_without_a_value_do_not_count():
    a, _ = draw(40, 20)
    values = np.where(a.clusters < 3, np.nan, a.per_query["AP"])
    ev = sg.Evaluation(a.query_ids, {"AP": values}, clusters=a.clusters)
    assert ev.summary()["n_clusters"].tolist() == [17]


def test_few_clusters_issue_a_warning():
    a, b = draw(40, 14)
    with pytest.warns(UserWarning, match="Only 14 clusters") as record:
        a.confidence_interval()
        sg.compare({"a": a, "b": b}, test="t")
    assert len(record) == 2 and {warning.filename for warning in record} == {__file__}
    a, b = draw(60, 20)
    with pytest.warns(UserWarning, match="Only 10 clusters"):
        sg.compare({"a": a, "b": b}, test="t", by=a.clusters >= 10)


@pytest.mark.filterwarnings("ignore:Only")
@pytest.mark.parametrize("test", TESTS)
def test_clusters_whose_differences_cancel_or_are_equal(test):
    cluster = np.repeat(np.arange(4), 2)
    zeros = np.zeros(8)
    equal_means = np.array([0.1, 0.3, 0.3, 0.1, 0.2, 0.2, 0.05, 0.35])
    differences = (np.tile([0.1, -0.1], 4), 0.0), (np.full(8, 0.1), 0.1), (equal_means, 0.2)
    for d, mean in differences:
        a, b = (
            sg.Evaluation(np.arange(8), {"AP": values}, clusters=cluster) for values in (zeros, d)
        )
        row = compare(a, b, test)
        assert row["p_value"] == (2.0 ** (1 - 4) if mean else 1.0)
        intervals = [b.confidence_interval(method=method)["AP"] for method in ("t", "bootstrap")]
        for limits in [(row["ci_low"], row["ci_high"]), *intervals]:
            assert limits == pytest.approx((mean, mean), rel=1e-14, abs=1e-17)


# Cross-validation --------------------------------------------------------------------------------

X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)


def test_cross_evaluate_keeps_clusters_in_one_fold():
    topic = qid // 3
    cv = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=4, clusters=topic, measures="rr")
    assert cv.clusters.tolist() == (cv.query_ids // 3).tolist()
    assert cv.summary()["n_clusters"].tolist() == [20]
    assert len(np.unique(np.stack([cv.clusters, cv.fold]), axis=1).T) == 20
    order = np.random.default_rng(0).permutation(len(y))
    again = sg.cross_evaluate(
        Ridge(), X[order], y[order], qid=qid[order], cv=4, clusters=topic[order], measures="rr"
    )
    folds = dict(zip(again.query_ids.tolist(), again.fold.tolist(), strict=True))
    assert [folds[query] for query in cv.query_ids.tolist()] == cv.fold.tolist()


def test_a_splitter_that_splits_clusters_issues_a_warning():
    settings = {"qid": qid, "clusters": qid // 3, "measures": "rr"}
    with pytest.warns(
        UserWarning, match=r"In fold 0 of cv, \d+ clusters are split, such as"
    ) as record:
        sg.cross_evaluate(Ridge(), X, y, cv=GroupKFold(3), **settings)
    assert [warning.filename for warning in record] == [__file__]
    whole = [(np.flatnonzero(qid >= 30), np.flatnonzero(qid < 30))]
    assert sg.cross_evaluate(Ridge(), X, y, cv=whole, **settings).n_queries == 30
