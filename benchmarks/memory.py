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
    y, scores, qid, X = data.y, data.scores, data.qid, data.scores[:, None]
    mixed = np.random.default_rng(0).permutation(data.n)
    small = [y.astype(np.float32), scores.astype(np.float32), qid.astype(np.int32)]
    text = np.array([f"query {q}" for q in range(len(data.sizes))], dtype=object)[qid]
    judged, long_judged = sg.Judgments(y, qid=qid), sg.Judgments(long.y, group=long.sizes)
    quiet = {"verbose": -1}
    valid = lgb.Dataset(np.zeros((data.n, 1)), y, group=data.sizes, params=quiet).construct()
    metric = eval_metric(["ndcng@10", "mu_map"])
    scorer = sg.make_ranking_scorer(["ndcng@10", "mu_map"])

    def mu_map(y, scores, qid):
        return [y, scores, qid], lambda: sg.MuAP()(y, scores, qid=qid)

    in_lightgbm = [scores, valid.get_label()], lambda: metric(scores, valid)
    long_calls = [long.scores], lambda: sg.MuAP()(long_judged, long.scores)
    return [
        ("NDCNG@10 of Judgments", [scores], lambda: sg.NDCNG(k=10)(judged, scores)),
        ("MuAP of Judgments", [scores], lambda: sg.MuAP()(judged, scores)),
        ("MuAP with qid", *mu_map(y, scores, qid)),
        ("MuAP with qid, 32-bit numbers", *mu_map(*small)),
        ("MuAP with qid, rows mixed", *mu_map(y[mixed], scores[mixed], qid[mixed])),
        ("MuAP with text qid", *mu_map(y, scores, text)),
        ("LightGBM metric, two measures, first round", *in_lightgbm),
        ("LightGBM metric, two measures, second round", *in_lightgbm),
        (
            "scorer with qid, two measures",
            [X, y, qid],
            lambda: scorer(FirstColumn(), X, y, qid=qid),
        ),
        (
            "MuAP, one query of 400,000 grades",
            [long.y, long.scores],
            lambda: sg.MuAP()(long.y, long.scores, group=long.sizes),
        ),
        ("MuAP of Judgments, the same, first call", *long_calls),
        ("MuAP of Judgments, the same, second call", *long_calls),
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
