"""`sidestream analyze`: analyses that a run left for later, and tasks with files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..error import UsageError
from .files import Ranks, count_of
from .options import Box, Launcher, Settings, Unit


def analyze(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DATA...", help="A run folder, or plot files, checkpoints, arrays.", show_default=False),
    ],
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            metavar="TASK",
            help="One task of CONFIG, or an analysis or suite with its defaults (default: all tasks).",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="CONFIG",
            help="The tasks, a TOML file (default: the configuration of the run that wrote DATA).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where these results go (default: runs/<name of the first>)."),
    ] = None,
    settings: Settings = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace earlier results of files; never a run.")
    ] = False,
    box: Box = None,
    unit: Unit = None,
    ranks: Ranks = None,
    launcher: Launcher = None,
) -> None:
    """Do what the tasks with `transport = "file"` left for later: results and report, as if made while RUN ran.

    Such a task stores what it reads, in RUN/snapshots, whenever it is due. Here each snapshot is analysed, on as many
    ranks as you like and with the same results to the bit. Results that are there are not made again, so a command that
    was interrupted goes on, and one beside a run that goes on does what is there. Snapshots are yours to remove.

    DATA may be plot files and checkpoints of any format instead; of small ones, ranks take several at a time. Files of
    a run of Sidestream know its configuration: without --task and --config they have its tasks again, with its options.
    The results lie in DIR as those of a run do; a command that was interrupted is repeated with --overwrite. Of gas in
    a universe, neutral hydrogen and the like follow from ionisation equilibrium: with the background of the run that
    made the file, or that of --set heating.uv_background=NAME.

    Plain arrays (z, y, x) are analysed like plot files: NumPy files, and data sets of HDF5 files (FILE.h5:/GROUP/NAME,
    or FILE.h5:/GROUP for all in it). --box says how large they are, --unit what their numbers are.

    With --task or --config, DATA may be a run too: the tasks, which need not be those of the run, are done with every
    snapshot that it stored, or else with its plot files.

    \b
    Examples:
      sidestream analyze runs/demo
      sidestream analyze runs/demo -n 16 --launcher "srun --exclusive"
      sidestream analyze runs/demo/plt* --task halos --out series
      sidestream analyze plt00123 --task gimlet --set heating.uv_background=onorbe17_middle
      sidestream analyze plt00123 --config tasks.toml --out results
      sidestream analyze runs/demo --config tasks.toml --out results -n 4
      sidestream analyze density.npy --box "20 Mpc" --unit Msun/Mpc^3 --task halos
    """
    from ..files.formats import format_of
    from ..files.opening import is_run, is_there, open_run
    from ..files.plain import Description, as_plot_files
    from ..launch import later

    if task is not None and Path(task).suffix == ".toml":
        if config is not None:
            raise UsageError("--task and --config name two configurations", hint=f"leave `--task {task}` out")
        config, task = Path(task), None
    first = paths[0]
    try:
        if len(paths) == 1 and task is None and config is None and not (is_there(first) and format_of(first)):
            if out is not None or settings or overwrite:
                raise UsageError(
                    "--out, --set and --overwrite go with plot files", hint="a run has its folder and its configuration"
                )
            with console.status(f"analysing {first}") as tell:
                folder, made = first, later.analyze(open_run(first), count_of(ranks, launcher), launcher, tell)
        else:
            folder = out or Path("runs") / first.name.partition(":")[0]
            if len(paths) == 1 and is_there(first) and is_run(first):
                folder, paths = out or Path("runs") / f"{first.name}-analyzed", later.moments_of(open_run(first))
            if any(is_there(path) and is_run(path) for path in paths):
                raise UsageError("a run is analysed alone", hint="`sidestream analyze RUN`, or name its plot files")
            told = f"analysing {first}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
            with console.status(told) as tell, as_plot_files(paths, Description(box, unit)) as files:
                request = later.FileTasks(files, folder, task, config, tuple(settings or ()), overwrite)
                made = len(
                    later.analyze_files(request, count_of(ranks, launcher), launcher, tell).events.of("analysis")
                )
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(*stop.args or ("nothing was done",)) from stop
    console.say(f"{made} result{'s were' if made != 1 else ' was'} made" + f", in {folder / 'results'}" * bool(made))
