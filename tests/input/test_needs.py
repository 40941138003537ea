"""What works with the required dependencies alone, and the error about each optional package."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from skgraded._input.needs import is_installed, needs

OPTIONAL = [
    "pandas", "polars", "pyarrow", "matplotlib", "jinja2", "tabulate", "tqdm", "xgboost",
    "catboost", "dask", "distributed", "pyspark",
]
# Run in a new interpreter that refuses to import the optional packages.
WITHOUT = f"""
import sys

class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing)
"""
SETUP = """
import json
import skgraded as sg
from sklearn.linear_model import Ridge

X, y, qid = sg.datasets.make_ranking(n_queries=12, random_state=0)
ev = sg.evaluate("y", "s", qid="q", data={"y": y, "s": X[:, 0], "q": qid})
cmp = sg.compare({"a": ev, "b": sg.evaluate(y, X[:, 1], qid=qid)}, rng=0)
ranker = sg.QueryRanker(Ridge())
cv = sg.cross_evaluate(ranker, X, y, qid=qid, cv=2)
summary = sg.Summary.of(ev)
"""
TABLE = 'A table of results needs pandas: pip install "skgraded[all]"'
PAGE = 'An HTML page needs pandas and Jinja2: pip install "skgraded[all]"'
ERRORS = {
    "ev.to_frame()": TABLE, "ev.summary()": TABLE, "ev.worst()": TABLE, "ev.to_csv()": TABLE,
    "cmp.to_frame()": TABLE, "cmp.to_latex()": TABLE, "str(cmp.leaderboard())": TABLE,
    "cv.by_fold()": TABLE, "summary.to_frame()": TABLE,
    "ev.to_html()": PAGE, "cmp.to_html()": PAGE, "cv.to_html()": PAGE, "summary.to_html()": PAGE,
    "sg.ThresholdCurveDisplay([1], [0.5]).plot()":
        'ThresholdCurveDisplay.plot needs matplotlib: pip install "skgraded[all]"',
    "sg.evaluate_batches([], 'y', 's', 'q')":
        'evaluate_batches needs pyarrow: pip install "skgraded[all]"',
    "sg.cross_evaluate(ranker, X, y, qid=qid, progress=True)":
        'progress=True needs tqdm: pip install "skgraded[all]"',
    "import skgraded.xgboost": 'skgraded.xgboost needs xgboost: pip install "skgraded[all]"',
    "import skgraded.catboost": 'skgraded.catboost needs catboost: pip install "skgraded[all]"',
    "import skgraded.dask":
        'skgraded.dask needs dask, pyarrow and pandas: pip install "skgraded[dask]"',
    "import skgraded.spark":
        'skgraded.spark needs pyspark, pyarrow and pandas: pip install "skgraded[spark]"',
}
WORKING = {
    "ev.to_markdown()", "ev.to_latex()", "ev.to_markdown(per_query=True)", "ev.to_json()",
    "cmp.sentences()", "cmp.to_json()", "repr(cmp)", "ev._repr_html_()", "sg.show_versions()",
}
USES = """
for use in json.loads(sys.argv[1]):
    try:
        exec(use)
    except ImportError as error:
        print(json.dumps([use, str(error)]), file=sys.stderr)
"""


def run(code, *arguments, **settings):
    """Run code in a new interpreter."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **settings)


def test_every_missing_package_is_named_with_the_command_that_installs_it():
    result = run(WITHOUT + SETUP + USES, json.dumps([*ERRORS, *sorted(WORKING)]))
    assert result.returncode == 0, result.stderr
    assert dict(map(json.loads, result.stderr.splitlines())) == ERRORS


# The command -------------------------------------------------------------------------------------

FILES = {
    "qrels.txt": "1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n2 0 b 3\n",
    "a.run": "1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n1 Q0 c 3 2 r\n2 Q0 a 1 2 r\n2 Q0 z 2 1 r\n3 Q0 a 1 1 r\n",
    "truth.pref": "1 a b\n1 b c\n2 b z\n",
    "b.run": "1 Q0 a 1 3 r\n1 Q0 c 2 2 r\n2 Q0 b 1 2 r\n",
    "test.letor": "2 qid:1 1:.5\n0 qid:1 1:.2\n1 qid:2 1:.3\n0 qid:2 1:.1\n",
    "scores.txt": "1\n2\n3\n1\n",
    "table.csv": "query,doc,grade,x,y\na,1,2,1,3\na,2,0,2,1\nb,1,1,3,4\nb,2,0,1,5\n",
}
COMMANDS = [
    *(f"evaluate qrels.txt a.run b.run --format {form}"
      for form in ("table", "csv", "json", "markdown", "latex")),
    "evaluate qrels.txt a.run -c --ties trec -m map -m ndcg@5 --per-query --format csv",
    "evaluate test.letor scores.txt --per-query --format markdown",
    "evaluate table.csv --score-column x --score-column y --document-column doc --format latex",
    "preferences truth.pref a.run b.run -m edrc -m pair_accuracy --format csv",
    "measures",
]
EACH = """
from skgraded.cli import main
for words in json.loads(sys.argv[1]):
    print(">", words, flush=True)
    print(">", words, file=sys.stderr, flush=True)
    print("code", main(words.split()))
"""


def test_the_command_prints_the_same_with_the_required_dependencies_alone(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    result, expected = (
        run(f"import json, sys{before}{EACH}", json.dumps(COMMANDS), cwd=tmp_path)
        for before in (WITHOUT, "")
    )
    assert result.stdout == expected.stdout and result.stdout.count("code 0") == len(COMMANDS)
    assert result.stderr == expected.stderr
    assert "1 of 3 queries of the run (the first is '3')" in result.stderr


def test_the_command_names_what_pages_and_parquet_files_need(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    (tmp_path / "folder").mkdir()
    errors = {
        "evaluate qrels.txt a.run --format html": PAGE,
        "evaluate table.parquet":
            'Reading a Parquet file needs pyarrow and pandas: pip install "skgraded[all]"',
        "evaluate folder": 'evaluate_batches needs pyarrow: pip install "skgraded[all]"',
        "compare qrels.txt b.run b.run": "Each system can be passed only once; got b.run twice.",
        "compare qrels.txt a.run b.run": TABLE,
    }
    code = f"import json, sys{WITHOUT}{EACH}"
    result = run(code, json.dumps(list(errors)), cwd=tmp_path)
    assert result.stdout.count("code 2") == len(errors)
    lines = [line for line in result.stderr.splitlines() if not line.startswith(">")]
    assert lines == [f"skgraded: {message}" for message in errors.values()]


# The helper --------------------------------------------------------------------------------------

def test_an_installed_package_that_fails_to_import_is_named_after_what_it_lacks(tmp_path):
    (tmp_path / "broken_package.py").write_text("import missing_module\n")
    code = """
from skgraded._input.needs import needs
with needs("This", "broken_package"):
    import broken_package
"""
    result = run(f"import sys; sys.path.insert(0, {str(tmp_path)!r})" + code)
    assert 'ImportError: This needs broken_package: pip install "skgraded[all]"' in result.stderr
    with pytest.raises(ImportError, match='^This needs missing_module: pip install "skgraded'):
        with needs("This"):
            import missing_module  # noqa: F401


def test_other_errors_and_results_pass():
    with pytest.raises(ZeroDivisionError), needs("This", "numpy"):
        1 / 0  # noqa: B018
    with needs("This", "numpy"):
        import numpy  # noqa: F401
    assert is_installed("numpy") and is_installed("numpy", "scipy")
    assert not is_installed("numpy", "no_package_of_this_name")
    assert find_spec("no_package_of_this_name") is None
