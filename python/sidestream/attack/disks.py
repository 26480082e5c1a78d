"""Disks of nodes, each a folder beside a run, and the checkpoints that are staged there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from .jobs import RANK_VARIABLES

DISK = "NODE_DISK"  # the variable that names that of a rank's node
FOLDER = "disks"
NOTE = ".staged"


def disks_in(folder: Path) -> list[Path]:
    """Those of all nodes, below the folder of a trial."""
    return sorted((folder / FOLDER).glob("*"))


def with_disks(folder: Path, nodes: int) -> list[str]:
    """The command that tells a program the disk of its rank's node; ranks are dealt to nodes in turn."""
    if nodes == 0:
        return []
    for node in range(nodes):
        (folder / FOLDER / str(node)).mkdir(parents=True, exist_ok=True)
    rank = "0"
    for name in reversed(RANK_VARIABLES):
        rank = f"${{{name}:-{rank}}}"
    return ["sh", "-c", f'export {DISK}="$0/$(( {rank} % {nodes} ))"; exec "$@"', str(folder / FOLDER)]


@dataclass(frozen=True)
class Staged:
    """A checkpoint that counts since it is staged.

    Attributes:
        name: that it gets when it is committed.
        folder: its name on each disk.
        parts: the ranks that have written one.
    """

    name: str
    folder: str
    parts: tuple[int, ...]

    def files(self, trial: Path, part: int) -> list[Path]:
        """Where a part lies, and its copy."""
        names = (f"part-{part:05}.raw", f"copy-{part:05}.raw")
        return [
            path
            for name in names
            for disk in disks_in(trial)
            for path in disk.glob(f"sidestream-*/{self.folder}/{name}")
        ]

    def is_whole(self, trial: Path, damaged: Set[Path]) -> bool:
        """Whether each part, or its copy, is there and not damaged."""
        return all(set(self.files(trial, part)) - damaged for part in self.parts)


def staged_in(run: Path) -> Iterator[Staged]:
    """The newest first."""
    for note in sorted(run.glob(f"pending/[!.]*{NOTE}"), reverse=True):
        told = json.loads(json.loads(note.read_text().splitlines()[0])["set"])
        yield Staged(note.name.removesuffix(NOTE), told["name"], tuple(told["parts"]))


def newest_staged(trial: Path, run: Path, damaged: Set[Path]) -> str | None:
    """The name of the newest checkpoint of which all is on disks of nodes, if there is one."""
    return next((staged.name for staged in staged_in(run) if staged.is_whole(trial, damaged)), None)
