"""Read hostile files with every reader; each must return plain Python's table or raise our error.

    python benchmarks/fuzz_readers.py               # 20,000 files per reader, 2 minutes
    python benchmarks/fuzz_readers.py --files 1000 --seed 7

Random bytes, lines with hostile words, truncated and damaged gzip files; see
tests/helpers/hostile_files.py.
"""

import argparse
import random
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "helpers"))
from hostile_files import LINES, check, hostile_file  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=LINES, help="one reader only")
    args = parser.parse_args()
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", ".*grades are negative")
    faults = 0
    print("| reader | files | read as a table | refused | faults |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for kind in [args.kind] if args.kind else LINES:
        read, bad = 0, 0
        for number in range(args.files):
            data = hostile_file(random.Random(f"{args.seed} {kind} {number}"), kind)
            try:
                read += check(data, kind)
            except Exception as error:
                bad += 1
                if bad <= 5:
                    print(f"{kind} {number}: {type(error).__name__}: {error}", file=sys.stderr)
        refused = args.files - read - bad
        print(f"| {kind} | {args.files:,} | {read:,} | {refused:,} | {bad} |", flush=True)
        faults += bad
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
