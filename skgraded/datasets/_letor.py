"""Readers of LETOR files, and of the scores of their rows."""

import io
import os
import re
from array import array
from typing import BinaryIO

import numpy as np
from sklearn.utils import Bunch

from skgraded._input.columns import whole_number
from skgraded.datasets._files import check_path, parsed, parsed_blocks, shown

DOC_ID = re.compile(rb"\s*docid\s*=\s*(\S+)")
LARGEST_INDEX = 2**31 - 1  # what scikit-learn's parser and LightGBM take


def read_letor(
    path: str | os.PathLike[str] | BinaryIO, n_features: int | None = None
) -> Bunch:
    r"""Read a LETOR file: svmlight lines with a query, and the document's id as a comment.

    ``2 qid:10032 1:0.056 2:-0.25 #docid = GX029-35-5894638``: the grade, the query, the features
    that are not 0, with rising indices, and the comment, which may go on (``… inc = 1``) or say
    something else. Blank lines and lines that are comments are skipped.

    Parameters
    ----------
    path : str, path-like or binary file
        The file, plain or compressed with gzip, whatever its name ends in.
    n_features : int, optional
        Number of columns of `X`; the highest index of the file if not given. Give it where
        several files must agree, as the parts of a fold do.

    Returns
    -------
    Bunch
        ``X`` : CSR of shape (n, n_features), float64
            Features; column = index - 1. Those that a row lacks are 0. ``nan`` and ``inf`` stay.
        ``y`` : ndarray of shape (n,), float64
            Grades as in the file, negative ones too.
        ``qid`` : ndarray of shape (n,), object
            Query of each row, the text as in the file: ``"007"`` is not ``"7"``.
        ``doc_id`` : ndarray of shape (n,), object
            Document ids, None where the comment has none.

        Rows are in the order of the file.

    Raises
    ------
    ValueError
        If a line cannot be read (a grade that is not a finite number, no query, a feature that is
        not ``index:number``, indices that do not rise, start below 1 or pass `n_features`), the
        file holds no row, or it is cut short or not text. The error names the file and the line.
    TypeError, OSError
        If `path` is not text, path-like or a file in binary mode, or cannot be opened.

    See Also
    --------
    sklearn.datasets.load_svmlight_file : For files without document ids, and with whole numbers
        as queries.

    Examples
    --------
    >>> import os, tempfile
    >>> from skgraded.datasets import read_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "train.txt")
    ...     with open(path, "w") as file:
    ...         _ = file.write("2 qid:7 1:0.5 3:-1 #docid = a\n0 qid:7 2:3e-2 #docid = b\n")
    ...     data = read_letor(path)
    >>> data.X.toarray()
    array([[ 0.5 ,  0.  , -1.  ],
           [ 0.  ,  0.03,  0.  ]])
    >>> data.y, data.qid, data.doc_id
    (array([2., 0.]), array(['7', '7'], dtype=object), array(['a', 'b'], dtype=object))
    """
    return read_rows(path, n_features)


def read_rows(source, n_features=None, negative=True):
    """Read a LETOR file; see `read_letor`. Negative grades may be refused."""
    path = check_path(source)
    if n_features is not None:
        n_features = whole_number(n_features, "n_features", 1)
    # Arrays that grow in place: a list of pieces would be in memory twice when they are joined.
    data, indices, row_sizes, grades = array("d"), array("i"), array("q"), array("d")
    qid, doc_id = [], []
    for (X, y), names in parsed_blocks(
        source, path, "a LETOR file",
        lambda text, _: (_numbers(text, n_features, negative), _names(text.split(b"\n"))),
        lambda line: _problem(line, n_features, negative),
    ):
        data.frombytes(X.data.tobytes())
        indices.frombytes(X.indices.astype(np.int32).tobytes())
        row_sizes.frombytes(np.diff(X.indptr).astype(np.int64).tobytes())
        grades.frombytes(y.tobytes())
        qid += names[0]
        doc_id += names[1]
    if not qid:
        raise ValueError(f"{path}: the file holds no row: it is empty, or all comments.")
    columns = np.frombuffer(indices, np.int32)
    indptr = np.append(0, np.cumsum(row_sizes))
    shape = (len(qid), n_features or int(columns.max(initial=-1)) + 1)
    return Bunch(
        X=type(X)((np.frombuffer(data), columns, indptr), shape=shape),
        y=np.frombuffer(grades),
        qid=np.array(qid, dtype=object),
        doc_id=np.array(doc_id, dtype=object),
    )


def _numbers(text, n_features, negative):
    """Features and grades of some lines, by scikit-learn, which passes over query and comment."""
    # Imported here: it would double the time of `import skgraded`.
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(text), n_features=n_features, zero_based=False)
    if not np.isfinite(y).all() or not (negative or (y >= 0).all()):
        raise ValueError("a grade is not finite, or negative")
    return X, y


def _names(lines):
    """Queries and document ids of some lines."""
    qid, doc_id = [], []
    last = text = None
    for line in lines:
        body, _, comment = line.partition(b"#")
        words = body.split(None, 2)
        if not words:
            continue
        query = words[1] if len(words) > 1 else b""
        if query != last:  # rows come query by query, and may share one text
            if not query.startswith(b"qid:") or query == b"qid:":
                raise ValueError("no query")
            last, text = query, query[4:].decode()
        qid.append(text)
        found = DOC_ID.match(comment)
        doc_id.append(found[1].decode() if found else None)
    return qid, doc_id


def _problem(line, n_features, negative):
    """Say what is wrong with a line; None if nothing is."""
    body, _, comment = line.partition(b"#")
    words = body.split()
    if not words:
        return None
    grade = parsed(float, words[0])
    if grade is None or not np.isfinite(grade):
        return f"the grade must be a finite number; got {shown(words[0])}."
    if grade < 0 and not negative:
        return f"the grade {grade:g} is negative: subtract the irrelevant level from all grades."
    query = words[1] if len(words) > 1 else b""
    if not query.startswith(b"qid:") or query == b"qid:":
        return f"'qid:' and the query must follow the grade; got {shown(query)}."
    found = DOC_ID.match(comment)
    for word in (query, found[1] if found else b""):
        if parsed(bytes.decode, word) is None:
            return f"query and document id must be UTF-8; got {shown(word)}."
    before = 0
    for word in words[2:]:
        index, colon, value = word.partition(b":")
        index = parsed(int, index)
        if not colon or index is None or parsed(float, value) is None:
            return f"a feature must be index:number; got {shown(word)}."
        if not 1 <= index <= (n_features or LARGEST_INDEX):
            most = f"n_features={n_features}" if n_features else LARGEST_INDEX
            return f"a feature's index must be from 1 to {most}; got {shown(word)}."
        if index <= before:
            return f"feature indices must rise; got {shown(word)} after index {before}."
        before = index
    return None


# Scores of the rows ------------------------------------------------------------------------------

def read_scores(source, progress=False):
    """Read numbers, one a line: the scores of a LETOR file's rows."""
    path = check_path(source)
    found = list(
        parsed_blocks(source, path, "a list of scores", _scores, _problem_of_score, progress)
    )
    if not found:
        raise ValueError(f"{path}: the file holds no score: it is empty.")
    return np.concatenate(found)


def _scores(text, _):
    scores = np.array([float(line) for line in text.removesuffix(b"\n").split(b"\n")])
    if np.isnan(scores).any():
        raise ValueError("a score is NaN")
    return scores


def _problem_of_score(line):
    score = parsed(float, line)
    if score is None or np.isnan(score):
        word = ascii(line.decode(errors="replace").strip()[:40])
        return f"the score must be a number, one a line; got {word}."
    return None
