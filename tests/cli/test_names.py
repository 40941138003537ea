"""Names of measures with the meaning of trec_eval, and names of columns."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from commands import refused, report, run, shell

import skgraded as sg


def test_official_is_what_trec_eval_prints(data_dir, capsys):
    folder = data_dir / "trec-eval"
    printed = pd.read_csv(
        folder / "out.test.aq", sep=r"\s+", names=["name", "query", "value"], index_col=[1, 0]
    )["value"]
    files = f"{folder / 'qrels.test'} {folder / 'results.test'}"
    means = printed["all"].loc["num_ret":"P_1000"].astype(float).to_dict()
    entry = report(capsys, f"evaluate -m official {files}")["STANDARD"]
    assert entry["mean"] | entry["total"] == pytest.approx(means, abs=5.1e-5)
    out = run(capsys, f"evaluate -m official --format csv --per-query {files}").out
    table = pd.read_csv(io.StringIO(out), dtype={"query": str}).set_index("query")
    # trec_eval prints no per-query values of gm_map.
    assert table.pop("gm_map").equals(table["map"])
    for query, row in table.drop(columns="run").iterrows():
        expected = printed[query].loc["num_ret":"P_1000"].astype(float)
        assert row.to_dict() == pytest.approx(expected.to_dict(), abs=5.1e-5)


def test_geometric_means_and_totals_are_right_in_tables_and_json(capsys):
    command = "evaluate qrels b.run a.run --names trec_eval -m gm_map -m num_ret --format "
    # Values of AP. a.run: c, x, a and y, d. b.run: a; a, d; e. Relevant: a and c; d; e.
    a, b = [(1 / 1 + 2 / 3) / 2, 1 / 2], [(1 / 1) / 2, 1 / 2, 1 / 1]
    expected = {"a.run": (2, np.prod(a) ** (1 / 2), 5), "b.run": (3, np.prod(b) ** (1 / 3), 4)}
    table = run(capsys, command + "table").out.splitlines()[1:3]
    assert [row.split()[:4] for row in table] == [
        [name, str(n), f"{gm_map:.4f}", str(total)] for name, (n, gm_map, total) in expected.items()
    ]
    out, note = run(capsys, command + "json")
    assert "JSON contains no per-query values of gm_map" in note
    for name, entry in json.loads(out).items():
        n, gm_map, total = expected[name]
        assert entry["mean"] == {"gm_map": pytest.approx(gm_map), "num_ret": total / n}
        assert entry["total"] == {"num_ret": total}
        assert sg.Evaluation.from_dict(entry).mean() == {"num_ret": total / n}


@pytest.mark.parametrize(
    "command",
    [
        "evaluate --intervals",
        "evaluate --intervals --format json",
        "evaluate -c --format html",
        "compare -c",
        "compare -c --per-query --format json",
    ],
)
def test_outputs_of_means_leave_out_totals_and_geometric_means_with_a_note(capsys, command):
    command, options = command.split(maxsplit=1)
    out, notes = run(capsys, f"{command} qrels a.run b.run -m official {options}")
    left_out = "num_ret (total), num_rel (total), num_rel_ret (total), gm_map (geometric mean)"
    assert f"contain only means. Left out: {left_out}.\n" in notes
    assert "Rprec" in out and "num_re" not in out and "gm_map" not in out


def test_names_of_trec_eval_set_gain_divisor_and_tie_rule(files, capsys):
    lines = [f"q1 Q0 {name} 1 {score} tied.run\n" for name, score in [("a", 2), ("c", 2), ("b", 1)]]
    (files / "tied.run").write_text("".join(lines))
    names = "-m nDCG@1 -m AP@1 -m P.1,5 -m ndcng@1"
    got = run(capsys, f"evaluate qrels tied.run --names trec_eval {names} --format csv")
    assert got.out.startswith("run,n_queries,nDCG@1,AP@1,P_1,P_5,ndcng@1,")
    # c has the higher id, so it is first; its grade is 1, the highest is 2, and R = 2.
    assert got.out.splitlines()[1].startswith("tied.run,1,0.5,0.5,1.0,0.4,0.41421")
    tied = report(capsys, f"evaluate qrels tied.run --names trec_eval {names} --ties average")
    assert tied["tied.run"]["mean"]["nDCG@1"] == (1 / 2 + 2 / 2) / 2
    (mean,) = report(capsys, "evaluate qrels a.run -m success --names trec_eval").values()
    assert list(mean["mean"]) == ["success_1", "success_5", "success_10"]


MEASURES = ["map", "ap(threshold=1)", "P_2", "ndcg@2"]


@pytest.mark.parametrize("names", [None, "trec_eval"])
def test_the_command_has_the_values_and_notes_of_evaluate_runs(capsys, names):
    options = "-l 2 -c " + " ".join(f"-m {name}" for name in MEASURES)
    options += "" if names is None else " --names trec_eval"
    out, notes = run(capsys, f"evaluate qrels a.run b.run {options} --format json")
    with pytest.warns(UserWarning) as caught:
        runs = sg.evaluate_runs("qrels", ["a.run", "b.run"], MEASURES, names=names, threshold=2)
    for name, evaluation in runs.items():
        means = json.loads(out)[name]["mean"]
        assert list(means.values()) == list(evaluation.mean().values())
        assert list(means) == (list(evaluation.mean()) if names is None else MEASURES)
    messages = [f"skgraded: note: {warning.message}" for warning in caught]
    assert notes.splitlines()[: len(messages)] == messages and len(messages) == 1 + (names is None)
    # a.run: c x a; only a is relevant at 2. Grades of b.run: 2, then 0 and 1, then 1.
    assert runs["a.run"].mean()["AP(threshold=2)"] == 1 / 3 / 3
    assert runs["b.run"].mean()["Precision(threshold=2)@2"] == 1 / 2 / 3


def test_one_option_may_contain_several_measures(capsys):
    entry = report(capsys, "evaluate qrels a.run -m", "ndcg@1,2, map")["a.run"]
    assert list(entry["mean"]) == ["NDCG@1", "NDCG@2", "AP"]
    entry = report(capsys, "evaluate qrels a.run -m", "official, ndcg_cut.1,2")["a.run"]
    assert list(entry["mean"])[-2:] == ["ndcg_cut_1", "ndcg_cut_2"] and "P_5" in entry["mean"]
    error = refused(capsys, "evaluate qrels a.run -m", "ndcg@1,2 as x")
    assert '"as" requires one measure, but ndcg@1,2 is a list' in error


def test_columns_can_be_renamed(capsys):
    words = ["-m", "ndcg@1  as nDCG", "-m", "num_rel as R", "-m", "ndcg@1 as again", "--format"]
    out = run(capsys, "evaluate qrels b.run --per-query", *words, "csv").out
    assert out.startswith("run,query,nDCG,R,again\nb.run,q1,1.0,2,1.0\nb.run,q2,0.0,1,0.0\n")
    out = run(capsys, "compare qrels b.run a.run -c", *words, "table").out
    assert "leads on nDCG (0.6667)" in out
    entry = report(capsys, "evaluate qrels b.run", *words[:-1])["b.run"]
    assert entry["total"] == {"R": 2 + 1 + 1} and list(entry["per_query"]) == ["nDCG", "R", "again"]


@pytest.mark.parametrize("pack", ["cat", "gzip", "xz"])
def test_standard_input_is_named_after_the_tag_of_the_run(pack):
    process = shell(f"{pack} < b.run | SKGRADED evaluate qrels - a.run -m rr --format csv")
    assert [line.split(",")[0] for line in process.stdout.splitlines()] == ["run", "b.run", "a.run"]
    process = shell("printf 'q1 a 1\\n' | SKGRADED evaluate qrels - -m rr --format csv --quiet")
    assert process.stdout.splitlines()[1].startswith("-,")
