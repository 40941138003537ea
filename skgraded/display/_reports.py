"""What the displays of reports share: drawing, texts and input."""

import textwrap

import numpy as np

from skgraded.display._base import checked_scores, systems_of
from skgraded.judgments import check_judgments
from skgraded.measures import Measure
from skgraded.reports.evaluation import evaluate, evaluated_name
from skgraded.reports.write.text import percent_text

BLUE = "#0072B2"  # with the orange of losses told apart in all kinds of colour blindness
LABEL = 28  # letters that a line of a system's name has
LEGEND = 44  # letters that a line of the legend has
SIDE = 40  # letters that fit along the axis at the side


# Drawing -----------------------------------------------------------------------------------------

def draw_mean(ax, name, mean, interval, level, sign=""):
    """Draw a mean as a line and its interval as a band, where there are such."""
    if mean is None or np.isnan(mean):
        return None, None
    label, band = f"{name} {mean:{sign}.3f}", None
    if interval is not None and not np.isnan(interval).any():
        low, high = interval
        of_level = "" if level is None else f"{percent_text(level)} "
        label += f", {of_level}interval {low:{sign}.3f} to {high:{sign}.3f}"
        band = ax.axhspan(low, high, color=ink(ax), alpha=0.15, linewidth=0)
    line = ax.axhline(mean, color=ink(ax), linestyle="--", linewidth=1.2, label=label)
    return line, band


def ink(ax):
    return ax.xaxis.label.get_color()


def fit_height(ax):
    """Show all that is drawn, also by an earlier display, with ticks that fit it."""
    from matplotlib.ticker import AutoLocator

    ax.autoscale(axis="y")
    low, high = ax.get_ylim()
    ticks = AutoLocator().tick_values(low, high)
    ax.set_yticks(ticks[(ticks >= low) & (ticks <= high)])
    ax.set_ylim(low, high)


def legend_above(ax):
    """Draw the legend in a room of its own above all that is drawn."""
    root = ax.figure.canvas.figure
    if root.get_layout_engine() is not None:
        root.get_layout_engine().execute(root)  # else the height of the axes is not known yet
    legend = ax.legend(loc="upper right")
    low, high = ax.get_ylim()
    room = min(0.6, legend.get_window_extent().height / ax.bbox.height + 0.04)
    ax.set_ylim(low, low + (high - low) / (1 - room))


def whole_ticks(ax):
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def wrapped(text, width=LABEL):
    """Text in lines of such a width, of which no part is read as a formula."""
    return textwrap.fill(str(text), width).replace("$", r"\$")


# Input -------------------------------------------------------------------------------------------

def check_made_by(function, given, cls, argument):
    if not isinstance(given, cls):
        raise TypeError(
            f"{argument} must be of type {cls.__name__}, made by {function}; got "
            f"{type(given).__name__}."
        )


def evaluate_systems(y_true, y_score, name, measures, **truth):
    """Evaluations of the scores by system name."""
    names, systems = systems_of(y_score, name, "y_score")
    judgments = check_judgments(y_true, **truth)
    scores = checked_scores(systems, names, judgments)
    return {
        one: evaluate(judgments, of_system, measures=measures)
        for one, of_system in zip(names or [""], scores, strict=True)
    }


def pairs_of(comparison):
    """System and baseline of each pair, in the order of the table."""
    table = comparison.table
    return list(dict.fromkeys(zip(table["system"], table["baseline"], strict=True)))


def measure_names(measures, known):
    if measures is None:
        return known
    one = isinstance(measures, (str, Measure))
    names = [evaluated_name(measure, known) for measure in ([measures] if one else measures)]
    if not names:
        raise ValueError("measures is empty: give at least one measure.")
    return names
