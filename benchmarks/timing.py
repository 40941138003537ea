"""Times of all calls, in a process with a fixed number of threads."""

import gc
import time
from importlib.util import find_spec

import neighbors as c
import numpy as np

import skgraded as sg

SLOW_QUERIES = 200  # for calls that take microseconds per document
SLOW_ROUNDS = 3
KINDS = ("distinct", "tied")  # kinds of scores; tied scores are rounded to one decimal


def measure_times(n_queries, rounds, threads):
    """Tables of times, {name: ns per document in each round}, for a number of threads.

    On one thread: {"tables": {measure: {kind of scores: times}}, "missing": {tool: error}}; on more:
    {"alone": {measure: {kind of scores: times}}}; both have the times of the layout.
    """
    tables, missing = {family.ours.name: {} for family in c.FAMILIES}, {}
    for kind in KINDS:
        data = c.make_data(n_queries, tied=kind == "tied")
        sets = c.lightgbm_sets(data)
        for family in c.FAMILIES:
            if threads > 1:
                calls = calls_with_threads(family.ours, data, 3 * rounds)
            else:
                calls = family_calls(family, data, sets, rounds, missing)
            tables[family.ours.name][kind] = time_in_turn(calls)
    layout = time_in_turn(layout_calls(n_queries, rounds))
    name = "alone" if threads > 1 else "tables"
    return {name: tables, "missing": missing, "layout": layout}


def family_calls(family, data, sets, rounds, missing):
    """Calls that compute a family's measure; errors of tools that fail go to `missing`."""
    chosen = c.our_calls(family.ours, data, sets[1], rounds)
    chosen.append(c.lightgbm_call(family, data, sets, 1, rounds))
    few = data.head(SLOW_QUERIES)
    neighbors = {
        "XGBoost": lambda: [c.xgboost_call(family.xgboost, data, 1, rounds)],
        "ranx": lambda: c.ranx_calls(family.ranx, few, 1, SLOW_ROUNDS),
        "scikit-learn": lambda: c.sklearn_calls(family.sklearn, few, SLOW_ROUNDS),
        "pytrec_eval": lambda: c.pytrec_eval_calls(family.pytrec_eval, few, SLOW_ROUNDS),
    }
    for name, make in neighbors.items():
        if name not in missing:
            try:
                calls = make()
                for call in calls:
                    call.run()
                chosen += calls
            except Exception as error:  # an error in one tool must not stop the others
                missing[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return chosen


def calls_with_threads(measure, data, rounds):
    """Our call with all threads of this process, and with one thread."""
    judgments = sg.Judgments(data.y, group=data.sizes)

    def run():
        return measure(judgments, data.scores)

    return [
        c.Call("all threads", run, data.n, rounds),
        c.Call("one thread", c.on_one_thread(run), data.n, rounds),
    ]


def layout_calls(n_queries, rounds):
    """Calls that make Judgments from each form of queries; pandas strings if it is installed."""
    data = c.make_data(n_queries)
    mixed = np.random.default_rng(0).permutation(data.n)
    y, qid, grades = data.y, data.qid, data.y[mixed]
    forms = {
        "group": (y, {"group": data.sizes}),
        "qid, rows sorted": (y, {"qid": qid}),
        "qid, rows mixed": (grades, {"qid": qid[mixed]}),
    }
    if find_spec("pandas"):
        import pandas as pd

        texts = pd.Series([f"query-{query}" for query in qid], dtype="str")
        forms["qid, pandas str"] = (y, {"qid": texts})
    return [
        c.Call(form, lambda y=y, queries=queries: sg.Judgments(y, **queries), data.n, rounds)
        for form, (y, queries) in forms.items()
    ]


def time_in_turn(calls):
    """{name: ns per document in each round}, after an uncounted first call.

    Each round makes all calls in random order, so that the state of the processor's caches and
    other load on the machine affect all calls alike.
    """
    rng = np.random.default_rng(0)
    for call in calls:
        call.run()
    times = {call.name: [] for call in calls}
    gc.disable()
    for i in range(max(call.rounds for call in calls)):
        for call in rng.permutation(calls):
            if i < call.rounds:
                start = time.perf_counter()
                call.run()
                times[call.name].append((time.perf_counter() - start) / call.n * 1e9)
    gc.enable()
    return times
