"""Scorers of ranking measures, called as scikit-learn calls them."""

import math
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object
from tables import FRAMES, TABLES, toy_data

import skgraded as sg

pd = pytest.importorskip("pandas")

NDCNG = sg.NDCNG(k=10)
QID = np.array(["b", "b", "a", "b", "a"], dtype=object)
GRADES = np.array([2, 0, 1, 3, 0])
SCORES = np.array([0.3, 0.9, 0.8, 0.2, 0.1])
# In query b the scores put the grades in the order 0 2 3, in query a 1 0.
EXPECTED_RR = (1 / 2 + 1 / 1) / 2


class Scores(BaseEstimator):
    """Predicts its first column, and counts how often."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        self.n_calls = getattr(self, "n_calls", 0) + 1
        return np.asarray(X)[:, 0].astype(float)


class NotFromScikitLearn:
    def predict(self, X):
        return X[:, 0]


def as_column(scores):
    return np.asarray(scores, dtype=float)[:, np.newaxis]


# Three ways to give qid --------------------------------------------------------------------------

def test_qid_given_to_the_call_groups_the_rows():
    scorer = sg.make_ranking_scorer("rr")
    assert scorer(Scores(), as_column(SCORES), GRADES, qid=QID) == EXPECTED_RR


@pytest.mark.parametrize("kind", TABLES)
def test_qid_is_a_column_of_any_table_by_position_or_name(kind):
    X, y, qid = toy_data()
    expected = NDCNG(y, LinearRegression().fit(X, y).predict(X), qid=qid)
    table = TABLES[kind](X)
    model = LinearRegression().fit(table, y)
    for column in [1, -3, np.int64(1)] + ["query_id"] * (kind in FRAMES):
        score = sg.make_ranking_scorer(NDCNG, qid=column)(model, table, y)
        assert score == pytest.approx(expected, abs=1e-12), column


def test_text_and_category_columns_are_queries_too():
    X = pd.DataFrame({"score": SCORES, "q": QID})
    for dtype in (object, "category", "string"):
        scorer = sg.make_ranking_scorer("rr", qid="q")
        assert scorer(Scores(), X.astype({"q": dtype}), GRADES) == EXPECTED_RR


def test_a_series_is_looked_up_by_the_row_index_whatever_its_order():
    labels = list("vwxyz")
    X = pd.DataFrame({"score": SCORES}, index=labels)
    series = pd.Series(QID, index=labels).iloc[[4, 2, 0, 1, 3]]
    more = pd.concat([series, pd.Series(["c"], index=["unused"])])
    assert sg.make_ranking_scorer("rr", qid=more)(Scores(), X, GRADES) == EXPECTED_RR


def test_repeated_rows_of_x_find_the_same_query():
    X = pd.DataFrame({"score": SCORES}).iloc[[0, 1, 3, 3]]
    scorer = sg.make_ranking_scorer("rr", qid=pd.Series(QID))
    assert scorer(Scores(), X, GRADES[[0, 1, 3, 3]]) == 1 / 2


# What cannot be a qid ----------------------------------------------------------------------------

def test_a_column_of_fractions_by_name_is_one():
    X = pd.DataFrame({"score": [1, 2, 3], "q": [0.5, 0.5, 1.5]})
    assert sg.make_ranking_scorer("rr", qid="q")(Scores(), X, [1, 0, 1]) == (1 / 2 + 1) / 2


# Measures and weights ----------------------------------------------------------------------------

def test_a_list_gives_a_dict_of_python_floats_from_one_predict_and_one_measure_a_float():
    model, X = Scores(), as_column(SCORES)
    scorer = sg.make_ranking_scorer(["rr", sg.Precision(k=1), "ndcng@10"])
    scores = scorer(model, X, GRADES, qid=QID)
    assert list(scores) == ["RR", "Precision@1", "NDCNG@10"]
    assert scorer.names == ["RR", "Precision@1", "NDCNG@10"]
    assert scores["RR"] == EXPECTED_RR
    assert scores["Precision@1"] == (0 + 1) / 2
    assert all(type(score) is float for score in scores.values())
    assert model.n_calls == 1
    assert sg.make_ranking_scorer(["rr"])(model, X, GRADES, qid=QID) == {"RR": EXPECTED_RR}
    one = sg.make_ranking_scorer(sg.RR())
    assert type(one(model, X, GRADES, qid=QID)) is float and one.names == ["RR"]


def test_a_mapping_gives_the_scores_names():
    model = Scores()
    scorer = sg.make_ranking_scorer({"first": "rr", "p1": sg.Precision(k=1)})
    scores = scorer(model, as_column(SCORES), GRADES, qid=QID)
    assert scores == {"first": EXPECTED_RR, "p1": (0 + 1) / 2}
    assert list(scores) == scorer.names == ["first", "p1"]
    assert model.n_calls == 1
    one = sg.make_ranking_scorer({"first": "rr"})
    assert one(Scores(), as_column(SCORES), GRADES, qid=QID) == {"first": EXPECTED_RR}


def test_weights_weigh_the_queries():
    weights = [3, 3, 1, 3, 1]
    score = sg.make_ranking_scorer("rr")(
        Scores(), as_column(SCORES), GRADES, qid=QID, sample_weight=weights
    )
    assert score == (3 * 1 / 2 + 1 * 1) / 4


def test_no_defined_query_gives_nan():
    scorer = sg.make_ranking_scorer("rr(undefined=nan)")
    assert math.isnan(scorer(Scores(), as_column(SCORES), [0] * 5, qid=QID))


# Responses ---------------------------------------------------------------------------------------

def grades_by_class():
    X, y, qid = toy_data()
    return X[:, [0, 2, 3]], np.minimum(y, 3), qid


def test_a_classifier_of_two_grades_is_scored_by_its_decision_function():
    X, y, qid = grades_by_class()
    y = 2 * (y > 1)
    model = LogisticRegression().fit(X, y)
    expected = NDCNG(y, model.decision_function(X), qid=qid)
    assert sg.make_ranking_scorer(NDCNG)(model, X, y, qid=qid) == expected


@pytest.mark.parametrize("inside_a_pipeline", [False, True])
def test_a_classifier_of_more_grades_is_scored_by_the_expected_grade(inside_a_pipeline):
    X, y, qid = grades_by_class()
    y = np.where(y == 3, 7, y)  # the grades need not be 0, 1, 2, …
    model = LogisticRegression()
    model = (make_pipeline(StandardScaler(), model) if inside_a_pipeline else model).fit(X, y)
    probabilities = model.predict_proba(X)
    expected_grade = sum(c * probabilities[:, i] for i, c in enumerate([0, 1, 2, 7]))
    expected = NDCNG(y, expected_grade, qid=qid)
    assert sg.make_ranking_scorer(NDCNG)(model, X, y, qid=qid) == pytest.approx(expected, abs=1e-12)


def test_a_classifier_without_decision_function_is_scored_by_the_expected_grade():
    X, y, qid = grades_by_class()
    y = y > 1
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    expected = NDCNG(y, model.predict_proba(X)[:, 1], qid=qid)
    assert sg.make_ranking_scorer(NDCNG)(model, X, y, qid=qid) == expected


def test_response_method_chooses():
    X, y, qid = grades_by_class()
    model = LogisticRegression().fit(X, y)
    by_class = sg.make_ranking_scorer(NDCNG, response_method="predict")
    assert by_class(model, X, y, qid=qid) == NDCNG(y, model.predict(X), qid=qid)
    first_it_has = sg.make_ranking_scorer(
        NDCNG, response_method=["decision_function", "predict_proba"]
    )
    regressor = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="LinearRegression has no method decision_function or"):
        first_it_has(regressor, X, y, qid=qid)


def test_predictions_of_one_column_are_scores():
    X, y, qid = grades_by_class()
    model = LinearRegression().fit(X, y[:, np.newaxis])
    expected = NDCNG(y, model.predict(X)[:, 0], qid=qid)
    assert sg.make_ranking_scorer(NDCNG)(model, X, y, qid=qid) == expected


def test_any_object_with_predict_is_scored():
    scorer = sg.make_ranking_scorer("rr")
    assert scorer(NotFromScikitLearn(), as_column(SCORES), GRADES, qid=QID) == EXPECTED_RR


# As an object ------------------------------------------------------------------------------------

def scorers():
    return {
        "make_ranking_scorer('NDCNG@10')": sg.make_ranking_scorer("ndcng@10"),
        "make_ranking_scorer(['NDCNG@10', 'MuAP'], qid='query_id')": sg.make_ranking_scorer(
            ["ndcng@10", "mu_map"], qid="query_id"
        ),
        "make_ranking_scorer({'a': 'RR', 'b': 'NDCNG@10'}, qid=1)": sg.make_ranking_scorer(
            {"a": "rr", "b": "ndcng@10"}, qid=1
        ),
        "make_ranking_scorer('RR', qid=<Series of 5 rows>, response_method='predict')": (
            sg.make_ranking_scorer("rr", qid=pd.Series(QID), response_method="predict")
        ),
    }


def cloned(scorer):
    return clone(scorer, safe=False)


@pytest.mark.parametrize("copy", [cloned, lambda scorer: pickle.loads(pickle.dumps(scorer))])
def test_clones_and_pickles_look_and_score_the_same(copy):
    X = pd.DataFrame({"score": SCORES, "query_id": QID})
    for text, scorer in scorers().items():
        given = {} if "qid" in text else {"qid": QID}
        same = copy(scorer)
        assert repr(same) == repr(scorer) == text
        assert same(Scores(), X, GRADES, **given) == scorer(Scores(), X, GRADES, **given)


def test_a_clone_has_its_own_requests():
    scorer = sg.make_ranking_scorer("rr")
    cloned(scorer).set_score_request(sample_weight=True)
    assert scorer.get_metadata_routing().score.requests["sample_weight"] is None


def test_a_lambda_in_a_measure_clones_but_does_not_pickle_and_says_so():
    scorer = sg.make_ranking_scorer(sg.NDCG(gain=lambda grades: grades))
    assert repr(cloned(scorer)) == repr(scorer)
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


def test_it_asks_for_qid_by_itself_unless_it_finds_it_in_x(routing):
    assert requests_of(MADE_WITHOUT_ROUTING) == {"qid": True, "sample_weight": None}
    for qid in ("q", 0, pd.Series(QID)):
        assert requests_of(sg.make_ranking_scorer("rr", qid=qid)) == {"sample_weight": None}


def test_requests_are_added_and_the_scorer_returned(routing):
    scorer = sg.make_ranking_scorer("rr")
    assert scorer.set_score_request(sample_weight=True) is scorer
    assert requests_of(scorer) == {"qid": True, "sample_weight": True}
    scorer.set_score_request(qid="queries")
    assert requests_of(scorer) == {"qid": "queries", "sample_weight": True}


def test_bad_requests_are_refused_and_change_nothing(routing):
    scorer = sg.make_ranking_scorer("rr")
    with pytest.raises(ValueError, match="valid identifier"):
        scorer.set_score_request(qid="not an identifier")
    with pytest.raises(TypeError):
        scorer.set_score_request(group=True)
    assert requests_of(scorer) == {"qid": True, "sample_weight": None}
    with pytest.raises(ValueError, match="reads it from X"):
        sg.make_ranking_scorer("rr", qid=0).set_score_request(qid=True)
