"""Write the table of all measures into docs/measure_names.md, from what @registered has registered.

python docs/table_of_measures.py
"""

import re
from pathlib import Path

from skgraded.measures.base import ALIASES, MEASURES, list_parameters

PAGE = Path(__file__).parent / "measure_names.md"
START, END = "<!-- made by docs/table_of_measures.py -->\n", "<!-- end -->\n"


def other_names(cls):
    """Return the aliases of a measure, such as P_10, and the parameters that each alias sets."""
    return {
        alias.format(k=10, recall="0.10"): ", ".join(
            f"{name}={value!r}" for name, value in parameters.items()
        )
        for alias, (measure_class, parameters) in ALIASES.items()
        if measure_class is cls
    }


def table():
    """Return one row per measure: name, other names, first line of the docstring, parameters."""
    rows = ["| measure | also | what it is | parameters |", "| --- | --- | --- | --- |"]
    for name, cls in sorted(MEASURES.items()):
        others = ", ".join(
            f"`{other}` (`{meaning}`)" if meaning else f"`{other}`"
            for other, meaning in other_names(cls).items()
        )
        parameters = ", ".join(f"`{name}`" for name in list_parameters(cls) if name != "undefined")
        # The pages with the formulas contain the sources.
        what = re.sub(r" \([^)]*\d{4}[^)]*\)", "", cls.__doc__.partition("\n")[0].rstrip("."))
        rows.append(f"| `{name}` | {others} | {what} | {parameters} |")
    return "\n".join(rows) + "\n"


def with_table(page):
    """The text of the page with the table of today."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return before + START + table() + END + after


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
