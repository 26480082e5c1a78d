"""Halos of every step that a code wrote with ADIOS2, on any number of ranks.

Each rank reads its own part of the density. With the engine SST this runs beside the code, a step behind it.

usage: mpirun -n RANKS python halos.py INPUT [ENGINE]
"""

import sys

from mpi4py import MPI

import sidestream as ss

comm = MPI.COMM_WORLD
source, engine = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else "BPFile")

for snapshot in ss.adios_steps(source, fields={"density": "rho"}, engine=engine):
    density, origin = snapshot.block("density", comm)
    shape = snapshot.cells()[::-1]
    found = ss.halos(density, snapshot.box_size, "10 mean", "20 mean", comm=comm, origin=origin, shape=shape)
    if comm.rank == 0:
        largest = f", {float(found.mass.max()):.4g} the largest" if found.sizes["halo"] else ""
        print(f"step {snapshot.attrs['step']}  time {snapshot.attrs['time']:g}  {found.sizes['halo']} halos{largest}")
