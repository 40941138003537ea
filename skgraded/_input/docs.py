"""Docstrings that share their paragraphs about parameters."""

import inspect
import re


def with_parameters(doc, names, shared):
    """The docstring with a paragraph for each of the parameters: its own, or else a shared one."""
    text, *sections = re.split(r"\n(?=[A-Z][^\n]*\n-{4,}\n)", inspect.cleandoc(doc))
    paragraphs = _by_parameter(shared)
    if sections and sections[0].startswith("Parameters\n"):
        paragraphs |= _by_parameter(sections.pop(0).split("\n", 2)[2])
    shown = dict.fromkeys(paragraphs[name] for name in names)
    return "\n".join([text.rstrip("\n"), "", "Parameters", "----------", *shown, "", *sections])


def _by_parameter(text):
    """The paragraph of each parameter, some of which may share one."""
    return {
        name: paragraph
        for paragraph in re.split(r"\n(?=\S)", text.strip())
        for name in re.findall(r"\w+", paragraph.partition("\n")[0].partition(" :")[0])
    }
