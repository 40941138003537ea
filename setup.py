"""The compiled modules; everything else about the package stands in setup.cfg."""

import re
import sys
from pathlib import Path

import numpy
from setuptools import Extension, setup

# No -march=native and no -ffast-math: one wheel serves every machine, and NaN and infinity
# keep their meaning; nor is a product rounded with its sum where a processor could. The kernels use
# a buffer's room again for numbers of another type. Each sum is to be inlined where it is called
# with a constant, also when there is one sum more.
optimize = [
    "-O3", "-std=c++17", "-fno-strict-aliasing", "-ffp-contract=off", "-finline-limit=3000"
]
if sys.platform == "win32":
    optimize = ["/O2", "/std:c++17"]

# Links into the repository would lead nowhere on the page of a package index.
readme = re.sub(
    r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", Path("README.md").read_text(encoding="utf-8")
)

setup(
    long_description=readme,
    long_description_content_type="text/markdown",
    ext_modules=[
        Extension(
            f"skgraded._kernels.{path.stem}",
            [path.as_posix()],
            language="c++",
            extra_compile_args=optimize,
            depends=["skgraded/_kernels/loops.h", "skgraded/_kernels/swaps.h"],
            include_dirs=[numpy.get_include()],  # of 2.x: what is built runs on 1.26 too
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION")],
        )
        for path in sorted(Path("skgraded/_kernels").glob("*.pyx"))
    ]
)
