"""The command, in this process or in one of its own, and what it prints."""

import json
import subprocess
import sys

from skgraded.cli import main


def run(capsys, words, *more):
    """Standard output and standard error of a command that succeeds: words, and further ones."""
    assert main([*words.split(), *more]) == 0
    return capsys.readouterr()


def report(capsys, words, *more):
    return json.loads(run(capsys, words, *more, "--format", "json").out)


def refused(capsys, words, *more):
    """The one line of a command that fails."""
    try:
        code = main([*words.split(), *more])
    except SystemExit as stop:  # argparse
        code = stop.code
    out, error = capsys.readouterr()
    assert code == 2 and out == ""
    assert error.endswith("\n") and error.count("\n") == 1 and error.startswith("skgraded")
    return error


def shell(line):
    """Run a line of the shell, in which SKGRADED is the command."""
    line = line.replace("SKGRADED", f"'{sys.executable}' -m skgraded")
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False
    )


def refused_in_one_line(done):
    """The one line of a process of the shell that fails."""
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("skgraded: ")
    return done.stderr
