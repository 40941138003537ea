"""Made-up ranking problems: they can be learnt, but not well."""

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

import skgraded as sg
from skgraded.datasets import make_ranking


def _out_of_fold_scores(X, y, qid):
    """Scores of a default LGBMRanker by 3-fold cross-validation over the queries."""
    scores = np.empty(len(y))
    for train, test in GroupKFold(3).split(X, y, qid):
        sizes = np.unique(qid[train], return_counts=True)[1]
        ranker = lgb.LGBMRanker(verbose=-1, n_jobs=1).fit(X[train], y[train], group=sizes)
        scores[test] = ranker.predict(X[test])
    return scores


def _gain_of_learning(**parameters):
    """NDCNG@5 of a constant model and of a default LGBMRanker."""
    X, y, qid = make_ranking(n_queries=100, **parameters)
    measure = sg.NDCNG(k=5)
    constant = measure(y, np.zeros(len(y)), qid=qid)
    return constant, measure(y, _out_of_fold_scores(X, y, qid), qid=qid)


@pytest.mark.parametrize("parameters", [
    {}, {"random_state": 1}, {"n_levels": 2}, {"n_levels": 3}, {"n_levels": 10},
    {"n_documents": 10}, {"n_documents": 40, "n_features": 20}, {"n_features": 3},
    pytest.param({"n_documents": 120}, marks=pytest.mark.nightly),
    pytest.param({"n_features": 50}, marks=pytest.mark.nightly),
], ids=str)
def test_a_ranker_learns_it_but_not_well(parameters):
    constant, learned = _gain_of_learning(**{"random_state": 0, **parameters})
    assert constant + 0.1 < learned < constant + 0.35
    assert learned < 0.95


def test_types_and_shapes():
    X, y, qid = make_ranking(n_queries=30, n_features=4, random_state=0)
    assert X.dtype == np.float64 and np.isfinite(X).all()
    assert np.issubdtype(y.dtype, np.integer) and np.issubdtype(qid.dtype, np.integer)
    assert X.shape == (len(y), 4) and y.shape == qid.shape


def test_rows_of_a_query_are_together_and_every_query_has_some():
    qid = make_ranking(n_queries=50, n_documents=3, random_state=1)[2]
    assert (np.diff(qid) >= 0).all()
    assert np.unique(qid).tolist() == list(range(50))


@pytest.mark.parametrize("n_documents", [2, 3, 20, 121])
def test_sizes_vary_around_n_documents(n_documents):
    sizes = np.bincount(make_ranking(2000, n_documents, 1, random_state=0)[2])
    half = n_documents // 2
    assert sizes.min() == n_documents - half and sizes.max() == n_documents + half
    assert abs(sizes.mean() / n_documents - 1) < 0.05


def test_one_document_each():
    assert np.bincount(make_ranking(5, 1, random_state=0)[2]).tolist() == [1] * 5


@pytest.mark.parametrize("n_documents", [8_000, 9_999, 10_000])
def test_queries_are_not_longer_than_lightgbm_takes(n_documents):
    sizes = np.bincount(make_ranking(40, n_documents, 1, random_state=0)[2])
    assert n_documents <= sizes.max() <= 10_000


def test_longer_queries_can_be_asked_for():
    sizes = np.bincount(make_ranking(3, 12_000, 1, random_state=0)[2])
    assert (np.abs(sizes - 12_000) <= 6_000).all() and len(set(sizes)) == 3


@pytest.mark.parametrize("n_levels", [2, 3, 5, 10, 31])
def test_higher_grades_are_rarer(n_levels):
    y = make_ranking(3000, n_features=2, n_levels=n_levels, random_state=0)[1]
    counts = np.bincount(y)
    assert len(counts) == n_levels and counts[-1] > 0
    assert (np.diff(counts) < 0).all()


def test_few_queries_have_nothing_relevant():
    _, y, qid = make_ranking(2000, random_state=0)
    nothing = np.bincount(qid, weights=y) == 0
    assert 0 < nothing.mean() < 0.03


@pytest.mark.parametrize("n_features", [1, 2])
def test_few_features_suffice(n_features):
    X, y, _ = make_ranking(n_features=n_features, random_state=0)
    assert X.shape[1] == n_features and np.unique(y).tolist() == [0, 1, 2, 3, 4]


def test_the_seed_determines_the_data():
    one, again = make_ranking(random_state=3), make_ranking(random_state=3)
    from_state = make_ranking(random_state=np.random.RandomState(3))
    for a, b, c in zip(one, again, from_state, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    assert not np.array_equal(one[0][:50], make_ranking(random_state=4)[0][:50])
    assert not np.array_equal(make_ranking()[0][:50], make_ranking()[0][:50])


@pytest.mark.parametrize("name", ["n_queries", "n_documents", "n_features", "n_levels"])
@pytest.mark.parametrize("value", [0, -1, 2.5, np.nan, "3", None, True])
def test_bad_numbers_name_the_argument_and_the_value(name, value):
    with pytest.raises(ValueError, match=rf"{name} must be .*; got {value!r}"):
        make_ranking(**{name: value})


def test_one_level_is_not_a_ranking():
    with pytest.raises(ValueError, match="n_levels must be at least 2; got 1"):
        make_ranking(n_levels=1)


def test_bad_random_state():
    with pytest.raises(ValueError, match="'seed'"):
        make_ranking(random_state="seed")


def test_whole_floats_and_numpy_numbers_count():
    X, y, _ = make_ranking(np.int64(3), 4.0, np.uint8(2), np.int32(3), random_state=0)
    assert X.shape[1] == 2 and y.max() == 2
