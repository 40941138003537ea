"""Errors of measures, curves, rank-biased overlap and preferences."""

import math
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import skgraded as sg
from skgraded.measures import (
    as_measures,
    cutoff_curve,
    threshold_curve,
)

nan, inf = math.nan, math.inf

TEXTS = {
    "": "Cannot parse measure ''",
    "@10": "Cannot parse measure '@10'",
    "ndcg@": "Cannot parse measure 'ndcg@'",
    "ndcg@0": "'ndcg@0': k must be .*at least 1",
    "ndcg@-1": "Cannot parse measure 'ndcg@-1'",
    "ndcg@2.5": "Cannot parse measure 'ndcg@2.5'",
    "ndcg@ten": "'ndcg@ten': k must be",
    "AP@mean": "k must be an integer ≥ 1; got 'mean'",
    "ndcg@5@10": "Cannot parse measure 'ndcg@5@10'",
    "ndcg 10": "Cannot parse measure 'ndcg 10'",
    "AP(threshold=2": "Cannot parse measure .*threshold=2'",
    "AP(2)": r"Cannot parse measure 'AP\(2\)': use the form",
    "AP(threshold=1)(threshold=2)": "use the form Name",
    "AP(depth=2)": "AP has no parameter 'depth'; its parameters are k, ties, threshold, divisor,",
    "AP(gain='linear')": "AP has no parameter 'gain'",
    "AP(treshold=2)": r"are k, .*\. Did you mean 'threshold'\?",
    "AP(threshold=two)": "threshold must be a literal such as 2, 'linear' or nan; got two",
    "AP(threshold=print(1))": r"must be a literal .* got print\(1\)",
    "AP(threshold='2')": "threshold must be .*'2'",
    "AP(threshold=1,threshold=2)": "Cannot parse measure|contains threshold twice",
    "NDCG(gain='exp3')": "gain must be .*exp3",
    "NDCG(ties='random')": "ties must be one of .*random",
    "NDCG(undefined=0.5)": "'undefined' must be 0.0, 1.0 or nan; got 0.5",
    "NDCG(k=5)@10": "contains two cut-offs",
    "mean_ndcg@5": "contains two cut-offs",
    "P_10@5": "contains two cut-offs",
    "ndcg_cut_10(gain='exp2')": "contains gain twice",
    "EDRC(discount='letor')": r"discount must be one of \['linear', 'log2', 'exp2'\]",
    "EDRC(prior=1.5)": "prior must be",
    "TauAP@10": "TauAP has no cut-off k",
    "P_0": "at least 1",
    "P_2.5": "an integer",
    "AP(divisor='R')@5": r"divisor must be one of \['min', 'relevant'\]; got 'R'",
    "map_cut_20@5": "contains two cut-offs",
    "P_10_20": "Unknown measure 'P_10_20'",
    "P10": "Unknown measure 'P10'",
    "num_ret_5": "Unknown measure 'num_ret_5'",
    "ndgc@10": r"Unknown measure 'ndgc'\. Did you mean NDCG\? Known measures: .*EDRC.*NDCNG",
    "NCDNG": r"Did you mean NDCNG\?",
    "taupa": r"Did you mean TauAP\?",
    **dict.fromkeys(["nope", "rbo"], r"Unknown measure '\w+'\. Known measures"),
    **dict.fromkeys(
        ["infAP", "11pt_avg"], r"is not available in skgraded. .*'Coming from trec_eval'"
    ),
    "gm_map": "computes gm_map with --names trec_eval",
    "ndcg@5, map": "ndcg@5, map is a list of measures: pass it where a list is accepted",
}


MEASURES = [
    *((partial(sg.measure, text), ValueError, message) for text, message in TEXTS.items()),
    *(
        (partial(sg.measure, value), TypeError, "such as 'ndcng@10'; got")
        for value in (None, 5, b"ndcg", ["ndcg", "ap"], sg.NDCG)
    ),
    (lambda: as_measures([]), ValueError, "measures is empty"),
    (lambda: as_measures(["ap", "map"]), ValueError, "measures contains AP twice"),
    (lambda: as_measures([sg.AP(), "AP"]), ValueError, "measures contains AP twice"),
    (lambda: as_measures(["ndcg", "ndgc"]), ValueError, "Unknown measure 'ndgc'"),
    *(
        (partial(as_measures, value), TypeError, "measures? must")
        for value in (None, 5, np.array("ap"), [None], [["ndcg"]], {"map": "ndcng@10"})
    ),
    (
        lambda: sg.GAP(gain=lambda grades: grades + 1)([2, 1, 1], [3, 2, 1]),
        ValueError,
        r"gain must return 0 for grade 0.*got array\(\[1\.\]\)",
    ),
    *(
        (
            partial(sg.NDCG(discount=discount), [1, 0, 0.5], [4, 3, 2]),
            ValueError,
            "discount must be positive at rank 1 and must",
        )
        for discount in (
            lambda ranks: 1 + ranks / 100,
            lambda ranks: 0 * ranks,
            lambda ranks: (ranks > 1) * 1.0,
        )
    ),
    # NDCNG has the same normalized grades; each gain function is checked by itself.
    *(
        (
            lambda cls=cls: cls(gain=lambda grades: 2 * grades * (1 - grades))(
                [1, 0, 0.5], [3, 2, 1]
            ),
            ValueError,
            "gain must not decrease .*: the gain of grade 0.5 is 0.5",
        )
        for cls in (sg.NDCG, sg.NDCNG, sg.GAP, sg.QMeasure)
    ),
    (
        lambda: sg.DCG()([1024, 2], [2, 1]),
        ValueError,
        "the grade 1024, whose gain is inf. To avoid this, pass gain='linear', or use NDCG",
    ),
    (
        lambda: sg.DCG(gain="linear")([1e308, 1e308], [2, 1]),
        ValueError,
        r"the grade 1e\+308, whose gain is 1e\+308. To avoid this, use NDCG",
    ),
    (
        lambda: sg.ERR(max_grade=3)([3, 5, 4], [3, 2, 1]),
        ValueError,
        "max_grade is 3, but y_true contains grade 5 in row 1",
    ),
]


def threshold(y_true=(1, 0), y_score=(2, 1), **settings):
    return threshold_curve(y_true, y_score, **settings)


def cutoff(y_true=(1, 0), y_score=(2, 1), **settings):
    return cutoff_curve(y_true, y_score, **settings)


CURVES = [
    (lambda: threshold(ties="random"), ValueError, "ties must be one of"),
    (lambda: threshold(undefined=0.5), ValueError, "'undefined' must be 0.0, 1.0 or nan"),
    (lambda: threshold([1, nan]), ValueError, "y_true must not .* NaN; got nan for row 1"),
    (
        lambda: cutoff(measures="ndcg@3"),
        ValueError,
        "must accept a cut-off but not set one; got NDCG@3",
    ),
    (
        lambda: cutoff(measures="tau_ap"),
        ValueError,
        "must accept a cut-off but not set one; got TauAP",
    ),
    (lambda: cutoff(cutoffs=[2, 1]), ValueError, "cutoffs must be in ascending order"),
    (lambda: cutoff(cutoffs=[1, 1]), ValueError, "cutoffs must be in ascending order"),
    (lambda: cutoff(y_score=[1, nan]), ValueError, "y_score must not contain NaN; got nan for row"),
    (lambda: sg.rbo([1, 2], [1, 2, 3]), ValueError, "2"),
    (lambda: sg.rbo([1, nan], [1, 2]), ValueError, "x.*NaN|x.*nan"),
    (lambda: sg.rbo([-inf, -inf], [1, 2]), ValueError, "x contains no items"),
    (lambda: sg.rbo([1, 2], [-inf, -inf]), ValueError, "y contains no items"),
    (lambda: sg.rbo([], []), ValueError, "empty"),
    (lambda: sg.rbo([1, 2], [1, 2], p=1), ValueError, "p must be"),
    (lambda: sg.rbo([1, 2], [1, 2], ties="a"), ValueError, "ties must be"),
]

# Preferences -------------------------------------------------------------------------------------

GOOD = [("A", "B")]
TWO = [("A", "B"), ("B", "A")]
ROUND = [("A", "B"), ("B", "C"), ("C", "A")]


def edrc(true_pairs=GOOD, predicted_pairs=GOOD, **arguments):
    return sg.edrc_score(true_pairs, predicted_pairs, **arguments)


def by_query(true_pairs=TWO, predicted_pairs={1: GOOD, 2: GOOD}, qid=(1, 2), **arguments):  # noqa: B006
    return sg.edrc_score(true_pairs, predicted_pairs, qid=list(qid), **arguments)


PAIRS = [
    ([], ValueError, "is empty"),
    ("AB", TypeError, "must contain pairs .*; got str"),
    (None, TypeError, "must contain pairs .*; got NoneType"),
    (["AB", "CD"], ValueError, "row 0 is 'AB'"),
    ([("A", "B"), ("A", "B", "C")], ValueError, "row 1 is"),
    ([("A", "B"), {"A", "C"}], ValueError, "row 1 is"),
    ([1, 2], ValueError, "row 0 is 1"),
    (np.empty((0, 2)), ValueError, "is empty"),
    (np.ones((4, 3)), ValueError, "row 0 is"),
    (np.array(1), TypeError, "must contain pairs .*; got ndarray"),
    ([("A", "B"), ("C", "C")], ValueError, "row 1 contains 'C' twice"),
    ([("A", "B"), ("C", None)], ValueError, r"row 1, contains a missing value \(None\)"),
    ([("A", "B"), (("x", None), "C")], ValueError, "row 1, contains a missing value"),
    (np.array([[1, 2], [3, np.nan]]), ValueError, r"row 1, contains a missing value \(nan\)"),
    ([("A", "B"), (["x"], "C")], TypeError, "row 1, contains .* not hashable"),
    (TWO, ValueError, "a cycle: ('A' ≻ 'B' ≻ 'A'|'B' ≻ 'A' ≻ 'B')"),
    *(
        (make({"a": [1], "b": [2], "c": [3]}), ValueError, "row 0 is")
        for make in (pd.DataFrame, pl.DataFrame, pa.table)
    ),
    *(
        (make({"a": ["A", None], "b": ["B", "C"]}), ValueError, "row 1, contains a missing value")
        for make in (pd.DataFrame, pl.DataFrame, pa.table)
    ),
]
PREFERENCES = [
    *(
        (partial(edrc, true_pairs=pairs), error, f"true_pairs.*{message}")
        for pairs, error, message in PAIRS
    ),
    *(
        (partial(edrc, predicted_pairs=pairs), error, f"predicted_pairs.*{message}")
        for pairs, error, message in PAIRS
    ),
    (lambda: edrc({"A": 1, "B": 0}), TypeError, "true_pairs must contain pairs .*; got dict"),
    *(
        (partial(edrc, predicted_pairs=scores), error, f"predicted_pairs.*{message}")
        for scores, error, message in (
            ({}, ValueError, "is empty"),
            ({"A": 1, "B": nan}, ValueError, "maps 'B' to nan"),
            ({"A": 1, "B": None}, ValueError, "maps 'B' to None"),
            ({"A": 1, "B": "2"}, TypeError, "maps 'B' to '2'"),
            ({"A": 1, None: 2}, ValueError, "a missing value"),
            ({"ann": GOOD}, TypeError, "maps 'ann' to .* pass qid"),
            (pd.Series({"A": 2.0, "B": 1.0}), ValueError, "row 0 is 2.0.*use a mapping"),
        )
    ),
    *(
        (partial(edrc, prior=prior), ValueError, r"prior must be a finite number ≥ 0 and ≤ 1")
        for prior in (-0.1, 1.01, nan, inf, None, "half", True, [0.5])
    ),
    *(
        (
            partial(
                edrc, predicted_pairs=[("C", "A")], items=["A", "B"], prior=lambda v, w, p=p: p
            ),
            ValueError,
            r"prior\('A', 'B'\) returned",
        )
        for p in (-0.1, 1.5, nan, None, "half")
    ),
    *(
        (partial(edrc, undefined=value), ValueError, "undefined' must be 0.0, 1.0 or nan")
        for value in (0.5, None, True)
    ),
    *(
        (partial(edrc, discount=value), ValueError, "discount must be one of .*'linear'.* got")
        for value in ("linaer", None)
    ),
    (lambda: edrc(discount=lambda rank: rank - 2), ValueError, "must return a finite number > 0"),
    *(
        (partial(edrc, items=items), error, f"items.*{message}")
        for items, error, message in (
            ([], ValueError, "is empty"),
            ("AB", TypeError, 'must be "judged", "predicted" or a collection of items; got \'AB'),
            (3, TypeError, 'must be "judged", "predicted" or a collection of items; got 3'),
            ({}, ValueError, "is empty"),
            ({"A": 1, None: 2}, ValueError, "a missing value"),
            (["A", ["B"]], TypeError, "not hashable"),
        )
    ),
    *(
        (partial(edrc, cycles=value), ValueError, "cycles must be one of .*'raise', .* got")
        for value in ("first", None, True, ["unknown"])
    ),
    (lambda: by_query(qid=[1]), ValueError, "qid has 1 rows, but true_pairs has 2"),
    (lambda: by_query(qid=[1, None]), ValueError, "qid is missing in row 1"),
    (lambda: by_query(qid=[1, 1]), ValueError, r"true_pairs \(query 1\) contain a cycle"),
    (lambda: by_query(set(TWO)), TypeError, "true_pairs is a set"),
    *(
        (partial(by_query, predicted_pairs=predicted), error, message)
        for predicted, error, message in (
            (GOOD, TypeError, "If qid is passed, predicted_pairs must map each query"),
            ({1: GOOD}, ValueError, r"not contain query 2 \(1 of 2 queries"),
            ({1: GOOD, 2: TWO}, ValueError, r"predicted_pairs\[2\] contain a cycle"),
            ({1: GOOD, 2: ["AB"]}, ValueError, r"predicted_pairs\[2\].*row 0 is 'AB'"),
            ({1: 0.5, 2: 0.7}, TypeError, r"predicted_pairs\[1\] must contain pairs"),
        )
    ),
    (lambda: by_query(items=[]), ValueError, "items is empty"),
    (lambda: by_query(items={1: ["A"]}), ValueError, r"items .*\(1 of 2 queries"),
    (lambda: by_query(items={1: ["A"], 2: [None]}), ValueError, r"items\[2\] contains a missing"),
]


ROWS = [*MEASURES, *CURVES, *PREFERENCES]


@pytest.mark.parametrize("function, error, message", ROWS, ids=[message for *_, message in ROWS])
def test_invalid_arguments_raise_one_clear_error(function, error, message):
    with pytest.raises(error, match=message):
        function()
