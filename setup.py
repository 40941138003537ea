"""The one compiled module; everything else about the package stands in setup.cfg."""

import sys

from setuptools import Extension, setup

# No -march=native and no -ffast-math: one wheel serves every machine, and NaN and infinity
# keep their meaning. The kernels use a buffer's room again for numbers of another type.
optimize = ["-O3", "-std=c++17", "-fno-strict-aliasing"]
if sys.platform == "win32":
    optimize = ["/O2", "/std:c++17"]

setup(
    ext_modules=[
        Extension(
            "skgraded._kernels.sums",
            ["skgraded/_kernels/sums.pyx"],
            language="c++",
            extra_compile_args=optimize,
        )
    ]
)
