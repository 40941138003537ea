"""Time that `import skgraded` adds to `import sklearn.base`: at most 50 ms.

python benchmarks/import_time.py
"""

import statistics
import subprocess
import sys

TIMED = """
import sys, time
import sklearn.base
before = set(sys.modules)
start = time.perf_counter()
import skgraded
print((time.perf_counter() - start) * 1e3)
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before} - {"skgraded"}))
"""


def main():
    runs = [import_once() for _ in range(12)][1:]  # the first run may compile bytecode
    times = sorted(float(milliseconds) for milliseconds, _ in runs)
    print(
        f"import skgraded after sklearn.base: median {statistics.median(times):.1f} ms, "
        f"{times[0]:.1f} to {times[-1]:.1f} ms in {len(times)} runs; at most 50 ms"
    )
    print(f"packages from which it loads modules: {runs[0][1]}")


def import_once():
    command = [sys.executable, "-c", TIMED]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return result.stdout.splitlines()


if __name__ == "__main__":
    main()
