"""What is optional, and missing where it is used."""

from contextlib import contextmanager


@contextmanager
def needs(caller, extra):
    """Say of a failed import in one line who needed it, and which extra to install."""
    try:
        yield
    except ImportError as error:
        what = (error.name or " ".join(str(error).split())).partition(".")[0]
        raise ImportError(f'{caller} needs {what}: pip install "skgraded[{extra}]"') from error
