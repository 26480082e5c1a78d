"""What `docs/guides/own_code.md` shows in C++, Fortran and Python, in programs around it, and Fortran with the stub."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import sidestream
from documented import ROOT, blocks
from hosts import HOSTS, PREFIX, STUB, compiled, flags, fortran_program, launch
from test_faults import results

SHOWN = blocks(ROOT / "docs" / "guides" / "own_code.md")
STEPS = 3


def shown(language: str, number: int = 0) -> str:
    return [text for of, text in SHOWN if of == language][number]


def configured(folder: Path, name: str, field: str = "height") -> None:
    """The configuration of the page, for a few steps."""
    text = shown("toml").replace("every = 50", "every = 1").replace('"height"', f'"{field}"')
    (folder / name).write_text(f"[run]\nmax_steps = {STEPS}\n{text}")


def slices(folder: Path, field: str = "height") -> np.ndarray:
    return sidestream.open(folder)["slice"][field].values


CPP = """
#include <cstdio>
#include <vector>
#include <sidestream.hpp>
namespace {
constexpr int n = 8;
void advance(std::vector<double>& height) { for (double& cell : height) cell += 1.0; }
void compute() {
  std::vector<double> height(n * n * n);
  std::int64_t step = 0, offset[3] = {0, 0, 0}, extent[3] = {n, n, n};
  double time = 0.0, courant = 0.25;
  const double dt = 0.5;
  sidestream_mesh mesh = SIDESTREAM_MESH;
  mesh.cells[0] = mesh.cells[1] = mesh.cells[2] = n;
  mesh.count = 1;
  mesh.offsets = offset;
  mesh.extents = extent;
  SHOWN
}
void refuse() {
  double number = 2.0;
  sidestream::Session run(MPI_COMM_WORLD, "analyses.toml", "refused", SIDESTREAM_OVERWRITE, "me");
  if (run.comm() == MPI_COMM_NULL || run.is_restarted()) std::printf("taken\\n");
  for (int call = 0; call < 4; ++call) try {
    if (call == 0) run.set_number("time", 1.0);
    if (call == 1) run.add_knob("k", "", 0.0, 1.0, number);
    if (call == 2) run.step(1, 1.0);
    if (call == 3) run.set_scale_factor(-1.0);
    std::printf("taken %d\\n", call);
  } catch (const sidestream::SessionError& error) {
    std::printf("%d %s\\n", error.status(), error.what());
  }
}  // a run that nobody closes is closed
}  // namespace
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    compute();
    refuse();
  } catch (const sidestream::SessionError& error) {
    std::printf("taken: %s\\n", error.what());
  }
  MPI_Finalize();
}
"""


def test_the_class_for_cpp(tmp_path: Path) -> None:
    (tmp_path / "host.cpp").write_text(CPP.replace("SHOWN", shown("cpp")))
    configured(tmp_path, "analyses.toml")
    strict = ("-std=c++17", "-DOMPI_SKIP_MPICXX", "-Wall", "-Wextra", "-Wno-unused", "-Werror", *flags("--cflags"))
    host = compiled("mpicxx", tmp_path, "host", "host.cpp", *flags("--libs"), options=strict)

    done = launch(tmp_path, 1, host)

    assert done.returncode == 0, done.stderr
    assert "taken" not in done.stdout
    assert [line[:2] for line in done.stdout.splitlines() if "error: " in line] == ["2 "] * 4, done.stdout
    expected = np.broadcast_to(np.arange(STEPS + 1.0)[:, None, None], (STEPS + 1, 8, 8))
    np.testing.assert_array_equal(slices(tmp_path / "runs" / "wave"), expected)


FORTRAN = """
program host
  use mpi
  use sidestream
  use, intrinsic :: iso_c_binding
  implicit none
  type(sidestream_session) :: run
  integer, parameter :: cells = 8, rows = 8, first = 0
  real(c_double), parameter :: dt = 0.5d0
  real(c_double), allocatable :: t(:, :)
  real(c_double) :: time
  integer :: comm, step, status, ierr
  logical :: is_sidecar

  call mpi_init(ierr)
  allocate (t(0:cells + 1, 0:rows + 1), source=0d0)
  step = 0
  time = 0
SHOWN
  if (status /= sidestream_ok) print '(a)', sidestream_last_message()
  call mpi_finalize(ierr)

contains

  subroutine advance(t)
    real(c_double), intent(inout) :: t(0:, 0:)

    t = t + 1
    time = time + dt
  end subroutine
end program
"""


def test_the_loop_in_fortran(tmp_path: Path) -> None:
    (tmp_path / "host.f90").write_text(FORTRAN.replace("SHOWN", shown("fortran")))
    configured(tmp_path, "plate.toml", "temperature")

    done = launch(tmp_path, 1, fortran_program(tmp_path, tmp_path / "host.f90"))

    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    picture = slices(tmp_path / "runs" / "heat", "temperature")
    assert [float(plane.max()) for plane in picture] == [float(plane.min()) for plane in picture] == [0, 1, 2, 3]


LOOP = """
import sys
import numpy as np
from mpi4py import MPI
import sidestream
rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
first, last, dt = 48 * rank // ranks, 48 * (rank + 1) // ranks, 0.5
density = np.zeros((last - first, 48, 48))
def advance(density):
    density += 1.0
SHOWN
"""


def test_the_loop_in_python(tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(LOOP.replace("SHOWN", shown("python")))
    configured(tmp_path, "analyses.toml")

    done = launch(tmp_path, 2, sys.executable, "host.py")

    assert done.returncode == 0, done.stderr
    picture = slices(tmp_path / "runs" / "pulse")
    assert [float(plane.max()) for plane in picture] == [float(plane.min()) for plane in picture] == [0, 1, 2, 3]


def test_fortran_with_the_stub_runs_without_the_library_and_uses_one_that_is_there(tmp_path: Path) -> None:
    compiled("mpicc", tmp_path, "stub.o", STUB, options=("-c", *flags("--cflags")))
    module = PREFIX / "include" / "sidestream.f90"
    heat = compiled("mpif90", tmp_path, "heat", module, HOSTS / "heat.f90", "stub.o", "-ldl", options=("-std=f2008",))
    configured(tmp_path, "plate.toml", "temperature")

    alone = launch(tmp_path, 2, heat, "plate.toml", "alone", LD_LIBRARY_PATH="")
    library = PREFIX / "lib" / "libsidestream.so.1"
    there = launch(tmp_path, 2, heat, "plate.toml", "there", SIDESTREAM_LIBRARY=str(library))

    assert (alone.returncode, there.returncode) == (0, 0), alone.stderr + there.stderr
    assert not (tmp_path / "alone").exists()
    assert len(results(tmp_path / "there")) == STEPS + 1
