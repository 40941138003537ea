"""The example that tunes with Optuna: values of trials, pruning, and the printed table."""

import re
import runpy
from types import SimpleNamespace

import lightgbm as lgb
import numpy as np
import pytest
import sklearn
from peers import peer
from scripts import EXAMPLES, run
from sklearn.model_selection import GroupKFold

import skgraded as sg

optuna = peer("optuna")
TrialState = optuna.trial.TrialState
example = SimpleNamespace(**runpy.run_path(str(EXAMPLES / "tune_with_optuna.py")))


@pytest.fixture(scope="module")
def data():
    return sg.datasets.make_ranking(n_queries=60, n_documents=15, random_state=0)


@pytest.fixture(scope="module")
def study(data):
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with sklearn.config_context(enable_metadata_routing=True):
        yield example.tune(*data, n_trials=12)
    optuna.logging.set_verbosity(verbosity)


def in_state(study, state):
    return [trial for trial in study.trials if trial.state == state]


def test_the_value_of_a_trial_equals_a_cross_validation_without_scikit_learn(study, data):
    X, y, qid = data
    for trial in (study.best_trial, in_state(study, TrialState.COMPLETE)[0]):
        by_fold = []
        for train, test in GroupKFold(3).split(X, y, qid):
            order = train[np.argsort(qid[train], kind="stable")]
            ranker = lgb.LGBMRanker(
                **trial.params, n_estimators=trial.user_attrs["n_rounds"], **example.FIXED
            )
            ranker.fit(X[order], y[order], group=np.unique(qid[order], return_counts=True)[1])
            by_fold.append(sg.NDCNG(k=10)(y[test], ranker.predict(X[test]), qid=qid[test]))
        assert trial.value == pytest.approx(np.mean(by_fold), abs=1e-9)


def test_each_round_is_reported_and_the_best_round_is_stored(study):
    assert in_state(study, TrialState.PRUNED)
    for trial in in_state(study, TrialState.COMPLETE):
        reported = trial.intermediate_values
        assert list(reported) == list(range(len(reported)))
        assert trial.user_attrs["n_rounds"] == np.argmax(list(reported.values())) + 1


def test_the_example_reads_a_file_and_prints_one_line_per_trial(data_dir):
    folder = data_dir / "lightgbm-lambdarank"
    files = ("--data", folder / "rank.test", "--group", folder / "rank.test.query")
    lines = run("tune_with_optuna.py", "--trials", 2, *files).splitlines()
    assert [bool(re.match(r"    \d  .*0\.\d{4}", line)) for line in lines].count(True) == 2
    assert sum(line.endswith(" *") for line in lines) == 1
    assert re.fullmatch(r"the best trial +0\.\d{4}", lines[-1])
