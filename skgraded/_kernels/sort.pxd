"""The part of `sort` that other kernels use; functions defined here are inlined there."""

from libc.stdint cimport uint64_t

cdef extern from "loops.h" nogil:
    uint64_t ordered_bits(double x)


cdef inline uint64_t position_mask(Py_ssize_t n) noexcept nogil:
    cdef uint64_t mask = 1
    while mask < <uint64_t>n:
        mask = 2 * mask + 1
    return mask


cdef void sort_in_place(uint64_t* keys, uint64_t* spare, Py_ssize_t n) noexcept nogil


cdef Py_ssize_t sort_top(
    uint64_t* keys, uint64_t* spare, Py_ssize_t n, Py_ssize_t k, uint64_t mask
) noexcept nogil


cdef void sort_exactly(
    uint64_t* keys, Py_ssize_t n, uint64_t mask, const double* x, double sign
) noexcept nogil


cdef inline Py_ssize_t exact_run(
    uint64_t* keys, Py_ssize_t start, Py_ssize_t n, uint64_t mask, const double* x, double sign
) noexcept nogil:
    """Sort the keys that share upper bits with the key at `start` exactly; return their end."""
    cdef uint64_t high = keys[start] & ~mask
    cdef double number = x[keys[start] & mask]
    cdef Py_ssize_t end = start + 1
    cdef bint differ = False
    while end < n and keys[end] & ~mask == high:
        differ |= x[keys[end] & mask] != number
        end += 1
    if differ:
        sort_exactly(keys + start, end - start, mask, x, sign)
    return end
