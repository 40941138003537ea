"""The sums that define the measures: `Plan`, the ranking of a query, and one function per sum.

A measure is a table with one number per level, `value`, and one of eleven sums over the ranked list
r_1, r_2, … of codes, to depth k:

- LINEAR: Σ_p discount(p) · value(r_p)                        DCG, precision, recall
- PAIR:   Σ_p (1/p) · Σ_{j≤p} min(value(r_j), value(r_p))     AP and μAP, `value` never decreasing
- FIRST:  discount(p), or 1/p, for the first document with value > 0     reciprocal rank, success
- ABOVE:  Σ_p value(r_p) · (#{j < p: r_j > r_p}, tied documents counting `prior`)        EDRC
- TAU:    Σ_{p≥2} (1/(p-1)) · #{j < p: r_j > r_p}, equal codes counting 1/2            τ_ap
- CASCADE: Σ_p (1/p) · value(r_p) · Π_{j<p} (1 - value(r_j)), values from 0 to below 1      ERR
- CUMULATED: Σ_p discount(p) · [r_p > 0] · Σ_{j≤p} value(r_j), value(0) = 0          Q-measure
- KNOWN:  Σ_p discount(p) · [r_p ≥ 0]; code -1 is an unjudged document        Judged, RBP residual
- BPREF:  Σ_{p: value(r_p) > 0} (1 - min(#{j < p: value(r_j) = 0}, value(r_p)) / value(r_p))
- HIGHEST: max_p (1/p) · #{j ≤ p: value(r_j) > 0} where that number is at least value(r_p) > 0
- OVERLAP: Σ_p discount(p) · overlap of the first p documents with the ideal ones, divided by the
  same sum for the ideal list; `value` is how many documents a level has            Compat

ABOVE and TAU cover the whole list, with the documents that were not retrieved as one tie at its
end. The other sums leave these documents out.

With ties="average", each sum is the exact expectation over all orders of the tied documents. The
expectation holds for each position, so a cut-off inside a tie needs no further formula.

A new sum needs a name in the list of kinds, a function, and its call in `sum_kind`.
"""

import math

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from libc.math cimport INFINITY, fabs, isnan
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport reverse, sort
from libcpp.vector cimport vector

from skgraded._kernels.sort cimport exact_run, ordered_bits, position_mask, sort_top

cdef extern from "loops.h" nogil:
    double HALF_A_BIT
    void gather(
        const double* numbers, const Py_ssize_t* order, Py_ssize_t n, Py_ssize_t n_all,
        double* gathered
    )
    void make_keys(const double* scores, uint64_t* keys, Py_ssize_t n, uint64_t mask)
    enum: NO_TIES, TIES_BY_SCORES
    int kind_of_ties(const uint64_t* keys, Py_ssize_t n, uint64_t mask, const double* scores)
    void mark_blocks(const uint64_t* keys, Py_ssize_t n, uint64_t mask, int32_t* ends)
    struct Blocks:
        uint64_t* packed
        int32_t* starts
        Py_ssize_t n
    Py_ssize_t read_blocks(
        const int32_t* codes, const int32_t* ends, Py_ssize_t start, Py_ssize_t end,
        const double* discount, bint by_rank, Blocks* blocks
    )
    Py_ssize_t longest_block(const int32_t* ends, Py_ssize_t n)
    double add_gains(
        double total, const Blocks* blocks, const double* values, Py_ssize_t n_levels
    )
    double sum_in_order(
        const int32_t* codes, Py_ssize_t n, const double* values, const double* discount
    )
    double add_pairs(
        double total, const Blocks* blocks, const double* step, double* hits, int32_t top
    )
    double cascade_in_blocks(
        const int32_t* codes, const int32_t* ends, Py_ssize_t depth, const double* values,
        double* stops
    )
    void take_codes(
        const int32_t* codes, const uint64_t* keys, int32_t* ranked, Py_ssize_t n, uint64_t mask
    )
    void have_near(const void* place)

# Python code imports these names as integers.
cpdef enum:
    LINEAR, PAIR, FIRST, ABOVE, TAU, CASCADE, CUMULATED, KNOWN, BPREF, HIGHEST, OVERLAP
cpdef enum:
    AVERAGE, ORDINAL, BEST, WORST

cdef enum:
    FEW_LEVELS = 16  # up to this number, one counter per level is faster than the tree
    AHEAD = 8  # documents between the prefetch of their part of the tree and its use

cdef double EPSILON = 2.0**-52


cdef class Plan:
    """What the kernel computes for one measure: a `Sum`, whose fields `sums.pxd` describes.

    The value of each query is scale · sum + shift; both are arrays of shape (n_queries,), or None.
    """

    def __init__(
        self, kind, values, ties, k, discount=None, by_row=False, per_retrieved=False,
        prior=0.0, scale=None, shift=None,
    ):
        cdef const double[::1] numbers = values
        self.values, self.discount = values, discount  # keep the arrays alive
        self.scale, self.shift = scale, shift
        self.sum.kind, self.sum.ties, self.sum.k, self.sum.prior = kind, ties, k, prior
        self.sum.by_row, self.sum.per_retrieved = by_row, per_retrieved
        self.sum.values = &numbers[0]
        if discount is not None:
            numbers = discount
            self.sum.discount = &numbers[0]

    @property
    def kind(self):
        """The kind of sum."""
        return self.sum.kind


# Ranking ---------------------------------------------------------------------------------------

cdef struct Ranking:
    # Codes of the n retrieved documents, best score first, to the required depth; then codes of
    # the documents that were not retrieved. The total is n_all.
    int32_t* codes
    # End of the block of tied documents at each position. Documents that were not
    # retrieved form one block.
    int32_t* ends
    Py_ssize_t n
    Py_ssize_t n_all
    bint has_ties  # among retrieved documents
    # work space for keys, codes, counts of codes, and numbers
    uint64_t* keys
    uint64_t* spare
    int32_t* spare_codes
    int32_t* counts
    vector[double]* numbers


cdef inline Py_ssize_t mark_ties(
    uint64_t* keys, Py_ssize_t n, uint64_t mask, const double* scores, int32_t* ends
) noexcept nogil:
    """Write where each block of ties among n sorted keys ends; return the number of blocks."""
    cdef Py_ssize_t p, i, end, start = 0, n_blocks = 0
    while start < n:
        end = start + 1
        if end < n and keys[end] & ~mask == keys[start] & ~mask:
            end = exact_run(keys, start, n, mask, scores, -1.0)
            if scores[keys[start] & mask] != scores[keys[end - 1] & mask]:
                for i in range(start + 1, end):
                    if scores[keys[i] & mask] != scores[keys[i - 1] & mask]:
                        for p in range(start, i):
                            ends[p] = <int32_t>i
                        start = i
                        n_blocks += 1
        for i in range(start, end):
            ends[i] = <int32_t>end
        start = end
        n_blocks += 1
    return n_blocks


cdef void rank_query(
    const double* scores, const int32_t* codes, Py_ssize_t n, Py_ssize_t depth, Ranking* ranking
) noexcept nogil:
    """Rank the retrieved documents of a query to `depth`, or to the end of a tie at `depth`."""
    cdef uint64_t mask = position_mask(n), not_retrieved = ordered_bits(INFINITY)
    cdef uint64_t* keys = ranking.keys
    cdef Py_ssize_t m, n_all
    make_keys(scores, keys, n, mask)
    cdef Py_ssize_t n_sorted = sort_top(keys, ranking.spare, n, min(n, depth), mask)
    n_all = min(n, depth)
    while 0 < n_all < n_sorted and keys[n_all] ^ keys[n_all - 1] <= mask:
        n_all += 1
    m = n_all
    while m > 0 and keys[m - 1] >= not_retrieved:
        m -= 1
    ranking.n, ranking.n_all = m, n_all
    cdef int ties = kind_of_ties(keys, m, mask, scores)
    ranking.has_ties = ties != NO_TIES
    if ties == TIES_BY_SCORES:
        ranking.has_ties = mark_ties(keys, m, mask, scores, ranking.ends) < m
    elif ties != NO_TIES or n_all > m + 1:
        mark_blocks(keys, m, mask, ranking.ends)
    if m < n_all:
        ranking.ends[m] = <int32_t>n_all
    take_codes(codes, keys, ranking.codes, n_all, mask)


cdef const int32_t* order_ties(const Ranking* ranking, Py_ssize_t n, int ties) noexcept nogil:
    """Codes of the first n documents, with each block of ties in its best or worst order."""
    cdef Py_ssize_t start = 0, end
    cdef int32_t* codes = ranking.spare_codes
    memcpy(codes, ranking.codes, n * sizeof(int32_t))
    while start < n:
        end = ranking.ends[start]
        if end - start > 1:
            sort(codes + start, codes + end)
            if ties == BEST:
                reverse(codes + start, codes + end)
        start = end
    return codes


# The sums ---------------------------------------------------------------------------------------
# Each sum processes the list block by block, up to the block that contains `depth`. It is compiled
# for each type of list, so that lists without ties have no loops over blocks, whatever the compiler
# inlines. `benchmarks/kernels.py` shows whether a sum became slower.

cdef struct TiedList:
    const int32_t* codes  # best first
    const int32_t* ends  # end of the block of ties at each position

cdef struct UntiedList:  # without ties, or with codes already ordered by the tie rule
    const int32_t* codes

ctypedef fused AnyList:
    TiedList
    UntiedList


cdef inline Py_ssize_t block_end(AnyList ranked, Py_ssize_t start) noexcept nogil:
    if AnyList is TiedList:
        return ranked.ends[start]
    else:
        return start + 1


cdef inline double sum_of_tied(
    const int32_t* codes, Py_ssize_t start, Py_ssize_t end, const double* values,
    Py_ssize_t n_levels,
) noexcept nogil:
    """Σ value over a block, with the same bits in any row order; few levels are counted first."""
    cdef Py_ssize_t p
    cdef int32_t i
    cdef double total = 0.0
    cdef double counts[FEW_LEVELS + 1]
    if end - start > 2 and n_levels <= FEW_LEVELS + 1:
        for i in range(n_levels):
            counts[i] = 0.0
        for p in range(start, end):
            counts[codes[p]] += 1.0
        for i in range(n_levels):
            total += counts[i] * values[i]
    else:  # a sum of two does not depend on the order; codes of many levels are already sorted
        for p in range(start, end):
            total += values[codes[p]]
    return total


cdef inline Py_ssize_t end_of_short_blocks(
    TiedList ranked, Py_ssize_t depth, Py_ssize_t n_levels
) noexcept nogil:
    """Where the last block before `depth` ends, if `read_blocks` can count its documents, or 0."""
    if n_levels > 8 or depth == 0 or depth >= 256 and longest_block(ranked.ends, depth) >= 256:
        return 0
    if ranked.ends[depth - 1] > depth:
        while depth > 0 and ranked.ends[depth - 1] == ranked.ends[depth]:
            depth -= 1
    return depth


cdef double linear_sum(
    AnyList ranked, Py_ssize_t depth, const double* values, const double* discount,
    Py_ssize_t n_levels,
) noexcept nogil:
    """The LINEAR sum; each position of a block gets the mean value of the block."""
    cdef Py_ssize_t p, start = 0, end
    cdef double total = 0.0, gains, discounts
    cdef Blocks blocks
    if AnyList is TiedList:
        end = end_of_short_blocks(ranked, depth, n_levels)
        while start < end:
            start = read_blocks(ranked.codes, ranked.ends, start, end, discount, False, &blocks)
            total = add_gains(total, &blocks, values, n_levels)
    elif discount != NULL:
        return sum_in_order(ranked.codes, depth, values, discount)
    while start < depth:
        end = block_end(ranked, start)
        if end - start == 1:
            total += values[ranked.codes[start]] * (1.0 if discount == NULL else discount[start])
        else:
            gains = sum_of_tied(ranked.codes, start, end, values, n_levels)
            if gains > 0.0:
                discounts = 0.0
                for p in range(start, min(end, depth)):
                    discounts += 1.0 if discount == NULL else discount[p]
                total += gains / (end - start) * discounts
        start = end
    return total


cdef double first_sum(
    AnyList ranked, Py_ssize_t depth, const double* values, const double* discount
) noexcept nogil:
    """The FIRST sum; P(i-th of n tied, r relevant, is the first) = C(n-i, r-1) / C(n, r)."""
    cdef Py_ssize_t p, i, n, relevant, start = 0, end
    cdef double total = 0.0, probability
    while start < depth:
        end = block_end(ranked, start)
        relevant = 0
        for p in range(start, end):
            relevant += values[ranked.codes[p]] > 0.0
        if relevant > 0:
            n = end - start
            probability = <double>relevant / n
            for i in range(1, min(n - relevant + 1, depth - start) + 1):
                total += probability * (
                    1.0 / (start + i) if discount == NULL else discount[start + i - 1]
                )
                probability *= <double>(n - i - relevant + 1) / max(n - i, 1)
            return total
        start = end
    return 0.0


cdef inline double block_sum(
    Py_ssize_t a, Py_ssize_t end, Py_ssize_t depth, double above, double own, double pairs
) noexcept nogil:
    """Σ_i (ā + w̄ + (i-1)·m̄) / (a+i) over the positions a+1..end of a block, to `depth`.

    `above` is Σ_x Σ_{j before the block} min(w_j, w_x), `own` is Σ_x w_x, and `pairs` is the sum of
    min(w_x, w_y) over the ordered pairs x ≠ y of the block; ā, w̄ and m̄ are their means.
    """
    cdef Py_ssize_t p
    cdef double n = <double>(end - a), total = 0.0
    cdef double base = (above + own) / n
    cdef double slope = pairs / (n * (n - 1.0)) if n > 1.0 else 0.0
    for p in range(a, min(end, depth)):
        total += (base + (p - a) * slope) / (p + 1)
    return total


cdef inline double pair_block(
    const int32_t* codes, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth,
    const double* step, double* hits, int32_t top,
) noexcept nogil:
    """The contribution of a block of ties to `pair_sum`; updates its `hits`."""
    cdef Py_ssize_t p
    cdef int32_t i
    cdef double above = 0.0, own = 0.0, pairs = 0.0, c = 0.0
    cdef double block[FEW_LEVELS + 1]
    for i in range(top + 1):
        block[i] = 0.0
    for p in range(start, end):
        block[codes[p]] += 1.0
    if block[0] == end - start:
        return 0.0
    for i in range(top, 0, -1):
        c += block[i]
        above += step[i] * hits[i] * c
        own += step[i] * c
        pairs += step[i] * c * (c - 1.0)
        hits[i] += c
    return block_sum(start, end, depth, above, own, pairs)


cdef double pair_sum(
    AnyList ranked, Py_ssize_t depth, const double* values, Py_ssize_t n_levels
) noexcept nogil:
    """The PAIR sum over few levels.

    Σ_{j≤p} min(w_j, w_p) = Σ_i (w_i - w_{i-1}) · #{j ≤ p: code ≥ i}, with i up to the code of p.
    """
    cdef Py_ssize_t start = 0, end
    cdef int32_t i, code, top = <int32_t>n_levels - 1
    cdef double total = 0.0, above
    cdef double step[FEW_LEVELS + 1]
    cdef double hits[FEW_LEVELS + 1]
    cdef Blocks blocks
    for i in range(1, top + 1):
        step[i] = values[i] - values[i - 1]
        hits[i] = 0.0
    if AnyList is TiedList:
        end = end_of_short_blocks(ranked, depth, n_levels)
        while start < end:
            start = read_blocks(ranked.codes, ranked.ends, start, end, NULL, True, &blocks)
            total = add_pairs(total, &blocks, step, hits, top)
    while start < depth:
        end = block_end(ranked, start)
        code = ranked.codes[start]
        if end - start > 1:
            total += pair_block(ranked.codes, start, end, depth, step, hits, top)
        elif code > 0:
            above = 0.0
            for i in range(1, code + 1):
                hits[i] += 1.0
                above += step[i] * hits[i]
            total += above / end
        start = end
    return total


# With many levels, a binary indexed tree contains the documents above: their number and, in a
# SumTree, their Σ w, side by side. A code is its own index in the tree; code 0 is not needed there.

cdef struct CountTree:
    int32_t* counts
    Py_ssize_t n_levels
    Py_ssize_t n_added

cdef struct Node:
    Py_ssize_t count
    double sum  # Σ w

cdef struct SumTree:
    Node* nodes
    Py_ssize_t n_levels
    Py_ssize_t n_added

ctypedef fused Tree:
    CountTree
    SumTree


cdef CountTree empty_count_tree(const Ranking* ranking, Py_ssize_t n_levels) noexcept nogil:
    cdef CountTree tree
    tree.n_levels, tree.n_added, tree.counts = n_levels, 0, ranking.counts
    memset(tree.counts, 0, n_levels * sizeof(int32_t))
    return tree


cdef SumTree empty_sum_tree(const Ranking* ranking, Py_ssize_t n_levels) noexcept nogil:
    cdef SumTree tree
    ranking.numbers.assign(2 * n_levels, 0.0)
    tree.n_levels, tree.n_added = n_levels, 0
    tree.nodes = <Node*>ranking.numbers.data()
    return tree


cdef inline void tree_add(Tree* tree, Py_ssize_t code, double w) noexcept nogil:
    if code <= 0:
        return
    tree.n_added += 1
    while code < tree.n_levels:
        if Tree is SumTree:
            tree.nodes[code].count += 1
            tree.nodes[code].sum += w
        else:
            tree.counts[code] += 1
        code += code & -code


cdef inline double tree_above(Tree* tree, Py_ssize_t code, double w) noexcept nogil:
    """Σ_j min(w_j, w) for the weight w of the code; in a CountTree, w · #{j with a higher code}."""
    cdef double total = 0.0
    cdef Py_ssize_t upto = 0
    while True:  # code 0 reads a 0, because a test for code 0 would be mispredicted
        if Tree is SumTree:
            upto += tree.nodes[code].count
            total += tree.nodes[code].sum
        else:
            upto += tree.counts[code]
        code -= code & -code
        if code == 0:
            break
    return total + w * (tree.n_added - upto)


cdef double pair_tree_sum(
    AnyList ranked, const Ranking* ranking, Py_ssize_t depth, const double* values,
    Py_ssize_t n_levels,
) noexcept nogil:
    """The PAIR sum over many levels."""
    cdef Py_ssize_t p, start = 0, end
    cdef double total = 0.0, above, own, pairs, w
    cdef int32_t* room = ranking.spare_codes
    cdef const int32_t* block = ranked.codes
    cdef SumTree tree = empty_sum_tree(ranking, n_levels)
    if AnyList is TiedList:
        block = room  # the codes of each block in ascending order
    while start < depth:
        end = block_end(ranked, start)
        if AnyList is TiedList:
            memcpy(room + start, ranked.codes + start, (end - start) * sizeof(int32_t))
            sort(room + start, room + end)
        above = own = pairs = 0.0
        have_near(tree.nodes + ranked.codes[min(end + AHEAD, depth) - 1])
        for p in range(start, end):
            if block[p] > 0:
                w = values[block[p]]
                above += tree_above(&tree, block[p], w)
                own += w
                pairs += 2.0 * w * (end - 1 - p)  # later weights in the block are at least w
        if own > 0.0:
            for p in range(start, end):
                tree_add(&tree, block[p], values[block[p]])
            total += block_sum(start, end, depth, above, own, pairs)
        start = end
    return total


cdef double above_sum(
    AnyList ranked, const Ranking* ranking, Py_ssize_t depth, const double* values,
    Py_ssize_t n_levels, double prior,
) noexcept nogil:
    """The ABOVE sum; documents with code -1 (grade unknown) are neither above nor below others."""
    cdef Py_ssize_t p, start = 0, end
    cdef int32_t code
    cdef double total = 0.0
    cdef CountTree tree = empty_count_tree(ranking, n_levels)
    while start < depth:
        end = block_end(ranked, start)
        for p in range(start, end):
            code = ranked.codes[p]
            if code >= 0:
                total += values[code] * (1.0 - prior) * tree_above(&tree, code, 1.0)
        for p in range(start, end):
            tree_add(&tree, ranked.codes[p], 0.0)
        # After the block is added, its documents count `prior`; documents above it count the rest.
        for p in range(start, end):
            code = ranked.codes[p]
            if code >= 0:
                total += values[code] * prior * tree_above(&tree, code, 1.0)
        start = end
    return total


cdef double tau_sum(
    AnyList ranked, const Ranking* ranking, Py_ssize_t depth, Py_ssize_t n_levels
) noexcept nogil:
    """The TAU sum; position a+i of a block after a documents adds (ā + (i-1)/2) / (a+i-1).

    ā is the mean over the block of the number of documents before it with a higher code, where
    equal codes count 1/2. Each of two documents of the block is above the other with probability
    1/2.
    """
    cdef Py_ssize_t p, start = 0, end
    cdef int32_t code
    cdef double total = 0.0, mean_above, higher, not_lower
    cdef CountTree tree = empty_count_tree(ranking, n_levels)
    while start < depth:
        end = block_end(ranked, start)
        mean_above = 0.0
        for p in range(start, end):
            code = ranked.codes[p]
            higher = tree_above(&tree, code, 1.0)
            not_lower = tree_above(&tree, code - 1, 1.0) if code > 0 else start
            mean_above += 0.5 * (higher + not_lower)
        mean_above /= end - start
        for p in range(start, end):
            tree_add(&tree, ranked.codes[p], 0.0)
            if p > 0:
                total += (mean_above + 0.5 * (p - start)) / p
        start = end
    return total


cdef double cascade_sum(
    AnyList ranked, const Ranking* ranking, Py_ssize_t depth, const double* values
) noexcept nogil:
    """The CASCADE sum."""
    cdef Py_ssize_t p = 0
    cdef double total = 0.0, going_on = 1.0
    if AnyList is TiedList:
        ranking.numbers.resize(2 * (depth + 1))
        total = cascade_in_blocks(ranked.codes, ranked.ends, depth, values, ranking.numbers.data())
    else:  # the remaining terms add up to at most going_on, and soon no longer change the sum
        while p < depth and going_on > HALF_A_BIT * total:
            total += going_on * values[ranked.codes[p]] / (p + 1)
            going_on *= 1.0 - values[ranked.codes[p]]
            p += 1
    return total


cdef double cumulated_sum(
    AnyList ranked, Py_ssize_t depth, const double* values, const double* discount
) noexcept nogil:
    """The CUMULATED sum; position a+i of a block has the expectation r̄ · U + r̄u + (i-1) · m̄.

    Here, u are the values, r is 1 for codes > 0 and otherwise 0, and U is the sum of u before the
    block; r̄ and r̄u are means over the block, and m̄ is the mean of r_x · u_y over its ordered
    pairs x ≠ y.
    """
    cdef Py_ssize_t p, start = 0, end
    cdef double total = 0.0, before = 0.0, own, relevant, n, base, slope
    while start < depth:
        end = block_end(ranked, start)
        n = <double>(end - start)
        own = relevant = 0.0
        for p in range(start, end):
            own += values[ranked.codes[p]]
            relevant += ranked.codes[p] > 0
        if relevant > 0.0:
            base = (relevant * before + own) / n
            slope = own * (relevant - 1.0) / (n * (n - 1.0)) if n > 1.0 else 0.0
            for p in range(start, min(end, depth)):
                total += discount[p] * (base + (p - start) * slope)
        before += own
        start = end
    return total


cdef double known_sum(
    AnyList ranked, Py_ssize_t depth, const double* discount
) noexcept nogil:
    """Every position of a block gets the block's share of judged documents."""
    cdef Py_ssize_t p, n_known, start = 0, end
    cdef double total = 0.0, discounts
    while start < depth:
        end = block_end(ranked, start)
        n_known = 0
        for p in range(start, end):
            n_known += ranked.codes[p] >= 0
        if n_known > 0:
            discounts = 0.0
            for p in range(start, min(end, depth)):
                discounts += 1.0 if discount == NULL else discount[p]
            total += discounts if n_known == end - start else (
                discounts * n_known / (end - start)
            )
        start = end
    return total


cdef double bpref_sum(AnyList ranked, Py_ssize_t depth, const double* values) noexcept nogil:
    """The value of a relevant document is where its count of irrelevant documents above is capped.

    In a block with m irrelevant documents, 0 to m of them precede a relevant document, each number
    with the same probability.
    """
    cdef Py_ssize_t p, start = 0, end
    cdef double total = 0.0, above = 0.0, cap, n_relevant, m, n_below_cap, counted
    while start < depth:
        end = block_end(ranked, start)
        n_relevant = m = cap = 0.0
        for p in range(start, end):
            if ranked.codes[p] >= 0:
                if values[ranked.codes[p]] > 0.0:
                    n_relevant += 1.0
                    cap = values[ranked.codes[p]]
                else:
                    m += 1.0
        if n_relevant > 0.0:
            n_below_cap = min(max(cap - above + 1.0, 0.0), m + 1.0)
            counted = n_below_cap * (above + 0.5 * (n_below_cap - 1.0))
            counted += (m + 1.0 - n_below_cap) * cap
            total += n_relevant * (1.0 - counted / ((m + 1.0) * cap))
        above += m
        start = end
    return total


cdef double highest_precision(
    AnyList ranked, Py_ssize_t depth, const double* values
) noexcept nogil:
    """The value of a relevant document is how many of them the recall requires; nothing is tied."""
    cdef Py_ssize_t p
    cdef double highest = 0.0, n_relevant = 0.0
    for p in range(depth):
        if values[ranked.codes[p]] > 0.0:
            n_relevant += 1.0
            if n_relevant >= values[ranked.codes[p]]:
                highest = max(highest, n_relevant / (p + 1))
    return highest


cdef double overlap_sum(
    AnyList ranked, const Ranking* ranking, Py_ssize_t n, Py_ssize_t k, const double* sizes,
    const double* discount, Py_ssize_t n_levels,
) noexcept nogil:
    """The ideal list has level after level, and of a level first the documents that the run has.

    The overlap of two prefixes is then Σ_levels min(their numbers of documents of the level). A
    list that has ended keeps all its documents.
    """
    cdef Py_ssize_t p, q, level = n_levels - 1, start = 0, end = 0
    cdef double n_ideal = 0.0, at_level = 0.0, above = 0.0, tied_above = 0.0, overlap
    cdef double total = 0.0, best = 0.0
    ranking.numbers.assign(2 * n_levels, 0.0)
    cdef double* counts = ranking.numbers.data()  # in the run's prefix, before the block
    cdef double* tied = counts + n_levels  # in the block
    for p in range(1, n_levels):
        n_ideal += sizes[p]
    for p in range(<Py_ssize_t>min(<double>k, max(<double>n, n_ideal))):
        if p == end and p < n:
            start, end, tied_above = p, block_end(ranked, p), 0.0
            for q in range(start, end):
                tied[ranked.codes[q]] += 1.0
                tied_above += ranked.codes[q] > level
        if level > 0 and at_level == sizes[level]:
            above += counts[level]
            tied_above += tied[level]
            level -= 1
            at_level = 0.0
        overlap = above
        if p < end:
            overlap += tied_above * (p + 1 - start) / (end - start)
        if level > 0:
            at_level += 1.0
            overlap += counts[level] + expected_minimum(
                at_level - counts[level], tied[level], p + 1 - start, end - start
            ) if at_level > counts[level] else at_level
        total += discount[p] * overlap
        best += discount[p] * min(p + 1.0, n_ideal)
        if p + 1 == end:
            above += tied_above
            tied_above = 0.0
            for q in range(start, end):
                counts[ranked.codes[q]] += 1.0
                tied[ranked.codes[q]] = 0.0
    return total / best if best > 0.0 else 0.0


cdef double expected_minimum(double b, double m, double j, double n) noexcept nogil:
    """E min(b, H) for b > 0, H being how many of m marked documents are among the first j of n.

    H = j - F, F the number of unmarked documents there, so that it is E H - E max(j - b - F, 0).
    Probabilities of F are taken relative to the largest.
    """
    cdef double s = j - b, unmarked = n - m
    if m == 0.0 or j > n:
        return min(b, m)
    if s <= 0.0 or m <= b:
        return j * m / n
    cdef double lowest = max(0.0, j - m), highest = min(j, unmarked)
    cdef double mode = <double><Py_ssize_t>((j + 1.0) * (unmarked + 1.0) / (n + 2.0))
    mode = min(max(mode, lowest), highest)
    cdef double weights = 0.0, excess = 0.0, w = 1.0, f = mode
    while f >= lowest and w > 1e-20:
        weights += w
        excess += w * max(s - f, 0.0)
        w *= f * (m - j + f) / ((unmarked - f + 1.0) * (j - f + 1.0))
        f -= 1.0
    w, f = 1.0, mode
    while f < highest and w > 1e-20:
        w *= (unmarked - f) * (j - f) / ((f + 1.0) * (m - j + f + 1.0))
        f += 1.0
        weights += w
        excess += w * max(s - f, 0.0)
    return j * m / n - excess / weights


# One query, and all ----------------------------------------------------------------------------

cdef double sum_kind(
    AnyList ranked, const Sum* plan, const Ranking* ranking, Py_ssize_t depth,
    const double* values, const double* discount, Py_ssize_t n_levels,
) noexcept nogil:
    if plan.kind == LINEAR:
        return linear_sum(ranked, depth, values, discount, n_levels)
    if plan.kind == FIRST:
        return first_sum(ranked, depth, values, discount)
    if plan.kind == CASCADE:
        return cascade_sum(ranked, ranking, depth, values)
    if plan.kind == ABOVE:
        return above_sum(ranked, ranking, depth, values, n_levels, plan.prior)
    if plan.kind == TAU:
        return tau_sum(ranked, ranking, depth, n_levels)
    if plan.kind == CUMULATED:
        return cumulated_sum(ranked, depth, values, discount)
    if plan.kind == KNOWN:
        return known_sum(ranked, depth, discount)
    if plan.kind == BPREF:
        return bpref_sum(ranked, depth, values)
    if plan.kind == HIGHEST:
        return highest_precision(ranked, depth, values)
    if plan.kind == OVERLAP:
        return overlap_sum(ranked, ranking, depth, plan.k, values, discount, n_levels)
    if n_levels <= FEW_LEVELS + 1:  # PAIR
        return pair_sum(ranked, depth, values, n_levels)
    return pair_tree_sum(ranked, ranking, depth, values, n_levels)


cdef double sum_query(
    const Sum* plan, const Ranking* ranking, Py_ssize_t row, Py_ssize_t level, Py_ssize_t n_levels
) noexcept nogil:
    cdef bint whole = plan.kind == ABOVE or plan.kind == TAU
    cdef bint tied = ranking.has_ties or (whole and ranking.n_all > ranking.n + 1)
    cdef Py_ssize_t n = ranking.n_all if whole else ranking.n
    cdef Py_ssize_t depth = min(n, plan.k)
    cdef const int32_t* codes = ranking.codes
    cdef const double* values = plan.values + level
    cdef const double* discount = plan.discount
    cdef TiedList in_blocks
    cdef UntiedList in_order
    cdef double total
    # Tied codes are added in a fixed order, so that the bits do not depend on the row order.
    if tied and plan.ties != ORDINAL and (plan.ties != AVERAGE or (
        n_levels > (FEW_LEVELS + 1 if plan.kind == LINEAR else 2)
        and plan.kind != PAIR and plan.kind != FIRST and plan.kind != TAU
    )):
        codes = order_ties(ranking, n, plan.ties)
    if plan.by_row:
        discount += row
    if tied and plan.ties == AVERAGE:
        in_blocks.codes, in_blocks.ends = codes, ranking.ends
        total = sum_kind(in_blocks, plan, ranking, depth, values, discount, n_levels)
    else:
        in_order.codes = codes
        total = sum_kind(in_order, plan, ranking, depth, values, discount, n_levels)
    return total / depth if plan.per_retrieved and depth > 0 else total


cdef struct Total:
    double sum, lost


cdef inline void add_to(Total* total, double number) noexcept nogil:
    """Add a number to a compensated sum (Neumaier 1974).

    The bits are the same on any platform, because there is no product that a processor might fuse.
    """
    cdef double more = total.sum + number
    if fabs(total.sum) >= fabs(number):
        total.lost += (total.sum - more) + number
    else:
        total.lost += (number - more) + total.sum
    total.sum = more


def total(const double[::1] numbers):
    """Compensated sum of numbers in their order."""
    cdef Total total = Total(0.0, 0.0)
    cdef Py_ssize_t i
    for i in range(numbers.shape[0]):
        add_to(&total, numbers[i])
    return total.sum + total.lost


def mean_of_defined(const double[:] values, const double[:] weights):
    """Weighted mean of the values that are not NaN; NaN if none of them has a positive weight.

    NumPy and BLAS are not used, because their summation order depends on processor and threads.
    """
    cdef Total sum = Total(0.0, 0.0), divisor = Total(0.0, 0.0)
    cdef double weight = 1.0, largest = 1.0, low = INFINITY, high = -INFINITY
    cdef Py_ssize_t i, n = values.shape[0]
    with nogil:
        if weights is not None:
            largest = 0.0
            for i in range(n):
                if not isnan(values[i]):
                    largest = max(largest, weights[i])
        for i in range(n):
            if weights is not None:
                weight = weights[i]
            if not isnan(values[i]) and weight > 0.0:
                weight /= largest  # prevents overflow
                add_to(&sum, weight * values[i])
                add_to(&divisor, weight)
                low = min(low, values[i])
                high = max(high, values[i])
    if low > high:
        return math.nan  # always the same object, so that tuples that contain it compare equal
    # rounding may exceed the range
    return min(max((sum.sum + sum.lost) / (divisor.sum + divisor.lost), low), high)


def settle(
    double[::1] values, const Py_ssize_t[::1] sizes, bint ends_at_1,
    const unsigned char[::1] undefined, double if_undefined,
):
    """Remove rounding errors near 1 if `ends_at_1`, and fill in the value of undefined queries."""
    cdef Py_ssize_t q
    for q in range(values.shape[0]):
        if undefined[q]:
            values[q] = if_undefined
        elif ends_at_1 and values[q] > 1.0 - sizes[q] * EPSILON:
            values[q] = 1.0


cdef vector[Sum] sums_of(plans, double[:, ::1] outs):
    cdef vector[Sum] sums
    cdef Plan plan
    cdef Py_ssize_t i
    for i in range(len(plans)):
        plan = plans[i]
        sums.push_back(plan.sum)
        sums[i].out = &outs[i, 0]
    return sums


def sum_queries(
    const double[::1] scores, const Py_ssize_t[::1] order, const Py_ssize_t[::1] starts,
    const int32_t[::1] codes, const Py_ssize_t[::1] level_starts, plans, outs,
    Py_ssize_t first_query, Py_ssize_t last_query,
):
    """Rank queries first..last-1 once and write each plan's sum to its row of `outs`.

    `order`, `starts`, `codes` and `level_starts` are those of `lay_out`; `outs` has the shape
    (n_plans, n_queries).
    """
    cdef vector[Sum] sums = sums_of(plans, outs)
    cdef Py_ssize_t q, i, row, n, size = 0, depth = 1
    for i in range(<Py_ssize_t>sums.size()):
        depth = max(depth, sums[i].k)
    for q in range(first_query, last_query):
        size = max(size, starts[q + 1] - starts[q])
    # The spare keys are no longer needed after sorting, nor the keys after ranking. Their memory is
    # reused, so that a call needs little memory even for a long query.
    size += 1  # the trees need one number per code, including code 0
    cdef bytearray room = PyByteArray_FromStringAndSize(NULL, 2 * size * sizeof(uint64_t))
    cdef uint64_t* keys = <uint64_t*>PyByteArray_AS_STRING(room)
    cdef vector[double] numbers, gathered
    cdef Ranking ranking
    ranking.keys, ranking.spare, ranking.numbers = keys, keys + size, &numbers
    ranking.codes = <int32_t*>ranking.spare
    ranking.ends = ranking.codes + size
    ranking.spare_codes = <int32_t*>keys
    ranking.counts = ranking.spare_codes + size
    cdef const double* query
    if order is not None:
        gathered.resize(size)
    with nogil:
        for q in range(first_query, last_query):
            row, n = starts[q], starts[q + 1] - starts[q]
            if order is None:
                query = &scores[row]
            else:
                gather(&scores[0], &order[row], n, starts[last_query] - row, gathered.data())
                query = gathered.data()
            rank_query(query, &codes[row], n, depth, &ranking)
            for i in range(<Py_ssize_t>sums.size()):
                sums[i].out[q] = sum_query(
                    &sums[i], &ranking, row, level_starts[q],
                    level_starts[q + 1] - level_starts[q],
                )
