"""Importing the package is light: optional libraries come in where they are used."""

import subprocess
import sys

HEAVY = ("lightgbm", "xgboost", "catboost", "matplotlib", "polars", "numba", "torch")


def modules_after(statement):
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_import_adds_no_heavy_module():
    assert not modules_after("import skgraded") & set(HEAVY)


def test_using_a_measure_adds_no_heavy_module():
    use = "import skgraded as sg; sg.measure('ndcng@10')([1, 0], [2, 1], qid=['a', 'a'])"
    assert not modules_after(use) & set(HEAVY)


def test_all_names_of_the_package_exist():
    import skgraded

    assert skgraded.__all__
    for name in skgraded.__all__:
        assert getattr(skgraded, name) is not None
