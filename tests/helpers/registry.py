"""All measures with their reference implementations, settings and properties.

`conformance/generate.py` defines the measures and computes the values of short queries over all
orders of tied documents. A reference here (`on_average`) is a closed form of the expectation, for
long queries; it returns None for a query whose value is undefined. The references do not use the
package under test. To add a measure, add its reference and one call of `register`;
`test_no_measure_is_forgotten` fails if an exported measure is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from itertools import combinations, product
from math import comb, inf

import generate
import numpy as np
from oracle import (
    DISCOUNTS,
    GAINS,
    average_pair_form,
    expected_gains,
    is_relevant,
    signs,
    tie_blocks,
    untied,
)

import skgraded as sg

CUTOFFS = (None, 1, 2, 3, 5, 100)
THRESHOLDS = (None, 0.5, 2)
TIES = ("average", "ordinal", "best", "worst")
TOP_GRADE = 1000.0  # highest grade of the random queries; max_grade must not be lower


def square_root(grades):
    return np.sqrt(grades)


def reciprocal(ranks):
    return 1.0 / ranks


GAIN_GRID = {
    "k": (*CUTOFFS, "mean"),
    "gain": ("exp2", "linear", square_root),
    "discount": ("log2", "letor", reciprocal),
}


@dataclass(frozen=True)
class Entry:
    """A measure class: ``settings`` are its parameters besides ``ties`` and ``undefined``."""

    cls: type
    on_average: Callable  # (grades, scores, **setting) -> value with the first tie rule, or None
    settings: list = field(default_factory=list)
    few: list = field(default_factory=list)  # for properties that do not depend on all settings
    scale_invariant: list = field(default_factory=list)  # scaling the grades changes nothing
    ideal_is_one: list = field(default_factory=list)  # the list sorted by grade scores 1
    lowest: int = 0  # lowest possible value
    highest: float = 1
    always_defined: bool = False
    undefined_on_request: bool = False  # with undefined=0.0, the same queries are defined, with 0

    @property
    def definition(self):
        """The measure in `generate`."""
        return generate.MEASURES[self.cls.__name__]

    @property
    def tie_rules(self):
        """The values of ``ties``, the default first; (None,) without this parameter."""
        default = self.definition.defaults.get("ties")
        if default == "worst":  # the expectation would take too long
            return ("worst", "best", "ordinal")
        return TIES if default else (None,)

    def value(self, ties, grades, scores, **setting):
        """Return the value for one tie rule without computing all orders, or None if undefined."""
        if ties not in ("average", None):
            scores = untied(grades, scores, ties, self.definition.unretrieved_last)
        return self.on_average(grades, scores, **setting)


REGISTRY: dict[str, Entry] = {}


def always(*args, **setting):
    return True


def has_relevant(grades, threshold=None, **others):
    return is_relevant(grades, threshold).any()


def has_two_grades(grades, **others):
    return len(set(grades)) > 1


def register(cls, on_average, is_defined=has_relevant, **more):
    """Add a measure; its functions are called only for queries whose value is defined."""

    def average(grades, scores, **setting):
        return on_average(grades, scores, **setting) if is_defined(grades, **setting) else None

    REGISTRY[cls.__name__] = Entry(cls, average, **more)


def grid(**choices):
    """Return settings that contain each pair of values of two parameters; the defaults come first.

    The first two parameters must have the most values; the values of the other parameters rotate.
    """
    first_two = product(*(range(len(values)) for values in list(choices.values())[:2]))
    settings = []
    for places in first_two:
        rotated = [sum(places)] * (len(choices) - len(places))
        settings.append(
            {
                name: values[place % len(values)]
                for (name, values), place in zip(choices.items(), [*places, *rotated], strict=True)
            }
        )
    for one, other in combinations(choices, 2):
        met = {(setting[one], setting[other]) for setting in settings}
        assert len(met) == len(choices[one]) * len(choices[other])
    return settings


# AP ----------------------------------------------------------------------------------------------


def divisor_of(grades, k, threshold, divisor):
    n_relevant = is_relevant(grades, threshold).sum()
    return n_relevant if divisor == "relevant" else min(n_relevant, k or inf)


def average_average_precision(grades, scores, k=None, threshold=None, divisor="min"):
    def weight(values):
        return is_relevant(values, threshold) / divisor_of(grades, k, threshold, divisor)

    return average_pair_form(weight, grades, scores, k)


register(
    sg.AP,
    on_average=average_average_precision,
    settings=grid(k=CUTOFFS, threshold=THRESHOLDS, divisor=("min", "relevant")),
    few=[sg.AP(), sg.AP(k=3, threshold=2), sg.AP(k=3, divisor="relevant")],
    scale_invariant=[sg.AP()],
    ideal_is_one=[sg.AP(), sg.AP(k=1), sg.AP(k=3)],
)


# MuAP --------------------------------------------------------------------------------------------


def over_levels(grades, value):
    """Return the mean over grades above 0, weighted by the distance from the next lower grade."""
    levels = sorted({grade for grade in grades if grade > 0})
    distances = np.diff(levels, prepend=0.0) / levels[-1]  # they add up to 1
    return sum(weight * value(level) for weight, level in zip(distances, levels, strict=True))


def average_mu_average_precision(grades, scores, k=None, divisor="min"):
    return over_levels(
        grades, lambda level: average_average_precision(grades, scores, k, level, divisor)
    )


register(
    sg.MuAP,
    on_average=average_mu_average_precision,
    settings=grid(k=CUTOFFS, divisor=("min", "relevant")),
    few=[sg.MuAP(), sg.MuAP(k=3), sg.MuAP(k=3, divisor="relevant")],
    scale_invariant=[sg.MuAP(), sg.MuAP(k=3), sg.MuAP(k=3, divisor="relevant")],
    ideal_is_one=[sg.MuAP(), sg.MuAP(k=1), sg.MuAP(k=3)],
)


# NDCG --------------------------------------------------------------------------------------------


def average_ndcg(grades, scores, k=None, gain="exp2", discount="log2"):
    gain, discount = GAINS.get(gain, gain), DISCOUNTS.get(discount, discount)
    n, gains = len(grades), np.zeros(len(grades))
    retrieved = expected_gains(gain, grades, scores)
    gains[: len(retrieved)] = retrieved
    ideal = gain(np.sort(np.asarray(grades, dtype=float))[::-1])
    discounts = discount(np.arange(1, n + 1))
    ndcg_at = np.cumsum(gains * discounts) / np.cumsum(ideal * discounts)
    return ndcg_at.mean() if k == "mean" else ndcg_at[min(k or n, n) - 1]


register(
    sg.NDCG,
    on_average=average_ndcg,
    settings=grid(**GAIN_GRID),
    few=[sg.NDCG(), sg.NDCG(k=3), sg.NDCG(k="mean", gain="linear", discount="letor")],
    scale_invariant=[sg.NDCG(gain="linear")],
    ideal_is_one=[
        sg.NDCG(),
        sg.NDCG(k=1),
        sg.NDCG(k=3, gain="linear", discount="letor"),
        sg.NDCG(k="mean"),
    ],
)


# NDCNG -------------------------------------------------------------------------------------------


def average_ndcng(grades, scores, k=None, gain="exp2", discount="log2", max_grade=None):
    top = max(grades) if max_grade is None else max_grade
    return average_ndcg((np.asarray(grades) / top).tolist(), scores, k, gain, discount)


register(
    sg.NDCNG,
    on_average=average_ndcng,
    settings=grid(**GAIN_GRID, max_grade=(None, TOP_GRADE)),
    few=[
        sg.NDCNG(),
        sg.NDCNG(k=3, max_grade=TOP_GRADE),
        sg.NDCNG(k="mean", gain=square_root, discount=reciprocal),
    ],
    scale_invariant=[
        sg.NDCNG(),
        sg.NDCNG(k=3, discount="letor"),
        sg.NDCNG(k="mean"),
        sg.NDCNG(gain=square_root),
    ],
    ideal_is_one=[
        sg.NDCNG(),
        sg.NDCNG(k=3, max_grade=TOP_GRADE),
        sg.NDCNG(k="mean", gain=square_root),
    ],
)


# QMeasure ----------------------------------------------------------------------------------------


def q_divisors(grades, k, beta, gain):
    """Return p + β cg*(p) for each rank p, times min(R, k)."""
    ideal = np.cumsum(gain(np.sort(np.asarray(grades, dtype=float))[::-1]))
    n = min(is_relevant(grades, None).sum(), k or inf)
    return n * (np.arange(1, len(grades) + 1) + beta * ideal)


def average_q_measure(grades, scores, k=None, beta=1.0, gain="linear"):
    """Above position a + i are a documents of earlier blocks and i - 1 documents of its block."""
    gain = GAINS.get(gain, gain)
    total, a, before = 0.0, 0, 0.0
    divisors = q_divisors(grades, k, beta, gain)
    for block in tie_blocks(grades, scores):
        n, relevant = len(block), is_relevant(block, None)
        counted = relevant + beta * gain(np.array(block))
        others = np.outer(relevant, counted)
        with_tied = (others.sum() - np.trace(others)) / (n * (n - 1)) if n > 1 else 0.0
        i = np.arange(1, n + 1)
        expected = relevant.mean() * before + (relevant * counted).mean() + (i - 1) * with_tied
        total += (expected / divisors[a : a + n])[a + i <= (k or inf)].sum()
        a, before = a + n, before + counted.sum()
    return total


register(
    sg.QMeasure,
    on_average=average_q_measure,
    settings=grid(k=CUTOFFS, beta=(1.0, 0, 10), gain=("linear", "exp2", square_root)),
    few=[sg.QMeasure(), sg.QMeasure(k=3, beta=10), sg.QMeasure(gain="exp2")],
    scale_invariant=[sg.QMeasure(beta=0)],
    ideal_is_one=[sg.QMeasure(), sg.QMeasure(k=1), sg.QMeasure(k=3, beta=10, gain="exp2")],
)


# Measures that are weighted sums of gains ---------------------------------------------------------


def linear(gain, total):
    """Return the reference of a measure that is a sum of gains over ranks."""

    def on_average(grades, scores, **setting):
        gains = expected_gains(lambda ranked: gain(ranked, grades, **setting), grades, scores)
        return total(gains, grades, **setting)

    return on_average


def relevance(ranked, grades, threshold=None, **others):
    return is_relevant(ranked, threshold)


def share_of_top(ranked, grades, max_grade=None, **others):
    return ranked / (max(grades) if max_grade is None else max_grade)


def mean_of_ranks(gains, grades, k=None, **others):
    """Divide the sum of the first k gains by k, or of all gains by the number of documents."""
    divisor = gains.shape[-1] if k is None else k
    return gains[..., :k].sum(axis=-1) / max(divisor, 1)


register(
    sg.Precision,
    on_average=linear(relevance, mean_of_ranks),
    undefined_on_request=True,
    settings=grid(k=CUTOFFS, threshold=THRESHOLDS),
    few=[sg.Precision(), sg.Precision(k=3)],
    scale_invariant=[sg.Precision(k=3)],  # an ideal list may have too few relevant documents
)
register(
    sg.GeneralizedPrecision,
    on_average=linear(share_of_top, mean_of_ranks),
    settings=grid(k=CUTOFFS, max_grade=(None, TOP_GRADE)),
    few=[sg.GeneralizedPrecision(), sg.GeneralizedPrecision(k=3, max_grade=TOP_GRADE)],
    scale_invariant=[sg.GeneralizedPrecision(), sg.GeneralizedPrecision(k=3)],
)


def recall(gains, grades, k=None, threshold=None):
    return gains[..., :k].sum(axis=-1) / is_relevant(grades, threshold).sum()


register(
    sg.Recall,
    on_average=linear(relevance, recall),
    settings=grid(k=CUTOFFS, threshold=THRESHOLDS),
    few=[sg.Recall(k=3), sg.Recall(k=2, threshold=2)],
    scale_invariant=[sg.Recall(k=3)],
    ideal_is_one=[sg.Recall()],  # an ideal list may be longer than the cut-off
)


def generalized_recall(gains, grades, k=None):
    return gains[..., :k].sum(axis=-1) / sum(grade / max(grades) for grade in grades)


register(
    sg.GeneralizedRecall,
    on_average=linear(share_of_top, generalized_recall),
    settings=grid(k=CUTOFFS),
    few=[sg.GeneralizedRecall(k=3)],
    scale_invariant=[sg.GeneralizedRecall(k=3)],
    ideal_is_one=[sg.GeneralizedRecall()],
)


def r_precision(gains, grades, threshold=None):
    n_relevant = is_relevant(grades, threshold).sum()
    return gains[..., :n_relevant].sum(axis=-1) / n_relevant


register(
    sg.RPrecision,
    on_average=linear(relevance, r_precision),
    settings=grid(threshold=THRESHOLDS),
    few=[sg.RPrecision(), sg.RPrecision(threshold=2)],
    scale_invariant=[sg.RPrecision()],
    ideal_is_one=[sg.RPrecision(), sg.RPrecision(threshold=2)],
)


def rbp(gains, grades, k=None, persistence=0.8, **others):
    seen = (1 - persistence) * float(persistence) ** np.arange(gains.shape[-1])
    return (gains * seen)[..., :k].sum(axis=-1)


register(
    sg.RBP,
    on_average=linear(share_of_top, rbp),
    settings=grid(k=CUTOFFS, persistence=(0.8, 0, 0.5), max_grade=(None, TOP_GRADE)),
    few=[sg.RBP(), sg.RBP(k=3, persistence=0.5, max_grade=TOP_GRADE)],
    scale_invariant=[sg.RBP()],
)


def absolute_gain(ranked, grades, gain="exp2", **others):
    return 2.0**ranked - 1 if gain == "exp2" else GAINS.get(gain, gain)(ranked)


def absolute_dcg(gains, grades, k=None, discount="log2", **others):
    discounts = DISCOUNTS.get(discount, discount)(np.arange(1, gains.shape[-1] + 1))
    return (gains * discounts)[..., :k].sum(axis=-1)


register(
    sg.DCG,
    on_average=linear(absolute_gain, absolute_dcg),
    is_defined=always,
    always_defined=True,
    highest=inf,
    settings=grid(**GAIN_GRID | {"k": CUTOFFS}),
    few=[sg.DCG(gain="linear"), sg.DCG(k=3), sg.DCG(gain=square_root)],
)


# RR ----------------------------------------------------------------------------------------------


def average_reciprocal_rank(grades, scores, k=None, threshold=None):
    before = 0
    for block in tie_blocks(grades, scores):
        n, r = len(block), int(is_relevant(block, threshold).sum())
        if r:
            places = range(1, min(n - r + 1, (k or inf) - before) + 1)
            return sum(comb(n - i, r - 1) / comb(n, r) / (before + i) for i in places)
        before += n
    return 0.0


register(
    sg.RR,
    on_average=average_reciprocal_rank,
    settings=grid(k=CUTOFFS, threshold=THRESHOLDS),
    few=[sg.RR(), sg.RR(k=3, threshold=2)],
    scale_invariant=[sg.RR()],
    ideal_is_one=[sg.RR(), sg.RR(k=1)],
)


# GAP ---------------------------------------------------------------------------------------------


def average_gap(grades, scores, k=None, gain="linear"):
    gain = GAINS.get(gain, gain)
    ideal = gain(np.sort(np.asarray(grades, dtype=float))[::-1])[:k].sum()
    return average_pair_form(gain, grades, scores, k) / ideal


register(
    sg.GAP,
    on_average=average_gap,
    settings=grid(k=CUTOFFS, gain=("linear", "exp2", square_root)),
    few=[sg.GAP(), sg.GAP(k=3, gain="exp2")],
    scale_invariant=[sg.GAP(), sg.GAP(k=3)],
    ideal_is_one=[sg.GAP(), sg.GAP(k=3, gain="exp2")],
)


# ERR ---------------------------------------------------------------------------------------------


def stops_at(grades, all_grades, max_grade=None):
    """Return the stop probability (2^g - 1) / 2^max of each grade."""
    top = max(all_grades) if max_grade is None else max_grade
    return np.expm1(np.asarray(grades) * np.log(2)) * 2.0**-top


def average_err(grades, scores, k=None, max_grade=None):
    """The user continues after j documents of a tie block with probability e_j / C(n, j).

    e_j is the elementary symmetric sum of the probabilities to continue.
    """
    total, going_on, before = 0.0, 1.0, 0
    for block in tie_blocks(grades, scores):
        leaves = stops_at(block, grades, max_grade)
        n = len(block)
        symmetric = np.polynomial.Polynomial([1.0])
        for leave in leaves:
            symmetric *= np.polynomial.Polynomial([1.0, 1 - leave])
        after = [e / comb(n, j) for j, e in enumerate(symmetric.coef.tolist())]
        after += [0.0] * (n + 1 - len(after))
        for i in range(1, n + 1):
            if before + i <= (k or inf):
                total += going_on * (after[i - 1] - after[i]) / (before + i)
        going_on *= after[n]
        before += n
    return total


register(
    sg.ERR,
    on_average=average_err,
    settings=grid(k=CUTOFFS, max_grade=(None, TOP_GRADE)),
    few=[sg.ERR(), sg.ERR(k=3, max_grade=5)],  # an ideal list scores less than 1
)


# NERR --------------------------------------------------------------------------------------------


def gains_if_rarely_stopped(grades, max_grade):
    """Return gains by grade if all stop probabilities are tiny, so that ERR is Σ R / p."""
    if stops_at(grades, grades, max_grade).max() > 1e-17:
        return None
    gains = np.expm1(np.asarray(grades) * np.log(2))
    return dict(zip(grades, gains / gains.max(), strict=True))


def over_ranks(gains, k):
    return (gains / np.arange(1, gains.shape[-1] + 1))[..., :k].sum(axis=-1)


def average_nerr(grades, scores, k=None, max_grade=None):
    ideal = np.array([sorted(grades, reverse=True)])
    gains = gains_if_rarely_stopped(grades, max_grade)
    if gains is None:
        return average_err(grades, scores, k, max_grade) / average_err(grades, grades, k, max_grade)
    expected = expected_gains(np.vectorize(gains.get, otypes=[float]), grades, scores)
    return over_ranks(expected, k) / over_ranks(np.array([gains[g] for g in ideal[0]]), k)


register(
    sg.NERR,
    on_average=average_nerr,
    settings=grid(k=CUTOFFS, max_grade=(None, TOP_GRADE)),
    few=[sg.NERR(), sg.NERR(k=3, max_grade=5)],
    ideal_is_one=[sg.NERR(), sg.NERR(k=1), sg.NERR(k=3, max_grade=5)],
)


# Success -----------------------------------------------------------------------------------------


def average_success(grades, scores, k=None, threshold=None):
    failure, before = 1.0, 0
    for block in tie_blocks(grades, scores):
        n, r = len(block), int(is_relevant(block, threshold).sum())
        n_drawn = int(np.clip((k or inf) - before, 0, n))
        failure *= comb(n - r, n_drawn) / comb(n, n_drawn)
        before += n
    return 1.0 - failure


register(
    sg.Success,
    on_average=average_success,
    undefined_on_request=True,
    settings=grid(k=CUTOFFS, threshold=THRESHOLDS),
    few=[sg.Success(k=3), sg.Success(k=2, threshold=2)],
    scale_invariant=[sg.Success(k=3)],  # a query may have no relevant document
)


# InterpolatedPrecision ---------------------------------------------------------------------------


def worst_interpolated_precision(grades, scores, recall=0, threshold=None):
    ranked = np.ravel(tie_blocks(grades, untied(grades, scores, "worst")))
    hits = np.cumsum(is_relevant(ranked, threshold))
    enough = hits >= np.floor(recall * is_relevant(grades, threshold).sum() + 0.5)
    return np.max(hits / np.arange(1, len(hits) + 1) * enough, initial=0.0)


register(
    sg.InterpolatedPrecision,
    on_average=worst_interpolated_precision,
    settings=grid(recall=(0, 0.1, 0.5, 1), threshold=THRESHOLDS),
    few=[sg.InterpolatedPrecision(), sg.InterpolatedPrecision(0.5, threshold=2)],
    scale_invariant=[sg.InterpolatedPrecision(0.5)],
    ideal_is_one=[sg.InterpolatedPrecision(), sg.InterpolatedPrecision(1)],
)


# SetPrecision, SetRecall, SetF -------------------------------------------------------------------


def retrieved_and_relevant(grades, scores, threshold):
    retrieved, relevant = np.array(scores) > -inf, is_relevant(grades, threshold)
    return (retrieved & relevant).sum(), retrieved.sum(), relevant.sum()


def set_precision(grades, scores, threshold=None):
    n_hits, n_retrieved, _ = retrieved_and_relevant(grades, scores, threshold)
    return n_hits / max(n_retrieved, 1)


def set_recall(grades, scores, threshold=None):
    n_hits, _, n_relevant = retrieved_and_relevant(grades, scores, threshold)
    return n_hits / n_relevant


def set_f(grades, scores, threshold=None, beta=1):
    p, r = set_precision(grades, scores, threshold), set_recall(grades, scores, threshold)
    return (beta**2 + 1) * p * r / (r + beta**2 * p) if p and r else 0.0


register(
    sg.NumRet,
    on_average=lambda grades, scores: retrieved_and_relevant(grades, scores, None)[1],
    is_defined=always,
    always_defined=True,
    highest=inf,
    settings=[{}],
    few=[sg.NumRet()],
    scale_invariant=[sg.NumRet()],
)
for counting, place in (sg.NumRel, 2), (sg.NumRelRet, 0):
    register(
        counting,
        is_defined=always,
        always_defined=True,
        highest=inf,
        on_average=lambda *args, place=place, **setting: retrieved_and_relevant(*args, **setting)[
            place
        ],
        settings=grid(threshold=THRESHOLDS),
        few=[counting()],
        scale_invariant=[counting()],
    )
register(
    sg.SetPrecision,
    on_average=set_precision,
    undefined_on_request=True,
    settings=grid(threshold=THRESHOLDS),
    few=[sg.SetPrecision()],
    scale_invariant=[sg.SetPrecision()],
)
register(
    sg.SetRecall,
    on_average=set_recall,
    settings=grid(threshold=THRESHOLDS),
    few=[sg.SetRecall(), sg.SetRecall(threshold=2)],
    scale_invariant=[sg.SetRecall()],
    ideal_is_one=[sg.SetRecall()],
)
register(
    sg.SetF,
    on_average=set_f,
    settings=grid(threshold=THRESHOLDS, beta=(1, 0, 0.5, 3)),
    few=[sg.SetF(), sg.SetF(threshold=2, beta=0.5)],
    scale_invariant=[sg.SetF()],
)


# Bpref -------------------------------------------------------------------------------------------


def average_bpref(grades, scores, threshold=None):
    n_relevant = int(is_relevant(grades, threshold).sum())
    cap = max(min(n_relevant, len(grades) - n_relevant), 1)
    total, above = 0.0, 0
    for block in tie_blocks(grades, scores):
        r = int(is_relevant(block, threshold).sum())
        m = len(block) - r
        capped = [min(above + n, n_relevant) for n in range(m + 1)]
        total += r * (1 - np.mean(capped) / cap)
        above += m
    return total / n_relevant


register(
    sg.Bpref,
    on_average=average_bpref,
    settings=grid(threshold=THRESHOLDS),
    few=[sg.Bpref(), sg.Bpref(threshold=2)],
    scale_invariant=[sg.Bpref()],
    ideal_is_one=[sg.Bpref(), sg.Bpref(threshold=2)],
)


# Judged and RBPResidual --------------------------------------------------------------------------


def average_judged(grades, scores, k=None):
    known = expected_gains(lambda ranked: ~np.isnan(ranked), grades, scores)[:k]
    return known.mean() if len(known) else 0.0


def average_rbp_residual(grades, scores, k=None, persistence=0.8):
    unjudged = expected_gains(np.isnan, grades, scores)[:k]
    ranks = np.arange(len(unjudged))
    return (1 - persistence) * (unjudged * persistence**ranks).sum() + persistence ** len(ranks)


register(  # for long queries, no grade is nan
    sg.Judged,
    on_average=average_judged,
    is_defined=always,
    always_defined=True,
    settings=grid(k=CUTOFFS),
    few=[sg.Judged(k=3)],
    scale_invariant=[sg.Judged()],
)


register(
    sg.RBPResidual,
    on_average=average_rbp_residual,
    is_defined=always,
    always_defined=True,
    settings=grid(k=CUTOFFS, persistence=(0.8, 0, 0.5, 0.95)),
    few=[sg.RBPResidual(), sg.RBPResidual(k=3, persistence=0.5)],
    scale_invariant=[sg.RBPResidual()],
)


# Compat ------------------------------------------------------------------------------------------


def average_compat(grades, scores, persistence=0.95):
    """The documents of one grade among the first j of a tie block are hypergeometric."""
    ideal = sorted((grade for grade in grades if grade > 0), reverse=True)
    blocks = tie_blocks(grades, scores)
    n = sum(map(len, blocks))
    total = best = 0.0
    for i in range(1, max(n, len(ideal)) + 1):
        before, start = [], 0
        for block in blocks:
            if start + len(block) > i:
                break
            before, start = before + block, start + len(block)
        else:
            block = [0.0]
        j = min(i, n) - start
        for grade in set(ideal):
            m, c, a = block.count(grade), before.count(grade), ideal[:i].count(grade)
            total += (
                persistence ** (i - 1)
                / i
                * sum(
                    comb(m, h) * comb(len(block) - m, j - h) / comb(len(block), j) * min(c + h, a)
                    for h in range(max(0, j - len(block) + m), min(m, j) + 1)
                )
            )
        best += persistence ** (i - 1) / i * min(i, len(ideal))
    return total / best


register(
    sg.Compat,
    on_average=average_compat,
    settings=grid(persistence=(0.95, 0, 0.5)),
    few=[sg.Compat(), sg.Compat(0.5)],
    scale_invariant=[sg.Compat()],
    ideal_is_one=[sg.Compat(), sg.Compat(0.5)],
)


# PairAccuracy and AUC ----------------------------------------------------------------------------


def pair_accuracy(grades, scores):
    """Share of correctly ordered pairs with different grades; equal scores count 1/2."""
    above = signs(grades) == 1
    return np.mean((signs(scores)[above] + 1) / 2)


register(
    sg.PairAccuracy,
    on_average=pair_accuracy,
    is_defined=has_two_grades,
    settings=grid(),
    few=[sg.PairAccuracy()],
    scale_invariant=[sg.PairAccuracy()],
    ideal_is_one=[sg.PairAccuracy()],
)


def has_both_kinds(grades, threshold=None):
    return len(set(is_relevant(grades, threshold).tolist())) == 2


def auc(grades, scores, threshold=None):
    return pair_accuracy(is_relevant(grades, threshold), scores)


register(
    sg.AUC,
    on_average=auc,
    is_defined=has_both_kinds,
    settings=grid(threshold=THRESHOLDS),
    few=[sg.AUC(), sg.AUC(threshold=2)],
    scale_invariant=[sg.AUC()],
    ideal_is_one=[sg.AUC(), sg.AUC(threshold=2)],
)


# TauAP -------------------------------------------------------------------------------------------


def average_tau_ap(grades, scores):
    """Above position a + i are a documents of earlier blocks; half of i - 1 tied pairs agree."""
    total, before = 0.0, np.array([])
    for block in tie_blocks(grades, scores, unretrieved_last=True):
        block, a = np.array(block), len(before)
        above, equal = np.greater.outer(before, block), np.equal.outer(before, block)
        with_earlier = (above + equal / 2).sum() / len(block)
        for i in range(1, len(block) + 1):
            if a + i > 1:
                total += (with_earlier + (i - 1) / 2) / (a + i - 1)
        before = np.concatenate([before, block])
    return 2 / (len(grades) - 1) * total - 1


register(
    sg.TauAP,
    on_average=average_tau_ap,
    is_defined=has_two_grades,
    settings=grid(),
    lowest=-1,
    few=[sg.TauAP()],
    scale_invariant=[sg.TauAP()],  # in an ideal list, equal grades count 1/2
)


# KendallTau --------------------------------------------------------------------------------------


def kendall_tau(grades, scores):
    of_grades, of_scores = signs(grades), signs(scores)
    if not of_scores.any():
        return 0.0
    n_untied = (of_grades != 0).sum() * (of_scores != 0).sum()
    return (of_grades * of_scores).sum() / np.sqrt(n_untied)


register(
    sg.KendallTau,
    on_average=kendall_tau,
    is_defined=has_two_grades,
    settings=grid(),
    lowest=-1,
    few=[sg.KendallTau()],
    scale_invariant=[sg.KendallTau()],
    ideal_is_one=[sg.KendallTau()],  # if the scores have the same ties as the grades
)


# SpearmanRho -------------------------------------------------------------------------------------


def spearman_rho(grades, scores):
    # A mean rank minus the mean of all ranks is half of (number below - number above).
    of_grades, of_scores = signs(grades).sum(axis=1), signs(scores).sum(axis=1)
    if not of_scores.any():
        return 0.0
    return (of_grades @ of_scores) / np.sqrt((of_grades @ of_grades) * (of_scores @ of_scores))


register(
    sg.SpearmanRho,
    on_average=spearman_rho,
    is_defined=has_two_grades,
    settings=grid(),
    lowest=-1,
    few=[sg.SpearmanRho()],
    scale_invariant=[sg.SpearmanRho()],
    ideal_is_one=[sg.SpearmanRho()],
)


# EDRC --------------------------------------------------------------------------------------------

RANK_DISCOUNTS = {
    "linear": lambda rank: rank,
    "log2": lambda rank: np.log2(1 + rank),
    "exp2": lambda rank: 2.0**rank,
}


def rank_less_1(ranks):
    return ranks - 1.0


def edrc(grades, scores, discount="linear", prior=0.5):
    """EDRC by its definition, pair by pair; the grade nan implies no preference."""
    discount = RANK_DISCOUNTS.get(discount, discount)
    n = len(grades)
    prefers = [[grades[v] > grades[w] for w in range(n)] for v in range(n)]
    total, z = 0.0, 0.0
    rank = {}
    for v in sorted(range(n), key=lambda v: -np.nan_to_num(grades[v], nan=-1.0)):
        preferred = [w for w in range(n) if prefers[w][v]]
        rank[v] = 1 + max((rank[w] for w in preferred), default=0)
        if rank[v] == 1:
            continue
        compared = [w for w in range(n) if w != v and not prefers[v][w]]
        expected = [
            (scores[w] > scores[v]) * 1.0 if prefers[w][v] and scores[w] != scores[v] else prior
            for w in compared
        ]
        divisor = discount(np.array([rank[v]], dtype=float))[0]
        total += sum(expected) / divisor
        z += len(compared) / divisor
    return 2 / z * total - 1 if z else None


register(
    sg.EDRC,
    on_average=edrc,
    is_defined=always,
    settings=grid(discount=("linear", "log2", "exp2", rank_less_1), prior=(0.5, 0, 0.3, 1)),
    lowest=-1,
    few=[sg.EDRC(), sg.EDRC(discount="exp2", prior=0.25), sg.EDRC(discount=rank_less_1)],
    scale_invariant=[sg.EDRC(), sg.EDRC(discount="exp2", prior=0.25)],
)


# All measures ------------------------------------------------------------------------------------

ALL_SETTINGS = [(name, setting) for name, entry in REGISTRY.items() for setting in entry.settings]
FEW = [measure for entry in REGISTRY.values() for measure in entry.few]
SCALE_INVARIANT = [measure for entry in REGISTRY.values() for measure in entry.scale_invariant]
IDEAL_IS_ONE = [measure for entry in REGISTRY.values() for measure in entry.ideal_is_one]


def entry_of(measure):
    return REGISTRY[type(measure).__name__]


def build(name, setting, ties=None, **more):
    return with_ties(REGISTRY[name].cls(**setting, **more), ties)


def tie_rules(measure):
    """The tie rules of a measure; (None,) if its definition determines how to treat ties."""
    return entry_of(measure).tie_rules


def with_ties(measure, ties):
    """The same measure with another tie rule; with None, the measure itself."""
    return measure if ties is None else rebuilt(measure, ties=ties)


def rebuilt(measure, **changes):
    """The same measure with some parameters changed."""
    kept = {name: getattr(measure, name) for name in signature(type(measure)).parameters}
    return type(measure)(**(kept | changes))
