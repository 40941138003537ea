"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path beside, with the same ending, whose file takes the place of `path` at the end.

    Until then, and after any error, `path` is what it was: a full disk loses nothing. What is no
    plain file, such as a pipe or a device, is written to directly. An OSError names `path`.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        try:
            yield Path(path)
        except OSError as error:
            raise _naming(path, error) from None
        return
    target = Path(os.path.realpath(path))  # of a link, what it leads to
    beside = target.with_name(f".{secrets.token_hex(8)}-{target.name[-40:]}")
    try:
        beside.touch(mode=0o666, exist_ok=False)  # as the process makes files: less its umask
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        yield beside
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        os.replace(beside, target)
    except OSError as error:
        raise _naming(path, error) from None
    finally:
        with suppress(OSError):
            beside.unlink()


def _naming(path, error):
    return OSError(error.errno, error.strerror or str(error), os.fspath(path))


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text to a file, whole or not at all."""
    with written_whole(path) as beside:
        beside.write_text(text, encoding="utf-8")
