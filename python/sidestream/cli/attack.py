"""`sidestream attack`: trials of what must not break."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import console
from ..error import Error, UsageError
from .options import Json

if TYPE_CHECKING:
    from ..attack.trial import Kind, Tally


def attack(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="KIND", help="Only this kind of trials; repeatable.", show_default=False),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="DIR", help="Scratch folder, empty or new (default: a temporary one)."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Number of the first trial of each kind.")] = 1,
    trials: Annotated[
        int | None,
        typer.Option("--trials", metavar="N", help="Trials of each kind (default: those of `--list`).", min=1),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", metavar="M", help="Begin no trial after this time (default: no limit).", min=0),
    ] = None,
    list_kinds: Annotated[bool, typer.Option("--list", help="List the kinds of trials and stop.")] = False,
    as_json: Json = False,
) -> int:
    """Attack the programs where they are installed: kill, stop and starve small runs, damage files, make up
    configurations, and see that nothing is lost, wrong or silent.

    Trials are made in turns, one of each kind at a time. Each has a number from which it repeats: trial 17 of `damage`
    is `--only damage --seed 17 --trials 1`. What a trial leaves is removed, unless it fails. A full attack takes many
    hours; exit code 1 says that a trial failed.

    \b
    Examples:
      sidestream attack --minutes 10
      sidestream attack --folder /scratch/attack --only kills --only calls
      sidestream attack --only damage --seed 17 --trials 1
    """
    from ..attack.campaign import Campaign
    from ..attack.kinds import KINDS

    if list_kinds:
        _print_kinds(KINDS, as_json)
        return 0
    kinds = [kind for kind in KINDS if not only or kind.name in only]
    if unknown := set(only or ()) - {kind.name for kind in KINDS}:
        raise UsageError(
            f"there is no kind of trials `{min(unknown)}`", hint=f"choose of: {', '.join(kind.name for kind in KINDS)}"
        )
    scratch = _scratch(folder)
    tallies = Campaign(kinds, scratch, seed, trials, minutes).run(console.say)
    console.print_json([_as_json(tally) for tally in tallies]) if as_json else _print(tallies)
    failed = any(tally.failures for tally in tallies)
    if failed:
        console.say(f"what the trials that failed have left lies in {scratch}")
    return int(failed)


def _scratch(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="sidestream-attack-"))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("the scratch folder is not empty", folder, "name one that is new or empty with --folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Error(
            f"the scratch folder cannot be made: {problem.strerror}", folder, "choose another, or make room"
        ) from problem
    return folder.absolute()


def _print_kinds(kinds: tuple[Kind, ...], as_json: bool) -> None:
    if as_json:
        console.print_json({kind.name: {"trials": kind.trials, "about": kind.documentation} for kind in kinds})
        return
    for kind in kinds:
        typer.echo(f"{kind.name:<16}{kind.trials:>7} trials: {kind.documentation}")


def _as_json(tally: Tally) -> dict[str, Any]:
    return {
        "kind": tally.kind,
        "tried": tally.tried,
        "survived": tally.survived,
        "seconds": round(tally.seconds, 1),
        "ends": dict(sorted(tally.ends.items())),
        "failures": {str(number): what for number, what in tally.failures.items()},
    }


def _print(tallies: list[Tally]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("kind", "how it ended", "seeds of failures"):
        table.add_column(title)
    for title in ("tried", "survived"):
        table.add_column(title, justify="right")
    for tally in tallies:
        numbers = ", ".join(map(str, tally.failures)) or "none"
        table.add_row(tally.kind, "all", numbers, str(tally.tried), str(tally.survived))
        for end, count in sorted(tally.ends.items()):
            table.add_row("", end, "", "", str(count))
    console.out().print(table)
