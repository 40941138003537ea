"""Definitions of ranking measures, evaluated by enumeration; running this file writes cases.json.

Each function below is the formula in its docstring for one ranked list. Tied documents are put in
every order that their scores allow. Numbers are fractions. Logarithms, roots and powers with
fractional exponents are fractions that agree with them to 50 digits. Only the standard library is
used. To add a measure, add one function here and its cases in `case_inputs.py`.

    python conformance/generate.py
"""

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from functools import cache
from inspect import signature
from itertools import chain, product
from math import inf, isqrt
from pathlib import Path

# Numbers ------------------------------------------------------------------------------------------


def number(x) -> Fraction | None:
    """Return the decimal as it is written (0.1 is 1/10), or None for null."""
    return None if x is None else Fraction(repr(x))


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def remembered(function):
    """Return the function with a cache for each precision."""
    cached = cache(lambda x, digits: function(x))
    return lambda x: cached(x, getcontext().prec)


@remembered
def exp2(x: Fraction) -> Fraction:
    """2^x."""
    if x.denominator == 1:
        return Fraction(2) ** x.numerator
    return Fraction(Decimal(2) ** decimal(x))


@remembered
def log2(n: int) -> Fraction:
    """log2(n) = ln(n) / ln(2)."""
    if n & (n - 1) == 0:  # a power of two
        return Fraction(n.bit_length() - 1)
    return Fraction(Decimal(n).ln() / Decimal(2).ln())


@remembered
def root(n: int) -> Fraction:
    """√n."""
    return Fraction(isqrt(n)) if isqrt(n) ** 2 == n else Fraction(Decimal(n).sqrt())


def mean(values) -> Fraction:
    values = list(values)
    return sum(values) / Fraction(len(values))


# Orders of tied documents -------------------------------------------------------------------------


def tie_blocks(grades, scores, unretrieved_last=False) -> list[list]:
    """Return the grades of each block of equal scores, from the highest score to the lowest.

    A document with the score None was not retrieved: it is left out, or in the last block.
    """
    blocks: dict = {}
    for grade, score in zip(grades, scores, strict=True):
        if score is not None or unretrieved_last:
            blocks.setdefault(-inf if score is None else float(score), []).append(grade)
    return [blocks[score] for score in sorted(blocks, reverse=True)]


def orders_of_block(block: list) -> Iterator[tuple]:
    """Yield the distinct orders of the grades; each stands for equally many orders of documents."""
    if not block:
        yield ()
    for grade in dict.fromkeys(block):
        rest = list(block)
        rest.remove(grade)
        for below in orders_of_block(rest):
            yield (grade, *below)


def ranked_lists(blocks: list[list]) -> Iterator[tuple]:
    """Yield all ranked lists of grades that the scores allow."""
    for choice in product(*map(orders_of_block, blocks)):
        yield tuple(chain.from_iterable(choice))


# Registry -----------------------------------------------------------------------------------------


@dataclass
class Measure:
    """A formula; `of_scores`: it receives the scores of all documents instead of a ranked list."""

    formula: Callable
    is_defined: Callable
    of_scores: bool = False
    unretrieved_last: bool = False
    ties: str | None = "average"  # the default; None: the order of ties does not matter

    @property
    def defaults(self) -> dict:
        """Return all parameters and their defaults, in the order of cases.json."""
        formula = {
            name: parameter.default
            for name, parameter in signature(self.formula).parameters.items()
            if parameter.default is not parameter.empty
        }
        cut_off = {"k": formula.pop("k")} if "k" in formula else {}
        ties = {"ties": self.ties} if self.ties and not self.of_scores else {}
        return cut_off | ties | formula | {"undefined": 0.0}


MEASURES: dict[str, Measure] = {}


def always(grades, **parameters):
    return True


def is_relevant(grade, threshold=None):
    """A document is relevant if its grade is > 0, or ≥ the threshold; None was not judged."""
    if grade is None:
        return False
    return grade > 0 if threshold is None else grade >= number(threshold)


def n_relevant(grades, threshold=None):
    return sum(is_relevant(grade, threshold) for grade in grades)


def has_relevant(grades, threshold=None, **parameters):
    return n_relevant(grades, threshold) > 0


def has_preference(grades, **parameters):
    return len(set(grades) - {None}) > 1


def has_both_kinds(grades, threshold=None):
    return 0 < n_relevant(grades, threshold) < len(grades)


def measure(name, is_defined=has_relevant, **settings):
    def register(formula):
        MEASURES[name] = Measure(formula, is_defined, **settings)
        return formula

    return register


# Measures of relevant documents -------------------------------------------------------------------


@measure("AP")
def average_precision(ranked, grades, k=None, threshold=None, divisor="min"):
    """AP@k = Σ_{p ≤ k} P@p · [document p is relevant] / min(R, k), or / R (divisor="relevant").

    P@p is the share of relevant documents among the first p, and R the number of all relevant
    documents of the query.
    """
    total = Fraction(0)
    for p, grade in enumerate(ranked[:k], 1):
        if is_relevant(grade, threshold):
            total += Fraction(n_relevant(ranked[:p], threshold), p)
    n = n_relevant(grades, threshold)
    return total / (min(n, k or n) if divisor == "min" else n)


@measure("MuAP")
def mu_average_precision(ranked, grades, k=None, divisor="min"):
    """μAP = Σ_i d_i AP^{t_i} / Σ_i d_i, where d_i = t_i - t_{i-1}.

    t_1 < … < t_m are the grades > 0, t_0 is 0, and AP^t is average precision with threshold t.
    """
    total, below = Fraction(0), Fraction(0)
    for level in sorted({grade for grade in grades if grade > 0}):
        # AP^t treats the grades ≥ t as relevant.
        ranked_binary = [Fraction(grade >= level) for grade in ranked]
        binary = [Fraction(grade >= level) for grade in grades]
        total += (level - below) * average_precision(ranked_binary, binary, k, None, divisor)
        below = level
    return total / below  # the distances add up to the highest grade


@measure("Precision")
def precision(ranked, grades, k=None, threshold=None):
    """P@k = relevant documents among the first k / k; without k, / retrieved documents."""
    n = len(ranked) if k is None else k
    return Fraction(n_relevant(ranked[:k], threshold), max(n, 1))


@measure("Recall")
def recall(ranked, grades, k=None, threshold=None, divisor="relevant"):
    """R@k = relevant documents among the first k / R, or / min(R, k) (divisor="min")."""
    n = n_relevant(grades, threshold)
    return Fraction(n_relevant(ranked[:k], threshold), min(n, k or n) if divisor == "min" else n)


@measure("RR")
def reciprocal_rank(ranked, grades, k=None, threshold=None):
    """RR@k = 1 / rank of the first relevant document, 0 if its rank is > k."""
    for rank, grade in enumerate(ranked[:k], 1):
        if is_relevant(grade, threshold):
            return Fraction(1, rank)
    return Fraction(0)


@measure("Success")
def success(ranked, grades, k=None, threshold=None):
    """S@k = 1 if one of the first k documents is relevant, else 0."""
    return Fraction(n_relevant(ranked[:k], threshold) > 0)


@measure("RPrecision")
def r_precision(ranked, grades, threshold=None):
    """Precision at rank R."""
    n = n_relevant(grades, threshold)
    return Fraction(n_relevant(ranked[:n], threshold), n)


@measure("InterpolatedPrecision", ties="worst")
def interpolated_precision(ranked, grades, recall=0, threshold=None):
    """The highest P@p at any rank p with ≥ max(⌊ρR + 1/2⌋, 1) relevant documents (trec_eval 10)."""
    required = max(int(number(recall) * n_relevant(grades, threshold) + Fraction(1, 2)), 1)
    hits = [n_relevant(ranked[:p], threshold) for p in range(1, len(ranked) + 1)]
    allowed = [Fraction(hit, p) for p, hit in enumerate(hits, 1) if hit >= required]
    return max(allowed, default=Fraction(0))


@measure("Bpref")
def bpref(ranked, grades, threshold=None):
    """Binary preference: (1/R) Σ_r (1 - min(n_r, R) / min(R, N)) over the retrieved relevant documents r.

    N is the number of judged irrelevant documents, n_r the number of them above r. If N = 0, each
    term is 1. Documents that were not judged (None) count on neither side.
    """
    judged = [grade for grade in ranked if grade is not None]
    n = n_relevant(grades, threshold)
    n_irrelevant = len(grades) - grades.count(None) - n
    total = Fraction(0)
    for i, grade in enumerate(judged):
        if is_relevant(grade, threshold):
            above = i - n_relevant(judged[:i], threshold)
            total += 1 - Fraction(min(above, n), max(min(n, n_irrelevant), 1))
    return total / n


@measure("SetPrecision", ties=None)
def set_precision(ranked, grades, threshold=None):
    """Relevant retrieved documents / retrieved documents; 0 if nothing was retrieved."""
    return Fraction(n_relevant(ranked, threshold), max(len(ranked), 1))


@measure("SetRecall", ties=None)
def set_recall(ranked, grades, threshold=None):
    """Relevant retrieved documents / R."""
    return Fraction(n_relevant(ranked, threshold), n_relevant(grades, threshold))


@measure("SetF", ties=None)
def set_f(ranked, grades, threshold=None, beta=1):
    """F = (β² + 1) P R / (R + β² P); 0 if P = R = 0."""
    p, r = set_precision(ranked, grades, threshold), set_recall(ranked, grades, threshold)
    weight = number(beta) ** 2
    return (weight + 1) * p * r / (r + weight * p) if p else Fraction(0)


@measure("NumRet", always, ties=None)
def n_retrieved(ranked, grades):
    """The number of retrieved documents."""
    return Fraction(len(ranked))


@measure("NumRel", always, ties=None)
def n_relevant_documents(ranked, grades, threshold=None):
    """The number of relevant documents, retrieved or not."""
    return Fraction(n_relevant(grades, threshold))


@measure("NumRelRet", always, ties=None)
def n_relevant_retrieved(ranked, grades, threshold=None):
    """The number of relevant documents that were retrieved."""
    return Fraction(n_relevant(ranked, threshold))


# Measures of gains --------------------------------------------------------------------------------


def ideal(grades):
    """The documents of the query, retrieved or not, from the highest grade to the lowest."""
    return sorted(grades, reverse=True)


def top(grades, max_grade):
    """The highest grade of the scale; by default, the highest grade of the query."""
    return max(grades) if max_grade is None else number(max_grade)


def gain_of(grade, gain):
    """The gain is the grade ("linear") or 2^grade - 1 ("exp2")."""
    return grade if gain == "linear" else exp2(grade) - 1


@measure("DCG", always)
def dcg(ranked, grades, k=None, gain="exp2", discount="log2"):
    """DCG@k = Σ_{i ≤ k} gain(r_i) / log2(i + 1); with "letor", / log2(max(i, 2))."""
    total = Fraction(0)
    for i, grade in enumerate(ranked[:k], 1):
        n = i + 1 if discount == "log2" else max(i, 2)
        total += gain_of(grade, gain) / log2(n)
    return total


@measure("NDCG")
def ndcg(ranked, grades, k=None, gain="exp2", discount="log2"):
    """NDCG@k = DCG@k / DCG@k of the ideal order; k="mean": the mean of NDCG@n over n = 1..N."""
    if k == "mean":
        return mean(ndcg(ranked, grades, n, gain, discount) for n in range(1, len(grades) + 1))
    return dcg(ranked, grades, k, gain, discount) / dcg(ideal(grades), grades, k, gain, discount)


@measure("NDCNG")
def ndcng(ranked, grades, k=None, gain="exp2", discount="log2", max_grade=None):
    """NDCG of the grades divided by the highest grade."""
    m = top(grades, max_grade)
    return ndcg([grade / m for grade in ranked], [grade / m for grade in grades], k, gain, discount)


@measure("GeneralizedPrecision")
def generalized_precision(ranked, grades, k=None, max_grade=None):
    """gP@k = Σ_{i ≤ k} (r_i / top) / k; without k, / retrieved documents."""
    n = len(ranked) if k is None else k
    return sum(ranked[:k]) / top(grades, max_grade) / max(n, 1)


@measure("GeneralizedRecall")
def generalized_recall(ranked, grades, k=None):
    """gR@k = Σ_{i ≤ k} r_i / Σ r."""
    return sum(ranked[:k]) / sum(grades)


@measure("GAP")
def graded_average_precision(ranked, grades, k=None, gain="linear"):
    """GAP@k = Σ_{p ≤ k} (1/p) Σ_{j ≤ p} min(G_j, G_p) / Σ of the k largest gains."""
    gains = [gain_of(grade, gain) for grade in ranked]
    total = Fraction(0)
    for p, gain_p in enumerate(gains[:k], 1):
        total += sum(min(gain_j, gain_p) for gain_j in gains[:p]) / Fraction(p)
    return total / sum(gain_of(grade, gain) for grade in ideal(grades)[:k])


@measure("QMeasure")
def q_measure(ranked, grades, k=None, beta=1, gain="linear"):
    """Q@k = Σ_{p ≤ k, relevant} (C(p) + β cg(p)) / (p + β cg*(p)) / min(R, k).

    C counts the relevant documents among the first p. cg sums their gains, and cg* sums the gains
    of the first p documents in the ideal order.
    """

    def cumulated(documents, p):
        return number(beta) * sum(gain_of(grade, gain) for grade in documents[:p])

    total = Fraction(0)
    for p, grade in enumerate(ranked[:k], 1):
        if is_relevant(grade):
            total += (n_relevant(ranked[:p]) + cumulated(ranked, p)) / (
                p + cumulated(ideal(grades), p)
            )
    n = n_relevant(grades)
    return total / min(n, k or n)


# User models --------------------------------------------------------------------------------------


@measure("ERR")
def expected_reciprocal_rank(ranked, grades, k=None, max_grade=None):
    """ERR@k = Σ_{p ≤ k} (1/p) R_p Π_{j < p} (1 - R_j) with R = (2^grade - 1) / 2^top."""
    total, continues = Fraction(0), Fraction(1)
    for p, grade in enumerate(ranked[:k], 1):
        stops = (exp2(grade) - 1) / exp2(top(grades, max_grade))
        total += continues * stops / p
        continues *= 1 - stops
    return total


@measure("NERR")
def normalized_err(ranked, grades, k=None, max_grade=None):
    """ERR@k / ERR@k of the ideal order."""
    best = expected_reciprocal_rank(ideal(grades), grades, k, max_grade)
    return expected_reciprocal_rank(ranked, grades, k, max_grade) / best


@measure("RBP")
def rank_biased_precision(ranked, grades, k=None, persistence=0.8, max_grade=None):
    """RBP@k = (1 - φ) Σ_{p ≤ k} φ^(p-1) r_p / top."""
    phi, m = number(persistence), top(grades, max_grade)
    return (1 - phi) * sum(phi ** (p - 1) * grade / m for p, grade in enumerate(ranked[:k], 1))


@measure("RBPResidual", always)
def rbp_residual(ranked, grades, k=None, persistence=0.8):
    """(1 - φ) Σ φ^(p-1) over unjudged ranks p ≤ k, + φ^min(k, retrieved) for the ranks below."""
    phi, shown = number(persistence), ranked[:k]
    unjudged = sum(phi**i for i, grade in enumerate(shown) if grade is None)
    return (1 - phi) * unjudged + phi ** len(shown)


@measure("Judged", always)
def judged(ranked, grades, k=None):
    """The share of the first min(k, retrieved) documents that were judged; 0 if there are none."""
    shown = ranked[:k]
    return Fraction(len(shown) - shown.count(None), max(len(shown), 1))


@measure("Compat")
def compatibility(ranked, grades, persistence=0.95):
    """Σ_i φ^(i-1) X_i / i, divided by the same sum for the ideal list and itself.

    The ideal list contains the documents with grade > 0. X_i is the overlap of the first i
    documents of both lists; equal grades are in the order that matches the ranked list best.
    """
    phi, best_list = number(persistence), [grade for grade in ideal(grades) if grade > 0]
    total = best = Fraction(0)
    for i in range(1, max(len(ranked), len(best_list)) + 1):
        overlap = sum(
            min(ranked[:i].count(grade), best_list[:i].count(grade)) for grade in set(best_list)
        )
        total += phi ** (i - 1) * overlap / i
        best += phi ** (i - 1) * min(i, len(best_list)) / i
    return total / best


# Correlations; documents that were not retrieved are tied for last place ---------------------------


def sign(a, b):
    return (a > b) - (a < b)


def pairs(n):
    return [(i, j) for i in range(n) for j in range(i)]


@measure("TauAP", has_preference, unretrieved_last=True)
def tau_ap(ranked, grades):
    """τ_ap = 2/(N-1) Σ_{i=2..N} C(i)/(i-1) - 1.

    C(i) is the number of documents above i with a higher grade; equal grades count 1/2.
    """
    total = Fraction(0)
    for i in range(2, len(ranked) + 1):
        agreement = sum(sign(above, ranked[i - 1]) + 1 for above in ranked[: i - 1])
        total += Fraction(agreement, 2 * (i - 1))
    return 2 * total / (len(ranked) - 1) - 1


@measure("KendallTau", has_preference, of_scores=True)
def kendall_tau(grades, scores):
    """τ_b = (concordant - discordant) / √(pairs untied in grades · pairs untied in scores)."""
    signs = [
        (sign(grades[i], grades[j]), sign(scores[i], scores[j])) for i, j in pairs(len(grades))
    ]
    n_grades, n_scores = sum(g != 0 for g, _ in signs), sum(s != 0 for _, s in signs)
    return sum(g * s for g, s in signs) / root(n_grades * n_scores) if n_scores else Fraction(0)


@measure("SpearmanRho", has_preference, of_scores=True)
def spearman_rho(grades, scores):
    """ρ is the correlation of the ranks; tied documents have their mean rank."""
    # Twice a mean rank, measured from the middle, is the number of documents below - above.
    x, y = ([sum(sign(a, b) for b in values) for a in values] for values in (grades, scores))
    xy, xx, yy = (sum(a * b for a, b in zip(*two, strict=True)) for two in ((x, y), (x, x), (y, y)))
    return xy / root(xx * yy) if yy else Fraction(0)


@measure("PairAccuracy", has_preference, of_scores=True)
def pair_accuracy(grades, scores):
    """The share of pairs with different grades in the right order; equal scores count 1/2."""
    n = range(len(grades))
    preferred = [(i, j) for i in n for j in n if grades[i] > grades[j]]
    return mean(Fraction(sign(scores[i], scores[j]) + 1, 2) for i, j in preferred)


@measure("AUC", has_both_kinds, of_scores=True)
def auc(grades, scores, threshold=None):
    """Pair accuracy of relevant and irrelevant documents."""
    return pair_accuracy([is_relevant(grade, threshold) for grade in grades], scores)


@measure("EDRC", has_preference, of_scores=True)
def edrc(grades, scores, discount="linear", prior=0.5):
    """EDRC = (2/Z) Σ_{v: R(v) > 1} C(v) / D(R(v)) - 1, Z = Σ_{v: R(v) > 1} |W(v)| / D(R(v)).

    R(v) is 1 for the highest grade, 2 for the next, …; D(R) is R, log2(1 + R) or 2^R. W(v) contains
    the other documents, except documents that v is preferred to. C(v) sums over W(v): 1 or 0 if w has a
    higher grade and the scores agree or disagree; `prior` if the preference is not known on one
    side. A document that was not judged (None) has no preferences.
    """
    levels = sorted(set(grades) - {None}, reverse=True)
    total = z = Fraction(0)
    for v, grade in enumerate(grades):
        if grade in (None, levels[0]):
            continue
        rank = levels.index(grade) + 1
        divisor = {"linear": rank, "log2": log2(1 + rank), "exp2": 2**rank}
        for w, other in enumerate(grades):
            if w == v or (other is not None and other < grade):
                continue
            agrees = sign(scores[w], scores[v])
            known = other is not None and other > grade and agrees != 0
            total += (Fraction(agrees > 0) if known else number(prior)) / divisor[discount]
            z += Fraction(1) / divisor[discount]
    return 2 * total / z - 1


# Values of a query and of a case ------------------------------------------------------------------


def values_of_orders(name, grades, scores, digits=50, **parameters) -> list[Fraction] | None:
    """Return the value for every order of the ties, the first in row order; None if undefined."""
    entry, grades = MEASURES[name], [number(grade) for grade in grades]
    formula = {key: value for key, value in parameters.items() if key not in ("ties", "undefined")}
    threshold = {key: value for key, value in formula.items() if key == "threshold"}
    with localcontext(prec=digits):
        if not entry.is_defined(grades, **threshold):
            return None
        if entry.of_scores:
            scores = [-inf if score is None else float(score) for score in scores]
            return [entry.formula(grades, scores, **formula)]
        blocks = tie_blocks(grades, scores, entry.unretrieved_last)
        return [entry.formula(ranked, grades, **formula) for ranked in ranked_lists(blocks)]


RULES = {"average": mean, "best": max, "worst": min, "ordinal": lambda values: values[0]}


def value(name, grades, scores, digits=50, **parameters) -> Fraction | None:
    """Return the value of one query; None if it is undefined and left out."""
    parameters = MEASURES[name].defaults | parameters
    values = values_of_orders(name, grades, scores, digits, **parameters)
    if values is None:
        undefined = parameters["undefined"]
        return None if undefined is None else Fraction(undefined)
    return RULES[parameters.get("ties", "ordinal")](values)


def expected(values, weights) -> Fraction | None:
    """Return Σ w v / Σ w over the defined queries; None if there are none with a weight > 0."""
    defined = [(v, number(w)) for v, w in zip(values, weights, strict=True) if v is not None]
    total = sum(w for _, w in defined)
    return sum(v * w for v, w in defined) / total if total else None


def needs(name, parameters, queries) -> list[str]:
    """Return what a tool must support to compute the value of the case."""
    grades = [grade for query in queries for grade in query["grades"] if grade is not None]
    scores = [[score for score in query["scores"] if score is not None] for query in queries]

    def single(score):
        return struct.unpack("f", struct.pack("f", score))[0]

    def depends_on_ties(query):
        two = (query["grades"], query["scores"])
        rules = ("best", "worst") if "ties" in parameters else ()
        return len({value(name, *two, **parameters | {"ties": rule}) for rule in rules}) > 1

    found = {
        "ties": any(map(depends_on_ties, queries)),
        "not_retrieved": any(None in query["scores"] for query in queries),
        "unjudged": any(None in query["grades"] for query in queries),
        "float_grades": any(number(grade).denominator > 1 for grade in grades),
        "weights": len({query["weight"] for query in queries}) > 1,
        "double_scores": any(len(set(map(single, s))) < len(set(map(float, s))) for s in scores),
        "large_grades": max(grades, default=0) > 30,  # the default limit of LightGBM's NDCG
    }
    return [name for name, is_needed in found.items() if is_needed]


def solve(case: dict) -> dict:
    """Add all parameters, the values and the needs to a case."""
    name, queries = case["measure"], case["queries"]
    parameters = MEASURES[name].defaults
    unknown = set(case["parameters"]) - set(parameters)
    assert not unknown, (case["id"], unknown)
    parameters |= case["parameters"]
    results = []
    for digits in (60, 50):
        values = [value(name, q["grades"], q["scores"], digits, **parameters) for q in queries]
        results.append(expected(values, [query["weight"] for query in queries]))
    # A rational value does not change if the irrational numbers have other digits.
    is_exact = results[0] == results[1] is not None
    return case | {
        "parameters": parameters,
        "values": [None if v is None else float(v) for v in values],
        "expected": None if results[1] is None else float(results[1]),
        "exact": str(results[1]) if is_exact else None,
        "needs": needs(name, parameters, queries),
    }


def to_json(cases) -> str:
    """Return the text of cases.json, with one case per line."""
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    return f'{{"version": 1, "license": "CC0-1.0", "cases": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    from case_inputs import CASES

    text = to_json(map(solve, CASES))
    Path(__file__).with_name("cases.json").write_text(text, encoding="utf-8")
