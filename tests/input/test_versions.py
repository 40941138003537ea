"""`show_versions`, whose output bug reports contain."""

import platform
import sys
from importlib.metadata import version

import pytest

import skgraded as sg


@pytest.fixture
def shown(capsys, monkeypatch):
    """Return the printed sections; one optional library is installed, the other is not."""
    monkeypatch.setattr("skgraded._input.versions.OPTIONAL", ("lightgbm", "no-such-library"))
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    sg.show_versions()
    return capsys.readouterr().out.split("\n\n")


def test_python_and_compiled_code_are_described(shown):
    titles = [section.partition("\n")[0] for section in shown]
    assert titles == ["System:", "Python dependencies:", "Compiled code:"]
    assert platform.python_version() in shown[0] and sys.executable in shown[0]
    assert platform.machine() in shown[0]
    assert shown[2].splitlines()[1].strip() == "threads: 3"


def test_only_installed_libraries_are_listed(shown):
    lines = [line.split(": ") for line in shown[1].splitlines()[1:]]
    result = {name.strip(): text for name, text in lines}
    assert list(result) == ["skgraded", "numpy", "scipy", "scikit-learn", "lightgbm"]
    assert result["skgraded"] == sg.__version__ and result["numpy"] == version("numpy")
