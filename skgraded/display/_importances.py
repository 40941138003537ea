"""Plot of the feature importances of a ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import column
from skgraded.display._base import Display, best_first, documented
from skgraded.display._systems import check_most
from skgraded.inspection import permutation_importance
from skgraded.measures import Measure
from skgraded.measures import measure as as_measure

MOST_FEATURES = 20  # maximum number of features drawn by default


class FeatureImportanceDisplay(Display):
    """Feature importances as horizontal bars, the most important feature first.

    The line at the end of each bar marks one standard deviation (over the repeats) on either side
    of the mean. By default, at most 20 features are drawn.

    Create a display with `from_estimator` or `from_importances`.

    Parameters
    ----------
    importances_mean : array-like of shape (n_features,)
        Mean importance of each feature.
    importances_std : array-like of shape (n_features,), optional
        Standard deviation of each importance. If None, no lines are drawn.
    features : sequence of str or int, optional
        Names of the features, or positions of their columns. Defaults to the positions.
    measure : str, optional
        Name of the measure that decreases when a feature is permuted.
    n_repeats : int, optional
        Number of permutations of each feature.

    Attributes
    ----------
    importances_mean, importances_std, measure, n_repeats
        The parameters.
    features : list of str or int
    bars_ : matplotlib.container.BarContainer
        One bar per drawn feature, the most important feature first. Row i is at y = i.
    intervals_ : matplotlib.collections.LineCollection or None
        Means plus and minus standard deviations, in the same order.
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure

    See Also
    --------
    skgraded.inspection.permutation_importance : Computes importances.

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> from sklearn.linear_model import Ridge
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, n_features=3, random_state=0)
    >>> train, test = qid < 40, qid >= 40
    >>> ranker = sg.QueryRanker(Ridge()).fit(X[train], y[train], qid=qid[train])
    >>> display = sg.FeatureImportanceDisplay.from_estimator(
    ...     ranker, X[test], y[test], qid=qid[test], random_state=0, ax=Figure().subplots())
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['column 2', 'column 0', 'column 1']
    """

    def __init__(
        self, importances_mean: ArrayLike, *, importances_std: ArrayLike | None = None,
        features: Sequence[str | int] | None = None, measure: str | None = None,
        n_repeats: int | None = None,
    ):
        self.importances_mean: np.ndarray = _finite(importances_mean, "importances_mean")
        n = len(self.importances_mean)
        self.importances_std: np.ndarray | None = None
        if importances_std is not None:
            self.importances_std = _finite(importances_std, "importances_std", n)
        self.features = list(range(n)) if features is None else list(features)
        if len(self.features) != n:
            raise ValueError(
                f"features must contain {n} elements, one per importance; got {len(self.features)}."
            )
        self.measure, self.n_repeats = measure, n_repeats

    @documented
    def plot(
        self, ax: Any = None, *, max_features: int | None = MOST_FEATURES, **kwargs: Any
    ) -> Self:
        """Draw the stored importances and return the display.

        Parameters
        ----------
        **kwargs : dict
            Keyword arguments passed to matplotlib's ``barh``.
        """
        self._max_features = check_most(max_features, "max_features")
        return super().plot(ax, **kwargs)

    @classmethod
    @documented
    def from_importances(
        cls, importances: Any, *, features: Sequence[str | int] | None = None,
        measure: str | Measure | None = None, max_features: int | None = MOST_FEATURES,
        ax: Any = None, **kwargs: Any,
    ) -> Self:
        """Plot importances that have already been computed.

        Parameters
        ----------
        importances : Bunch, mapping, Series or array-like
            Result of `permutation_importance` from `skgraded.inspection` or scikit-learn; a
            mapping of features to importances, or a pandas Series indexed by features;
            or an array of shape (n_features,). Mappings and arrays may also contain the importances
            of several repeats per feature.
        features : sequence of str or int, optional
            Names of the features, unless `importances` contains them.
        measure : Measure or str, optional
            The measure, which selects a result if `importances` contains several measures; by
            default the first.
        """
        cls._need_matplotlib("from_importances")
        check_most(max_features, "max_features")
        parts = _parts_of(importances, measure)
        if features is not None:
            parts["features"] = features
        return cls(**parts).plot(ax=ax, max_features=max_features, **kwargs)

    @classmethod
    @documented
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, qid: Any = None,
        group: ArrayLike | None = None, measure: str | Measure = "ndcng@10", n_repeats: int = 5,
        within_queries: bool = False, response_method: str | list[str] | None = None,
        n_jobs: int | None = None, random_state: Any = None, sample_weight: ArrayLike | None = None,
        max_features: int | None = MOST_FEATURES, ax: Any = None, **kwargs: Any,
    ) -> Self:
        """Compute permutation importances of a fitted ranker and plot them.

        Parameters
        ----------
        estimator : estimator
            Fitted ranker, regressor or classifier.
        qid : array-like of shape (n,), optional
            Query id of each row. May be omitted if the estimator is a `QueryRanker` whose `qid`
            names a column of X.
        measure : Measure or str, default="ndcng@10"
            The measure that decreases when an important feature is permuted.
        n_repeats, within_queries, response_method, n_jobs, random_state
            As in `skgraded.inspection.permutation_importance`.
        """
        cls._need_matplotlib("from_estimator")
        check_most(max_features, "max_features")
        importances = permutation_importance(
            estimator, X, y, qid=qid, group=group, measure=as_measure(measure),
            n_repeats=n_repeats, within_queries=within_queries, response_method=response_method,
            n_jobs=n_jobs, random_state=random_state, sample_weight=sample_weight,
        )
        return cls.from_importances(importances, max_features=max_features, ax=ax, **kwargs)

    def _draw(self, ax: Any, settings: Any) -> None:
        drawn = best_first(self.importances_mean)[: self._max_features]
        self._take_rows(ax, [_feature_name(self.features[i]) for i in drawn])
        means, rows = self.importances_mean[drawn], np.arange(len(drawn))
        style: dict[str, Any] = {"color": self._color(0), "height": 0.65, **settings}
        self.bars_: Any = self.ax_.barh(rows, means, **style)
        self.ax_.axvline(0, color=self._ink, linewidth=0.8)
        self.intervals_: Any = None
        spread = ""
        if self.importances_std is not None:
            std = self.importances_std[drawn]
            self.intervals_ = self.ax_.hlines(
                rows, means - std, means + std, colors=self._ink, linewidth=2
            )
            spread = "mean ± standard deviation"
            if self.n_repeats is not None:
                spread += f", {self.n_repeats} permutations"
        n = len(self.features)
        note = f"{len(drawn)} of {n} features" if len(drawn) < n else ""
        what = "importance"
        if self.measure is not None:
            what = f"decrease in {self.measure} if permuted"
        self._write_around([what, ", ".join(filter(None, [spread, note]))])


def _parts_of(importances: Any, measure: Any) -> dict[str, Any]:
    """Convert importances in any supported format to the parameters of the class."""
    first = next(iter(importances.values()), None) if isinstance(importances, Mapping) else None
    if isinstance(first, Mapping) and "importances_mean" in first:
        measure = _selected(measure, list(importances))
        importances = importances[measure]
    elif measure is not None:
        measure = as_measure(measure).name
    if isinstance(importances, Mapping) and "importances_mean" in importances:
        return {
            "importances_mean": importances["importances_mean"],
            "importances_std": importances.get("importances_std"),
            "features": importances.get("features"),
            "measure": importances.get("measure", measure),
            "n_repeats": np.shape(importances.get("importances", [[]]))[1] or None,
        }
    features = None
    if isinstance(importances, Mapping):
        features, importances = list(importances), list(importances.values())
    elif hasattr(importances, "index") and hasattr(importances, "to_numpy"):
        features, importances = list(importances.index), importances.to_numpy()
    try:
        values = np.asarray(importances)
    except ValueError:
        raise ValueError(
            "importances must contain the same number of repeats for all features."
        ) from None
    if values.ndim not in (1, 2) or values.size == 0:
        raise ValueError(
            "importances must be a mapping of features to importances, or an array of shape "
            f"(n_features,) or (n_features, n_repeats); got shape {values.shape}."
        )
    if values.ndim == 1:
        return {"importances_mean": values, "features": features, "measure": measure}
    return {
        "importances_mean": values.mean(axis=1), "importances_std": values.std(axis=1),
        "features": features, "measure": measure, "n_repeats": values.shape[1],
    }


def _selected(measure: Any, known: list[str]) -> str:
    """Return the name of the selected measure, which defaults to the first known name."""
    if measure is None or measure in known:
        return known[0] if measure is None else measure
    name = as_measure(measure).name
    if name not in known:
        raise ValueError(f"importances lacks the measure {name}; it contains {', '.join(known)}.")
    return name


def _finite(values: Any, name: str, n: int | None = None) -> np.ndarray:
    """Check that a column contains only finite numbers."""
    array = column(values, name, n, "importances_mean")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name} must be finite; got {array[bad[0]]} for row {bad[0]}.")
    return array


def _feature_name(feature: Any) -> str:
    return f"column {feature}" if isinstance(feature, Integral) else str(feature)
