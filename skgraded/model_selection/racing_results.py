"""Fits of a racing search on folds, and the tables of their per-query values."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import FitFailedWarning

from skgraded._input.words import object_array
from skgraded.judgments import Judgments, layout_of
from skgraded.measures import Measure, mean_over_queries
from skgraded.model_selection.folds import RankerOnRows
from skgraded.reports.evaluating import values_by_query
from skgraded.reports.evaluation import Evaluation
from skgraded.writing.text import utf8


@dataclass(frozen=True)
class Fold:
    """Training rows, test rows with unweighted judgments, and the positions of the queries."""

    train: np.ndarray
    test: np.ndarray
    judgments: Judgments
    queries: np.ndarray

    @classmethod
    def of(cls, data: RankerOnRows, train: np.ndarray, test: np.ndarray) -> Self:
        """Return the fold with these rows."""
        query_of_row = layout_of(data.judgments).query_of_row[test]
        queries, first = np.unique(query_of_row, return_index=True)
        in_order = queries[np.argsort(first)]  # Judgments list queries by first appearance
        # All queries of a fold can have weight 0, which is an error in Judgments with weights.
        unweighted = replace(data, sample_weight=None)
        return cls(train, test, unweighted.judgments_of(test), in_order)


@dataclass(frozen=True)
class CandidateRun:
    """Result of a candidate on a fold: per-query values by measure, seconds, or an error."""

    values: dict[str, np.ndarray]
    fit_time: float
    score_time: float
    error: str | None = None


def run_candidate(
    data: RankerOnRows, fold: Fold, measures: list[Measure], error_score: Any
) -> CandidateRun:
    """Fit on the training rows, and evaluate the test rows."""
    start = time.perf_counter()
    try:
        fitted = data.fit(fold.train)
        fitted_at = time.perf_counter()
        values = values_by_query(measures, fold.judgments, data.scores(fitted, fold.test))
    except Exception as error:
        if error_score == "raise":
            raise
        lost = {measure.name: np.full(len(fold.queries), error_score) for measure in measures}
        seconds = time.perf_counter() - start
        return CandidateRun(lost, seconds, 0.0, utf8(f"{type(error).__name__}: {error}"))
    return CandidateRun(values["per_query"], fitted_at - start, time.perf_counter() - fitted_at)


class Results:
    """Per-query values, times and test results of all candidates.

    `sums` has the shape (n_queries, n_candidates) per measure. A value is a sum divided by
    `n_tests`, the number of folds that tested the query for this candidate.
    """

    def __init__(
        self,
        measures: list[Measure],
        judgments: Judgments,
        candidates: list[dict[str, Any]],
        n_folds: int,
    ) -> None:
        self.measures, self.judgments, self.candidates = measures, judgments, candidates
        n = len(candidates)
        self.sums = {measure.name: np.zeros((judgments.n_queries, n)) for measure in measures}
        self.n_tests = np.zeros((judgments.n_queries, n), dtype=np.int32)
        self.fold_means = {measure.name: np.full((n, n_folds), np.nan) for measure in measures}
        self.times = {name: np.full((n, n_folds), np.nan) for name in ("fit_time", "score_time")}
        self.dropped_after = np.full(n, -1)
        self.difference, self.half_width = np.full(n, np.nan), np.full(n, np.nan)

    @property
    def n_folds(self) -> np.ndarray:
        """Number of folds on which each candidate was fitted."""
        return np.isfinite(self.times["fit_time"]).sum(axis=1)

    @property
    def deciding(self) -> str:
        """Name of the measure that decides."""
        return self.measures[0].name

    def values(self, name: str, candidates: Any = slice(None)) -> np.ndarray:
        """Return the per-query values of candidates; nan for queries that were not tested."""
        with np.errstate(invalid="ignore"):
            return self.sums[name][:, candidates] / self.n_tests[:, candidates]

    def means(self, name: str) -> np.ndarray:
        """Return the mean of each candidate over the queries of its folds."""
        return np.array(
            [
                mean_over_queries(np.ascontiguousarray(column), self.judgments.weights)
                for column in self.values(name).T
            ]
        )

    def record(
        self, number: int, fold: Fold, remaining: np.ndarray, runs: Sequence[CandidateRun]
    ) -> np.ndarray:
        """Add the results of a fold; return the mask of candidates that can stay in the race."""
        weights = self.judgments.weights
        weights = None if weights is None else weights[fold.queries]
        for c, run in zip(remaining, runs, strict=True):
            for name, values in run.values.items():
                self.sums[name][fold.queries, c] += values
                self.fold_means[name][c, number] = mean_over_queries(values, weights)
            self.n_tests[fold.queries, c] += 1
            self.times["fit_time"][c, number] = run.fit_time
            self.times["score_time"][c, number] = run.score_time
        self._report_errors(number, remaining, runs)
        has_failed = np.array(
            [run.error is not None and np.isnan(run.values[self.deciding]).all() for run in runs]
        )
        self.dropped_after[remaining[has_failed]] = number
        return ~has_failed

    def _report_errors(
        self, number: int, remaining: np.ndarray, runs: Sequence[CandidateRun]
    ) -> None:
        errors = {int(c): run.error for c, run in zip(remaining, runs, strict=True) if run.error}
        if not errors:
            return
        first = min(errors)
        words = (
            f"{len(runs)} candidates failed in fold {number}. Error of candidate {first}, "
            f"{self.candidates[first]}: {errors[first]}"
        )
        if len(errors) == len(runs):
            raise ValueError(f"All {words}")
        warnings.warn(f"{len(errors)} of {words}", FitFailedWarning, stacklevel=5)

    def comparable(self, remaining: np.ndarray) -> np.ndarray:
        """Return the values of the remaining candidates on tested, defined, weighted queries."""
        values, weights = self.values(self.deciding, remaining), self.judgments.weights
        used = np.isfinite(values).all(axis=1) & (True if weights is None else weights > 0)
        return values[used]

    def ranks(self) -> np.ndarray:
        """Rank survivors by their means, then dropped candidates by their folds and means."""
        means = np.nan_to_num(self.means(self.deciding), nan=-np.inf)
        keys = list(zip(self.dropped_after < 0, self.n_folds, means, strict=True))
        return np.array([1 + sum(other > key for other in keys) for key in keys], dtype=np.int32)

    def evaluation(self, candidate: int) -> Evaluation:
        """Return the values of a candidate on the tested queries as an Evaluation."""
        tested = np.flatnonzero(self.n_tests[:, candidate])
        values = {m.name: self.values(m.name, candidate)[tested] for m in self.measures}
        weights = self.judgments.weights
        return Evaluation(
            self.judgments.query_ids[tested],
            values,
            {name: np.isnan(array) for name, array in values.items()},
            weights=None if weights is None else weights[tested],
        )

    def table(self) -> dict[str, Any]:
        """Return `cv_results_`: the columns of GridSearchCV, n_folds and dropped_after."""
        table: dict[str, Any] = {}
        for name, seconds in self.times.items():
            table[f"mean_{name}"] = np.nanmean(seconds, axis=1)
            table[f"std_{name}"] = np.nanstd(seconds, axis=1)
        for name in dict.fromkeys(name for parameters in self.candidates for name in parameters):
            table[f"param_{name}"] = np.ma.MaskedArray(
                object_array([parameters.get(name) for parameters in self.candidates]),
                mask=[name not in parameters for parameters in self.candidates],
            )
        table["params"] = self.candidates
        ranks = self.ranks()  # by the deciding measure
        for measure in self.measures:
            name = "score" if len(self.measures) == 1 else measure.name
            fold_means = np.ma.masked_invalid(self.fold_means[measure.name])
            for number, means in enumerate(fold_means.data.T):
                table[f"split{number}_test_{name}"] = means
            table[f"mean_test_{name}"] = self.means(measure.name)
            table[f"std_test_{name}"] = fold_means.std(axis=1).filled(np.nan)
            table[f"rank_test_{name}"] = ranks.copy()
        return table | {"n_folds": self.n_folds, "dropped_after": self.dropped_after}
