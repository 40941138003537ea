"""Error messages of the readers and of the joins."""

import gzip
import io
import math
from collections import namedtuple
from itertools import product

import polars as pl
import pytest
from scipy.sparse import csr_array

from skgraded.datasets import (
    join_judgments,
    join_run,
    make_ranking,
    make_swapped_rankings,
    read_letor,
    read_qrels,
    read_run,
    text_files,
)

# Lines of files ----------------------------------------------------------------------------------

LETOR = b"1 qid:1 1:1 2:2 #docid = a\n" * 3
QRELS = b"301 0 d1 2\n301 0 d2 0\n302 0 d1 1\n"
BEIR = b"query-id\tcorpus-id\tscore\n301\td1\t2\n302\td1\t1\n"
RUN = b"301 Q0 d2 1 9.5 bm25\n301 Q0 d1 2 7 bm25\n302 Q0 d9 1 1e-3 bm25\n"
RANKS = b"301 d1 1\n301 d2 2\n302 d1 1\n"
SCORES_OF_THREE = b"301 d1 7.5\n301 d2 2\n302 d1 1\n"
FOUR = b"301 d1 1 9\n301 d2 2 8.5\n302 d1 0 1\n"
WRONG_NUMBERS = ("high", "nan", "True", "1_0", "0x10", "1,5", "1d5", "１", "--1", "nan(1)")
# Valid lines of each reader, and wrong fourth lines with a part of their messages
LINES = [
    (
        read_letor,
        LETOR,
        [
            *((f"{word} qid:1 1:1", "") for word in ("x", "1,2", "1_0", "qid:2")),
            *(
                (f"{word} qid:1 1:1", "the grade must be a finite number")
                for word in ("nan", "-inf")
            ),
            *(
                (f"1 {words}", "'qid:' and the query id must follow the grade.*np.repeat")
                for words in ("", "1:1 2:2", "1:1 qid:1", "qid: 1:1", "qid1 1:1", "#qid:1 1:1")
            ),
            *(
                (f"1 qid:1 {word}", "")
                for word in ("1:x", "1:", "1", ":3", "1.5:3", "1:2:3", "1:0x10", "qid:2", "1:1_0")
            ),
            *(
                (f"1 qid:1 {word}:3", "")
                for word in ("-1", "2147483648", "9" * 20, "2:3 2", "3:3 1")
            ),
            *(
                (line, "codec can't decode")
                for line in (b"1 qid:\xe9 1:1", b"1 qid:1 1:1 #docid=\xe9")
            ),
        ],
    ),
    (
        read_run,
        RUN,
        [
            ("301 Q0 d4 7 bm25", "a line of a run must have 6 .*got 5"),
            ("301 Q0 my d3 3 7 bm25", "got 7"),
            ("301\t\tApollo 13\t1\t9.5\tbm25", "got 5"),
            ("301\tQ0\tApollo 13\t1\t9.5\t", "got 5"),
            ("301\tQ0\tApollo 13\t1\thigh\tbm25", "the score must be a number"),
            *((f"301 Q0 d3 3 {word} bm25", "the score must be a number") for word in WRONG_NUMBERS),
            (b"\x00\x01\x02", ""),
            (b"301 Q0 d\xff 3 1 bm25", "codec can't decode"),
            ("301 Q0 d3 3 1 bm25\r301 Q0 d4 3 1 bm25", "lines must end with a line feed"),
            ("# old\r301 Q0 d4 3 1 bm25", "lines must end with a line feed"),
        ],
    ),
    (
        read_qrels,
        QRELS,
        [
            ("302 0 d2", "qrels must have 4 columns .query iteration document grade.; got 3"),
            ("302\t0\td 2\thigh", "the grade must be a finite number"),
            ("302\t0\t \t1", "qrels must have 4 columns .*; got 3"),
            *(
                (f"302 0 d2 {word}", "the grade must be a finite number")
                for word in ("inf", "1e400")
            ),
        ],
    ),
    (
        read_qrels,
        BEIR,
        [
            ("302\td2", "the row has 2 columns, but the header has 3"),
            ("302\td2\thigh", "score must be a number; got 'high'"),
            ("302\t\t1", "the cell of column 'corpus-id' is empty"),
            (b"302\td\xff\t1", "codec can't encode"),
        ],
    ),
    (
        read_run,
        RANKS,
        [
            *((f"302 d2 {word}", "the rank or score must be a number") for word in WRONG_NUMBERS),
            ("302 Q0 d2 2 9 s", "must have 3 columns .query document rank or score.; got 6"),
        ],
    ),
    (read_run, SCORES_OF_THREE, [("302 d2 1 7", "must have 3 columns .query document score.")]),
    (
        read_run,
        FOUR,
        [
            *(
                (f"302 d2 {word} 7", "the rank must be an integer ≥ 0.*query document rank score")
                for word in ("1.5", "-1", "inf", "nan", "FT911-3")
            ),
            ("302 d2 1 high", "the score must be a number"),
            ("302 d2 1", "a run with four columns must have 4 columns .*; got 3"),
        ],
    ),
]


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("read, good, lines", LINES)
def test_the_first_bad_line_is_named_and_quoted(read, good, lines, monkeypatch):
    # Each line is a block, or all lines are one block.
    for block, (line, message) in product((1, 1 << 22), lines):
        monkeypatch.setattr(text_files, "BLOCK", block)
        line = line if isinstance(line, bytes) else line.encode()
        text = b"\xef\xbb\xbf\n\n" + good + line + b"\n" + b"worse" * (read is read_letor)
        with pytest.raises(
            ValueError, match=f"^<file>: line 6: ['\"].*['\"]: .*{message}"
        ) as caught:
            read(io.BytesIO(text))
        assert "\n" not in str(caught.value)


LONG = 5000 * b"Z"


@pytest.mark.parametrize(
    "read, text",
    [
        (read_letor, b"%s qid:1 1:1\n" % LONG),
        (read_letor, b"1 qid:1 1:%s\n" % LONG),
        (read_letor, b"1 qid:1 %s:1\n" % LONG),
        (read_run, b"301 Q0 d 1 %s bm25\n" % LONG),
        (read_run, b"301 Q0 %s 1 9 bm25\n" % LONG * 2),
        (read_qrels, b"%s 0 %s 1\n%s 0 %s 2\n" % (LONG, LONG, LONG, LONG)),
        (read_qrels, b"query,docid,rating\n1,d,%s\n" % LONG),
        (read_qrels, b"query,docid,rating\n1,d,%s\n" % (5000 * b"Z ")),
        (read_qrels, b'{"qid": "q", "%s": 1}\n' % LONG),
        (read_qrels, b'{"q": {"%s": 1, "%s": 1}}' % (LONG, LONG)),
        (read_run, b'{"q": {"%s": "%s"}}' % (LONG, LONG)),
    ],
)
def test_long_lines_are_quoted_in_part(read, text):
    with pytest.raises(ValueError) as caught:
        read(io.BytesIO(text))
    assert str(caught.value).count("Z") <= 200


@pytest.mark.parametrize(
    "read, text, message",
    [
        (
            read_run,
            RUN + b"301 Q0 d1 3 1 bm25\n",
            "line 4: query '301' already contains document 'd1' at line 2",
        ),
        (read_run, RANKS + b"302 d1 7\n", "line 4: query '302' already contains document 'd1'"),
        (read_run, SCORES_OF_THREE + b"302 d1 2\n", "line 4: query '302' already contains"),
        (
            read_qrels,
            QRELS + b"302 0 d1 -1\n",
            "line 4: document 'd1' of query '302' has grade -1, but it has grade 1 at line 3",
        ),
        (
            read_qrels,
            BEIR + b"302\td1\t0\n",
            "line 4: .* has grade 0, but it has grade 1 at line 3",
        ),
        (read_qrels, BEIR + b"302\td2\tinf\n", "column 'score' must be finite; got inf for line 4"),
        (
            read_run,
            RANKS + b"302 d2 7\n",
            "line 4: the third column contains integers that are not the ranks 1 to 2 of query '302'"
            r", such as 7\. .*third=.rank.\)\. .*third=.score.\), or write four columns \(query",
        ),
    ],
)
def test_lines_that_contradict_each_other_are_named(read, text, message):
    with pytest.raises(ValueError, match=f"^<file>: {message}"):
        read(io.BytesIO(text))


GROUP_ROWS = "2 1:1\n1 1:2\n"
FILES = [
    *(
        (read, text, "<file>: the file is empty or contains")
        for read in (read_letor, read_run, read_qrels)
        for text in (b"", b"\n \n", gzip.compress(b"", mtime=0))
    ),
    (read_letor, b"# only a comment\n", "<file>: the file is empty or contains only comments"),
    (read_letor, b"# one\n\n1 qid:1 1:1\n\nbad qid:1\n", "line 5: 'bad qid:1': "),
    (read_letor, b"1 qid:1 1:1 # caf\xe9\nx qid:1\n", "line 2: 'x qid:1': "),  # in latin-1
    *(
        (
            read_qrels,
            text,
            "line 1: .*: a line of qrels must have 4 col.*got 3.*Other accepted forms: "
            "a table with tabs or commas below a header such as query-id corpus-id score or query,docid",
        )
        for text in (b"1\td\t2\n", b"query-id corpus-id score\n1 d 2\n")
    ),
    (
        read_run,
        b"1 Q0 d 1 2\n",
        "got 5.*Other accepted forms: three columns .query document rank "
        r"or score., four columns .query document rank score., a table .*, or JSON Lines",
    ),
    (read_run, b"query-id\tcorpus-id\tscore\n", "line 2: the table contains no rows"),
    (read_run, b"#\nquery,doc_id,score,score\n", "line 2: Several columns are named 'score'"),
    # JSON
    *(
        (read, text, f"^<file>: {message}")
        for read in (read_qrels, read_run)
        for text, message in (
            (b'{"q": {"a": 1}', "Expecting .*: line 1 column"),
            (b'{"q": {"a": 1}}\n{"q":\n', "Expecting value: line 3 column 1"),
            (b'\n{"qid": "q", "rel": 1}\n', "(qrels|run) has no column 'document'; .*'qid', 'rel'"),
            (b'{"q":\n {"\xff": 1}}', "'utf-8' codec can't decode byte"),
            (b'{"q": {"a": 1, "a": 2}}', "an object contains the key 'a' 2 times"),
            (b'{"q": {"a": 1}, "q": {}}', "an object contains the key 'q' 2 times"),
        )
    ),
    *((read, b"{}", "^<file> is empty") for read in (read_qrels, read_run)),
    (read_qrels, b'{"q": {"a": null}}', "^<file>: no row contains a grade; the first is row 0"),
    (read_run, b'{"q": {"a": null}}', "^<file> must not contain missing scores or NaN; got nan"),
    (
        read_run,
        b"query,docid,score\n1,a,\n",
        "^<file> must not .* line 2, document 'a' of query '1",
    ),
    (read_qrels, b"uid,docid,rating\n1,a,2\n", r'^<file>: .*rename\(columns={"uid": "query"}\)'),
    (read_run, b'{"mteb_model_meta": {}}', "the file contains 0 combinations of subset and split"),
    (
        read_run,
        b'{"mteb_model_meta": {}, "en": {"test": {}, "dev": {}}}',
        "contains 2 combinations of subset "
        r"and split: 'en/test', 'en/dev'\. Select one, .* split='en/test'; got None",
    ),
]


@pytest.mark.parametrize("read, text, message", FILES)
def test_files_that_are_empty_or_of_another_kind_are_errors(read, text, message):
    with pytest.raises(ValueError, match=message):
        read(io.BytesIO(text))


def test_damaged_files_are_errors_that_name_the_file(tmp_path):
    packed = gzip.compress("".join(f"1 Q0 {i} 1 {i}.77 s\n" for i in range(5000)).encode())
    path = tmp_path / "cut.gz"
    for damaged in (packed[:-4], packed[:20] + b"\0\0" + packed[22:], b"\x1f\x8b\0"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="cut.gz: the compressed data are damaged or trunc"):
            read_run(path)


@pytest.mark.parametrize(
    "text, sizes, message",
    [
        (GROUP_ROWS, "1\n2\n", "sizes: the 2 query sizes add up to 3 rows, but .*<file> has 2"),
        *(
            (GROUP_ROWS, f"2\n{size}\n", f"sizes: line 2: '{size}': the size of a query .* ≥ 1")
            for size in ("0", "1.5", "inf", "", "1 1")
        ),
        (GROUP_ROWS, "", "sizes: the 0 query sizes add up to 0 rows"),
        (
            "2 1:1\n1 qid:3 1:2\n",
            "2\n",
            "<file>: line 2: '1 qid:3 1:2': the file contains queries: omit",
        ),
        (
            "2 1:1\n1_0 1:2\n",
            "2\n",
            "<file>: line 2: '1_0 1:2': a number must not contain an under",
        ),
    ],
)
def test_query_sizes_must_fit_the_rows(tmp_path, text, sizes, message):
    (tmp_path / "sizes").write_text(sizes)
    with pytest.raises(ValueError, match=message):
        read_letor(io.BytesIO(text.encode()), group=tmp_path / "sizes")


ARGUMENTS = [
    *(
        (
            lambda read=read: read(0),
            TypeError,
            "path must be a str, a Path, or a file in binary mode; got 0",
        )
        for read in (read_letor, read_qrels)
    ),
    (lambda: read_run(io.StringIO("1 Q0 a 1 1 s\n")), TypeError, "binary mode"),
    *(
        (
            lambda text=text: read_run(io.BytesIO(text), third="rank"),
            ValueError,
            "<file>: third='rank' requires a run with three columns",
        )
        for text in (
            RUN,
            FOUR,
            b"query,docid,score\n301,d1,5\n301,d2,1\n",
            b'{"query": "301", "docid": "d1", "score": 5}\n',
        )
    ),
    (
        lambda: read_run(
            io.BytesIO(b'{"mteb_model_meta": {}, "en": {"test": {}}}'), split="en/tset"
        ),
        ValueError,
        "Select one, .*; got 'en/tset'. Did you mean 'en/test'",
    ),
    (
        lambda: read_run(io.BytesIO(RANKS), third="ranks"),
        ValueError,
        r"third must be one of \['rank', 'score'\] or None; got 'ranks'. Did you mean 'rank'",
    ),
    (
        lambda: read_run(io.BytesIO(SCORES_OF_THREE), third="rank"),
        ValueError,
        "<file>: line 1: '301 d1 7.5': the "
        "rank must be an integer ≥ 0. If the column contains scores, pass third='score'",
    ),
    (lambda: read_letor("no such file"), FileNotFoundError, "no such file"),
    (lambda: read_letor(io.BytesIO(LETOR), group=[1]), TypeError, r"group must be .*; got \[1\]"),
    *(
        (
            lambda n=n: read_letor(io.BytesIO(LETOR), n_features=n),
            ValueError,
            f"n_features must be .*; got {n!r}",
        )
        for n in (0, -1, 2.5, "3", True)
    ),
    *(
        (
            lambda text=text, kwargs=kwargs: read_letor(io.BytesIO(text), **kwargs),
            ValueError,
            message,
        )
        for text, kwargs, message in (
            (
                b"1 qid:1 1:1 4:2\n",
                {"n_features": 3},
                "line 1: .* from 1 to 3; got 4. See n_features and zero_based",
            ),
            (
                LETOR + b"1 qid:1 0:1\n",
                {"zero_based": False},
                "line 4: .* from 1 to 2147483647; got 0. See n_features and zero_based",
            ),
            (
                LETOR,
                {"n_features": 2, "zero_based": True},
                "line 1: .* from 0 to 1; got 2. See",
            ),
            (LETOR, {"zero_based": 2}, "zero_based must be True, False or 'auto'; got 2"),
            (
                b"#\n1 qid:1 1:1\n1 qid:1 2:1\n1 qid:1\n1 qid:1 0:1\n",
                {"n_features": 2},
                "<file>: line 3: a feature index must be from 0 to 1; got 2. See",
            ),
            (b"1 qid:1 0:1 2147483647:1\n", {}, "line 1: .* to 2147483646; got 2147483647"),
        )
    ),
    *(
        (
            lambda make=make, name=name, value=value: make(**{name: value}),
            ValueError,
            rf"{name} must be .*; got {value!r}",
        )
        for make, names in (
            (make_ranking, ("n_queries", "n_documents", "n_features", "n_levels")),
            (make_swapped_rankings, ("n_documents", "n_levels", "n_swaps", "n_rankings")),
        )
        for name in names
        for value in (-1, 2.5)
    ),
    *(
        (lambda make=make, name=name: make(**{name: 1}), ValueError, f"{name} must be at least 2")
        for make, name in (
            (make_ranking, "n_levels"),
            (make_swapped_rankings, "n_levels"),
            (make_swapped_rankings, "n_documents"),
        )
    ),
    *(
        (lambda make=make: make(random_state="seed"), ValueError, "'seed'")
        for make in (make_ranking, make_swapped_rankings)
    ),
    (
        lambda: make_swapped_rankings(5),
        ValueError,
        "n_levels must be at most n_documents = 5, .*; got 10",
    ),
]


@pytest.mark.parametrize("call, error, message", ARGUMENTS)
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


# Joins -------------------------------------------------------------------------------------------

Qrel = namedtuple("Qrel", "query_id doc_id relevance")
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")
DICTS = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
SCORES = {"q2": {"x": 1.5, "a": 0.5}, "q1": {"b": 7.0, "y": 2.0}}
COLUMNS = {"query": ["q1", "q1", "q2"], "document": ["a", "b", "a"], "grade": [2, 1, 1]}
RUN_COLUMNS = {"query": ["q1", "q1", "q2"], "document": ["x", "b", "y"], "score": [3.0, 5.0, 7.0]}
TYPES = "in common.*types (int and str|str and int): convert them to one type"
BAD_QRELS = [
    ({"q1": {"a": -math.inf}}, ValueError, "finite; got -inf for document 'a' of query 'q1'"),
    ({"q1": {"a": 1, "": 1}}, ValueError, r"qrels.document is missing in row 1 \(''\)"),
    (COLUMNS | {"document": ["a", "b", ""]}, ValueError, r"document is missing in row 2 \(''\)"),
    ([Qrel("q1", "", 1)], ValueError, r"qrels.doc_id is missing in row 0 \(''\): every row must"),
    ([Qrel("q1", "a", 1), Qrel("q1", None, 1)], ValueError, "qrels.doc_id is missing in row 1"),
    *(
        ({"q1": {"a": missing}}, ValueError, r"no row contains a grade; the first is row 0 \(.*'a'")
        for missing in (None, math.nan, "")
    ),
    ({"q1": ["a", {"b": 1}]}, TypeError, r"form {query: {document: grade}}; got the part {'b': 1}"),
    ({"q1": [("a", 1), "b"]}, TypeError, "got the part 'b'. The documents of a query may be a di"),
    ({"q1": [{"uid": "a", "grade": 1}]}, ValueError, r'rename\(columns={"uid": "document"}\)'),
    ({"q1": [{"hits": []}]}, TypeError, r"got the part {'hits': \[\]}"),
    ([{"id": "q1", "ratings": [{"a": 1}]}], ValueError, r'rename\(columns={"a": "document"}\)'),
    (
        (csr_array([[2, 1]]), ["q1", "q2"], ["a", "b"]),
        ValueError,
        "qrels has 2 query ids, but its matrix has 1",
    ),
    *(
        (empty, ValueError, "qrels is empty: it contains no documents")
        for empty in ({"q1": {}}, {}, [], iter([]))
    ),
    ({"q1": {None: 1}}, ValueError, "qrels.document is missing in row 0"),
    (
        {"qid": ["q"], "doc": ["a"], "grade": [1]},
        ValueError,
        "no column 'document'; its columns are 'qid', 'doc', 'grade'. Rename one, for example with pandas: "
        r'rename\(columns={"doc": "document"}\). Other accepted names \(ignoring case\): doc_id, docno',
    ),
    (
        {"QueryId": ["q"], "Query_ID": ["q"], "document": ["a"], "grade": [1]},
        ValueError,
        "qrels has several query columns, 'QueryId' and 'Query_ID': keep only one of them",
    ),
    (
        {"qid": ["q"], "docno": ["a"], "label": [1], "relevance": [2]},
        ValueError,
        "qrels has several grade columns, 'relevance' and 'label': keep only one of them",
    ),
    (
        [ScoredDoc("q1", "a", 1.0)],
        ValueError,
        "qrels has no column 'grade'; its columns are 'query_id', 'doc_id', 'score'",
    ),
    (
        [Qrel("q1", "a", 1), Qrel("q1", "a", 2)],
        ValueError,
        "row 1: document 'a' of query 'q1' has grade 2, but it has grade 1 at row 0",
    ),
    (COLUMNS | {"grade": [0, math.inf, 1]}, ValueError, "grade must be finite; got inf for row 1"),
    (COLUMNS | {"grade": [0, "high", 1]}, TypeError, "grade must contain .*; row 1 is 'high'"),
    (COLUMNS | {"grade": [1]}, ValueError, "qrels.grade has 1 rows, but qrels.query has 3"),
    (
        {"query": {0: "q1"}, "document": {0: "a"}, "grade": {0: 1}},
        TypeError,
        "qrels.query is a dict, which has no row order",
    ),  # as from DataFrame.to_dict
]
BAD_RUNS = [
    (
        {"q1": {"a": 1.0}, "q2": None},
        TypeError,
        "run must have the form .* got the part {'q2': None}",
    ),
    ({"q1": ["a", "b", "a"]}, ValueError, "query 'q1' already contains document 'a' at row 0"),
    ({"q1": ["a", None]}, ValueError, "run.document is missing in row 1"),
    ({"q1": {"a": "row 3"}}, TypeError, "contain numbers; document 'a' of query 'q1' is 'row 3'"),
    (
        [("q1", "a", 1.0)],
        TypeError,
        "run has no column 'query': pass the result of read_run, a table, .* a list of dicts or "
        "named tuples; got list",
    ),
    ("bm25.run", TypeError, "pass the result of read_run, .*; got str"),
    ({ScoredDoc("q1", "a", 1.0)}, TypeError, "got set"),
    (None, TypeError, "got NoneType"),
    # Responses of Solr, Vespa, _search and _msearch
    *(
        (response, TypeError, r"form {query: {document: score}}, or {query: \[document, …\]}")
        for response in (
            {"q1": {"hits": {"hits": []}}},
            {"responses": [{"hits": {"hits": [{"_id": "a", "_score": 2}]}}]},
            {"response": {"numFound": 1, "docs": [{"id": "a", "score": 2}]}},
            {"root": {"id": "toplevel", "relevance": 1, "children": [{"id": "a"}]}},
        )
    ),
    (
        RUN_COLUMNS | {"document": ["b", "d", "b"], "query": ["q1"] * 3},
        ValueError,
        "run: row 2: query 'q1' already contains document 'b' at row 0",
    ),
    *(
        (
            RUN_COLUMNS | {"score": [1, missing, 3]},
            ValueError,
            "must not .* NaN; got nan for row 1, document 'b' of query 'q1'. If the document was not",
        )
        for missing in (math.nan, None, "")
    ),
    ({"q1": {"a", "b"}}, TypeError, r"a set of ids \(only in qrels, because it has no order\)"),
    (RUN_COLUMNS | {"score": [1, 2]}, ValueError, "run.score has 2 rows, but run.query has 3"),
    (RUN_COLUMNS | {"document": ["a"]}, ValueError, "run.document has 1 rows, but run.query has 3"),
    (RUN_COLUMNS | {"query": ["q1", None, "q1"]}, ValueError, r"run.query is missing in row 1"),
    (RUN_COLUMNS | {"document": ["x", "d", math.nan]}, ValueError, "document is missing in row 2"),
    (dict.fromkeys(RUN_COLUMNS, []), ValueError, "run is empty"),
    (
        RUN_COLUMNS | {"query": ["7"] * 3},
        ValueError,
        "have no query in common: for example, qrels contains 'q1', and run contains '7'.$",
    ),
    (
        {"query": ["q1"], "documents": ["a"], "score": [1.0]},
        ValueError,
        r'run has no column .document.; its columns are .* rename\(columns={"documents": "document"',
    ),
    (pl.LazyFrame(RUN_COLUMNS), TypeError, "run must be in memory: convert the LazyFrame to a pan"),
    (RUN_COLUMNS | {"query": "abc"}, TypeError, "run.query must be an array"),
    (RUN_COLUMNS | {"query": [["q1"]] * 3}, TypeError, "run.query must contain hashable ids; row"),
    (RUN_COLUMNS | {"document": "abc"}, TypeError, "run.document must be an array .*; got 'abc'"),
    (RUN_COLUMNS | {"document": {"a"}}, TypeError, "run.document is a set, which has no row order"),
    (RUN_COLUMNS | {"score": ["high"] * 3}, TypeError, "run.score must contain numbers"),
]
JOINS = [
    *((qrels, SCORES, {}, error, message) for qrels, error, message in BAD_QRELS),
    *((DICTS, run, {}, error, message) for run, error, message in BAD_RUNS),
    ({1: {"a": 1}}, {"1": {"a": 1.0}}, {}, ValueError, TYPES),
    ({"1": {"a": 1}}, [ScoredDoc(1, "a", 1.0)], {}, ValueError, TYPES),
    ({"1": {7: 1}}, {"1": {"7": 1.0, "8": 2.0}}, {}, ValueError, TYPES),
    # Query 2 contains the document "7" of query 1.
    ({"1": {7: 1}, "2": {"7": 1}}, {"1": {"7": 1.0}}, {}, ValueError, TYPES),
    *(
        (DICTS, SCORES, {name: value}, ValueError, rf"{name} must be one of \[.*; got {value!r}")
        for name, value in (
            ("missing", "zero"),
            ("unjudged", "count"),
            ("ties", "average"),
            ("unjudged_documents", "zero"),
            ("identical_ids", "ignore"),
        )
    ),
    (
        COLUMNS,
        RUN_COLUMNS | {"query": ["q1", "q9", "q2"]},
        {"unjudged": "raise"},
        ValueError,
        "run: row 1: query 'q9' has no judgments in qrels",
    ),
    (
        DICTS,
        {**SCORES, "q9": {}},
        {"unjudged": "raise"},
        ValueError,
        "^run: query 'q9' has no judgments in qrels",
    ),
]


@pytest.mark.parametrize("qrels, run, settings, error, message", JOINS)
def test_join_run_names_the_argument_and_the_value(qrels, run, settings, error, message):
    with pytest.raises(error, match=message):
        join_run(qrels, run, **settings)


JUDGES = {"human": DICTS, "model": DICTS}


@pytest.mark.filterwarnings("ignore:.*grades are negative")
@pytest.mark.parametrize(
    "qrels, runs, error, message",
    [
        (
            {"human": DICTS, "model": {"q7": {"a": 1}}},
            None,
            ValueError,
            r"^qrels\['human'\] and qrels\['model'\] have no query in common: for example, "
            r"qrels\['human'\] contains 'q1', and qrels\['model'\] contains 'q7'\.$",
        ),
        (
            {"human": {1: {"a": 1}}, "model": {"1": {"a": 1}}},
            None,
            ValueError,
            "have no query in common: .* The ids have the types int and str: convert them",
        ),
        (
            {"human": {"1": {7: 1}}, "model": {"1": {"7": 1}}},
            None,
            ValueError,
            "have no document in common: .* The ids have the types int and str: convert them",
        ),
        (
            JUDGES,
            {"bm25": {"q8": {"a": 1}}},
            ValueError,
            r"^qrels\['human'\] and runs\['bm25'\] have no query in common",
        ),
        (JUDGES, {"bm25": {"q1": {"a": math.nan}}}, ValueError, r"^runs\['bm25'\] must .*nan"),
        (
            {"human": {**COLUMNS, "document": ["a"] * 3}},
            None,
            ValueError,
            r"^qrels\['human'\]: .*grade 1, but it has grade 2",
        ),
        ({}, None, ValueError, "^qrels is empty: pass the judgments of at least one judge"),
        ({"human": {}}, None, ValueError, r"^qrels\['human'\] is empty"),
        (
            [DICTS],
            None,
            TypeError,
            "^Argument qrels must be a mapping with names as keys, .* got list",
        ),
        ({1: DICTS}, None, TypeError, r"^The names in qrels must be strings; got 1\.$"),
        (DICTS, None, TypeError, r"^qrels\['q1'\]: qrels must have the form"),
        (
            JUDGES,
            [SCORES],
            TypeError,
            "^Argument runs must be a mapping with names as keys, .* list",
        ),
        ({"human": "qrels.txt"}, None, TypeError, r"^qrels\['human'\]: .*got str"),
    ],
)
def test_join_judgments_names_the_judge_or_the_run(qrels, runs, error, message):
    with pytest.raises(error, match=message):
        join_judgments(qrels, runs)
