"""The architecture: imports between folders, private parts, and public names in the docs."""

import ast
import importlib
import inspect
import re
from collections import Counter, defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

import skgraded

ROOT = Path(skgraded.__file__).parent
# A room (a folder or top-level module) imports only from rooms that precede it in this list.
ROOMS = [
    "_kernels",
    "_input",
    "judgments",
    "measures",
    "datasets",
    "boosting",
    "stats",
    "writing",
    "reports",
    "large",
    "model_selection",
    "clicks",
    "display",
    "tools",
    "cli",
]
# Files of a few lines that only re-export public names.
DOORS = [
    "lightgbm",
    "xgboost",
    "catboost",
    "dask",
    "spark",
    "ir_measures",
    "__init__",
    "__main__",
]
MOST_ROOMS, MOST_FILES = 16, 18
PUBLIC_MODULES = (
    "skgraded",
    "skgraded.datasets",
    "skgraded.display",
    "skgraded.measures",
    "skgraded.model_selection",
    "skgraded.lightgbm",
    "skgraded.xgboost",
    "skgraded.catboost",
    *(["skgraded.dask"] if find_spec("dask") else []),
    *(["skgraded.spark"] if find_spec("pyspark") else []),
)
# Pages that mention names without explaining them to users.
NOT_FOR_USERS = (
    "relied_on.md",
    "benchmarks.md",
    "changelog.md",
    "contributing.md",
    "data_flow.md",
    "maintaining.md",
)
PRIVATE_ROOMS = ("_kernels", "_input")  # every room may import their files
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


def walk(tree, with_types):
    """Yield the nodes of a tree, without nodes that only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            if not with_types:
                continue
        yield node
        yield from walk(node, with_types)


@cache
def imports_of(path, with_types=True):
    """(line, module, name or None) of each import from the package."""
    imports = []
    for node in walk(ast.parse(path.read_text(encoding="utf-8")), with_types):
        names = []
        if isinstance(node, ast.Import):
            names = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} a relative import"
            names = [(node.module, alias.name) for alias in node.names]
        for module, name in names:
            if module.split(".")[0] == "skgraded" and (module, name) != VERSION:
                if name is not None and is_module(f"{module}.{name}"):
                    module, name = f"{module}.{name}", None
                imports.append((node.lineno, module, name))
    return imports


def room_of(module):
    return (module.split(".") + ["__init__"])[1]


def test_the_package_has_few_rooms_and_two_private_ones():
    top = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    rooms = top - set(DOORS) - {"__pycache__"}
    advice = "add it to DOORS if it only re-exports public names, otherwise to ROOMS, in its place"
    assert rooms == set(ROOMS), f"{sorted(rooms ^ set(ROOMS))}: {advice}"
    assert len(rooms) <= MOST_ROOMS
    assert {room for room in rooms if room.startswith("_")} == {"_kernels", "_input"}


def test_a_room_imports_only_from_rooms_above_it():
    order = ROOMS + DOORS
    for path in files():
        room = "__main__" if path == ROOT / "__main__.py" else room_of(module_of(path))
        wrong = [
            f"{path.relative_to(ROOT.parent)}:{line} imports {module}"
            for line, module, _ in imports_of(path)
            if order.index(room_of(module)) > order.index(room)
        ]
        assert not wrong, f"{room} may not know what comes after it: {wrong}"


@pytest.mark.parametrize("door", [door for door in DOORS if not door.startswith("__")])
def test_a_door_only_re_exports_names(door):
    source = (ROOT / f"{door}.py").read_text(encoding="utf-8")
    kinds = [type(node) for node in ast.parse(source).body]
    assert set(kinds) == {ast.Expr, ast.ImportFrom, ast.Assign}


def test_folders_have_few_files():
    folders = Counter(path.parent for path in files() if path.name != "__init__.py")
    del folders[ROOT]
    assert max(folders.values()) <= MOST_FILES, folders.most_common(1)


def test_there_are_no_import_cycles():
    graph = {
        module_of(path): {module for _, module, _ in imports_of(path, with_types=False)}
        - {module_of(path)}
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
        rooms = {room_of(module) for _, module, _ in imports_of(path)}
        assert rooms <= {"_kernels", "_input", "stats", room}, path.name


def test_no_room_imports_private_names_of_another():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {module} {name}"
        for path in files()
        for line, module, name in imports_of(path)
        if room_of(module) not in (room_of(module_of(path)), *PRIVATE_ROOMS)
        and any(part.startswith("_") for part in [*module.split(".")[2:], name or ""])
    ]
    assert not wrong


def words_in_code_of_the_docs():
    """Return the words in inline code and code blocks of the docs, and in the gallery."""
    docs = Path(__file__).parent.parent / "docs"
    code = [path.read_text(encoding="utf-8") for path in (docs.parent / "examples").glob("plot_*")]
    for page in [
        docs.parent / "README.md",
        *docs.glob("*.md"),
        *docs.glob("coming_from/*.md"),
        *docs.glob("recipes/*.md"),
        *docs.glob("troubleshooting/*.md"),
    ]:
        if page.name not in NOT_FOR_USERS:
            code += re.findall(r"```.*?```|`[^`\n]+`", page.read_text(encoding="utf-8"), re.DOTALL)
    return set(re.findall(r"\w+", " ".join(code)))


def test_the_docs_mention_every_public_member_of_every_public_class():
    if not (Path(__file__).parent.parent / "examples").exists():
        pytest.skip("the docs are not beside the tests")
    words = words_in_code_of_the_docs()
    unmentioned = {
        f"{cls.__name__}.{member}"
        for cls in filter(inspect.isclass, CALLABLES.values())
        for base in cls.__mro__
        if base.__module__.startswith("skgraded.")
        for member in {**vars(base), **vars(base).get("__annotations__", {})}
        if not member.startswith("_") and member not in words
    }
    assert not unmentioned, "mention them in the docs, or make them private"


# Names ---------------------------------------------------------------------------------------------

# Public functions of several modules, and module hooks, share their names.
SHARED = {"__getattr__", "eval_metric", "evaluate", "evaluate_per_query", "measure", "objective"}


def test_no_two_functions_or_classes_share_a_name():
    places = defaultdict(list)
    for path in files():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name not in SHARED:
                places[node.name.strip("_")].append(f"{module_of(path)}.{node.name}")
    # Overloads are in one module.
    shared = [names for names in places.values() if len(set(names)) > 1]
    assert not shared, "give them names of their own; leading underscores make no difference"


# Warnings point at the line of the user -----------------------------------------------------------

# Files that may read stack frames
FRAMES = ("_input/messages.py", "boosting/frames.py")


@pytest.mark.parametrize(
    "pattern, allowed",
    [
        (r"warnings\.warn\b|stacklevel", ()),
        (r"warn_explicit", FRAMES[:1]),
        (r"_getframe|currentframe|inspect\.stack", FRAMES),
    ],
)
def test_one_function_finds_the_line_of_a_warning(pattern, allowed):
    wrong = [
        str(path.relative_to(ROOT))
        for path in files()
        if re.search(pattern, path.read_text(encoding="utf-8"))
        and not path.as_posix().endswith(allowed)
    ]
    assert not wrong, "call warn_user of _input/messages.py"


# Help is in the source ---------------------------------------------------------------------------


def test_no_function_writes_help():
    for path in files():
        assert not re.search("__doc__ *=|__signature__", path.read_text(encoding="utf-8")), path


def public_callables():
    """Return the public functions and classes, and the public methods of these, by name."""
    callables = {}
    for module in map(importlib.import_module, PUBLIC_MODULES):
        for name in getattr(module, "__all__", dir(module)):
            value = getattr(module, name)
            if not callable(value) or not value.__module__.startswith("skgraded."):
                continue
            callables[f"{value.__module__}.{name}"] = value
            for method, function in vars(value).items() if inspect.isclass(value) else ():
                function = getattr(function, "__func__", function)
                if not method.startswith("_") and inspect.isfunction(function):
                    callables[f"{value.__module__}.{name}.{method}"] = function
    return callables


def described_parameters(doc):
    """Return the type of each described parameter, keyed by name; None without such a section."""
    _, *sections = re.split(r"\nParameters\n-+\n", f"\n{doc}", maxsplit=1)
    if not sections:
        return None
    lines = re.findall(r"(?m)^\S.*", re.split(r"\n\n[A-Z][\w ]+\n---", sections[0])[0])
    parts = [line.partition(" : ") for line in lines]
    return {name.lstrip("*"): kind for names, _, kind in parts for name in names.split(", ")}


CALLABLES = public_callables()


@pytest.mark.parametrize("name", CALLABLES)
def test_a_docstring_describes_all_parameters_in_the_order_of_the_signature(name):
    function = CALLABLES[name]
    described = described_parameters(inspect.getdoc(function))
    if described is None:
        is_result = inspect.isclass(function) and "\nAttributes\n---" in inspect.getdoc(function)
        is_short = name.count(".") > 2 or is_result or issubclass(function, Warning)
        assert is_short, "functions and classes that users create describe their parameters"
        return
    parameters = dict(inspect.signature(function).parameters)
    for first in {"self", "cls"} & parameters.keys():
        del parameters[first]
    assert list(described) == list(parameters)
    for key, parameter in parameters.items():
        _, has_default, default = described[key].partition("default=")
        if has_default:
            assert ast.literal_eval(default) == parameter.default
        elif "optional" in described[key]:
            assert parameter.default is None
