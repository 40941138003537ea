"""Progress bars are shown only on terminals and in notebooks."""

import sys
import time

import pytest

from skgraded._input.libraries import show_progress

pytest.importorskip("tqdm")


@pytest.mark.parametrize("is_notebook", [False, True])
def test_a_bar_is_shown_in_notebooks_but_not_in_files(monkeypatch, capsys, is_notebook):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if is_notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", sys)  # any module: only its name counts
    with show_progress(True, 3, desc="letters") as advance:
        time.sleep(0.6)  # bars of short computations are not shown
        advance(2, "best: b")
    shown = capsys.readouterr().err
    assert ("letters" in shown and "2/3" in shown and "best: b" in shown) == is_notebook
