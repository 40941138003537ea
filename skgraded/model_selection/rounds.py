"""Several trainings that stop at the same round: the folds of ``early_stopping=k``, in threads."""

from collections.abc import Callable
from functools import partial
from threading import Barrier, BrokenBarrierError, Semaphore, Thread
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
        self._has_ended = False  # whether a training has ended, so that the other ones must end
        self._error: BaseException | None = None  # the first error in any thread

    def train(self, adapter: Any, folds: list[Any], fit_params: dict[str, Any]) -> None:
        """Train on all folds; raise the first error in any of them."""
        config = get_config()  # scikit-learn's settings apply to one thread only
        threads = []
        for i, fold in enumerate(folds):
            fit = partial(adapter.fit_stopped, *fold, _Fold(self, i), fit_params)
            threads.append(Thread(target=self._run, args=(fit, config), daemon=True))
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:  # after an interrupt, the trainings end after their current round
            self._has_ended = True
            self._barrier.abort()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        if self._error is not None:
            raise self._error

    def _run(self, fit: Callable[[], object], config: dict[str, Any]) -> None:
        with self._slots:
            try:
                if not self._has_ended:
                    with config_context(**config):
                        fit()
            except BaseException as error:  # raised again in `train`
                if not self._has_ended:
                    self._error = error
            self._has_ended = True
            self._barrier.abort()

    def hand_in(self, fold: int, scores: Any) -> None:
        """Wait until all folds have handed in the validation scores of the round."""
        self._scores[fold] = np.array(scores, dtype=float)
        self._slots.release()
        try:
            self._barrier.wait()
        except BrokenBarrierError:
            raise RuntimeError("The training of another fold has ended.") from None
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
