"""The house has one direction: which room may import which, read from the imports themselves."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import skgraded

ROOT = Path(skgraded.__file__).parent
# From the foundations up to the doors of the user: a room imports only from those before it.
ROOMS = [
    "_kernels", "_input", "judgments", "measures", "datasets", "boosting", "lightgbm", "xgboost",
    "catboost", "reports", "model_selection", "inspection", "display", "cli", "dask", "spark",
    "__init__", "__main__",
]
DOORS = {"__init__", "__main__"}
MOST_ROOMS = 16
VERSION = ("skgraded", "__version__")  # the one thing that a room may ask the first door for


def files():
    return [path for path in sorted(ROOT.rglob("*.py")) if "templates" not in path.parts]


def module_of(path):
    parts = ["skgraded", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_module(name):
    path = ROOT.joinpath(*name.split(".")[1:])
    compiled = path.parent.glob(f"{path.name}.*")
    return path.is_dir() or any(one.suffix in (".py", ".pyx", ".so", ".pyd") for one in compiled)


@cache
def imports_of(path):
    """(line, module) of each import of the package."""
    return list(_imports_of(path))


def _imports_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} a relative import"
            found = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in found:
            if module.split(".")[0] == "skgraded" and (module, name) != VERSION:
                is_submodule = name is not None and is_module(f"{module}.{name}")
                yield node.lineno, f"{module}.{name}" if is_submodule else module


def room_of(module):
    return (module.split(".") + ["__init__"])[1]


def test_the_top_has_few_rooms_and_two_foundations():
    top = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    rooms = top - DOORS - {"__pycache__"}
    assert len(rooms) <= MOST_ROOMS
    assert {room for room in rooms if room.startswith("_")} == {"_kernels", "_input"}
    assert rooms | DOORS == set(ROOMS), "name the new room in ROOMS, in its place"


def test_a_room_imports_only_from_rooms_above_it():
    for path in files():
        room = "__main__" if path == ROOT / "__main__.py" else room_of(module_of(path))
        wrong = [
            f"{path.relative_to(ROOT.parent)}:{line} imports {module}"
            for line, module in imports_of(path)
            if ROOMS.index(room_of(module)) > ROOMS.index(room)
        ]
        assert not wrong, f"{room} may not know what comes after it: {wrong}"


def test_there_is_no_circle_of_files():
    graph = {
        module_of(path): {module for _, module in imports_of(path)} - {module_of(path)}
        for path in files()
    }
    # A package's own file gathers the names of its files; these do not ask it for them.
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"a circle of files: {' → '.join(error.args[1])}")


def test_writers_know_no_report():
    for path in (ROOT / "reports" / "write").glob("*.py"):
        for line, module in imports_of(path):
            below = module.startswith("skgraded.reports.") and ".write" not in module
            assert not below, f"{path.name}:{line} imports {module}"
