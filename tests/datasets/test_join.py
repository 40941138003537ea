"""The join of a run with its judgments, compared with a join by dictionaries."""

import contextlib
import dataclasses
import io
import math
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from peers import peer

import skgraded as sg
from skgraded.datasets import (
    entries,
    join_judgments,
    join_run,
    read_qrels,
    read_run,
    text_files,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*judged queries are missing from the run"),
    pytest.mark.filterwarnings("ignore:.*contains no judged document of any query"),
]
EXAMPLES = int(os.environ.get("SKGRADED_EXAMPLES", 20))
QRELS = {
    "query": ["q2", "q1", "q1", "q2", "q3"],
    "document": ["a", "a", "b", "d", "e"],
    "grade": [0, 2, 1, 1, 3],
}
RUN = {
    "query": ["q1", "q2", "q1", "q9", "q2"],
    "document": ["x", "d", "b", "a", "y"],
    "score": [3.0, 5.0, 7.0, 1.0, 5.0],
}


def rows(joined):
    """Return (query, document, grade, score) tuples of joined rows."""
    names = ("qid", "doc_id", "y_true", "y_score")
    return list(zip(*(joined[name].tolist() for name in names), strict=True))


def joined_by_hand(qrels, run, missing="skip"):
    """Return the expected rows, computed with dictionaries."""
    judged, scores = {}, {}
    for query, document, grade in zip(*qrels.values(), strict=True):
        judged.setdefault(query, {})[document] = grade
    for query, document, score in zip(*run.values(), strict=True):
        scores.setdefault(query, {})[document] = score
    result = []
    for query, grades in judged.items():
        if query in scores or missing == "count":
            ranked = scores.get(query, {})
            result += [(query, name, grades.get(name, 0), score) for name, score in ranked.items()]
            lacking = [name for name in grades if name not in ranked]
            result += [(query, name, grades[name], -math.inf) for name in lacking]
    return result


def table(pairs, name, numbers):
    """Return a dict of columns from (query, document) pairs."""
    queries, documents = (list(column) for column in zip(*pairs, strict=True))
    return {"query": queries, "document": documents, name: numbers[: len(pairs)]}


# Rows and their order ----------------------------------------------------------------------------


def test_join_run_returns_the_expected_rows_in_order():
    expected = [
        ("q2", "d", 1, 5.0),
        ("q2", "y", 0, 5.0),
        ("q2", "a", 0, -math.inf),
        ("q1", "x", 0, 3.0),
        ("q1", "b", 1, 7.0),
        ("q1", "a", 2, -math.inf),
    ]
    joined = join_run(QRELS, RUN)
    assert rows(joined) == expected
    assert joined.missing.tolist() == ["q3"] and joined.unjudged.tolist() == ["q9"]
    counted = join_run(QRELS, RUN, missing="count")
    assert rows(counted) == [*expected, ("q3", "e", 3, -math.inf)]
    assert counted.missing.tolist() == ["q3"] and counted.unjudged.tolist() == ["q9"]
    # A repeated judgment counts once.
    repeated = {name: [*values, values[1], values[1]] for name, values in QRELS.items()}
    assert rows(join_run(repeated, RUN)) == expected
    run = {name: values[:3] for name, values in RUN.items()}  # all queries have judgments
    assert rows(join_run(QRELS, run, unjudged="raise")) == rows(join_run(QRELS, run))


def test_types_of_the_columns():
    joined = join_run(QRELS, RUN)
    assert list(joined) == ["y_true", "y_score", "qid", "doc_id", "missing", "unjudged"]
    assert joined.y_true.dtype == joined.y_score.dtype == np.float64
    assert joined.qid.dtype == joined.doc_id.dtype == object
    nothing = join_run(QRELS, {**QRELS, "score": QRELS["grade"]})
    assert nothing.missing.shape == nothing.unjudged.shape == (0,)


PAIRS = st.lists(
    st.tuples(st.sampled_from(["q1", "q2", "10", "9"]), st.sampled_from("abcdef")),
    unique=True,
    min_size=1,
    max_size=20,
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(PAIRS, PAIRS, st.sampled_from(["skip", "count"]), st.sampled_from([0, 1000]))
def test_rows_equal_a_join_by_dictionaries(judged, retrieved, missing, few):
    qrels = table(judged, "grade", [i % 4 for i in range(20)])
    run = table(retrieved, "score", [(7 * i) % 5 - 2.5 for i in range(20)])
    ours, others = set(qrels["query"]), set(run["query"])
    if not ours & others:
        with pytest.raises(ValueError, match="no query in common"):
            join_run(qrels, run)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries, "FEW", few)  # 0: pandas looks up the ids
        joined = join_run(qrels, run, missing=missing)
    assert rows(joined) == joined_by_hand(qrels, run, missing)
    assert joined.missing.tolist() == [q for q in dict.fromkeys(qrels["query"]) if q not in others]
    assert joined.unjudged.tolist() == [q for q in dict.fromkeys(run["query"]) if q not in ours]


@settings(max_examples=EXAMPLES, deadline=None)
@given(PAIRS, st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 2.5, math.inf]), min_size=20))
def test_ties_are_ordered_as_by_trec_eval(retrieved, scores):
    qrels = {"query": ["q1", "q2", "10", "9"], "document": ["a"] * 4, "grade": [1] * 4}
    run = table(retrieved, "score", scores)
    joined = join_run(qrels, run, ties="trec")
    plain = join_run(qrels, run)
    assert [row[:3] for row in rows(joined)] == [row[:3] for row in rows(plain)]
    np.testing.assert_array_equal(joined.y_score == -np.inf, plain.y_score == -np.inf)
    for query in set(run["query"]):
        positions = np.flatnonzero((joined.qid == query) & (plain.y_score > -np.inf))
        by_trec = sorted(positions, key=lambda row: (plain.y_score[row], plain.doc_id[row]))
        assert by_trec == sorted(positions, key=lambda row: joined.y_score[row])
        assert len(set(joined.y_score[positions])) == len(positions)


INFINITE = {  # the scores of a query, and the scores after a join
    "below the lowest": ([3.0, -math.inf, 1.0, -math.inf], [3.0, 0.0, 1.0, 0.0]),
    "rounded": ([1e20, -math.inf], [1e20, np.nextafter(1e20, 0)]),
    "nothing below": ([-math.inf, -math.inf], [0.0, 0.0]),
    "infinite": ([math.inf, -math.inf], [math.inf, 0.0]),
}


@pytest.mark.parametrize("scores, expected", INFINITE.values(), ids=INFINITE)
def test_documents_of_a_run_with_the_score_minus_infinity_rank_last(scores, expected):
    names = list("abcd"[: len(scores)])
    qrels = {"q1": {"e": 1, "a": 2}, "q2": {"a": 1}}
    run = {"q1": dict(zip(names, scores, strict=True)), "q2": {"a": -1.0}}
    text = "".join(f"{q} Q0 {d} 0 {s} tag\n" for q in run for d, s in run[q].items())
    columns = {
        "qid": [q for q in run for _ in run[q]],
        "docno": [d for q in run for d in run[q]],
        "score": [s for q in run for s in run[q].values()],
    }
    for form in (run, read_run(io.BytesIO(text.encode())), columns):
        joined = join_run(qrels, form)
        assert joined.y_score.tolist() == [*expected, -math.inf, -1.0]  # "e" was not retrieved
        judged = join_judgments({"judge": qrels}, {"run": form})
        found = dict(zip(judged.doc_id[judged.qid == "q1"], judged.y_scores["run"], strict=False))
        assert [found[name] for name in names] == expected and found["e"] == -math.inf
        ordered = join_run(qrels, form, ties="trec")
        ranked = ordered.doc_id[np.lexsort((-ordered.y_score, ordered.qid))].tolist()
        by_trec = sorted(zip(scores, names, strict=True), reverse=True)
        assert ranked == [*(name for _, name in by_trec), "e", "a"]


def test_values_of_scores_of_minus_infinity_equal_trec_eval():
    rng, ids = np.random.default_rng(0), [f"d{i}" for i in range(12)]
    qrels, run = (
        {
            f"q{i}": dict(zip(rng.permutation(ids)[:8].tolist(), numbers.tolist(), strict=True))
            for i, numbers in enumerate(rows)
        }
        for rows in (rng.integers(0, 3, (50, 8)), rng.choice([-math.inf, -1.0, 0.5], (50, 8)))
    )
    names = ["map", "ndcg", "recip_rank", "P_5", "bpref", "num_ret"]
    evaluator = peer("pytrec_eval").RelevanceEvaluator(qrels, {*names, "P.5"} - {"P_5"})
    theirs = evaluator.evaluate(run)
    evaluation = sg.evaluate_runs(qrels, {"run": run}, names, names="trec_eval")["run"]
    for name, values in zip(names, evaluation.per_query.values(), strict=True):
        np.testing.assert_allclose(values, [theirs[q][name] for q in evaluation.query_ids])


def test_numeric_ids_order_ties_as_strings():
    qrels = {"query": [1, 1, 1], "document": [9, 10, 100], "grade": [1, 0, 0]}
    joined = join_run(qrels, {**qrels, "score": [0, 0, 0]}, ties="trec")
    assert joined.doc_id[np.argsort(-joined.y_score)].tolist() == [9, 100, 10]


# Warnings ----------------------------------------------------------------------------------------

RANK_NOTES = {  # scores of two queries by rank, and the warning
    "rise": (
        [0.1, 0.2, 0.7],
        [3, 3, 8],
        "scores rise with the rank column or are equal in every query with two",
    ),
    "equal": ([1, 1, 1], [2, 2, 2], "scores are equal, although ranks differ, in every q"),
    "either": ([1, 2, 3], [2, 2, 2], "scores rise with the rank column or are equal in every"),
    "one falls": ([1, 2, 3], [8, 8, 3], None),
    "fall": ([3, 2, 1], [3, 2, 2], None),
}
RANK_FORMS = {  # text of rows (query, document, rank, score), or data structures
    "TREC": "{} Q0 {} {} {} tag\n",
    "four columns": "{} {} {} {}\n",
    "JSON Lines": '{{"qid": "{}", "docno": "{}", "rank": {}, "score": {}}}\n',
    "CSV": "{},{},{},{}\n",
    "pandas": pd.DataFrame,
    "Arrow": lambda rows: pytest.importorskip("pyarrow").table(rows),
    "dict": dict,
    "list of dicts": lambda rows: pd.DataFrame(rows).to_dict("records"),
}


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("form", RANK_FORMS)
@pytest.mark.parametrize("first, second, note", RANK_NOTES.values(), ids=RANK_NOTES)
def test_scores_that_contradict_the_rank_column_warn_once(
    form, first, second, note, tmp_path, recwarn, monkeypatch
):
    monkeypatch.setattr(text_files, "BLOCK", 30)  # bytes: a query may be in two blocks
    queries = ["q1"] * 3 + ["q2"] * 3 + ["q3"]
    columns = {
        "qid": queries,
        "docno": list("abcabca"),
        "rank": [1, 2, 3, 1, 2, 3, 1],
        "score": [*first, *second, 1],
    }
    run = RANK_FORMS[form]
    if isinstance(run, str):
        header = "qid,docno,rank,score\n" * (form == "CSV")
        lines = [run.format(*row) for row in zip(*columns.values(), strict=True)]
        run = tmp_path / "run"
        run.write_text(header + "".join(lines))
    else:
        run = run(columns)
    sg.evaluate_runs({query: {"a": 1} for query in queries}, {"run": run}, "rr")
    texts = [str(item.message).partition(": ")[2] for item in recwarn]
    assert len(texts) == (note is not None) and all(text.startswith(note) for text in texts)
    assert all(item.filename == __file__ for item in recwarn)


def test_ranks_that_say_nothing_do_not_warn(recwarn):
    rows = {"qid": ["q1"] * 3, "docno": list("abc"), "score": [1, 2, 3]}
    tied = rows | {"score": [1, 1, 1]}
    for run in (
        rows | {"rank": [1, 1, 2]},
        rows | {"rank": [1, 2, None]},
        rows | {"rank": ["1.", "2.", "last"]},
        rows | {"qid": ["q1", "q2", "q3"], "rank": [1, 2, 3]},
        tied | {"rank": [0, 0, 0]},
    ):
        join_run({"q1": {"a": 1}}, run, missing="skip")
    assert not recwarn


def test_queries_that_a_run_does_not_answer_warn_unless_the_choice_is_explicit(recwarn):
    skipped = join_run(QRELS, RUN, missing="skip")
    join_run(QRELS, RUN, missing="count")
    join_run(QRELS, {**QRELS, "score": QRELS["grade"]})  # answers all queries
    assert not recwarn
    message = "^1 of 3 judged queries .*'q3'.*missing='count' .* or missing='skip' to"
    with pytest.warns(UserWarning, match=message):
        assert rows(join_run(QRELS, RUN)) == rows(skipped)


@pytest.mark.parametrize(
    "join",
    [
        lambda qrels, run: join_run(qrels, run, missing="skip"),
        lambda qrels, run: join_judgments({"a": qrels}, {"run": run}),
        lambda qrels, run: join_judgments({"a": qrels, "run": run}),
    ],
)
def test_documents_of_another_collection_warn(join, recwarn):
    qrels, run = {"q0": {"D3": 1}, "q1": {"D1": 1, "D2": 0}}, {"q9": {"D1": 2}, "q1": {"d1": 1}}
    join(qrels, {**run, "q0": {"D3": 1}})
    join(qrels, {"q1": {"D2": 1}})
    assert not recwarn
    message = "no judged document of any query: for query 'q1', it contains 'd1', .* contains 'D1'"
    with pytest.warns(UserWarning, match=message) as caught:
        join(qrels, run)
    assert caught[0].filename == __file__


# Negative grades ---------------------------------------------------------------------------------

NEGATIVE = [("q", name, grade) for name, grade in zip("abcdef", [1, 1, 1, -1, -2, 0], strict=True)]
NEGATIVE.append(("r", "g", -1))
FORMS = {
    "file": lambda: read_qrels(
        io.BytesIO(
            b"".join(
                b"%s 0 %s %d\n" % (query.encode(), name.encode(), grade)
                for query, name, grade in NEGATIVE
            )
        )
    ),
    "dict": lambda: {"q": {name: grade for q, name, grade in NEGATIVE if q == "q"}, "r": {"g": -1}},
    "frame": lambda: _pandas(dict(zip(QRELS, zip(*NEGATIVE, strict=True), strict=True))),
}


@pytest.mark.parametrize("form", FORMS)
def test_documents_with_negative_grades_are_not_judged(form):
    run = {"q": {"d": 4.0, "e": 3.0, "a": 2.0, "x": 1.0}, "r": {"g": 1.0}}
    with pytest.warns(UserWarning, match="3 of 7 grades are neg.* document 'd' of query 'q'"):
        qrels = FORMS[form]()
        kept, filled, dropped = (
            join_run(qrels, run, unjudged_documents=rule) for rule in ("keep", "irrelevant", "drop")
        )
    nan, inf = math.nan, math.inf
    np.testing.assert_array_equal(kept.y_true, [nan, nan, 1, nan, 1, 1, 0, nan])
    np.testing.assert_array_equal(filled.y_true, [0, 0, 1, 0, 1, 1, 0, 0])
    assert dropped.doc_id.tolist() == list("abcfg")  # every query keeps a row
    assert dropped.y_score.tolist() == [2, -inf, -inf, -inf, -inf]
    evaluation = sg.evaluate(
        kept.y_true,
        kept.y_score,
        qid=kept.qid,
        measures=["bpref", "ap"],
        unjudged_documents="irrelevant",
    )
    # One of three relevant documents is retrieved, at rank 3; no irrelevant document is above it.
    assert evaluation.per_query["Bpref"] == pytest.approx([1 / 3, 0])
    assert evaluation.per_query["AP"] == pytest.approx([1 / 3 / 3, 0])


def test_negative_grades_of_judges_are_missing_labels():
    qrels = {"human": {"q": {"a": 1, "b": -1}, "r": {"c": -1}}, "model": {"q": {"a": 2, "b": 3}}}
    with pytest.warns(UserWarning, match=r"^qrels\['human'\]: 2 of 3 grades") as caught:
        joined = join_judgments(qrels)
    assert caught[0].filename == __file__
    assert joined.doc_id.tolist() == ["a", "b"]
    np.testing.assert_array_equal(joined.y_judges["human"], [1, math.nan])


# trec_eval ---------------------------------------------------------------------------------------


def printed_values(path):
    """Return {measure: {query: text}} from an output of trec_eval 10, for measures in skgraded."""
    values = {}
    for line in path.read_text().splitlines():
        name, query, value = line.split(None, 2)
        values.setdefault(name, {})[query] = value.strip()
    measures = {}
    for name in values:
        with contextlib.suppress(ValueError):
            measures[name] = sg.measure(name, names="trec_eval")
    return measures, {name: values[name] for name in measures}


@pytest.mark.parametrize(
    "qrels, threshold, output",
    [("qrels.test", None, "out.test.aq"), ("qrels.rel_level", 2, "out.test.aql")],
)
@pytest.mark.filterwarnings("ignore:.*grades are negative")
def test_values_equal_trec_eval_10(data_dir, qrels, threshold, output):
    folder = data_dir / "trec-eval"
    measures, expected = printed_values(folder / output)
    rows = join_run(
        read_qrels(folder / qrels),
        read_run(folder / "results.test"),
        ties="trec",
        unjudged_documents="keep",
    )
    for name, measure in measures.items():
        if hasattr(measure, "threshold"):
            measures[name] = dataclasses.replace(measure, threshold=threshold)
    evaluation = sg.evaluate(
        rows.y_true,
        rows.y_score,
        qid=rows.qid,
        measures=list(measures.values()),
        unjudged_documents="irrelevant",
    )
    values = {}
    for name, per_query in zip(measures, evaluation.per_query.values(), strict=True):
        is_count = name.startswith("num_")
        total = per_query.sum() if is_count else per_query.mean()
        by_query = [*zip(evaluation.query_ids, per_query, strict=True), ("all", total)]
        values[name] = {query: f"{value:.{0 if is_count else 4}f}" for query, value in by_query}
    assert values == expected and len(values) == 62


# Kinds of tables and ids -------------------------------------------------------------------------


def _pandas(columns):
    return pd.DataFrame(columns).rename(index=lambda label: label + 7)


KINDS = {
    "lists": dict,
    "tuples": lambda columns: {name: tuple(values) for name, values in columns.items()},
    "arrays": lambda columns: {name: np.array(values) for name, values in columns.items()},
    "pandas": _pandas,
    "pandas' nullable types": lambda columns: _pandas(columns).convert_dtypes(),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "pyarrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
}


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_tables(kind):
    numbered = [
        columns | {key: [int(text, 36) for text in columns[key]] for key in ("query", "document")}
        for columns in (QRELS, RUN)
    ]
    # Int64 columns of older pandas contain NumPy numbers.
    for (qrels, run), types in (((QRELS, RUN), str), (numbered, (int, np.integer))):
        joined = join_run(KINDS[kind](qrels), KINDS[kind](run))
        assert rows(joined) == joined_by_hand(qrels, run)
        assert all(isinstance(name, types) for name in joined.qid.tolist() + joined.doc_id.tolist())


def test_retrieved_documents_with_the_id_of_the_query_are_dropped():
    qrels = {"a": {"a": 2, "b": 1}, "b": {"a": 1}}
    run = {"a": {"a": 9, "b": 8}, "b": {"b": 7}, "c": {"c": 1}}
    kept = join_run(qrels, run, identical_ids="keep")
    assert kept.doc_id.tolist() == ["a", "b", "b", "a"]
    dropped = join_run(qrels, run, identical_ids="drop")
    expected = [("a", "b", 1, 8), ("a", "a", 2, -math.inf), ("b", "a", 1, -math.inf)]
    assert rows(dropped) == expected
    assert dropped.missing.tolist() == [] and dropped.unjudged.tolist() == ["c"]
    numbers = {"qid": [1, 1, 2], "docno": [1, 2, 3], "score": [3, 2, 1]}
    judged = {"qid": [1, 2], "docno": [2, 3], "label": [1, 1]}
    assert join_run(judged, numbers, identical_ids="drop").doc_id.tolist() == [2, 3]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("identical_ids", ["keep", "drop"])
def test_values_equal_mteb(identical_ids):
    """The data contain ties, missing queries, unjudged documents and empty rankings."""
    evaluator = peer("mteb._evaluators.retrieval_metrics")
    rng = np.random.default_rng(0)
    ids = [f"d{i}" for i in range(150)]
    qrels, run = {}, {}
    for query in [*ids[:80], "d120", "d121"]:
        judged = rng.choice(ids, rng.integers(1, 60), replace=False)
        qrels[query] = dict(zip(judged.tolist(), rng.choice(4, len(judged)).tolist(), strict=True))
        retrieved = [query, *rng.choice(ids[80:], rng.integers(0, 70), replace=False).tolist()]
        scores = rng.integers(0, 40, len(retrieved)) / 8  # equal in single precision
        run[query] = dict(zip(retrieved, scores.tolist(), strict=True))
    run["d0"], run["d1"] = {"d0": 1.0}, {"d1": 1.0, "d2": 1.0}
    del run["d2"], run["d3"]
    joined = join_run(qrels, run, missing="skip", ties="trec", identical_ids=identical_ids)
    if identical_ids == "drop":
        run = {q: {d: s for d, s in documents.items() if d != q} for q, documents in run.items()}
    cutoffs = [1, 3, 10, 100]
    theirs = evaluator.calculate_retrieval_scores(run, qrels, cutoffs)
    names = {
        "ndcg_cut_{k}": theirs.ndcg,
        "map_cut_{k}": theirs.map,
        "recall_{k}": theirs.recall,
        "P_{k}": theirs.precision,
        "success_{k}": theirs.hit_rate,
        "rr@{k}": theirs.mrr,
    }
    measures = [name.format(k=k) for name in names for k in cutoffs]
    ours = sg.evaluate(joined.y_true, joined.y_score, qid=joined.qid, measures=measures).mean()
    expected = [value for values in names.values() for value in values.values()]
    assert len(joined.missing) == 2 and len(expected) == 24
    assert list(ours.values()) == pytest.approx(expected, abs=5.1e-6)
