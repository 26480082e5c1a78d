"""A pulse that is carried through a periodic box by a constant wind: a NumPy program of its own, in slabs of planes.

mpirun -n 4 python pulse.py analyses.toml runs/pulse       once more: goes on from the newest checkpoint
"""

import sys

import numpy as np
from mpi4py import MPI

import sidestream

CELLS, STEPS, COURANT = 48, 96, 0.5


def main(config: str, folder: str) -> None:
    """The whole run."""
    with sidestream.session(config, folder, comm=MPI.COMM_WORLD, name="pulse", existing="resume") as run:
        if run.comm is None:  # this rank was a sidecar, and the run is over
            return
        rank, ranks = run.comm.rank, run.comm.size
        first, last = CELLS * rank // ranks, CELLS * (rank + 1) // ranks
        z, y, x = np.ogrid[first:last, :CELLS, :CELLS]
        density = np.zeros((last - first + 1, CELLS, CELLS))  # with a plane of ghost cells below
        density[1:] = 1.0 + np.exp(-0.01 * ((z - 10.0) ** 2 + (y - 20.0) ** 2 + (x - 30.0) ** 2))

        run.mesh((CELLS,) * 3, blocks=np.s_[first:last, :, :])
        run.field("height", density[1:], unit="m")
        step, time = run.begin()
        while run.goes_on and step < STEPS:
            run.comm.Sendrecv(density[-1], (rank + 1) % ranks, recvbuf=density[0], source=(rank - 1) % ranks)
            density[1:] -= COURANT * (density[1:] - density[:-1])  # upwind, along z
            step, time = step + 1, time + COURANT
            run.done(step / STEPS)
            run.step(step, time)


if __name__ == "__main__":
    main(*sys.argv[1:])
