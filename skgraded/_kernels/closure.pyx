"""Transitive closure of preferences: acyclic graphs, closed for one block of items at a time.

No known algorithm counts the reachable items of all items in less than items × pairs steps. Here,
one word holds 64 items of a block, so that few passes over the pairs are enough.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

import numpy as np

cdef extern from "loops.h" nogil:
    int64_t count_common_bits(
        const uint64_t* one, const uint64_t* but_not, const uint64_t* other, Py_ssize_t n_words
    )

cpdef enum:
    ABOVE, BELOW


cdef struct Neighbors:
    vector[int32_t] starts  # where the neighbors of each item start in `items`, and the end
    vector[int32_t] items


cdef Neighbors neighbours_of(const int32_t[:, ::1] pairs, int side, Py_ssize_t n):
    """For each item at `side` of a pair, the items at the other side."""
    cdef Neighbors found
    cdef Py_ssize_t i
    cdef vector[int32_t] place
    found.starts.assign(n + 1, 0)
    found.items.resize(pairs.shape[0])
    for i in range(pairs.shape[0]):
        found.starts[pairs[i, side] + 1] += 1
    for i in range(n):
        found.starts[i + 1] += found.starts[i]
    place = found.starts
    for i in range(pairs.shape[0]):
        found.items[place[pairs[i, side]]] = pairs[i, 1 - side]
        place[pairs[i, side]] += 1
    return found


cdef class Graph:
    """A graph of the items 0 to n-1 and distinct pairs (preferred, other).

    `has_cycle` is whether the pairs contain a cycle; if so, no method may be called.
    """

    cdef Neighbors above, below
    cdef vector[int32_t] order  # each item follows all items preferred to it
    cdef readonly Py_ssize_t n
    cdef readonly bint has_cycle

    def __init__(self, Py_ssize_t n, const int32_t[:, ::1] pairs):
        cdef Py_ssize_t i, j
        cdef int32_t v
        cdef vector[int32_t] waiting_for
        self.n = n
        self.above, self.below = neighbours_of(pairs, 1, n), neighbours_of(pairs, 0, n)
        self.order.reserve(n)
        for i in range(n):
            waiting_for.push_back(self.above.starts[i + 1] - self.above.starts[i])
            if waiting_for[i] == 0:
                self.order.push_back(<int32_t>i)
        i = 0
        while i < <Py_ssize_t>self.order.size():
            v = self.order[i]
            for j in range(self.below.starts[v], self.below.starts[v + 1]):
                waiting_for[self.below.items[j]] -= 1
                if waiting_for[self.below.items[j]] == 0:
                    self.order.push_back(self.below.items[j])
            i += 1
        self.has_cycle = i < n

    def depths(self, const uint8_t[::1] counted):
        """Largest number of `counted` items on a path that ends at each item, including itself."""
        cdef int32_t[::1] depth = np.zeros(self.n, dtype=np.int32)
        cdef Py_ssize_t i, j
        cdef int32_t v, deepest
        for i in range(self.n):
            v, deepest = self.order[i], 0
            for j in range(self.above.starts[v], self.above.starts[v + 1]):
                deepest = max(deepest, depth[self.above.items[j]])
            depth[v] = deepest + counted[v]
        return np.asarray(depth)

    def reach(
        self, int side, const int32_t[::1] number, Py_ssize_t first, Py_ssize_t size,
        uint64_t[:, ::1] bits, uint8_t[::1] reached,
    ):
        """Find the items of a block that are on one side of each item, including itself.

        The block contains at most `size` items with numbers from `first`; bit 0 is for the first.
        A row of `bits` is written only if the item is `reached`.
        """
        cdef Neighbors* near = &self.above if side == ABOVE else &self.below
        cdef Py_ssize_t i, j, k, bit, n_words = bits.shape[1]
        cdef int32_t v, u
        with nogil:
            for i in range(self.n):
                v = self.order[i if side == ABOVE else self.n - 1 - i]
                bit = number[v] - first
                reached[v] = 0 <= bit < size
                if reached[v]:
                    memset(&bits[v, 0], 0, n_words * sizeof(uint64_t))
                    bits[v, bit >> 6] = <uint64_t>1 << (bit & 63)
                for j in range(near.starts[v], near.starts[v + 1]):
                    u = near.items[j]
                    if not reached[u]:
                        continue
                    if reached[v]:
                        for k in range(n_words):
                            bits[v, k] |= bits[u, k]
                    else:
                        memcpy(&bits[v, 0], &bits[u, 0], n_words * sizeof(uint64_t))
                        reached[v] = True


def count_block(
    const int32_t[::1] rows, above, below, said_above, said_below, int64_t[:, ::1] counts
):
    """Add the items of a block below each row to `counts`, then agreements and disagreements.

    Each side is a table of bits with the row of each item in it, or -1 for items without a row.
    """
    cdef const uint64_t[:, ::1] a = above[0], b = below[0], sa = said_above[0], sb = said_below[0]
    cdef const int32_t[::1] in_a = above[1], in_b = below[1]
    cdef const int32_t[::1] in_sa = said_above[1], in_sb = said_below[1]
    cdef Py_ssize_t i, n_words = a.shape[1]
    cdef int32_t v
    cdef vector[uint64_t] none = vector[uint64_t](n_words, 0)
    cdef const uint64_t* worse
    with nogil:
        for i in range(rows.shape[0]):
            v = rows[i]
            worse = &b[in_b[v], 0] if in_b[v] >= 0 else none.data()
            counts[0, i] += count_common_bits(worse, none.data(), worse, n_words)
            if in_a[v] >= 0 and in_sa[v] >= 0:
                counts[1, i] += count_common_bits(&a[in_a[v], 0], worse, &sa[in_sa[v], 0], n_words)
            if in_a[v] >= 0 and in_sb[v] >= 0:
                counts[2, i] += count_common_bits(&a[in_a[v], 0], worse, &sb[in_sb[v], 0], n_words)
