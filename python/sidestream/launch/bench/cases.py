"""`sidestream bench io --case`: the I/O studies of the papers, measured here as far as it fits, and modelled."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import console
from ...error import Error, UsageError
from ...parallel_files.hierarchy import SIZES
from . import io, memory_types
from .access_figures import accesses
from .case_figures import FIGURES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES = ("flash", "nyx", "enzo")
FLASH_FORMATS = "flash,flash-5d,flash-netcdf,flash-netcdf-5d"
FLASH_CONTENTS = "checkpoint,plotfile,chosen"
FLASH_BLOCKS = (32, 11)  # a rank: of the layout study, and of the scaling study
FLASH_BUFFERS = "4,16,64"  # MiB
NYX_FORMATS, NYX_CONTENT = "nyx,files", "checkpoint"  # 10 doubles a cell, as in the plot files of the paper
NYX_BLOCKS, NYX_BLOCK = 8, 32
ENZO_SIZES = ("AMR64", "AMR128", "AMR256")
ENZO_METHODS = ("gathered", "mpi-io", "hdf5-parallel", "engine", "aggregated")
NOT_OF_ENZO = ("blocks", "contents", "formats", "buffers", "aggregators")
MOST_RANKS = 65_536  # that are modelled
MODEL_NOTE = "times at scale are those of a MODEL, not measured"


@dataclass(frozen=True)
class CaseRequest:
    """What the user asked for: a case, and what is measured for it."""

    case: str
    bench: io.BenchRequest
    blocks: int | None = None  # a rank; none: those of the paper
    most_ranks: int = MOST_RANKS  # that are modelled
    out: Path | None = None  # where figures and the report go
    is_measured: bool = True
    sizes: str | None = None  # of the case `enzo`, with commas between; none: all


def check(request: CaseRequest) -> None:
    """Raises a UsageError or an Error before anything is measured or modelled."""
    if request.case not in CASES:
        raise UsageError(f"there is no case `{request.case}`", hint=f"--case takes {', '.join(CASES)}")
    _check_enzo(request) if request.case == "enzo" else _check_blocks(request)
    if request.case == "nyx" and request.bench.contents not in (None, NYX_CONTENT):
        raise UsageError("the case `nyx` measures checkpoints, of 10 doubles a cell", hint="leave --contents out")
    require_ranks(request.most_ranks, MOST_RANKS)
    require_folder(request.out)


def _check_blocks(request: CaseRequest) -> None:
    if request.sizes is not None:
        raise UsageError("--sizes is for the case `enzo`", hint="leave it out, or take --case enzo")


def _check_enzo(request: CaseRequest) -> None:
    for option in NOT_OF_ENZO:
        given = request.blocks if option == "blocks" else getattr(request.bench, option)
        if given is not None:
            raise UsageError(f"--{option} is for cases of blocks", hint="the case `enzo` takes --sizes and --methods")
    for option, words, known in (
        ("sizes", request.sizes, ENZO_SIZES),
        ("methods", request.bench.methods, ENZO_METHODS),
    ):
        for word in (words or known[0]).split(","):
            if word not in known:
                raise UsageError(f"--{option} {words}: there is no `{word}`", hint=f"there are {', '.join(known)}")
    if request.is_measured:
        _require_room(request)


def _require_room(request: CaseRequest) -> None:
    """For a file that is read and one that is written: libraries end badly on a full disk."""
    needed = 2 * max(SIZES[name].read_bytes + SIZES[name].dump_bytes for name in _sizes(request))
    wanted = request.bench.folder.absolute()
    folder = next(path for path in (wanted, *wanted.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Error(
            f"the files of the case need {needed / 1e6:.0f} MB, and {free / 1e6:.0f} MB are free",
            folder,
            "choose another folder with --folder, or smaller --sizes",
        )


def require_ranks(ranks: int, most: int) -> None:
    """That the model can do so many."""
    if not 16 <= ranks <= most:
        raise UsageError(f"{ranks} ranks are not modelled", hint=f"--most-ranks takes 16 to {most}")


def require_folder(folder: Path | None) -> None:
    """That figures can be written there, if they are to be."""
    if folder is not None:
        with io.passing_folder(folder, "--out"):
            pass


def run(request: CaseRequest) -> dict[str, Any]:
    """Measures and models the case, and writes figures and the report where that was asked for."""
    check(request)
    measured = _measured(request) if request.is_measured else []
    report = {"case": request.case, "measured": measured, "modelled": _modelled(request), "note": MODEL_NOTE}
    if request.out is not None:
        write(report, request.out)
        if measured:
            _draw(accesses(request.case, measured[0]), request.out, f"{request.case}_accesses")
    return report


def _measured(request: CaseRequest) -> list[dict[str, Any]]:
    if request.case == "enzo":
        return [io.measure(replace(request.bench, hierarchies=",".join(_sizes(request))))]
    if request.case == "flash":
        blocks = FLASH_BLOCKS if request.blocks is None else (request.blocks,)
        swept: dict[str, Any] = {
            "contents": request.bench.contents or FLASH_CONTENTS,
            "formats": request.bench.formats or FLASH_FORMATS,
            "buffers": request.bench.buffers or FLASH_BUFFERS,
            "aggregators": request.bench.aggregators or ",".join(map(str, sorted({1, request.bench.ranks}))),
        }
        found = [io.measure(replace(request.bench, blocks=count, **swept)) for count in blocks]
        return [one | {"memory_types": memory_types.compare(one)} for one in found]
    blocks_a_rank = request.blocks or NYX_BLOCKS
    bench = replace(request.bench, blocks=blocks_a_rank, block=NYX_BLOCK, contents=NYX_CONTENT)
    return [io.measure(replace(bench, formats=request.bench.formats or NYX_FORMATS))]


def _sizes(request: CaseRequest) -> tuple[str, ...]:
    return tuple(dict.fromkeys(request.sizes.split(","))) if request.sizes else ENZO_SIZES


def _modelled(request: CaseRequest) -> dict[str, Any]:
    from ...parallel_files import enzo, flash, nyx

    if request.case == "enzo":
        return enzo.study(_sizes(request), request.most_ranks)
    if request.case == "flash":
        return flash.study(request.most_ranks)
    return nyx.study(min(request.most_ranks, nyx.MOST_RANKS))


def write(report: dict[str, Any], folder: Path) -> None:
    """Writes `CASE.json`, `CASE.png` and `CASE.svg` in `folder`, which is made."""
    name = report["case"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")
    _draw(FIGURES[name](report["modelled"]), folder, name)


def _draw(figure: Figure, folder: Path, name: str) -> None:
    for kind in ("png", "svg"):
        figure.savefig(folder / f"{name}.{kind}", dpi=160)


def print_report(report: dict[str, Any]) -> None:
    """Prints what was measured, then the model beside what was published."""
    for measured in report["measured"]:
        io.print_report(measured)
        _print_memory_types(measured.get("memory_types", []))
    console.out().print(report["note"])
    _PRINTED[report["case"]](report["modelled"])


def table(title: str, columns: tuple[str, ...], rows: list[list[str]]) -> None:
    """Prints rows whose first column is text."""
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for index, name in enumerate(columns):
        shown.add_column(name, justify="right" if index else "left")
    for row in rows:
        shown.add_row(*row)
    console.out().print(shown)


def _print_memory_types(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    lines = []
    for row in rows:
        factors = [
            f"{row['packing_is_faster'][key]:.2f}" if key in row["packing_is_faster"] else "" for key in io.TIMES
        ]
        lines.append([f"{row['type']}, {row['text']}, {row['library']}", *factors])
    columns = ("out of blocks with ghost cells by", *io.TIMES.values())
    table("packing first: times as fast as the library's walk through memory", columns, lines)


def _print_flash(found: dict[str, Any]) -> None:
    for title, rows in (("layout study, 32 blocks a rank", found["layout"]), ("scaling study", found["scaling"])):
        for content in dict.fromkeys(row["content"] for row in rows):
            chosen = [row for row in rows if row["content"] == content]
            ranks = list(dict.fromkeys(row["ranks"] for row in chosen))
            times = {(row["method"], row["ranks"]): row["seconds"] for row in chosen}
            methods = dict.fromkeys(row["method"] for row in chosen)
            lines = [[method, *(f"{times[method, count]:.3g}" for count in ranks)] for method in methods]
            table(
                f"{title}, {content}, {found['machine']['name']}: s on so many ranks",
                ("method", *map(str, ranks)),
                lines,
            )
    _print_ahead(found["machine"]["name"], found["ahead"])
    _print_ahead(found["ahead_elsewhere"]["machine"], found["ahead_elsewhere"]["rows"])
    _print_burst_buffers(found["burst_buffers"])
    columns = ("MiB a buffer", "ranks a writer", *list(found["sweep"][0])[2:])
    lines = [[f"{value:.3g}" for value in row.values()] for row in found["sweep"]]
    table("buffers and writers, checkpoint: s", columns, lines)
    if found["published"]:
        lines = [_beside(row) for row in found["published"]]
        table("beside the paper", ("what", "published", "model", "error", ""), lines)
    _print_drop(found["drop"])


def _print_drop(found: dict[str, Any]) -> None:
    ratios = found["ratio_of_speeds"]
    for method, of in ratios.items():
        console.out().print(f"speed of checkpoints at 65,536 ranks over that at 32,768, {method}: {of:.2f}")
    if ratios and not found["is_explained"]:
        slower = [f"{method} by {100 * (1 - of):.0f} %" for method, of in ratios.items() if of < 0.995]
        console.out().print(
            "the model does not explain that checkpoints which libraries write collectively become slower at 65,536 "
            f"ranks; in it these do: {', '.join(slower) or 'none'}"
        )


def _print_ahead(machine: str, rows: list[dict[str, Any]]) -> None:
    lines = [[row["content"], str(row["ranks"]), f"{row['factor']:.2f}", row["best"]] for row in rows]
    title = f"Sidestream, {machine}: times as fast as the best other method"
    table(title, ("content", "ranks", "factor", "the best other"), lines)


def _print_burst_buffers(found: dict[str, Any]) -> None:
    speed = found["bytes_per_s"] / 1e9
    title = f"checkpoint staged in burst buffers, {found['machine']}, {speed:.3g} GB/s a node (assumed)"
    columns = ("ranks", "held, staged: s", "then drained in: s", "held, written at once: s", "MiB in a buffer")
    lines = [
        [
            str(row["ranks"]),
            *(f"{row[name]:.3g}" for name in ("held_s", "drained_s", "at_once_s")),
            f"{row['node_bytes'] / 2**20:.0f}",
        ]
        for row in found["rows"]
    ]
    table(title, columns, lines)


def _beside(row: dict[str, Any]) -> list[str]:
    low, high = row["published"]
    published = f"{high:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
    error = "fitted" if row["is_fitted"] else f"{100 * row['error']:+.0f} %"
    return [row["text"], published, f"{row['model']:.3g}", error, row["unit"]]


def _print_nyx(found: dict[str, Any]) -> None:
    grids = list(dict.fromkeys(row["cells"] for row in found["rows"]))
    speeds = {(row["cells"], row["files"]): row["gib_per_s"] for row in found["rows"]}
    files = list(dict.fromkeys(row["files"] for row in found["rows"]))
    lines = [[str(count), *(f"{speeds[cells, count]:.2f}" for cells in grids)] for count in files]
    table("files of one plot file: GiB/s of so many cells", ("files", *(f"{cells}^3" for cells in grids)), lines)
    for row in found["published"]:
        words = "fitted" if row["is_fitted"] else f"{100 * row['error']:+.0f} %"
        console.out().print(
            f"best of {row['cells']}^3: {row['model']:.3g} GiB/s, published {row['published']:.3g} ({words})"
        )
    console.out().print(f"least loss over all grids: {found['default_files']} files")


def _print_enzo(found: dict[str, Any]) -> None:
    rows = found["rows"]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    times = {(row["system"], row["size"], row["ranks"], row["method"]): row for row in rows}
    for system in found["machines"]:
        lines = []
        for size, ranks in dict.fromkeys((row["size"], row["ranks"]) for row in rows):
            cells = [times.get((system, size, ranks, method)) for method in methods]
            texts = [f"{one['read_s']:.3g} + {one['dump_s']:.3g}" if one else "" for one in cells]
            lines.append([f"{size}, {ranks} ranks", *texts])
        table(f"{found['machines'][system]['name']}: initial read + dump, s", ("", *methods), lines)
    lines = []
    for finding in found["findings"]:
        factors = [case["factor"] for case in finding["cases"]]
        kept = sum(case["holds"] for case in finding["cases"])
        lines.append(
            [
                finding["text"],
                f"{kept} of {len(factors)}",
                f"{min(factors):.2f} to {max(factors):.2f}",
                ", ".join(finding["reversed_by"]) or "none",
            ]
        )
    columns = ("what was found", "in the model", "times as fast", "reversed by")
    table("beside what was found", columns, lines)


_PRINTED: dict[str, Callable[[dict[str, Any]], None]] = {
    "flash": _print_flash,
    "nyx": _print_nyx,
    "enzo": _print_enzo,
}
