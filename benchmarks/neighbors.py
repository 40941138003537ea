"""The benchmark's data, and the timed calls of skgraded and of other tools."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import lightgbm as lgb
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import ndcg_score

import skgraded as sg
from skgraded.datasets import make_ranking
from skgraded.lightgbm import eval_metric

JUDGED = "skgraded, measure of Judgments"
IN_LIGHTGBM = "skgraded, LightGBM metric"


@dataclass(frozen=True)
class Family:
    """A measure under its name in each tool; None if the tool does not have it."""

    ours: sg.measures.Measure
    lightgbm: tuple[str, int]
    xgboost: str
    sklearn: dict | None
    ranx: str
    pytrec_eval: str


FAMILIES = [
    Family(sg.NDCNG(k=10), ("ndcg", 10), "ndcg@10", {"k": 10}, "ndcg_burges@10", "ndcg_cut.10"),
    Family(sg.NDCNG(), ("ndcg", 1000), "ndcg@1000", {}, "ndcg_burges", "ndcg"),
    Family(sg.MuAP(), ("map", 1000), "map@1000", None, "map", "map"),
]


@dataclass(frozen=True)
class Data:
    """Grades and scores, sorted by query."""

    y: np.ndarray
    scores: np.ndarray
    sizes: np.ndarray

    @property
    def qid(self):
        """The query number of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def n(self):
        """The number of documents."""
        return len(self.y)

    def head(self, n_queries):
        """The first queries."""
        sizes = self.sizes[:n_queries]
        return Data(self.y[: sizes.sum()], self.scores[: sizes.sum()], sizes)


def make_data(n_queries, tied=False):
    """Queries of 60 to 180 documents, grades 0 to 4, and noisy scores; rounded if `tied`."""
    _, y, qid = make_ranking(n_queries, n_documents=120, n_features=1, random_state=0)
    scores = 0.5 * y + np.random.default_rng(0).normal(size=len(y))
    return Data(y.astype(float), np.round(scores, 1) if tied else scores, np.bincount(qid))


def make_long_query(n=400_000):
    """One query whose grades and scores are all distinct."""
    rng = np.random.default_rng(0)
    return Data(rng.random(n), rng.normal(size=n), np.array([n]))


@dataclass(frozen=True)
class Call:
    """A call to time over `n` documents in `rounds` rounds."""

    name: str
    run: Callable
    n: int
    rounds: int


# Ours --------------------------------------------------------------------------------------------


class FirstColumn(RegressorMixin, BaseEstimator):
    """A model that costs nothing: its predictions are the first column of X."""

    def predict(self, X):
        """Return the first column."""
        return X[:, 0]


def our_calls(measure, data, valid_set, rounds):
    judgments = sg.Judgments(data.y, group=data.sizes)
    metric = eval_metric(measure)
    scorer = sg.make_ranking_scorer(measure)
    model, X, qid = FirstColumn(), data.scores[:, None], data.qid
    runs = {
        JUDGED: lambda: measure(judgments, data.scores),
        IN_LIGHTGBM: lambda: metric(data.scores, valid_set),
        "skgraded, scorer with qid": lambda: scorer(model, X, data.y, qid=qid),
        "skgraded, measure with qid": lambda: measure(data.y, data.scores, qid=qid),
    }
    return [Call(name, run, data.n, rounds) for name, run in runs.items()]


def on_one_thread(run):
    """Make `run` use OMP_NUM_THREADS=1, which skgraded reads at each call."""

    def run_alone():
        before = os.environ["OMP_NUM_THREADS"]
        os.environ["OMP_NUM_THREADS"] = "1"
        try:
            return run()
        finally:
            os.environ["OMP_NUM_THREADS"] = before

    return run_alone


# LightGBM ----------------------------------------------------------------------------------------


def lightgbm_sets(data):
    """A small training set, and the data as a validation set with the scores as init_score."""
    quiet = {"verbose": -1}
    few = np.arange(200.0)
    train = lgb.Dataset(few[:, None], few % 5, group=[100, 100], params=quiet)
    valid = lgb.Dataset(
        np.zeros((data.n, 1)),
        data.y,
        group=data.sizes,
        init_score=data.scores,
        reference=train,
        params=quiet,
    )
    return train.construct(), valid.construct()


def lightgbm_call(family, data, sets, threads, rounds):
    """LightGBM's metric, which eval_valid recomputes at each call, without predictions."""
    name, k = family.lightgbm
    train, valid = sets
    params = {
        "objective": "lambdarank",
        "metric": name,
        "eval_at": [k],
        "num_threads": threads,
        "verbose": -1,
    }
    booster = lgb.Booster(params, train).add_valid(valid, "valid")
    return Call("LightGBM", lambda: booster.eval_valid()[0][2], data.n, rounds)


# XGBoost -----------------------------------------------------------------------------------------


def xgboost_call(metric, data, threads, rounds):
    """XGBoost's metric for a model without trees, whose base_margin contains the scores.

    Booster.eval also predicts, which takes about a tenth of this time.
    """
    import xgboost as xgb

    y = np.minimum(data.y, 1) if metric.startswith("map") else data.y  # its map needs 0 and 1
    matrix = xgb.DMatrix(
        np.zeros((data.n, 1)), y, base_margin=data.scores, group=data.sizes, nthread=threads
    )
    few = xgb.DMatrix(np.zeros((2, 1)), [0, 1], group=[2])
    params = {"objective": "rank:ndcg", "eval_metric": metric, "nthread": threads}
    booster = xgb.train(params, few, num_boost_round=0)
    return Call("XGBoost", lambda: float(booster.eval(matrix).split(":")[-1]), data.n, rounds)


# Slow tools, on a part of the queries ------------------------------------------------------------


def sklearn_calls(params, data, rounds):
    """scikit-learn's ndcg_score in a loop over queries; empty if `params` is None."""

    def run():
        ends = np.cumsum(data.sizes)
        return np.mean(
            [
                ndcg_score(data.y[None, a:b], data.scores[None, a:b], **params)
                for a, b in zip(ends - data.sizes, ends, strict=True)
            ]
        )

    if params is None:
        return []
    return [Call("scikit-learn, in a loop", run, data.n, rounds)]


def nested_dict(data, values):
    """{query: {document: value}}, the format of the TREC tools."""
    names = [f"d{i}" for i in range(data.sizes.max())]
    ends = np.cumsum(data.sizes).tolist()
    values = values.tolist()
    return {
        f"q{q}": dict(zip(names, values[end - size : end], strict=False))
        for q, (size, end) in enumerate(zip(data.sizes.tolist(), ends, strict=True))
    }


def ranx_calls(metric, data, threads, rounds):
    """ranx, without and with the time to build its Qrels and Run."""
    warnings.filterwarnings("ignore", module="ranx")  # Numba warns about types
    import ranx

    def build():
        qrels = ranx.Qrels(nested_dict(data, data.y.astype(int)))
        return qrels, ranx.Run(nested_dict(data, data.scores))

    def evaluate(qrels, run):
        return ranx.evaluate(qrels, run, metric, threads=threads, save_results_in_run=False)

    built = build()
    return [
        Call("ranx", lambda: evaluate(*built), data.n, rounds),
        Call("ranx, dicts built", lambda: evaluate(*build()), data.n, rounds),
    ]


def pytrec_eval_calls(metric, data, rounds):
    """pytrec_eval, without and with the time to build its dicts."""
    import pytrec_eval

    def build():
        qrels = pytrec_eval.RelevanceEvaluator(nested_dict(data, data.y.astype(int)), {metric})
        return qrels, nested_dict(data, data.scores)

    def evaluate(evaluator, run):
        return np.mean([list(values.values()) for values in evaluator.evaluate(run).values()])

    built = build()
    return [
        Call("pytrec_eval", lambda: evaluate(*built), data.n, rounds),
        Call("pytrec_eval, dicts built", lambda: evaluate(*build()), data.n, rounds),
    ]
