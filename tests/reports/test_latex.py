"""The LaTeX of reports compiles, whatever the names."""

import shutil
import subprocess

import numpy as np
import pytest

import skgraded as sg

if shutil.which("pdflatex") is None:
    pytest.skip(
        "pdflatex is not installed: NO LATEX WAS COMPILED; it is in texlive-latex-base",
        allow_module_level=True,
    )

PAGE = r"""\documentclass{article}
\usepackage[a3paper,landscape,margin=1cm]{geometry}
\usepackage[utf8]{inputenc}
\usepackage{booktabs}
\begin{document}
%s
\end{document}
"""
NAMES = ["50 % & more", "a_b^c", r"back\\slash {braces}", "#1 ~ $x$", "<b> \"quoted\" | bar",
         "[3mm] [x]"]


def compiles(table, folder):
    """Run pdflatex on a page with the table, and say what it says."""
    (folder / "page.tex").write_text(PAGE % table, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=folder, capture_output=True, text=True, errors="replace", timeout=60,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (folder / "page.pdf").stat().st_size > 1000


@pytest.fixture(scope="module")
def evaluations():
    rng = np.random.default_rng(0)
    ids = [NAMES[i % 6] + str(i) for i in range(8)]
    qid = np.repeat(ids, 5)
    y = rng.integers(0, 3, 40)
    return {
        name: sg.evaluate(y, rng.normal(size=40), qid=qid, measures=["ndcng(undefined=nan)", "rr"])
        for name in NAMES
    }


@pytest.mark.parametrize("per_query", [False, True])
def test_evaluations_compile(evaluations, tmp_path, per_query):
    compiles(evaluations[NAMES[0]].to_latex(per_query=per_query), tmp_path)


@pytest.mark.parametrize("baseline", [NAMES[0], None])
def test_comparisons_compile(evaluations, tmp_path, baseline):
    compiles(sg.compare(evaluations, baseline=baseline, rng=0).to_latex(), tmp_path)
