#!/bin/sh
# The compiled modules under GCC's AddressSanitizer and UBSan, with the tests that use them most.
#
#     sh benchmarks/sanitizers.sh [pytest's arguments]
#
# Builds a copy, which goes when it is done; a report ends the run, so that 0 means there is none.
# Needs GCC, Linux and what `pip install -e ".[test]"` installs. PYTHON names another interpreter.
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
# Python's own -fwrapv would give a meaning to the overflows that are looked for.
CFLAGS="$checks -fno-sanitize-recover=all -fno-wrapv -fno-omit-frame-pointer -g" LDFLAGS=$checks \
    "$python" setup.py -q build_ext --inplace

preload=
for library in libasan.so libubsan.so libstdc++.so; do
    preload="$preload $(gcc -print-file-name=$library)"
done
[ $# -gt 0 ] || set -- tests/kernels tests/measures tests/input tests/test_judgments.py
# Python frees nothing at its end, and keeps small objects in blocks that hide what is beyond them.
# A report is written past Python, where only --capture=sys lets it through.
LD_PRELOAD="$preload" PYTHONMALLOC=malloc PYTHONPATH="$copy" ASAN_OPTIONS=detect_leaks=0 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    "$python" -m pytest -q -n 0 -p no:cacheprovider --capture=sys "$@"
