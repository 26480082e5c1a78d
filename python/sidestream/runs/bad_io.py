"""What is bad in the way in which a run writes its files, and which option mends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .events import Event, number

if TYPE_CHECKING:
    from .run import Run

KINDS = ("plotfile", "checkpoint", "snapshot")
LARGE_UNIT_BYTES = 256 << 10  # of a file system on which every request is dear
SMALL_BINS = {"100 KiB": ("<100", "100-1K", "1K-10K", "10K-100K"), "10 KiB": ("<100", "100-1K", "1K-10K")}
# Each file has some small tables; from here on they are no longer few.
FEW_SMALL, SMALL_SHARE = 16, 0.5
LEAST_RANK_BYTES = 1 << 20  # of a file on a local disk: smaller ones take milliseconds, however they are cut
MANY_FILES, SMALL_FILE_BYTES = 64, 4 << 20
READ_BACK_SHARE = 0.1
ALIGNMENT_BYTES, LARGE_BYTES = 4096, 1 << 20
LARGE_WRITE_BYTES, UNALIGNED_SHARE = 100 << 10, 0.5
WITH_FILES = ("nyx", "files")


@dataclass(frozen=True)
class Finding:
    """Something that is bad: a word for it, of which outputs, what was seen, and the option that mends it."""

    problem: str
    where: str
    seen: str
    option: str
    files: int

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


@dataclass
class Outputs:
    """The files that one table of the configuration has made."""

    table: str
    format: str
    method: str
    ranks: int
    written: list[Event] = field(default_factory=list)
    failed: list[Event] = field(default_factory=list)

    def total(self, key: str) -> float:
        """The sum of a number of `io` over all files."""
        return sum(number(_io(event), key) for event in self.written)

    def writes_below(self, size: str) -> float:
        """Of all files, those below one of the sizes of `SMALL_BINS`."""
        bins = SMALL_BINS[size]
        return sum(number(_io(event).get("write_sizes") or {}, name) for event in self.written for name in bins)

    @property
    def is_of_library(self) -> bool:
        """Whether its writes go through a library."""
        return self.method.startswith(("hdf5", "pnetcdf", "mpiio"))

    @property
    def is_gathered(self) -> bool:
        """Whether a library puts together what ranks give it: writes are counted as given, not as they reach a disk."""
        return self.is_of_library and not self.method.endswith("-independent")


def findings(run: Run) -> list[Finding]:
    """What is bad, output by output; empty where nothing is."""
    looks = (_fallbacks, _independent, _small, _many_files, _unaligned, _read_back)
    return [finding for outputs in outputs_of(run) for look in looks for finding in look(outputs, run.folder)]


def outputs_of(run: Run) -> list[Outputs]:
    """The files of the last job of a run that has written any, by the table of its configuration that made them."""
    tables = _tables(run.config)
    jobs = _jobs(run.events)
    job = next((job for job in reversed(jobs) if any(_kind_of(event) in KINDS for event in job)), jobs[-1])
    ranks = int(number(job[0] if job else {}, "ranks", 1))
    found: dict[str, Outputs] = {}
    for event in job:
        kind = _kind_of(event)
        if kind not in KINDS:
            continue
        name = _table_of(event, kind, tables)
        table = tables.get(name, {})
        form = str(event.get("format") or table.get("format") or "")
        outputs = found.setdefault(name, Outputs(name, form, str(table.get("method", "automatic")), ranks))
        (outputs.written if event["event"] == kind else outputs.failed).append(event)
    return list(found.values())


def _jobs(events: Iterable[Event]) -> list[list[Event]]:
    """A run that was gone on with has several, each with options of its own."""
    jobs: list[list[Event]] = [[]]
    for event in events:
        if event["event"] == "run_start" and jobs[-1]:
            jobs.append([])
        jobs[-1].append(event)
    return jobs


def _kind_of(event: Event) -> str:
    return str(event["event"]).removesuffix("_failed")


def _tables(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables of outputs, by their names: `output.plotfile`, `task.NAME`."""
    tables = {}
    for room in ("output", "task"):
        members = config.get(room)
        for name, table in members.items() if isinstance(members, dict) else ():
            if isinstance(table, dict) and (room == "output" or "write" in table):
                tables[f"{room}.{name}"] = table
    return tables


def _table_of(event: Event, kind: str, tables: dict[str, dict[str, Any]]) -> str:
    task = event.get("task") or Path(str(event.get("path", ""))).parent.name
    if f"task.{task}" in tables:
        return f"task.{task}"
    return f"output.{kind}" if kind != "snapshot" else "snapshots"


def _io(event: Event) -> dict[str, Any]:
    access = event.get("io")
    return access if isinstance(access, dict) else {}


def _fallbacks(outputs: Outputs, _: Path) -> Iterator[Finding]:
    """Files that a library did not write together, as it was asked to."""
    fallen = [event for event in outputs.failed if "collective" in str(event.get("message", ""))]
    if fallen:
        first = str(fallen[0]["message"]).splitlines()[0]
        yield Finding("fallback", outputs.table, first, _set(outputs, 'method = "engine"'), len(fallen))


def _independent(outputs: Outputs, _: Path) -> Iterator[Finding]:
    if outputs.ranks > 1 and outputs.written and outputs.method.endswith("-independent"):
        seen = f"{outputs.ranks} ranks write each for itself by `{outputs.method}`"
        yield Finding("independent", outputs.table, seen, _set(outputs, 'method = "engine"'), len(outputs.written))


def unit_bytes(folder: Path) -> int:
    """Of the file system that a run lies on, which its events do not tell: its preferred size of a transfer."""
    return folder.stat().st_blksize


def _small(outputs: Outputs, folder: Path) -> Iterator[Finding]:
    """Many writes that are small for the file system. On local disks the engine writes pieces of 16 KiB and more where
    they are; of what is below that, the bins tell what is below 10 KiB."""
    has_large_units = unit_bytes(folder) >= LARGE_UNIT_BYTES
    least = "100 KiB" if has_large_units else "10 KiB"
    count, small, written = len(outputs.written), outputs.writes_below(least), outputs.total("writes")
    if not has_large_units and outputs.total("bytes_written") < LEAST_RANK_BYTES * outputs.ranks * count:
        return
    if outputs.is_gathered or not count or small / count < FEW_SMALL or small < SMALL_SHARE * written:
        return
    mean = outputs.total("bytes_written") / written
    seen = f"{small / count:.0f} of {written / count:.0f} writes a file are below {least}; the mean is {mean:.0f} B"
    if outputs.format in WITH_FILES or outputs.format.startswith("enzo"):
        option = _set(outputs, 'format = "sidestream"')
    elif outputs.method != "aggregated":
        option = _set(outputs, 'method = "aggregated"')
    else:
        option = "larger blocks: `block` in [mesh]"
    yield Finding("small", outputs.table, seen, option, count)


def _many_files(outputs: Outputs, _: Path) -> Iterator[Finding]:
    """More files than ranks need, each of them small. Files that ranks share count once a rank."""
    count = len(outputs.written)
    each = outputs.total("files") / count if count else 0.0
    size = outputs.total("bytes_written") / count if count else 0.0
    if each < max(MANY_FILES, 2 * outputs.ranks) or size / each > SMALL_FILE_BYTES:
        return
    seen = f"{each:.0f} files are opened for one output of {size / 1e6:.1f} MB"
    fewer = "files = 1" if outputs.format == "nyx" else 'format = "sidestream"'
    option = _set(outputs, "ranks_per_file = 0" if outputs.format == "files" else fewer)
    yield Finding("many files", outputs.table, seen, option, count)


def _unaligned(outputs: Outputs, folder: Path) -> Iterator[Finding]:
    """Large arrays that begin within a block of the file system, in the newest HDF5 file that is there; else writes."""
    names = [Path(str(event.get("path", ""))) for event in reversed(outputs.written)]
    there = (path for name in names if (path := _place_in(folder, name)).is_file())
    newest = next(there, None)
    arrays = _arrays_of(newest) if newest else {}
    wrong = [name for name, offset in arrays.items() if offset % ALIGNMENT_BYTES]
    if newest and wrong:
        seen = f"{len(wrong)} of {len(arrays)} large arrays of {newest.name} begin within a block, `{wrong[0]}` first"
        yield Finding("unaligned", outputs.table, seen, _set(outputs, 'format = "sidestream"'), 1)
    writes, unaligned = outputs.total("writes"), outputs.total("unaligned")
    is_large = outputs.total("bytes_written") >= LARGE_WRITE_BYTES * writes
    if not arrays and not outputs.is_gathered and is_large and unaligned > UNALIGNED_SHARE * writes:
        count = len(outputs.written)
        seen = f"{unaligned / count:.0f} of {writes / count:.0f} writes a file begin within a block of the file system"
        yield Finding("unaligned", outputs.table, seen, _set(outputs, 'format = "sidestream"'), count)


def _place_in(folder: Path, path: Path) -> Path:
    """Where an output lies now, whatever the run folder was called when it was written."""
    inside = Path(*path.parts[-2:]) if (folder / path.parent.name).is_dir() else Path(path.name)
    return folder / inside


def _arrays_of(path: Path) -> dict[str, int]:
    """Where the large arrays of an HDF5 file begin that are not cut into chunks; nothing of other files."""
    import h5py

    places: dict[str, int] = {}

    def look(name: str, member: Any) -> None:
        if not isinstance(member, h5py.Dataset) or member.nbytes < LARGE_BYTES:
            return
        offset = member.id.get_offset()
        if offset is not None:
            places[name] = offset

    try:
        with h5py.File(path, "r") as file:
            file.visititems(look)
    except OSError:
        return {}
    return places


def _read_back(outputs: Outputs, _: Path) -> Iterator[Finding]:
    """What is written by a library that hides errors is read again, which costs time."""
    spent = outputs.total("verify_s")
    whole = sum(number(event, "write_s") for event in outputs.written)
    if outputs.is_of_library and spent > READ_BACK_SHARE * whole:
        seen = f"{100 * spent / whole:.0f} % of the time is reading back what `{outputs.method}` has written"
        yield Finding("read back", outputs.table, seen, _set(outputs, 'method = "engine"'), len(outputs.written))


def _set(outputs: Outputs, option: str) -> str:
    return f"{option} in [{outputs.table}]"
