"""Tables and numbers in the docs equal the results of the code."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import skgraded as sg

DOCS = Path(__file__).parent.parent / "docs"


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def ohsumed(data_dir):
    data = sg.datasets.read_letor(data_dir / "ohsumed" / "OHSUMED.txt.gz")
    return data, {feature: data.X[:, [feature - 1]].toarray().ravel() for feature in (5, 11, 21)}


def shown(value):
    return f"{value + 0.0:.3f}".replace("-0.000", "0.000")


def test_the_page_contains_the_table_of_all_measures():
    script, names = runpy.run_path(str(DOCS / "table_of_measures.py")), page("measure_names.md")
    assert script["with_table"](names) == names, "run python docs/table_of_measures.py"
    assert len(script["table"]().splitlines()) == 2 + len(sg.measures.MEASURES)


def test_the_table_of_other_tools_names_our_measures():
    table = page("coming_from/index.md").split("| here | trec_eval |")[1].split("\n\n")[0]
    for row in table.splitlines()[2:]:
        for text in re.findall("`(.+?)`", row.split("|")[1]):
            assert sg.measure(text).name == text


def test_the_table_of_values_of_measures_is_up_to_date(ohsumed):
    (data, features), measures = ohsumed, page("measures.md")
    texts = [
        line.split("|")[1].strip()
        for line in measures.split("| measure | 5")[1].split("\n\n")[0].splitlines()[2:]
    ]
    assert len(texts) == 6
    systems = [(1, features[5]), (1, features[11]), (1, features[21]), (3, features[11])]
    columns = [
        sg.evaluate(scale * data.y, scores, qid=data.qid, measures=texts).mean()
        for scale, scores in systems
    ]
    for text in texts:
        row = [text, *(shown(means[text]) for means in columns)]
        assert f"| {' | '.join(row)} |" in measures


@pytest.mark.parametrize(("figure", "judge"), [(6, None), (7, 1)])
def test_the_values_of_both_definitions_of_mu_map_are_up_to_date(data_dir, figure, judge):
    formulas = page("formulas.md")
    lines = formulas.split("#### Two readings of μMAP")[1].split("```python\n")[1].split("```")[0]
    data = sg.datasets.read_letor(data_dir / "ohsumed" / "OHSUMED.txt.gz")
    features = data.X.toarray()
    y_true, y_score = data.y if judge is None else features[:, judge - 1], features[:, 20]
    levels = np.unique(y_true)[1:]
    assert len(levels) == {6: 2, 7: 8}[figure]
    values = [sg.MuAP()(y_true, y_score, qid=data.qid)]
    for undefined in (np.nan, 0.0):
        names = {
            "np": np,
            "threshold_curve": sg.measures.threshold_curve,
            "y_true": y_true,
            "y_score": y_score,
            "qid": data.qid,
        }
        exec(lines if np.isnan(undefined) else lines.replace("np.nan", "0.0"), names)
        means = [
            sg.AP(threshold=t, undefined=undefined)(y_true, y_score, qid=data.qid) for t in levels
        ]
        assert names["mu_map"] == pytest.approx(sum(means) / len(means), abs=1e-12)
        values.append(names["mu_map"])
    (row,) = [line for line in formulas.splitlines() if line.startswith(f"| figure {figure}")]
    assert row.endswith(f"| {' | '.join(map(shown, values))} |")


@pytest.mark.parametrize("ties", ["average", "ordinal", "best", "worst"])
def test_the_table_of_ties_is_up_to_date(ohsumed, ties):
    data, features = ohsumed
    values = [shown(sg.AP(ties=ties)(data.y, features[f], qid=data.qid)) for f in (5, 11)]
    assert f'| ties="{ties}" | {values[0]} | {values[1]} |' in page("ties_and_undefined.md")


def test_the_values_of_unjudged_documents_are_up_to_date(ohsumed):
    script = runpy.run_path(str(DOCS.parent / "benchmarks" / "unjudged.py"))
    lines = script["tables"](ohsumed[0])
    benchmarks = (DOCS.parent / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert "\n".join(lines[:6]) in benchmarks and "\n".join(lines[7:]) in benchmarks
    text = " ".join(page("unjudged.md").split())
    reversed_order = "0.429 for feature 21 and 0.483 for feature 20"
    for value in ("0.409 and 0.335", reversed_order, "0.526 and 0.483", "is 0.722", "to 0.255"):
        assert value in text and all(
            f" {number} " in " ".join(lines) for number in re.findall(r"[0-9.]+", value)
        )


def test_the_headings_of_questions_are_questions():
    headings = re.findall("(?m)^### (.+)$", page("questions.md"))
    assert len(headings) > 15 and all(heading.endswith("?") for heading in headings)
