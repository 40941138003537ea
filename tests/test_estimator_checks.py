"""scikit-learn's own checks of an estimator, on QueryRanker."""

import numpy as np
from lightgbm import LGBMRegressor
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

import skgraded as sg


class FiveByFive(sg.QueryRanker):
    """A QueryRanker for checks that know of no queries: five rows in order are one."""

    def fit(self, X, y):
        return super().fit(X, y, qid=np.arange(_num_samples(X)) // 5)

    def score(self, X, y):
        return super().score(X, y, qid=np.arange(_num_samples(X)) // 5)


NOT_FOR_RANKERS = {
    "check_supervised_y_2d": "a column vector of grades is refused, as everywhere in skgraded",
    "check_complex_data": "complex grades are refused in words of our own",
    "check_requires_y_none": "y=None is refused in words of our own",
}


@parametrize_with_checks(
    [
        FiveByFive(Ridge()),
        FiveByFive(LGBMRegressor(n_estimators=3, min_child_samples=1, verbose=-1)),
    ],
    expected_failed_checks=lambda estimator: NOT_FOR_RANKERS,
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
