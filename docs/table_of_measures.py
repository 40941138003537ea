"""Write the table of all measures into docs/measures.md, from what @measure has registered.

python docs/table_of_measures.py
"""

from pathlib import Path

from skgraded.measures.base import ALIASES, MEASURES

PAGE = Path(__file__).parent / "measures.md"
START, END = "<!-- made by docs/table_of_measures.py -->\n", "<!-- end -->\n"


def table():
    """A row a measure, by name: its aliases, the first line of its docstring, its parameters."""
    rows = ["| measure | also | what it is | parameters |", "| --- | --- | --- | --- |"]
    for name, cls in sorted(MEASURES.items()):
        aliases = ", ".join(f"`{alias}`" for alias, (of, _) in sorted(ALIASES.items()) if of is cls)
        parameters = ", ".join(f"`{name}`" for name in cls.fields)
        what = cls.__doc__.partition("\n")[0].rstrip(".")
        rows.append(f"| `{name}` | {aliases} | {what} | {parameters} |")
    return "\n".join(rows) + "\n"


def with_table(page):
    """The text of the page with the table of today."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return before + START + table() + END + after


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
