# distutils: language = c++
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""The truth laid out: queries numbered, grades coded by level, and tables of one number a level.

A query's documents carry a *code*: 0 for grade 0, else 1, 2, … for the grades > 0 that the query
uses, ascending. Each code of a query is one of its *levels*.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

import numpy as np

from skgraded._kernels.sort cimport ascending_bits, exact_run, position_mask, sort_in_place


# Numbering the queries --------------------------------------------------------------------------

def number_by_appearance(const Py_ssize_t[::1] values, Py_ssize_t low, Py_ssize_t span):
    """Number whole values low ≤ v < low + span in the order in which they first appear.

    Returns the number of each value, and the row where each number first appears.
    """
    cdef Py_ssize_t row, number, n = values.shape[0]
    cdef size_t at  # unsigned: ids of 64 bits without a sign wrap around on both sides
    cdef vector[Py_ssize_t] number_of = vector[Py_ssize_t](span, -1)
    cdef vector[Py_ssize_t] rows
    codes_array = np.empty(n, dtype=np.intp)
    cdef Py_ssize_t[::1] codes = codes_array
    with nogil:
        for row in range(n):
            at = <size_t>values[row] - <size_t>low
            number = number_of[at]
            if number < 0:
                number = <Py_ssize_t>rows.size()
                number_of[at] = number
                rows.push_back(row)
            codes[row] = number
    return codes_array, np.array(rows, dtype=np.intp)


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


# Coding the grades -----------------------------------------------------------------------------

cdef int32_t code_whole_grades(
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
    return code


cdef int32_t code_any_grades(
    const double* grades, int32_t* codes, Py_ssize_t n, vector[uint64_t]* room
) noexcept nogil:
    """Codes of any grades by sorting them."""
    cdef uint64_t mask = position_mask(n)
    cdef Py_ssize_t i, end, m = 0, start = 0
    cdef int32_t code = 0
    cdef double last = 0.0
    if <Py_ssize_t>room.size() < 2 * n:
        room.resize(2 * n)
    cdef uint64_t* keys = room.data()
    for i in range(n):
        codes[i] = -1
        if not isnan(grades[i]):
            keys[m] = (ascending_bits(grades[i]) & ~mask) | <uint64_t>i
            m += 1
    sort_in_place(keys, keys + n, m)
    while start < m:
        end = exact_run(keys, start, m, mask, grades, 1.0)
        for i in range(start, end):
            if grades[keys[i] & mask] > last:
                last = grades[keys[i] & mask]
                code += 1
            codes[keys[i] & mask] = code
        start = end
    return code


cdef int32_t code_grades(
    const double* grades, int32_t* codes, Py_ssize_t n, vector[uint64_t]* room
) noexcept nogil:
    """Codes of one query's grades; NaN has code -1. Returns the largest code."""
    cdef uint64_t present = 0
    cdef Py_ssize_t i
    cdef double g
    for i in range(n):
        g = grades[i]
        if not (0 <= g < 64 and g == <double><int32_t>g):
            return code_any_grades(grades, codes, n, room)
        present |= <uint64_t>1 << <int32_t>g
    return code_whole_grades(grades, present, codes, n)


def lay_out(const double[::1] grades, const Py_ssize_t[::1] order, const Py_ssize_t[::1] starts):
    """Lay out grades ≥ 0 (or NaN) by query.

    `order` are the rows query by query, None if they are so already, and `starts` where the queries
    begin in it, (n_queries + 1,). Returns the codes, (n,) of int32 in query order, -1 where the
    grade is NaN; grade and number of documents of each level, 0 included, of each query, (n_levels,)
    each; and where the levels of each query begin, (n_queries + 1,).
    """
    cdef Py_ssize_t q, i, n, n_queries = starts.shape[0] - 1
    cdef vector[uint64_t] room
    cdef vector[double] gathered
    cdef const double* query
    codes_array = np.empty(grades.shape[0], dtype=np.int32)
    level_starts_array = np.zeros(n_queries + 1, dtype=np.intp)
    cdef int32_t[::1] codes = codes_array
    cdef Py_ssize_t[::1] level_starts = level_starts_array
    with nogil:
        for q in range(n_queries):
            n = starts[q + 1] - starts[q]
            if order is None:
                query = &grades[starts[q]]
            else:
                if <Py_ssize_t>gathered.size() < n:
                    gathered.resize(n)
                for i in range(n):
                    gathered[i] = grades[order[starts[q] + i]]
                query = gathered.data()
            level_starts[q + 1] = (
                level_starts[q] + code_grades(query, &codes[starts[q]], n, &room) + 1
            )
    levels, counts = levels_of(grades, order, starts, codes, level_starts)
    return codes_array, levels, counts, level_starts_array


cdef tuple levels_of(
    const double[::1] grades, const Py_ssize_t[::1] order, const Py_ssize_t[::1] starts,
    const int32_t[::1] codes, const Py_ssize_t[::1] level_starts,
):
    """Grade and number of documents of each level."""
    cdef Py_ssize_t q, row, base, n_queries = starts.shape[0] - 1
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
    return levels_array, counts_array


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


def ideal_by_rank(
    const double[::1] values, const int32_t[::1] counts, const Py_ssize_t[::1] level_starts,
    const Py_ssize_t[::1] starts, const double[::1] discount,
):
    """Σ_{p≤n} discount(p) · value of each query's ideal order for n = 1..N, a number a row."""
    cdef Py_ssize_t q, i, j, p, n_queries = starts.shape[0] - 1
    cdef double total
    sums_array = np.zeros(starts[n_queries])
    cdef double[::1] sums = sums_array
    with nogil:
        for q in range(n_queries):
            p = starts[q]
            total = 0.0
            for i in range(level_starts[q + 1] - 1, level_starts[q] - 1, -1):
                for j in range(counts[i]):
                    total += values[i] * discount[p - starts[q]]
                    sums[p] = total
                    p += 1
    return sums_array


def mean_discounts(
    const double[::1] ideal, const Py_ssize_t[::1] starts, const double[::1] discount
):
    """Discounts that make a LINEAR sum the mean of DCG@n / ideal DCG@n over n = 1..N.

    The gain at position p counts in every n ≥ p:
    discount(p) · (1/N) Σ_{n≥p} 1 / ideal DCG@n. One row of N numbers a query; zeros where the
    ideal DCG, which is `ideal_by_rank`, is 0.
    """
    cdef Py_ssize_t q, p, n_queries = starts.shape[0] - 1
    cdef double tail
    out_array = np.zeros(starts[n_queries])
    cdef double[::1] out = out_array
    with nogil:
        for q in range(n_queries):
            tail = 0.0
            for p in range(starts[q + 1] - 1, starts[q] - 1, -1):
                if ideal[p] > 0:
                    tail += 1.0 / ideal[p] / (starts[q + 1] - starts[q])
                    out[p] = tail * discount[p - starts[q]]
    return out_array
