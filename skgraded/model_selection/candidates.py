"""Evaluation of a search's candidates; boosters are trained on all folds at the same time."""

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from threading import Barrier, BrokenBarrierError, Semaphore
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context, get_config
from sklearn.utils.parallel import delayed

from skgraded._input.tables import take_rows
from skgraded.boosting.adapter import Adapter, Rows
from skgraded.boosting.rounds import StoppingState
from skgraded.judgments import Judgments, get_layout
from skgraded.measures import Measure
from skgraded.measures.base import find_undefined, mean_over_queries, score_queries
from skgraded.model_selection.cross_evaluating import run_fold
from skgraded.model_selection.folds import RankerOnRows, run_in_parallel
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.report import concatenate
from skgraded.stats.intervals import estimate_mean
from skgraded.stats.paired_tests import average_queries
from skgraded.stats.racing import CHECKPOINTS, is_hopeless
from skgraded.writing.text import utf8


class SearchFolds:
    """The folds of a search; each pair of a fold and a query in its test set is called a test."""

    def __init__(
        self,
        measures: list[Measure],
        data: RankerOnRows,
        splits: list[tuple[np.ndarray, np.ndarray]],
    ) -> None:
        self.measures, self.judgments = measures, data.judgments
        self.splits = [(train, np.sort(test)) for train, test in splits]
        query, n = get_layout(self.judgments).query_of_row, self.judgments.n_queries
        every_row = np.arange(self.judgments.n_rows)
        self.masks = [
            (np.isin(every_row, train), np.isin(every_row, test)) for train, test in splits
        ]
        ids = [fold * n + query[test] for fold, (_, test) in enumerate(self.splits)]
        rows = np.concatenate([test for _, test in self.splits])
        self.tests = Judgments(take_rows(data.y, rows), qid=np.concatenate(ids))
        self.fold, self.query = np.divmod(self.tests.query_ids, n)
        self.tested = np.unique(self.query)
        counts, weights = ~find_undefined(measures[0], self.judgments), self.judgments.weights
        if not (counts if weights is None else counts & (weights > 0))[self.tested].any():
            raise ValueError(
                f"The measure {measures[0]} is undefined for all {len(self.tested)} queries, "
                "because no query with positive weight has a relevant document."
            )

    def average_tests(self, values: np.ndarray) -> np.ndarray:
        """Return each query's mean value over the folds that test it, or nan if it has no value."""
        return average_queries(values, self.query, self.judgments.n_queries)

    def average(self, values: np.ndarray) -> float:
        """Return the weighted mean over all queries."""
        return mean_over_queries(self.average_tests(values), self.judgments.weights)

    def make_evaluation(self, result: "CandidateResult") -> Evaluation:
        """Return the values of a candidate on the tested queries as an Evaluation."""
        values = {
            name: self.average_tests(array)[self.tested] for name, array in result.values.items()
        }
        undefined = {name: np.isnan(array) for name, array in values.items()}
        ids, weights = self.judgments.query_ids[self.tested], self.judgments.weights
        weights = None if weights is None else weights[self.tested]
        return Evaluation(ids, values, undefined, weights=weights)


class CandidateRounds(StoppingState):
    """Boosting rounds of a candidate, which is trained on all folds of a search.

    A candidate is dropped if its mean cannot reach `to_reach`; `leader` contains the values of the
    best candidate so far. For each fold, `splits` contains boolean masks of the training rows and
    the test rows. After training, `splits` is empty, so that a `QueryRanker` is fitted on all rows
    for the best number of rounds.
    """

    def __init__(
        self,
        folds: SearchFolds,
        patience: int,
        n_jobs: int | None,
        n_standard_errors: float,
        leader: np.ndarray,
        to_reach: float,
    ) -> None:
        super().__init__(folds.measures, folds.tests, patience, n_jobs)
        self.folds, self.n_standard_errors = folds, n_standard_errors
        self.leader, self.to_reach, self.splits = leader, to_reach, folds.masks
        self.is_dropped = self.was_hopeless = False

    def begin(self, rows: list[np.ndarray], scores_late: bool) -> None:
        """Store the order in which the scores of the test rows of all folds will arrive.

        If `scores_late` is true, the first scores arrive after `patience` rounds.
        """
        n = self.folds.judgments.n_rows
        positions = np.concatenate([fold * n + part for fold, part in enumerate(rows)])
        self.order: np.ndarray = np.argsort(positions)
        self.first_checkpoint = self.patience if scores_late else 1

    def _average(self, scores: np.ndarray) -> list[float]:
        """Return the mean of each measure over the queries of all folds."""
        self.latest = score_queries(self.measures, self.judgments, scores[self.order])
        return [self.folds.average(values) for values in self.latest]

    def add_round(self, scores: np.ndarray) -> None:
        """Evaluate the scores of a round; drop the candidate if it is hopeless twice in a row."""
        super().add_round(scores)
        if self.best_round == self.n_rounds:
            self.best = self.latest
        if self.n_rounds in CHECKPOINTS and self.n_rounds >= self.first_checkpoint:
            differences = self.folds.average_tests(self.best[0] - self.leader)
            error = estimate_mean(differences, self.folds.judgments.weights).standard_error
            curve = self.history[self.measures[0].name]
            hopeless = is_hopeless(curve, error, self.n_standard_errors, self.to_reach)
            self.is_dropped, self.was_hopeless = hopeless and self.was_hopeless, hopeless

    @property
    def over_at(self) -> int:
        """The next round at which training ends or the candidate is compared with the leader."""
        if self.n_rounds == 0:
            return super().over_at
        return min(super().over_at, next(n for n in CHECKPOINTS if n > self.n_rounds))

    @property
    def is_over(self) -> bool:
        """Whether the candidate is dropped, or has not improved in the last `patience` rounds."""
        return self.is_dropped or super().is_over


@dataclass
class CandidateResult:
    """Values of a candidate at its best round."""

    values: dict[str, np.ndarray]  # shape (n_tests,) per measure
    mean: float  # of the first measure, over all queries
    times: np.ndarray  # shape (n_folds, 2): seconds to fit and to score
    error: str | None
    rounds: CandidateRounds | None = None

    @property
    def is_dropped(self) -> bool:
        """Whether the candidate cannot be the best, because it was dropped or its fit failed."""
        return self.error is not None or (self.rounds is not None and self.rounds.is_dropped)


def train_candidate(
    data: RankerOnRows, rounds: CandidateRounds, error_score: float | str
) -> CandidateResult:
    """Train a candidate on all folds until it is dropped or stops improving."""
    start, error, folds = time.perf_counter(), None, rounds.folds
    try:
        data.fit(np.arange(folds.judgments.n_rows), rounds)
        arrays = rounds.best
    except Exception as raised:
        if error_score == "raise":
            raise
        error = utf8(f"{type(raised).__name__}: {raised}")
        arrays = [np.full(folds.tests.n_queries, float(error_score))] * len(folds.measures)
    rounds.splits, rounds.order = [], np.empty(0)  # one number per row
    n_folds = len(folds.splits)
    times = np.tile([(time.perf_counter() - start) / n_folds, 0.0], (n_folds, 1))
    values = {measure.name: array for measure, array in zip(folds.measures, arrays, strict=True)}
    return CandidateResult(values, folds.average(arrays[0]), times, error, rounds)


def fit_candidate(
    data: RankerOnRows, folds: SearchFolds, n_jobs: int | None, error_score: float | str
) -> CandidateResult:
    """Fit a candidate without rounds on each fold."""
    calls = [
        delayed(run_fold)(data, number, *split, error_score, False)
        for number, split in enumerate(folds.splits)
    ]
    runs = run_in_parallel(calls, n_jobs)
    values = concatenate(
        [run.evaluate_queries(folds.measures, data.judge(run.test), error_score) for run in runs]
    )
    times = np.array([(run.fit_time, run.score_time) for run in runs])
    error = next((run.error for run in runs if run.error), None)
    return CandidateResult(values, folds.average(values[folds.measures[0].name]), times, error)


def train_jointly(
    adapter: Adapter,
    folds: list[tuple[Rows, Rows]],
    state: StoppingState,
    fit_params: dict[str, Any],
) -> None:
    """Train on several folds at the same time; raise the error of the first fold that fails.

    `state.judgments` contains the validation rows of all folds. The folds are trained in threads
    that wait for each other after each round. `state.n_jobs` or joblib's configuration sets how
    many folds are trained at the same time, which does not change the result.
    """
    stopped_by_others: set[int] = set()  # folds stopped because another fold ended
    scores_of_fold = [np.empty(0)] * len(folds)
    barrier = Barrier(len(folds), lambda: state.add_round(np.concatenate(scores_of_fold)))
    slots = Semaphore(effective_n_jobs(state.n_jobs))
    config = get_config()  # new threads do not inherit scikit-learn's configuration

    def train_fold(i: int, fit_params: dict[str, Any]) -> None:
        with slots, config_context(**config):
            try:
                if not barrier.broken:
                    adapter.fit_stopped(*folds[i], state, partial(add_scores, i), fit_params)
            except Exception:  # CatBoost raises errors of its own
                if i not in stopped_by_others:
                    raise

    def add_scores(i: int, scores: np.ndarray) -> None:
        """Wait for the scores of all folds; raise an error if another fold ended before this round."""
        n_rounds = state.n_rounds
        scores_of_fold[i] = np.array(scores, dtype=float)
        slots.release()
        try:
            barrier.wait()
        except BrokenBarrierError:
            if state.n_rounds == n_rounds:
                stopped_by_others.add(i)
                raise RuntimeError("The training of another fold has ended.") from None
        finally:
            slots.acquire()

    with ThreadPoolExecutor(len(folds)) as pool:
        trainings = []
        for i in range(len(folds)):
            trainings.append(pool.submit(train_fold, i, fit_params))
            # Only the first fold passes the joint values to callbacks, once per round.
            fit_params = adapter.remove_observers(fit_params)
        try:
            ended: set[Future[None]] = set()
            while not ended:  # short waits, because CatBoost keeps Ctrl-C from ending long ones
                ended, _ = wait(trainings, 0.1, FIRST_COMPLETED)
        finally:
            # One fold ended or the user interrupted: stop all folds after their current round.
            barrier.abort()
    for training in trainings:
        training.result()
