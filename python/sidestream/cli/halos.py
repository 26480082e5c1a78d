"""`sidestream halos`: halos of stored merge trees and of files, and their merger trees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import console
from ..error import Error, UsageError
from .files import Ranks, count_of
from .groups import group
from .options import Box, Json, Launcher, Unit

if TYPE_CHECKING:
    import xarray as xr

halos = group(
    "halos",
    "Find halos in files, ask stored merge trees for them, and follow them through time.\n\n"
    "\b\n"
    "Examples:\n"
    '  sidestream halos find sedov_hdf5_chk_0010 --t-halo "200 mean"\n'
    '  sidestream halos query runs/box/results/tree/000150.nc --t-boundary "60 mean" --t-halo "100 mean"\n'
    "  sidestream halos mergers runs/box",
)

BOUNDARY = "The least density of a halo: a value in the field's unit, or a multiple of its mean: '60 mean'."
PEAK = "The density that its densest cell reaches, in the same forms."
FINDERS = ("iso-density", "fof")

Boundary = Annotated[str, typer.Option("--t-boundary", metavar="DENSITY", help=BOUNDARY)]
Peak = Annotated[str, typer.Option("--t-halo", metavar="DENSITY", help=PEAK)]
MinCells = Annotated[int, typer.Option("--min-cells", metavar="CELLS", help="Smaller halos are left out.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "-o", "--out", metavar="FILE", help="Write all columns of all halos: .csv or .nc.", show_default=False
    ),
]


@halos.command(short_help="Ask a stored merge tree for the halos of any thresholds.")
def query(
    tree: Annotated[Path, typer.Argument(metavar="TREE", help="The file of a merge tree.", show_default=False)],
    t_boundary: Boundary = "81.66 mean",
    t_halo: Peak = "200 mean",
    min_cells: MinCells = 1,
    out: Out = None,
    ranks: Ranks = None,
    launcher: Launcher = None,
    as_json: Json = False,
) -> None:
    """Ask a stored merge tree for the halos of any thresholds; the field it was made of is not needed.

    TREE is a result of a task with `analysis = "merge_tree"`, or what `sidestream.merge_tree(...).save` wrote. Its
    connectivity is stored with it. Thresholds below its cut-off (above, for a tree of voids) cannot be asked for. Of a
    tree of sets below (voids), --t-boundary is the highest value of a void and --t-halo what its lowest cell reaches.
    Prints the 20 heaviest.

    \b
    Examples:
      sidestream halos query runs/box/results/tree/000150.nc --t-boundary 60 --t-halo 100
      sidestream halos query tree.nc --t-boundary "60 mean" --t-halo "100 mean" -o halos.csv
      sidestream halos query tree.nc --t-boundary "60 mean" --t-halo "100 mean" -n 4 --json
    """
    from ..launch import halos as stored
    from ..quantities import duration

    _check(out, min_cells)
    request = stored.TreeQuery(tree, t_boundary, t_halo, min_cells)
    with console.status(f"asking {tree}") as tell:
        table, report = stored.query(request, count_of(ranks, launcher), launcher, tell)
    times = {name: report[name] for name in ("read_s", "query_s")}
    told = f"the query took {duration(times['query_s'])}, reading the file {duration(times['read_s'])}"
    _give(table, out, as_json, told, times)


@halos.command(short_help="Find halos in a plot file or checkpoint of any format.")
def find(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A plot file, a checkpoint, or an array.", show_default=False)
    ],
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="NAME", help="Of the run that wrote FILE, where several are of halos."),
    ] = None,
    finder: Annotated[
        str | None,
        typer.Option("--finder", metavar="NAME", help="iso-density (of a field), or fof (of the particles)."),
    ] = None,
    field: Annotated[
        str | None, typer.Option("--field", metavar="NAME", help="The density; with fof, of peaks and spheres.")
    ] = None,
    t_boundary: Annotated[str | None, typer.Option("--t-boundary", metavar="DENSITY", help=BOUNDARY)] = None,
    t_halo: Annotated[str | None, typer.Option("--t-halo", metavar="DENSITY", help=PEAK)] = None,
    connectivity: Annotated[
        int | None, typer.Option("--connectivity", metavar="N", help="Neighbours of a cell: 6, 14 or 26.")
    ] = None,
    linking_length: Annotated[
        float | None, typer.Option("--linking-length", metavar="B", help="Of fof, in mean separations of particles.")
    ] = None,
    species: Annotated[
        str | None,
        typer.Option("--species", metavar="NAME", help="Of fof, whose particles (default: the first species)."),
    ] = None,
    box: Box = None,
    unit: Unit = None,
    out: Out = None,
    ranks: Ranks = None,
    launcher: Launcher = None,
    as_json: Json = False,
) -> None:
    """Find halos in a plot file or checkpoint of any format and of any code, by density or by friends of friends.

    Of a file of a run with a task of halos these are the run's own halos, found with its options; those given here
    count more, and of two tasks choose the one that has them. Else the defaults of such a task hold: the density is
    that of gas and dark matter together, on all levels, the boundary of a density of matter is at 81.66 means and the
    peak reaches 200 (of any other field they are 2 and 3 standard deviations above the mean). A file in units of its
    own keeps them, and thresholds are in these. FILE may be a plain array (z, y, x), with --box and --unit:
    density.npy, or fields.h5:/density. Without a unit it is any other field, while the function sidestream.halos takes
    arrays for densities of matter. Prints the 20 heaviest.

    \b
    Examples:
      sidestream halos find runs/demo/plt00120 -n 2
      sidestream halos find DD0046 --t-boundary "60 mean" --t-halo "100 mean"
      sidestream halos find runs/demo/chk00050.hdf5_chk --finder fof -o groups.csv
      sidestream halos find density.npy --box "20 Mpc" --unit Msun/Mpc^3
    """
    from time import perf_counter

    from ..files.plain import Description, as_plot_files
    from ..launch import halos as search
    from ..quantities import duration

    _check(out, 1)
    if finder is not None and finder not in FINDERS:
        raise UsageError(f"there is no finder `{finder}`", hint=f"--finder takes {' or '.join(FINDERS)}")
    given = {
        "finder": finder,
        "field": field,
        "t_boundary": t_boundary,
        "t_halo": t_halo,
        "connectivity": connectivity,
        "linking_length": linking_length,
        "species": species,
    }
    options = {name: value for name, value in given.items() if value is not None}
    start, count = perf_counter(), count_of(ranks, launcher)
    with console.status(f"searching {file}") as tell, as_plot_files([file], Description(box, unit)) as (path,):
        table = search.find(search.Search(path, task, options), count, launcher, tell)
    seconds = perf_counter() - start
    told = f"reading and finding took {duration(seconds)} on {count} rank{'s' * (count != 1)}"
    _give(table, out, as_json, told, {"seconds": seconds})


@halos.command(short_help="Write which halo became which, over all steps of a run.")
def mergers(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="NAME", help="The task (default: all that link halos).", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="The file, .nc (default: RUN/mergers.TASK.nc)."),
    ] = None,
) -> None:
    """Write the links between the halos of successive steps as one table, and print the path of the file.

    For tasks of halos with `link = true`. A run does this by itself when it ends; this serves one that still goes on.

    \b
    Examples:
      sidestream halos mergers runs/mergers
      sidestream halos mergers runs/mergers --task halos -o links.nc
    """
    from ..files.opening import open_run
    from ..runs.mergers import table_path

    opened = open_run(run)
    tasks = [task] if task else [name for name in opened.tasks if opened.has_links(name)]
    if not tasks:
        raise Error("no task of the run links its halos", run, "set `link = true` in the table of a halo task")
    if out is not None and len(tasks) > 1:
        raise UsageError(f"{len(tasks)} tasks do not fit into one file", hint=f"--task takes {' or '.join(tasks)}")
    for name in tasks:
        typer.echo(opened.merger_tree(name).save(out or table_path(opened.folder, name)))


def _check(out: Path | None, min_cells: int) -> None:
    from ..runs.catalogue import check_target

    check_target(out)
    if min_cells < 1:
        raise UsageError(f"halos of {min_cells} cells are none", hint="--min-cells takes 1 or more")


def _give(table: xr.Dataset, out: Path | None, as_json: bool, told: str, times: dict[str, float]) -> None:
    """Writes and prints a catalogue."""
    from ..runs import catalogue

    count = table.sizes.get("halo", 0)
    if out is not None:
        catalogue.save(table, out)
    if as_json:
        console.print_json({"halos": count, **times, "columns": catalogue.as_columns(table)})
        return
    catalogue.print_catalogue(table)
    more = f", of which the {catalogue.SHOWN_ROWS} heaviest are shown" if count > catalogue.SHOWN_ROWS else ""
    where = f"; all are in {out}" if out is not None else ""
    found = table.attrs.get("summary", "0 halos") if count == 0 else f"{count} halo{'s' * (count != 1)}"
    console.say(f"{found}{more}{where}; {told}")
