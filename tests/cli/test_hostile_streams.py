"""The command and what may happen to it: bombs, pipes, closed streams, interrupts, kills."""

import bz2
import gzip
import lzma
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial

import pandas as pd
import pytest
from commands import refused, refused_in_one_line, report, shell

from skgraded.datasets import text_files

QRELS = "q1 0 a 1\nq1 0 b 0\n"
RUN = "q1 Q0 b 1 2 s\nq1 Q0 a 2 1 s\n"
LETOR = "0 qid:1 1:0.5\n1 qid:1 1:0.1\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "letor").write_text(LETOR)
    (tmp_path / "scores").write_text("2\n1\n")
    return tmp_path


@pytest.fixture
def pipe():
    """Make the end of a pipe that is read from; a thread writes a text into the other end."""
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
    """Make a pipe the standard input."""

    def piped(text, times=1):
        monkeypatch.setattr(sys, "stdin", open(pipe(text, times), closefd=False))

    return piped


# Bounds ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("pack", [
    partial(gzip.compress, compresslevel=1), partial(lzma.compress, preset=0),
], ids=["gzip", "xz"])
def test_what_unpacks_to_a_hundredfold_is_refused(files, capsys, pack):
    line = b"q1 Q0 %s 1 2 s\n" % (b"b" * 10_000)
    (files / "bomb").write_bytes(pack(line * (text_files.MANY * 9 // 8 // len(line))))
    said = refused(capsys, "evaluate qrels bomb")
    assert "expand to more than 100 times their compressed size" in said and "into a pipe" in said


def test_what_is_repeated_and_small_is_read(files, capsys):
    assert len(QRELS) * 50_000 < text_files.MANY
    (files / "qrels.gz").write_bytes(gzip.compress(QRELS.encode() * 50_000))
    assert (files / "qrels.gz").stat().st_size < len(QRELS) * 50_000 / text_files.MOST_PACKED
    found = report(capsys, "evaluate qrels.gz run -m rr")
    assert found["run"]["mean"] == {"RR": 0.5}


@pytest.mark.parametrize("first", [b"", b"PAR1"])
def test_an_endless_standard_input_is_refused(files, capsys, piped, monkeypatch, first):
    monkeypatch.setattr(text_files, "MOST_PARQUET", 1 << 26)
    piped(first + b"x" * (1 << 20), times=200)
    assert "must not be larger than" in refused(capsys, "evaluate - --score-column s")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("first, second", [("qrels", "run"), ("letor", "scores")])
def test_any_file_may_come_through_a_pipe(files, capsys, pipe, piped, first, second, pack):
    packed = {name: pack((files / name).read_bytes()) for name in (first, second)}

    def mean_of(first, second):
        (found,) = report(capsys, "evaluate", first, second, "-m", "rr").values()
        return found["mean"]

    for name in (first, second):
        piped(packed[name])
        assert mean_of(*("-" if name == one else one for one in (first, second))) == {"RR": 0.5}
    assert mean_of(f"/dev/fd/{pipe(packed[first])}", second) == {"RR": 0.5}


def test_a_parquet_table_may_come_through_a_pipe(files, capsys, piped):
    frame = pd.DataFrame({"query": ["q", "q"], "grade": [0, 1], "score": [2.0, 1.0]})
    piped(frame.to_parquet())
    found = report(capsys, "evaluate - --score-column score -m rr")
    assert found["score"]["mean"] == {"RR": 0.5}


# A limit that a process sets itself once it has imported all. Arrow's C++ may abort beneath it.
WITHIN = """
import resource, sys
sys.modules["pyarrow"] = None
import pandas, sklearn.datasets
from skgraded.cli import main
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, [used + 50_000_000] * 2)
sys.exit(main(["evaluate", "qrels", "long"]))
"""


@pytest.mark.parametrize("line, codes", [
    (f"'{sys.executable}' within.py", [2]),
    pytest.param(
        "ulimit -v 1200000; SKGRADED evaluate qrels long", [0, 2], marks=pytest.mark.nightly
    ),
], ids=["within a limit", "with Arrow"])
def test_memory_that_runs_out_is_one_line(files, line, codes):
    lines = "".join(f"QUERY Q0 D{i:060d} 1 {i / 7} s\n" for i in range(10_000))
    with open(files / "long", "w") as file:
        for query in range(60):
            file.write(lines.replace("QUERY", f"q{query}"))
    (files / "within.py").write_text(WITHIN)
    done = shell("export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; " + line)
    assert done.returncode in codes and "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert codes == [0, 2] or "not enough memory" in done.stderr


# Streams -----------------------------------------------------------------------------------------

def test_a_closed_standard_error_leaves_standard_output_alone_and_a_full_one_is_named(files):
    done = shell("SKGRADED evaluate qrels none 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
    done = shell("SKGRADED measures > /dev/full")
    assert refused_in_one_line(done) == "skgraded: standard output: No space left on device\n"


@pytest.mark.parametrize("arguments", [
    "evaluate qrels run", "evaluate qrels run --format html", "measures",
])
def test_a_full_device_is_named(files, arguments):
    (files / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (files / "run").write_text("1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n")
    done = shell(f"SKGRADED {arguments} --output /dev/full")
    assert refused_in_one_line(done) == "skgraded: /dev/full: No space left on device\n"


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


def test_an_interrupt_while_reading_is_quiet(files):
    command = [sys.executable, "-m", "skgraded", "evaluate", "qrels", "-", "--quiet"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        # A pipe holds less, so the command has begun to read its first block, which is larger.
        process.stdin.write(b"q1 Q0 a 1 2 s\n" * 50_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert (*process.communicate(timeout=60), process.returncode) == (b"", b"", 130)


def test_an_interrupt_at_a_random_time_is_quiet(files):
    with open(files / "long", "w") as file:
        file.writelines(f"q1 Q0 d{i} 1 {i} s\n" for i in range(300_000))
    rng = random.Random(0)
    for _ in range(2):  # 50 by hand
        begin = BEGIN.replace("SECONDS", repr(rng.uniform(0.02, 0.8)))
        (files / "sitecustomize.py").write_text(begin)
        done = shell("PYTHONPATH=.:$PYTHONPATH exec SKGRADED evaluate qrels long --quiet > out")
        assert done.stderr == "" and done.returncode in (0, -signal.SIGINT, 130)
        assert done.returncode or "q" in (files / "out").read_text()


def test_an_import_leaves_the_signals_alone():
    code = (
        "import signal; del __import__('sys').argv\n"
        "before = {number: signal.getsignal(number) for number in signal.valid_signals()}\n"
        "import skgraded.cli, skgraded.__main__\n"
        "print(before == {number: signal.getsignal(number) for number in before})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n"
