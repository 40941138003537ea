"""An estimator for what must be refused before any fit."""

from sklearn.linear_model import Ridge


class NeverFitted(Ridge):
    def fit(self, X, y):
        raise AssertionError("bad input must be refused before any fit")
