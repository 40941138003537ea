"""Tables of any size: parts, shuffles and batches, and one file per engine."""

from skgraded.large.batches import evaluate_batches

__all__ = ["evaluate_batches"]
