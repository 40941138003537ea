"""Discriminative power: the pairs of systems between which a measure finds a difference."""

import numpy as np
import pytest
from small_reports import systems

import skgraded as sg

EVALUATIONS = systems([f"system {i}" for i in range(4)], 40, ["AP", "RR"])


@pytest.mark.parametrize("test", ["randomization", "t"])
def test_significant_pairs_of_each_measure_are_counted(test):
    comparison = sg.compare(EVALUATIONS, test=test, rng=0)
    power = comparison.discriminative_power()
    for i, (_, rows) in enumerate(comparison.to_frame().groupby("measure")):
        is_significant = rows["p_adjusted"] <= 0.05
        assert power["n_pairs"][i] == 6 and power["n_significant"][i] == is_significant.sum()
        assert power["share"][i] == is_significant.mean()
        assert power["smallest_difference"][i] == pytest.approx(
            rows["difference"].abs()[is_significant].min(), nan_ok=True
        )


def test_discriminative_power_has_one_row_per_segment_and_measure():
    by = np.where(np.arange(40) < 20, "head", "tail")
    power = sg.compare(EVALUATIONS, by=by, rng=0).discriminative_power()
    assert power[["segment", "measure"]].values.tolist() == [
        ["head", "AP"], ["tail", "AP"], ["head", "RR"], ["tail", "RR"],
    ]
    with pytest.raises(ValueError, match="The comparison has no test"):
        sg.compare(EVALUATIONS, test=None).discriminative_power()
