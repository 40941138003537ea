"""The recipes list tools with an example each, which runs with the real tool."""

import re
import tempfile
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from peers import peer
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from tool_examples import EXAMPLES

import skgraded as sg

pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of the tools themselves


X, Y, QID = sg.datasets.make_ranking(n_queries=30, random_state=0)
FRAME = pd.DataFrame(X).add_prefix("f").assign(qid=QID)
RANKER = sg.QueryRanker(Ridge(), qid="qid").fit(FRAME, Y)
SCORED = pd.DataFrame({"qid": QID, "grade": Y, "score": RANKER.predict(FRAME)})
MU_MAP = sg.MuAP()(Y, SCORED["score"], qid=QID)
IN_TREC = SCORED.assign(docno=[f"d{i}" for i in range(len(QID))], qid=QID.astype(str))


def scikit_learn():
    return {"cross_val_score": cross_val_score, "QueryKFold": sg.model_selection.QueryKFold}


def lightgbm():
    lgb = peer("lightgbm")
    train_set = lgb.Dataset(X, Y, group=np.bincount(QID))
    params = {"objective": "lambdarank", "metric": "None", "num_iterations": 3, "verbose": -1}
    valid_set = lgb.Dataset(X, Y, group=np.bincount(QID), reference=train_set)
    return {"lgb": lgb, "params": params, "train_set": train_set, "valid_set": valid_set}


def xgboost():
    xgb = peer("xgboost")
    matrix = xgb.DMatrix(X, Y, qid=QID)
    params = {"objective": "rank:ndcg", "disable_default_eval_metric": 1, "nthread": 1}
    return {"xgb": xgb, "params": params, "dtrain": matrix, "dvalid": matrix}


def catboost():
    catboost = peer("catboost")
    ranker = catboost.CatBoostRanker

    def quick(**params):
        return ranker(**params, iterations=3, thread_count=1, allow_writing_files=False, verbose=0)

    pool = catboost.Pool(X, Y, group_id=QID)
    return {
        "CatBoostRanker": quick,
        "train": pool,
        "valid": pool,
        "train_qid": QID,
        "valid_qid": QID,
    }


def optuna():
    study = peer("optuna").create_study(direction="maximize")

    def make_ranker(trial):
        return sg.QueryRanker(Ridge(alpha=trial.suggest_float("alpha", 1e-3, 1e3, log=True)))

    return {"study": study, "make_ranker": make_ranker}


def mlflow():
    mlflow = peer("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tempfile.mkdtemp()}/runs.db")
    mlflow.set_experiment("list of tools")  # other tests select experiments in other stores
    return {"mlflow": mlflow}


def logged(mlflow):
    """End the run that the example started, and return its metrics."""
    run_id = mlflow.active_run().info.run_id
    mlflow.end_run()
    return mlflow.get_run(run_id).data.metrics


def skore():
    report = peer("skore").CrossValidationReport(
        RANKER, X=FRAME, y=Y, splitter=sg.model_selection.QueryKFold(3, qid="qid")
    )
    return {"report": report}


def trec_frames(**names):
    qrels = IN_TREC[["qid", "docno", "grade"]].assign(grade=Y.astype(int))
    run = IN_TREC[["qid", "docno", "score"]]
    return qrels.rename(columns=names), run.rename(columns=names)


def ir_measures():
    module = peer("ir_measures")
    qrels, run = trec_frames(qid="query_id", docno="doc_id", grade="relevance")
    return {"ir_measures": module, "qrels": qrels, "run": run}


def pyterrier():
    pt = peer("pyterrier")
    qrels, run = trec_frames(grade="label")
    topics = pd.DataFrame({"qid": np.unique(run["qid"]), "query": "x"})
    return {"pt": pt, "bm25": pt.Transformer.from_df(run), "topics": topics, "qrels": qrels}


SETUPS = {
    "scikit-learn": scikit_learn,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
    "Optuna": optuna,
    "MLflow": mlflow,
    "skore": skore,
    "ir_measures": ir_measures,
    "PyTerrier": pyterrier,
}
# Values of the examples, or of objects that the examples change.
CHECKS = {
    "scikit-learn": lambda scores, names: scores.shape == (5,) and (scores > 0).all(),
    "LightGBM": lambda booster, names: booster.num_trees() == 3,
    "XGBoost": lambda booster, names: booster.num_boosted_rounds() == 10,
    "CatBoost": lambda ranker, names: 0 < ranker.get_best_score()["validation"]["MuAP"] < 1,
    "Optuna": lambda _, names: 0 < names["study"].best_value < 1,
    "MLflow": lambda _, names: logged(names["mlflow"]) == {"mu_map": MU_MAP},
    "skore": lambda _, names: len(names["report"].metrics.summarize(metric="MuAP").frame()) == 1,
    "ir_measures": lambda means, names: list(means.values()) == [pytest.approx(MU_MAP)],
    "PyTerrier": lambda table, names: table["MuAP"].item() == pytest.approx(MU_MAP),
}


def test_every_listed_tool_is_tested():
    assert list(EXAMPLES) == [*SETUPS, "Dask", "Spark"]  # each engine has a separate test


@pytest.mark.parametrize("name", SETUPS)
def test_each_example_runs(name):
    names = SETUPS[name]() | {
        "sg": sg,
        "skgraded": sg,
        "ranker": RANKER,
        "frame": FRAME,
        "X": X,
        "y": Y,
        "qid": QID,
    }
    for door in re.findall(r"skgraded\.\w+", EXAMPLES[name]):
        import_module(door)
    assert CHECKS[name](eval(EXAMPLES[name], names), names)
