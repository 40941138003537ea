"""Write files atomically: each file is written either completely or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a temporary file next to `path`; on success, the file replaces `path`.

    If an error occurs, for example because the disk is full, the existing file is unchanged. If the
    process is killed, a hidden file with the suffix ".tmp" remains, which patterns such as "*.json"
    do not match. Pipes and devices are written to directly. Every OSError contains `path`.
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
    """Raise an OSError if `path` is a folder, or if no file can be created in its parent folder."""
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
    """Return the text if `path` is None; otherwise write it to `path`."""
    if path is None:
        return text
    write_text(text, path)
    return None


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write text to a file atomically: if an error occurs, the existing file is unchanged."""
    with write_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
