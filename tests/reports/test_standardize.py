"""standardize beside statsmodels' ECDF and scipy's normal distribution, and its edges."""

import numpy as np
import pytest
from scipy import stats
from small_reports import evaluation, of_values, systems, taken
from statsmodels.distributions.empirical_distribution import ECDF

import skgraded as sg


@pytest.mark.parametrize("own", [True, False])
def test_values_are_those_of_the_distribution_of_the_reference(own):
    reference = systems("abcdefg", 30, seed=1)
    evaluations = reference if own else systems("xy", 30, seed=2)
    for method in ("empirical", "normal"):
        found = sg.standardize(evaluations, None if own else reference, method=method)
        for name, one in evaluations.items():
            for measure in ("NDCNG@10", "MuAP"):
                table = np.array([each.per_query[measure] for each in reference.values()])
                values = found[name].per_query[f"std-{measure}"]
                for i, x in enumerate(one.per_query[measure]):
                    expected = (
                        ECDF(table[:, i])(x) if method == "empirical"
                        else stats.norm.cdf(x, table[:, i].mean(), table[:, i].std(ddof=1))
                    )
                    assert values[i] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("value, empirical, normal", [(0.4, 0, 0), (0.5, 1, 0.5), (0.6, 1, 1)])
def test_a_query_for_which_all_reference_systems_are_the_same(value, empirical, normal):
    reference = of_values([0.5], [0.5], [0.5 + 1e-15])
    for method, expected in (("empirical", empirical), ("normal", normal)):
        found = sg.standardize({"x": evaluation({"AP": [value]})}, reference, method=method)
        assert found["x"].per_query["std-AP"].tolist() == [expected]


@pytest.mark.parametrize("method", ["empirical", "normal"])
def test_queries_without_a_value_are_left_out(method):
    undefined = {"AP": [False, True, False, False]}
    three = of_values(
        [0.1, 0, np.nan, 0.3], [0.2, 0, np.nan, np.nan], [0.4, 0, np.nan, np.nan],
        undefined=undefined,
    )
    found = sg.standardize(three, method=method)
    assert np.isnan(found["a"].per_query["std-AP"][1:3]).all()
    assert found["a"].undefined["std-AP"].tolist() == undefined["AP"]
    assert not np.isnan(found["a"].per_query["std-AP"][0])
    table = sg.compare(found, test=None).to_frame()
    assert set(table["n_queries"]) == {1}


def test_queries_are_paired_by_id_and_weights_stay():
    values = np.random.default_rng(0).random((3, 5))
    weights = np.arange(5.0)
    plain = sg.standardize(of_values(*values, weights=weights))
    shuffled = of_values(*values, weights=weights)
    shuffled["b"] = taken(shuffled["b"], [3, 1, 0, 4, 2])
    found = sg.standardize(shuffled)
    for name in "abc":
        assert found[name].mean() == plain[name].mean()
        assert found[name].weights.tolist() == weights.tolist()


def test_a_system_may_be_called_as_messages_call_the_reference():
    reference = of_values([0.1, 0.9], [0.3, 0.7])
    turned = taken(of_values([0.2, 0.8])["a"], [1, 0])
    expected = sg.standardize({"x": turned}, reference)["x"].to_frame()
    found = sg.standardize({"a of reference": turned}, reference)["a of reference"].to_frame()
    assert found.equals(expected)


ONE = of_values([1.0])


@pytest.mark.parametrize("arguments, message", [
    ({"evaluations": ONE}, "systems in evaluations must be ≥ 2; got 1"),
    ({"evaluations": {}, "reference": ONE}, "systems in evaluations must be ≥ 1; got 0"),
    ({"evaluations": ONE, "reference": ONE}, "systems in reference must be ≥ 2; got 1"),
    ({"evaluations": ONE, "reference": 7}, "reference must be a mapping of names to Eval"),
    ({"evaluations": of_values([1, 0]), "reference": of_values([1], [1])},
     "'a of reference' has no values for 1 of the"),
    ({"evaluations": of_values([1], [1]), "method": "z"}, "method must be"),
])
def test_bad_input(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sg.standardize(**arguments)
