"""The tables of the README describe what other tools do; these tests run the tools."""

import json
import os
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
from peers import peer
from scipy.stats import ttest_rel
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.metrics import average_precision_score, make_scorer, ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

import skgraded as sg
from skgraded.model_selection import QueryKFold

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]
ROOT = Path(__file__).parent.parent
TOOLS = ("skgraded", "scikit-learn", "LightGBM", "ranx", "pytrec_eval")
X, Y, QID = sg.datasets.make_ranking(n_queries=60, random_state=0)
SIZES = np.bincount(QID)


def row(start):
    """Return the cells of the row of *Why not …?* that begins with `start`, keyed by tool."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("## Why not")[1]
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return dict(zip(TOOLS, (cell.strip() for cell in line.split("|")[2:-1]), strict=True))


def dicts(grades, scores, qid=QID):
    """Return qrels and a run; document ids ascend with the rows."""
    qrels, run = ({str(query): {} for query in np.unique(qid)} for _ in range(2))
    for i, query in enumerate(map(str, qid)):
        qrels[query][f"d{i:05}"] = int(grades[i])
        run[query][f"d{i:05}"] = float(scores[i])
    return qrels, run


def in_scikit_learn(metric, grades, scores, qid):
    functions = {"ndcg": lambda y, s: ndcg_score([y], [s]), "map": average_precision_score}
    queries = [qid == query for query in np.unique(qid)]
    return np.mean([functions[metric](grades[rows], scores[rows]) for rows in queries])


def in_lightgbm(metric, grades, scores, qid):
    data = lgb.Dataset(np.zeros((2, 1)), [0, 1], group=[2], params={"verbose": -1})
    sizes = np.unique(qid, return_counts=True)[1]
    X = np.zeros((len(qid), 1))
    valid = lgb.Dataset(X, grades, reference=data, group=sizes, init_score=scores)
    params = {"objective": "none", "metric": metric, "eval_at": [1000], "verbose": -1}
    return lgb.Booster(params, data).add_valid(valid, "valid").eval_valid()[0][2]


def in_ranx(metric, grades, scores, qid):
    ranx = peer("ranx")
    qrels, run = dicts(grades, scores, qid)
    return ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), metric)


def in_pytrec_eval(metric, grades, scores, qid):
    qrels, run = dicts(grades, scores, qid)
    values = peer("pytrec_eval").RelevanceEvaluator(qrels, {metric}).evaluate(run)
    return np.mean([value[metric] for value in values.values()])


# Functions that compute the mean of a metric over queries with each tool
IN_TOOL = {
    "scikit-learn": in_scikit_learn,
    "LightGBM": in_lightgbm,
    "ranx": in_ranx,
    "pytrec_eval": in_pytrec_eval,
}


def test_ndcg_of_each_tool_depends_on_the_grade_scale_as_the_table_says():
    scores = X[:, 0]
    kept = sg.NDCG(gain="linear")(Y, scores, qid=QID)
    cells = {"skgraded": "yes (NDCNG or linear gain)"}
    assert sg.NDCG(gain="linear")(4 * Y, scores, qid=QID) == pytest.approx(kept)
    assert sg.NDCNG()(4 * Y, scores, qid=QID) == pytest.approx(sg.NDCNG()(Y, scores, qid=QID))
    for tool in TOOLS[1:]:
        some = range(1, 60) if tool == "LightGBM" else range(60)  # it counts query 0 as 1
        rows = np.isin(QID, some)
        y, s, qid = Y[rows], scores[rows], QID[rows]
        once, multiplied = (IN_TOOL[tool]("ndcg", grades, s, qid) for grades in (y, 4 * y))
        if once == pytest.approx(multiplied):
            assert once == pytest.approx(sg.NDCG(gain="linear")(y, s, qid=qid), abs=1e-6)
            cells[tool] = "yes (linear gain)"
        else:
            undefined = 1.0 if tool == "LightGBM" else 0.0
            expected = sg.NDCG(undefined=undefined)(4 * y, s, qid=qid)
            assert multiplied == pytest.approx(expected, abs=1e-6)
            cells[tool] = "no (2^grade − 1)"
    assert cells == row("NDCG independent")


def test_average_precision_of_each_tool_ignores_levels_as_the_table_says():
    grades, scores, qid = np.array([2, 1, 0, 1]), np.array([4.0, 3, 2, 1]), np.zeros(4, int)
    other, cells = np.array([1, 2, 0, 1]), {"skgraded": "μAP"}  # the same relevant documents
    assert sg.MuAP()(grades, scores) != pytest.approx(sg.MuAP()(other, scores))
    for tool in TOOLS[1:]:
        try:
            values = {IN_TOOL[tool]("map", y, scores, qid) for y in (grades, other)}
            if len(values) == 1:
                cells[tool] = "no"
        except ValueError as error:  # several grades mean several classes
            assert "multiple classes" in str(error)
            cells[tool] = "no"
    assert cells == row("graded AP")


def test_each_tool_orders_tied_documents_as_the_table_says():
    qid, tied, cells = np.zeros(4, int), np.zeros(4), {"skgraded": "mean over all orders"}
    first, last = np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1])
    mean = sg.NDCG(gain="linear")(first, tied)
    assert mean == pytest.approx(sg.NDCG(gain="linear", ties="ordinal")(first, tied) * 0.785, 1e-3)
    for tool in TOOLS[1:]:
        values = [IN_TOOL[tool]("ndcg", grades, tied, qid) for grades in (first, last)]
        if values == pytest.approx([mean, mean]):
            cells[tool] = "NDCG: mean; AP: one threshold"
            assert {IN_TOOL[tool]("map", y, tied, qid) for y in (first, last)} == {2 / 4}
        elif values[0] == 1 and values[1] < 0.6:
            cells[tool] = "row order"
        elif values[1] == 1 and values[0] < 0.6:  # the highest id first, in any order of the rows
            qrels, run = dicts(last, tied, qid)
            run = {"0": dict(reversed(run["0"].items()))}
            evaluator = peer("pytrec_eval").RelevanceEvaluator(qrels, {"ndcg"})
            assert evaluator.evaluate(run)["0"]["ndcg"] == 1
            cells[tool] = "document id"
    assert cells == row("tied documents")
    xgb = peer("xgboost")
    data = xgb.DMatrix(np.zeros((4, 1)), first, qid=qid, base_margin=tied)
    params = {"eval_metric": "ndcg", "objective": "reg:squarederror"}
    booster = xgb.Booster(params | {"disable_default_eval_metric": 1}, [data])
    assert float(booster.eval_set([(data, "rows")]).split(":")[1]) == 1


class ReadsNothing(BaseEstimator):
    """A model that stores the rows on which it is fitted."""

    def fit(self, X, y):
        self.rows_ = X[:, 0]
        return self

    def predict(self, X):
        return np.zeros(len(X))


def n_split(cv, **settings):
    """Return how many folds of a search contain rows of a query in the training and test rows."""
    split = []

    def scorer(model, X, y):
        split.append(bool({*QID[model.rows_.astype(int)]} & {*QID[X[:, 0].astype(int)]}))
        return 0.0

    X = np.column_stack([np.arange(len(QID)), QID])
    GridSearchCV(ReadsNothing(), {}, cv=cv, scoring=scorer, refit=False).fit(X, Y, **settings)
    return sum(split)


def test_each_tool_keeps_queries_whole_as_the_table_says():
    cells = {"skgraded": "yes"} if n_split(QueryKFold(3, qid=1)) == 0 else {}
    assert n_split(3) == 3 and n_split(GroupKFold(3), groups=QID) == 0
    received = []
    scorer = make_scorer(lambda y, p, qid=None: received.append(qid) or 0.0)
    cross_val_score(ReadsNothing(), X, Y, scoring=scorer, cv=GroupKFold(3), groups=QID)
    assert received == [None] * 3
    with config_context(enable_metadata_routing=True):
        scorer.set_score_request(qid=True)
        params = {"groups": QID, "qid": QID}
        cross_val_score(ReadsNothing(), X, Y, scoring=scorer, cv=GroupKFold(3), params=params)
    assert sorted(np.concatenate(received[3:])) == sorted(QID)
    cells["scikit-learn"] = "`GroupKFold`; scorers need routing"

    sizes, parts = np.arange(10, 34), []
    data = lgb.Dataset(X[: sizes.sum()], Y[: sizes.sum()], group=sizes)
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
    feval = lambda scores, part: parts.append(part.get_group()) or ("none", 0.0, True)  # noqa: E731
    lgb.cv(params, data, 1, nfold=3, feval=feval, stratified=False)
    assert sorted(np.concatenate(parts)) == sizes.tolist()
    with pytest.raises(ValueError, match="group"):
        ranker = lgb.LGBMRanker(verbose=-1)
        GridSearchCV(ranker, {}, cv=3, scoring="r2", error_score="raise").fit(X, Y, groups=QID)
    cells["LightGBM"] = "`lgb.cv`; not `GridSearchCV`"
    for tool in ("ranx", "pytrec_eval"):
        if not re.search("fold|split|cross", " ".join(dir(peer(tool)))):
            cells[tool] = "no"
    assert cells == row("cross-validation")


def test_each_tool_tests_differences_as_the_table_says():
    ranx, scores = peer("ranx"), {"a": X[:, 0], "b": X[:, 0] + X[:, 8], "c": X[:, 8]}
    evaluations = sg.evaluate(Y, scores, qid=QID, measures=sg.NDCG(gain="linear"))
    values = [evaluation.per_query["NDCG(gain='linear')"] for evaluation in evaluations.values()]
    raw = [ttest_rel(*pair).pvalue for pair in combinations(values, 2)]
    ours = sg.compare(evaluations, test="t", rng=0).to_frame()["p_adjusted"]
    assert ours.min() == pytest.approx(3 * min(raw))  # Holm's correction over three tests
    cells = {"skgraded": "corrected"}
    runs = [ranx.Run(dicts(Y, s)[1], name=name) for name, s in scores.items()]
    qrels = ranx.Qrels(dicts(Y, X[:, 0])[0])
    student, tukey = (
        ranx.compare(qrels, runs, "ndcg", stat_test=test).comparisons["a", "b"]["ndcg"]["p_value"]
        for test in ("student", "tukey")
    )
    # ranx also offers Tukey's correction, but not for paired tests.
    if student == pytest.approx(raw[0], rel=1e-3) and tukey > 10 * raw[0]:
        cells["ranx"] = "uncorrected"
    for tool, module in (("scikit-learn", "sklearn.metrics"), ("LightGBM", "lightgbm")):
        if not re.search("compare|signific|p_?value", " ".join(dir(peer(module)))):
            cells[tool] = "no"
    if not re.search("compare|signific|test", " ".join(dir(peer("pytrec_eval")))):
        cells["pytrec_eval"] = "no"
    assert cells == row("paired tests")


def test_the_table_does_not_overstate_the_times_of_other_tools():
    for module in ("ranx", "pytrec_eval"):
        peer(module)
    command = [sys.executable, "speed.py", "--worker", "1", "--queries", "300", "--rounds", "5"]
    env = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "NUMBA_DISABLE_JIT": "0"}
    output = subprocess.run(
        command, cwd=ROOT / "benchmarks", env=env, capture_output=True, text=True, check=True
    ).stdout
    times = json.loads(output.splitlines()[-1])["tables"]["NDCNG@10"]["distinct"]
    names = {"skgraded": "skgraded, measure with qid", "scikit-learn": "scikit-learn, in a loop"}
    measured = {tool: min(times[names.get(tool, tool)]) for tool in TOOLS}
    cells = {tool: float(cell.replace(",", "")) for tool, cell in row("NDCG@10, ns").items()}
    # Ratios of times in one run differ less between processors than times.
    ratios, stated = (
        {tool: times[tool] / times["skgraded"] for tool in TOOLS} for times in (measured, cells)
    )
    assert [tool for tool in TOOLS if ratios[tool] < stated[tool] / 3] == []
