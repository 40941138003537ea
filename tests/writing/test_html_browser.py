"""The pages in a real browser, a headless Chromium driven by selenium, and what axe-core finds."""

import base64
from importlib.resources import files
from importlib.util import find_spec

import numpy as np
import pytest
from browser import look, show, skip_without_browser, started
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait
from small_reports import HOSTILE, cross_evaluation, evaluation, systems

import skgraded as sg

skip_without_browser()

NAMES = ["bm25", "lgbm", "lgbm-tuned", "a system of a rather long name that has to be broken"]

# The systems of the page "comparison", the best first, and their texts in lists and headings.
MEANS = {
    name: ev.mean()["NDCNG@10"] for name, ev in systems(NAMES, 60).items()
}
RANKED = sorted(NAMES, key=MEANS.get, reverse=True)
LETTERED = {name: f"{letter} {name}" for letter, name in zip("abcd", RANKED, strict=True)}
BEST = next(name for name in RANKED if name != "bm25")

# Rectangles of all texts that are to be seen, cut to the containers that scroll. A line's own
# rectangle is taller than its letters, by a fifth of it above and below.
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

# Contrast by WCAG 2 of each text that is to be seen with the colour that lies behind it.
CONTRASTS = """
const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => {
  const [r, g, b] = parts(colour).map(
    (x) => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  const colour = getComputedStyle(element).backgroundColor;
  return parts(colour)[3] === 0 ? behind(element.parentElement) : colour;
};
const found = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!own || !element.checkVisibility() || element.closest("script, style, option")) continue;
  const [a, b] = [light(getComputedStyle(element).color), light(behind(element))];
  found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.textContent]);
}
return found;
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
    compared = sg.compare(systems(NAMES, 60), baseline="bm25", n_resamples=199, rng=0)
    hostile = systems(["<b>", HOSTILE[0]], len(HOSTILE), measures=HOSTILE[:2], query_ids=HOSTILE)
    pairs = sg.compare(systems(NAMES[1:], 20), test=None, n_resamples=199, rng=0)
    thousand = sg.compare(
        systems(NAMES, 1000, ["NDCNG@10", "MuAP", "RR"]), baseline="bm25", test="t", n_resamples=199
    )
    many = systems([*NAMES, *(f"run-{i}" for i in range(16))], 40)
    twenty = sg.compare(many, test="t")
    five = systems([*NAMES, "run-0"], 30)
    undefined = np.array([False, True, False, False, True])
    html = {
        "evaluation": evaluation(
            {"AP": [0.5, 0, 1, 0.25, 0], "KendallTau": [-0.5, np.nan, 10 / 11, 0, 1e-9]},
            [10, 9, -2, 100, 1], {"AP": undefined},
        ).to_html(),
        "cross": cross_evaluation([None, "ValueError: no query", None]).to_html(),
        "comparison": compared.to_html(),
        "pairs": pairs.to_html(),
        "paper": systems(["a"], 300, ["AP"])["a"].to_html(),
        "hostile": sg.compare(hostile, n_resamples=199, rng=0).to_html(),
        "thousand": thousand.to_html(),
        "twenty": twenty.to_html(),
        "segments": five["lgbm"].to_html(by=["long", "short"] * 15),
        "summary": sg.Summary.of(five["lgbm"]).to_html(),
        "summaries": sg.compare(sg.Summaries.of(five), test="t").to_html(),
        "fragment": "<!DOCTYPE html><html lang=en><title>Notebook</title><main><h1>Notebook</h1>"
        f"{sg.compare(five, test='t')._repr_html_()}</main></html>",
    }
    folder = tmp_path_factory.mktemp("pages")
    for name, text in html.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in html}


@pytest.fixture
def visit(driver, pages):
    """Open a page and its folded sections; afterwards see that nothing was logged."""

    def visit(name, width=1400, media="screen", *, is_folded=False, **features):
        show(driver, pages[name], width, media, **features)
        if not is_folded:
            driver.execute_script(
                "for (const details of document.querySelectorAll('details')) details.open = true"
            )
        return driver

    yield visit
    assert driver.get_log("browser") == []
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert driver.execute_script("return window.broken") is None


def column(driver, i, table="#query-table"):
    """Texts of a column, without the mark of undefined queries."""
    script = f"return [...document.querySelectorAll('{table} tbody tr')].map(r => r.cells[{i}]"
    texts = driver.execute_script(script + ".textContent)")
    return [text.replace("−", "-").removeprefix("†\u00a0") for text in texts]


def numbers(driver, i, table="#query-table"):
    return [float(text) for text in column(driver, i, table)]


def button(driver, text, table="#query-table"):
    buttons = driver.find_elements(By.CSS_SELECTOR, f"{table} thead button")
    return next(found for found in buttons if found.text == text)


def overlaps(driver):
    """Pairs of texts of which one lies on another."""
    boxes = sorted(driver.execute_script(TEXTS), key=lambda box: box["top"])
    assert len(boxes) > 20
    found = []
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            if b["top"] >= a["bottom"]:
                break
            if a["left"] < b["right"] and b["left"] < a["right"]:
                found.append((a["text"], b["text"]))
    return found


# Looks -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", [
    "evaluation", "cross", "comparison", "pairs", "hostile", "twenty",
])
def test_no_text_overlaps_and_the_page_does_not_scroll_sideways(visit, name):
    for width in (400, 1400):
        for is_folded in (True, False):
            driver = visit(name, width, is_folded=is_folded)
            assert overlaps(driver) == []
            sizes = "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
            needed, given = driver.execute_script(sizes)
            assert needed <= given <= driver.execute_script("return window.innerWidth") == width


@pytest.mark.parametrize("name", [
    "evaluation", "cross", "comparison", "pairs", "twenty", "segments", "summaries",
])
def test_nothing_is_cut_off_on_narrow_and_usual_screens(visit, name):
    """Only the table of queries may be wider than its container."""
    for width in (400, 1280):
        driver = visit(name, width)
        wide = driver.execute_script(
            "return [...document.querySelectorAll('.scroll')]"
            ".filter(box => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1)"
            ".map(box => box.getAttribute('aria-labelledby'))"
        )
        assert set(wide) <= {"query-caption"}


def test_a_page_of_four_systems_fits_three_screens_and_links_open_sections(visit):
    driver = visit("comparison", 1280, is_folded=True)
    assert driver.execute_script("return document.documentElement.scrollHeight") < 3 * 900
    verdict, board = (driver.find_element(By.CSS_SELECTOR, css) for css in (".verdict", ".reach"))
    assert " by NDCNG@10; " in verdict.text and verdict.location["y"] < 200
    assert board.location["y"] < 500
    table = driver.find_element(By.CSS_SELECTOR, "section[aria-labelledby=table] table")
    assert not table.is_displayed()
    driver.find_element(By.LINK_TEXT, "Table").click()
    assert table.is_displayed()


def test_values_are_aligned_at_the_decimal_point(visit):
    for width in (400, 1280):
        driver = visit("pairs", width)
        right = driver.execute_script(
            "return [...document.querySelectorAll('tbody .mean-cell')]"
            ".map(cell => cell.firstElementChild.getBoundingClientRect().right)"
        )
        assert len(right) == 3 * 2 and len({round(x) for x in right}) == 2  # one per measure


def test_an_overlap_would_be_found(visit):
    driver = visit("evaluation")
    driver.execute_script(
        "const p = document.createElement('p'); p.textContent = 'in the way';"
        "const h = document.querySelector('h1').getBoundingClientRect();"
        "p.style = `position: absolute; margin: 0; left: ${h.left}px; top: ${h.top}px`;"
        "document.body.append(p)"
    )
    assert [set(pair) for pair in overlaps(driver)] == [{"in the way", "Evaluation"}]


@pytest.mark.parametrize("name", ["cross", "comparison", "twenty"])
def test_texts_can_be_read_in_light_and_dark(visit, name):
    driver = visit(name, color_scheme="light")
    for scheme in ("light", "dark"):
        look(driver, color_scheme=scheme)
        found = driver.execute_script(CONTRASTS)
        assert len(found) > 50
        assert [text for contrast, text in found if contrast < 4.5] == []
        paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (max(map(int, paper[4:-1].split(","))) < 64) == (scheme == "dark")


def test_a_wide_table_scrolls_in_its_own_container_and_by_keyboard(visit):
    driver = visit("comparison", 800)
    scroll = driver.find_element(By.CSS_SELECTOR, ".tall")
    assert driver.execute_script(
        "arguments[0].focus();"
        "return arguments[0].scrollWidth > arguments[0].clientWidth"
        " && document.activeElement === arguments[0]", scroll,
    )
    assert scroll.accessible_name == "Values and differences per query"


def test_the_first_column_stays_where_a_table_is_scrolled(visit):
    driver = visit("twenty", 400)
    for scroll in driver.find_elements(By.CSS_SELECTOR, ".scroll"):
        if not scroll.is_displayed():
            continue
        places = driver.execute_script(
            "const scroll = arguments[0], cell = scroll.querySelector('tbody th');"
            "const place = () => cell.getBoundingClientRect().left;"
            "scroll.scrollLeft = 0; const before = place(); scroll.scrollLeft = 150;"
            "return [before, place(), scroll.scrollLeft, scroll.scrollWidth - scroll.clientWidth]",
            scroll,
        )
        assert abs(places[0] - places[1]) < 1
        assert places[2] == min(150, places[3])


@pytest.mark.parametrize("name", ["evaluation", "comparison"])
def test_no_mark_hides_the_ends_of_its_interval(visit, name):
    driver = visit(name)
    found = driver.execute_script(
        "return [...document.querySelectorAll('svg.strip')].map(strip => {"
        "  const mark = strip.querySelector('circle'); const box = mark.getBoundingClientRect();"
        "  return [...strip.querySelectorAll('.range')].filter(line => "
        "    line.getAttribute('x1') === line.getAttribute('x2')).map(line => {"
        "      const end = line.getBoundingClientRect();"
        "      return [end.top < box.top - 1, end.bottom > box.bottom + 1] }) })"
    )
    assert len(found) > 1
    for ends in found:
        assert ends == [[True, True]] * 2 or ends == []


def test_focus_can_be_seen(visit):
    driver = visit("evaluation")
    html = driver.find_element(By.CSS_SELECTOR, "body")
    names = []
    for _ in range(5):
        html.send_keys(Keys.TAB)
        focused = driver.switch_to.active_element
        names.append(focused.text)
        assert focused.value_of_css_property("outline-style") == "solid"
    assert names[:4] == ["Skip to the content", "Summary", "Values", "Queries"]


def test_motion_is_left_out_where_it_is_not_wanted(visit):
    script = "return getComputedStyle(document.documentElement).scrollBehavior"
    assert visit("evaluation", reduced_motion="").execute_script(script) == "smooth"
    assert visit("evaluation", reduced_motion="reduce").execute_script(script) == "auto"


# Sorting and finding -----------------------------------------------------------------------------

def test_keys_sort_queries_by_number_and_the_page_says_what_was_done(visit):
    driver = visit("evaluation")
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
    assert cell.get_attribute("aria-sort") == "descending"
    assert status.text == "5 queries, sorted by KendallTau, highest first."
    assert column(driver, 2) == ["0.9091", "0.0000", "0.0000", "-0.5000", "nan"]
    assert column(driver, 0)[1:3] == ["1", "100"]  # 1e-9 before 0
    assert status.aria_role == "status"
    assert len(driver.find_elements(By.CSS_SELECTOR, "#query-table [aria-sort]")) == 1
    button(driver, "Query").click()
    assert column(driver, 0) == ["-2", "1", "9", "10", "100"]


def test_the_tables_of_the_summary_are_sorted_too(visit):
    driver = visit("comparison")
    table = "section[aria-labelledby=table] table.sortable"
    before = column(driver, 3, table)
    button(driver, "Difference", table).click()
    assert numbers(driver, 4, table) == sorted(numbers(driver, 4, table))
    button(driver, "Losses", table).click()
    button(driver, "Losses", table).click()
    assert numbers(driver, 10, table) == sorted(numbers(driver, 10, table), reverse=True)
    button(driver, "Measure", table).click()
    assert column(driver, 1, table) == ["MuAP"] * 3 + ["NDCNG@10"] * 3
    said = driver.find_element(By.ID, "announcement").get_attribute("textContent")
    assert said == "Sorted by Measure, first to last"
    assert sorted(column(driver, 3, table)) == sorted(before)


def test_a_query_is_found_by_a_part_of_its_name(visit):
    driver = visit("comparison")
    find = driver.find_element(By.ID, "find")
    find.send_keys("Q1")
    assert sorted(column(driver, 0)) == sorted(["q1", *(f"q{i}" for i in range(10, 20))])
    status = driver.find_element(By.ID, "query-status")
    assert status.text == f"11 of 60 queries, sorted by {BEST} − bm25, lowest first."
    find.send_keys("nowhere" + Keys.ENTER)
    assert column(driver, 0) == []
    assert status.text.startswith("0 of 60 queries")
    find.send_keys(Keys.CONTROL + "a", Keys.BACKSPACE)
    assert len(column(driver, 0)) == 60
    assert find.accessible_name == "Find a query"


def test_differences_are_against_the_chosen_baseline_by_the_chosen_measure(visit):
    driver = visit("comparison")
    values = {name: ev.per_query["MuAP"] for name, ev in systems(NAMES, 60).items()}
    Select(driver.find_element(By.ID, "measure")).select_by_visible_text("MuAP")
    against = Select(driver.find_element(By.ID, "against"))
    against.select_by_visible_text(LETTERED["lgbm-tuned"])
    button(driver, "Query").click()
    assert column(driver, 0) == [f"q{i}" for i in range(60)]
    heads = driver.find_elements(By.CSS_SELECTOR, "#query-table th[scope=colgroup]")
    others = [name for name in RANKED if name != "lgbm-tuned"]
    assert [head.text for head in heads] == [LETTERED[name] for name in others]
    np.testing.assert_allclose(numbers(driver, 1), values["lgbm-tuned"], atol=0.51e-4)
    np.testing.assert_allclose(numbers(driver, 2), values[others[0]], atol=0.51e-4)
    differences = values[others[0]] - values["lgbm-tuned"]
    np.testing.assert_allclose(numbers(driver, 3), differences, atol=0.51e-4)


def test_bars_show_wins_to_the_right_of_the_middle_and_losses_to_the_left(visit):
    driver = visit("comparison")
    bars = driver.execute_script(
        "return [...document.querySelectorAll('#query-table tbody td:nth-child(4)')].map(c => "
        "[c.textContent, c.className, c.style.getPropertyValue('--from'),"
        " c.style.getPropertyValue('--to')])"
    )
    assert len(bars) == 60
    for text, names, start, end in bars:
        if text.startswith("+"):
            assert "win" in names and float(start) == 0.5 <= float(end) <= 1
        elif text.startswith("−"):
            assert "loss" in names and 0 <= float(start) <= 0.5 == float(end)
    assert min(float(start) for *_, start, _ in bars) < 0.2


# The scatter ------------------------------------------------------------------------------------

def test_every_query_is_a_point_of_the_scatter_that_tells_its_values(visit):
    values = {name: ev.per_query["NDCNG@10"] for name, ev in systems(NAMES, 60).items()}
    pairs = {f"q{i}": (values[BEST][i], values["bm25"][i]) for i in range(60)}
    ranked = sorted(pairs, key=lambda query: pairs[query][1] - pairs[query][0])  # by the wins
    driver = visit("comparison")
    points = driver.execute_script(
        "return [...document.querySelectorAll('#cloud .dot')]"
        ".map(dot => ['cx', 'cy'].map(name => Number(dot.getAttribute(name))))"
    )
    assert len(points) == 60
    # The axis reaches from the first to the last of its numbers.
    low, high = (float(driver.execute_script(
        f"return document.querySelector('#cloud-ticks :{end}-child').textContent"
    )) for end in ("first", "last"))
    places = [[100 * (b - low) / (high - low), 100 * (high - a) / (high - low)]
              for a, b in map(pairs.get, ranked)]
    np.testing.assert_allclose(points, places, atol=0.02)
    assert driver.find_element(By.ID, "cloud-name").text == "bm25 →"
    assert driver.find_element(By.ID, "cloud-caption").text.startswith(
        f"{BEST} (vertical) against bm25 (horizontal) by NDCNG@10"
    )

    def text(query):
        a, b = pairs[query]
        sign = "+" if a > b else "−"
        return f"{query}: {BEST} {a:.4f}, bm25 {b:.4f}, difference {sign}{abs(a - b):.4f}"

    # by keys and by pointer
    cloud, said = (driver.find_element(By.ID, name) for name in ("cloud", "cloud-query"))
    cloud.send_keys(Keys.HOME)
    assert said.text == cloud.get_attribute("aria-valuetext") == text(ranked[0])
    cloud.send_keys(Keys.ARROW_RIGHT)
    assert said.text == text(ranked[1])
    cloud.send_keys(Keys.END, Keys.ARROW_RIGHT)
    assert said.text == text(ranked[-1])
    assert cloud.get_attribute("aria-valuenow") == cloud.get_attribute("aria-valuemax") == "60"
    points = np.array(points)
    gaps = np.hypot(*(points[:, None] - points).transpose(2, 0, 1)) + 100 * np.eye(60)
    alone = int(gaps.min(axis=1).argmax())  # the one that is farthest from all others
    width, height = cloud.size["width"], cloud.size["height"]
    x, y = points[alone] / 100
    ActionChains(driver).move_to_element_with_offset(
        cloud, round((x - 0.5) * width), round((y - 0.5) * height)
    ).perform()
    assert said.text == text(ranked[alone])


def test_the_scatter_follows_the_choice_and_two_systems_are_never_the_same(visit):
    driver = visit("comparison")
    measure, system, against = (
        Select(driver.find_element(By.ID, name)) for name in ("measure", "system", "against")
    )
    caption = driver.find_element(By.ID, "cloud-caption")
    measure.select_by_visible_text("MuAP")
    system.select_by_visible_text(LETTERED["lgbm-tuned"])
    assert caption.text.startswith("lgbm-tuned (vertical) against bm25 (horizontal) by MuAP")
    against.select_by_visible_text(LETTERED["lgbm-tuned"])
    assert system.first_selected_option.text == LETTERED["bm25"]
    assert caption.text.startswith("bm25 (vertical) against lgbm-tuned (horizontal) by MuAP")
    driver.find_element(By.ID, "find").send_keys("q12")
    assert driver.execute_script("return document.querySelectorAll('.dot:not(.pale)').length") == 1
    # of many systems the table of queries shows the chosen two
    driver = visit("twenty")
    heads = driver.find_elements(By.CSS_SELECTOR, "#query-table th[scope=colgroup]")
    system = Select(driver.find_element(By.ID, "system"))
    assert [head.text for head in heads] == [system.first_selected_option.text]
    WebDriverWait(driver, 20).until(expected_conditions.element_to_be_clickable((By.ID, "system")))
    system.select_by_value("15")
    heads = driver.find_elements(By.CSS_SELECTOR, "#query-table th[scope=colgroup]")
    assert [head.text for head in heads] == [system.first_selected_option.text]
    assert heads[0].text.startswith("p ")


# Names, scripts, paper, speed, notebooks ---------------------------------------------------------

def test_names_are_shown_and_never_run(visit):
    driver = visit("hostile")
    button(driver, "Query").click()
    shown = set(column(driver, 0))
    for name in HOSTILE:
        text = "('de', 7, 8)" if isinstance(name, tuple) else str(name)
        assert text.replace("\udc80", "\\udc80") in shown
    group = driver.find_element(By.CSS_SELECTOR, "th[scope=colgroup]").text
    assert group in (f"a {HOSTILE[0]}", "a <b>")
    assert driver.find_elements(By.CSS_SELECTOR, "img, td b, th b") == []


def test_without_scripts_the_summary_is_there(visit, driver):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visit("comparison")
        text = driver.find_element(By.CSS_SELECTOR, "main").text
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert " is better than " in text or " do not differ significantly " in text
    assert driver.find_elements(By.CSS_SELECTOR, "#leaderboard ~ .scroll .reach")
    script = "return document.querySelector('noscript').textContent"
    assert "This section needs JavaScript, which is disabled." in text or script
    assert "Find a query" not in text


def test_on_paper_tables_are_whole_and_controls_are_gone(visit):
    driver = visit("paper", media="print", color_scheme="dark")
    assert not driver.find_element(By.ID, "find").is_displayed()
    for scroll in driver.find_elements(By.CSS_SELECTOR, ".scroll"):
        assert scroll.value_of_css_property("overflow") == "visible"
        assert scroll.value_of_css_property("max-height") == "none"
    paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") > 300 / 60  # all 300 rows, not the one screen of them


def test_all_rows_of_four_systems_and_a_thousand_queries_are_drawn(visit):
    driver = visit("thousand")
    driver.execute_async_script(
        "const done = arguments[0];"
        "const look = () => performance.getEntriesByName('queries-drawn').length ? done()"
        " : setTimeout(look, 10); look()"
    )
    assert len(column(driver, 0)) == 1000


def test_a_fragment_changes_nothing_of_the_notebook_around_it(visit, driver):
    visit("evaluation")
    cmp = sg.compare(systems(NAMES, 20), baseline="bm25", n_resamples=199, rng=0)
    notebook = (
        "<style>table { border: 3px solid red } td { color: green }</style>"
        "<h1>Notebook</h1><p class='text'>Text</p><details><summary>More</summary></details>"
        "<table><caption>Own</caption><tr><th>a</th><td>b</td></tr></table>"
    )
    styles = (
        "document.documentElement.innerHTML = '<head></head><body>' + arguments[0] + '</body>';"
        "return [...document.querySelectorAll('body, body > *')]"
        ".filter(e => !e.matches('.skgraded-report, style'))"
        ".flatMap(e => e === document.body ? [e] : [e, ...e.querySelectorAll('*')])"
        ".map(e => [e.tagName, [...getComputedStyle(e)].filter(p => !/size|height|origin/.test(p))"
        ".map(p => getComputedStyle(e)[p])])"
    )
    before = driver.execute_script(styles, notebook)
    added = cmp._repr_html_() + cross_evaluation()._repr_html_()
    assert driver.execute_script(styles, notebook + added) == before
    assert len(driver.find_elements(By.CSS_SELECTOR, ".skgraded-report table")) == 5
    for box in driver.find_elements(By.CSS_SELECTOR, ".skgraded-scroll"):
        assert (box.get_attribute("role"), box.get_attribute("tabindex")) == ("region", "0")
        caption = box.find_element(By.CSS_SELECTOR, "caption").get_attribute("textContent")
        assert box.get_attribute("aria-label") == caption
    cell = driver.find_element(By.CSS_SELECTOR, ".skgraded-report td")
    around = driver.find_element(By.TAG_NAME, "body").value_of_css_property("color")
    assert cell.value_of_css_property("color") == around


# Axe ---------------------------------------------------------------------------------------------

# All is opened; of long tables and lists, whose rows are alike, axe looks at four.
SHORTEN = """
for (const one of document.querySelectorAll("details")) one.open = true;
const rows = "tbody tr:nth-child(n+4):not(:last-child), li:nth-child(n+4):not(:last-child)";
for (const one of document.querySelectorAll(rows)) one.remove();
"""
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
  (found) => done(found.violations), (error) => done([{id: String(error), impact: "serious"}]));
"""
PAGES_OF_AXE = [
    "segments", "cross", "comparison", "pairs", "twenty", "summary", "summaries", "fragment",
]


def findings(driver):
    """What axe-core finds to be serious or critical: rule and element."""
    if find_spec("selenium_axe_python") is None:
        pytest.skip("NO PAGE WAS SHOWN TO AXE: pip install selenium-axe-python")
    script = files("selenium_axe_python").joinpath("axe-core", "axe.min.js")
    driver.execute_script(SHORTEN + script.read_text(encoding="utf-8"))
    return [
        (found["id"], node["html"][:200])
        for found in driver.execute_async_script(RUN) if found["impact"] in ("serious", "critical")
        for node in found.get("nodes", [{"html": ""}])
    ]


# Each page is shown in one of both looks, and nightly in the other.
@pytest.mark.parametrize("name, width, scheme", [
    pytest.param(name, *looks, marks=[pytest.mark.nightly] if (i + j) % 2 else [])
    for i, name in enumerate(PAGES_OF_AXE)
    for j, looks in enumerate([(400, "dark"), (1400, "light")])
])
def test_axe_finds_nothing_serious(visit, name, width, scheme):
    assert findings(visit(name, width, color_scheme=scheme)) == []


def test_axe_would_find_what_is_serious(visit):
    driver = visit("comparison")
    driver.execute_script(
        "const p = document.createElement('p'); p.textContent = 'pale'; p.style.color = '#ddd';"
        "document.querySelector('main').append(p);"
        "document.querySelector('#find').labels[0].remove()"
    )
    assert {rule for rule, _ in findings(driver)} >= {"color-contrast", "label"}
