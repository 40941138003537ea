"""The scripts of the examples, run in this process."""

import io
import runpy
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import sklearn

EXAMPLES = Path(__file__).parents[2] / "examples"
PNG = b"\x89PNG"


def run(script, *args, **replaced):
    """Run a script and return what it prints; it may print only error messages to stderr.

    `replaced` contains smaller data or settings for names that the script defines.
    """
    output, errors = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", [script, *map(str, args)]),
        mock.patch.object(sys, "path", [str(EXAMPLES), *sys.path]),
        redirect_stdout(output),
        redirect_stderr(errors),
        sklearn.config_context(),
    ):
        main = runpy.run_path(str(EXAMPLES / script))["main"]
        main.__globals__.update(replaced)
        try:
            main()
        except SystemExit:
            raise SystemExit(errors.getvalue()) from None
    assert not errors.getvalue(), errors.getvalue()
    return output.getvalue()
