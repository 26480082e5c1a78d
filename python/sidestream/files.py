"""Files of any format converted and verified by `sidestream-files`, on as many ranks as wanted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .error import Error, UsageError
from .opening import is_run, unknown
from .outputs import is_pending, outputs_in
from .programs import Tell, lines_of
from .snapshot_file import SnapshotFile, bytes_of, format_of, formats

PROGRAM = "sidestream-files"
PRECISIONS = ("double", "single")


@dataclass(frozen=True)
class Conversion:
    """What is to be written, from what and how."""

    source: Path
    target: Path
    format: str
    fields: Sequence[str] = ()
    precision: str = "double"
    block: int | None = None
    method: str | None = None
    overwrite: bool = False

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-files`."""
        words = ["convert", str(self.source), str(self.target)]
        words += ["--format", self.format, "--precision", self.precision]
        words += ["--block", str(self.block)] if self.block is not None else []
        words += ["--method", self.method] if self.method is not None else []
        words += ["--overwrite"] * self.overwrite
        return [*words, "--fields", *self.fields] if self.fields else words


def convert(
    conversion: Conversion, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None
) -> dict[str, Any]:
    """Writes the state in a file again in another format; returns what was written and how fast."""
    _check(conversion)
    report: dict[str, Any] = {}
    for line in lines_of(PROGRAM, conversion.arguments(), ranks, launcher, tell):
        report = json.loads(line)
    seconds, size = float(report["write_s"]), bytes_of(conversion.target)
    kept = SnapshotFile(conversion.target).describe()["particles"]
    return report | {
        "bytes": size,
        "megabytes_per_second": size / 1e6 / seconds if seconds > 0 else None,
        "particles": kept,
        "left_out_particles": (report["particles"] or 0) - (kept or 0),
    }


def verify(
    path: Path, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None
) -> Iterator[dict[str, Any]]:
    """Reads a file, or every plot file and checkpoint in the folder of a run, and checks every checksum.

    Yields one dictionary a file as soon as it is read: `path`, `is_good`, `is_pending`, `seconds`, and `format`,
    `kind`, `bytes` or `message`.
    """
    paths = _to_verify(path)
    for line in lines_of(PROGRAM, ["verify", *map(str, paths)], ranks, launcher, tell, may_fail=True):
        verdict: dict[str, Any] = json.loads(line)
        verdict["is_pending"] = is_pending(Path(verdict["path"]))
        if verdict["is_good"]:
            verdict["bytes"] = bytes_of(Path(verdict["path"]))
        yield verdict


def _check(conversion: Conversion) -> None:
    known = formats()
    if conversion.format not in known:
        raise UsageError(f"there is no format `{conversion.format}`", hint=f"--format takes {', '.join(known)}")
    if conversion.precision not in PRECISIONS:
        raise UsageError(
            f"there is no precision `{conversion.precision}`", hint=f"--precision takes {' or '.join(PRECISIONS)}"
        )
    if not conversion.source.exists():
        raise Error("there is nothing to convert", conversion.source, "give a plot file or checkpoint of any format")


def _to_verify(path: Path) -> list[Path]:
    if not path.exists():
        raise Error("there is nothing to verify", path, "give a plot file, a checkpoint or the folder of a run")
    if format_of(path):
        return [path]
    if not is_run(path):
        raise unknown(path)
    found = [output.path for output in outputs_in(path)]
    if not found:
        raise Error("the run has written neither plot files nor checkpoints", path)
    return found
