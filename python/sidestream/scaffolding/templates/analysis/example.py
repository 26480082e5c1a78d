"""How much of the volume is dense: an analysis that runs call with their state.

sidestream run example.toml -n 2      a small run that does it
pytest test_example.py                its test

`sidestream.open("runs/example")["example"]` has what it found.
"""

import numpy as np

import sidestream


@sidestream.analysis(fields=["gas_density"])
def example(snapshot, above=1.5):
    """The mean density, the share of the volume above so many times it, and the volume by density."""
    parts = [  # of this rank: cells [z, y, x], and the volume of each, which depends on the level
        (block.cells, np.full(block.cells.shape, snapshot.cell_volume(level)))
        for level, (block,) in snapshot.each_block("gas_density")
    ]
    whole = snapshot.sum(*[volume for _, volume in parts])  # of all ranks, exactly: no bit depends on how many
    mean = snapshot.sum(*[cells * volume for cells, volume in parts]) / whole
    dense = snapshot.sum(*[volume[cells > above * mean] for cells, volume in parts])
    edges = np.geomspace(0.01, 100.0, 41)
    found = snapshot.histogram([cells / mean for cells, _ in parts], edges, [volume for _, volume in parts])
    return {
        "mean_density": (mean, snapshot.units["gas_density"]),
        "dense_share": dense / whole,
        "overdensity": edges[:-1],
        "volume": found / whole,
    }
