"""Cross-validate three rankers, compare them query by query, and write a page and a picture.

    python examples/reports.py
    python examples/reports.py --data OHSUMED.txt.gz --page report.html --picture report.png

Prints means with intervals, what the comparison shows in plain sentences, and the queries that the
best ranker loses most at. Needs pandas, matplotlib and Jinja2. Without --data, which takes a LETOR
file, the data are generated.
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
    """Three of them; the first is what the others are compared to."""
    one_feature = make_pipeline(make_column_transformer(("passthrough", [0])), Ridge())
    trees = LGBMRanker(n_estimators=300, num_leaves=7, n_jobs=1, verbose=-1, random_state=0)
    return {
        "one feature": sg.QueryRanker(one_feature),
        "linear": sg.QueryRanker(Ridge()),
        "trees": sg.QueryRanker(trees, early_stopping=True, random_state=0),
    }


def draw(comparison, path):
    """Intervals of the differences, and the differences of one pair query by query."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    sg.IntervalDisplay.from_comparison(comparison, ax=left)
    sg.QueryDifferenceDisplay.from_comparison(comparison, system="trees", ax=right)
    save(figure, path, dpi=110)


def main():
    """Run, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="a LETOR file")
    parser.add_argument("--page", default="report.html", help="the page's file")
    parser.add_argument("--picture", default="report.png", help="the picture's file")
    args = parser.parse_args()

    if args.data:
        data = sg.datasets.read_letor(args.data)
        X, y, qid = data.X.toarray(), data.y, data.qid
    else:
        X, y, qid = sg.datasets.make_ranking(n_queries=300, random_state=0)
    found = {
        name: sg.cross_evaluate(ranker, X, y, qid=qid, measures=MEASURES, cv=5, progress=True)
        for name, ranker in rankers().items()
    }
    for name, evaluation in found.items():
        print(f"{name}\n{evaluation.summary().round(3).to_string(index=False)}\n")
    comparison = sg.compare(found, baseline="one feature", rng=0)
    print("\n".join(comparison.sentences()))
    print("\nqueries at which trees do worst")
    print(found["trees"].worst(5).round(3).to_string(index=False))

    comparison.to_html(args.page)
    draw(comparison, args.picture)
    print(f"\nthe page: {args.page}, the picture: {args.picture}")


if __name__ == "__main__":
    main()
