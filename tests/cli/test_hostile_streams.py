"""The command and what may happen to it: bombs, pipes, closed streams, interrupts, kills."""

import gzip
import json
import lzma
import random
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest

from skgraded.datasets import _files

QRELS = "q1 0 a 1\nq1 0 b 0\n"
RUN = "q1 Q0 b 1 2 s\nq1 Q0 a 2 1 s\n"
LETOR = "0 qid:1 1:0.5\n1 qid:1 1:0.1\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "scores").write_text("2\n1\n")
    return tmp_path


def shell(line):
    """Run a line of the shell, in which SKGRADED is the command."""
    line = line.replace("SKGRADED", f"'{sys.executable}' -m skgraded")
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False
    )


def refused_in_one_line(done):
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("skgraded: ")
    return done.stderr


# Bounds ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("pack, line", [
    (partial(gzip.compress, compresslevel=1), b"q1 Q0 b 1 2 s\n"),
    (partial(lzma.compress, preset=0), b"\n"),
], ids=["gzip", "xz"])
def test_what_unpacks_to_a_hundredfold_is_refused(files, pack, line):
    (files / "bomb").write_bytes(pack(line * (_files.MANY * 5 // 4 // len(line))))
    said = refused_in_one_line(shell("SKGRADED evaluate qrels bomb"))
    assert "unpack to more than 100 times their size" in said and "into a pipe" in said


def test_what_is_repeated_and_small_is_read(files):
    assert _files.MANY > 3_000_000
    (files / "qrels.gz").write_bytes(gzip.compress(QRELS.encode() * 100_000))
    found = json.loads(shell("SKGRADED evaluate qrels.gz run -m rr --format json").stdout)
    assert found["run"]["mean"] == {"RR": 0.5}


@pytest.mark.parametrize("first", [b"", b"PAR1"])
def test_an_endless_standard_input_is_refused(files, first):
    code = f"import sys; w = sys.stdout.buffer.write; w({first!r})\nwhile 1: w(b'x' * 99999)"
    done = shell(
        f"'{sys.executable}' -c \"{code}\" 2>/dev/null | (ulimit -v 6000000; "
        "SKGRADED evaluate - --score-column s)"
    )
    assert "lift the limit by --max-line" in refused_in_one_line(done)


@pytest.mark.parametrize("kind, pack", [
    ("trec", ""), ("letor", "| gzip"), ("trec", "| xz"),
])
def test_the_first_file_may_come_through_a_pipe(files, kind, pack):
    (files / "letor").write_text(LETOR)
    first, second = {"trec": ("qrels", "run"), "letor": ("letor", "scores")}[kind]
    lines = [
        f"cat {first} {pack} | SKGRADED evaluate - {second} -m rr --format json",
        f"SKGRADED evaluate <(cat {first} {pack}) {second} -m rr --format json",
        f"cat {second} {pack} | SKGRADED evaluate {first} - -m rr --format json",
    ]
    for line in lines[:1] if pack else lines:
        (found,) = json.loads(shell(line).stdout).values()
        assert found["mean"] == {"RR": 0.5}


def test_a_parquet_table_may_come_through_a_pipe(files):
    frame = pd.DataFrame({"query": ["q", "q"], "grade": [0, 1], "score": [2.0, 1.0]})
    frame.to_parquet(files / "t.parquet")
    done = shell("cat t.parquet | SKGRADED evaluate - --score-column score -m rr --format json")
    assert json.loads(done.stdout)["score"]["mean"] == {"RR": 0.5}


@pytest.mark.parametrize("megabytes", [1200, 1700])
def test_memory_that_runs_out_is_one_line(files, megabytes):
    rng = np.random.default_rng(0)
    with open(files / "long", "w") as file:
        for query in range(60):
            file.writelines(
                f"q{query} Q0 D{i:060d} 1 {score} s\n"
                for i, score in enumerate(rng.random(10_000).tolist())
            )
    done = shell(
        f"ulimit -v {megabytes * 1000}; OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "
        "SKGRADED evaluate qrels long"
    )
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


# Streams -----------------------------------------------------------------------------------------

def test_a_closed_standard_error_leaves_standard_output_alone(files):
    done = shell("SKGRADED evaluate qrels none 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_a_full_standard_output_is_named(files):
    done = shell("SKGRADED evaluate qrels run > /dev/full")
    assert refused_in_one_line(done) == "skgraded: standard output: No space left on device\n"


# Interrupts --------------------------------------------------------------------------------------

BEGIN = """
import os, signal, sys, threading
def interrupt():
    while "skgraded" not in sys.modules or MODULE not in sys.modules:
        pass
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
"""


@pytest.mark.parametrize("module", ["numpy", "skgraded.measures", "pandas"])
def test_an_interrupt_during_the_imports_is_quiet(files, module):
    (files / "sitecustomize.py").write_text(BEGIN.replace("MODULE", repr(module)))
    done = shell("PYTHONPATH=.:$PYTHONPATH exec SKGRADED evaluate qrels run > out")
    assert done.returncode == -signal.SIGINT and done.stderr == ""
    assert (files / "out").read_text() == ""


def test_interrupts_at_random_moments_are_quiet(files):
    with open(files / "long", "w") as file:
        file.writelines(f"q1 Q0 d{i} 1 {i} s\n" for i in range(300_000))
    rng = random.Random(0)
    for _ in range(2):  # 50 by hand; before the first import Python's own start may speak
        process = subprocess.Popen(
            [sys.executable, "-m", "skgraded", "evaluate", "qrels", "long", "--quiet"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        time.sleep(rng.uniform(0.3, 1.5))
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        assert error == "" and process.returncode in (0, -signal.SIGINT, 130)
        assert process.returncode or "q" in out


def test_who_imports_the_package_keeps_the_interrupts_of_python():
    code = (
        "import signal, sys; sys.argv = ['-m']\nimport skgraded\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n"
