"""Sorting of keys, of the top k keys, and of numbers that share the same key bits.

A key contains the upper bits of a number and, below them, its position in the query. Integers are
therefore sorted without moving other data, by NumPy's sort, which uses vector instructions.
"""

from libc.math cimport sqrt
from libc.stdint cimport uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    static int load_numpy(void) {
        import_array1(-1);
        return 0;
    }
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
    int load_numpy() except -1

load_numpy()
cdef numpy_sort by_numpy = numpy_sort_of_keys()

cdef enum:
    SMALL = 16  # keys; up to this number, counting ranks is faster

cdef double MOST_OF_ALL = 0.4  # with a larger sample, sorting all keys is as fast


cdef void rank_sort(const uint64_t* source, uint64_t* out, Py_ssize_t n) noexcept nogil:
    """Sort up to SMALL distinct keys by counting the smaller keys of each key."""
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


cdef void sort_in_place(uint64_t* keys, uint64_t* spare, Py_ssize_t n) noexcept nogil:
    if n > SMALL:
        by_numpy(keys, n, NULL)
    else:
        memcpy(spare, keys, n * sizeof(uint64_t))
        rank_sort(spare, keys, n)


cdef Py_ssize_t sort_top(
    uint64_t* keys, uint64_t* spare, Py_ssize_t n, Py_ssize_t k, uint64_t mask
) noexcept nogil:
    """Sort the k smallest of n keys, and all keys that tie with the k-th, to the front.

    Keys tie if they have the same upper bits. Returns how many keys are sorted.

    The k-th key of a sample is no smaller than the k-th of all keys, so larger keys are dropped.
    With a sample of √(nk) keys, about as many keys are left.
    """
    cdef Py_ssize_t i, m = 0, size = <Py_ssize_t>sqrt(<double>n * k)
    cdef uint64_t key, limit
    if size > n * MOST_OF_ALL:
        sort_in_place(keys, spare, n)
        return n
    for i in range(size):
        spare[i] = keys[i * (n // size)]
    sort_in_place(spare, spare + size, size)
    limit = spare[k - 1] | mask
    for i in range(n):  # without a branch
        key = keys[i]
        keys[m] = key
        m += key <= limit
    sort_in_place(keys, spare, m)
    return m


cdef void sort_exactly(
    uint64_t* keys, Py_ssize_t n, uint64_t mask, const double* x, double sign
) noexcept nogil:
    """Sort a run of keys with the same upper bits by the numbers themselves, then by position."""
    cdef vector[pair[uint64_t, uint64_t]] run
    cdef Py_ssize_t i
    run.resize(n)
    for i in range(n):
        run[i].first = ordered_bits(sign * x[keys[i] & mask])
        run[i].second = keys[i]
    sort(run.begin(), run.end())
    for i in range(n):
        keys[i] = run[i].second
