"""QueryRanker around each kind of estimator, and searches, pass scikit-learn's estimator checks."""

import numpy as np
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples
from xgboost import XGBRanker

import skgraded as sg

pytestmark = pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")


class FiveByFive(sg.QueryRanker):
    """A QueryRanker whose queries are five consecutive rows, because the checks pass no queries.

    Rankers that require integer grades receive the fifths of the targets, 0 to 4, as grades.
    """

    def __repr__(self):  # in the id of a test; the repr of CatBoost contains an address
        return f"{type(self.estimator).__name__}, early_stopping={self.early_stopping}"

    def fit(self, X, y):
        return super().fit(X, self._grades(y), qid=np.arange(_num_samples(X)) // 5)

    def score(self, X, y):
        return super().score(X, self._grades(y), qid=np.arange(_num_samples(X)) // 5)

    def _grades(self, y):
        if y is None or isinstance(self.estimator, Ridge):
            return y
        y = np.asarray(y)
        if y.dtype.kind not in "fiu" or y.ndim != 1 or not np.isfinite(y).all():
            return y
        return np.argsort(np.argsort(y, kind="stable")) * 5 // len(y)


class RaceByFive(sg.model_selection.RacingSearchCV):
    """A RacingSearchCV whose queries are five consecutive rows."""

    def __repr__(self):
        return "RacingSearchCV"

    def fit(self, X, y):
        return super().fit(X, y, qid=np.arange(_num_samples(X)) // 5)

    def score(self, X, y):
        return super().score(X, y, qid=np.arange(_num_samples(X)) // 5)


SMALL_LIGHTGBM = LGBMRanker(n_estimators=3, min_child_samples=1, n_jobs=1, verbose=-1)
SMALL_CATBOOST = CatBoostRanker(
    iterations=3, thread_count=1, verbose=False, allow_writing_files=False
)
OTHERS = [
    FiveByFive(SMALL_LIGHTGBM),
    FiveByFive(XGBRanker(n_estimators=3, n_jobs=1)),
    FiveByFive(SMALL_CATBOOST),
]


def excluded(ranker):
    """The checks that fail, and the reasons."""
    reasons = {"check_supervised_y_2d": "grades must be 1-D, as everywhere in skgraded"}
    if isinstance(ranker.estimator, CatBoostRanker):
        reasons |= {
            "check_fit2d_1sample": "CatBoost rejects constant features with another message",
            "check_dtype_object": "CatBoost rejects objects with another message",
            "check_positive_only_tag_during_fit": "CatBoost rejects constant features",
        }
    return reasons


@parametrize_with_checks(
    [FiveByFive(Ridge()), FiveByFive(SMALL_LIGHTGBM, early_stopping=True, random_state=0)],
    expected_failed_checks=excluded,
)
def test_rankers_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


# The checks have grades from 1, and score other rows of the queries that they pass to fit.
@pytest.mark.filterwarnings("ignore:All grades are from 1")
@pytest.mark.filterwarnings("ignore::skgraded.model_selection.TornQueryWarning")
@parametrize_with_checks(
    [RaceByFive(sg.QueryRanker(Ridge()), {"estimator__alpha": [1, 10]}, cv=2, random_state=0)],
    expected_failed_checks=excluded,
)
def test_searches_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.nightly
@parametrize_with_checks(OTHERS, expected_failed_checks=excluded)
def test_rankers_of_other_libraries_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
