"""Random input of any kind: values equal the oracle's, or the package raises an error itself.

Good input must have a value, and bad input an error that is raised by the package, not by NumPy or
another library. With SKGRADED_EXAMPLES=20000, each test tries as many new inputs instead of the
same few.
"""

import math
import os
import traceback
from pathlib import Path

import containers
import numpy as np
from containers import HUGE_AND_TINY, PLAIN, SCORES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from registry import ALL_SETTINGS, REGISTRY, SCALE_INVARIANT, build, tie_rules, with_ties

import skgraded as sg
from skgraded.datasets import join_run
from skgraded.measures.base import parameters_of

EXAMPLES = os.environ.get("SKGRADED_EXAMPLES")
fuzz = settings(
    max_examples=int(EXAMPLES or 50),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
PACKAGE = str(Path(sg.__file__).parent)
REFUSED = object()


def answer(call, *args, **kwargs):
    """Return the result of a call, or REFUSED if the package raises an error."""
    try:
        return call(*args, **kwargs)
    except (ValueError, TypeError) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        ours = frame.filename.startswith(PACKAGE) and (frame.line or "").startswith("raise")
        assert ours and str(error), (frame, error)
        return REFUSED


# Random arguments and their meaning ---------------------------------------------------------------


@st.composite
def rows(draw, extreme=False):
    """Draw the arguments of a measure, and the values that they mean (None: invalid)."""
    n = draw(st.integers(1, 8))
    y_true = draw(containers.numbers(n, PLAIN + HUGE_AND_TINY * extreme))
    y_score = draw(containers.numbers(n, SCORES))
    arguments, meant = {}, {}
    queries = draw(st.sampled_from([None, "qid", "group"]))
    if queries == "qid":
        arguments["qid"], meant["qid"] = draw(containers.ids(n))
    elif queries == "group":
        cut = draw(st.integers(0, n))
        sizes = [size for size in (cut, n - cut) if size or draw(st.integers(0, 9)) == 0]
        arguments["group"] = draw(st.sampled_from([list, tuple, np.array]))(sizes)
        meant["group"] = sizes
    if draw(st.booleans()):
        weights = draw(containers.numbers(n, (*PLAIN, 1, 1, 2.0**1023, 2.0**-1022)))
        if weights.container is not None:
            arguments["sample_weight"], meant["sample_weight"] = weights
    return y_true, y_score, arguments, meant


def truth_of(y_true, arguments, meant):
    """Return the rows and the weight of each query, or None if an argument is invalid."""
    grades = y_true.meant
    if grades is None or not all(math.isnan(g) or 0 <= g < math.inf for g in grades):
        return None
    n = len(grades)
    qid = [0] * n
    if "group" in arguments:
        sizes = meant["group"]
        if not sizes or min(sizes) < 1 or sum(sizes) != n:
            return None
        qid = np.repeat(range(len(sizes)), sizes).tolist()
    elif arguments.get("qid") is not None:
        qid = meant["qid"]
    weights = meant.get("sample_weight", [1.0] * n)
    if qid is None or weights is None or len(qid) != n or len(weights) != n:
        return None
    if not all(0 <= w < math.inf for w in weights) or max(weights) == 0:
        return None
    of_query: dict = {}
    for row, query in enumerate(qid):
        of_query.setdefault(query, []).append(row)
    top = max(weights)
    return list(of_query.values()), [
        sum(weights[row] / top for row in rows) / len(rows) for rows in of_query.values()
    ]


def is_bad(scores, n):
    return scores is None or len(scores) != n or any(map(math.isnan, scores))


def expected_values(name, setting, ties, grades, scores, queries):
    return [
        REGISTRY[name].value(ties, [grades[r] for r in rows], [scores[r] for r in rows], **setting)
        for rows in queries
    ]


def mean_of(values, weights, undefined):
    values = [undefined if value is None else value for value in values]
    kept = [(w, v) for w, v in zip(weights, values, strict=True) if not math.isnan(v)]
    total = sum(w for w, _ in kept)
    return sum(w * v for w, v in kept) / total if total > 0 else math.nan


def close(result, expected):
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)


SETTINGS = st.tuples(
    st.sampled_from(ALL_SETTINGS), st.integers(0, 3), st.sampled_from([0.0, 1.0, math.nan])
)


# The tests ---------------------------------------------------------------------------------------


@given(rows(), st.lists(SETTINGS, min_size=3, max_size=3))
@fuzz
def test_measures(case, chosen):
    y_true, y_score, arguments, meant = case
    truth = truth_of(y_true, arguments, meant)
    for (name, setting), rule, undefined in chosen:
        rules = REGISTRY[name].tie_rules
        ties = rules[rule % len(rules)]
        measure = build(name, setting, ties=ties, undefined=undefined)
        result = answer(measure, y_true.container, y_score.container, **arguments)
        queries = {key: arguments[key] for key in arguments if key != "sample_weight"}
        by_query = answer(measure.per_query, y_true.container, y_score.container, **queries)
        unknown = truth is not None and any(map(math.isnan, y_true.meant)) and name != "EDRC"
        if truth is None or unknown or is_bad(y_score.meant, len(y_true.meant)):
            assert result is REFUSED, (measure, result)
            continue
        if setting.get("max_grade") is not None and max(y_true.meant) > setting["max_grade"]:
            assert result is REFUSED and by_query is REFUSED
            continue
        assert result is not REFUSED and by_query is not REFUSED, measure
        values = expected_values(name, setting, ties, y_true.meant, y_score.meant, truth[0])
        if name == "Precision":  # it is defined for every query
            undefined = 0.0
        close(by_query, [undefined if value is None else value for value in values])
        close(result, mean_of(values, truth[1], undefined))
        assert answer(measure.n_undefined, y_true.container, **queries) == values.count(None)


@given(rows(extreme=True), st.sampled_from(SCALE_INVARIANT), st.integers(0, 3))
@fuzz
def test_measures_of_huge_and_tiny_grades(case, measure, rule):
    y_true, y_score, arguments, meant = case
    arguments.pop("sample_weight", None)
    meant.pop("sample_weight", None)
    truth = truth_of(y_true, arguments, meant)
    name = type(measure).__name__
    ties = tie_rules(measure)[rule % len(tie_rules(measure))]
    measure = with_ties(measure, ties)
    result = answer(measure.per_query, y_true.container, y_score.container, **arguments)
    if truth is None or is_bad(y_score.meant, len(y_true.meant)):
        assert result is REFUSED
        return
    if result is REFUSED:
        assert has_nan(y_true) and name != "EDRC"
        return
    setting = {key: getattr(measure, key) for key in parameters_of(measure)}
    setting = {key: setting[key] for key in setting if key not in ("ties", "undefined")}
    for rows, value in zip(truth[0], result.tolist(), strict=True):
        grades, scores = [y_true.meant[r] for r in rows], [y_score.meant[r] for r in rows]
        # The value does not depend on the scale; the oracle is exact if the top grade is near 1.
        exponent = int(np.frexp(np.nanmax([0.0, *grades]))[1])
        scaled = [math.ldexp(grade, -exponent) for grade in grades]
        if [math.ldexp(grade, exponent) for grade in scaled] != grades:
            assert has_nan(y_true) or REGISTRY[name].lowest <= value <= 1
            continue
        expected = REGISTRY[name].value(ties, scaled, scores, **setting)
        close(value, 0.0 if expected is None else expected)


@given(rows(), rows())
@fuzz
def test_evaluate_and_compare(case, other):
    y_true, y_score, arguments, meant = case
    truth = truth_of(y_true, arguments, meant)
    if arguments.get("qid") is None and "group" not in arguments:
        truth = None  # unlike a measure, a report requires queries
    measures = ["ndcg", "ap(undefined=nan)@2"]
    first, second = (
        answer(sg.evaluate, y_true.container, scores.container, measures=measures, **arguments)
        for scores in (y_score, other[1])
    )
    for result, scores in ((first, y_score), (second, other[1])):
        if truth is None or is_bad(scores.meant, len(y_true.meant)) or has_nan(y_true):
            assert result is REFUSED
            continue
        ndcg = expected_values("NDCG", {}, "average", y_true.meant, scores.meant, truth[0])
        ap = expected_values("AP", {"k": 2}, "average", y_true.meant, scores.meant, truth[0])
        close(result.per_query["NDCG"], [value or 0.0 for value in ndcg])
        close(result.mean()["NDCG"], mean_of(ndcg, truth[1], 0.0))
        close(result.mean()["AP(undefined=nan)@2"], mean_of(ap, truth[1], math.nan))
    if first is REFUSED or second is REFUSED:
        return
    compared = answer(sg.compare, {"a": first, "b": second}, n_resamples=100, rng=0)
    if compared is not REFUSED:
        row = compared.to_frame().iloc[0]
        close(abs(row["difference"]), abs(second.mean()["NDCG"] - first.mean()["NDCG"]))


def has_nan(y_true):
    return any(map(math.isnan, y_true.meant))


@st.composite
def tables(draw, name, pool):
    n = draw(st.integers(1, 6))
    return {
        "query": draw(containers.ids(n)),
        "document": draw(containers.ids(n, distinct=True)),
        name: draw(containers.numbers(n, pool)),
    }


@given(tables("grade", PLAIN), tables("score", SCORES), st.sampled_from([None, "trec"]))
@fuzz
def test_join_run_accepts_or_refuses_any_input_correctly(qrels, run, ties):
    given_qrels, given_run = (
        {name: column.container for name, column in table.items()} for table in (qrels, run)
    )
    result = answer(join_run, given_qrels, given_run, ties=ties)
    columns = [column.meant for table in (qrels, run) for column in table.values()]
    if any(column is None for column in columns):
        assert result is REFUSED
    elif result is not REFUSED:
        judged = set(zip(qrels["query"].meant, qrels["document"].meant, strict=True))
        ranked = set(zip(run["query"].meant, run["document"].meant, strict=True))
        both = {query for query, _ in judged} & {query for query, _ in ranked}
        kept = {pair for pair in judged | ranked if pair[0] in both}
        assert len(result.y_true) == len(result.y_score) == len(result.qid) == len(kept)
        assert len(set(result.qid.tolist())) == len(both)
