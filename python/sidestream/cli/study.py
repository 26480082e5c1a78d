"""`sidestream sweep` and `compare`: families of runs, and runs beside measurements."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import console
from ..error import DONE, FAILED, INTERRUPTED, Error, UsageError
from .options import Json, Launcher

if TYPE_CHECKING:
    from ..launch.sweep import Outcome
    from ..runs.family import Family
    from ..study.compare import Comparison


def sweep(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="The configuration, a TOML file.", show_default=False)
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="KEY=A,B,C", help="A key and its values; repeatable: every combination is run."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", metavar="N", help="Every combination with the seeds 1 to N.", show_default=False),
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option(
            "-n", "--ranks", metavar="RANKS", help="MPI ranks of each run (default: the cores there are over -j)."
        ),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option("-j", "--at-once", metavar="RUNS", help="Runs at a time (default: as many as the cores allow)."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Overrides a key of all runs; repeatable.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The family's folder (default: runs/<name of CONFIG>-sweep)."),
    ] = None,
    launcher: Launcher = None,
    as_json: Json = False,
) -> int:
    """Run a configuration with some of its keys varied: a folder a run, and a table of them, DIR/sweep.json.

    All runs are checked before the first begins. One that fails stops no other. The same command again goes on with
    what is not done: finished runs stay as they are, others go on from their newest checkpoint. Ctrl-C stops those that
    go on after their steps. `sidestream.open_many(DIR)` in Python has the results over the varied keys.

    \b
    Examples:
      sidestream sweep box.toml --vary cosmology.sigma8=0.75,0.81,0.87 --seeds 4 -n 2
      sidestream sweep box.toml --vary mesh.cells=[32,32,32],[64,64,64] --vary hydro.cfl=0.3,0.6 --out runs/resolution
    """
    from ..launch import sweep as sweeps
    from ..launch.launcher import default_ranks
    from ..launch.piped import is_piped
    from ..machine import available_cores

    for name, number in (("-n", ranks), ("-j", at_once), ("--seeds", seeds)):
        if number is not None and number < 1:
            raise UsageError(f"{name} {number} is less than one", hint=f"{name} takes 1 or more")
    if ranks is None:
        ranks = max(1, available_cores() // at_once) if at_once else default_ranks()
    if is_piped(config):
        raise UsageError("every run reads the configuration, and a pipe is read once", config, "write it to a file")
    folder = out or Path("runs") / f"{config.stem}-sweep"
    family = _family(config, folder, vary or [], seeds, ranks, settings or [])
    with console.lasting():
        outcomes = sweeps.sweep(sweeps.SweepRequest(config, family, ranks, at_once, launcher))
        if as_json:
            rows = [{"name": o.member.name, "values": o.member.values, "status": o.status} for o in outcomes]
            console.print_json(rows)
        else:
            _print(outcomes, folder)
    statuses = {outcome.status for outcome in outcomes}
    if statuses & {sweeps.STOPPED, sweeps.NOT_BEGUN}:
        return INTERRUPTED
    return DONE if statuses == {sweeps.DONE} else FAILED


def _family(config: Path, folder: Path, vary: list[str], seeds: int | None, ranks: int, settings: list[str]) -> Family:
    from ..launch import simulation
    from ..launch.sweep import seed_key
    from ..runs.family import family

    keys: dict[str, list[str]] = {}
    for text in vary:
        key, is_set, values = text.partition("=")
        if not is_set or not key.strip() or not values.strip():
            raise UsageError(f"`{text}` is no key with values", hint="write --vary cosmology.sigma8=0.75,0.81,0.87")
        if key.strip() in keys:
            raise UsageError(f"the key `{key.strip()}` is varied twice", hint="give all its values in one --vary")
        keys[key.strip()] = _split(values)
    if seeds is not None:
        verdict = simulation.check(simulation.RunRequest(config, folder, ranks, settings), as_json=True)
        if verdict.code != 0:
            problem = Error.from_text(verdict.messages.strip())
            raise UsageError(problem.what, problem.where, problem.hint)
        key = seed_key(str(json.loads(verdict.output)["simulation"]))
        if key in keys:
            raise UsageError(f"--seeds and --vary {key} exclude each other", hint="give the seeds in one of the two")
        keys[key] = [str(seed) for seed in range(1, seeds + 1)]
    try:
        return family(folder, keys, settings)
    except Error as problem:
        raise UsageError(problem.what, problem.where, problem.hint) from problem


def _split(text: str) -> list[str]:
    """The values between commas that are in no brackets or quotes."""
    values, depth, quote, word = [], 0, "", ""
    for letter in text:
        if letter == "," and depth == 0 and not quote:
            values.append(word.strip())
            word = ""
            continue
        if quote or letter in "\"'":
            quote = "" if letter == quote else quote or letter
        depth += (letter in "[{") - (letter in "]}")
        word += letter
    return [*values, word.strip()]


def _print(outcomes: list[Outcome], folder: Path) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("run", "status"):
        table.add_column(title)
    for outcome in outcomes:
        table.add_row(outcome.member.name, outcome.status + (", as before" if outcome.was_done else ""))
    console.print_table(table)
    console.out().print(f"family  {folder}", soft_wrap=True)


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)],
    data: Annotated[
        str,
        typer.Option(
            "--data",
            metavar="NAME",
            help="The measurement: flux_power, thermal_state, one table, or a table of yours (.csv).",
            show_default=False,
        ),
    ],
    covariance: Annotated[
        Path | None,
        typer.Option(
            "--covariance", metavar="FILE", help="Of the points of your table: a matrix (.csv).", show_default=False
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", metavar="NAME", help="The task (default: the only one).", show_default=False)
    ] = None,
    within: Annotated[
        float, typer.Option("--within", metavar="DZ", help="How far the redshifts of results and data may be apart.")
    ] = 0.1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="The picture, with its numbers beside it as .csv and .nc (default: compare-<NAME>.png).",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw runs beside measurements, and print chi squared with its degrees of freedom and the covariance used.

    A result and a measurement belong together where each is nearest in redshift to the other, at most DZ apart. Of the
    flux power, points between the longest wave of the box and waves of eight cells count; between its modes the power
    of a run is interpolated in log k and log P. Nothing is fitted: each point is a degree of freedom. A table of your
    own has the columns z,k_s_km,P_km_s and errors sigma_..., or a covariance of all its points beside it.

    \b
    Examples:
      sidestream compare runs/demo --data flux_power
      sidestream compare runs/cold runs/warm --data flux_power.karacayli2022 --out dark_matter.png
      sidestream compare runs/demo --data power.csv --covariance covariance.csv
    """
    if not within >= 0:
        raise UsageError(f"--within {within} is less than zero", hint="it is a distance in redshift")
    with console.status("comparing"):
        from ..files.opening import open_run
        from ..study import compare as comparing
        from ..study.overlay import overlay

        made = comparing.compare([open_run(run) for run in runs], data, task, within, covariance)
        picture = overlay(made, Path(data).stem if data.lower().endswith(".csv") else data)
    path = out or Path(f"{picture.name}.png")
    picture.name = path.stem
    numbers = [path.with_name(path.stem + ending) for ending in (".csv", ".nc")]
    _check_apart(numbers, [path, Path(data), *([covariance] if covariance else [])])
    try:
        picture.write_png(path)
        picture.write_numbers(path.parent)
    except OSError as problem:
        raise Error(
            f"the picture cannot be written: {problem.strerror}",
            path,
            hint="choose another file with --out, or make room",
        ) from problem
    used = comparing.COVARIANCE if covariance is None else str(covariance)
    if as_json:
        rows = [_row(one) for one in made]
        totals = [dict(zip(("run", "chi_squared", "degrees_of_freedom"), of, strict=True)) for of in _totals(made)]
        console.print_json(
            {
                "covariance": used,
                "picture": str(path),
                "numbers": [str(file) for file in numbers],
                "comparisons": rows,
                "totals": totals,
            }
        )
        return
    _print_comparisons(made)
    how = "errors of the tables, added in quadrature" if covariance is None else "of all points of the table"
    console.out().print(f"covariance  {used}: {how}", soft_wrap=True)
    console.out().print(f"picture     {path}", soft_wrap=True)
    console.out().print(f"numbers     {', '.join(map(str, numbers))}", soft_wrap=True)


def _check_apart(numbers: Sequence[Path], others: Sequence[Path]) -> None:
    """Refuses to write the numbers over the picture or over the data that it shows."""
    for file in numbers:
        if file.resolve() in [other.resolve() for other in others]:
            raise UsageError(
                "the numbers beside the picture would be written over another file",
                file,
                "name the picture otherwise: --out FILE.png",
            )


def _row(one: Comparison) -> dict[str, object]:
    redshifts = (
        {} if one.redshift != one.redshift else {"redshift": one.redshift, "result_redshift": one.result_redshift}
    )
    return {
        "run": one.run,
        "data": one.data,
        "quantity": one.quantity,
        **redshifts,
        "chi_squared": one.chi_squared,
        "degrees_of_freedom": one.degrees_of_freedom,
    }


def _print_comparisons(made: list[Comparison]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("run", "data", "of"):
        table.add_column(title)
    for title in ("z of data", "z of run", "chi^2", "degrees of freedom"):
        table.add_column(title, justify="right")
    for one in made:
        moments = ["-" if z != z else f"{z:.3f}" for z in (one.redshift, one.result_redshift)]
        table.add_row(
            one.run,
            one.data,
            one.quantity.split(" ")[0],
            *moments,
            f"{one.chi_squared:.2f}",
            str(one.degrees_of_freedom),
        )
    console.print_table(table)
    for run, total, points in _totals(made):
        console.out().print(f"all of {run}: chi^2 {total:.2f}, {points} degrees of freedom", soft_wrap=True)


def _totals(made: list[Comparison]) -> list[tuple[str, float, int]]:
    """Of each run, chi squared of all its points and their number."""
    from ..study.compare import chi_squared

    runs = {run: [one for one in made if one.run == run] for run in dict.fromkeys(one.run for one in made)}
    return [(run, chi_squared(own), sum(one.degrees_of_freedom for one in own)) for run, own in runs.items()]
