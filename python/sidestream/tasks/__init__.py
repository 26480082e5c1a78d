"""Analyses of your own in Python, as tasks of a run: `@sidestream.analysis` marks a function that gets a snapshot.

Example:
    >>> @sidestream.analysis(fields=["gas_density"])
    ... def dense(snapshot, above=100.0):
    ...     parts = [(b.cells, snapshot.cell_volume(level)) for level, (b,) in snapshot.each_block("gas_density")]
    ...     mean = snapshot.sum(*[cells * volume for cells, volume in parts]) / snapshot.volume
    ...     dense = snapshot.sum(*[(cells > above * mean) * volume for cells, volume in parts])
    ...     return {"dense": dense / snapshot.volume}

    [task.dense]
    analysis = "python"
    file = "dense.py"
    parameters = { above = 200.0 }
    every = 10
    transport = "async"
"""

from __future__ import annotations

from .loading import load
from .mark import analysis
from .snapshot import TaskSnapshot

__all__ = ["TaskSnapshot", "analysis", "load"]
