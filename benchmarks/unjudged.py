"""How unjudged documents change the values of a system that did not contribute to the judgments.

The systems are features of LETOR's OHSUMED, whose documents are all judged. A pool contains the
first ten documents of each system that contributes to it; all other judgments are hidden.
"""

import argparse

import numpy as np

import skgraded as sg
from skgraded.datasets import join_run, read_letor

SYSTEMS = (11, 12, 18, 20, 21)  # features, counted from 1
LEFT_OUT, OTHER = 21, 20
DEPTH = 10


def run_of(data, feature):
    scores = data.X[:, [feature - 1]].toarray().ravel()
    return {"query": data.qid, "document": data.doc_id, "score": scores}


def judgments(data, rows):
    return {"query": data.qid[rows], "document": data.doc_id[rows], "grade": data.y[rows]}


def in_pool(data, features):
    """Mark the first documents of each feature; documents with equal scores are sorted by id."""
    pooled = np.full(len(data.y), False)
    for feature in features:
        scores = run_of(data, feature)["score"]
        descending = np.lexsort((data.doc_id.astype(str), scores))[::-1]
        for query in np.unique(data.qid):
            pooled[descending[data.qid[descending] == query][:DEPTH]] = True
    return pooled


def means(data, pooled, feature, measures, unjudged_documents):
    qrels, run = judgments(data, pooled), run_of(data, feature)
    rows = join_run(qrels, run, ties="trec", unjudged_documents=unjudged_documents)
    return sg.evaluate(rows.y_true, rows.y_score, qid=rows.qid, measures=measures).mean()


def row(name, data, pooled, unjudged_documents, measures):
    values = [
        means(data, pooled, feature, measures, unjudged_documents) for feature in (LEFT_OUT, OTHER)
    ]
    cells = [f"{of_feature[measure]:.3f}" for measure in values[0] for of_feature in values]
    return f"| {name} | {' | '.join(cells)} |"


def heading(measures):
    names = [f"{measure}: {feature}" for measure in measures for feature in (LEFT_OUT, OTHER)]
    return [f"| | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]


def tables(data):
    """Return the lines of both tables."""
    complete = np.full(len(data.y), True)
    with_all = in_pool(data, SYSTEMS)
    without = in_pool(data, [feature for feature in SYSTEMS if feature != LEFT_OUT])
    ranked, unjudged = ["NDCNG@10", "MuAP"], ["Judged@10", "RBPResidual", "Bpref"]
    return [
        *heading(ranked),
        row("all documents judged", data, complete, "irrelevant", ranked),
        row('pool with feature 21, `"irrelevant"`', data, with_all, "irrelevant", ranked),
        row('pool without it, `"irrelevant"`', data, without, "irrelevant", ranked),
        row('pool without it, `"drop"`', data, without, "drop", ranked),
        "",
        *heading(unjudged),
        row('pool with feature 21, `"keep"`', data, with_all, "keep", unjudged),
        row('pool without it, `"keep"`', data, without, "keep", unjudged),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="OHSUMED.txt or OHSUMED.txt.gz of LETOR 2.0")
    print("\n".join(tables(read_letor(parser.parse_args().data))))


if __name__ == "__main__":
    main()
