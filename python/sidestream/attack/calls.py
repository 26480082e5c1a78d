"""Faults at a random call on the files of a run: kills, torn and short writes, a full disk, errors of the disk."""

from __future__ import annotations

import json
import random
from pathlib import Path

from ..error import Error
from ..launch.launcher import find_program
from .subjects import RUN, SUBJECTS, Whole, first_words, go_on, on_any_subject
from .trial import Failure, Kind, Trial

LAYER = "libsidestream_io_layer.so"
KILLS = ("kill", "torn")
ERRORS = ("enospc", "eio", "edquot", "short")


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
    """The command that puts the layer between a program and the system's file calls."""
    layer = find_program().parent / LAYER
    if not layer.exists():
        raise Error(f"`{LAYER}` is missing, which lets calls on files fail", layer.parent, "install the package again")
    variables = {"LD_PRELOAD": str(layer), "SIDESTREAM_IO_PATH": f"/{RUN}", "SIDESTREAM_IO_CALLS": "all"} | settings
    return ["env", *(f"{name}={value}" for name, value in variables.items())]


def _fail_at_a_call(undisturbed: Whole, calls: list[int], numbers: random.Random, folder: Path) -> str:
    rank = numbers.choice([rank for rank, count in enumerate(calls) if count])
    fault, call = numbers.choice(KILLS + ERRORS), numbers.randint(1, calls[rank])
    at = f"{call}+" if fault in ERRORS and numbers.random() < 0.5 else str(call)
    settings = {"SIDESTREAM_IO_FAULT": fault, "SIDESTREAM_IO_FAULT_AT": at, "SIDESTREAM_IO_RANK": str(rank)}
    ended = undisturbed.run(folder, before=_layer(settings))
    try:
        if ended.code == 0:
            undisturbed.expect_same(folder)
            return f"{fault}: the run ended as ever"
    except Failure as failure:
        if "warning: " not in ended.said:
            raise Failure(f"{fault} of rank {rank} at call {at}, and nothing is told of it: {failure}") from failure
    if fault in ERRORS and "error: " not in ended.said and "warning: " not in ended.said:
        raise Failure(f"{fault} of rank {rank} at call {at}: {first_words(ended.said)}")
    try:
        return f"{fault}: {go_on(undisturbed, folder)}"
    except Failure as failure:
        raise Failure(f"{fault} of rank {rank} at call {at}: {failure}") from failure


calls = Kind(
    "calls",
    "one call on a file of the run, or all from one on, kill the rank (before or in the middle of the write), find no "
    "room, no quota or a broken disk, or write less; it is told, the newest committed checkpoint comes back, and the "
    "end is the same to the bit",
    300,
    _prepare,
)
