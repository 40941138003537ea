"""scikit-learn support: HistGradientBoostingRegressor and pipelines in QueryRanker.

The regressor has no callbacks. With ``warm_start``, each call of fit adds rounds to the model.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from skgraded.boosting.adapter import BoosterAdapter, WholeEstimator, adapter_of, adapts
from skgraded.boosting.rows import Rows


@adapts("sklearn", "HistGradientBoostingRegressor")
class _HistGradientBoostingAdapter(BoosterAdapter):
    """Adapter for HistGradientBoostingRegressor and its subclasses."""

    without_stopping = {"early_stopping": False}

    def check(self) -> None:
        if self.estimator.early_stopping is True:
            raise ValueError(
                f"{type(self.estimator).__name__}(early_stopping=True) holds out random rows, "
                "which splits queries: omit it, and set QueryRanker(…, early_stopping=5), which "
                "holds out whole queries."
            )

    def fit(self, rows: Rows, fit_params: dict[str, Any]) -> Any:
        # early_stopping="auto" would hold out random rows if there are more than 10,000 rows
        return self.fit_rounds(rows, self.estimator.max_iter, fit_params)

    def fit_stopped(
        self, training: Rows, validation: Rows, progress: Any, fit_params: dict[str, Any]
    ) -> Any:
        """Fit a copy of the estimator in steps; no step continues past the stopping round."""
        model = self.copy()
        most = model.max_iter
        model.set_params(warm_start=True, **self.without_stopping)
        arguments = fit_params | self.fit_arguments(training)
        while not progress.is_over:
            model.max_iter = min(most, progress.over_at)
            model.fit(training.X, training.grades, **arguments)
            for scores in islice(model.staged_predict(validation.X), progress.n_rounds, None):
                progress.see(scores)
            if model.max_iter == most:
                break
        # `predict` sums `_predictors`, one entry per round; no public method shortens this list.
        del model._predictors[progress.best_round :]
        return model.set_params(max_iter=most, warm_start=False)


@adapts("sklearn", "Pipeline")
class _PipelineAdapter(WholeEstimator):
    """Adapter for a pipeline; the adapter of its last step checks and prepares the arguments."""

    def __init__(self, estimator: Any, grades_are_gains: bool):
        super().__init__(estimator)
        self._last = adapter_of(estimator.steps[-1][1], grades_are_gains)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._last, name)

    def fit(self, rows: Rows, fit_params: dict[str, Any]) -> Any:
        """Fit a copy of the pipeline: the transformers, then the last step on transformed rows."""
        return self._fitted(self._last.fit, [rows], fit_params)

    def fit_stopped(
        self, training: Rows, validation: Rows, progress: Any, fit_params: dict[str, Any]
    ) -> Any:
        return self._fitted(self._last.fit_stopped, [training, validation], progress, fit_params)

    def fit_rounds(self, rows: Rows, n_rounds: int, fit_params: dict[str, Any]) -> Any:
        return self._fitted(self._last.fit_rounds, [rows], n_rounds, fit_params)

    def _fitted(self, fit_last: Callable[..., Any], parts: Sequence[Rows], *arguments: Any) -> Any:
        """Fit the transformers to the first table, transform all tables, and fit the last step."""
        model = self.copy()
        before, tables = model[:-1], [rows.X for rows in parts]
        if len(before):
            X, *others = tables
            tables = [before.fit_transform(X, parts[0].grades), *map(before.transform, others)]
        pairs = zip(parts, map(self._last.readable, tables), strict=True)
        last = fit_last(*(replace(rows, X=X) for rows, X in pairs), *arguments)
        model.steps = [*before.steps, (model.steps[-1][0], last)]
        return model
