"""The power fails: of what a run has written and not brought to the disk, those of nodes among them, any part may be
missing."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..error import Error
from .answers import Answers
from .disk import Applied, Disk, State
from .disks import FOLDER, NOTE, disks_in
from .layer import under_layer
from .record import Call, read_record
from .small_runs import SUBJECTS
from .subjects import RUN, Whole, go_on, on_any_subject
from .trial import Failure, Kind, Trial

FILES = "files"  # the folder of the run that is recorded
NUMBERED = "[!.]*[0-9][0-9][0-9][0-9]*"  # checkpoints and plot files of every format
FINAL = ("config.toml", NUMBERED, f"pending/{NUMBERED}", "results/*/*.nc")  # names that only what is complete may have
APART = ("events", ".lock")  # how names in a run begin on whose content no restart relies


def record(undisturbed: Whole, folder: Path) -> Disk:
    """Runs a subject in an empty folder and records what it does to its files.

    Raises:
        Error: the run fails, or what was recorded does not make the files that are there.
    """
    here = folder / FILES
    here.mkdir(parents=True)
    layer = under_layer({"SIDESTREAM_IO_PATH": str(here), "SIDESTREAM_IO_RECORD": str(folder / "record")})
    ended = undisturbed.run(here, before=layer)
    if ended.code != 0:
        raise Error(f"the run that is recorded failed:\n{ended.said}", folder)
    calls = [*_disks_made(here), *(call for call in read_record(folder / "record") if _is_of_the_run(call.path, here))]
    disk = Disk(here, calls, lambda path: path.startswith(tuple(f"{RUN}/{name}" for name in APART)))
    disk.state(disk.issued(calls[-1].end)).write(RUN, folder / "replayed")
    if (wrong := _differing(folder / "replayed", here / RUN)) != []:
        raise Error(f"the record does not make these files as they are: {', '.join(wrong)}", folder)
    return disk


def _is_of_the_run(path: str, folder: Path) -> bool:
    """Whether it is below the folder of the run or the disks of nodes, or the folder that these are in."""
    here = [str(folder / name) for name in (RUN, FOLDER)]
    return path in (str(folder), *here) or path.startswith(tuple(f"{each}/" for each in here))


def _disks_made(folder: Path) -> list[Call]:
    """Disks of nodes are there before a run begins."""
    made = [folder / FOLDER, *disks_in(folder)] if disks_in(folder) else []
    return [
        Call(0, 0, kind, str(path), "", False, 0, 0, b"")
        for kind, paths in (("make", made), ("sync", [folder, *made]))
        for path in paths
    ]


def _differing(one: Path, other: Path) -> list[str]:
    def contents(folder: Path) -> dict[str, bytes | None]:
        return {
            str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
        }

    ours, theirs = contents(one), contents(other)
    return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name, b"-") != theirs.get(name, b"-"))


class Promise:
    """What has to hold for whatever is on the disk when the power fails.

    What has a final name is complete, to the bit; the newest checkpoint is none older than the newest that the event
    log had told of; and the results and plot files of before it are there.

    Args:
        disk: of a run that was recorded.
        scratch: a folder for files that are read.
    """

    def __init__(self, disk: Disk, scratch: Path) -> None:
        self._scratch = scratch
        self._reader = Answers([sys.executable, "-m", "sidestream.attack.reader"], os.environ, scratch / "reader.txt")
        self._answers: dict[tuple[str, object], str] = {}
        self._judged: dict[object, str] = {}
        self._told = list(_commits_told(disk))
        self.whole = self._all_that_comes_to_be(disk)
        self._last = final_paths(disk.state(disk.issued(disk.moments()[-1])))

    def broken(self, disk: Disk, moment: int, applied: Applied) -> str:
        """In which way it does not hold for a state after a moment; nothing if it does."""
        state, told = disk.state(applied), self.told(moment)
        final = {path: state.signature(path) for path in final_paths(state)}
        key = (told, tuple(final.items()))
        if key not in self._judged:
            self._judged[key] = self._judge(state, final, told)
        return self._judged[key]

    def moments(self, disk: Disk) -> list[int]:
        """When something may change of what has to hold, ns: the ends of calls on files, and of words in the log."""
        return sorted({*disk.moments(), *(end for end, _ in self._told)})

    def told(self, moment: int) -> int:
        """The step of the newest checkpoint of which the log told that it is committed; 0 before there is one."""
        return max((step for end, step in self._told if end <= moment), default=0)

    def differing(self, folder: Path) -> list[str]:
        """What was there at the end of the run that was recorded, and is not there in a folder or is read otherwise."""
        return [path for path in self._last if self._ask(folder / path) != self.whole[path]]

    @property
    def distinct(self) -> int:
        """How many states were judged that differ in what counts."""
        return len(self._judged)

    def close(self) -> None:
        """Ends the reader."""
        self._reader.close()

    def _judge(self, state: State, final: dict[str, object], told: int) -> str:
        for path, signature in final.items():
            if self._answer(state, path, signature) != self.whole.get(path):
                return f"{path} is not complete: {self._answer(state, path, signature)}"
        newest = newest_in(final)
        if newest < told:
            return f"checkpoint {told} was told of, and the newest is {newest or 'not there'}"
        missing = [path for path in self.whole if newest and path not in final and _is_output(path, newest)]
        return f"checkpoint {newest} is there without {', '.join(sorted(missing))}" if missing else ""

    def _answer(self, state: State, path: str, signature: object) -> str:
        """The digest of what is read from a file, or why it is refused."""
        if (path, signature) not in self._answers:
            copy = self._scratch / Path(path).name
            state.write(path, copy)
            self._answers[path, signature] = self._ask(copy)
            shutil.rmtree(copy) if copy.is_dir() else copy.unlink()
        return self._answers[path, signature]

    def _ask(self, path: Path) -> str:
        if path.suffix == ".toml":
            return hashlib.sha256(path.read_bytes()).hexdigest()
        answer = self._reader.ask(str(path))
        return str(answer.get("digest") or answer["refused"])

    def _all_that_comes_to_be(self, disk: Disk) -> dict[str, str]:
        """The digests of all that has a final name at some time, when it gets it."""
        whole: dict[str, str] = {}
        for moment in disk.moments():
            state = disk.state(disk.issued(moment))
            for path in final_paths(state):
                whole.setdefault(path, self._answer(state, path, state.signature(path)))
        if refused := [f"{path}: {told}" for path, told in whole.items() if not re.fullmatch("[0-9a-f]{64}", told)]:
            raise Failure("; ".join(refused))
        return whole


def newest_in(paths: Iterable[str]) -> int:
    """The step of the newest committed checkpoint among paths of a run; 0 where there is none."""
    return max(map(_step_of, filter(_is_committed, paths)), default=0)


def final_paths(state: State) -> list[str]:
    """What has a name in the run that only what is complete may have."""
    return [path for pattern in FINAL for path in state.glob(f"{RUN}/{pattern}") if not path.endswith(NOTE)]


def _is_committed(path: str) -> bool:
    """Whether it is a checkpoint that counts."""
    return str(Path(path).parent) == RUN and not path.startswith((f"{RUN}/plt", f"{RUN}/config"))


def _is_output(path: str, step: int) -> bool:
    """Whether it is a result or plot file up to a step."""
    return (path.startswith(f"{RUN}/results/") or Path(path).name.startswith("plt")) and _step_of(path) <= step


def _step_of(path: str) -> int:
    return int(re.findall(r"\d{4,}", Path(path).name)[-1])


def _commits_told(disk: Disk) -> Iterator[tuple[int, int]]:
    """When the event log told of a commit, ns, and of which step."""
    for call in disk.calls:
        if call.kind == "write" and b'"checkpoint_committed"' in call.data:
            for line in call.data.splitlines():
                event = json.loads(line)
                if event["event"] == "checkpoint_committed":
                    yield call.end, int(event["step"])


def _prepare(shared: Path) -> Trial:
    known: dict[str, tuple[Disk, Promise]] = {}

    def trial(undisturbed: Whole, numbers: random.Random, folder: Path) -> str:
        name = undisturbed.subject.name.replace(" ", "_")
        if name not in known:
            disk = record(undisturbed, shared / "recorded" / name)
            known[name] = disk, Promise(disk, shared / "recorded" / name)
        return _fail(undisturbed, *known[name], numbers, folder, shared / "recorded" / name / FILES)

    return on_any_subject(SUBJECTS, trial)(shared)


def _fail(undisturbed: Whole, disk: Disk, promise: Promise, numbers: random.Random, folder: Path, place: Path) -> str:
    """Goes on in the very place of the run that was recorded: what is staged is found by the path of its run."""
    moment, applied = disk.draw(numbers)
    if problem := promise.broken(disk, moment, applied):
        raise Failure(problem)
    shutil.rmtree(place)
    disk.state(applied).write("", place)
    try:
        return go_on(undisturbed, place)
    except Failure:
        shutil.copytree(place, folder / FILES)
        raise


power = Kind(
    "power",
    "the power fails at a random moment, and a random part of what was written and not yet brought to the disk is "
    "missing; what has a final name is complete, the newest checkpoint that is committed or staged comes back, and the "
    "end is the same to the bit",
    300,
    _prepare,
)
