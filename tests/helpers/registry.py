"""All measures with the settings and properties that the common tests check.

`conformance/generate.py` defines the measures and computes their values over all orders of tied
documents. To add a measure, add one call of `register`; `test_no_measure_is_forgotten` fails if an
exported measure is missing.
"""

from dataclasses import dataclass, field
from inspect import signature
from itertools import combinations, product
from math import inf, isnan

import generate
import numpy as np

import skgraded as sg

CUTOFFS = (None, 1, 2, 3, 5, 100)
THRESHOLDS = (None, 0.5, 2)
TIES = ("average", "ordinal", "best", "worst")
TOP_GRADE = 1000.0  # highest grade of the random queries; max_grade must not be lower


def square_root(grades):
    return np.sqrt(grades)


def reciprocal(ranks):
    return 1.0 / ranks


def rank_less_1(ranks):
    return ranks - 1.0


# Functions with the values of a name, and this name.
NAMES = {
    (linear_gain := lambda grades: grades): "linear",
    (log2_discount := lambda ranks: 1 / np.log2(ranks + 1)): "log2",
    (log2_divisor := lambda ranks: np.log2(ranks + 1)): "log2",
}
GAIN_GRID = {
    "k": (*CUTOFFS, "mean"),
    "gain": ("exp2", "linear", linear_gain),
    "discount": ("log2", "letor", log2_discount),
}


@dataclass(frozen=True)
class Entry:
    """A measure class: ``settings`` are its parameters besides ``ties`` and ``undefined``."""

    cls: type
    settings: list = field(default_factory=list)
    few: list = field(default_factory=list)  # for properties that do not depend on all settings
    scale_invariant: list = field(default_factory=list)  # scaling the grades changes nothing
    ideal_is_one: list = field(default_factory=list)  # the list sorted by grade scores 1
    lowest: int = 0  # lowest possible value
    highest: float = 1
    always_defined: bool = False
    undefined_on_request: bool = False  # with undefined=0.0, the same queries are defined, with 0

    @property
    def definition(self):
        """The measure in `generate`."""
        return generate.MEASURES[self.cls.__name__]

    @property
    def tie_rules(self):
        """The values of ``ties``, the default first; (None,) without this parameter."""
        default = self.definition.defaults.get("ties")
        if default == "worst":  # the expectation would take too long
            return ("worst", "best", "ordinal")
        return TIES if default else (None,)


REGISTRY: dict[str, Entry] = {}


def register(cls, **properties):
    REGISTRY[cls.__name__] = Entry(cls, **properties)


def grid(**choices):
    """Return settings that contain each pair of values of two parameters; the defaults come first.

    The first two parameters must have the most values; the values of the other parameters rotate.
    """
    first_two = product(*(range(len(values)) for values in list(choices.values())[:2]))
    settings = []
    for places in first_two:
        rotated = [sum(places)] * (len(choices) - len(places))
        settings.append(
            {
                name: values[place % len(values)]
                for (name, values), place in zip(choices.items(), [*places, *rotated], strict=True)
            }
        )
    for one, other in combinations(choices, 2):
        met = {(setting[one], setting[other]) for setting in settings}
        assert len(met) == len(choices[one]) * len(choices[other])
    return settings


register(
    sg.AP,
    settings=grid(k=CUTOFFS, threshold=THRESHOLDS, divisor=("min", "relevant")),
    few=[sg.AP(), sg.AP(k=3, threshold=2), sg.AP(k=3, divisor="relevant")],
    scale_invariant=[sg.AP()],
    ideal_is_one=[sg.AP(), sg.AP(k=1), sg.AP(k=3)],
)


register(
    sg.MuAP,
    settings=grid(k=CUTOFFS, divisor=("min", "relevant")),
    few=[sg.MuAP(), sg.MuAP(k=3), sg.MuAP(k=3, divisor="relevant")],
    scale_invariant=[sg.MuAP(), sg.MuAP(k=3), sg.MuAP(k=3, divisor="relevant")],
    ideal_is_one=[sg.MuAP(), sg.MuAP(k=1), sg.MuAP(k=3)],
)


register(
    sg.NDCG,
    settings=grid(**GAIN_GRID),
    few=[sg.NDCG(), sg.NDCG(k=3), sg.NDCG(k="mean", gain="linear", discount="letor")],
    scale_invariant=[sg.NDCG(gain="linear")],
    ideal_is_one=[
        sg.NDCG(),
        sg.NDCG(k=1),
        sg.NDCG(k=3, gain="linear", discount="letor"),
        sg.NDCG(k="mean"),
    ],
)


register(
    sg.NDCNG,
    settings=grid(**GAIN_GRID, max_grade=(None, TOP_GRADE)),
    few=[
        sg.NDCNG(),
        sg.NDCNG(k=3, max_grade=TOP_GRADE),
        sg.NDCNG(k="mean", gain=square_root, discount=reciprocal),
    ],
    scale_invariant=[
        sg.NDCNG(),
        sg.NDCNG(k=3, discount="letor"),
        sg.NDCNG(k="mean"),
        sg.NDCNG(gain=square_root),
    ],
    ideal_is_one=[
        sg.NDCNG(),
        sg.NDCNG(k=3, max_grade=TOP_GRADE),
        sg.NDCNG(k="mean", gain=square_root),
    ],
)


register(
    sg.QMeasure,
    settings=grid(k=CUTOFFS, beta=(1.0, 0, 10), gain=("linear", "exp2", linear_gain)),
    few=[sg.QMeasure(), sg.QMeasure(k=3, beta=10), sg.QMeasure(gain="exp2")],
    scale_invariant=[sg.QMeasure(beta=0)],
    ideal_is_one=[sg.QMeasure(), sg.QMeasure(k=1), sg.QMeasure(k=3, beta=10, gain="exp2")],
)


register(
    sg.Precision,
    undefined_on_request=True,
    settings=grid(k=CUTOFFS, threshold=THRESHOLDS),
    few=[sg.Precision(), sg.Precision(k=3)],
    scale_invariant=[sg.Precision(k=3)],  # an ideal list may have too few relevant documents
)
register(
    sg.GeneralizedPrecision,
    settings=grid(k=CUTOFFS, max_grade=(None, TOP_GRADE)),
    few=[sg.GeneralizedPrecision(), sg.GeneralizedPrecision(k=3, max_grade=TOP_GRADE)],
    scale_invariant=[sg.GeneralizedPrecision(), sg.GeneralizedPrecision(k=3)],
)


register(
    sg.Recall,
    settings=grid(k=CUTOFFS, threshold=THRESHOLDS, divisor=("relevant", "min")),
    few=[sg.Recall(k=3), sg.Recall(k=2, threshold=2), sg.Recall(k=3, divisor="min")],
    scale_invariant=[sg.Recall(k=3)],
    # With divisor="relevant", an ideal list may be longer than the cut-off.
    ideal_is_one=[sg.Recall(), sg.Recall(k=3, divisor="min")],
)


register(
    sg.GeneralizedRecall,
    settings=grid(k=CUTOFFS),
    few=[sg.GeneralizedRecall(k=3)],
    scale_invariant=[sg.GeneralizedRecall(k=3)],
    ideal_is_one=[sg.GeneralizedRecall()],
)


register(
    sg.RPrecision,
    settings=grid(threshold=THRESHOLDS),
    few=[sg.RPrecision(), sg.RPrecision(threshold=2)],
    scale_invariant=[sg.RPrecision()],
    ideal_is_one=[sg.RPrecision(), sg.RPrecision(threshold=2)],
)


register(
    sg.RBP,
    settings=grid(k=CUTOFFS, persistence=(0.8, 0, 0.5), max_grade=(None, TOP_GRADE)),
    few=[sg.RBP(), sg.RBP(k=3, persistence=0.5, max_grade=TOP_GRADE)],
    scale_invariant=[sg.RBP()],
)


register(
    sg.DCG,
    always_defined=True,
    highest=inf,
    settings=grid(**GAIN_GRID | {"k": CUTOFFS}),
    few=[sg.DCG(gain="linear"), sg.DCG(k=3), sg.DCG(gain=square_root)],
)


register(
    sg.RR,
    settings=grid(k=CUTOFFS, threshold=THRESHOLDS),
    few=[sg.RR(), sg.RR(k=3, threshold=2)],
    scale_invariant=[sg.RR()],
    ideal_is_one=[sg.RR(), sg.RR(k=1)],
)


register(
    sg.GAP,
    settings=grid(k=CUTOFFS, gain=("linear", "exp2", linear_gain)),
    few=[sg.GAP(), sg.GAP(k=3, gain="exp2")],
    scale_invariant=[sg.GAP(), sg.GAP(k=3)],
    ideal_is_one=[sg.GAP(), sg.GAP(k=3, gain="exp2")],
)


register(
    sg.ERR,
    settings=grid(k=CUTOFFS, max_grade=(None, TOP_GRADE)),
    few=[sg.ERR(), sg.ERR(k=3, max_grade=5)],  # an ideal list scores less than 1
)


register(
    sg.NERR,
    settings=grid(k=CUTOFFS, max_grade=(None, TOP_GRADE)),
    few=[sg.NERR(), sg.NERR(k=3, max_grade=5)],
    ideal_is_one=[sg.NERR(), sg.NERR(k=1), sg.NERR(k=3, max_grade=5)],
)


register(
    sg.Success,
    undefined_on_request=True,
    settings=grid(k=CUTOFFS, threshold=THRESHOLDS),
    few=[sg.Success(k=3), sg.Success(k=2, threshold=2)],
    scale_invariant=[sg.Success(k=3)],  # a query may have no relevant document
)


register(
    sg.InterpolatedPrecision,
    settings=grid(recall=(0, 0.1, 0.5, 1), threshold=THRESHOLDS),
    few=[sg.InterpolatedPrecision(), sg.InterpolatedPrecision(0.5, threshold=2)],
    scale_invariant=[sg.InterpolatedPrecision(0.5)],
    ideal_is_one=[sg.InterpolatedPrecision(), sg.InterpolatedPrecision(1)],
)


register(
    sg.NumRet,
    always_defined=True,
    highest=inf,
    settings=[{}],
    few=[sg.NumRet()],
    scale_invariant=[sg.NumRet()],
)
for counting in (sg.NumRel, sg.NumRelRet):
    register(
        counting,
        always_defined=True,
        highest=inf,
        settings=grid(threshold=THRESHOLDS),
        few=[counting()],
        scale_invariant=[counting()],
    )
register(
    sg.SetPrecision,
    undefined_on_request=True,
    settings=grid(threshold=THRESHOLDS),
    few=[sg.SetPrecision()],
    scale_invariant=[sg.SetPrecision()],
)
register(
    sg.SetRecall,
    settings=grid(threshold=THRESHOLDS),
    few=[sg.SetRecall(), sg.SetRecall(threshold=2)],
    scale_invariant=[sg.SetRecall()],
    ideal_is_one=[sg.SetRecall()],
)
register(
    sg.SetF,
    settings=grid(threshold=THRESHOLDS, beta=(1, 0, 0.5, 3)),
    few=[sg.SetF(), sg.SetF(threshold=2, beta=0.5)],
    scale_invariant=[sg.SetF()],
)


register(
    sg.Bpref,
    settings=grid(threshold=THRESHOLDS),
    few=[sg.Bpref(), sg.Bpref(threshold=2)],
    scale_invariant=[sg.Bpref()],
    ideal_is_one=[sg.Bpref(), sg.Bpref(threshold=2)],
)


register(  # for long queries, no grade is nan
    sg.Judged,
    always_defined=True,
    settings=grid(k=CUTOFFS),
    few=[sg.Judged(k=3)],
    scale_invariant=[sg.Judged()],
)


register(
    sg.RBPResidual,
    always_defined=True,
    settings=grid(k=CUTOFFS, persistence=(0.8, 0, 0.5, 0.95)),
    few=[sg.RBPResidual(), sg.RBPResidual(k=3, persistence=0.5)],
    scale_invariant=[sg.RBPResidual()],
)


register(
    sg.Compat,
    settings=grid(persistence=(0.95, 0, 0.5)),
    few=[sg.Compat(), sg.Compat(0.5)],
    scale_invariant=[sg.Compat()],
    ideal_is_one=[sg.Compat(), sg.Compat(0.5)],
)


register(
    sg.PairAccuracy,
    settings=grid(),
    few=[sg.PairAccuracy()],
    scale_invariant=[sg.PairAccuracy()],
    ideal_is_one=[sg.PairAccuracy()],
)


register(
    sg.AUC,
    settings=grid(threshold=THRESHOLDS),
    few=[sg.AUC(), sg.AUC(threshold=2)],
    scale_invariant=[sg.AUC()],
    ideal_is_one=[sg.AUC(), sg.AUC(threshold=2)],
)


register(
    sg.TauAP,
    settings=grid(),
    lowest=-1,
    few=[sg.TauAP()],
    scale_invariant=[sg.TauAP()],  # in an ideal list, equal grades count 1/2
)


register(
    sg.KendallTau,
    settings=grid(),
    lowest=-1,
    few=[sg.KendallTau()],
    scale_invariant=[sg.KendallTau()],
    ideal_is_one=[sg.KendallTau()],  # if the scores have the same ties as the grades
)


register(
    sg.SpearmanRho,
    settings=grid(),
    lowest=-1,
    few=[sg.SpearmanRho()],
    scale_invariant=[sg.SpearmanRho()],
    ideal_is_one=[sg.SpearmanRho()],
)


register(
    sg.EDRC,
    settings=grid(discount=("linear", "log2", "exp2", log2_divisor), prior=(0.5, 0, 0.3, 1)),
    lowest=-1,
    few=[sg.EDRC(), sg.EDRC(discount="exp2", prior=0.25), sg.EDRC(discount=rank_less_1)],
    scale_invariant=[sg.EDRC(), sg.EDRC(discount="exp2", prior=0.25)],
)


# All measures ------------------------------------------------------------------------------------

FEW = [measure for entry in REGISTRY.values() for measure in entry.few]
SCALE_INVARIANT = [measure for entry in REGISTRY.values() for measure in entry.scale_invariant]
IDEAL_IS_ONE = [measure for entry in REGISTRY.values() for measure in entry.ideal_is_one]


def entry_of(measure):
    return REGISTRY[type(measure).__name__]


def build(name, setting, ties=None, **more):
    return with_ties(REGISTRY[name].cls(**setting, **more), ties)


def tie_rules(measure):
    """The tie rules of a measure; (None,) if its definition determines how to treat ties."""
    return entry_of(measure).tie_rules


def with_ties(measure, ties):
    """The same measure with another tie rule; with None, the measure itself."""
    return measure if ties is None else rebuilt(measure, ties=ties)


def rebuilt(measure, **changes):
    """The same measure with some parameters changed."""
    kept = {name: getattr(measure, name) for name in signature(type(measure)).parameters}
    return type(measure)(**(kept | changes))


def by_definition(name, setting, grades, scores, digits=50):
    """Return the value of a query for each tie rule; None if the query has no value."""
    entry = REGISTRY[name]
    values = generate.values_of_orders(
        name,
        [None if isnan(grade) else grade for grade in grades],
        [None if score == -inf else score for score in scores],
        digits,
        **entry.definition.defaults | {key: NAMES.get(v, v) for key, v in setting.items()},
    )
    if values is None:
        return dict.fromkeys(entry.tie_rules)
    return {ties: float(generate.RULES[ties or "ordinal"](values)) for ties in entry.tie_rules}
