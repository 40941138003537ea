"""Write the table of the measures of other tools into docs/coming_from.md.

tests/measures/test_parity.py checks with the tools themselves that the table contains all their
measures and that every expression in it has the tool's value.

python docs/table_of_other_tools.py
"""

from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parent / "coming_from.md"
START, END = "<!-- made by docs/table_of_other_tools.py -->\n", "<!-- end -->\n"

JUDGED = 'with `unjudged_documents="drop"`'
RETRIEVED = "with retrieved documents only"
BINARY = "with binary grades"
ELEVEN_LEVELS = [
    "`InterpolatedPrecision`",
    *(f"`InterpolatedPrecision(recall={level / 10:g})`" for level in range(1, 11)),
]
THRESHOLD = "here, `threshold` is the lowest relevant grade"
FIVE_DECIMALS = "computed by gdeval, which prints 5 decimals"
INFERRED = "if no grade is -1 (pooled but unjudged); the tool adds 0.00001 to some counts"
LOGARITHM = "the tool prints exp of the mean"
VERSION_9 = "trec_eval 9, which the tool contains, rounds the number of documents differently"
N_QUERIES = "the number of queries is `len(evaluation.query_ids)`"
SUBTOPICS = "diversity measures require judgments per subtopic"
RATIO = (
    "the expected gain until the user stops, divided by the expected number of documents read; "
    "this ratio has no exact expectation under ties"
)
LENGTH = "require the reading time or the length of each document"
FIXED_WEIGHTS = "not included; like `RBP`, it has a fixed weight per rank"


class Row(NamedTuple):
    """One line of the table: the tool's names, separated by spaces, and the same value here.

    Without `here`, there is no equivalent, `note` gives the reason, and names are fnmatch patterns.
    """

    theirs: str
    here: str = ""
    note: str = ""
    tolerance: float = 1e-9


IR_MEASURES = [
    Row("AP MAP", "`AP`"),
    Row("AP(rel=2)", "`AP(threshold=2)`", THRESHOLD),
    Row("AP@5", "`AP(divisor='relevant')@5`"),
    Row("AP(judged_only=True)", f"`AP` {JUDGED}", "`judged_only` means the same in other measures"),
    Row("nDCG(judged_only=True)@5", f"`NDCG(gain='linear')@5` {JUDGED}"),
    Row("nDCG NDCG", "`NDCG(gain='linear')`"),
    Row("nDCG@5", "`NDCG(gain='linear')@5`"),
    Row("nDCG(dcg='exp-log2')@5", "`NDCG@5`", FIVE_DECIMALS, 5.1e-6),
    Row("ERR@5", "`ERR(max_grade=4)@5`", FIVE_DECIMALS, 5.1e-6),
    Row("P@5 Precision@5", "`Precision@5`"),
    Row("R@5 Recall@5", "`Recall@5`"),
    Row("RR MRR", "`RR`"),
    Row("RR@5", "`RR@5`"),
    Row("Rprec RPrec", "`RPrecision`"),
    Row("Rprec(rel=2)", "`RPrecision(threshold=2)`"),
    Row("Success@5", "`Success@5`"),
    Row("Success(rel=2)@5", "`Success(threshold=2)@5`"),
    Row("IPrec@0.1", "`InterpolatedPrecision(recall=0.1)`", VERSION_9),
    Row("IPrec@1.0", "`InterpolatedPrecision(recall=1)`"),
    Row("Bpref BPref", "`Bpref`"),
    Row("Bpref(rel=2)", "`Bpref(threshold=2)`"),
    Row("Judged@5", "`Judged@5`"),
    Row("Compat", "`Compat`", "if all scores are positive"),
    Row("Compat(p=0.8)", "`Compat(persistence=0.8)`"),
    Row("RBP(rel=1)", f"`RBP` {BINARY}"),
    Row("SDCG(max_rel=3)@5", "`DCG(gain='linear')@5` / (M · D(5))"),
    Row("SetP", "`SetPrecision`"),
    Row("SetP(rel=2)", "`SetPrecision(threshold=2)`"),
    Row("SetRelP", "max(`SetPrecision`, `SetRecall`)"),
    Row("SetR", "`SetRecall`"),
    Row("SetF", "`SetF`"),
    Row("SetF(beta=2.0)", "`SetF(beta=1.4142135623730951)`", "the square of `beta` here"),
    Row("SetAP", "`SetPrecision` · `SetRecall`"),
    Row(
        "Accuracy",
        f"`AUC(undefined=nan)` {RETRIEVED}",
        "by default, `AUC` includes documents that were not retrieved",
    ),
    Row("infAP", "`AP`", INFERRED, 1e-5),
    Row("NumRel", "`NumRel`"),
    Row("NumRet", "`NumRet`"),
    Row("NumRelRet", "`NumRelRet`"),
    Row("NumQ", note=N_QUERIES),
    Row(
        "alpha_DCG α_DCG alpha_nDCG α_nDCG ERR_IA nERR_IA NRBP nNRBP AP_IA MAP_IA P_IA StRecall",
        note=SUBTOPICS,
    ),
    Row("INST BPM NERR8 NERR9 NERR10 NERR11", note=RATIO),
    Row("INSQ", note=FIXED_WEIGHTS),
]
TREC_EVAL = [
    Row("map", "`AP`"),
    Row("map_cut_5", "`AP(divisor='relevant')@5`"),
    Row("gm_map", "log(max(`AP`, 0.00001))", LOGARITHM),
    Row("gm_bpref", "log(max(`Bpref`, 0.00001))", LOGARITHM),
    Row("P_5", "`Precision@5`"),
    Row("relative_P_5", "max(`Precision@5`, `Recall@5`)"),
    Row("recall_5", "`Recall@5`"),
    Row("recip_rank", "`RR`"),
    Row("Rprec", "`RPrecision`"),
    Row("success_5", "`Success@5`"),
    Row("bpref", "`Bpref`"),
    Row("ndcg", "`NDCG(gain='linear')`"),
    Row("ndcg_cut_5", "`NDCG(gain='linear')@5`"),
    Row("iprec_at_recall_0.10", "`InterpolatedPrecision(recall=0.1)`", VERSION_9),
    Row("11pt_avg", f"({' + '.join(ELEVEN_LEVELS)}) / 11", VERSION_9),
    Row("set_P", "`SetPrecision`"),
    Row("set_relative_P", "max(`SetPrecision`, `SetRecall`)"),
    Row("set_recall", "`SetRecall`"),
    Row("set_F", "`SetF`"),
    Row("set_map", "`SetPrecision` · `SetRecall`"),
    Row("utility", "(2 · `SetPrecision` - 1) · n"),
    Row("infAP", "`AP`", INFERRED, 1e-5),
    Row("num_rel", "`NumRel`"),
    Row("num_ret", "`NumRet`"),
    Row("num_rel_ret", "`NumRelRet`"),
    Row("num_nonrel_judged_ret", "(`Judged` - `SetPrecision`) · n"),
    Row("num_q", note=N_QUERIES),
    Row("Rprec_mult", note="precision at multiples of R; for R itself, use `RPrecision`"),
    Row("G binG Rndcg ndcg_rel", note="experimental, according to trec_eval"),
    Row("runid relstring", note="text, not a number"),
    Row("prefs_* *_avgjg", note="require preferences or several groups of judgments per query"),
]
RANX = [
    Row("hits", "`SetPrecision` · n"),
    Row("hits@5", "`Precision@5` · 5"),
    Row("hit_rate@5", "`Success@5`"),
    Row("precision", "`SetPrecision`"),
    Row("precision@5", "`Precision@5`"),
    Row("recall", "`SetRecall`"),
    Row("recall@5", "`Recall@5`"),
    Row("f1", "`SetF`"),
    Row("f1@5", "2 · 5 · `Precision@5` / (5 + R)"),
    Row("r-precision", "`RPrecision`"),
    Row("mrr", "`RR`"),
    Row("mrr@5", "`RR@5`"),
    Row("map", "`AP`"),
    Row("map-l2", "`AP(threshold=2)`", THRESHOLD),
    Row("map@5", "`AP(divisor='relevant')@5`"),
    Row("dcg@5", "`DCG(gain='linear')@5`"),
    Row("dcg_burges@5", "`DCG@5`"),
    Row("ndcg@5", "`NDCG(gain='linear')@5`"),
    Row("ndcg_burges@5", "`NDCG@5`"),
    Row("bpref", "where(N > 0, `Bpref`, nan)", "`Bpref` is also defined if N = 0"),
    Row("rbp.80", "`RBP(max_grade=3)` · M", "gains are not divided by the top grade"),
    Row(
        "interpolated_precision_at_recall",
        note="`ranx.evaluate` does not accept it; here `InterpolatedPrecision(recall=…)`",
    ),
]
CWL_EVAL = [
    Row("PrecisionCWLMetric(5)", "`GeneralizedPrecision(max_grade=3)@5`", "gains are grades / M"),
    Row("RBPCWLMetric(0.8) NPVCWLMetric(0.25)", "`RBP(max_grade=3)`"),
    Row("RBPCWLMetric(0.8).residual_expected_utility", "`RBPResidual`"),
    Row("RBPCWLMetric(0.95).residual_expected_utility", "`RBPResidual(persistence=0.95)`"),
    Row("NDCGCWLMetric(5)", "`DCG(gain='linear')@5` / (M · D(5))"),
    Row("RRCWLMetric()", f"`RR` {BINARY}"),
    Row("APCWLMetric()", f"`AP` {RETRIEVED} and {BINARY[5:]}"),
    Row("TrAPCWLMetric()", f"`AP` {BINARY}", "if `total_qrel_rels` is R"),
    Row("INSTCWLMetric BPMCWLMetric BPMDCWLMetric NERReq*CWLMetric IFT*CWLMetric", note=RATIO),
    Row("INSQCWLMetric SETCWLMetric", note=FIXED_WEIGHTS),
    Row("TBGCWLMetric UMeasureCWLMetric", note=LENGTH),
]
TOOLS = {"ir_measures": IR_MEASURES, "trec_eval": TREC_EVAL, "ranx": RANX, "cwl-eval": CWL_EVAL}


def code(name):
    """Return a tool's name as code that does not become a link to the measure here."""
    return f"<code>{name.replace('*', '&#42;')}</code>"


def table():
    """Return one section per tool, with its table."""
    lines = []
    for tool, rows in TOOLS.items():
        n_compared = sum(len(row.theirs.split()) for row in rows if row.here)
        lines += ["", f"### Measures of {tool}", ""]
        lines += [f"The tests compare {n_compared} values per query.", ""]
        lines += [f"| {tool} | here | notes |", "| --- | --- | --- |"]
        for row in rows:
            names = ", ".join(map(code, row.theirs.split()))
            lines.append(f"| {names} | {row.here or 'none'} | {row.note} |")
    return "\n".join(lines) + "\n\n"


def with_table(page):
    """The text of the page with the table of today."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return before + START + table() + END + after


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
