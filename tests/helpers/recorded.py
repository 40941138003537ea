"""Small training runs of LightGBM and XGBoost that record our metrics, with one interface."""

import gc

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from sklearn.datasets import load_svmlight_file

import skgraded as sg
from skgraded.lightgbm import eval_metric
from skgraded.xgboost import custom_metric

SIZES = (7, 12, 1, 9, 14, 5, 11, 8, 13, 10)
SIX_DECIMALS = 5.1e-7  # largest rounding error: XGBoost records values with six decimals


def generated(seed, repeats=3, top=4):
    """X, y and group of a small ranking problem with noisy grades."""
    rng = np.random.default_rng(seed)
    group = np.tile(SIZES, repeats)
    X = rng.normal(size=(group.sum(), 4))
    y = np.clip(np.round(X[:, 0] + 1.5 * rng.normal(size=len(X))), 0, top)
    return X, y, group


def letor_parts(data_dir):
    """(X, y, group) of the training and validation sets in LightGBM's ranking example."""
    folder = data_dir / "lightgbm-lambdarank"
    return [
        (
            *load_svmlight_file(str(folder / f"rank.{part}"), n_features=301),
            np.loadtxt(folder / f"rank.{part}.query", dtype=int),
        )
        for part in ("train", "test")
    ]


def n_judgments():
    gc.collect()
    return sum(type(thing) is sg.Judgments for thing in gc.get_objects())


class Library:
    """One interface to the training functions of a library; weights have one value per query."""

    @classmethod
    def sets(cls):
        """A training set, and a validation set with the query sizes SIZES."""
        train = cls.data(*generated(0))
        return train, cls.data(*generated(1, repeats=1), reference=train)


class LightGBM(Library):
    metric = staticmethod(eval_metric)
    precision = 1e-13
    higher_is_better = (True,)  # the last values that a metric returns
    data_name = "Dataset of lightgbm"
    params = {
        "objective": "lambdarank",
        "metric": "None",
        "num_threads": 1,
        "learning_rate": 0.2,
        "min_data_in_leaf": 5,
        "verbose": -1,
    }
    first_ndcg = {"metric": "ndcg", "eval_at": 1}
    regression = {"objective": "regression"}
    multiclass = {"objective": "multiclass", "num_class": 5}

    @staticmethod
    def data(X, y, group, weight=None, reference=None):
        return lgb.Dataset(
            X,
            y,
            group=group,
            weight=None if weight is None else np.repeat(weight, group),
            reference=reference,
            free_raw_data=False,
            params={"verbose": -1},
        )

    @classmethod
    def history_of(cls, train, evals, metric, n_rounds=8, params=(), callbacks=(), **kwargs):
        """The values per round, as {set: {metric: [values]}}, and the Booster."""
        history = {}
        booster = lgb.train(
            cls.params | dict(params),
            train,
            n_rounds,
            valid_sets=evals,
            feval=metric,
            valid_names=[f"set{i}" for i in range(len(evals))],
            callbacks=[lgb.record_evaluation(history), *callbacks],
            **kwargs,
        )
        return history, booster

    @staticmethod
    def scores(booster, X):
        return booster.predict(X)

    @staticmethod
    def queries_of(data):
        """The query sizes, and one weight per row or None."""
        return data.get_group(), data.get_weight()

    @staticmethod
    def set_weight(data, weight):
        data.set_weight(np.repeat(weight, data.get_group()))


class XGBoost(Library):
    metric = staticmethod(custom_metric)
    precision = SIX_DECIMALS
    higher_is_better = ()
    data_name = "DMatrix of xgboost"
    params = {
        "objective": "rank:ndcg",
        "disable_default_eval_metric": 1,
        "nthread": 1,
        "learning_rate": 0.3,
        "max_depth": 3,
    }
    first_ndcg = {"eval_metric": "ndcg@1"}
    regression = {"objective": "reg:squarederror"}
    multiclass = {"objective": "multi:softprob", "num_class": 5}
    set_weight = staticmethod(xgb.DMatrix.set_weight)

    @staticmethod
    def data(X, y, group, weight=None, reference=None):
        return xgb.DMatrix(X, y, group=group, weight=weight)

    @classmethod
    def history_of(cls, train, evals, metric, n_rounds=8, params=(), **kwargs):
        history = {}
        booster = xgb.train(
            cls.params | dict(params),
            train,
            n_rounds,
            custom_metric=metric,
            evals_result=history,
            evals=[(data, f"set{i}") for i, data in enumerate(evals)],
            verbose_eval=False,
            **kwargs,
        )
        return history, booster

    @staticmethod
    def scores(booster, X):
        return booster.predict(xgb.DMatrix(X))

    @staticmethod
    def queries_of(data):
        sizes, weight = np.diff(data.get_uint_info("group_ptr").astype(int)), data.get_weight()
        return sizes, np.repeat(weight, sizes) if len(weight) else None
