"""Which file knows an estimator, and that no other knows a library."""

import ast
import sys
from pathlib import Path

import pytest
from catboost import CatBoost, CatBoostRegressor
from lightgbm import LGBMRanker
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from xgboost import XGBRanker, XGBRegressor

import skgraded
from skgraded.boosting.adapter import Adapter, BoosterAdapter, adapter_of, libraries

PACKAGE = Path(skgraded.__file__).parent


class OfAUser(XGBRanker):
    pass


class Delegate(RegressorMixin, BaseEstimator):
    """A regressor of a user's own module that has the name of one of ours."""

    __module__ = "metric.regressors"

    def fit(self, X, y, **fit_params):
        return self


@pytest.mark.parametrize(
    ("estimator", "package"),
    [(LGBMRanker(), "lightgbm"), (XGBRegressor(), "xgboost"), (OfAUser(), "xgboost"),
     (CatBoost(), "catboost"), (CatBoostRegressor(), "catboost")],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_file_of_its_library_knows_an_estimator(estimator, package):
    adapter = adapter_of(estimator)
    assert type(adapter).__module__ == f"skgraded.boosting.{package}"
    assert adapter.estimator is estimator


@pytest.mark.parametrize("module", ["metric.regressors", "rows", "adapter", "lightgbmish.models"])
@pytest.mark.parametrize("base", [Ridge, Delegate])
def test_of_others_is_known_what_holds_for_any(base, module):
    estimator = type("Other", (base,), {"__module__": module})()
    assert type(adapter_of(estimator)) is Adapter


@pytest.mark.parametrize("estimator", [None, "LGBMRanker", LGBMRanker, 7])
def test_what_is_no_estimator_is_of_no_library(estimator):
    assert type(adapter_of(estimator)) is Adapter


def test_every_file_that_is_not_common_says_what_it_knows():
    assert {"lightgbm", "xgboost", "catboost"} <= set(libraries())
    for package in libraries():
        __import__(f"skgraded.boosting.{package}")
        library, *others = sys.modules[f"skgraded.boosting.{package}"].ADAPTERS
        assert issubclass(library, BoosterAdapter)
        assert library.package == package
        assert not any(other.model == "Ridge" for other in others)


def test_no_other_file_compares_with_a_librarys_name():
    own, names = {PACKAGE / "boosting" / f"{package}.py" for package in libraries()}, libraries()
    for path in set(PACKAGE.rglob("*.py")) - own:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Compare, ast.Dict, ast.Set, ast.MatchValue)):
                texts = {
                    str(leaf.value).lower() for leaf in ast.walk(node)
                    if isinstance(leaf, ast.Constant)
                }
                shown = f"{path}:{node.lineno} goes by the name of a library"
                assert not texts & set(names), shown
