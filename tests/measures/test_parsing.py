"""Texts of measures; tests/measures/test_messages.py contains texts that cannot be parsed."""

import inspect
from math import nan

import numpy as np
import pytest

import skgraded as sg
from skgraded.measures import as_measures
from skgraded.measures.base import MEASURES

TEXTS = {
    # A text, the measure, and the name of the measure
    "ndcng@10": (sg.NDCNG(10), "NDCNG@10"),
    "nd_cng(MaxGrade=4)@5": (sg.NDCNG(max_grade=4.0, k=5), "NDCNG(max_grade=4)@5"),
    "map(threshold=2)@20": (sg.AP(k=20, threshold=2), "AP(threshold=2)@20"),
    "AP(ties='average',undefined=0.0)": (sg.AP(), "AP"),
    "AP(threshold=1e-300)": (sg.AP(threshold=1e-300), "AP(threshold=1e-300)"),
    "MuMAP": (sg.MuAP(), "MuAP"),
    "p@10": (sg.Precision(k=10), "Precision@10"),
    "R@100": (sg.Recall(k=100), "Recall@100"),
    "mrr": (sg.RR(), "RR"),
    "recip_rank": (sg.RR(), "RR"),
    "mean_ndcg": (sg.NDCG(k="mean"), "NDCG@mean"),
    "MeanNDCNG": (sg.NDCNG(k="mean"), "NDCNG@mean"),
    "ndcg@mean": (sg.NDCG(k="mean"), "NDCG@mean"),
    "ndcg(gain='exp2')": (sg.NDCG(), "NDCG"),  # not the gain of trec_eval
    "NDCG(undefined=NaN)@5": (sg.NDCG(k=5, undefined=nan), "NDCG(undefined=nan)@5"),
    "NDCG(undefined=1)": (sg.NDCG(undefined=1.0), "NDCG(undefined=1.0)"),
    "NDCG()@5": (sg.NDCG(k=5), "NDCG@5"),
    'ndcg(discount="letor")': (sg.NDCG(discount="letor"), "NDCG(discount='letor')"),
    "NDCNG(max_grade=None)": (sg.NDCNG(), "NDCNG"),
    "NDCNG(max_grade=2.5)": (sg.NDCNG(max_grade=2.5), "NDCNG(max_grade=2.5)"),
    "TauAP(ties='worst')": (sg.TauAP(ties="worst"), "TauAP(ties='worst')"),
    "edrc(prior=1.0)": (sg.EDRC("linear", 1), "EDRC(prior=1)"),
    # Names in trec_eval
    "P_10": (sg.Precision(k=10), "Precision@10"),
    "P.10": (sg.Precision(k=10), "Precision@10"),  # as in its options
    "p_5(threshold=2)": (sg.Precision(k=5, threshold=2), "Precision(threshold=2)@5"),
    "recall_5": (sg.Recall(k=5), "Recall@5"),
    "success_5": (sg.Success(k=5), "Success@5"),
    "Rprec": (sg.RPrecision(), "RPrecision"),
    "iprec_at_recall_0.10": (sg.InterpolatedPrecision(0.1), "InterpolatedPrecision(recall=0.1)"),
    "set_P": (sg.SetPrecision(), "SetPrecision"),
    "set_F": (sg.SetF(), "SetF"),
    "ndcg_cut_10": (sg.NDCG(k=10, gain="linear"), "NDCG(gain='linear')@10"),
    # Names in other tools
    "accuracy@5": (sg.Success(k=5), "Success@5"),
    "hit@10": (sg.Success(k=10), "Success@10"),
    "hit_rate@10": (sg.Success(k=10), "Success@10"),
    "HR@10": (sg.Success(k=10), "Success@10"),
    "average_precision": (sg.AP(), "AP"),
    "mean_average_precision@100": (sg.AP(k=100), "AP@100"),
    "reciprocal_rank": (sg.RR(), "RR"),
    "ndcg_at_10": (sg.NDCG(k=10), "NDCG@10"),
    "precision_at_5": (sg.Precision(k=5), "Precision@5"),
    "map_at_100": (sg.AP(k=100), "AP@100"),
    "AP(threshold=2)_at_20": (sg.AP(k=20, threshold=2), "AP(threshold=2)@20"),
    "expected_reciprocal_rank@20": (sg.ERR(k=20), "ERR@20"),
    "context_precision@5": (sg.AP(k=5), "AP@5"),
    "r-precision": (sg.RPrecision(), "RPrecision"),
    "prec@5": (sg.Precision(k=5), "Precision@5"),
    "recall_cap@10": (sg.Recall(k=10, divisor="min"), "Recall(divisor='min')@10"),
    "f1": (sg.SetF(), "SetF"),
    "roc_auc": (sg.AUC(), "AUC"),
    "ap(rel=2, top_k=5)": (sg.AP(k=5, threshold=2), "AP(threshold=2)@5"),
    # The Greek letter mu and the micro sign
    "\u03bcAP": (sg.MuAP(), "MuAP"),
    "\u00b5_map@5": (sg.MuAP(k=5), "MuAP@5"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_parsed_and_printed(text):
    measure, name = TEXTS[text]
    assert sg.measure(text) == sg.measure(measure) == measure and as_measures([text]) == [measure]
    assert str(measure) == repr(measure) == measure.name == measure.__name__ == name
    assert sg.measure(name) == measure


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ndcg", "NDCG(gain='linear')"),
        ("nDCG@10", "NDCG(gain='linear')@10"),
        ("ndcg(gain='exp2')@10", "NDCG@10"),
        ("ndcg_cut.10", "NDCG(gain='linear')@10"),
        ("map", "AP"),
        ("AP@100", "AP(divisor='relevant')@100"),
        ("map(divisor='min')@5", "AP@5"),
        ("rbp", "RBP(persistence=0.9)"),
        ("mu_map@10", "MuAP@10"),
    ],
)
def test_names_of_trec_eval_have_its_meaning(text, name):
    assert sg.measure(text, names="trec_eval").name == name


@pytest.mark.parametrize(("text", "example"), [("P", "P_5"), ("ndcg_cut", "ndcg_cut_5")])
def test_names_of_several_measures_of_trec_eval_are_refused(text, example):
    with pytest.raises(ValueError, match=f"{text} is a list of measures: .* as {example}"):
        sg.measure(text, names="trec_eval")


def test_integers_are_printed_without_a_point_below_2_to_the_53():
    below, limit = 2.0**53 - 1, 2.0**53
    assert str(sg.AP(threshold=below)) == "AP(threshold=9007199254740991)"
    assert str(sg.AP(threshold=limit)) == "AP(threshold=9007199254740992.0)"
    assert str(sg.NDCNG(max_grade=1e300)) == "NDCNG(max_grade=1e+300)"


def test_numpy_numbers_equal_python_numbers():
    assert sg.NDCG(k=np.int64(10)) == sg.NDCG(k=10)
    assert sg.AP(threshold=np.float64(0.5)) == sg.AP(threshold=0.5)
    assert sg.AP(threshold=np.int32(2)) == sg.AP(threshold=2) == sg.AP(threshold=2.0)
    assert sg.NDCNG(max_grade=np.float32(0.5)) == sg.NDCNG(max_grade=0.5)
    assert sg.AP(undefined=np.float64(nan)) == sg.AP(undefined=nan)


def test_callables_are_compared_by_identity():
    first, second = [sg.NDCG(gain=lambda grades: grades) for _ in range(2)]
    assert str(first) == str(second) and first != second and len({first, second}) == 2
    twin = sg.NDCG(gain=first.gain)
    assert twin == first and hash(twin) == hash(first)


def test_a_callable_shows_its_name():
    def doubled(grades):
        return 2 * grades

    assert str(sg.NDCG(gain=doubled)) == "NDCG(gain=doubled)"
    for odd in (lambda grades: grades, np.sqrt, type("A Gain:", (), {"__call__": None})()):
        assert not set(str(sg.NDCG(gain=odd))) & set(" :")


def test_one_measure_or_a_collection_of_measures():
    assert as_measures("ndcng@10") == as_measures(sg.NDCNG(k=10)) == [sg.NDCNG(k=10)]
    both = [sg.NDCNG(k=10), sg.MuAP()]
    assert as_measures(["ndcng@10", "mu_map"]) == as_measures(tuple(both)) == both
    assert as_measures("ndcng@10, mu_map") == both


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ndcg@1,3,mean", ["NDCG@1", "NDCG@3", "NDCG@mean"]),
        ("ndcg_cut.5,10", ["NDCG(gain='linear')@5", "NDCG(gain='linear')@10"]),
        (
            "ap(threshold=2,ties='best')@5, 10",
            [f"AP(ties='best',threshold=2)@{k}" for k in (5, 10)],
        ),
        ("iprec_at_recall.0.1,0.2", [f"InterpolatedPrecision(recall={r})" for r in (0.1, 0.2)]),
        ("P_5,10, recall_5,map", ["Precision@5", "Precision@10", "Recall@5", "AP"]),
    ],
)
def test_a_text_may_contain_several_measures(text, names):
    assert [measure.name for measure in as_measures(text)] == names
    assert [measure.name for measure in as_measures([text, "rr"])] == [*names, "RR"]
    with pytest.raises(ValueError, match="is a list of measures: pass it where a list is accepted"):
        sg.measure(text)


# --- the registry --------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", MEASURES.values(), ids=MEASURES)
def test_the_docstring_contains_a_definition_and_an_example(cls):
    before, parameters = inspect.getdoc(cls).split("\nParameters\n----------\n")
    assert before.count("\n\n") >= 1 and "\nExamples\n--------\n" in parameters
