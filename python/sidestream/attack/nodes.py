"""Nodes that are lost with their disks, and parts that are damaged there, while checkpoints are staged."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from .calls import KILLS, Calls, places_of, under_calls
from .damage import do_damage
from .disks import Staged, disks_in, staged_in
from .small_runs import STAGING
from .subjects import RUN, Whole, go_on, on_any_subject
from .trial import Failure, Kind, Trial

AGAIN = 0.3  # the share of trials in which the restart is killed too
WHILE_STAGED = 0.6  # of those in which the kill falls on what is written from the parts, or on the commit
PENDING = f"/{RUN}/pending/"


def _prepare(shared: Path) -> Trial:
    calls = Calls(shared)

    def trial(undisturbed: Whole, numbers: random.Random, folder: Path) -> str:
        killed = _kill(undisturbed, calls, numbers, folder)
        if not (folder / RUN).exists():
            return "before the folder was made"
        harm = numbers.choice(sorted(HARMS))
        damaged = HARMS[harm](folder, next(staged_in(folder / RUN), None), numbers)
        try:
            if numbers.random() < AGAIN:
                killed += "; " + _kill(undisturbed, calls, numbers, folder, "--restart")
            return f"{harm}: {go_on(undisturbed, folder, damaged=frozenset(damaged))}"
        except Failure as failure:
            name = undisturbed.subject.name
            raise Failure(f"{name}: {killed}; {harm} ({', '.join(map(str, damaged))}): {failure}") from failure

    return on_any_subject(STAGING, trial)(shared)


def _kill(undisturbed: Whole, calls: Calls, numbers: random.Random, folder: Path, *words: str) -> str:
    """Kills a rank at one of its calls, or at none where it makes fewer; what was killed."""
    place = PENDING if numbers.random() < WHILE_STAGED else numbers.choice(places_of(undisturbed.subject))
    rank, call = calls.draw(undisturbed, place, numbers)
    fault = numbers.choice(KILLS)
    settings = {"SIDESTREAM_IO_FAULT": fault, "SIDESTREAM_IO_FAULT_AT": str(call), "SIDESTREAM_IO_RANK": str(rank)}
    undisturbed.run(folder, *words, before=under_calls(place, settings), name=f"killed{''.join(words)}")
    return f"{fault} of rank {rank} at call {call} on {place}"


def _lose_nodes(count: int, folder: Path, numbers: random.Random) -> list[Path]:
    """Empties disks; what was on them is gone, not damaged."""
    for disk in numbers.sample(disks_in(folder), count):
        shutil.rmtree(disk)
        disk.mkdir()
    return []


def _damage_part(which: Sequence[int], folder: Path, staged: Staged | None, numbers: random.Random) -> list[Path]:
    """Damages a part (0), its copy (1) or both, so that what is not seen is not wrong either."""
    if staged is None:
        return []
    files = staged.files(folder, numbers.choice(staged.parts))
    damaged = [files[number] for number in which if number < len(files)]
    for file in damaged:
        if len(damaged) > 1:
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        else:
            do_damage(file, numbers)
    return damaged


HARMS: dict[str, Callable[[Path, Staged | None, random.Random], list[Path]]] = {
    "nothing is lost": lambda _folder, _staged, _numbers: [],
    "a node is lost": lambda folder, _, numbers: _lose_nodes(1, folder, numbers),
    "two nodes are lost": lambda folder, _, numbers: _lose_nodes(2, folder, numbers),
    "a part is damaged": lambda folder, staged, numbers: _damage_part([0], folder, staged, numbers),
    "a copy is damaged": lambda folder, staged, numbers: _damage_part([1], folder, staged, numbers),
    "a part and its copy are damaged": lambda folder, staged, numbers: _damage_part([0, 1], folder, staged, numbers),
}

nodes = Kind(
    "nodes",
    "a rank of a run that stages its files on disks of nodes is killed at a random call, and so is some restart; "
    "then one or two disks are lost, or a part, its copy or both are damaged: the newest checkpoint comes back that is "
    "committed, or staged with a whole part or copy of each rank, and the end is the same to the bit",
    300,
    _prepare,
)
