"""Reads a stack of TIFF images by all ranks, an image at a time, and leaves each rank with a brick of the volume.

Images lie whole in their files, so that each is read by one rank; what computes with the volume wants compact bricks.
Every brick comes with a rim of its neighbours' pixels. This is the use case of the paper on the redistribution library
DDR (Marrinan et al. 2019).

usage: mpirun -n RANKS python tiff_bricks.py FOLDER OUTPUT
       writes OUTPUT/brick_RANK.npy, in single precision
"""

import sys
from pathlib import Path

import numpy as np
import tifffile
from mpi4py import MPI

import sidestream as ss

RIM = 1
comm = MPI.COMM_WORLD
folder, output = map(Path, sys.argv[1:3])
files = sorted(folder.glob("*.tif"))
shape = (len(files), *tifffile.TiffFile(files[0]).pages[0].shape)

# Image i is read by rank i % ranks: as many chunks as a rank reads images.
mine = range(comm.rank, len(files), comm.size)
images = [tifffile.imread(files[i])[np.newaxis] for i in mine]

parts = MPI.Compute_dims(comm.size, 3)
place = map(int, np.unravel_index(comm.rank, parts))
edges = [[n * p // count for p in (at, at + 1)] for n, count, at in zip(shape, parts, place, strict=True)]
brick = tuple(slice(first, end) for first, end in edges)

data = ss.DataDescription(shape, np.float32, rim=RIM)
mapping = data.map(owned=[np.s_[i : i + 1, :, :] for i in mine], needed=brick, comm=comm)
[volume] = mapping.reorganise(images)

np.save(output / f"brick_{comm.rank}.npy", volume)
first, end = zip(*edges, strict=True)
lines = comm.gather(f"rank {comm.rank} read {len(images)} images and has the brick {first} to {end}")
if comm.rank == 0:
    print("\n".join(lines))
