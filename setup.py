"""The one compiled module; everything else about the package stands in setup.cfg."""

import sys

from setuptools import Extension, setup

# No -march=native and no -ffast-math: one wheel serves every machine, and NaN and infinity
# keep their meaning.
optimize = ["/O2", "/std:c++17"] if sys.platform == "win32" else ["-O3", "-std=c++17"]

setup(
    ext_modules=[
        Extension(
            "skgraded._kernels",
            ["skgraded/_kernels.pyx"],
            language="c++",
            extra_compile_args=optimize,
        )
    ]
)
