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
from ..runs.outputs import PENDING, Output, output_at
from .manifest import ArchivedFile, Part, date_of
from .place import folders_of

FOLDERS = (".pictures", ".data")  # how folders end that are one thing
DEPTH = 2  # outputs lie in the run itself, or in folders of it
OF_THIS_MOMENT = ("stream.json",)  # says nothing once the run has ended
LOG, LOG_END = "events", ".jsonl"


@dataclass(frozen=True)
class Contents:
    """The parts of a run, and names that cannot be archived: links to nowhere and to folders, pipes, sockets."""

    parts: tuple[Part, ...]
    left_out: tuple[str, ...]


def contents_of(run: Path) -> Contents:
    """Looks at all files of a run, once: what a file belongs to follows from its name, whatever the run does meanwhile.

    Checkpoints that wait for their commit, and hidden names, are none.
    """
    files: dict[str, list[ArchivedFile]] = {}
    left_out = []
    for name in _names_in(run):
        found = _file(run, name)
        if isinstance(found, ArchivedFile):
            files.setdefault(_part_of(name), []).append(found)
        elif not found:
            left_out.append(name)
    parts = [Part(name, _kind(name), tuple(members)) for name, members in sorted(files.items())]
    return Contents(tuple(parts), tuple(left_out))


def described(run: Path, part: Part) -> Part:
    """The part with its format, step and units, as far as it can be read."""
    path = run / part.name
    try:
        if output := _output(part.name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                opened = SnapshotFile(path)
            return replace(part, format=opened.format, step=output.step, units=opened.units)
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


def _part_of(name: str) -> str:
    """The outermost folder that is one thing, or the file itself."""
    return next((path for path in folders_of(name) if _output(path) or path.endswith(FOLDERS)), name)


def _output(name: str) -> Output | None:
    return output_at(Path(name)) if len(Path(name).parts) <= DEPTH else None


def _kind(name: str) -> str:
    if output := _output(name):
        return output.kind
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
