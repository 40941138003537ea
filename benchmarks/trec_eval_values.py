"""Values of all names of trec_eval, compared with trec_eval 10, pytrec_eval, ir_measures and MTEB.

    python benchmarks/trec_eval_values.py FOLDER              # the test files of trec_eval 10

Missing files are listed. Generated runs contain ties, unjudged documents and documents that were
not retrieved; some judged queries are missing from the run. The script prints the numbers of
values, and each difference.
"""

import argparse
import dataclasses
import re
import warnings
from pathlib import Path

import ir_measures
import numpy as np
import pytrec_eval
from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

import skgraded as sg
from skgraded.datasets import join_run, read_qrels, read_run

OUTPUTS = {  # file printed by trec_eval: qrels, run, lowest relevant grade, with -c
    "out.test": ("qrels.test", "results.test", None, False),
    "out.test.a": ("qrels.test", "results.test", None, False),
    "out.test.aq": ("qrels.test", "results.test", None, False),
    "out.test.aqc": ("qrels.test", "results.trunc", None, True),
    "out.test.aql": ("qrels.rel_level", "results.test", 2, False),
    "out.comment.test": ("qrels.comment.test", "results.comment.test", None, False),
}
CUTOFFS = (1, 3, 10, 100)
NAMES = [  # the names that trec_eval prints and that we have, with other cut-offs
    *(f"{name}_{k}" for name in ("P", "recall", "success", "ndcg_cut", "map_cut") for k in CUTOFFS),
    "map",
    "ndcg",
    "bpref",
    "Rprec",
    "recip_rank",
    "set_P",
    "set_recall",
    "set_F",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    *(f"iprec_at_recall_{i / 10:.2f}" for i in range(11)),
]
OF_IR_MEASURES = {
    "AP": "map",
    "nDCG": "ndcg",
    "RR": "recip_rank",
    "Rprec": "Rprec",
    "Bpref": "bpref",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    **{
        f"{theirs}@{k}": f"{name}_{k}"
        for k in CUTOFFS
        for theirs, name in (
            ("P", "P"),
            ("R", "recall"),
            ("Success", "success"),
            ("nDCG", "ndcg_cut"),
            ("AP", "map_cut"),
        )
    },
    **{f"IPrec@{i / 10:.1f}": f"iprec_at_recall_{i / 10:.2f}" for i in range(11)},
}
WITHOUT_TIES = {"RR@10": "rr@10", "Judged@10": "judged@10"}  # ir_measures orders ties differently
OF_MTEB = {
    "ndcg": "ndcg_cut_{}",
    "map": "map_cut_{}",
    "recall": "recall_{}",
    "precision": "P_{}",
    "hit_rate": "success_{}",
    "mrr": "rr@{}",
}


def evaluated(qrels, run, names, threshold=None, missing="skip"):
    """Return {name: {query: value}} for the names of trec_eval."""
    measures = {name: sg.measure(name, names="trec_eval") for name in names}
    for name, measure in measures.items():
        if threshold is not None and hasattr(measure, "threshold"):
            measures[name] = dataclasses.replace(measure, threshold=threshold)
    rows = join_run(qrels, run, ties="trec", missing=missing, unjudged_documents="keep")
    evaluation = sg.evaluate(
        rows.y_true,
        rows.y_score,
        qid=rows.qid,
        measures=list(measures.values()),
        unjudged_documents="irrelevant",
    )
    ids = evaluation.query_ids.tolist()
    columns = zip(names, evaluation.per_query.values(), strict=True)
    return {name: dict(zip(ids, column, strict=True)) for name, column in columns}


def is_known(name):
    try:
        return sg.measure(name, names="trec_eval")
    except ValueError:
        return None


# Files ------------------------------------------------------------------------------------------


def compare_files(folder):
    for output, (qrels, run, threshold, complete) in OUTPUTS.items():
        missing = [name for name in (output, qrels, run) if not (folder / name).exists()]
        if missing:
            print(f"{output}: not compared, no {', '.join(missing)}")
            continue
        printed = {}
        for line in (folder / output).read_text().splitlines():
            name, query, value = line.split(None, 2)
            printed.setdefault(name, {})[query] = value.strip()
        names = [name for name in printed if is_known(name)]
        ours = evaluated(
            read_qrels(folder / qrels),
            read_run(folder / run),
            names,
            threshold,
            "count" if complete else "skip",
        )
        n_values, differences = 0, []
        for name in names:
            values, is_count = ours[name], name.startswith("num_")
            column = list(values.values())
            values["all"] = np.sum(column) if is_count else np.mean(column)
            for query, text in printed[name].items():
                n_values += 1
                value = f"{values[query]:.{0 if is_count else 4}f}"
                if value != text:
                    differences.append(f"{name} of {query}: {value}, trec_eval {text}")
        print(f"{output}: {n_values} values of {len(names)} names, {len(differences)} differences")
        print(*differences, sep="\n", end="\n" if differences else "")
        others = {re.sub(r"_[\d.]+$", "", name) for name in printed if name not in names}
        print("  names that sg.measure does not accept:", ", ".join(sorted(others)))


# Generated runs ---------------------------------------------------------------------------------


def make_run(seed, n_queries=100, digits=None, is_tied=True):
    """Qrels and a run as dicts. Scores are multiples of 1/8 unless `digits` is given."""
    rng = np.random.default_rng(seed)
    documents = np.array([f"d{i}" for i in range(400)])
    qrels, run = {}, {}
    for query in map(str, range(n_queries)):
        judged = rng.choice(documents, rng.integers(1, 150), replace=False).tolist()
        grades = rng.choice([0, 0, 0, 1, 2, 3], len(judged)).tolist()
        qrels[query] = dict(zip(judged, grades, strict=True))
        retrieved = rng.choice(documents, rng.integers(1, 250), replace=False).tolist()
        scores = rng.integers(60, size=len(retrieved)) / 8
        if digits:
            scores = np.round(1 + rng.random(len(retrieved)) / 1000, digits)
        if not is_tied:
            scores = rng.permutation(len(retrieved)) / 8
        if rng.random() < 0.9:
            run[query] = dict(zip(retrieved, scores.tolist(), strict=True))
    return qrels, run


def required(name, qrels, added):
    """The number of relevant documents that a recall level requires, if `added` is added."""
    recall = float(name.rpartition("_")[2].rpartition("@")[2])
    n_relevant = sum(grade > 0 for grade in qrels.values())
    return max(np.floor(recall * n_relevant + added), 1)


def print_differences(tool, pairs, qrels):
    """Print the number of pairs (name, query, ours, theirs), and those that differ."""
    differing = [pair for pair in pairs if abs(pair[2] - pair[3]) > 1e-9]
    explained = [
        pair
        for pair in differing
        if "iprec" in pair[0].lower()
        and required(pair[0], qrels[pair[1]], 0.5) != required(pair[0], qrels[pair[1]], 0.9)
    ]
    others = [pair for pair in differing if pair not in explained]
    print(
        f"{tool}: {len(pairs):,} values; {len(explained)} of interpolated precision differ, "
        f"because trec_eval 9 requires more documents; {len(others)} others differ"
    )
    for pair in others[:20]:
        print("  ", *pair)


def pairs_of_ir_measures(names, qrels, run):
    ours = evaluated(qrels, run, list(names.values()))
    texts = {ir_measures.parse_measure(text): text for text in names}
    return [
        (texts[row.measure], row.query_id, ours[names[texts[row.measure]]][row.query_id], row.value)
        for row in ir_measures.iter_calc(list(texts), qrels, run)
        if row.query_id in run
    ]


def compare_tools(seed):
    qrels, run = make_run(seed)
    ours = evaluated(qrels, run, NAMES)
    families = {re.sub(r"_[\d.]+$", "", name) for name in NAMES}
    levels = {"iprec_at_recall." + ",".join(f"{i / 10:.2f}" for i in range(11))}
    cuts = {
        f"{name}.{','.join(map(str, CUTOFFS))}"
        for name in ("P", "recall", "success", "ndcg_cut", "map_cut")
    }
    single = families - {text.partition(".")[0] for text in cuts | levels}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, single | cuts | levels).evaluate(run)
    print_differences(
        "pytrec_eval",
        [
            (name, query, ours[name][query], theirs[query][name])
            for name in NAMES
            for query in theirs
        ],
        qrels,
    )

    print_differences("ir_measures", pairs_of_ir_measures(OF_IR_MEASURES, qrels, run), qrels)
    untied = make_run(seed, is_tied=False)
    pairs = pairs_of_ir_measures(WITHOUT_TIES, *untied)
    print_differences("ir_measures, RR@10 and Judged@10 without ties", pairs, untied[0])

    for identical_ids in ("keep", "drop"):
        renamed = {f"d{query}": grades for query, grades in qrels.items()}
        ranked = {f"d{query}": scores for query, scores in run.items()}
        joined = join_run(renamed, ranked, missing="skip", ties="trec", identical_ids=identical_ids)
        if identical_ids == "drop":
            ranked = {
                query: {document: score for document, score in scores.items() if document != query}
                for query, scores in ranked.items()
            }
        result = calculate_retrieval_scores(ranked, renamed, list(CUTOFFS))
        names = [name.format(k) for name in OF_MTEB.values() for k in CUTOFFS]
        means = sg.evaluate(joined.y_true, joined.y_score, qid=joined.qid, measures=names).mean()
        expected = [value for tool in OF_MTEB for value in getattr(result, tool).values()]
        worst = np.abs(np.subtract(list(means.values()), expected)).max()
        print(
            f"mteb-core, identical ids: {identical_ids}: {len(expected)} means at 1, 3, 10 and "
            f"100, the largest difference is {worst:.1e} (MTEB rounds to 5 digits)"
        )


def compare_precision(seed):
    """Scores with 8 digits, which pytrec_eval stores as 32-bit floating-point numbers."""
    qrels, run = make_run(seed, digits=8)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg"}).evaluate(run)
    single = {
        query: {document: float(np.float32(score)) for document, score in scores.items()}
        for query, scores in run.items()
    }
    for label, scores in (("double", run), ("single", single)):
        ours = evaluated(qrels, scores, ["map", "ndcg"])
        gaps = [abs(ours[name][query] - theirs[query][name]) for name in ours for query in theirs]
        print(
            f"pytrec_eval, scores of 8 digits read in {label} precision: {len(gaps)} values, "
            f"{np.sum(np.array(gaps) > 1e-9)} differ, by {max(gaps):.1e} at most"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    compare_files(args.folder)
    compare_tools(args.seed)
    compare_precision(args.seed)


if __name__ == "__main__":
    main()
