"""Gradients of the LINEAR and PAIR sums for objectives, from the deltas of swapping two documents.

For each pair with a document among the first ranks, the change of the sum after a swap determines
how hard the two documents are pushed apart (LambdaRank, Burges 2010).
"""

from libc.math cimport INFINITY, exp, log, log1p
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

import numpy as np

from skgraded._kernels.sort cimport exact_run, position_mask, sort_in_place
from skgraded._kernels.sums cimport Plan, Sum
from skgraded._kernels.sums import PAIR

cdef extern from "swaps.h" nogil:
    enum: LANES
    enum: TIES_BY_SCORES
    void make_keys(const double* scores, uint64_t* keys, Py_ssize_t n, uint64_t mask)
    int kind_of_ties(const uint64_t* keys, Py_ssize_t n, uint64_t mask, const double* scores)
    struct RankedQuery:
        Py_ssize_t n, k
        double* scores
        double* powers
        double* gradients
        double* hessians
        double* swaps
        double* weights
        double* discount
        double* above
        double* above_discounted
        double* upto
        double* upto_discounted
        double* own
        double* own_discounted
    void linear_swaps(const RankedQuery* ranked, Py_ssize_t a)
    void pair_swaps(const RankedQuery* ranked, Py_ssize_t a)
    double push_pairs(const RankedQuery* ranked, Py_ssize_t a, double base, double slope)

cdef enum:
    N_ARRAYS = 13  # arrays of numbers in RankedQuery

cdef double FAR = 300.0  # sigmoid · range of scores, up to which no power or product overflows
cdef double NEAR = 0.01  # added to differences of scores, as in LightGBM and XGBoost
cdef double LN2 = 0.6931471805599453
cdef double LARGEST = 1.7976931348623157e308  # largest double
cdef double MOST = 1.7014117331926443e38  # half of the largest 32-bit float: XGBoost doubles it


cdef class Room:
    """Work space for the largest query: the arrays of `RankedQuery`, keys, codes and a tree."""

    cdef RankedQuery ranked
    cdef vector[double] numbers, gathered, tree
    cdef vector[uint64_t] keys
    cdef vector[int32_t] codes

    def __init__(self, Py_ssize_t size):
        cdef Py_ssize_t step = size + LANES
        self.numbers.resize(N_ARRAYS * step, 0.0)
        self.keys.resize(2 * size)
        self.gathered.resize(size)
        self.codes.resize(size)
        self.tree.resize(4 * (size + 2))
        cdef double* at = self.numbers.data()
        self.ranked.scores, self.ranked.powers = at, at + step
        self.ranked.gradients, self.ranked.hessians = at + 2 * step, at + 3 * step
        self.ranked.swaps, self.ranked.weights = at + 4 * step, at + 5 * step
        self.ranked.discount = at + 6 * step
        self.ranked.above, self.ranked.above_discounted = at + 7 * step, at + 8 * step
        self.ranked.upto, self.ranked.upto_discounted = at + 9 * step, at + 10 * step
        self.ranked.own, self.ranked.own_discounted = at + 11 * step, at + 12 * step


# Ranking ----------------------------------------------------------------------------------------

cdef bint rank(
    const double* all_scores, const Py_ssize_t* rows, Py_ssize_t n, double* scores,
    uint64_t* keys, uint64_t mask,
) noexcept nogil:
    """Gather the scores of a query and sort their keys, best first; ties are in order of position.

    Returns whether all scores are finite.
    """
    cdef Py_ssize_t i, start = 0
    for i in range(n):
        scores[i] = all_scores[rows[i]]
    make_keys(scores, keys, n, mask)
    sort_in_place(keys, keys + n, n)
    if kind_of_ties(keys, n, mask, scores) == TIES_BY_SCORES:
        while start < n:
            start = exact_run(keys, start, n, mask, scores, -1.0)
    return scores[keys[0] & mask] < INFINITY and scores[keys[n - 1] & mask] > -INFINITY


cdef void clear_behind(double* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n, n + LANES):
        numbers[i] = 0.0


cdef void fill(
    RankedQuery* ranked, bint is_pair, Py_ssize_t k, const double* values, const double* discount,
    const double* scores, const int32_t* codes, int32_t* ranked_codes, const uint64_t* keys,
    uint64_t mask,
) noexcept nogil:
    """Fill the arrays of `ranked` with scores, weights and discounts in ranked order."""
    cdef Py_ssize_t i, at, n = ranked.n
    ranked.k = min(k, n)
    for i in range(n):
        at = keys[i] & mask
        ranked.scores[i] = 0.5 * scores[at]  # the difference of two halves is finite
        ranked_codes[i] = codes[at]
        ranked.weights[i] = values[codes[at]]
        ranked.gradients[i] = ranked.hessians[i] = 0.0
    for i in range(ranked.k):
        ranked.discount[i] = 1.0 / (i + 1) if is_pair else discount[i]
    for i in range(ranked.k, n):
        ranked.discount[i] = 0.0
    clear_behind(ranked.discount, n)
    clear_behind(ranked.weights, n)
    clear_behind(ranked.swaps, n)
    for i in range(n, n + LANES):
        ranked.scores[i] = ranked.scores[n - 1]
        ranked.powers[i] = 1.0


cdef void fill_powers(
    RankedQuery* ranked, Py_ssize_t first, double sigmoid, double middle
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(first, ranked.n):
        # The factor 2 is last: sigmoid · difference may be infinite, but never 0 · infinity.
        ranked.powers[i] = exp(2.0 * (sigmoid * (ranked.scores[i] - middle)))


# Sums above each document -----------------------------------------------------------------------
# For the documents so far, a binary indexed tree over the codes stores four adjacent numbers: the
# count, Σ w, Σ discount and Σ w · discount. A code is its own index in the tree; code 0 has the
# weight 0 and is left out.

cdef void fill_above(
    RankedQuery* ranked, const int32_t* codes, Py_ssize_t n_levels, double* tree
) noexcept nogil:
    """Σ_j min(w_j, w) and Σ_j min(w_j, w) · discount_j over the documents j above each document."""
    cdef Py_ssize_t i, at
    cdef double w, d, n, count, sum, discounts, products, n_added = 0.0, added = 0.0
    for i in range(4 * n_levels):
        tree[i] = 0.0
    for i in range(ranked.n):
        w, d = ranked.weights[i], ranked.discount[i]
        count = sum = discounts = products = 0.0
        at = codes[i]
        while at > 0:
            count += tree[4 * at]
            sum += tree[4 * at + 1]
            discounts += tree[4 * at + 2]
            products += tree[4 * at + 3]
            at -= at & -at
        ranked.above[i] = sum + w * (n_added - count)
        ranked.above_discounted[i] = products + w * (added - discounts)
        ranked.upto[i] = ranked.upto_discounted[i] = 0.0
        at = codes[i]
        if at == 0:
            continue
        n_added += 1.0
        added += d
        while at < n_levels:
            tree[4 * at] += 1.0
            tree[4 * at + 1] += w
            tree[4 * at + 2] += d
            tree[4 * at + 3] += w * d
            at += at & -at


# One query, and all -----------------------------------------------------------------------------

cdef double norm_of(double pushes, double sigmoid) noexcept nogil:
    """log2(1 + x) / x for x = pushes · sigmoid, as in LightGBM; 1 if x is 0."""
    cdef double x = pushes * sigmoid
    if x == INFINITY:
        return (log(pushes) + log(sigmoid)) / LN2 / pushes / sigmoid
    return log1p(x) / LN2 / x if x > 0.0 else 1.0


cdef double push_apart(
    RankedQuery* ranked, bint is_pair, Py_ssize_t truncation, double sigmoid, bint norm
) noexcept nogil:
    """Gradients and hessians of one query; returns what both have to be multiplied by."""
    cdef Py_ssize_t a
    cdef double first = ranked.scores[0], last = ranked.scores[ranked.n - 1], pushes = 0.0
    cdef bint is_far = 2.0 * (sigmoid * (first - last)) > FAR  # scores are halved
    cdef bint by_difference = norm and first != last
    if not is_far:
        fill_powers(ranked, 0, sigmoid, 0.5 * first + 0.5 * last)
    for a in range(min(truncation, ranked.k, ranked.n - 1)):
        if is_far:
            fill_powers(ranked, a, sigmoid, ranked.scores[a])
        if is_pair:
            pair_swaps(ranked, a)
        else:
            linear_swaps(ranked, a)
        pushes += push_pairs(
            ranked, a, NEAR if by_difference else 1.0, 2.0 if by_difference else 0.0
        )
    return norm_of(2.0 * pushes, sigmoid) if norm else 1.0


cdef inline float to_float(double number) noexcept nogil:
    """A 32-bit float, at most MOST in magnitude."""
    return <float>max(-MOST, min(number, MOST))


cdef void give_back(
    const RankedQuery* ranked, const Py_ssize_t* rows, const uint64_t* keys, uint64_t mask,
    double of_gradients, double of_hessians, float* gradients, float* hessians,
) noexcept nogil:
    """Write the results from ranked order to the rows, multiplied by the two factors."""
    cdef Py_ssize_t i, row
    for i in range(ranked.n):
        row = rows[keys[i] & mask]
        gradients[row] = to_float(of_gradients * ranked.gradients[i])
        hessians[row] = to_float(of_hessians * ranked.hessians[i])


def push_queries(
    const double[::1] scores, const Py_ssize_t[::1] order, const Py_ssize_t[::1] starts,
    const int32_t[::1] codes, const Py_ssize_t[::1] level_starts, Plan plan, weights,
    Py_ssize_t truncation, double sigmoid, bint norm,
    float[::1] gradients, float[::1] hessians, Py_ssize_t first_query, Py_ssize_t last_query,
):
    """Write the gradients and hessians of queries first..last-1; return if all scores are finite.

    `order` contains row positions sorted by query and, within a query, in the order in which tied
    scores are ranked; `codes` are in the same order. `weights` are those of the queries, or None.
    """
    cdef Sum sum = plan.sum
    cdef bint is_pair = sum.kind == PAIR
    cdef const double[::1] weights_ = weights
    cdef Py_ssize_t q, n, n_levels, row, size = 0
    for q in range(first_query, last_query):
        size = max(size, starts[q + 1] - starts[q])
    cdef Room room = Room(size)
    cdef RankedQuery* ranked = &room.ranked
    cdef uint64_t* keys = room.keys.data()
    cdef double* query = room.gathered.data()
    cdef uint64_t mask
    cdef double factor
    cdef bint all_finite = True
    with nogil:
        for q in range(first_query, last_query):
            row, n = starts[q], starts[q + 1] - starts[q]
            n_levels = level_starts[q + 1] - level_starts[q]
            mask = position_mask(n)
            all_finite = rank(&scores[0], &order[row], n, query, keys, mask)
            if not all_finite:
                break
            ranked.n = n
            fill(
                ranked, is_pair, sum.k, sum.values + level_starts[q],
                sum.discount + row if sum.by_row else sum.discount,
                query, &codes[row], room.codes.data(), keys, mask,
            )
            if is_pair:
                fill_above(ranked, room.codes.data(), n_levels, room.tree.data())
            factor = sigmoid * push_apart(ranked, is_pair, truncation, sigmoid, norm)
            if weights_ is not None:
                factor *= weights_[q]
            factor = min(factor, LARGEST)  # 0 · infinity would be NaN
            give_back(
                ranked, &order[row], keys, mask, factor, min(factor * sigmoid, LARGEST),
                &gradients[0], &hessians[0],
            )
    return all_finite
