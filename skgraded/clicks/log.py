"""ClickLog: a log of impressions, and what can be computed from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import check_scores, choice_validator, whole_number
from skgraded._input.progress import check_progress, show_progress
from skgraded._input.tables import check_row_labels, read_named
from skgraded._input.words import check_names
from skgraded.clicks.bias import (
    CHECK_CLIP,
    PositionBias,
    estimate_bias,
    invert_examination,
    read_examination,
)
from skgraded.clicks.comparing import compare_clicks
from skgraded.clicks.impressions import Impressions
from skgraded.clicks.preferences import RULES, infer_preferences
from skgraded.measures.gain import DCG
from skgraded.stats.intervals import CHECK_LEVEL, check_rng
from skgraded.stats.position_bias import METHODS
from skgraded.writing import tables

if TYPE_CHECKING:
    import pandas


class ClickLog:
    """A log of impressions: which documents were shown at which positions, and clicked.

    One row is one impression: a document (item) that a session showed at a position.

    Parameters
    ----------
    clicked : array-like of shape (n,), or str
        Clicks, or dwell times: every number above 0 is one click. With `n_impressions`, the number
        of impressions with a click.
    position : array-like of shape (n,), or str
        Position at which each document was shown, from 1.
    qid, item : array-like of shape (n,), or str, optional
        Query and document of each row.
    session : array-like of shape (n,), or str, optional
        Session of each row. A session is one list of results of one query.
    n_impressions : array-like of shape (n,), or str, optional
        Number of impressions of each row, if a database counted the log per query, item and
        position. Count clicks with ``count_if(clicks > 0)``: ``sum(clicks)`` would count two clicks
        on one impression twice.
    data : DataFrame, Arrow table, DuckDB relation, or dict of columns, optional
        If passed, the other arguments are names of its columns.

    Raises
    ------
    ValueError, TypeError
        If a column is invalid, or the rows are not impressions.

    Examples
    --------
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=200, n_documents=5, random_state=0)
    >>> columns = sg.datasets.make_clicks(
    ...     y, [X[:, 0], X[:, 1]], qid, n_sessions=50_000, random_state=0)
    >>> log = sg.ClickLog(
    ...     "clicked", "position", qid="qid", item="item", session="session", data=columns)
    >>> bias = log.position_bias(rng=0)
    >>> bias.examination[:3].round(1).tolist(), columns.examination[:3].round(1).tolist()
    ([1.0, 0.5, 0.3], [1.0, 0.5, 0.3])
    >>> scores = {"old": X[columns.item, 0], "new": X[columns.item, 1]}
    >>> log.compare(scores, rng=0)[["system", "n_queries", "n_sessions"]].values.tolist()
    [['old', 200, 50000], ['new', 200, 50000]]
    """

    def __init__(
        self,
        clicked: ArrayLike | str,
        position: ArrayLike | str,
        *,
        qid: ArrayLike | str | None = None,
        item: ArrayLike | str | None = None,
        session: ArrayLike | str | None = None,
        n_impressions: ArrayLike | str | None = None,
        data: Any = None,
    ):
        arguments = {
            "clicked": clicked,
            "position": position,
            "qid": qid,
            "item": item,
            "session": session,
            "n_impressions": n_impressions,
        }
        columns = read_named(data, arguments)
        self._labels = check_row_labels(columns)
        names = {
            argument: value if isinstance(value, str) else argument
            for argument, value in arguments.items()
            if value is not None
        }
        self._rows = Impressions.read(columns, names)

    def __repr__(self) -> str:
        n, n_clicks = self._rows.impressions.sum(), self._rows.clicks.sum()
        return f"ClickLog({n:,.0f} impressions, {n_clicks:,.0f} of them with a click)"

    def position_bias(
        self,
        method: str = "all_pairs",
        level: float = 0.95,
        n_resamples: int = 200,
        rng: int | np.random.Generator | None = None,
    ) -> PositionBias:
        r"""Estimate how often each position is examined, relative to position 1.

        In the position-based model, a document at position k is clicked with the probability
        :math:`\theta_k \gamma`: the position is examined, and the document is attractive. Documents
        that were shown at several positions for the same query identify the ratios of θ [1]_.

        Parameters
        ----------
        method : str, default="all_pairs"
            - ``"all_pairs"``: the maximum of a likelihood of all pairs of positions; the most
              precise,
            - ``"adjacent_chain"``: the product of the ratios of adjacent positions,
            - ``"pivot"``: the ratio of each position to the first,
            - ``"randomized"``: ratios of click rates. Only for logs of random rankings; requires
              neither `qid` nor `item`.
        level : float, default=0.95
            Level of the intervals.
        n_resamples : int, default=200
            Number of bootstrap resamples of the sessions or, without sessions, of the queries; 0
            means no intervals.
        rng : int, numpy.random.Generator or None, default=None
            Random numbers of the bootstrap.

        Returns
        -------
        PositionBias

        Raises
        ------
        ValueError, TypeError
            If a setting is invalid, position 1 has no clicks, or "all_pairs" has more than 500
            positions.

        Warns
        -----
        UserWarning
            If positions have no estimate, because no document was shown both there and at another
            position, as in the log of a single ranker; or if documents are shown at several
            positions in too few sessions or queries for intervals.

        References
        ----------
        .. [1] Agarwal, Zaitsev, Wang, Li, Najork & Joachims (2019), "Estimating position bias
           without intrusive interventions", WSDM.
        """
        choice_validator("method", METHODS)(method)
        level, n_resamples = CHECK_LEVEL(level), whole_number(n_resamples, "n_resamples", 0)
        check_rng(rng)
        return estimate_bias(self._rows, method, level, n_resamples, rng)

    def grades(self, bias: PositionBias | ArrayLike, clip: float | None = None) -> np.ndarray:
        """Return clicks divided by the examination of their positions, as grades without bias.

        For any sum of grade · discount, such as `DCG` with ``gain="linear"``, these grades have the
        same expectation as the attractiveness of the documents [1]_. This does not hold for
        measures that divide by an ideal value, such as NDCG and μAP.

        Parameters
        ----------
        bias : PositionBias, or array-like of shape (n_positions,)
            Result of `position_bias`, or the examination of each position.
        clip : float, optional
            Largest weight of a click, at least 1; it reduces the variance, but biases sums.

        Returns
        -------
        ndarray of shape (n,)
            Grades ≥ 0, for ``QueryRanker(…, grades="gain")``. In a counted log, the grades of a
            row's impressions are summed.

        Raises
        ------
        ValueError, TypeError
            If the input is invalid, or a clicked position has no examination.

        References
        ----------
        .. [1] Joachims, Swaminathan & Schnabel (2017), "Unbiased learning-to-rank with biased
           feedback", WSDM.

        Examples
        --------
        >>> import skgraded as sg
        >>> sg.ClickLog([1, 0, 1], [1, 2, 3]).grades([1, 0.5, 0.25]).tolist()
        [1.0, 0.0, 4.0]
        """
        rows, clip = self._rows, CHECK_CLIP(clip)
        weights = invert_examination(read_examination(rows, bias), clip)
        return np.where(rows.clicks > 0, rows.clicks * weights[rows.places], 0.0)

    def preferences(self, rule: str = "click_skip_above") -> tuple[np.ndarray, np.ndarray]:
        """Infer preferences between the items of each session.

        A user who clicks an item after skipping another one probably prefers it. Unlike clicks,
        these preferences depend little on which positions are examined [1]_. The log must contain
        `session` and `item`.

        Parameters
        ----------
        rule : str, default="click_skip_above"
            Which pairs are preferences:

            - ``"click_skip_above"``: a clicked item over each item above it without a click,
            - ``"last_click_skip_above"``: the same, only for the lowest clicked item of a session.

        Returns
        -------
        pairs : ndarray of shape (n_pairs, 2)
            The preferred item and the other item. Sessions are in order of first appearance.
        session : ndarray of shape (n_pairs,)
            Session of each pair, for ``evaluate_preferences(pairs, …, qid=session)``.

        Raises
        ------
        ValueError
            If the rule is unknown, or a session is not one list of results of one query.

        References
        ----------
        .. [1] Joachims, Granka, Pan, Hembrooke, Radlinski & Gay (2007), "Evaluating the accuracy of
           implicit feedback from clicks and query reformulations in Web search", ACM TOIS 25(2).

        Examples
        --------
        >>> import skgraded as sg
        >>> log = sg.ClickLog([0, 0, 1], [1, 2, 3], session=["s", "s", "s"], item=["a", "b", "c"])
        >>> pairs, session = log.preferences()
        >>> pairs.tolist(), session.tolist()
        ([['c', 'a'], ['c', 'b']], ['s', 's'])
        """
        choice_validator("rule", RULES)(rule)
        return infer_preferences(self._rows, rule)

    def compare(
        self,
        y_scores: Mapping[str, ArrayLike],
        *,
        k: int | None = None,
        discount: str | Callable[[np.ndarray], ArrayLike] = "log2",
        baseline: str | None = None,
        bias: str | PositionBias | ArrayLike = "all_pairs",
        clip: float | None = None,
        clusters: str = "qid",
        level: float = 0.95,
        n_resamples: int = 200,
        rng: int | np.random.Generator | None = None,
        progress: bool = False,
    ) -> pandas.DataFrame:
        r"""Compare rankers by the DCG of the weighted clicks in each session.

        The value of a session is the sum of discount / examination over its clicks. The discount
        depends on the rank of the item by the ranker's scores, and the examination on the clicked
        position. The mean over sessions estimates the linear-gain DCG of the documents'
        attractiveness.

        Parameters
        ----------
        y_scores : mapping of str to array-like of shape (n,)
            Scores of each ranker for the rows of the log, keyed by name. Tied items have the mean
            discount of their ranks; -inf means not retrieved.
        k : int, optional
            The cut-off; clicks on items at lower ranks count 0. None: all ranks.
        discount : {"log2", "letor"} or callable, default="log2"
            The discount of each rank, as for `DCG`.
        baseline : str, optional
            The ranker to compare all others with. By default, the first.
        bias : str, PositionBias or array-like of shape (n_positions,), default="all_pairs"
            The method of `position_bias` with which each resample estimates the examination. If
            the examination itself is passed, the limits and p-values do not include its error.
        clip : float, optional
            As in `grades`.
        clusters : {"qid", "session"}, default="qid"
            The units to resample. "session" yields shorter intervals, which hold only for the
            queries of this log.
        level : float, default=0.95
            Level of the intervals.
        n_resamples : int, default=200
            Number of bootstrap resamples; 50 suffice. With 0 or 1, limits and p-values are nan.
        rng : int, numpy.random.Generator or None, default=None
            Random numbers of the bootstrap.
        progress : bool, default=False
            Whether to show a progress bar for the resamples; requires tqdm.

        Returns
        -------
        pandas.DataFrame
            One row per ranker, with the columns

            - ``system``,
            - ``dcg``: mean over sessions,
            - ``ci_low``, ``ci_high``: interval of ``dcg``,
            - ``difference``: ``dcg`` minus the ``dcg`` of the baseline, for which it is nan,
            - ``difference_low``, ``difference_high``: interval of ``difference``,
            - ``p_value``: two-sided; not corrected for the number of rankers,
            - ``n_queries``, ``n_sessions``: number of queries and sessions in the log.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid, the log is counted or lacks `session`, `qid` or `item`, or a
            position with clicks has no examination, as in the log of a single ranker.

        Warns
        -----
        UserWarning
            If the limits and p-values are nan, because the log has fewer than 15 clusters, or
            more than 5 % of the resamples have no examination for a clicked position.

        Notes
        -----
        Each resample draws as many clusters as the log has, with replacement. Limits are estimate
        ± t · s, where s is the standard deviation over the resamples, and t has n - 1 degrees of
        freedom for n clusters. The p-value uses the same distribution. If all resamples of a
        difference are equal and not 0, the p-value is 2^(1 - n), as in
        `skgraded.compare`.
        """
        rows, dcg = self._rows, DCG(k=k, gain="linear", discount=discount)
        clip, level = CHECK_CLIP(clip), CHECK_LEVEL(level)
        choice_validator("clusters", ("qid", "session"))(clusters)
        n_resamples = whole_number(n_resamples, "n_resamples", 0)
        check_rng(rng)
        check_progress(progress)
        if isinstance(bias, str):
            choice_validator("bias", METHODS)(bias)
        rows.require("compare", "session", "qid", "item")
        if rows.is_counted:
            raise ValueError(
                "compare requires one row per impression, but rows of this log count several "
                "impressions: pass a log without n_impressions."
            )
        if not isinstance(y_scores, Mapping) or not y_scores:
            raise TypeError(
                "y_scores must be a mapping of at least one name to scores, such as "
                f"{{'old': scores, 'new': scores}}; got {y_scores!r:.80}."
            )
        check_names(y_scores, "y_scores")
        systems = list(y_scores)
        baseline = choice_validator("baseline", systems)(
            systems[0] if baseline is None else baseline
        )
        arguments = {name: f"y_scores[{name!r}]" for name in systems}
        labeled = {argument: y_scores[name] for name, argument in arguments.items()}
        check_row_labels(labeled, self._labels)
        scores = {
            name: check_scores(y_scores[name], len(rows.places), argument, "clicked")
            for name, argument in arguments.items()
        }
        with show_progress(progress, n_resamples, desc="resamples") as advance:
            columns = compare_clicks(
                rows,
                scores,
                dcg,
                systems.index(baseline),
                bias,
                clip,
                clusters,
                level,
                n_resamples,
                rng,
                advance,
            )
        counts = {"n_queries": len(rows.ids["qid"]), "n_sessions": len(rows.ids["session"])}
        return tables.frame(columns | counts)
