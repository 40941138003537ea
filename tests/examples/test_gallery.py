"""The gallery examples draw plots that have the properties which their texts describe."""

import runpy

import numpy as np
import pytest
from scripts import EXAMPLES

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

SLOW = {"plot_grid_search", "plot_judges", "plot_objectives"}


def check_scales(names):
    """NDCG reverses the order of the systems on another scale; NDCNG and μAP do not."""
    values = names["values"]
    better = {
        name: np.subtract(*(by_system[name] for name in ("orders all", "finds the best"))) > 0
        for name, by_system in values.items()
    }
    assert better["NDCG@10"].tolist()[:1] == [True] and not better["NDCG@10"][2:].any()
    for name in ("NDCNG@10", "MuAP@10"):
        assert better[name].all()
        assert max(map(np.ptp, values[name].values())) < 1e-12


def check_ties(names):
    """With ties in row order, values increase as the scores become less informative."""
    values = names["values"]
    assert (np.diff(values["ordinal"]) > 0).all()
    assert (np.diff(values["average"][2:]) < 0).all()
    for low, middle, high in zip(*(values[t] for t in ("worst", "average", "best")), strict=True):
        assert low < middle < high


def check_compare(names):
    """Both rankers are significantly better than one feature."""
    frame = names["comparison"].to_frame()
    assert (frame["ci_low"] > 0).all() and (frame["p_adjusted"] < 0.05).all()
    assert set(frame.nlargest(2, "mean")["system"]) >= {"trees"}


def check_failing_queries(names):
    """Queries with few good documents have lower values."""
    table = names["table"]
    means = table[table.measure == "NDCNG@10"].set_index("segment")["mean"]
    assert means["few good ones"] < means["some"] < means["many"]


def check_threshold_curve(names):
    """The area is μAP, and the curves of two systems cross."""
    assert names["display"].mu_ap == pytest.approx(np.mean(names["by_threshold"]), abs=1e-12)
    excellent, relevant = names["of_systems"].average_precision
    assert names["of_systems"].name == ["finds the excellent", "finds the relevant"]
    assert excellent[0] < relevant[0] and excellent[-1] > relevant[-1]


def check_objectives(names):
    """The objective gains only against least squares."""
    rows = names["rows"]
    shown = {name.partition(",")[0]: row["ci_low"] > 0 for name, row in rows.items()}
    assert shown == {"plain": False, "conflict": False, "real": True}


def check_stars(names):
    """AP does not distinguish random star ratings from the model; subtracting 1 helps."""
    assert len(names["caught"]) == 1
    means = {
        scale: {system: report.mean() for system, report in names[scale].items()}
        for scale in ("as_stars", "shifted")
    }
    assert means["as_stars"]["model"]["AP"] == means["as_stars"]["random"]["AP"] == 1
    for name in ("MuAP", "NDCNG@10"):
        gaps = [values["model"][name] - values["random"][name] for values in means.values()]
        assert 0 < gaps[0] < gaps[1]


def check_judges(names):
    """No measure preserves the order of the systems clearly better than another measure."""
    taus = names["summary"]
    for _, of_judge in taus.groupby("judge"):
        assert len(of_judge) == 3 and np.ptp(of_judge["mean"]) < of_judge["std"].min()


# The tests in the other folders cover the claims of the other examples.
CHECKS = {
    name.replace("check_", "plot_"): check
    for name, check in list(globals().items())
    if name.startswith("check_")
}


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.stem, marks=[pytest.mark.nightly] if path.stem in SLOW else [])
        for path in sorted(EXAMPLES.glob("plot_*.py"))
    ],
)
def test_an_example_draws_what_its_text_describes(name):
    plt.close("all")
    names = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    n_panels = [len(plt.figure(i).axes) for i in plt.get_fignums()]
    plt.close("all")
    # The first figure is the thumbnail. A race has two panels.
    assert n_panels and set(n_panels) == {2 if name == "plot_racing" else 1}
    title, line = names["__doc__"].strip().splitlines()[:2]
    assert line == "=" * len(title)
    if name in CHECKS:
        CHECKS[name](names)
