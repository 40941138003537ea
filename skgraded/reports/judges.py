"""Reports on judges: their agreement with the truth, and prediction-powered means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.columns import choice_validator
from skgraded._input.words import did_you_mean
from skgraded.reports.comparison_rows import check_choice, check_keys, columns_of, rows_form
from skgraded.reports.report import Report
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.intervals import CHECK_LEVEL
from skgraded.stats.paired_tests import TESTS
from skgraded.writing import json_text, sentences, tables

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


_COUNTS = json_text.list_of(json_text.list_of(json_text.INTEGER))
CONFUSION = json_text.record(
    Confusion,
    grades=json_text.FLOATS,
    counts=json_text.Form(
        np.ndarray.tolist, lambda written, name: np.array(_COUNTS.read(written, name))
    ),
)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class JudgeComparison(Report):
    """A comparison of judges with a trusted judge, returned by `compare_judges`.

    Attributes
    ----------
    truth, level, test, correction, weights
        As passed to `compare_judges`.
    judges : list of str
        The judges except the truth.
    systems, measures : list of str
        Empty without `y_scores`.
    segments : list or None
        Segments in order of first appearance; None without `by`.
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

    _json = {
        "segments": json_text.maybe(json_text.SEGMENT_NAMES),
        "confusions": json_text.by_name(json_text.maybe(CONFUSION)),
        "label_rows": rows_form(LabelRow),
        "leaderboard_rows": rows_form(LeaderboardRow),
        "mean_rows": rows_form(MeanRow),
        "outside": rows_form(OutsideRow),
    }

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
        check_keys("label_rows", [(row.segment, row.judge) for row in self.label_rows], places)
        check_keys(
            "leaderboard_rows",
            [(row.segment, row.judge, row.measure) for row in self.leaderboard_rows],
            by_measure,
        )
        check_keys(
            "mean_rows",
            [(row.segment, row.judge, row.measure, row.system) for row in self.mean_rows],
            [(*at, name) for at in by_measure for name in self.systems],
        )

    # Tables --------------------------------------------------------------------------------------

    def labels(self) -> pandas.DataFrame:
        """Tabulate how well each judge's document grades agree with the truth.

        The pandas.DataFrame has one row per judge, or per segment and judge, with the columns

        - ``segment`` (with `by`), ``judge``,
        - ``n_shared``: number of documents that both judged,
        - ``only_truth``, ``only_judge``: numbers of documents that only one of them judged,
        - ``exact``: share of the shared documents with equal grades,
        - ``kappa``, ``kappa_low``, ``kappa_high``: Cohen's κ and its interval over queries,
        - ``kappa_weighted``: Cohen's κ weighted by the distance of the grades,
        - ``alpha``, ``alpha_low``, ``alpha_high``: Krippendorff's α and its interval over queries,
        - ``tau_b``: Kendall's τ_b of the grades of all shared documents,
        - ``bias``: mean of the judge's grade minus the truth's grade.
        """
        return tables.frame(self._columns(LabelRow, self.label_rows))

    def to_frame(self) -> pandas.DataFrame:
        """Return the table of `labels`."""
        return self.labels()

    def leaderboards(self) -> pandas.DataFrame:
        """Tabulate the similarity between the truth's leaderboard and each judge's leaderboard.

        The pandas.DataFrame has one row per segment, judge and measure, and is empty without
        `y_scores`. The columns are

        - ``segment`` (with `by`), ``judge``, ``measure``,
        - ``n_systems``, ``n_queries``: numbers of systems, and of queries that both judged,
        - ``tau_b``: Kendall's τ_b of the systems' means,
        - ``tau_low``, ``tau_high``: 2.5 % and 97.5 % quantiles of τ_b over resampled queries, which
          are not a confidence interval: resampling lowers τ_b between similar systems,
        - ``tau_ap``: AP correlation along the judge's leaderboard,
        - ``rbo``: extrapolated rank-biased overlap with p = 0.9,
        - ``largest_drop``: the largest number of places that a system loses under the judge,
        - ``agree``, ``reversed``: numbers of pairs of systems that differ significantly under both
          judges, in the same direction or in opposite directions,
        - ``only_truth``, ``only_judge``: numbers of pairs that differ significantly under only one.
        """
        return tables.frame(self._columns(LeaderboardRow, self.leaderboard_rows))

    def means(self) -> pandas.DataFrame:
        """Tabulate the systems' means for the truth's and each judge's grades, with t intervals.

        The columns are ``segment`` (with `by`), ``judge``, ``measure``, ``system``, ``truth_mean``,
        ``truth_low``, ``truth_high``, ``judge_mean``, ``judge_low`` and ``judge_high``.
        """
        return tables.frame(self._columns(MeanRow, self.mean_rows))

    def _columns(self, row_type: Any, rows: Sequence[Any]) -> dict[str, list[Any]]:
        columns = columns_of(row_type, rows)
        if self.segments is None:
            del columns["segment"]
        return columns

    def confusion(self, judge: str) -> pandas.DataFrame:
        """Tabulate how many documents received each pair of grades.

        The rows of the pandas.DataFrame are the truth's grades, and its columns the judge's grades.
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
        """Name the judges that agree best with the truth by α, by κ and on leaderboards."""
        return sentences.judges_verdict(
            self.label_rows, self.leaderboard_rows, self.truth, self.level
        )

    def sentences(self) -> list[str]:
        """Describe each judge's agreement with the truth on document grades and on leaderboards."""
        return [
            *(sentences.label_sentence(row, self.truth, self.level) for row in self.label_rows),
            *sentences.outside_sentences(self.outside, self.truth),
            *(sentences.leaderboard_sentence(row, self.truth) for row in self.leaderboard_rows),
        ]

    def __repr__(self) -> str:
        kappas = ", ".join(
            f"{row.judge}: κ={row.kappa:.4f}, α={row.alpha:.4f}" for row in self.label_rows
        )
        return f"JudgeComparison(truth {self.truth}; {kappas})"

    def _in_notebook(self) -> tuple[str, pandas.DataFrame]:
        return self.verdict(), self.to_frame()

    def _page(self, title: str | None = None) -> Any:
        from skgraded.writing.judges_page import JudgesPage

        n_segments = 1 if self.segments is None else len(self.segments)
        n_tests = math.comb(len(self.systems), 2) * len(self.measures) * n_segments
        return JudgesPage(
            title=f"Judges compared with {self.truth}" if title is None else title,
            truth=self.truth,
            level=self.level,
            n_systems=len(self.systems),
            procedure=sentences.procedure(self.test, sentences.Family(self.correction, n_tests)),
            labels=self._columns(LabelRow, self.label_rows),
            leaderboards=self._columns(LeaderboardRow, self.leaderboard_rows),
            means=self._columns(MeanRow, self.mean_rows),
            confusions=self.confusions,
            verdict=self.verdict(),
            sentences=self.sentences(),
        )


def check_judge_settings(level: Any, weights: Any, test: Any, correction: Any) -> float:
    """Check the settings of a report; return `level`."""
    choice_validator("weights", ("quadratic", "linear"))(weights)
    choice_validator("test", tuple(TESTS))(test)
    check_choice("correction", correction, CORRECTIONS)
    return CHECK_LEVEL(level)


def check_judge(argument: str, name: str, judges: list[str]) -> str:
    """Return `name` if it is one of the judges; otherwise raise a ValueError."""
    if name not in judges:
        raise ValueError(
            f"{argument} must be one of {judges}; got {name!r}.{did_you_mean(name, judges)}"
        )
    return name
