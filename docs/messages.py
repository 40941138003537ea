"""Read all messages of errors and warnings from the code of the package.

python docs/messages.py prints the messages. The pages on troubleshooting list them, and a test
checks that quoted messages exist.
"""

import ast
import functools
import re
from pathlib import Path

import skgraded

PACKAGE = Path(skgraded.__file__).parent
ANY = "…"  # replaces the values in a message
# functions that return the texts of warnings
RETURNED = {"describe_caveats", "_describe_scales", "_explain_nan"}
ROOMS = {
    "_input": "Columns, queries and tables",
    "judgments": "Columns, queries and tables",
    "measures": "Measures",
    "datasets": "Files and generators",
    "boosting": "Boosting libraries",
    "model_selection": "Model selection",
    "reports": "Reports",
    "display": "Displays",
    "cli": "Command line",
    "stats": "Reports",
    "writing": "Reports",
    "large": "Large tables, Dask and Spark",
}


def _text_of_part(part):
    """Return the text of a part of an f-string; functions called row_name return "row 3"."""
    if isinstance(part, ast.Constant):
        return part.value
    is_row = isinstance(part.value, ast.Call) and ast.unparse(part.value.func) == "row_name"
    return f"row {ANY}" if is_row else ANY


def _texts(node, assigned):
    """Return the possible texts of an expression, with ANY instead of values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(map(_text_of_part, node.values))]
    if isinstance(node, ast.IfExp):
        return _texts(node.body, assigned) + _texts(node.orelse, assigned)
    if isinstance(node, ast.Name):
        others = {name: values for name, values in assigned.items() if name != node.id}
        return [text for value in assigned.get(node.id, []) for text in _texts(value, others)]
    if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "format":
        patterns = _texts(node.func.value, assigned)
        return [re.sub(r"\{\w*(?:![rs])?(?::[^}]*)?\}", ANY, text) for text in patterns]
    return []


def _assigned(tree):
    """Return the expressions that a module assigns to each name."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return found


def _raised(tree):
    """Yield the name and the arguments of each error and warning that a module creates."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in RETURNED:
            texts = [text for text in ast.walk(node) if isinstance(text, ast.JoinedStr)]
            yield "UserWarning", texts
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            name = "ValueError" if name == "make_argument_error" else name
            if name.endswith("Error"):
                yield name, node.args
            elif name in ("warn", "warn_user", "warn_of_input"):
                category = ast.unparse(node.args[1]) if len(node.args) > 1 else "UserWarning"
                yield category, node.args[:1]


@functools.cache
def messages():
    """Return tuples (topic, name of the error, message), sorted by topic."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        room = ROOMS.get(path.relative_to(PACKAGE).parts[0].removesuffix(".py"))
        if room is None:  # a door
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assigned = _assigned(tree)
        for name, arguments in _raised(tree):
            texts = [text for argument in arguments for text in _texts(argument, assigned)]
            # Short messages without values are internal; no user sees them.
            found += [(room, name, text) for text in texts if ANY in text or len(text) > 35]
    return sorted(dict.fromkeys(found), key=lambda message: topics().index(message[0]))


def topics():
    """Return the topics in the order in which they are printed."""
    return list(dict.fromkeys(ROOMS.values()))


def listed(topic):
    """Return a Markdown list of all messages on a topic."""
    return "\n".join(f"- {name}: ``{text}``" for at, name, text in messages() if at == topic)


if __name__ == "__main__":
    for topic in topics():
        print(f"\n### {topic}\n\n{listed(topic)}")
