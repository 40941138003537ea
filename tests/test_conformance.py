"""All cases of the conformance suite, through each way of computing a measure."""

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from itertools import groupby
from math import inf, isnan, log2, nan
from pathlib import Path

import generate
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import run as conformance_run
from case_inputs import CASES as INPUTS
from commands import evaluations
from peers import peer

import skgraded as sg
from skgraded._kernels import threads
from skgraded.lightgbm import eval_metric
from skgraded.measures.base import MEASURES

FILE = Path(generate.__file__).with_name("cases.json")
README = FILE.with_name("README.md")
CASES = json.loads(FILE.read_text(encoding="utf-8"))["cases"]


def or_nan(value):
    return nan if value is None else value


def measure_of(case):
    parameters = case["parameters"]
    undefined = or_nan(parameters["undefined"])
    return getattr(sg, case["measure"])(**parameters | {"undefined": undefined})


def rows_of(queries):
    """Return one row per document; unjudged documents have the grade nan."""
    return pd.DataFrame(
        [
            (number, or_nan(grade), -inf if score is None else score, query["weight"])
            for number, query in enumerate(queries)
            for grade, score in zip(query["grades"], query["scores"], strict=True)
        ],
        columns=["qid", "grade", "score", "weight"],
    )


def differences(values):
    """Return the cases whose value or per-query values differ; `values`: a dict by case id."""
    wrong = {}
    for case in CASES:
        if case["id"] in values:
            value = values[case["id"]]
            expected = case["values"] if isinstance(value, list) else case["expected"]
            expected = (
                [or_nan(v) for v in expected] if isinstance(value, list) else or_nan(expected)
            )
            if value != pytest.approx(expected, rel=2e-14, abs=1e-15, nan_ok=True):
                wrong[case["id"]] = (value, expected)
    return wrong


def means(evaluate):
    """Call `evaluate(measure, rows)` for each case."""
    return {case["id"]: evaluate(measure_of(case), rows_of(case["queries"])) for case in CASES}


def by_measure():
    """Yield each measure with its cases and the queries of all of them."""

    def key(case):
        return str(measure_of(case))

    for _, same in groupby(sorted(CASES, key=key), key):
        cases = list(same)
        yield measure_of(cases[0]), cases, [q for case in cases for q in case["queries"]]


def split_by_case(cases, values):
    """Return the per-query values by case id."""
    values = iter(values)
    return {case["id"]: [next(values) for _ in case["queries"]] for case in cases}


# The file ----------------------------------------------------------------------------------------


def test_cases_json_contains_what_generate_computes():
    assert generate.to_json(map(generate.solve, INPUTS)) == FILE.read_text(encoding="utf-8")


def test_the_suite_covers_all_measures_and_many_ties():
    assert len({case["id"] for case in CASES}) == len(CASES) >= 300
    assert {case["measure"] for case in CASES} == set(MEASURES)
    assert sum("ties" in case["needs"] for case in CASES) >= 100
    needs = {"not_retrieved", "unjudged", "float_grades", "weights", "double_scores"}
    assert needs | {"ties", "large_grades"} == {need for case in CASES for need in case["needs"]}


def test_the_definitions_have_the_parameters_of_the_measures():
    for name, definition in generate.MEASURES.items():
        defaults = {key: field.default for key, field in MEASURES[name]._fields.items()}
        assert definition.defaults == defaults


def test_cases_are_chosen_by_name_so_that_a_new_measure_removes_no_case():
    tree = ast.parse(FILE.with_name("case_inputs.py").read_text(encoding="utf-8"))
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Slice)] == []


def test_exact_fractions_equal_the_rounded_values():
    exact = [case for case in CASES if case["exact"]]
    assert len(exact) > 300
    for case in exact:
        numerator, _, denominator = case["exact"].partition("/")
        assert int(numerator) / int(denominator or 1) == case["expected"], case["id"]


def test_a_value_of_a_public_thread_is_reproduced_to_the_last_digit():
    (case,) = (case for case in CASES if case["id"] == "xgboost-11235")
    assert case["expected"] == pytest.approx(0.25875411996136194, rel=1e-15)


def test_the_example_of_the_readme_is_a_case():
    text = README.read_text(encoding="utf-8")
    example = json.loads(text.split("```json")[1].split("```")[0])
    assert example in CASES
    assert f"contains {len(CASES)} small" in text


def test_the_check_in_the_readme_finds_a_wrong_ideal_list(monkeypatch):
    monkeypatch.chdir(FILE.parent)
    code, names = README.read_text(encoding="utf-8").split("```python")[1].split("```")[0], {}
    exec(code, names)

    def ndcg(ideal_of):
        def value(ranked, judged, k):
            ideal = sorted(ideal_of(ranked, judged), reverse=True)[:k]
            dcg, best = (
                sum(grade / log2(rank + 1) for rank, grade in enumerate(grades[:k], 1))
                for grades in (ranked, ideal)
            )
            return dcg / best if best else 0.0

        return value

    assert names["check"](ndcg(lambda ranked, judged: judged)) == []
    assert "trec-ndcg" in names["check"](ndcg(lambda ranked, judged: ranked))


# Other tools --------------------------------------------------------------------------------------


def test_the_runner_passes_skgraded_and_names_the_rules_of_other_tools(tmp_path, capsys):
    groups = ("cut-offs", "no relevant document", "divisors of AP")
    file, output = tmp_path / "cases.json", tmp_path / "results.json"
    file.write_text(json.dumps({"cases": [case for case in CASES if case["group"] in groups]}))
    files = ["--cases", str(file), "--json", str(output)]
    assert conformance_run.main(["skgraded", "lightgbm", "Scikit-Learn", *files]) == 0
    results = json.loads(output.read_text())
    assert {outcome for outcome, _, _ in results["skgraded"].values()} == {"passed"}
    theirs = results["LightGBM"]
    assert theirs["ndcg-cut-inside-tie-ordinal"][0] == "passed"
    assert theirs["ndcg-cut-inside-tie-average"][::2] == ["other rule", "ties=ordinal"]
    assert theirs["ap-divisor-relevant-k-2"][::2] == ["other rule", "divisor=min"]
    assert theirs["err-k-3"] == ["absent", None, None]
    theirs = results["scikit-learn"]
    assert theirs["ndcg-undefined-left-out"][::2] == ["other rule", "undefined=0.0, gain=linear"]
    assert "ties=ordinal (" in capsys.readouterr().out
    # Documents that were not retrieved are missing in the ideal list, too.
    (case,) = (case for case in CASES if case["id"] == "opensearch-search-relevance-191-k-3")
    grades = [
        grade
        for grade, score in zip(*map(case["queries"][0].get, ("grades", "scores")), strict=True)
        if score is not None
    ]
    value = sg.NDCG(3)(grades, range(len(grades), 0, -1))
    rule = conformance_run.rule_of(case, value, 1e-9)
    assert rule == "ideal list from the retrieved documents"
    # The exit code is 1 if skgraded does not pass a case.
    wrong = [case | {"expected": 0.8} for case in CASES if case["id"] == "rr-two-of-three-tied"]
    file.write_text(json.dumps({"cases": wrong}))
    assert conformance_run.main(["skgraded", *files]) == 1
    result = json.loads(output.read_text())["skgraded"]["rr-two-of-three-tied"]
    assert result == ["failed", pytest.approx(5 / 6), None]


KNOWN = {  # patterns of cases; the README explains these failures
    "scikit-learn": ["ap-*"],
    "LightGBM": ["ndcg-*weight*"],
    "XGBoost": ["ndcg-*weight*", "precision-k-10"],
    "CatBoost": ["ap-weighted-*", "precision-k-10", "*-grade-1024*"],
    "ranx": ["rbp-*", "*-nothing-retrieved", "bpref-*", "ndcg-grade-1024*"],
}


def results_in_readme():
    """Return the four counts of each tool in the table of results."""
    table = README.read_text(encoding="utf-8").split("| tool | version |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")] for line in table.splitlines()[2:]]
    return {row[1]: [*map(int, row[3:7])] for row in rows}


def test_the_table_of_results_contains_each_tool_and_counts_each_case():
    results = results_in_readme()
    assert list(results) == list(conformance_run.TOOLS)
    assert {sum(counts) for counts in results.values()} == {len(CASES)}


@pytest.mark.nightly
@pytest.mark.parametrize("tool", conformance_run.TOOLS)
def test_each_tool_has_the_outcomes_that_the_readme_shows(tool, tmp_path):
    peer(conformance_run.TOOLS[tool][1])
    file = tmp_path / "results.json"
    # In interpreted loops, bpref of ranx is nan for queries without a relevant document.
    env = os.environ | {"NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, conformance_run.__file__, tool, "--json", str(file)]
    subprocess.run(command, env=env, capture_output=True, check=True)
    counts = results_in_readme()[tool]
    results = json.loads(file.read_text(encoding="utf-8"))[tool]
    outcomes = Counter(outcome for outcome, _, _ in results.values())
    assert [outcomes[name] for name in ("passed", "other rule", "failed", "absent")] == counts
    failed = [name for name, (outcome, _, _) in results.items() if outcome == "failed"]
    assert all(any(fnmatch(name, pattern) for pattern in KNOWN[tool]) for name in failed)


# Values through each interface -------------------------------------------------------------------


def test_a_direct_call_returns_the_value_of_each_case():
    def evaluate(measure, rows):
        return measure(rows.grade, rows.score, qid=rows.qid, sample_weight=rows.weight)

    assert differences(means(evaluate)) == {}


@pytest.mark.parametrize("n", [1, 2])
def test_judgments_return_the_per_query_values_on_any_number_of_threads(n, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", str(n))
    for name in ("ROWS_PER_THREAD", "ROWS_PER_CHUNK"):
        monkeypatch.setattr(threads, name, 1)  # so that a few queries occupy two threads
    for measure, cases, queries in by_measure():
        rows = rows_of(queries)
        judgments = sg.Judgments(rows.grade, qid=rows.qid)
        values = measure.per_query(judgments, rows.score)
        assert differences(split_by_case(cases, values)) == {}, measure


class FirstColumn:
    """A ranker whose scores are the first column."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


def test_the_scorer_returns_the_value_of_each_case():
    def evaluate(measure, rows):
        X = rows[["score", "qid"]].to_numpy()
        scorer = sg.make_ranking_scorer(measure, qid=1)
        return scorer(FirstColumn(), X, rows.grade, sample_weight=rows.weight)

    assert differences(means(evaluate)) == {}


def has_defined_query(case):
    measure = measure_of(case | {"parameters": case["parameters"] | {"undefined": None}})
    rows = rows_of(case["queries"])
    return not isnan(measure(rows.grade, rows.score, qid=rows.qid, sample_weight=rows.weight))


def test_the_lightgbm_callback_returns_the_value_of_each_case():
    # LightGBM has no unretrieved or unjudged documents, and stores grades in single precision.
    def evaluate(measure, rows):
        sizes = rows.groupby("qid").size()
        data = lgb.Dataset(np.zeros((len(rows), 1)), rows.grade, group=sizes, weight=rows.weight)
        ((_, value, _),) = eval_metric([measure])(rows.score.to_numpy(), data)
        return value

    # A metric raises an error if no query is defined.
    without = {"not_retrieved", "unjudged", "float_grades"}
    values = {
        case["id"]: evaluate(measure_of(case), rows_of(case["queries"]))
        for case in CASES
        if not without & set(case["needs"]) and has_defined_query(case)
    }
    assert len(values) > 500 and differences(values) == {}


def test_evaluate_batches_returns_the_value_of_each_case():
    for measure, cases, queries in by_measure():
        rows = rows_of(queries)
        owners = [case["id"] for case in cases for _ in case["queries"]]
        rows["case"] = [owners[number] for number in rows.qid]
        half = len(rows) // 2
        summary = sg.evaluate_batches(
            [rows[:half], rows[half:]],
            "grade",
            "score",
            "qid",
            [measure],
            sample_weight="weight",
            by="case",
        )
        values = {name: part.mean()[measure.name] for name, part in summary.segments.items()}
        assert set(values) == set(owners) and differences(values) == {}, measure


def test_the_command_returns_the_per_query_values(tmp_path, capsys):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    for measure, cases, queries in by_measure():
        rows = rows_of(queries)
        rows["doc"] = [f"d{i}" for i in range(len(rows))]
        rows.grade = rows.grade.fillna(-1)  # not judged
        qrels.write_text("".join(f"{r.qid} 0 {r.doc} {r.grade!r}\n" for r in rows.itertuples()))
        retrieved = rows[rows.score > -inf]
        run.write_text(
            "".join(f"{r.qid} Q0 {r.doc} 1 {r.score!r} a\n" for r in retrieved.itertuples())
        )
        words = f"evaluate {qrels} {run} -m {measure} -c"
        evaluation = evaluations(capsys, words)["a"]
        assert evaluation.query_ids.tolist() == [str(i) for i in range(len(queries))]
        values = evaluation.per_query[measure.name]
        assert differences(split_by_case(cases, values)) == {}, measure
