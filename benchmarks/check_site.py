"""The site in a real browser: links, console, layout, search, accessibility.

    python -m sphinx -W -b html docs docs/_build/html
    npm pack axe-core && tar xzf axe-core-*.tgz
    python benchmarks/check_site.py --axe package/axe.min.js --shots shots

Opens every page at 400, 1,024 and 1,280 pixels, light and dark. Prints every fault, and exits
with 1 if there is one. axe-core checks every written page and some pages of the API; violations
that it rates serious or critical are faults. Needs selenium, chromium and chromedriver; takes
minutes.
"""

import argparse
import functools
import html.parser
import http.server
import os
import re
import shutil
import sys
import tempfile
import threading
import urllib.parse
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

DOCS = Path(__file__).parents[1] / "docs"
SITE = DOCS / "_build" / "html"
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS, MODES = (400, 1024, 1280), ("light", "dark")
DESKTOP = 1024  # from this width on, the header has one row and code blocks fit
ONE_ROW = 70  # pixels; a header with two rows has 100
FOLD = 800  # pixels that a small laptop shows of the front page
SEARCHES = {
    "NDCNG": "skgraded.NDCNG.html",
    "split queries": "html",
    "ColumnTransformer": "recipes/column_transformer.html",
    "time series split": "time_splits.html",
    "LLM": "judges.html",
    "MLflow": "recipes/mlflow.html",
    "PyTerrier": "coming_from/ir_measures.html",
    "got no qid": "troubleshooting/queries.html",
}
# One API page of each kind; docstrings generate many similar pages.
API = {"skgraded.NDCNG", "skgraded.QueryRanker", "skgraded.Comparison", "skgraded.edrc_score"}
AXE = """
const done = arguments[0];
axe.run({resultTypes: ['violations'], preload: false}).then(found => done(
  found.violations.filter(one => ['serious', 'critical'].includes(one.impact)).map(
    one => `${one.id}: ${one.nodes.slice(0, 3).map(one => one.html.slice(0, 90)).join(' | ')}`)));
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without logging."""

    def log_message(self, *args):
        """Print no line per request."""


def served(folder):
    """Serve the folder until this process ends, and return the address."""
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *args: None  # the browser closed the connection early
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def opened(profile):
    """A browser that stores the messages of its console."""
    options = webdriver.ChromeOptions()
    for flag in [*FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    driver.set_script_timeout(120)  # seconds; axe-core needs at least 20 s for a long page
    return driver


def pages():
    """All pages of the site except redirects."""
    every = (path.relative_to(SITE) for path in SITE.rglob("*.html"))
    return sorted(path.as_posix() for path in every if path.parts[0] != "_static")


class Links(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, page):
        super().__init__()
        self.links, self.anchors = set(), set()
        self.feed((SITE / page).read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Store the target and the anchor of a tag."""
        found = dict(attributes)
        self.anchors |= {found.get("id"), found.get("name")}
        self.links |= {found.get("href"), found.get("src")} - {None}


def broken_links():
    """Yield each broken link within the site, with its page."""
    read = {page: Links(page) for page in pages()}
    for page, found in read.items():
        for link in found.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = os.path.normpath(Path(page).parent / urllib.parse.unquote(parts.path))
            target = Path(path).as_posix() if parts.path else page
            if not (SITE / target).is_file():
                yield f"{page}: there is no {link}"
            elif parts.fragment and target in read and parts.fragment not in read[target].anchors:
                yield f"{page}: there is no anchor {link}"


def faulty_links():
    """Pages with a link to an e-mail address, and guides without a link to the API."""
    guides = re.findall(r"(?m)^\w+$", (DOCS / "guide.md").read_text(encoding="utf-8"))
    for page in pages():
        links = Links(page).links
        for link in links:
            if link.startswith("mailto:"):
                yield f"{page}: {link} is no address"
        is_guide = page.removesuffix(".html") in guides
        if is_guide and not any("api/generated/" in link for link in links):
            yield f"{page}: no link to the API"


def is_looked_at(page):
    """Whether axe-core checks a page."""
    return "/generated/" not in page or Path(page).stem in API


def show(driver, address, width, mode):
    """Open a page with this window width and color scheme, and wait until it has loaded."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": width,
            "height": 1000,
            "deviceScaleFactor": 1,
            "mobile": False,
        },
    )
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {
            "features": [{"name": "prefers-color-scheme", "value": mode}],
        },
    )
    driver.get(address)
    WebDriverWait(driver, 20).until(
        lambda _: driver.execute_script(
            "return document.readyState == 'complete' && !document.getAnimations().length"
        )
    )


def complaints(driver):
    """Warnings and errors in the console."""
    for entry in driver.get_log("browser"):
        if entry["level"] in ("WARNING", "SEVERE"):
            yield f"console: {entry['level']} {entry['message']}"


def faults(driver, page, mode, axe):
    """Yield the faults of the open page."""
    yield from complaints(driver)
    wide = driver.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    if wide > 0:
        yield f"{wide} pixels too wide"
    if driver.execute_script("return document.documentElement.dataset.theme") != mode:
        yield f"it is not {mode}"
    if driver.execute_script("return innerWidth") >= DESKTOP:
        yield from desktop_faults(driver, page)
    for image in driver.find_elements(By.TAG_NAME, "img"):
        loading = "return arguments[0].loading != 'lazy' && !arguments[0].naturalWidth"
        if driver.execute_script(loading, image):
            yield f"no image {image.get_attribute('src')}"
    if axe and is_looked_at(page):
        driver.execute_script(axe)
        for found in driver.execute_async_script(AXE):
            yield f"axe: {found}"


LAYOUT = """
const wide = [...document.querySelectorAll('.bd-article pre')].filter(
  block => block.scrollWidth > block.clientWidth + 1);
const cards = [...document.querySelectorAll('.bd-article .cards .sd-card')].map(
  card => card.getBoundingClientRect().bottom);
return {
  header: document.querySelector('.bd-header').offsetHeight,
  wide: wide.map(block => block.textContent.trim().slice(0, 60)),
  cards: cards.length ? Math.max(...cards) : null,
};
"""


def desktop_faults(driver, page):
    """Faults in the layout on a wide screen."""
    layout = driver.execute_script(LAYOUT)
    if layout["header"] > ONE_ROW:
        yield f"the header is {layout['header']} pixels high"
    for start in layout["wide"]:
        yield f"a code block is too wide: {start}"
    if page == "index.html" and not (layout["cards"] and layout["cards"] <= FOLD):
        yield f"the cards end at {layout['cards']} pixels"


def search_faults(driver, site, words, wanted):
    """Yield the faults of the search for these words."""
    show(driver, f"{site}/search.html?q={urllib.parse.quote(words)}", 1400, "light")

    def links(_):
        return [
            one.get_attribute("href")
            for one in driver.find_elements(By.CSS_SELECTOR, "#search-results a")
        ]

    try:
        found = WebDriverWait(driver, 20).until(links)
    except TimeoutException:
        found = []
    if not any(wanted in link for link in found):
        yield f"the search for {words} does not find {wanted}, but {found[:5]}"
    yield from complaints(driver)


def main():
    """Check the site and print all faults."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--axe", type=Path, help="axe.min.js of the npm package axe-core")
    parser.add_argument("--shots", type=Path, help="a folder for pictures of the written pages")
    parser.add_argument("--only", default="", help="pages whose path has this in it")
    args = parser.parse_args()
    if not SITE.is_dir():
        parser.error(f"build the site first: {SITE} is missing")
    axe = args.axe and args.axe.read_text(encoding="utf-8")
    chosen = [page for page in pages() if args.only in page]
    broken = [*broken_links(), *faulty_links()]
    print(*broken, sep="\n", end="\n" * bool(broken))
    n_faults = len(broken)
    with tempfile.TemporaryDirectory() as profile:
        driver, site = opened(profile), served(SITE)
        for width in WIDTHS:
            for mode in MODES:
                for page in chosen:
                    show(driver, f"{site}/{page}", width, mode)
                    for fault in faults(driver, page, mode, axe):
                        n_faults += 1
                        print(f"{page}, {width}, {mode}: {fault}", flush=True)
                    if args.shots and is_looked_at(page):
                        args.shots.mkdir(exist_ok=True)
                        name = page.removesuffix(".html").replace("/", "_")
                        driver.save_screenshot(str(args.shots / f"{name}-{mode}-{width}.png"))
        for words, wanted in SEARCHES.items():
            for fault in search_faults(driver, site, words, wanted):
                n_faults += 1
                print(fault)
        driver.quit()
    looked_at = sum(map(is_looked_at, chosen)) if axe else 0
    print(f"{len(chosen)} pages, axe-core on {looked_at} of them: {n_faults} faults")
    sys.exit(n_faults > 0)


if __name__ == "__main__":
    main()
