"""Estimate position bias, grades and preferences from clicks, and compare rankers."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import check_names, check_scores, check_whole_number, choice_validator
from skgraded._input.libraries import check_progress, show_progress
from skgraded._input.messages import warn_user
from skgraded._input.tables import check_row_labels, read_named
from skgraded._kernels import layout
from skgraded.clicks.bias import (
    CHECK_CLIP,
    UNITS,
    Counts,
    PositionBias,
    draw_weights,
    estimate_bias,
    invert_examination,
    read_examination,
)
from skgraded.clicks.impressions import Impressions
from skgraded.measures.gain import DCG, compute_discounts
from skgraded.reports.pairing import FEWEST_CLUSTERS
from skgraded.stats.intervals import CHECK_LEVEL, check_rng, compute_t_reach
from skgraded.stats.paired_tests import compute_p_of_identical
from skgraded.stats.position_bias import METHODS
from skgraded.stats.rounding import ROUNDING
from skgraded.writing import tables

RULES = ("click_skip_above", "last_click_skip_above")
MOST_LEFT_OUT = 0.05  # maximum share of resamples that `compare` may leave out


class ClickLog:
    """A log of impressions that records where documents were shown and whether they were clicked.

    Each row is one impression: a document (item) shown at a position in a session.

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
        Session of each row. A session is one list of results for one query.
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

        In the position-based model, a document at position k is clicked with probability
        :math:`\theta_k \gamma`, where θ_k is the probability that the position is examined, and γ
        the probability that the document is attractive. The ratios of θ are estimated from
        documents that were shown at several positions for the same query [1]_.

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
        level, n_resamples = CHECK_LEVEL(level), check_whole_number(n_resamples, "n_resamples", 0)
        check_rng(rng)
        return estimate_bias(self._rows, method, level, n_resamples, rng)

    def grades(self, bias: PositionBias | ArrayLike, clip: float | None = None) -> np.ndarray:
        """Return grades without position bias: clicks divided by examination probabilities.

        A sum of grade · discount, such as `DCG` with ``gain="linear"``, has the same expectation
        with these grades as with the attractiveness of the documents [1]_. This does not hold for
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

        A user who skips an item and clicks a later one probably prefers the clicked item. Unlike
        clicks, these preferences depend little on which positions are examined [1]_. The log must
        contain `session` and `item`.

        Parameters
        ----------
        rule : str, default="click_skip_above"
            Which pairs are preferences:

            - ``"click_skip_above"``: each clicked item is preferred to every item above it that was
              not clicked,
            - ``"last_click_skip_above"``: the same, but only for the last clicked item in a
              session.

        Returns
        -------
        pairs : ndarray of shape (n_pairs, 2)
            The preferred item and the other item. Sessions are in order of first appearance.
        session : ndarray of shape (n_pairs,)
            Session of each pair, for ``evaluate_preferences(pairs, …, qid=session)``.

        Raises
        ------
        ValueError
            If the rule is unknown, or a session is not one list of results for one query.

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
        rows = self._rows
        rows.require("preferences", "session", "item")
        rows.check_sessions("item", "position")
        sessions, items = rows.codes["session"], rows.codes["item"]
        order = np.lexsort((rows.places, sessions))
        clicked, session = rows.clicks[order] > 0, sessions[order]
        hits, skips = np.flatnonzero(clicked), np.flatnonzero(~clicked)
        if rule == "last_click_skip_above":
            hits = hits[np.append(session[hits[1:]] != session[hits[:-1]], True)[: len(hits)]]
        # For each clicked row, the skipped rows above it are skips[start : start + count].
        start = np.searchsorted(skips, np.searchsorted(session, session[hits]))
        counts = np.searchsorted(skips, hits) - start
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        first = order[np.repeat(hits, counts)]
        second = order[skips[np.repeat(start, counts) + offsets]]
        pairs = np.column_stack([rows.ids["item"][items[side]] for side in (first, second)])
        return pairs, rows.ids["session"][sessions[first]]

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
    ) -> tables.DataFrame:
        r"""Compare rankers by the DCG of the weighted clicks in each session.

        The value of a session is the sum of discount / examination over its clicks. The discount
        depends on the rank of the item according to the ranker's scores; the examination
        probability depends on the clicked position. The mean over sessions estimates the
        linear-gain DCG of the documents' attractiveness.

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
            - ``difference``: ``dcg`` minus the ``dcg`` of the baseline; nan for the baseline,
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
        n_resamples = check_whole_number(n_resamples, "n_resamples", 0)
        check_rng(rng)
        check_progress(progress)
        if isinstance(bias, str):
            choice_validator("bias", METHODS)(bias)
        rows.require("compare", "session", "qid", "item")
        if rows.is_counted:
            raise ValueError(
                "compare requires one row per impression, but rows in this log represent several "
                "impressions: pass a log without n_impressions."
            )
        if not isinstance(y_scores, Mapping) or not y_scores:
            raise TypeError(
                "y_scores must be a non-empty mapping of names to scores, such as "
                f"{{'old': scores, 'new': scores}}; got {y_scores!r:.80}."
            )
        check_names(y_scores, "y_scores")
        systems = list(y_scores)
        baseline = choice_validator("baseline", systems)(
            systems[0] if baseline is None else baseline
        )
        arguments = {name: f"y_scores[{name!r}]" for name in systems}
        check_row_labels({arguments[name]: y_scores[name] for name in systems}, self._labels)
        scores = {
            name: check_scores(y_scores[name], len(rows.places), argument, "clicked")
            for name, argument in arguments.items()
        }
        rows.check_sessions("item")
        counts = Counts.of(rows, bias, clusters) if isinstance(bias, str) else None
        examination = read_examination(rows, bias if counts is None else counts.estimate())
        n, sums = len(rows.ids[clusters]), sum_discounts(rows, scores, dcg, rows.codes[clusters])

        def average_clusters(weights: np.ndarray, examination: np.ndarray) -> np.ndarray:
            totals = sums @ weights
            *by_system, clicks = totals[:-1].reshape(-1, rows.n_positions)
            of_click = invert_examination(np.where(examination > 0, examination, np.nan), clip)
            of_click[clicks == 0] = 0.0
            return np.array([(row * of_click).sum() for row in by_system]) / totals[-1]

        means = average_clusters(np.ones(n), examination)
        resampled = resample_means(
            lambda weights: average_clusters(
                weights, counts.estimate(weights) if counts else examination
            ),
            len(systems),
            n,
            UNITS[clusters],
            n_resamples,
            rng,
            progress,
        )
        return tables.frame(
            {
                "system": systems,
                "dcg": means,
                **compute_limits(means, resampled, systems.index(baseline), n, level),
                "n_queries": len(rows.ids["qid"]),
                "n_sessions": len(rows.ids["session"]),
            }
        )


# Comparisons of rankers --------------------------------------------------------------------------


def resample_means(
    average: Callable[[np.ndarray], np.ndarray],
    n_systems: int,
    n_clusters: int,
    unit: str,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    progress: bool,
) -> np.ndarray:
    """Return the means of each resample, given a function that computes them from weights.

    If there are too few clusters or valid resamples, warn and return an array without rows.
    """
    reason, resampled = "", np.empty((0, n_systems))
    if n_clusters < FEWEST_CLUSTERS:
        reason = f"the log has only {n_clusters} {unit}, and comparisons need {FEWEST_CLUSTERS}"
    elif n_resamples:
        samples = []
        with show_progress(progress, n_resamples, desc="resamples") as advance:
            for weights in draw_weights(n_clusters, n_resamples, rng):
                samples.append(average(weights))
                advance(1)
        resampled = np.array(samples)
        resampled = resampled[~np.isnan(resampled).any(axis=1)]
        n_left_out = n_resamples - len(resampled)
        if n_left_out > MOST_LEFT_OUT * n_resamples:
            resampled = resampled[:0]
            reason = (
                f"{n_left_out} of {n_resamples} resamples have clicks at a position whose "
                "examination cannot be estimated"
            )
    if reason:
        warn_user(f"The limits and p-values are nan, because {reason}: use a longer log.")
    return resampled


def compute_limits(
    means: np.ndarray, resampled: np.ndarray, baseline: int, n_clusters: int, level: float
) -> dict[str, np.ndarray]:
    """Return differences, limits and p-values; the last two are nan if there are no resamples."""
    from scipy.special import stdtr

    values = np.stack([means, means - means[baseline]])
    samples = np.stack([resampled, resampled - resampled[:, [baseline]]])
    has_error = len(resampled) > 1
    errors = samples.std(axis=1, ddof=1) if has_error else np.full(values.shape, np.nan)
    for numbers in (values[1], errors):
        numbers[np.abs(numbers) <= ROUNDING * means.max()] = 0.0
    reach = compute_t_reach(n_clusters, level) * errors
    low, high = values - reach, values + reach
    is_constant = errors[1] == 0  # t is infinite
    p = 2 * stdtr(n_clusters - 1, -np.abs(values[1]) / np.where(is_constant, np.inf, errors[1]))
    p[is_constant & (values[1] != 0)] = compute_p_of_identical(n_clusters)
    for column in (values[1], low[1], high[1], p):
        column[baseline] = np.nan
    return {
        "ci_low": low[0],
        "ci_high": high[0],
        "difference": values[1],
        "difference_low": low[1],
        "difference_high": high[1],
        "p_value": p,
    }


def sum_discounts(
    rows: Impressions, scores: Mapping[str, np.ndarray], dcg: DCG, cluster: np.ndarray
) -> Any:
    """Sum discounts and counts for each cluster of sessions, and return a sparse matrix.

    Each column is a cluster. The rows contain the discounts of clicked items per system and
    position, then the number of clicks per position, and finally the number of sessions.
    """
    from scipy.sparse import csr_array, vstack

    session, hits = rows.codes["session"], np.flatnonzero(rows.clicks)
    _, firsts, sizes, _ = layout.number_by_appearance(session)
    discounts = compute_discounts(dcg.discount, min(dcg.k or len(session), int(sizes.max())))
    n_sessions = np.bincount(cluster[firsts])
    parts = [compute_row_discounts(column, session, discounts)[hits] for column in scores.values()]
    parts.append(np.ones(len(hits)))
    shape, cells = (rows.n_positions, len(n_sessions)), (rows.places[hits], cluster[hits])
    matrices = [csr_array((part, cells), shape=shape) for part in parts]
    return vstack([*matrices, csr_array(n_sessions[None, :])], format="csr")


def compute_row_discounts(
    scores: np.ndarray, session: np.ndarray, discounts: np.ndarray
) -> np.ndarray:
    """Return the discount for the rank of each row in its session; it is 0 if the score is -inf.

    `discounts` contains one value per rank; ranks beyond its end have discount 0. Tied rows have
    the mean discount of their ranks, which is the expectation over all orders.
    """
    order = np.lexsort((-scores, session))
    scores, session = scores[order], session[order]
    rank = np.arange(len(order)) - np.searchsorted(session, session)
    of_ranks = np.append(discounts, 0.0)[np.minimum(rank, len(discounts))] * (scores > -np.inf)
    heads = np.flatnonzero((rank == 0) | np.append(True, scores[1:] != scores[:-1]))  # of ties
    sizes = np.diff(heads, append=len(order))
    means = np.add.reduceat(of_ranks, heads) / sizes
    return np.repeat(means, sizes)[np.argsort(order)]
