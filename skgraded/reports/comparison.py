"""Comparisons: systems paired by query, their mean differences, intervals and tests."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from skgraded.measures import mean_over_queries
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.intervals import check_settings, default_method, mean_interval
from skgraded.reports.paired_tests import CORRECTIONS, TESTS, TIE, adjust, p_value
from skgraded.reports.pairing import (
    align,
    check_evaluations,
    common_measures,
    common_weights,
    refuse_unequal,
)
from skgraded.reports.report import Report
from skgraded.reports.write import json_text, tables
from skgraded.reports.write.sentences import sentences_of

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Report):
    """Systems compared query by query, made by `compare`.

    Attributes
    ----------
    systems : list of str
    measures : list of str
    query_ids : ndarray of shape (n_queries,)
        As in the first system.
    per_query : dict of str to ndarray of shape (n_systems, n_queries)
        Values by measure.
    weights : ndarray of shape (n_queries,) or None
        Weights of the queries in means and intervals.
    baseline : str or None
        The system that the others are compared to; None: all pairs.
    test, correction : str or None
    level : float
        Of the intervals; a difference is told apart where p_adjusted ≤ 1 - level.
    n_resamples : int
    table : dict of str to list
        The columns of `to_frame`, an element a pair and measure.
    """

    systems: list[str]
    measures: list[str]
    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]
    weights: np.ndarray | None
    baseline: str | None
    test: str | None
    correction: str | None
    level: float
    n_resamples: int
    table: dict[str, list]

    def differences(self, system: str, baseline: str, measure: str) -> np.ndarray:
        """Value of `system` less that of `baseline`, of the queries that count.

        Parameters
        ----------
        system, baseline : str
            Names of two systems.
        measure : str
            Name of a measure.

        Returns
        -------
        ndarray of shape (n,)
            Of the queries that have a value in both and, if queries are weighted, a weight.
        """
        values, other = (
            self.per_query[measure][self.systems.index(name)] for name in (system, baseline)
        )
        return (values - other)[_counting(values, other, self.weights)]

    def to_frame(self) -> "pandas.DataFrame":
        """Tabulate the comparison, a row a pair of systems and measure.

        Returns
        -------
        pandas.DataFrame
            Columns as `compare` describes them.
        """
        import pandas as pd

        return pd.DataFrame(self.table)

    def sentences(self) -> list[str]:
        """Say in a plain sentence what each row shows.

        Two systems are told apart where the adjusted p-value is at most 1 - level. Where they are
        not, and could not have been however the differences had turned out (five queries have no
        more than 2^5 sign flips), the sentence says so.

        Returns
        -------
        list of str
        """
        return sentences_of(self)

    def to_markdown(self) -> str:
        """Tabulate the comparison as Markdown.

        Returns
        -------
        str
            The frame's columns that say something of this comparison: without `ci_method`, and
            without the baseline if there is one, or p-values if there is no test.

        Raises
        ------
        ImportError
            Without tabulate.
        """
        return tables.markdown(self._shown())

    def to_latex(self) -> str:
        r"""Tabulate the comparison as a LaTeX tabular; needs ``\usepackage{booktabs}``.

        Returns
        -------
        str
            The columns of `to_markdown`.

        Raises
        ------
        ImportError
            Without Jinja2.
        """
        return tables.latex(self._shown())

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write the comparison as JSON, which `from_json` reads back exactly.

        Parameters
        ----------
        path : str or Path, optional
            The file to write.

        Returns
        -------
        str or None
            The text if there is no path.

        Raises
        ------
        TypeError
            If a query id is neither text nor a number nor a tuple of these.
        """
        report = {"kind": "Comparison", **{name: getattr(self, name) for name in _PLAIN}}
        report["query_ids"] = json_text.ids_to_json(self.query_ids)
        report["weights"] = None if self.weights is None else self.weights.tolist()
        report["per_query"] = {
            measure: [json_text.numbers_to_json(values) for values in systems]
            for measure, systems in self.per_query.items()
        }
        report["table"] = {
            name: [None if cell != cell else cell for cell in cells]
            for name, cells in self.table.items()
        }
        return json_text.write(report, path)

    @classmethod
    def from_json(cls, text_or_path: str | Path) -> "Comparison":
        """Read a comparison that `to_json` wrote.

        Parameters
        ----------
        text_or_path : str or Path
            The text, or the path of the file.

        Returns
        -------
        Comparison

        Raises
        ------
        ValueError
            If it is not JSON, or not of a Comparison.
        """
        report = json_text.read(text_or_path)
        if report["kind"] != "Comparison":
            raise ValueError(f"This is the JSON of {report['kind']}, not of a Comparison.")
        return cls(
            **{name: report[name] for name in _PLAIN},
            query_ids=json_text.ids_of_json(report["query_ids"]),
            weights=None if report["weights"] is None else np.array(report["weights"]),
            per_query={
                measure: np.array([json_text.numbers_of_json(values) for values in systems])
                for measure, systems in report["per_query"].items()
            },
            table={
                name: [np.nan if cell is None else cell for cell in cells]
                for name, cells in report["table"].items()
            },
        )

    def _page(self):
        from skgraded.reports.write.html import comparison_page

        return comparison_page(self)

    def _shown(self):
        left_out = ["ci_method"]
        if self.baseline is not None:
            left_out.append("baseline")
        if self.test is None:
            left_out += ["p_value", "p_adjusted"]
        return self.to_frame().drop(columns=left_out)

    def __repr__(self):
        columns = (self.table[name] for name in (
            "system", "baseline", "measure", "difference", "p_adjusted"
        ))
        rows = "; ".join(
            f"{system} - {baseline}, {measure}: {difference:+.4f}, p={p:.3g}"
            for system, baseline, measure, difference, p in zip(*columns, strict=True)
        )
        return f"Comparison({len(self.query_ids)} queries: {rows})"


def compare(
    evaluations: Mapping[str, Evaluation],
    *,
    baseline: str | None = None,
    test: str | None = "randomization",
    correction: str | None = "holm",
    level: float = 0.95,
    n_resamples: int = 9999,
    rng: int | np.random.Generator | None = None,
) -> Comparison:
    r"""Compare systems query by query.

    Systems are paired by query id, in whatever order each holds its queries. The query is the
    unit of inference, also of a `CrossEvaluation`: folds share most of their training data and
    are too few to test on.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        At least two systems by name, evaluated on the same queries by the same measures.
    baseline : str, optional
        The system that all others are compared to; None: every pair is compared, the later
        system to the earlier.
    test : {"randomization", "t", "wilcoxon", "bootstrap"} or None, default="randomization"
        Two-sided test of the differences d of the queries, see Notes. None: no test.
    correction : {"holm", "bonferroni", "fdr_bh"} or None, default="holm"
        For the number of tests in the whole table (pairs × measures): Holm (1979), Bonferroni,
        or the false discovery rate of Benjamini and Hochberg (1995).
    level : float, default=0.95
        Of the intervals, between 0 and 1. They are not corrected for their number.
    n_resamples : int, default=9999
        Random sign flips, and resamples of the bootstrap, of tests and intervals; at least 100.
    rng : int or numpy.random.Generator, optional
        The same whole number gives the same p-values; a pair's do not depend on which other
        systems and measures there are.

    Returns
    -------
    Comparison
        Its frame has the columns

        - ``system``, ``measure``,
        - ``mean``: of the system, over the queries that count,
        - ``difference``: that mean less ``baseline_mean``,
        - ``ci_low``, ``ci_high``: interval of the mean difference,
        - ``p_value``, ``p_adjusted``: before and after the correction; nan without a test,
        - ``n_queries``: how many count: both systems have a value, and the weight is above 0,
        - ``wins``, ``ties``, ``losses``: queries for which the system is better, equal up to
          rounding (1e-12), worse,
        - ``effect_size``: Cohen's d_z, the mean of d by its standard deviation (with n - 1); 0 if
          all d are 0, nan if they are all the same otherwise, or for one query,
        - ``baseline``, ``baseline_mean``,
        - ``ci_method``: of the interval, as of `Evaluation.confidence_interval`: "bootstrap" (BCa)
          up to 100,000 queries, "t" above.

    Raises
    ------
    ValueError, TypeError
        On bad input, before any work: if a system lacks queries or measures of another, or has
        other weights; if the weights are unequal and `test` is not None.

    Notes
    -----
    Of n differences d with mean d̄,

    - "randomization" flips their signs: p = 2 · min(P(d̄* ≤ d̄), P(d̄* ≥ d̄)), at most 1, over all
      2^n flips where these are no more than `n_resamples` (a d of 0 is not flipped and does not
      count in n), else over `n_resamples` random ones and what was observed: scipy's
      ``permutation_test`` with ``permutation_type="samples"``. Fisher's test, see Smucker,
      Allan, Carterette (2007).
    - "t" is ``scipy.stats.ttest_1samp``.
    - "wilcoxon" is ``scipy.stats.wilcoxon`` with its defaults: differences of 0 are left out
      (``zero_method="wilcox"``). They are rounded to 12 decimals before, so that rounding makes
      and breaks no ties.
    - "bootstrap" draws n of d - d̄ with replacement, `n_resamples` times, and compares
      t = d̄ / s, s the standard deviation: p = (1 + #{\|t*\| ≥ \|t\|}) / (1 + n_resamples)
      (Efron and Tibshirani 1993, section 16.4; Sakai 2006, with the 1 of Davison and Hinkley
      1997, eq. 4.11, so that p is never 0).

    p is 1 if all differences are 0, or for a single query. Differences that are all the same have
    no spread, and t none that is finite: p is then 0 by "t" and 1 / (1 + n_resamples) by
    "bootstrap", of however few queries.

    References
    ----------
    .. [1] Smucker, Allan, Carterette: A comparison of statistical significance tests for
       information retrieval evaluation. CIKM 2007.
    .. [2] Efron, Tibshirani: An introduction to the bootstrap. 1993.
    .. [3] Sakai: Evaluating evaluation metrics based on the bootstrap. SIGIR 2006.
    .. [4] Davison, Hinkley: Bootstrap methods and their application. 1997.

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> noise = np.random.default_rng(0).normal(size=len(y))
    >>> noisy = sg.evaluate(y, y + 2 * noise, qid=qid, measures="ndcng@10")
    >>> good = sg.evaluate(y, y + noise, qid=qid, measures="ndcng@10")
    >>> found = sg.compare({"noisy": noisy, "good": good}, baseline="noisy", rng=0)
    >>> frame = found.to_frame()
    >>> frame[["system", "measure", "p_value", "n_queries"]].values.tolist()
    [['good', 'NDCNG@10', 0.0002, 60]]
    >>> found.sentences()[0].split(":")[0]
    'good is better than noisy by NDCNG@10'
    """
    check_evaluations(evaluations)
    systems = list(evaluations)
    _check_baseline(baseline, systems)
    test = _one_of_or_none("test", test, TESTS)
    correction = _one_of_or_none("correction", correction, CORRECTIONS)
    level, _, n_resamples = check_settings(level, None, n_resamples, rng)
    seed = int(np.random.default_rng(rng).integers(2**63))
    query_ids, positions = align(evaluations)
    measures = common_measures(evaluations)
    weights = common_weights(evaluations, query_ids, positions)
    if test is not None:
        refuse_unequal(weights, query_ids)
    per_query = {
        measure: np.array([
            evaluation.per_query[measure][positions[system]]
            for system, evaluation in evaluations.items()
        ])
        for measure in measures
    }
    table: dict[str, list] = {name: [] for name in COLUMNS}
    for other, system in _pairs(systems, baseline):
        for measure in measures:
            values, other_values = (
                per_query[measure][systems.index(name)] for name in (system, other)
            )
            row = _statistics(values, other_values, weights, test, level, n_resamples, seed)
            row |= {"system": system, "measure": measure, "baseline": other}
            for name in row:
                table[name].append(row[name])
    table["p_adjusted"] = adjust(np.array(table["p_value"]), correction).tolist()
    return Comparison(
        systems, measures, query_ids, per_query, weights, baseline, test, correction, level,
        n_resamples, table,
    )


# The table ---------------------------------------------------------------------------------------

COLUMNS = (
    "system", "measure", "mean", "difference", "ci_low", "ci_high", "p_value", "p_adjusted",
    "n_queries", "wins", "ties", "losses", "effect_size", "baseline", "baseline_mean",
    "ci_method",
)
_PLAIN = ("systems", "measures", "baseline", "test", "correction", "level", "n_resamples")


def _pairs(systems, baseline):
    if baseline is None:
        return list(combinations(systems, 2))
    return [(baseline, system) for system in systems if system != baseline]


def _counting(values, other, weights):
    """Which queries count: both systems have a value, and there is weight."""
    counts = ~np.isnan(values) & ~np.isnan(other)
    return counts if weights is None else counts & (weights > 0)


def _statistics(values, other, weights, test, level, n_resamples, seed):
    """What a row says of the values of two systems."""
    counts = _counting(values, other, weights)
    means = [mean_over_queries(np.where(counts, one, np.nan), weights) for one in (values, other)]
    differences = (values - other)[counts]
    weights = None if weights is None else weights[counts]
    rounded = np.round(differences, TIE)
    ci_method = default_method(len(differences))
    low, high = mean_interval(differences, weights, level, ci_method, n_resamples, seed)
    p = np.nan
    if test is not None:
        p = p_value(test, differences, n_resamples, np.random.default_rng(seed))
    return {
        "mean": means[0],
        "baseline_mean": means[1],
        "difference": means[0] - means[1],
        "ci_low": low,
        "ci_high": high,
        "p_value": p,
        "n_queries": len(differences),
        "wins": int((rounded > 0).sum()),
        "ties": int((rounded == 0).sum()),
        "losses": int((rounded < 0).sum()),
        "effect_size": _effect_size(rounded, weights),
        "ci_method": ci_method,
    }


def _effect_size(differences, weights):
    n = len(differences)
    if not differences.any():
        return 0.0 if n > 1 else np.nan
    if n < 2 or np.ptp(differences) == 0:
        return np.nan
    mean = np.average(differences, weights=weights)
    variance = np.average((differences - mean) ** 2, weights=weights) * n / (n - 1)
    return float(mean / np.sqrt(variance))


# Input -------------------------------------------------------------------------------------------

def _check_baseline(baseline, systems):
    if baseline is None or baseline in systems:
        return
    near = difflib.get_close_matches(str(baseline), systems, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"baseline must be one of the systems {systems}; got {baseline!r}.{hint}")


def _one_of_or_none(name, value, known):
    if value is None or (isinstance(value, str) and value in known):
        return value
    raise ValueError(f"{name} must be one of {list(known)} or None; got {value!r}.")
