"""Decorators that insert shared parameter descriptions and sections into docstrings."""

import inspect
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
ORDER = ("Attributes", "Returns", "Raises", "Warns", "See Also", "Notes", "References", "Examples")
BOUND = ("self", "cls")  # method parameters that need no description


def documented(shared: str) -> Callable[[F], F]:
    """Return a decorator that adds shared sections to docstrings; see `with_parameters`."""

    def decorator(function: F) -> F:
        if function.__doc__ is not None:  # it is None with python -OO
            names = [name for name in inspect.signature(function).parameters if name not in BOUND]
            function.__doc__ = with_parameters(function.__doc__, names, shared)
        return function

    return decorator


def with_parameters(doc: str, names: Iterable[str], shared: str) -> str:
    """Add shared sections, and shared descriptions of undocumented parameters, to a docstring."""
    text, *sections = _sections(doc)
    paragraphs, *shared_sections = _sections(shared)
    by_parameter = _by_parameter(paragraphs)
    if sections and sections[0].startswith("Parameters\n"):
        by_parameter = by_parameter | _by_parameter(sections.pop(0).split("\n", 2)[2])
    shown = dict.fromkeys(by_parameter[name] for name in names)
    parameters = "\n".join(["Parameters", "----------", *shown])
    sections = sorted(shared_sections + sections, key=lambda s: ORDER.index(s.partition("\n")[0]))
    return "\n\n".join([text, parameters, *sections])


@cache
def _sections(text: str) -> list[str]:
    """Split a docstring into the text before the first section and the individual sections."""
    parts = re.split(r"\n(?=[A-Z][^\n]*\n-{4,}\n)", inspect.cleandoc(text))
    return [part.rstrip("\n") for part in parts]


@cache
def _by_parameter(text: str) -> dict[str, str]:
    """Return a dict of descriptions keyed by parameter; parameters may share a description."""
    return {
        name: paragraph
        for paragraph in re.split(r"\n(?=\S)", text.strip())
        for name in re.findall(r"\w+", paragraph.partition("\n")[0].partition(" :")[0])
    }
