"""Missing optional packages, the versions that `show_versions` prints, and progress bars."""

import json
import platform
import subprocess
import sys
import time
from importlib.metadata import version

import pytest

import skgraded as sg
from skgraded._input.libraries import needs, show_progress
from skgraded.cli import main

OPTIONAL = [
    "polars",
    "pyarrow",
    "matplotlib",
    "jinja2",
    "tabulate",
    "tqdm",
    "xgboost",
    "catboost",
    "dask",
    "distributed",
    "pyspark",
]
CODE = f"""
import contextlib, io, json, sys

class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing)

import skgraded as sg
from sklearn.linear_model import Ridge

X, y, qid = sg.datasets.make_ranking(n_queries=12, random_state=0)
ev = sg.evaluate("y", "s", qid="q", data={{"y": y, "s": X[:, 0], "q": qid}})
cmp = sg.compare({{"a": ev, "b": sg.evaluate(y, X[:, 1], qid=qid)}}, rng=0)
ranker = sg.QueryRanker(Ridge())
cv = sg.cross_evaluate(ranker, X, y, qid=qid, cv=2)
summary = sg.Summary.of(ev)
from skgraded.cli import main

def error_of(use):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(use, globals())
    except ImportError as error:
        return str(error)

def output_of(words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as error:
            code = main(words.split())
    return [code, out.getvalue(), error.getvalue()]

uses, commands = json.loads(sys.argv[1])
print(json.dumps([{{use: error_of(use) for use in uses}}, [*map(output_of, commands)]]))
"""
LATEX = 'to_latex needs Jinja2: pip install "skgraded[all]"'
PAGE = 'An HTML page needs Jinja2: pip install "skgraded[all]"'
ERRORS = {
    "cmp.to_latex()": LATEX,
    "ev.to_latex()": LATEX,
    "ev.to_html()": PAGE,
    "cmp.to_html()": PAGE,
    "cv.to_html()": PAGE,
    "summary.to_html()": PAGE,
    "sg.ThresholdCurveDisplay([1], [0.5]).plot()": 'ThresholdCurveDisplay.plot needs matplotlib: pip install "skgraded[all]"',
    "sg.evaluate_batches([], 'y', 's', 'q')": 'evaluate_batches needs pyarrow: pip install "skgraded[all]"',
    "sg.cross_evaluate(ranker, X, y, qid=qid, progress=True)": 'progress=True needs tqdm: pip install "skgraded[all]"',
    "import skgraded.xgboost": 'skgraded.xgboost needs xgboost: pip install "skgraded[all]"',
    "import skgraded.catboost": 'skgraded.catboost needs catboost: pip install "skgraded[all]"',
    "import skgraded.dask": 'skgraded.dask needs dask and pyarrow: pip install "skgraded[dask]"',
    "import skgraded.spark": 'skgraded.spark needs pyspark and pyarrow: pip install "skgraded[spark]"',
}
WORKING = {
    "ev.to_frame()",
    "ev.summary()",
    "cv.by_fold()",
    "ev.to_markdown()",
    "ev.to_json()",
    "cmp.sentences()",
    "cmp.to_json()",
    "repr(cmp)",
    "ev._repr_html_()",
    "sg.show_versions()",
}
FILES = {
    "qrels.txt": "1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n2 0 b 3\n",
    "a.run": "1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n1 Q0 c 3 2 r\n2 Q0 a 1 2 r\n2 Q0 z 2 1 r\n3 Q0 a 1 1 r\n",
    "b.run": "1 Q0 a 1 3 r\n1 Q0 c 2 2 r\n2 Q0 b 1 2 r\n",
    "test.letor": "2 qid:1 1:.5\n0 qid:1 1:.2\n1 qid:2 1:.3\n0 qid:2 1:.1\n",
    "scores.txt": "1\n2\n3\n1\n",
    "table.csv": "query,doc,grade,x,y\na,1,2,1,3\na,2,0,2,1\nb,1,1,3,4\nb,2,0,1,5\n",
}
COMMANDS = [
    *(f"evaluate qrels.txt a.run b.run --format {form}" for form in ("table", "csv", "markdown")),
    "evaluate qrels.txt a.run -c --ties trec -m map -m ndcg@5 --per-query --format csv",
    "evaluate test.letor scores.txt --per-query --format markdown",
    "evaluate table.csv --score-column x --score-column y --document-column doc --format markdown",
]
ERRORS_OF_COMMANDS = {
    "evaluate qrels.txt a.run --format html": PAGE,
    "evaluate qrels.txt a.run --format latex": LATEX,
    "evaluate table.parquet": 'Reading a Parquet file needs pyarrow: pip install "skgraded[all]"',
    "evaluate folder": 'evaluate_batches needs pyarrow: pip install "skgraded[all]"',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "table.parquet").write_bytes(b"PAR1")
    (folder / "folder").mkdir()
    return folder


@pytest.fixture(scope="module")
def without(folder):
    """Run all uses and commands in an interpreter that cannot import the optional packages."""
    arguments = [*ERRORS, *WORKING], [*COMMANDS, *ERRORS_OF_COMMANDS]
    result = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_errors_name_the_missing_package_and_the_command_that_installs_it(without):
    assert without[0] == ERRORS | dict.fromkeys(WORKING)


def test_the_command_prints_the_same_with_the_required_dependencies_alone(
    without, folder, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    for words, output in zip(COMMANDS, without[1], strict=False):
        assert output == [main(words.split()), *capsys.readouterr()] and output[0] == 0


def test_the_command_names_the_packages_for_pages_and_parquet_files(without):
    outputs = without[1][len(COMMANDS) :]
    assert outputs == [[2, "", f"skgraded: {text}\n"] for text in ERRORS_OF_COMMANDS.values()]


def test_the_module_that_an_installed_package_lacks_is_named(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import missing_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match='^This needs missing_module: pip install "skgraded'):
        with needs("This", "numpy", "broken_package"):
            import broken_package  # noqa: F401
    with pytest.raises(ImportError, match='^This needs missing_module: pip install "skgraded'):
        with needs("This"):
            import missing_module  # noqa: F401
    with pytest.raises(ZeroDivisionError), needs("This", "numpy"):
        1 / 0  # noqa: B018


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


@pytest.mark.parametrize("is_notebook", [False, True])
def test_a_bar_is_shown_in_notebooks_but_not_in_files(monkeypatch, capsys, is_notebook):
    pytest.importorskip("tqdm")
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if is_notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", sys)  # any module: only its name counts
    with show_progress(True, 3, desc="letters") as advance:
        time.sleep(0.6)  # bars of short computations are not shown
        advance(2, "best: b")
    shown = capsys.readouterr().err
    assert ("letters" in shown and "2/3" in shown and "best: b" in shown) == is_notebook
