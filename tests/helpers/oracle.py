"""Slow and obvious reference implementations of the measures.

For short queries every order that the scores allow is written out, a row an order; a measure is
then its formula, for each row. The mean over the rows is the expectation under ties, the largest
and the smallest are the best and the worst, and the first row is row order.

For long queries, whose orders are too many, `average_*` write the expectation position by position.

Nothing here comes from the package under test. A query for which a measure is undefined gives None.
"""

from itertools import chain, permutations, product
from math import comb, inf

import numpy as np

# --- orders ----------------------------------------------------------------------------------


def tie_blocks(grades, scores, unretrieved_last=False):
    """Grades of the retrieved documents, a list for each distinct score, highest score first.

    With ``unretrieved_last`` the others are one more block, at the end.
    """
    levels = sorted({s for s in scores if s > -inf or unretrieved_last}, reverse=True)
    return [[g for g, s in zip(grades, scores, strict=True) if s == level] for level in levels]


def orders(grades, scores, unretrieved_last=False):
    """Every ranked list that the scores allow, as rows of grades; the first is in row order."""
    blocks = tie_blocks(grades, scores, unretrieved_last)
    choices = product(*(permutations(block) for block in blocks))
    lists = [list(chain.from_iterable(order)) for order in choices]
    return np.array(lists, dtype=float).reshape(len(lists), -1)


def one_order(grades, scores, ties, unretrieved_last=False):
    """Return the single ranked list of ``ties`` "ordinal", "best" or "worst", as a one-row array.

    Every measure here falls, or stays, when a higher grade moves down, so the best order of tied
    documents is by falling grade; that is itself checked against `orders` on short queries.
    """
    blocks = tie_blocks(grades, scores, unretrieved_last)
    if ties != "ordinal":
        blocks = [sorted(block, reverse=ties == "best") for block in blocks]
    return np.array(list(chain.from_iterable(blocks)), dtype=float).reshape(1, -1)


def over_ties(values, ties):
    """The value that a tie rule takes from the values of all orders."""
    if values is None:
        return None
    rule = {"average": np.mean, "best": np.max, "worst": np.min, "ordinal": lambda v: v[0]}
    return float(rule[ties](values))


# --- measures of the rows of `ranked` ----------------------------------------------------------


def is_relevant(grades, threshold):
    grades = np.asarray(grades, dtype=float)
    return grades > 0 if threshold is None else grades >= threshold


def precision_at_each_position(relevant):
    return np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)


def average_precision(ranked, grades, k=None, threshold=None):
    n_relevant = is_relevant(grades, threshold).sum()
    if n_relevant == 0:
        return None
    relevant = is_relevant(ranked, threshold)
    gains = precision_at_each_position(relevant) * relevant
    return gains[:, :k].sum(axis=1) / min(n_relevant, k or inf)


def mu_average_precision(ranked, grades, k=None):
    levels = sorted({grade for grade in grades if grade > 0})
    if not levels:
        return None
    total, previous = 0.0, 0.0
    for level in levels:
        weight = (level - previous) / levels[-1]  # the distances add up to the top grade
        total = total + weight * average_precision(ranked, grades, k, threshold=level)
        previous = level
    return total


GAINS = {
    # Both are divided by one positive number, which the ratio of two sums does not see.
    "exp2": lambda grades: np.expm1(np.asarray(grades) * np.log(2)),
    "linear": np.asarray,
}

DISCOUNTS = {
    "log2": lambda ranks: 1 / np.log2(ranks + 1),
    "letor": lambda ranks: np.where(ranks <= 2, 1.0, 1 / np.log2(np.maximum(ranks, 2))),
}


def dcg(ranked, k, gain, discount):
    gain, discount = GAINS.get(gain, gain), DISCOUNTS.get(discount, discount)
    ranks = np.arange(1, ranked.shape[1] + 1)
    return (gain(ranked) * discount(ranks))[:, :k].sum(axis=1)


def ndcg(ranked, grades, k=None, gain="exp2", discount="log2"):
    if max(grades) <= 0:
        return None
    if k == "mean":
        cutoffs = range(1, len(grades) + 1)
        return np.mean([ndcg(ranked, grades, n, gain, discount) for n in cutoffs], axis=0)
    ideal = np.sort(np.asarray(grades, dtype=float))[::-1].reshape(1, -1)
    return dcg(ranked, k, gain, discount) / dcg(ideal, k, gain, discount)


def ndcng(ranked, grades, k=None, gain="exp2", discount="log2", max_grade=None):
    top = max(grades) if max_grade is None else max_grade
    if max(grades) <= 0:
        return None
    return ndcg(ranked / top, np.asarray(grades) / top, k, gain, discount)


def precision(ranked, grades, k=None, threshold=None):
    n_retrieved = ranked.shape[1]
    hits = is_relevant(ranked, threshold)[:, :k].sum(axis=1)
    divisor = n_retrieved if k is None else k
    return hits / divisor if divisor else np.zeros(len(ranked))


def recall(ranked, grades, k=None, threshold=None):
    n_relevant = is_relevant(grades, threshold).sum()
    if n_relevant == 0:
        return None
    return is_relevant(ranked, threshold)[:, :k].sum(axis=1) / n_relevant


def reciprocal_rank(ranked, grades, k=None, threshold=None):
    if not is_relevant(grades, threshold).any():
        return None
    values = []
    for row in is_relevant(ranked, threshold)[:, :k].tolist():
        values.append(1 / (row.index(True) + 1) if True in row else 0.0)
    return np.array(values)


def generalized_precision(ranked, grades, k=None, max_grade=None):
    if max(grades) <= 0:
        return None
    n_retrieved = ranked.shape[1]
    gains = ranked / (max(grades) if max_grade is None else max_grade)
    divisor = n_retrieved if k is None else k
    return gains[:, :k].sum(axis=1) / divisor if divisor else np.zeros(len(ranked))


def generalized_recall(ranked, grades, k=None):
    if max(grades) <= 0:
        return None
    gains, total = ranked / max(grades), sum(grade / max(grades) for grade in grades)
    return gains[:, :k].sum(axis=1) / total


def gap(ranked, grades, k=None, gain="linear"):
    if max(grades) <= 0:
        return None
    gain = GAINS.get(gain, gain)
    ideal = np.sort(np.asarray(grades, dtype=float))[::-1]
    total = np.zeros(len(ranked))
    for p in range(1, ranked[:, :k].shape[1] + 1):
        above = np.minimum(gain(ranked[:, :p]), gain(ranked[:, p - 1 : p]))
        total += above.sum(axis=1) / p
    return total / gain(ideal[:k]).sum()


def stops_at(grades, all_grades, max_grade=None):
    """Probability to stop at a document of each grade, (2^g - 1) / 2^max as it is written."""
    top = max(all_grades) if max_grade is None else max_grade
    return np.expm1(np.asarray(grades) * np.log(2)) * 2.0**-top


def err(ranked, grades, k=None, max_grade=None):
    if max(grades) <= 0:
        return None
    total, going_on = np.zeros(len(ranked)), np.ones(len(ranked))
    for p, column in enumerate(stops_at(ranked, grades, max_grade).T[:k], start=1):
        total += going_on * column / p
        going_on *= 1 - column
    return total


def rbp(ranked, grades, k=None, persistence=0.8, max_grade=None):
    if max(grades) <= 0:
        return None
    gains = ranked / (max(grades) if max_grade is None else max_grade)
    ranks = np.arange(1, ranked.shape[1] + 1)
    seen = (1 - persistence) * float(persistence) ** (ranks - 1)
    return (gains * seen)[:, :k].sum(axis=1)


def tau_ap(ranked, grades):
    """AP correlation of orders of all documents."""
    if len(set(grades)) < 2:
        return None
    n = ranked.shape[1]
    total = 0.0
    for i in range(2, n + 1):
        above, this = ranked[:, : i - 1], ranked[:, i - 1 : i]
        total = total + ((above > this).sum(axis=1) + (above == this).sum(axis=1) / 2) / (i - 1)
    return 2 / (n - 1) * total - 1


# --- expectations under ties, for long queries -------------------------------------------------


def mean_in_blocks(gains, blocks):
    """Replace each gain by the mean of its block: what every position of the block expects."""
    means, start = [], 0
    for block in blocks:
        means += [np.mean(gains[start : start + len(block)])] * len(block)
        start += len(block)
    return np.array(means)


def average_ndcg(grades, scores, k=None, gain="exp2", discount="log2"):
    if max(grades) <= 0:
        return None
    gain, discount = GAINS.get(gain, gain), DISCOUNTS.get(discount, discount)
    n, blocks = len(grades), tie_blocks(grades, scores)
    gains = np.zeros(n)
    retrieved = mean_in_blocks(gain(one_order(grades, scores, "ordinal")[0]), blocks)
    gains[: len(retrieved)] = retrieved
    ideal = gain(np.sort(np.asarray(grades, dtype=float))[::-1])
    discounts = discount(np.arange(1, n + 1))
    ndcg_at = np.cumsum(gains * discounts) / np.cumsum(ideal * discounts)
    return ndcg_at.mean() if k == "mean" else ndcg_at[min(k or n, n) - 1]


def average_ndcng(grades, scores, k=None, gain="exp2", discount="log2", max_grade=None):
    top = max(grades) if max_grade is None else max_grade
    if max(grades) <= 0:
        return None
    return average_ndcg((np.asarray(grades) / top).tolist(), scores, k, gain, discount)


def average_precision_at(grades, scores, k=None, threshold=None):
    gains = is_relevant(one_order(grades, scores, "ordinal")[0], threshold).astype(float)
    expected = mean_in_blocks(gains, tie_blocks(grades, scores))
    divisor = len(expected) if k is None else k
    return expected[:k].sum() / divisor if divisor else 0.0


def average_recall(grades, scores, k=None, threshold=None):
    n_relevant = is_relevant(grades, threshold).sum()
    if n_relevant == 0:
        return None
    gains = is_relevant(one_order(grades, scores, "ordinal")[0], threshold).astype(float)
    return mean_in_blocks(gains, tie_blocks(grades, scores))[:k].sum() / n_relevant


def average_reciprocal_rank(grades, scores, k=None, threshold=None):
    if not is_relevant(grades, threshold).any():
        return None
    before = 0
    for block in tie_blocks(grades, scores):
        n, r = len(block), int(is_relevant(block, threshold).sum())
        if r:
            places = range(1, min(n - r + 1, (k or inf) - before) + 1)
            return sum(comb(n - i, r - 1) / comb(n, r) / (before + i) for i in places)
        before += n
    return 0.0


def average_pair_form(weight, grades, scores, k=None):
    """Expectation of Σ_{p ≤ k} (1/p) Σ_{j ≤ p} min(w_j, w_p), for the weights of the grades."""
    total, before = 0.0, np.array([])
    for block in tie_blocks(grades, scores):
        w, a, n = weight(np.array(block)), len(before), len(block)
        with_earlier = np.minimum.outer(before, w).sum() / n
        pairs = np.minimum.outer(w, w)
        with_tied = (pairs.sum() - w.sum()) / (n * (n - 1)) if n > 1 else 0.0
        i = np.arange(1, n + 1)
        at_position = (with_earlier + w.mean() + (i - 1) * with_tied) / (a + i)
        total += at_position[a + i <= (k or inf)].sum()
        before = np.concatenate([before, w])
    return total


def average_average_precision(grades, scores, k=None, threshold=None):
    n_relevant = is_relevant(grades, threshold).sum()
    if n_relevant == 0:
        return None

    def weight(grades):
        return is_relevant(grades, threshold) / min(n_relevant, k or inf)

    return average_pair_form(weight, grades, scores, k)


def average_mu_average_precision(grades, scores, k=None):
    """Mean over the levels of the binary expectation, one level after the other."""
    levels = sorted({grade for grade in grades if grade > 0})
    if not levels:
        return None
    total, previous = 0.0, 0.0
    for level in levels:
        value = average_average_precision(grades, scores, k, threshold=level)
        total += (level - previous) / levels[-1] * value
        previous = level
    return total


def average_generalized_precision(grades, scores, k=None, max_grade=None):
    if max(grades) <= 0:
        return None
    top = max(grades) if max_grade is None else max_grade
    expected = mean_in_blocks(
        one_order(grades, scores, "ordinal")[0] / top, tie_blocks(grades, scores)
    )
    divisor = len(expected) if k is None else k
    return expected[:k].sum() / divisor if divisor else 0.0


def average_generalized_recall(grades, scores, k=None):
    top = max(grades)
    if top <= 0:
        return None
    gains = one_order(grades, scores, "ordinal")[0] / top
    expected = mean_in_blocks(gains, tie_blocks(grades, scores))
    return expected[:k].sum() / sum(grade / top for grade in grades)


def average_gap(grades, scores, k=None, gain="linear"):
    if max(grades) <= 0:
        return None
    gain = GAINS.get(gain, gain)
    ideal = gain(np.sort(np.asarray(grades, dtype=float))[::-1])[:k].sum()
    return average_pair_form(gain, grades, scores, k) / ideal


def average_err(grades, scores, k=None, max_grade=None):
    """After j of a block the user goes on with probability e_j / C(n, j) of its symmetric sums."""
    if max(grades) <= 0:
        return None
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


def average_rbp(grades, scores, k=None, persistence=0.8, max_grade=None):
    top = max(grades) if max_grade is None else max_grade
    if max(grades) <= 0:
        return None
    gains = one_order(grades, scores, "ordinal")[0] / top
    expected = mean_in_blocks(gains, tie_blocks(grades, scores))
    seen = (1 - persistence) * float(persistence) ** np.arange(len(expected))
    return (expected * seen)[:k].sum()


def average_tau_ap(grades, scores):
    """Position a + i expects the pairs with the a documents before, and half of the i - 1 tied."""
    if len(set(grades)) < 2:
        return None
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


# --- measures that have their own answer to ties -----------------------------------------------


def signs(values):
    """1 where the row's document has the higher value, -1 where the column's has; (n, n)."""
    values = np.asarray(values, dtype=float)
    return np.greater.outer(values, values).astype(int) - np.less.outer(values, values)


def kendall_tau(grades, scores):
    of_grades, of_scores = signs(grades), signs(scores)
    if not of_grades.any():
        return None
    if not of_scores.any():
        return 0.0
    n_untied = (of_grades != 0).sum() * (of_scores != 0).sum()
    return (of_grades * of_scores).sum() / np.sqrt(n_untied)


def spearman_rho(grades, scores):
    # Twice a document's mean rank, less the mean of all, is how many are below less how many above.
    of_grades, of_scores = signs(grades).sum(axis=1), signs(scores).sum(axis=1)
    if not of_grades.any():
        return None
    if not of_scores.any():
        return 0.0
    return (of_grades @ of_scores) / np.sqrt((of_grades @ of_grades) * (of_scores @ of_scores))


RANK_DISCOUNTS = {
    "linear": lambda rank: rank,
    "log2": lambda rank: np.log2(1 + rank),
    "exp2": lambda rank: 2.0**rank,
}


def edrc(grades, scores, discount="linear", prior=0.5):
    """EDRC as it is defined, pair by pair; a grade of nan is in no preference."""
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
