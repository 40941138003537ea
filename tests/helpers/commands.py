"""Input files of the command, and functions that run it in this or in another process."""

import json
import subprocess
import sys

import skgraded as sg
from skgraded.cli import main

FILES = {
    "qrels": "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 0\nq2 0 d 1\nq3 0 e 1\n",
    # q1: c, x, a; q2: d and y are tied; q3 is missing
    # The tags of the runs are the names of the files.
    "a.run": "q1 Q0 c 1 3 a.run\nq1 Q0 x 2 2 a.run\nq1 Q0 a 3 1 a.run\nq2 Q0 d 1 5 a.run\n"
    "q2 Q0 y 2 5 a.run\n",
    "b.run": "q1 Q0 a 1 9 b.run\nq2 Q0 a 1 5 b.run\nq2 Q0 d 2 4 b.run\nq3 Q0 e 1 1 b.run\n",
    "test.letor": "# two queries\n2 qid:1 1:0.5 #docid = a\n0 qid:1 1:0.1 #docid = b\n\n"
    "1 qid:7 #docid = a\n",
    "scores": "1\n2\n3\n",
    "t.csv": "query,grade,score\nq,0,2\nq,1,1\n",
}


def run(capsys, words, *more):
    """Run a command that succeeds; return its standard output and standard error."""
    assert main([*words.split(), *more]) == 0
    return capsys.readouterr()


def report(capsys, words, *more):
    """Run a command that succeeds; return its JSON output."""
    return json.loads(run(capsys, words, *more, "--format", "json").out)


def evaluations(capsys, words, *more):
    """Run evaluate; return its JSON output as Evaluations, keyed by system."""
    return {
        name: sg.Evaluation.from_json(json.dumps(entry))
        for name, entry in report(capsys, words, *more).items()
    }


def summary(capsys, words, *more):
    """Run evaluate on a folder; return its JSON output as a Summary or Summaries."""
    out = run(capsys, words, *more, "--format", "json").out
    return (sg.Summaries if '"systems"' in out else sg.Summary).from_json(out)


def refused(capsys, words, *more):
    """Run a command that fails; return the line on standard error."""
    try:
        code = main([*words.split(), *more])
    except SystemExit as stop:  # argparse
        code = stop.code
    out, error = capsys.readouterr()
    assert code == 2 and out == ""
    assert error.endswith("\n") and error.count("\n") == 1 and error.startswith("skgraded")
    return error


def shell(line):
    """Run a line in bash, where SKGRADED is the command."""
    line = line.replace("SKGRADED", f"'{sys.executable}' -m skgraded")
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False
    )


def refused_in_one_line(process):
    """Return the line on standard error of a process that failed."""
    assert process.returncode == 2 and process.stdout == ""
    assert process.stderr.count("\n") == 1 and process.stderr.startswith("skgraded: ")
    return process.stderr
