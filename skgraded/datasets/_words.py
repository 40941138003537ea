"""Words of many lines at once, by where they start and end: texts, numbers, hashes.

A word is text[start:end], and one more letter follows it, such as a separator or a line feed.
"""

import io
import warnings

import numpy as np

PLAIN = b"0123456789.+-eE\n"
LONG = 64  # letters of a word that are looked at eight at a time; of the rest, as a whole


def texts(text, starts, ends):
    """The words as texts, an array of objects."""
    words = joined(text, starts, ends, "\0").decode().split("\0")
    return np.array(words[:-1], dtype=object)


def numbers(text, starts, ends):
    """The words as Python's `float` reads them, to the last bit; 1_0 is a ValueError."""
    lines = joined(text, starts, ends, "\n")
    try:
        if lines.translate(None, PLAIN):  # the others read some words otherwise, as True or 1,5
            raise ValueError("a word is no plain number")
        found = _by_numpy(lines) if exact_floats() else _by_pandas(lines)
    except ValueError:  # inf, blanks, or what is no number
        if b"_" in lines:
            raise
        found = np.array(list(map(float, lines[:-1].split(b"\n"))))
    if len(found) != len(starts):
        raise ValueError("a word holds a line feed")
    return found


def exact_floats():
    """The option by which `pandas.read_csv` reads the number that was written; it is slow."""
    import pandas as pd

    # From 3.1 on it does so without, fast, and warns of the option.
    version = tuple(map(int, pd.__version__.split(".")[:2]))
    return {} if version >= (3, 1) else {"float_precision": "round_trip"}


def _by_pandas(lines):
    import pandas as pd

    frame = pd.read_csv(
        io.BytesIO(lines), header=None, dtype=float, na_filter=False, skip_blank_lines=False,
        low_memory=False,
    )
    return frame[0].to_numpy()


def _by_numpy(lines):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it warns where it stops
        found = np.fromstring(lines + b"0", sep="\n")
    if len(found) != lines.count(b"\n") + 1:
        raise ValueError("a word is no number")
    return found[:-1]


def first_of_runs(text, starts, ends):
    """Rows whose word is another than that of the row before, and the first row."""
    size = ends - starts
    other = np.append(True, size[1:] != size[:-1])
    for rows, letters in _eights(text, starts, ends):
        # Of neighbours here that are none in the file the sizes differ, and the second is known.
        other[rows[1:]] |= letters[1:] != letters[:-1]
    tails = dict(_tails(text, starts, ends))
    for row, tail in tails.items():
        other[row] |= tails.get(row - 1) != tail
    return np.flatnonzero(other)


def hashes(text, starts, ends):
    """A hash of each word, which sees every letter; another process has others."""
    found = np.zeros(len(starts), dtype=np.uint64)
    for rows, letters in _eights(text, starts, ends):
        found[rows] = mixed(found[rows], letters)
    for row, tail in _tails(text, starts, ends):
        found[row : row + 1] = mixed(found[row : row + 1], np.array([hash(tail)]))
    return found


def mixed(hashes, numbers):
    """A hash of each hash and a whole number."""
    found = numbers.astype(np.uint64)
    found ^= hashes
    found *= np.uint64(0x9E3779B97F4A7C15)
    found ^= found >> np.uint64(32)
    return found


def are_same(words, others):
    """Whether all words are the others; both are a text, starts and ends."""
    (_, starts, ends), (_, other_starts, other_ends) = words, others
    if (ends - starts != other_ends - other_starts).any():
        return False
    pairs = zip(_eights(*words), _eights(*others), strict=True)
    return all((one[1] == other[1]).all() for one, other in pairs) and all(
        one == other for one, other in zip(_tails(*words), _tails(*others), strict=True)
    )


def joined(text, starts, ends, mark):
    """The bytes of the words, a mark after each."""
    bounds = np.stack([starts, ends + 1], axis=1).ravel()
    chosen = np.tile([False, True], len(starts))
    letters = np.frombuffer(text, np.uint8, bounds[-1])
    cut = letters[np.repeat(chosen, np.diff(bounds, prepend=0))]
    cut[np.cumsum(ends - starts + 1) - 1] = ord(mark)
    return cut.tobytes()


def _eights(text, starts, ends):
    """Yield the rows and the first eight letters of their words, as a number; then the next."""
    if not len(starts):
        return
    if ends.max() > len(text) - 7:
        text = bytes(text) + bytes(7)
    words = np.ndarray(len(text) - 7, "<u8", text, strides=(1,))  # of 8 bytes, from each byte on
    rows, at, left = np.arange(len(starts)), starts, np.minimum(ends - starts, LONG)
    while len(rows):
        beyond = np.maximum(8 - left, 0).astype(np.uint64)  # bytes that are not the word's
        yield rows, words[at] << (beyond * np.uint64(8))
        longer = left > 8
        rows, at, left = rows[longer], at[longer] + 8, left[longer] - 8


def _tails(text, starts, ends):
    """Yield the rows of long words, and what `_eights` leaves out of these."""
    for row in np.flatnonzero(ends - starts > LONG).tolist():
        yield row, bytes(text[starts[row] + LONG : ends[row]])
