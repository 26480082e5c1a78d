"""`sidestream run`: check, start, follow, stop, report."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .. import console
from ..error import DONE, FAILED, INTERRUPTED, Error
from ..quantities import duration, size
from ..runs.events import Events, number
from ..runs.progress import EventTail, Progress, file_name
from ..runs.run import Run
from ..runs.summary import FileBill, bills, file_bills, share_lost
from .interpreter import program_for
from .job import POLL_S, Job, StopRequests, interruptible
from .launcher import PROGRAM, find_program, mpi_environment, prepare, warn_of_few_cores
from .messages import MessageFilter
from .programs import Tell
from .views import View, choose_view
from .warming import Warming

DISPLAYED_BY_THE_BAR = frozenset({"analysis", "plotfile", "checkpoint"})
STEP_LINE = re.compile(r"step \d+\b")  # the program's own progress, which the view shows already


@dataclass(frozen=True)
class RunRequest:
    """What the user asked for."""

    config: Path
    out: Path
    ranks: int
    settings: Sequence[str] = ()
    restart: bool = False
    overwrite: bool = False
    launcher: str | None = None
    start: Path | None = None  # a file to begin with
    replay: Path | None = None  # events of a run whose decisions are made again
    allowed_changes: Sequence[str] = ()  # keys of the physics that may differ from those of the checkpoint
    piped: Path | None = None  # the pipe that the configuration came through, of which `config` is a copy

    def arguments(self) -> list[str]:
        """The arguments of `sidestream-run`."""
        words = [str(self.config)]
        for setting in self.settings:
            words += ["--set", setting]
        words += ["--out", str(self.out)]
        words += ["--from", str(self.start)] if self.start is not None else []
        words += ["--replay", str(self.replay)] if self.replay is not None else []
        for key in self.allowed_changes:
            words += ["--allow-change", key]
        return words + ["--restart"] * self.restart + ["--overwrite"] * self.overwrite


@dataclass(frozen=True)
class Verdict:
    """What `sidestream-run --check` says."""

    code: int
    output: str
    messages: str

    def processes(self, asked: int) -> int:
        """The ranks to start, from a verdict in JSON: more than asked for where sidecars come on top."""
        return self._number("ranks", asked)

    def threads(self) -> int:
        """The threads of each rank, from a verdict in JSON: more than one where some analyse."""
        return self._number("threads", 1)

    def _number(self, key: str, otherwise: int) -> int:
        try:
            return int(json.loads(self.output)[key])
        except (ValueError, KeyError, TypeError):
            return otherwise


def check(request: RunRequest, as_json: bool = False) -> Verdict:
    """Lets `sidestream-run` validate the configuration."""
    command = ["--check", *request.arguments(), "--ranks", str(request.ranks), *["--json"] * as_json]
    verdict = _answer(command, program_for(request.config, request.settings))
    if request.piped is None:
        return verdict
    return replace(verdict, messages=verdict.messages.replace(str(request.config), str(request.piped)))


def names(kind: str | None, as_json: bool = False) -> Verdict:
    """What `sidestream-run` knows by name: of a kind, or of all."""
    return _answer([*["--json"] * as_json, "--list", *([kind] if kind else [])])


def _answer(arguments: list[str], program: str = PROGRAM) -> Verdict:
    command = [str(find_program(program)), *arguments]
    environment = mpi_environment(os.environ, 1) | {"SIDESTREAM_ANSWERS": "1"}  # it ends with us, however that is
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as problem:
        raise Error(
            f"`{command[0]}` cannot be started: {problem.strerror}",
            command[0],
            hint="`sidestream doctor` says what is missing",
        ) from problem
    messages = MessageFilter()
    kept = [line for line in map(messages.feed, done.stderr.splitlines()) if line is not None]
    diagnosis = messages.diagnosis(done.returncode) if not kept else None
    if diagnosis is not None:
        kept.append(f"error: {diagnosis}")
    return Verdict(done.returncode, done.stdout, "".join(f"{line}\n" for line in kept))


def run(request: RunRequest, processes: int, threads: int = 1) -> int:
    """Runs a configuration, on processes of so many threads, to its end; returns the exit code for the shell."""
    program = find_program(program_for(request.config, request.settings))
    launch = prepare(program, request.arguments(), processes, request.launcher, threads)
    if request.launcher is None:
        warn_of_few_cores(processes * threads, "steps")
    tail, progress, messages = EventTail(request.out), Progress(), MessageFilter()
    job, warming = Job(launch, program), Warming()
    with choose_view() as view, StopRequests(job, view.tell) as stops:
        while True:
            running = job.is_running()
            for line in job.messages():
                _pass_on(messages.feed(line), view)
            _follow(tail, progress, view)
            if not running:
                break
            if progress.steps_seen:
                warming.start()
            stops.act()
            time.sleep(POLL_S)
    warming.end()
    return _conclude(request, progress, messages, job.exit_code, interrupted=stops.count > 0)


def _follow(tail: EventTail, progress: Progress, view: View) -> None:
    for event in tail.new_events():
        text = progress.take(event)
        if text is not None:
            view.happened(text) if event["event"] in DISPLAYED_BY_THE_BAR else view.tell(text)
    view.show(progress)


def _pass_on(line: str | None, view: View) -> None:
    if line is not None and not STEP_LINE.match(line):
        view.tell(line)


def _conclude(request: RunRequest, progress: Progress, messages: MessageFilter, code: int, interrupted: bool) -> int:
    status = str(progress.end.get("status", ""))
    stopped = status == "stopped"
    interrupted = not stopped and (interrupted or status == "interrupted")
    if not interrupted and not stopped:
        diagnosis = messages.diagnosis(code)
        if diagnosis is not None:
            if progress.under_way:
                diagnosis.where = "under way: " + ", ".join(progress.under_way.values())
            console.print_error(diagnosis)
    if not request.out.is_dir() or progress.steps_seen == 0 and not progress.end:
        return INTERRUPTED if interrupted else FAILED if code or stopped else DONE
    if messages.has_lost_events:
        console.say("warning: events of this run were lost: the table and the report tell of the others only")
    finished = Run(request.out)
    reported = report_on(finished)
    if stopped:
        console.print_error(
            Error(
                f"the run could not go on after {progress.headline}: {progress.end.get('reason', '')}",
                str(request.out),
                f"change the configuration and {_again(request, finished.events)}",
            )
        )
    elif interrupted:
        console.say(f"stopped at {progress.headline}; {_again(request, finished.events)}")
    if interrupted or not reported:
        return INTERRUPTED
    return FAILED if code or stopped else DONE


def report_on(run: Run) -> bool:
    """Writes the merger tables and the report of a run, and prints what was done and where to look.

    Returns:
        whether nobody interrupted that.
    """
    console.say("writing the report")
    try:
        with interruptible(), console.status("writing the report") as tell:
            merger_tables = _write_merger_tables(run)
            report = _write_report(run.folder, tell)
    except KeyboardInterrupt:
        console.say(f"the report was not written; `sidestream report {run.folder}` makes it")
        return False
    summarise(run, report, merger_tables)
    return True


def _write_report(folder: Path, tell: Tell) -> Path | None:
    try:
        from ..report import write_report

        return write_report(Run(folder), tell)
    except Exception as problem:  # whatever goes wrong with a picture, the run itself is done
        console.say(f"warning: the report was not written: {problem}")
        return None


def _write_merger_tables(run: Run) -> list[Path]:
    """The links of each task that links halos, over all its steps, beside the report."""
    from ..runs.mergers import table_path

    written = []
    for task in run.tasks:
        try:
            if run.has_links(task):
                written.append(run.merger_tree(task).save(table_path(run.folder, task)))
        except Exception as problem:  # a damaged result must not cost the rest
            console.say(f"warning: the merger tree of task `{task}` was not written: {problem}")
    return written


def summarise(run: Run, report: Path | None, merger_tables: Sequence[Path] = ()) -> None:
    """Prints one row a task, and where to look."""
    from rich.table import Table

    events = run.events
    rows = bills(events, run.analyses)
    if rows:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("task")
        for title in ("results", "dropped", "failed", "compute", "simulation lost"):
            table.add_column(title, justify="right")
        for bill in rows:
            counts = (bill.results, bill.dropped, bill.failed)
            table.add_row(bill.name, *map(str, counts), duration(bill.compute_s), duration(bill.lost_s))
        console.out().print(table)
        console.out().print(f"lost to analysis  {100 * share_lost(events, run.analyses):.2g} % of the wall time")
    for row in file_bills(events):
        console.out().print(f"{row.title:<18}{_about_files(row, events)}")
    console.out().print(f"run folder        {run.folder}", soft_wrap=True)
    for path in merger_tables:
        console.out().print(f"merger tree       {path}", soft_wrap=True)
    if report is not None:
        console.out().print(f"report            {report}", soft_wrap=True)


def _about_files(row: FileBill, events: Events) -> str:
    kinds = (row.kind, "staged_committed") if row.kind == "checkpoint" else (row.kind,)
    written = events.of(*kinds)  # in order of time: a restart may write a step again, or go on from one before
    newest = written[-1] if written else None
    lost = f", {duration(row.lost_s)} lost" if row.count else ""
    failed = f", {row.failed} failed" if row.failed else ""
    last = f", the newest {file_name(newest)}" if newest else ""
    last += f" ({size(number(newest, 'bytes'))})" if newest and "bytes" in newest else ""
    return f"{row.count} written{lost}{failed}{last}"


def _again(request: RunRequest, events: Events) -> str:
    """What the user can do next."""
    config = request.config if request.piped is None else request.out / "config.toml"
    command = f"sidestream run {config} -n {request.ranks} --out {request.out}"
    if events.of("checkpoint_committed") or events.of("staged_committed"):
        return f"go on with `{command} --restart`"
    if request.piped is not None:
        return "begin again, as there is no checkpoint, with --overwrite"
    return f"begin again, as there is no checkpoint, with `{command} --overwrite`"
