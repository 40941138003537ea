"""MLflow takes scores whose names were chosen; it refuses the "@" of our own."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold

import skgraded as sg

mlflow = pytest.importorskip("mlflow", reason='needs MLflow: pip install "skgraded[peers]"')
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own

NAMES = {"ndcng10": "ndcng@10", "mu_map": "mu_map"}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
    mlflow.create_experiment("ranking", artifact_location=(folder / "artifacts").as_uri())
    mlflow.set_experiment("ranking")
    yield mlflow.MlflowClient()
    mlflow.sklearn.autolog(disable=True)


def ranking():
    X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    return np.column_stack([X, qid]), y, qid


def test_scores_by_chosen_names_are_logged(client):
    X, y, _ = ranking()
    scores = sg.make_ranking_scorer(NAMES, qid=-1)(Ridge().fit(X, y), X, y)
    with mlflow.start_run() as run:
        mlflow.log_metrics(scores)
        with pytest.raises(mlflow.MlflowException, match="Invalid.*NDCNG@10"):
            mlflow.log_metrics({"NDCNG@10": 1.0})
    assert client.get_run(run.info.run_id).data.metrics == scores


@pytest.mark.parametrize(
    "name", ["NDCNG@10", "AP(threshold=2)@20", "NDCG(gain='linear',discount='letor')@5"]
)
def test_names_are_accepted_after_special_characters_are_replaced(client, name):
    assert sg.measure(name).name == name
    with mlflow.start_run() as run:
        with pytest.raises(mlflow.MlflowException, match="Names may only contain"):
            mlflow.log_metric(name, 0.5)
        mlflow.log_metric(re.sub(r"\W+", "_", name), 0.5)
    assert list(client.get_run(run.info.run_id).data.metrics.values()) == [0.5]


@pytest.mark.parametrize("model", [False, True])
def test_a_metric_of_evaluate_receives_the_queries_from_a_column(client, model):
    X, y, qid = ranking()
    ranker = sg.QueryRanker(Ridge(), qid="query")
    frame = pd.DataFrame(X[:, :-1]).add_prefix("f").assign(query=qid)
    scores = ranker.fit(frame, y).predict(frame)

    def mu_map(predictions, targets, metrics, query):
        return sg.MuAP()(targets, predictions, qid=query)

    metric = mlflow.models.make_metric(eval_fn=mu_map, greater_is_better=True)
    with mlflow.start_run() as run:
        if model:
            mlflow.models.evaluate(
                ranker.predict, frame.assign(y=y), targets="y", extra_metrics=[metric]
            )
        else:
            mlflow.models.evaluate(
                data=frame.assign(y=y, score=scores), targets="y", predictions="score",
                extra_metrics=[metric],
            )
    logged = client.get_run(run.info.run_id).data.metrics["mu_map"]
    assert logged == pytest.approx(sg.MuAP()(y, scores, qid=qid), abs=1e-12)


def test_a_search_is_logged_by_itself(client):
    X, y, qid = ranking()
    mlflow.sklearn.autolog(log_models=False, log_datasets=False, silent=True)
    search = GridSearchCV(
        sg.QueryRanker(Ridge(), qid=-1), {"estimator__alpha": [0.1, 1000]}, cv=GroupKFold(3),
        scoring=sg.make_ranking_scorer(NAMES, qid=-1), refit="ndcng10",
    )
    with mlflow.start_run() as run:
        search.fit(X, y, groups=qid)
    assert client.get_run(run.info.run_id).data.metrics["best_cv_score"] == search.best_score_
    candidates = client.search_runs(
        [run.info.experiment_id], f"tags.mlflow.parentRunId = '{run.info.run_id}'"
    )
    for name in NAMES:
        found = sorted(candidate.data.metrics[f"mean_test_{name}"] for candidate in candidates)
        assert found == sorted(search.cv_results_[f"mean_test_{name}"].tolist())
