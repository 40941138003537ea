"""The compiled modules, and archives that are the same whoever makes them; else see setup.cfg."""

import gzip
import os
import re
import sys
import tarfile
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.sdist import sdist

# The date of all files in wheels and sdists, unless somebody says another: 1 January 2020.
EPOCH = int(os.environ.setdefault("SOURCE_DATE_EPOCH", "1577836800"))

# No -march=native and no -ffast-math: one wheel serves every machine, and NaN and infinity
# keep their meaning; nor is a product rounded with its sum where a processor could. The kernels use
# a buffer's room again for numbers of another type. Each sum is to be inlined where it is called
# with a constant, also when there is one sum more.
optimize = ["-O3", "-std=c++17", "-fno-strict-aliasing", "-ffp-contract=off"]
if sys.platform == "win32":
    optimize = ["/O2", "/std:c++17", "/utf-8"]
elif sys.platform == "linux":
    optimize.append("-finline-limit=3000")  # GCC's; Clang inlines without being told
if sys.platform != "win32" and "-g" not in os.environ.get("CFLAGS", ""):
    optimize.append("-g0")  # a fifth of the size, and no path of the machine that builds


class Sdist(sdist):
    """An archive without the clock, the names and the rights of the machine that makes it."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, **whose):
        if format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, **whose)
        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=EPOCH) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(base_dir, filter=_of_nobody)
        return path


class Wheel(bdist_wheel):
    """A wheel without the rights that files have where it is made; it takes its date from EPOCH."""

    def write_wheelfile(self, *args, **kwargs):  # the last step before all is packed
        super().write_wheelfile(*args, **kwargs)
        for path in Path(self.bdist_dir).rglob("*"):
            path.chmod(_rights(path.stat().st_mode))


def _of_nobody(member):
    member.mtime, member.uid, member.gid, member.uname, member.gname = EPOCH, 0, 0, "", ""
    member.mode = _rights(member.mode)
    return member


def _rights(mode):
    return 0o755 if mode & 0o100 else 0o644


# Links into the repository would lead nowhere on the page of a package index.
readme = re.sub(
    r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", Path("README.md").read_text(encoding="utf-8")
)

setup(
    cmdclass={"bdist_wheel": Wheel, "sdist": Sdist},
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
