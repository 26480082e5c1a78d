"""What it costs to let a library walk through blocks with ghost cells, in place of packing them first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import io


@dataclass(frozen=True)
class MemoryType:
    """One of the ways in which Latham et al. describe cells in memory, and the case that has it."""

    name: str
    text: str
    content: str
    format: str


TYPES = (
    MemoryType("A", "a variable at a time", "checkpoint", "flash"),
    MemoryType("B", "all variables", "checkpoint", "flash-5d"),
    MemoryType("C", "chosen variables", "chosen", "flash-5d"),
)
LIBRARIES = {"MPI-IO": ("mpiio-derived", "mpiio-collective"), "HDF5": ("hdf5-strided", "hdf5-collective")}


def compare(measured: dict[str, Any]) -> list[dict[str, Any]]:
    """For each type and library that was measured how many times as fast packing first is, without and with fsync."""
    cases = {
        (case["content"], case["format"], case["method"]): case for case in measured["cases"] if "error" not in case
    }
    rows = []
    for kind in TYPES:
        for library, (walking, packing) in LIBRARIES.items():
            slow, fast = (cases.get((kind.content, kind.format, method)) for method in (walking, packing))
            if slow is None or fast is None:
                continue
            row = {"type": kind.name, "text": kind.text, "library": library}
            factors = {key: io.ratio(fast, slow, key) for key in io.TIMES if fast[key] and slow[key]}
            rows.append(row | {"packing_is_faster": factors})
    return rows
