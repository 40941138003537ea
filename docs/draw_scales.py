"""Draws the picture of README and the front page, for light and dark backgrounds.

The data come from ``examples/plot_scales.py``, which explains them.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import skgraded as sg

FACTORS = [1, 1.5, 2, 3, 4]
MEASURES = {"NDCG@10": "the winner changes", "NDCNG@10": "it does not"}
COLORS = {  # surface, text, grid, and the two systems
    "light": ("#ffffff", "#1f2328", "#d1d9e0", "#b34700", "#0060a8"),
    "dark": ("#0d1117", "#f0f6fc", "#3d444d", "#ff9a4d", "#58b1ff"),
}


def measured():
    """The mean of each measure and system for each factor."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(300), 20)
    y = rng.integers(0, 5, len(qid))
    systems = {
        "A": 4.0 * (y == 4) + rng.normal(size=len(y)),
        "B": y + rng.normal(size=len(y)),
    }
    judgments = [sg.Judgments(factor * y, qid=qid) for factor in FACTORS]
    return {
        name: {
            system: [sg.measure(name)(truth, scores) for truth in judgments]
            for system, scores in systems.items()
        }
        for name in MEASURES
    }


def draw(values, surface, text, grid, *colors):
    """Draw one panel per measure, with the systems named at the ends of their lines."""
    style = {
        "font.size": 17,
        "text.color": text,
        "axes.labelcolor": text,
        "axes.edgecolor": grid,
        "xtick.color": text,
        "ytick.color": text,
        "figure.facecolor": surface,
        "axes.facecolor": surface,
        "savefig.facecolor": surface,
        "svg.hashsalt": "skgraded",
    }
    with plt.rc_context(style):
        figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
        for ax, (name, by_system) in zip(axes, values.items(), strict=True):
            for color, marker, (system, means) in zip(colors, "so", by_system.items(), strict=True):
                ax.plot(FACTORS, means, color=color, marker=marker, linewidth=3, markersize=9)
                ax.annotate(
                    system,
                    (FACTORS[-1], means[-1]),
                    (12, 0),
                    textcoords="offset points",
                    color=color,
                    fontweight="bold",
                    va="center",
                    fontsize=20,
                )
            ax.set_title(f"{name}:\n{MEASURES[name]}", fontsize=19)
            ax.set(xticks=[1, 2, 3, 4], xlim=(0.8, 4.5), ylim=(0.82, 1))
            ax.set_yticks([0.85, 0.9, 0.95, 1])
            ax.grid(color=grid)
            ax.spines[["top", "right"]].set_visible(False)
        axes[0].set_ylabel("mean of 300 queries")
        figure.supxlabel("grades multiplied by", color=text, fontsize=17)
    return figure


if __name__ == "__main__":
    values = measured()
    for name, colors in COLORS.items():
        path = Path(__file__).parent / f"scales-{name}.svg"
        draw(values, *colors).savefig(path, metadata={"Date": None})
