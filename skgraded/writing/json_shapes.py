"""The shape of what was read from JSON: which fields there are, and of which types.

A shape is a type (`float` is any number, none is a bool), `Maybe` of a shape, a list of one shape,
a tuple of shapes, a dict of shapes by field, or by `str` for any names.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class Maybe(NamedTuple):
    """What may also be null."""

    shape: Any


def check_shape(value: Any, shape: Any, name: str = "") -> None:
    """Refuse what has another shape; a ValueError names the field, and KeyError one that lacks."""
    if isinstance(shape, Maybe):
        if value is not None:
            check_shape(value, shape.shape, name)
    elif isinstance(shape, type):
        if type(value) not in _types(shape):
            raise ValueError(f"{name} must be {WORDS[shape]}; got {_short(value)}.")
    elif isinstance(shape, dict):
        _check_object(value, shape, name)
    else:
        _check_list(value, shape, name)


def _check_object(value, shape, name):
    if not isinstance(value, Mapping):
        raise ValueError(f"{name or 'it'} must be an object; got {_short(value)}.")
    if str in shape:
        for key, one in value.items():
            check_shape(one, shape[str], f"{name}[{key!r}]")
        return
    for key, own in shape.items():
        if key not in value and not name:
            raise KeyError(key)
        if key not in value:
            raise ValueError(f"{name} lacks {key!r}.")
        check_shape(value[key], own, f"{name}[{key!r}]" if name else key)


def _check_list(value, shape, name):
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list; got {_short(value)}.")
    if isinstance(shape, tuple):
        if len(value) != len(shape):
            raise ValueError(f"{name} must have {len(shape)} elements; it has {len(value)}.")
    elif set(map(type, value)) <= _types(shape[0]):  # all of a long list at once
        return
    for i, one in enumerate(value):
        check_shape(one, shape[i] if isinstance(shape, tuple) else shape[0], f"{name}[{i}]")


def _types(shape):
    """The types of what has a shape without parts; none of another shape."""
    if isinstance(shape, Maybe):
        own = _types(shape.shape)
        return own | {type(None)} if own else own
    if not isinstance(shape, type):
        return set()
    return {int, float} if shape is float else {shape}


def _short(value):
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
