"""LaTeX tables compile with any names and fit the width of a page."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from small_reports import systems

import skgraded as sg

if shutil.which("pdflatex") is None:
    pytest.skip(
        "pdflatex is not installed: NO LATEX WAS COMPILED; it is in texlive-latex-base",
        allow_module_level=True,
    )

PAGE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{booktabs,array,graphicx,longtable}
\begin{document}
%s
\end{document}
"""
NAMES = ["50 % & more", "a_b^c", r"back\\slash {braces}", "#1 ~ $x$", "<b> \"quoted\" | bar",
         "[3mm] [x]"]


def check_latex(table, folder):
    """Compile a page that contains the table; fail if a line is too wide."""
    (folder / "page.tex").write_text(PAGE % table, encoding="utf-8")
    process = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=folder, capture_output=True, text=True, errors="replace", timeout=60,
    )
    assert process.returncode == 0, process.stdout[-2000:]
    too_wide = map(float, re.findall(r"Overfull \\hbox \(([\d.]+)pt", process.stdout))
    assert max(too_wide, default=0) < 1


def test_tables_with_special_characters_compile(tmp_path):
    rng = np.random.default_rng(0)
    qid = np.repeat([NAMES[i % 6] + str(i) for i in range(8)], 5)
    y = rng.integers(0, 3, 40)
    measures = ["ndcng(undefined=nan)", "rr"]
    evaluations = {
        name: sg.evaluate(y, rng.normal(size=40), qid=qid, measures=measures) for name in NAMES
    }
    tables = [
        evaluations[NAMES[0]].to_latex(per_query, caption=r"$x_1$ \& 5\,\%", label=f"a_{per_query}")
        for per_query in (False, True)
    ]
    tables += [
        sg.compare(evaluations, baseline=baseline, rng=0).to_latex()
        for baseline in (NAMES[0], None)
    ]
    check_latex("\n\n".join(tables), tmp_path)


def test_tables_of_twenty_systems_and_five_measures_fit_the_width_of_a_page(tmp_path):
    long_names = ["a system of a rather long name that has to be broken", "x" * 300, *NAMES[:3]]
    names = ["bm25", *long_names, *(f"2026-11_lambdarank_depth8_leaves63_{i}" for i in range(14))]
    measures = ["NDCNG@10", "AP(threshold=2,undefined=nan)@20", "RR", "P@5", "MuAP"]
    tables = []
    for baseline in (None, "bm25"):
        comparison = sg.compare(systems(names, 40, measures), baseline=baseline, test="t")
        board, table = (
            report.to_latex(caption="Means", label=f"tab:{baseline}", digits=digits)
            for report, digits in ((comparison.leaderboard(), 3), (comparison, 4))
        )
        assert r"\begin{longtable}" in table and r"\begin{longtable}" not in board
        assert board.count(r"\begin{table}") == 1 and board.count(r"\\") >= 21
        tables += [board, table]
    check_latex("\n\n".join(tables), tmp_path)


def test_the_check_finds_lines_that_are_too_wide(tmp_path):
    with pytest.raises(AssertionError):
        check_latex(r"\mbox{" + "wide " * 200 + "}", tmp_path)
