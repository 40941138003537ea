"""QueryRanker as a learned model of PyTerrier."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRanker

import skgraded as sg

pt = pytest.importorskip("pyterrier", reason='pip install "skgraded[peers]"')


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # in PyTerrier, with pandas 3.1
def test_a_learned_model_stops_early_on_the_validation_queries_of_pyterrier():
    X, y, qid = sg.datasets.make_ranking(n_queries=40, random_state=0)
    rows = pd.DataFrame({"query": "x", "features": list(X), "label": y})
    rows["qid"], rows["docno"] = qid.astype(str), rows.index.astype(str)
    parts = [rows[qid < 30].sample(frac=1, random_state=0), rows[qid >= 30]]
    results, qrels = (
        [part[columns] for part in parts]
        for columns in (["qid", "docno", "query", "features"], ["qid", "docno", "label"])
    )
    booster = LGBMRanker(n_estimators=100, n_jobs=1, verbose=-1)
    ranker = sg.QueryRanker(booster, early_stopping=True, n_iter_no_change=10)

    model = pt.ltr.apply_learned_model(ranker, form="ltr")
    model.fit(results[0], qrels[0], results[1], qrels[1])
    values = ranker.evals_result_["validation"]["NDCNG@10"]
    assert len(values) == np.argmax(values) + 1 + 10 < 100
    scores = model.transform(results[1])["score"]
    assert sg.NDCNG(k=10)(y[qid >= 30], scores, qid=qid[qid >= 30]) == pytest.approx(max(values))
