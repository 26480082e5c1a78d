"""Reads the files whose paths come on standard input; answers each with a digest of all that was read, or the refusal.
Of an event log the refusal is the warning that lines are damaged, of a file the one that its checksums are lost.

Usage: python -m sidestream.attack.reader
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..error import Error
from ..files.opening import RESULT
from ..files.snapshot import SnapshotFile
from ..runs.events import parse_lines
from ..runs.progress import warning_of
from ..runs.results import load_result

LOG = ".jsonl"


def main() -> None:
    """Answers until the input ends."""
    warnings.simplefilter("error", UserWarning)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(Path(line.rstrip("\n")))) + "\n")
        sys.stdout.flush()


def _answer(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    try:
        if path.suffix == RESULT:
            _read_result(path, digest)
        elif path.suffix == LOG:
            _read_log(path, digest)
        else:
            _read_snapshot(path, digest)
    except (Error, UserWarning) as refusal:
        return {"refused": str(refusal)}
    return {"digest": digest.hexdigest()}


def _read_result(path: Path, digest: Any) -> None:
    result = load_result(path)
    for name in sorted(map(str, result.variables)):
        _take(digest, name, result[name].values)
    digest.update(repr(sorted((name, repr(value)) for name, value in result.attrs.items())).encode())


def _read_log(path: Path, digest: Any) -> None:
    events = parse_lines(path, path.read_bytes())
    if events and events[-1]["event"] == "warning" and str(path) in events[-1].get("where", ""):
        raise Error(warning_of(events[-1]))
    digest.update(json.dumps(events).encode())


def _read_snapshot(path: Path, digest: Any) -> None:
    file = SnapshotFile(path)
    digest.update(repr((file.units, file.length_unit, file.box_size, file.origin, file.attrs)).encode())
    for level in range(file.levels):
        _take(digest, f"boxes {level}", file.boxes(level))
        for name in file.fields:
            _take(digest, name, file.covering_grid(name, level).values)
    for species in file.species:
        particles = file.particles(species)
        for name in sorted(map(str, particles.variables)):
            _take(digest, name, particles[name].values)


def _take(digest: Any, name: str, values: Any) -> None:
    array = np.ascontiguousarray(values)
    digest.update(f"{name} {array.dtype} {array.shape}".encode())
    digest.update(array.tobytes())


if __name__ == "__main__":
    main()
