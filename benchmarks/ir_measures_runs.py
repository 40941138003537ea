"""NDCG@10 of skgraded inside ir_measures, compared with ir_measures' own nDCG@10.

    python benchmarks/ir_measures_runs.py                # 20 systems, some minutes
    python benchmarks/ir_measures_runs.py --systems 3    # a quick look

Both measures are evaluated in turn in one process. Times are processor seconds, the minimum over
the rounds; building the qrels and runs is not timed.
"""

import argparse
import gc
import time

import ir_measures
import numpy as np
import pandas as pd

from skgraded import ir_measures as tool

QUERIES, DEPTH, POOL, JUDGED = 200, 1000, 3000, 100
OURS, THEIRS = tool.NDCG(gain="linear") @ 10, ir_measures.nDCG @ 10


def make_frames(n_systems):
    """Qrels with 100 judged documents per query, and runs with 1,000 documents per query."""
    rng = np.random.default_rng(0)
    pools = [rng.choice(100_000, POOL, replace=False) for _ in range(QUERIES)]

    def frame(documents, name, values):
        return pd.DataFrame(
            {
                "query_id": np.repeat([f"q{i}" for i in range(QUERIES)], len(documents[0])),
                "doc_id": [f"D{document:08d}" for document in np.concatenate(documents)],
                name: values,
            }
        )

    judged = [pool[:JUDGED] for pool in pools]
    qrels = frame(judged, "relevance", rng.integers(4, size=QUERIES * JUDGED))
    runs = [
        frame(
            [rng.choice(pool, DEPTH, replace=False) for pool in pools],
            "score",
            np.sort(rng.normal(size=(QUERIES, DEPTH)))[:, ::-1].ravel(),
        )
        for _ in range(n_systems)
    ]
    return qrels, runs


def as_objects(frame):
    return frame.astype({"query_id": object, "doc_id": object})


def as_tuples(frame):
    kind = ir_measures.ScoredDoc if "score" in frame else ir_measures.Qrel
    return [kind(*row) for row in frame.itertuples(index=False, name=None)]


def as_dicts(frame):
    result = {}
    for query, document, value in frame.itertuples(index=False, name=None):
        result.setdefault(query, {})[document] = value
    return result


FORMS = {
    "frames": lambda frame: frame,
    "frames, ids as objects": as_objects,
    "named tuples": as_tuples,
    "dicts": as_dicts,
}


def seconds(measure, qrels, runs):
    """Processor seconds for all runs, and the means."""
    gc.collect()
    start = time.process_time()
    evaluator = ir_measures.evaluator([measure], qrels)
    means = [evaluator.calc_aggregate(run)[measure] for run in runs]
    return time.process_time() - start, means


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    frames = make_frames(args.systems)
    print(
        f"{args.systems} systems, {QUERIES} queries, {DEPTH:,} documents; pandas "
        f"{pd.__version__}, ir_measures {ir_measures.__version__}\n"
    )
    print("| qrels and runs | skgraded, s | ir_measures, s | ratio |\n| --- | ---: | ---: | ---: |")
    for name, convert in FORMS.items():
        qrels, runs = convert(frames[0]), [convert(run) for run in frames[1]]
        times = []
        for _ in range(args.rounds):
            (ours, means), (theirs, expected) = (
                seconds(measure, qrels, runs) for measure in (OURS, THEIRS)
            )
            np.testing.assert_allclose(means, expected, rtol=1e-9)
            times.append((ours, theirs))
        ours, theirs = np.min(times, axis=0)
        print(f"| {name} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
