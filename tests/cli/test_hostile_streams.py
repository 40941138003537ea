"""The command with decompression bombs, pipes, closed streams, full disks and interrupts."""

import gzip
import lzma
import os
import random
import signal
import subprocess
import sys
import threading
import tracemalloc
from contextlib import suppress

import pandas as pd
import pytest
from commands import refused, refused_in_one_line, report, shell

from skgraded.cli import main
from skgraded.datasets import text_files

QRELS = "q1 0 a 1\nq1 0 b 0\n"
RUN = "q1 Q0 b 1 2 run\nq1 Q0 a 2 1 run\n"


@pytest.fixture(autouse=True)
def small_files(files):
    letor = "0 qid:1 1:0.5\n1 qid:1 1:0.1\n"
    for name, text in {"qrels": QRELS, "run": RUN, "letor": letor, "scores": "2\n1\n"}.items():
        (files / name).write_text(text)


@pytest.fixture
def pipe():
    """Return a function that opens a pipe; a thread writes a text into the pipe."""
    ends = []

    def pipe(text, times=1):
        def write():
            with suppress(BrokenPipeError), open(end, "wb", 0) as file:
                for _ in range(times):
                    file.write(text)

        read, end = os.pipe()
        threading.Thread(target=write, daemon=True).start()
        ends.append(read)
        return read

    yield pipe
    for end in ends:
        os.close(end)


@pytest.fixture
def piped(pipe, monkeypatch):
    """Return a function that makes a pipe the standard input."""

    def piped(text, times=1):
        monkeypatch.setattr(sys, "stdin", open(pipe(text, times), closefd=False))

    return piped


# Bounds ------------------------------------------------------------------------------------------


def test_only_large_files_must_not_expand_to_100_times_their_size(files, capsys, monkeypatch):
    monkeypatch.setattr(text_files, "MANY", 1 << 20)
    (files / "qrels.gz").write_bytes(gzip.compress(QRELS.encode() * 50_000))
    assert (files / "qrels.gz").stat().st_size < len(QRELS) * 50_000 / text_files.MOST_PACKED
    assert report(capsys, "evaluate qrels.gz run -m rr")["run"]["mean"] == {"RR": 0.5}
    line = b"q1 Q0 %s 1 2 s\n" % (b"b" * 10_000)
    for pack in (gzip.compress, lzma.compress):
        (files / "bomb").write_bytes(pack(line * 200))
        error = refused(capsys, "evaluate qrels bomb")
        assert "expand to more than 100 times their compressed size" in error
        assert "into a pipe" in error


def test_a_long_line_is_refused_in_bounded_memory(files, capsys):
    (files / "bomb.gz").write_bytes(gzip.compress(b"x" * (1 << 20), 1) * 256)
    tracemalloc.start()
    error = refused(capsys, "evaluate bomb.gz run")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "bomb.gz: line 1: a line must not be larger than 16,777,216 bytes" in error
    assert peak < 100e6


@pytest.mark.parametrize("first", [b"", b"PAR1"])
def test_an_endless_standard_input_is_refused(capsys, piped, monkeypatch, first):
    monkeypatch.setattr(text_files, "MOST_PARQUET", 1 << 26)
    piped(first + b"x" * (1 << 20), times=200)
    assert "must not be larger than" in refused(capsys, "evaluate - --score-column s")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("first, second", [("qrels", "run"), ("letor", "scores")])
def test_any_file_can_be_read_from_a_pipe(files, capsys, pipe, piped, first, second, pack):
    packed = {name: pack((files / name).read_bytes()) for name in (first, second)}

    def mean_of(first, second):
        (result,) = report(capsys, "evaluate", first, second, "-m", "rr").values()
        return result["mean"]

    for name in (first, second):
        piped(packed[name])
        assert mean_of(*("-" if name == file else file for file in (first, second))) == {"RR": 0.5}
    assert mean_of(f"/dev/fd/{pipe(packed[first])}", second) == {"RR": 0.5}


def test_a_parquet_table_can_be_read_from_a_pipe(files, capsys, piped):
    frame = pd.DataFrame({"query": ["q", "q"], "grade": [0, 1], "score": [2.0, 1.0]})
    piped(frame.to_parquet())
    result = report(capsys, "evaluate - --score-column score -m rr")
    assert result["score"]["mean"] == {"RR": 0.5}


# The limit is set after the imports, and without Arrow, whose C++ code may abort.
WITHIN = """
import resource, sys
sys.modules["pyarrow"] = None
import pandas, sklearn.datasets
from skgraded.cli import main
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, [used + 50_000_000] * 2)
sys.exit(main(["evaluate", "qrels", "long"]))
"""


@pytest.mark.nightly
def test_running_out_of_memory_is_reported_in_one_line(files):
    lines = "".join(f"QUERY Q0 D{i:060d} 1 {i / 7} s\n" for i in range(10_000))
    with open(files / "long", "w") as file:
        for query in range(60):
            file.write(lines.replace("QUERY", f"q{query}"))
    (files / "within.py").write_text(WITHIN)
    process = shell(f"OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 '{sys.executable}' within.py")
    assert "not enough memory" in refused_in_one_line(process)


# Streams -----------------------------------------------------------------------------------------


def test_a_process_reports_errors_in_one_line():
    error = refused_in_one_line(shell("echo q1 Q0 a 1 x t | gzip | SKGRADED evaluate qrels -"))
    assert error == "skgraded: <stdin>: line 1: the score must be a number; got 'x'.\n"
    error = refused_in_one_line(shell("SKGRADED measures > /dev/full"))
    assert error == "skgraded: standard output: No space left on device\n"


def test_a_reader_that_closes_the_pipe_causes_no_error(files):
    rows = [f"{i // 2} 0 d{i} 1\n" for i in range(16_000)]
    (files / "qrels").write_text("".join(rows))
    (files / "run").write_text("".join(row.replace(" 1\n", " 1 1 s\n") for row in rows))
    line = "SKGRADED evaluate qrels run --per-query --format csv"
    process = shell(f"{line} | head -n 1; echo ${{PIPESTATUS[0]}}")
    assert process.stdout.splitlines() == ["run,query,NDCNG@10,MuAP", "0"] and process.stderr == ""


def test_errors_are_not_written_to_standard_output_if_standard_error_is_closed(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["evaluate", "qrels", "none"]) == 2
    assert capsys.readouterr().out == ""


# Interrupts --------------------------------------------------------------------------------------

BEGIN = """
import os, signal, sys, threading, time
def interrupt():
    while "skgraded.cli._files" not in sys.modules:
        pass
    time.sleep(SECONDS)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
"""


def test_an_interrupt_while_reading_prints_nothing(files):
    command = [sys.executable, "-m", "skgraded", "evaluate", "qrels", "-", "--quiet"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        # A pipe holds less, so the command has begun to read its first block, which is larger.
        process.stdin.write(b"q1 Q0 a 1 2 s\n" * 50_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert (*process.communicate(timeout=60), process.returncode) == (b"", b"", 130)


@pytest.mark.nightly
def test_an_interrupt_at_a_random_time_prints_nothing(files):
    with open(files / "long", "w") as file:
        file.writelines(f"q1 Q0 d{i} 1 {i} s\n" for i in range(150_000))
    rng = random.Random(0)
    for _ in range(10):
        begin = BEGIN.replace("SECONDS", repr(rng.uniform(0.02, 0.4)))
        (files / "sitecustomize.py").write_text(begin)
        process = shell("PYTHONPATH=.:$PYTHONPATH exec SKGRADED evaluate qrels long --quiet > out")
        assert process.stderr == "" and process.returncode in (0, -signal.SIGINT, 130)
        assert process.returncode or "q" in (files / "out").read_text()


def test_the_command_neither_loads_scikit_learn_nor_changes_signal_handlers():
    code = (
        "import sys, signal\n"
        "before = {number: signal.getsignal(number) for number in signal.valid_signals()}\n"
        "import skgraded.__main__\n"
        "from skgraded.cli import main\n"
        "main(['evaluate', 'qrels', 'b.run', '--quiet'])\n"
        "after = {number: signal.getsignal(number) for number in before}\n"
        "print(before == after, 'sklearn' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout.endswith("True False\n")
