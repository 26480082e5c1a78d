"""A code of its own, which knows ADIOS2 and nothing of Sidestream: clumps of gas that grow, step by step.

usage: python writer.py OUTPUT [ENGINE]
       OUTPUT: a BP file, or the name of a stream with the engine SST
"""

import sys

import adios2
import numpy as np

CELLS, STEPS, SIDE = 32, 3, 10.0
output, engine = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else "BPFile")

place = (np.arange(CELLS) + 0.5) * SIDE / CELLS
z, y, x = np.meshgrid(place, place, place, indexing="ij")
clumps = [((2.5, 2.5, 2.5), 300.0), ((7.0, 7.5, 5.0), 150.0)]  # centre and height at the end

io = adios2.Adios().declare_io("writer")
io.set_engine(engine)
io.set_parameter("RendezvousReaderCount", "1")
with adios2.Stream(io, output, "w") as stream:
    for step in stream.steps(STEPS):
        density = np.ones_like(x)
        for (cx, cy, cz), height in clumps:
            distance = (x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2
            density += height * (step.current_step() + 1) / STEPS * np.exp(-distance / 0.5)
        step.write("rho", density, list(density.shape), [0, 0, 0], list(density.shape))
        step.write("time", 0.5 * step.current_step())
        step.write_attribute("spacing", [SIDE / CELLS] * 3, "rho")
