"""Learning curves over numbers of queries, and permutation importance on ranking measures."""

import re
import subprocess
import sys

import numpy as np
import pytest
import sklearn
import sklearn.inspection
from lightgbm import LGBMRanker
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import FRAMES, TABLES, toy_data

import skgraded as sg
from skgraded.inspection import permutation_importance
from skgraded.model_selection import learning_curve

MEASURES = ["ndcng@10", "mu_map"]
NAMES = ["NDCNG@10", "MuAP"]
FEATURES = [0, 2, 3]


@pytest.fixture(params=[False, True], ids=["routing off", "routing on"])
def routing(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield


def lambdarank():
    return LGBMRanker(
        n_estimators=5, min_child_samples=5, verbose=-1, n_jobs=1, random_state=0,
        deterministic=True, force_row_wise=True,
    )


def fitted_by_hand(model, X, y, qid):
    """A regressor fitted on the rows, LightGBM in its own form of groups."""
    if not isinstance(model, LGBMRanker):
        return model.fit(X, y)
    ids = list(dict.fromkeys(qid.tolist()))
    order = np.concatenate([np.flatnonzero(qid == one) for one in ids])
    return model.fit(X[order], y[order], group=[int(np.sum(qid == one)) for one in ids])


def test_importing_the_tools_leaves_model_selection_and_boosting_libraries_alone():
    code = "import sys, skgraded.model_selection, skgraded.inspection; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"sklearn.model_selection", "lightgbm", "xgboost", "catboost", "matplotlib", "polars"}
    assert not set(done.stdout.split()) & heavy


# Learning curves ---------------------------------------------------------------------------------

@pytest.mark.parametrize("make", [Ridge, lambdarank])
def test_a_learning_curve_is_the_loop_by_hand(routing, make):
    X, y, qid = toy_data()
    X = X[:, FEATURES]
    curve = learning_curve(
        sg.QueryRanker(make()), X, y, qid=qid, measures=MEASURES, cv=3, train_sizes=[16, 4, 9]
    )
    assert curve.n_queries.tolist() == [4, 9, 16]
    for size, n in enumerate([4, 9, 16]):
        for fold, (train, test) in enumerate(GroupKFold(3).split(X, groups=qid)):
            first = list(dict.fromkeys(qid[train].tolist()))[:n]
            part = train[np.isin(qid[train], first)]
            model = fitted_by_hand(make(), X[part], y[part], qid[part])
            assert curve.n_rows[size, fold] == len(part)
            for name in NAMES:
                for rows, found in ((part, curve.train_scores), (test, curve.test_scores)):
                    expected = sg.measure(name)(y[rows], model.predict(X[rows]), qid=qid[rows])
                    assert found[name][size, fold] == pytest.approx(expected, abs=1e-9)


class Diary(RegressorMixin, BaseEstimator):
    """Writes the first column of what it is fitted on, the numbers of rows, into a list."""

    def __init__(self, pages):
        self.pages = pages

    def __sklearn_clone__(self):
        return self  # so that all fits write into one list

    def fit(self, X, y):
        self.pages.append(X[:, 0].astype(int))
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("shuffle", [False, True])
def test_training_queries_are_whole_and_nested_and_never_tested(shuffle):
    _, y, qid = toy_data()
    X, pages = np.arange(len(y))[:, None], []
    learning_curve(
        Diary(pages), X, y, qid=qid, cv=4, train_sizes=[3, 7, 18], shuffle=shuffle, random_state=1
    )
    tests = [qid[test] for _, test in GroupKFold(4).split(X, groups=qid)]
    assert len(pages) == 3 * 4
    for fold, tested in enumerate(tests):
        before = set()
        for n, rows in zip([3, 7, 18], pages[fold::4], strict=True):
            queries = set(qid[rows])
            assert len(queries) == n
            assert sorted(rows) == np.flatnonzero(np.isin(qid, list(queries))).tolist()
            assert queries > before
            assert not queries & set(tested)
            before = queries


def test_shuffled_queries_depend_on_the_random_state_only():
    X, y, qid = toy_data()

    def rows(**shuffled):
        pages = []
        learning_curve(Diary(pages), np.arange(len(y))[:, None], y, qid=qid, cv=2,
                       train_sizes=[4], **shuffled)
        return [page.tolist() for page in pages]

    assert rows(shuffle=True, random_state=0) == rows(shuffle=True, random_state=0)
    assert rows(shuffle=True, random_state=0) != rows(shuffle=True, random_state=1)
    assert rows() == rows(random_state=0) != rows(shuffle=True, random_state=0)


def test_fractions_are_of_the_queries_of_the_smallest_training_part():
    sizes = np.array([40, 20, 10, 10, 10, 10])
    qid = np.repeat(np.arange(6), sizes)
    X, y = np.arange(100.0)[:, None], np.arange(100) % 3
    # GroupKFold(2) puts queries 0 and one of 10 rows into a fold, the other 4 into the other.
    smallest = min(len(np.unique(qid[train])) for train, _ in GroupKFold(2).split(X, groups=qid))
    assert smallest == 2
    curve = learning_curve(Ridge(), X, y, qid=qid, cv=2, train_sizes=[0.01, 0.5, 0.6, 1.0])
    assert curve.n_queries.tolist() == [1, 2]
    curve = learning_curve(Ridge(), X, y, qid=qid, cv=LeaveOneGroupOut())
    assert curve.n_queries.tolist() == [1, 2, 3, 4, 5]  # 0.1, 0.325, 0.55, 0.775 and 1.0 of 5
    assert curve.n_rows[-1].tolist() == [100 - n for n in sizes]


def test_all_queries_give_the_cross_evaluation():
    X, y, qid = toy_data()
    X = X[:, FEATURES]
    curve = learning_curve(Ridge(), X, y, qid=qid, cv=3, train_sizes=[0.5, 1.0])
    by_query = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=3)
    assert list(curve.test_scores) == list(by_query.per_query) == NAMES
    for fold, evaluation in enumerate(curve.evaluations[-1]):
        of_fold = by_query.fold == fold
        assert set(evaluation.query_ids) == set(by_query.query_ids[of_fold])
        for name in NAMES:
            expected = by_query.per_query[name][of_fold]
            np.testing.assert_allclose(evaluation.per_query[name], expected, atol=1e-12)
            assert curve.test_scores[name][-1, fold] == pytest.approx(expected.mean())


def test_queries_may_be_tested_more_than_once():
    X, y, qid = toy_data()
    splits = GroupShuffleSplit(6, test_size=0.25, random_state=0)
    curve = learning_curve(Ridge(), X[:, FEATURES], y, qid=qid, cv=splits, train_sizes=[5, 18])
    assert curve.test_scores["MuAP"].shape == (2, 6)
    for evaluation, (_, test) in zip(curve.evaluations[0], splits.split(X, y, qid), strict=True):
        assert set(evaluation.query_ids) == set(qid[test])


def test_workers_give_the_same_curve():
    X, y, qid = toy_data()
    given = dict(qid=qid, cv=2, train_sizes=[3, 9], shuffle=True, random_state=0)
    one = learning_curve(sg.QueryRanker(lambdarank()), X[:, FEATURES], y, **given)
    two = learning_curve(sg.QueryRanker(lambdarank()), X[:, FEATURES], y, n_jobs=2, **given)
    for name in NAMES:
        np.testing.assert_array_equal(one.test_scores[name], two.test_scores[name])
        np.testing.assert_array_equal(one.train_scores[name], two.train_scores[name])


@pytest.mark.parametrize("kind", TABLES)
def test_a_curve_of_any_table_by_column(routing, kind):
    X, y, qid = toy_data()
    expected = learning_curve(Ridge(), X[:, FEATURES], y, qid=qid, cv=2, train_sizes=[3, 9])
    column = "query_id" if kind in FRAMES else 1
    found = learning_curve(
        sg.QueryRanker(Ridge(), qid=column), TABLES[kind](X), y, cv=2, train_sizes=[3, 9]
    )
    for name in NAMES:
        np.testing.assert_allclose(found.test_scores[name], expected.test_scores[name], atol=1e-9)


def test_a_curve_by_index_by_group_sizes_and_of_a_pipeline(routing):
    pd = pytest.importorskip("pandas")
    X, y, qid = toy_data()
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order][:, FEATURES], y[order], qid[order]
    frame = pd.DataFrame(X, columns=list("abc")).set_axis(-np.arange(len(X)))
    given = dict(cv=2, train_sizes=[3, 9])
    expected = learning_curve(Ridge(), X, y, qid=qid, **given)
    pipeline = make_pipeline(StandardScaler(), sg.QueryRanker(Ridge(alpha=0)))
    unscaled = learning_curve(Ridge(alpha=0), X, y, qid=qid, **given)
    for found, curve in (
        (learning_curve(
            sg.QueryRanker(Ridge(), qid=pd.Series(qid, frame.index)), frame, y, **given
        ), expected),
        (learning_curve(Ridge(), X, y, group=np.unique(qid, return_counts=True)[1], **given),
         expected),
        (learning_curve(pipeline, X, y.tolist(), qid=[f"q{q:02}" for q in qid], **given),
         unscaled),
    ):
        np.testing.assert_allclose(
            found.test_scores["MuAP"], curve.test_scores["MuAP"], atol=1e-9
        )


def test_a_curve_as_a_frame_and_as_a_text():
    X, y, qid = toy_data()
    curve = learning_curve(Ridge(), X, y, qid=qid, measures="ap", cv=2, train_sizes=[3, 9])
    frame = curve.to_frame()
    assert frame.columns.tolist() == ["n_queries", "fold", "n_rows", "train_AP", "test_AP"]
    assert frame["n_queries"].tolist() == [3, 3, 9, 9]
    assert frame["fold"].tolist() == [0, 1, 0, 1]
    assert frame["n_rows"].tolist() == [30, 30, 90, 90]
    assert frame["test_AP"].tolist() == curve.test_scores["AP"].ravel().tolist()
    assert frame["train_AP"].tolist() == curve.train_scores["AP"].ravel().tolist()
    few, many = curve.test_scores["AP"].mean(axis=1)
    assert repr(curve) == f"LearningCurve(3 to 9 queries: AP={few:.4f} to {many:.4f})"


class NeverFitted(Ridge):
    def fit(self, X, y):
        raise AssertionError("bad input must be refused before any fit")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(train_sizes=[0.0, 0.5]), r"fractions in \(0, 1\] of the queries.*got 0.0"),
        (dict(train_sizes=[0.5, 10]), r"fractions in \(0, 1\] of the queries.*got 10.0"),
        (dict(train_sizes=[np.nan]), r"got nan"),
        (dict(train_sizes=[0, 5]), r"numbers of queries from 1 to 12.*got 0"),
        (dict(train_sizes=[13]), r"numbers of queries from 1 to 12.*got 13"),
        (dict(train_sizes=[]), r"train_sizes must be a list of numbers; got \[\]"),
        (dict(train_sizes=0.5), r"train_sizes must be a list of numbers; got 0.5"),
        (dict(train_sizes=[True]), r"train_sizes must be a list of numbers"),
        (dict(cv=KFold(2)), r"cv tears 24 queries apart in fold 0"),
        (dict(qid=None), r"learning_curve needs the query of each row: give qid or group"),
        (dict(measures="ndcng(max_grade=1)"), r"max_grade is 1"),
        (dict(measures=[]), r"measures is empty"),
    ],
)
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_a_bad_curve_is_refused_before_any_fit(given, message):
    X, y, qid = toy_data()
    with pytest.raises(ValueError, match=message):
        learning_curve(NeverFitted(), X, y, **dict(qid=qid, cv=2) | given)


# Permutation importance --------------------------------------------------------------------------

def train_and_test():
    X, y, qid = toy_data()
    train = qid <= 12
    return (X[train], y[train], qid[train]), (X[~train], y[~train], qid[~train])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [Ridge, lambdarank])
@pytest.mark.parametrize("kind", ["numpy", "pandas"])
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
    pd = pytest.importorskip("pandas")
    (X, y, qid), (X_test, y_test, qid_test) = train_and_test()
    order = np.argsort(qid_test, kind="stable")
    X, X_test, y_test, qid_test = X[:, FEATURES], X_test[order][:, FEATURES], y_test[order], (
        qid_test[order]
    )
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
@pytest.mark.parametrize("measure", ["ndcng@10", "mu_map", "spearman_rho"])
def test_an_irrelevant_feature_has_an_importance_near_0(measure, within_queries):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(4000, 3)), np.ones(4000)])
    qid = np.repeat(np.arange(200), 20)
    y = np.clip(np.round(2 * X[:, 1] + X[:, 0] + rng.normal(size=4000)), 0, 4)
    half = qid < 100
    ranker = sg.QueryRanker(lambdarank()).fit(X[half], y[half], qid=qid[half])
    found = permutation_importance(
        ranker, X[~half], y[~half], qid=qid[~half], measure=measure, random_state=0,
        within_queries=within_queries,
    )
    assert np.argsort(found.importances_mean)[-1] == 1
    assert abs(found.importances_mean[2]) < 0.01 < found.importances_mean[0]
    np.testing.assert_array_equal(found.importances[3], np.zeros(5))


def test_the_result_depends_on_the_random_state_only_and_workers_do_not_change_it():
    (X, y, _), (X_test, y_test, _) = train_and_test()
    ranker = sg.QueryRanker(lambdarank(), qid=1).fit(X, y)

    def importances(**given):
        return permutation_importance(ranker, X_test, y_test, **given).importances

    for within in (False, True):
        one = importances(random_state=0, within_queries=within)
        assert one.shape == (3, 5)
        for again in (dict(random_state=0), dict(random_state=np.random.RandomState(0)),
                      dict(random_state=0, n_jobs=2)):
            np.testing.assert_array_equal(importances(within_queries=within, **again), one)
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
    pd = pytest.importorskip("pandas")
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
    pd = pytest.importorskip("pandas")
    X, y, qid = toy_data()
    frame = pd.DataFrame(X[:, FEATURES])
    by_index = sg.QueryRanker(Ridge(), qid=pd.Series(qid)).fit(frame[qid <= 12], y[qid <= 12])
    permutation_importance(by_index, frame[qid > 12], y[qid > 12], n_repeats=1)
    some = np.flatnonzero(qid > 12)[1:]
    with pytest.warns(sg.TornQueryWarning, match=r"1 of the 12 queries to score.*in part"):
        permutation_importance(by_index, frame.iloc[some], y[some], n_repeats=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(qid=None), "permutation_importance needs the query of each row: give qid or group"),
        (dict(n_repeats=0), "n_repeats must be at least 1; got 0"),
        (dict(n_repeats=1.5), "n_repeats must be a whole number ≥ 1; got 1.5"),
        (dict(measure="ndcng(max_grade=1)"), "max_grade is 1"),
        (dict(qid=[1, 2]), "qid has 2 rows, but y_true has 240"),
        (dict(sample_weight=-np.ones(240)), "sample_weight must be finite and ≥ 0: row 0 is -1"),
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
