"""Decorators that insert shared parameter descriptions and sections into docstrings."""

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable)


def documented(shared: str) -> Callable[[F], F]:
    """Return a decorator that adds shared sections to docstrings; see `with_parameters`."""
    def decorator(function):
        if function.__doc__ is not None:  # python -OO
            names = inspect.signature(function).parameters
            function.__doc__ = with_parameters(function.__doc__, names, shared)
        return function

    return decorator


def with_parameters(doc, names, shared):
    """Add shared descriptions of undocumented parameters to a docstring, and return it.

    Shared sections are inserted after the parameters.
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
    """Split a docstring into the text before the first section, and the sections."""
    parts = re.split(r"\n(?=[A-Z][^\n]*\n-{4,}\n)", inspect.cleandoc(text))
    return [part.rstrip("\n") for part in parts]


def _by_parameter(text):
    """Return a dict from parameter names to descriptions; parameters may share a description."""
    return {
        name: paragraph
        for paragraph in re.split(r"\n(?=\S)", text.strip())
        for name in re.findall(r"\w+", paragraph.partition("\n")[0].partition(" :")[0])
    }
