"""The architecture: imports between rooms, sizes of files, and public names in the docs."""

import ast
import importlib
import inspect
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

import skgraded

ROOT = Path(skgraded.__file__).parent
# A room imports only from rooms that precede it in this list.
ROOMS = [
    "_kernels", "_input", "judgments", "measures", "datasets", "boosting", "stats", "writing",
    "reports", "large", "model_selection", "clicks", "display", "tools", "cli",
]
# Files of a few lines that only re-export public names.
DOORS = [
    "lightgbm", "xgboost", "catboost", "dask", "spark", "ray", "ir_measures",
    "__init__", "__main__",
]
MOST_ROOMS, MOST_FILES, MOST_LINES = 16, 13, 600
MOST_IN_REPORTS = {"files": 12, "imports": 40}
LONGEST_DOOR = 12
# Maximum numbers of lines, including planned features; a new feature removes lines elsewhere.
MOST_LINES_IN_TOTAL = {"skgraded": 32_000, "tests": 30_500}
PUBLIC_MODULES = (
    "skgraded", "skgraded.datasets", "skgraded.display", "skgraded.measures",
    "skgraded.model_selection", "skgraded.lightgbm", "skgraded.xgboost", "skgraded.catboost",
    *(["skgraded.spark"] if find_spec("pyspark") else []),
)
# Pages that mention names without explaining them to users.
NOT_FOR_USERS = ("relied_on.md", "benchmarks.md", "changelog.md", "contributing.md")
PRIVATE_ROOMS = ("_kernels", "_input")  # every room may import their files
# Private names of other libraries that we use; docs/relied_on.md explains each.
OF_OTHER_LIBRARIES = (
    "._replace", "sys._getframe", "ddf._meta", "model._predictors", "booster._network",
    "Params._dummy", "self._setDefault", "self._set",
    "estimator._init_callback_context",
)
VERSION = ("skgraded", "__version__")  # the only name that rooms may import from the package


def files():
    return [path for path in sorted(ROOT.rglob("*.py")) if "templates" not in path.parts]


def module_of(path):
    parts = ["skgraded", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_module(name):
    path = ROOT.joinpath(*name.split(".")[1:])
    compiled = path.parent.glob(f"{path.name}.*")
    return path.is_dir() or any(file.suffix in (".py", ".pyx", ".so", ".pyd") for file in compiled)


@cache
def imports_of(path):
    """(line, module) of each import of the package."""
    return list(_imports_of(path))


def _imports_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            result = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} a relative import"
            result = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in result:
            if module.split(".")[0] == "skgraded" and (module, name) != VERSION:
                is_submodule = name is not None and is_module(f"{module}.{name}")
                yield node.lineno, f"{module}.{name}" if is_submodule else module


def room_of(module):
    return (module.split(".") + ["__init__"])[1]


def test_the_package_has_few_rooms_and_two_private_ones():
    top = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    rooms = top - set(DOORS) - {"__pycache__"}
    assert len(rooms) <= MOST_ROOMS
    assert {room for room in rooms if room.startswith("_")} == {"_kernels", "_input"}
    assert rooms == set(ROOMS), "name the new room in ROOMS, in its place"


def test_a_room_imports_only_from_rooms_above_it():
    order = ROOMS + DOORS
    for path in files():
        room = "__main__" if path == ROOT / "__main__.py" else room_of(module_of(path))
        wrong = [
            f"{path.relative_to(ROOT.parent)}:{line} imports {module}"
            for line, module in imports_of(path)
            if order.index(room_of(module)) > order.index(room)
        ]
        assert not wrong, f"{room} may not know what comes after it: {wrong}"


@pytest.mark.parametrize("door", DOORS[:-2])
def test_a_door_only_re_exports_names(door):
    source = (ROOT / f"{door}.py").read_text(encoding="utf-8")
    kinds = [type(node) for node in ast.parse(source).body]
    assert set(kinds) == {ast.Expr, ast.ImportFrom, ast.Assign}
    assert source.count("\n") <= LONGEST_DOOR


def test_folders_have_few_files_and_files_few_lines():
    folders: dict = {}
    for path in files():
        folders.setdefault(path.parent, []).append(path.name)
        assert path.read_text(encoding="utf-8").count("\n") <= MOST_LINES, path
    for folder, names in folders.items():
        if folder != ROOT:
            assert len(set(names) - {"__init__.py"}) <= MOST_FILES, folder


def test_reports_are_few_files_with_few_imports_among_them():
    paths = [path for path in files() if path.parent == ROOT / "reports"]
    imports = {
        (path, module) for path in paths for _, module in imports_of(path)
        if module.startswith("skgraded.reports.")
    }
    assert len(paths) - 1 <= MOST_IN_REPORTS["files"]
    assert len(imports) <= MOST_IN_REPORTS["imports"]


def test_there_are_no_import_cycles():
    graph = {
        module_of(path): {module for _, module in imports_of(path)} - {module_of(path)}
        for path in files()
    }
    # `__init__` imports names from its files, so its files must not import from `__init__`.
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"a circle of files: {' → '.join(error.args[1])}")


@pytest.mark.parametrize("room", ["stats", "writing"])
def test_stats_and_writing_import_no_reports_and_no_measures(room):
    for path in (ROOT / room).glob("*.py"):
        rooms = {room_of(module) for _, module in imports_of(path)}
        assert rooms <= {"_kernels", "_input", "stats", room}, path.name


def private_names_defined_in(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_uses_the_private_parts_of_another(room):
    paths = [path for path in files() if room_of(module_of(path)) == room]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    known = {name for tree in trees.values() for name in private_names_defined_in(tree)}
    wrong = [
        f"{path.name}:{node.lineno} {ast.unparse(node)}" for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in known
    ]
    assert not [use for use in wrong if not use.endswith(OF_OTHER_LIBRARIES)]
    for path in paths:
        for line, module in imports_of(path):
            inside = module.split(".")[2:]
            assert room_of(module) in (room, *PRIVATE_ROOMS) or not any(map(is_private, inside)), (
                f"{path.name}:{line} imports {module}"
            )


def lines_in(folder, suffixes):
    paths = [path for path in folder.rglob("*") if path.suffix in suffixes]
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def test_the_package_and_the_tests_stay_below_their_limits_of_lines():
    code = (".py", ".pyx", ".pxd", ".h", ".j2", ".css", ".js")
    assert lines_in(ROOT, code) <= MOST_LINES_IN_TOTAL["skgraded"]
    assert lines_in(Path(__file__).parent, (".py",)) <= MOST_LINES_IN_TOTAL["tests"]


BRITISH = re.compile(r"(?i)(?:behavi|fav|col|neighb)our|\bcentred?\b|\w(?:al|gn|im)is(?:e|ing)\b")


def test_texts_have_american_spelling():
    project = ROOT.parent
    for folder in (ROOT, Path(__file__).parent, project / "docs", project / "examples"):
        for path in [*folder.rglob("*.py"), *folder.rglob("*.md")]:
            words = set(BRITISH.findall(path.read_text(encoding="utf-8")))
            assert path == Path(__file__) or not words, f"{path} contains {words}"


def words_in_code_of_the_docs():
    """Return the words in inline code and code blocks of the docs, and in the gallery."""
    docs = Path(__file__).parent.parent / "docs"
    code = [path.read_text(encoding="utf-8") for path in (docs.parent / "examples").glob("plot_*")]
    for page in [docs.parent / "README.md", *docs.glob("*.md"), *docs.glob("recipes/*.md"),
                 *docs.glob("troubleshooting/*.md")]:
        if page.name not in NOT_FOR_USERS:
            code += re.findall(r"```.*?```|`[^`\n]+`", page.read_text(encoding="utf-8"), re.DOTALL)
    return set(re.findall(r"\w+", " ".join(code)))


def public_classes():
    for name in PUBLIC_MODULES:
        module = importlib.import_module(name)
        for public_name in getattr(module, "__all__", dir(module)):
            value = getattr(module, public_name)
            if inspect.isclass(value) and value.__module__.startswith("skgraded."):
                yield value


def test_the_docs_mention_every_public_member_of_every_public_class():
    if not (Path(__file__).parent.parent / "examples").exists():
        pytest.skip("the docs are not beside the tests")
    words = words_in_code_of_the_docs()
    unmentioned = {
        f"{cls.__name__}.{member}" for cls in set(public_classes()) for base in cls.__mro__
        if base.__module__.startswith("skgraded.")
        for member in {**vars(base), **vars(base).get("__annotations__", {})}
        if not member.startswith("_") and member not in words
    }
    assert not unmentioned, "mention them in the docs, or make them private"
