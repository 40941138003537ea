"""Code shared by the objectives for all boosting libraries: gradients of a measure."""

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import number_validator, whole_number
from skgraded._kernels.gradients import push_queries
from skgraded._kernels.sums import LINEAR, PAIR
from skgraded._kernels.threads import run_chunks
from skgraded.boosting.metric import read_predictions
from skgraded.judgments import Judgments, Layout, layout_of
from skgraded.measures import MEASURES, Measure
from skgraded.measures import measure as as_measure
from skgraded.measures.base import prepare


@dataclass(frozen=True, repr=False)
class Objective:
    """Base class of objectives computed from a measure; subclasses add the calling conventions."""

    measure: Any
    _: KW_ONLY
    truncation: int = 30
    sigmoid: float = 1.0
    norm: bool = True

    def __post_init__(self) -> None:
        for name, value in {
            "measure": as_measure(self.measure),
            "truncation": whole_number(self.truncation, "truncation", 1),
            "sigmoid": number_validator("sigmoid", 0, above=True)(self.sigmoid),
            "norm": bool(self.norm),
        }.items():
            object.__setattr__(self, name, value)
        if not is_trainable(self.measure):
            trainable = [name for name, cls in MEASURES.items() if is_trainable(cls())]
            raise TypeError(
                f"The measure {self.measure} cannot be used as an objective: choose one of "
                f"{', '.join(trainable)}, with or without a cut-off, and use "
                f"{self.measure} as a metric."
            )

    def __repr__(self) -> str:
        settings = [field for field in fields(self) if getattr(self, field.name) != field.default]
        shown = [f", {field.name}={getattr(self, field.name)}" for field in settings[1:]]
        return f"objective({self.measure.name!r}{''.join(shown)})"

    def compute_gradients(
        self, judgments: Judgments, preds: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and second derivatives per row, multiplied by the query weights.

        Both arrays contain finite 32-bit floats, clipped to half the largest 32-bit float.
        """
        scores, layout = read_predictions(preds, judgments.n_rows), layout_of(judgments)
        order, codes = layout.remember("swaps", lambda: _shuffle_rows(layout))
        plan = prepare(self.measure, layout).plan
        gradients = np.empty(judgments.n_rows, dtype=np.float32)
        hessians = np.empty_like(gradients)
        all_finite = run_chunks(
            lambda first, last: push_queries(
                scores,
                order,
                layout.starts,
                codes,
                layout.level_starts,
                plan,
                judgments.weights,
                min(self.truncation, judgments.n_rows),
                self.sigmoid,
                self.norm,
                gradients,
                hessians,
                first,
                last,
            ),
            layout.starts,
        )
        if not all(all_finite):
            row = int(np.argmax(np.isinf(scores)))
            raise ValueError(
                f"Predictions must be finite; got {scores[row]} for row {row}: check the learning "
                "rate and the initial scores."
            )
        return gradients, hessians


def is_trainable(measure: Measure) -> bool:
    """Return whether the kernel can compute how swapping two documents changes the measure."""
    plan = prepare(
        measure, layout_of(Judgments([0.0]))
    ).plan  # the kind of sum does not depend on the grades
    if plan is None:
        return False
    # Without a discount, all ranks have the same weight.
    return plan.kind == PAIR or (plan.kind == LINEAR and plan.discount is not None)


def _shuffle_rows(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return row positions and grade codes, sorted by query and shuffled within each query."""
    # Without shuffling, ties would be ranked in row order, which is often the order of the grades.
    random_keys = np.random.default_rng(0).random(layout.n_rows)
    query = np.repeat(np.arange(layout.n_queries), layout.sizes)
    shuffle = np.lexsort((random_keys, query))
    order = shuffle if layout.order is None else layout.order[shuffle]
    return order, layout.codes[shuffle]
