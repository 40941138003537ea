"""Atomic writing of files: a file is written either completely or not at all."""

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
    target = Path(os.path.realpath(path))  # follows symbolic links
    temporary = target.with_name(f".{secrets.token_hex(8)}-{target.name[-40:]}")
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


def _naming(path: str | os.PathLike[str], error: OSError) -> OSError:
    return OSError(error.errno, error.strerror or str(error), os.fspath(path))


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write text to a file atomically: after an error, the file is unchanged."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
