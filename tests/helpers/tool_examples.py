"""The examples in the list of tools of the recipes."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def examples(name):
    """Return a dict that maps each tool in the list of a page to its example."""
    text = (ROOT / name).read_text(encoding="utf-8").split("| tool | example |\n| --- | --- |\n")[1]
    return dict(re.findall(r"^\| \[(.+?)\]\(.+?\) \| `(.+)` \|$", text.split("\n\n")[0], re.M))
