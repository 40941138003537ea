"""Docstrings of Displays describe all parameters, including those with shared descriptions."""

import inspect
import re

import pytest

from skgraded import display

METHODS = [
    (cls, name)
    for cls in (getattr(display, name) for name in display.__all__)
    for name, method in inspect.getmembers(cls)
    if not name.startswith("_") and callable(method)
]


@pytest.mark.parametrize(("cls", "name"), METHODS)
def test_every_parameter_of_a_method_is_described_once(cls, name):
    method = getattr(cls, name)
    text = inspect.getdoc(method)
    _, rest = text.split("\nParameters\n----------\n")
    described, returned = rest.split("\nReturns\n-------\n")
    names = [
        word.lstrip("*")
        for line in re.findall(r"(?m)^\S.*", described)
        for word in line.partition(" :")[0].split(", ")
    ]
    expected = set(inspect.signature(method).parameters) - {"self"}
    assert sorted(names) == sorted(expected)
    assert "\nRaises\n------\n" in returned
