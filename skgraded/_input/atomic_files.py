"""Atomic writing of files: a file is written either completely or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a temporary file next to `path`; on success, the new file replaces `path`.

    After any error, such as a full disk, the previous file remains unchanged. If the process is
    killed, the temporary file remains: it is hidden and ends in ".tmp", so that no pattern such as
    "*.json" matches it. Pipes and devices are written to directly. Every OSError names `path`.
    """
    with _name_path_in_errors(path):
        if os.path.exists(path) and not os.path.isfile(path):
            yield Path(path)
            return
        target, temporary = _choose_paths(path)
        try:
            temporary.touch(mode=0o666, exist_ok=False)  # the umask applies
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            yield temporary
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            with suppress(OSError):
                temporary.unlink()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an OSError if `path` is a folder, or if no file can be created next to `path`."""
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        return
    _, temporary = _choose_paths(path)
    with _name_path_in_errors(path):
        temporary.touch(exist_ok=False)
        temporary.unlink()


def _choose_paths(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    target = Path(os.path.realpath(path))  # follows symbolic links
    return target, target.with_name(f".{secrets.token_hex(8)}.tmp")


@contextmanager
def _name_path_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from None


def return_or_write(text: str, path: str | os.PathLike[str] | None) -> str | None:
    """Return text, or write it to a file if `path` is not None."""
    if path is None:
        return text
    write_text(text, path)
    return None


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write text to a file atomically: after an error, the file is unchanged."""
    with write_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
