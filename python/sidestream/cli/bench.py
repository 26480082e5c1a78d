"""`sidestream bench`: measurements of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import console
from ..error import UsageError
from .groups import group
from .options import Json, Launcher

if TYPE_CHECKING:
    from ..launch.bench.cases import CaseRequest

COLLISIONS = ("trt", "bgk", "regularised")
LAYOUTS = ("pencils", "blocks")  # of the cells before a transform

Ranks = Annotated[int | None, typer.Option("-n", "--ranks", metavar="RANKS", help="MPI ranks (default: 4).")]
Strategies = Annotated[
    str | None, typer.Option("--strategies", metavar="NAMES", help="Only these strategies, with commas between.")
]

bench = group("bench", "Measure what this machine and its disk can do.")


@bench.callback()
def _group() -> None:
    pass


@bench.command(short_help="Time every format and method of writing files.")
def io(
    ranks: Ranks = None,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Where to write and remove the files.")
    ] = Path(),
    repetitions: Annotated[
        int, typer.Option("--repetitions", metavar="N", help="Times that each case is measured, in turns.")
    ] = 7,
    blocks: Annotated[
        int | None, typer.Option("--blocks", metavar="N", help="Blocks of 16^3 cells a rank (default: 32).")
    ] = None,
    contents: Annotated[
        str | None,
        typer.Option(
            "--contents",
            metavar="NAMES",
            help="These: checkpoint,plotfile (default), chosen; with --reads: everything,field,slice,region,particles.",
        ),
    ] = None,
    formats: Annotated[
        str | None, typer.Option("--formats", metavar="NAMES", help="Only these formats, with commas between.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option("--methods", metavar="NAMES", help="Only these methods, with commas between.")
    ] = None,
    buffers: Annotated[
        str | None,
        typer.Option("--buffers", metavar="MIB", help="Of the method aggregated, each in turn: 4,16,64."),
    ] = None,
    aggregators: Annotated[
        str | None,
        typer.Option("--aggregators", metavar="NUMBERS", help="Ranks that write in it, each in turn: 1,2."),
    ] = None,
    model: Annotated[
        bool,
        typer.Option("--model", help="Charge the time of a model of a parallel file system, instead of measuring."),
    ] = False,
    reads: Annotated[
        bool, typer.Option("--reads", help="Time reading instead of writing, with a cold cache and a warm one.")
    ] = False,
    parts: Annotated[
        bool, typer.Option("--parts", help="Print what takes the time: writing, exchange, copies, waiting; and memory.")
    ] = False,
    case: Annotated[
        str | None,
        typer.Option("--case", metavar="NAME", help="A study of a paper, measured and modelled: flash, nyx, enzo."),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option("--sizes", metavar="NAMES", help="Of the case enzo, with commas: AMR64,AMR128,AMR256."),
    ] = None,
    most_ranks: Annotated[
        int | None,
        typer.Option("--most-ranks", metavar="N", help="Of a case: the most ranks that are modelled (default: 65536)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Of a case: where its figures and numbers go.")
    ] = None,
    as_json: Json = False,
    launcher: Launcher = None,
) -> int:
    """Time every format and method of writing a checkpoint and a plot file, and count their writes.

    A checkpoint has 10 variables in double precision, a plot file 3 in single; each rank has blocks of 16^3 cells.
    Speeds stand beside plain writing of the same bytes by one rank, which is what the disk can do, and beside one file
    a rank. Every file is read back and compared once.

    With --reads everything is read, then one field, a slice, an eighth of the domain, and the particles (one a cell).
    The disk is then a file that has nothing else, of which each rank reads its share.

    With --case the study of a paper is measured as far as it fits here and modelled at its size, beside what was
    published; with --model too, it is modelled only.

    \b
    Examples:
      sidestream bench io -n 4 --folder /scratch
      sidestream bench io --reads --contents slice,region
      sidestream bench io --case flash --out flash
      sidestream bench io --case enzo --sizes AMR64
      sidestream bench io -n 1 --contents plotfile --formats nyx
      sidestream bench io -n 8 --model --json
    """
    from ..launch.bench import cases
    from ..launch.bench import io as benchmark

    if ranks is not None and ranks < 1:
        raise UsageError(f"{ranks} ranks cannot write anything", hint="-n takes 1 or more")
    if blocks is not None and blocks < 1:
        raise UsageError(f"{blocks} blocks are nothing to write", hint="--blocks takes 1 or more")
    if repetitions < 1:
        raise UsageError(f"{repetitions} repetitions measure nothing", hint="--repetitions takes 1 or more")
    _require_counts("buffers", buffers, 1024)
    _require_counts("aggregators", aggregators, ranks or 4)
    if (buffers or aggregators) and methods is not None and "aggregated" not in methods.split(","):
        raise UsageError(
            "--buffers and --aggregators are of the method aggregated, which is not measured",
            hint="add it to --methods, or leave them out",
        )
    measured = formats or (cases.NYX_FORMATS if case == "nyx" else None)
    if (buffers or aggregators) and measured is not None and not _are_aggregated(measured):
        raise UsageError(
            "--buffers and --aggregators are of the method aggregated, which writes none of the formats",
            hint="add one of HDF5, netCDF, enzo or raw to --formats, or leave them out",
        )
    request = benchmark.BenchRequest(
        ranks=ranks or 4,
        folder=folder,
        repetitions=repetitions,
        blocks=blocks or 32,
        contents=contents,
        formats=formats,
        methods=methods,
        buffers=buffers,
        aggregators=aggregators,
        reads=reads,
        model=model and case is None,
        launcher=launcher,
    )
    of_writing = {"--methods": methods, "--buffers": buffers, "--aggregators": aggregators}
    others = {"--case": case, "--model": model or None, "--parts": parts or None} | of_writing
    if reads and (idle := [option for option, value in others.items() if value is not None]):
        raise UsageError("--reads is measured by itself", hint=f"leave out {' and '.join(idle)}")
    if parts and (case is not None or as_json):
        raise UsageError("--parts is a table of what is measured here", hint="JSON has it; leave out --case")
    if case is not None:
        most = cases.MOST_RANKS if most_ranks is None else most_ranks
        return _study(cases.CaseRequest(case, request, blocks, most, out, not model, sizes), as_json)
    for option, given in (("out", out), ("sizes", sizes), ("most-ranks", most_ranks)):
        if given is not None:
            raise UsageError(f"--{option} is for a case", hint="name one with --case")
    report = benchmark.measure(request)
    console.print_json(report) if as_json else benchmark.print_report(report)
    if parts:
        benchmark.print_parts(report)
    return 1 if any("error" in case for case in report["cases"]) else 0


def _require_counts(option: str, words: str | None, most: int) -> None:
    for word in (words or "1").split(","):
        if not word.isdecimal() or not 1 <= int(word) <= most:
            raise UsageError(f"--{option} {words}: `{word}` cannot be tried", hint=f"--{option} takes 1 to {most}")


def _are_aggregated(names: str) -> bool:
    """Whether one of these formats is, or may be, where the name is wrong."""
    from ..files.formats import formats, methods_of

    known = formats()
    return any(name not in known or "aggregated" in methods_of(name) for name in names.split(","))


def _study(request: CaseRequest, as_json: bool) -> int:
    from ..launch.bench import cases

    report = cases.run(request)
    console.print_json(report) if as_json else cases.print_report(report)
    return 1 if any("error" in one for measured in report["measured"] for one in measured["cases"]) else 0


@bench.command(short_help="Time every way in which cells travel between ranks.")
def move(
    ranks: Ranks = None,
    cells: Annotated[int, typer.Option("--cells", metavar="N", help="Cells a side of the field.")] = 128,
    block: Annotated[int, typer.Option("--block", metavar="N", help="Cells a side of a block.")] = 16,
    repetitions: Annotated[
        int, typer.Option("--repetitions", metavar="N", help="Times that each case is measured, in turns.")
    ] = 15,
    strategies: Strategies = None,
    wisdom: Annotated[
        str | None, typer.Option("--wisdom", metavar="FILE", help='File of what tuning finds; "none": none.')
    ] = None,
    as_json: Json = False,
    launcher: Launcher = None,
) -> int:
    """Move a field between two layouts by each exchange strategy.

    From rows to columns, from blocks to pencils, and from rows to rectangles.

    Least times stand beside a plain copy of the same bytes by all ranks at once, and beside the scheme of one
    MPI_Alltoallw for each chunk that a rank owns: so many times as fast as that. Every cell is compared once. `tuned`
    measures the others, as a run with `exchange = "tuned"` does, and keeps what it finds.

    \b
    Examples:
      sidestream bench move -n 4 --cells 256
      sidestream bench move -n 8 --strategies p2p,shared,tuned --json
    """
    from ..launch.bench import move as bench_move

    if ranks is not None and ranks < 1:
        raise UsageError(f"{ranks} ranks cannot move anything", hint="-n takes 1 or more")
    for option, value in (("cells", cells), ("block", block), ("repetitions", repetitions)):
        if value < 1:
            raise UsageError(f"--{option} {value} leaves nothing to move", hint=f"--{option} takes 1 or more")
    _require_names(strategies)
    report = bench_move.measure(
        bench_move.MoveRequest(
            ranks=ranks or 4,
            cells=cells,
            block=block,
            repetitions=repetitions,
            strategies=strategies,
            wisdom=wisdom,
            launcher=launcher,
        )
    )
    console.print_json(report) if as_json else bench_move.print_report(report)
    return 1 if any("error" in case for movement in report["movements"] for case in movement["cases"]) else 0


@bench.command(short_help="Time transfers from ranks that compute to sidecars.")
def transfer(
    ranks: Ranks = None,
    cells: Annotated[int, typer.Option("--cells", metavar="N", help="Cells a side of the largest grid.")] = 128,
    block: Annotated[int, typer.Option("--block", metavar="N", help="Cells a side of a block.")] = 32,
    components: Annotated[int, typer.Option("--components", metavar="N", help="Numbers of a cell.")] = 10,
    sidecars: Annotated[
        int | None,
        typer.Option("--sidecars", metavar="N", help="Where their number is fixed (default: an eighth of the ranks)."),
    ] = None,
    repetitions: Annotated[
        int, typer.Option("--repetitions", metavar="N", help="Times that each way is measured, in turns.")
    ] = 7,
    model: Annotated[bool, typer.Option("--model", help="Model only, and measure nothing.")] = False,
    most_ranks: Annotated[int, typer.Option("--most-ranks", metavar="N", help="The ranks that are modelled.")] = 8192,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where the figure and numbers go.")] = None,
    as_json: Json = False,
    launcher: Launcher = None,
) -> int:
    """Move the components of a grid from ranks that compute to sidecars.

    With sidecars from 1/128 to 1/2 of the ranks, grids up to --cells, and blocks from 16^3 to 128^3 cells: by the
    redistribution of runs and by one message for each component of a box, beside bare messages and a plain copy of the
    same bytes, in turns. Every value is compared once. Then a model of 8,192 ranks beside what was published.

    \b
    Examples:
      sidestream bench transfer -n 4
      sidestream bench transfer --model --out transfer
    """
    from ..launch.bench import transfer as bench_transfer

    if ranks is not None and ranks < 2:
        raise UsageError(f"-n {ranks} leaves no sidecar beside the ranks that compute", hint="-n takes 2 or more")
    least = {"cells": (cells, 16), "block": (block, 16), "components": (components, 1), "repetitions": (repetitions, 1)}
    for option, (value, lowest) in least.items():
        if value < lowest:
            raise UsageError(f"--{option} {value} leaves nothing to move", hint=f"--{option} takes {lowest} or more")
    if sidecars is not None and sidecars < 1:
        raise UsageError(f"{sidecars} sidecars receive nothing", hint="--sidecars takes 1 or more")
    request = bench_transfer.TransferRequest(
        ranks or 4, cells, block, components, sidecars, repetitions, most_ranks, out, not model, launcher
    )
    report = bench_transfer.run(request)
    console.print_json(report) if as_json else bench_transfer.print_report(report)
    return 0


@bench.command(short_help="Time Fourier transforms by every process grid and exchange strategy.")
def fft(
    ranks: Ranks = None,
    cells: Annotated[int, typer.Option("--cells", metavar="N", help="Cells a side of the field, 8 or more.")] = 128,
    block: Annotated[
        int, typer.Option("--block", metavar="N", help="Cells a side of a block, with --from blocks.")
    ] = 32,
    repetitions: Annotated[int, typer.Option("--repetitions", metavar="N", help="Steps that are measured.")] = 10,
    components: Annotated[
        int, typer.Option("--components", metavar="N", help="Fields that are transformed together.")
    ] = 1,
    kept: Annotated[
        int | None, typer.Option("--kept", metavar="K", help="Largest wavenumber that is kept (default: all).")
    ] = None,
    source: Annotated[
        str, typer.Option("--from", metavar="LAYOUT", help="Where the cells are: pencils or blocks.")
    ] = "pencils",
    threads: Annotated[int, typer.Option("--threads", metavar="N", help="Threads of a rank at most.")] = 1,
    thread_mode: Annotated[
        str,
        typer.Option("--thread-mode", metavar="MODE", help="Which of them call MPI: `sidestream list thread-modes`."),
    ] = "funneled",
    strategies: Strategies = None,
    wisdom: Annotated[
        str | None, typer.Option("--wisdom", metavar="FILE", help='File of what is found; "none": none.')
    ] = None,
    as_json: Json = False,
    launcher: Launcher = None,
) -> int:
    """Transform a real field there and back by each process grid, exchange strategy and depth of the pipeline.

    Times are those of the slowest rank in the fastest step, as in the turbulence code of Blue Waters, divided into
    lines, packing, exchange and unpacking. A sinusoid, of which one mode is left, tells how exact the fastest one is.
    All of them give the same bits. With 2 under way, lines of one piece (planes, or a component) are transformed while
    another travels; some process grids leave half of the ranks idle. With --threads, each rank has so many, half of
    them and so on: of `funneled` ones the first calls MPI and the others help with lines; `serialized` and `multiple`
    ones have pieces of their own under way, and call MPI one at a time or at once. The fastest is kept in the wisdom
    file, where a run with `exchange = "tuned"` finds it for the same work.

    \b
    Examples:
      sidestream bench fft -n 4 --cells 256
      sidestream bench fft -n 4 --cells 64 --components 3 --kept 21
      sidestream bench fft -n 2 --threads 2 --thread-mode multiple
      sidestream bench fft -n 8 --from blocks --strategies p2p,shared --json
    """
    from ..launch.bench import fft as bench_fft

    if ranks is not None and ranks < 1:
        raise UsageError(f"{ranks} ranks cannot transform anything", hint="-n takes 1 or more")
    if components < 1:
        raise UsageError(f"{components} components are nothing to transform", hint="--components takes 1 or more")
    if kept is not None and not 3 <= kept <= (cells - 1) // 2:
        raise UsageError(
            f"--kept {kept} does not fit {cells} cells", hint=f"--kept takes 3 to {(cells - 1) // 2}; without it all"
        )
    if cells < 8:
        raise UsageError(f"{cells} cells hold no sinusoid", hint="--cells takes 8 or more")
    if block < 1:
        raise UsageError(f"blocks of {block} cells hold nothing", hint="--block takes 1 or more")
    if repetitions < 1:
        raise UsageError(f"{repetitions} repetitions measure nothing", hint="--repetitions takes 1 or more")
    if source not in LAYOUTS:
        raise UsageError(
            f"there is no layout `{source}` to transform from", hint=f"--from takes {' or '.join(LAYOUTS)}"
        )
    if threads < 1:
        raise UsageError(f"{threads} threads cannot transform anything", hint="--threads takes 1 or more")
    _require_names(strategies)
    request = bench_fft.FftRequest(
        ranks=ranks or 4,
        cells=cells,
        block=block,
        repetitions=repetitions,
        components=components,
        kept=kept,
        source=source,
        threads=threads,
        thread_mode=thread_mode,
        strategies=strategies,
        wisdom=wisdom,
        launcher=launcher,
    )
    report = bench_fft.measure(request)
    console.print_json(report) if as_json else bench_fft.print_report(report)
    return 1 if any("error" in case for case in report["cases"]) else 0


@bench.command(short_help="Time steps of lattice Boltzmann flows.")
def lbm(
    ranks: Ranks = None,
    plane: Annotated[int, typer.Option("--plane", metavar="N", help="Cells a side of the plane, 16 or more.")] = 2048,
    space: Annotated[int, typer.Option("--space", metavar="N", help="Cells a side of the cube, 8 or more.")] = 160,
    steps: Annotated[int, typer.Option("--steps", metavar="N", help="Steps that are timed together.")] = 10,
    repetitions: Annotated[
        int, typer.Option("--repetitions", metavar="N", help="Times that they are, in turns with the copy.")
    ] = 5,
    collision: Annotated[str, typer.Option("--collision", metavar="NAME", help="trt, bgk or regularised.")] = "trt",
    peer: Annotated[bool, typer.Option("--peer/--no-peer", help="Compare with lbmpy, if it is installed.")] = True,
    as_json: Json = False,
    launcher: Launcher = None,
) -> None:
    """Step flows on both lattices, in floats and doubles, beside a copy of memory by the same ranks.

    An update of a cell reads and writes 9 numbers in a plane and 19 in space: 144 and 304 bytes in double precision.
    The copy is that of STREAM with streaming stores, 16 bytes an element, by turns with the steps; the share of the
    roofline is what the steps move over what the copy does, of the best of each. Take sizes beyond the caches. On one
    rank lbmpy, where it is installed, steps as many cells with the same collision, without filling ghost cells.
    The last column says how much longer the steps of a run take while the vorticity of each tenth is published to an
    analysis on a thread of each rank, by turns with steps of which none is.

    \b
    Examples:
      sidestream bench lbm -n 2
      sidestream bench lbm -n 1 --collision regularised --json
    """
    from ..launch.bench import lbm as bench_lbm

    if ranks is not None and ranks < 1:
        raise UsageError(f"{ranks} ranks cannot step anything", hint="-n takes 1 or more")
    if plane < 16 or space < 8:
        raise UsageError("there are too few cells to time", hint="--plane takes 16 or more, --space 8")
    for option, value in (("steps", steps), ("repetitions", repetitions)):
        if value < 1:
            raise UsageError(f"--{option} {value} measures nothing", hint=f"--{option} takes 1 or more")
    if collision not in COLLISIONS:
        raise UsageError(f"there is no collision `{collision}`", hint=f"--collision takes {', '.join(COLLISIONS)}")
    request = bench_lbm.LbmRequest(ranks or 1, plane, space, steps, repetitions, collision, launcher, peer)
    report = bench_lbm.measure(request)
    console.print_json(report) if as_json else bench_lbm.print_report(report)


@bench.command(short_help="Time a stream between two jobs.")
def stream(
    most_writers: Annotated[
        int, typer.Option("--writers", metavar="N", min=4, help="Most ranks that publish; 4 to each that reads.")
    ] = 16,
    megabytes: Annotated[float, typer.Option("--megabytes", metavar="MB", min=0.1, help="Of a step.")] = 64.0,
    steps: Annotated[int, typer.Option("--steps", metavar="N", min=14, help="Steps of each pair of jobs.")] = 32,
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDRESS", help="Where the job that publishes listens; or local.")
    ] = "tcp://127.0.0.1:*",
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Compare with a bare socket and with SST of ADIOS2.")
    ] = True,
    link: Annotated[
        str, typer.Option("--link", metavar="RATE", help='Over a link of this speed, too; "none": over none.')
    ] = "1gbit",
    model: Annotated[
        bool, typer.Option("--model", help="Only the model of more ranks on links of the paper; next to nothing runs.")
    ] = False,
    as_json: Json = False,
    launcher: Launcher = None,
) -> None:
    """Time a stream between two jobs, by both techniques and by the one that readers choose themselves.

    The four tests of Marrinan et al. (2019): strong scaling, the number of writers varied, the size varied, weak
    scaling; a plane in slices becomes slices the other way (columns) or near-squares (rectangles). The bandwidth is
    that of the fastest step, from its being there to its being laid out on all readers. All techniques read the same
    steps, by turns.

    The same between two network namespaces with a link of a known speed, where that is permitted (to root); there the
    bounding box is also read as it is where nobody packs. Then what a stream costs a run; a model of up to 128 writers
    on the links of the paper; and one writer and one reader with steps of 100 MB beside a bare socket and SST, by
    turns.

    \b
    Examples:
      sidestream bench stream
      sidestream bench stream --writers 32 --megabytes 256 --json
      sidestream bench stream --writers 8 --link 200mbit
      sidestream bench stream --model
    """
    from ..launch.bench import stream as bench_stream
    from ..launch.streams.model import report as modelled

    request = bench_stream.StreamRequest(most_writers, megabytes, steps, listen, launcher, peers, link)
    if model:
        found = modelled(request.way)
        console.print_json(found) if as_json else bench_stream.print_model(found)
        return
    report = bench_stream.measure(request)
    console.print_json(report) if as_json else bench_stream.print_report(report)


def _require_names(strategies: str | None) -> None:
    if strategies is not None and not all(name.strip() for name in strategies.split(",")):
        raise UsageError(
            f"--strategies `{strategies}` leaves a name out",
            hint="names with commas between; `sidestream list strategies` has them all",
        )
