"""Files of any format converted by `sidestream-files`, on as many ranks as wanted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..error import Error, UsageError
from ..files.formats import bytes_of, formats, methods_of
from ..files.opening import is_there
from ..files.snapshot import SnapshotFile
from .launcher import FILES
from .programs import Tell, lines_of

PRECISIONS = ("double", "single")


@dataclass(frozen=True)
class Conversion:
    """What is to be written, from what and how."""

    source: Path
    target: Path
    format: str
    fields: Sequence[str] = ()
    species: Sequence[str] = ()
    precision: str = "double"
    block: int | None = None
    method: str | None = None
    overwrite: bool = False
    compress: Sequence[str] = ()
    files: int | None = None

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-files`."""
        words = ["convert", str(self.source), str(self.target)]
        words += ["--format", self.format, "--precision", self.precision]
        words += ["--block", str(self.block)] if self.block is not None else []
        words += ["--method", self.method] if self.method is not None else []
        words += ["--files", str(self.files)] if self.files is not None else []
        words += ["--overwrite"] * self.overwrite
        words += ["--fields", *self.fields] if self.fields else []
        words += ["--compress", *self.compress] if self.compress else []
        return [*words, "--species", *self.species] if self.species else words


def convert(
    conversion: Conversion, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None
) -> dict[str, Any]:
    """Writes the state in a file again in another format; returns what was written and how fast."""
    _check(conversion)
    report: dict[str, Any] = {}
    for line in lines_of(FILES, conversion.arguments(), ranks, launcher, tell):
        report = json.loads(line)
    seconds, size = float(report["write_s"]), bytes_of(conversion.target)
    kept = SnapshotFile(conversion.target).describe()["particles"]
    return report | {
        "bytes": size,
        "megabytes_per_second": size / 1e6 / seconds if seconds > 0 else None,
        "particles": kept,
        "left_out_particles": (report["particles"] or 0) - (kept or 0),
    }


def _check(conversion: Conversion) -> None:
    known = formats()
    if conversion.format not in known:
        raise UsageError(f"there is no format `{conversion.format}`", hint=f"--format takes {', '.join(known)}")
    if conversion.precision not in PRECISIONS:
        raise UsageError(
            f"there is no precision `{conversion.precision}`", hint=f"--precision takes {' or '.join(PRECISIONS)}"
        )
    methods = methods_of(conversion.format)
    if conversion.method is not None and conversion.method not in methods:
        raise UsageError(
            f"the format `{conversion.format}` cannot be written by `{conversion.method}`",
            hint=f"--method takes {', '.join(methods)}" if methods else "it has a way of its own: leave --method out",
        )
    if not is_there(conversion.source):
        raise Error("there is nothing to convert", conversion.source, "give a plot file or checkpoint of any format")
