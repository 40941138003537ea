"""Compare eight retrieval strategies on OHSUMED, judged by experts and by two of the strategies.

    python examples/ohsumed.py --data OHSUMED.txt.gz
    python examples/ohsumed.py --data OHSUMED.txt.gz --output ohsumed.png

This script repeats figures 6, 7 and 8 of Scheel, Lommatzsch, Albayrak, "Performance Measures for
Multi-Graded Relevance" (2011). The data file contains the entire OHSUMED collection of LETOR 2.0
with 106 queries and 25 features. Each feature is a strategy that ranks the documents. Figure 6
compares eight strategies with the grades 0, 1 and 2 from experts. In figure 7, the scores of
strategy 1 serve as grades with 9 levels; in figure 8, the scores of strategy 9 serve as grades with
1126 levels (158 in the paper), although both strategies rank almost identically. Strategy 22 is the
logarithm of strategy 21, so both have the same values. Each value is the mean over all orders of
tied documents.
"""

import argparse
import dataclasses

import matplotlib

matplotlib.use("Agg")  # writing a figure to a file requires no display

import matplotlib.pyplot as plt
import numpy as np
from saving import save

import skgraded as sg

STRATEGIES = {
    1: "TF of title",
    5: "IDF of title",
    9: "TF-IDF of title",
    11: "TF of abstract",
    15: "IDF of abstract",
    19: "TF-IDF of abstract",
    21: "BM25",
    22: "log of BM25",
}
# The colors of Okabe and Ito are safe for color-blind readers. Strategies 5 and 15 have the same
# values, as have 21 and 22: the second strategy of each pair is drawn over the first strategy.
LOOKS = {
    1: ("#000000", "o", "-"),
    5: ("#E69F00", "s", "-"),
    9: ("#0072B2", "D", "-"),
    11: ("#009E73", "^", "--"),
    15: ("#000000", "x", ":"),
    19: ("#CC79A7", "v", "-."),
    21: ("#56B4E9", "P", "-"),
    22: ("#D55E00", "+", ":"),
}
MEASURES = {
    "MAP": sg.AP(),
    "μMAP": sg.MuAP(),
    "mean NDCG": sg.NDCG(k="mean"),
    "mean NDCNG": sg.NDCNG(k="mean"),
}
FEW = 10  # fewer thresholds are printed; means over fewer queries are shaded in the figure


@dataclasses.dataclass(frozen=True)
class Figure:
    """Eight strategies evaluated with the grades of one judge."""

    title: str
    judgments: sg.Judgments
    top_grades: np.ndarray  # the highest grade of each query, ascending
    scores: dict  # strategy -> score of each document
    means: dict  # strategy -> measure name -> mean over all queries
    thresholds: np.ndarray  # the grades above 0, if they are few
    by_threshold: dict  # strategy -> MAP^t by threshold, over the queries that have a grade >= t
    n_queries: np.ndarray  # queries that have a grade >= t, by threshold


def measured(title, grades, scores, qid):
    """Evaluate all strategies with the grades of one judge."""
    judgments = sg.Judgments(grades, qid=qid)
    top_grades = np.sort([grades[qid == query].max() for query in np.unique(qid)])
    used = np.unique(grades[grades > 0])
    thresholds = used if len(used) < FEW else []
    # AP^t is undefined for a query without a grade >= t. MAP^t leaves such queries out, because a
    # value of 0 would keep the ideal list below 1. In the other measures they count as 0.
    by_threshold = [sg.AP(threshold=float(t), undefined=np.nan) for t in thresholds]
    means, values = {}, {}
    for strategy, score in scores.items():
        ev = sg.evaluate(judgments, score, measures=[*MEASURES.values(), *by_threshold])
        mean = ev.mean()
        means[strategy] = {name: mean[m.name] for name, m in MEASURES.items()}
        values[strategy] = [mean[m.name] for m in by_threshold]
    n_queries = judgments.n_queries - np.array([m.n_undefined(judgments) for m in by_threshold])
    return Figure(title, judgments, top_grades, scores, means, thresholds, values, n_queries)


def print_figure(figure):
    """Print the four measures, and MAP^t if there are few thresholds."""
    print(f"\n{figure.title}\n")
    thresholds = [f"{'t=' + format(t, 'g'):>7}" for t in figure.thresholds]
    print(f"{'':<22}" + "".join(f"{name:>12}" for name in MEASURES), *thresholds)
    for strategy, values in figure.means.items():
        line = f"{strategy:>2} {STRATEGIES[strategy]:<19}"
        line += "".join(f"{value:>12.6f}" for value in values.values())
        print(line, *(f"{value:>7.3f}" for value in figure.by_threshold[strategy]))
    if thresholds:
        print(f"{'queries':<70}", *(f"{n:>7}" for n in figure.n_queries))
    n_undefined = MEASURES["μMAP"].n_undefined(figure.judgments)
    if n_undefined:
        print(f"queries without a relevant document, which count as 0: {n_undefined}")


def print_judges(scores):
    """Print the levels and the correlation of the two strategies that serve as judges."""
    levels = {s: len(np.unique(scores[s])) for s in (1, 9)}
    correlation = np.corrcoef(scores[1], scores[9])[0, 1]
    print(f"strategy 1 has {levels[1]} levels of relevance, strategy 9 has {levels[9]}")
    print(f"their Pearson correlation is {correlation:.2f}")


def print_change(before, after):
    """Print how the finer judge changes the mean value of the other strategies."""
    others = [strategy for strategy in STRATEGIES if strategy not in (1, 9)]
    print("\nFrom figure 7 to figure 8: mean of the six strategies that do not judge\n")
    print(f"{'':<12}{'figure 7':>10}{'figure 8':>10}{'change':>10}")
    for name in list(MEASURES)[1:]:
        old, new = (np.mean([f.means[s][name] for s in others]) for f in (before, after))
        print(f"{name:<12}{old:>10.3f}{new:>10.3f}{100 * (new - old) / old:>+8.1f} %")
    print(
        "The two judges rank almost identically, so the values should not change. NDCG decreases,\n"
        "because with grades up to 48 only the highest grades count. The others hardly change."
    )


def print_ties(grades, scores, qid):
    """Print how the rule for ties affects strategies that tie all documents of a query."""
    judgments = sg.Judgments(grades, qid=qid)
    constant = [
        strategy
        for strategy, score in scores.items()
        if len(set(zip(qid, score, strict=True))) == judgments.n_queries
    ]
    print(
        f"\nStrategies {' and '.join(map(str, constant))} assign the same score to all "
        "documents of a query.\nTheir values depend on the rule for ties (grades from experts)\n"
    )
    flat = scores[constant[0]]
    by_rows = np.arange(len(grades), dtype=float)
    print(f"{'':<34}" + "".join(f"{name:>11}" for name in MEASURES))
    for name, score, ties in [
        ("mean over all orders", flat, "average"),
        ("order of rows in the file", flat, "ordinal"),
        ("order of rows, reversed", by_rows, "ordinal"),
        ("the best order", flat, "best"),
        ("the worst order", flat, "worst"),
    ]:
        values = [dataclasses.replace(m, ties=ties)(judgments, score) for m in MEASURES.values()]
        print(f"{name:<34}" + "".join(f"{value:>11.4f}" for value in values))


def draw(figures, output):
    """Draw one row per figure: MAP^t by threshold on the left, and the means on the right."""
    grid, axes = plt.subplots(
        len(figures), 2, figsize=(11, 12), layout="constrained", width_ratios=[3, 2], sharey=True
    )
    for (left, right), figure in zip(axes, figures, strict=True):
        draw_thresholds(left, figure)
        draw_means(right, figure)
    axes[0, 0].set_ylim(0, 1.05)
    axes[-1, 0].set_xlabel("threshold t: a document is relevant if its grade is at least t")
    grid.legend(
        *axes[0, 1].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        title="strategy (OHSUMED id)",
        handlelength=3.5,
        frameon=False,
    )
    save(grid, output, dpi=110)
    plt.close(grid)


def draw_thresholds(ax, figure):
    """Draw MAP^t over t, averaged over the queries with a grade >= t; shaded if these are few.

    The area under this curve is not μMAP. With relative=True, where t is divided by the highest
    grade of the query, it would be.
    """
    tops = figure.top_grades
    for strategy, scores in figure.scores.items():
        color, marker, style = LOOKS[strategy]
        display = sg.ThresholdCurveDisplay.from_predictions(
            figure.judgments,
            scores,
            relative=False,
            undefined=np.nan,
            ax=ax,
            line_kw={
                "label": "_",
                "color": color,
                "marker": marker,
                "linestyle": style,
                "markersize": 6,
                "zorder": 2 + strategy / 100,
            },
        )
        marked = figure.thresholds if len(figure.thresholds) else np.linspace(0, tops[-1], 13)[1:]
        display.lines_[0].set_markevery(np.searchsorted(display.thresholds, marked) + 1)
    reached = tops[-FEW]  # FEW queries have a grade this high
    if reached < tops[-1]:
        ax.axvspan(reached, tops[-1], color="0.9", zorder=0)
        ax.text(
            (reached + tops[-1]) / 2,
            0.67,
            f"fewer than {FEW}\nof {len(tops)} queries\nreach t",
            ha="center",
            va="center",
        )
    ax.set(xlabel="", ylabel="MAP with threshold t", xlim=(0, tops[-1] * 1.02))
    ax.set_title(figure.title, loc="left")
    if len(figure.thresholds):
        ax.set_xticks([0, *figure.thresholds])
    ax.grid(alpha=0.3)


def draw_means(ax, figure):
    """Draw the three measures that need no threshold, with the strategies side by side."""
    names = list(MEASURES)[1:]
    shifts = np.linspace(-0.35, 0.35, len(STRATEGIES))
    for shift, (strategy, name) in zip(shifts, STRATEGIES.items(), strict=True):
        color, marker, style = LOOKS[strategy]
        values = [figure.means[strategy][measure] for measure in names]
        bars = ax.vlines(np.arange(len(names)) + shift, 0, values, color=color, alpha=0.5)
        bars.set_linestyle(style)
        ax.plot(
            np.arange(len(names)) + shift,
            values,
            color=color,
            marker=marker,
            linestyle="none",
            markersize=7,
        )
        ax.plot([], [], color=color, marker=marker, linestyle=style, label=f"{strategy} {name}")
    ax.set_xticks(range(len(names)), names)
    ax.grid(alpha=0.3, axis="y")


def main():
    """Print and draw the values of the three figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="the OHSUMED collection as a LETOR file")
    parser.add_argument("--output", default="ohsumed.png", help="file of the figure")
    args = parser.parse_args()

    try:
        data = sg.datasets.read_letor(args.data, n_features=25)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    features = data.X.toarray()
    scores = {strategy: features[:, strategy - 1] for strategy in STRATEGIES}
    print(f"{len(data.y):,} documents, {len(np.unique(data.qid))} queries")
    print_judges(scores)
    figures = [
        measured(title, grades, scores, data.qid)
        for title, grades in [
            ("Figure 6: judged by experts, grades 0 to 2", data.y),
            ("Figure 7: judged by strategy 1, TF of title", scores[1]),
            ("Figure 8: judged by strategy 9, TF-IDF of title", scores[9]),
        ]
    ]
    for figure in figures:
        print_figure(figure)
    print_change(*figures[1:])
    print_ties(data.y, scores, data.qid)
    draw(figures, args.output)
    print(f"\npicture saved to {args.output}")


if __name__ == "__main__":
    main()
