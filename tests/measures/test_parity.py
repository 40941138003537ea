"""The tables of docs/coming_from.md list all measures of other tools, and give their values.

All runs are without ties. Each row of the tables is one test.
"""

import importlib
import inspect
import pkgutil
import re
import runpy
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
from peers import peer

import skgraded as sg
from skgraded.datasets import join_run

DOCS = Path(__file__).parents[2] / "docs"
TOOLS = runpy.run_path(str(DOCS / "table_of_other_tools.py"))["TOOLS"]
COMPARED = [
    pytest.param(tool, row, id=f"{tool}: {row.theirs}")
    for tool, rows in TOOLS.items()
    for row in rows
    if row.here
]
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # in ir_measures
    pytest.mark.filterwarnings("ignore::SyntaxWarning"),  # in cwl-eval
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),  # in ranx
]


@dataclass
class Data:
    """Qrels and a run as dicts, and their joined columns; grades of unjudged documents are nan."""

    qrels: dict
    run: dict
    grades: np.ndarray
    scores: np.ndarray
    qid: np.ndarray


def joined(qrels, run, unjudged_documents="keep"):
    rows = join_run(qrels, run, unjudged_documents=unjudged_documents)
    return Data(qrels, run, rows.y_true, rows.y_score, rows.qid)


def retrieved_rows(data):
    rows = data.scores > -np.inf
    return replace(data, grades=data.grades[rows], scores=data.scores[rows], qid=data.qid[rows])


OPTIONS = {
    '`unjudged_documents="drop"`': lambda data: joined(data.qrels, data.run, "drop"),
    "retrieved documents only": retrieved_rows,
    "binary grades": lambda data: replace(data, grades=np.minimum(data.grades, 1)),
}


@pytest.fixture(scope="module")
def data():
    """60 queries whose runs contain unjudged documents and lack judged ones."""
    rng = np.random.default_rng(0)
    qrels, run = {}, {}
    for query in map(str, range(60)):  # gdeval requires digits
        documents = [f"d{i}" for i in range(rng.integers(2, 25))]
        grades = rng.choice([0, 0, 1, 2, 3], len(documents))
        grades[0] = 2  # ranx and trec_eval differ on queries without a relevant document
        retrieved = rng.choice(
            documents + [f"unjudged{i}" for i in range(8)],
            rng.integers(1, len(documents) + 8),
            replace=False,
        ).tolist()
        retrieved.append("unjudged")  # Accuracy of ir_measures requires an irrelevant document
        scores = rng.permutation(len(retrieved)) + 1.0  # ir_measures gives missing documents 0
        qrels[query] = dict(zip(documents, grades.tolist(), strict=True))
        run[query] = dict(zip(retrieved, scores.tolist(), strict=True))
    return joined(qrels, run)


# The values of other tools: {query: value} ------------------------------------------------------


def ir_measures_values(name, data):
    ir_measures = peer("ir_measures")
    measure = ir_measures.parse_measure(name)
    if not ir_measures.DefaultPipeline.supports(measure):
        peer("cwl.ruler.ranking")  # an optional dependency of ir_measures, which computes the value
    rows = ir_measures.iter_calc([measure], data.qrels, data.run)
    return {row.query_id: row.value for row in rows}


def trec_eval_values(name, data):
    measure = {measure_of("trec_eval", name)}
    results = peer("pytrec_eval").RelevanceEvaluator(data.qrels, measure).evaluate(data.run)
    return {query: values[name] for query, values in results.items()}


def ranx_values(name, data):
    ranx = peer("ranx")
    run = ranx.Run(data.run)
    ranx.evaluate(ranx.Qrels(data.qrels), run, name)
    return run.scores[name]


def cwl_eval_values(name, data):
    ranking = peer("cwl.ruler.ranking")
    call, _, attribute = name.partition(").")
    metric = eval(call.rstrip(")") + ")", cwl_eval_classes())
    metric.residuals = bool(attribute)  # full gain minus no gain of unjudged documents
    # Discounted weights continue below the run. AP takes time quadratic in the depth.
    depth = 50 if call.startswith("AP") else 500
    values, top = {}, np.nanmax(data.grades)
    for query in data.qrels:
        rows = np.flatnonzero(data.qid == query)
        rows = rows[np.argsort(-data.scores[rows])]
        gains = data.grades[rows] / top
        retrieved = gains[data.scores[rows] > -np.inf]
        topic = ranking.Ranking(query, retrieved, np.ones(len(retrieved)), max_n=depth)
        topic.total_qrel_rels = np.nansum(gains)
        metric.measure(topic)
        values[query] = getattr(metric, attribute or "expected_utility")
    return values


def cwl_eval_classes():
    package = peer("cwl.ruler.measures")
    for module in pkgutil.iter_modules(package.__path__, "cwl.ruler.measures."):
        importlib.import_module(module.name)
    base = importlib.import_module("cwl.ruler.measures.cwl_metrics").CWLMetric
    return {cls.__name__: cls for cls in base.__subclasses__()}


VALUES = {
    "ir_measures": ir_measures_values,
    "trec_eval": trec_eval_values,
    "ranx": ranx_values,
    "cwl-eval": cwl_eval_values,
}


# The names of their measures --------------------------------------------------------------------


def trec_eval_names():
    pytrec_eval = peer("pytrec_eval")
    return set(pytrec_eval.supported_measures).union(*pytrec_eval.supported_nicknames.values())


def ranx_names():
    metrics = peer("ranx.metrics")
    of_evaluate = set(re.findall('metric == "(.+?)"', inspect.getsource(metrics.metric_switch)))
    functions = {metrics.metric_switch(name).__name__ for name in of_evaluate}
    return of_evaluate | set(metrics.__all__) - functions - {"get_hit_lists"}


NAMES = {
    "ir_measures": lambda: {
        name
        for name, cls in peer("ir_measures").measures.registry.items()
        if not hasattr(cls, "measure_class")  # of skgraded.ir_measures
    },
    "trec_eval": trec_eval_names,
    "ranx": ranx_names,
    "cwl-eval": lambda: set(cwl_eval_classes()),
}
PARAMETERS = {  # what follows the name of a measure
    "ir_measures": r"[@(].*",
    "trec_eval": r"_[\d.]+$",
    "ranx": r"(@|\.|-l)\d+$",
    "cwl-eval": r"\(.*",
}


def measure_of(tool, name):
    return re.sub(PARAMETERS[tool], "", name)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_table_has_all_measures_and_no_others(tool):
    listed = {measure_of(tool, name) for row in TOOLS[tool] for name in row.theirs.split()}
    names = NAMES[tool]()
    missing = [name for name in names if not any(fnmatchcase(name, row) for row in listed)]
    unknown = [row for row in listed if not any(fnmatchcase(name, row) for name in names)]
    assert not missing and not unknown


# Values here ------------------------------------------------------------------------------------


def with_options(text, data):
    """Split a text of the table into an expression and its data."""
    expression, _, options = text.partition(" with ")
    for option in filter(None, options.split(" and ")):
        data = OPTIONS[option](data)
    return expression, data


def values_here(expression, data):
    """Evaluate an expression of the table, such as "`AP@5` · min(R, 5) / R", for each query."""

    def per_query(rows):
        return np.array([rows[data.qid == query].sum() for query in data.qrels])

    symbols = {
        "R": per_query(data.grades > 0),
        "N": per_query(data.grades == 0),
        "n": per_query(data.scores > -np.inf),
        "M": np.nanmax(data.grades),
        "D": lambda k: (1 / np.log2(np.arange(2, k + 2))).sum(),
        "min": np.minimum,
        "max": np.maximum,
        "log": np.log,
        "where": np.where,
        "nan": np.nan,
    }
    measures = list(dict.fromkeys(re.findall("`(.+?)`", expression)))
    if measures:
        evaluation = sg.evaluate(
            data.grades,
            data.scores,
            qid=data.qid,
            measures=measures,
            unjudged_documents="irrelevant",
        )
        assert evaluation.query_ids.tolist() == list(data.qrels)
        assert list(evaluation.per_query) == measures
        symbols["values"] = evaluation.per_query
    source = re.sub("`(.+?)`", r'values["\1"]', expression).replace("·", "*")
    return defined(dict(zip(data.qrels, eval(source, symbols), strict=True)))


def defined(values):
    return {query: value for query, value in values.items() if not np.isnan(value)}


@pytest.mark.parametrize(("tool", "row"), COMPARED)
def test_each_row_gives_the_values_of_the_tool(tool, row, data):
    expression, used = with_options(row.here, data)
    ours = values_here(expression, used)
    same = equal_rounding(expression, used) & ours.keys()
    assert len(same) > 5 or not ours
    for name in row.theirs.split():
        theirs = defined(VALUES[tool](name, used))
        assert ours.keys() == theirs.keys()
        for query in same:
            assert ours[query] == pytest.approx(theirs[query], rel=1e-9, abs=row.tolerance), name


def equal_rounding(expression, data):
    """Queries for which trec_eval 9 and 10 require equally many documents for a recall level."""
    levels = np.array(re.findall(r"InterpolatedPrecision\(recall=([\d.]+)", expression), float)
    required = {query: levels * np.sum(data.grades[data.qid == query] > 0) for query in data.qrels}
    return {
        query
        for query, n in required.items()
        if np.array_equal(np.maximum(np.floor(n + 0.9), 1), np.maximum(np.floor(n + 0.5), 1))
    }


def test_the_random_queries_contain_difficult_cases(data):
    assert np.isnan(data.grades).sum() > 100 and np.isinf(data.scores).sum() > 100
    assert 0 < (data.grades >= 2).sum() < (data.grades > 0).sum()
