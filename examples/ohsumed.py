"""Eight retrieval strategies on OHSUMED, judged by experts and by two strategies among them.

    python examples/ohsumed.py --data OHSUMED.txt.gz
    python examples/ohsumed.py --data OHSUMED.txt.gz --output ohsumed.png

The experiment of Scheel, Lommatzsch, Albayrak, "Performance Measures for Multi-Graded Relevance"
(2011), figures 6, 7 and 8. The file is the whole OHSUMED collection of LETOR 2.0, 106 queries with
25 features, each of which ranks the documents. Figure 6 measures eight of them against the judged
grades 0, 1, 2. Figure 7 takes strategy 1 as the judge, which has 9 grades, figure 8 strategy 9,
which ranks almost as strategy 1 does and has a thousand (the paper says 158, the file has 1126).
Strategy 22 is the logarithm of 21, so it has the same values. Documents that a strategy does not
tell apart count as the mean over all their orders.
"""

import argparse
import dataclasses

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no screen

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
# Colours of Okabe and Ito, which the colour-blind can tell apart; markers and line styles for grey
# print. Strategies 5 and 15, 21 and 22 have the same values: the second is drawn over the first.
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
FEW = 10  # thresholds that are printed; queries, a mean over fewer is shaded in the picture


@dataclasses.dataclass(frozen=True)
class Figure:
    """Eight strategies measured against one judge."""

    title: str
    judgments: sg.Judgments
    scores: dict  # strategy -> score of each document
    means: dict  # strategy -> measure name -> mean over all queries
    thresholds: np.ndarray  # the grades above 0, if they are few
    by_threshold: dict  # strategy -> MAP^t by threshold, over the queries that have a grade >= t
    n_queries: np.ndarray  # how many these are


def measured(title, grades, scores, qid):
    """Values of all strategies against the grades of one judge."""
    judgments = sg.Judgments(grades, qid=qid)
    used = np.unique(grades[grades > 0])
    thresholds = used if len(used) < FEW else []
    # A query without a document of grade t or more has no AP^t. It is left out: as a 0 it would
    # keep the ideal list below 1. In the other measures a query without any grade > 0 counts as 0.
    by_threshold = [sg.AP(threshold=float(t), undefined=np.nan) for t in thresholds]
    means, values = {}, {}
    for strategy, score in scores.items():
        ev = sg.evaluate(judgments, score, measures=[*MEASURES.values(), *by_threshold])
        mean = ev.mean()
        means[strategy] = {name: mean[m.name] for name, m in MEASURES.items()}
        values[strategy] = [mean[m.name] for m in by_threshold]
    n_queries = judgments.n_queries - np.array([m.n_undefined(judgments) for m in by_threshold])
    return Figure(title, judgments, scores, means, thresholds, values, n_queries)


def print_figure(figure):
    """Print the four measures, and MAP^t where the thresholds are few enough to be read."""
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
    """Levels of the two strategies that judge, and how much they agree."""
    levels = {s: len(np.unique(scores[s])) for s in (1, 9)}
    correlation = np.corrcoef(scores[1], scores[9])[0, 1]
    print(f"strategy 1 has {levels[1]} levels of relevance, strategy 9 has {levels[9]}")
    print(f"their Pearson correlation is {correlation:.2f}")


def print_change(before, after):
    """Print what the finer judge does to the mean value of the other strategies."""
    others = [strategy for strategy in STRATEGIES if strategy not in (1, 9)]
    print("\nFrom figure 7 to figure 8: mean of the six strategies that are no judge\n")
    print(f"{'':<12}{'figure 7':>10}{'figure 8':>10}{'change':>10}")
    for name in list(MEASURES)[1:]:
        old, new = (np.mean([f.means[s][name] for s in others]) for f in (before, after))
        print(f"{name:<12}{old:>10.3f}{new:>10.3f}{(new - old) / old:>+10.1%}")
    print(
        "The two judges rank almost alike, so the others should be worth the same: NDCG falls,\n"
        "because with grades up to 48 only the very highest count; the other two hardly change."
    )


def print_ties(grades, scores, qid):
    """Print what strategies that tell no document of a query apart owe to the order of rows."""
    judgments = sg.Judgments(grades, qid=qid)
    constant = [
        strategy for strategy, score in scores.items()
        if len(set(zip(qid, score, strict=True))) == judgments.n_queries
    ]
    print(
        f"\nStrategies {' and '.join(map(str, constant))} give all documents of a query one score. "
        "What they are worth\nis decided by the rule for ties (judged grades)\n"
    )
    flat = scores[constant[0]]
    by_rows = np.arange(len(grades), dtype=float)
    print(f"{'':<34}" + "".join(f"{name:>11}" for name in MEASURES))
    for name, score, ties in [
        ("mean over all orders", flat, "average"), ("order of rows in the file", flat, "ordinal"),
        ("order of rows, reversed", by_rows, "ordinal"), ("the best order", flat, "best"),
        ("the worst order", flat, "worst"),
    ]:
        values = [dataclasses.replace(m, ties=ties)(judgments, score) for m in MEASURES.values()]
        print(f"{name:<34}" + "".join(f"{value:>11.4f}" for value in values))


def draw(figures, output):
    """Draw a row a figure: MAP^t by threshold on the left, the means on the right."""
    grid, axes = plt.subplots(
        len(figures), 2, figsize=(11, 12), layout="constrained", width_ratios=[3, 2], sharey=True
    )
    for (left, right), figure in zip(axes, figures, strict=True):
        draw_thresholds(left, figure)
        draw_means(right, figure)
    axes[0, 0].set_ylim(0, 1.05)
    axes[-1, 0].set_xlabel("threshold t: a document is relevant if its grade is at least t")
    grid.legend(
        *axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=4,
        title="strategy (OHSUMED id)", handlelength=3.5, frameon=False,
    )
    save(grid, output, dpi=110)
    plt.close(grid)


def draw_thresholds(ax, figure):
    """MAP^t over t in steps, of the queries that reach t; where these are few it is grey.

    The area under such a curve is not μMAP: with relative=True, over t / top grade, it would be.
    """
    tops = np.sort(figure.judgments.top_grades)
    for strategy, scores in figure.scores.items():
        color, marker, style = LOOKS[strategy]
        display = sg.ThresholdCurveDisplay.from_predictions(
            figure.judgments, scores, relative=False, undefined=np.nan, ax=ax, label="_",
            color=color, marker=marker, linestyle=style, markersize=6, zorder=2 + strategy / 100,
        )
        marked = figure.thresholds if len(figure.thresholds) else np.linspace(0, tops[-1], 13)[1:]
        display.lines_[0].set_markevery(np.searchsorted(display.thresholds, marked) + 1)
    reached = tops[-FEW]  # by FEW queries
    if reached < tops[-1]:
        ax.axvspan(reached, tops[-1], color="0.9", zorder=0)
        ax.text(
            (reached + tops[-1]) / 2, 0.67, f"fewer than {FEW}\nof {len(tops)} queries\nreach t",
            ha="center", va="center",
        )
    ax.set(xlabel="", ylabel="MAP with threshold t", xlim=(0, tops[-1] * 1.02))
    ax.set_title(figure.title, loc="left")
    if len(figure.thresholds):
        ax.set_xticks([0, *figure.thresholds])
    ax.grid(alpha=0.3)


def draw_means(ax, figure):
    """The three measures that need no threshold, strategies side by side."""
    names = list(MEASURES)[1:]
    shifts = np.linspace(-0.35, 0.35, len(STRATEGIES))
    for shift, (strategy, name) in zip(shifts, STRATEGIES.items(), strict=True):
        color, marker, style = LOOKS[strategy]
        values = [figure.means[strategy][measure] for measure in names]
        bars = ax.vlines(np.arange(len(names)) + shift, 0, values, color=color, alpha=0.5)
        bars.set_linestyle(style)
        ax.plot(
            np.arange(len(names)) + shift, values, color=color, marker=marker, linestyle="none",
            markersize=7,
        )
        ax.plot([], [], color=color, marker=marker, linestyle=style, label=f"{strategy} {name}")
    ax.set_xticks(range(len(names)), names)
    ax.grid(alpha=0.3, axis="y")


def main():
    """Print the values of the three figures, and draw them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="the OHSUMED collection in LETOR's form")
    parser.add_argument("--output", default="ohsumed.png", help="the picture's file")
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
