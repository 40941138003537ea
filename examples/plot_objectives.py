"""Train on what is measured, and on what the library has: where it matters, and where it does not.

    python examples/plot_objectives.py --picture objectives.png

Three generated sets of queries, each trained both ways and compared query by query, out of fold:

- plain: the better documents are those of higher grade. There is nothing to gain.
- conflict: what is relevant and what is excellent depend on different features.
- real: grades are positive numbers on a scale that differs by query, as prices are. LightGBM's
  lambdarank cannot train on them as they are; without an objective, least squares is what is left.

Prints the means and differences with intervals of 95 %, and draws the latter. Needs matplotlib.
"""

import argparse

import numpy as np
from lightgbm import LGBMRanker, LGBMRegressor
from matplotlib.figure import Figure

import skgraded as sg
from skgraded.lightgbm import objective

SETTINGS = {
    "n_estimators": 60, "learning_rate": 0.1, "num_leaves": 7, "n_jobs": 1, "verbose": -1,
    "random_state": 0,
}
MEASURE = "ndcng"


def plain(n_queries):
    """Whole grades."""
    return sg.datasets.make_ranking(n_queries, random_state=0)


def conflict(n_queries):
    """Grades 0, 1 and 4: one feature tells what is relevant, another what is excellent."""
    X, _, qid = sg.datasets.make_ranking(n_queries, random_state=1)
    noise = np.random.default_rng(1).normal(size=(2, len(qid)))
    relevant = X[:, 0] + noise[0] > 0.3
    excellent = X[:, 1] - 0.7 * X[:, 0] + noise[1] > 1.0
    return X, relevant + 3.0 * (relevant & excellent), qid


def real(n_queries):
    """Real grades on a scale of the query's own."""
    X, y, qid = sg.datasets.make_ranking(n_queries, random_state=2)
    rng = np.random.default_rng(2)
    scale = np.exp(rng.normal(size=n_queries))[qid]
    return X, scale * np.exp(0.6 * y + 0.4 * rng.normal(size=len(y))), qid


def compared(data, other):
    """Mean of a ranker, and the row of its comparison with one trained on the measure."""
    X, y, qid = data
    rankers = {
        "other": sg.QueryRanker(other),
        "matched": sg.QueryRanker(LGBMRanker(objective=objective(MEASURE), **SETTINGS)),
    }
    found = {
        name: sg.cross_evaluate(ranker, X, y, qid=qid, measures=[MEASURE], cv=5)
        for name, ranker in rankers.items()
    }
    frame = sg.compare(found, baseline="other", rng=0).to_frame()
    return found["other"].mean()[sg.measure(MEASURE).name], frame.iloc[-1]


def draw(rows, path):
    """The differences with their intervals."""
    figure = Figure(figsize=(7, 2.5), layout="constrained")
    axes = figure.subplots()
    for at, (_, row) in enumerate(rows):
        ends = [[row.difference - row.ci_low], [row.ci_high - row.difference]]
        axes.errorbar(row.difference, -at, xerr=ends, fmt="o", color="C0", capsize=3)
    axes.set_yticks([-at for at in range(len(rows))], [name for name, _ in rows])
    axes.axvline(0, color="0.5", linewidth=1)
    axes.set_xlabel("NDCNG that an objective made of it has more")
    figure.savefig(path, dpi=110)


def main():
    """Run, print and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--picture", default="objectives.png", help="the picture's file")
    args = parser.parse_args()
    pairs = {
        "plain, beside lambdarank": (plain, LGBMRanker(**SETTINGS)),
        "conflict, beside lambdarank": (conflict, LGBMRanker(**SETTINGS)),
        "real, beside least squares": (real, LGBMRegressor(**SETTINGS)),
    }
    rows = []
    for name, (make, other) in pairs.items():
        mean, row = compared(make(args.queries), other)
        rows.append((name, row))
        print(f"{name:<28} {mean:.3f}  matched {row['mean']:.3f}  "
              f"{row.difference:+.3f} [{row.ci_low:+.3f}, {row.ci_high:+.3f}]")
    draw(rows, args.picture)
    print("\nWhere an interval holds 0, nothing was shown: take what the library has.")
    print(f"the picture: {args.picture}")


if __name__ == "__main__":
    main()
