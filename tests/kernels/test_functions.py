"""Unused functions in compiled modules, which neither Cython nor the compiler reports."""

import re
from pathlib import Path

import pytest

import skgraded

FOLDER = Path(skgraded.__file__).parent
SOURCES = [path for path in FOLDER.rglob("*") if path.suffix in (".py", ".pyx", ".pxd", ".h")]
COMPILED = sorted(path for path in SOURCES if path.suffix in (".pyx", ".pxd", ".h"))
# A name that follows a type or a keyword such as `cdef`: a definition or an external declaration
DECLARATION = re.compile(
    r"^ *(?!//|return|raise|if|elif|while|for|constexpr)(?:[\w.:<>*&\[\]]+ )+\**(\w+)(?=\()",
    re.MULTILINE,
)


def uses(path):
    """Return the names that a file calls or accesses as attributes."""
    text = DECLARATION.sub("", path.read_text(encoding="utf-8"))
    return set(re.findall(r"(\w+)\(|(?<=\.)(\w+)", text))


USED = {
    name
    for path in [*SOURCES, *Path(__file__).parent.glob("*.py")]
    for names in uses(path)
    for name in names
}


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.name)
def test_every_function_of_a_compiled_module_is_used(path):
    defined = set(DECLARATION.findall(path.read_text(encoding="utf-8")))
    assert defined or path.suffix == ".pxd"
    assert not {name for name in defined - USED if not name.startswith("__")}
