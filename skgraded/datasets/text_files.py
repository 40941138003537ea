"""Functions that decompress files, split them into lines, and report invalid lines."""

import bz2
import gzip
import io
import lzma
import math
import os
import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from typing import IO, Any, TypeAlias, TypeVar, cast

import numpy as np

Word = TypeVar("Word")
Value = TypeVar("Value")
File: TypeAlias = str | os.PathLike[str] | IO[bytes]  # a path, or an open file in binary mode

BLOCK = 1 << 22  # bytes parsed at a time
MOST_LINE = 1 << 24  # maximum line size in bytes; a longer line might not fit in memory
BOM = b"\xef\xbb\xbf"
PACKED: dict[bytes, Any] = {  # readers by the first bytes of a file
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError)  # errors of these readers
DATA = re.compile(rb"^[ \t]*[^\s#][^\r\n]*", re.MULTILINE)  # a line that is not a comment
LONG_WORD = re.compile(r"(\S{100})\S+")  # words of more than 100 characters are cut in messages
JSON = re.compile(rb'\s*(\[\s*)?\{\s*["}]')  # { alone is not enough: ids may begin with it


def check_path(path: object, name: str = "path") -> str:
    """Return the name of a file, given as a path or an open binary file, for error messages."""
    if isinstance(path, (str, os.PathLike)):
        return os.fspath(path)
    if not hasattr(path, "read") or isinstance(path, io.TextIOBase):
        raise TypeError(f"{name} must be a str, a Path, or a file in binary mode; got {path!r}.")
    return str(getattr(path, "name", "<file>"))


@contextmanager
def open_unpacked(path: File, look: int | None = None) -> Iterator[Any]:
    """Yield the decompressed file, whose `peek` method can return up to `look` bytes."""
    is_open = hasattr(path, "read")
    raw: Any = path if is_open else open(cast("str", path), "rb")
    is_enough = hasattr(raw, "peek") and look is None
    file = raw if is_enough else io.BufferedReader(raw, look or io.DEFAULT_BUFFER_SIZE)
    try:
        starts = [start for start in PACKED if file.peek(6).startswith(start)]
        packed = [_Unpacking(PACKED[start](file), check_path(file)) for start in starts]
        yield io.BufferedReader(packed[0], 1 << 16) if packed else file
    finally:
        if not is_open:
            raw.close()
        elif file is not raw:
            file.detach()  # otherwise, the reader would close the caller's file


class _Unpacking(io.RawIOBase):
    """Reader for compressed files that raises the same error for all kinds of corrupt data."""

    def __init__(self, file: Any, path: str) -> None:
        self._file, self.name = file, path

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        try:
            return self._file.readinto(room)
        except DAMAGED as error:
            raise ValueError(
                f"{self.name}: the compressed data are damaged or truncated ({error}). Download the "
                "file again."
            ) from None


def read_blocks(source: File, path: str) -> Generator[tuple[int, bytes], None, None]:
    """Yield (first line number, bytes) pairs, one for each block of complete lines.

    A JSON file is returned as one block, because it may consist of a single line.
    """
    first = 1
    with open_unpacked(source) as file:
        while text := file.read(BLOCK):
            is_json = first == 1 and JSON.match(text.removeprefix(BOM))
            text += file.read() if is_json else file.readline(MOST_LINE + 1)
            if not is_json and len(text) > MOST_LINE and not text.endswith(b"\n"):
                line = first + text.count(b"\n")
                raise ValueError(f"{path}: line {line} is larger than {MOST_LINE:,} bytes.")
            if first == 1:
                text = text.removeprefix(BOM)
            if text:
                yield first, text
                first += int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def find_data(
    parts: Iterator[tuple[int, bytes]],
) -> tuple[int, bytes, bool, Iterator[tuple[int, bytes]]]:
    """Find the first line that is neither blank nor a comment.

    Return the number of lines before the data, the first line of data, whether the data are JSON,
    and an iterator over all blocks.
    """
    seen = []
    for first, text in parts:
        seen.append((first, text))
        line = DATA.search(text)
        if line:
            n_before = first - 1 + text.count(b"\n", 0, line.start())
            is_json = JSON.match(text, line.start()) is not None
            return n_before, line[0], is_json, chain(seen, parts)
    return 0, b"", False, iter(seen)


def parse_file(source: File, path: str, parse: Callable[[bytes, int], Any]) -> Iterator[Any]:
    """Parse the blocks of a file; see `parse_blocks`."""
    with closing(read_blocks(source, path)) as parts:
        yield from parse_blocks(parts, path, parse)


def parse_blocks(
    parts: Iterable[tuple[int, bytes]], path: str, parse: Callable[[bytes, int], Any]
) -> Iterator[Any]:
    """Yield ``parse(block, n)`` for each block of complete lines; its first line is line `n`.

    If `parse` raises a ValueError, the lines are parsed one by one to find the line at fault.
    """
    for first, text in parts:
        try:
            parsed_block = parse(text, first)
        except (ValueError, OverflowError):
            lines = enumerate(text.removesuffix(b"\n").split(b"\n"), first)
            list(parse_rows(lines, path, lambda line: parse(line, 1)))
            raise
        yield parsed_block


def parse_rows(
    rows: Iterable[tuple[int, Any]], path: str, parse_row: Callable[[Any], Any]
) -> Iterator[tuple[int, Any]]:
    """Yield (line number, parsed row) for rows that are not None; errors name the file and line."""
    for number, row in rows:
        try:
            parsed_row = parse_row(row)
        except (ValueError, OverflowError) as problem:
            is_line = isinstance(row, bytes)
            text = row.strip().decode(errors="backslashreplace") if is_line else ",".join(row)
            problem_text = LONG_WORD.sub(r"\1…", str(problem))
            raise ValueError(f"{path}: line {number}: {text!r:.80}: {problem_text}") from None
        if parsed_row is not None:
            yield number, parsed_row


# Words and numbers -------------------------------------------------------------------------------


def split_line(line: bytes, n_tabs: int) -> list[bytes]:
    """Split a line with exactly `n_tabs` tabs at the tabs only, and any other line at white space.

    The list is empty if the line is blank or a comment. As in trec_eval 10, the first word of a
    comment starts with "#".
    """
    stripped = line.strip(b" \t\r")
    if not stripped or stripped.startswith(b"#"):
        return []
    if line.count(b"\t") == n_tabs:
        return [word.strip(b" \r") for word in line.split(b"\t")]
    return [word for word in stripped.replace(b"\t", b" ").split(b" ") if word]


def parse_floats(words: Sequence[bytes]) -> np.ndarray:
    """Convert words to floats; unlike Python's `float`, reject underscores (as in 1_0)."""
    if b"_" in b" ".join(words):
        raise ValueError("a number must not contain an underscore.")
    return np.fromiter(map(float, words), dtype=float, count=len(words))


def parse_number(word: bytes) -> float | None:
    """Return a word as a float, or None if it is not a number, is NaN or contains an underscore."""
    number = try_parse(float, word)
    return None if number is None or number != number or b"_" in word else number


def parse_cell(cell: str) -> float | None:
    """Return the number in a cell, NaN if the cell is empty or "nan", and None for other text."""
    number = parse_number(cell.encode(errors="replace"))
    return math.nan if number is None and cell.strip().lower() in ("", "nan") else number


def try_parse(convert: Callable[[Word], Value], word: Word) -> Value | None:
    """Return ``convert(word)``, or None if the conversion raises a ValueError."""
    try:
        return convert(word)
    except ValueError:
        return None
