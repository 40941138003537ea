"""Run the cases on the installed tools and print how many each passes, by group.

    python conformance/run.py [TOOL …] [--json FILE] [--cases FILE]

The exit code is 1 if skgraded does not pass every case. To add a tool, add a function that receives
a case and returns the tool's mean over the queries, or None if the tool lacks the measure.
"""

import argparse
import json
import sys
import warnings
from collections import Counter
from functools import cache
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from itertools import combinations, product
from math import inf, isclose, nan
from pathlib import Path

import generate
import numpy as np

TOOLS = {}

# Parameters whose other values are another rule, not an error, in the order of the attempts.
RULES = {
    "ties": ("ordinal", "average", "worst", "best"),
    "undefined": (0.0, 1.0, None),
    "divisor": ("min", "relevant"),
    "gain": ("linear", "exp2"),
}
# A rule without a parameter: documents that were not retrieved are also missing in the ideal list,
# in R and in the divisors.
IDEAL_OF_RETRIEVED = "ideal list from the retrieved documents"


def tool(name, module, lacks=(), tolerance=1e-6):
    """Register a tool; it is absent from cases that need something that it `lacks`."""

    def register(function):
        TOOLS[name] = (function, module, set(lacks), tolerance)
        return function

    return register


# Inputs of the tools ------------------------------------------------------------------------------


def columns(case):
    """Return grades, scores, sizes of the queries and weights of the queries as arrays."""
    queries = case["queries"]
    grades = [nan if grade is None else grade for query in queries for grade in query["grades"]]
    scores = [-inf if score is None else score for query in queries for score in query["scores"]]
    sizes = [len(query["grades"]) for query in queries]
    weights = [query["weight"] for query in queries]
    return np.array(grades, float), np.array(scores, float), sizes, np.array(weights)


def binary(case, grades):
    """Return 1 for relevant documents and 0 for irrelevant documents."""
    threshold = case["parameters"].get("threshold")
    return (grades > 0 if threshold is None else grades >= threshold).astype(float)


def ids(case):
    """Return the query id and the document id of each row.

    The descending order of the document ids is the order of the rows.
    """
    sizes = [len(query["grades"]) for query in case["queries"]]
    return [(str(q), f"d{999 - i:03}") for q, size in enumerate(sizes, 1) for i in range(size)]


def trec(case):
    """Return qrels and run as dicts of dicts, without unjudged and unretrieved documents."""
    grades, scores, sizes, _ = columns(case)
    qrels, run = ({str(q): {} for q in range(1, len(sizes) + 1)} for _ in range(2))
    for (query, document), grade, score in zip(ids(case), grades, scores, strict=True):
        if grade == grade:
            qrels[query][document] = int(grade)
        if score > -inf:
            run[query][document] = float(score)
    return qrels, run


def is_standard(case):
    """Return whether the discount is 1/log2(i + 1) and k is a number, as in most tools."""
    parameters = case["parameters"]
    return parameters.get("discount", "log2") == "log2" and parameters.get("k") != "mean"


def has_few_levels(case):
    """Return whether the grades are integers up to 30, as the boosters require for NDCG."""
    return not {"float_grades", "large_grades"} & set(case["needs"])


def level(case):
    """Return the lowest relevant grade as an integer; a tool with integer levels needs it."""
    threshold = case["parameters"].get("threshold")
    if threshold is None:
        return 1
    return int(threshold) if threshold >= 1 and threshold == int(threshold) else None


# Tools --------------------------------------------------------------------------------------------


def measure_of(case):
    import skgraded as sg

    parameters = dict(case["parameters"])
    if parameters["undefined"] is None:
        parameters["undefined"] = nan
    return getattr(sg, case["measure"])(**parameters)


@tool("skgraded", "skgraded", tolerance=1e-12)
def run_skgraded(case):
    grades, scores, sizes, weights = columns(case)
    by_row = np.repeat(weights, sizes)
    return measure_of(case)(grades, scores, group=sizes, sample_weight=by_row)


@tool("scikit-learn", "sklearn", lacks=["not_retrieved", "unjudged"])
def run_scikit_learn(case):
    from sklearn import metrics

    name, parameters = case["measure"], case["parameters"]
    grades, scores, sizes, weights = columns(case)
    ends, k = np.cumsum(sizes)[:-1], parameters.get("k")
    if name in ("NDCG", "DCG") and min(sizes) == 1:
        return None  # both functions refuse a single document
    if name in ("NDCG", "DCG") and is_standard(case):
        function = metrics.ndcg_score if name == "NDCG" else metrics.dcg_score
        values = [
            function([y], [s], k=k)
            for y, s in zip(np.split(grades, ends), np.split(scores, ends), strict=True)
        ]
    elif (name == "AP" and k is None) or name == "AUC":
        function = metrics.average_precision_score if name == "AP" else metrics.roc_auc_score
        relevant = np.split(binary(case, grades), ends)
        values = [function(y, s) for y, s in zip(relevant, np.split(scores, ends), strict=True)]
    else:
        return None
    return np.average(values, weights=weights)


def lightgbm_booster(case, params, grades):
    """Return a booster whose validation scores are the scores of the case."""
    import lightgbm as lgb

    _, scores, sizes, weights = columns(case)
    train = lgb.Dataset(np.zeros((2, 1)), [0, 1], group=[2], params={"verbose": -1})
    valid = lgb.Dataset(
        np.zeros((len(grades), 1)), grades, reference=train, group=sizes, init_score=scores,
        weight=np.repeat(weights, sizes),
    )  # fmt: skip
    booster = lgb.Booster({"objective": "none", "verbose": -1, **params}, train)
    return booster.add_valid(valid, "valid")


@tool("LightGBM", "lightgbm", lacks=["not_retrieved", "unjudged"])
def run_lightgbm(case):
    parameters = case["parameters"]
    grades, _, sizes, _ = columns(case)
    params = {"eval_at": [parameters.get("k") or max(sizes)]}
    if case["measure"] == "AP":
        params["metric"], grades = "map", binary(case, grades)
    elif case["measure"] == "NDCG" and is_standard(case) and has_few_levels(case):
        is_linear = parameters["gain"] == "linear"
        params |= {
            "metric": "ndcg",
            "label_gain": [i if is_linear else 2**i - 1 for i in range(31)],
        }
    else:
        return None
    return lightgbm_booster(case, params, grades).eval_valid()[0][2]


def xgboost_booster(case, params, grades):
    """Return a booster, and a DMatrix whose margin is the scores of the case."""
    import xgboost as xgb

    _, scores, sizes, weights = columns(case)
    data = xgb.DMatrix(np.zeros((len(grades), 1)), grades, base_margin=scores, weight=weights)
    data.set_group(sizes)
    params = {"objective": "reg:squarederror", "disable_default_eval_metric": 1, **params}
    return xgb.Booster(params, [data]), [(data, "valid")]


# Scores in single precision
SINGLE = ["not_retrieved", "unjudged", "double_scores"]


@tool("XGBoost", "xgboost", lacks=SINGLE)
def run_xgboost(case):
    names = {"NDCG": "ndcg", "AP": "map", "Precision": "pre"}
    parameters, name = case["parameters"], names.get(case["measure"])
    if name is None or not is_standard(case) or (name == "ndcg" and not has_few_levels(case)):
        return None
    grades = columns(case)[0]
    if name != "ndcg":
        grades = binary(case, grades)
    metric = name if parameters["k"] is None else f"{name}@{parameters['k']}"
    if name != "pre" and parameters["undefined"] == 0:
        metric += "-"  # queries without a relevant document count 0 instead of 1
    params = {"eval_metric": metric, "ndcg_exp_gain": parameters.get("gain") != "linear"}
    booster, evals = xgboost_booster(case, params, grades)
    return float(booster.eval_set(evals).rsplit(":", 1)[1])


@tool("CatBoost", "catboost", lacks=["not_retrieved", "unjudged"])
def run_catboost(case):
    from catboost.utils import eval_metric

    name, parameters = case["measure"], case["parameters"]
    names = {
        "NDCG": "NDCG", "DCG": "DCG", "AP": "MAP", "RR": "MRR", "Precision": "PrecisionAt",
        "Recall": "RecallAt", "ERR": "ERR", "AUC": "QueryAUC", "PairAccuracy": "QueryAUC",
    }  # fmt: skip
    if name not in names or not is_standard(case):
        return None
    grades, scores, sizes, weights = columns(case)
    options = [f"top={parameters['k']}"] if parameters.get("k") else []
    if name in ("NDCG", "DCG"):
        options.append("type=Base" if parameters["gain"] == "linear" else "type=Exp")
    elif name == "ERR":  # the labels are probabilities of stopping
        tops = np.repeat([max(query["grades"]) for query in case["queries"]], sizes)
        grades = (2**grades - 1) / 2.0 ** (parameters["max_grade"] or tops)
    elif name in ("AUC", "PairAccuracy"):
        options.append("type=Classic" if name == "AUC" else "type=Ranking")
    if name not in ("NDCG", "DCG", "ERR", "PairAccuracy"):
        grades = binary(case, grades)
    metric = ":".join([names[name], ";".join(options)]).rstrip(":")
    query_ids = np.repeat(np.arange(len(sizes)), sizes)
    group_weight = np.repeat(weights, sizes)
    return eval_metric(grades, scores, metric, group_id=query_ids, group_weight=group_weight)[0]


TREC = ["float_grades", "weights", "double_scores"]


@tool("pytrec_eval", "pytrec_eval", lacks=TREC)
def run_pytrec_eval(case):
    import pytrec_eval

    names = {
        "AP": ("map", "map_cut.{}"), "NDCG": ("ndcg", "ndcg_cut.{}"), "RR": ("recip_rank", None),
        "Precision": ("set_P", "P.{}"), "Recall": ("set_recall", "recall.{}"),
        "RPrecision": ("Rprec",), "Bpref": ("bpref",), "Success": (None, "success.{}"),
        "SetPrecision": ("set_P",), "SetRecall": ("set_recall",), "SetF": ("set_F",),
        "NumRet": ("num_ret",), "NumRel": ("num_rel",), "NumRelRet": ("num_rel_ret",),
        "InterpolatedPrecision": (f"iprec_at_recall.{case['parameters'].get('recall', 0):.2f}",),
    }  # fmt: skip
    parameters, relevance = case["parameters"], level(case)
    k = parameters.get("k")
    name = names.get(case["measure"], (None, None))[k is not None]
    if name is None or relevance is None or not is_standard(case):
        return None
    name = name.format(k)
    qrels, run = trec(case)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {name}, relevance_level=relevance)
    values = evaluator.evaluate(run)
    # A query without retrieved documents is missing; with the option -c, it counts as 0.
    return np.mean([values.get(query, {}).get(name.replace(".", "_", 1), 0.0) for query in qrels])


@tool("ir_measures", "ir_measures", lacks=TREC, tolerance=1e-5)  # gdeval prints five decimals
def run_ir_measures(case):
    import ir_measures

    parameters = case["parameters"]
    k = parameters.get("k", parameters.get("recall"))
    names = {
        "AP": "AP", "NDCG": "nDCG", "RR": "RR", "Precision": "P" if k else "SetP", "ERR": "ERR",
        "Recall": "R" if k else "SetR", "RPrecision": "Rprec", "Bpref": "Bpref", "SetF": "SetF",
        "Success": "Success" if k else None, "SetPrecision": "SetP", "SetRecall": "SetR",
        "NumRet": "NumRet", "NumRel": "NumRel", "Judged": "Judged" if k else None,
        "InterpolatedPrecision": "IPrec", "Compat": "Compat",
    }  # fmt: skip
    name = names.get(case["measure"])
    if name is None or level(case) is None or not is_standard(case):
        return None
    is_on_scale = max(columns(case)[0]) <= 4 and parameters.get("max_grade", 4) == 4
    if (name == "ERR" or parameters.get("gain") == "exp2") and not is_on_scale:  # of gdeval
        return None
    options = {"rel": level(case)} if parameters.get("threshold") else {}
    if parameters.get("gain") == "exp2":
        options["dcg"] = "exp-log2"
    if "dcg" in options or name == "ERR":
        k = k or 1000  # gdeval requires a cut-off
    if "persistence" in parameters:
        options["p"] = float(parameters["persistence"])
    measure = getattr(ir_measures, name)(**options)
    measure = measure if k is None else measure @ (float(k) if name == "IPrec" else k)
    if not ir_measures.DefaultPipeline.supports(measure):
        return None
    return np.mean([metric.value for metric in ir_measures.iter_calc([measure], *trec(case))])


@tool("ranx", "ranx", lacks=["float_grades", "weights", "unjudged"])
def run_ranx(case):
    import ranx

    parameters, relevance = case["parameters"], level(case)
    names = {
        "AP": "map", "NDCG": "ndcg" if parameters.get("gain") == "linear" else "ndcg_burges",
        "RR": "mrr", "Precision": "precision", "Recall": "recall", "RPrecision": "r-precision",
        "Bpref": "bpref", "Success": "hit_rate", "RBP": "rbp", "SetPrecision": "precision",
        "SetRecall": "recall",
    }  # fmt: skip
    if case["measure"] not in names or relevance is None or not is_standard(case):
        return None
    name, k = names[case["measure"]], parameters.get("k")
    if name == "rbp":
        if k is not None:
            return None
        name += f".{parameters['persistence']}".replace("0.", "")
    elif k is not None:
        name += f"@{k}"
    if relevance > 1:
        name += f"-l{relevance}"
    qrels, run = trec(case)
    run = {query: scores for query, scores in run.items() if scores}
    return ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), name, make_comparable=True)


@tool("mteb-core", "mteb", lacks=TREC, tolerance=1e-5)  # its means have five decimals
def run_mteb(case):
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

    names = {
        "NDCG": ("ndcg", "NDCG"), "AP": ("map", "MAP"), "Recall": ("recall", "Recall"),
        "Precision": ("precision", "P"), "RR": ("mrr", "MRR"), "Success": ("hit_rate", "HitRate"),
    }  # fmt: skip
    parameters = case["parameters"]
    k = parameters.get("k")
    if case["measure"] not in names or level(case) != 1 or not is_standard(case):
        return None
    if k is None and case["measure"] in ("Precision", "Success"):
        return None
    kind, name = names[case["measure"]]
    qrels, run = trec(case)
    result = calculate_retrieval_scores(run, qrels, [k or 1000])
    return getattr(result, kind)[f"{name}@{k or 1000}"]


# Our own metrics inside the boosting libraries ----------------------------------------------------


def has_value(case):
    """Return whether a query is defined; otherwise, a metric in a booster raises an error."""
    return value_under(json.dumps(case), (("undefined", None),)) is not None


@tool("skgraded in LightGBM", "lightgbm", lacks=["not_retrieved", "unjudged"])
def run_skgraded_in_lightgbm(case):
    from skgraded.lightgbm import eval_metric

    if not has_value(case):
        return None
    booster = lightgbm_booster(case, {"metric": "None"}, columns(case)[0])
    return booster.eval_valid(eval_metric([measure_of(case)]))[0][2]


@tool("skgraded in XGBoost", "xgboost", lacks=SINGLE)
def run_skgraded_in_xgboost(case):
    from skgraded.xgboost import custom_metric

    if not has_value(case):
        return None
    booster, evals = xgboost_booster(case, {}, columns(case)[0])
    return float(booster.eval_set(evals, 0, custom_metric([measure_of(case)])).rsplit(":", 1)[1])


@tool("skgraded in CatBoost", "catboost", lacks=SINGLE)
def run_skgraded_in_catboost(case):
    from catboost import CatBoost, Pool

    from skgraded.catboost import eval_metric

    if not has_value(case):
        return None
    grades, scores, sizes, weights = columns(case)
    query_ids = np.repeat(np.arange(len(sizes)), sizes)
    # The first tree of this training set does not change the scores: its residuals are 0.
    top = [[0.0], [max(*grades, 1.0)]]
    train = Pool([[0.0], [1.0]], np.ravel(top), group_id=[0, 0], baseline=top)
    valid = Pool(
        np.zeros((len(grades), 1)), grades, group_id=query_ids, baseline=scores.reshape(-1, 1),
        group_weight=np.repeat(weights, sizes),
    )  # fmt: skip
    model = CatBoost({
        "loss_function": "QueryRMSE", "iterations": 1, "thread_count": 1, "verbose": 0,
        "allow_writing_files": False, "eval_metric": eval_metric(measure_of(case), [0, 0], query_ids),
    })  # fmt: skip
    values = model.fit(train, eval_set=valid).get_evals_result()["validation"]
    return next(value for name, (value,) in values.items() if name != "QueryRMSE")


# Comparison ---------------------------------------------------------------------------------------


def agrees(value, expected, tolerance):
    """Return whether a value equals the expected one; no value agrees with null."""
    if expected is None or value != value:
        return expected is None and value != value
    return isclose(value, expected, rel_tol=tolerance, abs_tol=tolerance)


def other_rules(case):
    """Return other values of one or two parameters; one change comes first."""
    own = case["parameters"]
    changes = [
        [(name, value) for value in values if value != own[name]]
        for name, values in RULES.items()
        if name in own
    ]
    if any(None in query["scores"] for query in case["queries"]):
        changes.append([(IDEAL_OF_RETRIEVED, True)])
    single = [(change,) for choices in changes for change in choices]
    pairs = [pair for two in combinations(changes, 2) for pair in product(*two)]
    return [dict(rule) for rule in (*single, *pairs)]


@cache
def value_under(case_json, rule):
    """Return the exact mean of a case under another rule."""
    case = json.loads(case_json)
    parameters = case["parameters"] | dict(rule)
    retrieved_only = parameters.pop(IDEAL_OF_RETRIEVED, False)
    values = []
    for query in case["queries"]:
        rows = [
            (grade, score)
            for grade, score in zip(query["grades"], query["scores"], strict=True)
            if score is not None or not retrieved_only
        ]
        grades, scores = zip(*rows, strict=True) if rows else ((), ())
        values.append(generate.value(case["measure"], grades, scores, **parameters))
    value = generate.expected(values, [query["weight"] for query in case["queries"]])
    return None if value is None else float(value)


def rule_of(case, value, tolerance):
    """Return the rule that explains a value, such as "ties=ordinal", or None."""
    text = json.dumps(case)
    if agrees(value, value_under(text, ()), tolerance):
        return None  # the expected value is wrong
    for rule in other_rules(case):
        if agrees(value, value_under(text, tuple(rule.items())), tolerance):
            return ", ".join(
                name if value is True else f"{name}={'nan' if value is None else value}"
                for name, value in rule.items()
            )
    return None


def run_case(case, function, lacks, tolerance):
    """Return the outcome, the value and the rule."""
    if lacks & set(case["needs"]):
        return "absent", None, None
    try:
        value = function(case)
    except Exception as error:  # the tool should accept this input
        return "failed", None, f"{type(error).__name__}: {str(error).strip()[:80]!r}"
    if value is None:
        return "absent", None, None
    value = float(value)
    if agrees(value, case["expected"], tolerance):
        return "passed", value, None
    rule = rule_of(case, value, tolerance)
    return ("other rule" if rule else "failed"), value, rule


def print_results(name, release, cases, results):
    outcomes = ("passed", "other rule", "failed", "absent")
    print(f"\n{f'{name} {release}':32}" + "".join(f"{outcome:>12}" for outcome in outcomes))
    for group in [*dict.fromkeys(case["group"] for case in cases), "all"]:
        n = Counter(results[c["id"]][0] for c in cases if group in (c["group"], "all"))
        print(f"  {group:30}" + "".join(f"{n[outcome]:12}" for outcome in outcomes))
    rules = Counter(rule for outcome, _, rule in results.values() if outcome == "other rule")
    if rules:
        print("  rules: " + "; ".join(f"{rule} ({n})" for rule, n in rules.most_common()))
    for case in cases:
        outcome, value, error = results[case["id"]]
        if outcome == "failed":
            print(f"  failed: {case['id']}: {error or value} instead of {case['expected']}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tool_names = {name.lower(): name for name in TOOLS}
    parser.add_argument(
        "tools", nargs="*", metavar="TOOL", type=lambda text: tool_names.get(text.lower(), text),
        help=f"in any case; default: {', '.join(TOOLS)}",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write all outcomes to this file")
    parser.add_argument("--cases", metavar="FILE", default=Path(__file__).with_name("cases.json"))
    options = parser.parse_args(arguments)
    unknown = set(options.tools) - set(TOOLS)
    if unknown:
        parser.error(f"unknown tool {min(unknown)}; known are {', '.join(TOOLS)}")
    cases = json.loads(Path(options.cases).read_text(encoding="utf-8"))["cases"]
    warnings.simplefilter("ignore")
    outcomes = {}
    for name in options.tools or TOOLS:
        function, module, lacks, tolerance = TOOLS[name]
        if find_spec(module) is None:
            print(f"\n{name} is not installed")
            continue
        distributions = packages_distributions().get(module)
        release = version(distributions[0]) if distributions else "(a checkout)"
        outcomes[name] = {case["id"]: run_case(case, function, lacks, tolerance) for case in cases}
        print_results(name, release, cases, outcomes[name])
    if options.json:
        Path(options.json).write_text(json.dumps(outcomes, indent=1), encoding="utf-8")
    return int(any(outcome[0] != "passed" for outcome in outcomes.get("skgraded", {}).values()))


if __name__ == "__main__":
    sys.exit(main())
