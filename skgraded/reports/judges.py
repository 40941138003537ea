"""Reports on judges: their agreement with the truth, and prediction-powered means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.columns import choice_validator, number_validator
from skgraded._input.words import did_you_mean
from skgraded.reports import comparison_rows
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.pairing import pool_of
from skgraded.reports.report import ConfidenceIntervals, Report, Table
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.intervals import CHECK_LEVEL, t_interval
from skgraded.stats.paired_tests import TESTS
from skgraded.stats.prediction_powered import PoweredMean, powered_mean, queries_needed
from skgraded.writing import json_text, sentences, tables
from skgraded.writing.json_text import TEXT, by_name, list_of, maybe, record

if TYPE_CHECKING:
    import pandas

MOST_GRADES = 1000  # maximum number of grades on an ordinal scale; limits time and memory


@dataclass(frozen=True)
class LabelRow:
    """Agreement of a judge's grades with the truth; see `JudgeComparison.labels`."""

    segment: Any  # None without segments
    judge: str
    n_shared: int
    only_truth: int
    only_judge: int
    exact: float
    kappa: float
    kappa_low: float
    kappa_high: float
    kappa_weighted: float
    alpha: float
    alpha_low: float
    alpha_high: float
    tau_b: float
    bias: float


@dataclass(frozen=True)
class LeaderboardRow:
    """Agreement of two leaderboards; see `JudgeComparison.leaderboards`."""

    segment: Any
    judge: str
    measure: str
    n_systems: int
    n_queries: int
    tau_b: float
    tau_low: float
    tau_high: float
    tau_ap: float
    rbo: float
    largest_drop: float
    agree: int
    reversed: int
    only_truth: int
    only_judge: int


@dataclass(frozen=True)
class MeanRow:
    """Means of a system for the truth's and a judge's grades; see `JudgeComparison.means`."""

    segment: Any
    judge: str
    measure: str
    system: str
    truth_mean: float
    truth_low: float
    truth_high: float
    judge_mean: float
    judge_low: float
    judge_high: float


@dataclass(frozen=True)
class OutsideRow:
    """How often a judge gave a grade outside the truth's scale."""

    judge: str
    grade: float
    n: int


@dataclass(frozen=True, eq=False)
class Confusion:
    """Number of documents per pair of grades; rows are for the truth, columns for the judge."""

    grades: np.ndarray
    counts: np.ndarray

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.grades), len(self.grades)) or (self.counts < 0).any():
            raise ValueError(
                f"counts must be non-negative, with a row and a column for each of the "
                f"{len(self.grades)} grades; got shape {self.counts.shape}."
            )


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class JudgeComparison(Report):
    """A comparison of judges with a trusted judge, returned by `compare_judges`.

    Attributes
    ----------
    truth : str
        The judge that the other judges are compared with.
    judges : list of str
        The other judges.
    systems, measures : list of str
        Empty without `y_scores`.
    segments : list or None
        Segments in order of first appearance; None without `by`.
    level : float
    test, correction : str or None
        Settings of the comparisons of systems.
    weights : {"quadratic", "linear"}
        Weights of ``kappa_weighted``.
    label_rows : list of LabelRow
    leaderboard_rows : list of LeaderboardRow
    mean_rows : list of MeanRow
    outside : list of OutsideRow
        Grades of the judges outside the range of the truth's grades, with their numbers.
    confusions : dict of str to Confusion or None
        Keyed by judge; None if grades are not integers or more than 1,000 grades occur.
    """

    truth: str
    judges: list[str]
    label_rows: list[LabelRow]
    confusions: dict[str, Confusion | None]
    level: float
    weights: str
    test: str
    correction: str | None
    systems: list[str] = field(default_factory=list)
    measures: list[str] = field(default_factory=list)
    segments: list[Any] | None = None
    leaderboard_rows: list[LeaderboardRow] = field(default_factory=list)
    mean_rows: list[MeanRow] = field(default_factory=list)
    outside: list[OutsideRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        names = [self.truth, *self.judges]
        if len(set(names)) < len(names) or len(names) < 2:
            raise ValueError(f"truth and judges must be two or more distinct names; got {names}.")
        check_judge_settings(self.level, self.weights, self.test, self.correction)
        if list(self.confusions) != self.judges:
            raise ValueError(f"confusions must have the keys {self.judges}.")
        segments = [None] if self.segments is None else self.segments
        places = [(segment, judge) for segment in segments for judge in self.judges]
        by_measure = [(*at, name) for at in places for name in self.measures]
        for rows, expected in (
            (self.label_rows, places),
            (self.leaderboard_rows, by_measure),
            (self.mean_rows, [(*at, name) for at in by_measure for name in self.systems]),
        ):
            keys = [tuple(vars(row).values())[: len(expected[0])] for row in rows if expected]
            if keys != expected or len(rows) != len(expected):
                raise ValueError(
                    f"The rows must describe {expected[:3]} and so on, in this order, but they "
                    f"describe {keys[:3]} and so on."
                )

    # Tables --------------------------------------------------------------------------------------

    def labels(self) -> pandas.DataFrame:
        """Tabulate how well each judge's document grades agree with the truth.

        Returns
        -------
        pandas.DataFrame
            One row per judge, or per segment and judge, with the columns

            - ``segment`` (with `by`), ``judge``,
            - ``n_shared``: number of documents that both judged,
            - ``only_truth``, ``only_judge``: numbers of documents that only one of them judged,
            - ``exact``: share of the shared documents with equal grades,
            - ``kappa``, ``kappa_low``, ``kappa_high``: Cohen's κ and its interval over queries,
            - ``kappa_weighted``: Cohen's κ weighted by the distance of the grades,
            - ``alpha``, ``alpha_low``, ``alpha_high``: Krippendorff's α and its interval over
              queries,
            - ``tau_b``: Kendall's τ_b of the grades of all shared documents,
            - ``bias``: mean of the judge's grade minus the truth's grade.
        """
        return tables.frame(self._columns(LabelRow, self.label_rows))

    def to_frame(self) -> pandas.DataFrame:
        """Return the table of `labels`."""
        return self.labels()

    def leaderboards(self) -> pandas.DataFrame:
        """Tabulate the similarity between the truth's leaderboard and each judge's leaderboard.

        Returns
        -------
        pandas.DataFrame
            One row per judge and measure, or per segment, judge and measure; empty without
            `y_scores`. The columns are

            - ``segment`` (with `by`), ``judge``, ``measure``,
            - ``n_systems``, ``n_queries``: numbers of systems, and of queries that both judged,
            - ``tau_b``: Kendall's τ_b of the systems' means,
            - ``tau_low``, ``tau_high``: 2.5 % and 97.5 % quantiles of τ_b over resampled queries.
              They show its spread and are not a confidence interval,
            - ``tau_ap``: AP correlation along the judge's leaderboard,
            - ``rbo``: extrapolated rank-biased overlap with p = 0.9,
            - ``largest_drop``: the largest number of places that a system loses under the judge,
            - ``agree``, ``reversed``: numbers of pairs of systems that differ significantly under
              both judges, in the same direction or in opposite directions,
            - ``only_truth``, ``only_judge``: numbers of pairs that differ significantly under only
              one of them.
        """
        return tables.frame(self._columns(LeaderboardRow, self.leaderboard_rows))

    def means(self) -> pandas.DataFrame:
        """Tabulate the systems' means for the truth's and each judge's grades, with t intervals.

        Returns
        -------
        pandas.DataFrame
            One row per judge, measure and system, with the columns ``segment`` (with `by`),
            ``judge``, ``measure``, ``system``, ``truth_mean``, ``truth_low``, ``truth_high``,
            ``judge_mean``, ``judge_low`` and ``judge_high``.
        """
        return tables.frame(self._columns(MeanRow, self.mean_rows))

    def _columns(self, row_type: Any, rows: Sequence[Any]) -> dict[str, list[Any]]:
        columns = comparison_rows.columns_of(row_type, rows)
        if self.segments is None:
            del columns["segment"]
        return columns

    def confusion(self, judge: str) -> pandas.DataFrame:
        """Tabulate how many documents received each pair of grades.

        Parameters
        ----------
        judge : str
            One of `judges`.

        Returns
        -------
        pandas.DataFrame
            Rows are the truth's grades and columns the judge's grades.
        """
        check_judge("judge", judge, self.judges)
        confusion = self.confusions[judge]
        if confusion is None:
            raise ValueError(
                f"There is no confusion table for {self.truth!r} and {judge!r}: their grades are "
                f"not integers, or there are more than {MOST_GRADES:,} distinct grades."
            )
        grades = confusion.grades.astype(int).tolist()
        frame = tables.frame(confusion.counts, index=grades, columns=grades)
        return frame.rename_axis(index=self.truth, columns=judge)

    # Text ----------------------------------------------------------------------------------------

    def verdict(self) -> str:
        """Name the judge whose grades agree best with the truth, according to Krippendorff's α."""
        return sentences.judges_verdict(self.label_rows, self.truth, self.level)

    def sentences(self) -> list[str]:
        """Describe each judge's agreement with the truth on document grades and on leaderboards."""
        texts = [
            sentences.label_sentence(row, self.truth, self.level) for row in self.label_rows
        ]
        texts += sentences.outside_sentences(self.outside, self.truth)
        return texts + [
            sentences.leaderboard_sentence(row, self.truth) for row in self.leaderboard_rows
        ]

    def __repr__(self) -> str:
        kappas = ", ".join(
            f"{row.judge}: κ={row.kappa:.4f}, α={row.alpha:.4f}" for row in self.label_rows
        )
        return f"JudgeComparison(truth {self.truth}; {kappas})"

    def _page(self, title: str | None = None) -> Any:
        from skgraded.writing.judges_page import JudgesPage

        return JudgesPage(
            title=f"Judges compared with {self.truth}" if title is None else title,
            truth=self.truth, level=self.level, has_segments=self.segments is not None,
            procedure=sentences.procedure(self.test, self.correction, self._n_tests()),
            labels=self.label_rows, leaderboards=self.leaderboard_rows, means=self.mean_rows,
            confusions=self.confusions, verdict=self.verdict(), sentences=self.sentences(),
        )

    def _n_tests(self) -> int:
        """Return the number of tests that compare the systems for one judge."""
        n = len(self.systems)
        return n * (n - 1) // 2 * len(self.measures) * len(self.segments or [None])

    def _to_json(self) -> dict[str, Any]:
        return json_text.write_fields(_forms(self.segments), self)

    @classmethod
    def _of_json(cls, report: dict[str, Any]) -> dict[str, Any]:
        segments = json_text.read_fields({"segments": SEGMENTS}, report)["segments"]
        return json_text.read_fields(_forms(segments), report)


SEGMENTS = maybe(json_text.SEGMENT_NAMES)
CONFUSION = record(Confusion, grades=json_text.FLOATS, counts=json_text.Form(
    np.ndarray.tolist,
    lambda written, name: np.array(list_of(list_of(json_text.INTEGER)).read(written, name)),
))


def _forms(segments: Any) -> dict[str, json_text.Form]:
    """Return the JSON form of each field; rows contain positions in `segments`."""
    rows = {
        "label_rows": LabelRow, "leaderboard_rows": LeaderboardRow, "mean_rows": MeanRow,
        "outside": OutsideRow,
    }
    return {
        "truth": TEXT, "judges": list_of(TEXT), "segments": SEGMENTS,
        "confusions": by_name(maybe(CONFUSION)), "level": json_text.PLAIN_NUMBER,
        "weights": TEXT, "test": TEXT, "correction": maybe(TEXT), "systems": list_of(TEXT),
        "measures": list_of(TEXT),
        **{name: comparison_rows.rows_form(row, segments) for name, row in rows.items()},
    }


def check_judge_settings(level: Any, weights: Any, test: Any, correction: Any) -> float:
    """Check the settings of a report; return `level`."""
    choice_validator("weights", ("quadratic", "linear"))(weights)
    choice_validator("test", tuple(TESTS))(test)
    comparison_rows.check_choice("correction", correction, CORRECTIONS)
    return CHECK_LEVEL(level)


def check_judge(argument: str, name: str, judges: list[str]) -> str:
    """Return `name` if it is one of the judges; otherwise raise a ValueError."""
    if name not in judges:
        raise ValueError(
            f"{argument} must be one of {judges}; got {name!r}.{did_you_mean(name, judges)}"
        )
    return name


# Prediction-powered means ------------------------------------------------------------------------

@dataclass(frozen=True, repr=False)
class PredictionPowered(Table):
    """Means that combine human and machine judgments, returned by `prediction_powered`.

    Attributes
    ----------
    estimates : dict of str to PoweredMean
        Keyed by measure name.
    level : float
        Confidence level of `summary`.
    """

    estimates: dict[str, PoweredMean]
    level: float

    def mean(self) -> dict[str, float]:
        """Return the combined mean of each measure."""
        return {name: estimate.mean for name, estimate in self.estimates.items()}

    def confidence_interval(self, level: float | None = None) -> ConfidenceIntervals:
        """Return Student's t interval for each mean, with n - 2 degrees of freedom.

        Parameters
        ----------
        level : float, optional
            Confidence level, between 0 and 1. By default, the level passed to
            `prediction_powered`.
        """
        level = self.level if level is None else CHECK_LEVEL(level)
        return ConfidenceIntervals(
            {name: t_interval(estimate, level) for name, estimate in self.estimates.items()},
            level, "t",
        )

    def summary(self) -> pandas.DataFrame:
        """Tabulate the means, one row per measure.

        Returns
        -------
        pandas.DataFrame
            The columns are

            - ``measure``, ``mean``, ``ci_low``, ``ci_high``,
            - ``n_human``: number of queries with human judgments,
            - ``n_judge``: number of further queries, which only the judge judged,
            - ``weight``: λ, the weight of the judge, from 0 to 1,
            - ``human_mean``: mean over the human judgments alone,
            - ``judge_mean``: mean over the judge's values of all queries,
            - ``worth``: number of human-judged queries that alone would give an equally small
              error.
        """
        return tables.frame(self._rows())

    def to_frame(self) -> pandas.DataFrame:
        """Return the table of `summary`."""
        return self.summary()

    def _rows(self) -> list[dict[str, Any]]:
        intervals = self.confidence_interval()
        return [
            {
                "measure": name, "mean": e.mean, "ci_low": intervals[name].low,
                "ci_high": intervals[name].high, "n_human": e.n, "n_judge": e.n_judge,
                "weight": e.weight, "human_mean": e.human_mean, "judge_mean": e.judge_mean,
                "worth": e.worth,
            }
            for name, e in self.estimates.items()
        ]

    def sentences(self) -> list[str]:
        """Describe each mean, and how many human-judged queries would be equally precise."""
        return [sentences.powered_sentence(row, self.level) for row in self._rows()]

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={mean:.4f}" for name, mean in self.mean().items())
        estimate = next(iter(self.estimates.values()))
        return f"PredictionPowered({estimate.n} + {estimate.n_judge} queries: {means})"


def prediction_powered(
    human: Evaluation, judge: Evaluation, level: float = 0.95
) -> PredictionPowered:
    r"""Estimate the mean under human judgments from a few human and many machine judgments.

    The judge may be biased: the human judgments correct this bias, and the judge's values reduce
    the variance (prediction-powered inference [1]_, [2]_).

    **The human-judged queries must be drawn at random from all queries**, for example with
    `sample_queries`. If people judge only easy queries, the bias correction is wrong for the
    other queries, and the interval contains the true mean too rarely.

    Parameters
    ----------
    human : Evaluation
        Evaluation of n queries under human judgments; at least 10, better 20 or more.
    judge : Evaluation
        Evaluation of the same queries and of N further queries under the judge's grades, with the
        same measures.
    level : float, default=0.95
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    PredictionPowered
        Its methods are `mean`, `confidence_interval`, `summary` and `sentences`.

    Raises
    ------
    ValueError, TypeError
        If there are fewer than 10 human-judged queries, the judge lacks one of them, the judge has
        no further queries, the measures differ, a value is nan, or the weights are unequal.

    Warns
    -----
    UserWarning
        If there are fewer than 20 human-judged queries.

    Notes
    -----
    With the per-query values h (human) and j (judge), the variance var (divisor n - 1) and λ
    limited to the range from 0 to 1,

    - λ = cov_n(h, j) / ((1 + n/N) var_{n+N}(j)),
    - mean = λ mean_N(j) + mean_n(h - λ j),
    - error² = λ² var_N(j) / N + var_n(h - λ j) / n.

    The interval is Student's t with n - 2 degrees of freedom. With a useless judge, λ is near 0,
    and the interval is rarely more than 2 % wider than the interval of the human values alone.

    In simulations with a biased judge (``benchmarks/README.md``), 95 % intervals for NDCNG@10, μAP
    and their differences between systems covered the true value in 93 to 96 % of cases for n = 20,
    50 and 200, and in 92 to 94 % for n = 10. Intervals for RR covered it in only 87 % of cases for
    n = 10 and 90 % for n = 20, because RR takes few distinct values.

    References
    ----------
    .. [1] Angelopoulos, Bates, Fannjiang, Jordan, Zrnic: Prediction-powered inference. Science
       382, 2023.
    .. [2] Angelopoulos, Duchi, Zrnic: PPI++: Efficient prediction-powered inference. 2023.
    .. [3] Oosterhuis, Jagerman, Qin, Wang, Bendersky: Reliable confidence intervals for
       information retrieval evaluation using generative A.I. KDD 2024.

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=500, random_state=0)
    >>> grades = np.clip(y + np.random.default_rng(0).integers(-1, 2, len(y)), 0, 4)
    >>> judge = sg.evaluate(grades, X[:, 0], qid=qid, measures="ndcng@10")
    >>> random = np.isin(qid, sg.sample_queries(judge.query_ids, 50, rng=0))
    >>> human = sg.evaluate(y[random], X[random, 0], qid=qid[random], measures="ndcng@10")
    >>> sg.prediction_powered(human, judge)
    PredictionPowered(50 + 450 queries: NDCNG@10=0.4872)
    """
    level = CHECK_LEVEL(level)
    _check_types(human=human, judge=judge)
    pool = pool_of({"human": human}, {"judge": judge}, ("human", "judge"))
    return PredictionPowered(
        {name: powered_mean(*(side[0] for side in values)) for name, values in pool.items()}, level
    )


def _check_types(**evaluations: Any) -> None:
    for name, evaluation in evaluations.items():
        if not isinstance(evaluation, Evaluation):
            raise TypeError(f"{name} must be an Evaluation; got {type(evaluation).__name__}.")


def plan_judgments(
    pilot_human: Evaluation, pilot_judge: Evaluation, half_width: float, level: float = 0.95
) -> pandas.DataFrame:
    """Estimate how many queries people must judge for an interval of a given width.

    Parameters
    ----------
    pilot_human, pilot_judge : Evaluation
        A first sample, as for `prediction_powered`. The judge's queries are all that it will judge.
    half_width : float
        Half of the desired width of the interval, above 0.
    level : float, default=0.95
        Confidence level of the interval, between 0 and 1.

    Returns
    -------
    pandas.DataFrame
        One row per measure. The columns are

        - ``measure``, ``half_width``,
        - ``n_human_alone``: number of human-judged queries required without the judge,
        - ``n_human_with_judge``: number of human-judged queries required with the judge; equal
          to ``n_human_alone`` if the judge does not reduce it,
        - ``n_queries``: number of queries in `pilot_judge`.

        Variances are estimated from the pilot; with a small pilot, the results are uncertain.

    Raises
    ------
    ValueError, TypeError
        As for `prediction_powered`, or if `half_width` is not above 0 or requires more than ten
        million queries.

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=500, random_state=0)
    >>> grades = np.clip(y + np.random.default_rng(0).integers(-1, 2, len(y)), 0, 4)
    >>> judge = sg.evaluate(grades, X[:, 0], qid=qid, measures="ndcng@10")
    >>> random = np.isin(qid, sg.sample_queries(judge.query_ids, 30, rng=0))
    >>> pilot = sg.evaluate(y[random], X[random, 0], qid=qid[random], measures="ndcng@10")
    >>> plan = sg.plan_judgments(pilot, judge, half_width=0.03)
    >>> plan[["n_human_alone", "n_human_with_judge"]].values.tolist()
    [[136, 78]]
    """
    level = CHECK_LEVEL(level)
    half_width = number_validator("half_width", 0, above=True)(half_width)
    _check_types(pilot_human=pilot_human, pilot_judge=pilot_judge)
    names = "pilot_human", "pilot_judge"
    pool = pool_of({names[0]: pilot_human}, {names[1]: pilot_judge}, names)
    rows = []
    for name, values in pool.items():
        human, judge, others = (side[0] for side in values)
        alone, with_judge = queries_needed(human, judge, others, half_width, level)
        rows.append({
            "measure": name, "half_width": half_width, "n_human_alone": alone,
            "n_human_with_judge": with_judge, "n_queries": len(pilot_judge.query_ids),
        })
    return tables.frame(rows)
