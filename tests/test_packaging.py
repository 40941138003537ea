"""Files that describe a release agree."""

import re
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def text_of(name):
    path = ROOT / name
    if not path.exists():
        pytest.skip("the sdist contains no files of the repository")
    return path.read_text(encoding="utf-8")


def settings():
    parser = ConfigParser()
    parser.read_string(text_of("setup.cfg"))
    return parser


def test_wheels_are_built_for_each_python_version_of_the_classifiers():
    versions = re.findall(r":: 3\.(\d+)$", settings()["metadata"]["classifiers"], re.MULTILINE)
    builds = tomllib.loads(text_of("pyproject.toml"))["tool"]["cibuildwheel"]["build"]
    assert [f"cp3{version}-*" for version in versions] == [b for b in builds if "t-" not in b]
    assert {b for b in builds if "t-" in b} == {"cp314t-*", "cp315t-*"}


def test_the_extra_lint_contains_the_tools_of_the_lint_session_and_nothing_else():
    session = text_of("noxfile.py").split("\ndef lint(")[1].split("@nox")[0]
    assert '"-e", ".[lint]"' in session
    names = re.findall(r"(?m)^[\w-]+", settings()["options.extras_require"]["lint"])
    assert set(names) == set(re.findall(r'session\.run\("([\w-]+)"', session))
