"""Readers of TREC files, and trec_eval's own output."""

import gzip
import io
import json
import re

import numpy as np
import pytest
from doubles import doubles
from trec_eval import NAMES, expected_values

from skgraded.cli import main
from skgraded.datasets import entries, read_qrels, read_run, text_files, trec

BOM = b"\xef\xbb\xbf"
QRELS = b"301 0 d1 2\n301 0 d2 0\n302 0 d1 1\n"
RUN = b"301 Q0 d2 1 9.5 bm25\n301 Q0 d1 2 7 bm25\n302 Q0 d9 1 1e-3 bm25\n"


def columns(bunch):
    return {name: values.tolist() for name, values in bunch.items()}


# ------------------------------------------------------------------------------ good files


def test_qrels_and_a_run_to_columns():
    assert columns(read_qrels(io.BytesIO(QRELS))) == {
        "query": ["301", "301", "302"], "document": ["d1", "d2", "d1"], "grade": [2.0, 0.0, 1.0],
    }
    assert columns(read_run(io.BytesIO(RUN))) == {
        "query": ["301", "301", "302"], "document": ["d2", "d1", "d9"],
        "score": [9.5, 7.0, 0.001], "name": ["bm25"] * 3,
    }


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("read, text", [(read_qrels, QRELS), (read_run, RUN)])
def test_white_space_and_packing_do_not_matter(read, text):
    for changed in (
        text.replace(b" ", b"\t"),
        text.replace(b" ", b" \t  "),
        b"  " + text.replace(b"\n", b" \n\t"),
        text.replace(b"\n", b"\r\n"),
        b"\n \n" + text.replace(b"\n", b"\n\n\t\n"),
        *(BOM + white + text for white in (b"", b" ", b"\t ", b"\n", b" \n\n", b"\r\n")),
        text.rstrip(b"\n"),
        gzip.compress(text),
    ):
        assert columns(read(io.BytesIO(changed))) == columns(read(io.BytesIO(text))), changed


def test_paths_packed_paths_and_open_files(tmp_path):
    (tmp_path / "run").write_bytes(RUN)
    (tmp_path / "packed").write_bytes(gzip.compress(RUN))
    expected = columns(read_run(io.BytesIO(RUN)))
    assert columns(read_run(tmp_path / "run")) == expected
    assert columns(read_run(str(tmp_path / "packed"))) == expected
    file = io.BytesIO(RUN)
    assert columns(read_run(file)) == expected
    assert not file.closed
    with pytest.raises(TypeError, match="binary mode"):
        read_run(io.StringIO("1 Q0 a 1 1 s\n"))
    with pytest.raises(TypeError, match="path must be a str or a Path; got 3"):
        read_qrels(3)


@pytest.mark.usefixtures("arrow")
def test_ids_stay_the_text_of_the_file():
    for ids in (["007", "7", "+7"], ["1.0", "1", "1e0"], ["NA", "nan", "null"],
                ["True", "False", "true"], ['"a', "'b", "#c"], ["é", "日本", "d,e"]):
        lines = [f"{name} 0 {name} 1\n" for name in ids]
        qrels = read_qrels(io.BytesIO("".join(lines).encode()))
        assert qrels.query.tolist() == ids and qrels.document.tolist() == ids


@pytest.mark.usefixtures("arrow")
def test_blocks_are_joined(monkeypatch):
    text = b"".join(b"%d Q0 %s%d 1 %d.25 s%d\n" % (i // 7, b"d" * (i > 50), i, i, i % 3)
                    for i in range(100))
    expected = columns(read_run(io.BytesIO(text)))
    for block in (1, 20, 57, 1000):
        monkeypatch.setattr(text_files, "BLOCK", block)
        assert columns(read_run(io.BytesIO(text))) == expected, block
    assert expected["query"] == [str(i // 7) for i in range(100)]
    assert expected["document"] == ["d" * (i > 50) + str(i) for i in range(100)]
    assert expected["name"] == [f"s{i % 3}" for i in range(100)]


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("block", [1, 1 << 24])
def test_a_byte_order_mark_after_the_first_is_part_of_an_id(block, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK", block)
    found = read_qrels(io.BytesIO("\ufeff\ufeffq 0 a 1\n\ufeffp 0 b 1\n".encode()))
    assert found.query.tolist() == ["\ufeffq", "\ufeffp"]


def test_negative_grades_become_0_and_are_counted():
    text = b"1 0 a -1\n1 0 b -2\n1 0 c 3\n"
    with pytest.warns(UserWarning, match="2 of 3 grades are negative and were replaced by 0"):
        qrels = read_qrels(io.BytesIO(text))
    assert qrels.grade.tolist() == [0, 0, 3]


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("form, more", [
    (repr, []), (repr, [np.inf]), ("{:.25e}".format, []), ("{:.25e}".format, [np.inf]),
], ids=["repr", "repr with inf", "long", "long with inf"])
def test_scores_are_the_numbers_that_were_written(form, more):
    values = doubles(10_000) + more
    text = "".join(f"1 Q0 {i} 1 {form(value)} s\n" for i, value in enumerate(values))
    found = read_run(io.BytesIO(text.encode())).score.tolist()
    assert found == values
    assert [str(value) for value in found] == [str(value) for value in values]  # -0.0, too


def test_grades_are_the_numbers_that_were_written():
    values = [abs(value) for value in doubles(1000)]
    text = "".join(f"1 0 {i} {value!r}\n" for i, value in enumerate(values))
    assert read_qrels(io.BytesIO(text.encode())).grade.tolist() == values


@pytest.mark.usefixtures("arrow")
def test_scores_may_be_infinite_or_beyond_the_largest_number_but_grades_may_not():
    words = ["inf", "-inf", "-Infinity", "1e400", "1e-400", "-1e400"]
    lines = [f"1 Q0 {word} 1 {word} s\n" for word in words]
    run = read_run(io.BytesIO("".join(lines).encode()))
    assert run.score.tolist() == [np.inf, -np.inf, -np.inf, np.inf, 0, -np.inf]
    with pytest.raises(ValueError, match="line 1: the grade must be finite; got '1e400'"):
        read_qrels(io.BytesIO(b"1 0 a 1e400\n"))


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("read, line", [(read_qrels, "1 0 {} {}"), (read_run, "1 Q0 {} 1 {} s")])
def test_what_is_no_number(read, line):
    for word in ("True", "false", "1_0", "0x10", "1,5", "1d5", "nan(1)", ".", "1e", "１", "--1"):
        text = "\n".join(line.format(name, word) for name in "ab")
        problem = f"<file>: line 1: the .* must be a number; got '{re.escape(word)}'"
        with pytest.raises(ValueError, match=problem):
            read(io.BytesIO(text.encode()))


def test_identical_judgments_are_one():
    text = b"1 0 a 2\n\n1 0 b 1\n1 7 a 2.0\n2 0 a 0\n1 0 b 1\n2 0 a -1\n"
    assert columns(read_qrels(io.BytesIO(text[: text.rindex(b"2 0 a")]))) == {
        "query": ["1", "1", "2"], "document": ["a", "b", "a"], "grade": [2, 1, 0],
    }
    with pytest.raises(
        ValueError, match=r"line 7: document 'a' of query '2' has grade -1, .* 0 at line 5"
    ):
        read_qrels(io.BytesIO(text))
    # Lines are counted with those that repeat others.
    table = trec.read_qrels_table(io.BytesIO(b"1 0 a 2\n1 0 a 2\n\n1 0 b 1\n1 0 a 2\n1 0 c 0"))
    assert [table.place(row) for row in range(3)] == ["line 1", "line 4", "line 6"]


def test_a_progress_bar_is_silent_where_there_is_no_terminal(tmp_path, capsys):
    (tmp_path / "run").write_bytes(RUN)
    expected = columns(read_run(io.BytesIO(RUN)))
    assert columns(read_run(tmp_path / "run", progress=True)) == expected
    assert columns(read_run(io.BytesIO(gzip.compress(RUN)), progress=True)) == expected
    assert capsys.readouterr() == ("", "")


# ------------------------------------------------------------------------------- bad files

BAD_RUNS = {
    "few columns": (b"301 Q0 d3 3 7 bm25\n301 Q0 d4 7 bm25\n", 5, "a run must have 6 .*got 5"),
    "many columns": (b"301 Q0 d3 3 7 bm25 x\n", 4, "got 7: '301 Q0 d3 3 7 bm25 x'"),
    "few and many": (b"301 Q0 d3 3 7\n301 Q0 d4 3 7 bm25 x\n", 4, "got 5"),
    "no number": (b"\n301 Q0 d3 3 high bm25\n", 5, "the score must be a number; got 'high'"),
    "underscore": (b"301 Q0 d3 3 1_0 bm25\n", 4, "the score must be a number; got '1_0'"),
    "NaN": (b"301 Q0 d3 3 nan bm25\n", 4, "the score must be a number; got 'nan'"),
    "binary": (b"\x00\x01\x02", 4, "a NUL byte"),
    "not UTF-8": (b"301 Q0 d\xff 3 1 bm25\n", 4, "text must be UTF-8"),
    "lone return": (b"301 Q0 d3 3 1 bm25\r301 Q0 d4 3 1 bm25\n", 4, ""),
    "twice": (b"\n\n301 Q0 d1 3 1 bm25\n", 6,
              "query '301' already contains document 'd1' at line 2"),
}


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("kind", BAD_RUNS)
def test_bad_lines_of_runs_are_named(kind, monkeypatch):
    more, line, problem = BAD_RUNS[kind]
    for block in (1, 1 << 24):
        monkeypatch.setattr(text_files, "BLOCK", block)
        for text in (RUN + more, BOM + RUN + more):
            with pytest.raises(ValueError, match=rf"<file>: line {line}: .*{problem}"):
                read_run(io.BytesIO(text))


def test_bad_lines_of_qrels_are_named():
    for more, problem in (
        (b"302 0 d2\n", "qrels must have 4 columns .query iteration document grade.; got 3"),
        (b"302 0 d2 high\n", "the grade must be a number; got 'high'"),
        (b"302 0 d2 inf\n", "the grade must be finite; got 'inf'"),
        (b"302 0 d1 0\n", "document 'd1' of query '302' has grade 0, but it has grade 1 "
         "at line 3: keep only one"),
    ):
        with pytest.raises(ValueError, match=rf"<file>: line 4: .*{problem}"):
            read_qrels(io.BytesIO(QRELS + more))
    with pytest.raises(ValueError, match="line 1: a line of qrels must have 4 col.*got 2: '1 0'"):
        read_qrels(io.BytesIO(BOM + b"1 0\n"))


def test_an_empty_file_is_an_error():
    for text in (b"", b"\n \n", gzip.compress(b"", mtime=0)):
        with pytest.raises(ValueError, match="<file>: the file is empty or contains"):
            read_run(io.BytesIO(text))


def test_a_cut_file_is_an_error_that_says_where(tmp_path):
    lines = [f"1 Q0 {i} 1 {i * 0.77} s\n" for i in range(5000)]
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress("".join(lines).encode())[:-3000])
    with pytest.raises(ValueError, match=r"cut.gz: line [1-4]\d{3}: the gzip data are damaged"):
        read_run(path)


def test_a_duplicate_is_known_by_every_letter():
    for length in (1, 7, 8, 9, 16, 17, 40):
        ids = ["x" * i + letter + "x" * (length - i - 1) for i in range(length) for letter in "yzé"]
        text = "".join(f"1 0 {name} 1\n" for name in ids)
        assert read_qrels(io.BytesIO(text.encode())).document.tolist() == ids
        twice = f"line {len(ids) + 1}: .*but it has grade 1 at line {len(ids)}"
        with pytest.raises(ValueError, match=twice):
            read_qrels(io.BytesIO(f"{text}1 0 {ids[-1]} 2\n".encode()))
    # The same documents of other queries are none.
    text = "".join(f"{query} 0 {document} 1\n" for query in range(300) for document in range(30))
    assert len(read_qrels(io.BytesIO(text.encode())).query) == 300 * 30


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("piece", [1, 7, 1 << 14])
def test_duplicates_are_found_in_any_order_of_the_queries(piece, monkeypatch):
    monkeypatch.setattr(entries, "PIECE", piece)
    rng = np.random.default_rng(piece)
    pairs = [(query, document) for query in range(9) for document in range(query + 2)]
    for order in (range(len(pairs)), rng.permutation(len(pairs))):
        lines = [f"{pairs[i][0]} 0 d{pairs[i][1]} {i % 3}\n" for i in order]
        twice = [*lines[:20], lines[3], *lines[20:], lines[30], lines[3]]
        table = trec.read_qrels_table(io.BytesIO("".join(twice).encode()))
        found = zip(table.query_ids[table.query_codes], table.document, table.numbers, strict=True)
        assert [f"{q} 0 {d} {grade:g}\n" for q, d, grade in found] == lines
        n = len(lines)
        assert [table.place(row) for row in (19, 20, n - 1)] == [
            "line 20", "line 22", f"line {n + 1}"
        ]
        run = "".join(f"{q} Q0 {d} 1 0 s\n" for q, _, d, _ in map(str.split, twice))
        with pytest.raises(ValueError, match="line 21: query .* already contains .* at line 4"):
            read_run(io.BytesIO(run.encode()))


# -------------------------------------------------------------------------- trec_eval's output


def our_values(capsys, qrels, run, threshold=None):
    names = dict(NAMES)
    if threshold:
        for measure in ("map", "recip_rank", "P_5", "recall_10"):
            name, _, k = names[measure].partition("@")
            names[measure] = f"{name}(threshold={threshold})" + (f"@{k}" if k else "")
    options = [word for name in names.values() for word in ("-m", name)]
    command = ["evaluate", str(qrels), str(run), "--ties", "trec", "--per-query"]
    assert main([*command, "--format", "json", *options]) == 0
    (report,) = json.loads(capsys.readouterr().out).values()
    found = {**report["per_query"], "all": report["mean"]}
    return {
        query: {measure: f"{values[name]:.4f}" for measure, name in names.items()}
        for query, values in found.items()
    }


def test_binary_judgments_give_trec_eval_s_values(data_dir, capsys):
    folder = data_dir / "trec-eval"
    ours = our_values(capsys, folder / "qrels.test", folder / "results.test")
    assert ours == expected_values(folder / "out.test.aq")
    assert {"all": ours["all"]} == expected_values(folder / "out.test.a")


def test_graded_judgments_give_trec_eval_s_values_at_level_2(data_dir, capsys):
    folder = data_dir / "trec-eval"
    ours = our_values(capsys, folder / "qrels.rel_level", folder / "results.test", threshold=2)
    assert ours == expected_values(folder / "out.test.aql")


def test_negative_grades_of_the_real_file_are_counted(data_dir):
    with pytest.warns(UserWarning, match="304 of 3681 grades are negative"):
        qrels = read_qrels(data_dir / "trec-eval" / "qrels.rel_level")
    assert np.bincount(qrels.grade.astype(int)).tolist() == [304 + 2818, 462, 14, 77, 6]
