"""Checks that anyone can run: `nox -l` lists them, `nox -s lint` runs one in a separate environment.

In an environment that already contains the packages, `nox --no-venv --no-install -s lint` installs nothing.
Tests and examples on real data run if the variable SKGRADED_DATA names the folder of the data.
"""

import os
import re
import shutil
from pathlib import Path

import nox

nox.options.sessions = ["lint", "readme"]  # what a bare `nox` runs
NIGHTLY_BUILDS = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"
TESTS_OF_COMPILED_CODE = [
    "tests/kernels",
    "tests/measures/test_papers.py",
    "tests/measures/test_enumeration.py",
    "tests/test_judgments.py",
    "tests/input/test_columns.py",
]


@nox.session
def readme(session):
    """Run the two shell commands of the README exactly as written."""
    text = Path("README.md").read_text(encoding="utf-8")
    for command in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        session.run("bash", "-euc", command, external=True)


@nox.session
def everything(session):
    """Run all tests with all extras, including slow tests; arguments go to pytest."""
    session.install("-e", ".[test-all,peers]")
    pytest(session, *session.posargs, env={"SKGRADED_NIGHTLY": "1"})


@nox.session
def lint(session):
    """Check the format, the style, the spelling and the types."""
    session.install("-e", ".[lint]")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("codespell")
    session.run("mypy", "skgraded")


@nox.session
def site(session):
    """Build the documentation with its gallery; warnings are errors."""
    session.install("-e", ".[docs]")
    session.run("python", "-m", "sphinx", "-q", "-W", "-b", "html", "docs", "docs/_build/html")


@nox.session
def examples(session):
    """Run the example scripts on the files in SKGRADED_DATA."""
    session.install("-e", ".[test-all,peers]")
    if "SKGRADED_DATA" not in os.environ:
        session.skip("SKGRADED_DATA does not name the folder of the data")
    data, output = Path(os.environ["SKGRADED_DATA"]), Path(session.create_tmp())
    ohsumed = data / "ohsumed" / "OHSUMED.txt.gz"
    train = data / "lightgbm-lambdarank" / "rank.train"
    test = data / "lightgbm-lambdarank" / "rank.test"
    train = ["--train", train, "--group", f"{train}.query"]
    page = ["--page", output / "report.html", "--picture", output / "report.png"]
    for command in [
        ["quickstart.py", *train],
        ["quickstart.py", "--train", ohsumed],
        ["ohsumed.py", "--data", ohsumed, "--output", output / "ohsumed.png"],
        ["every_library.py", *train, "--test", test, "--test-group", f"{test}.query"],
        ["reports.py", "--data", ohsumed, *page],
        ["swapped_rankings.py", "--runs", "30", "--quiet", "--output", output / "swapped.png"],
        ["tune_with_optuna.py", "--data", ohsumed, "--trials", "5"],
    ]:
        session.run("python", f"examples/{command[0]}", *command[1:])


@nox.session
def wheel(session):
    """Build the sdist, and the wheel from the sdist, into dist/; test the wheel without extras."""
    shutil.rmtree("dist", ignore_errors=True)
    session.install("build")
    session.run("python", "-m", "build", "-o", "dist")
    session.install(*Path("dist").glob("*.whl"), "pytest")
    leave_source_tree(session)
    pytest(session, "tests/kernels", "tests/measures/test_papers.py")


@nox.session(python="3.11", requires=["wheel"])
def oldest(session):
    """Run all tests on the wheel with the oldest dependencies, except browser tests of reports."""
    (path,) = Path("dist").glob("*.whl")
    session.install("-c", ".ci/oldest.txt", f"{path}[test-all]")
    leave_source_tree(session)
    without_browser = "--ignore=tests/writing/test_html_browser.py"
    places = ["--pyargs", "tests", "README.md", "docs", "skgraded"]
    pytest(session, without_browser, *session.posargs, *places)
    session.run("python", "examples/quickstart.py")


@nox.session(python=["3.12", "3.13", "3.14"])
def suite(session):
    """Run the tests of the core on another Python; arguments go to pytest."""
    session.install("-e", ".[test]")
    pytest(session, *session.posargs)


@nox.session(python=["3.11", "3.12", "3.13", "3.14", "3.14t", "3.15", "3.15t"])
def compiled(session):
    """Test the compiled modules and measures with packages that have wheels for each Python."""
    session.install("-e", ".", "pytest", "pytest-xdist", "hypothesis", "pyarrow")
    pytest(session, "-n2", *TESTS_OF_COMPILED_CODE)


@nox.session
def nightly(session):
    """Run the tests with nightly builds of NumPy, SciPy, scikit-learn and pandas."""
    session.install("-e", ".[test-all,peers]")
    packages = ["numpy", "scipy", "scikit-learn", "pandas"]
    options = ["--pre", "--no-deps", "--upgrade", "--only-binary=:all:", "--index-url"]
    # pip would otherwise also use the package indexes in its settings on this machine.
    env = {"PIP_CONFIG_FILE": os.devnull, "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": ""}
    session.install(*options, NIGHTLY_BUILDS, *packages, env=env)
    pytest(session, *session.posargs, env={"SKGRADED_NIGHTLY": "1"})


def pytest(session, *arguments, **settings):
    """Print the versions of the dependencies, run pytest, and list the slowest tests."""
    session.run("python", "-c", "import skgraded; skgraded.show_versions()")
    session.run("python", "-m", "pytest", "-q", "--durations=25", *arguments, **settings)


def leave_source_tree(session):
    """Enter a copy of the sdist without the package, so that tests import the installed one."""
    (archive,) = Path("dist").glob("*.tar.gz")
    folder = Path(session.create_tmp(), archive.name.removesuffix(".tar.gz"))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(archive, folder.parent)
    shutil.rmtree(folder / "skgraded")
    session.chdir(folder)
