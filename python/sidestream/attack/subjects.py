"""Small runs whose undisturbed end is known, to the bit."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

from ..error import Error
from ..runs.events import read_events
from . import jobs
from .disks import newest_staged, staged_in, with_disks
from .trial import Failure, Trial

CONFIG = "attacked.toml"
RUN = "run"
NOT_OF_THE_STATE = "processor number"  # the ranks that held the blocks of a checkpoint
RECORD = "commit record"  # with a checksum of words, too, which may differ: the configuration
SEALS = "sidestream parts"  # with checksums of such records
WORDS = ("sidestream.json", "sidestream.commit")  # files in folders that keep the configuration, and a checksum of it
CHECKPOINT = re.compile(r"(chk|DDS?|\w+_chk_)\d+\b.*")
PLOT_FILE = re.compile(r"(plt|RD|\w+_plt_cnt_)\d+\b.*")


@dataclass(frozen=True)
class Subject:
    """A configuration and how it is run.

    Attributes:
        interval: steps from a checkpoint to the next.
        ranks: all of them.
        sidecars: how many of these analyse or write; the last ones.
        nodes: on which the ranks are, each with a disk of its own, which `$NODE_DISK` names; 0: none has one.
    """

    name: str
    config: str
    interval: int
    ranks: int = 2
    sidecars: int = 0
    nodes: int = 0

    @property
    def commits_later(self) -> bool:
        """Whether steps may go by from when a checkpoint is due to its commit."""
        return self.sidecars > 0 or self.nodes > 0 or "asynchronous = true" in self.config


@dataclass(frozen=True)
class Whole:
    """What a subject leaves when nothing disturbs it.

    Attributes:
        lines: of the log of its events.
        warnings: what it says all the same.
        checkpoint: name and numbers of the last one.
        results: the numbers of each, by task and step.
        plot_files: the numbers of each.
    """

    subject: Subject
    lines: int = 0
    warnings: Set[str] = frozenset()
    checkpoint: tuple[str, dict[str, bytes]] = ("", {})
    results: dict[str, dict[str, bytes]] = field(default_factory=dict)
    plot_files: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def command(self, folder: Path, *words: str) -> list[str]:
        """The arguments that run the subject in a folder."""
        (folder / CONFIG).write_text(self.subject.config)
        return [CONFIG, "--quiet", "--out", RUN, *words]

    def started(
        self, folder: Path, *words: str, before: Sequence[str] = (), name: str = RUN
    ) -> AbstractContextManager[jobs.Running]:
        """The subject at work, killed at the end."""
        before = [*with_disks(folder, self.subject.nodes), *before]
        return jobs.started(folder, self.command(folder, *words), self.subject.ranks, before, name)

    def run(self, folder: Path, *words: str, before: Sequence[str] = (), name: str = RUN) -> jobs.Ended:
        """Runs the subject to its end."""
        with self.started(folder, *words, before=before, name=name) as running:
            return running.finish()

    def has_told(self, ended: jobs.Ended) -> bool:
        """Whether a run says what the undisturbed one did not."""
        return not complaints_in(ended) <= self.warnings

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
        plots = plot_files_in(run)
        if names := {name for name in {*plots, *self.plot_files} if plots.get(name) != self.plot_files.get(name)}:
            raise Failure(f"plot files are missing or differ: {', '.join(sorted(names))}")


def whole(subject: Subject, folder: Path) -> Whole:
    """Runs a subject that nothing disturbs.

    Raises:
        Error: it does not end as it should.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ended = Whole(subject).run(folder)
    if ended.code != 0:
        raise Error(f"the undisturbed run of {subject.name} failed:\n{ended.said}", folder)
    run = folder / RUN
    last = checkpoints(run)[-1]
    return Whole(
        subject,
        lines_logged(folder),
        complaints_in(ended),
        (last.name, state_in(last)),
        results_in(run),
        plot_files_in(run),
    )


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


def go_on(undisturbed: Whole, folder: Path, lost: Set[str] = frozenset(), damaged: Set[Path] = frozenset()) -> str:
    """Restarts what was disturbed. The newest checkpoint that counts has to come back, and the end be the same.

    Args:
        undisturbed: the end that has to come.
        folder: of what was disturbed.
        lost: results that it said it could not make.
        damaged: files on disks of nodes that are there and not whole.

    Returns:
        Which generation came back.
    """
    subject, run = undisturbed.subject, folder / RUN
    newest = newest_committed(run, subject.interval, subject.commits_later)
    staged = newest_staged(folder, run, damaged)
    comes_back = run / staged if staged and (not newest or step_of(run / staged) > step_of(newest)) else newest
    _expect_what_was_staged(run, newest)
    if comes_back is None:
        return _begin_again(undisturbed, folder)
    ended = undisturbed.run(folder, "--restart", name="restart")
    if ended.code != 0:
        raise Failure(f"the restart ended with code {ended.code}: {first_words(ended.said)}")
    expect_back(run, comes_back)
    undisturbed.expect_same(folder, lost)
    return f"checkpoint {step_of(comes_back):05d} came back{'' if comes_back == newest else ', which was staged'}"


def _expect_what_was_staged(run: Path, newest: Path | None) -> None:
    """Raises `Failure` unless what counts is as new as the newest staged checkpoint of which the log tells."""
    logged = read_events(run)
    passed_over = {event["step"] for event in logged.of("staged_skipped")}
    told = max((int(e["step"]) for e in logged.of("checkpoint_staged") if e["step"] not in passed_over), default=0)
    counting = [*(run / staged.name for staged in staged_in(run)), *([newest] if newest else [])]
    there = max(map(step_of, counting), default=0)
    if there < told:
        raise Failure(f"the log tells of a staged checkpoint of step {told}, and the newest is of step {there}")


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
    return sorted((path for path in run.glob("*") if CHECKPOINT.fullmatch(path.name)), key=step_of)


def step_of(checkpoint: Path) -> int:
    """The step in the name of a checkpoint."""
    return int(re.findall(r"\d{4,}", checkpoint.name)[-1])


def state_in(file: Path) -> dict[str, bytes]:
    """The numbers in a checkpoint or plot file, but for who held them."""
    return {name: numbers for name, numbers in numbers_in(file).items() if Path(name).name != NOT_OF_THE_STATE}


def plot_files_in(run: Path) -> dict[str, dict[str, bytes]]:
    """The numbers in all plot files of a run."""
    return {path.name: state_in(path) for path in sorted(run.glob("*")) if PLOT_FILE.fullmatch(path.name)}


def results_in(run: Path) -> dict[str, dict[str, bytes]]:
    """The numbers in all results of a run, by task and file."""
    found = sorted(run.glob("results/*/*.nc"))
    return {str(path.relative_to(run / "results")): numbers_in(path) for path in found}


def numbers_in(path: Path) -> dict[str, bytes]:
    """The numbers of an HDF5 file but those of its commit record, or the bytes of another file; of a folder, those of
    all its files but words."""
    if path.is_dir():
        files = (file for file in sorted(path.rglob("*")) if file.is_file() and file.name not in WORDS)
        return {
            str(Path(file.relative_to(path), name)): numbers
            for file in files
            for name, numbers in numbers_in(file).items()
        }
    if not h5py.is_hdf5(path):
        return {"": path.read_bytes()}
    found: dict[str, bytes] = {}

    def take(name: str, entry: object) -> None:
        if isinstance(entry, h5py.Dataset) and entry.dtype.kind in "iuf" and name not in (RECORD, SEALS):
            found[name] = np.asarray(entry[()]).tobytes()

    with h5py.File(path) as file:
        file.visititems(take)
    return found


def complaints_in(ended: jobs.Ended) -> Set[str]:
    """The errors and warnings of a run, without their numbers."""
    lines = ended.said.splitlines()
    return {re.sub(r"[-+\d.]+", "#", line) for line in lines if line.startswith(("error: ", "warning: "))}


def first_words(said: str) -> str:
    """The first error in what a run said, or its first lines."""
    lines = said.strip().splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith("error: ")), 0)
    return "\n".join(lines[begin : begin + 3]) or "nothing was said"


def _name(found: Sequence[Path]) -> str:
    return found[-1].name if found else "not there"
