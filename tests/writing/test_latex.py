"""LaTeX tables compile with any names and contain all rows."""

import shutil
import subprocess

import numpy as np
import pytest
from small_reports import systems

import skgraded as sg
from skgraded.writing import tables

if shutil.which("pdflatex") is None:
    pytest.skip(
        "pdflatex is not installed: NO LATEX WAS COMPILED; it is in texlive-latex-base",
        allow_module_level=True,
    )

PAGE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{booktabs,longtable}
\begin{document}
%s
\end{document}
"""
NAMES = [
    "50 % & more",
    "a_b^c",
    r"back\\slash {braces}",
    "#1 ~ $x$",
    '<b> "quoted" | bar',
    "[3mm] [x]",
]


def check_latex(table, folder):
    """Compile a page that contains the table."""
    (folder / "page.tex").write_text(PAGE % table, encoding="utf-8")
    process = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )
    assert process.returncode == 0, process.stdout[-2000:]


def test_tables_with_special_characters_compile(tmp_path):
    rng = np.random.default_rng(0)
    qid = np.repeat([NAMES[i % 6] + str(i) for i in range(8)], 5)
    y = rng.integers(0, 3, 40)
    measures = ["ndcng(undefined=nan)", "rr"]
    evaluations = {
        name: sg.evaluate(y, rng.normal(size=40), qid=qid, measures=measures) for name in NAMES
    }
    latex = [
        tables.latex(table, caption=r"$x_1$ \& 5\,\%", label=f"a_{i}")
        for i, table in enumerate((evaluations[NAMES[0]].summary(), {"query": np.unique(qid)}))
    ]
    latex += [
        sg.compare(evaluations, baseline=baseline, rng=0).to_latex()
        for baseline in (NAMES[0], None)
    ]
    check_latex("\n\n".join(latex), tmp_path)


def test_tables_of_twenty_systems_and_five_measures_compile(tmp_path):
    long_names = ["a system of a rather long name that has to be broken", "x" * 300, *NAMES[:3]]
    names = ["bm25", *long_names, *(f"2026-11_lambdarank_depth8_leaves63_{i}" for i in range(14))]
    measures = ["NDCNG@10", "AP(threshold=2,undefined=nan)@20", "RR", "P@5", "MuAP"]
    latex = []
    for baseline in (None, "bm25"):
        comparison = sg.compare(systems(names, 40, measures), baseline=baseline, test="t")
        board, table = (
            report.to_latex(caption="Means", label=f"tab:{baseline}", digits=digits)
            for report, digits in ((comparison.leaderboard(), 3), (comparison, 4))
        )
        assert r"\begin{longtable}" in table and r"\begin{longtable}" not in board
        assert board.count(r"\begin{table}") == 1 and board.count(r"\\") == 21
        latex += [board, table]
    check_latex("\n\n".join(latex), tmp_path)
