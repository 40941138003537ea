"""scikit-learn support: HistGradientBoostingRegressor in QueryRanker.

HistGradientBoostingRegressor does not support callbacks. With ``warm_start``, each call to `fit`
adds rounds to the model.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from skgraded.boosting.adapter import BoosterAdapter, Rows
from skgraded.boosting.rounds import StoppingState


class _HistGradientBoostingAdapter(BoosterAdapter):
    """Adapter for HistGradientBoostingRegressor and its subclasses."""

    round_parameters = ("max_iter",)
    without_stopping = {"early_stopping": False}
    scores_late = True

    def check(self) -> None:
        if self.estimator.early_stopping is True:
            raise ValueError(
                f"With early_stopping=True, {type(self.estimator).__name__} holds out random rows, "
                "which splits queries: set QueryRanker(…, early_stopping=5) instead, which holds out "
                "whole queries."
            )

    def _copy_for(self, grades: np.ndarray, n_rounds: int | None) -> tuple[Any, np.ndarray]:
        # early_stopping="auto" would hold out random rows of data sets with more than 10,000 rows
        return super()._copy_for(grades, n_rounds or self.estimator.max_iter)

    def _fit_stopped(
        self,
        training: Rows,
        validation: Rows,
        state: StoppingState,
        add_round: Callable[[np.ndarray], None],
        fit_params: dict[str, Any],
    ) -> Any:
        """Fit a copy of the estimator in steps; no step continues past `state.over_at`."""
        model = self._copy()
        most = model.max_iter
        model.set_params(warm_start=True, **self.without_stopping)
        arguments = fit_params | self._make_fit_arguments(training)
        while not state.is_over:
            model.max_iter = min(most, state.over_at)
            model.fit(training.X, training.grades, **arguments)
            for scores in islice(model.staged_predict(validation.X), state.n_rounds, None):
                add_round(scores)
            if model.max_iter == most:
                break
        # `predict` sums over the private list `_predictors`, which has one entry per round.
        del model._predictors[state.best_round :]
        return model.set_params(max_iter=most, warm_start=False)


ADAPTERS = {"HistGradientBoostingRegressor": _HistGradientBoostingAdapter}
