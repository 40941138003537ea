"""The measures as XGBoost's metrics, in real trainings; see also `test_recorded`."""

import numpy as np
import pytest
import xgboost as xgb
from recorded import SIX_DECIMALS, XGBoost, generated, letor_parts

import skgraded as sg
from skgraded.xgboost import EarlyStopping, custom_metric

PARAMS = XGBoost.params
dmatrix, history_of = XGBoost.data, XGBoost.history_of


@pytest.fixture
def sets():
    return XGBoost.sets()


@pytest.fixture(scope="module")
def letor(data_dir):
    return letor_parts(data_dir)


# Values ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("weighted", [False, True])
def test_ordinal_values_are_those_of_xgboost_at_every_round(letor, weighted):
    # The weighted ndcg of XGBoost is right only where every query has a relevant document, see
    # the next test.
    parts = [with_relevant(*part) if weighted else part for part in letor]
    rng = np.random.default_rng(0)
    weights = [rng.uniform(0.2, 3, len(part[2])) if weighted else None for part in parts]
    train, valid = (dmatrix(*part, w) for part, w in zip(parts, weights, strict=True))
    cut_offs = [1, 3, 5, 10, 1000]
    ours = [sg.NDCG(k=k, ties="ordinal", undefined=1.0) for k in cut_offs]
    history, _ = history_of(
        train, [train, valid], custom_metric(ours), 30,
        params={"eval_metric": [f"ndcg@{k}" for k in cut_offs]},
    )
    for recorded in history.values():
        for measure in ours:
            theirs = recorded[f"ndcg@{measure.k}"]
            assert len(theirs) == 30
            np.testing.assert_allclose(recorded[measure.name], theirs, rtol=0, atol=1e-5)


def with_relevant(X, y, group):
    """The queries that have a relevant document."""
    ends = np.cumsum(group)
    kept = np.add.reduceat(y, ends - group) > 0
    rows = np.repeat(kept, group)
    return X[rows], y[rows], group[kept]


def test_a_query_without_a_relevant_document_keeps_its_weight_unlike_in_xgboost():
    y, scores, weight = [0, 1, 0, 0], np.array([2.0, 1, 2, 1]), [3, 5]
    data = dmatrix(np.zeros((4, 1)), y, [2, 2], weight)
    data.set_base_margin(scores)
    few = dmatrix(np.zeros((2, 1)), [0, 1], [2])
    theirs = xgb.train(PARAMS | {"eval_metric": "ndcg@5"}, few, 0).eval(data)
    first = 1 / np.log2(3)
    assert float(theirs.split(":")[1]) == pytest.approx((3 * first + 1) / 8)
    measure = sg.NDCG(k=5, ties="ordinal", undefined=1.0)
    assert custom_metric(measure)(scores, data)[1] == pytest.approx((3 * first + 5 * 1) / 8)


@pytest.mark.parametrize("k", [3, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_ordinal_values_of_binary_grades_are_those_of_xgboost_map(k, weighted):
    weight = np.random.default_rng(0).uniform(0.2, 3, 30) if weighted else None
    train, valid = (dmatrix(*generated(seed, top=1), weight) for seed in (0, 1))
    ours = sg.AP(k=k, ties="ordinal", undefined=1.0)
    history, _ = history_of(
        train, [train, valid], custom_metric(ours), 20,
        params={"objective": "rank:map", "eval_metric": f"map@{k}"},
    )
    for recorded in history.values():
        assert len(set(recorded[ours.name])) > 5
        np.testing.assert_allclose(recorded[ours.name], recorded[f"map@{k}"], rtol=0, atol=1e-5)


def test_values_are_those_of_the_measures_on_the_predictions(letor):
    (_, y, group), valid = letor[1], dmatrix(*letor[1])
    measures = [sg.NDCNG(k=10), sg.MuAP(), sg.AP(threshold=2, ties="worst"), sg.TauAP()]
    history, booster = history_of(dmatrix(*letor[0]), [valid], custom_metric(measures), 12)
    for n in (1, 7, 12):
        scores = booster.predict(valid, iteration_range=(0, n))
        for measure in measures:
            expected = measure(y, scores, group=group)
            recorded = history["set0"][measure.name][n - 1]
            assert recorded == pytest.approx(expected, abs=SIX_DECIMALS)


def test_queries_given_by_qid_are_the_same():
    X, y, group = generated(1)
    by_qid = xgb.DMatrix(X, y, qid=np.repeat(np.arange(len(group)), group))
    metric = custom_metric("ndcng@5")
    assert metric(X[:, 1], by_qid) == metric(X[:, 1], dmatrix(X, y, group))


def test_cv_gives_the_mean_over_folds_of_whole_queries():
    X, y, group = generated(3)
    data, measures = dmatrix(X, y, group), [sg.NDCNG(k=5), sg.MuAP()]
    folds = []

    def seen(train, test, params):
        folds.append((train, test))
        return train, test, params

    result = xgb.cv(
        PARAMS, data, 6, nfold=3, custom_metric=custom_metric(measures), as_pandas=False,
        fpreproc=seen,
    )
    for measure in measures:
        by_fold = []
        for train, test in folds:
            booster = xgb.train(PARAMS, train, 6)
            sizes = np.diff(test.get_uint_info("group_ptr").astype(int))
            by_fold.append(measure(test.get_label(), booster.predict(test), group=sizes))
        assert len(by_fold) == 3
        recorded = result[f"test-{measure}-mean"][-1]
        assert recorded == pytest.approx(np.mean(by_fold), abs=SIX_DECIMALS)


@pytest.mark.parametrize(
    "text",
    ["AP(threshold=1e-05)@3", "NDCG(ties='worst',gain='linear')@mean", "EDRC(discount='log2')"],
)
def test_every_name_survives_the_line_that_xgboost_writes(sets, text):
    history, _ = history_of(sets[0], sets, custom_metric([text, "rr"]), 2)
    assert [list(recorded) for recorded in history.values()] == 2 * [[text, "RR"]]
    result = xgb.cv(PARAMS, sets[0], 1, nfold=2, custom_metric=custom_metric(text))
    assert f"test-{text}-mean" in result


# Early stopping ----------------------------------------------------------------------------------

@pytest.mark.parametrize("measure", ["ndcng@5", "mu_map"])
def test_early_stopping_finds_the_best_value_where_xgboost_would_minimise(letor, measure):
    train, valid = (dmatrix(*part) for part in letor)
    metric, name = custom_metric(measure), sg.measure(measure).name
    history, booster = history_of(
        train, [train, valid], metric, 200, callbacks=[EarlyStopping(rounds=15)]
    )
    values = history["set1"][name]
    assert booster.best_iteration == np.argmax(values) > 0
    assert len(values) == booster.best_iteration + 1 + 15 < 200
    assert booster.best_score == max(values)

    history, booster = history_of(train, [train, valid], metric, 200, early_stopping_rounds=15)
    values = history["set1"][name]
    assert booster.best_iteration == np.argmin(values) != np.argmax(values)
    assert booster.best_score == min(values) < max(values)


def test_a_metric_and_a_set_may_be_named(letor):
    train, valid = (dmatrix(*part) for part in letor)
    stop = EarlyStopping(rounds=5, metric_name="NDCNG@5", data_name="set0", save_best=True)
    history, booster = history_of(
        valid, [train, valid], custom_metric(["ndcng@5", "mu_map"]), 100, callbacks=[stop]
    )
    values = history["set0"]["NDCNG@5"]
    assert booster.best_iteration == np.argmax(values) < len(values) - 1
    assert booster.num_boosted_rounds() == np.argmax(values) + 1


def test_a_rise_below_min_delta_is_none(letor):
    train, valid = (dmatrix(*part) for part in letor)
    history, booster = history_of(
        train, [valid], custom_metric("ndcng@5"), 100,
        callbacks=[EarlyStopping(rounds=3, min_delta=0.5)],
    )
    assert booster.best_iteration == 0 and len(history["set0"]["NDCNG@5"]) == 4


def test_early_stopping_in_cv_goes_by_the_mean_over_folds(letor):
    data, metric = dmatrix(*letor[0]), custom_metric("ndcng@5")
    kwargs = {"nfold": 3, "custom_metric": metric, "as_pandas": False}
    all_rounds = xgb.cv(PARAMS, data, 40, **kwargs)["test-NDCNG@5-mean"]
    stopped = xgb.cv(PARAMS, data, 40, callbacks=[EarlyStopping(rounds=5)], **kwargs)
    values = stopped["test-NDCNG@5-mean"]
    assert values == all_rounds[: len(values)]
    assert len(values) - 1 == np.argmax(all_rounds[: len(values) + 5]) < 35


def test_it_may_be_used_again(letor):
    train, valid = (dmatrix(*part) for part in letor)
    stop, found = EarlyStopping(rounds=5), []
    for _ in range(2):
        history, booster = history_of(
            train, [valid], custom_metric("ndcng@5"), 100, callbacks=[stop]
        )
        found.append((booster.best_iteration, history["set0"]["NDCNG@5"]))
    assert found[0] == found[1]


def test_xgboost_own_ranking_metric_is_maximised_and_other_names_must_be_told(sets):
    def trained(metrics, stop):
        params = {"eval_metric": metrics, "learning_rate": 1}
        return history_of(sets[0], sets[1:], None, 30, params, callbacks=[stop])

    history, booster = trained(["rmse", "ndcg@5"], EarlyStopping(rounds=4))
    assert booster.best_iteration == np.argmax(history["set0"]["ndcg@5"])
    with pytest.raises(ValueError, match="cannot infer whether higher values of 'rmse' are better"):
        trained(["ndcg@5", "rmse"], EarlyStopping(rounds=4))
    history, booster = trained("rmse", EarlyStopping(rounds=4, maximize=False))
    assert booster.best_iteration == np.argmin(history["set0"]["rmse"])


def test_measures_are_known_by_their_names():
    for metric in ("NDCNG@5", "NDCG(gain=square)@5", "MuAP", "EDRC", "ndcg@5-"):
        stop, booster, values = EarlyStopping(rounds=1), xgb.Booster(), []
        for i, value in enumerate((0.5, 0.6, 0.55)):
            values.append(value)
            stops = stop.after_iteration(booster, i, {"valid": {metric: values}})
            assert stops == (i == 2), metric
        assert booster.best_iteration == 1, metric


def test_names_that_only_look_like_measures_are_not_taken_for_them():
    for metric in ("mape", "mae", "MuAPE", "ndcng_loss", "APx@3", "logloss"):
        with pytest.raises(ValueError, match="maximize=True or False"):
            EarlyStopping(rounds=1).after_iteration(xgb.Booster(), 0, {"valid": {metric: [0.5]}})


@pytest.mark.parametrize("name", ["metric_name", "data_name"])
def test_a_name_that_there_is_not_is_refused_by_xgboost(sets, name):
    with pytest.raises(ValueError, match="No .* named: nothing"):
        history_of(
            sets[0], sets, custom_metric("ap"), 3,
            callbacks=[EarlyStopping(rounds=2, **{name: "nothing"})],
        )


# Rankers of scikit-learn form --------------------------------------------------------------------

def test_xgboost_averages_a_ranker_metric_by_query_size_so_ours_refuses():
    # Why: two queries, 1 and 4 documents' worth of weight, values 1 and 0, are 0.2 to XGBoost.
    X, y = np.ones((10, 1)), np.array([1.0, 0] + [1.0] + [0] * 7)
    qid = [0] * 2 + [1] * 8

    def first(y_true, y_score):
        return float(len(y_true) == 2)

    ranker = xgb.XGBRanker(n_estimators=1, eval_metric=first, n_jobs=1)
    ranker.fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid], verbose=False)
    assert ranker.evals_result()["validation_0"]["first"] == [0.2]

    ranker.set_params(eval_metric=custom_metric("ndcng@5"))
    with pytest.raises(TypeError, match="by query size.*QueryRanker"):
        ranker.fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid], verbose=False)


def test_a_ranker_of_one_document_queries_does_not_get_a_made_up_value():
    X, y, qid = np.ones((3, 1)), np.array([1.0, 0, 1]), [0, 1, 2]
    ranker = xgb.XGBRanker(n_estimators=1, eval_metric=custom_metric("ndcng"), n_jobs=1)
    with pytest.raises(AttributeError, match="by query size"):
        ranker.fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid], verbose=False)


@pytest.mark.parametrize("weight", [None, np.ones(90)])
def test_a_regressor_that_knows_no_queries_is_refused(weight):
    X, y, _ = generated(1, repeats=1)
    model = xgb.XGBRegressor(n_estimators=1, eval_metric=custom_metric("ndcng"), n_jobs=1)
    weights = None if weight is None else [weight]
    with pytest.raises(AttributeError, match="no queries.*xgb.train"):
        model.fit(X, y, eval_set=[(X, y)], sample_weight_eval_set=weights, verbose=False)


# Grades of 32 bits, errors -----------------------------------------------------------------------

@pytest.mark.nightly
def test_early_stopping_of_xgboost_keeps_the_first_round_if_a_metric_is_nan(sets):
    train, valid = sets
    stop = xgb.callback.EarlyStopping(rounds=5, maximize=True)
    booster = xgb.train(
        PARAMS, train, 30, evals=[(valid, "valid")], verbose_eval=False, callbacks=[stop],
        custom_metric=lambda preds, dmatrix: ("no_value", float("nan")),
    )
    assert booster.best_iteration == 0


def test_nan_predictions_are_an_error_that_names_row_and_round(sets):
    signs = iter([1, -1, 1])

    def exploding(preds, data):
        return np.full(len(preds), 3e38 * next(signs)), np.full(len(preds), 1e-30)

    params = {"lambda": 0, "min_child_weight": 0, "max_depth": 1}
    with pytest.raises(ValueError, match="NaN; got nan for row 0 at round 2 of the training"):
        history_of(sets[0], sets[:1], custom_metric("ndcng"), 3, params, obj=exploding)
    scores = np.ones(90)
    scores[7] = np.nan
    with pytest.raises(ValueError, match="NaN; got nan for row 7"):
        custom_metric("ndcng")(scores, sets[1])


def test_a_dmatrix_without_queries_or_labels_is_an_error():
    X, y, group = generated(1)
    data = xgb.DMatrix(X, y)
    with pytest.raises(ValueError, match="no queries.*qid= or group="):
        history_of(
            data, [data], custom_metric("ndcg"), 1, params={"objective": "reg:squarederror"}
        )
    with pytest.raises(ValueError, match="no labels"):
        custom_metric("ndcg")(np.ones(len(X)), xgb.DMatrix(X, group=group))

