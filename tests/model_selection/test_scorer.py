"""Scorers for ranking measures: query ids, measures, responses and metadata requests."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.metadata_routing import get_routing_for_object
from table_kinds import FRAMES, TABLES, toy_data

import skgraded as sg

NDCNG = sg.NDCNG(k=10)
QID = np.array(["b", "b", "a", "b", "a"], dtype=object)
GRADES = np.array([2, 0, 1, 3, 0])
SCORES = np.array([0.3, 0.9, 0.8, 0.2, 0.1])
# The scores order the grades of query b as 0 2 3, and the grades of query a as 1 0.
EXPECTED_RR = (1 / 2 + 1 / 1) / 2


class Scores:
    """Predicts its first column, and counts the predictions."""

    n_calls = 0

    def predict(self, X):
        self.n_calls += 1
        return np.asarray(X)[:, 0].astype(float)


def as_column(scores):
    return np.asarray(scores, dtype=float)[:, np.newaxis]


# Query ids ---------------------------------------------------------------------------------------


def test_query_ids_and_weights_are_passed_to_the_call():
    scorer = sg.make_ranking_scorer("rr")
    assert scorer(Scores(), as_column(SCORES), GRADES, qid=QID) == EXPECTED_RR
    weighted = scorer(Scores(), as_column(SCORES), GRADES, qid=QID, sample_weight=[3, 3, 1, 3, 1])
    assert weighted == (3 * 1 / 2 + 1 * 1) / 4
    no_value = sg.make_ranking_scorer("rr(undefined=nan)")
    assert math.isnan(no_value(Scores(), as_column(SCORES), [0] * 5, qid=QID))


@pytest.mark.parametrize("kind", TABLES)
def test_query_ids_are_a_column_of_any_table_by_position_or_name(kind):
    X, y, qid = toy_data()
    expected = NDCNG(y, LinearRegression().fit(X, y).predict(X), qid=qid)
    table = TABLES[kind](X)
    model = LinearRegression().fit(table, y)
    for column in [1, -3, np.int64(1)] + ["query_id"] * (kind in FRAMES):
        score = sg.make_ranking_scorer(NDCNG, qid=column)(model, table, y)
        assert score == pytest.approx(expected, abs=1e-12), column


def test_query_ids_are_looked_up_in_a_series_by_row_label():
    labels = list("vwxyz")
    X = pd.DataFrame({"score": SCORES}, index=labels)
    series = pd.Series(QID, index=labels).iloc[[4, 2, 0, 1, 3]]
    more = pd.concat([series, pd.Series(["c"], index=["unused"])])
    assert sg.make_ranking_scorer("rr", qid=more)(Scores(), X, GRADES) == EXPECTED_RR
    repeated = [0, 1, 3, 3]
    score = sg.make_ranking_scorer("rr", qid=series)(Scores(), X.iloc[repeated], GRADES[repeated])
    assert score == 1 / 2


# Measures ----------------------------------------------------------------------------------------


def test_a_list_of_measures_gives_a_dict_of_floats_from_one_prediction():
    model, X = Scores(), as_column(SCORES)
    scorer = sg.make_ranking_scorer(["rr", sg.Precision(k=1), "ndcng@10"])
    scores = scorer(model, X, GRADES, qid=QID)
    assert list(scores) == scorer.names == ["RR", "Precision@1", "NDCNG@10"]
    assert list(scores.values())[:2] == [EXPECTED_RR, (0 + 1) / 2]
    assert all(type(score) is float for score in scores.values())
    assert model.n_calls == 1
    assert sg.make_ranking_scorer(["rr"])(model, X, GRADES, qid=QID) == {"RR": EXPECTED_RR}
    text = sg.make_ranking_scorer("rr, p@1")(model, X, GRADES, qid=QID)
    assert text == {"RR": EXPECTED_RR, "Precision@1": (0 + 1) / 2}
    single = sg.make_ranking_scorer(sg.RR())
    assert type(single(model, X, GRADES, qid=QID)) is float and single.names == ["RR"]


def test_the_keys_of_a_mapping_are_the_names_of_the_scores():
    model = Scores()
    scorer = sg.make_ranking_scorer({"first": "rr", "p1": sg.Precision(k=1)})
    scores = scorer(model, as_column(SCORES), GRADES, qid=QID)
    assert scores == {"first": EXPECTED_RR, "p1": (0 + 1) / 2}
    assert list(scores) == scorer.names == ["first", "p1"]


# Responses ---------------------------------------------------------------------------------------


def test_response_method_selects_the_first_method_of_the_estimator():
    X, y, qid = toy_data()
    X, y = X[:, [0, 2, 3]], np.minimum(y, 3)
    for model, method in (
        (LogisticRegression(), "predict"),
        (LinearRegression(), ["decision_function", "predict"]),
    ):
        scorer = sg.make_ranking_scorer(NDCNG, response_method=method)
        expected = NDCNG(y, model.fit(X, y).predict(X), qid=qid)
        assert scorer(model, X, y, qid=qid) == expected


# As an object ------------------------------------------------------------------------------------


SCORERS = {
    "make_ranking_scorer('NDCNG@10')": sg.make_ranking_scorer("ndcng@10"),
    "make_ranking_scorer(['NDCNG@10', 'MuAP'], qid='query_id')": sg.make_ranking_scorer(
        ["ndcng@10", "mu_map"], qid="query_id"
    ),
    "make_ranking_scorer(['a', 'b'], qid=1)": sg.make_ranking_scorer(
        {"a": "rr", "b": "ndcng@10"}, qid=1
    ),
    "make_ranking_scorer('RR', qid=<Series>)": sg.make_ranking_scorer(
        "rr", qid=pd.Series(QID), response_method="predict"
    ),
}


def test_clones_and_pickles_have_the_same_repr_and_scores():
    X = pd.DataFrame({"score": SCORES, "query_id": QID})
    for text, scorer in SCORERS.items():
        metadata = {} if "qid" in text else {"qid": QID}
        for same in (clone(scorer, safe=False), pickle.loads(pickle.dumps(scorer))):
            assert repr(same) == repr(scorer) == text
            assert same(Scores(), X, GRADES, **metadata) == scorer(Scores(), X, GRADES, **metadata)


def test_a_scorer_with_a_lambda_can_be_cloned_but_not_pickled():
    scorer = sg.make_ranking_scorer(sg.NDCG(gain=lambda grades: grades))
    assert repr(clone(scorer, safe=False)) == repr(scorer)
    with pytest.raises(pickle.PicklingError, match="gain is a lambda"):
        pickle.dumps(scorer)


# Under metadata routing --------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def requests_of(scorer):
    return get_routing_for_object(scorer).score.requests


MADE_WITHOUT_ROUTING = sg.make_ranking_scorer("rr")


def test_a_scorer_requests_qid_unless_it_reads_the_query_ids_from_x(routing):
    assert requests_of(MADE_WITHOUT_ROUTING) == {"qid": True, "sample_weight": None}
    for qid in ("q", 0, pd.Series(QID)):
        assert requests_of(sg.make_ranking_scorer("rr", qid=qid)) == {"sample_weight": None}


def test_requests_change_only_the_scorer_itself(routing):
    scorer = sg.make_ranking_scorer("rr")
    clone(scorer, safe=False).set_score_request(sample_weight=True)
    assert requests_of(scorer) == {"qid": True, "sample_weight": None}
    assert scorer.set_score_request(sample_weight=True) is scorer
    assert requests_of(scorer) == {"qid": True, "sample_weight": True}
    scorer.set_score_request(qid="queries")
    assert requests_of(scorer) == {"qid": "queries", "sample_weight": True}


def test_a_scorer_without_weights_warns_if_the_ranker_was_fitted_with_weights():
    X, fit = as_column(SCORES), sg.QueryRanker(LinearRegression()).fit
    ranker, weight = fit(as_column(SCORES), GRADES, qid=QID, sample_weight=QID == "b"), QID == "b"
    scorer = sg.make_ranking_scorer("rr")
    with pytest.warns(UserWarning, match="fitted with sample_weight, but the scorer received no"):
        scorer(ranker, X, GRADES, qid=QID)
    scorer(ranker, X, GRADES, qid=QID, sample_weight=weight)
    scorer.set_score_request(sample_weight=False)(ranker, X, GRADES, qid=QID)
    sg.make_ranking_scorer("rr")(fit(X, GRADES, qid=QID), X, GRADES, qid=QID)
