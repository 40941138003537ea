"""Differences of two systems query by query."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import as_array, column
from skgraded._input.words import counted
from skgraded.display._base import SystemsDisplay, need_matplotlib
from skgraded.display._reports import (
    BLUE,
    LEGEND,
    SIDE,
    check_made_by,
    draw_mean,
    evaluate_systems,
    fit_height,
    ink,
    legend_above,
    pairs_of,
    whole_ticks,
    wrapped,
)
from skgraded.judgments import Judgments
from skgraded.measures import Measure
from skgraded.measures import measure as as_measure
from skgraded.reports.comparison import Comparison, compare, differences_of_all
from skgraded.reports.differences import outcomes
from skgraded.reports.evaluation import evaluated_name
from skgraded.reports.pairing import check_system
from skgraded.reports.write.tables import rows_of

ORANGE, PALE_ORANGE = "#D55E00", "#F7D4B8"
MOST_NAMED = 20  # queries that are named below their differences
ID = 20  # letters of a query id


class QueryDifferenceDisplay(SystemsDisplay):
    """Differences of two systems query by query, the largest win first.

    Queries for which `system` is better rise above zero; those for which `baseline` is better hang
    below it and are hatched. The dashed line is the mean difference, the band its interval.

    Make it by `from_comparison`, `from_predictions` or `from_estimator`.

    Parameters
    ----------
    differences : array-like of shape (n_queries,)
        Value of `system` less that of `baseline`, in any order; nan: left out.
    measure : str
        Its name.
    system, baseline : str
        Their names.
    query_ids : array-like of shape (n_queries,), optional
        Up to 20 queries are named on the axis.
    mean : float, optional
        The mean difference.
    interval : (float, float), optional
        Its interval.
    level : float, optional
        That of the interval.

    Attributes
    ----------
    measure, system, baseline, mean, interval, level
        As given.
    differences : ndarray
        Those that are not nan, the largest first.
    query_ids : ndarray or None
        The query of each of these.
    n_left_out : int
        How many are nan.
    wins, ties, losses : int
        Queries for which `system` is better, equal up to rounding (1e-12), worse.
    wins_, losses_ : matplotlib.patches.StepPatch
        The query of place i, from 0, reaches from i to i + 1: there are as many wins as the axis
        says below the last of them.
    mean_line_ : matplotlib.lines.Line2D or None
    interval_ : matplotlib.patches.Patch or None
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> noise = np.random.default_rng(0).normal(size=len(y))
    >>> systems = {"noisy": y + 2 * noise, "good": y + noise}
    >>> display = sg.QueryDifferenceDisplay.from_predictions(
    ...     y, systems, qid=qid, measure="ndcng@10", ax=Figure().subplots())
    >>> display.ax_.get_ylabel(), display.wins, display.ties, display.losses
    ('difference in NDCNG@10', 58, 2, 0)
    """

    def __init__(
        self,
        differences: ArrayLike,
        *,
        measure: str,
        system: str,
        baseline: str,
        query_ids: ArrayLike | None = None,
        mean: float | None = None,
        interval: tuple[float, float] | None = None,
        level: float | None = None,
    ):
        values = column(differences, "differences")
        kept = np.flatnonzero(~np.isnan(values))
        kept = kept[np.argsort(-values[kept], kind="stable")]
        self.differences = values[kept]
        self.query_ids = None
        if query_ids is not None:
            ids = as_array(query_ids, "query_ids")
            if len(ids) != len(values):
                raise ValueError(
                    f"query_ids has {len(ids)} rows, but differences has {len(values)}."
                )
            self.query_ids = ids[kept]
        self.n_left_out = len(values) - len(kept)
        self.wins, self.ties, self.losses = outcomes(self.differences).values()
        self.measure, self.system, self.baseline = measure, system, baseline
        self.mean, self.interval, self.level = mean, interval, level

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        system: str | None = None,
        baseline: str | None = None,
        measure: str | Measure | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> "QueryDifferenceDisplay":
        """Draw the differences of a row of a comparison.

        Parameters
        ----------
        comparison : Comparison
            As `compare` makes it.
        system, baseline : str, optional
            The pair of systems; what is left out must follow from the rest: of a comparison of two
            systems both, with a baseline that.
        measure : Measure or str, optional
            By default the first.
        ax : matplotlib.axes.Axes, optional
            Where to draw; None: in a new figure.
        **kwargs : dict
            For matplotlib's ``StepPatch``, of wins and losses.

        Returns
        -------
        QueryDifferenceDisplay
            Queries that do not count (without a value in one of the systems, or of weight 0) are
            left out.

        Raises
        ------
        ValueError, TypeError
            If it is no Comparison, or has no such row, or more than one.
        ImportError
            If there is no matplotlib.
        """
        need_matplotlib(f"{cls.__name__}.from_comparison")
        check_made_by("compare", comparison, Comparison, "comparison")
        system, baseline = _pair(comparison, system, baseline)
        name = evaluated_name(measure, comparison.measures)
        wanted = {"system": system, "baseline": baseline, "measure": name}
        row = next(
            row for row in rows_of(comparison.table)
            if all(row[key] == wanted[key] for key in wanted)
        )
        display = cls(
            differences_of_all(comparison, **wanted), **wanted, query_ids=comparison.query_ids,
            mean=row["difference"], interval=(row["ci_low"], row["ci_high"]),
            level=comparison.level,
        )
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | Judgments,
        y_score: Mapping[str, ArrayLike],
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        measure: str | Measure = "ndcng@10",
        level: float = 0.95,
        ax: Any = None,
        **kwargs: Any,
    ) -> "QueryDifferenceDisplay":
        """Draw the differences of two systems' scores.

        Parameters
        ----------
        y_true : array-like of shape (n,), or Judgments
            Grades ≥ 0, 0 = irrelevant.
        y_score : mapping of str to array-like of shape (n,)
            Two systems by name, the baseline first: their scores, the highest first; -inf: not
            retrieved.
        qid : array-like of shape (n,), optional
            The query of each row, in any row order.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries, in place of `qid`.
        sample_weight : array-like of shape (n,), optional
            A query's weight in the mean is the mean over its rows.
        measure : Measure or str, default="ndcng@10"
        level : float, default=0.95
            Of the interval of the mean difference, between 0 and 1.
        ax : matplotlib.axes.Axes, optional
            Where to draw; None: in a new figure.
        **kwargs : dict
            For matplotlib's ``StepPatch``, of wins and losses.

        Returns
        -------
        QueryDifferenceDisplay

        Raises
        ------
        ValueError, TypeError
            On bad input, before any work.
        ImportError
            If there is no matplotlib.
        """
        need_matplotlib(f"{cls.__name__}.from_predictions")
        _check_two(y_score, "y_score")
        evaluations = evaluate_systems(
            y_true, y_score, None, [as_measure(measure)], qid=qid, group=group,
            sample_weight=sample_weight,
        )
        baseline = next(iter(evaluations))
        found = compare(evaluations, baseline=baseline, test=None, level=level, rng=0)
        return cls.from_comparison(found, ax=ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Mapping[str, Any], X: Any, y: ArrayLike, **kwargs: Any
    ) -> "QueryDifferenceDisplay":
        """Draw the differences of two fitted estimators.

        Parameters
        ----------
        estimator : mapping of str to estimator
            Two by name, the baseline first, fitted. Documents are scored as by
            `make_ranking_scorer`: by ``predict`` of rankers and regressors, by
            ``decision_function`` or the expected grade of classifiers.
        X : array-like, sparse matrix or frame of shape (n, n_features)
            The documents.
        y : array-like of shape (n,)
            Their grades ≥ 0.
        **kwargs : dict
            What `from_predictions` takes besides. `qid` or `group` must be given unless both are
            a `QueryRanker` that was told where in X the queries are.

        Returns
        -------
        QueryDifferenceDisplay

        Raises
        ------
        ValueError, TypeError
            On bad input, and if the queries are not given.
        ImportError
            If there is no matplotlib.
        """
        _check_two(estimator, "estimator")
        return super().from_estimator(estimator, X, y, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "QueryDifferenceDisplay":
        """Draw the differences.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; None: in a new figure.
        **kwargs : dict
            For matplotlib's ``StepPatch``, of wins and losses.

        Returns
        -------
        QueryDifferenceDisplay
            Itself.
        """
        self._take_axes(ax, layout="constrained")
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.patches import StepPatch

        ax = self.ax_
        edges = np.arange(len(self.differences) + 1)
        wins, losses = np.maximum(self.differences, 0), np.minimum(self.differences, 0)
        style = {"fill": True, "linewidth": 0, **normalize_kwargs(kwargs, StepPatch)}
        self.wins_ = StepPatch(wins, edges, **{
            "facecolor": BLUE,
            "label": wrapped(f"{_queries(self.wins)}: {self.system} better", LEGEND),
            **style,
        })
        self.losses_ = StepPatch(losses, edges, **{
            "facecolor": PALE_ORANGE, "edgecolor": ORANGE, "hatch": "////",
            "label": wrapped(f"{_queries(self.losses)}: {self.baseline} better", LEGEND),
            **style,
        })
        for patch, heights in ((self.wins_, wins), (self.losses_, losses)):
            ax.add_artist(patch)  # Axes.stairs takes seconds to find the limits of 30,000 steps
            ax.update_datalim([(0, heights.min(initial=0)), (len(wins), heights.max(initial=0))])
        ax.autoscale_view()
        ax.axhline(0, color=ink(ax), linewidth=0.8)
        self.mean_line_, self.interval_ = draw_mean(
            ax, "mean difference", self.mean, self.interval, self.level, "+"
        )
        ax.set_ylabel(wrapped(f"difference in {self.measure}", SIDE))
        ties = f", {self.ties:,} equal" if self.ties else ""
        left_out = f", {self.n_left_out:,} more left out" if self.n_left_out else ""
        ax.set_xlabel(f"{_queries(len(self.differences))} by difference{ties}{left_out}")
        self._name_queries()
        fit_height(ax)
        legend_above(ax)
        return self

    def _name_queries(self):
        if self.query_ids is None or len(self.query_ids) > MOST_NAMED:
            whole_ticks(self.ax_)
            return
        names = [_shortened(str(one)) for one in self.query_ids]
        rotation = 0 if sum(map(len, names)) < 50 else 90
        self.ax_.set_xticks(np.arange(len(names)) + 0.5, names, rotation=rotation)


def _pair(comparison, system, baseline):
    """The one pair of the comparison that is meant."""
    for argument, name in (("system", system), ("baseline", baseline)):
        if name is not None:
            check_system(argument, name, comparison.systems)
    pairs = pairs_of(comparison)
    found = [pair for pair in pairs if system in (None, pair[0]) and baseline in (None, pair[1])]
    if len(found) == 1:
        return found[0]
    known = "; ".join(f"system={one!r}, baseline={other!r}" for one, other in pairs[:6])
    more = "; …" if len(pairs) > 6 else ""
    problem = "has no such pair" if not found else f"has {len(found)} such pairs"
    raise ValueError(
        f"The comparison {problem} (system={system!r}, baseline={baseline!r}). Give one of: "
        f"{known}{more}."
    )


def _check_two(systems, argument):
    if not isinstance(systems, Mapping) or len(systems) != 2:
        got = f"{len(systems)}" if isinstance(systems, Mapping) else type(systems).__name__
        raise ValueError(
            f"{argument} must be a mapping of two systems, the baseline first, such as "
            f"{{'bm25': …, 'lgbm': …}}; got {got}."
        )


def _queries(n):
    return counted(n, "query", "queries")


def _shortened(text):
    return wrapped(text if len(text) <= ID else f"{text[: ID // 2 - 1]}…{text[-ID // 2 :]}")
