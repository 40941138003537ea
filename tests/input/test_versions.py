"""`show_versions`, whose output bug reports contain."""

import platform
import sys
from importlib.metadata import version

import skgraded as sg


def test_python_threads_and_the_installed_libraries_are_listed(capsys, monkeypatch):
    monkeypatch.setattr("skgraded._input.libraries.OPTIONAL", ("lightgbm", "no-such-library"))
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    sg.show_versions()
    lines = (line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    shown = {name.strip(): text for name, text in lines}
    assert list(shown) == [
        "python",
        "executable",
        "machine",
        "threads",
        "GIL",
        "skgraded",
        "numpy",
        "scipy",
        "scikit-learn",
        "lightgbm",
    ]
    assert platform.python_version() in shown["python"] and shown["executable"] == sys.executable
    assert shown["threads"] == "3" and shown["numpy"] == version("numpy")
