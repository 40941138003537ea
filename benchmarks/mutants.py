"""Insert small faults into the code, one at a time, and count how many the room's tests detect.

A fault is a different comparison, operator or number, `and` for `or`, a missing `not`, a negated
condition, or a returned None. Annotations, imports for types and raise statements do not change,
nor do lines with a comment that explains why faults change no value (`HARMLESS`). Each fault is
written into a copy of the package, and the tests run until one fails. Faults that no test detects
in time are printed. (mutmut works here too, but also changes error messages and draws no sample.)

    python benchmarks/mutants.py                          # a sample of 60, some minutes
    python benchmarks/mutants.py --sample 20 --seed 3 skgraded/_input/queries.py
"""

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = {
    # without the slowest tests, which check many cases of the kernel
    "measures": [
        "skgraded/measures",
        "tests/measures",
        "--ignore=tests/measures/test_long_queries.py",
        "tests/input",
        "tests/test_judgments.py",
    ],
    "reports": [
        "skgraded/reports",
        "tests/reports",
        "tests/writing",
        "tests/display",
        "--ignore=tests/writing/test_html_browser.py",
        "tests/model_selection/test_cross_evaluate.py",
        "tests/test_import.py",
    ],
    "stats": ["skgraded/stats", "tests/stats", "tests/reports"],
    "writing": [
        "skgraded/writing",
        "tests/writing",
        "--ignore=tests/writing/test_html_browser.py",
        "tests/reports",
        "tests/cli",
    ],
    "large": [
        "tests/large/test_batches.py",
        "tests/large/test_sources.py",
        "tests/reports",
    ],
    "_input": [
        "tests/input",
        "tests/test_judgments.py",
        "tests/model_selection/test_scorer.py",
        "tests/model_selection/test_ranker.py",
        "tests/model_selection/test_split_queries.py",
        "tests/model_selection/test_messages.py",
        "tests/datasets",
        "tests/measures/test_common.py",
        "tests/measures/test_parsing.py",
        "tests/test_docs.py",
        "tests/cli",
        "tests/large/test_batches.py",  # for arrow.py
    ],
    "boosting": ["skgraded/boosting", "tests/boosting", "tests/kernels", "tests/model_selection"],
    "datasets": ["skgraded/datasets", "tests/datasets", "tests/cli"],
    "model_selection": ["skgraded/model_selection", "tests/model_selection"],
    "display": ["skgraded/display", "tests/display", "tests/reports"],
    "cli": ["tests/cli"],
}
PARTS = (  # the package, and what its tests read
    "skgraded",
    "tests",
    "conformance",
    "docs",
    "benchmarks",
    "examples",
    "setup.cfg",
    "README.md",
    "CHANGELOG.md",
)
HARMLESS = (b"# speed only", b"# memory only", b"# any numbers do")
OTHER = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}


def faults_of(node):
    """Yield replacements of the node, each with a fault."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[i] = OTHER[type(operator)]()
            yield other
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in OTHER:
        texts = [n for n in ast.walk(node) if isinstance(n, ast.JoinedStr)] + [
            n for n in ast.iter_child_nodes(node) if isinstance(getattr(n, "value", 0), str)
        ]
        if not texts:
            other = copy.deepcopy(node)
            other.op = OTHER[type(node.op)]()
            yield other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        is_bool = isinstance(node.value, bool)
        if is_bool or node.value + 1 != node.value:  # they are equal for 1e300
            yield ast.Constant(not node.value if is_bool else node.value + 1)
    elif isinstance(node, ast.Return) and not isinstance(node.value, ast.Constant | None):
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        if isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
            turned = ast.UnaryOp(ast.Not(), node.test)
            yield node.test, turned


def walk(node):
    """Yield the nodes whose faults can change behavior."""
    left_alone = {"annotation", "returns", "decorator_list"}
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # affects only errors of zip
        return
    if "overload" in [getattr(name, "id", "") for name in getattr(node, "decorator_list", ())]:
        return  # never called, only its types are used
    if isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING":
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in left_alone:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child)


def mutants_of(path):
    """Yield the line number, the old code, the new code, and the whole file with the fault."""
    source = path.read_bytes()
    lines = source.splitlines(keepends=True)
    begins = [sum(map(len, lines[:i])) for i in range(len(lines))]
    for node in walk(ast.parse(source)):
        for fault in faults_of(node):
            old, new = fault if isinstance(fault, tuple) else (node, fault)
            if any(reason in lines[old.lineno - 1] for reason in HARMLESS):
                continue
            start = begins[old.lineno - 1] + old.col_offset
            end = begins[old.end_lineno - 1] + old.end_col_offset
            text = ast.unparse(ast.fix_missing_locations(new))
            if isinstance(new, ast.expr):
                text = f"({text})"
            changed = source[:start] + text.encode() + source[end:]
            yield old.lineno, source[start:end].decode(), text, changed


def is_noticed(folder, path, changed, timeout):
    """Run the tests in a copy of the package with the changed file; tests of this file first."""
    target = folder / path
    original = target.read_bytes()
    target.write_bytes(changed)
    room = TESTS[path.parts[1]]
    named = [file.relative_to(ROOT) for file in (ROOT / "tests").rglob(f"test_*{path.stem}*.py")]
    near = [
        str(file)
        for file in named
        if f"--ignore={file}" not in room and any(file.is_relative_to(tests) for tests in room)
    ]
    try:
        return any(fails(folder, tests, timeout) for tests in (near, room) if tests)
    finally:
        target.write_bytes(original)


def fails(folder, tests, timeout):
    """Return the end of the output if a test fails or the tests time out, otherwise None."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        result = subprocess.run(
            command + tests, cwd=folder, env=environment, capture_output=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return "The tests took too long."
    return result.stdout.decode()[-2000:] if result.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", default=[f"skgraded/{room}" for room in TESTS])
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=300, help="seconds per fault")
    options = parser.parse_args()
    files = [
        file
        for path in options.paths
        for file in sorted((ROOT / path).rglob("*.py")) or [ROOT / path]
    ]
    mutants = [(file.relative_to(ROOT), *mutant) for file in files for mutant in mutants_of(file)]
    chosen = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    start, survivors = time.time(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in PARTS:
            copied = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copied(ROOT / part, folder / part)
        for room in {path.parts[1] for path, *_ in chosen}:
            if output := fails(folder, TESTS[room], None):
                sys.exit(f"{output}\nThe tests of {room} fail without any fault.")
        for path, line, old, new, changed in chosen:
            if not is_noticed(folder, path, changed, options.timeout):
                survivors += 1
                print(f"{path}:{line}: {old!r} -> {new!r}", flush=True)
    noticed = len(chosen) - survivors
    share = 100 * noticed / len(chosen)
    print(
        f"{noticed} of {len(chosen)} detected ({share:.1f} %), sampled from "
        f"{len(mutants)} possible; seed {options.seed}, {time.time() - start:.0f} s"
    )


if __name__ == "__main__":
    main()
