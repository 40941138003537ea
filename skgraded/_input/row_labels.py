"""Row labels of pandas objects, whose rows are paired by position."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skgraded._input.words import plain

UNLABELLED = frozenset((type(None), np.ndarray, list))
Labels = Sequence[tuple[str, Any]]  # arguments and their indexes, which differ pairwise


def check_row_labels(arguments: Mapping[str, Any], stacklevel: int, known: Labels = ()) -> Labels:
    """Warn if two pandas objects have the same row labels in a different order.

    `known` are labels that an earlier call returned; the result also contains these labels.
    """
    labels = [*known]
    for name, values in arguments.items():
        if type(values) in UNLABELLED or not hasattr(values, "iloc"):
            continue
        index = values.index
        if any(index.is_(other) or index.equals(other) for _, other in labels):
            continue
        for first_name, first in labels:
            row = _first_reordered(first, index)
            if row is not None:
                warnings.warn(
                    f"{first_name} and {name} have the same row labels in a different order: row "
                    f"{row} is {plain(first[row])!r} in {first_name} and {plain(index[row])!r} in "
                    f"{name}. Rows are paired by position. Pass {name}.loc[{first_name}.index] to "
                    "pair them by label, or .to_numpy() if the order is right.",
                    stacklevel=stacklevel,
                )
        labels.append((name, index))
    return labels


def _first_reordered(index: Any, other: Any) -> int | None:
    """Return the first row whose label differs, or None unless the labels are a permutation."""
    if len(index) != len(other):
        return None
    from pandas.util import hash_pandas_object

    hashes, others = (hash_pandas_object(labels).to_numpy() for labels in (index, other))
    differs = hashes != others
    # Equal sums of 64-bit hashes: the same labels, up to an improbable collision.
    is_permutation = differs.any() and hashes.sum() == others.sum()
    return int(np.argmax(differs)) if is_permutation else None
