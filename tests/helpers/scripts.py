"""The scripts of the examples, run in this process as a reader would run them."""

import io
import runpy
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest
import sklearn

EXAMPLES = Path(__file__).parents[2] / "examples"
PNG = b"\x89PNG"


def needs_optuna():
    """Import optuna, or skip the test and say how to install it."""
    reason = 'optuna is not installed: pip install "skgraded[peers]"'
    return pytest.importorskip("optuna", reason=reason)


def run(script, *args):
    """What a script prints; nothing but why it ends early may go to the standard error."""
    output, errors = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", [script, *map(str, args)]),
        mock.patch.object(sys, "path", [str(EXAMPLES), *sys.path]),
        redirect_stdout(output), redirect_stderr(errors), sklearn.config_context(),
    ):
        try:
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        except SystemExit:
            raise SystemExit(errors.getvalue()) from None
    assert not errors.getvalue(), errors.getvalue()
    return output.getvalue()
