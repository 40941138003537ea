"""Build the compiled modules and reproducible archives. All other settings are in setup.cfg."""

import gzip
import os
import re
import sys
import tarfile
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

# The date of all files in wheels and sdists: 1 January 2020, unless SOURCE_DATE_EPOCH is set.
EPOCH = int(os.environ.setdefault("SOURCE_DATE_EPOCH", "1577836800"))

KERNELS = Path("skgraded/_kernels")
SHARED = "skgraded._kernels._cython"  # code that Cython would otherwise repeat in each module

# Without -march=native, a wheel runs on every machine. Without -ffast-math, NaN and infinity keep
# their meaning. -ffp-contract=off prevents fused multiply-adds, which would change the last bits.
# -fno-strict-aliasing allows kernels to reuse a buffer for numbers of another type.
OPTIMIZE = ["-O3", "-std=c++17", "-fno-strict-aliasing", "-ffp-contract=off"]
SMALL = ["-O1"]  # the shared module contains no loops over documents
DIRECTIVES = {
    "language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True,
    "initializedcheck": False, "freethreading_compatible": True,
}
if sys.platform == "win32":
    OPTIMIZE, SMALL = ["/O2", "/std:c++17", "/utf-8"], ["/O1"]
elif "-g" not in os.environ.get("CFLAGS", ""):
    # Without debug symbols, modules have a fifth of the size and contain no paths of the build.
    OPTIMIZE, SMALL = [*OPTIMIZE, "-g0"], [*SMALL, "-g0"]


class BuildExt(build_ext):
    """Run Cython once for all modules and compile them in parallel if a source has changed."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or True  # one process per processor

    def run(self):
        if self.inplace and not self.force and self.is_current():
            print("The compiled modules are newer than their sources: nothing is compiled.")
        else:
            super().run()

    def is_current(self):
        """Whether all modules in the source tree are newer than the sources and this file."""
        sources = [Path("setup.py"), *(path for path in KERNELS.iterdir() if is_source(path))]
        modules = [Path(self.get_ext_fullpath(ext.name)) for ext in self.extensions]
        newest = max(path.stat().st_mtime for path in sources)
        return all(path.exists() and path.stat().st_mtime > newest for path in modules)

    def build_extensions(self):
        from Cython.Build import cythonize

        made = cythonize(
            self.extensions, force=self.force, shared_utility_qualified_name=SHARED,
            compiler_directives=DIRECTIVES,
        )
        for ext, with_sources in zip(self.extensions, made, strict=True):
            ext.sources = with_sources.sources
        super().build_extensions()

    def copy_file(self, infile, outfile, *args, **kwargs):
        """Replace the whole file at once: a running Python keeps the module that it has loaded."""
        result = super().copy_file(infile, f"{outfile}.part", *args, **kwargs)
        os.replace(f"{outfile}.part", outfile)
        return outfile, result[1]


def is_source(path):
    return path.suffix in (".pyx", ".pxd", ".h")


class Sdist(sdist):
    """An sdist whose bytes do not depend on the time, the user or the umask."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, **whose):
        if format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, **whose)
        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=EPOCH) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(base_dir, filter=_normalized)
        return path


class Wheel(bdist_wheel):
    """A wheel whose bytes do not depend on the time or the umask."""

    def write_wheelfile(self, *args, **kwargs):  # the last step before the archive is written
        super().write_wheelfile(*args, **kwargs)
        for path in Path(self.bdist_dir).rglob("*"):
            path.chmod(_permissions(path.stat().st_mode))


def _normalized(member):
    member.mtime, member.uid, member.gid, member.uname, member.gname = EPOCH, 0, 0, "", ""
    member.mode = _permissions(member.mode)
    return member


def _permissions(mode):
    return 0o755 if mode & 0o100 else 0o644


# On a package index, links and pictures with relative paths would be broken.
readme = Path("README.md").read_text(encoding="utf-8")
readme = re.sub(r"<picture>.*?</picture>\n", "", readme, flags=re.DOTALL)
readme = re.sub(r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", readme)


def extensions():
    headers = [path.as_posix() for path in sorted(KERNELS.iterdir()) if path.suffix == ".h"]
    modules = [
        Extension(
            f"skgraded._kernels.{path.stem}",
            [path.as_posix()],
            language="c++",
            extra_compile_args=OPTIMIZE,
            depends=["setup.py", *headers],
            include_dirs=[numpy.get_include()],  # compiled with NumPy 2, modules also run on 1.26
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION")],
        )
        for path in sorted(KERNELS.glob("*.pyx"))
    ]
    shared = Extension(SHARED, [f"{SHARED.replace('.', '/')}.c"], extra_compile_args=SMALL)
    return [*modules, shared]


setup(
    cmdclass={"bdist_wheel": Wheel, "build_ext": BuildExt, "sdist": Sdist},
    long_description=readme,
    long_description_content_type="text/markdown",
    ext_modules=extensions(),
)
