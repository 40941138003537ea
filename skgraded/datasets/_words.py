"""Words of many lines at once, by where they start and end: texts, numbers, hashes.

A word is text[start:end], and one more letter follows it, such as a separator or a line feed.
"""

import io
import warnings

import numpy as np

PLAIN = b"0123456789.+-eE\n"


def texts(text, starts, ends):
    """The words as texts, an array of objects."""
    words = _joined(text, starts, ends, "\0").decode().split("\0")
    return np.array(words[:-1], dtype=object)


def numbers(text, starts, ends):
    """The words as Python's `float` reads them, to the last bit; 1_0 is a ValueError."""
    joined = _joined(text, starts, ends, "\n")
    try:
        if joined.translate(None, PLAIN):  # the others read some words otherwise, as True or 1,5
            raise ValueError("a word is no plain number")
        found = _by_numpy(joined) if exact_floats() else _by_pandas(joined)
    except ValueError:  # inf, blanks, or what is no number
        if b"_" in joined:
            raise
        found = np.array(list(map(float, joined[:-1].split(b"\n"))))
    if len(found) != len(starts):
        raise ValueError("a word holds a line feed")
    return found


def exact_floats():
    """The option by which `pandas.read_csv` reads the number that was written; it is slow."""
    import pandas as pd

    # From 3.1 on it does so without, fast, and warns of the option.
    version = tuple(map(int, pd.__version__.split(".")[:2]))
    return {} if version >= (3, 1) else {"float_precision": "round_trip"}


def _by_pandas(joined):
    import pandas as pd

    frame = pd.read_csv(
        io.BytesIO(joined), header=None, dtype=float, na_filter=False, skip_blank_lines=False,
        low_memory=False,
    )
    return frame[0].to_numpy()


def _by_numpy(joined):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it warns where it stops
        found = np.fromstring(joined + b"0", sep="\n")
    if len(found) != joined.count(b"\n") + 1:
        raise ValueError("a word is no number")
    return found[:-1]


def first_of_runs(text, starts, ends):
    """Rows whose word is another than that of the row before, and the first row."""
    size = ends - starts
    other = np.append(True, size[1:] != size[:-1])
    for rows, letters in _eights(text, starts, ends):
        # Of neighbours here that are none in the file the sizes differ, and the second is known.
        other[rows[1:]] |= letters[1:] != letters[:-1]
    return np.flatnonzero(other)


def hashes(text, starts, ends, seeds):
    """A hash of each word and a number."""
    found = seeds.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    for rows, letters in _eights(text, starts, ends):
        mixed = (found[rows] ^ letters) * np.uint64(0x9E3779B97F4A7C15)
        found[rows] = mixed ^ (mixed >> np.uint64(32))
    return found


def _joined(text, starts, ends, mark):
    """The bytes of the words, a mark after each."""
    bounds = np.stack([starts, ends + 1], axis=1).ravel()
    chosen = np.tile([False, True], len(starts))
    letters = np.frombuffer(text, np.uint8, bounds[-1])
    cut = letters[np.repeat(chosen, np.diff(bounds, prepend=0))]
    cut[np.cumsum(ends - starts + 1) - 1] = ord(mark)
    return cut.tobytes()


def _eights(text, starts, ends):
    """Yield the rows and the first eight letters of their words, as a number; then the next."""
    text += bytes(7)
    words = np.ndarray(len(text) - 7, "<u8", text, strides=(1,))  # of 8 bytes, from each byte on
    rows, at, left = np.arange(len(starts)), starts, ends - starts
    while len(rows):
        beyond = np.maximum(8 - left, 0).astype(np.uint64)  # bytes that are not the word's
        yield rows, words[at] << (beyond * np.uint64(8))
        longer = left > 8
        rows, at, left = rows[longer], at[longer] + 8, left[longer] - 8
