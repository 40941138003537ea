"""Command-line interface for evaluating and comparing runs; see ``skgraded --help``.

`_files` evaluates the input files; `_formats` parses the measures and formats the results.
"""

import argparse
import os
import re
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from typing import Any, NoReturn

from skgraded import __version__
from skgraded._input.atomic_files import check_writable, write_text
from skgraded._input.door import check_whole_number
from skgraded._input.messages import escape_unprintable, warn_user
from skgraded.cli._files import FOLDER, evaluate_files, find_kind, name_systems
from skgraded.cli._formats import WRITERS, average_judged, find_missing, read_measure_columns
from skgraded.large.jobs import PARTITIONINGS
from skgraded.measures.parsing import DEFAULT_MEASURES, choose_names
from skgraded.reports import compare
from skgraded.reports.comparing import FAMILIES, validate_settings
from skgraded.reports.comparison import CHECK_MAX_LOSS, describe_outcomes
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.paired_tests import NOT_WORSE, TESTS, WORSE, draws_resamples
from skgraded.writing.tables import Rows
from skgraded.writing.text import describe_caveats, utf8

FILES = """\
files:
  QRELS RUN [RUN ...]           TREC files: query iteration document grade, and
                                query Q0 document rank score name; or qrels and runs
                                of BEIR, MTEB, MS MARCO and ranx (JSON or columns)
  FILE.letor SCORES [SCORES ...]  grade qid:query index:value ..., and one score per line
  TABLE                         CSV or Parquet; name its columns with --query-column,
                                --grade-column and --score-column (once per system)
  FOLDER or "PATTERN"           Parquet files of one table of any size

  Files may be compressed with gzip, bzip2 or xz; - means standard input. Retrieved documents
  without a judgment have grade 0, except for bpref, judged, rbp_residual and edrc, or are
  left out with --unjudged-documents drop. Judged documents that are missing from a run count
  as not retrieved. Queries that are missing from the qrels or from a run are left out, as in
  trec_eval, and a note reports how many.

examples:
  skgraded evaluate qrels.txt bm25.run lgbm.run -m ndcng@10 -m mu_map
  skgraded evaluate qrels.txt bm25.run -m official -m ndcg --per-query
  skgraded compare qrels.txt bm25.run lgbm.run --baseline bm25.run
  skgraded evaluate test.csv --query-column q --grade-column label --score-column bm25
"""
EVALUATE: dict[str, dict[str, Any]] = {
    "files": {"nargs": "+", "metavar": "FILE", "help": "see below"},
    "-m --measure": {
        "dest": "texts",
        "action": "append",
        "metavar": "MEASURE",
        "help": 'measure, such as ndcng@10 or "AP(threshold=2)", with another name for the column '
        'as in "ndcg@10 as nDCG", or official, the official measures of trec_eval (implies --names '
        "trec_eval); may be repeated (default: " + " and ".join(DEFAULT_MEASURES) + ")",
    },
    "-l --threshold": {
        "type": float,
        "metavar": "GRADE",
        "help": "lowest relevant grade, as in trec_eval, of each measure that has the parameter "
        "threshold, unless its name sets it (default: every grade above 0 is relevant)",
    },
    "-c --complete": {
        "action": "store_true",
        "help": "count judged queries that are missing from a run as empty rankings",
    },
    "--per-query": {
        "action": "store_true",
        "help": "also print the values of each query, except for folders; JSON and HTML always "
        "contain them",
    },
    "--intervals": {
        "action": "store_true",
        "help": "print one row per run and measure, with Student's t interval of the mean",
    },
    "--names": {
        "choices": ("trec_eval",),
        "help": "give all names of measures the meaning of trec_eval 10, including lists of "
        "cut-offs such as P, and order ties by document id (--ties trec) by default",
    },
    "--ties": {
        "choices": ("average", "ordinal", "best", "worst", "trec"),
        "help": "order of documents with equal scores: average over all orders (default), row "
        "order (ordinal), best order, worst order, or descending document id as in trec_eval "
        "(trec, the default with --names trec_eval)",
    },
    "--strict": {
        "action": "store_true",
        "help": "raise an error instead of leaving out queries: judged queries that are missing "
        "from a run (unless -c counts them), or queries of a run that have no judgments",
    },
    "--unjudged-documents": {
        "choices": ("irrelevant", "drop"),
        "help": "unjudged documents have grade 0 (irrelevant, the default for runs) or are left "
        "out (drop), except for bpref, judged, rbp_residual and edrc; tables with NaN or empty "
        "grades require this option",
    },
    "--drop-identical-ids": {
        "action": "store_true",
        "help": "leave out retrieved documents whose id equals the id of the query, as in BEIR "
        "and MTEB",
    },
    "--split": {
        "metavar": "SUBSET/SPLIT",
        "help": "subset and split of MTEB's predictions, such as default/test, if a file has "
        "several",
    },
    "--system-names": {
        "metavar": "A,B,C",
        "help": "names of the systems, separated by commas (default: the tag of each run or, if "
        "it is not unique, the name of the file without extension)",
    },
    "--query-column": {
        "metavar": "NAME",
        "default": "query",
        "help": "table column with the query ids (default: query)",
    },
    "--grade-column": {
        "metavar": "NAME",
        "default": "grade",
        "help": "table column with the grades (default: grade)",
    },
    "--score-column": {
        "action": "append",
        "metavar": "NAME",
        "help": "table column with scores; repeat it for each system (default: score)",
    },
    "--document-column": {
        "metavar": "NAME",
        "help": "table column with document ids, which must be unique within each query",
    },
    "--duplicates": {
        "choices": ("raise", "drop"),
        "help": "for folders with --document-column: raise an error if a query contains a document "
        "twice (default), or count equal rows once (drop)",
    },
    "--weight-column": {"metavar": "NAME", "help": "column with weights, for folders"},
    "--by": {
        "action": "append",
        "metavar": "NAME",
        "help": "column with segments to evaluate, for folders; repeat it for combinations of "
        "several columns",
    },
    "--partitioning": {
        "choices": PARTITIONINGS,
        "default": "shuffle",
        "help": "arrangement of rows in several Parquet files: in any order (shuffle, the "
        "default), with contiguous rows per query (clustered), or with each query in one file "
        "(whole)",
    },
    "--summary-label": {
        "metavar": "LABEL",
        "help": "name of the part of the data, such as its date, in the JSON of folders; Summaries "
        "with the same label cannot be merged",
    },
    "--format": {
        "choices": tuple(WRITERS["evaluate"]),
        "default": "table",
        "help": "output format (default: %(default)s)",
    },
    "--title": {
        "help": "title of the HTML page (default: the name of the run, or the number of runs)"
    },
    "--caption": {"help": "caption of the LaTeX table"},
    "--label": {"help": "label of the LaTeX table"},
    "--digits": {
        "type": int,
        "default": 4,
        "metavar": "N",
        "help": "decimals in LaTeX tables (default: 4)",
    },
    "--output": {"metavar": "FILE", "help": "write the output to a file"},
    "--quiet": {
        "dest": "progress",
        "action": "store_false",
        "help": "hide notes and progress bars",
    },
}
COMPARE: dict[str, dict[str, Any]] = {
    "--baseline": {
        "metavar": "RUN",
        "help": "run to compare all other runs with (default: compare all pairs of runs)",
    },
    "--max-loss": {
        "type": float,
        "metavar": "LOSS",
        "help": "exit with code 1 if a run is shown to lose more than LOSS against the baseline "
        "(default baseline: the first run); print one line per run and measure",
    },
    "--require-not-worse": {
        "action": "store_true",
        "help": "also exit with code 1 if a run is not shown to lose at most LOSS (default LOSS: "
        "0)",
    },
    "--test": {
        "choices": ("auto", *TESTS, "none"),
        "default": "auto",
        "help": "significance test (default: t for folders, otherwise randomization)",
    },
    "--correction": {
        "choices": (*CORRECTIONS, "none"),
        "default": "holm",
        "help": "correction for multiple tests (default: %(default)s)",
    },
    "--family": {
        "choices": FAMILIES,
        "default": "all",
        "help": "tests that one correction covers: all tests, or the tests of one measure "
        "(default: %(default)s)",
    },
    "--level": {
        "type": float,
        "default": 0.95,
        "help": "confidence level of the intervals (default: %(default)s)",
    },
    "--resamples": {
        "type": int,
        "metavar": "N",
        "help": "number of resamples for the randomization test and the bootstrap (default: "
        "depends on the number of tests)",
    },
    "--seed": {
        "type": int,
        "help": "random seed for the randomization test and the bootstrap (default: 0)",
    },
}
# Options whose names differ from the function arguments that they set.
OPTIONS = {"n_resamples": "--resamples", "document": "--document-column"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the arguments `argv`, which default to ``sys.argv[1:]``.

    Return the exit code: 0 for success, 1 if a run fails the `--max-loss` check, 2 for invalid
    input (with a one-line message on standard error), and 130 after an interrupt.
    """
    try:
        args = _make_parser().parse_args(argv)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            text, outcomes = _run_command(args)
        _write(text, args)
    except BrokenPipeError:  # the process that reads the output has exited
        return 0
    except KeyboardInterrupt:
        return 130
    except (OSError, ValueError, TypeError, ImportError, MemoryError) as error:
        message = " ".join(_name_options(error).split())
        _say(message or "not enough memory for these files")
        return 2
    for note in dict.fromkeys(str(warning.message) for warning in caught if args.progress):
        _say(f"note: {note}")
    if outcomes is None:
        return 0
    for line in describe_outcomes(outcomes):
        _say(line)
    outcome = outcomes["outcome"]
    is_refused = outcome != NOT_WORSE if args.require_not_worse else outcome == WORSE
    return int(is_refused.any())


def _name_options(error: Exception) -> str:
    """Return the message of an error, with argument names replaced by option names."""
    message = str(error)
    for name in getattr(error, "arguments", ()):
        option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
        message = re.sub(rf"\b{name}='([^']*)'", rf"{option} \1", message)
        message = re.sub(rf"(?<![\w'/-]){name}=?(?=[ ,])", option, message, count=1)
    return message


def _say(message: str) -> None:
    if sys.stderr is not None:  # if stderr is closed, print would write to stdout
        print(f"skgraded: {escape_unprintable(message)}", file=sys.stderr)


def _run_command(args: Namespace) -> tuple[str, Rows | None]:
    """Evaluate files; return the output text and the outcomes of the --max-loss check, if any."""
    if args.output is not None:
        if os.path.realpath(args.output) in map(os.path.realpath, args.files):
            raise ValueError(
                f"--output {args.output} is also an input file: choose a different file."
            )
        check_writable(args.output)
    args = _add_implied(args)
    is_comparison, outcomes = args.command == "compare", None
    settings = _read_settings(args) if is_comparison else {}
    report, systems = evaluate_files(args)
    if (is_comparison or args.format == "html") and (missing := find_missing(systems)):
        raise ValueError(
            "{} has no values for query {!r:.100}, which another run contains, so the runs "
            "cannot be compared: use -c to count missing queries as empty "
            "rankings.".format(*missing)
        )
    if is_comparison:
        report = compare(report, by=args.by, progress=args.progress, **settings)
        if args.max_loss is not None:
            outcomes = report._tabulate_outcomes(args.max_loss)
    else:
        for text in describe_caveats(list(systems), average_judged(systems, args)):
            warn_user(text)
    return WRITERS[args.command][args.format](report, systems, args), outcomes


def _add_implied(args: Namespace) -> Namespace:
    """Return the options, with implied options, the measures and the system names added."""
    names = choose_names(args.texts or (), args.names)
    by = args.by[0] if args.by and len(args.by) == 1 else args.by
    implied = {"names": names, "ties": args.ties or (names and "trec"), "by": by}
    if args.command == "compare" and args.require_not_worse:
        implied["max_loss"] = args.max_loss or 0.0
    args = Namespace(**vars(args) | implied)
    columns, kind = read_measure_columns(args), find_kind(args.files)
    return Namespace(
        **vars(args),
        columns=columns,
        measures=list(dict.fromkeys(column.measure for column in columns)),
        kind=kind,
        systems=name_systems(args, kind),
    )


def _read_settings(args: Namespace) -> dict[str, Any]:
    """Convert the options to arguments of `compare`, and check them before files are read."""
    if len(args.systems) < 2:
        raise ValueError("compare requires at least two runs or two --score-column options.")
    check_whole_number(args.seed or 0, "seed", 0)
    names = {  # system names come last, so that they take precedence over equal paths
        **{os.path.basename(path): name for name, path in args.systems.items()},
        **{path: name for name, path in args.systems.items()},
        **{name: name for name in args.systems},
    }
    test = {"auto": "t" if args.kind == FOLDER else "randomization", "none": None}.get(
        args.test, args.test
    )
    baseline = names.get(args.baseline, args.baseline)
    if args.max_loss is not None:
        CHECK_MAX_LOSS(args.max_loss)
        baseline = next(iter(args.systems)) if baseline is None else baseline
    settings = {
        "baseline": baseline,
        "test": test,
        "correction": None if args.correction == "none" else args.correction,
        "family": args.family,
        "level": args.level,
        "n_resamples": args.resamples,
        "rng": 0 if args.seed is None and draws_resamples(test) else args.seed,
    }
    validate_settings(list(args.systems), args.kind == FOLDER, **settings)
    return settings


def _write(text: str, args: Namespace) -> None:
    """Write the text to the --output file, or to standard output if --output is not passed."""
    # A terminal would interpret control characters in ids.
    is_unchanged = args.format in ("csv", "html") and (args.output or not sys.stdout.isatty())
    text = (utf8 if is_unchanged else escape_unprintable)(text.rstrip("\n") + "\n")
    if args.output is not None:
        return write_text(text, args.output)
    try:
        print(text, end="", flush=True)
    except OSError:
        # Python flushes standard output at exit, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message = escape_unprintable(" ".join(message.split()))
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _make_parser() -> argparse.ArgumentParser:
    """Return the argument parser with the subcommands evaluate and compare."""
    top = _Parser(
        prog="skgraded",
        description="Evaluate and compare rankings with graded relevance.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"skgraded {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="evaluate|compare")
    for name, what, options in (
        ("evaluate", "Evaluate systems: means over queries, or per-query values.", EVALUATE),
        ("compare", "Compare systems: differences, intervals and tests.", EVALUATE | COMPARE),
    ):
        command = commands.add_parser(
            name,
            help=what,
            description=what,
            epilog=FILES,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for flags, settings in options.items():
            command.add_argument(*flags.split(), **settings)
    return top
