"""Texts of measures, such as ``ndcng@10``: from a text to its measure."""

import ast
import math
import re
from collections.abc import Iterable, Mapping
from itertools import chain

from skgraded._input.words import nearest
from skgraded.measures.base import ALIASES, MEASURES, Measure

_FORM = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\((.*)\))?\s*(?:@\s*(\w+))?\s*", re.DOTALL)
_OF_TREC_EVAL = {  # its names with a cut-off, `P_10` and others
    "p": "P@{}", "recall": "R@{}", "map_cut": "AP@{}", "ndcg_cut": "\"NDCG(gain='linear')@{}\"",
}


def measure(text: str | Measure) -> Measure:
    """Make a measure of its text.

    Parameters
    ----------
    text : str or Measure
        ``Name(parameter=value,…)@k`` with Python literals and the word nan as values, ``@mean``
        for the mean over all cut-offs. Letter case and underscores of names do not matter.
        Aliases: map, mu_map, p, r, mrr, recip_rank, mean_ndcg, mean_ndcng, q. A measure is
        returned as it is.

    Returns
    -------
    Measure

    Raises
    ------
    ValueError
        If the text cannot be read, or names an unknown measure or parameter.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.measure("ndcng@10")
    NDCNG@10
    >>> sg.measure("map(threshold=2, undefined=nan)@20")
    AP(threshold=2,undefined=nan)@20
    >>> sg.measure("mean_ndcg") == sg.NDCG(k="mean")
    True
    """
    if isinstance(text, Measure):
        return text
    if not isinstance(text, str):
        raise TypeError(f"A measure is a Measure or its text, such as 'ndcng@10'; got {text!r}.")
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"Cannot read the measure {text!r}: write Name(parameter=value)@k.")
    cls, of_alias = _class_named(form[1])
    parameters: dict = {}
    for name, value in chain(_parameters_of(text, form, cls), of_alias.items()):
        if name in parameters:
            what = "two cut-offs" if name == "k" else f"{name} twice"
            raise ValueError(f"The measure {text!r} has {what}.")
        parameters[name] = value
    try:
        return cls(**parameters)
    except ValueError as error:
        raise ValueError(f"Cannot read the measure {text!r}: {error}") from None


def _plain(name):
    return name.lower().replace("_", "")


def _class_named(name):
    """The class with this name or alias, and the parameters that the alias stands for."""
    known: dict = {_plain(name): (cls, {}) for name, cls in MEASURES.items()}
    known |= {_plain(alias): standing_for for alias, standing_for in ALIASES.items()}
    plain = _plain(name)
    if plain in known:
        return known[plain]
    near = nearest(plain, known)
    hint = "" if near is None else f" Did you mean {known[near][0].__name__}?"
    stem, _, k = name.lower().rpartition("_")
    if stem in _OF_TREC_EVAL and k.isdecimal():
        hint = f" trec_eval's {name} is {_OF_TREC_EVAL[stem].format(k)}."
    raise ValueError(f"Unknown measure {name!r}.{hint} Known: {', '.join(MEASURES)}.")


def _parameters_of(text, form, cls):
    """Yield the name and the value of each parameter in a text of this form."""
    _, inside, cut_off = form.groups(default="")
    try:
        call = ast.parse(f"f({inside})", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        call = None
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
        raise ValueError(f"Cannot read the measure {text!r}: write Name(parameter=value)@k.")
    known = {_plain(name): name for name in cls.fields}
    for keyword in call.keywords:
        name = known.get(_plain(keyword.arg or "**"))
        if name is None:
            raise ValueError(
                f"{cls.__name__} has no parameter {keyword.arg!r}; it has "
                f"{', '.join(known.values())}."
            )
        yield name, _literal(text, keyword)
    if cut_off:
        if "k" not in known.values():
            raise ValueError(f"{cls.__name__} has no cut-off k; got {text!r}.")
        yield "k", int(cut_off) if cut_off.isascii() and cut_off.isdecimal() else cut_off.lower()


def _literal(text, keyword):
    if isinstance(keyword.value, ast.Name) and keyword.value.id.lower() == "nan":
        return math.nan
    try:
        return ast.literal_eval(keyword.value)
    except ValueError:
        shown = ast.unparse(keyword.value)
        raise ValueError(
            f"Cannot read the measure {text!r}: {keyword.arg} must be a literal such as 2, "
            f"'linear' or nan; got {shown}."
        ) from None


def as_measures(measures: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Measures of one measure, one text, or a list of them; an error if empty or named twice."""
    if isinstance(measures, (str, Measure)):
        measures = [measures]
    if isinstance(measures, Mapping):
        raise TypeError(
            "measures is a mapping: only make_ranking_scorer lets names be chosen. Give the list "
            "of its values."
        )
    if not isinstance(measures, Iterable):
        raise TypeError(
            f"measures must be a measure, its text, or a list of them; got {measures!r}."
        )
    parsed = [measure(m) for m in measures]
    if not parsed:
        raise ValueError("measures is empty: give at least one, such as 'ndcng@10'.")
    names = [m.name for m in parsed]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"measures has {name} twice.")
    return parsed
