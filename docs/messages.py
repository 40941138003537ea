"""Every message of an error or a warning of the package, read from the code.

python docs/messages.py prints them. The pages on troubleshooting end with them, and a test checks
that the messages quoted there still exist.
"""

import ast
import functools
import re
from pathlib import Path

import skgraded

PACKAGE = Path(skgraded.__file__).parent
ANY = "…"  # what stands in a message for a value
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
    "large": "Large tables, Dask, Spark and Ray",
}


def _texts(node, assigned):
    """The texts that an expression may make, with ANY for every value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else ANY for part in node.values]
        return ["".join(parts)]
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
    """What a module assigns to plain names, by name."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return found


def _raised(tree):
    """Names of the errors and warnings that a module makes, with what they are given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name.endswith("Error"):
                yield name, node.args
            elif name == "warn":
                category = ast.unparse(node.args[1]) if len(node.args) > 1 else "UserWarning"
                yield category, node.args[:1]


@functools.cache
def messages():
    """(topic, name of the error, message), by topic and in the order of the code."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        room = ROOMS.get(path.relative_to(PACKAGE).parts[0].removesuffix(".py"))
        if room is None:  # a door
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assigned = _assigned(tree)
        for name, arguments in _raised(tree):
            texts = [text for argument in arguments for text in _texts(argument, assigned)]
            # Short ones without a value are words of one reader to the next, which no user sees.
            found += [(room, name, text) for text in texts if ANY in text or len(text) > 35]
    return sorted(dict.fromkeys(found), key=lambda message: topics().index(message[0]))


def topics():
    """The topics of the messages, in the order in which they are printed."""
    return list(dict.fromkeys(ROOMS.values()))


def listed(topic):
    """A Markdown list of all messages on a topic."""
    return "\n".join(f"- {name}: ``{text}``" for at, name, text in messages() if at == topic)


if __name__ == "__main__":
    for topic in topics():
        print(f"\n### {topic}\n\n{listed(topic)}")
