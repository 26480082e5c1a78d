"""Vortices in a periodic plane by lbmpy, a code that others wrote, looked at while it runs.

pip install lbmpy
python third_party.py flow.toml runs/flow                  its steps take one process;
mpirun -n 2 python third_party.py flow.toml runs/flow      with sidecars = 1 another one does the analyses
"""

import sys
from pathlib import Path

import numpy as np
from lbmpy.scenarios import create_fully_periodic_flow
from mpi4py import MPI

import sidestream

CELLS, STEPS, SPEED, RELAXATION_RATE = 64, 200, 0.02, 1.6


def main(config: str, folder: str) -> None:
    """The whole run; lbmpy's own numbers at its end go into `own.npy` of the folder."""
    with sidestream.session(config, folder, comm=MPI.COMM_WORLD, name="lbmpy") as run:
        if run.comm is None:  # this rank was a sidecar, and the run is over
            return
        x, y = np.meshgrid(*(2.0 * np.pi * (np.arange(CELLS) + 0.5) / CELLS,) * 2, indexing="ij")
        start = SPEED * np.stack([np.cos(x) * np.sin(y), -np.sin(x) * np.cos(y)], axis=-1)
        flow = create_fully_periodic_flow(start, relaxation_rate=RELAXATION_RATE)
        arrays = flow.data_handling.cpu_arrays  # (x, y, component), with a layer of ghost cells that it does not use
        velocity, density = arrays[flow.velocity_data_name], arrays[flow.density_data_name]

        run.mesh((CELLS, CELLS), ghosts=1)
        run.field("velocity_x", velocity[..., 0].T)
        run.field("velocity_y", velocity[..., 1].T)
        run.field("density", density.T)
        step, time = run.begin()
        while run.goes_on and step < STEPS:
            flow.run(1)
            step, time = step + 1, time + 1.0
            run.done(step / STEPS)
            run.step(step, time)
        np.save(Path(folder) / "own.npy", np.asarray(flow.velocity[:, :, 0]).T)


if __name__ == "__main__":
    main(*sys.argv[1:])
