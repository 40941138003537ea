"""Parser for measure strings such as ``ndcng@10``."""

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, TypeAlias

from skgraded._input.door import choice_validator
from skgraded._input.messages import find_nearest, normalize_name, warn_user
from skgraded.measures.base import (
    ALIASES,
    MEASURES,
    OTHER_NAMES,
    PARSED,
    Measure,
    Relevance,
    check_threshold,
    describe_unknown,
)

Measures: TypeAlias = str | Measure | Iterable[str | Measure]
DEFAULT_MEASURE = "ndcng@10"  # if exactly one measure is needed
DEFAULT_MEASURES = (DEFAULT_MEASURE, "mu_map")

# Measures whose parameters in trec_eval 10 differ from our defaults.
TREC_EVAL: dict[str, dict[str, Any]] = {"NDCG": {"gain": "linear"}, "RBP": {"persistence": 0.9}}
# trec_eval names that stand for several measures, with their default cut-offs.
CUTOFFS = "5 10 15 20 30 100 200 500 1000"
FAMILIES = {
    "P": CUTOFFS,
    "recall": CUTOFFS,
    "map_cut": CUTOFFS,
    "ndcg_cut": CUTOFFS,
    "success": "1 5 10",
    "iprec_at_recall": "0.00 0.10 0.20 0.30 0.40 0.50 0.60 0.70 0.80 0.90 1.00",
}
# trec_eval's official measures except runid, num_q and gm_map, which are not sums or means.
OFFICIAL_COUNTS = ("num_ret", "num_rel", "num_rel_ret")
OFFICIAL_MEANS = ("map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P")

# Normalized names of trec_eval measures that skgraded does not provide
ABSENT = set(
    "11ptavg g bing gmbpref gmmap infap ndcgrel numnonreljudgedret numq relativep relstring rndcg "
    "rprecmult runid setmap setrelativep utility yaap".split()
)
SEPARATOR = re.compile(r",(?![^(]*\))")  # a comma outside of parentheses
_CUTOFF = re.compile(r"(.*?[@_])(\d+(?:\.\d+)?|mean)")  # a name that ends with a cut-off
_OPTION = re.compile(r"^([A-Za-z_]+)\.(?=\d)")  # trec_eval's options, such as P.5,10
_NUMBER = re.compile(r"\d+(\.\d+)?|mean")
_NUMBERED = re.compile(r"(.+?)_([0-9]+(\.[0-9]+)?)")  # a name that ends with a number, such as P_10
_AT = re.compile(r"_at_(\d+|k)\s*$")  # cut-off in sentence-transformers names, such as ndcg_at_10
_FORM = re.compile(r"\s*([^\W\d][\w.-]*)\s*(?:\((.*)\))?\s*(?:@\s*(\w+))?\s*", re.DOTALL)


def measure(text: str | Measure, names: str | None = None) -> Measure:
    """Parse a string into a measure.

    Parameters
    ----------
    text : str or Measure
        A string in the form ``Name(parameter=value,…)@k``. Values are Python literals or nan;
        ``@mean`` is the mean over all cut-offs, and ``_at_10`` is read as ``@10``. Case,
        underscores and hyphens in names are ignored; ``rel`` means ``threshold``, and ``top_k``
        means k. Aliases such as ``map``, ``μAP``, ``mrr``, ``hit_rate`` and trec_eval's ``P_10``,
        ``recall_10``, ``ndcg_cut_10``, ``map_cut_10`` and ``recip_rank`` are listed in the user
        guide. A Measure is returned unchanged.
    names : {"trec_eval"}, optional
        With "trec_eval", every name has the meaning of trec_eval 10: NDCG uses ``gain="linear"``,
        AP with a cut-off uses ``divisor="relevant"``, and RBP uses ``persistence=0.9``, unless the
        string sets these parameters. Names that trec_eval lacks keep their meaning.

    Raises
    ------
    ValueError
        If the string cannot be parsed, contains an unknown measure or parameter, or stands for
        several measures, such as "ndcg@5,10" or, with ``names="trec_eval"``, "P".

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.measure("ndcng@10"), sg.measure("map(threshold=2, undefined=nan)@20")
    (NDCNG@10, AP(threshold=2,undefined=nan)@20)
    >>> sg.measure("ndcg_cut_10"), sg.measure("map_cut_10")
    (NDCG(gain='linear')@10, AP(divisor='relevant')@10)
    >>> [sg.measure(name, names="trec_eval") for name in ("ndcg", "ap@10", "map")]
    [NDCG(gain='linear'), AP(divisor='relevant')@10, AP]
    """
    if isinstance(text, Measure):
        return text
    if not isinstance(text, str):
        raise TypeError(f"measure must be a Measure or a string such as 'ndcng@10'; got {text!r}.")
    if (text, names) in PARSED:
        return PARSED[text, names]
    choice_validator("names", ("trec_eval",), optional=True)(names)
    if len(parts := expand_name(text, names)) > 1:
        raise ValueError(
            f"The string {text} is a list of measures: pass it where a list is accepted, such as "
            f"measures=, or choose one, such as {parts[0]}."
        )
    text = str(parts[0])
    if normalize_name(text) in ABSENT:
        gm_map = " The command computes gm_map with --names trec_eval." if text == "gm_map" else ""
        raise ValueError(
            f"Measure {text} is not available in skgraded. For alternatives, see 'Coming from "
            f"trec_eval' in the documentation.{gm_map}"
        )
    form = _FORM.fullmatch(_AT.sub(r"@\1", text))
    if form is None:
        raise ValueError(f"Cannot parse measure {text!r}: use the form Name(parameter=value)@k.")
    cls, of_alias = _find_class(form[1])
    parameters: dict[str, Any] = {}
    for name, value in chain(_parse_parameters(text, form, cls), of_alias.items()):
        if name in parameters:
            what = "two cut-offs" if name == "k" else f"{name} twice"
            raise ValueError(f"Measure {text!r} contains {what}.")
        parameters[name] = value
    if names is not None:
        is_cut = cls.__name__ == "AP" and parameters.get("k") is not None
        of_trec_eval = {"divisor": "relevant"} if is_cut else TREC_EVAL.get(cls.__name__, {})
        parameters = of_trec_eval | parameters
    try:
        parsed = PARSED[text, names] = cls(**parameters)
    except ValueError as error:
        raise ValueError(f"Cannot parse measure {text!r}: {error}") from None
    return parsed


def _find_class(name: str) -> tuple[type[Measure], dict[str, Any]]:
    """Return the class for a name or alias, and the parameters that the alias sets."""
    names = ALIASES | {name: (cls, {}) for name, cls in MEASURES.items()}
    known = {normalize_name(name): entry for name, entry in names.items()}
    plain = normalize_name(name)
    if plain in known:
        return known[plain]
    # P_10 matches the alias P_{k}, and sets k to 10.
    if form := _NUMBERED.fullmatch(name):
        for alias, (cls, parameters) in known.items():
            stem, _, parameter = alias.rstrip("}").partition("{")
            if parameter and stem == normalize_name(form[1]):
                number = float(form[2]) if form[3] else int(form[2])
                return cls, parameters | {parameter: number}
    near = find_nearest(plain, known)
    hint = "" if near is None else f" Did you mean {known[near][0].__name__}?"
    raise ValueError(f"Unknown measure {name!r}.{hint} Known measures: {', '.join(MEASURES)}.")


def _parse_parameters(
    text: str, form: re.Match[str], cls: type[Measure]
) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each parameter in a measure string."""
    _, inside, cut_off = form.groups(default="")
    try:
        call = ast.parse(f"f({inside})", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        call = None
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
        raise ValueError(f"Cannot parse measure {text!r}: use the form Name(parameter=value)@k.")
    known = {normalize_name(name): name for name in cls._fields}
    for keyword in call.keywords:
        key = normalize_name(keyword.arg or "**")
        name = known.get(OTHER_NAMES.get(key, key))
        if name is None:
            raise ValueError(describe_unknown(cls, keyword.arg or "**"))
        yield name, _evaluate_literal(text, keyword)
    if cut_off:
        if "k" not in known.values():
            raise ValueError(f"Measure {cls.__name__} has no cut-off k; got {text!r}.")
        yield "k", int(cut_off) if cut_off.isascii() and cut_off.isdecimal() else cut_off.lower()


def _evaluate_literal(text: str, keyword: ast.keyword) -> Any:
    if isinstance(keyword.value, ast.Name) and keyword.value.id.lower() == "nan":
        return math.nan
    try:
        return ast.literal_eval(keyword.value)
    except ValueError:
        shown = ast.unparse(keyword.value)
        raise ValueError(
            f"Cannot parse measure {text!r}: {keyword.arg} must be a literal such as 2, 'linear' "
            f"or nan; got {shown}."
        ) from None


def as_measures(
    measures: Measures,
    names: str | None = None,
    threshold: float | None = None,
) -> list[Measure]:
    """Convert one or more measures or strings to a list of distinct measures.

    For `names`, see `measure`; for `threshold`, see `set_threshold`.
    """
    if isinstance(measures, (str, Measure)):
        measures = [measures]
    if isinstance(measures, Mapping):
        raise TypeError(
            "measures must not be a mapping: pass a list of measures. Only make_ranking_scorer "
            "accepts mappings."
        )
    if not isinstance(measures, Iterable) or getattr(measures, "shape", None) == ():
        raise TypeError(f"measures must be a Measure, a string or a list; got {measures!r}.")
    parsed = [measure(part, names) for text in measures for part in expand_name(text, names)]
    if threshold is not None:
        parsed = [set_threshold(m, threshold) for m in parsed]
    if not parsed:
        raise ValueError("measures is empty: pass at least one measure, such as 'ndcng@10'.")
    distinct = [m.name for m in parsed]
    for name in distinct:
        if distinct.count(name) > 1:
            raise ValueError(f"measures contains {name} twice.")
    return parsed


def expand_name(text: str | Measure, names: str | None = None) -> list[Any]:
    """Return the names of the individual measures in a string such as "ndcg@5,10, map".

    If `names` is given, "official" and names such as "P" stand for several measures, as in
    trec_eval.
    """
    parts: list[str] = []
    for part in map(str.strip, SEPARATOR.split(text) if isinstance(text, str) else ()):
        cut_off = _CUTOFF.fullmatch(parts[-1]) if parts else None
        part = _OPTION.sub(r"\1_", part)
        parts.append(cut_off[1] + part if cut_off and _NUMBER.fullmatch(part) else part)
    if not isinstance(text, str) or names is None:
        return parts or [text]
    expanded = []
    for part in parts:
        group = OFFICIAL_COUNTS + OFFICIAL_MEANS if part == "official" else (part,)
        for name in group:
            cut_offs = FAMILIES[name].split() if name in FAMILIES else []
            expanded += [f"{name}_{cut_off}" for cut_off in cut_offs] or [name]
    return expanded


def choose_names(texts: Iterable[Any], names: str | None) -> str | None:
    """Return "trec_eval" if any of the texts contains "official", and `names` otherwise."""
    return "trec_eval" if any("official" in expand_name(text) for text in texts) else names


def set_threshold(measure: Measure, threshold: float) -> Measure:
    """Set the threshold of a measure whose `threshold` parameter is None."""
    threshold = check_threshold(threshold)
    if isinstance(measure, Relevance) and measure.threshold is None:
        return replace(measure, threshold=threshold)
    return measure


def warn_of_other_meanings(measures: Iterable[Measure], highest_grade: float) -> None:
    """If the highest grade exceeds 1, warn once that trec_eval defines NDCG or AP@k differently."""
    texts = {}
    for m in measures if highest_grade > 1 else ():
        name, k, setting = type(m).__name__, getattr(m, "k", None), vars(m).get
        if name == "NDCG" and setting("gain") == "exp2" and k != "mean":
            texts[name] = (
                "NDCG uses the gain 2^r - 1; for trec_eval's NDCG, pass ndcg(gain='linear') or "
                f"ndcg_cut_{k or 10}."
            )
        elif name == "AP" and setting("divisor") == "min" and k is not None:
            texts[name] = f"AP@k divides by min(R, k); for trec_eval's divisor R, pass map_cut_{k}."
    if texts:
        warn_user(" ".join(texts.values()))
