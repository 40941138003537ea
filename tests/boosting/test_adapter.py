"""The adapter that belongs to an estimator."""

import numpy as np
import pytest
from catboost import CatBoost, CatBoostRegressor
from lightgbm import LGBMRanker
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from xgboost import XGBRanker, XGBRegressor

from skgraded.boosting.adapter import Adapter, BoosterAdapter, adapter_of
from skgraded.boosting.rows import Rows
from skgraded.datasets import make_ranking


class UserRanker(XGBRanker):
    pass


@pytest.mark.parametrize(
    ("estimator", "package"),
    [
        (LGBMRanker(), "lightgbm"),
        (XGBRegressor(), "xgboost"),
        (UserRanker(), "xgboost"),
        (CatBoost(), "catboost"),
        (CatBoostRegressor(), "catboost"),
        (HistGradientBoostingRegressor(), "sklearn"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_adapter_of_a_booster_is_in_the_module_of_its_library(estimator, package):
    adapter = adapter_of(estimator)
    assert type(adapter).__module__ == f"skgraded.boosting.{package}"
    assert isinstance(adapter, BoosterAdapter) and adapter.package == package
    assert adapter.estimator is estimator


# The first three are also names of modules in skgraded.boosting.
@pytest.mark.parametrize("module", ["metric.regressors", "rows", "adapter", "lightgbmish.models"])
def test_other_estimators_have_the_generic_adapter(module):
    estimator = type("Other", (Ridge,), {"__module__": module})()
    assert type(adapter_of(estimator)) is Adapter


@pytest.mark.parametrize(
    "value", [HistGradientBoostingClassifier(), None, "LGBMRanker", LGBMRanker, 7]
)
def test_values_that_cannot_be_boosted_have_the_generic_adapter(value):
    assert type(adapter_of(value)) is Adapter


class RankerWithoutCallbacks(LGBMRanker):
    def fit(self, X, y, group=None):
        return super().fit(X, y, group=group)


def test_rounds_are_not_reported_if_fit_accepts_no_callbacks():
    X, y, qid = make_ranking(n_queries=5, random_state=0)
    adapter = adapter_of(RankerWithoutCallbacks(n_estimators=3, n_jobs=1, verbose=-1))
    adapter.report_to(pytest.fail)
    model = adapter.fit(Rows(X, y, {}, np.bincount(qid)), {})
    assert model.booster_.num_trees() == 3
