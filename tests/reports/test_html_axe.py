"""What axe-core finds in the pages: nothing serious, in light and dark, at any width."""

from importlib.resources import files
from importlib.util import find_spec

import pytest
from browser import show, skip_without_browser, started
from small_reports import cross_evaluation, systems

import skgraded as sg
from skgraded.reports.summaries import Summaries

skip_without_browser()
if find_spec("selenium_axe_python") is None:
    pytest.skip("NO PAGE WAS SHOWN TO AXE: pip install selenium-axe-python",
                allow_module_level=True)

SYSTEMS = [f"run-{i}" for i in range(18)]
NAMES = ["bm25", "a system of a rather long name that has to be shortened in the middle", *SYSTEMS]
# Axe takes the square of the time: of long tables and lists, whose rows are alike, 8 are kept.
SHORTEN = """
for (const one of document.querySelectorAll("tbody tr:nth-child(n+9), li:nth-child(n+9)")) {
  one.remove();
}
"""
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
  (found) => done(found.violations), (error) => done([{id: String(error), impact: "serious"}]));
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    driver = started(tmp_path_factory.mktemp("chromium"))
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files of pages by name; all that can be opened in them is open."""
    ev = systems(NAMES[:1], 30, ["NDCNG@10", "MuAP"])[NAMES[0]]
    html = {
        "evaluation": ev.to_html(by=["long", "short"] * 15),
        "cross": cross_evaluation([None, "ValueError: no query", None]).to_html(),
        "two": sg.compare(systems(NAMES[:2], 30, ["AP"]), baseline="bm25", test="t").to_html(),
        "five": sg.compare(systems(NAMES[:5], 30), test="t").to_html(),
        "twenty": sg.compare(systems(NAMES, 30, ["AP"]), test="t", correction="fdr_bh").to_html(),
        "summary": sg.Summary.of(ev).to_html(),
        "summaries": sg.compare(Summaries.of(systems(NAMES[:5], 30)), test="t").to_html(),
        "fragment": "<!DOCTYPE html><html lang=en><title>Notebook</title><main><h1>Notebook</h1>"
        f"{sg.compare(systems(NAMES[:5], 30), test='t')._repr_html_()}</main></html>",
    }
    folder = tmp_path_factory.mktemp("pages")
    for name, text in html.items():
        text = text.replace("<details>", "<details open>")
        text = text.replace('<details class="part">', '<details class="part" open>')
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in html}


def findings(driver):
    """What axe-core finds to be serious or critical: rule and element."""
    script = files("selenium_axe_python").joinpath("axe-core", "axe.min.js")
    driver.execute_script(SHORTEN + script.read_text(encoding="utf-8"))
    return [
        (found["id"], node["html"][:200])
        for found in driver.execute_async_script(RUN) if found["impact"] in ("serious", "critical")
        for node in found.get("nodes", [{"html": ""}])
    ]


@pytest.mark.parametrize("width, scheme", [(400, "dark"), (1400, "light")])
@pytest.mark.parametrize(
    "name", ["evaluation", "cross", "two", "five", "twenty", "summary", "summaries", "fragment"]
)
def test_axe_finds_nothing_serious(driver, pages, name, width, scheme):
    show(driver, pages[name], width, color_scheme=scheme)
    assert findings(driver) == []


def test_axe_would_find_what_is_serious(driver, pages):
    show(driver, pages["two"])
    driver.execute_script(
        "const p = document.createElement('p'); p.textContent = 'pale'; p.style.color = '#ddd';"
        "document.querySelector('main').append(p);"
        "document.querySelector('#find').labels[0].remove()"
    )
    assert {rule for rule, _ in findings(driver)} >= {"color-contrast", "label"}
