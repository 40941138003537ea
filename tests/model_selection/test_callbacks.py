"""Searches with callbacks of scikit-learn, such as progress bars."""

import warnings

import numpy as np
import pytest
from lightgbm import LGBMRanker
from sklearn.model_selection import GridSearchCV

import skgraded as sg
from skgraded.model_selection import QueryKFold

pytest.importorskip("sklearn.callback", reason="needs scikit-learn ≥ 1.9")


class Recorder:
    """A callback that counts the ended tasks by name; searches pass it on to their estimators."""

    max_propagation_depth = None

    def __init__(self):
        self.ended = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.estimator_name)


def test_a_search_with_a_progress_bar_reports_its_fits_without_a_warning_about_the_ranker():
    X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    X = np.column_stack([X, qid])
    search = GridSearchCV(
        sg.QueryRanker(LGBMRanker(n_estimators=3, verbose=-1, n_jobs=1), qid=-1),
        {"estimator__num_leaves": [3, 31]},
        cv=QueryKFold(3, qid=-1),
        scoring=sg.make_ranking_scorer("ndcng@10"),
    )
    recorder = Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with_callback = search.set_callbacks(recorder).fit(X, y).best_score_
    assert recorder.ended.count("QueryRanker") == 2 * 3 + 1  # with the refit
    assert with_callback == search.set_callbacks().fit(X, y).best_score_
