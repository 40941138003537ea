"""Reader for qrels and runs in JSON, in JSON Lines, and in the predictions of MTEB."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skgraded._input.door import add_place, argument_error
from skgraded._input.messages import quote_names, suggest_name
from skgraded.datasets.data_structures import convert
from skgraded.datasets.entries import Entries

META = "mteb_model_meta"  # a key of MTEB's predictions, {META: …, subset: {split: predictions}}


def read_json(data: bytes, path: str, side: str, split: str | None) -> Entries:
    """Convert the content of a JSON file, or of JSON Lines, to Entries."""
    try:
        content, lines = _parse_content(data.decode())
        if META in content and side == "run":
            content = _select_split(content, split)
        return replace(convert(content, side, lines), source=path)
    except TypeError as error:
        raise ValueError(f"{path}: {error}") from None
    except ValueError as error:  # JSON and UTF-8 errors state the position
        raise add_place(error, path) from None


def _parse_content(text: str) -> tuple[Any, np.ndarray | None]:
    """Return the value in a JSON file, or a list of the values of JSON Lines and their lines."""
    decoder = json.JSONDecoder(object_pairs_hook=_refuse_repeated_keys)
    values, lines, line, end = [], [], 1, 0
    while found := re.compile(r"\S").search(text, end):
        line += text.count("\n", end, found.start())
        value, end = decoder.raw_decode(text, found.start())
        line += text.count("\n", found.start(), end)
        values.append(value)
        lines.append(line)
    first = values[0]
    cells = first.values() if isinstance(first, dict) else [first]
    is_row = cells and not any(isinstance(cell, (dict, list)) for cell in cells)
    return (values, np.array(lines)) if len(values) > 1 or is_row else (first, None)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; raise a ValueError if a key is repeated."""
    content = dict(pairs)
    if len(content) < len(pairs):
        ((key, times),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"an object contains the key {key!r:.100} {times} times: keep only one.")
    return content


def _select_split(content: Mapping[str, Any], split: str | None) -> Any:
    """Return the predictions of a subset and split in the predictions of MTEB."""
    parts = {
        f"{subset}/{name}": predictions
        for subset, splits in content.items()
        if subset != META and isinstance(splits, Mapping)
        for name, predictions in splits.items()
        if isinstance(predictions, Mapping)
    }
    if split is None and len(parts) == 1:
        return next(iter(parts.values()))
    if split not in parts:
        first = next(iter(parts), "default/test")
        raise argument_error(
            f"the file contains {len(parts)} subsets and splits: "
            f"{quote_names(list(parts))}. Select one, for example with split={first!r:.60}; got "
            f"{split!r}.{suggest_name(str(split), parts)}",
            "split",
        )
    return parts[split]
