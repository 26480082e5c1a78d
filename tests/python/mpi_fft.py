"""Transforms of blocks are those of NumPy of the whole, on any ranks. usage: mpirun -n N python mpi_fft.py"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

import sidestream

COMM = MPI.COMM_WORLD
SHAPE = (12, 10, 9)
FIELD = np.random.default_rng(3).normal(size=SHAPE)
WHOLE = np.fft.rfftn(FIELD)


def check(plan: sidestream.fft.Transform) -> None:
    modes = plan.forward(FIELD[plan.block])
    assert np.allclose(modes, WHOLE[plan.modes], atol=1e-12)
    assert np.allclose(plan.backward(modes), FIELD[plan.block], atol=1e-13)


check(sidestream.fft.Transform(SHAPE, comm=COMM))
# All on the last rank, and none on the others.
is_last = COMM.rank == COMM.size - 1
check(sidestream.fft.Transform(SHAPE, comm=COMM, origin=(0, 0, 0), block=SHAPE if is_last else (0, 0, 0)))
few = sidestream.fft.Transform(SHAPE, comm=COMM, kept=3)
alone = sidestream.fft.Transform(SHAPE, kept=3)
assert np.array_equal(few.forward(FIELD[few.block]), alone.forward(FIELD)[few.modes])
for exchange in ("p2p", "alltoallv", "alltoallw", "rma", "shared", "pipelined", "tuned"):
    plan = sidestream.fft.Transform(SHAPE, comm=COMM, exchange=exchange)
    usual = sidestream.fft.Transform(SHAPE, comm=COMM)
    whole = sidestream.fft.Transform(SHAPE)
    mine = whole.forward(FIELD)[plan.modes]
    assert np.array_equal(plan.forward(FIELD[plan.block]), mine), exchange
    assert np.array_equal(plan.backward(mine), usual.backward(usual.forward(FIELD[usual.block]))), exchange
for mode in ("funneled", "serialized", "multiple"):
    plan = sidestream.fft.Transform(SHAPE, comm=COMM, threads=2, thread_mode=mode)
    assert np.array_equal(plan.forward(FIELD[plan.block]), whole.forward(FIELD)[plan.modes]), mode
    assert np.array_equal(
        plan.backward(plan.forward(FIELD[plan.block])), usual.backward(usual.forward(FIELD[usual.block]))
    ), mode
slopes = sidestream.fft.Transform(SHAPE, comm=COMM).gradient(FIELD[few.block])
assert np.array_equal(slopes, sidestream.fft.Transform(SHAPE).gradient(FIELD)[(slice(None), *few.block)])
