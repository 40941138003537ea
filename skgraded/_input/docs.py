"""Docstrings that share descriptions of parameters and whole sections."""

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable)


def documented(shared: str) -> Callable[[F], F]:
    """Make a decorator that adds shared texts to docstrings; see `with_parameters`."""
    def decorator(function):
        if function.__doc__ is not None:  # python -OO
            names = inspect.signature(function).parameters
            function.__doc__ = with_parameters(function.__doc__, names, shared)
        return function

    return decorator


def with_parameters(doc, names, shared):
    """Return the docstring with shared descriptions of the parameters that it does not describe.

    Shared sections follow the parameters.
    """
    text, *sections = _sections(doc)
    paragraphs, *shared_sections = _sections(shared)
    by_parameter = _by_parameter(paragraphs)
    if sections and sections[0].startswith("Parameters\n"):
        by_parameter |= _by_parameter(sections.pop(0).split("\n", 2)[2])
    shown = dict.fromkeys(by_parameter[name] for name in names)
    parameters = "\n".join(["Parameters", "----------", *shown])
    whole = "\n\n".join([text, parameters, *shared_sections, *sections])
    return whole if sections else whole + "\n"  # some callers append a section


def _sections(text):
    """The text before the first section, and each section."""
    parts = re.split(r"\n(?=[A-Z][^\n]*\n-{4,}\n)", inspect.cleandoc(text))
    return [part.rstrip("\n") for part in parts]


def _by_parameter(text):
    """Map each parameter to its paragraph, which several parameters may share."""
    return {
        name: paragraph
        for paragraph in re.split(r"\n(?=\S)", text.strip())
        for name in re.findall(r"\w+", paragraph.partition("\n")[0].partition(" :")[0])
    }
