"""Pages in a headless Chromium: overflow, accessibility, sorting, and a browser without scripts."""

from importlib.resources import files

import numpy as np
import pytest
from browser import set_view, skip_without_browser, started
from small_reports import HOSTILE, evaluation, systems

import skgraded as sg

skip_without_browser()

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.select import Select  # noqa: E402

NAMES = ["bm25", "lgbm", "lgbm-tuned", "a system with a rather long name that must be wrapped"]

# Rectangles of all visible texts, clipped to the containers that scroll. The rectangle of a line is
# taller than its characters, by a fifth above and below.
TEXTS = """
const seen = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode, parent = node.parentElement;
  if (!node.data.trim() || !parent.checkVisibility()) continue;
  if (parent.closest("script, style, noscript, .unseen, .skip, option")) continue;
  let outer = parent;
  while (outer && getComputedStyle(outer).clipPath === "none") outer = outer.parentElement;
  if (outer) continue;  // for screen readers only
  const scroller = parent.closest(".scroll")?.getBoundingClientRect();
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const r of range.getClientRects()) {
    const fifth = r.height / 5;
    const box = {text: node.data.trim(), left: r.left + 0.5, right: r.right - 0.5,
                 top: r.top + fifth, bottom: r.bottom - fifth};
    if (scroller) {
      box.left = Math.max(box.left, scroller.left); box.right = Math.min(box.right, scroller.right);
      box.top = Math.max(box.top, scroller.top); box.bottom = Math.min(box.bottom, scroller.bottom);
    }
    if (box.left < box.right && box.top < box.bottom) seen.push(box);
  }
}
return seen;
"""
# Containers whose content is wider than the container.
WIDE = """
return [...document.querySelectorAll(".scroll")]
  .filter(box => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1)
  .map(box => box.getAttribute("aria-labelledby"));
"""
SIZES = "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
OPEN = "for (const details of document.querySelectorAll('details')) details.open = true;"
# Rows of long tables and lists are alike; axe checks four of them.
SHORTEN = """
const rows = "tbody tr:nth-child(n+4):not(:last-child), li:nth-child(n+4):not(:last-child)";
for (const row of document.querySelectorAll(rows)) row.remove();
"""
AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
  (result) => done(result.violations), (error) => done([{id: String(error), impact: "serious"}]));
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    driver = started(tmp_path_factory.mktemp("chromium"))
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Addresses of pages by name."""
    five = systems([*NAMES, "run-0"], 30)
    hostile = systems(["<b>", HOSTILE[0]], len(HOSTILE), measures=HOSTILE[:2], query_ids=HOSTILE)
    twenty = systems([*NAMES, *(f"run-{i}" for i in range(16))], 40)
    undefined = np.array([False, True, False, False, True])
    html = {
        "evaluation": evaluation(
            {"AP": [0.5, 0, 1, 0.25, 0], "KendallTau": [-0.5, np.nan, 10 / 11, 0, 1e-9]},
            [10, 9, -2, 100, 1],
            {"AP": undefined},
        ).to_html(),
        "comparison": sg.compare(systems(NAMES, 60), baseline="bm25", test="t").to_html(),
        "pairs": sg.compare(systems(NAMES[1:], 20), test=None).to_html(),
        "hostile": sg.compare(hostile, test="t").to_html(),
        "twenty": sg.compare(twenty, test="t").to_html(),
        "summary": sg.Summary.of(five["lgbm"]).to_html(),
        "summaries": sg.compare(sg.Summaries.of(five), test="t").to_html(),
        "long": sg.compare(systems(NAMES[:2], 700), test="t").to_html(),
    }
    folder = tmp_path_factory.mktemp("pages")
    for name, text in html.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in html}


@pytest.fixture
def visit(driver, pages):
    """Open a page; after the test, check that it logged, loaded and executed nothing."""

    def visit(name, width=1400, scheme="light"):
        set_view(driver, width, scheme)
        driver.get(pages[name])
        return driver

    yield visit
    assert driver.get_log("browser") == []
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert driver.execute_script("return window.broken") is None


def overlaps(driver):
    """Return the pairs of texts that overlap."""
    boxes = sorted(driver.execute_script(TEXTS), key=lambda box: box["top"])
    assert len(boxes) > 20
    pairs = []
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            if b["top"] >= a["bottom"]:
                break
            if a["left"] < b["right"] and b["left"] < a["right"]:
                pairs.append((a["text"], b["text"]))
    return pairs


def violations(driver):
    """Return the serious and critical findings of axe-core: the rule and the element."""
    script = files("selenium_axe_python").joinpath("axe-core", "axe.min.js")
    driver.execute_script(SHORTEN + script.read_text(encoding="utf-8"))
    return [
        (finding["id"], node["html"][:200])
        for finding in driver.execute_async_script(AXE)
        if finding["impact"] in ("serious", "critical")
        for node in finding.get("nodes", [{"html": ""}])
    ]


# Overflow and accessibility ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "evaluation",
        "comparison",
        "pairs",
        "hostile",
        "twenty",
        "summary",
        "summaries",
    ],
)
def test_texts_fit_the_window_without_overlaps_and_are_accessible(visit, name):
    looks = [(400, "dark"), (1280, "light")]
    for width, scheme in looks if len(name) % 2 else reversed(looks):
        driver = visit(name, width, scheme)
        for script in ("", OPEN):
            driver.execute_script(script)
            needed, available = driver.execute_script(SIZES)
            assert needed <= available <= driver.execute_script("return window.innerWidth") == width
            assert overlaps(driver) == []
        if name != "hostile":  # only the table of queries may be wider than its container
            assert set(driver.execute_script(WIDE)) <= {"query-caption"}
    assert driver.find_elements(By.CSS_SELECTOR, "img, td b, th b") == []
    assert violations(driver) == []


# Sorting and choosing ----------------------------------------------------------------------------


def column(driver, i, table="#query-table"):
    """Return the texts of a column, without the mark of undefined queries."""
    script = f"return [...document.querySelectorAll('{table} tbody tr')].map(r => r.cells[{i}]"
    texts = driver.execute_script(script + ".textContent)")
    return [text.replace("−", "-").removeprefix("†\u00a0") for text in texts]


def numbers(driver, i, table="#query-table"):
    return [float(text) for text in column(driver, i, table)]


def button(driver, text, table="#query-table"):
    buttons = driver.find_elements(By.CSS_SELECTOR, f"{table} thead button")
    return next(element for element in buttons if element.text == text)


def test_keys_sort_queries_by_number_and_the_page_describes_the_order(visit):
    driver = visit("evaluation")
    driver.execute_script(OPEN)
    head = button(driver, "KendallTau")
    cell = head.find_element(By.XPATH, "..")
    status = driver.find_element(By.ID, "query-status")
    assert status.text == "5 queries, sorted by AP, lowest first."
    assert column(driver, 0) == ["100", "10", "-2", "9", "1"]  # 9 and 1 are undefined
    assert numbers(driver, 1) == [0.25, 0.5, 1, 0, 0]
    head.send_keys(Keys.ENTER)
    assert cell.get_attribute("aria-sort") == "ascending"
    assert status.text == "5 queries, sorted by KendallTau, lowest first."
    assert column(driver, 2) == ["-0.5000", "0.0000", "0.0000", "0.9091", "nan"]
    head.send_keys(Keys.SPACE)
    assert column(driver, 2) == ["0.9091", "0.0000", "0.0000", "-0.5000", "nan"]
    assert column(driver, 0)[1:3] == ["1", "100"]  # 1e-9 before 0
    button(driver, "Query").click()
    assert column(driver, 0) == ["-2", "1", "9", "10", "100"]


def test_the_tables_of_a_comparison_can_be_sorted_searched_and_compared_to_another_system(visit):
    driver = visit("comparison", 1280)
    assert driver.execute_script("return document.documentElement.scrollHeight") < 3 * 900
    driver.find_element(By.LINK_TEXT, "Table").click()
    table = "section[aria-labelledby=table] table.sortable"
    assert driver.find_element(By.CSS_SELECTOR, table).is_displayed()
    button(driver, "Difference", table).click()
    assert numbers(driver, 3, table) == sorted(numbers(driver, 3, table))
    for _ in range(2):
        button(driver, "Losses", table).click()
    assert numbers(driver, 11, table) == sorted(numbers(driver, 11, table), reverse=True)
    button(driver, "Measure", table).click()
    assert column(driver, 1, table) == ["MuAP"] * 3 + ["NDCNG@10"] * 3

    driver.execute_script(OPEN)
    values = {name: ev.per_query["MuAP"] for name, ev in systems(NAMES, 60).items()}
    for control, text in (("measure", "MuAP"), ("against", "lgbm-tuned"), ("system", "bm25")):
        select = Select(driver.find_element(By.ID, control))
        (option,) = [option for option in select.options if option.text.endswith(text)]
        select.select_by_visible_text(option.text)
    button(driver, "Query").click()
    assert column(driver, 0) == [f"q{i}" for i in range(60)]
    np.testing.assert_allclose(numbers(driver, 1), values["lgbm-tuned"], atol=0.51e-4)
    find = driver.find_element(By.ID, "find")
    find.send_keys("Q1")
    assert sorted(column(driver, 0)) == sorted(["q1", *(f"q{i}" for i in range(10, 20))])
    assert driver.find_element(By.ID, "query-status").text.startswith("11 of 60 queries")


def test_long_tables_are_drawn_in_parts_and_printing_includes_all_rows_and_sections(visit):
    driver = visit("long")
    drawn, printed, closed = driver.execute_script("""
        const counts = () => [
          document.querySelectorAll("#query-table tbody tr").length,
          document.querySelectorAll("details:not([open])").length];
        document.querySelector("#query-table button").click();
        const all = [counts()];
        for (const event of ["beforeprint", "afterprint"]) {
          window.dispatchEvent(new Event(event));
          all.push(counts());
        }
        return all;
    """)
    assert drawn[0] == 200 and drawn[1] > 0
    assert printed == [700, 0]
    assert closed == [700, drawn[1]]


# Without scripts ---------------------------------------------------------------------------------


def test_without_scripts_the_page_shows_its_summary(visit, driver):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visit("comparison")
        text = driver.find_element(By.CSS_SELECTOR, "main").text
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert "NDCNG@10" in text and "bm25" in text
    assert driver.find_elements(By.CSS_SELECTOR, ".verdict")
    assert driver.find_elements(By.CSS_SELECTOR, "#leaderboard ~ .scroll .mean-cell")
    script = "return document.querySelector('noscript').textContent"
    assert "This section needs JavaScript, which is disabled." in text or script
    assert "Find a query" not in text
