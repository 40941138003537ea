"""Valid and damaged files, and readers for them in plain Python."""

import csv
import gzip
import io
import math
import re
import zlib

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


# Random files ------------------------------------------------------------------------------------

# Plain Python reads only files with this first line; it determines the format.
FIRST = {
    "letor": b"",
    "qrels": b"q 0 d 1\n",
    "run": b"q Q0 d 1 1 s\n",
    "csv": b"query,grade,score,document,note\n",
}
MARK = b"\xef\xbb\xbf"


def hostile_file(rng, kind):
    """Return the bytes of a random file that is valid, slightly damaged or something else."""
    ends = [rng.choice([b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b" \n"])]
    ends = ends if rng.random() < 0.8 else [b"\n", b"\r\n", b"\n \n", b""]
    spoil = rng.choice([0, 0, 0.02, 0.1])
    blanks = b"," if kind == "csv" else rng.choice([b" ", b"\t", b"  "])
    lines = [LINES[kind](rng, row) for row in range(rng.randrange(1, 8))]
    data = FIRST[kind] + b"".join(
        blanks.join(rng.choice(HOSTILE) if rng.random() < spoil else word for word in line)
        + rng.choice(ends)
        for line in lines
    )
    if rng.random() < 0.05:
        data = rng.randbytes(rng.randrange(200))
    if rng.random() < 0.1:
        data = MARK + data
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
    document = rng.choice([b"d%d", b"d%d", b"d %d"]) % rng.choice([row] * 9 + [0])
    return [_id(rng, row), b"Q0", document, b"1", rng.choice(NUMBERS), b"s"]


def _csv_line(rng, row):
    document = rng.choice([b"d%d", b"d%d", b'"d%d"', b'"d ""%d"""', b'"d,\n%d"']) % row
    note = rng.choice([b"", b"n", b'"n, m"', b"true", b"\xff"] if rng.random() < 0.3 else [b"n"])
    grade = rng.choice(NUMBERS[:3] + NUMBERS[4:5])
    return [_id(rng, row), grade, rng.choice(NUMBERS), document, note]


LINES = {"letor": _letor_line, "qrels": _qrels_line, "run": _run_line, "csv": _csv_line}


# Plain readers -----------------------------------------------------------------------------------


def _good(condition):
    if not condition:
        raise ValueError


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


def _trec(data, n_columns):
    """Return the words of each line; cells between tabs may contain spaces, as may the last word."""
    data = (data if data.endswith(b"\n") else data + b"\n").replace(b"\r\n", b"\n")
    _good(b"\r" not in data)
    rows = []
    for line in re.findall(rb"(?m)^[ \t]*[^ \t#\n].*", data):
        cells, words = line.split(b"\t"), re.findall(rb"[^ \t]+", line)
        if len(cells) == n_columns:
            words = [cell.strip(b" ") for cell in cells]
        elif n_columns == 6 and len(words) > 6:
            _good(not math.isnan(_number(words[3])))  # a rank, unless an id contains a space
            words[5:] = [b" ".join(words[5:])]
        _good(len(words) == n_columns and all(words))
        rows.append(words)
    return rows


def _run(data):
    rows = {}
    for query, _, document, _, score, name in _trec(data, 6):
        pair, score = (query.decode(), document.decode()), _number(score)
        _good(pair not in rows and score == score)
        rows[pair] = (*pair, score, name.decode())
    return list(rows.values())


def _qrels(data):
    grades: dict = {}
    for query, _, document, word in _trec(data, 4):
        grade = _number(word)
        _good(math.isfinite(grade))
        _good(grades.setdefault((query.decode(), document.decode()), grade) == grade)
    return [(*pair, grade) for pair, grade in grades.items()]


def _csv(data):
    text = data.decode(errors="surrogateescape")
    rows = {}
    for cells in csv.reader(io.StringIO(text.partition("\n")[2], newline="")):
        if not "".join(cells).strip():
            continue
        _good(len(cells) == 5)
        query, *numbers, document, _ = cells
        grade, score = (_number(number.encode()) for number in numbers)
        query.encode(), document.encode()  # raises a ValueError if not UTF-8
        _good(query and document and 0 <= grade < math.inf and score == score)
        _good((query, document) not in rows)
        rows[query, document] = (query, document, grade, score)
    return list(rows.values())


PLAINLY = {"letor": _letor, "qrels": _qrels, "run": _run, "csv": _csv}


# Readers of the package --------------------------------------------------------------------------


def read(data, kind):
    """Read a file with the package; return the same rows as the plain reader."""
    file = io.BytesIO(data)
    if kind == "letor":
        result = read_letor(file)
        X = result.X
        features = [
            dict(zip((X.indices[a:b] + 1).tolist(), X.data[a:b].tolist(), strict=True))
            for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        ]
        columns = [result.y.tolist(), result.qid, result.doc_id, features]
    elif kind == "qrels":
        result = read_qrels(file)
        columns = [result.query, result.document, result.grade.tolist()]
    elif kind == "run":
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
    is_known, expected = True, None
    try:
        content = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        content = content.removeprefix(MARK)
        is_known = content.startswith(FIRST[kind])
        expected = PLAINLY[kind](content) or None if is_known else None
    except (ValueError, csv.Error, EOFError, OSError, zlib.error):
        expected = None
    try:
        result = read(data, kind)
    except ValueError as error:
        assert expected is None, f"{data!r} is refused: {error}"
        named = r"<file>: (.*(line|row|position) \d+|the (file|compressed|Parquet)|.*is empty)"
        assert re.match(named, str(error)), f"{data!r}: {error!r}"
        return False
    # Compare texts, because NaN differs from itself and -0.0 equals 0.
    assert not is_known or repr(result) == repr(expected), f"{data!r}: {result!r} != {expected!r}"
    return True
