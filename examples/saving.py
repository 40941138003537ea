"""Save the figures of the examples, completely or not at all."""

import tempfile
from pathlib import Path


def save(figure, path, **options):
    """Save a figure to a temporary file, and move it to `path` when it is complete.

    If saving fails or is killed, an existing file does not change. `savefig` receives `options`.
    """
    path = Path(path).resolve()  # replaces the target of a link, not the link
    with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
        temporary = Path(folder, path.name)
        figure.savefig(temporary, format=path.suffix[1:] or "png", **options)
        temporary.replace(path)
