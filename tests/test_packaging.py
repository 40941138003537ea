"""Files that describe a release, and how to change the code, agree with the repository."""

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


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "MAINTAINING.md"])
def test_files_and_names_in_the_instructions_exist(name):
    text_of(".pre-commit-config.yaml")  # only the repository contains all files
    text = re.sub(r"```.*?```", "", text_of(name), flags=re.DOTALL)

    def places(path):
        return [place for place in (ROOT / path, ROOT / "skgraded" / path) if place.exists()]

    paths = re.findall(r"`([\w./]*/[\w./]*)`", text)
    assert [path for path in paths if "NAME" not in path and not places(path)] == []
    named = re.findall(r"`(\w+)`[^`.,;]{0,40}?\b(?:in|to)\s`([\w./]+\.\w+)`", text)
    named += [pair[::-1] for pair in re.findall(r"`([\w./]+\.py)` \(`(\w+)`\)", text)]
    wrong = [
        f"{word} in {path}"
        for word, path in named
        for place in places(path)
        if not re.search(rf"\b{word}\b", place.read_text(encoding="utf-8"))
    ]
    assert wrong == []
