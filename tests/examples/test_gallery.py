"""The examples of the gallery run, draw, and show what their words say that they show."""

import runpy

import numpy as np
import pytest
from scripts import EXAMPLES

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

GALLERY = sorted(path.stem for path in EXAMPLES.glob("plot_*.py"))
# A file without a screen; shown all the same, as in a notebook.
pytestmark = pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")


@pytest.fixture(scope="module")
def ran():
    """The names that an example defines and the panels of each of its figures; it runs once."""
    known = {}

    def run(name):
        if name not in known:
            plt.close("all")
            found = runpy.run_path(str(EXAMPLES / f"{name}.py"))
            known[name] = found, [len(plt.figure(i).axes) for i in plt.get_fignums()]
            plt.close("all")
        return known[name]

    return run


@pytest.mark.parametrize("name", GALLERY)
def test_it_draws_single_panels_and_has_a_title_for_the_gallery(ran, name):
    found, n_panels = ran(name)
    assert n_panels and set(n_panels) == {1}  # the first of them is the thumbnail
    title, line = found["__doc__"].strip().splitlines()[:2]
    assert line == "=" * len(title)


def test_ndcg_changes_its_mind_with_the_scale_and_the_others_do_not(ran):
    values = ran("plot_scales")[0]["values"]
    better = {
        name: np.subtract(*(by_system[name] for name in ("orders all", "finds the best"))) > 0
        for name, by_system in values.items()
    }
    assert better["NDCG@10"].tolist()[:1] == [True] and not better["NDCG@10"][2:].any()
    for name in ("NDCNG@10", "MuAP@10"):
        assert better[name].all()
        assert max(np.ptp(found) for found in values[name].values()) < 1e-12


def test_the_order_of_sorted_rows_rises_as_the_scores_say_less(ran):
    values = ran("plot_ties")[0]["values"]
    assert (np.diff(values["ordinal"]) > 0).all()
    assert (np.diff(values["average"][2:]) < 0).all()
    for low, middle, high in zip(*(values[t] for t in ("worst", "average", "best")), strict=True):
        assert low < middle < high


def test_small_trees_win_the_search(ran):
    search = ran("plot_grid_search")[0]["search"]
    assert search.best_params_["estimator__num_leaves"] <= 8
    assert search.best_score_ == max(search.cv_results_["mean_test_NDCNG@10"])


def test_held_out_queries_stop_the_training_and_those_of_the_training_would_not(ran):
    found = ran("plot_early_stopping")[0]
    best = int(np.argmax(found["held_out"]))
    assert found["booster"].best_iteration == best + 1
    assert len(found["held_out"]) == best + 1 + 60 < 400
    assert np.argmax(found["history"]["training"]["NDCNG@10"]) > best


def test_both_rankers_are_told_apart_from_one_feature(ran):
    frame = ran("plot_compare")[0]["comparison"].to_frame()
    assert (frame["ci_low"] > 0).all() and (frame["p_adjusted"] < 0.05).all()
    assert set(frame.nlargest(2, "mean")["system"]) >= {"trees"}


def test_queries_with_few_good_documents_fare_worse(ran):
    table = ran("plot_failing_queries")[0]["table"]
    means = table[table.measure == "NDCNG@10"].set_index("segment")["mean"]
    assert means["few good ones"] < means["some"] < means["many"]


def test_mu_ap_is_the_area_and_the_lines_of_two_systems_cross(ran):
    found = ran("plot_threshold_curve")[0]
    assert found["display"].mu_ap == pytest.approx(np.mean(found["by_threshold"]), abs=1e-12)
    excellent, relevant = found["of_systems"].average_precision
    assert found["of_systems"].name == ["finds the excellent", "finds the relevant"]
    assert excellent[0] < relevant[0] and excellent[-1] > relevant[-1]


def test_an_objective_of_a_measure_gains_beside_least_squares_only(ran):
    rows = ran("plot_objectives")[0]["rows"]
    shown = {name.partition(",")[0]: row["ci_low"] > 0 for name, row in rows.items()}
    assert shown == {"plain": False, "conflict": False, "real": True}


def test_stars_bring_a_random_order_nearer_to_the_model(ran):
    names = ran("plot_stars")[0]
    assert len(names["caught"]) == 1
    means = {
        scale: {system: report.mean() for system, report in names[scale].items()}
        for scale in ("as_stars", "shifted")
    }
    assert means["as_stars"]["model"]["AP"] == means["as_stars"]["random"]["AP"] == 1
    for name in ("MuAP", "NDCNG@10"):
        gaps = [values["model"][name] - values["random"][name] for values in means.values()]
        assert 0 < gaps[0] < gaps[1]


def test_no_measure_preserves_the_order_of_the_systems_clearly_better(ran):
    taus = ran("plot_judges")[0]["summary"]
    for _, of_judge in taus.groupby("judge"):
        assert len(of_judge) == 3 and np.ptp(of_judge["mean"]) < of_judge["std"].min()
