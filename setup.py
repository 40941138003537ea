"""The compiled modules; everything else about the package stands in setup.cfg."""

import sys
from pathlib import Path

import numpy
from setuptools import Extension, setup

# No -march=native and no -ffast-math: one wheel serves every machine, and NaN and infinity
# keep their meaning. The kernels use a buffer's room again for numbers of another type. Each sum
# is to be inlined where it is called with a constant, also when there is one sum more.
optimize = ["-O3", "-std=c++17", "-fno-strict-aliasing", "-finline-limit=3000"]
if sys.platform == "win32":
    optimize = ["/O2", "/std:c++17"]

setup(
    ext_modules=[
        Extension(
            f"skgraded._kernels.{path.stem}",
            [path.as_posix()],
            language="c++",
            extra_compile_args=optimize,
            depends=["skgraded/_kernels/loops.h"],
            include_dirs=[numpy.get_include()],  # of 2.x: what is built runs on 1.26 too
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION")],
        )
        for path in sorted(Path("skgraded/_kernels").glob("*.pyx"))
    ]
)
