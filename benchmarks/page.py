"""How long pages take to write, how large they are, and how long a browser takes to open them.

    python benchmarks/page.py

Needs selenium, Jinja2, pandas, chromium and chromedriver. Prints a line a page: the seconds that
`to_html` takes, the size, and the median of five loads until all rows were drawn after the
navigation began.
"""

import shutil
import statistics
import tempfile
import time
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
MEASURES = ["ndcng@10", "mu_map", "rr", "p@5", "ap"]
CASES = [  # systems, queries, measures, whether all pairs are compared
    (1, 100_000, 3, False), (2, 100_000, 3, True), (5, 100_000, 3, True), (4, 1_000, 3, False),
    (20, 1_000, 5, True), (20, 100_000, 5, True),
]


def report(n_systems, n_queries, n_measures, all_pairs):
    """An Evaluation of one system, or a comparison of more, of queries of ten documents."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(n_queries), 10)
    y = rng.integers(0, 5, len(qid))
    truth = sg.Judgments(y, qid=qid)
    found = {
        f"system {i}": sg.evaluate(
            truth, y + rng.normal(scale=2 + i / 4, size=len(y)), measures=MEASURES[:n_measures]
        )
        for i in range(n_systems)
    }
    if n_systems == 1:
        return found["system 0"]
    return sg.compare(found, baseline=None if all_pairs else "system 0", test="t")


def loads(driver, url):
    """Milliseconds until all is drawn, of five loads."""
    times = []
    for _ in range(5):
        driver.get(url)
        times.append(driver.execute_async_script(DRAWN))
    return times


def main():
    """Write each page and open it again and again."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        options = webdriver.ChromeOptions()
        for flag in [*FLAGS, f"--user-data-dir={folder}/profile"]:
            options.add_argument(flag)
        driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        driver.set_script_timeout(120)
        for case in CASES:
            made = report(*case)
            start = time.perf_counter()
            made.to_html(file)
            seconds = time.perf_counter() - start
            opened = statistics.median(loads(driver, file.as_uri()))
            print(
                f"| {case[0]} | {case[1]:,} | {case[2]} | {'all pairs' if case[3] else ''} | "
                f"{seconds:.2f} s | {file.stat().st_size / 1e6:.2f} MB | {opened:.0f} ms |"
            )
        driver.quit()


if __name__ == "__main__":
    main()
