"""What a report of a bug is asked for."""

import platform
import sys
from importlib.metadata import version

import pytest

import skgraded as sg


@pytest.fixture
def shown(capsys, monkeypatch):
    """The sections that are printed, with one optional library that is there and one that lacks."""
    monkeypatch.setattr("skgraded._input.versions.OPTIONAL", ("lightgbm", "no-such-library"))
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    sg.show_versions()
    return capsys.readouterr().out.split("\n\n")


def test_the_python_that_runs_and_what_speed_depends_on_are_shown(shown):
    titles = [section.partition("\n")[0] for section in shown]
    assert titles == ["System:", "Python dependencies:", "Compiled code:"]
    assert platform.python_version() in shown[0] and sys.executable in shown[0]
    assert platform.machine() in shown[0]
    assert shown[2].splitlines()[2].strip() == "threads: 3"


def test_libraries_have_their_installed_versions_and_those_that_lack_no_line(shown):
    lines = [line.split(": ") for line in shown[1].splitlines()[1:]]
    found = {name.strip(): text for name, text in lines}
    assert list(found) == ["skgraded", "numpy", "scipy", "scikit-learn", "lightgbm"]
    assert found["skgraded"] == sg.__version__ and found["numpy"] == version("numpy")
