# distutils: language = c++
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""The truth laid out: queries numbered, grades coded by level, and tables of one number a level.

A query's documents carry a *code*: 0 for grade 0, else 1, 2, … for the grades > 0 that the query
uses, ascending. Each code of a query is one of its *levels*.
"""

cimport numpy as cnp
from libc.math cimport INFINITY, isnan
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from skgraded._kernels.sort cimport ascending_bits, exact_run, position_mask, sort_in_place


cnp.import_array()

cdef extern from "loops.h" nogil:
    uint64_t set_of_whole_grades(const double* grades, Py_ssize_t n)
    void count_codes(const int32_t* codes, Py_ssize_t n, int32_t top, int32_t* counts)
    void code_whole_grades(
        const double* grades, const int32_t* code_of, int32_t* codes, Py_ssize_t n
    )


# Numbering the queries --------------------------------------------------------------------------

def number_by_appearance(const Py_ssize_t[::1] values, Py_ssize_t low, Py_ssize_t span):
    """Number whole values low ≤ v < low + span in the order in which they first appear.

    Returns the number of each value, the row where each number first appears, how many values have
    each number, and whether the numbers never fall.
    """
    cdef Py_ssize_t row, number, last = 0, n = values.shape[0]
    cdef bint in_order = True
    cdef size_t at  # unsigned: ids of 64 bits without a sign wrap around on both sides
    cdef vector[Py_ssize_t] number_of = vector[Py_ssize_t](span, -1)
    cdef vector[Py_ssize_t] rows
    cdef vector[Py_ssize_t] counts
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
                counts.push_back(0)
            codes[row] = number
            counts[number] += 1
            in_order &= number >= last
            last = number
    return codes_array, np.array(rows, dtype=np.intp), np.array(counts, dtype=np.intp), in_order


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


def heads_of_objects(values):
    """Rows whose object is another than that of the row before, and the first row."""
    cdef cnp.ndarray array = np.ascontiguousarray(values)
    cdef void** objects = <void**>cnp.PyArray_DATA(array)
    cdef Py_ssize_t row
    cdef vector[Py_ssize_t] heads
    heads.push_back(0)
    for row in range(1, array.shape[0]):
        if objects[row] != objects[row - 1]:
            heads.push_back(row)
    return np.array(heads, dtype=np.intp)


# Coding the grades -----------------------------------------------------------------------------

cdef int32_t code_any_grades(
    const double* grades, int32_t* codes, Py_ssize_t n, vector[uint64_t]* room
) noexcept nogil:
    """Codes of any grades by sorting them; -1 if one is negative or infinite."""
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
            if not 0 <= grades[i] < INFINITY:
                return -1
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
    const double* grades, int32_t* codes, Py_ssize_t n, vector[uint64_t]* room,
    vector[double]* levels,
) noexcept nogil:
    """Codes of one query's grades, NaN having -1, and behind `levels` its own.

    Returns the largest code; -1 if a grade is negative or infinite.
    """
    cdef uint64_t present = set_of_whole_grades(grades, n)
    cdef int32_t code_of[64]
    cdef int32_t g, code = 0
    cdef Py_ssize_t i
    cdef double* own
    levels.push_back(0.0)
    if present == 0:
        code = code_any_grades(grades, codes, n, room)
        if code > 0:
            levels.resize(levels.size() + code)
            own = levels.data() + levels.size() - code - 1
            for i in range(n):
                if codes[i] > 0:
                    own[codes[i]] = grades[i]
        return code
    code_of[0] = 0
    for g in range(1, 64):
        if present >> g == 0:
            break
        if present >> g & 1:
            code += 1
            levels.push_back(g)
        code_of[g] = code
    code_whole_grades(grades, code_of, codes, n)
    return code


def lay_out(
    const double[::1] grades, const Py_ssize_t[::1] order, const Py_ssize_t[::1] starts,
    int32_t[::1] codes, Py_ssize_t first_query, Py_ssize_t last_query,
):
    """Lay out the grades of queries first..last-1: write `codes`, and find the levels.

    `order` are the rows query by query, None if they are so already, and `starts` where the queries
    begin in it. Codes are in query order, -1 where the grade is NaN. Returns grade and number of
    documents of each level, 0 included, of each query; how many levels each has; how many grades are
    NaN, and whether all others are finite and ≥ 0. If not, the rest is worth nothing.
    """
    cdef Py_ssize_t q, i, n, n_unknown = 0
    cdef int32_t top
    cdef bint is_good = True
    cdef size_t base
    cdef vector[uint64_t] room
    cdef vector[double] gathered
    cdef vector[double] levels
    cdef vector[int32_t] counts
    cdef const double* query
    cdef int32_t* own
    n_levels_array = np.empty(last_query - first_query, dtype=np.intp)
    cdef Py_ssize_t[::1] n_levels = n_levels_array
    with nogil:
        for q in range(first_query, last_query):
            n = starts[q + 1] - starts[q]
            query = &grades[starts[q]]
            own = &codes[starts[q]]
            if order is not None:
                gathered.resize(max(n, <Py_ssize_t>gathered.size()))
                for i in range(n):
                    gathered[i] = grades[order[starts[q] + i]]
                query = gathered.data()
            top = code_grades(query, own, n, &room, &levels)
            if top < 0:
                is_good = False
                break
            n_levels[q - first_query] = top + 1
            base = counts.size()
            counts.resize(base + top + 1, 0)
            count_codes(own, n, top, counts.data() + base)
            n_unknown += n
            for i in range(top + 1):
                n_unknown -= counts[base + i]
    return array_of(levels), array_of_counts(counts), n_levels_array, n_unknown, is_good


cdef array_of(vector[double]& numbers):
    array = np.empty(numbers.size())
    cdef double[::1] out = array
    if numbers.size():
        memcpy(&out[0], numbers.data(), numbers.size() * sizeof(double))
    return array


cdef array_of_counts(vector[int32_t]& numbers):
    array = np.empty(numbers.size(), dtype=np.int32)
    cdef int32_t[::1] out = array
    if numbers.size():
        memcpy(&out[0], numbers.data(), numbers.size() * sizeof(int32_t))
    return array


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
