"""Small runs whose undisturbed end is known, to the bit."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from ..error import Error
from ..runs.events import read_events
from . import jobs
from .trial import Failure, Trial

CONFIG = "attacked.toml"
RUN = "run"
NOT_OF_THE_STATE = "processor number"  # the ranks that held the blocks of a checkpoint
RECORD = "commit record"  # with a checksum of words, too, which may differ: the configuration

COSMOLOGY = """simulation = "cosmology"

[mesh]
cells = [16, 16, 16]
block = 8

[cosmology]
box = "8 Mpc"
seed = 3

[run]
max_steps = 8

[task.spectra]
analysis = "power_spectrum"
every = 1

[output]
plotfile = { format = "nyx", every = 4 }
checkpoint = { format = "sidestream", every = 2, keep = 2 }
"""

SEDOV = """simulation = "sedov"

[mesh]
cells = [8, 8, 8]
block = 8

[amr]
min_level = 1
max_level = 2

[refine.shock]
criterion = "loehner"
fields = ["pressure"]

[run]
max_steps = 12

[task.density]
analysis = "slice"
fields = ["gas_density"]
every = 2

[output]
checkpoint = { format = "sidestream", every = 3, keep = 2 }
"""

TURBULENCE = """simulation = "turbulence"

[mesh]
cells = [16, 16, 16]
block = 8

[initial]
flow = "random"

[forcing]
kind = "stochastic"

[run]
max_steps = 20

[task.statistics]
analysis = "turbulence"
grid = "space"
every = 4

[output]
checkpoint = { format = "raw", every = 4, keep = 2 }
"""

IN_TRANSIT = COSMOLOGY.replace("every = 1\n", 'every = 1\ntransport = "in-transit"\n') + "\n[coupling]\nsidecars = 1\n"


@dataclass(frozen=True)
class Subject:
    """A configuration and how it is run.

    Attributes:
        interval: steps from a checkpoint to the next.
        ranks: all of them.
        sidecars: how many of these analyse; the last ones.
    """

    name: str
    config: str
    interval: int
    ranks: int = 2
    sidecars: int = 0


SUBJECTS = (
    Subject("cosmology", COSMOLOGY, 2),
    Subject("sedov", SEDOV, 3),
    Subject("turbulence", TURBULENCE, 4),
    Subject("cosmology with a sidecar", IN_TRANSIT, 2, sidecars=1),
)


@dataclass(frozen=True)
class Whole:
    """What a subject leaves when nothing disturbs it.

    Attributes:
        lines: of the log of its events.
        checkpoint: name and numbers of the last one.
        results: the numbers of each, by task and step.
    """

    subject: Subject
    lines: int
    checkpoint: tuple[str, dict[str, bytes]]
    results: dict[str, dict[str, bytes]]

    def command(self, folder: Path, *words: str) -> list[str]:
        """The arguments that run the subject in a folder."""
        (folder / CONFIG).write_text(self.subject.config)
        return [CONFIG, "--quiet", "--out", RUN, *words]

    def run(self, folder: Path, *words: str, before: Sequence[str] = (), name: str = RUN) -> jobs.Ended:
        """Runs the subject to its end."""
        return jobs.run(folder, self.command(folder, *words), self.subject.ranks, before, name)

    def expect_same(self, folder: Path, lost: Set[str] = frozenset()) -> None:
        """Raises `Failure` unless the run in the folder has ended as the undisturbed one did, to the bit.

        Args:
            folder: in which it ran.
            lost: results that it says it could not make.
        """
        run = folder / RUN
        found = checkpoints(run)
        if not found or found[-1].name != self.checkpoint[0]:
            raise Failure(f"the last checkpoint is {_name(found)}, not {self.checkpoint[0]}")
        if state_in(found[-1]) != self.checkpoint[1]:
            raise Failure(f"{self.checkpoint[0]} differs from that of the undisturbed run")
        results = results_in(run)
        names = {name for name in {*results, *self.results} - lost if results.get(name) != self.results.get(name)}
        if names:
            raise Failure(f"results are missing or differ: {', '.join(sorted(names))}")


def whole(subject: Subject, folder: Path) -> Whole:
    """Runs a subject that nothing disturbs.

    Raises:
        Error: it does not end as it should.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ended = Whole(subject, 0, ("", {}), {}).run(folder)
    if ended.code != 0:
        raise Error(f"the undisturbed run of {subject.name} failed:\n{ended.said}", folder)
    last = checkpoints(folder / RUN)[-1]
    return Whole(subject, lines_logged(folder), (last.name, state_in(last)), results_in(folder / RUN))


def on_any_subject(
    subjects: Sequence[Subject], try_one: Callable[[Whole, random.Random, Path], str]
) -> Callable[[Path], Trial]:
    """The `prepare` of a kind whose trials draw one of these subjects; a subject runs undisturbed when first drawn."""

    def prepare(shared: Path) -> Trial:
        known: dict[str, Whole] = {}

        def trial(numbers: random.Random, folder: Path) -> str:
            subject = numbers.choice(subjects)
            if subject.name not in known:
                known[subject.name] = whole(subject, shared / subject.name.replace(" ", "_"))
            return try_one(known[subject.name], numbers, folder)

        return trial

    return prepare


def go_on(undisturbed: Whole, folder: Path, lost: Set[str] = frozenset()) -> str:
    """Restarts what was disturbed. The newest checkpoint that was committed has to come back, and the end be the same.

    Args:
        undisturbed: the end that has to come.
        folder: of what was disturbed.
        lost: results that it said it could not make.

    Returns:
        Which generation came back.
    """
    subject, run = undisturbed.subject, folder / RUN
    newest = newest_committed(run, subject.interval, may_wait=subject.sidecars > 0)
    if newest is None:
        return _begin_again(undisturbed, folder)
    ended = undisturbed.run(folder, "--restart", name="restart")
    if ended.code != 0:
        raise Failure(f"the restart ended with code {ended.code}: {first_words(ended.said)}")
    expect_back(run, newest)
    undisturbed.expect_same(folder, lost)
    return f"checkpoint {step_of(newest):05d} came back"


def newest_committed(run: Path, interval: int, may_wait: bool = False) -> Path | None:
    """The checkpoint that has to come back when a run that was ended somehow goes on.

    Args:
        run: its folder.
        interval: steps from a checkpoint to the next.
        may_wait: whether commits wait for analyses elsewhere.

    Returns:
        None before the first.

    Raises:
        Failure: one that the log tells of is not there, or one that fell due was never committed.
    """
    committed, logged = checkpoints(run), read_events(run)
    told = max((int(event["step"]) for event in logged.of("checkpoint_committed")), default=0)
    there = step_of(committed[-1]) if committed else 0
    if there < told:
        raise Failure(f"the log tells of a committed checkpoint of step {told}, and the newest is of step {there}")
    reached = max((int(event["step"]) for event in logged.of("step")), default=0)
    due = (reached - 1) // interval * interval
    told_why_not = logged.of("checkpoint_failed", "checkpoint_refused", "checkpoint_put_off")
    if not may_wait and there < due and not told_why_not:
        raise Failure(f"step {reached} was reached and the checkpoint of step {due} was never committed")
    return committed[-1] if committed else None


def expect_back(run: Path, newest: Path) -> None:
    """Raises `Failure` unless it was this checkpoint from which a run went on."""
    came_back = Path(str(read_events(run).last("restart").get("path", "nothing"))).name
    if came_back != newest.name:
        raise Failure(f"{came_back} came back, and {newest.name} was committed")


def _begin_again(undisturbed: Whole, folder: Path) -> str:
    ended = undisturbed.run(folder, "--overwrite", name="again")
    if ended.code != 0:
        raise Failure(f"a run anew ended with code {ended.code}: {first_words(ended.said)}")
    undisturbed.expect_same(folder)
    return "before the first checkpoint"


def lines_logged(folder: Path) -> int:
    """How far the run in a folder is, in lines of the log of its events."""
    log = folder / RUN / "events.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def checkpoints(run: Path) -> list[Path]:
    """Those that were committed, the newest last."""
    return sorted(run.glob("chk*"), key=step_of)


def step_of(checkpoint: Path) -> int:
    """The step in the name of a checkpoint."""
    return int(checkpoint.name.removeprefix("chk").partition(".")[0])


def state_in(checkpoint: Path) -> dict[str, bytes]:
    """The numbers in a checkpoint."""
    return {name: numbers for name, numbers in numbers_in(checkpoint).items() if name != NOT_OF_THE_STATE}


def results_in(run: Path) -> dict[str, dict[str, bytes]]:
    """The numbers in all results of a run, by task and file."""
    found = sorted(run.glob("results/*/*.nc"))
    return {str(path.relative_to(run / "results")): numbers_in(path) for path in found}


def numbers_in(path: Path) -> dict[str, bytes]:
    """The numbers of an HDF5 file but those of its commit record, or the bytes of another file or of a folder's."""
    if path.is_dir():
        return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
    if not h5py.is_hdf5(path):
        return {"": path.read_bytes()}
    found: dict[str, bytes] = {}

    def take(name: str, entry: object) -> None:
        if isinstance(entry, h5py.Dataset) and entry.dtype.kind in "iuf" and name != RECORD:
            found[name] = np.asarray(entry[()]).tobytes()

    with h5py.File(path) as file:
        file.visititems(take)
    return found


def first_words(said: str) -> str:
    """The first error in what a run said, or its first lines."""
    lines = said.strip().splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith("error: ")), 0)
    return "\n".join(lines[begin : begin + 3]) or "nothing was said"


def _name(found: Sequence[Path]) -> str:
    return found[-1].name if found else "not there"
