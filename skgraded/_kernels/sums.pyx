# distutils: language = c++
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Every loop over documents: lay out the truth, rank the scores, sum up a measure.

A query's documents carry a *code*: 0 for grade 0, else 1, 2, … for the grades > 0 that the query
uses, ascending. A measure is a table of one number a code and one of six sums over the ranked
list r_1, r_2, … of codes, to depth k:

- LINEAR: Σ_p discount(p) · value(r_p)                        DCG, precision, recall
- PAIR:   Σ_p (1/p) · Σ_{j≤p} min(value(r_j), value(r_p))     AP and μAP, `value` never falling
- FIRST:  1/p of the first document with value > 0            reciprocal rank
- ABOVE:  Σ_p value(r_p) · (#{j < p: r_j > r_p}, tied documents counting `prior`)        EDRC
- TAU:    Σ_{p≥2} (1/(p-1)) · #{j < p: r_j > r_p}, equal codes counting 1/2            τ_ap
- CASCADE: Σ_p (1/p) · value(r_p) · Π_{j<p} (1 - value(r_j)), values from 0 to below 1      ERR

ABOVE and TAU are of the whole list, with the documents that were not retrieved as one tie at its
end; the others leave these out.

Under ties="average" each is the exact expectation over all orders of the tied documents, which
holds position by position, so that a cut-off inside a tie needs nothing more.
"""

from libc.math cimport INFINITY, ceil, isnan, log, log1p
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport nth_element, sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

import numpy as np

LINEAR, PAIR, FIRST, ABOVE, TAU, CASCADE = 0, 1, 2, 3, 4, 5
AVERAGE, ORDINAL, BEST, WORST = 0, 1, 2, 3
cdef enum:
    _LINEAR, _PAIR, _FIRST, _ABOVE, _TAU, _CASCADE
cdef enum:
    _AVERAGE, _ORDINAL, _BEST, _WORST

cdef enum:
    SMALL = 16        # runs that are sorted by counting ranks
    FEW_LEVELS = 16   # up to here a counter a level beats the tree
    FEW_RANKS = 32    # up to here the top k are found by insertion


# Sorting ---------------------------------------------------------------------------------------
# A key holds a number's upper bits and, below them, its position in the query, so that integers
# are sorted and nothing is carried along. Merges take their smaller head without a branch, since
# mispredicted branches are what a sort of some hundred scores spends its time on.

cdef inline uint64_t ascending_bits(double x) noexcept nogil:
    """Bits whose order as integers is the order of the numbers; 0.0 and -0.0 are the same."""
    cdef uint64_t bits
    x += 0.0
    memcpy(&bits, &x, 8)
    return bits ^ ((<uint64_t>0 - (bits >> 63)) | (<uint64_t>1 << 63))


cdef inline uint64_t position_mask(Py_ssize_t n) noexcept nogil:
    cdef uint64_t mask = 1
    while mask < <uint64_t>n:
        mask = 2 * mask + 1
    return mask


cdef void rank_sort(const uint64_t* source, uint64_t* out, Py_ssize_t n) noexcept nogil:
    """Sort up to SMALL distinct keys by counting for each how many are smaller."""
    cdef Py_ssize_t i, j
    cdef uint64_t key
    cdef int smaller
    cdef int rank[SMALL]
    for i in range(n):
        rank[i] = 0
    for i in range(1, n):
        key = source[i]
        smaller = 0
        for j in range(i):
            smaller += source[j] < key
            rank[j] += key < source[j]
        rank[i] = smaller
    for i in range(n):
        out[rank[i]] = source[i]


cdef inline void merge(const uint64_t* source, Py_ssize_t n, uint64_t* out) noexcept nogil:
    """Merge the sorted halves n/2 and n - n/2 from both ends, so that neither can run out."""
    cdef Py_ssize_t i, half = n // 2
    cdef const uint64_t* left = source
    cdef const uint64_t* right = source + half
    cdef const uint64_t* left_end = source + half - 1
    cdef const uint64_t* right_end = source + n - 1
    cdef uint64_t a, b, c, d
    cdef bint take
    for i in range(half):
        a, b = left[0], right[0]
        take = b < a
        out[i] = b if take else a
        right += take
        left += not take
        c, d = left_end[0], right_end[0]
        take = d < c
        out[n - 1 - i] = c if take else d
        left_end -= take
        right_end -= not take
    if n & 1:
        out[half] = left[0] if left <= left_end else right[0]


cdef void sort_to(uint64_t* source, uint64_t* out, Py_ssize_t n) noexcept nogil:
    """Sort distinct keys from `source` to `out`; `source` is lost."""
    cdef Py_ssize_t half = n // 2
    if n <= SMALL:
        rank_sort(source, out, n)
    else:
        sort_in_place(source, out, half)
        sort_in_place(source + half, out + half, n - half)
        merge(source, n, out)


cdef void sort_in_place(uint64_t* keys, uint64_t* spare, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t half = n // 2
    if n <= SMALL:
        memcpy(spare, keys, n * sizeof(uint64_t))
        rank_sort(spare, keys, n)
    else:
        sort_to(keys, spare, half)
        sort_to(keys + half, spare + half, n - half)
        merge(spare, n, keys)


cdef void sort_exactly(
    uint64_t* keys, Py_ssize_t n, uint64_t mask, const double* x, double sign
) noexcept nogil:
    """Order a run of keys with the same upper bits by the numbers themselves, then position."""
    cdef vector[pair[uint64_t, uint64_t]] run
    cdef Py_ssize_t i
    run.resize(n)
    for i in range(n):
        run[i].first = ascending_bits(sign * x[keys[i] & mask])
        run[i].second = keys[i]
    sort(run.begin(), run.end())
    for i in range(n):
        keys[i] = run[i].second


# Numbering the queries --------------------------------------------------------------------------

def number_by_appearance(const Py_ssize_t[::1] values, Py_ssize_t low, Py_ssize_t span):
    """Number whole values low ≤ v < low + span in the order in which they first appear.

    Returns
    -------
    codes : (n,) array
        The number of each value.
    first_rows : (n_distinct,) array
        Where each number first appears.
    """
    cdef Py_ssize_t row, number, n = values.shape[0]
    cdef vector[Py_ssize_t] number_of = vector[Py_ssize_t](span, -1)
    cdef vector[Py_ssize_t] first
    codes_array = np.empty(n, dtype=np.intp)
    cdef Py_ssize_t[::1] codes = codes_array
    with nogil:
        for row in range(n):
            number = number_of[values[row] - low]
            if number < 0:
                number = <Py_ssize_t>first.size()
                number_of[values[row] - low] = number
                first.push_back(row)
            codes[row] = number
    return codes_array, np.array(first, dtype=np.intp)


def order_by_code(const Py_ssize_t[::1] codes, const Py_ssize_t[::1] starts):
    """Rows code by code, each code's in their order; `starts` is where each code begins."""
    cdef Py_ssize_t row
    cdef vector[Py_ssize_t] at
    order_array = np.empty(codes.shape[0], dtype=np.intp)
    cdef Py_ssize_t[::1] order = order_array
    with nogil:
        at.assign(&starts[0], &starts[0] + starts.shape[0])
        for row in range(codes.shape[0]):
            order[at[codes[row]]] = row
            at[codes[row]] += 1
    return order_array


# Laying out the truth --------------------------------------------------------------------------

cdef void code_whole_grades(
    const double* grades, uint64_t present, int32_t* codes, Py_ssize_t n
) noexcept nogil:
    """Codes of whole grades below 64, whose set is the bits of `present`."""
    cdef int32_t code_of[64]
    cdef int32_t g, code = 0
    cdef Py_ssize_t i
    code_of[0] = 0
    for g in range(1, 64):
        code += <int32_t>((present >> g) & 1)
        code_of[g] = code
    for i in range(n):
        codes[i] = code_of[<int32_t>grades[i]]


cdef int32_t code_any_grades(
    const double* grades, int32_t* codes, Py_ssize_t n, uint64_t* keys, uint64_t* spare
) noexcept nogil:
    """Codes of any grades by sorting them; NaN has code -1. Returns the largest code."""
    cdef uint64_t mask = position_mask(n)
    cdef Py_ssize_t i, end, m = 0
    cdef int32_t code = 0
    cdef double last = 0.0
    for i in range(n):
        codes[i] = -1
        if not isnan(grades[i]):
            keys[m] = (ascending_bits(grades[i]) & ~mask) | <uint64_t>i
            m += 1
    sort_in_place(keys, spare, m)
    i = 0
    while i < m:
        end = i + 1
        while end < m and keys[end] & ~mask == keys[i] & ~mask:
            end += 1
        if end - i > 1:
            sort_exactly(keys + i, end - i, mask, grades, 1.0)
        while i < end:
            if grades[keys[i] & mask] > last:
                last = grades[keys[i] & mask]
                code += 1
            codes[keys[i] & mask] = code
            i += 1
    return code


def lay_out(const double[::1] grades, const Py_ssize_t[::1] order, const Py_ssize_t[::1] starts):
    """Lay out grades ≥ 0 (or NaN) by query.

    Parameters
    ----------
    grades : (n,) array
    order : (n,) array or None
        The rows query by query; None if they are so already.
    starts : (n_queries + 1,) array
        Where the queries begin in `order`.

    Returns
    -------
    codes : (n,) int32 array
        In query order; -1 where the grade is NaN.
    levels, counts : (n_levels,) arrays
        Grade and number of documents of each code, 0 included, of each query.
    level_starts : (n_queries + 1,) array
    """
    cdef Py_ssize_t n_queries = starts.shape[0] - 1, n_rows = grades.shape[0]
    codes_array = np.empty(n_rows, dtype=np.int32)
    level_starts_array = np.zeros(n_queries + 1, dtype=np.intp)
    cdef int32_t[::1] codes = codes_array
    cdef Py_ssize_t[::1] level_starts = level_starts_array
    cdef vector[double] query
    cdef vector[uint64_t] keys
    cdef vector[uint64_t] spare
    cdef Py_ssize_t q, i, n, row, base
    cdef uint64_t present
    cdef int32_t code
    cdef bint whole
    cdef double g
    with nogil:
        for q in range(n_queries):
            n = starts[q + 1] - starts[q]
            if <Py_ssize_t>query.size() < n:
                query.resize(n)
            present, whole = 0, True
            for i in range(n):
                row = starts[q] + i
                g = grades[row if order is None else order[row]]
                query[i] = g
                if 0 <= g < 64 and g == <double><int32_t>g:
                    present |= <uint64_t>1 << <int32_t>g
                else:
                    whole = False
            if whole:
                code_whole_grades(query.data(), present, &codes[starts[q]], n)
                present &= ~<uint64_t>1
                code = 0
                while present:
                    present &= present - 1
                    code += 1
            else:
                if <Py_ssize_t>keys.size() < n:
                    keys.resize(n)
                    spare.resize(n)
                code = code_any_grades(
                    query.data(), &codes[starts[q]], n, keys.data(), spare.data()
                )
            level_starts[q + 1] = level_starts[q] + code + 1
    levels_array = np.zeros(level_starts[n_queries])
    counts_array = np.zeros(level_starts[n_queries], dtype=np.int32)
    cdef double[::1] levels = levels_array
    cdef int32_t[::1] counts = counts_array
    with nogil:
        for q in range(n_queries):
            base = level_starts[q]
            for row in range(starts[q], starts[q + 1]):
                if codes[row] >= 0:
                    counts[base + codes[row]] += 1
                    if codes[row] > 0:
                        levels[base + codes[row]] = grades[row if order is None else order[row]]
    return codes_array, levels_array, counts_array, level_starts_array


# Tables of one number a level ------------------------------------------------------------------

def level_weights(
    const double[::1] levels, const int32_t[::1] counts, const Py_ssize_t[::1] level_starts,
    Py_ssize_t k,
):
    """W(v) = Σ_{t_i ≤ v} d_i / min(R_{t_i}, k) / Σ d_i of each level of each query.

    Grades are taken relative to the query's top grade, where the d_i sum to 1.
    """
    cdef Py_ssize_t q, i, relevant, n_queries = level_starts.shape[0] - 1
    cdef double top
    weights_array = np.zeros(levels.shape[0])
    cdef double[::1] weights = weights_array
    with nogil:
        for q in range(n_queries):
            top = levels[level_starts[q + 1] - 1]
            relevant = 0
            # R_t from the top down, then the running sum from the bottom up
            for i in range(level_starts[q + 1] - 1, level_starts[q], -1):
                relevant += counts[i]
                weights[i] = (levels[i] / top - levels[i - 1] / top) / min(relevant, k)
            for i in range(level_starts[q] + 1, level_starts[q + 1]):
                weights[i] += weights[i - 1]
    return weights_array


def ideal_sums(
    const double[::1] values, const int32_t[::1] counts, const Py_ssize_t[::1] level_starts,
    const double[::1] discount,
):
    """Σ_p discount(p) · value of each query's ideal order, as deep as `discount` goes."""
    cdef Py_ssize_t q, i, p, end, depth = discount.shape[0]
    cdef Py_ssize_t n_queries = level_starts.shape[0] - 1
    cdef double total, discounts
    sums_array = np.zeros(n_queries)
    cdef double[::1] sums = sums_array
    with nogil:
        for q in range(n_queries):
            p = 0
            total = 0.0
            for i in range(level_starts[q + 1] - 1, level_starts[q] - 1, -1):
                end = min(p + counts[i], depth)
                discounts = 0.0
                while p < end:
                    discounts += discount[p]
                    p += 1
                total += values[i] * discounts
            sums[q] = total
    return sums_array


def mean_discounts(
    const double[::1] values, const int32_t[::1] counts, const Py_ssize_t[::1] level_starts,
    const Py_ssize_t[::1] starts, const double[::1] discount,
):
    """Discounts that make a LINEAR sum the mean of DCG@n / ideal DCG@n over n = 1..N.

    The gain at position p counts in every n ≥ p:
    discount(p) · (1/N) Σ_{n≥p} 1 / ideal DCG@n. One row of N numbers a query; zeros where the
    ideal DCG is 0.
    """
    cdef Py_ssize_t q, i, j, p, n, n_queries = starts.shape[0] - 1
    cdef double total, tail
    out_array = np.zeros(starts[n_queries])
    cdef double[::1] out = out_array
    with nogil:
        for q in range(n_queries):
            n = starts[q + 1] - starts[q]
            p = starts[q]
            total = 0.0
            for i in range(level_starts[q + 1] - 1, level_starts[q] - 1, -1):
                for j in range(counts[i]):
                    total += values[i] * discount[p - starts[q]]
                    out[p] = total
                    p += 1
            tail = 0.0
            for p in range(starts[q + 1] - 1, starts[q] - 1, -1):
                if out[p] > 0:
                    tail += 1.0 / out[p] / n
                    out[p] = tail * discount[p - starts[q]]
    return out_array


# Ranking and summing ---------------------------------------------------------------------------

cdef class Plan:
    """What the kernel needs to know of one measure: a sum, a tie rule, a depth and two tables.

    Parameters
    ----------
    kind : LINEAR, PAIR, FIRST, ABOVE, TAU or CASCADE
    values : (n_levels,) array
        One number a level of each query.
    ties : AVERAGE, ORDINAL, BEST or WORST
    k : int
        Depth of the sum.
    discount : array or None
        Of rank 1, 2, … for all queries, or, if `by_row`, a row a query. None: 1 everywhere.
    by_row : bool
    per_retrieved : bool
        Divide the sum by the number of retrieved documents; `k` must be no cut-off then.
    prior : float
        What a tied document counts in ABOVE.
    scale, shift : (n_queries,) arrays or None
        Each query's value is scale · sum + shift, for `score_queries` to compute.
    """

    cdef readonly int kind, ties
    cdef readonly bint by_row, per_retrieved
    cdef readonly Py_ssize_t k
    cdef readonly double prior
    cdef readonly object scale, shift
    cdef const double[::1] values, discount

    def __init__(
        self, kind, values, ties, k, discount=None, by_row=False, per_retrieved=False,
        prior=0.0, scale=None, shift=None,
    ):
        self.kind = kind
        self.values = values
        self.ties = ties
        self.k = k
        self.discount = discount
        self.by_row = by_row
        self.per_retrieved = per_retrieved
        self.prior = prior
        self.scale = scale
        self.shift = shift


cdef struct Sum:
    int kind
    int ties
    bint by_row
    bint per_retrieved
    Py_ssize_t k
    double prior
    const double* values
    const double* discount
    double* out


cdef struct Ranking:
    # codes of the n retrieved documents, best score first, to the depth that is needed, and then
    # of those that were not retrieved
    int32_t* codes
    # where each block of tied documents ends
    int32_t* ends
    Py_ssize_t n
    Py_ssize_t n_blocks
    # the same with those that were not retrieved, one block
    Py_ssize_t n_all
    Py_ssize_t n_all_blocks
    # room for n codes
    int32_t* spare_codes
    # trees, if a query has many levels: two numbers a code
    vector[double]* sums
    int32_t* counts


cdef Py_ssize_t top_keys(
    uint64_t* keys, uint64_t* spare, Py_ssize_t n, Py_ssize_t k, uint64_t mask
) noexcept nogil:
    """Sort the k smallest of n > k keys, and all that tie with the k-th, to the front.

    To tie means here to have the same upper bits. Returns how many they are.
    """
    cdef uint64_t* top = spare
    cdef Py_ssize_t i, j, m = 0
    cdef uint64_t key, limit
    if k > FEW_RANKS:
        memcpy(spare, keys, n * sizeof(uint64_t))
        nth_element(spare, spare + k - 1, spare + n)
        limit = spare[k - 1] | mask
    else:
        # One more than k are kept: if that one does not tie with the k-th, no other does.
        memcpy(top, keys, (k + 1) * sizeof(uint64_t))
        sort_in_place(top, top + k + 1, k + 1)
        for i in range(k + 1, n):
            key = keys[i]
            if key < top[k]:
                j = k
                while j > 0 and top[j - 1] > key:
                    top[j] = top[j - 1]
                    j -= 1
                top[j] = key
        limit = top[k - 1] | mask
        if top[k] > limit:
            memcpy(keys, top, k * sizeof(uint64_t))
            return k
    for i in range(n):
        key = keys[i]
        keys[m] = key
        m += key <= limit
    sort_in_place(keys, spare, m)
    return m


cdef Py_ssize_t tie_end(
    uint64_t* keys, Py_ssize_t start, Py_ssize_t n, uint64_t mask, const double* scores
) noexcept nogil:
    """End of the scores that equal the one at `start`, whose next key has the same upper bits."""
    cdef uint64_t high = keys[start] & ~mask
    cdef double x = scores[keys[start] & mask]
    cdef Py_ssize_t end = start + 1
    cdef bint differ = False
    while end < n and keys[end] & ~mask == high:
        differ |= scores[keys[end] & mask] != x
        end += 1
    if differ:
        sort_exactly(keys + start, end - start, mask, scores, -1.0)
        end = start + 1
        x = scores[keys[start] & mask]
        while end < n and scores[keys[end] & mask] == x:
            end += 1
    return end


cdef bint rank_query(
    const double* scores, const int32_t* codes, Py_ssize_t n, Py_ssize_t depth,
    uint64_t* keys, uint64_t* spare, Ranking* ranking,
) noexcept nogil:
    """Rank one query's retrieved documents to `depth` or to the end of the tie there.

    Returns whether a score is NaN.
    """
    cdef uint64_t mask = position_mask(n), not_retrieved = ascending_bits(INFINITY)
    cdef Py_ssize_t i, start = 0, end, m = n, n_keys, n_blocks = 0
    cdef uint64_t has_nan = 0  # as wide as a score, for the compiler's sake
    for i in range(n):
        has_nan |= <uint64_t>(scores[i] != scores[i])
        keys[i] = (ascending_bits(-scores[i]) & ~mask) | <uint64_t>i
    if 2 * depth < n:
        m = top_keys(keys, spare, n, depth, mask)
    else:
        sort_in_place(keys, spare, n)
    n_keys = m
    while m > 0 and keys[m - 1] >= not_retrieved:
        m -= 1
    while start < m:
        end = start + 1
        if end < m and keys[end] & ~mask == keys[start] & ~mask:
            end = tie_end(keys, start, m, mask, scores)
        ranking.ends[n_blocks] = <int32_t>end
        n_blocks += 1
        start = end
    ranking.n = ranking.n_all = m
    ranking.n_blocks = ranking.n_all_blocks = n_blocks
    if m < n_keys:
        ranking.n_all = n_keys
        ranking.ends[n_blocks] = <int32_t>n_keys
        ranking.n_all_blocks += 1
    for i in range(n_keys):
        ranking.codes[i] = codes[keys[i] & mask]
    return has_nan != 0


cdef const int32_t* order_ties(const Ranking* ranking, int ties) noexcept nogil:
    """Codes with each tie block in its best or worst order."""
    cdef Py_ssize_t b, i, j, start = 0, end
    cdef int32_t* codes = ranking.spare_codes
    memcpy(codes, ranking.codes, ranking.n_all * sizeof(int32_t))
    for b in range(ranking.n_all_blocks):
        end = ranking.ends[b]
        if end - start > 1:
            sort(codes + start, codes + end)
            if ties == _BEST:
                i, j = start, end - 1
                while i < j:
                    codes[i], codes[j] = codes[j], codes[i]
                    i += 1
                    j -= 1
        start = end
    return codes


# Each sum comes twice: over single documents, and over blocks of tied ones (expectations).

cdef double linear(
    const int32_t* codes, Py_ssize_t depth, const double* values, const double* discount
) noexcept nogil:
    cdef Py_ssize_t p
    cdef double total = 0.0
    if discount == NULL:
        for p in range(depth):
            total += values[codes[p]]
    else:
        for p in range(depth):
            total += discount[p] * values[codes[p]]
    return total


cdef double linear_tied(
    const Ranking* ranking, Py_ssize_t depth, const double* values, const double* discount
) noexcept nogil:
    """Every position of a block gets the block's mean value."""
    cdef Py_ssize_t b, p, start = 0, end
    cdef double total = 0.0, gains, discounts
    for b in range(ranking.n_blocks):
        if start >= depth:
            break
        end = ranking.ends[b]
        if end - start == 1:
            total += values[ranking.codes[start]] * (1.0 if discount == NULL else discount[start])
        else:
            gains = 0.0
            for p in range(start, end):
                gains += values[ranking.codes[p]]
            if gains > 0.0:
                discounts = 0.0
                for p in range(start, min(end, depth)):
                    discounts += 1.0 if discount == NULL else discount[p]
                total += gains / (end - start) * discounts
        start = end
    return total


cdef double first(const int32_t* codes, Py_ssize_t depth, const double* values) noexcept nogil:
    cdef Py_ssize_t p
    for p in range(depth):
        if values[codes[p]] > 0.0:
            return 1.0 / (p + 1)
    return 0.0


cdef double first_tied(
    const Ranking* ranking, Py_ssize_t depth, const double* values
) noexcept nogil:
    """Of n tied with r relevant, the i-th is the first with probability C(n-i, r-1) / C(n, r)."""
    cdef Py_ssize_t b, p, start = 0, end, relevant, n, i
    cdef double total = 0.0, probability
    for b in range(ranking.n_blocks):
        end = ranking.ends[b]
        relevant = 0
        for p in range(start, end):
            relevant += values[ranking.codes[p]] > 0.0
        if relevant:
            n = end - start
            probability = <double>relevant / n
            for i in range(1, n - relevant + 2):
                if start + i > depth:
                    break
                total += probability / (start + i)
                probability *= <double>(n - i - relevant + 1) / max(n - i, 1)
            return total
        start = end
    return 0.0


cdef double pair_counted(
    const int32_t* codes, Py_ssize_t depth, const double* values, Py_ssize_t n_levels
) noexcept nogil:
    """Σ_{j≤p} min(w_j, w_p) = Σ_i (w_i - w_{i-1}) · #{j ≤ p: code ≥ i}, over codes i up to p's."""
    cdef Py_ssize_t p
    cdef int32_t i, code
    cdef double total = 0.0, above
    cdef double step[FEW_LEVELS + 1]
    cdef double hits[FEW_LEVELS + 1]
    for i in range(1, <int32_t>n_levels):
        step[i] = values[i] - values[i - 1]
        hits[i] = 0.0
    for p in range(depth):
        code = codes[p]
        if code > 0:
            above = 0.0
            for i in range(1, code + 1):
                hits[i] += 1.0
                above += step[i] * hits[i]
            total += above / (p + 1)
    return total


cdef double pair_counted_tied(
    const Ranking* ranking, Py_ssize_t depth, const double* values, Py_ssize_t n_levels
) noexcept nogil:
    """Position a+i of a block of n contributes (ā + w̄ + (i-1)·m̄) / (a+i), see `block_sum`."""
    cdef Py_ssize_t b, p, start = 0, end
    cdef int32_t i, code, top = <int32_t>n_levels - 1
    cdef double total = 0.0, above, own, pairs, c
    cdef double step[FEW_LEVELS + 1]
    cdef double hits[FEW_LEVELS + 1]
    cdef double block[FEW_LEVELS + 2]
    for i in range(1, top + 1):
        step[i] = values[i] - values[i - 1]
        hits[i] = 0.0
    for b in range(ranking.n_blocks):
        if start >= depth:
            break
        end = ranking.ends[b]
        if end - start == 1:
            code = ranking.codes[start]
            if code > 0:
                above = 0.0
                for i in range(1, code + 1):
                    hits[i] += 1.0
                    above += step[i] * hits[i]
                total += above / end
        else:
            for i in range(top + 2):
                block[i] = 0.0
            for p in range(start, end):
                block[ranking.codes[p]] += 1.0
            if block[0] < end - start:
                above = own = pairs = c = 0.0
                for i in range(top, 0, -1):
                    c += block[i]
                    above += step[i] * hits[i] * c
                    own += step[i] * c
                    pairs += step[i] * c * (c - 1.0)
                    hits[i] += c
                total += block_sum(start, end, depth, above, own, pairs)
        start = end
    return total


cdef inline double block_sum(
    Py_ssize_t a, Py_ssize_t end, Py_ssize_t depth, double above, double own, double pairs
) noexcept nogil:
    """Σ_i (ā + w̄ + (i-1)·m̄) / (a+i) over a block's positions a+1..end, to `depth`.

    `above` is Σ_x Σ_{j before the block} min(w_j, w_x), `own` Σ_x w_x, `pairs` the sum of
    min(w_x, w_y) over the ordered pairs x ≠ y of the block; ā, w̄, m̄ are their means.
    """
    cdef Py_ssize_t p
    cdef double n = <double>(end - a), total = 0.0
    cdef double base = (above + own) / n
    cdef double slope = pairs / (n * (n - 1.0)) if n > 1.0 else 0.0
    for p in range(a, min(end, depth)):
        total += (base + (p - a) * slope) / (p + 1)
    return total


cdef inline void tree_add(
    double* sums, int32_t* counts, Py_ssize_t n, Py_ssize_t i, double w
) noexcept nogil:
    while i <= n:
        sums[i] += w
        counts[i] += 1
        i += i & -i


cdef inline double tree_above(
    const double* sums, const int32_t* counts, Py_ssize_t i, double w, Py_ssize_t n_added
) noexcept nogil:
    """Σ_j min(w_j, w) over the documents added so far, w being the weight of code i."""
    cdef double total = 0.0
    cdef Py_ssize_t below = 0
    while i > 0:
        total += sums[i]
        below += counts[i]
        i -= i & -i
    return total + w * (n_added - below)


cdef double pair_tree(
    const Ranking* ranking, const int32_t* codes, Py_ssize_t depth, bint tied,
    const double* values, Py_ssize_t n_levels,
) noexcept nogil:
    """The pair sum over many levels: binary indexed trees over the codes hold Σ w and counts."""
    cdef Py_ssize_t b, p, i, start = 0, end, top = n_levels - 1
    cdef Py_ssize_t n_blocks = ranking.n_blocks if tied else depth, n_added = 0
    cdef double total = 0.0, above, own, pairs, w
    cdef int32_t* counts = ranking.counts
    cdef int32_t* block = ranking.spare_codes
    ranking.sums.assign(n_levels, 0.0)
    cdef double* sums = ranking.sums.data()
    for i in range(n_levels):
        counts[i] = 0
    for b in range(n_blocks):
        if start >= depth:
            break
        end = ranking.ends[b] if tied else start + 1
        if tied and end - start > 1:
            memcpy(block + start, codes + start, (end - start) * sizeof(int32_t))
            sort(block + start, block + end)
        else:
            block[start] = codes[start]
        above = own = pairs = 0.0
        for p in range(start, end):
            if block[p] > 0:
                w = values[block[p]]
                above += tree_above(sums, counts, block[p], w, n_added)
                own += w
                # ascending codes: all later ones of the block are at least w
                pairs += 2.0 * w * (end - 1 - p)
        if own > 0.0:
            for p in range(start, end):
                if block[p] > 0:
                    tree_add(sums, counts, top, block[p], values[block[p]])
                    n_added += 1
            total += block_sum(start, end, depth, above, own, pairs)
        start = end
    return total


cdef inline void count_add(int32_t* counts, Py_ssize_t n_levels, int32_t code) noexcept nogil:
    cdef Py_ssize_t i = code + 1
    while i <= n_levels:
        counts[i] += 1
        i += i & -i


cdef inline Py_ssize_t count_to(const int32_t* counts, int32_t code) noexcept nogil:
    """How many documents of the tree have a code ≤ `code`."""
    cdef Py_ssize_t i = code + 1, total = 0
    while i > 0:
        total += counts[i]
        i -= i & -i
    return total


cdef double above(
    const Ranking* ranking, const double* values, Py_ssize_t n_levels, double prior
) noexcept nogil:
    """A document of code -1, whose grade is unknown, is above none and below none."""
    cdef Py_ssize_t b, p, i, start = 0, end, n_added = 0, n_tied
    cdef double total = 0.0
    cdef int32_t code
    cdef int32_t* counts = ranking.counts
    for i in range(n_levels + 1):
        counts[i] = 0
    for b in range(ranking.n_all_blocks):
        end = ranking.ends[b]
        for p in range(start, end):
            code = ranking.codes[p]
            if code >= 0:
                total += values[code] * (1.0 - prior) * (n_added - count_to(counts, code))
        n_tied = 0
        for p in range(start, end):
            if ranking.codes[p] >= 0:
                count_add(counts, n_levels, ranking.codes[p])
                n_tied += 1
        n_added += n_tied
        # with the block added, its own documents count for their prior, the others for the rest
        for p in range(start, end):
            code = ranking.codes[p]
            if code >= 0:
                total += values[code] * prior * (n_added - count_to(counts, code))
        start = end
    return total


cdef double tau(
    const Ranking* ranking, const int32_t* codes, bint tied, Py_ssize_t n_levels
) noexcept nogil:
    """Position a+i of a block of n after a documents: (ā + (i-1)/2) / (a+i-1).

    ā is the mean over the block of the documents before it that belong above, equal ones
    counting 1/2; of two documents of the block, each is the upper one half of the time.
    """
    cdef Py_ssize_t b, p, i, start = 0, end, upto, below
    cdef Py_ssize_t n_blocks = ranking.n_all_blocks if tied else ranking.n_all
    cdef double total = 0.0, mean_above
    cdef int32_t* counts = ranking.counts
    for i in range(n_levels + 1):
        counts[i] = 0
    for b in range(n_blocks):
        end = ranking.ends[b] if tied else start + 1
        mean_above = 0.0
        for p in range(start, end):
            upto = count_to(counts, codes[p])
            below = count_to(counts, codes[p] - 1)
            mean_above += start - 0.5 * (upto + below)
        mean_above /= end - start
        for p in range(start, end):
            count_add(counts, n_levels, codes[p])
            if p > 0:
                total += (mean_above + 0.5 * (p - start)) / p
        start = end
    return total


cdef double cascade(const int32_t* codes, Py_ssize_t depth, const double* values) noexcept nogil:
    cdef Py_ssize_t p
    cdef double total = 0.0, going_on = 1.0, stop
    for p in range(depth):
        stop = values[codes[p]]
        total += going_on * stop / (p + 1)
        going_on *= 1.0 - stop
    return total


cdef double cascade_tied(
    const Ranking* ranking, Py_ssize_t depth, const double* values
) noexcept nogil:
    """In a block, the i-th is where the user stops with the probability `stop_in_block` gives."""
    cdef Py_ssize_t b, p, i, start = 0, end, reach
    cdef double total = 0.0, going_on = 1.0
    cdef const double* stops
    for b in range(ranking.n_blocks):
        if start >= depth:
            break
        end = ranking.ends[b]
        if end - start == 1:
            total += going_on * values[ranking.codes[start]] / end
        else:
            reach = stop_in_block(ranking, start, end, depth - start, values)
            stops = ranking.sums.data()
            for i in range(1, reach + 1):
                total += going_on * stops[i] / (start + i)
        for p in range(start, end):
            going_on *= 1.0 - values[ranking.codes[p]]
        start = end
    return total


cdef Py_ssize_t stop_in_block(
    const Ranking* ranking, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth,
    const double* values,
) noexcept nogil:
    """Probability S_i, over all orders of a block, to stop at its i-th document, in ranking.sums.

    S_i = E[value(x_i) · Π_{j<i} (1 - value(x_j))]. Let G_i be the expected Π over i documents of
    the block. One more document of value v beside m others is among i of them with probability
    i/(m+1), and the i-th with 1/(m+1):

    G_i ← ((m+1-i) G_i + i (1-v) G_{i-1}) / (m+1)
    S_i ← ((m+1-i) S_i + (i-1) (1-v) S_{i-1} + v G_{i-1}) / (m+1)

    Returns how far S reaches, at most to `depth`: by Maclaurin's inequality G_i ≤ (1 - mean
    value)^i, so that all beyond are together less than the rounding of the sum.
    """
    cdef Py_ssize_t p, i, m = 0, n = end - start, reach
    cdef double mean = 0.0, v, share
    for p in range(start, end):
        v = values[ranking.codes[p]]
        mean += v / n
        m += v <= 0.0
    if m == n:
        return 0
    reach = <Py_ssize_t>min(<double>min(n, depth), ceil(log(1e-18) / log1p(-mean)) + 1.0)
    ranking.sums.assign(2 * (reach + 1), 0.0)
    cdef double* stops = ranking.sums.data()
    cdef double* going_on = stops + reach + 1
    for i in range(reach + 1):
        going_on[i] = 1.0  # of the m documents of value 0
    for p in range(start, end):
        v = values[ranking.codes[p]]
        if v <= 0.0:
            continue
        share = 1.0 / (m + 1)
        for i in range(min(m + 1, reach), 0, -1):
            stops[i] = share * (
                (m + 1 - i) * stops[i] + (i - 1) * (1.0 - v) * stops[i - 1] + v * going_on[i - 1]
            )
            going_on[i] = share * ((m + 1 - i) * going_on[i] + i * (1.0 - v) * going_on[i - 1])
        m += 1
    return reach


cdef double sum_query(
    const Sum* plan, const Ranking* ranking, Py_ssize_t row, Py_ssize_t level, Py_ssize_t n_levels
) noexcept nogil:
    cdef Py_ssize_t depth = min(ranking.n, plan.k)
    cdef const double* values = plan.values + level
    cdef const double* discount = plan.discount
    cdef const int32_t* codes = ranking.codes
    cdef bint tied = ranking.n_blocks < ranking.n and plan.ties == _AVERAGE
    if plan.by_row:
        discount += row
    if plan.kind == _ABOVE:
        return above(ranking, values, n_levels, plan.prior)
    if ranking.n_all_blocks < ranking.n_all and (plan.ties == _BEST or plan.ties == _WORST):
        codes = order_ties(ranking, plan.ties)
    if plan.kind == _TAU:
        tied = ranking.n_all_blocks < ranking.n_all and plan.ties == _AVERAGE
        return tau(ranking, codes, tied, n_levels)
    if plan.kind == _LINEAR:
        if tied:
            return linear_tied(ranking, depth, values, discount)
        return linear(codes, depth, values, discount)
    if plan.kind == _FIRST:
        if tied:
            return first_tied(ranking, depth, values)
        return first(codes, depth, values)
    if plan.kind == _CASCADE:
        if tied:
            return cascade_tied(ranking, depth, values)
        return cascade(codes, depth, values)
    if n_levels > FEW_LEVELS + 1:
        return pair_tree(ranking, codes, depth, tied, values, n_levels)
    if tied:
        return pair_counted_tied(ranking, depth, values, n_levels)
    return pair_counted(codes, depth, values, n_levels)


def sum_queries(
    const double[::1] scores, const Py_ssize_t[::1] order, const Py_ssize_t[::1] starts,
    const int32_t[::1] codes, const Py_ssize_t[::1] level_starts, plans, outs,
    Py_ssize_t first_query, Py_ssize_t last_query,
):
    """Rank queries first..last-1 once and write each plan's sum to its row of `outs`.

    Returns whether a score was NaN; the sums are then worth nothing.

    Parameters
    ----------
    scores : (n,) array
        -inf: not retrieved.
    order, starts, codes, level_starts : arrays
        As `lay_out` takes and gives them.
    plans : list of Plan
    outs : (n_plans, n_queries) array
    first_query, last_query : int
    """
    cdef vector[Sum] sums
    cdef Sum s
    cdef Plan plan
    cdef double[:, ::1] out = outs
    cdef Py_ssize_t q, i, row, n, size = 0, depth = 1
    cdef bint has_nan = False
    for i in range(len(plans)):
        plan = plans[i]
        s.kind, s.ties, s.k = plan.kind, plan.ties, plan.k
        s.by_row, s.per_retrieved, s.prior = plan.by_row, plan.per_retrieved, plan.prior
        s.values = &plan.values[0]
        s.discount = NULL
        if plan.discount is not None:
            s.discount = &plan.discount[0]
        s.out = &out[i, 0]
        depth = max(depth, plan.k)
        sums.push_back(s)
    for q in range(first_query, last_query):
        size = max(size, starts[q + 1] - starts[q])
    # The spare keys are done with when the keys are sorted, and the keys when the codes are
    # ranked: their room serves again, so that a call adds little memory also to a long query.
    size += 2  # the trees need a number a code, code 0 included, and begin at 1
    cdef vector[uint64_t] keys = vector[uint64_t](size)
    cdef vector[uint64_t] spare = vector[uint64_t](size)
    cdef vector[double] tree_sums
    cdef vector[double] gathered
    cdef Ranking ranking
    ranking.codes = <int32_t*>spare.data()
    ranking.ends = ranking.codes + size
    ranking.spare_codes = <int32_t*>keys.data()
    ranking.counts = ranking.spare_codes + size
    ranking.sums = &tree_sums
    cdef const double* query
    if order is not None:
        gathered.resize(size)
    with nogil:
        for q in range(first_query, last_query):
            row = starts[q]
            n = starts[q + 1] - row
            if order is None:
                query = &scores[row]
            else:
                for i in range(n):
                    gathered[i] = scores[order[row + i]]
                query = gathered.data()
            has_nan |= rank_query(
                query, &codes[row], n, depth, keys.data(), spare.data(), &ranking
            )
            for i in range(<Py_ssize_t>sums.size()):
                sums[i].out[q] = sum_query(
                    &sums[i], &ranking, row, level_starts[q],
                    level_starts[q + 1] - level_starts[q],
                )
                if sums[i].per_retrieved and ranking.n > 0:
                    sums[i].out[q] /= ranking.n
    return has_nan
