"""What the readers of files have in common: unpacking, blocks of lines, errors that name a line."""

import bz2
import gzip
import io
import lzma
import os
import zlib
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec

import numpy as np

from skgraded._input.progress import progress_bar
from skgraded._input.words import plain

BLOCK = 1 << 22  # bytes that are parsed at a time
BOM = b"\xef\xbb\xbf"
MAX_LINE: ContextVar[int] = ContextVar("MAX_LINE", default=1 << 24)  # bytes of a line
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
ZSTD = b"\x28\xb5\x2f\xfd"
PARQUET = b"PAR1"  # which has no lines


def check_path(path):
    """Name of a path or of an open binary file, for errors."""
    if isinstance(path, (str, os.PathLike)):
        return os.fspath(path)
    if not hasattr(path, "read"):
        raise TypeError(f"path must be text or a Path; got {path!r}.")
    if isinstance(path, io.TextIOBase):
        raise TypeError("Open the file in binary mode, or give its path.")
    return str(getattr(path, "name", "<file>"))


@contextmanager
def unpacked(path):
    """Open a file, or take an open one, for reading bytes, and give it unpacked and as it is."""
    is_open = hasattr(path, "read")
    raw = path if is_open else open(path, "rb")
    file = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
    try:
        yield _unpacking(file, path), raw
    finally:
        if not is_open:
            raw.close()
        elif file is not raw:
            file.detach()  # or it would close the caller's file


def _unpacking(file, path):
    """The file as it reads unpacked, by its first bytes."""
    head = file.peek(6)[:6]
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if head.startswith(b"BZh"):
        return _Damaged(bz2.BZ2File(file))
    if head.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile(file)
    if head.startswith(ZSTD):
        raise ValueError(
            f"{check_path(path)}: line 1: the file is compressed with Zstandard, which is not "
            "read: unpack it by zstd -d, or pipe it: zstd -dc FILE | skgraded … -."
        )
    return file


def _packing(file):
    return "gzip" if isinstance(file, gzip.GzipFile) else "compressed"


class _Damaged:
    """A bzip2 file, whose OSError of damaged data is no error of the system."""

    def __init__(self, file):
        self._file = file

    def read1(self, size):
        return self._read(self._file.read1, size)

    def peek(self, size):
        return self._read(self._file.peek, size)

    def _read(self, read, size):
        try:
            return read(size)
        except OSError as error:
            if error.errno is not None:
                raise
            raise EOFError(str(error)) from None


def parsed_blocks(source, path, kind, parse, problem_of, progress=False):
    """Yield what `parse` makes of each block of whole lines and the number of its first line.

    Where it raises, the error names the first line of which `problem_of` says what is wrong, or
    that has a NUL byte, which no `kind` of file has.
    """
    for first, text in blocks(source, path, progress):
        try:
            if b"\0" in text:
                raise ValueError("not text")
            found = parse(text, first)
        except (ValueError, OverflowError) as error:
            lines = text.removesuffix(b"\n").split(b"\n")
            for number, line in enumerate(lines, first):
                is_text = b"\0" not in line
                problem = problem_of(line) if is_text else f"a NUL byte; {kind} is text in UTF-8."
                if problem:
                    raise ValueError(f"{path}: line {number}: {problem}") from None
            last = first + len(lines) - 1
            raise ValueError(f"{path}: lines {first} to {last}: {error}") from None
        yield found


def blocks(source, path, progress=False):
    """Yield the number of the first line, from 1, and the bytes, of each block of whole lines."""
    first, rest = 1, b""
    with unpacked(source) as (file, raw), _bar(raw, path, progress) as show:
        while True:
            pieces, size = [rest], 0
            try:
                while size < BLOCK and (piece := file.read1(BLOCK)):
                    pieces.append(piece)
                    size += len(piece)
            except DAMAGED as error:
                line = first + sum(piece.count(b"\n") for piece in pieces)
                raise ValueError(
                    f"{path}: line {line}: the {_packing(file)} data are damaged or cut short "
                    f"({error}). Fetch the file anew."
                ) from None
            show()
            text = b"".join(pieces)
            _refuse_endless(text, path, first)
            end = text.rfind(b"\n") + 1 if size >= BLOCK else len(text)
            text, rest = text[:end], text[end:]
            if first == 1:
                text = text.removeprefix(BOM)
            if text:
                yield first, text
                first += int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))
            if size < BLOCK:
                return


def _refuse_endless(text, path, first):
    """Refuse a line that goes on and on; a Parquet file has no lines."""
    most = MAX_LINE.get()
    endless = len(text) > most and text.find(b"\n", 0, most + 1) < 0
    if endless and not text.startswith(PARQUET):
        raise ValueError(
            f"{path}: line {first}: the line has more than {most:,} bytes. If that is meant, lift "
            "the limit by --max-line of the command."
        )


@contextmanager
def _bar(raw, path, progress):
    """Give what to call when more of the file has been read: it moves a bar, if there is one."""
    if not progress or find_spec("tqdm") is None or not raw.seekable():
        yield lambda: None
        return
    start = raw.tell()
    size = raw.seek(0, os.SEEK_END)
    raw.seek(start)
    with progress_bar(
        desc=os.path.basename(path), total=size, unit="B", unit_scale=True, leave=False, delay=0.5
    ) as bar:
        yield lambda: bar.update(raw.tell() - bar.n)


def sharing(keys):
    """Rows whose key another row has too."""
    ordered = np.sort(keys)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.flatnonzero(np.isin(keys, twice)) if len(twice) else np.empty(0, dtype=np.intp)


def repeats(query, document, rows=None):
    """Rows whose query had their document before, and the first row where it had.

    `rows` are those that it may be, such as those that are `sharing` a hash of both.
    """
    import pandas as pd

    if rows is None:
        rows = np.arange(len(query))
    if document is None or not len(rows):
        return np.empty((2, 0), dtype=np.intp)
    query = query[rows]
    document = pd.Series(document[rows], dtype=object)  # else pandas copies texts into its own kind
    first_of: dict = {}
    found = [
        (rows[i], first)
        for i in np.flatnonzero(
            pd.DataFrame({"query": query, "document": document}).duplicated(keep=False)
        ).tolist()
        if (first := first_of.setdefault((query[i], document[i]), rows[i])) < rows[i]
    ]
    return np.array(found, dtype=np.intp).reshape(-1, 2).T


def refuse_contradicting(table, query, rows, firsts):
    """Raise if judgments that repeat others have another grade.

    The table has `source`, `document`, `numbers` and `place`.
    """
    other = np.flatnonzero(table.numbers[rows] != table.numbers[firsts])
    if len(other):
        row, first = rows[other[0]], firsts[other[0]]
        raise ValueError(
            f"{table.source}: {table.place(row)}: query {plain(query[row])!r} has document "
            f"{plain(table.document[row])!r} with grade {table.numbers[row]:g}, and with grade "
            f"{table.numbers[first]:g} before ({table.place(first)}): keep one of them."
        )


def parsed(convert, word):
    """What `convert` makes of a word, None if it refuses it."""
    try:
        return convert(word)
    except ValueError:
        return None


def number_in(word):
    """The number that a word is, None if it is none or NaN; Python's own 1_0 is none."""
    number = parsed(float, word)
    return None if number is None or number != number or b"_" in word else number


def shown(word):
    """A word for an error: at most 40 characters, quoted."""
    text = word.decode(errors="backslashreplace")
    return repr(text if len(text) <= 40 else text[:40] + "…")
