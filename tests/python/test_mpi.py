"""Which MPI is meant, and what is said where it is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sidestream.core
from sidestream import mpi
from sidestream.error import Error
from sidestream.launch.launcher import find_program
from sidestream.launch.messages import MessageFilter
from sidestream.mpi import family, refusal

LOADER = "{}: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("mpirun (Open MPI) 5.0.11", "Open MPI"),
        ("prterun (PRTE) 3.0.13", "Open MPI"),
        ("HYDRA build details:\n    Version: 5.0.2", "MPICH"),
        ("MPICH Version:      4.0.2", "MPICH"),
        ("slurm 23.02", None),
    ],
)
def test_an_mpi_is_known_by_its_words(told: str, name: str | None) -> None:
    assert family(told) == name


@pytest.mark.parametrize(
    ("library", "name", "package"),
    [("libmpi.so.40", "Open MPI", "openmpi"), ("libmpi.so.12", "MPICH", "mpich"), ("libmpich.so.12", "MPICH", "mpich")],
)
def test_a_library_that_is_missing_names_its_mpi_and_what_to_install(library: str, name: str, package: str) -> None:
    problem = refusal(LOADER.format(library))

    assert problem is not None
    assert f"built for {name}" in problem.what
    assert f"`pip install {package}`" in problem.hint


def test_mpich_under_the_launcher_of_open_mpi_is_known_by_what_it_says() -> None:
    messages = MessageFilter()

    assert (
        messages.feed("check_MPIR_CVAR_PMI_VERSION(167):  Runtime environment uses unsupported PMI version PMIx.")
        is None
    )
    problem = messages.diagnosis(16)

    assert problem is not None
    assert "it is not that of MPICH" in problem.what


@pytest.mark.parametrize("library", ["libz.so.1", "libmpi.so.99", "libmpi_cxx.so.40"])
def test_other_libraries_are_no_mpi(library: str) -> None:
    assert refusal(LOADER.format(library)) is None


def test_a_compiled_part_without_its_mpi_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> None:
        raise ImportError(LOADER.format("libmpi.so.12"))

    monkeypatch.setattr(sidestream.core, "import_module", load)

    with pytest.raises(Error, match="sidestream was built for MPICH, whose library libmpi.so.12 is not found"):
        sidestream.core.extension()


def test_programs_that_the_loader_ends_are_told_by_their_mpi() -> None:
    messages = MessageFilter()

    line = f"/venv/bin/sidestream-run: error while loading shared libraries: {LOADER.format('libmpi.so.40')}\n"
    shown = [messages.feed(line), messages.feed(line)]
    problem = messages.diagnosis(127)

    assert shown == [None, None]
    assert problem is not None
    assert "sidestream was built for Open MPI" in problem.what


def alone(folder: Path, told: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A rank of whatever launcher tells it this, by itself."""
    line = [str(find_program()), "tube.toml"]
    return subprocess.run(line, cwd=folder, env=os.environ | told, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("size", "rank"), [("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK")])
def test_ranks_that_do_not_meet_end_and_the_first_says_why(size: str, rank: str, tmp_path: Path) -> None:
    (tmp_path / "tube.toml").write_text('simulation = "sod"\n[run]\nmax_steps = 1\n')

    first, second = (alone(tmp_path, {size: "2", rank: number}) for number in "01")

    assert first.returncode == second.returncode == 1
    assert "error: the launcher has started 2 ranks, and each is alone: it is not that of" in first.stderr
    assert second.stderr == ""
    assert not (tmp_path / "runs").exists()


def test_a_session_whose_ranks_do_not_meet_is_refused(tmp_path: Path) -> None:
    code = "import sidestream\nsidestream.session(None, 'run')"
    told = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}
    line = [sys.executable, "-c", code]

    done = subprocess.run(line, cwd=tmp_path, env=os.environ | told, capture_output=True, text=True, timeout=60)

    assert done.returncode == 1
    assert "the launcher has started 2 ranks, and each is alone" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("own", "built", "way"),
    [
        ("0.1.0+mpich", "MPICH", "`pip install --force-reinstall mpich`"),
        ("0.1.0", "MPICH", "install MPICH (`apt-get install mpich`)"),
        ("0.1.0", None, "install Open MPI (`apt-get install openmpi-bin`)"),
    ],
)
def test_a_wheel_is_mended_by_pip(own: str, built: str | None, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi, "version", lambda _: own)

    assert mpi.how_to_install(built) == way
