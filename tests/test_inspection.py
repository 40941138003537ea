"""Permutation importance on ranking measures, beside scikit-learn's where both can do it."""

import re

import numpy as np
import pytest
import sklearn
import sklearn.inspection
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_rankers import fitted_by_hand, lambdarank
from tables import FRAMES, TABLES, toy_data

import skgraded as sg
from skgraded.inspection import permutation_importance

pd = pytest.importorskip("pandas")

MEASURES = ["ndcng@10", "mu_map"]
NAMES = ["NDCNG@10", "MuAP"]
FEATURES = [0, 2, 3]


@pytest.fixture(params=[False, True], ids=["routing off", "routing on"])
def routing(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield


def train_and_test():
    X, y, qid = toy_data()
    train = qid <= 12
    return (X[train], y[train], qid[train]), (X[~train], y[~train], qid[~train])


@pytest.mark.parametrize(("kind", "make", "weighted"), [
    ("numpy", Ridge, False), ("numpy", lambdarank, True), ("pandas", Ridge, True),
    ("pandas", lambdarank, False),
])
def test_over_all_rows_it_is_what_scikit_learn_gives_with_a_scorer_by_column(
    routing, kind, make, weighted
):
    (X, y, _), (X_test, y_test, _) = train_and_test()
    weight = np.random.default_rng(0).uniform(size=len(y_test)) if weighted else None
    table = TABLES[kind]
    ranker = sg.QueryRanker(make(), qid=1).fit(table(X), y)
    given = dict(n_repeats=3, random_state=7, sample_weight=weight)
    found = permutation_importance(ranker, table(X_test), y_test, measure=MEASURES, **given)
    scorer = sg.make_ranking_scorer(MEASURES, qid=1)
    if weighted:
        with sklearn.config_context(enable_metadata_routing=True):
            scorer.set_score_request(sample_weight=True)
    expected = sklearn.inspection.permutation_importance(
        ranker, table(X_test), y_test, scoring=scorer, **given
    )
    assert list(found) == NAMES
    for name in NAMES:
        for part in ("importances", "importances_mean", "importances_std"):
            np.testing.assert_allclose(
                found[name][part], expected[name][part][FEATURES], rtol=0, atol=1e-12
            )


@pytest.mark.parametrize("within_queries", [False, True])
@pytest.mark.parametrize("kind", TABLES)
def test_any_table_gives_the_same_and_is_not_changed(kind, within_queries):
    (X, y, qid), (X_test, y_test, qid_test) = train_and_test()
    X_test[::3, 0] = 0  # sparse in one column
    make = TABLES[kind]
    given = dict(n_repeats=2, random_state=0, within_queries=within_queries)
    plain = Ridge().fit(X[:, FEATURES], y)
    expected = permutation_importance(
        plain, X_test[:, FEATURES], y_test, qid=qid_test, **given
    ).importances
    assert (expected[0] > 0.01).all()
    names = ["age", "links", "words"] if kind in FRAMES else FEATURES
    by_column = sg.QueryRanker(Ridge(), qid=1).fit(make(X), y)
    table = make(X_test)
    found = permutation_importance(by_column, table, y_test, **given)
    np.testing.assert_allclose(found.importances, expected, atol=1e-12)
    assert found.features == names
    np.testing.assert_array_equal(
        table.toarray() if hasattr(table, "toarray") else np.asarray(table), X_test
    )
    # and where X is without the queries
    found = permutation_importance(
        by_column, make(X_test[:, FEATURES]) if kind not in FRAMES else
        FRAMES[kind](X_test)[names], y_test, qid=qid_test, **given
    )
    np.testing.assert_allclose(found.importances, expected, atol=1e-12)
    assert found.features == (names if kind in FRAMES else [0, 1, 2])


def test_queries_by_routing_by_index_and_by_group_sizes(routing):
    (X, y, qid), (X_test, y_test, qid_test) = train_and_test()
    order = np.argsort(qid_test, kind="stable")
    y_test, qid_test = y_test[order], qid_test[order]
    X, X_test = X[:, FEATURES], X_test[order][:, FEATURES]
    expected = permutation_importance(
        sg.QueryRanker(lambdarank()).fit(X, y, qid=qid), X_test, y_test, qid=qid_test,
        random_state=0,
    )
    raw = fitted_by_hand(lambdarank(), X, y, qid)
    by_group = permutation_importance(
        raw, X_test, y_test, group=np.unique(qid_test, return_counts=True)[1], random_state=0
    )
    np.testing.assert_allclose(by_group.importances, expected.importances, atol=1e-12)
    labels = [f"train {i}" for i in range(len(y))], [f"test {i}" for i in range(len(y_test))]
    series = pd.Series(np.concatenate([qid, qid_test]), labels[0] + labels[1])
    by_index = sg.QueryRanker(lambdarank(), qid=series).fit(
        pd.DataFrame(X, labels[0], list("abc")), y
    )
    found = permutation_importance(
        by_index, pd.DataFrame(X_test, labels[1], list("abc")), y_test, random_state=0
    )
    np.testing.assert_allclose(found.importances, expected.importances, atol=1e-12)
    assert found.features == list("abc")


class FirstColumns(RegressorMixin, BaseEstimator):
    """Predicts the product of its columns, or the first; keeps what it was given to predict."""

    def __init__(self, product=False):
        self.product = product
        self.seen = []

    def fit(self, X, y):
        return self

    def predict(self, X):
        self.seen.append(np.array(X))
        return np.prod(X, axis=1) if self.product else X[:, 0].astype(float)


def test_within_queries_values_stay_in_their_query():
    X, y, qid = toy_data()
    model = FirstColumns()
    permutation_importance(
        model, X[:, FEATURES], y, qid=qid, within_queries=True, n_repeats=2, random_state=0
    )
    before, *permuted = model.seen
    assert len(permuted) == 3 * 2
    for i, table in enumerate(permuted):
        column = i // 2
        others = [j for j in range(3) if j != column]
        np.testing.assert_array_equal(table[:, others], before[:, others])
        assert (table[:, column] != before[:, column]).mean() > 0.5
        for query in np.unique(qid):
            of_query = qid == query
            assert sorted(table[of_query, column]) == sorted(before[of_query, column])
    assert (permuted[0] != permuted[1]).any()


def test_of_two_documents_every_other_order_is_the_wrong_one():
    n_queries = 4000
    qid, y = np.repeat(np.arange(n_queries), 2), np.tile([1, 0], n_queries)
    found = permutation_importance(
        FirstColumns(), y[:, None], y, qid=qid, measure="rr", within_queries=True, n_repeats=4,
        random_state=0,
    )
    # RR is 1 in the right order and 1/2 in the wrong one, each with probability 1/2
    standard_error = 0.25 / np.sqrt(n_queries)
    np.testing.assert_allclose(found.importances, 1 - (1 + 1 / 2) / 2, atol=4 * standard_error)
    assert found.importances_mean == pytest.approx(found.importances.mean(axis=1))
    assert found.importances_std == pytest.approx(found.importances.std(axis=1))


def test_a_feature_of_the_query_counts_over_all_rows_only():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(200), 10)
    direction = rng.choice([-1.0, 1.0], 200)[qid]  # says which way the other feature points
    X = np.column_stack([direction, rng.normal(size=len(qid))])
    y = (X[:, 0] * X[:, 1] > 0.5).astype(int)
    model = FirstColumns(product=True)
    given = dict(qid=qid, measure="ap", random_state=0)
    within = permutation_importance(model, X, y, within_queries=True, **given)
    over_all = permutation_importance(model, X, y, **given)
    np.testing.assert_array_equal(within.importances[0], np.zeros(5))
    assert (within.importances[1] > 0.3).all()
    assert (over_all.importances > 0.1).all()


@pytest.mark.parametrize("within_queries", [False, True])
def test_an_irrelevant_feature_has_an_importance_near_0(within_queries):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(4000, 3)), np.ones(4000)])
    qid = np.repeat(np.arange(200), 20)
    y = np.clip(np.round(2 * X[:, 1] + X[:, 0] + rng.normal(size=4000)), 0, 4)
    half = qid < 100
    ranker = sg.QueryRanker(lambdarank()).fit(X[half], y[half], qid=qid[half])
    by_measure = permutation_importance(
        ranker, X[~half], y[~half], qid=qid[~half], random_state=0, within_queries=within_queries,
        measure=["ndcng@10", "mu_map", "spearman_rho"], n_repeats=3,
    )
    for measure, found in by_measure.items():
        means = found.importances_mean
        assert np.argmax(means) == 1, measure
        assert abs(means[2]) < 0.01 < means[0], measure
        np.testing.assert_array_equal(found.importances[3], np.zeros(3), measure)


def test_the_result_depends_on_the_random_state_only():
    (X, y, _), (X_test, y_test, _) = train_and_test()
    ranker = sg.QueryRanker(lambdarank(), qid=1).fit(X, y)

    def importances(**given):
        return permutation_importance(ranker, X_test, y_test, **given).importances

    for within in (False, True):
        one = importances(random_state=0, within_queries=within)
        assert one.shape == (3, 5)
        for state in (0, np.random.RandomState(0)):
            again = importances(random_state=state, within_queries=within)
            np.testing.assert_array_equal(again, one)
        assert (importances(random_state=1, within_queries=within) != one).any()


def test_a_list_of_measures_gives_what_each_gives_alone():
    (X, y, _), (X_test, y_test, _) = train_and_test()
    ranker = sg.QueryRanker(Ridge(), qid=1).fit(X, y)
    both = permutation_importance(ranker, X_test, y_test, measure=MEASURES, random_state=0)
    for text, name in zip(MEASURES, NAMES, strict=True):
        alone = permutation_importance(ranker, X_test, y_test, measure=text, random_state=0)
        np.testing.assert_array_equal(both[name].importances, alone.importances)
    default = permutation_importance(ranker, X_test, y_test, random_state=0)
    np.testing.assert_array_equal(both["NDCNG@10"].importances, default.importances)


def test_searches_pipelines_and_classifiers():
    (X, y, qid), (X_test, y_test, qid_test) = train_and_test()
    ranker = sg.QueryRanker(Ridge(), qid=1)
    search = GridSearchCV(ranker, {"estimator__alpha": [1.0]}, cv=GroupKFold(2))
    expected = permutation_importance(ranker.fit(X, y), X_test, y_test, random_state=0)
    found = permutation_importance(
        search.fit(X, y, groups=qid), X_test, y_test, random_state=0
    )
    np.testing.assert_array_equal(found.importances, expected.importances)
    assert found.features == FEATURES

    X, X_test = X[:, FEATURES], X_test[:, FEATURES]
    given = dict(qid=qid_test, random_state=0)
    pipeline = make_pipeline(StandardScaler(), Ridge(alpha=1e-9)).fit(X, y)
    np.testing.assert_allclose(
        permutation_importance(pipeline, X_test, y_test, **given).importances,
        permutation_importance(Ridge(alpha=1e-9).fit(X, y), X_test, y_test, **given).importances,
        atol=1e-9,
    )
    classifier = LogisticRegression().fit(X, y)

    class ExpectedGrade(FirstColumns):
        def predict(self, X):
            return classifier.predict_proba(X) @ classifier.classes_

    np.testing.assert_allclose(
        permutation_importance(classifier, X_test, y_test, **given).importances,
        permutation_importance(ExpectedGrade(), X_test, y_test, **given).importances, atol=1e-12,
    )


def test_categories_stay_categories():
    X, y, qid = toy_data()
    levels = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    frame = pd.DataFrame({"level": pd.Categorical(levels), "noise": X[:, 3]})
    ranker = sg.QueryRanker(lambdarank()).fit(frame, y, qid=qid)
    found = permutation_importance(ranker, frame, y, qid=qid, random_state=0)
    assert found.features == ["level", "noise"]
    assert found.importances_mean[0] > 0.1
    assert frame["level"].tolist() == levels.tolist()


def test_other_rows_of_the_queries_of_the_fit_warn_and_its_very_rows_do_not():
    X, y, qid = toy_data()
    ranker = sg.QueryRanker(Ridge(), qid=1).fit(X[:200], y[:200])
    with pytest.warns(sg.TornQueryWarning, match="the ranker was fitted on") as record:
        permutation_importance(ranker, X[200:], y[200:], n_repeats=2)
    assert [one.filename for one in record] == [__file__]
    permutation_importance(ranker, X[:200], y[:200], n_repeats=2)


def test_rows_of_queries_seen_in_part_warn():
    X, y, qid = toy_data()
    frame = pd.DataFrame(X[:, FEATURES])
    by_index = sg.QueryRanker(Ridge(), qid=pd.Series(qid)).fit(frame[qid <= 12], y[qid <= 12])
    permutation_importance(by_index, frame[qid > 12], y[qid > 12], n_repeats=1)
    some = np.flatnonzero(qid > 12)[1:]
    with pytest.warns(sg.TornQueryWarning, match=r"1 of the 12 queries to score.*incomplete"):
        permutation_importance(by_index, frame.iloc[some], y[some], n_repeats=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(qid=None), "pass qid or group to permutation_importance"),
        (dict(n_repeats=0), "n_repeats must be at least 1; got 0"),
        (dict(n_repeats=1.5), "n_repeats must be an integer ≥ 1; got 1.5"),
        (dict(measure="ndcng(max_grade=1)"), "max_grade is 1"),
        (dict(qid=[1, 2]), "qid has 2 rows, but y_true has 240"),
        (dict(sample_weight=-np.ones(240)), "sample_weight must be finite and ≥ 0; got -1"),
    ],
)
def test_bad_input_is_refused_before_any_prediction(given, message):
    X, y, qid = toy_data()
    model = FirstColumns()
    with pytest.raises(ValueError, match=re.escape(message)):
        permutation_importance(model, X, y, **dict(qid=qid) | given)
    assert not model.seen
    with pytest.raises(ValueError, match="y has 239 rows"):
        permutation_importance(model, X, y[1:], qid=qid)
