"""Time to write report pages, their size, and the time until a browser has drawn them.

    python benchmarks/page.py

Needs selenium, Jinja2, pandas, chromium and chromedriver. Prints one line per page: the seconds of
`to_html`, the size, and the median time of five loads from navigation until all rows are drawn.
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
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
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
    (1, 100_000, 3, False),
    (2, 100_000, 3, True),
    (5, 100_000, 3, True),
    (4, 1_000, 3, False),
    (20, 1_000, 5, True),
    (20, 100_000, 5, True),
]


def report(n_systems, n_queries, n_measures, all_pairs):
    """An Evaluation of one system, or a Comparison of several; queries have ten documents."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(n_queries), 10)
    y = rng.integers(0, 5, len(qid))
    truth = sg.Judgments(y, qid=qid)
    systems = {
        f"system {i}": sg.evaluate(
            truth, y + rng.normal(scale=2 + i / 4, size=len(y)), measures=MEASURES[:n_measures]
        )
        for i in range(n_systems)
    }
    if n_systems == 1:
        return systems["system 0"]
    return sg.compare(systems, baseline=None if all_pairs else "system 0", test="t")


def load_times(driver, url):
    """Milliseconds until everything is drawn, for each of five loads."""
    times = []
    for _ in range(5):
        driver.get(url)
        times.append(driver.execute_async_script(DRAWN))
    return times


def main():
    """Write each page and open it repeatedly."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        options = webdriver.ChromeOptions()
        for flag in [*FLAGS, f"--user-data-dir={folder}/profile"]:
            options.add_argument(flag)
        driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        driver.set_script_timeout(120)
        for case in CASES:
            page = report(*case)
            start = time.perf_counter()
            page.to_html(file)
            seconds = time.perf_counter() - start
            milliseconds = statistics.median(load_times(driver, file.as_uri()))
            print(
                f"| {case[0]} | {case[1]:,} | {case[2]} | {'all pairs' if case[3] else ''} | "
                f"{seconds:.2f} s | {file.stat().st_size / 1e6:.2f} MB | {milliseconds:.0f} ms |"
            )
        driver.quit()


if __name__ == "__main__":
    main()
