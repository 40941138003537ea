"""What a report of a bug is asked for."""

import platform
import sys
from importlib.metadata import version

import skgraded as sg


def shown(capsys):
    sg.show_versions()
    return capsys.readouterr().out.split("\n\n")


def test_there_are_three_sections_each_with_its_title(capsys):
    titles = [section.partition("\n")[0] for section in shown(capsys)]
    assert titles == ["System:", "Python dependencies:", "Compiled code:"]


def test_the_python_that_runs_is_named_with_its_build_and_place(capsys):
    system = shown(capsys)[0]
    assert platform.python_version() in system and sys.executable in system
    assert platform.machine() in system


def test_libraries_have_their_installed_versions_and_those_that_lack_no_line(capsys, monkeypatch):
    monkeypatch.setattr("skgraded._input.versions.OPTIONAL", ("lightgbm", "no-such-library"))
    lines = [line.split(": ") for line in shown(capsys)[1].splitlines()[1:]]
    found = {name.strip(): text for name, text in lines}
    assert list(found) == ["skgraded", "numpy", "scipy", "scikit-learn", "lightgbm"]
    assert found["skgraded"] == sg.__version__ and found["numpy"] == version("numpy")


def test_it_says_what_speed_depends_on(capsys, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert shown(capsys)[2].splitlines()[2].strip() == "threads: 3"
