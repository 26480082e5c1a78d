"""Programs of others, built as their owners would: with the MPI compilers and what the package installs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sidestream.launch.launcher import mpi_environment

PREFIX = Path(sys.prefix)
HOSTS = Path(__file__).parents[2] / "examples" / "hosts"
STUB = PREFIX / "share" / "sidestream" / "sidestream_stub.c"


def flags(*wanted: str) -> list[str]:
    """What pkg-config says of the installed library."""
    environment = {**os.environ, "PKG_CONFIG_PATH": str(PREFIX / "lib" / "pkgconfig")}
    found = subprocess.run(
        ["pkg-config", *wanted, "sidestream"], env=environment, capture_output=True, text=True, check=True
    )
    return found.stdout.split()


def compiled(compiler: str, folder: Path, name: str, *sources: str | Path, options: tuple[str, ...] = ()) -> Path:
    """A program of `sources`, with warnings as errors."""
    program = folder / name
    done = subprocess.run(
        [compiler, "-O1", *options, *map(str, sources), "-o", str(program)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return program


def c_program(folder: Path, source: Path, *extra: str) -> Path:
    strict = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags("--cflags"))
    return compiled("mpicc", folder, source.stem, source, *extra, *flags("--libs"), "-lm", options=strict)


def fortran_program(folder: Path, source: Path) -> Path:
    module = PREFIX / "include" / "sidestream.f90"
    return compiled("mpif90", folder, source.stem, module, source, *flags("--libs"), options=("-std=f2008",))


def launch(
    folder: Path, ranks: int, *line: object, timeout_s: float = 300.0, **extra: str
) -> subprocess.CompletedProcess[str]:
    environment = mpi_environment(os.environ, ranks) | extra
    words = ["mpirun", "-n", str(ranks), *map(str, line)]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout_s)
