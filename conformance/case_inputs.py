"""The inputs of the cases; `generate.py` adds the values."""

CASES: list[dict] = []

# Parameters have the default of the class, unless given; None for `undefined` leaves queries out.
TIES = ("average", "ordinal", "best", "worst")


def query(grades, scores=None, weight=1.0):
    """Return a query; by default, the first document is ranked first, without ties."""
    scores = list(range(len(grades), 0, -1)) if scores is None else scores
    return {"grades": grades, "scores": scores, "weight": weight}


def add(group, name, measure, queries, why, source=None, **parameters):
    """Add a case. `queries`: a query or a list of queries."""
    queries = queries if isinstance(queries, list) else [queries]
    case = {"id": name, "group": group, "why": why, "source": source, "measure": measure}
    CASES.append(case | {"parameters": parameters, "queries": queries})


def slug(measure, **parameters):
    """Return the measure and its parameters as a part of an id, such as ndcg-k-3-gain-linear."""
    words = [measure.lower()]
    for name, value in parameters.items():
        words += [name.replace("_", "-"), str(value).lower().replace(".", "_")]
    return "-".join(words)


# basics -------------------------------------------------------------------------------------------

# A measure has the cases of the other measures in its list.
RANKED = [
    "NDCG", "NDCNG", "DCG", "AP", "MuAP", "Precision", "Recall", "RR", "ERR", "NERR", "RPrecision",
    "Success", "Bpref", "RBP", "TauAP",
]  # fmt: skip
CORRELATIONS = ["KendallTau", "SpearmanRho", "PairAccuracy"]
PREFERENCES = ["AUC", "EDRC"]
GAINS_AND_SETS = [
    "GAP", "QMeasure", "GeneralizedPrecision", "GeneralizedRecall", "InterpolatedPrecision",
    "SetPrecision", "SetRecall", "SetF", "Compat",
]  # fmt: skip
COUNTS_AND_SHARES = ["Judged", "RBPResidual", "NumRet", "NumRel", "NumRelRet"]
LISTS = {
    "ideal": ([3, 2, 1, 0], "The documents are in the order of their grades."),
    "reversed": ([0, 1, 2, 3], "The documents are in the opposite order of their grades."),
    "mixed": ([1, 0, 3, 0, 2], "Relevant and irrelevant documents alternate."),
}
for measure in RANKED + CORRELATIONS + PREFERENCES + GAINS_AND_SETS + COUNTS_AND_SHARES:
    add("basics", f"{slug(measure)}-mixed", measure, query(LISTS["mixed"][0]), LISTS["mixed"][1])
for measure in RANKED + CORRELATIONS + PREFERENCES:
    for name in ("ideal", "reversed"):
        add("basics", f"{slug(measure)}-{name}", measure, query(LISTS[name][0]), LISTS[name][1])
add(
    "basics", "ndcg-row-order-is-not-rank", "NDCG", query([0, 3, 1], [0.1, 0.2, 0.9]),
    "Rows are not sorted by score; a higher score ranks first.",
)  # fmt: skip
add(
    "basics", "ap-negative-scores", "AP", query([0, 1, 1], [-3.5, -1e-3, -2.0]),
    "Scores may be negative, like logarithms of probabilities.",
)  # fmt: skip
add(
    "basics", "rr-off-by-one", "RR", query([0, 1, 0]),
    "The first rank is 1, so the first relevant document at rank 2 yields 1/2.",
)  # fmt: skip
add(
    "basics", "ndcg-rank-2-is-discounted", "NDCG", query([0, 1, 0]),
    "The discount of rank 2 is 1/log2(3), not 1.",
)  # fmt: skip

# cut-offs -----------------------------------------------------------------------------------------

CUT = ["NDCG", "NDCNG", "DCG", "AP", "MuAP", "Precision", "Recall", "RR", "ERR", "Success"]
CUT_LIST = [0, 2, 0, 1, 3]
for measure in [*CUT, "RBP"]:
    for k, why in (
        (1, "Only the first rank counts, and its document is irrelevant."),
        (
            3,
            "The cut-off is smaller than the list and larger than the rank of a relevant document.",
        ),
        (5, "The cut-off is the length of the list."),
        (10, "The cut-off is larger than the list: P@k still divides by k."),
    ):
        add("cut-offs", slug(measure, k=k), measure, query(CUT_LIST), why, k=k)
for measure in ("NDCG", "NDCNG"):
    add(
        "cut-offs", slug(measure, k="mean"), measure, query(CUT_LIST),
        "The mean of the values for all cut-offs from 1 to the length of the list.", k="mean",
    )  # fmt: skip
add(
    "cut-offs", "ndcg-ideal-list-is-cut-too", "NDCG", query([3, 2, 2, 1, 1, 0]),
    "The ideal list is cut at k as well, so a perfect list scores 1.", k=2,
)  # fmt: skip
add(
    "cut-offs", "ndcg-ideal-list-holds-documents-below-k", "NDCG", query([0, 1, 0, 3]),
    "The ideal list is that of all documents, not of the first k.", k=2,
)  # fmt: skip
INSIDE = query([1, 1, 2, 0, 0], [4, 3, 3, 3, 1])
AT = query([1, 0, 2, 1, 0], [4, 4, 4, 2, 1])
for measure in CUT:
    for ties in TIES:
        name = f"{slug(measure)}-cut-inside-tie-{ties}"
        why = "Ranks 2 to 4 are tied, and the cut-off is rank 2."
        add("cut-offs", name, measure, INSIDE, why, k=2, ties=ties)
for measure in CUT:
    name = f"{slug(measure)}-cut-at-the-end-of-a-tie"
    add("cut-offs", name, measure, AT, "Ranks 1 to 3 are tied, and the cut-off is rank 3.", k=3)

# ties ---------------------------------------------------------------------------------------------

TIED = ["NDCG", "NDCNG", "DCG", "AP", "MuAP", "RR", "ERR", "Bpref", "RBP", "TauAP"]
SITUATIONS = {
    "all-equal": (query([0, 2, 1, 0], [1, 1, 1, 1]), "A constant model."),
    "two-blocks": (
        query([0, 1, 3, 2, 0, 1], [9, 9, 9, 4, 4, 4]),
        "Two blocks of three tied documents, each with different grades.",
    ),
    "top-tie": (query([1, 0, 3, 0], [7, 7, 7, 1]), "The first three documents are tied."),
}
for situation, (tied, sentence) in SITUATIONS.items():
    for measure in TIED:
        for ties in TIES:
            name = f"{slug(measure)}-{situation}-{ties}"
            add("ties", name, measure, tied, sentence, ties=ties)
for measure, parameters in (
    ("Precision", {"k": 2}), ("Recall", {"k": 2}), ("Success", {"k": 1}), ("RPrecision", {}),
    ("GAP", {}), ("QMeasure", {}), ("NERR", {}), ("Compat", {}), ("NDCG", {"k": "mean"}),
    ("GeneralizedPrecision", {"k": 1}), ("GeneralizedRecall", {"k": 2}), ("RR", {"k": 2}),
):  # fmt: skip
    add(
        "ties", f"{slug(measure, **parameters)}-all-equal", measure, SITUATIONS["all-equal"][0],
        "The mean over all 24 orders of a constant model.", **parameters,
    )  # fmt: skip
for measure in ("KendallTau", "SpearmanRho", "PairAccuracy", "AUC", "EDRC", "Precision", "SetF"):
    add(
        "ties", f"{slug(measure)}-two-blocks", measure, SITUATIONS["two-blocks"][0],
        "The measure has its own rule for equal scores.",
    )  # fmt: skip
MANY_LEVELS = query(
    [7 * i % 20 for i in range(20)], [17 if 2 <= i <= 5 else 19 - i for i in range(20)]
)  # fmt: skip
for measure in ("MuAP", "GAP", "NDCG", "QMeasure", "TauAP", "EDRC", "Compat"):
    add(
        "ties", f"{slug(measure)}-twenty-levels", measure, MANY_LEVELS,
        "Twenty documents with different grades; those from rank 3 to rank 6 are tied.",
    )  # fmt: skip
CONSTANT = [1] * 10
for name, grades in (("first", [1] * 3 + [0] * 7), ("last", [0] * 7 + [1] * 3)):
    for measure in ("NDCG", "AP"):
        for ties in ("average", "ordinal"):
            add(
                "ties", f"{slug(measure)}-constant-relevant-rows-{name}-{ties}", measure,
                query(grades, CONSTANT),
                f"A constant model; the three relevant documents are the {name} of ten rows.",
                ties=ties,
            )  # fmt: skip
add(
    "ties", "ap-tie-of-equal-grades", "AP", query([1, 1, 0, 0], [5, 5, 2, 2]),
    "Only documents of equal grades are tied, so the order does not matter.",
)  # fmt: skip
add(
    "ties", "ndcg-tied-documents-above-one-not-retrieved", "NDCG", query([2, 0, 1], [0.5, 0.5, None]),
    "Two documents are tied, and the ideal list contains a document that was not retrieved.", k=2,
)  # fmt: skip
add(
    "ties", "rr-two-of-three-tied", "RR", query([1, 0, 2], [5, 5, 5]),
    "(2/3) * 1 + (1/3) * (1/2).",
)  # fmt: skip
for recall in (0, 0.5, 1):
    for ties in ("worst", "best", "ordinal"):
        add(
            "ties", f"{slug('InterpolatedPrecision', recall=recall)}-{ties}",
            "InterpolatedPrecision", SITUATIONS["two-blocks"][0],
            "Precision interpolated at a recall, for one order of the tied documents.",
            recall=recall, ties=ties,
        )  # fmt: skip

# documents that were not retrieved ----------------------------------------------------------------

MISSING = {
    "relevant-not-retrieved": (
        query([1, 0, 3, 2], [3, 2, None, 1]),
        "The best document was not retrieved; it counts in R and in the ideal list.",
    ),
    "irrelevant-not-retrieved": (
        query([1, 0, 2, 0], [3, 2, 1, None]),
        "An irrelevant document was not retrieved.",
    ),
    "nothing-retrieved": (query([1, 0, 2], [None, None, None]), "Nothing was retrieved."),
}
for situation, (missing, sentence) in MISSING.items():
    for measure in RANKED + CORRELATIONS + PREFERENCES + GAINS_AND_SETS:
        if situation == "relevant-not-retrieved" or measure in RANKED:
            add("not retrieved", f"{slug(measure)}-{situation}", measure, missing, sentence)
for measure in ("NDCG", "NDCNG", "DCG", "AP", "MuAP", "Precision", "Recall"):
    add(
        "not retrieved", f"{slug(measure, k=2)}-best-documents-not-retrieved", measure,
        query([3, 1, 3, 0, 2], [None, 2, None, 1, None]),
        "The ideal list of length k holds documents that were not retrieved.", k=2,
    )  # fmt: skip
add(
    "not retrieved", "precision-cut-off-above-retrieved", "Precision",
    query([1, 1, 1], [2, 1, None]), "P@k divides by k although only two documents were retrieved.",
    k=5,
)  # fmt: skip
add(
    "not retrieved", "rprecision-fewer-retrieved-than-r", "RPrecision",
    query([1, 1, 1], [2, None, None]), "R-precision divides by R.",
)  # fmt: skip

# no relevant document -----------------------------------------------------------------------------

TWO = [query([1, 0, 2]), query([0, 0, 0])]
for measure in (
    "NDCG", "NDCNG", "AP", "MuAP", "Precision", "Recall", "RR", "ERR", "RPrecision", "Success",
    "Bpref", "RBP", "TauAP", "KendallTau", "EDRC",
):  # fmt: skip
    for undefined, words in ((0.0, "counts 0"), (1.0, "counts 1"), (None, "is left out")):
        name = {0.0: "0", 1.0: "1", None: "left-out"}[undefined]
        add(
            "no relevant document", f"{slug(measure)}-undefined-{name}", measure, TWO,
            f"The second query has no relevant document and {words}.", undefined=undefined,
        )  # fmt: skip
add(
    "no relevant document", "dcg-is-always-defined", "DCG", TWO,
    "DCG of a query without a relevant document is 0; no rule applies.", undefined=None,
)  # fmt: skip
for measure in ("NDCG", "AP", "RR"):
    add(
        "no relevant document", f"{slug(measure)}-all-queries-undefined", measure,
        [query([0, 0]), query([0])], "No query has a value, so there is no mean.", undefined=None,
    )  # fmt: skip
add(
    "no relevant document", "ndcg-nothing-retrieved-is-not-undefined", "NDCG",
    [query([1, 0], [None, None]), query([1, 0])],
    "A query is undefined because of its grades, never because of the scores.", undefined=None,
)  # fmt: skip
add(
    "no relevant document", "ndcg-no-relevant-document-constant-scores", "NDCG",
    query([0, 0, 0], [1, 1, 1]), "Ties do not matter without a relevant document.",
)  # fmt: skip

# one document -------------------------------------------------------------------------------------

for measure in RANKED + CORRELATIONS:
    for grade, words in ((2, "relevant"), (0, "irrelevant")):
        add(
            "one document", f"{slug(measure)}-one-{words}-document", measure, query([grade], [0.3]),
            f"The query has one document, which is {words}.",
        )  # fmt: skip

# gains --------------------------------------------------------------------------------------------

GAINED = query([1, 0, 3, 2, 4])
for measure in ("NDCG", "NDCNG", "DCG", "GAP", "QMeasure"):
    for gain in ("linear", "exp2"):
        add(
            "gains", slug(measure, gain=gain), measure, GAINED,
            {"linear": "The gain is the grade.", "exp2": "The gain is 2^grade - 1."}[gain],
            gain=gain,
        )  # fmt: skip
for measure in ("NDCG", "NDCNG", "DCG"):
    for k in (1, 2, 5):
        add(
            "gains", slug(measure, discount="letor", k=k), measure, GAINED,
            "The discount is 1 for the first two ranks, then 1/log2(rank).", discount="letor", k=k,
        )  # fmt: skip
add(
    "gains", "ndcg-own-table-of-gains", "NDCG", query([0.1, 0.0, 1.0, 0.01, 0.1]),
    "A table of gains (0, .01, .1, 1, as for ESCI) is a linear gain of float grades.",
    gain="linear",
)  # fmt: skip
add(
    "gains", "dcg-own-table-of-gains", "DCG", query([0.1, 0.0, 1.0, 0.01, 0.1]),
    "A table of gains (0, .01, .1, 1, as for ESCI) is a linear gain of float grades.",
    gain="linear", k=3,
)  # fmt: skip
for beta in (0, 1, 10):
    add(
        "gains", slug("QMeasure", beta=beta), "QMeasure", query([0, 2, 1]),
        "With beta 0, the Q-measure is average precision.", beta=beta,
    )  # fmt: skip
for measure in ("ERR", "NERR", "RBP", "NDCNG", "GeneralizedPrecision"):
    add(
        "gains", slug(measure, max_grade=4), measure, query([1, 0, 3, 2]),
        "The highest grade of the scale is 4, although no document has it.", max_grade=4,
    )  # fmt: skip
for persistence in (0, 0.5, 0.95):
    add(
        "gains", slug("RBP", persistence=persistence), "RBP", query([1, 0, 3, 2]),
        "The probability of continuing to the next document.", persistence=persistence,
    )  # fmt: skip

# float and scaled grades --------------------------------------------------------------------------

SCALED = {
    "integers": [1, 0, 3, 3, 2, 0, 1, 4],
    "doubled": [2, 0, 6, 6, 4, 0, 2, 8],
    "tenths": [0.1, 0, 0.3, 0.3, 0.2, 0, 0.1, 0.4],
    "quarters": [0.25, 0, 0.75, 0.75, 0.5, 0, 0.25, 1.0],
}
for scale, grades in SCALED.items():
    for measure in ("MuAP", "NDCNG", "NDCG", "GeneralizedRecall", "TauAP", "ERR"):
        add(
            "float and scaled grades", f"{slug(measure)}-{scale}", measure, query(grades),
            "muAP and NDCNG do not depend on the unit of the grades; NDCG and ERR do.",
        )  # fmt: skip
for measure in ("MuAP", "NDCNG", "NDCG", "AP", "EDRC"):
    add(
        "float and scaled grades", f"{slug(measure)}-levels-0-0_3-1", measure,
        query([0.3, 0, 1.0, 0.3]), "The levels 0, 0.3 and 1 have the weights 0.3 and 0.7 in muAP.",
        "Scheel, Lommatzsch, Albayrak 2011",
    )  # fmt: skip
for measure in ("AP", "Precision", "Recall", "RR"):
    add(
        "float and scaled grades", f"{slug(measure)}-grade-0_4-is-relevant", measure,
        query([0.0, 0.4, 0.0, 0.7]), "Every grade above 0 is relevant, not only those above 0.5.",
    )  # fmt: skip

# grades with gaps ---------------------------------------------------------------------------------

for measure in ("MuAP", "NDCG", "NDCNG", "ERR", "EDRC", "TauAP", "QMeasure", "GAP", "Compat"):
    add(
        "grades with gaps", f"{slug(measure)}-gaps", measure, query([1, 10, 0, 4, 1]),
        "No document has the grades 2, 3 and 5 to 9; only the distances of the grades count.",
    )  # fmt: skip
for measure in ("MuAP", "NDCG"):
    add(
        "grades with gaps", f"{slug(measure)}-lowest-grade-is-2", measure, query([2, 5, 3]),
        "Every document is relevant, and no document has grade 0.",
    )  # fmt: skip

# thresholds ---------------------------------------------------------------------------------------

for measure in ("AP", "Precision", "Recall", "RR", "Success", "RPrecision", "Bpref", "AUC", "SetF"):
    for threshold in (1, 2, 2.5):
        add(
            "thresholds", slug(measure, threshold=threshold), measure, query([1, 0, 2, 3, 1]),
            "A document is relevant if its grade is at least the threshold.", threshold=threshold,
        )  # fmt: skip
add(
    "thresholds", "ap-threshold-above-all-grades", "AP", [query([1, 0, 2]), query([3, 1])],
    "No grade of the first query reaches the threshold, so this query is undefined.",
    threshold=3, undefined=None,
)  # fmt: skip
add(
    "thresholds", "ap-threshold-0", "AP", query([0, 1, 0]),
    "With threshold 0, every document is relevant.", threshold=0,
)  # fmt: skip

# divisors of AP -----------------------------------------------------------------------------------

for measure in ("AP", "MuAP"):
    for divisor in ("min", "relevant"):
        for k in (1, 2, 4, None):
            add(
                "divisors of AP", slug(measure, divisor=divisor, k=k), measure,
                query([1, 2, 0, 1, 3, 1]),
                "With a cut-off k, AP is divided by min(R, k) or by R; with no cut-off, by R.",
                divisor=divisor, k=k,
            )  # fmt: skip
add(
    "divisors of AP", "ap-perfect-list-scores-1", "AP", query([1, 1, 1, 1]),
    "Divided by min(R, k), a perfect list scores 1.", k=3,
)  # fmt: skip
add(
    "divisors of AP", "ap-perfect-list-divided-by-r", "AP", query([1, 1, 1, 1]),
    "Divided by R, a perfect list of more than k relevant documents scores k/R.",
    k=3, divisor="relevant",
)  # fmt: skip
add(
    "divisors of AP", "ap-fewer-relevant-than-k", "AP", query([0, 1, 0, 0, 0]),
    "AP is not divided by k if fewer documents are relevant.", k=5,
)  # fmt: skip

# means --------------------------------------------------------------------------------------------


def weighted(*weights):
    lists = ([0, 1, 2], [0, 0], [1, 0, 0], [2, 0, 1])
    return [query(grades, None, weight) for grades, weight in zip(lists, weights, strict=False)]


for measure in ("NDCG", "AP", "MuAP", "RR"):
    for undefined, name in ((0.0, "0"), (1.0, "1"), (None, "left-out")):
        add(
            "means", f"{slug(measure)}-weighted-mean-undefined-{name}", measure,
            weighted(1.0, 2.0, 0.5, 3.0),
            "The mean is the sum of weight times value, divided by the sum of the weights.",
            undefined=undefined,
        )  # fmt: skip
for weight in (0.1, 1.0, 10.0):
    for undefined, name in ((0.0, "0"), (1.0, "1"), (None, "left-out")):
        add(
            "means", f"ndcg-equal-weights-of-{weight}-undefined-{name}".replace(".", "_"), "NDCG",
            weighted(weight, weight, weight),
            "Multiplying all weights by a constant changes nothing.", undefined=undefined,
        )  # fmt: skip
add(
    "means", "ndcg-weight-0", "NDCG", weighted(1.0, 0.0, 0.0, 1.0),
    "A query with weight 0 does not count.",
)  # fmt: skip
add(
    "means", "ndcg-all-weight-on-undefined-queries", "NDCG", weighted(0.0, 1.0),
    "The only query with a weight is undefined, so there is no mean.", undefined=None,
)  # fmt: skip
add(
    "means", "ap-queries-of-different-sizes", "AP", [query([1]), query([0, 0, 0, 1, 0, 0, 0, 0])],
    "Every query counts the same, whatever its number of documents.",
)  # fmt: skip

# trec_eval ----------------------------------------------------------------------------------------

TREC = query([1, 0, 2, 0, 1, 0, 3], [9.5, 8, 7, 6, 5, None, None])
for name, measure, parameters in (
    ("map", "AP", {}), ("map_cut_3", "AP", {"k": 3, "divisor": "relevant"}),
    ("ndcg", "NDCG", {"gain": "linear"}), ("ndcg_cut_3", "NDCG", {"k": 3, "gain": "linear"}),
    ("ndcg_cut_10", "NDCG", {"k": 10, "gain": "linear"}), ("P_3", "Precision", {"k": 3}),
    ("P_10", "Precision", {"k": 10}), ("recall_3", "Recall", {"k": 3}), ("recip_rank", "RR", {}),
    ("Rprec", "RPrecision", {}), ("bpref", "Bpref", {}), ("success_1", "Success", {"k": 1}),
    ("success_5", "Success", {"k": 5}), ("set_P", "SetPrecision", {}),
    ("set_recall", "SetRecall", {}), ("set_F", "SetF", {}), ("num_ret", "NumRet", {}),
    ("num_rel", "NumRel", {}), ("num_rel_ret", "NumRelRet", {}),
    ("iprec_at_recall_0.00", "InterpolatedPrecision", {"recall": 0}),
    ("iprec_at_recall_0.50", "InterpolatedPrecision", {"recall": 0.5}),
    ("iprec_at_recall_1.00", "InterpolatedPrecision", {"recall": 1}),
):  # fmt: skip
    add(
        "trec_eval", f"trec-{name.lower().replace('.', '_')}", measure,
        [TREC, query([0, 0, 1], [3, 2, 1])], f"trec_eval's {name}.",
        "https://github.com/usnistgov/trec_eval", **parameters,
    )  # fmt: skip
add(
    "trec_eval", "trec-map-l-2", "AP", TREC, "trec_eval -l 2: grades of at least 2 are relevant.",
    "https://github.com/usnistgov/trec_eval", threshold=2,
)  # fmt: skip
UNJUDGED = query([1, None, 0, 2, None, 0, 1], [9, 8, 7, 6, 5, 4, None])
for name, measure, parameters in (
    ("bpref-unjudged", "Bpref", {}), ("bpref-unjudged-threshold-2", "Bpref", {"threshold": 2}),
    ("judged-k-2", "Judged", {"k": 2}), ("judged-k-10", "Judged", {"k": 10}),
    ("rbpresidual-k-3", "RBPResidual", {"k": 3}), ("rbpresidual-unjudged", "RBPResidual", {}),
    ("edrc-unjudged", "EDRC", {}),
):  # fmt: skip
    add(
        "documents not judged", name, measure, UNJUDGED,
        "Two retrieved documents were not judged, so nothing is known about them.", **parameters,
    )  # fmt: skip

# preferences of grades ----------------------------------------------------------------------------

for discount in ("linear", "log2", "exp2"):
    for prior in (0.5, 0, 0.25, 1):
        add(
            "preferences", slug("EDRC", discount=discount, prior=prior), "EDRC",
            query([1, 3, 0, 1], [3, 2, 2, 1]),
            "Pairs with equal grades or equal scores earn the prior.",
            "Ackerman, Chen 2011, section 4", discount=discount, prior=prior,
        )  # fmt: skip
for measure in ("TauAP", "KendallTau", "SpearmanRho", "EDRC"):
    add(
        "preferences", f"{slug(measure)}-constant-scores", measure, query([2, 0, 1], [1, 1, 1]),
        "Constant scores express no order.",
    )  # fmt: skip
    add(
        "preferences", f"{slug(measure)}-equal-grades", measure, query([2, 2, 1, 0]),
        "The order of two documents with equal grades is not known.",
    )  # fmt: skip

# the papers' tables -------------------------------------------------------------------------------

SCHEEL = [1, 0, 3, 3, 2, 0, 1, 4]
SOURCE_1, SOURCE_2 = (
    f"Scheel, Lommatzsch, Albayrak 2011, Performance Measures for Multi-Graded Relevance, table {n}"
    for n in (1, 2)
)
for threshold in (5, 4, 3, 2, 1, 0):
    add(
        "papers", f"{slug('AP', threshold=threshold)}-table-1", "AP", query(SCHEEL),
        "A column of table 1; with threshold 5, no document is relevant.", SOURCE_1,
        threshold=threshold,
    )  # fmt: skip
add("papers", "muap-table-1", "MuAP", query(SCHEEL), "Table 1: 0.448.", SOURCE_1)
for measure, scale in (("NDCG", 1), ("NDCG", 2), ("NDCNG", 1)):
    for k in (*range(1, 9), "mean"):
        if scale == 1 or k == "mean":
            add(
                "papers", f"{slug(measure, k=k)}-table-2-times-{scale}", measure,
                query([scale * grade for grade in SCHEEL]), f"A row of table 2, grades times {scale}.",
                SOURCE_2, k=k,
            )  # fmt: skip
ACKERMAN = "Ackerman, Chen 2011, Evaluating Rank Accuracy based on Incomplete Preferences, table 2"
for measure, parameters in (("NDCG", {}), ("TauAP", {}), ("KendallTau", {}), ("EDRC", {})):
    add(
        "papers", f"{slug(measure)}-ackerman-chen", measure, query([5, 4, 3, 2], [3, 4, 2, 1]),
        "Two documents are swapped. The paper's values are 0.870 (NDCG) and 1/3 (TauAP).", ACKERMAN,
        **parameters,
    )  # fmt: skip

# public threads -----------------------------------------------------------------------------------

GITHUB = "https://github.com/"
for undefined, name in ((0.0, "0"), (None, "left-out")):
    add(
        "threads", f"scikit-learn-29521-undefined-{name}", "NDCG",
        [query([1, 0, 1], [1, 0, 1]), query([0, 0, 0], [0, 0, 0])],
        "The true grades are passed as scores; whether the mean is 0.5 or 1 is a matter of the rule.",
        GITHUB + "scikit-learn/scikit-learn/issues/29521", gain="linear", undefined=undefined,
    )  # fmt: skip
for grade in (0, 1):
    for undefined in (0.0, 1.0):
        add(
            "threads", f"lightgbm-6823-grade-{grade}-undefined-{undefined:.0f}", "NDCG",
            query([grade], [0.5]), "NDCG of a query with one document; minimal reproduction.",
            GITHUB + "lightgbm-org/LightGBM/issues/6823", k=5, undefined=undefined,
        )  # fmt: skip
for ties in TIES:
    add(
        "threads", f"lightgbm-3363-{ties}", "NDCG", query([0, 1, 2, 0], [0.2, 0.5, 0.5, 0.5]),
        "Several documents have equal predictions; minimal reproduction.",
        GITHUB + "lightgbm-org/LightGBM/issues/3363", k=3, ties=ties,
    )  # fmt: skip
for grades in ([1, 2], [2, 1]):
    for ties in ("average", "ordinal"):
        add(
            "threads", f"xgboost-3050-grades-{grades[0]}-{grades[1]}-{ties}", "NDCG",
            query(grades, [0.5, 0.5]), "ndcg@1 of two tied rows depends on their order: 1/3 or 1.",
            GITHUB + "dmlc/xgboost/issues/3050", k=1, ties=ties,
        )  # fmt: skip
add(
    "threads", "xgboost-11235", "NDCG",
    query([{18: 4, 5: 1, 14: 1}.get(rank, 0) for rank in range(1, 21)]),
    "Grade 4 at rank 18 and grades 1 at ranks 5 and 14 of 20 documents.",
    GITHUB + "dmlc/xgboost/issues/11235", k=20,
)  # fmt: skip
for ties in ("average", "best", "worst"):
    add(
        "threads", f"torchmetrics-2022-{ties}", "NDCG", query([10, 0, 0, 1, 5], [1, 0, 0, 0, 1]),
        "Tied scores; minimal reproduction.", GITHUB + "Lightning-AI/torchmetrics/issues/2022",
        gain="linear", ties=ties,
    )  # fmt: skip
for gain in ("linear", "exp2"):
    add(
        "threads", f"recommenders-1749-gain-{gain}", "NDCG",
        query([3, 2, 3, 0, 1, 2, 3, 2], [6, 5, 4, 3, 2, 1, None, None]),
        "NDCG@6 of graded documents, two of which were not recommended; 0.785 with linear gain.",
        GITHUB + "recommenders-team/recommenders/issues/1749", k=6, gain=gain,
    )  # fmt: skip
for measure in ("RR", "NDCG"):
    for ties in TIES:
        add(
            "threads", f"mteb-5092-{slug(measure)}-{ties}", measure, query([1] + [0] * 11, [0] * 12),
            "A constant scorer; the relevant candidate comes first. Minimal reproduction.",
            GITHUB + "embeddings-benchmark/mteb/issues/5092", k=10, ties=ties,
        )  # fmt: skip
for name, scores in (("a", [1, 1, None]), ("c", [None, 1, 1])):
    add(
        "threads", f"trec-eval-22-run-with-{name}", "NDCG", query([0, 1, 0], scores),
        "Document b is relevant and tied with an irrelevant one, whose name must not matter.",
        GITHUB + "usnistgov/trec_eval/issues/22", gain="linear",
    )  # fmt: skip
for k in (2, 3):
    add(
        "threads", f"opensearch-search-relevance-191-k-{k}", "NDCG",
        query([3, 3, 2, 0], [4, 3, None, 2]),
        "NDCG never exceeds 1: the ideal list is sorted by grade. Minimal reproduction.",
        GITHUB + "opensearch-project/search-relevance/issues/191", k=k,
    )  # fmt: skip
add(
    "threads", "lenskit-869", "NDCG", query([1] * 15),
    "The ideal list is cut at 10 like the recommended list. Minimal reproduction.",
    GITHUB + "lenskit/lenskit/issues/869", k=10,
)  # fmt: skip
for undefined in (0.0, 1.0, None):
    name = {0.0: "0", 1.0: "1", None: "left-out"}[undefined]
    add(
        "threads", f"metarank-374-undefined-{name}", "NDCG", [query([0, 1, 0]), query([0, 0, 0])],
        "Two libraries differ by 0.1 on the same clicks; here, one of two queries has no click. "
        "Minimal reproduction of one possible cause; the thread shows no data.",
        GITHUB + "metarank/metarank/issues/374", k=10, undefined=undefined,
    )  # fmt: skip

# scores that differ only as doubles ---------------------------------------------------------------

DOUBLES = {
    "16777216-and-16777217": [16777217.0, 16777216.0, 1.0],
    "sum-of-tenths": [0.30000000000000004, 0.3, 0.1],
    "next-double": [1.0000000000000002, 1.0, 0.5],
    "tiny": [2e-50, 1e-50, 0.0],
    "timestamps": [1700000000.002, 1700000000.001, 1600000000.0],
}
for name, scores in DOUBLES.items():
    for measure in ("NDCG", "AP", "RR"):
        add(
            "double scores", f"{slug(measure)}-{name}", measure, query([0, 1, 0], scores),
            "The scores differ as doubles but not in single precision, so they are not tied.",
        )  # fmt: skip

# large grades -------------------------------------------------------------------------------------

for grade in (31, 64, 200, 1023, 1024):
    add(
        "large grades", f"ndcg-grade-{grade}", "NDCG", query([grade - 1, 0, grade]),
        "2^grade is large, but the ratio of two gains is not.",
    )  # fmt: skip
for measure in ("NDCNG", "MuAP", "AP", "RR", "ERR", "NERR", "TauAP", "GeneralizedRecall"):
    add(
        "large grades", f"{slug(measure)}-grade-1024", measure, query([1023, 0, 1024, 1]),
        "Grades up to 1,024.",
    )  # fmt: skip
for grade in (31, 1024):
    add(
        "large grades", f"ndcg-linear-grade-{grade}", "NDCG", query([1, 0, grade, 2]),
        "With a linear gain, large grades need no powers.", gain="linear",
    )  # fmt: skip
add("large grades", "dcg-grade-40", "DCG", query([1, 40]), "The gain is 2^40 - 1.")
add("large grades", "ndcg-grade-1024-tied", "NDCG", query([1024, 0], [1, 1]), "Two tied documents.")
