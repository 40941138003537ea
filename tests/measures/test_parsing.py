"""Measures print as texts that read back, and texts that cannot be read say why."""

import re
from math import nan

import numpy as np
import pytest
from registry import REGISTRY

import skgraded as sg
from skgraded.measures import as_measures, base
from skgraded.measures.base import MEASURES, parameters_of


@pytest.mark.parametrize(
    ("text", "measure", "name"),
    [
        ("ndcng@10", sg.NDCNG(k=10), "NDCNG@10"),
        ("NDCNG@10", sg.NDCNG(10), "NDCNG@10"),
        ("AP(threshold=2)@20", sg.AP(k=20, threshold=2), "AP(threshold=2)@20"),
        ("ap", sg.AP(), "AP"),
        ("map@5", sg.AP(k=5), "AP@5"),
        ("MAP", sg.AP(), "AP"),
        ("mu_map", sg.MuAP(), "MuAP"),
        ("mu_ap@3", sg.MuAP(k=3), "MuAP@3"),
        ("MuMAP", sg.MuAP(), "MuAP"),
        ("p@10", sg.Precision(k=10), "Precision@10"),
        ("R@100", sg.Recall(k=100), "Recall@100"),
        ("mrr", sg.RR(), "RR"),
        ("MRR(threshold=1)@10", sg.RR(k=10, threshold=1), "RR(threshold=1)@10"),
        ("mean_ndcg", sg.NDCG(k="mean"), "NDCG@mean"),
        ("MeanNDCNG", sg.NDCNG(k="mean"), "NDCNG@mean"),
        ("ndcg@mean", sg.NDCG(k="mean"), "NDCG@mean"),
        ("NDCG(undefined=nan)", sg.NDCG(undefined=nan), "NDCG(undefined=nan)"),
        ("NDCG(undefined=1.0)@5", sg.NDCG(k=5, undefined=1), "NDCG(undefined=1.0)@5"),
        ("NDCG()@5", sg.NDCG(k=5), "NDCG@5"),
        ("ndcg(gain='linear')", sg.NDCG(gain="linear"), "NDCG(gain='linear')"),
        ('ndcg(discount="letor")', sg.NDCG(discount="letor"), "NDCG(discount='letor')"),
        ("NDCNG(max_grade=2.5)", sg.NDCNG(max_grade=2.5), "NDCNG(max_grade=2.5)"),
        ("NDCNG(max_grade=None)", sg.NDCNG(), "NDCNG"),
        ("AP(threshold=1e-300)", sg.AP(threshold=1e-300), "AP(threshold=1e-300)"),
        ("AP(ties='average',undefined=0.0)", sg.AP(), "AP"),
        ("TauAP(ties='worst')", sg.TauAP(ties="worst"), "TauAP(ties='worst')"),
        ("kendall_tau", sg.KendallTau(), "KendallTau"),
        ("SpearmanRho(undefined=nan)", sg.SpearmanRho(undefined=nan), "SpearmanRho(undefined=nan)"),
        ("auc", sg.AUC(), "AUC"),
        ("AUC(threshold=2)", sg.AUC(2), "AUC(threshold=2)"),
        ("pair_accuracy", sg.PairAccuracy(), "PairAccuracy"),
        ("EDRC(discount='linear',prior=0.5)", sg.EDRC(), "EDRC"),
        ("edrc(prior=1.0)", sg.EDRC(prior=1), "EDRC(prior=1)"),
        ("edrc(prior=0)", sg.EDRC("linear", 0.0), "EDRC(prior=0)"),
        ("EDRC(discount='exp2')", sg.EDRC(discount="exp2"), "EDRC(discount='exp2')"),
        ("generalized_precision@5", sg.GeneralizedPrecision(5), "GeneralizedPrecision@5"),
        (
            "GeneralizedPrecision(max_grade=4)@5",
            sg.GeneralizedPrecision(k=5, max_grade=4.0),
            "GeneralizedPrecision(max_grade=4)@5",
        ),
        # Letter case and underscores of names do not matter.
        ("AP(Threshold=2)", sg.AP(threshold=2), "AP(threshold=2)"),
        ("ndcng(MaxGrade=4)@5", sg.NDCNG(max_grade=4, k=5), "NDCNG(max_grade=4)@5"),
        ("nd_cng(max_grade=4)@5", sg.NDCNG(max_grade=4, k=5), "NDCNG(max_grade=4)@5"),
    ],
)
def test_texts_read_and_print(text, measure, name):
    assert sg.measure(text) == sg.measure(measure) == measure
    assert str(measure) == repr(measure) == measure.name == measure.__name__ == name
    assert sg.measure(name) == measure


def test_all_parameters_that_are_not_the_default_are_in_the_text():
    measure = sg.NDCNG(
        k=3, ties="worst", gain="linear", discount="letor", max_grade=4, undefined=nan
    )
    for part in ("worst", "linear", "letor", "max_grade=4", "nan", "@3"):
        assert part in str(measure)
    assert not set(str(measure)) & set(" :")
    assert sg.measure(str(measure)) == measure


def test_whole_numbers_print_without_a_point_as_long_as_all_of_them_are_floats():
    below, limit = 2.0**53 - 1, 2.0**53
    assert str(sg.AP(threshold=below)) == "AP(threshold=9007199254740991)"
    assert str(sg.AP(threshold=limit)) == "AP(threshold=9007199254740992.0)"
    assert str(sg.NDCNG(max_grade=1e300)) == "NDCNG(max_grade=1e+300)"


def test_numbers_of_numpy_print_like_pythons():
    assert sg.NDCG(k=np.int64(10)) == sg.NDCG(k=10)
    assert sg.AP(threshold=np.float64(0.5)) == sg.AP(threshold=0.5)
    assert sg.AP(threshold=np.int32(2)) == sg.AP(threshold=2) == sg.AP(threshold=2.0)
    assert sg.NDCNG(max_grade=np.float32(0.5)) == sg.NDCNG(max_grade=0.5)
    assert sg.AP(undefined=np.float64(nan)) == sg.AP(undefined=nan)


def test_undefined_values_of_equal_worth_are_equal():
    assert sg.AP(undefined=0) == sg.AP(undefined=0.0) == sg.AP()
    assert sg.AP(undefined=nan) == sg.AP(undefined=float("nan"))
    assert hash(sg.AP(undefined=nan)) == hash(sg.AP(undefined=float("nan")))
    assert len({sg.AP(undefined=0.0), sg.AP(undefined=1.0), sg.AP(undefined=nan)}) == 3


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


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("ndgc@10", "NDCG"),
        ("NCDNG", "NDCNG"),
        ("muapp", "MuAP"),
        ("recal", "Recall"),
        ("kendal", "KendallTau"),
        ("taupa", "TauAP"),
    ],
)
def test_an_unknown_name_lists_the_known_and_the_nearest(text, near):
    with pytest.raises(ValueError, match="(?i)unknown measure") as error:
        sg.measure(text)
    message = str(error.value)
    assert text.split("@")[0] in message
    for name in REGISTRY:
        assert name in message
    assert f"mean {near}?" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "''"),
        ("@10", "@10"),
        ("ndcg@", "ndcg@"),
        ("ndcg@0", "at least 1"),
        ("ndcg@-1", "ndcg@-1"),
        ("ndcg@2.5", "2.5"),
        ("ndcg@ten", "ten"),
        ("AP@mean", "mean"),
        ("ndcg@5@10", "ndcg@5@10"),
        ("AP(threshold=2", "threshold=2"),
        ("AP(2)", "2"),
        ("AP(depth=2)", "depth"),
        ("AP(gain='linear')", "gain"),
        ("AP(threshold=two)", "two"),
        ("AP(threshold=print(1))", "print"),
        ("AP(threshold='2')", "threshold"),
        ("AP(threshold=1)(threshold=2)", "threshold"),
        ("AP(threshold=1,threshold=2)", "threshold"),
        ("NDCG(gain='exp3')", "exp3"),
        ("NDCG(ties='random')", "random"),
        ("NDCG(undefined=0.5)", "0.5"),
        ("NDCG(k=5)@10", "cut-off"),
        ("mean_ndcg@5", "cut-off"),
        ("ndcg 10", "ndcg 10"),
        ("EDRC(discount='letor')", "discount must be one of ['linear', 'log2', 'exp2']"),
        ("EDRC(prior=1.5)", "prior must be"),
        ("EDRC(gain='exp2')", "discount, prior"),
        ("TauAP@10", "no cut-off"),
        ("GeneralizedRecall(max_grade=4)", "max_grade"),
    ],
)
def test_texts_that_cannot_be_read_say_so(text, message):
    with pytest.raises(ValueError) as error:
        sg.measure(text)
    assert message in str(error.value)


@pytest.mark.parametrize("value", [None, 5, b"ndcg", ["ndcg", "ap"], sg.NDCG])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(TypeError, match="ndcng@10"):
        sg.measure(value)


class TestLists:
    def test_one_or_several(self):
        assert as_measures("ndcng@10") == as_measures(sg.NDCNG(k=10)) == [sg.NDCNG(k=10)]
        both = [sg.NDCNG(k=10), sg.MuAP()]
        assert as_measures(["ndcng@10", "mu_map"]) == as_measures(tuple(both)) == both

    @pytest.mark.parametrize(
        ("measures", "message"),
        [([], "empty"), (["ap", "map"], "AP"), (["ndcg", "ndgc"], "NDCG"), ([sg.AP(), "AP"], "AP")],
    )
    def test_empty_lists_duplicates_and_unknown_names_are_refused(self, measures, message):
        with pytest.raises(ValueError, match=message):
            as_measures(measures)

    @pytest.mark.parametrize("measures", [None, 5, [None], [["ndcg"]], {"map": "ndcng@10"}])
    def test_what_is_no_measure_is_refused(self, measures):
        with pytest.raises(TypeError, match="measure"):
            as_measures(measures)


# --- the registry --------------------------------------------------------------------------------


def test_two_measures_of_one_name_are_refused():
    with pytest.raises(ValueError, match="NDCG is already defined in skgraded.measures.gain"):

        @base.registered()
        class NDCG(base.Measure):
            """Another."""

            undefined: float = 0.0

    assert sg.measures.MEASURES["NDCG"] is sg.NDCG


@pytest.mark.parametrize("cls", MEASURES.values(), ids=MEASURES)
def test_the_docstring_says_of_each_parameter_what_it_is(cls):
    before, parameters = cls.__doc__.split("\nParameters\n----------\n")
    names = re.findall(r"^(\w+) : ", parameters.partition("\n\n")[0], re.MULTILINE)
    assert names == list(parameters_of(cls))
    assert before.count("\n\n") >= 1 and "Examples\n--------\n" in parameters


def test_a_docstring_keeps_what_a_measure_says_itself_of_a_parameter():
    assert "MeanNDCG" in sg.NDCG.__doc__ and "MeanNDCG" not in sg.AP.__doc__
    assert "exact expectation over all their orders" in sg.AP.__doc__


@pytest.mark.parametrize(
    "text, measure",
    [
        ("P_10", sg.Precision(k=10)),
        ("P.10", sg.Precision(k=10)),  # as options of trec_eval write it
        ("p_5(threshold=2)", sg.Precision(k=5, threshold=2)),
        ("recall_5", sg.Recall(k=5)),
        ("success_5", sg.Success(k=5)),
        ("Rprec", sg.RPrecision()),
        ("iprec_at_recall_0.10", sg.InterpolatedPrecision(0.1)),
        ("set_P", sg.SetPrecision()),
        ("set_recall", sg.SetRecall()),
        ("set_F", sg.SetF()),
        ("ndcg_cut_10", sg.NDCG(k=10, gain="linear")),
        ("NDCG_CUT_3(undefined=nan)", sg.NDCG(k=3, gain="linear", undefined=nan)),
        ("recip_rank", sg.RR()),
        ("map", sg.AP()),
        ("ndcg", sg.NDCG(gain="exp2")),  # not the gain of trec_eval
        ("\u03bcAP", sg.MuAP()),  # the Greek letter
        ("\u00b5AP@5", sg.MuAP(k=5)),  # the sign for micro
        ("\u03bcMAP", sg.MuAP()),
        ("\u00b5_map", sg.MuAP()),
    ],
)
def test_other_spellings(text, measure):
    assert sg.measure(text) == measure and as_measures([text]) == [measure]


@pytest.mark.parametrize(
    "text, problem",
    [
        ("map_cut_20", "map_cut_20 divides by the number R of relevant .* Use 'AP@20'"),
        ("P_10@5", "two cut-offs"),
        ("ndcg_cut_10(gain='exp2')", "gain twice"),
        ("P_0", "at least 1"),
        ("P_2.5", "an integer"),
        ("P_10_20", "Unknown measure 'P_10_20'"),
        ("P10", "Unknown measure 'P10'"),
        ("num_ret_5", "Unknown measure 'num_ret_5'"),
    ],
)
def test_spellings_that_are_refused(text, problem):
    with pytest.raises(ValueError, match=problem):
        sg.measure(text)


@pytest.mark.parametrize("text", ["nope", "infAP", "x", "rbo", "mae", "utility"])
def test_a_name_that_is_near_to_none_gets_no_suggestion(text):
    with pytest.raises(ValueError, match="Unknown measure") as error:
        sg.measure(text)
    assert "Did you mean" not in str(error.value)


def test_a_parameter_gets_the_nearest_as_a_suggestion():
    with pytest.raises(ValueError, match=r"are k, .*\. Did you mean 'threshold'\?"):
        sg.measure("AP(treshold=2)")
