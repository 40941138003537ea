"""Command-line interface for evaluating and comparing runs; see ``skgraded --help``.

`_files` and `_judging` evaluate the files, `_printing` formats the results, and `_messages`
words the library's messages with the names of options.
"""

import argparse
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from skgraded import __version__
from skgraded._input.atomic_files import check_writable, write_text
from skgraded._input.words import plain_list, printable
from skgraded.cli import _columns, _files, _judging, _messages, _printing
from skgraded.clicks import position_bias
from skgraded.datasets.text_files import parsed
from skgraded.large.jobs import PARTITIONINGS
from skgraded.reports.comparing import checked_settings, compare
from skgraded.reports.comparison_rows import FAMILIES
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.powered_means import prediction_powered
from skgraded.reports.report import check_page_packages
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.paired_tests import DRAWS, TESTS
from skgraded.stats.position_bias import METHODS
from skgraded.writing.text import utf8

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
Add = Callable[..., Any]  # ArgumentParser.add_argument
TIES = ("average", "ordinal", "best", "worst", "trec")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the arguments `argv`, which default to ``sys.argv[1:]``.

    Return the exit code: 0 after success, 2 for invalid input (after one line on standard error),
    or 130 after an interrupt.
    """
    notes: list[str] = []
    try:
        args = _parser().parse_args(argv)
        _check_output(args)
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *rest: notes.append(
                _messages.in_options(str(message))
            )
            text = _report(args)
        _write(text, args)
    except BrokenPipeError:  # the reading process has closed the pipe
        _drop_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (ValueError, TypeError, ImportError) as error:
        return _fail(_messages.in_options(str(error)))
    except MemoryError:
        return _fail(
            "not enough memory for these files: store them as a folder of Parquet files, which the "
            "command reads in batches."
        )
    if args.progress:
        for note in dict.fromkeys(notes):  # prints each note once
            _say(f"note: {note}")
    return 0


def _fail(message: str) -> int:
    _say(" ".join(message.split()))
    return 2


def _say(message: str) -> None:
    if sys.stderr is not None:  # if stderr is closed, print would write to standard output
        print(f"skgraded: {printable(message)}", file=sys.stderr)


def _report(args: argparse.Namespace) -> str:
    if args.command == "measures":
        return _printing.of_measures()
    _check_options(args)
    if args.command == "clicks":
        return _printing.of_report(
            position_bias(
                args.clicked,
                args.position,
                qid=args.query,
                item=args.item,
                session=args.session,
                n_impressions=args.impressions,
                method=args.method,
                level=args.level,
                rng=args.seed,
                data=args.files[0],
            ),
            args,
        )
    if args.command == "judges":
        return _judging.of_judges(_judging.compare_judge_files(args), args)
    return _report_on_grades(args)


def _check_options(args: argparse.Namespace) -> None:
    """Before any file is read, check the options that all commands share."""
    if _input_files(args).count("-") > 1 and args.judge is None:
        raise ValueError("Standard input (-) can be used for only one of the files.")
    if args.format == "html":
        check_page_packages()
    elif args.title is not None:
        raise ValueError("--title sets the title of the HTML page: add --format html.")
    for option in ("caption", "label", "digits"):
        if getattr(args, option) is not None and args.format != "latex":
            raise ValueError(f"--{option} changes LaTeX tables: add --format latex.")


def _report_on_grades(args: argparse.Namespace) -> str:
    """Return the output of evaluate and compare."""
    args.columns = _columns.read_columns(args)
    args.measures = list(dict.fromkeys(column.measure for column in args.columns))
    is_large = _files.is_large(args.files)
    if args.command == "compare":
        names = _files.named_systems(args)
        if len(names) < 2:
            raise ValueError("compare requires at least two runs or two --score-column options.")
        # Checked before any file is read.
        checked_settings(names, is_large, **_settings(args))
    if is_large and not args.per_query:
        report, systems = _files.summarize_files(args)
        if args.command == "evaluate" and args.by is not None:
            return _printing.of_report(report, args)
        if args.command == "evaluate" and args.format == "html":
            return report.to_html(title=args.title or _files.page_title(args.files, systems))
    else:
        report = systems = _columns.renamed(_files.evaluate_files(args), args.columns)
        if args.command == "compare" or args.format == "html":  # pages compare runs too
            _refuse_differing_queries(systems)
    judge = None
    if args.judge is not None:
        judge = _columns.renamed(_files.evaluate_judge_files(args), args.columns)
        _refuse_differing_queries(judge)
    if args.command == "evaluate":
        if judge is not None:
            powered = {name: prediction_powered(systems[name], judge[name]) for name in systems}
            return _printing.of_summaries(powered, args)
        if args.intervals:
            return _printing.of_summaries(systems, args)
        return _print_evaluations(systems, args)
    comparison = compare(report, by=args.by, progress=args.progress, **_settings(args))
    if args.by is not None:
        return _printing.of_report(comparison, args)
    return _printing.of_comparison(systems, comparison, args, _width(args))


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `compare` that the options specify."""
    is_auto_t = args.judge is not None or _files.is_large(args.files)
    draws = args.test in DRAWS or args.test == "auto" and not is_auto_t
    return {
        "baseline": _files.system_called(args.baseline, args),
        "test": None if args.test == "none" else args.test,
        "correction": None if args.correction == "none" else args.correction,
        "family": args.family,
        "level": args.level,
        "n_resamples": args.resamples,
        "rng": 0 if args.seed is None and draws else args.seed,
    }


def _print_evaluations(systems: Mapping[str, Any], args: argparse.Namespace) -> str:
    title = args.title or _files.page_title(args.files, systems)
    return _printing.of_evaluations(systems, args, title, _width(args))


def _width(args: argparse.Namespace) -> int:
    """Return the terminal width in characters (COLUMNS if set), or 0 for a file or a pipe."""
    if args.output is not None:
        return 0
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if is_terminal or "COLUMNS" in os.environ else 0


def _input_files(args: argparse.Namespace) -> list[str]:
    return [*args.files, *args.runs, *([] if args.judge is None else [args.judge])]


def _check_output(args: argparse.Namespace) -> None:
    """Before any file is read, raise an error unless --output can be written and is no input."""
    if args.output is None:
        return
    check_writable(args.output)
    paths = _files.existing_files(_input_files(args))
    if os.path.isfile(args.output) and any(os.path.samefile(path, args.output) for path in paths):
        raise ValueError(f"--output {args.output} is also an input file: choose another name.")


def _refuse_differing_queries(evaluations: Mapping[str, Evaluation]) -> None:
    queries = {
        name: dict.fromkeys(plain_list(evaluation.query_ids))
        for name, evaluation in evaluations.items()
    }
    first, *others = queries
    for name in others:
        for system, other in ((name, first), (first, name)):
            lacking = [query for query in queries[other] if query not in queries[system]]
            if lacking:
                raise ValueError(
                    f"Run {system} does not contain {len(lacking)} of the {len(queries[other])} "
                    f"judged queries of {other} (the first is {lacking[0]!r}): use -c to count "
                    "them as empty rankings."
                )


def _write(text: str, args: argparse.Namespace) -> None:
    """Write the text to the file specified by --output, or to standard output."""
    text = text.rstrip("\n") + "\n"
    on_terminal = args.output is None and sys.stdout is not None and sys.stdout.isatty()
    if getattr(args, "format", "table") in ("csv", "html") and not on_terminal:
        text = utf8(text)
    else:
        text = printable(text)
    if args.output is not None:
        write_text(text, args.output)
        return
    if sys.stdout is None:
        raise ValueError("standard output is closed: use --output to write to a file.")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop_output()
        raise OSError(error.errno, error.strerror, "standard output") from None


def _drop_output() -> None:
    """Discard unwritten output, which would otherwise cause a second error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Arguments ---------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message = printable(" ".join(message.split()))
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _parser() -> "_Parser":
    parser = _Parser(
        prog="skgraded",
        description="Evaluate and compare rankings with graded relevance.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"skgraded {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="evaluate|compare|judges|clicks|measures"
    )
    for name, what, files, add_options in (
        (
            "evaluate",
            "Evaluate systems: means over queries, or per-query values.",
            FILES,
            _add_evaluation,
        ),
        (
            "compare",
            "Compare systems: differences, intervals and tests. Requires pandas.",
            FILES,
            _add_comparison,
        ),
        (
            "judges",
            "Compare judges: do they agree, and does the same system win? Requires pandas.",
            _judging.FILES,
            _add_judges,
        ),
        (
            "clicks",
            "Estimate the position bias of a log of clicks. Requires pandas.",
            None,
            _add_clicks,
        ),
        ("measures", "List the measures with their other names and parameters.", None, None),
    ):
        command = commands.add_parser(
            name,
            help=what,
            description=what,
            epilog=files,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument("--output", metavar="FILE", help="write the output to a file")
        command.set_defaults(
            files=[],
            runs=[],
            judge=None,
            progress=True,
            columns=[],
            per_query=False,
            judged=True,
            caption=None,
            label=None,
            digits=None,
            by=None,
            intervals=False,
        )
        if add_options is not None:
            add_options(command.add_argument)
    return parser


def _at_least(least: int) -> Callable[[str], int]:
    """Return an argparse type for integers ≥ `least`; argparse adds the option's name to errors."""

    def whole(text: str) -> int:
        number = parsed(int, text)
        if number is None or number < least:
            raise argparse.ArgumentTypeError(f"must be an integer ≥ {least}; got {text}")
        return number

    return whole


def _add_evaluation(add: Add) -> None:
    _add_files(
        add,
        'measure, such as ndcng@10 or "AP(threshold=2)", with another name for the '
        'column as in "ndcg@10 as nDCG", or official, the official measures of trec_eval '
        "(implies --names trec_eval)",
    )
    add(
        "-c",
        "--complete",
        action="store_true",
        help="count judged queries that are missing from a run as empty rankings",
    )
    add("--per-query", action="store_true", help="also print the values of each query")
    add(
        "--names",
        choices=("trec_eval",),
        help="give all names of measures the meaning of trec_eval 10, including lists of cut-offs "
        "such as P, and order ties by document id (--ties trec) by default",
    )
    add(
        "--ties",
        choices=TIES,
        help="order of documents with equal scores: average over all orders (default), row order "
        "(ordinal), best order, worst order, or descending document id as in trec_eval (trec, "
        "the default with --names trec_eval)",
    )
    add(
        "--strict",
        action="store_true",
        help="raise an error instead of leaving out queries: judged queries that are missing from "
        "a run (unless -c counts them), or queries of a run that have no judgments",
    )
    add(
        "--unjudged-documents",
        choices=("irrelevant", "drop"),
        help="unjudged documents have grade 0 (irrelevant, the default for runs) or are left out "
        "(drop), except for bpref, judged, rbp_residual and edrc; tables with NaN or empty grades "
        "require this option",
    )
    add(
        "--drop-identical-ids",
        action="store_true",
        help="leave out retrieved documents whose id equals the id of the query, as in BEIR and "
        "MTEB",
    )
    add(
        "--judge",
        metavar="QRELS",
        help="qrels of a judge, such as a language model, for the queries of the first QRELS and "
        "many others; combines both if the queries of the first QRELS were drawn at random "
        "(prediction-powered means)",
    )
    add(
        "--no-judged",
        dest="judged",
        action="store_false",
        help="leave out columns with the share of judged documents, such as Judged@10",
    )
    _add_columns(add)
    add(
        "--intervals",
        action="store_true",
        help="print one row per run and measure, with Student's t interval of the mean",
    )
    add(
        "--partitioning",
        choices=PARTITIONINGS,
        default="shuffle",
        help="arrangement of rows in several Parquet files: in any order (shuffle, the default), "
        "with contiguous rows per query (clustered), or with each query in one file (whole)",
    )


def _add_columns(add: Add) -> None:
    """Add the options that name the columns of tables."""
    add(
        "--query-column",
        dest="query",
        metavar="NAME",
        help="table column with the query ids (default: query)",
    )
    add(
        "--grade-column",
        dest="grade",
        metavar="NAME",
        help="table column with the grades (default: grade)",
    )
    add(
        "--score-column",
        dest="scores",
        action="append",
        metavar="NAME",
        help="table column with scores; repeat it for each system (default: score)",
    )
    add(
        "--document-column",
        dest="document",
        metavar="NAME",
        help="table column with document ids, which must be unique within each query",
    )
    add("--by", metavar="NAME", help="column with segments to evaluate, for folders")
    add("--weight-column", dest="weight", metavar="NAME", help="column with weights, for folders")


def _add_files(add: Add, measure: str) -> None:
    """Add the options shared by all commands that read files."""
    add("files", nargs="+", metavar="FILE", help="see below")
    add(
        "-m",
        "--measure",
        dest="measures",
        action="append",
        metavar="MEASURE",
        help=f"{measure}; may be repeated (default: ndcng@10 and mu_map)",
    )
    add(
        "--split",
        metavar="SUBSET/SPLIT",
        help="subset and split of MTEB's predictions, such as default/test, if a file has several",
    )
    add(
        "--format",
        choices=_printing.FORMATS,
        default="table",
        help="output format (default: %(default)s)",
    )
    add(
        "--title",
        help="title of the HTML page (default: the name of the run, or the number of runs)",
    )
    add(
        "--system-names",
        metavar="A,B,C",
        help="names of the systems, separated by commas (default: the tag of each run or, if it is "
        "not unique, the name of the file without extension)",
    )
    add("--caption", help="caption of the LaTeX table")
    add("--label", help="label of the LaTeX table")
    add("--digits", type=_at_least(0), metavar="N", help="decimals in LaTeX tables (default: 4)")
    add("--quiet", dest="progress", action="store_false", help="hide notes and progress bars")


def _add_judges(add: Add) -> None:
    _add_files(add, "measure of the leaderboards")
    add(
        "--run",
        dest="runs",
        action="extend",
        nargs="+",
        metavar="RUN",
        default=[],
        help="runs of the systems, one file per system",
    )
    add(
        "--unjudged-documents",
        choices=("irrelevant", "drop"),
        default="irrelevant",
        help="in the leaderboards, unjudged documents have grade 0 (irrelevant, the default) or "
        "are left out (drop)",
    )
    add("--ties", choices=TIES, help="order of documents with equal scores, as for evaluate")
    add(
        "--weights",
        choices=("quadratic", "linear"),
        default="quadratic",
        help="weights of the weighted kappa (default: %(default)s)",
    )
    add(
        "--level",
        type=float,
        default=0.95,
        help="confidence level of the intervals (default: %(default)s)",
    )
    add("--seed", type=_at_least(0), default=0, help="random seed (default: 0)")


def _add_clicks(add: Add) -> None:
    add("files", nargs=1, metavar="LOG", help="Parquet file or folder, one row per impression")
    for argument, default, what in (
        ("clicked", "clicked", "clicks; every number above 0 is one click"),
        ("position", "position", "position, from 1"),
        ("query", "qid", "query id"),
        ("item", "item", "document id"),
        ("session", None, "session, which the bootstrap resamples"),
        (
            "impressions",
            None,
            "number of impressions, if rows are counted; the clicks are then the "
            "impressions with a click",
        ),
    ):
        add(
            f"--{argument}-column",
            dest=argument,
            metavar="NAME",
            default=default,
            help=f"column with the {what} (default: {default or 'none'})",
        )
    add(
        "--method",
        choices=METHODS,
        default="all_pairs",
        help="estimator; randomized requires random rankings (default: %(default)s)",
    )
    add("--level", type=float, default=0.95, help="level of the intervals (default: %(default)s)")
    add("--seed", type=_at_least(0), default=0, help="random seed (default: 0)")
    add("--format", choices=_printing.FORMATS, default="table", help="as for evaluate")
    add("--title", help="title of the HTML page")


def _add_comparison(add: Add) -> None:
    _add_evaluation(add)
    add(
        "--baseline",
        metavar="RUN",
        help="run to compare all other runs with (default: compare all pairs of runs)",
    )
    add(
        "--test",
        choices=("auto", *TESTS, "none"),
        default="auto",
        help="significance test (default: t for folders and with --judge, otherwise randomization)",
    )
    add(
        "--correction",
        choices=(*CORRECTIONS, "none"),
        default="holm",
        help="correction for multiple tests (default: %(default)s)",
    )
    add(
        "--family",
        choices=tuple(FAMILIES),
        default="all",
        help="tests that one correction covers: all tests, or the tests of one measure (default: "
        "%(default)s)",
    )
    add(
        "--level",
        type=float,
        default=0.95,
        help="confidence level of the intervals (default: %(default)s)",
    )
    add(
        "--resamples",
        type=_at_least(100),
        metavar="N",
        help="number of resamples for the randomization test and the bootstrap (default: depends "
        "on the number of tests)",
    )
    add(
        "--seed",
        type=_at_least(0),
        help="random seed for the randomization test and the bootstrap (default: 0)",
    )
