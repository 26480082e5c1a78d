"""An 8 x 8 array of which each of four ranks owns two rows, 0 and 4 on rank 0, and needs one quadrant.

This is example E1 of the paper on the redistribution library DDR (Marrinan et al. 2019).

usage: mpirun -n 4 python quadrants.py
"""

import numpy as np
from mpi4py import MPI

import sidestream as ss

comm = MPI.COMM_WORLD
if comm.size != 4:
    raise SystemExit("this example takes four ranks: mpirun -n 4")
near, far = np.s_[comm.rank : comm.rank + 1, :], np.s_[comm.rank + 4 : comm.rank + 5, :]
y, x = 4 * (comm.rank // 2), 4 * (comm.rank % 2)
whole = np.arange(64.0).reshape(8, 8)  # of which this rank uses its rows only

data = ss.DataDescription((8, 8))
mapping = data.map(owned=[near, far], needed=np.s_[y : y + 4, x : x + 4], comm=comm)
[quadrant] = mapping.reorganise([whole[near], whole[far]])

lines = comm.gather(f"rank {comm.rank} has {' '.join(f'{value:.0f}' for value in quadrant.flat)}")
if comm.rank == 0:
    print("\n".join(lines))
