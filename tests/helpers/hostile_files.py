"""Valid and damaged files, and readers for them in plain Python."""

import csv
import gzip
import io
import math
import re
import zlib
from contextlib import suppress

from skgraded._input.tables import UnknownColumnError
from skgraded.datasets import read_letor, read_qrels, read_run
from skgraded.datasets.table_files import read_columns

NUMBERS = (
    b"1 0 2 -1 0.5 -0.0 1e5 1E-5 +1 .5 5. 00012 0.00010008711588209878 5e-324 1e400 -1e400 1e-400"
    b" 12345678901234567890123 inf -inf +Inf Infinity"
).split()
HOSTILE = [
    *b"nan NaN -nan nan(1) infinit 1_0 0x10 1,5 1;5 1d5 1e 1e+ e5 . -- +-1 True False TRUE"
    b' None NULL NA # qid:1 qid: qid 1: :1 1:x 3:3 -1:1 2147483648:1 " "" "a" a"b'.split(),
    "１".encode(),
    "é".encode(),
    b"\xff",
    b"\xe9a",
    b"\xc2\xa01",
    b"\x00",
    b"\x0b",
    b"\x0c1",
    b"1\x0b2",
    b"\x1c",
    b"",
    b" ",
    b"\t",
    b"\r",
    b"\n",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"x" * 70,
    b'"a,b"',
    b'"a\nb"',
    b'"1"',
    b'" 1"',
    b"1 ",
    b" 1",
    b"9" * 400,
    b"0." + b"3" * 60,
]


class Bad(Exception):
    """Raised if the plain reader cannot read a file."""


# Random files ------------------------------------------------------------------------------------


def hostile_file(rng, kind):
    """Return the bytes of a random file that is valid, slightly damaged or something else."""
    if rng.random() < 0.05:
        data = rng.randbytes(rng.randrange(60))
    else:
        ends = [rng.choice([b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b" \n"])]
        ends = ends if rng.random() < 0.8 else [b"\n", b"\r\n", b"\n \n", b""]
        spoil = rng.choice([0, 0, 0.02, 0.1])
        lines = [LINES[kind](rng, row) for row in range(rng.randrange(1, 8))]
        blanks, glue = (b",", b",") if kind == "csv" else (rng.choice([b" ", b"\t", b"  "]), b" ")
        if kind == "csv":
            blanks = rng.choice([b",", b",", b"\t"])
            lines.insert(0, [b"query", b"grade", b"score", b"document", b"note"])
        if kind == "beir" or kind.endswith("spaces"):
            blanks, glue = b"\t", rng.choice([b"\t", b" "])
        if kind == "beir":
            lines.insert(0, [b"query-id", b"corpus-id", b"score"])
        data = b"".join(
            (blanks if rng.random() < 0.99 else glue).join(
                rng.choice(HOSTILE) if rng.random() < spoil else word for word in line
            )
            + rng.choice(ends)
            for line in lines
        )
    if rng.random() < 0.1:
        data = b"\xef\xbb\xbf" + data
    if rng.random() < 0.1:
        data = data[: rng.randrange(len(data) + 1)]
    if rng.random() < 0.15:
        data = gzip.compress(data, mtime=0)
        if rng.random() < 0.5:
            data = data[: rng.randrange(2, len(data))]
        elif rng.random() < 0.5:
            at = rng.randrange(2, len(data))
            data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    return data


def _id(rng, row):
    return rng.choice([b"q", b"007", b"7", b"\xc3\xa9", b"True", b"a_b"]) + b"%d" % (row // 2)


def _letor_line(rng, row):
    index = sorted(rng.sample(range(rng.random() < 0.9, 9), rng.randrange(4)))
    features = [b"%d:%s" % (i, rng.choice(NUMBERS)) for i in index]
    comment = rng.choice([[], [b"#docid = d%d" % row], [b"#", b"c"], [b"#docid=a_b"]])
    return [rng.choice(NUMBERS[:15]), b"qid:" + _id(rng, row), *features, *comment]


def _qrels_line(rng, row):
    return [_id(rng, row), b"0", b"d%d" % rng.choice([row, row, row, 0]), rng.choice(NUMBERS[:15])]


def _run_line(rng, row):
    document = b"d%d" % rng.choice([row] * 9 + [0])
    return [_id(rng, row), b"Q0", document, b"1", rng.choice(NUMBERS), b"s"]


def _csv_line(rng, row):
    document = rng.choice([b"d%d", b"d%d", b'"d%d"', b'"d ""%d"""', b'"d,\n%d"']) % row
    note = rng.choice([b"", b"n", b'"n, m"', b"true", b"\xff"] if rng.random() < 0.3 else [b"n"])
    grade = rng.choice(NUMBERS[:3] + NUMBERS[4:5])
    return [_id(rng, row), grade, rng.choice(NUMBERS), document, note]


def _beir_line(rng, row):
    document = rng.choice([b"d%d", b"d %d", b'"d%d"', b'"d ""%d"""', b'd"%d', b"#%d"]) % row
    return [_id(rng, row), document, rng.choice(NUMBERS[:15])]


def _ranks_line(rng, row):
    rank = row % 2 + rng.choice([1] * 20 + [0])  # each query has two rows
    return [_id(rng, row), b"d%d" % rng.choice([row] * 9 + [0]), b"%d" % rank]


def _scores_line(rng, row):
    return [*_ranks_line(rng, row)[:2], rng.choice(NUMBERS)]


def _four_line(rng, row):
    rank = rng.choice([b"0", b"1", b"2.0", b"1e5"])
    return [*_ranks_line(rng, row)[:2], rank, rng.choice(NUMBERS)]


def _with_spaces(line):
    """Return a function that adds spaces to the ids of lines."""

    def changed(rng, row):
        return [
            rng.choice([word, b"a " + word, b" a  b %s " % word]) if word[:1] in b"qd" else word
            for word in line(rng, row)
        ]

    return changed


LINES = {
    "letor": _letor_line,
    "qrels": _qrels_line,
    "run": _run_line,
    "csv": _csv_line,
    "beir": _beir_line,
    "ranks": _ranks_line,
    "scores": _scores_line,
    "four": _four_line,
    "qrels with spaces": _with_spaces(_qrels_line),
    "run with spaces": _with_spaces(_run_line),
    "ranks with spaces": _with_spaces(_ranks_line),
    "four with spaces": _with_spaces(_four_line),
}
QRELS = ("qrels", "beir", "qrels with spaces")
RUNS = tuple(set(LINES) - {*QRELS, "letor", "csv"})


# Plain readers -----------------------------------------------------------------------------------


def plainly(data, kind):
    """Return the rows of a file, or raise Bad."""
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error):
            raise Bad from None
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        rows = PLAINLY[kind](data)
    except ValueError:
        raise Bad from None
    if not rows:
        raise Bad
    return rows


def _good(condition):
    if not condition:
        raise Bad


def _number(word):
    _good(b"_" not in word)
    return float(word)


def _letor(data):
    rows = []
    for line in data.split(b"\n"):
        body, _, comment = line.partition(b"#")
        words = body.split()
        if not words:
            continue
        grade = _number(words[0])
        _good(math.isfinite(grade) and len(words) > 1)
        _good(words[1].startswith(b"qid:") and words[1] != b"qid:")
        features, before = {}, -1
        for word in words[2:]:
            index, value = word.split(b":")
            _good(b"_" not in index and before < int(index) < 2**31)
            before = int(index)
            features[before] = _number(value)
        result = re.match(rb"\s*docid\s*=\s*(\S+)", comment)
        rows.append((grade, words[1][4:].decode(), result and result[1].decode(), features))
    if any(0 in features for *_, features in rows):
        return [(*row, {i + 1: x for i, x in features.items()}) for *row, features in rows]
    return rows


def _trec(data, n_columns, last_has_spaces=False):
    data = data if data.endswith(b"\n") else data + b"\n"
    data = data.replace(b"\r\n", b"\n")
    _good(b"\r" not in data)
    lines = [line for line in data.split(b"\n") if re.match(rb"[ \t]*[^ \t#]", line)]
    rows = []
    for line in lines:
        cells, words = line.split(b"\t"), re.findall(rb"[^ \t]+", line)
        if len(cells) == n_columns:
            words = [cell.strip(b" ") for cell in cells]
        elif last_has_spaces and len(words) > n_columns:
            _good(_is_number(words[3]))  # the rank; otherwise an id contains a space
            words[n_columns - 1 :] = [b" ".join(words[n_columns - 1 :])]
        _good(len(words) == n_columns and all(words))
        rows.append(words)
    return rows


def _n_columns_of_run(line):
    cells, words = [cell.strip() for cell in line.split(b"\t")], line.split()
    if len(cells) in (3, 4) and all(cells) and not (len(words) > 5 and _is_number(words[4])):
        return len(cells)
    return 6 if len(cells) == 6 else len(words)


def _is_number(word):
    with suppress(Bad, ValueError):
        return not math.isnan(_number(word))
    return False


def _scores_of_three(queries, words):
    """Return the scores of a run with three columns."""
    scores = list(map(_number, words))
    if not all(re.fullmatch(rb"[+-]?\d+", word) for word in words):
        return scores
    for query in set(queries):
        ranks = sorted(score for q, score in zip(queries, scores, strict=True) if q == query)
        _good(ranks in (list(range(len(ranks))), list(range(1, len(ranks) + 1))))
    return [-rank for rank in scores]


def _run(data):
    first = re.search(rb"^[ \t]*[^\s#][^\r\n]*", data, re.M)
    n_columns = _n_columns_of_run(first[0]) if first else 0
    if n_columns == 3:
        queries, documents, words = zip(*_trec(data, 3), strict=True)
        scores = _scores_of_three(queries, words)
        rows = [
            (query.decode(), document.decode(), score, "")
            for query, document, score in zip(queries, documents, scores, strict=True)
        ]
    elif n_columns == 4:
        rows = [
            (query.decode(), document.decode(), _number(score), "")
            for query, document, rank, score in _trec(data, 4)
            if _good(_number(rank) >= 0 and _number(rank) % 1 == 0) is None
        ]
    else:
        rows = [
            (words[0].decode(), words[2].decode(), _number(words[4]), words[5].decode())
            for words in _trec(data, 6, last_has_spaces=True)
        ]
    _good(len({row[:2] for row in rows}) == len(rows))
    _good(all(row[2] == row[2] for row in rows))
    return rows


def _qrels(data):
    grades: dict = {}
    for query, *_, document, grade in _beir(data) or _trec(data, 4):
        grade = _number(grade)
        _good(math.isfinite(grade))
        _good(grades.setdefault((query.decode(), document.decode()), grade) == grade)
    return [(*pair, grade) for pair, grade in grades.items()]


def _beir(data):
    """Return the rows below BEIR's header, or None without the header."""
    lines = data.split(b"\n")
    while lines and re.match(rb"[ \t\r]*(#|$)", lines[0]):
        del lines[0]
    names = ["query-id", "corpus-id", "score"]
    first = (lines or [b""])[0].partition(b"\r")[0].decode(errors="surrogateescape")
    if not set(names) <= set(next(csv.reader([first], delimiter="\t"), [])):
        return None
    rows = []
    for row in _rows_of_table(b"\n".join(lines).decode(errors="surrogateescape"), "\t", names):
        if len(row) > 1 and row["score"].lower() not in ("", "nan"):
            query, document, grade = (row[name].encode() for name in names)
            _good(query and document)
            rows.append((query, document, grade))
    _good(rows)
    return rows


def _rows_of_table(text, separator, names):
    """Return the rows of a table as dicts; rows with a single cell are dicts with one item."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error:
        raise Bad from None
    header = rows[0] if rows else []
    _good(all(header.count(name) == 1 for name in names))
    _good(all(len(row) in (0, 1, len(header)) for row in rows))
    return [dict(zip(header, row, strict=False)) for row in rows[1:] if "".join(row).strip()]


def _csv(data):
    text = re.sub(r"\A\s*[\r\n]", "", data.decode(errors="surrogateescape"))  # no blank lines
    first = re.split(r"[\r\n]", text)[0]
    first.encode()  # raises a ValueError if not UTF-8
    separator = "\t" if "\t" in first and "," not in first else ","
    result: dict = {}
    for cells in _rows_of_table(text, separator, ("query", "grade", "score", "document")):
        if len(cells) < 2:
            continue
        query, document = cells["query"], cells["document"]
        grade, score = (_number(cells[name].encode()) for name in ("grade", "score"))
        query.encode(), document.encode()  # raises a ValueError if not UTF-8
        _good(query and document and 0 <= grade < math.inf and score == score)
        _good((query, document) not in result)
        result[query, document] = (query, document, grade, score)
    return list(result.values())


PLAINLY = {"letor": _letor, "csv": _csv, **{kind: _qrels for kind in QRELS}}
PLAINLY |= {kind: _run for kind in RUNS}


# Readers of the package --------------------------------------------------------------------------


def read(data, kind):
    """Read a file with the package; return the same rows as `plainly`."""
    file = io.BytesIO(data)
    if kind == "letor":
        result = read_letor(file)
        X = result.X
        features = [
            dict(zip((X.indices[a:b] + 1).tolist(), X.data[a:b].tolist(), strict=True))
            for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        ]
        columns = [result.y.tolist(), result.qid, result.doc_id, features]
    elif kind in QRELS:
        result = read_qrels(file)
        columns = [result.query, result.document, result.grade.tolist()]
    elif kind in RUNS:
        result = read_run(file)
        columns = [result.query, result.document, result.score.tolist(), result.name]
    else:
        result = read_columns(file, "query", "grade", ["score"], "document")
        columns = [
            result["query"],
            result["document"],
            result["grade"].tolist(),
            [float(score) for score in result["score"]],  # some are exact integers
        ]
    return list(zip(*columns, strict=True))


def check(data, kind):
    """Compare both readers, and return whether the file is valid; errors must name the line."""
    try:
        expected = plainly(data, kind)
    except Bad:
        expected = None
    try:
        result = read(data, kind)
    except ValueError as error:
        assert expected is None, f"{data!r} is refused: {error}"
        named = r"<file>: (.*(line|row|position) \d+|the (file|compressed|Parquet)|.*is empty)"
        is_clear = type(error) in (ValueError, UnknownColumnError)
        assert is_clear and re.match(named, str(error)), f"{data!r}: {error!r}"
        return False
    assert expected is not None, f"{data!r} is read as {result!r}"
    # Compare texts, because NaN differs from itself and -0.0 equals 0.
    assert repr(result) == repr(expected), f"{data!r}: {result!r} != {expected!r}"
    return True
