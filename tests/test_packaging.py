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


def test_wheels_are_built_for_each_python_version_of_the_classifiers():
    settings = ConfigParser()
    settings.read_string(text_of("setup.cfg"))
    versions = re.findall(r":: 3\.(\d+)$", settings["metadata"]["classifiers"], re.MULTILINE)
    builds = tomllib.loads(text_of("pyproject.toml"))["tool"]["cibuildwheel"]["build"]
    assert [f"cp3{version}-*" for version in versions] == [b for b in builds if "t-" not in b]
    assert {b for b in builds if "t-" in b} == {"cp314t-*", "cp315t-*"}
