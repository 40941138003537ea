"""Boosting rounds as tasks of scikit-learn's callbacks, which scikit-learn 1.9 introduced."""

from collections.abc import Callable
from typing import Any

from skgraded.model_selection.early_stopping import fits_all_rows

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Base class without `set_callbacks`, for scikit-learn 1.8 and earlier."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


@with_callbacks
def report_fit(
    ranker: Any, train: Callable[[], None], adapter: Any, X: Any, y: Any, qid: Any
) -> None:
    """Call `train`, and report the fit and its rounds to the callbacks of the ranker, if any."""
    if not getattr(ranker, "_skl_callbacks", None):
        train()
        return
    n_rounds = adapter.max_rounds
    if n_rounds and fits_all_rows(ranker):
        n_rounds *= 2
    data = {"X": X, "y": y, "metadata": {} if qid is None else {"qid": qid}}
    whole = ranker._init_callback_context(max_subtasks=n_rounds)
    whole.call_on_fit_task_begin(estimator=ranker, **data)

    def report_round() -> None:
        task = whole.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=ranker)
        task.call_on_fit_task_end(estimator=ranker)

    adapter.report_to(report_round)
    train()
    # The attributes of a fitted ranker are complete, so callbacks receive a copy of the ranker.
    whole.call_on_fit_task_end(estimator=ranker, reconstruction_attributes={}, **data)
