"""Every measure, the settings it is tested with, its oracle, and the properties that it has.

A measure that the package exports and that is missing here fails `test_no_measure_is_forgotten`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
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


def rank_less_1(ranks):
    return ranks - 1.0


@dataclass(frozen=True)
class Entry:
    """A measure class: ``settings`` are its parameters beside ``ties`` and ``undefined``.

    A measure without tie rules has no ``of_orders``, and ``on_average`` is its value.
    """

    cls: type
    of_orders: Callable | None  # (ranked, grades, **setting) -> a value for each order, or None
    on_average: Callable  # (grades, scores, **setting) -> the expectation under ties, or None
    settings: list = field(default_factory=list)
    unretrieved_last: bool = False  # the documents of score -inf are ranked, tied at the end

    @property
    def tie_rules(self):
        return TIES if self.of_orders else (None,)

    def by_orders(self, orders, grades, scores, ties, **setting):
        """Value from the values of all the orders, or from the scores where there is no rule."""
        if ties is None:
            return self.on_average(grades, scores, **setting)
        return oracle.over_ties(self.of_orders(orders, grades, **setting), ties)


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
    "GeneralizedPrecision": Entry(
        sg.GeneralizedPrecision,
        oracle.generalized_precision,
        oracle.average_generalized_precision,
        _grid(k=CUTOFFS, max_grade=(None, TOP_GRADE)),
    ),
    "GeneralizedRecall": Entry(
        sg.GeneralizedRecall,
        oracle.generalized_recall,
        oracle.average_generalized_recall,
        _grid(k=CUTOFFS),
    ),
    "GAP": Entry(
        sg.GAP, oracle.gap, oracle.average_gap,
        _grid(k=CUTOFFS, gain=("linear", "exp2", square_root)),
    ),
    "ERR": Entry(
        sg.ERR, oracle.err, oracle.average_err, _grid(k=CUTOFFS, max_grade=(None, TOP_GRADE))
    ),
    "RBP": Entry(
        sg.RBP, oracle.rbp, oracle.average_rbp,
        _grid(k=CUTOFFS, persistence=(0.8, 0, 0.5), max_grade=(None, TOP_GRADE)),
    ),
    "TauAP": Entry(
        sg.TauAP, oracle.tau_ap, oracle.average_tau_ap, _grid(), unretrieved_last=True
    ),
    "KendallTau": Entry(sg.KendallTau, None, oracle.kendall_tau, _grid()),
    "SpearmanRho": Entry(sg.SpearmanRho, None, oracle.spearman_rho, _grid()),
    "EDRC": Entry(
        sg.EDRC,
        None,
        oracle.edrc,
        _grid(discount=("linear", "log2", "exp2", rank_less_1), prior=(0.5, 0, 0.3, 1)),
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


def build(name, setting, ties=None, **more):
    return with_ties(REGISTRY[name].cls(**setting, **more), ties)


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
    sg.GeneralizedPrecision(),
    sg.GeneralizedPrecision(k=3, max_grade=TOP_GRADE),
    sg.GeneralizedRecall(k=3),
    sg.GAP(),
    sg.GAP(k=3, gain="exp2"),
    sg.ERR(),
    sg.ERR(k=3, max_grade=5),
    sg.RBP(),
    sg.RBP(k=3, persistence=0.5, max_grade=TOP_GRADE),
    sg.TauAP(),
    sg.KendallTau(),
    sg.SpearmanRho(),
    sg.EDRC(),
    sg.EDRC(discount="exp2", prior=0.25),
    sg.EDRC(discount=rank_less_1),
]


def tie_rules(measure):
    """The tie rules that a measure knows; (None,) of one that has its own answer to ties."""
    return REGISTRY[type(measure).__name__].tie_rules


def with_ties(measure, ties):
    """The same measure with another tie rule; with None, the measure itself."""
    return measure if ties is None else rebuilt(measure, ties=ties)


def rebuilt(measure, **changes):
    """The same measure with some parameters changed."""
    kept = {name: getattr(measure, name) for name in signature(type(measure)).parameters}
    return type(measure)(**(kept | changes))


# Properties, and why a measure lacks one.

# The lowest value is -1, of the reversed list; all others end at 0.
CORRELATIONS = (sg.TauAP, sg.KendallTau, sg.SpearmanRho, sg.EDRC)

# One measure with each of its tie rules. The correlations but τ_ap have their own answer to ties.
FEW_WITH_TIES = [(measure, ties) for measure in FEW for ties in tie_rules(measure)]

# No grade decides but by its size relative to the top grade of the query. AP, Precision, Recall
# and RR have it without a threshold; NDCG and GAP not with the exponential gain, which ERR has;
# NDCNG, gP and RBP not with max_grade. The correlations see the order of the grades only.
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
    sg.GeneralizedPrecision(),
    sg.GeneralizedPrecision(k=3),
    sg.GeneralizedRecall(k=3),
    sg.GAP(),
    sg.GAP(k=3),
    sg.RBP(),
    sg.TauAP(),
    sg.KendallTau(),
    sg.SpearmanRho(),
    sg.EDRC(),
    sg.EDRC(discount="exp2", prior=0.25),
]

# The list sorted by grade scores 1 at every cut-off. Not Precision and gP (too few relevant
# documents), ERR and RBP (the user may leave first), nor Recall and gR under a cut-off (too few
# places); nor τ_ap and EDRC where grades are equal (such pairs count 1/2, or the prior). τ_b and ρ
# do when the scores tie as the grades do.
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
    sg.GeneralizedRecall(),
    sg.GAP(),
    sg.GAP(k=3, gain="exp2"),
    sg.KendallTau(),
    sg.SpearmanRho(),
]
