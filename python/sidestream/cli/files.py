"""`sidestream convert` and `sidestream verify`: files of any format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .. import console
from ..error import Error, UsageError
from .options import Json, Launcher

Ranks = Annotated[int | None, typer.Option("-n", "--ranks", metavar="RANKS", help="MPI ranks (default: one a core).")]


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The file or folder to read.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file or folder to write.", show_default=False)],
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="The format to write.", show_default=False)],
    fields: Annotated[
        list[str] | None,
        typer.Option("--fields", metavar="NAMES", help="Only these fields, with commas between (default: all)."),
    ] = None,
    species: Annotated[
        list[str] | None,
        typer.Option("--species", metavar="NAMES", help="Only the particles of these species (default: all)."),
    ] = None,
    precision: Annotated[str, typer.Option("--precision", metavar="WORD", help="Of the fields: double, single.")] = (
        "double"
    ),
    block: Annotated[
        int | None,
        typer.Option(
            "--block",
            metavar="CELLS",
            min=1,
            help="Cells a side of the blocks (default: those of IN).",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", metavar="NAME", help="How the data reach the disk (default: the format's choice)."),
    ] = None,
    files: Annotated[
        int | None,
        typer.Option(
            "--files",
            metavar="COUNT",
            min=1,
            help="Of one HDF5 file, so many parts; in formats of many files, so many at the same time.",
            show_default=False,
        ),
    ] = None,
    compress: Annotated[
        list[str] | None,
        typer.Option(
            "--compress",
            metavar="HOW",
            help='How fields are compressed: zstd, "zfp 1e-3", or FIELD="zfp 1e-3" for one (default: not at all).',
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what has the name OUT.")] = False,
    ranks: Ranks = None,
    launcher: Launcher = None,
    as_json: Json = False,
) -> None:
    """Write the state in a plot file or checkpoint again in another format.

    IN may be of any format that `sidestream info` knows, written by Sidestream or by another code. Positions, levels,
    particles and the moment are taken over. A checkpoint stays one, to the bit, when all of it is taken over in double
    precision. OUT appears complete or not at all.

    Other programs tell FLASH files by their names: let OUT hold `_hdf5_plt_cnt_` or `_hdf5_chk_`.

    \b
    Examples:
      sidestream convert runs/demo/plt00120 demo_hdf5_plt_cnt_0120 --format flash
      sidestream convert sedov_hdf5_chk_0010 plt00010 --format nyx -n 4
      sidestream convert chk00050.hdf5_chk small --format nyx --fields density,Temp --precision single
      sidestream convert chk00050.hdf5_chk big.hdf5_chk --format sidestream --files 4 -n 4
      sidestream convert plt00120 small.raw --format raw --compress density="zfp 1e-3 relative",zstd
    """
    from ..files.description import print_description
    from ..launch import conversion

    request = conversion.Conversion(
        source,
        target,
        form,
        _names(fields),
        _names(species),
        precision,
        block,
        method,
        overwrite,
        _names(compress),
        files,
    )
    writers = count_of(ranks, launcher)
    if files is not None and files > writers:
        console.say(f"warning: `--files {files}` is more than the ranks that write\nhint: start on -n {files}")
    with console.status(f"converting {source}") as tell:
        report = conversion.convert(request, writers, launcher, tell)
    if report["left_out_particles"]:
        console.say(f"warning: {form} files hold no particles: {report['left_out_particles']} were left out")
    console.print_json(report) if as_json else print_description(_summary(report))


def verify(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A plot file, a checkpoint or a run.", show_default=False)
    ],
    ranks: Ranks = None,
    launcher: Launcher = None,
    as_json: Json = False,
) -> None:
    """Read a plot file or checkpoint of any format and check every checksum in it.

    Of a run, every plot file, checkpoint and stored snapshot is read, those of its tasks too, and each has a line that
    says whether it is good. Exit code 1 means that one is damaged. Files of other codes have no checksums: that they
    can be read, with numbers that can be, is all there is to check.

    \b
    Examples:
      sidestream verify runs/demo
      sidestream verify runs/demo/chk00050.hdf5_chk -n 4
      sidestream verify runs/demo --json
    """
    verdicts: list[dict[str, Any]] = []
    with console.status(f"verifying {path}") as tell:
        from ..archive.manifest import still_arriving
        from ..archive.place import ARRIVING
        from ..files.opening import is_there
        from ..launch import verification

        if is_there(path) and (path / ARRIVING).is_dir():
            raise still_arriving(path)
        for verdict in verification.verify(path, count_of(ranks, launcher), launcher, tell):
            verdicts.append(verdict)
            if not as_json:
                typer.echo(_line(verdict))
    if as_json:
        console.print_json(verdicts)
    damaged = [verdict for verdict in verdicts if not verdict["is_good"]]
    if damaged:
        raise Error(
            f"{len(damaged)} of {len(verdicts)} files cannot be trusted",
            ", ".join(Path(verdict["path"]).name for verdict in damaged),
            "`sidestream run ... --restart` goes on from the newest good checkpoint",
        )


def _names(words: list[str] | None) -> list[str]:
    return [name.strip() for part in words or [] for name in part.split(",") if name.strip()]


def count_of(ranks: int | None, launcher: str | None) -> int:
    """The ranks asked for, with a word where this machine has fewer cores, or one a core."""
    from ..launch.launcher import default_ranks, warn_of_few_cores

    if ranks is None:
        return default_ranks()
    if ranks < 1:
        raise UsageError(f"{ranks} ranks cannot read anything", hint="-n takes 1 or more")
    if launcher is None:
        warn_of_few_cores(ranks, "this")
    return ranks


def _summary(report: dict[str, Any]) -> dict[str, Any]:
    from ..quantities import speed

    access = report["io"]
    return {
        "wrote": report["path"],
        "kind": f"{report['kind']} of format {report['format']}",
        "fields": report["fields"],
        "levels": report["levels"],
        "particles": report["particles"],
        "bytes": report["bytes"],
        "writes": access["writes"],
        "reading_s": report["read_s"],
        "writing_s": report["write_s"],
        "speed": speed(report["bytes"], report["write_s"]),
    }


def _line(verdict: dict[str, Any]) -> str:
    from ..files.snapshot import CHECKSUMS
    from ..quantities import duration, size, speed

    name = Path(verdict["path"]).name
    if not verdict["is_good"]:
        problem = Error.from_text(str(verdict["message"]))
        where = f" ({problem.where})" if problem.where else ""
        return f"damaged  {name}  {problem.what}{where}"
    much, seconds = verdict["bytes"], verdict["seconds"]
    what = f"{verdict['kind']} of format {verdict['format']}"
    state = ", pending, not committed" if verdict["is_pending"] else ""
    seal = "" if verdict["seal"] == "kept" else f", checksums {CHECKSUMS[verdict['seal']]}"
    return f"good     {name}  {what}{state}{seal}, {size(much)} in {duration(seconds)} ({speed(much, seconds)})"
