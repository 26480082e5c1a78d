"""Faults at a random call on the files of a run: kills, torn and short writes, signals, a full or broken disk."""

from __future__ import annotations

import json
import random
from pathlib import Path

from ..error import Error
from .jobs import Ended
from .layer import under_layer
from .subjects import RUN, SUBJECTS, Whole, first_words, go_on, on_any_subject
from .trial import Failure, Kind, Trial

KILLS = ("kill", "torn")
ERRORS = ("enospc", "eio", "edquot")
HARMLESS = ("short", "eintr")


def _prepare(shared: Path) -> Trial:
    calls_of: dict[str, list[int]] = {}

    def trial(undisturbed: Whole, numbers: random.Random, folder: Path) -> str:
        name = undisturbed.subject.name
        if name not in calls_of:
            calls_of[name] = _calls(undisturbed, shared / "counted" / name.replace(" ", "_"))
        return _fail_at_a_call(undisturbed, calls_of[name], numbers, folder)

    return on_any_subject(SUBJECTS, trial)(shared)


def _calls(undisturbed: Whole, folder: Path) -> list[int]:
    """How many calls on files of the run each rank makes; 0 of one that makes none."""
    folder.mkdir(parents=True)
    ended = undisturbed.run(folder, before=_layer({"SIDESTREAM_IO_COUNT": str(folder / "count")}))
    if ended.code != 0:
        raise Error(f"the run whose calls are counted failed:\n{ended.said}", folder)
    reports = [folder / f"count.{rank}.json" for rank in range(undisturbed.subject.ranks)]
    return [int(json.loads(path.read_text())["matching_calls"]) if path.exists() else 0 for path in reports]


def _layer(settings: dict[str, str]) -> list[str]:
    return under_layer({"SIDESTREAM_IO_PATH": f"/{RUN}", "SIDESTREAM_IO_CALLS": "all"} | settings)


def _fail_at_a_call(undisturbed: Whole, calls: list[int], numbers: random.Random, folder: Path) -> str:
    rank = numbers.choice([rank for rank, count in enumerate(calls) if count])
    fault, call = numbers.choice(KILLS + ERRORS + HARMLESS), numbers.randint(1, calls[rank])
    at = f"{call}+" if fault in ERRORS and numbers.random() < 0.5 else str(call)
    settings = {"SIDESTREAM_IO_FAULT": fault, "SIDESTREAM_IO_FAULT_AT": at, "SIDESTREAM_IO_RANK": str(rank)}
    ended = undisturbed.run(folder, before=_layer(settings))
    try:
        return f"{fault}: {_judge(undisturbed, fault, ended, folder)}"
    except Failure as failure:
        raise Failure(f"{fault} of rank {rank} at call {at}: {failure}") from failure


def _judge(undisturbed: Whole, fault: str, ended: Ended, folder: Path) -> str:
    has_told = "error: " in ended.said or "warning: " in ended.said
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
    "one call on a file of the run (to open, write, cut, bring to the disk, close, rename or remove it), or all from "
    "one on, kill the rank (before or amid a write) or find no room, no quota or a broken disk: it is told, the newest "
    "committed checkpoint comes back, and the end is the same to the bit; or one call is interrupted by a signal or "
    "writes less, which makes no difference",
    300,
    _prepare,
)
