# distutils: language = c++
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
# cython: initializedcheck=False
"""Hashing and numbering of texts in the memory of an Arrow column.

The bytes of text i begin at the address `addresses[i]`, and their number is `lengths[i]`. The
caller keeps the memory alive.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

import numpy as np


cnp.import_array()

cdef enum:
    AHEAD = 16  # rows between the prefetch of memory and its use

cdef extern from "loops.h" nogil:
    void have_near(const void* place)

cdef extern from "hashing.h" nogil:
    bint are_equal(const uint8_t* text, const uint8_t* other, Py_ssize_t n)
    uint64_t hash_of_bytes(const uint8_t* data, Py_ssize_t n)

# A place of a hash table.
cdef struct Place:
    uint64_t key
    Py_ssize_t number  # -1 marks an empty place
    uint64_t address  # of the first text with this number
    int64_t length


def hash_texts(const uint64_t[::1] addresses, const int64_t[::1] lengths):
    """Return a 64-bit key per text; equal texts have equal keys on every machine."""
    cdef Py_ssize_t row, n = lengths.shape[0]
    keys_array = np.empty(n, dtype=np.uint64)
    cdef uint64_t[::1] keys = keys_array
    with nogil:
        for row in range(n):
            keys[row] = hash_of_bytes(<const uint8_t*>addresses[row], lengths[row])
    return keys_array


cdef int widen(vector[Place]& table) except -1 nogil:
    """Double the number of places in a table of 2^i places."""
    cdef vector[Place] wider
    cdef Place empty
    cdef size_t i, at
    empty.key = empty.address = 0
    empty.number = -1
    empty.length = 0
    wider.resize(max(<size_t>1024, 2 * table.size()), empty)
    for i in range(table.size()):
        if table[i].number >= 0:
            at = table[i].key & (wider.size() - 1)
            while wider[at].number >= 0:
                at = (at + 1) & (wider.size() - 1)
            wider[at] = table[i]
    table.swap(wider)
    return 0


cdef inline bint holds(
    const Place& place, uint64_t key, uint64_t address, int64_t length
) noexcept nogil:
    """Whether a place of the table contains the text."""
    return place.key == key and place.length == length and (
        are_equal(<const uint8_t*>place.address, <const uint8_t*>address, length)
    )


def number_texts(const uint64_t[::1] addresses, const int64_t[::1] lengths, bint is_binary):
    """Number texts, or bytes if `is_binary`, in order of first appearance.

    Returns the number of each text and a list of the distinct texts.
    """
    cdef Py_ssize_t row, n = lengths.shape[0], n_distinct = 0
    cdef size_t at = 0
    cdef vector[Place] table
    cdef const uint64_t[::1] keys = hash_texts(addresses, lengths)
    codes_array = np.empty(n, dtype=np.intp)
    cdef Py_ssize_t[::1] codes = codes_array
    cdef vector[Py_ssize_t] rows  # of the first text with each number
    cdef bytes text
    with nogil:
        for row in range(n):
            if 2 * n_distinct >= <Py_ssize_t>table.size():
                widen(table)
                at = 0
            if row + AHEAD < n:
                have_near(&table[keys[row + AHEAD] & (table.size() - 1)])
                have_near(<const void*>table[keys[row + AHEAD // 2] & (table.size() - 1)].address)
            if not holds(table[at], keys[row], addresses[row], lengths[row]):  # the previous row's
                at = keys[row] & (table.size() - 1)
                while table[at].number >= 0 and not holds(
                    table[at], keys[row], addresses[row], lengths[row]
                ):
                    at = (at + 1) & (table.size() - 1)
            if table[at].number < 0:
                table[at].key = keys[row]
                table[at].number = n_distinct
                table[at].address = addresses[row]
                table[at].length = lengths[row]
                rows.push_back(row)
                n_distinct += 1
            codes[row] = table[at].number
    distinct = []
    for row in rows:
        text = (<const char*>addresses[row])[:lengths[row]]
        distinct.append(text if is_binary else text.decode("utf-8"))
    return codes_array, distinct
