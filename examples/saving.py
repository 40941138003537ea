"""How the examples write a figure: whole or not at all."""

import tempfile
from pathlib import Path


def save(figure, path, **options):
    """Draw a figure into a file beside `path`, and move it there when it is whole.

    A full disk, an error or a kill leaves what was there. `options` are those of `savefig`.
    """
    path = Path(path).resolve()  # of a link, what it leads to
    with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as beside:
        drawn = Path(beside, path.name)
        figure.savefig(drawn, format=path.suffix[1:] or "png", **options)
        drawn.replace(path)
