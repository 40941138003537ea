"""What displays share: the way from estimators to scores, names and axes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import check_grades, check_scores
from skgraded._input.query_source import is_column, queries_of
from skgraded.judgments import Judgments
from skgraded.model_selection.scorer import document_scores
from skgraded.model_selection.torn import warn_if_torn

NO_QID = (
    "from_estimator needs the query of each row: give qid or group, or else estimators that all "
    "find it at the same place of X, QueryRanker(…, qid='query_id')."
)


class Display:
    """What is drawn on axes."""

    ax_: Any
    figure_: Any

    def _take_axes(self, ax, **figure):
        """Draw on these axes, or on those of a new figure with such settings."""
        need_matplotlib(f"{type(self).__name__}.plot")
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(**figure)
        self.ax_, self.figure_ = ax, ax.figure


class SystemsDisplay(Display):
    """What shows the scores of one or several systems."""

    @classmethod
    def from_predictions(cls, y_true, y_score, **kwargs):
        raise NotImplementedError

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Draw the curve of a fitted estimator, or one of each of several.

        Parameters
        ----------
        estimator : estimator, or mapping of str to estimator
            Fitted. Documents are scored as by `make_ranking_scorer`: by ``predict`` of rankers and
            regressors, by ``decision_function`` or the expected grade of classifiers.
        X : array-like, sparse matrix or frame of shape (n, n_features)
            The documents.
        y : array-like of shape (n,)
            Their grades ≥ 0.
        qid : array-like of shape (n,), optional
            The query of each row, unless every estimator is a `QueryRanker` that was told where
            in X it is.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries, in place of `qid`.
        sample_weight : array-like of shape (n,), optional
            A query's weight is the mean over its rows.
        name : str, optional
            The system's name in the legend, by default the estimator's class. A mapping has names
            of its own.
        ax : matplotlib.axes.Axes, optional
            Where to draw; None: in a new figure.
        **kwargs : dict
            What `from_predictions` takes besides.

        Returns
        -------
        display
            Of this class.

        Raises
        ------
        ValueError, TypeError
            On bad input, and if the queries are not given: all rows are never taken for one query.
        ImportError
            If there is no matplotlib.
        """
        need_matplotlib(f"{cls.__name__}.from_estimator")
        names, estimators = systems_of(estimator, name, "estimator")
        source = None
        if qid is None and group is None:
            source = common_source(estimators)
            qid = queries_of(X, source)
        judgments = Judgments(
            check_grades(y, "y"), qid=qid, group=group, sample_weight=sample_weight
        )
        if group is None:
            for one in estimators:
                warn_if_torn(one, X, judgments, source)
        scores = [document_scores(one, X, None) for one in estimators]
        if isinstance(estimator, Mapping):
            return cls.from_predictions(
                judgments, dict(zip(names, scores, strict=True)), ax=ax, **kwargs
            )
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(judgments, scores[0], name=name, ax=ax, **kwargs)


def need_matplotlib(caller):
    """Say what to install."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{caller} needs matplotlib: pip install matplotlib") from error


def systems_of(given, name, argument):
    """Names (or None) and elements of a mapping of systems, or of the one system given."""
    if not isinstance(given, Mapping):
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a str, the name of the one system; got {name!r}.")
        return None if name is None else [name], [given]
    if name is not None:
        raise ValueError(f"{argument} is a mapping, which names its systems: leave out name.")
    if not given:
        raise ValueError(f"{argument} is an empty mapping: give at least one system.")
    return [str(one) for one in given], list(given.values())


def checked_scores(systems, names, judgments):
    """Scores of each system as float columns."""
    found = []
    for i, scores in enumerate(systems):
        argument = "y_score" if names is None else f"y_score of {names[i]!r}"
        found.append(check_scores(scores, judgments.n_rows, argument))
    return found


def common_source(estimators):
    """Where in X all the estimators find the queries."""
    sources = [getattr(one, "qid", None) for one in estimators]
    first = sources[0]
    for source in sources:
        if source is None or not (source is first or (
            is_column(source) and is_column(first) and source == first
        )):
            raise ValueError(NO_QID)
    return first


def as_names(name, n_systems):
    """List of names, a name a system; or None."""
    if name is None:
        return None
    names = [name] if isinstance(name, str) else list(name)
    if len(names) != n_systems:
        raise ValueError(f"name must have a name a system, {n_systems} in all; got {name!r}.")
    return names


def line_settings(kwargs):
    """What matplotlib's plot is given, by the full names."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return normalize_kwargs(kwargs, Line2D)


def of_queries(n_queries, n_undefined):
    """How many queries means are of, and how many of them are undefined; of one or None: ""."""
    if n_queries is None or np.max(n_queries) == 1:
        return ""
    counted = f"of {_range(n_queries)} queries"
    if n_undefined is not None and np.max(n_undefined) > 0:
        counted += f", {_range(n_undefined)} undefined"
    return counted


def _range(numbers):
    low, high = np.min(numbers), np.max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
