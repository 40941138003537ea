"""An estimator that fails if bad input is not rejected before any fit."""

from sklearn.linear_model import Ridge


class NeverFitted(Ridge):
    def fit(self, X, y):
        raise AssertionError("bad input must be rejected before any fit")
