"""Type checkers find the types of the package in an editable and in a regular installation."""

import subprocess
import sys
from importlib import metadata

import pytest

import skgraded

USE = """
import skgraded as sg
from skgraded.lightgbm import eval_metric

reveal_type(sg.NDCNG(k=10))
reveal_type(sg.NDCNG(k=10)([1, 0], [2, 1]))
reveal_type(sg.evaluate([1], [1], qid=[1]).mean())
sg.NDCG(depth=3)
eval_metric(["ndcng@10"])
reveal_type(sg.evaluate("y", "s", qid="q", data={}).mean())
reveal_type(sg.evaluate("y", ["s"], qid="q", data={})["s"].mean())
"""


# mypy would take twice as long for the types of other libraries.
SETTINGS = """[mypy]
[mypy-numpy.*,matplotlib.*,PIL.*]
follow_imports = skip
follow_imports_for_stubs = True
"""


@pytest.fixture(scope="module")
def installed():
    try:
        metadata.distribution("skgraded")
    except metadata.PackageNotFoundError:
        pytest.skip("skgraded is not installed, only on the path")
    pytest.importorskip("mypy", reason='mypy is not installed: pip install "skgraded[lint]"')


def test_mypy_finds_the_public_names_and_their_types(installed, tmp_path):
    names = "".join(f"print(sg.{name})\n" for name in skgraded.__all__)
    (tmp_path / "use.py").write_text(USE + names)
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    cache = str(tmp_path / "cache")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "use.py"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    lines = process.stdout.splitlines()
    assert 'use.py:5: note: Revealed type is "skgraded.measures.gain.NDCNG"' in lines, process
    for line, text in (
        (6, 'Revealed type is "float"'),
        (7, "dict[str, float]"),
        (10, "dict[str, float]"),
        (11, "dict[str, float]"),
    ):
        assert any(f"use.py:{line}: note:" in shown and text in shown for shown in lines), process
    errors = [shown for shown in lines if ": error: " in shown]
    assert len(errors) == 1 and errors[0].startswith("use.py:8: error: Unexpected keyword"), process
