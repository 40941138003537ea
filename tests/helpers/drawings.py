"""Descriptions of drawn plots as lines of text, which snapshots store.

Images differ between versions of matplotlib. A description contains the coordinates, texts and
looks of all artists, but no sizes in pixels and no ticks that matplotlib chooses.
"""

import numpy as np
from matplotlib.colors import to_hex

MOST_NUMBERS = 16  # longer arrays are abbreviated


def number(value):
    """Return a number with five digits."""
    return f"{round(float(value), 9) + 0.0:.5g}"


def numbers(values):
    """Return numbers as text; for long arrays, the ends, the length and two sums."""
    values = np.asarray(values, dtype=float).ravel()
    if len(values) <= MOST_NUMBERS:
        return " ".join(map(number, values))
    known = np.nan_to_num(values, nan=-0.5)
    sums = known.sum(), known @ np.arange(len(known))
    ends = [*map(number, values[:3]), "…", *map(number, values[-3:])]
    return f"{' '.join(ends)} (n={len(values)}, sums {' '.join(map(number, sums))})"


def described(display):
    """Return the lines that describe a display: its stored values, and its artists."""
    stored = {
        name: value
        for name, value in sorted(vars(display).items())
        if not name.startswith("_") and not name.endswith("_")
    }
    yield from (f"{name}: {_stored(value)}" for name, value in stored.items())
    for ax in display.figure_.axes:
        yield from _axes_lines(ax)


def _stored(value):
    if value is None or isinstance(value, str | bool):
        return str(value)
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return " | ".join(map(str, value))
    return f"{array.shape} {numbers(array)}"


def _one_line(text):
    return text.replace("\n", " / ")


def _axes_lines(ax):
    yield f"axes {_one_line(ax.get_title())}".rstrip()
    for axis, name in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        labels = axis.get_ticklabels()  # empty if a shared axis hides them
        ticks = zip(axis.get_majorticklocs() if labels else [], labels, strict=True)
        is_fixed = type(axis.get_major_locator()).__name__ == "FixedLocator"
        shown = " | ".join(f"{number(at)} {_one_line(tick.get_text())}" for at, tick in ticks)
        yield f"{name} axis {_one_line(axis.get_label_text())}{f': {shown}' * is_fixed}"
    limits = *ax.get_xlim(), *ax.get_ylim()
    legend = ax.get_legend()
    yield f"limits {' '.join(f'{limit:.3g}' for limit in limits[: 2 if legend else 4])}"
    yield from map(_line, ax.lines)
    yield from map(_patch, ax.patches)
    for collection in ax.collections:
        if hasattr(collection, "get_segments"):
            color = to_hex(collection.get_color()[0], keep_alpha=True)
            segments = [  # nan if nothing is drawn
                segment.tolist() or [[np.nan] * 2] * 2 for segment in collection.get_segments()
            ]
            look = f"{color} {collection.get_linewidth()[0]:g}"
            yield f"segments {_label(collection)} {look}: {numbers(segments)}"
        else:
            yield _area(collection)
    if legend:
        entries = " | ".join(_one_line(text.get_text()) for text in legend.get_texts())
        yield f"legend {legend.get_title().get_text()}: {entries}"


def _label(artist):
    label = str(artist.get_label())
    return "" if label.startswith("_") else _one_line(label)


def _line(line):
    look = [to_hex(line.get_color()), line.get_linestyle(), f"{line.get_linewidth():g}"]
    look.append(line.get_marker())
    if line.get_marker() != "None":
        look.append(to_hex(line.get_markerfacecolor(), keep_alpha=True))
        look.append(f"{line.get_markersize():g}")
    drawn = "" if line.get_drawstyle() == "default" else f" {line.get_drawstyle()}"
    every = "" if line.get_markevery() is None else f" every {line.get_markevery()}"
    x, y = line.get_data()
    return (
        f"line {_label(line)} {' '.join(map(str, look))}{drawn}{every}: {numbers(x)}; {numbers(y)}"
    )


def _patch(patch):
    look = f"{to_hex(patch.get_facecolor(), keep_alpha=True)} {patch.get_hatch() or ''}".rstrip()
    corners = patch.get_patch_transform().transform(patch.get_path().vertices)
    ends = [*corners.min(axis=0), *corners.max(axis=0)]
    if np.isnan(ends).any():  # nothing is drawn, with corners that depend on matplotlib's version
        ends = [np.nan] * 4
    return f"patch {_label(patch)} {look}: {numbers(ends)}"


def _area(collection):
    color = to_hex(collection.get_facecolor()[0], keep_alpha=True)
    corners = np.concatenate([path.vertices for path in collection.get_paths()])
    look = f"{color} {collection.get_hatch() or ''}".rstrip()
    return f"area {_label(collection)} {look}: {numbers(corners)}"
