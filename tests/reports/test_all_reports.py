"""Every report has tables, JSON, a page and a notebook view, and can be copied and compared."""

import copy
import csv
import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from small_reports import (
    REPORTS,
    assert_same_report,
    evaluation,
    ids_of,
    labelled_summary,
    small_report,
    systems,
)

import skgraded as sg


@pytest.mark.parametrize("name", REPORTS)
class TestEveryReport:
    @pytest.fixture
    def report(self, name):
        return small_report(name)

    def test_tables_have_the_columns_of_the_frame(self, report, tmp_path):
        frame = report.to_frame()
        assert report.to_csv(tmp_path / "report.csv") is None
        text = (tmp_path / "report.csv").read_text(encoding="utf-8")
        assert text == report.to_csv()
        assert next(csv.reader([text.splitlines()[0]])) == list(frame.columns)
        assert len(text.splitlines()) == len(frame) + 1
        assert report.to_markdown().startswith("| ")
        assert r"\toprule" in report.to_latex() and r"\caption" not in report.to_latex()
        with_caption = report.to_latex(caption="All means", label="tab:means", digits=2)
        assert r"\caption{All means}" in with_caption and r"\label{tab:means}" in with_caption
        assert not re.search(r"\d\.\d{3}", with_caption)

    def test_json_and_pickles_restore_an_equal_report(self, report, tmp_path):
        kind, path = type(report), tmp_path / "report.json"
        assert report.to_json(path) is None
        for again in (
            kind.from_json(report.to_json()),
            kind.from_json(str(path)),
            pickle.loads(pickle.dumps(report)),
            copy.deepcopy(report),
        ):
            assert again == report and not again != report
            if not isinstance(report, (sg.Summary, sg.Summaries)):
                assert_same_report(again, report)
            assert again.to_json() == report.to_json() and repr(again) == repr(report)

    def test_pages_have_a_title_and_notebooks_show_a_part(self, report, tmp_path):
        assert report.to_html(tmp_path / "report.html", title="My <title>") is None
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert "<h1>My &lt;title&gt;</h1>" in page
        assert "<h1>My &lt;title&gt;</h1>" not in report.to_html()
        notebook = report._repr_html_()
        assert notebook.startswith('<div class="skgraded-report"') and "<table" in notebook


WRITTEN = json.loads(small_report("Evaluation").to_json())


@pytest.mark.parametrize(
    "content, message",
    [
        (b'{"kind": "Evaluation"', "Expecting"),
        (b"\n", "report.json: The JSON is empty"),
        (b"", "^The JSON is empty"),
        (b'{"kind": "Evaluation", "ver', "report.json: The JSON is not complete or not valid: "),
        (
            '{"kind": "ö'.encode()[:-1],
            "report.json: The JSON is not complete or not valid: .*utf-8",
        ),
        (
            b"[1]",
            "report.json: The JSON must have the kind Evaluation or CrossEvaluation; got None",
        ),
        (b"{}", "must have the kind Evaluation or CrossEvaluation; got None"),
        (b'{"kind": "Comparison", "version": 1}', "got 'Comparison'"),
        (b'{"kind": "Evaluation", "version": 2}', "has version 2, but .* only version 1"),
        (b'{"kind": "Evaluation", "version": 1}', "The JSON of the Evaluation has no field 'quer"),
    ],
)
def test_files_that_contain_no_report_are_refused(content, message, tmp_path):
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        sg.Evaluation.from_json(path if content else "\n")  # a text without content is no path


@pytest.mark.parametrize("name", ["Evaluation", "CrossEvaluation", "Comparison", "Summaries"])
def test_a_missing_field_is_named(name):
    report = small_report(name)
    for field in vars(report).keys() - {"estimators"}:
        written = {key: value for key, value in report.to_dict().items() if key != field}
        with pytest.raises(ValueError, match=f"The JSON of the {name} has no field '{field}'"):
            type(report).from_json(json.dumps(written))


def test_a_class_reads_the_json_of_its_subclass_and_ignores_other_fields():
    crossed = small_report("CrossEvaluation")
    again = sg.Evaluation.from_json(crossed.to_json())
    assert type(again) is sg.CrossEvaluation and again == crossed
    with pytest.raises(ValueError, match="kind CrossEvaluation; got 'Evaluation'"):
        sg.CrossEvaluation.from_json(json.dumps(WRITTEN))
    written = WRITTEN | {"mean": "unread", "of_the_future": 1}
    assert sg.Evaluation.from_json(json.dumps(written)) == small_report("Evaluation")


def test_a_dict_has_the_content_of_the_json():
    for name in ("Evaluation", "Summary of segments", "SegmentComparison", "Summaries"):
        report = small_report(name)
        written = json.loads(report.to_json())
        del written["versions"]
        assert report.to_dict() == written
        assert type(report).from_dict(written) == report


@pytest.mark.parametrize("scale", [1e-50, 1.0, 1e50])
def test_sums_of_any_size_are_read(scale):
    values, weights = np.random.default_rng(0).random((2, 30)) * scale
    summary = sg.Summary.of(evaluation({"DCG": values}, weights=weights))
    assert sg.Summary.from_json(summary.to_json()) == summary


# Equality ----------------------------------------------------------------------------------------


def test_reports_are_equal_if_their_contents_are():
    ev = evaluation({"AP": [0.5, np.nan]}, ids_of([("de", 1), 2]))
    assert ev == evaluation({"AP": [0.5, np.nan]}, ids_of([("de", 1), 2]))
    for other in (
        evaluation({"AP": [0.5, 0.0]}, ids_of([("de", 1), 2])),
        evaluation({"AP": [0.5, np.nan]}, ids_of([("de", 1), "2"])),
        evaluation({"RR": [0.5, np.nan]}, ids_of([("de", 1), 2])),
        evaluation({"AP": [0.5]}, ids_of([("de", 1)])),
        replace(ev, weights=np.ones(2)),
        replace(ev, unanswered=np.array([True, False])),
        sg.Summary.of(ev),
        "ev",
    ):
        assert ev != other


def test_comparisons_are_equal_if_their_rows_and_settings_are():
    both = systems("ab", 6)
    first = sg.compare(both, rng=0)
    assert first == sg.compare(both, rng=0) and first != sg.compare(both, rng=1)
    assert first != sg.compare(both, test="t")
    assert first != replace(first, rows=first.rows | {"wins": first.rows["losses"]})


def test_equality_ignores_labels():
    monday, tuesday = (labelled_summary(0, label) for label in ("Monday", "Tuesday"))
    assert monday == tuesday and monday != labelled_summary(1, "Monday")
    first, second = (sg.Summaries.of(systems("ab", 6), label=label) for label in "xy")
    assert first == second != sg.Summaries.of(systems("ab", 6, seed=1))
