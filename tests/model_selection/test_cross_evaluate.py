"""cross_evaluate: folds, out-of-fold values, times, failures and weights."""

import contextlib
import fcntl
import os
import pty
import re
import struct
import termios

import joblib
import numpy as np
import pytest
import sklearn
from lightgbm import LGBMRanker
from never_fitted import NeverFitted
from scipy import sparse
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgraded as sg

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def ranking():
    X, y, qid = sg.datasets.make_ranking(n_queries=40, n_documents=10, random_state=3)
    rows = np.random.default_rng(0).permutation(len(y))
    return X[rows], y[rows], qid[rows]


@pytest.fixture(scope="module")
def of_ridge(ranking):
    """The cross-evaluation of Ridge over four folds."""
    X, y, qid = ranking
    return sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=4)


def out_of_fold_by_hand(X, y, qid, cv, n_queries=40):
    """AP by query, from LightGBM's own form of groups."""
    values, folds = np.full(n_queries, np.nan), np.full(n_queries, -1)
    for fold, (train, test) in enumerate(cv.split(X, y, qid)):
        train = train[np.argsort(qid[train], kind="stable")]
        sizes = np.unique(qid[train], return_counts=True)[1]
        model = LGBMRanker(n_estimators=10, verbose=-1, n_jobs=1)
        model.fit(X[train], y[train], group=sizes)
        scores = model.predict(X[test])
        for query in np.unique(qid[test]):
            of_query = qid[test] == query
            values[query] = sg.AP()(y[test][of_query], scores[of_query])
            folds[query] = fold
    return values, folds


@pytest.mark.parametrize("cv", [5, GroupKFold(3), LeaveOneGroupOut()])
def test_out_of_fold_values_are_those_of_a_loop_by_hand(ranking, cv):
    X, y, qid = ranking
    if isinstance(cv, LeaveOneGroupOut):
        few = qid < 4
        X, y, qid = X[few], y[few], qid[few]
    ranker = sg.QueryRanker(LGBMRanker(n_estimators=10, verbose=-1, n_jobs=1))
    found = sg.cross_evaluate(ranker, X, y, qid=qid, measures=["ap", "rr"], cv=cv)
    values, folds = out_of_fold_by_hand(X, y, qid, GroupKFold(cv) if cv == 5 else cv)
    np.testing.assert_allclose(found.per_query["AP"], values[found.query_ids], atol=1e-9)
    np.testing.assert_array_equal(found.fold, folds[found.query_ids])
    assert found.query_ids.tolist() == list(dict.fromkeys(qid.tolist()))
    assert not hasattr(ranker, "estimator_")


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize(
    "ranker",
    [Ridge(), sg.QueryRanker(Ridge()), make_pipeline(StandardScaler(), sg.QueryRanker(Ridge()))],
    ids=["regressor", "ranker", "pipeline"],
)
def test_a_ranker_a_pipeline_and_a_plain_regressor_give_the_same(
    ranking, of_ridge, ranker, routing
):
    X, y, qid = ranking
    with sklearn.config_context(enable_metadata_routing=routing):
        found = sg.cross_evaluate(ranker, X, y, qid=qid, cv=4)
    for name, values in of_ridge.per_query.items():
        np.testing.assert_allclose(found.per_query[name], values, atol=1e-6)


def test_frames_sparse_matrices_and_text_ids_are_taken(ranking, of_ridge):
    pl = pytest.importorskip("polars")
    X, y, qid = ranking
    names = [f"x{i}" for i in range(X.shape[1])]
    tables = [pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), sparse.csr_matrix(X)]
    for table in tables:
        # ids whose order is that of the numbers, so that the folds are the same
        text = np.array([f"q{query:03}" for query in qid])
        found = sg.cross_evaluate(sg.QueryRanker(Ridge()), table, pd.Series(y), qid=text, cv=4)
        np.testing.assert_allclose(found.mean()["MuAP"], of_ridge.mean()["MuAP"], atol=1e-6)
        np.testing.assert_array_equal(found.fold, of_ridge.fold)


def test_ids_without_an_order_are_taken(ranking):
    X, y, qid = ranking
    mixed = [("odd", int(q)) if q % 2 else int(q) for q in qid]
    found = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=mixed, cv=4)
    assert set(found.query_ids) == set(mixed)


def test_queries_that_are_never_tested_are_left_out(ranking):
    X, y, qid = ranking
    splitter = GroupShuffleSplit(1, test_size=0.25, random_state=0)
    found = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=splitter)
    (_, test), = splitter.split(X, y, qid)
    assert found.query_ids.tolist() == list(dict.fromkeys(qid[test].tolist()))
    assert set(found.fold.tolist()) == {0}


# scikit-learn says by itself that such splitters do not look at groups


# Repeated tests ----------------------------------------------------------------------------------

def repeated_folds(qid, n_repeats=3):
    return [
        split for seed in range(n_repeats)
        for split in GroupKFold(4, shuffle=True, random_state=seed).split(qid, qid, qid)
    ]


@pytest.mark.parametrize("weighted", [False, True])
def test_repeated_cross_validation_is_pooled_by_query(ranking, weighted):
    X, y, qid = ranking
    folds = repeated_folds(qid)
    given = {"qid": qid, "measures": ["ndcng@5", "AP(undefined=nan)"]}
    if weighted:
        given["sample_weight"] = 1.0 + qid % 3
    cv = sg.cross_evaluate(Ridge(), X, y, cv=folds, **given)
    rounds = [
        sg.cross_evaluate(Ridge(), X, y, cv=folds[i : i + 4], **given) for i in (0, 4, 8)
    ]
    for name in cv.per_query:
        values = np.array([one.per_query[name] for one in rounds])
        np.testing.assert_allclose(cv.per_query[name], values.mean(axis=0))
        np.testing.assert_allclose(cv.spread()[name], values.std(axis=0, ddof=1))
        np.testing.assert_array_equal(cv.undefined[name], rounds[0].undefined[name])
    np.testing.assert_array_equal(cv.query_ids, rounds[0].query_ids)
    np.testing.assert_array_equal(cv.fold, rounds[0].fold)
    by_fold = cv.by_fold()
    assert by_fold["fold"].tolist() == list(range(12)) and by_fold["n_queries"].sum() == 3 * 40
    means = np.concatenate([one.by_fold()["NDCNG@5"] for one in rounds])
    np.testing.assert_allclose(by_fold["NDCNG@5"], means)


def test_repeated_tests_come_back_from_json_and_are_drawn(ranking, tmp_path):
    X, y, qid = ranking
    cv = sg.cross_evaluate(
        Ridge(), X, y, qid=qid, cv=repeated_folds(qid), return_train_score=True
    )
    cv.to_json(tmp_path / "cv.json")
    again = sg.Evaluation.from_json(tmp_path / "cv.json")
    for name, spread in cv.spread().items():
        np.testing.assert_array_equal(again.spread()[name], spread)
        np.testing.assert_array_equal(again.train_scores[name], cv.train_scores[name])
    assert again.by_fold().equals(cv.by_fold())
    assert "12 folds" in cv._repr_html_()
    figure = pytest.importorskip("matplotlib.figure").Figure()
    display = sg.FoldDisplay.from_cross_evaluation(cv, ax=figure.subplots())
    assert len(display.boxes_) == 12 and len(display.values) == 3 * 40


def test_queries_that_a_splitter_tests_unequally_often_have_the_mean_of_their_tests(ranking):
    X, y, qid = ranking
    cv = sg.cross_evaluate(
        Ridge(), X, y, qid=qid, measures="ap",
        cv=GroupShuffleSplit(n_splits=6, test_size=0.2, random_state=0),
    )
    n_tests = np.bincount(cv.tests.query)
    assert n_tests.sum() == 6 * 8 and n_tests.min() == 1 < n_tests.max()
    for i in (0, 1, int(n_tests.argmax())):
        own = cv.tests.values["AP"][cv.tests.query == i]
        assert cv.per_query["AP"][i] == pytest.approx(own.mean())
        spread = cv.spread()["AP"][i]
        assert np.isnan(spread) if len(own) == 1 else spread == pytest.approx(own.std(ddof=1))


def test_a_query_whose_fold_failed_once_has_the_mean_of_its_other_tests(ranking):
    X, y, qid = ranking
    folds = repeated_folds(qid, 2)
    first_train = X[folds[0][0]]

    class FailsOnce(Ridge):
        def fit(self, X, y):
            if X.shape == first_train.shape and (X == first_train).all():
                raise RuntimeError("no")
            return super().fit(X, y)

    given = {"qid": qid, "measures": "ap"}
    with pytest.warns(FitFailedWarning, match="1 of 8 folds .* 10 queries have the value nan"):
        cv = sg.cross_evaluate(FailsOnce(), X, y, cv=folds, error_score=np.nan, **given)
    once = sg.cross_evaluate(Ridge(), X, y, cv=folds[4:], **given).per_query["AP"]
    twice = sg.cross_evaluate(Ridge(), X, y, cv=folds, **given).per_query["AP"]
    np.testing.assert_allclose(cv.per_query["AP"], np.where(cv.fold == 0, once, twice))


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_scikit_learns_own_repetitions_of_single_rows():
    X, y = np.arange(4.0)[:, None], [0, 1, 2, 0]
    cv = RepeatedKFold(n_splits=2, n_repeats=2)
    found = sg.cross_evaluate(Ridge(), X, y, qid=range(4), cv=cv, measures="p")
    assert sorted(found.tests.fold) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert sorted(found.tests.query) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_train_scores_stand_beside_those_of_the_test_queries(ranking):
    X, y, qid = ranking
    weights = 1.0 + qid % 3
    folds = list(GroupKFold(3).split(X, y, qid))
    cv = sg.cross_evaluate(
        Ridge(), X, y, qid=qid, cv=folds, measures=["ap", "rr"], sample_weight=weights,
        return_train_score=True,
    )
    frame = cv.by_fold()
    assert frame.columns.tolist() == [
        "fold", "n_queries", "AP", "RR", "train_AP", "train_RR", "fit_time", "score_time"
    ]
    for fold, (train, _) in enumerate(folds):
        scores = Ridge().fit(X[train], y[train]).predict(X[train])
        value = sg.AP()(y[train], scores, qid=qid[train], sample_weight=weights[train])
        assert frame["train_AP"][fold] == pytest.approx(value)


def test_the_query_as_a_column_of_x_or_by_its_index(ranking, of_ridge):
    X, y, qid = ranking
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    by_column = sg.QueryRanker(Ridge(), qid="query")
    by_index = sg.QueryRanker(Ridge(), qid=pd.Series(qid))
    for ranker, X in ((by_column, frame.assign(query=qid)), (by_index, frame)):
        for given in (qid, None):
            found = sg.cross_evaluate(ranker, X, y, qid=given, cv=4)
            assert found.mean()["MuAP"] == pytest.approx(of_ridge.mean()["MuAP"], abs=1e-6)


def test_group_sizes_serve_as_queries_of_consecutive_rows():
    X, y, qid = sg.datasets.make_ranking(n_queries=12, random_state=0)
    found = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, group=np.bincount(qid), cv=3)
    expected = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=3)
    assert found.mean() == expected.mean()


@pytest.mark.parametrize(
    "kind", [int, "q{:03}".format, lambda q: (q // 7, q % 7)], ids=["int", "text", "pairs"]
)
def test_the_folds_do_not_depend_on_the_kind_of_ids(ranking, of_ridge, kind):
    X, y, qid = ranking
    found = sg.cross_evaluate(Ridge(), X, y, qid=tuple(map(kind, qid.tolist())), cv=4)
    np.testing.assert_array_equal(found.fold, of_ridge.fold)
    np.testing.assert_array_equal(found.per_query["MuAP"], of_ridge.per_query["MuAP"])


def test_splits_may_be_given_as_a_list(ranking):
    X, y, qid = ranking
    splits = list(GroupKFold(5).split(X, y, qid))
    found = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=splits)
    assert found.mean() == sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=None).mean()
    with pytest.raises(ValueError, match="cv"):
        sg.cross_evaluate(Ridge(), X, y, qid=qid, cv="five")


# Times, estimators, progress ---------------------------------------------------------------------

def test_times_and_estimators_are_those_of_the_folds(ranking):
    X, y, qid = ranking
    cv = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=4, return_estimator=True)
    assert cv.fit_time.shape == cv.score_time.shape == (4,)
    assert (cv.fit_time > 0).all() and (cv.score_time > 0).all()
    assert cv.errors == [None] * 4 and len(cv.estimators) == 4
    for fold, (_, test) in enumerate(GroupKFold(4).split(X, y, qid)):
        scores = cv.estimators[fold].predict(X[test])
        expected = sg.evaluate(y[test], scores, qid=qid[test], measures="mu_map")
        found = dict(zip(cv.query_ids, cv.per_query["MuAP"], strict=True))
        assert [found[query] for query in expected.query_ids] == pytest.approx(
            expected.per_query["MuAP"], abs=1e-12
        )


def test_a_frame_by_fold_has_a_row_a_fold(of_ridge):
    frame = of_ridge.by_fold()
    names = list(of_ridge.per_query)
    assert frame.columns.tolist() == ["fold", "n_queries", *names, "fit_time", "score_time"]
    assert frame["fold"].tolist() == [0, 1, 2, 3]
    assert frame["n_queries"].sum() == 40
    for name, values in of_ridge.per_query.items():
        means = [values[of_ridge.fold == fold].mean() for fold in range(4)]
        assert frame[name].tolist() == pytest.approx(means)
    assert frame["fit_time"].tolist() == of_ridge.fit_time.tolist()
    assert of_ridge.train_scores is None and of_ridge.estimators is None


def test_jobs_give_the_same_and_take_the_configuration_along(ranking, of_ridge):
    X, y, qid = ranking
    # Threads, which start faster than processes; scikit-learn's configuration is one of the thread.
    with sklearn.config_context(assume_finite=True), joblib.parallel_config("threading"):
        found = sg.cross_evaluate(Configured(), X, y, qid=qid, cv=4, n_jobs=2, progress=True)
    for name, values in of_ridge.per_query.items():
        np.testing.assert_array_equal(found.per_query[name], values)


class Configured(Ridge):
    """Fits only where the configuration of its user has come along."""

    def fit(self, X, y):
        assert sklearn.get_config()["assume_finite"]
        return super().fit(X, y)


def shown_on_a_terminal(progress):
    """What cross_evaluate writes to a standard error that is a terminal of 80 columns."""
    X, y, qid = sg.datasets.make_ranking(n_queries=12, random_state=0)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with os.fdopen(theirs, "w") as terminal, contextlib.redirect_stderr(terminal):
        sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=4, progress=progress)
        terminal.write("end")
        terminal.flush()
        shown = b""
        while not shown.endswith(b"end"):  # it arrives in pieces
            shown += os.read(ours, 100_000)
    os.close(ours)
    return shown.decode().removesuffix("end")


def test_a_bar_shows_the_folds_on_a_terminal_only(capfd):
    shown = shown_on_a_terminal(progress=True)
    assert "folds:   0%" in shown and "folds: 100%" in shown and "4/4" in shown
    assert shown_on_a_terminal(progress=False) == ""
    X, y, qid = sg.datasets.make_ranking(n_queries=12, random_state=0)
    sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=4, progress=True)
    assert capfd.readouterr() == ("", "")


# Weights -----------------------------------------------------------------------------------------

class RecordsWeights(Ridge):
    def fit(self, X, y, sample_weight=None):
        self.weights_ = sample_weight
        return super().fit(X, y)


def test_weights_count_in_means_and_reach_a_fit_that_asks_for_them(ranking, of_ridge):
    X, y, qid = ranking
    weight = np.where(qid % 2, 1.0, 3.0)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = RecordsWeights().set_fit_request(sample_weight=True)
    settings = {"qid": qid, "cv": 4, "return_estimator": True, "sample_weight": weight}
    for ranker in (asking, RecordsWeights()):
        cv = sg.cross_evaluate(ranker, X, y, **settings)
        np.testing.assert_array_equal(cv.weights, np.where(cv.query_ids % 2, 1.0, 3.0))
        values = cv.per_query["MuAP"]
        np.testing.assert_array_equal(values, of_ridge.per_query["MuAP"])
        assert cv.mean()["MuAP"] == pytest.approx(np.average(values, weights=cv.weights))
        for fitted, (train, _) in zip(cv.estimators, GroupKFold(4).split(X, y, qid), strict=True):
            expected = weight[train] if ranker is asking else None
            np.testing.assert_array_equal(fitted.weights_, expected)


# Failing folds -----------------------------------------------------------------------------------

class FailsWhere(Ridge):
    """Fails in fit, in predict or by predicting nan in the fold that tests `row`."""

    def __init__(self, row=None, how="fit"):
        super().__init__()
        self.row = row
        self.how = how

    def _is_in(self, X):
        return (X == self.row).all(axis=1).any()

    def fit(self, X, y):
        if self.how == "fit" and not self._is_in(X):
            raise RuntimeError("no fit")
        return super().fit(X, y)

    def predict(self, X):
        if self.how == "predict" and self._is_in(X):
            raise RuntimeError("no prediction")
        scores = super().predict(X)
        return scores * np.nan if self.how == "nan" and self._is_in(X) else scores


HOW = {
    "fit": "RuntimeError: no fit",
    "predict": "RuntimeError: no prediction",
    "nan": r"ValueError: Predictions must not contain NaN; got nan for row \d+ of X",
}


def failing_in_fold_1(X, y, qid, how):
    _, test = list(GroupKFold(4).split(X, y, qid))[1]
    return FailsWhere(X[test[0]].copy(), how)


@pytest.mark.parametrize(
    ("how", "error_score"), [("fit", np.nan), ("fit", 0), ("predict", -1.5), ("nan", np.nan)]
)
def test_a_failing_fold_gets_the_error_score_and_says_so(ranking, of_ridge, how, error_score):
    X, y, qid = ranking
    ranker = failing_in_fold_1(X, y, qid, how)
    n = np.count_nonzero(of_ridge.fold == 1)
    message = rf"1 of 4 .* {n} queries have the value {error_score}. Error in fold 1: {HOW[how]}"
    with pytest.warns(FitFailedWarning, match=message):
        cv = sg.cross_evaluate(ranker, X, y, qid=qid, cv=4, error_score=error_score)
    for name, values in of_ridge.per_query.items():
        np.testing.assert_array_equal(
            cv.per_query[name], np.where(cv.fold == 1, error_score, values)
        )
    assert cv.n_undefined == of_ridge.n_undefined
    frame = cv.by_fold()
    assert frame["error"][[0, 2, 3]].tolist() == [""] * 3
    assert re.match(HOW[how], frame["error"][1])
    np.testing.assert_equal(frame["MuAP"][1], float(error_score))
    assert np.isnan(frame["score_time"]).tolist() == [False, True, False, False]
    assert np.isnan(frame["fit_time"]).tolist() == [False, how == "fit", False, False]


def test_an_error_is_raised_by_default_and_if_all_folds_fail(ranking):
    X, y, qid = ranking
    ranker = failing_in_fold_1(X, y, qid, "predict")
    with pytest.raises(RuntimeError, match="no prediction"):
        sg.cross_evaluate(ranker, X, y, qid=qid, cv=4)
    with pytest.raises(ValueError, match="Error in fold 0: AssertionError: bad input"):
        sg.cross_evaluate(NeverFitted(), X, y, qid=qid, error_score=0)


# As an Evaluation --------------------------------------------------------------------------------

def test_json_gives_back_the_same_but_the_estimators(ranking):
    X, y, qid = ranking
    ranker = failing_in_fold_1(X, y, qid, "predict")
    with pytest.warns(FitFailedWarning):
        cv = sg.cross_evaluate(
            ranker, X, y, qid=qid, cv=4, error_score=np.nan, return_estimator=True
        )
    found = sg.Evaluation.from_json(cv.to_json())
    assert type(found) is sg.CrossEvaluation and found.estimators is None
    assert found.errors == cv.errors and found.errors[1] is not None
    for name in ("query_ids", "fold", "fit_time", "score_time"):
        np.testing.assert_array_equal(getattr(found, name), getattr(cv, name), strict=True)
    for name, values in cv.per_query.items():
        np.testing.assert_array_equal(found.per_query[name], values)
        np.testing.assert_array_equal(found.undefined[name], cv.undefined[name])


def test_a_cross_evaluation_is_summed_up_by_queries(ranking):
    X, y, qid = ranking
    cv = sg.cross_evaluate(Ridge(), X, y, qid=qid, measures="ap", cv=4)
    assert cv.summary()["n_queries"].tolist() == [40]
    frame = cv.to_frame()
    assert frame.columns.tolist() == cv.worst(3).columns.tolist() == ["query_id", "fold", "AP"]
    assert sorted(frame["fold"].unique()) == [0, 1, 2, 3]
    by_fold = cv.summary(by=cv.fold, method="t").set_index("segment")["mean"]
    assert by_fold.sort_index().tolist() == cv.by_fold()["AP"].tolist()
    parts = sg.Evaluation.concat([cv])
    assert type(parts) is sg.Evaluation and parts.mean() == cv.mean()


def test_a_splitter_that_knows_no_groups_but_keeps_queries_whole_is_welcome():
    X, y, qid = sg.datasets.make_ranking(n_queries=12, random_state=0)
    cv = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=PredefinedSplit(qid % 3))
    np.testing.assert_array_equal(cv.fold, cv.query_ids % 3)
