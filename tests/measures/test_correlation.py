"""Correlations: EDRC of grades and of pairs, discounts, and the limits -1 and 1."""

from math import nan

import numpy as np
import pytest
from preference_oracle import implied
from registry import REGISTRY, rank_less_1

import skgraded as sg
from skgraded.measures.preferences import edrc_score

CORRELATIONS = [entry.cls for entry in REGISTRY.values() if entry.lowest == -1]


@pytest.mark.parametrize("discount", ["linear", "log2", "exp2", rank_less_1])
def test_edrc_of_grades_equals_edrc_of_the_pairs_that_they_imply(discount):
    for seed, prior in enumerate([0, 0.3, 0.5, 1] * 2):
        rng = np.random.default_rng(seed)
        grades, scores = rng.integers(0, 4, 9) * 0.5, rng.integers(0, 5, 9) * 1.0
        grades[:3] = 0, 3, nan
        by_pairs = edrc_score(
            implied(dict(enumerate(grades))), dict(enumerate(scores)), discount, prior, range(9)
        )
        value = sg.EDRC(discount=discount, prior=prior)(grades, scores)
        assert value == pytest.approx(by_pairs, abs=1e-12), (seed, prior)


def test_the_discount_of_edrc_receives_ranks_from_2():
    calls = []
    measure = sg.EDRC(discount=lambda ranks: calls.append(ranks.tolist()) or ranks)
    measure([3, 2, 1, 0], [1, 2, 3, 4])
    assert calls and all(ranks == [2, 3, 4] for ranks in calls)


@pytest.mark.parametrize("cls", CORRELATIONS)
def test_a_correlation_is_at_most_1_for_the_same_order_and_at_least_minus_1_for_the_reverse(cls):
    for n in [*range(2, 60), 120, 333]:
        grades = np.random.default_rng(n).permutation(n)
        value = cls()(grades, np.sqrt(grades))
        assert value <= 1 and value == pytest.approx(1), n
        value = cls()(grades, -grades)
        assert value >= -1 and value == pytest.approx(-1), n


@pytest.mark.filterwarnings("ignore:More than 1,000 rows are evaluated as one query")
def test_constant_scores_of_a_long_query_have_the_pair_accuracy_one_half():
    grades = np.arange(100_000) % 7
    for measure in (sg.PairAccuracy(), sg.AUC(), sg.AUC(1), sg.AUC(5)):
        assert measure(grades, np.zeros(len(grades))) == 0.5


# Measures of order -------------------------------------------------------------------------------

OF_ORDER = [*(sg.TauAP(ties=ties) for ties in ("average", "ordinal", "best", "worst"))]
OF_ORDER += [sg.PairAccuracy(), sg.KendallTau(), sg.SpearmanRho(), sg.AUC(threshold=2)]


@pytest.mark.parametrize("measure", OF_ORDER, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_only_the_order_of_any_finite_truth_counts(measure, dtype):
    rng = np.random.default_rng(0)
    grades, scores, qid = rng.integers(0, 6, 400), rng.integers(0, 9, 400), rng.integers(0, 40, 400)
    returns = np.array([-1e30, -0.3, -0.1, 0, 1e-9, 2.5], dtype=dtype)[grades]
    of_returns = sg.AUC(threshold=-0.1) if isinstance(measure, sg.AUC) else measure
    np.testing.assert_array_equal(
        of_returns.per_query(returns, scores, qid=qid), measure.per_query(grades, scores, qid=qid)
    )


def test_other_measures_require_grades_from_0():
    accepting = {type(measure) for measure in OF_ORDER}
    for entry in REGISTRY.values():
        measure = entry.cls()
        if entry.cls not in accepting or isinstance(measure, sg.AUC):
            with pytest.raises(ValueError, match="y_true must contain only grades ≥ 0; got -1 for"):
                measure.per_query([1, -1, 0], [3, 2, 1])
