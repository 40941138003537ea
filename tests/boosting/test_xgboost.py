"""The measures as XGBoost's metrics, in real trainings."""

import copy
import gc
import pickle

import numpy as np
import pytest
import xgboost as xgb
from sklearn.datasets import load_svmlight_file

import skgraded as sg
from skgraded.xgboost import EarlyStopping, custom_metric

PARAMS = {
    "objective": "rank:ndcg",
    "disable_default_eval_metric": 1,
    "nthread": 1,
    "learning_rate": 0.3,
    "max_depth": 3,
}
SIZES = (7, 12, 1, 9, 14, 5, 11, 8, 13, 10)
SIX_DECIMALS = 5.1e-7  # XGBoost writes its history with these


def generated(seed, repeats=3, top=4):
    """X, y and group of a small ranking problem that can be learned in part."""
    rng = np.random.default_rng(seed)
    group = np.tile(SIZES, repeats)
    X = rng.normal(size=(group.sum(), 4))
    y = np.clip(np.round(X[:, 0] + 1.5 * rng.normal(size=len(X))), 0, top)
    return X, y, group


def dmatrix(X, y, group, weight=None):
    return xgb.DMatrix(X, y, group=group, weight=weight)


@pytest.fixture
def sets():
    return dmatrix(*generated(0)), dmatrix(*generated(1, repeats=1))


def history_of(train, evals, metric, n_rounds=8, params=None, **kwargs):
    """Values recorded at each round: {set: {metric: [values]}}, and the Booster."""
    history = {}
    booster = xgb.train(
        PARAMS | (params or {}), train, n_rounds, custom_metric=metric, evals_result=history,
        evals=[(data, f"set{i}") for i, data in enumerate(evals)], verbose_eval=False, **kwargs,
    )
    return history, booster


def repeated(values, every):
    """What `every` makes of the values of all rounds."""
    return [values[i - i % every] for i in range(len(values))]


@pytest.fixture(scope="module")
def letor(data_dir):
    """(X, y, group) of LightGBM's own ranking example: for training, and for validation."""
    folder = data_dir / "lightgbm-lambdarank"
    return [
        (
            *load_svmlight_file(str(folder / f"rank.{part}"), n_features=301),
            np.loadtxt(folder / f"rank.{part}.query", dtype=int),
        )
        for part in ("train", "test")
    ]


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


def test_a_constant_model_on_sorted_rows_does_not_look_perfect():
    train = dmatrix(np.zeros((12, 1)), np.array([1.0, 0.0] * 6), [2] * 6)
    history, _ = history_of(
        train, [train], custom_metric(["ndcg", "ap"]), 1, params={"eval_metric": "ndcg@1"}
    )
    recorded = history["set0"]
    assert recorded["ndcg@1"] == [1.0]
    assert recorded["NDCG"] == pytest.approx([(1 + 1 / np.log2(3)) / 2], abs=SIX_DECIMALS)
    assert recorded["AP"] == pytest.approx([(1 + 1 / 2) / 2], abs=SIX_DECIMALS)


def test_one_measure_gives_one_value_and_a_list_gives_a_list():
    X, y, group = generated(1)
    data, scores = dmatrix(X, y, group), X[:, 1]
    expected = {name: sg.measure(name)(y, scores, group=group) for name in ("ndcng@10", "muap")}
    ndcng = ("NDCNG@10", expected["ndcng@10"])
    assert custom_metric("ndcng@10")(scores, data) == ndcng
    assert custom_metric(sg.NDCNG(k=10))(scores, data) == ndcng
    assert custom_metric(["ndcng@10"])(scores, data) == [ndcng]
    both = [ndcng, ("MuAP", expected["muap"])]
    assert custom_metric(("ndcng@10", sg.MuAP()))(scores, data) == both
    assert type(both[0][1]) is float


def test_queries_given_by_qid_are_the_same():
    X, y, group = generated(1)
    by_qid = xgb.DMatrix(X, y, qid=np.repeat(np.arange(len(group)), group))
    metric = custom_metric("ndcng@5")
    assert metric(X[:, 1], by_qid) == metric(X[:, 1], dmatrix(X, y, group))


def test_the_weight_of_a_query_counts():
    X, y, group = generated(1, repeats=1)
    weight = np.array([3, 0, 1, 0.5, 2, 1, 1, 0.25, 4, 2])
    valid = dmatrix(X, y, group, weight)
    history, booster = history_of(dmatrix(*generated(0)), [valid], custom_metric("mu_map"))
    expected = np.average(sg.MuAP().per_query(y, booster.predict(valid), group=group),
                          weights=weight)
    assert history["set0"]["MuAP"][-1] == pytest.approx(expected, abs=SIX_DECIMALS)
    unweighted = sg.MuAP()(y, booster.predict(valid), group=group)
    assert expected != pytest.approx(unweighted, abs=1e-4)


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
    with pytest.raises(ValueError, match="does not know whether 'rmse' is better high or low"):
        trained(["ndcg@5", "rmse"], EarlyStopping(rounds=4))
    history, booster = trained("rmse", EarlyStopping(rounds=4, maximize=False))
    assert booster.best_iteration == np.argmin(history["set0"]["rmse"])


@pytest.mark.parametrize("metric", ["NDCNG@5", "NDCG(gain=square)@5", "MuAP", "EDRC", "ndcg@5-"])
def test_measures_are_known_by_their_names(metric):
    log = {"valid": {metric: [0.5]}}
    stop, booster = EarlyStopping(rounds=1), xgb.Booster()
    assert not stop.after_iteration(booster, 0, log)
    log["valid"][metric].append(0.6)
    assert not stop.after_iteration(booster, 1, log)
    log["valid"][metric].append(0.55)
    assert stop.after_iteration(booster, 2, log)
    assert booster.best_iteration == 1


@pytest.mark.parametrize("metric", ["mape", "mae", "MuAPE", "ndcng_loss", "APx@3", "logloss"])
def test_names_that_only_look_like_measures_are_not_taken_for_them(metric):
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
    with pytest.raises(TypeError, match="by the size of the queries.*QueryRanker"):
        ranker.fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid], verbose=False)


def test_a_ranker_of_one_document_queries_does_not_get_a_made_up_value():
    X, y, qid = np.ones((3, 1)), np.array([1.0, 0, 1]), [0, 1, 2]
    ranker = xgb.XGBRanker(n_estimators=1, eval_metric=custom_metric("ndcng"), n_jobs=1)
    with pytest.raises(AttributeError, match="by the size of the queries"):
        ranker.fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid], verbose=False)


@pytest.mark.parametrize("weight", [None, np.ones(90)])
def test_a_regressor_that_knows_no_queries_is_refused(weight):
    X, y, _ = generated(1, repeats=1)
    model = xgb.XGBRegressor(n_estimators=1, eval_metric=custom_metric("ndcng"), n_jobs=1)
    weights = None if weight is None else [weight]
    with pytest.raises(AttributeError, match="no queries.*xgb.train"):
        model.fit(X, y, eval_set=[(X, y)], sample_weight_eval_set=weights, verbose=False)


# Every n rounds ----------------------------------------------------------------------------------

@pytest.mark.parametrize("every", [2, 3, 8, 50])
def test_every_computes_at_rounds_1_and_n_plus_1_and_repeats_between(sets, every):
    expected, _ = history_of(sets[0], sets, custom_metric("ndcg"))
    assert all(len(set(recorded["NDCG"])) == 8 for recorded in expected.values())
    metric = custom_metric("ndcg", every=every)
    for n_rounds in (8, 7, 8):  # the count starts anew with each training
        history, _ = history_of(sets[0], sets, metric, n_rounds)
        for name, recorded in history.items():
            assert recorded["NDCG"] == repeated(expected[name]["NDCG"][:n_rounds], every)


def test_a_continued_training_counts_anew(sets):
    _, first = history_of(sets[0], sets[1:], custom_metric("ndcg"), 5)
    expected, _ = history_of(sets[0], sets[1:], custom_metric("ndcg"), xgb_model=first)
    history, _ = history_of(sets[0], sets[1:], custom_metric("ndcg", every=3), xgb_model=first)
    assert history["set0"]["NDCG"] == repeated(expected["set0"]["NDCG"], 3)


def test_one_dmatrix_may_be_watched_twice(sets):
    expected, _ = history_of(sets[0], sets[1:], custom_metric("ndcg"))
    history, _ = history_of(sets[0], [sets[1], sets[1]], custom_metric("ndcg", every=3))
    for recorded in history.values():
        assert recorded["NDCG"] == repeated(expected["set0"]["NDCG"], 3)


def test_every_counts_by_fold_in_cv():
    data = dmatrix(*generated(3))
    results = [
        xgb.cv(PARAMS, data, 7, nfold=3, custom_metric=metric, as_pandas=False)
        for metric in [custom_metric("ndcg")] + 2 * [custom_metric("ndcg", every=3)]
    ]
    for name, values in results[0].items():
        assert results[1][name] == results[2][name] == repeated(values, 3)


def test_a_call_by_hand_always_computes(sets):
    metric = custom_metric("ndcg", every=5)
    scores = np.random.default_rng(0).normal(size=(2, 90))
    found = [metric(s, sets[1])[1] for s in scores]
    assert found == [custom_metric("ndcg")(s, sets[1])[1] for s in scores]
    assert found[0] != found[1]


@pytest.mark.parametrize("every", [0, -1, 1.5, "2", None, True, np.nan])
def test_every_must_be_a_whole_number_from_1(every):
    with pytest.raises((ValueError, TypeError), match="every"):
        custom_metric("ndcng", every=every)


# What is kept, and for how long ------------------------------------------------------------------

def test_a_bare_measure_as_custom_metric_points_to_the_metric(sets):
    with pytest.raises(TypeError, match="DMatrix of xgboost.*what skgraded.xgboost makes of the"):
        history_of(sets[0], sets, sg.NDCG(), 1)


def test_the_truth_is_laid_out_once_a_dmatrix_for_all_metrics(sets):
    before, seen = set(map(id, all_judgments())), []

    def gain(grades):  # asked for at each round
        seen.extend(thing for thing in all_judgments() if id(thing) not in before)
        return grades

    measure = sg.NDCG(gain=gain)
    history_of(sets[0], sets, custom_metric(measure), 1)
    history_of(sets[0], sets, custom_metric([measure, "ap"]), 3)
    assert len(set(map(id, seen))) == len(sets)


def all_judgments():
    return [thing for thing in gc.get_objects() if type(thing) is sg.Judgments]


def n_judgments():
    gc.collect()
    return len(all_judgments())


def test_the_truth_is_released_with_its_dmatrix():
    before = n_judgments()
    metric = custom_metric("ndcg", every=2)
    train, valid = dmatrix(*generated(0)), dmatrix(*generated(1))
    history_of(train, [train, valid], metric)
    assert n_judgments() == before + 2
    del valid
    assert n_judgments() == before + 1
    del train
    assert n_judgments() == before
    xgb.cv(PARAMS, dmatrix(*generated(3)), 2, nfold=3, custom_metric=metric)
    assert n_judgments() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.set_label(data.get_label()[::-1].copy()),
        lambda data: data.set_group(list(SIZES[::-1])),
        lambda data: data.set_weight(np.arange(1.0, 11.0)),
    ],
    ids=["label", "group", "weight"],
)
def test_a_change_of_the_dmatrix_is_seen_at_once(sets, change):
    valid = sets[1]
    scores = np.random.default_rng(4).normal(size=valid.num_row())
    metric = custom_metric("ndcng")

    def by_measure():
        sizes = np.diff(valid.get_uint_info("group_ptr").astype(int))
        values = sg.NDCNG().per_query(valid.get_label(), scores, group=sizes)
        weights = valid.get_weight()
        return pytest.approx(np.average(values, weights=weights if len(weights) else None))

    before = metric(scores, valid)[1]
    assert before == by_measure()
    change(valid)
    assert metric(scores, valid)[1] == by_measure() != before


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("measures", ["ndcng@5", ["ndcng@5", "AP(threshold=2)"]])
def test_copies_measure_the_same_and_remember_nothing(sets, measures, clone):
    metric = custom_metric(measures, every=3)
    expected, _ = history_of(sets[0], sets, metric, 5)
    copied = clone(metric)
    assert repr(copied) == repr(metric) == f"custom_metric({measures!r}, every=3)".replace(
        "ndcng", "NDCNG"
    )
    assert history_of(sets[0], sets, copied, 5)[0] == expected


# Grades of 32 bits, errors -----------------------------------------------------------------------

@pytest.mark.parametrize("scale", [0.1, 0.7, 12.34])
def test_decimal_grades_are_measured_as_they_were_written(scale):
    X, y, group = generated(1)
    y = np.round(y * scale, 6)
    measures = [
        sg.MuAP(), sg.AP(threshold=2 * scale), sg.NDCNG(max_grade=5 * scale), sg.NDCG(k=3)
    ]
    for (name, value), measure in zip(
        custom_metric(measures)(X[:, 0], dmatrix(X, y, group)), measures, strict=True
    ):
        assert name == measure.name
        assert value == pytest.approx(measure(y, X[:, 0], group=group), abs=1e-13)


def test_nan_predictions_are_an_error_that_names_row_and_round(sets):
    signs = iter([1, -1, 1])

    def exploding(preds, data):
        return np.full(len(preds), 3e38 * next(signs)), np.full(len(preds), 1e-30)

    params = {"lambda": 0, "min_child_weight": 0, "max_depth": 1}
    with pytest.raises(ValueError, match="NaN: row 0 is nan at round 2 of the training"):
        history_of(sets[0], sets[:1], custom_metric("ndcng"), 3, params, obj=exploding)
    scores = np.ones(90)
    scores[7] = np.nan
    with pytest.raises(ValueError, match="NaN: row 7 is nan"):
        custom_metric("ndcng")(scores, sets[1])


@pytest.mark.parametrize("undefined", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("weight", [None, [0, 1]], ids=["no weight", "weight"])
def test_a_set_on_which_a_measure_is_undefined_is_an_error(weight, undefined):
    y = np.zeros(6) if weight is None else np.array([1.0, 2, 0, 0, 0, 0])
    data = dmatrix(np.ones((6, 1)), y, [3, 3], weight)
    metric = custom_metric(["precision", sg.MuAP(undefined=undefined)])
    of_weight = " with weight" if weight else ""
    with pytest.raises(ValueError, match=f"MuAP.* is undefined for every query{of_weight} of"):
        history_of(data, [data], metric, 2)


def test_a_dmatrix_without_queries_or_labels_is_an_error():
    X, y, group = generated(1)
    data = xgb.DMatrix(X, y)
    with pytest.raises(ValueError, match="no queries.*qid= or group="):
        history_of(
            data, [data], custom_metric("ndcg"), 1, params={"objective": "reg:squarederror"}
        )
    with pytest.raises(ValueError, match="no labels"):
        custom_metric("ndcg")(np.ones(len(X)), xgb.DMatrix(X, group=group))


def test_scores_of_several_classes_are_an_error():
    data = dmatrix(*generated(1))
    with pytest.raises(ValueError, match=r"1-D.*shape \(270, 5\)"):
        history_of(
            data, [data], custom_metric("ndcng"), 1,
            params={"objective": "multi:softprob", "num_class": 5},
        )


def test_as_many_predictions_as_labels_are_needed(sets):
    with pytest.raises(ValueError, match="There are 89 predictions, but 90 labels"):
        custom_metric("ndcng")(np.ones(89), sets[1])


@pytest.mark.parametrize("measures", ["ndgc@10", [], ["map", "ap"], 5, None])
def test_measures_that_cannot_be_read_are_an_error(measures):
    with pytest.raises((ValueError, TypeError)):
        custom_metric(measures)
