"""`sidestream launch`: a script that has a queue run a configuration."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..error import Error, UsageError
from .options import Settings

# minutes, MM:SS, HH:MM:SS, days-HH[:MM[:SS]]
TIME = re.compile(r"\d+(-\d+(:[0-5]\d){0,2}|(:[0-5]\d){0,2})", re.ASCII)
LONGEST_WARNING_S = 65536  # of sbatch


def launch(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="The configuration, a TOML file.", show_default=False)
    ],
    slurm: Annotated[bool, typer.Option("--slurm", help="For Slurm, the one queue that is known.")] = False,
    ranks: Annotated[int, typer.Option("-n", "--ranks", metavar="RANKS", min=1, help="MPI ranks of the run.")] = 1,
    time: Annotated[str, typer.Option("--time", metavar="TIME", help="Of one job, as Slurm has it.")] = "12:00:00",
    stop_before: Annotated[
        int,
        typer.Option(
            "--stop-before",
            metavar="S",
            min=1,
            help="Seconds before the end of a job to write the last checkpoint: longer than a step and that.",
        ),
    ] = 300,
    attach: Annotated[
        list[str] | None,
        typer.Option(
            "--attach", metavar="TASK=RANKS", help="Do this streamed task beside the run, on ranks more; repeatable."
        ),
    ] = None,
    sbatch: Annotated[
        list[str] | None,
        typer.Option("--sbatch", metavar="OPTION", help="One more option of sbatch: --account=astro; repeatable."),
    ] = None,
    settings: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="The run folder (default: runs/<name of CONFIG>).", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The script (default: <name of CONFIG>.sbatch)."),
    ] = None,
    launcher: Annotated[
        str | None,
        typer.Option(
            "--launcher", metavar="COMMAND", help="Starts ranks in a job (default: srun; srun --exact with --attach)."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a script that is there.")] = False,
) -> None:
    """Write a script that has a queue run a configuration, in as many jobs as it takes.

    A job that runs out of time ends with a checkpoint, and its script asks for the next, which goes on from there;
    one that got no farther than the job before, or fails, asks for none. Jobs beside the run do its streamed tasks. The
    configuration is checked now, and the script is yours to change.

    \b
    Examples:
      sidestream launch box.toml --slurm -n 512 --time 12:00:00
      sidestream launch box.toml --slurm -n 512 --attach halos=64 --sbatch --account=astro --sbatch --nodes=18
      sbatch box.sbatch
    """
    from ..launch.piped import is_piped
    from ..launch.simulation import RunRequest
    from ..launch.slurm import SlurmRequest, script

    if not slurm:
        raise UsageError("no queue is named", hint="`--slurm` writes a script for Slurm")
    if not TIME.fullmatch(time):
        raise UsageError(f"`{time}` is no time as Slurm has it", hint="write 12:00:00, 2-00:00:00 or minutes")
    if is_piped(config):
        raise UsageError("the jobs read the configuration anew, and a pipe is gone then", config, "write it to a file")
    path = output or Path(f"{config.stem}.sbatch")
    if path.resolve() == config.resolve():
        raise UsageError("the script would replace the configuration", path, "name another with -o")
    if stop_before >= min(_seconds(time), LONGEST_WARNING_S):
        raise UsageError(
            f"the run would be told to stop {stop_before} s before the end of a job of {time}",
            hint=f"set --stop-before to less than the time of a job and than {LONGEST_WARNING_S} s",
        )
    for word in sbatch or ():
        if not word.startswith("-") or "\n" in word:
            raise UsageError(f"`{word}` is no option of sbatch", hint="write --sbatch --account=astro")
    run = RunRequest(config, out or Path("runs") / config.stem, ranks, tuple(settings or ()), launcher=launcher)
    text = script(SlurmRequest(run, path, time, stop_before, _attached(attach or []), tuple(sbatch or ())))
    if path.exists() and not overwrite:
        raise UsageError("the script is there already", path, "replace it with --overwrite, or name another with -o")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise Error(f"the script cannot be written: {problem.strerror}", path, "name another with -o") from problem
    typer.echo(path)
    console.say(f"look at it, then: sbatch {shlex.quote(str(path))}")


def _attached(words: list[str]) -> dict[str, int]:
    attached = {}
    for word in words:
        task, _, ranks = word.partition("=")
        if not task or not re.fullmatch("[1-9][0-9]*", ranks):
            raise UsageError(f"`{word}` is no task with its ranks", hint="write --attach halos=64")
        if task in attached:
            raise UsageError(f"the ranks of `{task}` are said twice", hint="leave one `--attach` out")
        attached[task] = int(ranks)
    return attached


def _seconds(time: str) -> int:
    """Of a time as Slurm has it."""
    days, has_days, clock = time.rpartition("-")
    numbers = [int(number) for number in clock.split(":")]
    if has_days:
        numbers += [0] * (3 - len(numbers))
    elif len(numbers) == 1:
        numbers = [0, numbers[0], 0]
    seconds = 0
    for number in numbers:
        seconds = 60 * seconds + number
    return seconds + 86400 * int(days or 0)
