"""`sidestream view`, `movie` and `display`: pictures of any size."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import console
from ..error import Error

if TYPE_CHECKING:
    from ..pictures import Pictures

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)]
Task = Annotated[
    str | None,
    typer.Option("--task", metavar="TASK", help="A task with `display` (default: the first).", show_default=False),
]
Port = Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Where to listen (0: any).")]
Opened = Annotated[bool, typer.Option("--open", help="Show the page in a browser.")]


def view(run: RunFolder, task: Task = None, port: Port = 0, open_page: Opened = False) -> None:
    """Show the pictures of RUN in a browser on this machine: to pan and zoom, the newest while RUN goes on, or any.

    The address of the page is printed. Mouse, touch or keys: arrows pan, + and - zoom, 0 shows all, 1 a pixel a
    pixel, f fills the screen; comma and full stop go to other steps, End follows the newest. Ctrl-C ends.

    \b
    Examples:
      sidestream view runs/wind_tunnel --open
      sidestream view runs/wind_tunnel --task vorticity --port 8000
    """
    with console.status(f"looking for pictures in {run}"):
        from ..pictures.viewing import ViewServer

        pictures = _pictures(run, task)
    with suppress(KeyboardInterrupt), ViewServer(pictures).serving(port) as address:
        _tell_address(address, open_page)
        threading.Event().wait()


def movie(
    run: RunFolder,
    task: Task = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The movie (default: RUN/TASK.mp4).", show_default=False),
    ] = None,
    rate: Annotated[float, typer.Option("--rate", metavar="N", min=0.1, max=240, help="Frames a second.")] = 12,
    label: Annotated[bool, typer.Option("--label", help="Write step and time into each frame.")] = False,
) -> None:
    """Make a movie of the frames of RUN, of all steps there are, and print its path.

    Takes the package `av`: pip install "sidestream[movie]".

    \b
    Examples:
      sidestream movie runs/wind_tunnel
      sidestream movie runs/wind_tunnel --task vorticity --out wake.mkv --rate 24 --label
    """
    from ..pictures.movie import make_movie

    pictures = _pictures(run, task)
    path = out or run / f"{pictures.task}.mp4"
    frames = make_movie(pictures, path, rate, label)
    typer.echo(path)
    console.say(f"{frames} frames")


def display(
    run: RunFolder,
    wall: Annotated[
        str, typer.Option("--wall", metavar="CxR", help="Columns and rows of screens: 4x2.", show_default=False)
    ],
    bezel: Annotated[
        int, typer.Option("--bezel", metavar="PIXELS", min=0, help="Of the picture, what the gap of two screens hides.")
    ] = 0,
    task: Task = None,
    port: Port = 0,
    once: Annotated[
        bool, typer.Option("--once", help="End when the run has ended and its last step is shown.")
    ] = False,
) -> None:
    """Show the pictures of RUN on a wall of screens, each a page of a browser, all at the same step.

    The printed page lists the screens: /screen/COLUMN/ROW, from the upper left. A step is shown when all of them have
    loaded it. While RUN goes on that is the newest; of a run that has ended each step is shown. At the end, or at
    Ctrl-C, frame rate and delays are printed, and written to RUN/wall.json.

    \b
    Examples:
      sidestream display runs/wind_tunnel --wall 4x2 --bezel 40
      sidestream display runs/wind_tunnel --wall 1x1 --port 8000
    """
    from ..pictures.wall import WallServer, size_of

    columns, rows = size_of(wall)
    pictures = _pictures(run, task)
    server = WallServer(pictures, columns, rows, bezel, console.say)
    with suppress(KeyboardInterrupt), server.serving(port) as address:
        _tell_address(address, False)
        server.play(once)
    report = server.report()
    try:
        (run / "wall.json").write_text(json.dumps(report, indent=2) + "\n")
    except OSError as problem:
        raise Error(
            f"the report cannot be written: {problem.strerror}",
            run / "wall.json",
            hint="make room, or give yourself the right to write there: chmod u+w FOLDER",
        ) from problem
    rate = f"{report['frame_rate']:.3g} a second" if report["frame_rate"] else "one alone"
    delay, part = report["delay_s"], report["display_s"]
    console.say(f"{report['frames']} frames, {rate}; {report['skipped']} steps skipped")
    console.say(f"delay from step to picture: median {delay['median']:.3g} s, largest {delay['largest']:.3g} s")
    console.say(f"of which for the screens: median {part['median']:.3g} s, largest {part['largest']:.3g} s")


def _pictures(folder: Path, task: str | None) -> Pictures:
    """Those of a run that has some, or may still make some."""
    from ..files.opening import open_run
    from ..pictures import pictures_of

    run = open_run(folder)
    pictures = pictures_of(run, task)
    if not pictures.steps() and run.status != "running":
        raise Error(f"task `{pictures.task}` has made no pictures", run.folder, f"the run is {run.status}")
    return pictures


def _tell_address(address: str, open_page: bool) -> None:
    import webbrowser

    typer.echo(address)
    if open_page and not webbrowser.open(address):
        console.say("no browser could be started: open the page yourself")
