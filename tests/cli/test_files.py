"""The values that evaluate prints for each kind of file: runs, LETOR files and tables."""

import bz2
import gzip
import io
import lzma
import re

import numpy as np
import pandas as pd
import pytest
from commands import evaluations


def parquet(index=None, **columns):
    frame = pd.DataFrame(columns)
    return (frame if index is None else frame.set_index(index)).to_parquet()


# Qrels and runs: AP of q1 is 1 / 2; q2 has one document, whose id is also q2.
BEIR = "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\nq2\tq2\t1\n"
QRELS = {
    "beir.tsv": BEIR,
    "trec.tsv": "q1\t0\ta\t2\nq1\t0\tb\t0\nq2\t0\tq2\t1\n",
    "qrels.json": '{"q1": {"a": 2, "b": 0}, "q2": {"q2": 1}}',
    "packed.tsv.gz": gzip.compress(BEIR.encode()),
}
RUNS = {
    "run.tsv": "q1\tx\t1\nq1\ta\t2\nq2\tq2\t1\n",
    "four.txt": "q1 x 2 9\nq1 a 1 7\nq2 q2 1 5\n",
    "run.json": '{"q1": {"x": 2, "a": 1}, "q2": {"q2": 1}}',
    "mteb.json --split en/test": '{"mteb_model_meta": {}, "en": {"dev": {"q1": {"a": 1}}, '
    '"test": {"q1": {"x": 2, "a": 1}, "q2": {"q2": 1}}}}',
}
TIED = {"tied": "q1 Q0 b 1 1 s\nq1 Q0 a 1 1 s\nq1 Q0 zz 2 1 s\n"}
EMPTY = {"empty": "# no results\n"}
NOTHING = {"empty": {"q1": 0, "q2": 0, "q3": 0}}
# q1: c, x, a; q2: y, d, z; x, y and z are unjudged.
NEW = {
    "qrels": "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 0\nq2 0 d 1\n",
    "new": "q1 c 1 3\nq1 x 2 2\nq1 a 3 1\nq2 y 1 3\nq2 d 2 2\nq2 z 3 1\n",
}
# Tables: ids are strings in CSV; 007 is not 7.
CSV = "q,doc,label,bm25,lgbm\n007,a,2,1,0.5\n007,b,0,2,0.25\n7,a,1,-1,inf\n"
PACKED = {
    "csv": bytes,
    "csv.gz": gzip.compress,
    "csv.bz2": bz2.compress,
    "csv.xz": lzma.compress,
    "tsv": lambda text: text.replace(b",", b"\t"),
    "blank.csv": lambda text: b"\r\n \n" + text,
    "quoted.csv": lambda text: re.sub(rb"[^,\n]+", rb'"\g<0>"', text),
    "parquet": lambda text: pd.read_csv(io.BytesIO(text), dtype={"q": str}).to_parquet(),
}
COLUMNS = "--query-column q --grade-column label --score-column bm25 --score-column lgbm"
TIED_ROWS = "query,document,grade,score\n1,a,1,1\n1,b,0,1\n1,c,0,1\n"
NUMBERS = {"query": [7, 7, 8], "grade": [0, 1, 2], "score": [2.0, 1.0, 5.0]}
RELEVANT = np.array([0, 5 / 6, 5 / 6], "f4")
UNJUDGED = {"t.csv": "query,grade,score\nq1,1,3\nq1,,2\nq1,2,1\nq2,NaN,3\nq2,1,2\n"}
QUOTED = {"t.csv": UNJUDGED["t.csv"].replace("q1", '"q1"')}
UNJUDGED_PARQUET = {
    "t.parquet": pd.read_csv(io.StringIO(UNJUDGED["t.csv"])).to_parquet(),
}
# Scores that differ by less than float64 represents; in text, only integers are exact.
EXACT = {
    "int64": pd.array([2**60, 2**60 + 1, 2**60 + 2]),
    "uint64": pd.array([2**63, 2**63 + 1, 2**63 + 2], dtype="UInt64"),
}
LARGE = f"query,grade,score\nq,0,{2**60}\nq,1,{2**60 + 1}\nq,0,{2**60 + 2}\n"
CASES = [  # files that differ from FILES, arguments, and the values of each system by query
    ({}, "qrels a.run -m map", {"a.run": {"q1": (1 / 1 + 2 / 3) / 2, "q2": (1 / 1 + 1 / 2) / 2}}),
    ({}, "qrels a.run -m success@1 -c", {"a.run": {"q1": 1, "q2": 1 / 2, "q3": 0}}),
    ({}, "qrels a.run -m success@1 -c --strict", {"a.run": {"q1": 1, "q2": 1 / 2, "q3": 0}}),
    *(
        ({q: QRELS[q], r.split()[0]: RUNS[r]}, f"{q} {r} -m map {option}", {None: values})
        for option, values in (
            ("", {"q1": 1 / 2, "q2": 1}),
            ("--drop-identical-ids", {"q1": 1 / 2, "q2": 0}),
        )
        for q in QRELS
        for r in RUNS
    ),
    (
        {"last": "q1 Q0 c 1 -inf s\nq1 Q0 a 1 0 s\nq1 Q0 b 1 -inf s\n"},
        "qrels last -m num_ret",
        {"s": {"q1": 3}},
    ),
    (TIED, "qrels tied -m rr", {"s": {"q1": (1 + 1 / 2 + 1 / 3) / 3}}),
    (TIED, "qrels tied -m rr --ties average", {"s": {"q1": (1 + 1 / 2 + 1 / 3) / 3}}),
    (TIED, "qrels tied -m rr --ties best", {"s": {"q1": 1}}),
    (TIED, "qrels tied -m rr --ties worst", {"s": {"q1": 1 / 3}}),
    (TIED, "qrels tied -m rr --ties ordinal", {"s": {"q1": 1 / 2}}),
    (TIED, "qrels tied -m rr --ties trec", {"s": {"q1": 1 / 3}}),  # zz, b, a
    (EMPTY, "qrels empty -c -m ap", NOTHING),
    (EMPTY, "qrels empty -c -m ap --ties trec", NOTHING),
    (EMPTY, "qrels empty -c -m ap --drop-identical-ids", NOTHING),
    (NEW, "qrels new -m rr", {"new": {"q1": 1, "q2": 1 / 2}}),
    (NEW, "qrels new -m rr --unjudged-documents irrelevant", {"new": {"q1": 1, "q2": 1 / 2}}),
    (NEW, "qrels new -m rr --unjudged-documents drop", {"new": {"q1": 1, "q2": 1}}),
    (NEW, "qrels new -m judged@3 --unjudged-documents drop", {"new": {"q1": 2 / 3, "q2": 1 / 3}}),
    # LETOR files
    (
        {"s2.txt": "5e-1\n-2\n-inf\n"},
        "test.letor scores s2.txt -m rr",
        {"scores": {"1": 1 / 2, "7": 1}, "s2": {"1": 1, "7": 0}},
    ),
    ({"s": "1\n1\n1\n"}, "test.letor s -m rr --ties trec", {"s": {"1": 1 / 2, "7": 1}}),
    # Tables
    *(
        (
            {f"t.{form}": pack(CSV.encode())},
            f"t.{form} {COLUMNS} -m rr",
            {"bm25": {"007": 1 / 2, "7": 1}, "lgbm": {"007": 1, "7": 1}},
        )
        for form, pack in PACKED.items()
    ),
    ({"t.parquet": parquet(**NUMBERS)}, "t.parquet -m rr", {"score": {7: 1 / 2, 8: 1}}),
    ({"t.parquet": parquet("query", **NUMBERS)}, "t.parquet -m rr", {"score": {7: 1 / 2, 8: 1}}),
    (
        {"t.parquet": parquet(**NUMBERS | {"grade": RELEVANT})},
        f"t.parquet -m rr(threshold={5 / 6!r})",
        {"score": {7: 1 / 2, 8: 1}},
    ),
    *(
        (
            {"t.parquet": parquet(query=["q"] * 3, grade=[0, 1, 0], score=scores)},
            "t.parquet -m rr",
            {"score": {"q": 1 / 2}},
        )
        for scores in EXACT.values()
    ),
    ({"t.csv": LARGE}, "t.csv -m rr", {"score": {"q": 1 / 2}}),  # read by Arrow
    ({"t.csv": f"{LARGE}r, 1, 1\n"}, "t.csv -m rr", {"score": {"q": 1 / 2, "r": 1}}),  # Python
    (
        {"t.csv": TIED_ROWS},
        "t.csv --document-column document --ties trec -m rr",
        {"score": {"1": 1 / 3}},  # c, b, a
    ),
    # Documents named True and false are not numbers.
    (
        {"t.csv": "query,grade,score,document\nq,1,1,True\nq,0,0,false\n"},
        "t.csv -m rr --document-column document",
        {"score": {"q": 1}},
    ),
    *(
        (files, f"{min(files)} -m rr --unjudged-documents {rule}", {"score": {"q1": 1, "q2": rr}})
        for files in (UNJUDGED, QUOTED, UNJUDGED_PARQUET)
        for rule, rr in (("irrelevant", 1 / 2), ("drop", 1))
    ),
]


@pytest.mark.parametrize(("changed", "words", "expected"), CASES, ids=[case[1] for case in CASES])
def test_values_of_each_query(files, capsys, changed, words, expected):
    for name, content in changed.items():
        (files / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    systems = evaluations(capsys, f"evaluate {words}")
    for evaluation, values in zip(systems.values(), expected.values(), strict=True):
        (per_query,) = evaluation.per_query.values()
        assert evaluation.query_ids.tolist() == list(values)
        assert per_query.tolist() == pytest.approx(list(values.values()))
    assert expected.keys() in ({None}, systems.keys())
