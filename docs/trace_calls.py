"""Print the files through which six calls pass, for docs/data_flow.md.

python docs/trace_calls.py
"""

import sys
import tempfile
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV

import skgraded as sg
from skgraded.lightgbm import eval_metric
from skgraded.model_selection import QueryKFold

PACKAGE = Path(sg.__file__).parent


def files_of(call):
    """Return the Python files of the package that a call enters, in this order."""
    call()  # imports and caches
    entered = {}

    def watch(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parents and path.suffix == ".py":
            entered[path.relative_to(PACKAGE).as_posix()] = True

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(entered)


def six_calls(folder):
    """Return the calls by name."""
    X, y, qid = sg.datasets.make_ranking(n_queries=40, random_state=0)
    scores = X[:, 0]
    documents = pd.Series(np.arange(len(y))).astype(str)
    rows = pd.DataFrame({"query": qid, "zero": 0, "document": documents, "grade": y.astype(int)})
    rows.to_csv(f"{folder}/qrels", sep=" ", header=False, index=False)
    rows.assign(grade=0, score=scores, tag="a").to_csv(
        f"{folder}/a.run", sep=" ", header=False, index=False
    )
    frame = pd.DataFrame(X).add_prefix("f").assign(query=qid)
    ranker = sg.QueryRanker(lightgbm.LGBMRanker(n_estimators=2, n_jobs=1, verbose=-1), qid="query")
    search = GridSearchCV(
        ranker,
        {"estimator__num_leaves": [3]},
        scoring=sg.make_ranking_scorer("ndcng@10"),
        cv=QueryKFold(2, qid="query"),
    )
    data = lightgbm.Dataset(X, y, group=np.bincount(qid)).construct()
    metric = eval_metric("ndcng@10")
    systems = sg.evaluate(y, {"old": scores, "new": scores + X[:, 8]}, qid=qid)
    log = sg.datasets.make_clicks(y, [scores, X[:, 8]], qid, n_sessions=5_000, random_state=0)
    columns = {"qid": log.qid, "item": log.item, "session": log.session}
    rankers = {"old": scores[log.item], "new": X[log.item, 8]}
    return {
        "a measure": lambda: sg.NDCNG(k=10)(y, scores, qid=qid),
        "files": lambda: sg.evaluate_runs(f"{folder}/qrels", [f"{folder}/a.run"]),
        "a search": lambda: search.fit(frame, y),
        "a metric": lambda: metric(scores, data),
        "a comparison": lambda: sg.compare(systems, rng=0).to_html(),
        "clicks": lambda: sg.ClickLog(log.clicked, log.position, **columns).compare(
            rankers, n_resamples=20, rng=0
        ),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name, call in six_calls(folder).items():
            files = files_of(call)
            print(f"{name}: {len(files)} files\n    {' '.join(files)}")
