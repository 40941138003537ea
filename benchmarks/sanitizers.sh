#!/bin/sh
# Runs the tests that use the compiled modules most under GCC's AddressSanitizer and UBSan.
#
#     sh benchmarks/sanitizers.sh [pytest's arguments]
#
# Builds a temporary copy. A report ends the run, so exit code 0 means that there is none. Needs GCC,
# Linux and the packages of `pip install -e ".[test]"`. PYTHON names another interpreter.
set -eu
python=${PYTHON:-python}
here=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cd "$here"
cp -r skgraded tests setup.py setup.cfg pyproject.toml README.md "$copy"
cd "$copy"
rm -f skgraded/_kernels/*.so skgraded/_kernels/*.cpp skgraded/_kernels/*.c

checks=-fsanitize=address,undefined,float-cast-overflow
# Python's flag -fwrapv would define the overflows that this run should find.
CFLAGS="$checks -fno-sanitize-recover=all -fno-wrapv -fno-omit-frame-pointer -g" LDFLAGS=$checks \
    "$python" setup.py -q build_ext --inplace

preload=
for library in libasan.so libubsan.so libstdc++.so; do
    preload="$preload $(gcc -print-file-name=$library)"
done
[ $# -gt 0 ] || set -- tests/kernels tests/measures tests/input tests/test_judgments.py
# Python frees little memory at exit, so leaks are not reported. Its allocator keeps small objects in
# blocks that hide overruns. Reports bypass Python; only --capture=sys lets them through.
LD_PRELOAD="$preload" PYTHONMALLOC=malloc PYTHONPATH="$copy" ASAN_OPTIONS=detect_leaks=0 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    "$python" -m pytest -q -n 0 -p no:cacheprovider --capture=sys "$@"
