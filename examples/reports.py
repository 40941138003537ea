"""Cross-validate three rankers, compare their per-query values, and write a report and a figure.

    python examples/reports.py
    python examples/reports.py --data OHSUMED.txt.gz --page report.html --picture report.png

The script prints means with intervals, the comparison in sentences, and the worst queries of the
ranker "trees". Requires pandas, matplotlib and Jinja2. --data accepts a LETOR file; without it, the
data is generated.
"""

import argparse

from lightgbm import LGBMRanker
from matplotlib.figure import Figure
from saving import save
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import skgraded as sg

MEASURES = ["ndcng@10", "mu_map"]


def rankers():
    """Return three rankers; the first is the baseline."""
    one_feature = make_pipeline(make_column_transformer(("passthrough", [0])), Ridge())
    trees = LGBMRanker(n_estimators=300, num_leaves=7, n_jobs=1, verbose=-1, random_state=0)
    return {
        "one feature": sg.QueryRanker(one_feature),
        "linear": sg.QueryRanker(Ridge()),
        "trees": sg.QueryRanker(trees, early_stopping=5, random_state=0),
    }


def draw(comparison, path):
    """Draw intervals of the differences, and the per-query differences of one pair."""
    figure = Figure(figsize=(13, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    sg.IntervalDisplay.from_comparison(comparison, ax=left)
    sg.QueryDifferenceDisplay.from_comparison(comparison, system="trees", ax=right)
    save(figure, path, dpi=110)


def main():
    """Compare the rankers, print the results, and write the report and the figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="a LETOR file")
    parser.add_argument("--page", default="report.html", help="file of the report")
    parser.add_argument("--picture", default="report.png", help="file of the figure")
    args = parser.parse_args()

    if args.data:
        data = sg.datasets.read_letor(args.data)
        X, y, qid = data.X.toarray(), data.y, data.qid
    else:
        X, y, qid = sg.datasets.make_ranking(n_queries=300, random_state=0)
    evaluations = {
        name: sg.cross_evaluate(ranker, X, y, qid=qid, measures=MEASURES, cv=5, progress=True)
        for name, ranker in rankers().items()
    }
    for name, evaluation in evaluations.items():
        print(f"{name}\n{evaluation.summary().round(3).to_string(index=False)}\n")
    comparison = sg.compare(evaluations, baseline="one feature", rng=0)
    print("\n".join(comparison.sentences()))
    print("\nthe worst queries of trees")
    print(evaluations["trees"].worst(5).round(3).to_string(index=False))

    comparison.to_html(args.page)
    draw(comparison, args.picture)
    print(f"\nreport saved to {args.page}, figure saved to {args.picture}")


if __name__ == "__main__":
    main()
