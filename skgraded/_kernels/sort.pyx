# distutils: language = c++
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Sorting of keys, of the top k of them, and of the numbers that the keys cannot tell apart.

A key holds a number's upper bits and, below them, its position in the query, so that integers
are sorted and nothing is carried along. Merges take their smaller head without a branch, since
mispredicted branches are what a sort of some hundred scores spends its time on.
"""

cimport numpy as cnp
from libc.stdint cimport uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport nth_element, sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

import numpy as np

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    typedef int (*numpy_sort)(void*, npy_intp, void*);
    static numpy_sort numpy_sort_of_keys() {
        PyArray_Descr* descr = PyArray_DescrFromType(NPY_UINT64);
        numpy_sort found = PyDataType_GetArrFuncs(descr)->sort[NPY_QUICKSORT];
        Py_DECREF(descr);
        return found;
    }
    """
    ctypedef int (*numpy_sort)(void*, Py_ssize_t, void*) noexcept nogil
    numpy_sort numpy_sort_of_keys()

cnp.import_array()
cdef numpy_sort by_numpy = NULL  # or NumPy's sort, where that is the faster
cdef Py_ssize_t whole_up_to = 0  # keys that are sorted in less time than the top k are found

OWN, VECTORS, LONG_VECTORS = "own", "numpy", "numpy, AVX-512"


def use(name):
    """Sort by OWN code, or by NumPy's for VECTORS or LONG_VECTORS; returns what it was.

    Keys are distinct, so that nothing but time depends on it.
    """
    global by_numpy, whole_up_to
    before = OWN if by_numpy == NULL else LONG_VECTORS if whole_up_to else VECTORS
    by_numpy = numpy_sort_of_keys()
    if name == OWN:
        by_numpy = NULL
    whole_up_to = 512 if name == LONG_VECTORS else 0
    return before


def fastest():
    """The fastest sort for this processor, by the vectors that NumPy says it has found."""
    found = np.show_config(mode="dicts")["SIMD Extensions"]
    features = {*found.get("baseline", ()), *found.get("found", ())}
    if features & {"AVX512_SKX", "X86_V4"}:
        return LONG_VECTORS
    # NumPy 1 sorts by no shorter vectors.
    if features & {"AVX2", "X86_V3", "ASIMD"} and int(np.__version__.partition(".")[0]) >= 2:
        return VECTORS
    return OWN


use(fastest())

cdef enum:
    SMALL = 16      # runs that are sorted by counting ranks
    FEW_RANKS = 32  # up to here the top k are found by insertion


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
        merge_sort(source, out, half)
        merge_sort(source + half, out + half, n - half)
        merge(source, n, out)


cdef bint is_whole(Py_ssize_t n, Py_ssize_t depth) noexcept nogil:
    """Whether all of n keys are sorted in less time than the top of them are found."""
    return 2 * depth >= n or n <= whole_up_to


cdef void sort_in_place(uint64_t* keys, uint64_t* spare, Py_ssize_t n) noexcept nogil:
    if by_numpy != NULL and n > SMALL:
        by_numpy(keys, n, NULL)
    else:
        merge_sort(keys, spare, n)


cdef void merge_sort(uint64_t* keys, uint64_t* spare, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t half = n // 2
    if n <= SMALL:
        memcpy(spare, keys, n * sizeof(uint64_t))
        rank_sort(spare, keys, n)
    else:
        sort_to(keys, spare, half)
        sort_to(keys + half, spare + half, n - half)
        merge(spare, n, keys)


cdef Py_ssize_t top_keys(
    uint64_t* keys, uint64_t* spare, Py_ssize_t n, Py_ssize_t k, uint64_t mask
) noexcept nogil:
    """Sort the k smallest of n > k keys, and all that tie with the k-th, to the front.

    To tie means here to have the same upper bits. Returns how many they are.
    """
    cdef uint64_t* top = spare
    cdef Py_ssize_t i, j, m = 0
    cdef uint64_t key, limit, worst
    if k > FEW_RANKS:
        memcpy(spare, keys, n * sizeof(uint64_t))
        nth_element(spare, spare + k - 1, spare + n)
        limit = spare[k - 1] | mask
    else:
        # One more than k are kept: if that one does not tie with the k-th, no other does.
        memcpy(top, keys, (k + 1) * sizeof(uint64_t))
        sort_in_place(top, top + k + 1, k + 1)
        worst = top[k]
        for i in range(k + 1, n):
            key = keys[i]
            if key < worst:
                j = k
                while j > 0 and top[j - 1] > key:
                    top[j] = top[j - 1]
                    j -= 1
                top[j] = key
                worst = top[k]
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
