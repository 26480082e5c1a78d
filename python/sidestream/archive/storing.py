"""A run copied to where its archive lies: part by part, each checked there before it counts."""

from __future__ import annotations

import fcntl
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..error import Error, UsageError
from ..files.opening import is_run, is_there
from .contents import contents_of, dated, described, is_log, sha256_of
from .manifest import ArchivedFile, Manifest, Part, read_manifest
from .ownership import claim, identity_of, of_another, require_free_or_own
from .place import ARRIVING, Place, carry, folders_of, need_rsync

TOGETHER_BYTES = 256 << 20  # parts that follow each other are sent at once up to here
TRIES = 3
LOCK = ".archive.lock"

Tell = Callable[[str], None]


@dataclass
class Report:
    """What was done: names of parts that were sent, were there, went away meanwhile, or cannot be archived."""

    sent: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)  # in the run already, with why
    bytes: int = 0
    travelled_bytes: int = 0


def begun(run: Path, place: Place) -> tuple[Place, Manifest]:
    """The place, the run's from now on and changed by this process alone, and the manifest to go on with.

    Raises:
        Error: what is at either end is not what it has to be; nothing was changed.
    """
    need_rsync()
    own = run.resolve()
    if not place.host and own in (Path(place.folder), *Path(place.folder).parents):
        raise UsageError("the archive would lie in the run itself", place, "give a folder beside or far from it")
    if not place.host and Path(place.folder).exists() and not Path(place.folder).is_dir():
        raise UsageError("an archive is a folder, and this is none", place, "give another place")
    identity = identity_of(run)
    found = read_manifest(place)
    if found is None:
        require_free_or_own(place, identity)
    elif found.identity != identity:
        raise of_another(place, found.run)
    claim(place, own.name, identity, has_manifest=found is not None)
    place = place.written_by(secrets.token_hex(8))
    return place, read_manifest(place) or Manifest(own.name, identity)


def store(run: Path, place: Place, tell: Tell = lambda _: None) -> Report:
    """Copies what the archive does not have yet. Parts that the run has removed since stay in the archive.

    Raises:
        Error: the copy was cut, or came damaged; what has arrived stays, and the next call sends the rest.
    """
    run = run.resolve()
    with alone(run), tempfile.TemporaryDirectory(prefix="sidestream-") as logs:
        place, manifest = begun(run, place)
        contents = contents_of(run)
        parts = [_frozen(run, part, Path(logs)) if is_log(part.name) else part for part in contents.parts]
        _drop_doubles(manifest)
        sizes = place.sizes({file.name for part in (*manifest.parts.values(), *parts) for file in part.files})
        wanted = [part for part in parts if not _is_kept(part, manifest, sizes)]
        kept = [part.name for part in parts if part not in wanted]
        report = Report(kept=kept, left_out=list(contents.left_out), bytes=sum(part.bytes for part in parts))
        manifest.is_complete = False
        for batch in _batches(wanted):
            tell(f"{batch[0].name}, {len(report.sent) + 1} of {len(wanted)}")
            _store_together(_Work(run, Path(logs), place, sizes), batch, manifest, report)
        manifest.is_complete = True
        manifest.write(place)
        place.sweep()
        return report


@dataclass(frozen=True)
class _Work:
    run: Path
    logs: Path
    place: Place
    sizes: dict[str, int]  # of files that are there in their places

    def root_of(self, name: str) -> Path:
        return self.logs if is_log(name) else self.run


@contextmanager
def alone(run: Path) -> Iterator[None]:
    """Nobody else archives the run meanwhile; ends with the process, however that ends."""
    if not is_there(run) or not run.is_dir() or not is_run(run):
        raise Error("there is no run to archive", run, "give the folder that `sidestream run --out` wrote")
    try:
        descriptor = os.open(run / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as problem:
        raise Error(f"the run cannot be locked: {problem.strerror}", run, "its folder has to be writable") from problem
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as problem:
        hint = "`sidestream archive list DEST` says how far it is"
        raise Error("the run is being archived already", run, hint) from problem
    finally:
        os.close(descriptor)


def _store_together(work: _Work, batch: Sequence[Part], manifest: Manifest, report: Report) -> None:
    """Sends parts, looks at what has arrived, and gives it its places and its lines in the manifest.

    The manifest is true all the while: what is about to be replaced is taken out of it first.
    """
    there: dict[str, ArchivedFile] = {}
    arrived: dict[str, ArchivedFile] = {}
    for root in sorted({work.root_of(part.name) for part in batch}):
        files = [file for part in batch if work.root_of(part.name) == root for file in part.files]
        there |= _in_place(root, work, files)
        arrived |= _send(root, work.place, [file for file in files if file.name not in there], report)
    found = there | arrived
    whole = [part for part in batch if all(file.name in found for file in part.files)]
    parts = [replace(part, files=tuple(found[file.name] for file in part.files)) for part in whole]
    parts = [described(work.run, part) for part in parts]
    replaced = manifest.in_the_way_of(parts)
    if replaced:
        for part in replaced:
            del manifest.parts[part.name]
        manifest.write(work.place)
    names = [file.name for part in parts for file in part.files]
    obsolete = {file.name for part in replaced for file in part.files}.difference(names)
    work.place.make_way(names, obsolete)
    work.place.keep_arrived([name for name in names if name not in there])
    manifest.parts |= {part.name: part for part in parts}
    report.damaged |= {part.name: part.problem for part in parts if part.problem}
    report.sent += [part.name for part in whole]
    report.gone += [part.name for part in batch if part not in whole]
    manifest.write(work.place)


def _in_place(root: Path, work: _Work, files: Sequence[ArchivedFile]) -> dict[str, ArchivedFile]:
    """The files that are there as they are in the run, whatever the manifest says: a cut may have left them so."""
    alike = [file for file in files if work.sizes.get(file.name) == file.bytes]
    checksums = work.place.checksums(file.name for file in alike)
    now = [_as_it_is(root, file) for file in alike]
    return {file.name: file for file in now if file is not None and checksums.get(file.name) == file.sha256}


def _send(root: Path, place: Place, files: Sequence[ArchivedFile], report: Report) -> dict[str, ArchivedFile]:
    """The files that have arrived as they are in the run, by their names; others have gone away meanwhile."""
    good: dict[str, ArchivedFile] = {}
    waiting = {file.name: file for file in files}
    for _ in range(TRIES):
        waiting = {name: now for name, file in waiting.items() if (now := _as_it_is(root, file)) is not None}
        report.travelled_bytes += carry(f"{root}/", place.for_rsync(f"{ARRIVING}/"), list(waiting))
        there = place.checksums(waiting, ARRIVING)
        good |= {name: file for name, file in waiting.items() if there.get(name) == file.sha256}
        waiting = {name: file for name, file in waiting.items() if name not in good}
        if not waiting:
            return good
        place.remove_arrived(waiting)
    first = next(iter(waiting))
    hint = "look at the disks and the network between; or a program writes the file all the time"
    raise Error(f"a copy has other bytes than the run, {TRIES} times in turn", f"{place}, {first}", hint)


def _as_it_is(root: Path, file: ArchivedFile) -> ArchivedFile | None:
    try:
        return replace(dated(file, root / file.name), sha256=sha256_of(root / file.name))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None
    except OSError as problem:
        raise Error(f"a file of the run cannot be read: {problem.strerror}", root / file.name) from problem


def _frozen(run: Path, part: Part, logs: Path) -> Part:
    """A log as it is now, up to its last whole line."""
    about = (run / part.name).stat()
    content = (run / part.name).read_bytes()
    content = content[: content.rfind(b"\n") + 1]
    (logs / part.name).write_bytes(content)
    os.utime(logs / part.name, ns=(about.st_atime_ns, about.st_mtime_ns))
    return replace(part, files=(dated(part.files[0], logs / part.name),))


def _drop_doubles(manifest: Manifest) -> None:
    """Takes parts out that lie within others, which early archives of runs that went on may have."""
    for name in list(manifest.parts):
        if any(folder in manifest.parts for folder in folders_of(name)):
            del manifest.parts[name]


def _is_kept(part: Part, manifest: Manifest, sizes: dict[str, int]) -> bool:
    """Whether the archive has the part, by names, dates and the `sizes` that are there."""
    there = manifest.parts.get(part.name)
    if there is None or len(there.files) != len(part.files):
        return False
    by_name = {file.name: file for file in there.files}
    return all(
        file.name in by_name and file.is_as(by_name[file.name]) and sizes.get(file.name) == file.bytes
        for file in part.files
    )


def _batches(parts: Sequence[Part]) -> Iterator[list[Part]]:
    batch: list[Part] = []
    for part in parts:
        if batch and sum(other.bytes for other in batch) + part.bytes > TOGETHER_BYTES:
            yield batch
            batch = []
        batch.append(part)
    if batch:
        yield batch
