"""Archives looked at where they lie, and parts of them fetched."""

from __future__ import annotations

import difflib
import fnmatch
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..error import Error, UsageError
from .contents import sha256_of
from .manifest import ArchivedFile, Manifest, Part, manifest_of
from .place import ARRIVING, Place, carry, folders_of


@dataclass(frozen=True)
class Verdict:
    """Of a part: what is wrong with each of its files, by name; good where nothing is."""

    part: Part
    faults: dict[str, str]

    @property
    def is_good(self) -> bool:
        """Whether all of its files are as they were archived."""
        return not self.faults


def verify(place: Place) -> tuple[Manifest, list[Verdict]]:
    """Reads every file of an archive where it lies and compares it with the manifest; nothing is fetched.

    Of one that is arriving, files that the manifest tells otherwise meanwhile are looked at again.
    """
    manifest = manifest_of(place)
    while True:
        verdicts = _verdicts(place, manifest)
        newer = manifest_of(place)
        if newer.written == manifest.written or all(verdict.is_good for verdict in verdicts):
            return manifest, verdicts
        manifest = newer


def _verdicts(place: Place, manifest: Manifest) -> list[Verdict]:
    names = [file.name for part in manifest.parts.values() for file in part.files]
    sizes, checksums = place.sizes(names), place.checksums(names)

    def faults(part: Part) -> dict[str, str]:
        found = {file.name: _fault(file, sizes, checksums) for file in part.files}
        return {name: fault for name, fault in found.items() if fault}

    return [Verdict(part, faults(part)) for part in manifest.parts.values()]


def get(place: Place, wanted: Sequence[str], target: Path) -> list[Part]:
    """Fetches parts into a folder, under the names that they have in the run; each appears when it is whole and good.

    Args:
        place: of the archive.
        wanted: names of parts, folders of them, or patterns such as `results/halos/*.nc`.
        target: the folder; it is made if need be.

    Raises:
        Error: there is no such part, a copy is damaged in the archive, or something else has its name in the folder.
    """
    parts = chosen(manifest_of(place), wanted)
    missing = {file.name: file for part in parts for file in part.files if not _is_here(target, file)}
    if not missing:
        return parts
    arriving = target.resolve() / ARRIVING
    arriving.mkdir(parents=True, exist_ok=True)
    damaged = _fetched(place, arriving, missing.values())
    if damaged := _fetched(place, arriving, damaged):  # what an earlier call has left may have been to blame
        hint = "`sidestream archive verify` names all that is; archive the run again where it is still there"
        raise Error("the copy in the archive is damaged", f"{place}, {damaged[0].name}", hint)
    here = Place(str(target.resolve()))
    here.keep_arrived(list(missing))
    here.sweep()
    return parts


def _fetched(place: Place, arriving: Path, files: Collection[ArchivedFile]) -> list[ArchivedFile]:
    """Brings files; returns, and removes, those that are then not as they were archived."""
    if files:
        carry(place.for_rsync(), f"{arriving}/", [file.name for file in files])
    damaged = [file for file in files if not _is_as_archived(arriving / file.name, file)]
    for file in damaged:
        (arriving / file.name).unlink(missing_ok=True)
    return damaged


def chosen(manifest: Manifest, wanted: Sequence[str]) -> list[Part]:
    """The parts that names, folders and patterns mean, each once."""
    found: dict[str, Part] = {}
    for word in wanted:
        name = word.rstrip("/")
        parts = {
            part.name: part
            for part in manifest.parts.values()
            if part.name == name or part.name.startswith(f"{name}/") or fnmatch.fnmatchcase(part.name, name)
        }
        if not parts:
            near = difflib.get_close_matches(name, manifest.parts, 1)
            hint = f"did you mean `{near[0]}`?" if near else "`sidestream archive list DEST` says what there is"
            raise UsageError(f"the archive has no part `{word}`", hint=hint)
        found |= parts
    return list(found.values())


def _fault(file: ArchivedFile, sizes: dict[str, int], checksums: dict[str, str]) -> str:
    if file.name not in sizes:
        return "is not there"
    if sizes[file.name] != file.bytes:
        return f"has {sizes[file.name]} bytes instead of {file.bytes}"
    if file.name not in checksums:
        return "cannot be read"
    return "" if checksums[file.name] == file.sha256 else "has other bytes than were archived"


def _is_here(target: Path, file: ArchivedFile) -> bool:
    path = target / file.name
    for taken in (target / folder for folder in folders_of(file.name)):
        if os.path.lexists(taken) and not taken.is_dir():
            raise _taken(taken)
    if not os.path.lexists(path):
        return False
    if _is_as_archived(path, file):
        return True
    raise _taken(path)


def _taken(path: Path) -> UsageError:
    return UsageError("something else has the name of an archived file", path, "give another folder with --to")


def _is_as_archived(path: Path, file: ArchivedFile) -> bool:
    return path.is_file() and sha256_of(path) == file.sha256
