"""Analyses of your own in Python, as tasks of a run: `@sidestream.analysis` marks a function that gets a snapshot.

Example:
    >>> @sidestream.analysis(fields=["gas_density"])
    ... def dense(snapshot, above=100.0):
    ...     cells = [block.cells for block in snapshot.blocks("gas_density")]
    ...     mean = snapshot.sum(*cells) / snapshot.cell_count
    ...     return {"dense": snapshot.sum(*[c > above * mean for c in cells]) / snapshot.cell_count}

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
