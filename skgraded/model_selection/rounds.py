"""Train several models that stop at the same round: the folds of ``early_stopping=k``, in threads."""

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from threading import Barrier, BrokenBarrierError, Semaphore
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context, get_config

from skgraded.boosting.adapter import Adapter
from skgraded.boosting.rows import Rows
from skgraded.boosting.stopping import StoppingState


class JointRounds:
    """Trains on several folds, and passes the scores of each round to one `state`, a StoppingState.

    The judgments of the state contain the validation rows of all folds. The folds are trained in
    threads that wait for each other after each round. joblib's `n_jobs` or `state.n_jobs` sets how
    many folds are trained at a time; the result does not depend on this number.
    """

    def __init__(self, state: StoppingState, n_folds: int) -> None:
        self.state = state
        self._stopped_by_others: set[int] = set()  # folds whose training another fold has ended
        self._scores = [np.empty(0)] * n_folds
        self._barrier = Barrier(n_folds, lambda: state.add_round(np.concatenate(self._scores)))
        self._slots = Semaphore(effective_n_jobs(state.n_jobs))
        self._config = get_config()  # scikit-learn's settings apply to one thread only

    def train(
        self, adapter: Adapter, folds: list[tuple[Rows, Rows]], fit_params: dict[str, Any]
    ) -> None:
        """Train on all folds; raise the error of the first fold that fails."""
        with ThreadPoolExecutor(len(folds)) as pool:
            trainings = []
            for i, fold in enumerate(folds):
                trainings.append(pool.submit(self._train, adapter, i, fold, fit_params))
                # Only the first fold passes the joint values to callbacks, once per round.
                fit_params = adapter.remove_observers(fit_params)
            try:
                ended: set[Future[None]] = set()
                while not ended:  # Ctrl-C cannot end a longer wait once catboost is imported
                    ended, _ = wait(trainings, 0.1, FIRST_COMPLETED)
            finally:  # other folds stop after their current round, even after an interrupt
                self._barrier.abort()
        for training in trainings:
            training.result()

    def _train(
        self, adapter: Adapter, i: int, fold: tuple[Rows, Rows], fit_params: dict[str, Any]
    ) -> None:
        with self._slots, config_context(**self._config):
            try:
                if not self._barrier.broken:
                    add_round = partial(self._add_scores, i)
                    adapter.fit_stopped(*fold, self.state, add_round, fit_params)
            except Exception:  # CatBoost raises errors of its own
                if i not in self._stopped_by_others:
                    raise

    def _add_scores(self, i: int, scores: np.ndarray) -> None:
        """Wait for the scores of all folds; raise an error if another fold ended before this round."""
        n_rounds = self.state.n_rounds
        self._scores[i] = np.array(scores, dtype=float)
        self._slots.release()
        try:
            self._barrier.wait()
        except BrokenBarrierError:
            if self.state.n_rounds == n_rounds:
                self._stopped_by_others.add(i)
                raise RuntimeError("The training of another fold has ended.") from None
        finally:
            self._slots.acquire()
