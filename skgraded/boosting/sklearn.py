"""scikit-learn: HistGradientBoostingRegressor and pipelines in QueryRanker.

The booster has no callbacks, but with ``warm_start`` its fit goes on from the rounds that it has.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded.boosting.adapter import Adapter, BoosterAdapter, adapter_of
from skgraded.boosting.rows import Rows


class Library(BoosterAdapter):
    """HistGradientBoostingRegressor and what is made after it."""

    package = "sklearn"
    model = "HistGradientBoostingRegressor"
    library = "scikit-learn"
    taken: frozenset[str] = frozenset({"X_val", "y_val", "sample_weight_val"})

    @classmethod
    def knows(cls, estimator: Any) -> bool:
        """Whether the estimator is one of these; whoever has one has imported their module."""
        model = getattr(sys.modules.get("sklearn.ensemble"), cls.model, None)
        return model is not None and isinstance(estimator, model)

    def fit_rounds(self, rows: Rows, n_rounds: int, fit_params: dict[str, Any]) -> Any:
        """Fit a copy of the estimator for so many rounds, stopped by nothing."""
        model = self.copy()
        own = {name: getattr(model, name) for name in ("max_iter", "early_stopping")}
        vars(model).update(max_iter=n_rounds, early_stopping=False)
        model.fit(rows.X, rows.grades, **fit_params | self.fit_arguments(rows))
        vars(model).update(own)
        return model

    def fit_stopped(
        self, training: Rows, validation: Rows, progress: Any, fit_params: dict[str, Any]
    ) -> Any:
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


class OfPipeline(Adapter):
    """A pipeline that ends in a ranker or regressor: its transformers see rows, the end queries."""

    def __init__(self, estimator: Any) -> None:
        super().__init__(estimator)
        self._last = adapter_of(estimator.steps[-1][1])
        self.first_scores, self.by_position = self._last.first_scores, self._last.by_position

    @classmethod
    def knows(cls, estimator: Any) -> bool:
        """Whether the estimator is a pipeline."""
        model = getattr(sys.modules.get("sklearn.pipeline"), "Pipeline", None)
        return model is not None and isinstance(estimator, model)

    @property
    def name(self) -> str:
        """The name of the last step's class."""
        return self._last.name

    @property
    def fit_parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of the last step's fit, by name."""
        return self._last.fit_parameters

    @property
    def query_argument(self) -> str | None:
        """How the last step's fit takes the queries."""
        return self._last.query_argument

    @property
    def finds_queries(self) -> bool:
        """Whether the last step was told where in X the queries are."""
        return self._last.finds_queries

    def expect_gains(self) -> None:
        """Take grades for gains of NDCG, where the last step optimises it."""
        self._last.expect_gains()

    def check(self) -> None:
        """Refuse settings of the last step by which it would learn nothing."""
        self._last.check()

    @property
    def wants_whole_grades(self) -> bool:
        """Whether the last step takes whole grades only."""
        return self._last.wants_whole_grades

    @property
    def for_fractions(self) -> str:
        """What to do about fractional grades."""
        return self._last.for_fractions

    def check_by_row(
        self,
        sample_weight: ArrayLike | None,
        fit_params: dict[str, Any],
        n: int | None,
        expected: str,
    ) -> dict[str, np.ndarray]:
        """Collect the arguments of the last step's fit that follow the rows."""
        return self._last.check_by_row(sample_weight, fit_params, n, expected)

    def with_memory(self, fit_params: dict[str, Any], memory: Any) -> dict[str, Any]:
        """The arguments of the last step's fit, with one that keeps prepared data."""
        return self._last.with_memory(fit_params, memory)

    def check_stopping(self, fit_params: dict[str, Any]) -> None:
        """Refuse a last step that cannot be stopped early."""
        self._last.check_stopping(fit_params)

    def fit(self, rows: Rows, fit_params: dict[str, Any]) -> Any:
        """Fit a copy: the transformers on the rows, and the last step on what they make of them."""
        return self._fitted(rows, lambda transformed, _: self._last.fit(transformed, fit_params))

    def fit_stopped(
        self, training: Rows, validation: Rows, progress: Any, fit_params: dict[str, Any]
    ) -> Any:
        """Fit a copy, the last step for as many rounds as it pays."""
        def fit_last(transformed, transform):
            held_out = replace(validation, X=self._last.readable(transform(validation.X)))
            return self._last.fit_stopped(transformed, held_out, progress, fit_params)

        return self._fitted(training, fit_last)

    def fit_rounds(self, rows: Rows, n_rounds: int, fit_params: dict[str, Any]) -> Any:
        """Fit a copy, the last step for so many rounds."""
        return self._fitted(
            rows, lambda transformed, _: self._last.fit_rounds(transformed, n_rounds, fit_params)
        )

    def _fitted(self, rows, fit_last):
        model = self.copy()
        X, before = rows.X, model[:-1]
        if len(before):
            X = before.fit_transform(X, rows.grades)
        transform = before.transform if len(before) else lambda X: X
        last = fit_last(replace(rows, X=self._last.readable(X)), transform)
        model.steps = [*before.steps, (model.steps[-1][0], last)]
        return model


ADAPTERS: list[type[Adapter]] = [Library, OfPipeline]
