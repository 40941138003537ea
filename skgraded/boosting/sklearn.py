"""scikit-learn support: HistGradientBoostingRegressor and pipelines in QueryRanker.

The booster has no callbacks, but with ``warm_start``, fit continues after the existing rounds.
"""

from dataclasses import replace
from itertools import islice
from typing import Any

from skgraded.boosting.adapter import Adapter, BoosterAdapter, adapter_of


class _Library(BoosterAdapter):
    """Adapter for HistGradientBoostingRegressor and its subclasses."""

    package = "sklearn"
    model = "HistGradientBoostingRegressor"
    library = "scikit-learn"
    conflicting = frozenset({"X_val", "y_val", "sample_weight_val"})

    def fit_rounds(self, rows, n_rounds, fit_params):
        model = self.copy()
        settings = {name: getattr(model, name) for name in ("max_iter", "early_stopping")}
        vars(model).update(max_iter=n_rounds, early_stopping=False)
        model.fit(rows.X, rows.grades, **fit_params | self.fit_arguments(rows))
        vars(model).update(settings)
        return model

    def fit_stopped(self, training, validation, progress, fit_params):
        """Fit a copy of the estimator in steps, so that no step exceeds the stopping round."""
        model = self.copy()
        names = ("max_iter", "warm_start", "early_stopping")
        settings = {name: getattr(model, name) for name in names}
        arguments = fit_params | self.fit_arguments(training)
        while not progress.is_over:
            n_rounds = min(settings["max_iter"], progress.over_at)
            vars(model).update(max_iter=n_rounds, warm_start=True, early_stopping=False)
            model.fit(training.X, training.grades, **arguments)
            for scores in islice(model.staged_predict(validation.X), progress.n_rounds, None):
                progress.see(scores)
            if n_rounds == settings["max_iter"]:
                break
        # predict sums this list, which has one entry per round; no public method truncates it.
        del model._predictors[progress.best_round:]
        vars(model).update(settings)
        return model


class _PipelineAdapter:
    """Adapter for a pipeline; it delegates to the adapter of the pipeline's last step."""

    model = "Pipeline"

    def __init__(self, estimator, grades_are_gains):
        self._last = adapter_of(estimator.steps[-1][1], grades_are_gains)
        whole = Adapter(estimator, grades_are_gains)
        self.copy, self.input_tags, self.readable = whole.copy, whole.input_tags, whole.readable

    def __getattr__(self, name):
        return getattr(self._last, name)

    def fit(self, rows, fit_params):
        """Fit the transformers of a copy on the rows, and the last step on their output."""
        return self._fitted(rows, lambda transformed, _: self._last.fit(transformed, fit_params))

    def fit_stopped(self, training, validation, progress, fit_params):
        def fit_last(transformed, transform):
            held_out = replace(validation, X=self._last.readable(transform(validation.X)))
            return self._last.fit_stopped(transformed, held_out, progress, fit_params)

        return self._fitted(training, fit_last)

    def fit_rounds(self, rows, n_rounds, fit_params):
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


ADAPTERS: list[Any] = [_Library, _PipelineAdapter]
