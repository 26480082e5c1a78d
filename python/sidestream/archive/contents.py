"""What of a run goes into its archive: everything with a final name."""

from __future__ import annotations

import hashlib
import os
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..error import Error
from ..files.opening import RESULT
from ..files.snapshot import SnapshotFile
from ..runs.outputs import PENDING, Output, all_outputs_in
from .manifest import ArchivedFile, Part, date_of

FOLDERS = (".pictures", ".data")  # how folders end that are one thing
OF_THIS_MOMENT = ("stream.json",)  # says nothing once the run has ended
LOG, LOG_END = "events", ".jsonl"


@dataclass(frozen=True)
class Contents:
    """The parts of a run, and names that cannot be archived: links to nowhere and to folders, pipes, sockets."""

    parts: tuple[Part, ...]
    left_out: tuple[str, ...]
    outputs: dict[str, Output]


def contents_of(run: Path) -> Contents:
    """Looks at all files of a run. Checkpoints that wait for their commit, and hidden names, are none."""
    outputs = {str(output.path.relative_to(run)): output for output in all_outputs_in(run) if not output.is_pending}
    files: dict[str, list[ArchivedFile]] = {}
    left_out = []
    for name in _names_in(run):
        found = _file(run, name)
        if isinstance(found, ArchivedFile):
            files.setdefault(_part_of(name, outputs), []).append(found)
        elif not found:
            left_out.append(name)
    parts = [Part(name, _kind(name, outputs), tuple(members)) for name, members in sorted(files.items())]
    return Contents(tuple(parts), tuple(left_out), outputs)


def described(run: Path, part: Part, outputs: dict[str, Output]) -> Part:
    """The part with its format, step and units, as far as it can be read."""
    path = run / part.name
    try:
        if part.name in outputs:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                opened = SnapshotFile(path)
            return replace(part, format=opened.format, step=outputs[part.name].step, units=opened.units)
        if part.kind == "result":
            return replace(part, format="netcdf", step=_step_of(path), units=_units_of(path))
    except (Error, OSError) as problem:
        if not path.exists():  # the run has removed it since
            return part
        return replace(part, problem=problem.what if isinstance(problem, Error) else str(problem))
    return part


def is_log(name: str) -> bool:
    """Whether a file grows at its end while the run goes on."""
    return "/" not in name and name.startswith(LOG) and name.endswith(LOG_END)


def sha256_of(path: Path) -> str:
    """That of the bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 22):
            digest.update(piece)
    return digest.hexdigest()


def dated(file: ArchivedFile, path: Path) -> ArchivedFile:
    """The file with size and date as they are at a path now."""
    about = path.stat()
    return replace(file, bytes=about.st_size, modified=date_of(about.st_mtime))


def _names_in(run: Path) -> Iterator[str]:
    def refuse(problem: OSError) -> None:
        if isinstance(problem, FileNotFoundError):  # the run has removed it meanwhile
            return
        raise Error(f"a folder of the run cannot be read: {problem.strerror}", problem.filename or run) from problem

    for folder, folders, files in os.walk(run, onerror=refuse):
        here = Path(folder).relative_to(run)
        linked = [name for name in folders if (run / here / name).is_symlink()]
        folders[:] = [name for name in folders if not _is_hidden(here / name) and name not in linked]
        yield from (str(here / name) for name in [*files, *linked] if not _is_hidden(here / name))


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".") or str(path) in (PENDING, *OF_THIS_MOMENT)


def _file(run: Path, name: str) -> ArchivedFile | bool:
    """The file; True of one that went away meanwhile, False of what is none."""
    try:
        about = (run / name).stat()
    except OSError:
        return not (run / name).is_symlink()
    if not stat.S_ISREG(about.st_mode):
        return False
    return ArchivedFile(name, about.st_size, date_of(about.st_mtime))


def _part_of(name: str, outputs: dict[str, Output]) -> str:
    """The outermost folder that is one thing, or the file itself."""
    above = [str(path) for path in reversed(Path(name).parents)]
    return next((path for path in above if path in outputs or path.endswith(FOLDERS)), name)


def _kind(name: str, outputs: dict[str, Output]) -> str:
    if name in outputs:
        return outputs[name].kind
    if name.endswith(".pictures"):
        return "pictures"
    if name.startswith("results/") and name.endswith(RESULT):
        return "result"
    if is_log(name):
        return "log"
    return "configuration" if name == "config.toml" else "file"


def _step_of(path: Path) -> int | None:
    return int(path.stem) if path.stem.isdecimal() else None


def _units_of(path: Path) -> dict[str, str]:
    import h5netcdf

    with h5netcdf.File(path, "r") as file:
        return {str(name): str(column.attrs.get("units", "")) for name, column in file.variables.items()}
