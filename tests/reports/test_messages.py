"""Messages of errors: each names the argument, its value and, where possible, a way out."""

from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from small_reports import evaluation, labelled_summary, systems

import skgraded as sg
from skgraded.datasets import join_run

V, T = ValueError, TypeError
ABC = evaluation({"AP": [0.5, 1, 0.25]}, [0, 1, 2])
TWO = {"bm25": ABC, "lgbm": ABC}


def ap(values, ids=(0, 1, 2), **settings):
    """An Evaluation of AP."""
    return evaluation({"AP": values}, list(ids), **settings)


def compared(*others, **settings):
    """Compare ABC with other systems, or two equal systems with other settings."""
    named = dict(zip("abcd", (ABC, *others), strict=False)) if others else TWO
    return sg.compare(named, **settings)


COMPARE = [
    ("no system", lambda: sg.compare({}), T, "evaluations must be a mapping of at least two"),
    ("one system", lambda: sg.compare({"a": ABC}), T, "evaluations must be a mapping of at"),
    ("a list", lambda: sg.compare([ABC, ABC]), T, "evaluations must be a mapping .*got "),
    ("another name", lambda: sg.compare({"a": ABC, 1: ABC}), T, "must be strings; got 1"),
    ("no Evaluation", lambda: compared([0.5, 1]), T, r"evaluations\['b'\] must have the type Eval"),
    (
        "fewer queries",
        lambda: compared(ap([1, 0], [0, 1])),
        V,
        "^'b' has no values for 1 of the 3 queries of 'a', such as 2;",
    ),
    (
        "more queries",
        lambda: compared(ap([1, 0, 1, 1], [0, 1, 2, 3])),
        V,
        "^'a' has no values for 1 of the 4 queries of 'b', such as 3;",
    ),
    (
        "other ids",
        lambda: compared(ap([1, 0, 1], ["0", "1", "2"])),
        V,
        "^'b' .* 3 of the 3 queries of 'a', such as 0; 'b' contains queries such as '0'.*type",
    ),
    (
        "other measures",
        lambda: compared(evaluation({"RR": [1, 0, 1]}, [0, 1, 2])),
        V,
        "^'b' was evaluated with RR, but 'a' with AP",
    ),
    (
        "more measures",
        lambda: compared(evaluation({"AP": [1, 0, 1], "RR": [1, 1, 1]}, [0, 1, 2])),
        V,
        "^'b' was evaluated with AP, RR, but 'a' with AP",
    ),
    (
        "other weights",
        lambda: compared(ap([1, 0, 1], weights=np.array([1.0, 1, 2]))),
        V,
        "^Systems 'b' and 'a' have different weights, such as 2.0 and 1.0 for query 2",
    ),
    (
        "baseline",
        lambda: compared(baseline="bm24"),
        V,
        r"baseline must be one of \['bm25', 'lgbm'\] or None; got 'bm24'. Did you mean 'bm25",
    ),
    (
        "test",
        lambda: compared(test="anova"),
        V,
        r"test must be one of \['randomization', 't', .*'anova'",
    ),
    ("correction", lambda: compared(correction="sidak"), V, "one of .'holm', .*'sidak'"),
    ("family", lambda: compared(family="query"), V, "family must be .*'all', 'measure'.*'query'"),
    (
        "test of sums",
        lambda: sg.compare(sg.Summaries.of(TWO), test="wilcoxon"),
        V,
        "test='wilcoxon' requires per-query values",
    ),
    ("level", lambda: compared(level=95), V, "level must be .*95"),
    ("resamples", lambda: compared(n_resamples=0), V, "n_resamples must be at least 100"),
    ("half a resample", lambda: compared(n_resamples=9.5), V, "n_resamples must be an integer"),
    ("rng", lambda: compared(rng=1.5), T, "rng must be .*1.5"),
    (
        "minus other queries",
        lambda: ABC.minus(ap([1, 0], [0, 1])),
        V,
        "'other' has no values for 1 of the 3 queries of 'self'",
    ),
    (
        "minus other weights",
        lambda: ABC.minus(ap([1, 0, 1], weights=np.array([1.0, 1, 2]))),
        V,
        "'other' and 'self' have different weights, such as 2.0 and 1.0 for query 2",
    ),
]

# Outcomes ----------------------------------------------------------------------------------------

WEIGHTED = replace(ABC, weights=np.arange(1.0, 4))
OUTCOMES = [
    ("no baseline", lambda: compared().outcomes(), V, "outcomes requires a baseline"),
    *(
        (
            f"max_loss {value}",
            lambda value=value: compared(baseline="bm25").outcomes(value),
            V,
            "max_loss must be a finite number ≥ 0; got",
        )
        for value in (-0.1, np.nan, np.inf, "0.1")
    ),
    *(
        (
            f"weights of {kind.__name__}",
            lambda kind=kind: sg.compare(
                kind({"a": WEIGHTED, "b": WEIGHTED}), baseline="a", test=None
            ).outcomes(),
            V,
            "weight",
        )
        for kind in (dict, sg.Summaries.of)
    ),
]

# evaluate and Evaluation -------------------------------------------------------------------------

FRAME = pd.DataFrame(
    {
        "session": ["b", "a", "b", "a", "c", "c"],
        "grade": [2, 0, 1, 1, 0, 1],
        "bm25": [0.5, 0.1, 0.75, 0.25, 1.0, 0.5],
        "lgbm": [3, 1, 2, 4, 5, 6],
    }
)


def evaluated(**changes):
    named = {"y_true": "grade", "y_score": "bm25", "qid": "session", "data": FRAME}
    return sg.evaluate(**(named | changes))


EVALUATE = [
    (
        "names without data",
        lambda: evaluated(data=None),
        T,
        "y_true must be an array; got the string 'grade'.*data=",
    ),
    (
        "a name of qid without data",
        lambda: evaluated(data=None, y_true=[1], y_score=[1]),
        T,
        "qid must be an array; got the string 'session'",
    ),
    (
        "no such column",
        lambda: evaluated(qid="sesion"),
        V,
        r"no column 'sesion'. Available columns: 'session', .*\. Did you mean 'session'\?",
    ),
    ("no such system", lambda: evaluated(y_score=["bm25", "nope"]), V, "is no column 'nope'"),
    (
        "no qid",
        lambda: evaluated(qid=None),
        V,
        r"qid is required: .* group=\[n\] if all rows form one",
    ),
    (
        "a Series with data",
        lambda: evaluated(y_true=FRAME["grade"]),
        T,
        "y_true must be the name of a column; got Series",
    ),
    (
        "Judgments with data",
        lambda: evaluated(y_true=sg.Judgments([1], qid=[1])),
        T,
        "got Judgments",
    ),
    (
        "a number as a system",
        lambda: evaluated(y_score=["bm25", 3]),
        T,
        "The names in y_score must be strings; got 3",
    ),
    ("no systems", lambda: evaluated(y_score=[]), V, "y_score is empty: pass at least one system"),
    (
        "text as scores",
        lambda: evaluated(y_score=["bm25", "session"]),
        T,
        "y_score 'session' must contain numbers",
    ),
    (
        "nan scores",
        lambda: evaluated(data=FRAME.assign(bm25=np.nan), y_score=["lgbm", "bm25"]),
        V,
        "y_score 'bm25' must not contain NaN; got nan for row 0",
    ),
    (
        "a column twice",
        lambda: evaluated(data=FRAME.set_axis(["session", "grade", "bm25", "bm25"], axis=1)),
        V,
        r"Several columns are named 'bm25' \(y_score\)",
    ),
    ("a file", lambda: evaluated(data="scores.parquet"), T, "got str. Use evaluate_batches"),
    (
        "no table",
        lambda: evaluated(data=FRAME["grade"]),
        T,
        "data must be a table, such as a pandas or polars DataFrame",
    ),
    (
        "columns of unequal length",
        lambda: evaluated(data={"grade": [1, 0], "bm25": [1], "session": [1, 1]}),
        V,
        "y_score has 1 rows, but y_true has 2",
    ),
    ("no rows", lambda: evaluated(data=FRAME[:0]), V, "y_true is empty"),
    ("a measure twice", lambda: evaluated(measures=["ap", "map"]), V, "AP twice"),
    (
        "unjudged documents",
        lambda: sg.evaluate([1, np.nan], [1, 2], group=[2]),
        V,
        "y_true must not contain NaN; .*unjudged_documents='irrelevant' .*'drop' .*"
        "accept NaN: Bpref, EDRC, Judged, RBPResidual",
    ),
    (
        "an unknown rule",
        lambda: sg.evaluate([1], [1], group=[1], unjudged_documents="keep"),
        V,
        "unjudged_documents must be .*'keep'",
    ),
    (
        "an unknown rule of join_run",
        lambda: join_run({"q": {"a": 2}}, {"q": {"a": 1.0}}, unjudged_documents="skip"),
        V,
        "unjudged_documents must be",
    ),
    (
        "a high grade among unjudged documents",
        lambda: sg.evaluate(
            [np.nan, 0, np.nan, 3],
            [4, 3, 2, 1],
            qid=[0, 0, 1, 1],
            measures="NERR(max_grade=2)",
            unjudged_documents="drop",
        ),
        V,
        "max_grade is 2, but y_true contains grade 3 in row 3",
    ),
    (
        "runs of different queries",
        lambda: sg.evaluate_runs(
            {"q": {"a": 1}, "p": {"a": 1}},
            {"x": {"q": {"a": 1}}, "y": {"p": {"a": 1}}},
            missing="skip",
        ),
        V,
        "no judged queries in common",
    ),
    (
        "a Series of few queries",
        lambda: ABC.take(pd.Series([True, False], index=[0, 1])),
        V,
        "index of positions lacks the query id",
    ),
    ("n", lambda: ABC.worst(0), V, "n must be at least 1; got 0"),
    ("another measure", lambda: ABC.worst(measure="rr"), V, "the evaluated measures AP; got RR"),
]
SEGMENTS = [
    (f"segments {i}", lambda by=by: ABC.summary(by=by), error, message)
    for i, (by, error, message) in enumerate(
        [
            ({0: "a", 1: "b"}, V, "'by' has no segment for query 2"),
            (["a", "b"], V, "'by' contains 2 segments, but there are 3 queries"),
            (["a", None, "b"], V, "no segment for query 1: the value is None"),
            ({0: "a", 1: "b", 2: np.nan}, V, "no segment for query 2: the value is nan"),
            ("topic", T, "'by' must be an array .* or a dict .*; got 'topic'"),
            ({0, 1, 2}, T, "'by' must be an array"),
            (np.array("topic"), T, r"'by' must be an array .*; got array\('topic'"),
            (pd.Series("all", index=[0, 0, 1, 2]), V, "unique, but it contains 0 twice"),
            (pd.DataFrame({0: ["a"]}), T, "'by' must be an array"),
        ]
    )
]


def query(name, measures="ap", **settings):
    return sg.evaluate([1, 0], [2, 1], qid=[name, name], measures=measures, **settings)


CONCAT = [
    (f"parts {i}", lambda parts=parts: sg.Evaluation.concat(parts()), error, message)
    for i, (parts, error, message) in enumerate(
        [
            (lambda: [], V, "concat requires at least one part"),
            (lambda: [query(1), 3], T, "passed to concat must have the type Evaluation"),
            (lambda: [query("a"), query("a")], V, "query_ids contains 'a' more than once"),
            (lambda: [query(1), query(1.0)], V, "query_ids contains 1.* more than once"),
            (lambda: [query(1), query(2, ["ap", "rr"])], V, "must have the same measures"),
            (
                lambda: [query(1), query(2, sample_weight=[1, 1])],
                V,
                "must each be present in all parts or in none",
            ),
        ]
    )
]

# Clusters ----------------------------------------------------------------------------------------

CLUSTERED = replace(ABC, clusters=np.array([0, 0, 1]))
UNSUPPORTED = {
    "Summary": lambda: sg.Summary.of(CLUSTERED),
    "Summaries": lambda: sg.Summaries.of({"a": CLUSTERED, "b": CLUSTERED}),
    "prediction_powered": lambda: sg.prediction_powered(*in_clusters(A, J)),
    "plan_judgments": lambda: sg.plan_judgments(*in_clusters(A, J), 0.1),
}


def in_clusters(*parts):
    return [replace(ev, clusters=np.arange(ev.n_queries) // 2) for ev in parts]


def of_topics(topics):
    """Evaluate five rows of three queries with a topic per row."""
    return sg.evaluate([1, 0, 0, 1, 1], [2, 1, 2, 1, 1], qid=list("aabbc"), clusters=topics)


CLUSTERS = [
    (
        "test of clusters",
        lambda: sg.compare({"a": CLUSTERED, "b": CLUSTERED}, test="wilcoxon"),
        V,
        r"'wilcoxon' does not support clusters: use one of \['rand",
    ),
    (
        "clusters of one system",
        lambda: sg.compare({"a": CLUSTERED, "b": ABC}),
        V,
        "Systems 'b' and 'a' have different clusters, such as .*None",
    ),
    (
        "other clusters",
        lambda: sg.compare(
            {"a": CLUSTERED, "b": replace(CLUSTERED, clusters=CLUSTERED.clusters[::-1])}
        ),
        V,
        "have different clusters, such as",
    ),
    (
        "clusters of one part",
        lambda: sg.Evaluation.concat([CLUSTERED.take([0]), ABC.take([1, 2])]),
        V,
        "clusters must each be present in all parts",
    ),
    *(
        (f"clusters in {name}", call, V, "does not support clusters")
        for name, call in UNSUPPORTED.items()
    ),
    (
        "a query in two clusters",
        lambda: of_topics(list("xxyxx")),
        V,
        "query 'b' have the values 'y' and 'x'",
    ),
    ("few clusters", lambda: of_topics(list("xxyy")), V, "clusters has 4 rows, but y_true has 5"),
    ("no cluster", lambda: of_topics([None, *"xyyx"]), V, "clusters is missing in row 0"),
    (
        "a Series of clusters",
        lambda: sg.Evaluation(["a", "c"], {"AP": [1, 0]}, clusters=pd.Series({"b": 1, "a": 0})),
        V,
        "The index of clusters lacks the query id 'c'",
    ),
]

# Preferences -------------------------------------------------------------------------------------

PAIRS, USERS = [("a", "b"), ("b", "c"), ("c", "a")], ["ann", "ann", "bob"]
PREDICTIONS = {"ann": {"a": 3, "b": 2, "c": 1}, "bob": {"a": 1, "c": 2}}


def preferences(**changes):
    arguments = {"true_pairs": PAIRS, "predicted_pairs": PREDICTIONS, "qid": USERS}
    return sg.evaluate_preferences(**(arguments | changes))


PREFERENCES = [
    ("measure", lambda: preferences(measures="ndcg"), V, "must be edrc, .*; got NDCG"),
    (
        "prior of a measure",
        lambda: preferences(measures="edrc(prior=0.3)"),
        V,
        "Pass 'discount' and 'prior' as arguments",
    ),
    ("no measure", lambda: preferences(measures=[]), V, "measures is empty"),
    ("no user", lambda: preferences(qid=None), T, "qid must be an array .* got None"),
    ("few users", lambda: preferences(qid=USERS[:2]), V, "qid has 2 rows, but true_pairs has 3"),
    ("prior", lambda: preferences(prior=2), V, "prior must be a finite number"),
    ("discount", lambda: preferences(discount="square"), V, "discount must be one of"),
    ("cycles", lambda: preferences(cycles="drop"), V, "cycles must be one of"),
    ("items", lambda: preferences(items="recommended"), T, 'predicted" or a .*; got .recom'),
    ("items of one user", lambda: preferences(items={"ann": ["a"]}), V, r"items .*\(1 of 2 quer"),
    (
        "few weights",
        lambda: preferences(sample_weight=[1, 2]),
        V,
        "sample_weight has 2 rows, but qid has 3",
    ),
    ("no weight", lambda: preferences(sample_weight=[0, 0, 0]), V, "sample_weight is 0 in all"),
    (
        "a list of predictions",
        lambda: preferences(predicted_pairs=[("a", "b")]),
        T,
        "predicted_pairs must map each query",
    ),
    (
        "few predictions",
        lambda: preferences(predicted_pairs={"ann": []}),
        V,
        r"predicted_pairs .*\(1 of 2 q",
    ),
    (
        "an item against itself",
        lambda: preferences(true_pairs=[*PAIRS[:2], ("c", "c")]),
        V,
        "row 2 contains 'c' twice",
    ),
]

# Judges ------------------------------------------------------------------------------------------

GRADES = {"human": [0, 1, 2, 0], "model": [0, 2, 2, 1]}
SCORES = {"a": [4.0, 3, 2, 1], "b": [1.0, 2, 3, 4]}


def judged(y_scores=SCORES, qid=(1, 1, 2, 2), y_judges=GRADES, **settings):
    qid = qid and list(qid)
    return sg.compare_judges(y_judges, y_scores, qid=qid, **settings)


def model(grades):
    return GRADES | {"model": grades}


JUDGES = [
    (
        "a list of judges",
        lambda: judged(y_judges=[[0, 1]]),
        T,
        "^y_judges must be a mapping or DataFrame with one column per judge; got list",
    ),
    (
        "one judge",
        lambda: judged(y_judges={"human": [0, 1, 2, 0]}),
        V,
        "^y_judges must have at least two columns, with distinct names",
    ),
    (
        "few grades",
        lambda: judged(y_judges=model([0, 1])),
        V,
        r"^y_judges\['model'\] has 2 rows, but y_judges\['human'\] has 4",
    ),
    (
        "a negative grade",
        lambda: judged(y_judges=model([0, 1, -1, 0])),
        V,
        r"^y_judges\['model'\] must contain only grades ≥ 0; got -1 for row 2",
    ),
    (
        "no grade",
        lambda: judged(y_judges=model([np.nan] * 4)),
        V,
        "^No document was graded by both 'human' and 'model'",
    ),
    (
        "no queries",
        lambda: judged(qid=None),
        V,
        "^Pass either qid \\(the query of each row\\) or group \\(the query sizes\\)",
    ),
    (
        "truth",
        lambda: judged(truth="humna"),
        V,
        r"^truth must be one of \['human', 'model'\]; got 'humna'",
    ),
    ("test of judges", lambda: judged(test=None), V, "^test must be one of"),
    (
        "confusion",
        lambda: judged(None).confusion("human"),
        V,
        r"^judge must be one of \['model'\]; got 'human'",
    ),
    (
        "no confusion",
        lambda: judged(None, y_judges=model([0, 1, 2, 0.5])).confusion("model"),
        V,
        r"^judge must be one of \[\]; got 'model'",
    ),
]

# Prediction-powered means ------------------------------------------------------------------------

A, J = systems("a", 20)["a"], systems("a", 30)["a"]
WITH_NAN = evaluation(J.per_query | {"MuAP": [np.nan] * 30}, J.query_ids)
PILOT = {  # values from people and the judge; {h} and {j} are the names of the arguments
    "{h} has 9 queries, but at least 10 human-judged queries are required": (A.take(range(9)), J),
    "'{j}' has no values for 1 of the 20 queries of '{h}', such as 'x0'; '{j}' contains queries such as 'q0'": (
        evaluation(A.per_query, ["x0", *A.query_ids[1:]]),
        J,
    ),
    "{j} must contain at least two queries besides the 20 queries": (A, A),
    "'{j}' was evaluated with AP, but '{h}' with NDCNG@10": (A, ABC),
    "{j} contains nan": (A, WITH_NAN),
    "{j} has unequal weights": (A, replace(J, weights=np.arange(30.0))),
}
POWERED = [
    *(
        (text, lambda pair=pair: sg.prediction_powered(*pair), V, text.format(h="human", j="judge"))
        for text, pair in PILOT.items()
    ),
    *(
        (
            f"plan: {text}",
            lambda pair=pair: sg.plan_judgments(*pair, 0.1),
            V,
            text.format(h="pilot_human", j="pilot_judge"),
        )
        for text, pair in PILOT.items()
    ),
    ("no people", lambda: sg.prediction_powered(None, J), T, "human must have the type Evaluation"),
    ("no pilot", lambda: sg.plan_judgments(A, None, 0.1), T, "pilot_judge must have the type Eval"),
    ("width 0", lambda: sg.plan_judgments(A, J, 0), V, "half_width must be a finite number > 0"),
    (
        "a large sample",
        lambda: sg.sample_queries(["a", "b", "a"], 3),
        V,
        "n is 3, but query_ids contains only 2 distinct queries",
    ),
    ("level", lambda: ABC.summary(level=95), V, "level must be a finite number > 0 and < 1; got"),
    ("method", lambda: ABC.summary(method="bca"), V, "method must be one of"),
]

# Summaries ---------------------------------------------------------------------------------------

SUMMARY = sg.Summary.of(ABC)
DAYS = [labelled_summary(i, label) for i, label in enumerate(("Monday", "Tuesday", "Monday"))]
SUMMARIES = [
    ("no parts", lambda: sg.Summary.merge([]), V, "merge received no parts"),
    (
        "another part",
        lambda: sg.Summary.merge([SUMMARY, 1]),
        T,
        "part 1 must be a Summary; got int",
    ),
    (
        "parts of other measures",
        lambda: sg.Summary.merge([SUMMARY, DAYS[0]]),
        V,
        r"part 0 has \['AP'\], and part 1 has \['NDCNG@10', 'MuAP'\]",
    ),
    (
        "parts without segments",
        lambda: sg.Summary.merge([DAYS[0], sg.Summary.of(systems("a", 3)["a"])]),
        V,
        "the same by, but part 0 has 'part', and part 1 has None",
    ),
    (
        "a label twice",
        lambda: sg.Summary.merge(DAYS),
        V,
        "part 0 and part 2 both have the label 'Monday'",
    ),
    ("no Evaluation for a Summary", lambda: sg.Summary.of({}), T, "evaluation must have the type"),
    ("q", lambda: SUMMARY.quantile(2), V, "q must be a finite number ≥ 0 and ≤ 1; got 2"),
    ("measure of a Summary", lambda: SUMMARY.worst(1, "rr"), V, "evaluated measures AP; got RR"),
    (
        "worst of a Summary",
        lambda: sg.Summary.of(evaluation({"AP": np.linspace(0, 1, 21)})).worst(21),
        V,
        r"n must be at most 20, .* stores only .*; got 21\.",
    ),
    (
        "a date, which is no JSON",
        lambda: ap([1, 0, 1], [date(2026, 1, 2), 1, 2]).to_json(),
        T,
        "Cannot write datetime.date.2026, 1, 2. of type date",
    ),
    (
        "an id that is no JSON",
        lambda: ap([1, 0, 1], [frozenset("ab"), 1, 2]).to_json(),
        T,
        r"Cannot write frozenset\(.*of type frozenset",
    ),
]


@pytest.mark.filterwarnings("ignore:kappa of .* is nan")
@pytest.mark.parametrize(
    "call, error, message",
    [
        pytest.param(*row, id=name)
        for name, *row in [
            *COMPARE,
            *OUTCOMES,
            *EVALUATE,
            *SEGMENTS,
            *CONCAT,
            *CLUSTERS,
            *PREFERENCES,
            *JUDGES,
            *POWERED,
            *SUMMARIES,
        ]
    ],
)
def test_errors_name_the_argument_and_its_value(call, error, message):
    with pytest.raises(error, match=message):
        call()
