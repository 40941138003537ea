"""Readers for LETOR files and score files."""

from __future__ import annotations

import io
import os
import re
from array import array
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np

from skgraded._input.door import check_whole_number
from skgraded.datasets import text_files
from skgraded.datasets.text_files import File

if TYPE_CHECKING:
    from sklearn.utils import Bunch

DOC_ID = re.compile(rb"\s*docid\s*=\s*(\S+)")
LARGEST_INDEX = 2**31 - 1  # largest feature index that scikit-learn's parser and LightGBM accept


def read_letor(
    path: str | os.PathLike[str] | BinaryIO,
    n_features: int | None = None,
    *,
    group: str | os.PathLike[str] | BinaryIO | None = None,
    zero_based: bool | Literal["auto"] = "auto",
) -> Bunch:
    r"""Read a LETOR file: svmlight lines with a query id and, optionally, a document id.

    A line such as ``2 qid:10032 1:0.056 2:-0.25 #docid = GX029-35-5894638`` contains the grade, the
    query, the non-zero features with ascending indices, and an optional comment with the document
    id. Blank lines and lines that contain only a comment are skipped.

    Parameters
    ----------
    path : str, path-like or binary file
        The file, plain or compressed with gzip, bzip2 or xz; its extension does not matter.
    n_features : int, optional
        Number of columns of `X`; by default, the last column with a feature in the file.
    group : str, path-like or binary file, optional
        For files without ``qid:``, such as files of LightGBM: a file with the number of rows
        of each query, one number per line.
    zero_based : bool or "auto", default="auto"
        Whether the index of the first column is 0, as in the files of XGBoost and scikit-learn's
        ``dump_svmlight_file``, or 1. With "auto", it is 0 if the file contains an index 0.

    Returns
    -------
    Bunch
        ``X`` : CSR of shape (n, n_features), float64
            Features; column = index - 1 or, if zero-based, the index. ``nan`` and ``inf`` are kept.
        ``y`` : ndarray of shape (n,), float64
            Grades as in the file, including negative grades.
        ``qid`` : ndarray of shape (n,), object
            Query of each row, as text; with `group`, the integers 0, 1, 2, …
        ``doc_id`` : ndarray of shape (n,), object
            Document ids; None if the comment of a row contains no id.

    Raises
    ------
    ValueError
        If the input is invalid. The error names the file and the line.

    Examples
    --------
    >>> import io
    >>> from skgraded.datasets import read_letor
    >>> text = b"2 qid:7 1:0.5 3:-1 #docid = a\n0 qid:7 2:3e-2 #docid = b\n"
    >>> data = read_letor(io.BytesIO(text))
    >>> data.X.toarray()
    array([[ 0.5 ,  0.  , -1.  ],
           [ 0.  ,  0.03,  0.  ]])
    >>> data.y, data.qid, data.doc_id
    (array([2., 0.]), array(['7', '7'], dtype=object), array(['a', 'b'], dtype=object))
    """
    from sklearn.utils import Bunch

    name = text_files.check_path(path)
    if group is not None:
        text_files.check_path(group, "group")
    if n_features is not None:
        n_features = check_whole_number(n_features, "n_features", 1)
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto'; got {zero_based!r}.")
    # These arrays grow in place; concatenating a list of pieces would need twice the memory.
    data, indices, row_sizes, grades = array("d"), array("i"), array("q"), array("d")
    lines = array("q")
    qid: list[Any] = []
    doc_id: list[str | None] = []
    for X, y, numbers, queries, documents in text_files.parse_file(
        path, name, partial(_parse, with_query=group is None)
    ):
        data.frombytes(X.data.tobytes())
        indices.frombytes(X.indices.astype(np.int32).tobytes())
        row_sizes.frombytes(np.diff(X.indptr).astype(np.int64).tobytes())
        grades.frombytes(y.tobytes())
        lines.extend(numbers)
        qid += queries
        doc_id += documents
    if not doc_id:
        raise ValueError(f"{name}: the file is empty or contains only comments.")
    indptr = np.append(0, np.cumsum(row_sizes))
    columns = np.frombuffer(indices, np.int32)
    is_zero_based = columns.min(initial=1) == 0 if zero_based == "auto" else zero_based
    most = min(n_features or LARGEST_INDEX, LARGEST_INDEX)
    allowed = range(int(not is_zero_based), most + int(not is_zero_based))
    for position in (columns.argmin(), columns.argmax()) if len(columns) else ():
        if int(columns[position]) not in allowed:
            line = lines[np.searchsorted(indptr, position, side="right") - 1]
            raise ValueError(
                f"{name}: line {line}: a feature index must be from {allowed[0]} to {allowed[-1]}; "
                f"got {columns[position]}. See n_features and zero_based."
            )
    columns -= allowed[0]
    shape = (len(doc_id), n_features or int(columns.max(initial=-1)) + 1)
    return Bunch(
        X=type(X)((np.frombuffer(data), columns, indptr), shape=shape),
        y=np.frombuffer(grades),
        qid=np.array(qid, dtype=object)
        if group is None
        else _read_queries(group, len(doc_id), name),
        doc_id=np.array(doc_id, dtype=object),
    )


def _read_queries(group: File, n: int, path: str) -> np.ndarray:
    """Read query sizes from a file; return the query number of each of the n rows."""
    sizes = _read_column(
        group,
        "the size of a query must be an integer ≥ 1.",
        lambda sizes: (sizes >= 1) & (sizes == np.floor(sizes)) & (sizes < np.inf),
    )
    if sizes.sum() != n:
        raise ValueError(
            f"{text_files.check_path(group)}: the {len(sizes)} query sizes add up to "
            f"{sizes.sum():.0f} rows, but {path} has {n}."
        )
    return np.repeat(np.arange(len(sizes)), sizes.astype(np.intp))


def _parse(text: bytes, first: int, with_query: bool) -> tuple[Any, ...]:
    """Return the features, the grades, and the line number, query and document of each row."""
    # At the top of the file, this import would double the import time of skgraded.
    from sklearn.datasets import load_svmlight_file

    lines, queries, documents = [], [], []  # a list of tuples would trigger garbage collection
    for number, line in enumerate(text.split(b"\n"), first):
        body, _, comment = line.partition(b"#")
        words = body.split(None, 2)
        if not words:
            continue
        query = words[1] if len(words) > 1 else b""
        if not with_query and query.startswith(b"qid"):  # scikit-learn would skip this word
            raise ValueError("the file contains queries: omit group.")
        if with_query and (not query.startswith(b"qid:") or query == b"qid:"):
            raise ValueError(
                "'qid:' and the query id must follow the grade. If the file has no query ids, pass "
                "a file of query sizes as group. To convert an array of query sizes to query ids, "
                "use np.repeat(np.arange(len(sizes)), sizes)."
            )
        if b"_" in body and b"_" in b"".join(words[:1] + words[1 + with_query :]):
            raise ValueError("a number must not contain an underscore.")
        match = DOC_ID.match(comment)
        lines.append(number)
        queries.append(_decode(query) if with_query else None)
        documents.append(match[1].decode() if match else None)
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)  # ignores queries and comments
    if not np.isfinite(y).all():
        raise ValueError("the grade must be a finite number.")
    return X, y, lines, queries, documents


@lru_cache(1)
def _decode(query: bytes) -> str:
    """Decode "qid:…"; consecutive rows with the same query share one string object."""
    return query[4:].decode()


# Files with one number per line ------------------------------------------------------------------


def read_scores(source: File) -> np.ndarray:
    """Read the scores for the rows of a LETOR file."""
    rule = "each line must contain one number, the score."
    return _read_column(source, rule, lambda scores: scores == scores)


def _read_column(source: File, rule: str, is_valid: Callable[[np.ndarray], Any]) -> np.ndarray:
    path = text_files.check_path(source)

    def parse(text: bytes, _: int) -> np.ndarray:
        words = text.removesuffix(b"\n").split(b"\n")
        numbers = text_files.try_parse(text_files.parse_floats, words)
        if numbers is None or not is_valid(numbers).all():
            raise ValueError(rule)
        return numbers

    return np.concatenate([[], *text_files.parse_file(source, path, parse)])
