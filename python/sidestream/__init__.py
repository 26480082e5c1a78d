"""Sidestream: simulations analysed while they run.

Things to start with::

    import sidestream as ss

    run = ss.open("runs/demo")          # a run, finished or still going on
    halos = run["halos"]                # an xarray dataset over all steps
    run.plot("halos")                   # its pictures, in a notebook
    plot = ss.open("sedov_hdf5_chk_0010")   # a file of FLASH, Nyx, Enzo, ...: fields, particles, the same analyses

    for snapshot in ss.stream("runs/demo"): ...   # what a run that goes on publishes, as it does
    ss.steer("runs/demo").set("hydro.cfl", 0.3)   # changes it between two steps

    with ss.session("analyses.toml", "runs/mine", comm=comm) as run: ...   # the same for a program of one's own

    @ss.analysis(fields=["gas_density"])            # a function that tasks of a run call with its state
    def mine(snapshot): ...

    ss.halos(density, box_size=14.2, t_boundary="81.66 mean", t_halo="200 mean")   # the same analysis on an array

Everything heavy (the compiled analyses, xarray, HDF5) is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .error import Error

if TYPE_CHECKING:
    from . import fft, streams
    from .arrays.analyses import friends_of_friends, halos, power_spectrum
    from .arrays.tree import MergeTree, merge_tree, open_tree
    from .files.adios import adios_steps
    from .files.regions import Region, regions
    from .files.snapshot import SnapshotFile
    from .redistribution import DataDescription, DataMapping
    from .runs.events import Events
    from .runs.run import Run
    from .sessions import Session, session
    from .steering import Steering, steer
    from .streams import Stream, stream
    from .study.many import open_many
    from .study.opening import open
    from .tasks import TaskSnapshot, analysis
    from .units import to_pint, to_unyt

__all__ = [
    "DataDescription",
    "DataMapping",
    "Error",
    "Events",
    "MergeTree",
    "Region",
    "Run",
    "Session",
    "SnapshotFile",
    "Steering",
    "Stream",
    "TaskSnapshot",
    "__version__",
    "adios_steps",
    "analysis",
    "fft",
    "friends_of_friends",
    "halos",
    "merge_tree",
    "open",
    "open_many",
    "open_tree",
    "power_spectrum",
    "regions",
    "session",
    "steer",
    "stream",
    "streams",
    "to_pint",
    "to_unyt",
]

_HOME = {
    "DataDescription": "redistribution",
    "DataMapping": "redistribution",
    "Events": "runs.events",
    "MergeTree": "arrays.tree",
    "Region": "files.regions",
    "Run": "runs.run",
    "Session": "sessions",
    "SnapshotFile": "files.snapshot",
    "Steering": "steering",
    "Stream": "streams",
    "TaskSnapshot": "tasks",
    "adios_steps": "files.adios",
    "analysis": "tasks",
    "friends_of_friends": "arrays.analyses",
    "halos": "arrays.analyses",
    "merge_tree": "arrays.tree",
    "open": "study.opening",
    "open_many": "study.many",
    "open_tree": "arrays.tree",
    "power_spectrum": "arrays.analyses",
    "regions": "files.regions",
    "session": "sessions",
    "steer": "steering",
    "stream": "streams",
    "to_pint": "units",
    "to_unyt": "units",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("sidestream")
        except PackageNotFoundError:
            return "0+unknown"
    from importlib import import_module

    if name in ("fft", "streams"):
        return import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module 'sidestream' has no attribute {name!r}")

    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
