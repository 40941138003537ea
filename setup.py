"""Describe the compiled modules; setup.cfg and pyproject.toml contain all other settings."""

import os
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

KERNELS = Path("skgraded/_kernels")
SHARED = "skgraded._kernels._cython"  # code that Cython would otherwise repeat in each module
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "freethreading_compatible": True,
}
if sys.platform == "win32":
    OPTIMIZE, SMALL = ["/O2", "/std:c++17", "/utf-8"], ["/O1"]
else:
    # Modules without debug symbols are a fifth of the size. CFLAGS="-g -O0" keeps the symbols.
    SYMBOLS = [] if "-g" in os.environ.get("CFLAGS", "") else ["-g0"]
    # Without -march=native, a wheel runs on every machine. Without -ffast-math, NaN and infinity keep
    # their meaning. -ffp-contract=off prevents fused multiply-adds, which would change the last bits.
    # -fno-strict-aliasing allows kernels to reuse a buffer for numbers of another type.
    OPTIMIZE = ["-O3", "-std=c++17", "-fno-strict-aliasing", "-ffp-contract=off", *SYMBOLS]
    SMALL = ["-O1", *SYMBOLS]  # the shared module contains no loops over documents

modules = [
    Extension(
        f"skgraded._kernels.{path.stem}",
        [path.as_posix()],
        language="c++",
        extra_compile_args=OPTIMIZE,
        depends=[header.as_posix() for header in KERNELS.glob("*.h")],
        include_dirs=[numpy.get_include()],  # compiled with NumPy 2, modules also run on 1.26
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION")],
    )
    for path in sorted(KERNELS.glob("*.pyx"))
]
shared = Extension(SHARED, [f"{KERNELS.as_posix()}/_cython.c"], extra_compile_args=SMALL)

setup(
    ext_modules=cythonize(
        [*modules, shared],
        shared_utility_qualified_name=SHARED,
        compiler_directives=DIRECTIVES,
    )
)
