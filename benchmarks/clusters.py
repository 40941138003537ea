"""False verdicts, coverage and ranks with queries in clusters, and the outcomes of a gate.

python benchmarks/clusters.py            # about 15 minutes; --runs 200 for a quick look
"""

import argparse
import warnings

import numpy as np
from tqdm import tqdm

import skgraded as sg

TESTS = ("t", "randomization", "bootstrap")
N_QUERIES = 300


def cluster_of_queries(rng, n_clusters, is_skewed):
    """Return the cluster of each query: equal sizes, or sizes proportional to 1 / rank."""
    shares = 1 / np.arange(1, n_clusters + 1) if is_skewed else np.ones(n_clusters)
    drawn = rng.choice(n_clusters, N_QUERIES - n_clusters, p=shares / shares.sum())
    if not is_skewed:
        drawn = np.arange(N_QUERIES - n_clusters) % n_clusters
    return np.concatenate([np.arange(n_clusters), drawn])


def correlated(rng, cluster, correlation):
    """Return normal numbers with a correlation within clusters."""
    shared = rng.normal(size=cluster.max() + 1)[cluster]
    own = rng.normal(size=len(cluster))
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own


def false_verdicts(n_clusters, is_skewed, correlation, n_runs, seed):
    """Return the shares of false verdicts with and without clusters, and of intervals with 0."""
    rng = np.random.default_rng(seed)
    rejected = {(name, clustered): 0 for name in TESTS for clustered in (False, True)}
    covered = 0
    for _ in range(n_runs):
        cluster = cluster_of_queries(rng, n_clusters, is_skewed)
        base = correlated(rng, cluster, correlation)
        values = [base + 0.5 * correlated(rng, cluster, correlation) for _ in range(2)]
        for clustered in (False, True):
            clusters = cluster if clustered else None
            systems = {
                name: sg.Evaluation(np.arange(N_QUERIES), {"value": part}, clusters=clusters)
                for name, part in zip("ab", values, strict=True)
            }
            for test in TESTS:
                settings = {"test": test, "n_resamples": 999, "rng": int(rng.integers(2**31))}
                (row,) = sg.compare(systems, baseline="a", **settings).to_frame().to_dict("records")
                rejected[test, clustered] += row["p_value"] <= 0.05
        low, high = systems["a"].confidence_interval()["value"]
        covered += low <= 0 <= high
    return {key: n / n_runs for key, n in rejected.items()}, covered / n_runs


def print_false_verdicts(n_runs):
    print(
        "| clusters | sizes | correlation | t | randomization | bootstrap | t, clusters |", end=""
    )
    print(" randomization, clusters | bootstrap, clusters | coverage of a mean, clusters |")
    print("| ---: | --- | ---: |" + " ---: |" * 7)
    cases = [(n, s, c) for n in (20, 50, 200) for s in (False, True) for c in (0, 0.2, 0.8)]
    for i, (n_clusters, is_skewed, correlation) in enumerate(tqdm(cases)):
        rejected, covered = false_verdicts(n_clusters, is_skewed, correlation, n_runs, i)
        cells = [f"{100 * rejected[test, c]:.1f} %" for c in (False, True) for test in TESTS]
        sizes = "skewed" if is_skewed else "equal"
        row = [n_clusters, sizes, correlation, *cells, f"{100 * covered:.1f} %"]
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def print_outcomes(n_runs):
    """Print how often the gate fails, for values and differences like NDCG's."""
    print("\n| queries | change | worse | not worse | undecided | new < old |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for n in (45, 300):
        for change in (0.0, -0.02, -0.05):
            rng, counts = np.random.default_rng(n), dict.fromkeys(["worse", "not worse"], 0)
            n_lower = 0
            for _ in range(10 * n_runs):
                old = rng.beta(2, 2, n)
                new = old + change + rng.normal(0, 0.1, n) * (rng.random(n) < 0.6)
                systems = {
                    name: sg.Evaluation(np.arange(n), {"value": values})
                    for name, values in (("old", old), ("new", new))
                }
                comparison = sg.compare(systems, baseline="old", test=None)
                outcome = comparison.outcomes(max_loss=0.02)["outcome"][0]
                if outcome in counts:
                    counts[outcome] += 1
                n_lower += new.mean() < old.mean()
            shares = [counts["worse"], counts["not worse"], 10 * n_runs - sum(counts.values())]
            cells = [f"{10 * k / n_runs:.1f} %" for k in (*shares, n_lower)]
            print(f"| {n} | {change} | {' | '.join(cells)} |", flush=True)


def print_ranks(n_runs):
    """Print how often the limits of 12 systems' ranks contain all true ranks."""
    rng, covered, width = np.random.default_rng(0), 0, 0.0
    means = np.linspace(0, 0.11, 12)
    for _ in tqdm(range(n_runs)):
        base = rng.normal(0.5, 0.2, 200)
        systems = {
            f"s{i:02}": sg.Evaluation(
                np.arange(200), {"value": base + mean + rng.normal(0, 0.15, 200)}
            )
            for i, mean in enumerate(means)
        }
        frame = sg.compare(systems, test="t").summary().sort_values("system", ascending=False)
        ranks = np.arange(1, 13)
        covered += ((frame["rank_low"] <= ranks) & (ranks <= frame["rank_high"])).all()
        width += (frame["rank_high"] - frame["rank_low"] + 1).mean() / n_runs
    print(f"\n12 systems, 200 queries: all ranks covered {100 * covered / n_runs:.1f} %, ", end="")
    print(f"mean number of ranks {width:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    n_runs = parser.parse_args().runs
    warnings.simplefilter("ignore", UserWarning)
    print_outcomes(n_runs)
    print_ranks(n_runs)
    print_false_verdicts(n_runs)
