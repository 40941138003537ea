"""The command with long lines, pipes, closed streams, full disks and interrupts."""

import gzip
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pandas as pd
import pytest
from commands import refused, refused_in_one_line, report, shell

SMALL = {
    "qrels": "q1 0 a 1\nq1 0 b 0\n",
    "run": "q1 Q0 b 1 2 run\nq1 Q0 a 2 1 run\n",
    "letor": "0 qid:1 1:0.5\n1 qid:1 1:0.1\n",
    "scores": "2\n1\n",
}


@pytest.fixture(autouse=True)
def small_files(files):
    for name, text in SMALL.items():
        (files / name).write_text(text)


@pytest.fixture
def piped(monkeypatch):
    """Return a function that makes a pipe the standard input; a thread writes into the pipe."""

    def piped(text, times=1):
        def write():
            with suppress(BrokenPipeError), open(end, "wb", 0) as file:
                for _ in range(times):
                    file.write(text)

        read, end = os.pipe()
        threading.Thread(target=write, daemon=True).start()
        monkeypatch.setattr(sys, "stdin", open(read))

    yield piped
    sys.stdin.close()


# Bounds ------------------------------------------------------------------------------------------


def test_a_long_line_is_refused(files, capsys, piped):
    (files / "bomb.gz").write_bytes(gzip.compress(b"x" * (1 << 20), 1) * 256)
    error = refused(capsys, "evaluate bomb.gz run")
    assert "bomb.gz: line 1 is larger than 16,777,216 bytes" in error
    piped(b"x" * (1 << 20), times=200)
    assert "is larger than" in refused(capsys, "evaluate - --score-column s")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("- run", "qrels"),
        ("qrels -", "run"),
        ("- scores", "letor"),
        ("letor -", "scores"),
        ("- --score-column score", "table"),
    ],
)
def test_any_file_can_be_read_from_a_pipe(capsys, piped, words, name, pack):
    table = pd.DataFrame({"query": ["q", "q"], "grade": [0, 1], "score": [2.0, 1.0]})
    piped(pack(table.to_parquet() if name == "table" else SMALL[name].encode()))
    (entry,) = report(capsys, f"evaluate {words} -m rr").values()
    assert entry["mean"] == {"RR": 0.5}


# Streams -----------------------------------------------------------------------------------------


def test_a_process_reports_errors_in_one_line(files):
    error = refused_in_one_line(shell("echo q1 Q0 a 1 x t | gzip | SKGRADED evaluate qrels -"))
    assert error == "skgraded: <stdin>: line 1: 'q1 Q0 a 1 x t': the score must be a number.\n"
    error = refused_in_one_line(shell("SKGRADED evaluate qrels run > /dev/full"))
    assert "No space left on device" in error
    (files / "missing.csv").write_text("query,grade,s\nq,1,2\nq,,1\n")
    for _ in range(4):  # a thread of Arrow that outlived its error aborted most processes at exit
        error = refused_in_one_line(shell("SKGRADED evaluate missing.csv --score-column s"))
        assert "missing.csv: column 'grade' must be finite; got nan for line 3" in error


def test_a_reader_that_closes_the_pipe_causes_no_error(files):
    rows = [f"{i // 2} 0 d{i} 1\n" for i in range(16_000)]
    (files / "qrels").write_text("".join(rows))
    (files / "run").write_text("".join(row.replace(" 1\n", " 1 1 s\n") for row in rows))
    line = "SKGRADED evaluate qrels run --per-query --format csv"
    process = shell(f"{line} | head -n 1; echo ${{PIPESTATUS[0]}}")
    assert process.stdout.splitlines() == ["run,query,NDCNG@10,MuAP", "0"] and process.stderr == ""


# Interrupts --------------------------------------------------------------------------------------


def test_an_interrupt_while_reading_prints_nothing(files):
    command = [sys.executable, "-m", "skgraded", "evaluate", "qrels", "-", "--quiet"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        # A pipe holds less, so the command has begun to read its first block, which is larger.
        process.stdin.write(b"q1 Q0 a 1 2 s\n" * 50_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert (*process.communicate(timeout=60), process.returncode) == (b"", b"", 130)


def test_the_command_neither_loads_scikit_learn_nor_changes_signal_handlers():
    code = (
        "import sys, signal\n"
        "before = {number: signal.getsignal(number) for number in signal.valid_signals()}\n"
        "import skgraded.__main__\n"
        "from skgraded.cli import main\n"
        "main(['evaluate', 'qrels', 'run', '--quiet'])\n"
        "after = {number: signal.getsignal(number) for number in before}\n"
        "print(before == after, 'sklearn' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout.endswith("True False\n")
