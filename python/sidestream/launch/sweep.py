"""`sidestream sweep`: a family of runs, several at a time, each a `sidestream run` of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ..error import INTERRUPTED, Error, UsageError
from ..machine import available_cores
from ..quantities import percent
from ..runs.events import log_files
from ..runs.family import Family, Member, write_family
from ..runs.outputs import CHECKPOINT, outputs_in
from ..runs.progress import EventTail, Progress
from ..runs.run import Run
from .job import POLL_S, stopping_signals
from .launcher import ending_with_us
from .simulation import RunRequest, Verdict, check
from .views import View, choose_view

DONE, STOPPED, NOT_BEGUN = "finished", "interrupted", "not begun"
_SEEDS = {"cosmology": "cosmology.seed", "nbody": "cosmology.seed", "turbulence": "turbulence.seed"}


@dataclass(frozen=True)
class SweepRequest:
    """What the user asked for."""

    config: Path
    family: Family
    ranks: int
    at_once: int | None = None
    launcher: str | None = None


@dataclass
class Outcome:
    """How a run of the family stands at the end."""

    member: Member
    status: str  # of its run folder, or what kept it from one
    was_done: bool = False  # before this sweep


@dataclass
class FamilyProgress(Progress):
    """Where the family stands, for the same view as that of a run."""

    runs: int = 0
    ended: int = 0

    @property
    def headline(self) -> str:
        """Such as `3 of 8 runs`."""
        return f"{self.ended} of {self.runs} runs"


@dataclass
class _Going:
    """A run that goes on."""

    member: Member
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    tail: EventTail
    progress: Progress = field(default_factory=Progress)

    def follow(self) -> str:
        """Brings its progress up to date; a line about it."""
        for event in self.tail.new_events():
            self.progress.take(event)
        return f"{self.member.name}: {self.progress.headline}  {percent(self.progress.done)}"


def seed_key(simulation: str) -> str:
    """The key of the seed of a simulation; an error where it has none."""
    if simulation not in _SEEDS:
        known = ", ".join(sorted(_SEEDS))
        raise UsageError(
            f'simulation = "{simulation}" has no seed', hint=f"--seeds is for {known}; --vary takes any key"
        )
    return _SEEDS[simulation]


def checked(request: SweepRequest) -> Verdict:
    """Checks every run before any begins; what the first would take.

    Raises:
        UsageError: a run is refused, with the reason and its name; or it does not fit.
    """
    verdicts = []
    for member in request.family.members:
        verdict = check(_request(request, member), as_json=True)
        if verdict.code != 0:
            problem = Error.from_text(verdict.messages.strip() or "error: the configuration is refused")
            raise UsageError(f"{problem.what} (in the run {member.name})", problem.where, problem.hint)
        verdicts.append(verdict)
    return max(verdicts, key=lambda verdict: _threads(request, verdict))


def sweep(request: SweepRequest) -> list[Outcome]:
    """Runs what is not done of a family; a run that fails stops no other.

    Runs that have finished are left as they are, others go on from their newest checkpoint or begin anew.

    Returns:
        how each stands, in the order of the family.
    """
    verdict = checked(request)
    at_once = _at_once(request, verdict)
    write_family(request.family, request.config.read_text(encoding="utf-8"))
    outcomes = {
        member.name: Outcome(member, DONE, True) for member in request.family.members if _is_done(request, member)
    }
    waiting = [member for member in request.family.members if member.name not in outcomes]
    progress = FamilyProgress(step=0, runs=len(request.family.members), ended=len(outcomes))
    going: list[_Going] = []
    with choose_view() as view, _interrupts(going, view.tell) as stops:
        while going or (waiting and not stops):
            while waiting and len(going) < at_once and not stops:
                going.append(_start(request, waiting.pop(0)))
            time.sleep(POLL_S)
            for run in list(going):
                progress.analyses[run.member.name] = run.follow()
                if run.process.poll() is not None:
                    going.remove(run)
                    outcomes[run.member.name] = _end(request, run, progress, view)
            progress.ended = len(outcomes)
            progress.done = (len(outcomes) + sum(run.progress.done for run in going)) / progress.runs
            view.show(progress)
    return [outcomes.get(m.name) or Outcome(m, NOT_BEGUN) for m in request.family.members]


def _request(request: SweepRequest, member: Member) -> RunRequest:
    settings = [*request.family.settings, *(f"{key}={value}" for key, value in member.values.items())]
    return RunRequest(request.config, request.family.member_folder(member), request.ranks, settings)


def _threads(request: SweepRequest, verdict: Verdict) -> int:
    return verdict.processes(request.ranks) * verdict.threads()


def _at_once(request: SweepRequest, verdict: Verdict) -> int:
    cores, each, asked = available_cores(), _threads(request, verdict), request.at_once
    if asked is not None and asked > 1 and asked * each > cores:
        ranks, threads = verdict.processes(request.ranks), verdict.threads()
        of = f"{ranks} rank{'s' * (ranks != 1)}"
        of += f" and {threads} threads a rank" if threads > 1 else ""
        hints = ["fewer runs at once (-j)"]
        hints += ["fewer ranks (-n)"] if request.ranks > 1 else []
        hints += ['tasks without a thread of their own (transport = "in-situ")'] if threads > 1 else []
        raise UsageError(
            f"{asked} runs of {of} at once need {asked * each} cores, and there are {cores}",
            hint=f"ask for {' or '.join(hints)}",
        )
    return asked or max(1, cores // each)


def _is_done(request: SweepRequest, member: Member) -> bool:
    folder = request.family.member_folder(member)
    return bool(log_files(folder)) and Run(folder).status == DONE


def _start(request: SweepRequest, member: Member) -> _Going:
    folder = request.family.member_folder(member)
    command = [sys.executable, "-m", "sidestream", "run", str(request.config), "-n", str(request.ranks)]
    command += ["--out", str(folder)]
    for setting in _request(request, member).settings:
        command += ["--set", setting]
    command += ["--launcher", request.launcher] if request.launcher else []
    if folder.is_dir():
        committed = any(not output.is_pending for output in outputs_in(folder, CHECKPOINT))
        command.append("--restart" if committed else "--overwrite")
    log = (request.family.folder / f"{member.name}.log").open("wb")
    process = subprocess.Popen(
        ending_with_us(command),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return _Going(member, process, log, EventTail(folder))


def _end(request: SweepRequest, run: _Going, progress: FamilyProgress, view: View) -> Outcome:
    run.log.close()
    progress.analyses.pop(run.member.name, None)
    folder = request.family.member_folder(run.member)
    if run.process.returncode == 0:
        view.tell(f"{run.member.name}: finished")
        return Outcome(run.member, DONE)
    status = Run(folder).status if log_files(folder) else "failed"
    if run.process.returncode == INTERRUPTED:
        status = STOPPED
    elif status == DONE:
        status = "failed"
    view.tell(f"{run.member.name}: {status}{_reason(Path(run.log.name))}")
    return Outcome(run.member, status)


def _reason(log: Path) -> str:
    """The first error of a run, as its log has it, and where the rest is."""
    with suppress(OSError):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("error: "):
                return f": {line.removeprefix('error: ')} ({log})"
    return f" ({log})"


@contextmanager
def _interrupts(going: Sequence[_Going], tell: Callable[[str], None]) -> Iterator[list[int]]:
    """Hands each Ctrl-C and its like on to the runs that go on; the list of those that came."""
    came: list[int] = []

    def hand_on(number: int, _frame: object) -> None:
        if came and number == signal.SIGHUP:  # several tell of a terminal that closes
            return
        if not came:
            tell("stopping the runs that go on after their steps; press Ctrl-C again to end at once")
        came.append(number)
        for run in going:
            run.process.send_signal(signal.SIGINT)

    before = {number: signal.signal(number, hand_on) for number in stopping_signals()}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
