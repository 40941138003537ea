"""Several trainings that stop at the same round: the folds of ``early_stopping=k``, in threads."""

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
        self._error: BaseException | None = None  # of the state
        self._barrier = Barrier(n_folds, self._see)
        self._slots = Semaphore(effective_n_jobs())
        self._config = get_config()  # scikit-learn's settings apply to one thread only

    def train(self, adapter: Any, folds: list[Any], fit_params: dict[str, Any]) -> None:
        """Train on all folds; raise the first error in any of them."""
        with ThreadPoolExecutor(len(folds)) as pool:
            trainings = [
                pool.submit(self._train, adapter, fold, _Fold(self, i), fit_params)
                for i, fold in enumerate(folds)
            ]
            try:
                ended: set[Future[None]] = set()
                while not ended:  # Ctrl-C cannot end a longer wait once catboost is imported
                    ended, _ = wait(trainings, 0.1, FIRST_COMPLETED)
                ended.pop().result()
            finally:  # the other trainings end after their current round, also after an interrupt
                self._barrier.abort()

    def _train(self, adapter: Any, fold: Any, progress: Any, fit_params: dict[str, Any]) -> None:
        with self._slots:
            if not self._barrier.broken:
                with config_context(**self._config):
                    adapter.fit_stopped(*fold, progress, fit_params)

    def _see(self) -> None:
        """Pass the scores of all folds to the state; one of the waiting threads does this."""
        try:
            self.state.see(np.concatenate(self._scores))
        except BaseException as error:
            self._error = error
            raise

    def hand_in(self, fold: int, scores: Any) -> None:
        """Wait until all folds have handed in the validation scores of the round."""
        self._scores[fold] = np.array(scores, dtype=float)
        self._slots.release()
        try:
            self._barrier.wait()
        except BrokenBarrierError:
            error = RuntimeError("The training of another fold has ended.")
            raise self._error or error from None
        finally:
            self._slots.acquire()


class _Fold:
    """The joint StoppingState, as the training of one fold sees it."""

    def __init__(self, joint: JointRounds, fold: int) -> None:
        self._joint, self._fold = joint, fold

    def see(self, scores: Any) -> None:
        self._joint.hand_in(self._fold, scores)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._joint.state, name)
