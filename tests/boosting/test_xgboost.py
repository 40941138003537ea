"""Our metrics and EarlyStopping in XGBoost's training functions."""

import numpy as np
import pytest
import xgboost as xgb
from recorded import SIX_DECIMALS, XGBoost, generated, letor_parts

import skgraded as sg
from skgraded.xgboost import EarlyStopping, custom_metric

PARAMS = XGBoost.params
dmatrix, history_of = XGBoost.data, XGBoost.history_of


@pytest.fixture(scope="module")
def sets():
    return XGBoost.sets()


@pytest.fixture(scope="module")
def letor_sets(data_dir):
    return [dmatrix(*part) for part in letor_parts(data_dir)]


# Values ------------------------------------------------------------------------------------------


def test_ordinal_ndcg_equals_xgboost_in_every_round(letor_sets):
    cut_offs = [1, 3, 5, 10, 1000]
    ours = [sg.NDCG(k=k, ties="ordinal", undefined=1.0) for k in cut_offs]
    history, _ = history_of(
        letor_sets[0],
        letor_sets,
        custom_metric(ours),
        12,
        params={"eval_metric": [f"ndcg@{k}" for k in cut_offs]},
    )
    for recorded in history.values():
        for measure in ours:
            theirs = recorded[f"ndcg@{measure.k}"]
            assert len(theirs) == 12
            np.testing.assert_allclose(recorded[measure.name], theirs, rtol=0, atol=1e-5)


def test_ordinal_ap_of_binary_grades_equals_map_of_xgboost():
    weight = np.random.default_rng(0).uniform(0.2, 3, 30)
    train, valid = (dmatrix(*generated(seed, top=1), weight) for seed in (0, 1))
    ours = sg.AP(k=3, ties="ordinal", undefined=1.0)
    params = {"objective": "rank:map", "eval_metric": "map@3"}
    history, _ = history_of(train, [train, valid], custom_metric(ours), 12, params)
    for recorded in history.values():
        assert len(set(recorded[ours.name])) > 5
        np.testing.assert_allclose(recorded[ours.name], recorded["map@3"], rtol=0, atol=1e-5)


def test_cv_gives_the_mean_over_folds_of_whole_queries():
    X, y, group = generated(3)
    data, measures = dmatrix(X, y, group), [sg.NDCNG(k=5), sg.MuAP()]
    folds = []

    def keep_fold(train, test, params):
        folds.append((train, test))
        return train, test, params

    result = xgb.cv(
        PARAMS,
        data,
        6,
        nfold=3,
        custom_metric=custom_metric(measures),
        as_pandas=False,
        fpreproc=keep_fold,
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


def test_the_sums_of_two_workers_give_the_mean_over_all_queries():
    metric = custom_metric(["ndcg", "AP(undefined=nan)", "rr"])
    y, scores, sizes = np.array([2, 0, 1, 0, 0, 1, 0]), np.arange(7.0), [3, 2, 2]
    for weights in (None, np.array([1, 1, 1, 5, 5, 3, 3])):
        sums = sum(
            metric.compute_sums(
                sg.Judgments(
                    y[rows],
                    group=group,
                    sample_weight=None if weights is None else weights[rows],
                ),
                scores[rows],
            )
            for rows, group in ((slice(5), sizes[:2]), (slice(5, 7), sizes[2:]))
        )
        whole = sg.Judgments(y, group=sizes, sample_weight=weights)
        assert metric.combine_sums(sums) == pytest.approx(metric.compute_means(whole, scores))


@pytest.mark.parametrize("weight", [1, 0.25])
def test_a_single_defined_query_suffices_for_a_mean_over_workers(weight):
    metric, judgments = custom_metric("rr"), sg.Judgments([0, 1], sample_weight=[weight] * 2)
    assert metric.combine_sums(metric.compute_sums(judgments, [2.0, 1.0])) == [1 / 2]


@pytest.mark.parametrize(
    "text",
    ["AP(threshold=1e-05)@3", "NDCG(ties='worst',gain='linear')@mean", "EDRC(discount='log2')"],
)
def test_xgboost_records_every_name_unchanged(sets, text):
    history, _ = history_of(sets[0], sets, custom_metric([text, "rr"]), 2)
    assert [list(recorded) for recorded in history.values()] == 2 * [[text, "RR"]]
    result = xgb.cv(PARAMS, sets[0], 1, nfold=2, custom_metric=custom_metric(text))
    assert f"test-{text}-mean" in result


# Early stopping ----------------------------------------------------------------------------------


def test_early_stopping_finds_the_best_value_where_xgboost_would_minimize(letor_sets):
    train, valid = letor_sets
    metric, stop, values_of_fits = custom_metric("ndcng@5"), EarlyStopping(rounds=8), []
    for _ in range(2):  # the same callback is used in two training runs
        history, booster = history_of(train, [train, valid], metric, 100, callbacks=[stop])
        values = history["set1"]["NDCNG@5"]
        assert booster.best_iteration == np.argmax(values) > 0
        assert len(values) == booster.best_iteration + 1 + 8 < 100
        assert booster.best_score == max(values)
        values_of_fits.append(values)
    assert values_of_fits[0] == values_of_fits[1]

    settings = {"early_stopping_rounds": 8, "maximize": True}
    assert history_of(train, [train, valid], metric, 100, **settings)[0]["set1"] == history["set1"]


XGBOOST_STOP = xgb.callback.EarlyStopping


@pytest.mark.parametrize(
    "settings",
    [
        {"early_stopping_rounds": 3},
        {"early_stopping_rounds": 3, "maximize": False},
        {"callbacks": [XGBOOST_STOP(rounds=3)]},
        {"callbacks": [XGBOOST_STOP(rounds=3, metric_name="NDCNG@5", data_name="set0")]},
        {"callbacks": [EarlyStopping(rounds=3, maximize=False)]},
    ],
)
def test_early_stopping_that_minimizes_a_measure_is_rejected(sets, settings):
    metric = custom_metric(["rr", "ndcng@5"])
    for train in (
        lambda: history_of(sets[0], sets, metric, 2, **settings),
        lambda: xgb.cv(PARAMS, sets[0], 2, nfold=2, custom_metric=metric, **settings),
    ):
        with pytest.raises(ValueError, match=r"would minimize NDCNG@5, .* maximize=True, .*=3\)"):
            train()


def test_early_stopping_may_minimize_any_other_metric(sets):
    metric = custom_metric("ndcng@5")

    def loss(preds, data):
        return "loss", 1 - metric(preds, data)[1]

    for used, name in ((metric, "rmse"), (loss, "loss")):
        stop = XGBOOST_STOP(rounds=2, metric_name=name)
        params = {"eval_metric": "rmse"}
        history, booster = history_of(sets[0], sets, used, 30, params, callbacks=[stop])
        assert booster.best_iteration == np.argmin(history["set1"][name])


def test_the_metric_and_the_data_set_to_stop_on_can_be_named(letor_sets):
    train, valid = letor_sets
    stop = EarlyStopping(rounds=5, metric_name="NDCNG@5", data_name="set0", save_best=True)
    history, booster = history_of(
        valid, [train, valid], custom_metric(["ndcng@5", "mu_map"]), 100, callbacks=[stop]
    )
    values = history["set0"]["NDCNG@5"]
    assert booster.best_iteration == np.argmax(values) < len(values) - 1
    assert booster.num_boosted_rounds() == np.argmax(values) + 1


def test_early_stopping_in_cv_depends_on_the_mean_over_folds(sets):
    kwargs = {"nfold": 3, "custom_metric": custom_metric("ndcng@5"), "as_pandas": False}
    all_rounds = xgb.cv(PARAMS, sets[0], 40, **kwargs)["test-NDCNG@5-mean"]
    stopped = xgb.cv(PARAMS, sets[0], 40, callbacks=[EarlyStopping(rounds=5)], **kwargs)
    values = stopped["test-NDCNG@5-mean"]
    assert values == all_rounds[: len(values)]
    assert len(values) - 1 == np.argmax(all_rounds[: len(values) + 5]) < 35


def trained_on_own_metrics(sets, metrics, **stopping):
    params = {"eval_metric": metrics, "learning_rate": 1}
    return history_of(
        sets[0], sets[1:], None, 30, params, callbacks=[EarlyStopping(rounds=4, **stopping)]
    )


def test_early_stopping_maximizes_the_ranking_metrics_of_xgboost(sets):
    history, booster = trained_on_own_metrics(sets, ["rmse", "ndcg@5"])
    assert booster.best_iteration == np.argmax(history["set0"]["ndcg@5"])
    history, booster = trained_on_own_metrics(sets, "rmse", maximize=False)
    assert booster.best_iteration == np.argmin(history["set0"]["rmse"])
    with pytest.raises(ValueError, match="cannot infer whether higher values of 'rmse' are better"):
        trained_on_own_metrics(sets, ["ndcg@5", "rmse"])


def test_early_stopping_recognizes_names_of_measures():
    for metric in ("NDCNG@5", "NDCG(gain=square)@5", "MuAP", "EDRC", "ndcg@5-"):
        stop, booster, values = EarlyStopping(rounds=1), xgb.Booster(), []
        for i, value in enumerate((0.5, 0.6, 0.55)):
            values.append(value)
            stops = stop.after_iteration(booster, i, {"valid": {metric: values}})
            assert stops == (i == 2), metric
        assert booster.best_iteration == 1, metric
    for metric in ("mape", "mae", "MuAPE", "ndcng_loss", "APx@3", "logloss"):
        with pytest.raises(ValueError, match="maximize=True or False"):
            EarlyStopping(rounds=1).after_iteration(xgb.Booster(), 0, {"valid": {metric: [0.5]}})


# XGBoost's estimators ----------------------------------------------------------------------------


X, QID = np.ones((10, 1)), np.repeat([0, 1], [2, 8])
Y = np.isin(np.arange(10), [0, 2]) * 1.0  # the first row of each query


@pytest.mark.parametrize(
    "cls, kwargs",
    [
        (xgb.XGBRanker, {"qid": QID, "eval_qid": [QID]}),
        (xgb.XGBRegressor, {}),
        (xgb.XGBRegressor, {"sample_weight_eval_set": [np.ones(10)]}),
    ],
)
def test_a_metric_as_eval_metric_of_an_estimator_raises_an_error(cls, kwargs):
    model = cls(n_estimators=1, eval_metric=custom_metric("ndcng@5"), n_jobs=1)
    with pytest.raises(TypeError, match="works only with xgb.train.*QueryRanker"):
        model.fit(X, Y, eval_set=[(X, Y)], verbose=False, **kwargs)
