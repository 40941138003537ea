"""Millions of texts, such as ids of documents, in few arrays: as objects they fill the memory."""

import numpy as np

from skgraded._input.words import object_array
from skgraded.datasets._words import are_same, hashes, joined

ROWS = 1 << 20  # that are compared at a time
LETTERS = 1 << 22  # that become objects at a time


class Texts:
    """Texts like an array of objects, without the objects.

    `hashes` has one of each: texts with other hashes are others, `same` tells those with the same.
    """

    def __init__(self, letters, bounds, hashes):
        self._letters = letters  # UTF-8, a zero byte after each text, some more at the end
        self._bounds = bounds  # where these zero bytes are, -1 before the first
        self.hashes = hashes

    def __len__(self):
        return len(self.hashes)

    def __getitem__(self, row):
        """The text of a row, or an array of those of rows or a slice."""
        if isinstance(row, slice):
            row = np.arange(*row.indices(len(self)))
        if np.ndim(row):
            starts, ends = self._places(np.asarray(row))
            places = zip(starts.tolist(), ends.tolist(), strict=True)
            return object_array([self._letters[start:end].decode() for start, end in places])
        return self[[row]][0]

    def take(self, rows):
        """Texts of some rows, in order."""
        starts, ends = self._places(rows)
        letters = joined(self._letters, starts, ends, "\0") + bytes(8)
        return Texts(letters, np.cumsum(np.append(-1, ends - starts + 1)), self.hashes[rows])

    def same(self, rows, other, other_rows):
        """Whether the texts of rows are those of the rows of other Texts, one by one."""
        return all(
            are_same(
                (self._letters, *self._places(rows[first : first + ROWS])),
                (other._letters, *other._places(other_rows[first : first + ROWS])),
            )
            for first in range(0, len(rows), ROWS)
        )

    def _places(self, rows):
        return self._bounds[rows] + 1, self._bounds[rows + 1]


def taken(values, codes):
    """values[codes], for which NumPy would make of small codes a large array of its own."""
    found = np.empty(len(codes), dtype=values.dtype)
    for first in range(0, len(codes), ROWS):
        found[first : first + ROWS] = values[codes[first : first + ROWS]]
    return found


class Growing:
    """A column that grows block by block, in place: pieces would be copied in the end."""

    def __init__(self, dtype):
        self._dtype = np.dtype(dtype)
        self._bytes = bytearray()

    def add(self, numbers):
        """Add the numbers of a block; if they are larger, the column is of their type from now."""
        if numbers.dtype.itemsize > self._dtype.itemsize:
            self._bytes = bytearray(self.array().astype(numbers.dtype).data)
            self._dtype = numbers.dtype
        self._bytes += np.ascontiguousarray(numbers, self._dtype).data

    def array(self):
        """The column, which no longer grows."""
        return np.frombuffer(self._bytes, self._dtype)


class GrowingTexts:
    """Texts that come block by block; in the end they become `Texts` or objects."""

    def __init__(self):
        self._letters = bytearray()
        self._sizes, self._hashes = Growing(np.int32), Growing(np.uint64)

    def add(self, letters, ends):
        """Add texts: their letters as UTF-8, with zero bytes at the ends."""
        starts = np.append(0, ends[:-1] + 1)
        self._letters += letters
        self._sizes.add((ends - starts + 1).astype(np.int32))
        self._hashes.add(hashes(letters, starts, ends))

    def hashes(self):
        """The hash of each text."""
        return self._hashes.array()

    def texts(self):
        """All of them as Texts."""
        self._letters += bytes(8)
        bounds = np.empty(
            len(self.hashes()) + 1, np.int32 if len(self._letters) < 2**31 else np.int64
        )
        bounds[0] = 0
        np.cumsum(self._sizes.array(), out=bounds[1:])
        np.subtract(bounds, 1, out=bounds)
        return Texts(self._letters, bounds, self.hashes())

    def objects(self):
        """All of them as an array of objects; the letters are gone, as soon as they are read."""
        letters, end = self._letters, len(self.hashes())
        found = np.empty(end, dtype=object)
        self._sizes, self._hashes = Growing(np.int32), Growing(np.uint64)
        while letters:
            first = letters.rfind(b"\0", 0, max(len(letters) - LETTERS, 1)) + 1
            texts = letters[first:].decode().split("\0")[:-1]
            del letters[first:]
            found[end - len(texts) : end] = texts
            end -= len(texts)
        return found
