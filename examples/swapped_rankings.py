"""Show how measures of graded rankings depend on the number of grade levels.

    python examples/swapped_rankings.py
    python examples/swapped_rankings.py --runs 20 --output quick.png

This script repeats experiments of Scheel, Lommatzsch, Albayrak, "Performance Measures for
Multi-Graded Relevance" (2011). Tables 1 and 2 evaluate one ranked list of eight documents; they are
printed and drawn. For figures 4 and 5, 100 documents are ranked ideally, and then 0 to 99 random
pairs are swapped. If a measure does not depend on the number of grade levels, its lines coincide,
and its values can be compared between data sets.
"""

import argparse
import sys
import time
import warnings

import matplotlib

matplotlib.use("Agg")  # writing a figure to a file requires no display

import matplotlib.pyplot as plt
import numpy as np
from saving import save

import skgraded as sg
from skgraded.datasets import make_swapped_rankings

EXAMPLE = [1, 0, 3, 3, 2, 0, 1, 4]  # the grades of tables 1 and 2, in ranked order
N_DOCUMENTS = 100
N_SWAPS = range(100)
PANELS = {
    "MAP, threshold 1": sg.AP(threshold=1),
    "μMAP": sg.MuAP(),
    "mean NDCG": sg.NDCG(k="mean"),
    "mean NDCNG": sg.NDCNG(k="mean"),
}
# The colors of Okabe and Ito suit color-blind readers; line styles are for grayscale print.
LINES = {
    2: {"color": "#000000", "linestyle": "-"},
    10: {"color": "#D55E00", "linestyle": "--"},
    20: {"color": "#0072B2", "linestyle": "-."},
    50: {"color": "#009E73", "linestyle": ":"},
}


def of_ranked(measure, grades):
    """Return the value of a measure for one ranked list of grades."""
    return measure(grades, -np.arange(len(grades)))


def print_table_1():
    """Print AP for each threshold, and μAP: the mean over thresholds that separate documents."""
    print("Table 1: average precision of one list by threshold\n")
    print(f"{'i':<10}" + "".join(f"{i:>4}" for i in "ABCDEFGH") + f"{'AP':>9}")
    print(f"{'rel(i)':<10}" + "".join(f"{grade:>4}" for grade in EXAMPLE))
    values = []
    for t in range(5, -1, -1):
        signs = "".join(f"{'+' if grade >= t else '-':>4}" for grade in EXAMPLE)
        values.append(of_ranked(sg.AP(threshold=t), EXAMPLE))
        print(f"{f't = {t}':<10}{signs}{values[-1]:>9.3f}")
    print(f"{'mean':<42}{np.mean(values):>9.3f}")
    print(f"{'mean of 5 > t > 0, which is μAP':<42}{of_ranked(sg.MuAP(), EXAMPLE):>9.3f}")


def print_table_2():
    """Print NDCG and NDCNG: doubling all grades decreases NDCG and does not change NDCNG."""
    print("\nTable 2: NDCG@n of the same list, with the original and with doubled grades\n")
    print(f"{'n':<24}" + "".join(f"{n:>6}" for n in range(1, 9)) + f"{'mean':>7}")
    doubled = 2 * np.array(EXAMPLE)
    for name, measure, grades in [
        ("NDCG", sg.NDCG, EXAMPLE),
        ("NDCG, grades doubled", sg.NDCG, doubled),
        ("NDCNG", sg.NDCNG, EXAMPLE),
        ("NDCNG, grades doubled", sg.NDCNG, doubled),
    ]:
        values = [of_ranked(measure(k=k), grades) for k in [*range(1, 9), "mean"]]
        print(f"{name:<24}" + "".join(f"{v:>6.2f}" for v in values[:-1]) + f"{values[-1]:>7.2f}")


def swapped(n_levels, uniform, runs, progress):
    """Return grades in ranked order: `runs` rankings for each number of swaps."""
    rankings = []
    for n_swaps in N_SWAPS:
        progress(n_swaps)
        if uniform:  # the same swaps for every number of levels
            rankings.append(
                make_swapped_rankings(N_DOCUMENTS, n_levels, n_swaps, runs, random_state=n_swaps)
            )
        else:  # one distribution per run, the same for every number of swaps
            rankings += [
                make_swapped_rankings(N_DOCUMENTS, n_levels, n_swaps, 1, False, random_state=run)
                for run in range(runs)
            ]
    return np.concatenate(rankings)


def curves(grades, runs):
    """Return, for each panel, the mean over the runs for each number of swaps."""
    scores = np.tile(-np.arange(N_DOCUMENTS), len(grades))
    with warnings.catch_warnings():
        # an uneven distribution may contain no grade 0, which is intended
        warnings.filterwarnings("ignore", "All grades are from")
        ev = sg.evaluate(
            grades.ravel(),
            scores,
            group=np.full(len(grades), N_DOCUMENTS),
            measures=list(PANELS.values()),
        )
    return {
        panel: ev.per_query[measure.name].reshape(-1, runs).mean(axis=1)
        for panel, measure in PANELS.items()
    }


def experiment(uniform, runs, quiet):
    """Return the `curves` of one figure for each number of levels."""
    show = sys.stderr.isatty() and not quiet
    curves_by_level = {}
    for n_levels in LINES:

        def progress(n_swaps, n_levels=n_levels):
            if show:
                print(f"\r{n_levels:>3} levels, {n_swaps:>2} swaps", end="", file=sys.stderr)

        curves_by_level[n_levels] = curves(swapped(n_levels, uniform, runs, progress), runs)
    if show:
        print("\r" + " " * 22, end="\r", file=sys.stderr)
    return curves_by_level


def print_spread(title, curves_by_level):
    """Print the values after the most swaps by number of levels, and their spread."""
    print(f"\n{title}\n")
    print(f"{f'after {N_SWAPS[-1]} swaps':<18}" + "".join(f"{panel:>18}" for panel in PANELS))
    last = {
        n_levels: [values[panel][-1] for panel in PANELS]
        for n_levels, values in curves_by_level.items()
    }
    for n_levels, values in last.items():
        print(f"{f'{n_levels} levels':<18}" + "".join(f"{value:>18.3f}" for value in values))
    print(f"{'spread':<18}" + "".join(f"{v:>18.3f}" for v in np.ptp(list(last.values()), axis=0)))


def print_single_distributions(n_draws):
    """Print how much the values of figure 5 depend on the drawn distribution."""
    last = np.array(
        [
            [
                list(curves(grades, len(grades)).values())
                for grades in (
                    make_swapped_rankings(
                        N_DOCUMENTS, n_levels, N_SWAPS[-1], uniform=False, random_state=draw
                    )
                    for draw in range(n_draws)
                )
            ]
            for n_levels in LINES
        ]
    )[..., 0]  # (levels, draws, panels), each the mean of 100 rankings
    print(f"\nValues of {n_draws} single distributions, with 100 rankings each\n")
    print(f"{f'after {N_SWAPS[-1]} swaps':<18}" + "".join(f"{panel:>18}" for panel in PANELS))
    for n_levels, values in zip(LINES, last, strict=True):
        ranges = zip(values.min(axis=0), values.max(axis=0), strict=True)
        print(
            f"{f'{n_levels} levels':<18}"
            + "".join(f"{f'{low:.2f} to {high:.2f}':>18}" for low, high in ranges)
        )
    spreads = np.median(np.ptp(last, axis=0), axis=0)
    print(f"{'spread, median':<18}" + "".join(f"{value:>18.3f}" for value in spreads))
    print(
        "\nFigure 5 is valid only on average over distributions. For a single distribution, μMAP\n"
        "and NDCNG depend on how rare the highest grades are, especially with few levels."
    )


def draw(figures, output):
    """Draw the tables side by side; below, one row per figure and one column per measure."""
    grid = plt.figure(figsize=(13, 11), layout="constrained")
    above, below = grid.subfigures(2, 1, height_ratios=[3.8, 7.2])
    left, right = above.subplots(1, 2)
    draw_table_1(left)
    draw_table_2(right)
    draw_figures(below, figures)
    save(grid, output, dpi=120)
    plt.close(grid)


def draw_table_1(ax):
    """Draw AP by threshold; the area under the curve is μAP."""
    display = sg.ThresholdCurveDisplay.from_predictions(
        EXAMPLE,
        -np.arange(len(EXAMPLE)),
        relative=False,
        ax=ax,
        name="grades 1 0 3 3 2 0 1 4",
        line_kw={"color": "#000000", "marker": "o", "markevery": slice(1, None)},
    )
    t, values = display.lines_[0].get_data()
    ax.fill_between(t, values, step="pre", color="0.9")
    ax.set(title="Table 1: AP with threshold t", xticks=t, xlim=(0, t[-1] * 1.02))
    ax.grid(alpha=0.3)


def draw_table_2(ax):
    """Draw NDCG@n and NDCNG@n for the original and the doubled grades."""
    for factor, name, style in [
        (1, "grades 1 0 3 3 2 0 1 4", {"color": "#0072B2", "marker": "o", "markersize": 8}),
        (2, "doubled grades", {"color": "#D55E00", "marker": "x"}),
    ]:
        sg.CutoffCurveDisplay.from_predictions(
            factor * np.array(EXAMPLE), -np.arange(len(EXAMPLE)), name=name, ax=ax, line_kw=style
        )
    ax.set(title="Table 2: NDCG@n and NDCNG@n", ylabel="value", ylim=(0, 1.02))
    ax.legend(handlelength=4)
    ax.grid(alpha=0.3)


def draw_figures(grid, figures):
    """Draw the means of the measures by number of swaps."""
    axes = grid.subplots(len(figures), len(PANELS), sharex=True, sharey=True, squeeze=False)
    for row, (title, curves_by_level) in zip(axes, figures.items(), strict=True):
        for ax, panel in zip(row, PANELS, strict=True):
            for n_levels, values in curves_by_level.items():
                ax.plot(
                    N_SWAPS,
                    values[panel],
                    label=f"{n_levels} levels",
                    linewidth=1.8,
                    **LINES[n_levels],
                )
            ax.set_title(panel)
            ax.grid(alpha=0.3)
        row[0].set_ylabel(f"{title}\nmean over the rankings")
        row[0].set_ylim(0, 1.02)
    for ax in axes[-1]:
        ax.set_xlabel("swapped pairs of documents")
    grid.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(LINES),
        title="grades of 100 documents",
        handlelength=4,
        frameon=False,
    )


def main():
    """Print the tables and the spreads, and save the figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=300, help="rankings for each number of swaps")
    parser.add_argument("--output", default="swapped_rankings.png", help="file of the figure")
    parser.add_argument("--quiet", action="store_true", help="show no progress in the terminal")
    args = parser.parse_args()
    if args.runs < 1:
        parser.error(f"--runs must be at least 1; got {args.runs}")

    print_table_1()
    print_table_2()
    start = time.perf_counter()
    uniform = experiment(True, args.runs, args.quiet)
    print_spread(f"Figure 4: equally many documents of each grade, {args.runs} rankings", uniform)
    uneven = experiment(False, args.runs, args.quiet)
    print_spread(
        "Figure 5: documents spread unevenly over the grades, a distribution drawn for each of "
        f"{args.runs} rankings",
        uneven,
    )
    print_single_distributions(min(args.runs, 100))
    draw({"Figure 4: uniform": uniform, "Figure 5: not uniform": uneven}, args.output)
    print(f"\n{time.perf_counter() - start:.0f} s; picture saved to {args.output}")


if __name__ == "__main__":
    main()
