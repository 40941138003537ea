"""Error messages of the command: one line on standard error, and the exit code 2."""

import gzip
import lzma
import re

import pandas as pd
import pytest
from commands import FILES, refused

OTHER = FILES["b.run"]
LETOR = FILES["test.letor"]
CSV = "q,doc,label,bm25,lgbm\n007,a,2,1,0.5\n007,b,0,2,0.25\n7,a,1,-1,inf\n"
TABLE = (
    "evaluate t.csv --query-column q --grade-column label --score-column bm25 --score-column lgbm "
    "--document-column doc"
)
PACKED_RUN = gzip.compress("".join(f"q1 Q0 {i} 1 {i} s\n" for i in range(99)).encode())


def parquet(**columns):
    return pd.DataFrame(columns).to_parquet()


FOLDER = {"parts/0.parquet": parquet(query=[1, 1], grade=[0, 1], score=[2.0, 1.0])}
UNJUDGED = {"parts/0.parquet": parquet(query=[1, 1], grade=[None, 1.0], score=[2.0, 1.0])}
COMMANDS = [  # each with a regex that the message matches
    # Arguments
    ("evaluate qrels b.run -m ndcgn", "Unknown measure 'ndcgn'. Did you mean NDCG"),
    ("evaluate qrels", "There is no column 'query'.*, or pass runs after the qrels"),
    ("evaluate - -", "Each file can be passed only once; got -, -"),
    ("evaluate qrels b.run --format yaml", "invalid choice: 'yaml'"),
    ("evaluate", r"\(see skgraded evaluate --help\)"),
    ("", "--help"),
    ("compare a b c --seed -1", "skgraded: --seed must be at least 0; got -1"),
    ("compare a b c --resamples 9", "skgraded: --resamples must be at least 100; got 9"),
    ("compare a b c --seed x", "argument --seed: invalid int value: 'x'"),
    ("evaluate qrels b.run b.run", "Each file can be passed only once; got qrels, b.run, b.run"),
    # The file "none" does not exist: options are checked before any file is read.
    ("evaluate none b.run --output no/such", "No such file or directory: .*no/such"),
    ("evaluate none b.run --output .", r"Is a directory: '\.'"),
    ("compare none a.run b.run --level 2", "skgraded: --level must be .* got 2.0"),
    *(
        (
            f"compare none a.run b.run --max-loss {loss}",
            "--max-loss must be a finite number ≥ 0; got",
        )
        for loss in ("-0.1", "nan", "inf")
    ),
    (
        "compare none/*.parquet --score-column a --score-column b --test wilcoxon",
        "requires per-query values",
    ),
    ("evaluate qrels b.run --output /dev/full", "No space left on device: '/dev/full'"),
    (
        "compare qrels b.run a.run --strict",
        r"a.run: 1 of 3 judged queries are missing from the run \(the first .* \(-c counts them\).$",
    ),
    (
        "compare qrels a.run b.run",
        "a.run has no values for query 'q3', which another run contains, .* use -c to count missing",
    ),
    ("evaluate qrels a.run b.run --format html", "use -c to count"),
    (
        "compare qrels a.run b.run -c --format json --system-names a,kind",
        "has a field 'kind': choose different --system-names",
    ),
    ("compare qrels b.run", "compare requires at least two runs"),
    ("compare none a.run b.run --baseline c.run", "Did you mean '.*run"),
    ("evaluate qrels b.run -m gm_map", "computes gm_map with --names trec_eval"),
    ("evaluate qrels none", "^skgraded: .*No such file or directory: 'none'\n$"),
    (
        "compare qrels a.run b.run -c -m gm_map --names trec_eval",
        r"must be neither .*; got gm_map \(geometric mean\)\. .* contain only means\.$",
    ),
    ("evaluate qrels b.run -l x -m ap", "argument -l/--threshold: invalid float value"),
    ("evaluate qrels b.run -l nan -m ap", "--threshold must be a finite number ≥ 0; got nan"),
    ("evaluate qrels b.run --output ./qrels", "--output ./qrels is also an input file"),
    # Tables and folders of Parquet files
    (
        "evaluate t.csv --score-column scoer",
        "no column 'scoer'.*Did you mean 'score'.*Name the columns with --query-column",
    ),
    ("evaluate nothing/*.parquet", "no Parquet or CSV file found"),
]
BAD_FILES = [  # the files that differ from FILES, a command, and a regex
    (
        {"test.letor": "1 qid:1 1:1\n" * 3},
        "evaluate test.letor scores --ties trec",
        "test.letor: --ties trec requires all document ids",
    ),
    (
        {"more.run": OTHER + "\nq9 Q0 a 1 1 s\n"},
        "evaluate qrels more.run --strict",
        "more.run: line 6: query 'q9' has no judgments in qrels",
    ),
    # Runs
    ({"bad": "x"}, "evaluate qrels bad", "bad: line 1: 'x': a line of a run must have 6"),
    (
        {"bad": "\nx Q0 a 1 2 t"},
        "evaluate qrels bad",
        "qrels and bad have no query in common: for example, qrels contains",
    ),
    ({"cut": PACKED_RUN[:-20]}, "evaluate qrels cut", "cut: the compressed data are"),
    (
        {"cut.csv.xz": lzma.compress(FILES["t.csv"].encode())[:-9]},
        "evaluate cut.csv.xz",
        "the compressed data are damaged or truncated",
    ),
    (FOLDER, "evaluate qrels parts", "Is a directory: 'parts'"),
    (
        {"three.tsv": "q1\ta\t2\n"},
        "evaluate three.tsv a.run",
        "line 1: .* got 3.* query-id corpus",
    ),
    *(
        (files, f"{command} {option}", f"{option.split()[0]} (requires qrels and runs|is not av)")
        for files, command in (
            ({}, "evaluate t.csv"),
            ({}, "evaluate test.letor scores"),
            (FOLDER, "evaluate parts"),
        )
        for option in ("--drop-identical-ids", "--split en/test")
    ),
    (
        {"mteb.json": '{"mteb_model_meta": {}, "en": {"dev": {"q1": {}}, "test": {"q1": {}}}}'},
        "evaluate qrels mteb.json",
        "Select one, for example with --split en/dev; got None",
    ),
    # LETOR files and scores
    (
        {"scores": "1\n2\n"},
        "evaluate test.letor scores",
        "y_score 'scores' has 2 rows, but y_true has 3",
    ),
    ({"scores": ""}, "evaluate test.letor scores", "y_score 'scores' is empty"),
    *(
        (
            {"scores": f"1\n{got}\n3\n"},
            "evaluate test.letor scores",
            f"scores: line 2: '{got}': each line must contain one number, the score",
        )
        for got in ("", "nan", "1_0", "2 3")
    ),
    (
        {"test.letor": LETOR.replace("1 qid:7", "-1 qid:7")},
        "evaluate test.letor scores",
        "y_true must contain only grades ≥ 0; got -1 for row 2.*subtract.* padding",
    ),
    (
        {"t.csv": CSV},
        "evaluate t.csv --score-column bm52",
        "t.csv: line 1: There is no column 'query'. Available columns: 'q', 'doc', 'label', 'bm25'",
    ),
    # Tables
    *(
        ({"t.csv": CSV.replace(old, new, 1)}, TABLE, f"t.csv: {message}")
        for old, new, message in [
            ("b,0,2", "b,0,", "column 'bm25' must not contain NaN; got nan for line 3"),
            ("b,0,2", "b,0,nan", "column 'bm25' must not contain NaN; got nan for line 3"),
            ("b,0,2", "b,,2", "column 'label' must be finite; got nan for line 3"),
            ("b,0,2", "b,-1,2", "column 'label' .*grades ≥ 0; got -1 for line 3.*subtract"),
            ("b,0,2", "b,0,2,3", "line 3: .*the row has 6 columns, but the header has 5"),
            ("b,0,2", 'b,0,"2",3', "line 3: .*the row has 6 columns, but the header has 5"),
            ("b,0,2,0.25", "b,0,2", "line 3: .*the row has 4 columns, but the header has 5"),
            ("007,b", ",b", "line 3: .*the cell of column 'q' is empty"),
            ("007,b", "007,", "line 3: .*the cell of column 'doc' is empty"),
            ("007,b", "007,a", "line 3: query '007' already contains document 'a' at line 2"),
            ("007,b,0,2,0.25\n7,a,1", '"a\n",b,0,2,0.25\n7,a,oh', "line 5: .*label .*'oh'"),
            ("\n007,a,2", "\n\n007,a,oh", "line 3: .*label must be a number; got 'oh'"),
            (CSV, f"\ufeff{CSV}7,b,oh,1,1\n", "line 5: .*label must be a number; got 'oh'"),
            (CSV, f"\n \n{CSV}7,b,oh,1,1\n", "line 7: .*label must be a number; got 'oh'"),
        ]
    ),
    *(
        (
            {"t.csv": f"query,grade,score\nq,1,{word}\nq,0,{word}\n"},
            "evaluate t.csv",
            "t.csv: .*score.* must .*line 2|t.csv: line 2: .*score must be a number",
        )
        for word in ("True", "0x10", "1_0", "１", "nan(1)", "1 2")
    ),
    ({"t.csv": ""}, "evaluate t.csv", "t.csv: line 1: .*the file is empty"),
    (
        {"t.csv": "query,grade,score\n"},
        "evaluate t.csv",
        "t.csv: line 2: the table contains no rows",
    ),
    (
        {"t.csv": "query,grade,score,score\nq,1,2,3\n"},
        "evaluate t.csv",
        "t.csv: line 1: Several columns are named 'score'",
    ),
    ({"t.csv": b"\x00\xff\x01"}, "evaluate t.csv", "t.csv: line 1: .*or neither UTF-8 text"),
    ({"t.csv": b"query,grade,score\n1,1,1\n\xff,1,1\n"}, "evaluate t.csv", "utf-8"),
    (
        {"t.parquet": b"PAR1 and nothing else"},
        "evaluate t.parquet",
        "t.parquet: the Parquet file cannot be read",
    ),
    (
        {"t.parquet": parquet(query=[1, 1], grade=[1.0, -1], score=1)},
        "evaluate t.parquet",
        "t.parquet: column 'grade' must contain only grades ≥ 0; got -1",
    ),
    (
        {"t.parquet": parquet(query=[1, 1], grade=1, score=[1, float("nan")])},
        "evaluate t.parquet",
        "'score' must not contain NaN; got nan for row 1",
    ),
    (FOLDER, "evaluate parts/0.parquet --score-column x", "no column 'x'"),
    (
        {"t.parquet": parquet(query=[1, 2, 1], grade=1, score=1, doc="a")},
        "evaluate t.parquet --document-column doc",
        "t.parquet: row 2: query 1 already contains document 'a' at row 0",
    ),
    (
        {"t.parquet": parquet(query=1, grade=1, score=1, doc=pd.array([2**53, None, 2**53 + 1]))},
        "evaluate t.parquet --document-column doc",
        "column 'doc' is missing in row 1",
    ),
    (
        {"t.parquet": parquet(query=[1, 1], grade=1, score=1, doc=["a", ""])},
        "evaluate t.parquet --document-column doc",
        r"t.parquet: column 'doc' is missing in row 1 \(''\): every row must have an id",
    ),
    (
        {"t.csv": "query,grade,score\nq,,1\nq,1,\n"},
        "evaluate t.csv --unjudged-documents drop",
        "t.csv: column 'score' must not contain NaN; got nan for line 3",
    ),
    ({"t.csv": "query,grade,score\nq,1,1\nq,,2\n"}, "evaluate t.csv", "grade"),
    ({"t.parquet": parquet(query=[1, 1], grade=[1, None], score=1)}, "evaluate t.parquet", "grade"),
    # Options for other kinds of files
    ({}, "evaluate qrels a.run --by x", "--by requires a folder or a pattern of Parquet files"),
    ({}, "evaluate t.csv --weight-column x", "--weight-column requires a folder"),
    ({}, "evaluate t.csv --duplicates drop", "--duplicates requires a folder"),
    ({}, "evaluate qrels a.run --summary-label x", "--summary-label requires a folder"),
    (FOLDER, "evaluate parts --ties trec", "--ties trec, --names trec_eval, .* are not available"),
    (FOLDER, "evaluate parts -m ndcg --names trec_eval", "--names trec_eval, .* are not available"),
    (FOLDER, "evaluate parts --per-query", "--per-query and custom column names are not available"),
    # Folders of Parquet files
    (FOLDER, "evaluate parts --weight-column nowhere", "There is no column 'nowhere'"),
    (
        UNJUDGED,
        "evaluate parts/0.parquet",
        "finite; got nan for row 0: set --unjudged-documents to",
    ),
    (UNJUDGED, "evaluate parts", "set --unjudged-documents to 'irrelevant'"),
    (FOLDER, "evaluate parts --duplicates drop", "--duplicates drop requires --document-column,"),
    (FOLDER, "evaluate parts --grade-column grades", "There is no column 'grades'"),
    (
        FOLDER,
        "evaluate parts --document-column query",
        "Query 1 contains document 1 more than once. Remove .* or pass --duplicates drop to keep",
    ),
    (FOLDER, "compare parts --test t", "at least two runs or two --score-column options"),
    (
        {"test.letor": "nan qid:1 1:1\n0 qid:1 1:2\n"},
        "evaluate test.letor scores --unjudged-documents drop",
        "line 1",
    ),
]


CASES = [*(({}, *row) for row in COMMANDS), *BAD_FILES]


@pytest.mark.parametrize("changed, command, message", CASES, ids=[row[1] for row in CASES])
def test_wrong_commands_and_files_fail_with_one_line(files, capsys, changed, command, message):
    for name, text in changed.items():
        (files / name).parent.mkdir(exist_ok=True)
        (files / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert re.search(message, refused(capsys, command))
