"""Exact sums of floats and of their products, as integers.

A float is a whole multiple of 2^-1074, and a product of two floats is a multiple of 2^-2148. A sum
is stored in 64-bit places, each of which is worth 2^32 times the previous place (Neal 2015, "Fast
exact summation using small and large superaccumulators"), so carries are rarely needed.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    PLACES = 136  # of 32 bits: 2 · (2046 + 53) bits for the largest product, plus carries of sums
    AT_ONCE = 1 << 24  # numbers that can be added without overflow of a place


cdef inline void add_whole(
    int64_t* places, uint64_t whole, int position, int64_t sign
) noexcept nogil:
    """Add sign · whole · 2^position."""
    cdef int64_t* at = places + (position >> 5)
    cdef int shift = position & 31
    cdef uint64_t lower = (whole & 0xFFFFFFFFu) << shift
    cdef uint64_t upper = (whole >> 32) << shift
    at[0] += sign * <int64_t>(lower & 0xFFFFFFFFu)
    at[1] += sign * <int64_t>((lower >> 32) + (upper & 0xFFFFFFFFu))
    at[2] += sign * <int64_t>(upper >> 32)


cdef inline uint64_t whole_of(uint64_t bits) noexcept nogil:
    """The mantissa of a float as an integer, without sign and exponent."""
    return (bits & 0xFFFFFFFFFFFFFu) | (<uint64_t>((bits << 1) >> 53 > 0) << 52)


cdef inline int position_of(uint64_t bits) noexcept nogil:
    """The exponent of 2 that multiplies the mantissa, in units of 2^-1074; 2046 if not finite."""
    cdef int exponent = <int>((bits << 1) >> 53)
    return exponent - 1 if exponent else 0


cdef sum_of(const int64_t* places):
    """The sum of all places, as a Python integer."""
    cdef int i, first = 0, last = PLACES - 1
    while last > 0 and not places[last]:
        last -= 1
    while first < last and not places[first]:
        first += 1
    found = 0
    for i in range(last, first - 1, -1):
        found = (found << 32) + places[i]
    return found << (32 * first)


def whole_dot(const double[::1] x, const double[::1] y):
    """Σ x y / 2^-2148 of finite numbers; an OverflowError if a number is not finite."""
    cdef int64_t[PLACES] places
    cdef uint64_t a, b, a_upper, a_lower, b_upper, b_lower
    cdef int64_t sign
    cdef int position
    cdef Py_ssize_t i, first, n = x.shape[0]
    cdef bint is_finite = True
    if y.shape[0] != n:
        raise ValueError(f"there are {n} and {y.shape[0]} numbers")
    found = 0
    for first in range(0, n, AT_ONCE):
        with nogil:
            memset(places, 0, sizeof(places))
            for i in range(first, min(n, first + AT_ONCE)):
                memcpy(&a, &x[i], 8)
                memcpy(&b, &y[i], 8)
                is_finite &= position_of(a) < 2046 and position_of(b) < 2046
                position = position_of(a) + position_of(b)
                sign = 1 - 2 * <int64_t>((a ^ b) >> 63)
                a, b = whole_of(a), whole_of(b)
                a_upper, a_lower = a >> 32, a & 0xFFFFFFFFu
                b_upper, b_lower = b >> 32, b & 0xFFFFFFFFu
                if b_lower:  # b_lower is 0 in a plain sum, where y is 1
                    add_whole(places, a_lower * b_lower, position, sign)
                add_whole(places, a_upper * b_lower + a_lower * b_upper, position + 32, sign)
                add_whole(places, a_upper * b_upper, position + 64, sign)
        if not is_finite:
            raise OverflowError("there is no exact sum of numbers that are not finite")
        found += sum_of(places)
    return found
