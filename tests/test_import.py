"""Importing the package is fast: optional libraries are loaded where they are used.

A new interpreter executes the steps in order and prints the loaded modules after each step.
"""

import json
import subprocess
import sys

import pytest

HEAVY = {
    "lightgbm",
    "xgboost",
    "catboost",
    "matplotlib",
    "polars",
    "numba",
    "torch",
    "jinja2",
    "dask",
    "distributed",
    "pyspark",
    "sklearn.model_selection",
    "sklearn.ensemble",
}
# Steps, and the heavy modules that each step may load.
STEPS = {
    "import skgraded as sg": set(),
    "sg.measure('ndcng@10')([1, 0], [2, 1], qid=['a', 'a'])": set(),
    "import skgraded.cli": set(),
    "import skgraded.model_selection": set(),
    "import skgraded.writing.pages": set(),
    "sg.QueryRanker(DummyRegressor()).fit([[1], [2]], [0, 1], qid=[1, 1])": set(),
    "display = sg.ThresholdCurveDisplay([1], [0.5])": set(),
    "import skgraded.lightgbm": set(),
    "display.plot(ax=matplotlib.figure.Figure().subplots())": {"matplotlib"},
}
BEFORE = {  # imports of the user before the step
    "sg.QueryRanker(DummyRegressor()).fit([[1], [2]], [0, 1], qid=[1, 1])": "from sklearn.dummy import DummyRegressor",
    "display.plot(ax=matplotlib.figure.Figure().subplots())": "import matplotlib.figure",
}
CODE = """
import json, sys
for before, step in json.loads(sys.argv[1]):
    exec(before)
    exec(step)
    print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def loaded():
    """Return the modules that are loaded after each step."""
    steps = json.dumps([(BEFORE.get(step, ""), step) for step in STEPS])
    process = subprocess.run(
        [sys.executable, "-c", CODE, steps], capture_output=True, text=True, check=True, timeout=60
    )
    return dict(zip(STEPS, map(json.loads, process.stdout.splitlines()), strict=True))


def test_modules_are_loaded_only_where_they_are_used(loaded):
    assert {step: set(loaded[step]) & HEAVY for step in STEPS} == STEPS
    assert not {"sklearn", "scipy", "pandas"} & set(loaded["import skgraded.cli"])
    assert "skgraded.lightgbm" not in loaded["import skgraded as sg"]
    assert "matplotlib.pyplot" not in list(loaded.values())[-1]


def test_names_that_are_loaded_later_are_public_names_of_their_modules():
    import skgraded

    assert all(getattr(skgraded, name) is not None for name in skgraded.__all__)
    assert list(skgraded.LATER["display"]) == skgraded.display.__all__
    for module, names in skgraded.LATER.items():
        assert set(names) <= set(getattr(skgraded, module).__all__)
        assert {module, *names} <= set(dir(skgraded))
    with pytest.raises(AttributeError, match="module 'skgraded' has no attribute 'ndcg'"):
        skgraded.ndcg  # noqa: B018


def test_the_package_works_without_docstrings():
    code = "import skgraded as sg; exit(sg.RR()([0, 1], [2, 1]) != 1 / 2)"
    subprocess.run([sys.executable, "-OO", "-c", code], check=True, timeout=60)
