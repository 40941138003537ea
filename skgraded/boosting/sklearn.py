"""scikit-learn: HistGradientBoostingRegressor in QueryRanker, stopped early on our measures.

It has no callbacks, but with ``warm_start`` its fit goes on from the rounds that it has.
"""

import sys
from itertools import islice

from skgraded.boosting.adapter import BoosterAdapter


class Library(BoosterAdapter):
    """HistGradientBoostingRegressor and what is made after it."""

    package = "sklearn"
    model = "HistGradientBoostingRegressor"
    library = "scikit-learn"
    taken = frozenset({"X_val", "y_val", "sample_weight_val"})

    @classmethod
    def knows(cls, estimator):
        """Whether the estimator is one of these; whoever has one has imported their module."""
        model = getattr(sys.modules.get("sklearn.ensemble"), cls.model, None)
        return model is not None and isinstance(estimator, model)

    def fit_stopped(self, training, validation, progress, fit_params):
        """Fit a copy of the estimator, each time by as many rounds as cannot be too many."""
        model = self.copy()
        own = {name: getattr(model, name) for name in ("max_iter", "warm_start", "early_stopping")}
        arguments = fit_params | self.fit_arguments(training)
        while not progress.is_over:
            n_rounds = min(own["max_iter"], progress.over_at)
            vars(model).update(max_iter=n_rounds, warm_start=True, early_stopping=False)
            model.fit(training.X, training.grades, **arguments)
            for scores in islice(model.staged_predict(validation.X), progress.n_rounds, None):
                progress.see(scores)
            if n_rounds == own["max_iter"]:
                break
        # What predict sums up, a list of trees a round: nothing public makes it shorter.
        del model._predictors[progress.best_round:]
        vars(model).update(own)
        return model
