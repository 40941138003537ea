"""Layout of judgments: numbered queries, grades coded by level, tables of one number per level.

Each document of a query has a *code*: 0 for grade 0, and 1, 2, … in ascending order for the grades
> 0 that the query uses. Each code of a query is one of its *levels*.
"""

cimport numpy as cnp
from libc.math cimport INFINITY, exp2, expm1, isnan, log
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from os import urandom

import numpy as np

from skgraded._kernels.arrays cimport array_of
from skgraded._kernels.sort cimport exact_run, ordered_bits, position_mask, sort_in_place


cnp.import_array()

# Random and odd, so that nobody can construct ids that share a place of the hash table.
cdef uint64_t FACTOR = int.from_bytes(urandom(8), "little") | 1

cdef enum:
    MANY = 1000  # rows; enough to recognize ids that differ in most rows or span a wide range
    AHEAD = 16  # rows between the prefetch of a place in a large table and its use

cdef double SMALL_TOP = 1e-200  # results may lose digits if the highest grade is below this value
cdef double LN2 = log(2.0)

cdef extern from "loops.h" nogil:
    void have_near(const void* place)
    void gather(
        const double* numbers, const Py_ssize_t* order, Py_ssize_t n, Py_ssize_t n_all,
        double* gathered
    )
    uint64_t bits_of_grades(const double* grades, Py_ssize_t n)
    void whole_grades_to_codes(const double* grades, int32_t* codes, Py_ssize_t n)
    void recode(int32_t* codes, const int32_t* code_of, Py_ssize_t n)
    void count_codes(const int32_t* codes, Py_ssize_t n, int32_t top, int32_t* counts)

cdef extern from "hashing.h" nogil:
    uint64_t mixed_bits(uint64_t bits)


# Numbering the queries --------------------------------------------------------------------------

# A whole value and its number; -1 marks an empty place.
ctypedef pair[size_t, Py_ssize_t] numbered


cdef inline size_t home_of(const vector[numbered]& table, size_t value) noexcept nogil:
    """The place of the value in a table of 2^i places, unless another value occupies it."""
    cdef uint64_t bits = value * FACTOR
    return ((bits ^ (bits >> 32)) * <uint64_t>0x9E3779B97F4A7C15 >> 24) & (table.size() - 1)


cdef inline size_t place_of_number(const vector[numbered]& table, size_t value) noexcept nogil:
    """The place of the value in a table that is not full, or else its first free place."""
    cdef size_t place = home_of(table, value)
    while table[place].second >= 0 and table[place].first != value:
        place = (place + 1) & (table.size() - 1)
    return place


cdef int widen_numbers(vector[numbered]& table) except -1 nogil:
    """Double the number of places in a table."""
    cdef vector[numbered] wider
    cdef size_t i
    wider.resize(max(<size_t>1024, 2 * table.size()), numbered(0, -1))
    for i in range(table.size()):
        if table[i].second >= 0:
            wider[place_of_number(wider, table[i].first)] = table[i]
    table.swap(wider)
    return 0


def number_by_appearance(const Py_ssize_t[::1] values):
    """Number whole values in order of first appearance.

    Uses a lookup table, or a hash table if the values span a wide range. Returns the number of each
    value, the row where each number first appears, the count of each number, and whether the
    numbers never decrease.
    """
    cdef Py_ssize_t row, number, last = 0, n = values.shape[0]
    cdef Py_ssize_t low = values[0], high = values[0]
    cdef bint in_order = True
    cdef size_t at, span  # unsigned, because the difference of two values may overflow
    cdef vector[Py_ssize_t] number_of, rows, counts
    cdef vector[numbered] table
    cdef size_t place
    codes_array = np.empty(n, dtype=np.intp)
    cdef Py_ssize_t[::1] codes = codes_array
    with nogil:
        for row in range(n):
            low = min(low, values[row])
            high = max(high, values[row])
        span = <size_t>high - <size_t>low
        if span < <size_t>(4 * n + MANY):
            number_of.assign(span + 1, -1)
        for row in range(n):
            if number_of.size() > 0:
                at = <size_t>values[row] - <size_t>low
                number = number_of[at]
                if number < 0:
                    number = number_of[at] = <Py_ssize_t>rows.size()
            elif row > 0 and values[row] == values[row - 1]:
                number = last
            else:
                if 2 * rows.size() >= table.size():
                    widen_numbers(table)
                if row + AHEAD < n:
                    have_near(&table[home_of(table, <size_t>values[row + AHEAD])])
                place = place_of_number(table, <size_t>values[row])
                number = table[place].second
                if number < 0:
                    number = <Py_ssize_t>rows.size()
                    table[place] = numbered(<size_t>values[row], number)
            if number == <Py_ssize_t>rows.size():
                rows.push_back(row)
                counts.push_back(0)
            codes[row] = number
            counts[number] += 1
            in_order &= number >= last
            last = number
    return (
        codes_array, array_of(rows.data(), rows.size(), cnp.NPY_INTP),
        array_of(counts.data(), counts.size(), cnp.NPY_INTP), in_order,
    )


def starts_of(const Py_ssize_t[::1] sizes):
    """The start of each of several consecutive blocks of rows, followed by the end of the last."""
    cdef Py_ssize_t i
    starts_array = np.empty(sizes.shape[0] + 1, dtype=np.intp)
    cdef Py_ssize_t[::1] starts = starts_array
    starts[0] = 0
    for i in range(sizes.shape[0]):
        starts[i + 1] = starts[i] + sizes[i]
    return starts_array


def order_by_code(const Py_ssize_t[::1] codes, const Py_ssize_t[::1] starts):
    """Row positions sorted by code, in row order within a code; code i begins at `starts[i]`."""
    cdef Py_ssize_t row
    cdef vector[Py_ssize_t] at
    order_array = np.empty(codes.shape[0], dtype=np.intp)
    cdef Py_ssize_t[::1] order = order_array
    with nogil:
        at.assign(&starts[0], &starts[0] + starts.shape[0])
        for row in range(codes.shape[0]):
            if row + AHEAD < codes.shape[0]:
                have_near(&order[at[codes[row + AHEAD]]])
            order[at[codes[row]]] = row
            at[codes[row]] += 1
    return order_array


def order_by_hash(const uint64_t[::1] values, Py_ssize_t n):
    """Row positions sorted into n pieces, and piece sizes; equal values are in the same piece."""
    cdef Py_ssize_t row
    pieces_array = np.empty(values.shape[0], dtype=np.intp)
    sizes_array = np.zeros(n, dtype=np.intp)
    cdef Py_ssize_t[::1] pieces = pieces_array, sizes = sizes_array
    with nogil:
        for row in range(values.shape[0]):
            pieces[row] = ((mixed_bits(values[row]) >> 32) * <uint64_t>n) >> 32
            sizes[pieces[row]] += 1
    return order_by_code(pieces_array, starts_of(sizes_array)), sizes_array


def heads_of_runs(values):
    """Positions of the first row and of all rows whose 8 bytes differ from the previous row.

    None if there are hardly any runs, that is, if about every second row differs.
    """
    cdef cnp.ndarray array = np.ascontiguousarray(values)
    cdef const uint64_t* words = <const uint64_t*>cnp.PyArray_DATA(array)
    cdef Py_ssize_t row, n = array.shape[0]
    cdef bint has_runs = True
    cdef vector[Py_ssize_t] heads
    with nogil:
        heads.push_back(0)
        for row in range(1, n):
            if words[row] != words[row - 1]:
                heads.push_back(row)
                if 2 * <Py_ssize_t>heads.size() > row + MANY:
                    has_runs = False
                    break
    return array_of(heads.data(), heads.size(), cnp.NPY_INTP) if has_runs else None


# Coding the grades -----------------------------------------------------------------------------

cdef int32_t code_any_grades(
    const double* grades, int32_t* codes, Py_ssize_t n, uint64_t* keys, vector[double]* levels
) noexcept nogil:
    """Codes and levels of any grades, from sorting; -1 if a grade is negative or infinite."""
    cdef uint64_t mask = position_mask(n)
    cdef Py_ssize_t i, end, m = 0, start = 0
    cdef int32_t code = 0
    cdef double last = 0.0
    for i in range(n):
        codes[i] = -1
        if not isnan(grades[i]):
            if not 0 <= grades[i] < INFINITY:
                return -1
            keys[m] = (ordered_bits(grades[i]) & ~mask) | <uint64_t>i
            m += 1
    sort_in_place(keys, keys + n, m)
    if levels.capacity() < levels.size() + m:
        levels.reserve(2 * (levels.size() + m))
    while start < m:
        end = exact_run(keys, start, m, mask, grades, 1.0)
        for i in range(start, end):
            if grades[keys[i] & mask] > last:
                last = grades[keys[i] & mask]
                levels.push_back(last)
                code += 1
            codes[keys[i] & mask] = code
        start = end
    return code


cdef int32_t code_whole_grades(
    const double* grades, int32_t* codes, Py_ssize_t n, int32_t highest,
    vector[double]* levels, vector[int32_t]* counts,
) noexcept nogil:
    """Codes and levels of whole grades up to `highest`, which is below 64."""
    cdef int32_t[64] code_of
    cdef int32_t[64] of_grade
    cdef int32_t g, code = 0
    cdef bint has_gaps = False
    memset(of_grade, 0, sizeof(of_grade))
    whole_grades_to_codes(grades, codes, n)
    count_codes(codes, n, highest, of_grade)
    code_of[0] = 0
    counts.push_back(of_grade[0])
    for g in range(1, highest + 1):
        if of_grade[g] > 0:
            code += 1
            has_gaps |= code < g
            levels.push_back(g)
            counts.push_back(of_grade[g])
        code_of[g] = code
    if has_gaps:
        recode(codes, code_of, n)
    return code


cdef int32_t code_grades(
    const double* grades, int32_t* codes, Py_ssize_t n, uint64_t* room, vector[double]* levels,
    vector[int32_t]* counts,
) noexcept nogil:
    """Write the codes of one query's grades, -1 for NaN; append its levels and their counts.

    Returns the largest code, or -1 if a grade is negative or infinite.
    """
    cdef uint64_t bits = bits_of_grades(grades, n)
    cdef int32_t top
    cdef size_t base = counts.size()
    levels.push_back(0.0)
    if bits < 64:
        return code_whole_grades(grades, codes, n, <int32_t>bits, levels, counts)
    top = code_any_grades(grades, codes, n, room, levels)
    if top >= 0:
        counts.resize(base + top + 1, 0)
        count_codes(codes, n, top, counts.data() + base)
    return top


def lay_out(
    const double[::1] grades, const Py_ssize_t[::1] order, const Py_ssize_t[::1] starts,
    int32_t[::1] codes, Py_ssize_t first_query, Py_ssize_t last_query,
):
    """Lay out the grades of queries first..last-1: write `codes`, and find the levels.

    `order` contains row positions sorted by query, or is None if the rows are already sorted;
    `starts` is where the queries begin in it. Codes are in this order; -1 marks NaN grades. Returns
    the grade and the number of documents of each level (including grade 0) of each query, the
    number of levels of each query, the number of NaN grades, and whether all other grades are
    finite and ≥ 0. If they are not, the other results are invalid.
    """
    cdef Py_ssize_t q, i, n, n_unknown = 0
    cdef int32_t top
    cdef bint is_good = True
    cdef size_t base
    cdef vector[double] gathered, levels
    cdef vector[int32_t] counts
    cdef const double* query
    cdef int32_t* own
    n_levels_array = np.empty(last_query - first_query, dtype=np.intp)
    cdef Py_ssize_t[::1] n_levels = n_levels_array
    n = 0
    for q in range(first_query, last_query):
        n = max(n, starts[q + 1] - starts[q])
    cdef cnp.ndarray room_array = np.empty(2 * n, dtype=np.uint64)  # unused for whole grades
    cdef uint64_t* room = <uint64_t*>cnp.PyArray_DATA(room_array)
    # Reserve some levels per query: unused memory is never touched, and growth moves less data.
    levels.reserve(min(8 * (last_query - first_query), starts[last_query] - starts[first_query]))
    counts.reserve(levels.capacity())
    with nogil:
        for q in range(first_query, last_query):
            n = starts[q + 1] - starts[q]
            query = &grades[starts[q]]
            own = &codes[starts[q]]
            if order is not None:
                gathered.resize(max(n, <Py_ssize_t>gathered.size()))
                gather(
                    &grades[0], &order[starts[q]], n, starts[last_query] - starts[q],
                    gathered.data(),
                )
                query = gathered.data()
            base = counts.size()
            top = code_grades(query, own, n, room, &levels, &counts)
            if top < 0:
                is_good = False
                break
            n_levels[q - first_query] = top + 1
            n_unknown += n
            for i in range(top + 1):
                n_unknown -= counts[base + i]
    return (
        array_of(levels.data(), levels.size(), cnp.NPY_DOUBLE),
        array_of(counts.data(), counts.size(), cnp.NPY_INT32), n_levels_array, n_unknown, is_good,
    )


# Tables of one number per level ----------------------------------------------------------------

def divide_by_query(
    const double[::1] per_level, const double[::1] per_query, const Py_ssize_t[::1] level_starts
):
    """Divide the numbers of each query's levels by the number of the query, or by 1 if it is 0."""
    cdef Py_ssize_t q, i
    cdef double divisor
    quotients_array = np.empty(per_level.shape[0])
    cdef double[::1] quotients = quotients_array
    with nogil:
        for q in range(per_query.shape[0]):
            divisor = per_query[q] if per_query[q] > 0 else 1.0
            for i in range(level_starts[q], level_starts[q + 1]):
                quotients[i] = per_level[i] / divisor
    return quotients_array


def relative_exp2_gains(const double[::1] grades, const Py_ssize_t[::1] level_starts):
    """Divide the gains 2^g - 1 by the top gain of each query; 0 where the top gain is 0.

    With top grade G, (2^g - 1) / (2^G - 1) = 2^(g - G) · expm1(-g ln 2) / expm1(-G ln 2). This form
    is accurate for grades from 1e-300 to 900. A gain may underflow to 0 if G is very large.
    """
    cdef Py_ssize_t q, i
    cdef double top, scale, of_top, grade
    gains_array = np.zeros(grades.shape[0])
    cdef double[::1] gains = gains_array
    with nogil:
        for q in range(level_starts.shape[0] - 1):
            top = grades[level_starts[q + 1] - 1]
            # For such small g, 2^g - 1 is proportional to g up to rounding, so scaling is harmless.
            scale = 2.0**600 if top < SMALL_TOP else 1.0
            top *= scale
            of_top = expm1(-LN2 * top)
            for i in range(level_starts[q], level_starts[q + 1]):
                grade = grades[i] * scale
                if grade > 0.0:
                    gains[i] = expm1(-LN2 * grade) / of_top * exp2(grade - top)
    return gains_array


def level_weights(
    const double[::1] levels, const int32_t[::1] counts, const Py_ssize_t[::1] level_starts,
    Py_ssize_t k,
):
    """W(v) = Σ_{t_i ≤ v} d_i / min(R_{t_i}, k) / Σ d_i for each level of each query.

    Grades are divided by the top grade of the query, so that the d_i add up to 1.
    """
    cdef Py_ssize_t q, i, relevant, n_queries = level_starts.shape[0] - 1
    cdef double top
    weights_array = np.zeros(levels.shape[0])
    cdef double[::1] weights = weights_array
    with nogil:
        for q in range(n_queries):
            top = levels[level_starts[q + 1] - 1]
            relevant = 0
            # Compute R_t from the top level down, then the running sum from the bottom level up.
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
    """Σ_p discount(p) · value over the ideal order of each query, to the depth of `discount`."""
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
    """Σ_{p≤n} discount(p) · value over the ideal order of each query; n = 1..N, one per row."""
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

    The gain at position p counts for every n ≥ p, so its discount is
    discount(p) · (1/N) Σ_{n≥p} 1 / ideal DCG@n. Each query has N numbers; the number is 0 where the
    ideal DCG, from `ideal_by_rank`, is 0.
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
