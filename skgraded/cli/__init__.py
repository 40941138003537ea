"""The command line: measure runs and compare them.

    python -m skgraded evaluate QRELS RUN [RUN ...] -m ndcng@10 -m mu_map
    python -m skgraded compare QRELS RUN RUN [RUN ...] --baseline RUN
    python -m skgraded preferences TRUTH RUN [RUN ...]
    python -m skgraded measures

Files are read in `_systems`, what is printed is made in `_printing`.
"""

import argparse
import os
import shutil
import sys
import warnings
from collections.abc import Sequence
from contextvars import copy_context

from skgraded import __version__
from skgraded._input.words import plain_list, printable
from skgraded._input.writing import write_text
from skgraded.cli import _preferences, _printing, _systems
from skgraded.datasets.text_files import MAX_LINE, parsed
from skgraded.large.parts import PARTITIONINGS
from skgraded.reports.comparing import compare
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.paired_tests import TESTS

FILES = """\
files:
  QRELS RUN [RUN ...]           TREC files: query iteration document grade, and
                                query Q0 document rank score name
  FILE.letor SCORES [SCORES ...]  grade qid:query index:value ..., and a score a line
  TABLE                         CSV or Parquet; name its columns by --query-column,
                                --grade-column and --score-column (once a system)
  FOLDER or "PATTERN"           Parquet files of one table, of any size; --test t

  Plain, gzip, bzip2 or xz; - is standard input. Of a run, documents without a judgment have
  grade 0, and judged documents that it lacks are not retrieved. Queries that
  either of the two lacks are left out, as trec_eval does, and a note counts them.

examples:
  skgraded evaluate qrels.txt bm25.run lgbm.run -m ndcng@10 -m mu_map
  skgraded evaluate qrels.txt bm25.run -m map -m "ndcg(gain='linear')" --ties trec --per-query
  skgraded compare qrels.txt bm25.run lgbm.run --baseline bm25.run
  skgraded evaluate test.csv --query-column q --grade-column label --score-column bm25
"""
TIES = ("average", "ordinal", "best", "worst", "trec")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, with the arguments of the process unless others are given.

    Returns 0, or 2 after bad input, with one line on standard error.
    """
    notes: list[str] = []
    try:
        args = _parser().parse_args(argv)
        _refuse_overwriting(args)
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *rest: notes.append(str(message))
            text = copy_context().run(_report, args, notes.append)  # which may set MAX_LINE
        _write(text, args)
    except BrokenPipeError:  # the reader has seen enough
        _drop_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (ValueError, TypeError, ImportError) as error:
        return _fail(str(error))
    except MemoryError:
        return _fail(
            "the memory does not suffice for these files: evaluate_batches and folders of Parquet "
            "files take tables of any size."
        )
    if args.progress:
        for note in dict.fromkeys(notes):  # several runs may have the same
            _say(f"note: {note}")
    return 0


def _fail(message):
    _say(" ".join(message.split()))
    return 2


def _say(message):
    if sys.stderr is not None:  # a closed one: print would take standard output
        print(f"skgraded: {printable(message)}", file=sys.stderr)


def _report(args, note):
    if args.command == "measures":
        return _printing.of_measures()
    MAX_LINE.set(args.max_line)
    if args.title is not None and args.format != "html":
        raise ValueError("--title is the title of a page: add --format html.")
    if args.command == "preferences":
        systems = _preferences.evaluate_preference_files(args, note)
        if args.format == "html":  # the page of several runs compares them
            _refuse_differing_queries(systems)
        return _print_evaluations(systems, args)
    if _systems.is_large(args.files):
        report, systems = _systems.summarize_files(args)
        if args.command == "evaluate" and args.format == "html":
            return report.to_html(title=args.title or _systems.page_title(args.files, systems))
    else:
        report = systems = _systems.evaluate_files(args, note)
        if args.command == "compare" and len(systems) < 2:
            raise ValueError("compare needs two runs at least, or --score-column twice.")
        if args.command == "compare" or args.format == "html":  # the page of several runs compares
            _refuse_differing_queries(systems)
    if args.command == "evaluate":
        return _print_evaluations(systems, args)
    names = _systems.system_names(args.files[1:])
    comparison = compare(
        report, baseline=names.get(args.baseline, args.baseline), test=_none(args.test),
        correction=_none(args.correction), level=args.level, n_resamples=args.resamples,
        rng=args.seed, progress=args.progress,
    )
    return _printing.of_comparison(
        systems, comparison, args.format, args.per_query, args.title, _width(args)
    )


def _print_evaluations(systems, args):
    title = args.title or _systems.page_title(args.files, systems)
    return _printing.of_evaluations(systems, args.format, args.per_query, title, _width(args))


def _width(args):
    """Width of the terminal, or COLUMNS; 0 for a file or a pipe."""
    if args.output is not None:
        return 0
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if is_terminal or "COLUMNS" in os.environ else 0


def _none(word):
    return None if word == "none" else word


def _refuse_overwriting(args):
    """Refuse an output that is one of the files to read, by whatever name, before any is."""
    if args.output is None or not os.path.isfile(args.output):
        return
    for path in _systems.read_files(args.files):
        if os.path.samestat(os.stat(path), os.stat(args.output)):
            raise ValueError(f"--output {args.output} is a file to read: give another name.")


def _refuse_differing_queries(evaluations):
    queries = {name: plain_list(evaluation.query_ids) for name, evaluation in evaluations.items()}
    first, *others = queries
    for name in others:
        for system, other in ((name, first), (first, name)):
            known = set(queries[system])
            lacking = [query for query in queries[other] if query not in known]
            if lacking:
                raise ValueError(
                    f"{system} lacks {len(lacking)} of the {len(queries[other])} judged queries "
                    f"of {other}, {lacking[0]!r} the first: give -c to count them with nothing "
                    "retrieved."
                )


def _write(text, args):
    """Write to the file that was asked for, or to standard output."""
    text = text.rstrip("\n") + "\n"
    on_terminal = args.output is None and sys.stdout is not None and sys.stdout.isatty()
    if getattr(args, "format", "table") in ("csv", "html") and not on_terminal:
        text = text.encode("utf-8", "backslashreplace").decode()  # ids as they are
    else:
        text = printable(text)
    if args.output is not None:
        write_text(text, args.output)
    elif sys.stdout is None:
        raise ValueError("standard output is closed: give --output.")
    else:
        _print(text)


def _print(text):
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop_output()
        raise OSError(error.errno, error.strerror, "standard output") from None


def _drop_output():
    """Let what is left unwritten go nowhere, or the end of the process would fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Arguments ---------------------------------------------------------------------------------------

class _Parser(argparse.ArgumentParser):
    def error(self, message):
        message = printable(" ".join(message.split()))
        self.exit(2, f"{self.prog}: {message} ({self.prog} --help says more)\n")


def _parser():
    parser = _Parser(
        prog="skgraded", description="Measures of graded ranking.", allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"skgraded {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="evaluate|compare|preferences|measures"
    )
    for name, what in (
        ("evaluate", "Measure systems: means over queries, or every query's values."),
        ("compare", "Compare systems query by query: differences, intervals, tests. Needs pandas."),
    ):
        command = commands.add_parser(
            name, help=what, description=what, epilog=FILES, allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_common(command)
        if name == "compare":
            _add_comparison(command)
    what = "Measure runs against preference judgments: EDRC, pair accuracy, Kendall's τ."
    _add_preferences(commands.add_parser(
        "preferences", help=what, description=what, epilog=_preferences.FILES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ))
    what = "List the measures, with their other names and parameters."
    listing = commands.add_parser("measures", help=what, description=what, allow_abbrev=False)
    listing.add_argument("--output", metavar="FILE", help="write to a file")
    listing.set_defaults(files=[], progress=True)
    return parser


def _at_least(least):
    """A type of whole numbers, whose error argparse puts behind the name of the option."""
    def whole(text):
        number = parsed(int, text)
        if number is None or number < least:
            raise argparse.ArgumentTypeError(f"must be a whole number ≥ {least}; got {text}")
        return number
    return whole


def _add_common(command):
    _add_output(command)
    add = command.add_argument
    add("-m", "--measure", dest="measures", action="append", metavar="MEASURE",
        help="such as ndcng@10 or \"AP(threshold=2)\"; may be repeated (ndcng@10 and mu_map)")
    add("--ties", choices=TIES,
        help="how equal scores count: the expectation over all orders (the default), row order, "
        "best, worst, or as trec_eval orders them, by document id, descending (its ndcg is "
        "ndcg(gain='linear'))")
    add("--strict", action="store_true",
        help="refuse a run of which queries would be left out: judged ones that it lacks, unless "
        "-c counts them, or its own that have no judgments")
    add("--query-column", dest="query", metavar="NAME", help="of a table (query)")
    add("--grade-column", dest="grade", metavar="NAME", help="of a table (grade)")
    add("--score-column", dest="scores", action="append", metavar="NAME",
        help="of a table, once a system (score)")
    add("--document-column", dest="document", metavar="NAME",
        help="of a table; a query may then have a document only once")
    add("--partitioning", choices=PARTITIONINGS, default="shuffle",
        help="how rows lie in many Parquet files: anyhow, query by query, or each query whole in "
        "a file")


def _add_output(command):
    """Add the options of all commands that measure files."""
    add = command.add_argument
    add("files", nargs="+", metavar="FILE", help="see below")
    add("-c", "--complete", action="store_true",
        help="judged queries that a run lacks count, with nothing retrieved")
    add("--format", choices=_printing.FORMATS, default="table")
    add("--per-query", action="store_true", help="the values of every query, too")
    add("--max-line", type=_at_least(1), metavar="BYTES", default=MAX_LINE.get(),
        help="refuse longer lines (%(default)s)")
    add("--title", help="title of the page of --format html (the run, or the number of runs)")
    add("--output", metavar="FILE", help="write to a file")
    add("--quiet", dest="progress", action="store_false", help="no notes and no progress bar")


def _add_preferences(command):
    _add_output(command)
    add = command.add_argument
    add("-m", "--measure", dest="measures", action="append", metavar="MEASURE",
        help="edrc, pair_accuracy or kendall_tau; may be repeated (edrc)")
    add("--items", choices=_preferences.ITEMS, default="all",
        help="documents to measure on: those of either file, those of TRUTH, or those of the run "
        "(all)")
    add("--discount", choices=("linear", "log2", "exp2"), default="linear",
        help="discount of EDRC (%(default)s)")
    add("--prior", type=float, default=0.5, metavar="P",
        help="what a pair earns in EDRC if a side is silent about it (%(default)s)")
    add("--cycles", choices=("raise", "unknown", "majority"), default="raise",
        help="preferences that contradict each other: an error, unknown, or decided by majority "
        "first (%(default)s)")


def _add_comparison(command):
    add = command.add_argument
    add("--baseline", metavar="RUN", help="compare all others to it (all pairs)")
    add("--test", choices=(*TESTS, "none"), default="randomization")
    add("--correction", choices=(*CORRECTIONS, "none"), default="holm")
    add("--level", type=float, default=0.95, help="of the intervals (0.95)")
    add("--resamples", type=_at_least(100), metavar="N",
        help="of the tests by flips and by the bootstrap (enough for the number of tests)")
    add("--seed", type=_at_least(0), default=0, help="of the random test and the bootstrap (0)")
