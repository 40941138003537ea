"""The validation scores of boosting rounds, and the rule that decides when to stop."""

from dataclasses import dataclass

import numpy as np

from skgraded.boosting.metric import read_predictions
from skgraded.judgments import Judgments
from skgraded.measures import Measure
from skgraded.measures.base import compute_means


@dataclass
class StoppingState:
    """Validation scores per measure and round, and the rule that decides when to stop.

    Training stops after `patience` rounds without a new best value of the first measure.
    """

    measures: list[Measure]
    judgments: Judgments
    patience: int
    n_jobs: int | None = None  # for folds trained in parallel; see joblib
    n_rounds: int = 0
    best_round: int = 0  # counted from 1
    best_score: float = -np.inf

    def __post_init__(self) -> None:
        self.history: dict[str, list[float]] = {measure.name: [] for measure in self.measures}

    def add_round(self, scores: np.ndarray) -> None:
        """Evaluate the validation scores of a new round and update the best round."""
        means = self._average(read_predictions(scores, self.judgments.n_rows))
        for values, mean in zip(self.history.values(), means, strict=True):
            values.append(mean)
        self.n_rounds += 1
        if means[0] > self.best_score:
            self.best_score, self.best_round = means[0], self.n_rounds

    def _average(self, scores: np.ndarray) -> list[float]:
        """Return the mean of each measure over the validation queries."""
        return compute_means(self.measures, self.judgments, scores)

    @property
    def over_at(self) -> int:
        """The round at which training ends if no score improves."""
        return self.best_round + self.patience

    @property
    def is_over(self) -> bool:
        """Whether the best score has not improved in the last `patience` rounds."""
        return self.n_rounds >= self.best_round + self.patience
