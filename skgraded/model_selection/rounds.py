"""Train several models that stop at the same round: the folds of ``early_stopping=k``, in threads."""

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Barrier, BrokenBarrierError, Semaphore
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context, get_config


class JointRounds:
    """Trains on several folds, and passes the scores of each round to one `state`, a StoppingState.

    The judgments of the state contain the validation rows of all folds. The folds are trained in
    threads that wait for each other after each round. As many folds as joblib's `n_jobs` are
    trained at a time; the result does not depend on this number.
    """

    def __init__(self, state: Any, n_folds: int) -> None:
        self.state = state
        self._scores: list[Any] = [None] * n_folds
        self._barrier = Barrier(n_folds, lambda: state.see(np.concatenate(self._scores)))
        self._slots = Semaphore(effective_n_jobs())
        self._config = get_config()  # scikit-learn's settings apply to one thread only

    def train(self, adapter: Any, folds: list[Any], fit_params: dict[str, Any]) -> None:
        """Train on all folds; raise the error of the first fold that fails."""
        with ThreadPoolExecutor(len(folds)) as pool:
            trainings = []
            for i, fold in enumerate(folds):
                trainings.append(
                    pool.submit(self._train, adapter, fold, _Fold(self, i), fit_params)
                )
                # Only the first fold passes the joint values to callbacks, once per round.
                fit_params = adapter.without_observers(fit_params)
            try:
                ended: set[Future[None]] = set()
                while not ended:  # Ctrl-C cannot end a longer wait once catboost is imported
                    ended, _ = wait(trainings, 0.1, FIRST_COMPLETED)
            finally:  # other folds stop after their current round, even after an interrupt
                self._barrier.abort()
        for training in trainings:
            training.result()

    def _train(self, adapter: Any, fold: Any, progress: Any, fit_params: dict[str, Any]) -> None:
        with self._slots, config_context(**self._config):
            try:
                if not self._barrier.broken:
                    adapter.fit_stopped(*fold, progress, fit_params)
            except Exception:  # CatBoost raises errors of its own
                if not progress.is_abandoned:
                    raise

    def hand_in(self, fold: int, scores: Any) -> bool:
        """Wait for the validation scores of all folds; return whether all folds had this round."""
        n_rounds = self.state.n_rounds
        self._scores[fold] = np.array(scores, dtype=float)
        self._slots.release()
        try:
            self._barrier.wait()
        except BrokenBarrierError:
            return self.state.n_rounds > n_rounds
        finally:
            self._slots.acquire()
        return True


class _Fold:
    """The joint StoppingState, as the training of one fold sees it."""

    def __init__(self, joint: JointRounds, fold: int) -> None:
        self._joint, self._fold = joint, fold
        self.is_abandoned = False

    def see(self, scores: Any) -> None:
        if not self._joint.hand_in(self._fold, scores):
            self.is_abandoned = True
            raise RuntimeError("The training of another fold has ended.")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._joint.state, name)
