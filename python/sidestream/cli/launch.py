"""`sidestream launch`: a script that has a queue run a configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..error import Error, UsageError
from .options import Settings

TIME = re.compile(r"\d+(-\d+(:\d\d){0,2}|(:\d\d){0,2})")  # minutes, MM:SS, HH:MM:SS, days-HH[:MM[:SS]]


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
    from ..launch.simulation import RunRequest
    from ..launch.slurm import SlurmRequest, script

    if not slurm:
        raise UsageError("no queue is named", hint="`--slurm` writes a script for Slurm")
    if not TIME.fullmatch(time):
        raise UsageError(f"`{time}` is no time as Slurm has it", hint="write 12:00:00, 2-00:00:00 or minutes")
    path = output or Path(f"{config.stem}.sbatch")
    run = RunRequest(config, out or Path("runs") / config.stem, ranks, tuple(settings or ()), launcher=launcher)
    text = script(SlurmRequest(run, path, time, stop_before, _attached(attach or []), tuple(sbatch or ())))
    if path.exists() and not overwrite:
        raise UsageError("the script is there already", path, "replace it with --overwrite, or name another with -o")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise Error(f"the script cannot be written: {problem.strerror}", path, "name another with -o") from problem
    typer.echo(path)
    console.say(f"look at it, then: sbatch {path}")


def _attached(words: list[str]) -> dict[str, int]:
    attached = {}
    for word in words:
        task, _, ranks = word.partition("=")
        if not task or not ranks.isdigit() or int(ranks) < 1:
            raise UsageError(f"`{word}` is no task with its ranks", hint="write --attach halos=64")
        attached[task] = int(ranks)
    return attached
