"""The commands, each a thin layer over a function of the package."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import console
from ..error import UsageError
from . import files
from .archive import archive
from .attack import attack
from .bench import bench
from .conformance import conformance
from .doctor import doctor, doctor_io
from .halos import halos
from .later import analyze
from .launch import launch
from .new import new
from .options import Json, Settings
from .pictures import display, movie, view
from .regions import regions
from .steer import steer
from .streams import attach, keys
from .study import compare, sweep

if TYPE_CHECKING:
    from ..launch.simulation import RunRequest

app = typer.Typer(
    name="sidestream",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Run simulations and analyse them while they run.\n\n"
    "\b\n"
    "Examples:\n"
    "  sidestream check examples/cosmology.toml -n 4     what the run would take\n"
    "  sidestream list analyses                          every analysis there is\n"
    "  sidestream run examples/cosmology.toml -n 4       run it; results in runs/cosmology\n"
    "  sidestream watch runs/cosmology                   pictures while it runs, as a page\n"
    "  sidestream sweep box.toml --vary hydro.cfl=.3,.6  a family of runs\n"
    "  sidestream launch box.toml --slurm -n 512         a script for a queue\n"
    "  sidestream compare runs/lya --data flux_power     beside measurements, with chi squared\n"
    "  sidestream analyze runs/cosmology                 the analyses that it stored for later\n"
    "  sidestream attach runs/cosmology --task halos     a task of a run that goes on, in another job\n"
    "  sidestream steer runs/cosmology list              what of it may be changed while it goes on\n"
    "  sidestream bill runs/cosmology                    where the time went\n"
    "  sidestream plot runs/cosmology                    pictures as PNG files\n"
    "  sidestream view runs/wind_tunnel                  its pictures of any size, in a browser\n"
    "  sidestream movie runs/wind_tunnel                 and as a movie\n"
    "  sidestream info runs/cosmology                    what is in a folder or file\n"
    "  sidestream verify runs/cosmology                  is every plot file and checkpoint good?\n"
    "  sidestream convert plt00120 new --format flash    a file in another format\n"
    "  sidestream archive runs/cosmology HOST:FOLDER     a copy in another place\n"
    "  sidestream halos find plt00120                    the halos in a file\n"
    "  sidestream zoom runs/box --halo 20811 > zoom.toml one halo again, with finer particles\n"
    "  sidestream new analysis mean_age                  an analysis of your own that works\n\n"
    "Exit codes: 0 done, 1 failed or stopped, 2 used wrongly, 130 interrupted.",
)

app.add_typer(halos, name="halos", short_help="Halos of files, of stored merge trees, and through time.")
app.add_typer(regions, name="regions", short_help="A function of one's own on the regions that a run saved.")
app.add_typer(bench, name="bench", short_help="Measure what this machine and its disk can do.")

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="The configuration, a TOML file.", show_default=False)]
Ranks = Annotated[
    int | None,
    typer.Option("-n", "--ranks", metavar="RANKS", help="MPI ranks, sidecars among them (default: one a core)."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="The run folder (default: runs/<name of CONFIG>).", show_default=False),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)]


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"sidestream {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(short_help="Check a configuration and run it.")
def run(
    config: Config,
    ranks: Ranks = None,
    settings: Settings = None,
    out: Out = None,
    restart: Annotated[bool, typer.Option("--restart", help="Go on from the newest good checkpoint in DIR.")] = False,
    allow_change: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-change",
            metavar="KEY",
            help="With --restart or --from: this key of the physics may differ from that of the file (repeatable).",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a run that is already in DIR.")] = False,
    start: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Begin with the state in FILE, a plot file or checkpoint of any format.",
            show_default=False,
        ),
    ] = None,
    steered: Annotated[bool, typer.Option("--steer", help="Let `sidestream steer` change the run.")] = False,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="EVENTS",
            help="Make the decisions of an earlier run by clock, load and hand again: its events.jsonl.",
            show_default=False,
        ),
    ] = None,
    launcher: Annotated[
        str | None,
        typer.Option(
            "--launcher",
            metavar="COMMAND",
            help='The MPI launcher, with options if need be: srun, "mpirun --hostfile hosts".',
        ),
    ] = None,
) -> int:
    """Check a configuration and run it, showing what the simulation and its analyses do.

    Ctrl-C stops after the step in progress and leaves a run folder that can be looked at and gone on with.

    \b
    Examples:
      sidestream run examples/cosmology.toml
      sidestream run box.toml -n 8 --set mesh.cells=[128,128,128] --out runs/large
      sidestream run box.toml -n 16 --out runs/large --restart
      sidestream run box.toml -n 8 --out runs/more --from runs/large/plt00200
      sidestream run runs/large/config.toml -n 4 --out runs/again --replay runs/large/events.jsonl
      sidestream run box.toml -n 512 --launcher "srun --exclusive"
    """
    from ..launch import piped, simulation

    if restart and overwrite:
        raise UsageError(
            "--restart and --overwrite exclude each other", hint="--restart goes on with the run that is there"
        )
    if restart and start is not None:
        raise UsageError(
            "--restart and --from exclude each other", hint="--restart begins with the newest checkpoint in DIR"
        )
    if allow_change and not restart and start is None:
        raise UsageError(
            "--allow-change goes with --restart or --from", hint="a run that begins anew has the physics it is given"
        )
    if out is None and piped.is_piped(config):
        raise UsageError("a configuration from a pipe has no name for its run", config, "name a folder with --out")
    with console.lasting(), piped.as_file(config) as file:
        request = replace(
            _request(config, file, ranks, [*(settings or ()), *["run.steering=true"] * steered], out),
            restart=restart,
            overwrite=overwrite,
            launcher=launcher,
            start=start,
            replay=replay,
            allowed_changes=tuple(allow_change or ()),
        )
        verdict = simulation.check(request, as_json=True)
        sys.stderr.write(verdict.messages)
        if verdict.code != 0:
            return 2 if verdict.code == 2 else 1
        return simulation.run(request, verdict.processes(request.ranks), verdict.threads())


@app.command(short_help="Check a configuration; print what it would take.")
def check(
    config: Config, ranks: Ranks = None, settings: Settings = None, out: Out = None, as_json: Json = False
) -> int:
    """Check a configuration without running it, and print the memory and ranks it would take.

    \b
    Examples:
      sidestream check box.toml -n 8
      sidestream check box.toml -n 8 --set coupling.sidecars=2
    """
    from ..launch import piped, simulation

    with piped.as_file(config) as file:
        verdict = simulation.check(_request(config, file, ranks, settings, out), as_json)
    sys.stdout.write(verdict.output)
    sys.stderr.write(verdict.messages)
    return verdict.code if verdict.code in (0, 2) else 1


@app.command(name="list", short_help="List analyses, formats and all else that has a name.")
def list_names(
    kind: Annotated[
        str | None, typer.Argument(metavar="[KIND]", help="Only this kind, such as analyses.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> int:
    """List what a configuration can name, with a sentence each: simulations, analyses, transports, formats and more.

    \b
    Examples:
      sidestream list
      sidestream list analyses
    """
    from ..launch import simulation

    verdict = simulation.names(kind, as_json)
    sys.stdout.write(verdict.output)
    sys.stderr.write(verdict.messages)
    return verdict.code if verdict.code in (0, 2) else 1


@app.command(short_help="Say what a folder or file is.")
def info(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="Run, folder of runs, plot file or checkpoint of any format, or result.",
            show_default=False,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Say what a folder or file is: a run, a plot file or checkpoint of any format and of any code, or a result.

    Of a folder of runs: a table of them, with how each stands, its steps and its time.

    \b
    Examples:
      sidestream info runs
      sidestream info runs/demo
      sidestream info runs/demo/plt00120
      sidestream info sedov_hdf5_chk_0010
      sidestream info runs/demo/results/halos/000120.nc --json
    """
    with console.status(f"looking at {path}"):
        from ..files.description import describe, print_description

        description = describe(path)
    console.print_json(description) if as_json else print_description(description)


@app.command(short_help="Draw the results of a run as PNG files.")
def plot(
    run: RunFolder,
    task: Annotated[
        str | None, typer.Option("--task", metavar="NAME", help="Only this task.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where the PNG files go (default: RUN/pictures).")
    ] = None,
) -> None:
    """Draw the results of a run as PNG files and print their paths.

    \b
    Examples:
      sidestream plot runs/demo
      sidestream plot runs/demo --task halos --out pictures
    """
    made: list[Path] = []
    try:
        with console.status(f"drawing {run}"):
            from ..figures import save_pictures
            from ..files.opening import open_run

            save_pictures(open_run(run), out or run / "pictures", task, made.append)
    finally:  # those that are there, also where it fails or is interrupted
        for path in made:
            typer.echo(path)


@app.command(short_help="Write RUN/report.html, a page of its own.")
def report(run: RunFolder) -> None:
    """Write RUN/report.html, a page of its own with every picture and table, and print its path.

    \b
    Example:
      sidestream report runs/demo
    """
    with console.status(f"writing the report of {run}") as tell:
        from ..files.opening import open_run
        from ..report import write_report

        page = write_report(open_run(run), tell)
    typer.echo(page)


@app.command(short_help="Say where the wall time of a run went.")
def bill(run: RunFolder, as_json: Json = False) -> None:
    """Say where the wall time of a run went: a table a group of ranks, with what each line was done or waited for.

    Each moment of a rank is on exactly one line, so the lines add up to the wall time. `mean` is that of the ranks of
    the group; what the slowest took longer, others waited for. Starts of a run that was gone on with are added up.

    \b
    Examples:
      sidestream bill runs/demo
      sidestream bill runs/demo --json
    """
    with console.status(f"reading {run}"):
        from ..files.opening import open_run
        from ..runs import bill as bills

        found = bills.bills_of(open_run(run))
    console.print_json(bills.as_json(found)) if as_json else bills.print_bills(found)


@app.command(short_help="Keep RUN/live.html up to date while the run goes on.")
def watch(
    run: RunFolder,
    once: Annotated[bool, typer.Option("--once", help="Bring the page up to date and end.")] = False,
) -> None:
    """Keep RUN/live.html up to date until the run ends: a page of its own with the newest pictures of each task.

    A browser that shows it loads it anew by itself. Ctrl-C ends the watching, not the run.

    \b
    Examples:
      sidestream watch runs/demo
      sidestream watch runs/demo --once
    """
    from ..files.opening import open_run
    from ..report import live

    opened = open_run(run)
    typer.echo(opened.folder / live.NAME)
    with suppress(KeyboardInterrupt):
        live.watch(opened, once)


@app.command(short_help="Write the configuration of a zoom of one halo.")
def zoom(
    run: RunFolder,
    halo: Annotated[
        int, typer.Option("--halo", metavar="ID", help="The id of the halo in its catalogue.", show_default=False)
    ],
    radius: Annotated[
        str, typer.Option("--radius", metavar="LENGTH", help='Which particles are traced: "3 R200m", "2.5 Mpc".')
    ] = "3 R200m",
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="NAME", help="The task of halos (default: the only one).", show_default=False),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option("--step", metavar="STEP", help="The catalogue's step (default: the last).", show_default=False),
    ] = None,
    levels: Annotated[
        int, typer.Option("--levels", metavar="N", help="How often cells and the spacing of particles are halved.")
    ] = 1,
) -> None:
    """Write the configuration of a run that simulates one halo of RUN again, with finer particles and cells.

    The particles within LENGTH of the halo are traced back to where they began, by their ids. The region that holds
    where they were and where they are is refined from the start, with particles of an eighth of the mass a level;
    around it everything is as in RUN, the large waves too. RUN needs a plot file or checkpoint of the catalogue's step.

    \b
    Examples:
      sidestream zoom runs/box --halo 20811 > zoom.toml
      sidestream zoom runs/box --halo 20811 --radius "4 R200c" --levels 2 > zoom.toml
      sidestream zoom runs/box --halo 7302 --task clusters --step 120 > zoom.toml
      sidestream run zoom.toml -n 8
    """
    from ..files.opening import open_run
    from ..launch import zoom as zooms

    made = zooms.zoom(open_run(run), zooms.ZoomRequest(halo, radius, task, step, levels))
    typer.echo(made.config, nl=False)
    console.say(made.told)


app.command(short_help="Show the pictures of a run in a browser, also while it goes on.")(view)
app.command(short_help="Make a movie of the pictures of a run.")(movie)
app.command(short_help="Show the pictures of a run on a wall of screens.")(display)
app.command(short_help="Do the analyses that a run stored for later, or tasks with plot files.")(analyze)
app.command(short_help="Write a plot file or checkpoint in another format.")(files.convert)
app.command(short_help="Check every checksum of a file, or of all files of a run.")(files.verify)
app.command(short_help="Run a configuration with keys varied: a family of runs.")(sweep)
app.command(short_help="Write a script that has a queue run a configuration.")(launch)
app.command(short_help="Draw runs beside measurements; chi squared.")(compare)
app.command(short_help="Do a task of a run that goes on, in another job.")(attach)
app.add_typer(archive, short_help="Copy runs to other places, and get parts of them back.")
app.add_typer(steer, short_help="Change a run that goes on: knobs, pauses, checkpoints.")
app.command(short_help="Look whether all that a run needs is here.")(doctor)
app.command(name="doctor-io", short_help="Name what is bad in how a run writes its files.")(doctor_io)
app.command(short_help="Run a program that opens a session, and look whether it does so rightly.")(conformance)
app.command(short_help="Make an analysis or simulation that works, to begin with.")(new)
app.command(short_help="Make keys for streams that other machines can reach.")(keys)
app.command(short_help="Kill, damage and starve small runs, and see that nothing is lost.")(attack)


def _request(config: Path, file: Path, ranks: int | None, settings: list[str] | None, out: Path | None) -> RunRequest:
    """Of a configuration as the user calls it, in a file."""
    from ..launch.launcher import default_ranks
    from ..launch.simulation import RunRequest

    if ranks is not None and ranks < 1:
        raise UsageError(f"{ranks} ranks cannot run anything", hint="-n takes 1 or more")
    return RunRequest(
        config=file,
        out=out or Path("runs") / config.stem,
        ranks=ranks or default_ranks(),
        settings=tuple(settings or ()),
        piped=config if file != config else None,
    )
