"""The examples in the list of tools of the recipes."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "recipes" / "index.md").read_text(encoding="utf-8")
LIST = PAGE.split("| tool | example |\n| --- | --- |\n")[1].split("\n\n")[0]
EXAMPLES = dict(re.findall(r"^\| \[(.+?)\]\(.+?\) \| `(.+)` \|$", LIST, re.M))  # keyed by tool
