"""Faults at a random call on the files of a run, those on disks of nodes among them: kills, torn and short writes,
signals, a full or broken disk."""

from __future__ import annotations

import json
import random
from pathlib import Path

from ..error import Error
from .disks import FOLDER
from .jobs import Ended
from .layer import under_layer
from .small_runs import SUBJECTS
from .subjects import RUN, Subject, Whole, first_words, go_on, on_any_subject
from .trial import Failure, Kind, Trial

KILLS = ("kill", "torn")
ERRORS = ("enospc", "eio", "edquot")
HARMLESS = ("short", "eintr")


def places_of(subject: Subject) -> tuple[str, ...]:
    """What the paths of its files hold: of those in the folder of the run, and on disks of nodes."""
    return (f"/{RUN}", f"/{FOLDER}") if subject.nodes > 0 else (f"/{RUN}",)


class Calls:
    """How many calls each rank of an undisturbed run makes; counted when first asked for."""

    def __init__(self, shared: Path) -> None:
        self._shared = shared
        self._known: dict[tuple[str, str], list[int]] = {}

    def draw(self, undisturbed: Whole, place: str, numbers: random.Random) -> tuple[int, int]:
        """A rank, and one of its calls on files of a place."""
        key = undisturbed.subject.name, place
        if key not in self._known:
            self._known[key] = _count(undisturbed, place, self._shared / "counted" / "_".join(key).replace("/", "_"))
        counts = self._known[key]
        rank = numbers.choice([rank for rank, count in enumerate(counts) if count])
        return rank, numbers.randint(1, counts[rank])


def _count(undisturbed: Whole, place: str, folder: Path) -> list[int]:
    folder.mkdir(parents=True)
    ended = undisturbed.run(folder, before=under_calls(place, {"SIDESTREAM_IO_COUNT": str(folder / "count")}))
    if ended.code != 0:
        raise Error(f"the run whose calls are counted failed:\n{ended.said}", folder)
    reports = [folder / f"count.{rank}.json" for rank in range(undisturbed.subject.ranks)]
    return [int(json.loads(path.read_text())["matching_calls"]) if path.exists() else 0 for path in reports]


def under_calls(place: str, settings: dict[str, str]) -> list[str]:
    """The command that puts the layer below the calls of a program on files of a place."""
    return under_layer({"SIDESTREAM_IO_PATH": place, "SIDESTREAM_IO_CALLS": "all"} | settings)


def _prepare(shared: Path) -> Trial:
    calls = Calls(shared)

    def trial(undisturbed: Whole, numbers: random.Random, folder: Path) -> str:
        place = numbers.choice(places_of(undisturbed.subject))
        rank, call = calls.draw(undisturbed, place, numbers)
        fault = numbers.choice(KILLS + ERRORS + HARMLESS)
        at = f"{call}+" if fault in ERRORS and numbers.random() < 0.5 else str(call)
        settings = {"SIDESTREAM_IO_FAULT": fault, "SIDESTREAM_IO_FAULT_AT": at, "SIDESTREAM_IO_RANK": str(rank)}
        ended = undisturbed.run(folder, before=under_calls(place, settings))
        try:
            return f"{fault}: {_judge(undisturbed, fault, ended, folder)}"
        except Failure as failure:
            name = undisturbed.subject.name
            raise Failure(f"{name}: {fault} of rank {rank} at call {at} on {place}: {failure}") from failure

    return on_any_subject(SUBJECTS, trial)(shared)


def _judge(undisturbed: Whole, fault: str, ended: Ended, folder: Path) -> str:
    has_told = undisturbed.has_told(ended)
    if fault in HARMLESS and (ended.code != 0 or has_told):
        raise Failure(f"it is no reason to fail: {first_words(ended.said)}")
    if ended.code == 0 and not has_told:
        undisturbed.expect_same(folder)
        return "the run ended as ever"
    if fault in ERRORS and not has_told:
        raise Failure(f"nothing is told of it: {first_words(ended.said)}")
    return go_on(undisturbed, folder)


calls = Kind(
    "calls",
    "one call on a file of the run, or of what it stages on disks of nodes (to open, write, cut, bring to the disk, "
    "close, rename or remove it), or all from one on, kill the rank (before or amid a write) or find no room, no quota "
    "or a broken disk: it is told, the newest checkpoint that is committed or staged comes back, and the end is the "
    "same to the bit; or one call is interrupted by a signal or writes less, which makes no difference",
    300,
    _prepare,
)
