"""Every measure, the settings it is tested with, its oracle, and the properties that it has.

A measure that the package exports and that is missing here fails `test_no_measure_is_forgotten`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import oracle

import skgraded as sg

CUTOFFS = (None, 1, 2, 3, 5, 100)
THRESHOLDS = (None, 0.5, 2)
TIES = ("average", "ordinal", "best", "worst")


def square_root(grades):
    return np.sqrt(grades)


def reciprocal(ranks):
    return 1.0 / ranks


@dataclass(frozen=True)
class Entry:
    """A measure class: ``settings`` are its parameters beside ``ties`` and ``undefined``."""

    cls: type
    of_orders: Callable  # (ranked, grades, **setting) -> a value for each order, or None
    on_average: Callable  # (grades, scores, **setting) -> the expectation under ties, or None
    settings: list = field(default_factory=list)


def _grid(**choices):
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


_gain_grid = {
    "k": (*CUTOFFS, "mean"),
    "gain": ("exp2", "linear", square_root),
    "discount": ("log2", "letor", reciprocal),
}
# The largest grade of the random queries: max_grade must not be below any grade.
TOP_GRADE = 1000.0

REGISTRY = {
    "AP": Entry(
        sg.AP,
        oracle.average_precision,
        oracle.average_average_precision,
        _grid(k=CUTOFFS, threshold=THRESHOLDS),
    ),
    "MuAP": Entry(
        sg.MuAP,
        oracle.mu_average_precision,
        oracle.average_mu_average_precision,
        _grid(k=CUTOFFS),
    ),
    "NDCG": Entry(sg.NDCG, oracle.ndcg, oracle.average_ndcg, _grid(**_gain_grid)),
    "NDCNG": Entry(
        sg.NDCNG,
        oracle.ndcng,
        oracle.average_ndcng,
        _grid(**_gain_grid, max_grade=(None, TOP_GRADE)),
    ),
    "Precision": Entry(
        sg.Precision,
        oracle.precision,
        oracle.average_precision_at,
        _grid(k=CUTOFFS, threshold=THRESHOLDS),
    ),
    "Recall": Entry(
        sg.Recall,
        oracle.recall,
        oracle.average_recall,
        _grid(k=CUTOFFS, threshold=THRESHOLDS),
    ),
    "RR": Entry(
        sg.RR,
        oracle.reciprocal_rank,
        oracle.average_reciprocal_rank,
        _grid(k=CUTOFFS, threshold=THRESHOLDS),
    ),
}


def _label(name, setting):
    shown = [
        f"{key}={getattr(value, '__name__', value)}"
        for key, value in setting.items()
        if value is not None
    ]
    return f"{name}({','.join(shown)})"


# (name, setting) of every measure, with a readable id for each.
ALL_SETTINGS = [(name, setting) for name, entry in REGISTRY.items() for setting in entry.settings]
ALL_IDS = [_label(name, setting) for name, setting in ALL_SETTINGS]


def build(name, setting, **more):
    return REGISTRY[name].cls(**setting, **more)


# A handful of settings of each measure, for the properties that do not depend on all of them.
FEW = [
    sg.AP(),
    sg.AP(k=3, threshold=2),
    sg.MuAP(),
    sg.MuAP(k=3),
    sg.NDCG(),
    sg.NDCG(k=3),
    sg.NDCG(k="mean", gain="linear", discount="letor"),
    sg.NDCNG(),
    sg.NDCNG(k=3, max_grade=TOP_GRADE),
    sg.NDCNG(k="mean", gain=square_root, discount=reciprocal),
    sg.Precision(),
    sg.Precision(k=3),
    sg.Recall(k=3),
    sg.Recall(k=2, threshold=2),
    sg.RR(),
    sg.RR(k=3, threshold=2),
]


def with_ties(measure, ties):
    """The same measure with another tie rule."""
    return rebuilt(measure, ties=ties)


def rebuilt(measure, **changes):
    """The same measure with some parameters changed."""
    names = ("k", "ties", "undefined", "threshold", "gain", "discount", "max_grade")
    kept = {name: getattr(measure, name) for name in names if hasattr(measure, name)}
    return type(measure)(**(kept | changes))


# Properties, and why a measure lacks one.

# No grade decides but by its size relative to the top grade of the query. AP, Precision, Recall
# and RR have it without a threshold; NDCG not with the exponential gain, NDCNG not with max_grade.
SCALE_INVARIANT = [
    sg.MuAP(),
    sg.MuAP(k=3),
    sg.NDCNG(),
    sg.NDCNG(k=3, discount="letor"),
    sg.NDCNG(k="mean"),
    sg.NDCNG(gain=square_root),
    sg.NDCG(gain="linear"),
    sg.AP(),
    sg.Precision(k=3),
    sg.Recall(k=3),
    sg.RR(),
]

# The list sorted by grade scores 1 at every cut-off. Not Precision (too few relevant documents),
# nor Recall under a cut-off (too few places).
IDEAL_IS_ONE = [
    sg.AP(),
    sg.AP(k=1),
    sg.AP(k=3),
    sg.MuAP(),
    sg.MuAP(k=1),
    sg.MuAP(k=3),
    sg.NDCG(),
    sg.NDCG(k=1),
    sg.NDCG(k=3, gain="linear", discount="letor"),
    sg.NDCG(k="mean"),
    sg.NDCNG(),
    sg.NDCNG(k=3, max_grade=TOP_GRADE),
    sg.NDCNG(k="mean", gain=square_root),
    sg.Recall(),
    sg.RR(),
    sg.RR(k=1),
]
