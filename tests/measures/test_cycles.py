"""Contradictory preferences, compared with direct implementations of the rules."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from preference_oracle import edrc, settled

import skgraded as sg

RULES = ["unknown", "majority"]
ROUND = [("A", "B"), ("B", "C"), ("C", "A")]


def quiet(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Left out contradictory pairs")
        return function(*args, **kwargs)


def by_definition(true, predicted, cycles, **kwargs):
    items = {item for pair in [*true, *predicted] for item in pair}
    return edrc(settled(true, cycles), settled(predicted, cycles), extra=items, **kwargs)


# The rules ----------------------------------------------------------------------------------------

pairs = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1]),
    min_size=1,
    max_size=20,
)


@pytest.mark.parametrize("cycles", RULES)
@settings(max_examples=30, deadline=None)
@given(true=pairs, predicted=pairs, prior=st.sampled_from([0.5, 0.0, 0.7]))
def test_small_graphs_agree_with_a_direct_implementation(cycles, true, predicted, prior):
    got = quiet(sg.edrc_score, true, predicted, prior=prior, cycles=cycles)
    assert got == pytest.approx(by_definition(true, predicted, cycles, prior=prior), abs=1e-12)


def test_a_graph_with_a_single_cycle_is_undefined():
    for undefined in 0.0, 1.0, math.nan:
        np.testing.assert_equal(
            quiet(sg.edrc_score, ROUND, {"A": 1}, cycles="unknown", undefined=undefined), undefined
        )


# Pairs as stated ----------------------------------------------------------------------------------


def stated(true, is_predicted, items):
    """Pair accuracy and Kendall's τ: the sum over stated pairs of 1, 0 or 1/2."""
    pairs = [(v, w) for v, w in true if v in items and w in items]
    points = [(1 + is_predicted(v, w) - is_predicted(w, v)) / 2 for v, w in pairs]
    return (np.mean(points), 2 * np.mean(points) - 1) if pairs else (0, 0)


@settings(max_examples=30, deadline=None)
@given(
    true=pairs,
    predicted=pairs,
    scores=st.dictionaries(st.integers(0, 7), st.integers(0, 3)),
    only=st.sets(st.integers(0, 7), min_size=1),
)
def test_ignored_cycles_count_each_pair_as_stated(true, predicted, scores, only):
    scores |= dict.fromkeys([0, 1], -math.inf)
    ev = sg.evaluate_preferences(
        true * 2,
        {0: predicted, 1: scores},
        qid=[0] * len(true) + [1] * len(true),
        items=only,
        measures=["pair_accuracy", "kendall_tau"],
        cycles="ignore",
    )
    by_pairs = stated(true, lambda v, w: (v, w) in predicted, only)
    by_scores = stated(true, lambda v, w: scores.get(v, math.nan) > scores.get(w, math.nan), only)
    got = np.transpose(list(ev.per_query.values()))
    np.testing.assert_allclose(got, [by_pairs, by_scores], rtol=0, atol=1e-15)
    assert (ev.undefined["KendallTau"] == (not {*true} & {*itertools.permutations(only, 2)})).all()


def test_ignored_cycles_agree_with_the_preference_measures_of_trec_eval(data_dir):
    # test/out.test.qrels_prefs of trec_eval: prefs_num_prefs_ful and _poss, and prefs_simp_ret
    printed = {"302": (47531, 75768, 0.8440), "303": (8464, 9020, 0.7288)}
    qrels = sg.datasets.read_qrels(data_dir / "trec-eval" / "qrels.test")
    run = sg.datasets.read_run(data_dir / "trec-eval" / "results.test")
    for query, (n_fulfilled, n_possible, among_retrieved) in printed.items():
        judged = qrels.query == query
        documents, is_relevant = qrels.document[judged], qrels.grade[judged] > 0
        true = list(itertools.product(documents[is_relevant], documents[~is_relevant]))
        in_run = run.query == query
        scores = dict.fromkeys(documents, -math.inf)
        scores |= zip(run.document[in_run], run.score[in_run].tolist(), strict=True)
        n_neither = sum(scores[v] == scores[w] == -math.inf for v, w in true)  # not fulfilled there

        def accuracy(items, true=true, query=query, scores=scores):
            return sg.evaluate_preferences(
                true,
                {query: scores},
                qid=[query] * len(true),
                items=items,
                measures="pair_accuracy",
                cycles="ignore",
            ).mean()["PairAccuracy"]

        assert len(true) == n_possible
        assert accuracy(None) == pytest.approx((n_fulfilled + n_neither / 2) / n_possible, 1e-12)
        assert accuracy("predicted") == pytest.approx(among_retrieved, abs=5.1e-5)


def test_ignored_cycles_are_refused_by_measures_of_the_closure():
    for function in sg.edrc_score, sg.evaluate_preferences:
        with pytest.raises(ValueError, match="EDRC requires the transitive closure .* kendall_tau"):
            function(ROUND, {1: {"A": 1}}, qid=[1, 1, 1], cycles="ignore")


# Counts -------------------------------------------------------------------------------------------

TRUE = [*ROUND, ("X", "Y"), ("Y", "X"), ("X", "Z"), ("A", "B")]
QID = [1, 1, 1, 2, 2, 2, 3]
PREDICTED = {1: {"A": 1}, 2: [("X", "Z"), ("Z", "X")], 3: [("A", "B")]}


def test_one_warning_counts_contradictions_in_true_and_predicted_pairs():
    with pytest.warns(UserWarning) as told:
        values = sg.edrc_per_query(TRUE, PREDICTED, qid=QID, cycles="unknown")
    assert [str(warning.message) for warning in told] == [
        "Left out contradictory pairs (cycles='unknown'): 4 of 6 pairs in true_pairs, "
        "in 2 of 3 queries; 1 of 2 pairs in predicted_pairs, in 1 of 2 queries."
    ]
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="3 of 3 pairs in true_pairs, in 1 of 1 q") as told:
        sg.edrc_score(ROUND, {"A": 1}, cycles="unknown")
    assert told[0].filename == __file__
    # The prediction no longer contains Z ≻ X, and nothing is known about Y.
    assert values == {1: 0.0, 2: 2 * (0.5 + 0.5) / 2 - 1, 3: 1.0}


# The judged items ---------------------------------------------------------------------------------


def test_judged_items_include_items_of_contradictory_pairs():
    true = [("A", "B"), ("B", "A"), ("X", "Y")]
    got = quiet(sg.edrc_score, true, {"X": 1, "Y": 0, "Q": 5}, cycles="unknown", items="judged")
    assert got == pytest.approx(2 * (1 + 0.5 + 0.5) / 3 - 1)
