"""How long a browser takes to open the page of four systems over a thousand queries.

    python benchmarks/page.py

Needs selenium, Jinja2, pandas, chromium and chromedriver. Prints the size of the page and, of
eleven loads, when all rows were drawn after the navigation began.
"""

import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import skgraded as sg

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]
DRAWN = """
const done = arguments[0];
const look = () => performance.getEntriesByName('queries-drawn').length
  ? done(Math.max(performance.getEntriesByName('queries-drawn')[0].startTime,
                  performance.getEntriesByType('navigation')[0].loadEventEnd))
  : setTimeout(look, 10);
look();
"""


def page():
    """The comparison of four systems over 1,000 queries by three measures."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(1000), 20)
    y = rng.integers(0, 5, len(qid))
    found = {
        f"system {i}": sg.evaluate(
            y, y + rng.normal(scale=2 + i / 4, size=len(y)), qid=qid,
            measures=["ndcng@10", "mu_map", "rr"],
        )
        for i in range(4)
    }
    return sg.compare(found, baseline="system 0", rng=0).to_html()


def main():
    """Open it again and again."""
    html = page()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(html, encoding="utf-8")
        options = webdriver.ChromeOptions()
        for flag in [*FLAGS, f"--user-data-dir={folder}/profile"]:
            options.add_argument(flag)
        driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        times = []
        for _ in range(11):
            driver.get(file.as_uri())
            times.append(driver.execute_async_script(DRAWN))
        driver.quit()
    print(
        f"{len(html.encode()):,} bytes; all rows drawn after {min(times):.0f} to {max(times):.0f} "
        f"ms, median {statistics.median(times):.0f}; at most 1,000,000 bytes and 1000 ms"
    )


if __name__ == "__main__":
    main()
