"""Our metrics in LightGBM: training functions, early stopping, rounds of a finished model."""

import lightgbm as lgb
import numpy as np
import pytest
from recorded import SIZES, LightGBM, generated, letor_parts, n_judgments

import skgraded as sg
from skgraded.lightgbm import eval_metric

PARAMS = LightGBM.params
dataset, history_of = LightGBM.data, LightGBM.history_of


@pytest.fixture
def sets():
    return LightGBM.sets()


@pytest.fixture(scope="module")
def letor(data_dir):
    return letor_parts(data_dir)


# Values ------------------------------------------------------------------------------------------


def test_ordinal_values_equal_lightgbm_in_every_round(letor):
    train = dataset(*letor[0])
    valid = dataset(*letor[1], reference=train)
    cut_offs = [1, 3, 5, 10, 1000]
    rule = {"ties": "ordinal", "undefined": 1.0}
    ours = [cls(k=k, **rule) for k in cut_offs for cls in (sg.NDCG, sg.AP)]
    history, _ = history_of(
        train,
        [train, valid],
        eval_metric(ours),
        n_rounds=12,
        params={"metric": ["ndcg", "map"], "eval_at": cut_offs},
    )
    assert set(history) == {"set0", "set1"}
    for recorded in history.values():
        for measure in ours:
            name = {"NDCG": "ndcg", "AP": "map"}[type(measure).__name__]
            theirs = recorded[f"{name}@{measure.k}"]
            assert len(theirs) == 12
            np.testing.assert_allclose(recorded[measure.name], theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("measure", [sg.NDCNG(k=10), sg.AP(threshold=2, ties="worst")])
def test_early_stopping_finds_the_best_recorded_value(letor, measure):
    train = dataset(*letor[0])
    X, y, group = letor[1]
    history, booster = history_of(
        train,
        [dataset(X, y, group, reference=train)],
        eval_metric(measure),
        n_rounds=200,
        callbacks=[lgb.early_stopping(8, verbose=False)],
    )
    values = history["set0"][measure.name]
    assert booster.best_iteration == np.argmax(values) + 1 < len(values) < 200
    for n in (1, booster.best_iteration):
        scores = booster.predict(X, num_iteration=n)
        assert values[n - 1] == pytest.approx(measure(y, scores, group=group), abs=1e-9)
    assert booster.best_score["set0"][measure.name] == max(values)


def test_a_metric_accepts_arrays_instead_of_a_dataset(sets):
    valid = sets[1].construct()
    y, scores, group = valid.get_label(), np.random.default_rng(2).normal(size=90), list(SIZES)
    metric = eval_metric(["ndcng@10", "mu_map"])
    expected = metric(scores, valid)
    assert metric(y, scores, None, valid.get_group()) == expected
    assert metric(list(y), list(scores), None, group) == expected


def test_cv_gives_the_mean_over_the_folds():
    X, y, group = generated(3)
    starts = np.cumsum(group) - group
    halves = [np.arange(starts[15]), np.arange(starts[15], len(y))]
    folds = [(halves[0], halves[1]), (halves[1], halves[0])]
    before = n_judgments()
    result = lgb.cv(
        PARAMS,
        dataset(X, y, group),
        6,
        folds=folds,
        feval=eval_metric(["ndcng@5", "mu_map"]),
        return_cvbooster=True,
    )
    for measure in (sg.NDCNG(k=5), sg.MuAP()):
        by_fold = [
            measure(y[test], booster.predict(X[test]), group=sizes)
            for booster, (_, test), sizes in zip(
                result["cvbooster"].boosters, folds, (group[15:], group[:15]), strict=True
            )
        ]
        mean = (by_fold[0] + by_fold[1]) / 2
        assert result[f"valid {measure}-mean"][-1] == pytest.approx(mean, abs=1e-9)
    del result
    assert n_judgments() == before  # released with the folds


def test_a_ranker_records_the_same_values_as_train(sets):
    X, y, group = generated(0)
    eval_X, eval_y, eval_group = generated(1, repeats=1)
    # LightGBM 4.6 and 4.7 accept different arguments without a warning.
    is_new = "eval_X" in lgb.LGBMRanker.fit.__annotations__
    pair = {"eval_X": eval_X, "eval_y": eval_y} if is_new else {"eval_set": [(eval_X, eval_y)]}
    metric = eval_metric(["ndcng@10", "mu_map"])
    history, _ = history_of(sets[0], sets[1:], metric)
    before = n_judgments()
    ranker = lgb.LGBMRanker(n_estimators=8, **PARAMS).fit(
        X, y, group=group, eval_group=[eval_group], eval_metric=metric, **pair
    )
    (recorded,) = ranker.evals_result_.values()
    assert recorded.keys() == {"NDCNG@10", "MuAP"}
    for name, values in history["set0"].items():
        np.testing.assert_allclose(recorded[name], values, rtol=0, atol=1e-12)
    assert n_judgments() == before  # released with the Datasets


def test_a_threshold_too_small_for_32_bits_does_not_make_grade_0_relevant():
    metric = eval_metric("AP(threshold=1e-60)")
    assert metric(np.array([0, 1]), np.array([2.0, 1.0]), None, [2])[1] == 1 / 2
