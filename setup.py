"""The compiled modules; everything else about the package stands in setup.cfg."""

import sys
from pathlib import Path

from setuptools import Extension, setup

# No -march=native and no -ffast-math: one wheel serves every machine, and NaN and infinity
# keep their meaning. The kernels use a buffer's room again for numbers of another type.
optimize = ["-O3", "-std=c++17", "-fno-strict-aliasing"]
if sys.platform == "win32":
    optimize = ["/O2", "/std:c++17"]

setup(
    ext_modules=[
        Extension(
            f"skgraded._kernels.{path.stem}",
            [path.as_posix()],
            language="c++",
            extra_compile_args=optimize,
        )
        for path in sorted(Path("skgraded/_kernels").glob("*.pyx"))
    ]
)
