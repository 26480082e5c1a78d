"""`sidestream archive`: copies of runs in other places."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import console
from ..error import Error
from .options import Json


class ArchiveGroup(TyperGroup):
    """Takes `archive RUN DEST` for `archive put RUN DEST`."""

    def resolve_command(self, context: Any, words: list[str]) -> Any:
        """The command that words mean, and what is left of them."""
        is_named = words[0].startswith("-") or words[0] in self.commands
        is_short = not is_named and (len(words) > 1 or Path(words[0]).is_dir())
        return super().resolve_command(context, ["put", *words] if is_short else words)


archive = typer.Typer(
    name="archive",
    cls=ArchiveGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Copy runs to other places, in the background, and get parts of them back.\n\n"
    "`sidestream archive RUN DEST` is short for `sidestream archive put RUN DEST`. DEST is a folder, or HOST:FOLDER "
    "by ssh.\n\n"
    "\b\n"
    "Examples:\n"
    "  sidestream archive runs/demo /tape/demo                 copy it; the same again when it was cut\n"
    "  sidestream archive runs/demo store:archive/demo --wait\n"
    "  sidestream archive list store:archive/demo              what is there\n"
    "  sidestream archive verify store:archive/demo            is it good? nothing is fetched\n"
    "  sidestream archive get store:archive/demo results config.toml --to demo",
)

Dest = Annotated[
    str, typer.Argument(metavar="DEST", help="The place of the archive: FOLDER or HOST:FOLDER.", show_default=False)
]


@archive.command(short_help="Copy a run, or what is new of it; the command's short form needs no `put`.")
def put(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    dest: Dest,
    wait: Annotated[bool, typer.Option("--wait", help="Stay until all is there, and say what was done.")] = False,
    as_json: Json = False,
) -> None:
    """Copy a run to DEST, in the background. RUN may go on meanwhile: what has its final name is taken.

    Each file is compared there, by its SHA-256, before it counts. When the copy was cut, the same command sends the
    rest; once the run has gone on, what is new. DEST gets `manifest.json`: names, sizes, dates, checksums, formats,
    units. What the run has removed since stays there. The log is RUN/.archive.log.

    \b
    Examples:
      sidestream archive runs/demo /tape/demo
      sidestream archive runs/demo store:archive/demo --wait
    """
    from ..archive.background import begin
    from ..archive.place import place_of
    from ..archive.storing import store

    place = place_of(dest)
    if not wait:
        process, log = begin(run, place)
        told = {"process": process, "log": str(log), "place": str(place)}
        console.print_json(told) if as_json else typer.echo(f"archiving {run} in process {process}; its log is {log}")
        return
    with console.status(f"archiving {run}") as tell:
        report = store(run, place, tell)
    for name in report.left_out:
        console.say(f"warning: {name} is left out: it is no file, or a link to a folder or to nowhere")
    for name, problem in report.damaged.items():
        console.say(f"warning: {name} is archived as it is, and cannot be read: {problem}")
    console.print_json(asdict(report)) if as_json else typer.echo(_summary(asdict(report), str(place)))


@archive.command(name="list", short_help="Say what an archive holds.")
def list_(dest: Dest, as_json: Json = False) -> None:
    """Say what an archive holds: each part with its kind, format, step and size. Only its manifest is fetched.

    \b
    Examples:
      sidestream archive list store:archive/demo
      sidestream archive list /tape/demo --json
    """
    from ..archive.manifest import manifest_of
    from ..archive.place import place_of
    from ..quantities import size

    manifest = manifest_of(place_of(dest))
    if as_json:
        console.print_json(asdict(manifest) | {"parts": [asdict(part) for part in manifest.parts.values()]})
        return
    for part in manifest.parts.values():
        step = "" if part.step is None else f", step {part.step}"
        form = f" of format {part.format}" if part.format else ""
        unread = f"; could not be read in the run: {part.problem}" if part.problem else ""
        typer.echo(f"{part.name}  {part.kind}{form}{step}, {size(part.bytes)}{unread}")
    state = "all that it had" if manifest.is_complete else "not all yet: `sidestream archive RUN DEST` sends the rest"
    console.say(f"{len(manifest.parts)} parts of the run {manifest.run}, {state}, {manifest.written}")


@archive.command(short_help="Check every file of an archive where it lies.")
def verify(dest: Dest, as_json: Json = False) -> None:
    """Check every file of an archive where it lies: nothing but its manifest is fetched.

    Exit code 1 means that a file is damaged, cut or lost, or that the run is still arriving or was not archived to its
    end.

    \b
    Examples:
      sidestream archive verify store:archive/demo
      sidestream archive verify /tape/demo --json
    """
    from ..archive import checking
    from ..archive.manifest import is_arriving, still_arriving
    from ..archive.place import place_of

    place = place_of(dest)
    with console.status(f"verifying {dest}"):
        manifest, verdicts = checking.verify(place)
    damaged = [verdict for verdict in verdicts if not verdict.is_good]
    if as_json:
        lines = [{"part": v.part.name, "kind": v.part.kind, "is_good": v.is_good, "faults": v.faults} for v in verdicts]
        console.print_json({"is_complete": manifest.is_complete, "parts": lines})
    else:
        for verdict in verdicts:
            faults = "".join(f"\n           {name} {fault}" for name, fault in verdict.faults.items())
            typer.echo(f"{'good   ' if verdict.is_good else 'damaged'}  {verdict.part.name}{faults}")
    if damaged:
        names = ", ".join(verdict.part.name for verdict in damaged[:5])
        hint = "where the run is still there, remove these files from the archive, and archive it again"
        raise Error(f"{len(damaged)} of {len(verdicts)} parts cannot be trusted", f"{place}: {names}", hint)
    if is_arriving(place):
        raise still_arriving(place)
    if not manifest.is_complete:
        raise Error("the run was not archived to its end", place, "`sidestream archive RUN DEST` sends the rest")


@archive.command(short_help="Fetch parts of an archive.")
def get(
    dest: Dest,
    parts: Annotated[
        list[str],
        typer.Argument(metavar="PART...", help="Names, folders, or patterns such as results/*/00120.nc."),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="The folder to put them into.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Fetch parts of an archive into DIR, under the names that they have in the run, and nothing else of it.

    Each is compared with the manifest before it appears. A call that was cut goes on where it was.

    \b
    Examples:
      sidestream archive get store:archive/demo chk00050.hdf5_chk config.toml --to demo
      sidestream archive get /tape/demo "results/halos/*.nc" --to demo
    """
    from ..archive import checking
    from ..archive.place import place_of
    from ..quantities import size

    with console.status(f"fetching from {dest}"):
        fetched = checking.get(place_of(dest), parts, to)
    if as_json:
        console.print_json({"to": str(to), "parts": [part.name for part in fetched]})
        return
    typer.echo(f"{len(fetched)} parts, {size(sum(part.bytes for part in fetched))}, are in {to}")


def _summary(report: dict[str, Any], place: str) -> str:
    from ..quantities import size

    gone = f", {len(report['gone'])} were removed by the run meanwhile" if report["gone"] else ""
    told = f"{len(report['sent'])} parts sent ({size(report['travelled_bytes'])}), {len(report['kept'])} were there"
    return f"{place} has all {size(report['bytes'])} of the run: {told}{gone}"
