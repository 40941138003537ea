"""Progress bars are shown only on terminals and in notebooks."""

import sys

import pytest

from skgraded._input.progress import progress_bar

pytest.importorskip("tqdm")


@pytest.mark.parametrize("is_notebook", [False, True])
def test_a_bar_is_shown_in_notebooks_but_not_in_files(monkeypatch, capsys, is_notebook):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if is_notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", sys)  # any module: only its name counts
    assert list(progress_bar("abc", desc="letters")) == ["a", "b", "c"]
    assert ("letters" in capsys.readouterr().err) == is_notebook
