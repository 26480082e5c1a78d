"""Heat in a periodic box: a simulation of its own, in slabs of planes, looked at while it runs.

mpirun -n 2 python example.py example.toml runs/example      once more: goes on from the newest checkpoint
sidestream report runs/example                               pictures of its analyses
pytest test_example.py                                       its test
"""

import sys

import numpy as np

import sidestream

CELLS, STEPS = 32, 100
SHARE = 0.15  # of the difference of neighbours that flows in a step; stable up to 1/6


def start(first, last):
    """The temperature [K] of planes from `first` to `last`, a wave along z and y; a ghost plane on each side."""
    z, y, _ = np.ogrid[first - 1 : last + 1, :CELLS, :CELLS]
    wave = np.sin(2 * np.pi * (z + 0.5) / CELLS) * np.cos(2 * np.pi * (y + 0.5) / CELLS)
    return 300.0 + np.broadcast_to(wave, (last - first + 2, CELLS, CELLS)).copy()


def advance(temperature, comm):
    """Takes a step."""
    above, below = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.Sendrecv(temperature[-2], above, recvbuf=temperature[0], source=below)
    comm.Sendrecv(temperature[1], below, recvbuf=temperature[-1], source=above)
    inner = temperature[1:-1]
    flow = temperature[2:] + temperature[:-2] - 6.0 * inner
    for axis in (1, 2):
        flow += np.roll(inner, 1, axis) + np.roll(inner, -1, axis)
    inner += SHARE * flow


def main(config, folder):
    """The whole run."""
    from mpi4py import MPI  # which begins MPI: not in a process that only imports this file

    with sidestream.session(config, folder, comm=MPI.COMM_WORLD, name="example", existing="resume") as run:
        if run.comm is None:  # this rank was a sidecar, and the run is over
            return
        first, last = (CELLS * rank // run.comm.size for rank in (run.comm.rank, run.comm.rank + 1))
        temperature = start(first, last)
        run.mesh((CELLS,) * 3, blocks=np.s_[first:last, :, :])
        run.field("temperature", temperature[1:-1], unit="K")  # never copied
        step, time = run.begin()  # fills it where there is a checkpoint
        while run.goes_on and step < STEPS:
            advance(temperature, run.comm)
            step, time = step + 1, time + SHARE
            run.done(step / STEPS)
            run.step(step, time)


if __name__ == "__main__":
    main(*sys.argv[1:])
