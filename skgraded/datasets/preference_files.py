"""Reader for TREC files with preference judgments."""

from __future__ import annotations

import itertools
import math
import os
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from skgraded.datasets.text_files import BOM, check_path, number_in, parsed_blocks, shown, words_of

if TYPE_CHECKING:
    from sklearn.utils import Bunch

COLUMNS = {
    3: "query preferred other",
    4: "query document document preferred",
    5: "query group subgroup document level",
}


def read_preferences(path: str | os.PathLike[str] | BinaryIO, *, progress: bool = False) -> Bunch:
    r"""Read preference judgments for use with `evaluate_preferences` and `edrc_per_query`.

    The number of columns determines the format of the file:

    ====== ======================================= ========================================
    3      ``query preferred other``               Clarke's tools for preference judgments
    4      ``query document document preferred``   the two documents as shown to assessors;
                                                   the last column repeats one of them
    5      ``query group subgroup document level`` trec_eval's ``prefs``
    ====== ======================================= ========================================

    In trec_eval's form, a document is preferred to all documents with a lower level in the same
    query, group (an assessor) and subgroup. A pair counts once per group, and n documents yield up
    to n (n - 1) / 2 pairs. Columns are separated by spaces or tabs. Blank lines, and lines
    that begin with ``#``, are skipped.

    Parameters
    ----------
    path, progress
        As for `read_qrels`.

    Returns
    -------
    Bunch
        ``query``, ``preferred``, ``other`` : ndarray of shape (n,), object
            Strings as in the file, one row per preference and assessor, in the order of the file
            (with 5 columns: in which queries, groups and subgroups first appear).

    Raises
    ------
    ValueError
        If a line cannot be read or contradicts itself or an earlier line, or the file contains no
        preference or is truncated. The error names the file and the line.

    References
    ----------
    C. L. A. Clarke, A. Vtyurina, M. D. Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021;
    github.com/claclark/preferences. C. Buckley: trec_eval 9, get_prefs.c.

    Examples
    --------
    >>> import io
    >>> from skgraded.datasets import read_preferences
    >>> truth = read_preferences(io.BytesIO(b"31_1 d2 d1 d1\n31_1 d2 d3 d2\n32_1 d7 d4 d4\n"))
    >>> truth.query.tolist(), truth.preferred.tolist(), truth.other.tolist()
    (['31_1', '31_1', '32_1'], ['d1', 'd2', 'd4'], ['d2', 'd3', 'd7'])
    """
    from sklearn.utils import Bunch

    source, path = path, check_path(path)
    n_columns = 0

    def check_line(line: bytes) -> list[str]:
        nonlocal n_columns
        words = words_of(line.removeprefix(BOM))  # any line, if files were concatenated
        if words:
            _check_words(words, n_columns or len(words))
            n_columns = len(words)
        return [word.decode() for word in words]

    def parse(text: bytes, first: int) -> list[tuple[int, list[str]]]:
        lines = enumerate(text.removesuffix(b"\n").split(b"\n"), first)
        return [(number, words) for number, line in lines if (words := check_line(line))]

    kind = "a file of preferences"
    blocks = parsed_blocks(source, path, kind, parse, check_line, progress)
    rows = list(itertools.chain.from_iterable(blocks))
    if not rows:
        raise ValueError(f"{path}: the file is empty or contains only blank lines and comments.")
    if n_columns == 5:
        pairs = _pairs_of_levels(rows, path)
    else:
        pairs = [
            (query, other, preferred) if chosen == [other] else (query, preferred, other)
            for _, (query, preferred, other, *chosen) in rows
        ]
    query, preferred, other = np.array(pairs, dtype=object).T.copy()
    return Bunch(query=query, preferred=preferred, other=other)


def _pairs_of_levels(rows: list[tuple[int, list[Any]]], path: str) -> list[tuple[str, str, str]]:
    """Return (query, preferred, other) tuples for all subgroups, each at most once per group."""
    levels: dict[Any, Any] = {}  # level and line of each document, keyed by group and subgroup
    for number, (query, group, subgroup, document, level) in rows:
        known = levels.setdefault((query, group), {}).setdefault(subgroup, {})
        before = known.setdefault(document, (float(level), number))
        if before[0] != float(level):
            raise ValueError(
                f"{path}: line {number}: document {document!r} in subgroup {subgroup!r} of query "
                f"{query!r} has level {level}, but it has a different level on line {before[1]}."
            )
    pairs: dict[Any, Any] = {}
    for (query, group), subgroups in levels.items():
        for known in subgroups.values():
            ranked = sorted(known, key=lambda document: -known[document][0])
            for preferred, other in itertools.combinations(ranked, 2):
                if known[preferred][0] > known[other][0]:
                    pairs[query, preferred, other, group] = None
    if not pairs:
        raise ValueError(
            f"{path}: the file contains no preferences, because all documents within each subgroup "
            "have the same level."
        )
    return [pair[:3] for pair in pairs]


def _check_words(words: list[bytes], n_columns: int) -> None:
    """Raise a ValueError that describes the first error in a line."""
    line = shown(b" ".join(words))
    if n_columns not in COLUMNS:
        known = " or ".join(f"{n} columns ({names})" for n, names in COLUMNS.items())
        raise ValueError(f"a file of preferences must have {known}; got {len(words)}: {line}.")
    if len(words) != n_columns:
        raise ValueError(
            f"previous lines have {n_columns} columns ({COLUMNS[n_columns]}); got {line}."
        )
    if n_columns == 5:
        level = number_in(words[4])
        if level is None or math.isinf(level):
            raise ValueError(f"the level must be a finite number; got {shown(words[4])}.")
    elif words[1] == words[2]:
        raise ValueError(f"document {shown(words[1])} is preferred to itself.")
    elif n_columns == 4 and words[3] not in words[1:3]:
        raise ValueError(
            f"the last column must name the preferred document, {shown(words[1])} or "
            f"{shown(words[2])}; got {shown(words[3])}."
        )
