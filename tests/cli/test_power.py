"""The power fails at any moment of a run that writes checkpoints and results: the order in which they are brought to
the disk is recorded from the run, and what may be left is made from the record.

The moments are the ends of all calls on files. At each of them every call that is not on the disk for sure is missing
once, every write is torn at each edge of a page, the last call is there before each of those before it, and of all
such calls a random subset is there: some hundreds of them, and ten thousand in the slow tests.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from configs import universe
from sidestream.attack.disk import Disk, Sync
from sidestream.attack.disks import FOLDER
from sidestream.attack.power import Promise, final_paths, newest_in, record
from sidestream.attack.small_runs import STAGING
from sidestream.attack.subjects import RUN, Subject, Whole
from sidestream.runs.events import read_events

LAST_STEP = 3
CONFIG = (
    universe(steps=LAST_STEP, box="8 Mpc", seed=3)
    + """[task.spectra]
analysis = "power_spectrum"
every = 1

[output]
plotfile = { format = "raw", every = 2 }
checkpoint = { format = "FORMAT", every = 1, keep = 1 }
"""
)
RANKS = {"sidestream": 2, "raw": 3, "files": 3, "nyx": 2, "enzo": 2, "enzo-hdf5": 1, "flash-netcdf": 2}


def formats(*quick: str) -> list[object]:
    """All of them, those that are not quick for the slow tests."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in RANKS]


@dataclass(frozen=True)
class Recorded:
    """A run, what it did to its files, and what has to hold for them."""

    run: Whole
    disk: Disk
    promise: Promise


@pytest.fixture(scope="module", params=formats("sidestream", "files"))
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("power")
    subject = Subject(request.param, CONFIG.replace("FORMAT", request.param), 1, RANKS[request.param])
    run = Whole(subject)
    disk = record(run, folder / "recorded")
    promise = Promise(disk, folder)
    yield Recorded(run, disk, promise)
    promise.close()


def test_whatever_is_missing_the_old_or_the_new_checkpoint_is_there_complete(recorded: Recorded) -> None:
    disk, promise = recorded.disk, recorded.promise
    came_back = set()
    for moment in promise.moments(disk):
        for applied in disk.states(moment):
            assert promise.broken(disk, moment, applied) == ""
            came_back.add((promise.told(moment), newest_in(final_paths(disk.state(applied)))))

    steps = range(LAST_STEP + 1)
    assert {(step, step) for step in steps} < came_back  # before and after it was told
    assert came_back <= {(told, newest) for told in steps for newest in (told, told + 1)}


@pytest.mark.parametrize("subsets", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_whatever_random_part_is_missing_the_old_or_the_new_checkpoint_is_there_complete(
    recorded: Recorded, subsets: int
) -> None:
    disk, promise, numbers = recorded.disk, recorded.promise, random.Random(subsets)
    drawn = set()
    while len(drawn) < subsets:
        drawn.add(disk.draw(numbers))

    assert {problem for moment, applied in drawn if (problem := promise.broken(disk, moment, applied))} == set()


@pytest.mark.parametrize("restarts", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_restart_goes_on_from_the_newest_committed_checkpoint_to_the_same_end(
    recorded: Recorded, restarts: int, tmp_path: Path
) -> None:
    disk, numbers = recorded.disk, random.Random(restarts)
    for number in range(restarts):
        folder = tmp_path / str(number)
        folder.mkdir()
        moment, applied = disk.draw(numbers)
        while recorded.promise.told(moment) == 0:
            moment, applied = disk.draw(numbers)
        state = disk.state(applied)
        state.write(RUN, folder / RUN)

        ended = recorded.run.run(folder, "--restart")

        assert ended.code == 0, ended.said
        came_back = read_events(folder / RUN).last("restart")["step"]
        assert came_back == newest_in(final_paths(state)) >= recorded.promise.told(moment)
        assert recorded.promise.differing(folder) == []


@pytest.mark.parametrize("subsets", [400, pytest.param(4_000, marks=pytest.mark.slow)])
def test_whatever_is_missing_what_was_told_to_be_staged_is_there(subsets: int, tmp_path: Path) -> None:
    """Its note, and all parts that it names, or the checkpoint that was written from them."""
    disk = record(Whole(STAGING[0]), tmp_path)
    told = [
        (call.end, json.loads(line)["step"])
        for call in disk.calls
        for line in (call.data.splitlines() if b'"checkpoint_staged"' in call.data else [])
        if b'"checkpoint_staged"' in line
    ]
    assert told
    numbers, after = random.Random(subsets), 0
    for _ in range(subsets):
        moment, applied = disk.draw(numbers)
        step = max((step for end, step in told if end <= moment), default=0)
        if step == 0:
            continue
        after += 1
        state = disk.state(applied)
        committed = newest_in(final_paths(state))
        notes = [path for path in state.glob(f"{RUN}/pending/[!.]*.staged") if f"{step:05}" in path]
        parts = state.glob(f"{FOLDER}/*/sidestream-*/chk{step:05}*/*-0*.raw")
        assert committed >= step or (notes and len(parts) == 4), f"{step} of {committed}: {notes}, {parts}"
    assert after > subsets / 4


# The folder of pending checkpoints is brought to the disk for those who look for one there. The first fsync of a
# result's folder is made up for by the next one, before the first checkpoint is committed.
NEEDLESS = {"run/pending"}


@pytest.mark.parametrize("recorded", formats("sidestream"), indirect=True, scope="module")
def test_every_fsync_is_needed(recorded: Recorded) -> None:
    """Left out in turn."""
    disk, promise = recorded.disk, recorded.promise
    needed: dict[str, list[bool]] = {}
    for sync in disk.syncs:
        needed.setdefault(re.sub(r"\d+", "N", sync.path), []).append(is_broken(disk.without(sync), promise, sync))

    assert {name for name, are_needed in needed.items() if not any(are_needed)} == NEEDLESS, needed


def is_broken(disk: Disk, promise: Promise, since: Sync) -> bool:
    """Whether the promise does not hold for a state after a moment."""
    later = (moment for moment in promise.moments(disk) if moment >= since.begin)
    return any(promise.broken(disk, moment, applied) for moment in later for applied in disk.states(moment))
