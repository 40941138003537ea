"""Boosting rounds and folds as tasks of scikit-learn's callbacks, new in scikit-learn 1.9."""

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin as Base
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn 1.8 and earlier
    Base = object

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


class CallbackSupportMixin(Base):  # type: ignore[misc,valid-type]
    """Base class with `set_callbacks`, which searches also call to pass on their callbacks."""

    _has_callbacks = False

    def set_callbacks(self, *callbacks: Any) -> Any:
        """Set the callbacks of the estimator, and return the estimator."""
        self._has_callbacks = bool(callbacks)
        return super().set_callbacks(*callbacks)


@with_callbacks
def report_tasks(
    estimator: Any,
    run: Callable[[], None],
    report_to: Callable[[Callable[[], None]], None],
    task_name: str,
    n_tasks: int | None,
    X: Any,
    y: Any,
    qid: Any,
) -> None:
    """Call `run`, and report the fit and its tasks to the callbacks of the estimator.

    `report_to` receives the function to call after each task.
    """
    data = {"X": X, "y": y, "metadata": {} if qid is None else {"qid": qid}}
    whole = estimator._init_callback_context(max_subtasks=n_tasks)
    whole.call_on_fit_task_begin(estimator=estimator, **data)

    def report_task() -> None:
        task = whole.subcontext(task_name=task_name)
        task.call_on_fit_task_begin(estimator=estimator)
        task.call_on_fit_task_end(estimator=estimator)

    report_to(report_task)
    run()
    # The attributes of a fitted estimator are complete, so callbacks receive a copy of it.
    whole.call_on_fit_task_end(estimator=estimator, reconstruction_attributes={}, **data)
