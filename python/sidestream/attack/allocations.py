"""Allocations of an analysis that are refused, one or all from one on: it is reported and left out."""

from __future__ import annotations

import json
import random
from collections.abc import Set
from pathlib import Path

from ..error import Error
from ..runs.events import read_events
from .jobs import Ended
from .layer import MEMORY, under_layer
from .small_runs import COSMOLOGY, TURBULENCE
from .subjects import RUN, Subject, Whole, first_words, go_on, on_any_subject
from .trial import Failure, Kind, Trial

TIMEOUT_S = 10  # after which ranks say that another one has left an analysis

TASKS = """[heating]
uv_background = "fg20"

[task.halos]
analysis = "halos"
t_boundary = "1.02 mean"
t_halo = "1.05 mean"
every = 1

[task.pdf]
analysis = "pdf"
every = 1

[task.gimlet]
analysis = "gimlet"
every = 1

[task.projection]
analysis = "projection"
every = 1

[output]
"""
DIFFERENCES = """[task.differences]
analysis = "structure_functions"
grid = "space"
every = 1

[output]
"""


def _subjects() -> tuple[Subject, ...]:
    # So late that light comes through the gas, and so smooth that it may begin there.
    universe = COSMOLOGY.replace("seed = 3\n", "seed = 3\nsigma8 = 0.1\nz_start = 3\n")
    universe = universe.replace("[output]\n", TASKS)
    flow = TURBULENCE.replace("every = 4\n\n", "every = 1\n\n").replace("[output]\n", DIFFERENCES)
    found = []
    for ranks in (1, 2):
        for transport, sidecars in (("in-situ", 0), ("async", 0), ("in-transit", ranks)):
            for name, config, interval in (("cosmology", universe, 2), ("turbulence", flow, 4)):
                config = config.replace("every = 1\n", f'every = 1\ntransport = "{transport}"\n')
                config += f'\n[coupling]\nsidecars = {sidecars}\ntimeout = "{TIMEOUT_S} s"\n'
                title = f"{name} {transport} on {ranks}"
                found.append(Subject(title, config, interval, max(ranks, 2 * sidecars), sidecars))
    return tuple(found)


def _prepare(shared: Path) -> Trial:
    counts: dict[str, list[int]] = {}

    def trial(undisturbed: Whole, numbers: random.Random, folder: Path) -> str:
        name = undisturbed.subject.name
        if name not in counts:
            counts[name] = _counts(undisturbed, shared / "counted" / name.replace(" ", "_"))
        if _analysing(undisturbed.subject) == 1 and numbers.random() < 0.5:
            return refuse_time_and_again(undisturbed, numbers, folder)
        return _refuse_once(undisturbed, counts[name], numbers, folder)

    return on_any_subject(SUBJECTS, trial)(shared)


def _analysing(subject: Subject) -> int:
    """The ranks that an analysis has."""
    return subject.sidecars or subject.ranks


def _counts(undisturbed: Whole, folder: Path) -> list[int]:
    """How many allocations the analyses of each rank make."""
    folder.mkdir(parents=True)
    ended = undisturbed.run(folder, before=_layer(folder, {"SIDESTREAM_MEMORY_OF": "all"}))
    if ended.code != 0:
        raise Error(f"the run whose allocations are counted failed:\n{ended.said}", folder)
    return [_told(folder, rank)["counted"] for rank in range(undisturbed.subject.ranks)]


def _layer(folder: Path, settings: dict[str, str]) -> list[str]:
    return under_layer({"SIDESTREAM_MEMORY_COUNT": str(folder / "count")} | settings, MEMORY)


def _told(folder: Path, rank: int) -> dict[str, int]:
    told: dict[str, int] = json.loads((folder / f"count.{rank}.json").read_text())
    return told


def refuse_time_and_again(undisturbed: Whole, numbers: random.Random, folder: Path) -> str:
    """Refuses memory to each analysis at every second moment; those between have to be whole.

    Raises:
        Failure: one is not told of, what is told to be there is not, or no analysis was hit.
    """
    settings = {"SIDESTREAM_MEMORY_OF": "program", "SIDESTREAM_MEMORY_SEED": str(numbers.randrange(1 << 31))}
    ended = undisturbed.run(folder, before=_layer(folder, settings))
    if not _has_ended_in_order(folder):
        raise Failure(f"one rank that analyses cannot survive it: code {ended.code}, {first_words(ended.said)}")
    lost = _lost(folder)
    undisturbed.expect_same(folder, lost)
    expect_told(ended, lost)
    times = sum(_told(folder, rank)["times"] for rank in range(undisturbed.subject.ranks))
    if not 0 < len(lost) <= times:
        raise Failure(f"{times} times memory was refused, and {len(lost)} results are lost")
    return "at every second moment: left out and told"


def _refuse_once(undisturbed: Whole, counts: list[int], numbers: random.Random, folder: Path) -> str:
    rank = numbers.choice([rank for rank, count in enumerate(counts) if count])
    of = numbers.choice(("program", "all"))
    at = f"{numbers.randint(1, counts[rank])}{numbers.choice(('', '+'))}"
    settings = {"SIDESTREAM_MEMORY_OF": of, "SIDESTREAM_MEMORY_AT": at, "SIDESTREAM_MEMORY_RANK": str(rank)}
    ended = undisturbed.run(folder, before=_layer(folder, settings))
    try:
        if of == "program" and _analysing(undisturbed.subject) == 1 and not _has_ended_in_order(folder):
            raise Failure(f"one rank that analyses cannot survive it: code {ended.code}, {first_words(ended.said)}")
        return f"once, or from then on: {_judge(undisturbed, ended, folder)}"
    except Failure as failure:
        raise Failure(f"{undisturbed.subject.name}, {of} {at} of rank {rank}: {failure}") from failure


def _judge(undisturbed: Whole, ended: Ended, folder: Path) -> str:
    lost = _lost(folder)
    if _has_ended_in_order(folder):
        undisturbed.expect_same(folder, lost)
        expect_told(ended, lost)
        return "left out and told" if lost else "the run ended as ever"
    if "error: " not in ended.said or not any(words in ended.said for words in ("task `", "tasks `")):
        raise Failure(f"code {ended.code}, and no sentence names the analysis: {first_words(ended.said)}")
    return f"the run ended with a sentence; {go_on(undisturbed, folder, lost)}"


def _has_ended_in_order(folder: Path) -> bool:
    return bool(read_events(folder / RUN).of("run_end"))


def _lost(folder: Path) -> set[str]:
    """The results that the run says it could not make."""
    failed = read_events(folder / RUN).of("analysis_failed")
    return {f"{event['task']}/{int(event['step']):05d}.nc" for event in failed}


def expect_told(ended: Ended, lost: Set[str]) -> None:
    """Raises `Failure` unless the exit code and the words of a run tell of what it has lost."""
    if (ended.code == 0) != (not lost) or any(f"task `{name.partition('/')[0]}`" not in ended.said for name in lost):
        raise Failure(f"code {ended.code}, and not all that is lost is told of: {first_words(ended.said)}")


SUBJECTS = _subjects()

allocations = Kind(
    "allocations",
    "an allocation of an analysis, or all from one on, is refused: it is reported and left out, and the state and all "
    "other results are the same to the bit; or, where a library or the other ranks do not bear it, a sentence names "
    "the analysis, and a restart makes the same",
    1000,
    _prepare,
)
