"""Atomic writing of files: a file is written either completely or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a temporary file next to `path`; on success, the new file replaces `path`.

    After any error, such as a full disk, the previous file remains unchanged.
    Pipes and devices are written to directly. Every OSError names `path`.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        try:
            yield Path(path)
        except OSError as error:
            raise _naming(path, error) from None
        return
    target, temporary = _target_and_temporary(path)
    try:
        temporary.touch(mode=0o666, exist_ok=False)  # the umask applies
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise _naming(path, error) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an OSError if `path` is a folder, or if no file can be created next to `path`."""
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        return
    _, temporary = _target_and_temporary(path)
    try:
        temporary.touch(exist_ok=False)
        temporary.unlink()
    except OSError as error:
        raise _naming(path, error) from None


def _target_and_temporary(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    target = Path(os.path.realpath(path))  # follows symbolic links
    return target, target.with_name(f".{secrets.token_hex(8)}-{target.name[-40:]}")


def _naming(path: str | os.PathLike[str], error: OSError) -> OSError:
    return OSError(error.errno, error.strerror or str(error), os.fspath(path))


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write text to a file atomically: after an error, the file is unchanged."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
