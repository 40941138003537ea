"""Clicks as judgments: preferences from clicks, and their scale.

python benchmarks/clicks.py preferences
python benchmarks/clicks.py scale

Logs are simulated by `make_clicks`, so the truth is known.
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

import skgraded as sg

N_POSITIONS = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["preferences", "scale"])
    {"preferences": preferences, "scale": scale}[parser.parse_args().part]()


def world(seed, n_queries=2000, n_rankers=3):
    """Grades and the scores of rankers of different quality, ten documents per query."""
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 5, size=N_POSITIONS * n_queries)
    scores = [y + rng.normal(0, 1.5, size=y.size) for _ in range(n_rankers)]
    return y, scores, np.repeat(np.arange(n_queries), N_POSITIONS)


# Preferences -------------------------------------------------------------------------------------

def preferences():
    """How EDRC from clicks orders five systems, compared with the true grades."""
    rng = np.random.RandomState(0)
    y, scores, qid = world(0, 300)
    systems = {f"noise {s}": y + rng.normal(0, s, size=y.size) for s in (0.5, 1, 2, 3, 5)}
    truth = {name: sg.evaluate(y, s, qid=qid).mean()["NDCNG@10"] for name, s in systems.items()}
    log = sg.datasets.make_clicks(y, scores, qid, n_sessions=3_000, random_state=0)
    table = {"NDCNG@10 by grades": truth}
    for rule in ("click_skip_above", "last_click_skip_above", "click_skip_previous",
                 "click_no_click_next"):
        pairs, session = sg.datasets.click_preferences(
            log.clicked, log.position, session=log.session, item=log.item, rule=rule
        )
        shown = {s: log.item[log.session == s] for s in np.unique(session)}
        table[rule] = {
            name: sg.evaluate_preferences(
                pairs, {s: dict(zip(items, values[items], strict=True))
                        for s, items in shown.items()},
                qid=session, cycles="unknown", items="judged",
            ).mean()["EDRC"]
            for name, values in systems.items()
        }
    frame = pd.DataFrame(table)
    frame.loc["Kendall's τ with the grades"] = [
        kendalltau(column, frame["NDCNG@10 by grades"]).statistic for _, column in frame.items()
    ]
    print(frame.round(3).to_markdown())


# Scale -------------------------------------------------------------------------------------------

def scale():
    """CPU time and memory for 10 million rows, against the same group-by in polars."""
    import polars as pl

    y, scores, qid = world(0, 20_000)
    log = sg.datasets.make_clicks(y, scores, qid, 1_000_000, random_state=0)
    frame = pl.DataFrame({
        name: log[name] for name in ("session", "qid", "item", "position", "clicked")
    })
    del log

    def seconds(function):
        start = time.process_time()
        function()
        return time.process_time() - start

    times = {
        "polars, group_by(session) sorted by position": seconds(lambda: frame.group_by(
            "session", maintain_order=True).agg(pl.col("item", "clicked").sort_by("position"))),
        "click_preferences": seconds(lambda: sg.datasets.click_preferences(
            "clicked", "position", session="session", item="item", data=frame)),
    }
    for name, cpu in times.items():
        print(f"| {name} | {cpu:.2f} s |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory: {peak:.2f} GB for {len(frame):,} rows")


if __name__ == "__main__":
    main()
