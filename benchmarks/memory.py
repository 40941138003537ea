"""Memory that a call adds at its peak, in resident pages, which include memory of compiled code."""

import gc

import lightgbm as lgb
import numpy as np
from neighbors import FirstColumn, make_data, make_long_query

import skgraded as sg
from skgraded.lightgbm import eval_metric


def _kilobytes(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field))


def added_peak(call):
    """Peak of the resident set during the call minus its size before, in bytes."""
    gc.collect()
    before = _kilobytes("VmRSS:")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the peak
    call()
    return 1024 * (_kilobytes("VmHWM:") - before)


def _calls(data, long):
    """(name of the call, its arrays, the call); nothing is computed in advance."""
    return [*_calls_by_query(data), *_calls_of_boosting(data), *_calls_of_one_query(long)]


def _calls_by_query(data):
    y, scores, qid = data.y, data.scores, data.qid
    judged = sg.Judgments(y, qid=qid)
    mixed = np.random.default_rng(0).permutation(data.n)
    y_mixed, scores_mixed, qid_mixed = y[mixed], scores[mixed], qid[mixed]
    small = [y.astype(np.float32), scores.astype(np.float32), qid.astype(np.int32)]
    text = np.array([f"query {q}" for q in range(len(data.sizes))], dtype=object)[qid]
    return [
        ("NDCNG@10 of Judgments", [scores], lambda: sg.NDCNG(k=10)(judged, scores)),
        ("MuAP of Judgments", [scores], lambda: sg.MuAP()(judged, scores)),
        ("MuAP with qid", [y, scores, qid], lambda: sg.MuAP()(y, scores, qid=qid)),
        (
            "MuAP with qid, 32-bit numbers",
            small,
            lambda: sg.MuAP()(small[0], small[1], qid=small[2]),
        ),
        (
            "MuAP with qid, rows mixed",
            [y_mixed, scores_mixed, qid_mixed],
            lambda: sg.MuAP()(y_mixed, scores_mixed, qid=qid_mixed),
        ),
        ("MuAP with text qid", [y, scores, text], lambda: sg.MuAP()(y, scores, qid=text)),
    ]


def _calls_of_boosting(data):
    quiet = {"verbose": -1}
    valid = lgb.Dataset(np.zeros((data.n, 1)), data.y, group=data.sizes, params=quiet).construct()
    arrays = [data.scores, valid.get_label()]
    metric = eval_metric(["ndcng@10", "mu_map"])
    scorer, X, qid = sg.make_ranking_scorer(["ndcng@10", "mu_map"]), data.scores[:, None], data.qid
    return [
        ("LightGBM metric, two measures, first round", arrays, lambda: metric(data.scores, valid)),
        ("LightGBM metric, two measures, second round", arrays, lambda: metric(data.scores, valid)),
        (
            "scorer with qid, two measures",
            [X, data.y, qid],
            lambda: scorer(FirstColumn(), X, data.y, qid=qid),
        ),
    ]


def _calls_of_one_query(data):
    y, scores = data.y, data.scores
    judged = sg.Judgments(y)
    return [
        ("MuAP, one query of 400,000 grades", [y, scores], lambda: sg.MuAP()(y, scores)),
        ("MuAP of Judgments, the same, first call", [scores], lambda: sg.MuAP()(judged, scores)),
        ("MuAP of Judgments, the same, second call", [scores], lambda: sg.MuAP()(judged, scores)),
    ]


def measure_memory(n_queries):
    """[(name of the call, bytes of its input, bytes added)], or why they cannot be measured."""
    try:
        added_peak(lambda: None)
    except OSError as error:
        return f"needs Linux's /proc/self/clear_refs: {error}"
    for _, _, call in _calls(make_data(20), make_long_query(2000)):
        call()  # imports and other one-time work
    return [
        (name, sum(array.nbytes for array in arrays), added_peak(call))
        for name, arrays, call in _calls(make_data(n_queries), make_long_query())
    ]
