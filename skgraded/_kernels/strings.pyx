"""Hashing, numbering and copying of texts in memory, such as the memory of an Arrow column.

Text i occupies the addresses from `base + starts[i]` to `base + stops[i]`, without the latter. The
caller keeps the memory alive. For an Arrow column in one chunk, starts and stops are views of its
offsets, so that nothing is copied.
"""

cimport numpy as cnp
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from os import urandom

import numpy as np

from skgraded._kernels.arrays cimport array_of


cnp.import_array()

cdef uint64_t SEED = int.from_bytes(urandom(8), "little")  # seed of the hash tables in this process

cdef enum:
    AHEAD = 16  # rows between the prefetch of memory and its use
    BLOCK = 64  # rows whose places in the hash table are prefetched before they are used

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef extern from "loops.h" nogil:
    void have_near(const void* place)

cdef extern from "hashing.h" nogil:
    cdef cppclass Text:
        Text()
        Text(const uint8_t* bytes, int64_t length, uint64_t seed)
        uint64_t hash(uint64_t seed)
        bint equals(const Text& other)
    bint same_bytes(const uint8_t* text, const uint8_t* other, Py_ssize_t n)
    uint64_t hash_of_bytes(const uint8_t* data, Py_ssize_t n)
    void copy_bytes(uint8_t* copy, const uint8_t* data, Py_ssize_t n)

# A place of a hash table.
cdef struct Place:
    Text text
    Py_ssize_t number  # -1 marks an empty place


def hash_texts(uint64_t base, const uint64_t[::1] starts, const uint64_t[::1] stops):
    """Return a 64-bit key per text; equal texts have equal keys on every machine."""
    cdef Py_ssize_t row, n = starts.shape[0]
    keys_array = np.empty(n, dtype=np.uint64)
    cdef uint64_t[::1] keys = keys_array
    with nogil:
        for row in range(n):
            keys[row] = hash_of_bytes(
                <const uint8_t*>(base + starts[row]), <Py_ssize_t>(stops[row] - starts[row])
            )
    return keys_array


cdef inline size_t place_of_text(
    const vector[Place]& table, const Text& text, uint64_t hash_of_text
) noexcept nogil:
    """The place of the text in a table of 2^i places that is not full, or else a free place."""
    cdef size_t place = hash_of_text & (table.size() - 1)
    while table[place].number >= 0 and not table[place].text.equals(text):
        place = (place + 1) & (table.size() - 1)
    return place


cdef int widen_texts(vector[Place]& table) except -1 nogil:
    """Double the number of places in a table."""
    cdef vector[Place] wider
    cdef Place empty
    cdef size_t i
    empty.number = -1
    wider.resize(max(<size_t>1024, 2 * table.size()), empty)
    for i in range(table.size()):
        if table[i].number >= 0:
            wider[place_of_text(wider, table[i].text, table[i].text.hash(SEED))] = table[i]
    table.swap(wider)
    return 0


def number_texts(uint64_t base, const uint64_t[::1] starts, const uint64_t[::1] stops):
    """Number texts in order of first appearance.

    Returns the number of each text, the row where each number first appears, the count of each
    number, and whether the numbers never decrease.
    """
    cdef Py_ssize_t row, i, start = 0, end, number = -1, last = 0, n = starts.shape[0]
    cdef bint in_order = True
    cdef size_t place
    cdef vector[Place] table
    cdef Text[BLOCK] texts
    cdef uint64_t[BLOCK] hashes
    cdef bint[BLOCK] is_repeated  # whether the text equals the text of the previous row
    cdef const uint8_t* text
    cdef const uint8_t* before = NULL
    cdef int64_t length, length_before = -1
    cdef vector[Py_ssize_t] rows, counts
    codes_array = np.empty(n, dtype=np.intp)
    cdef Py_ssize_t[::1] codes = codes_array
    with nogil:
        while start < n:
            end = min(start + BLOCK, n)
            while 2 * (<Py_ssize_t>rows.size() + BLOCK) > <Py_ssize_t>table.size():
                widen_texts(table)
            for row in range(start, end):
                i = row - start
                text = <const uint8_t*>(base + starts[row])
                length = <int64_t>(stops[row] - starts[row])
                is_repeated[i] = length == length_before and same_bytes(text, before, length)
                before, length_before = text, length
                if not is_repeated[i]:
                    texts[i] = Text(text, length, SEED)
                    hashes[i] = texts[i].hash(SEED)
                    have_near(&table[hashes[i] & (table.size() - 1)])
            for row in range(start, end):
                i = row - start
                if not is_repeated[i]:
                    place = place_of_text(table, texts[i], hashes[i])
                    number = table[place].number
                    if number < 0:
                        number = table[place].number = <Py_ssize_t>rows.size()
                        table[place].text = texts[i]
                        rows.push_back(row)
                        counts.push_back(0)
                codes[row] = number
                counts[number] += 1
                in_order &= number >= last
                last = number
            start = end
    return (
        codes_array, array_of(rows.data(), rows.size(), cnp.NPY_INTP),
        array_of(counts.data(), counts.size(), cnp.NPY_INTP), in_order,
    )


def texts_at(
    uint64_t base, const uint64_t[::1] starts, const uint64_t[::1] stops, bint is_binary
):
    """Return texts, or bytes if `is_binary`, as an array of Python objects."""
    cdef Py_ssize_t row
    cdef bytes text
    objects = np.empty(starts.shape[0], dtype=object)
    for row in range(starts.shape[0]):
        text = (<const char*>(base + starts[row]))[:stops[row] - starts[row]]
        objects[row] = text if is_binary else text.decode("utf-8")
    return objects


def copy_texts(
    uint64_t base, const uint64_t[::1] starts, const uint64_t[::1] stops,
    const Py_ssize_t[::1] order,
):
    """Copy texts in the given order into one array; return their boundaries and this array."""
    cdef Py_ssize_t i, row, n = order.shape[0]
    ends_array = np.zeros(n + 1, dtype=np.int64)
    cdef int64_t[::1] ends = ends_array
    with nogil:
        for i in range(n):
            if i + AHEAD < n:
                have_near(&starts[order[i + AHEAD]])
                have_near(&stops[order[i + AHEAD]])
            row = order[i]
            ends[i + 1] = ends[i] + <int64_t>(stops[row] - starts[row])
    data_array = np.empty(ends[n], dtype=np.uint8)
    cdef uint8_t* data = <uint8_t*>cnp.PyArray_DATA(data_array)
    with nogil:
        for i in range(n):
            if i + 2 * AHEAD < n:
                have_near(&starts[order[i + 2 * AHEAD]])
            if i + AHEAD < n:
                have_near(<const void*>(base + starts[order[i + AHEAD]]))
            copy_bytes(
                data + ends[i], <const uint8_t*>(base + starts[order[i]]), ends[i + 1] - ends[i]
            )
    return ends_array, data_array


def utf8_of(cnp.ndarray objects):
    """Return starts and stops of the UTF-8 bytes of str objects.

    Returns None if an object is not a str or not valid Unicode.
    """
    cdef Py_ssize_t row, size, n = objects.shape[0]
    cdef PyObject** items = <PyObject**>cnp.PyArray_DATA(objects)
    starts_array = np.empty(n, dtype=np.uint64)
    stops_array = np.empty(n, dtype=np.uint64)
    cdef uint64_t[::1] starts = starts_array
    cdef uint64_t[::1] stops = stops_array
    for row in range(n):
        if row + AHEAD < n:
            have_near(items[row + AHEAD])
        text = <object>items[row]
        if type(text) is not str:
            return None
        try:
            starts[row] = <uint64_t>PyUnicode_AsUTF8AndSize(text, &size)
        except UnicodeEncodeError:  # half of a surrogate pair
            return None
        stops[row] = starts[row] + <uint64_t>size
    return starts_array, stops_array
