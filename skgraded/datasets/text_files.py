"""Code shared by all file readers: decompression, blocks of lines, and errors with line numbers."""

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from skgraded._input.needs import is_installed
from skgraded._input.progress import progress_bar
from skgraded._input.words import printable

BLOCK = 1 << 22  # bytes parsed at a time
BOM = b"\xef\xbb\xbf"
MOST_LINE = 1 << 24  # maximum size in bytes of a line
PACKED: dict[str, tuple[bytes, Any]] = {
    "gzip": (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    "bzip2": (b"BZh", bz2.BZ2File),
    "xz": (b"\xfd7zXZ\0", lzma.LZMAFile),
}
ZSTD = b"\x28\xb5\x2f\xfd"
PARQUET = b"PAR1"
JSON = re.compile(rb'\s*\{\s*["}]')  # an id in a line of text may begin with a brace
MOST_PARQUET = 1 << 28  # maximum size in bytes of a piped or compressed Parquet file
MOST_PACKED = 100  # maximum compression ratio of files that expand to more than MANY bytes
MANY = 1 << 26


def check_path(path: Any) -> str:
    """Return the name of a file, given as a path or an open binary file, for error messages."""
    if isinstance(path, (str, os.PathLike)):
        return os.fspath(path)
    if not hasattr(path, "read"):
        raise TypeError(f"path must be a str or a Path; got {path!r}.")
    if isinstance(path, io.TextIOBase):
        raise TypeError("path must be a path or a file in binary mode; got a file in text mode.")
    return str(getattr(path, "name", "<file>"))


@contextmanager
def unpacked(path: Any, look: int | None = None) -> Iterator[tuple[Any, Any]]:
    """Yield the decompressed file, which allows peeking at `look` bytes, and the raw file."""
    is_open = hasattr(path, "read")
    raw = path if is_open else open(path, "rb")
    is_enough = hasattr(raw, "peek") and look is None
    file = raw if is_enough else io.BufferedReader(raw, look or io.DEFAULT_BUFFER_SIZE)
    try:
        yield _unpacking(file, check_path(path)), raw
    finally:
        if not is_open:
            raw.close()
        elif file is not raw:
            file.detach()  # otherwise, the reader would close the caller's file


def _unpacking(file: Any, path: str) -> Any:
    """Return a decompressing reader if the first bytes indicate compression, otherwise `file`."""
    head = file.peek(6)[:6]
    for kind, (start, opened) in PACKED.items():
        if head.startswith(start):
            return io.BufferedReader(_Unpacking(kind, opened, file, path), 1 << 16)
    if head.startswith(ZSTD):
        raise ValueError(
            f"{path}: line 1: the file is compressed with Zstandard, which is not supported. "
            "Decompress it with zstd -d, or pipe it: zstd -dc FILE | skgraded … -."
        )
    return file


class _Unpacking(io.RawIOBase):
    """Reader for compressed files that raises errors for corrupt files and decompression bombs."""

    def __init__(self, kind: str, opened: Any, file: Any, path: str) -> None:
        self.name, self._kind, self._packed = path, kind, _Counted(file)
        self._file = opened(self._packed)
        self._size = self._n_lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        try:
            piece = self._file.read1(len(room))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if getattr(error, "errno", None) is not None:  # a read error, not damaged data
                raise
            raise ValueError(
                f"{self.name}: line {self._n_lines + 1}: the {self._kind} data are damaged or "
                f"truncated ({error}). Download the file again."
            ) from None
        self._size += len(piece)
        self._n_lines += piece.count(b"\n")
        if self._size > max(MANY, MOST_PACKED * self._packed.size):
            raise ValueError(
                f"{self.name}: the {self._kind} data expand to more than {MOST_PACKED} times their "
                "compressed size, so the file may be a decompression bomb. If you trust the file, "
                "decompress it first, to disk or into a pipe."
            )
        room[: len(piece)] = piece
        return len(piece)


class _Counted:
    """Wrapper around an open file that counts the bytes that are read."""

    def __init__(self, file: Any) -> None:
        self._file, self.size = file, 0

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self.size += len(piece)
        return piece


def parsed_blocks(
    source: Any,
    path: str,
    kind: str,
    parse: Callable[[bytes, int], Any],
    check_line: Callable[[bytes], Any],
    progress: bool = False,
) -> Iterator[Any]:
    """Parse the blocks of a file; see `parse_each`."""
    with closing(blocks(source, path, progress)) as parts:
        yield from parse_each(parts, path, kind, parse, check_line)


def parse_each(
    parts: Iterable[tuple[int, bytes]],
    path: str,
    kind: str,
    parse: Callable[[bytes, int], Any],
    check_line: Callable[[bytes], Any],
) -> Iterator[Any]:
    """Yield ``parse(block, n)`` for each block of complete lines; the block starts at line `n`.

    If `parse` fails, the error names the first line that contains a NUL byte or for which
    `check_line` raises a ValueError. `kind` is a description of the file for error messages.
    """
    for first, text in parts:
        try:
            if b"\0" in text:
                raise ValueError("not text")
            parsed_text = parse(text, first)
        except (ValueError, OverflowError) as error:
            lines = text.removesuffix(b"\n").split(b"\n")
            for number, line in enumerate(lines, first):
                try:
                    if b"\0" in line:
                        raise ValueError(f"{kind} must be UTF-8 text; got a NUL byte.")
                    check_line(line)
                except ValueError as problem:
                    raise ValueError(f"{path}: line {number}: {problem}") from None
            last = first + len(lines) - 1
            raise ValueError(f"{path}: lines {first} to {last}: {error}") from None
        yield parsed_text


def blocks(
    source: Any, path: str, progress: bool = False
) -> Generator[tuple[int, bytes], None, None]:
    """Yield the number of the first line (from 1) and the bytes of each block of complete lines.

    A JSON file is one block, because all of its content may be in one line.
    """
    first = 1
    with unpacked(source) as (file, raw), _bar(raw, path, progress) as show:
        is_parquet = file.peek(len(PARQUET)).startswith(PARQUET)
        most = MOST_PARQUET if is_parquet else MOST_LINE
        while text := file.read(BLOCK):
            is_json = first == 1 and JSON.match(text.removeprefix(BOM))
            text += file.read() if is_json else file.readline(most + 1)
            show()
            if len(text) > most and not is_json:
                _refuse_long_line(text, path, first, is_parquet)
            if first == 1:
                text = text.removeprefix(BOM)
            if text:
                yield first, text
                first += int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def _refuse_long_line(text: bytes, path: str, first: int, is_parquet: bool) -> None:
    if is_parquet:
        raise ValueError(
            f"{path}: a piped or compressed Parquet file must not be larger than {MOST_PARQUET:,} "
            "bytes: pass the file itself."
        )
    for number, line in enumerate(text.split(b"\n"), first):
        if len(line) > MOST_LINE:
            raise ValueError(
                f"{path}: line {number}: a line must not be larger than {MOST_LINE:,} bytes."
            )


@contextmanager
def _bar(raw: Any, path: str, progress: bool) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each read; it updates the progress bar if one is shown."""
    if not progress or not is_installed("tqdm") or not raw.seekable():
        yield lambda: None
        return
    start = raw.tell()
    size = raw.seek(0, os.SEEK_END)
    raw.seek(start)
    with progress_bar(
        desc=printable(os.path.basename(path)),
        total=size,
        unit="B",
        unit_scale=True,
        leave=False,
        delay=0.5,
    ) as bar:
        yield lambda: bar.update(raw.tell() - bar.n)


# Words and numbers -------------------------------------------------------------------------------


def refuse_returns(line: bytes) -> None:
    """Raise a ValueError if a line contains a carriage return before its end."""
    if b"\r" in line[:-1]:
        raise ValueError("the line contains a carriage return; lines must end with a line feed.")


def is_comment(line: bytes) -> bool:
    """Return whether the first word of a line starts with "#", as in trec_eval 10."""
    return line.lstrip(b" \t").startswith(b"#")


def split_line(line: bytes, n_tabs: int) -> list[bytes]:
    """Split a line with exactly `n_tabs` tabs at the tabs only, any other line at white space.

    The list is empty if the line is blank or a comment.
    """
    stripped = b"" if is_comment(line) else line.strip(b" \t\r")
    if line.count(b"\t") == n_tabs and stripped:
        return [word.strip(b" \r") for word in line.split(b"\t")]
    return [word for word in stripped.replace(b"\t", b" ").split(b" ") if word]


def words_of(line: bytes, n_tabs: int) -> list[bytes]:
    """Return the words of `split_line`; raise a ValueError if a word is not text."""
    refuse_returns(line)
    words = split_line(line, n_tabs)
    for word in words:
        if parsed(bytes.decode, word) is None:
            raise ValueError(f"text must be UTF-8; got {shown(word)}.")
    return words


def floats(words: list[bytes]) -> np.ndarray:
    """Convert words to floats; unlike Python's `float`, reject underscores (as in 1_0)."""
    if b"_" in b" ".join(words):
        raise ValueError("an underscore in a number")
    return np.fromiter(map(float, words), dtype=float, count=len(words))


def number_in(word: bytes) -> float | None:
    """Return a word as a float, or None if it is NaN, not a number, or contains an underscore."""
    number = parsed(float, word)
    return None if number is None or number != number or b"_" in word else number


def parsed(convert: Callable[[Any], Any], word: Any) -> Any:
    """Return ``convert(word)``, or None if the conversion raises a ValueError."""
    try:
        return convert(word)
    except ValueError:
        return None


def shown(word: bytes) -> str:
    """Quote a word, truncated to 40 characters, for use in an error message."""
    text = word.decode(errors="backslashreplace")
    return repr(text if len(text) <= 40 else text[:40] + "…")
