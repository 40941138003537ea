"""Every report has tables, JSON, a page and a notebook view, and can be copied."""

import copy
import csv
import pickle
import re

import pytest
from small_reports import REPORTS, assert_same_report, small_report

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
