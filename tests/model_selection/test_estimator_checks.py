"""scikit-learn's own checks of an estimator, on QueryRanker around each kind of estimator."""

import numpy as np
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples
from xgboost import XGBRanker

import skgraded as sg


class FiveByFive(sg.QueryRanker):
    """A QueryRanker for checks that know of no queries: five rows in order are one.

    Nor do the checks know grades: rankers of whole grades get fifths of their targets, 0 to 4.
    """

    def __repr__(self):  # the name of a check; CatBoost's holds an address
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


SMALL_LIGHTGBM = LGBMRanker(n_estimators=3, min_child_samples=1, n_jobs=1, verbose=-1)
SMALL_CATBOOST = CatBoostRanker(
    iterations=3, thread_count=1, verbose=False, allow_writing_files=False
)
# Each library once, and LightGBM also stopped early.
RANKERS = [
    FiveByFive(Ridge()),
    FiveByFive(SMALL_LIGHTGBM),
    FiveByFive(SMALL_LIGHTGBM, early_stopping=True, random_state=0),
    FiveByFive(XGBRanker(n_estimators=3, n_jobs=1)),
    FiveByFive(SMALL_CATBOOST),
]


def excluded(ranker):
    """The checks that cannot hold, and why."""
    reasons = {
        "check_supervised_y_2d": "a column vector of grades is refused, as everywhere in skgraded",
        "check_complex_data": "complex grades are refused in words of our own",
    }
    if ranker.early_stopping:
        reasons["check_fit2d_1sample"] = "one query cannot be held out and trained on"
    if isinstance(ranker.estimator, CatBoostRanker):
        reasons |= {
            "check_fit2d_1sample": "CatBoost refuses constant features in words of its own",
            "check_dtype_object": "CatBoost refuses objects in words of its own",
            "check_positive_only_tag_during_fit": "CatBoost refuses constant features",
        }
    return reasons


@parametrize_with_checks(RANKERS, expected_failed_checks=excluded)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
