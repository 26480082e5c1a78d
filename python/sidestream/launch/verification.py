"""Files of any format verified by `sidestream-files`, on as many ranks as wanted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..error import Error
from ..files.formats import bytes_of, format_of
from ..files.opening import is_run, is_there, unknown
from ..runs.outputs import all_outputs_in, is_pending
from .launcher import FILES
from .programs import Tell, lines_of


def verify(
    path: Path, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None
) -> Iterator[dict[str, Any]]:
    """Reads a file, or every plot file, checkpoint and stored snapshot of a run, and checks every checksum.

    Yields one dictionary a file as soon as it is read: `path`, `is_good`, `is_pending`, `seconds`, and `format`,
    `kind`, `seal`, `bytes` or `message`.
    """
    paths = _to_verify(path)
    for line in lines_of(FILES, ["verify", *map(str, paths)], ranks, launcher, tell, may_fail=True):
        verdict: dict[str, Any] = json.loads(line)
        verdict["is_pending"] = is_pending(Path(verdict["path"]))
        if verdict["is_good"]:
            verdict["bytes"] = bytes_of(Path(verdict["path"]))
        yield verdict


def _to_verify(path: Path) -> list[Path]:
    if not is_there(path):
        raise Error("there is nothing to verify", path, "give a plot file, a checkpoint or the folder of a run")
    if format_of(path):
        return [path]
    if not is_run(path):
        raise unknown(path)
    found = [output.path for output in all_outputs_in(path)]
    if not found:
        raise Error(
            "the run has written neither plot files nor checkpoints",
            path,
            hint="set `output.checkpoint = { every = 50 }` to have some",
        )
    return found
