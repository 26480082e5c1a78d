"""What an archive holds, as one JSON file in it that is written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import PurePosixPath
from typing import Any

from ..error import Error
from .place import ARRIVING, Place, folders_of

NAME = "manifest.json"
VERSION = 1


@dataclass(frozen=True)
class ArchivedFile:
    """A file by its name below the run: `modified` is a date in UTC, `sha256` that of its bytes."""

    name: str
    bytes: int
    modified: str
    sha256: str = ""

    def is_as(self, other: ArchivedFile) -> bool:
        """Whether name, size and date are the same."""
        return (self.name, self.bytes, self.modified) == (other.name, other.bytes, other.modified)


@dataclass(frozen=True)
class Part:
    """What is fetched together: a checkpoint, a plot file, a result, a log. `units` are those of its quantities."""

    name: str
    kind: str
    files: tuple[ArchivedFile, ...]
    format: str = ""
    step: int | None = None
    units: dict[str, str] = field(default_factory=dict)
    problem: str = ""  # why it could not be read in the run

    @property
    def bytes(self) -> int:
        """Of all its files."""
        return sum(file.bytes for file in self.files)


@dataclass
class Manifest:
    """`run` is the name of its folder, `identity` tells it from others of that name; `is_complete`: nothing is missing
    that the run had at `written`."""

    run: str
    identity: str
    parts: dict[str, Part] = field(default_factory=dict)
    is_complete: bool = False
    written: str = ""

    def in_the_way_of(self, others: Sequence[Part]) -> list[Part]:
        """The parts that cannot stay beside others: they have their names, or files of, above or below their files."""
        names = {part.name for part in others} | {file.name for part in others for file in part.files}
        above = {folder for name in names for folder in folders_of(name)}

        def is_free(name: str) -> bool:
            return name not in names and name not in above and names.isdisjoint(folders_of(name))

        return [
            part
            for part in self.parts.values()
            if not all(map(is_free, (part.name, *(file.name for file in part.files))))
        ]

    def write(self, place: Place) -> None:
        """Gives the archive this manifest."""
        self.written = date_of(datetime.now(timezone.utc).timestamp())
        parts = [asdict(part) for part in self.parts.values()]
        content = asdict(self) | {"parts": parts, "sidestream_archive": VERSION}
        content["checksum"] = _checksum(content)
        place.write(NAME, (json.dumps(content, indent=1) + "\n").encode())


def read_manifest(place: Place) -> Manifest | None:
    """That of an archive; None where there is none.

    Raises:
        Error: it is damaged, or of a later version.
    """
    text = place.read(NAME)
    if text is None:
        return None
    try:
        content = json.loads(text)
        if content.pop("checksum") != _checksum(content):
            raise ValueError("its checksum is wrong")
        if content.pop("sidestream_archive") != VERSION:
            raise Error("the archive was written by a later version", place, "read it with that one")
        parts = [_part(part) for part in content.pop("parts")]
        return Manifest(**content, parts={part.name: part for part in parts})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        hint = f"the files beside it are as they were; remove `{NAME}` there, and archive the run again"
        raise Error(f"the manifest of the archive is damaged: {problem}", f"{place}/{NAME}", hint) from problem


def manifest_of(place: Place) -> Manifest:
    """That of an archive, which has to be there."""
    found = read_manifest(place)
    if found is None and is_arriving(place):
        raise still_arriving(place)
    if found is None:
        raise Error("there is no archive", place, "`sidestream archive RUN DEST` makes one")
    return found


def is_arriving(place: Place) -> bool:
    """Whether a copy is under way there, or was cut."""
    return ARRIVING in place.names()


def still_arriving(place: object) -> Error:
    """The error for a place that has not all of a run yet."""
    hint = "look again when the copy has ended; where it was cut, `sidestream archive RUN DEST` sends the rest"
    return Error("the run is still arriving here: not all of it is there yet", place, hint)


def date_of(seconds: float) -> str:
    """A moment since 1970 as text."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="microseconds")


def _part(content: dict[str, Any]) -> Part:
    files = tuple(ArchivedFile(**file) for file in content.pop("files"))
    for name in (content["name"], *(file.name for file in files)):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or not name:
            raise ValueError(f"it names a file outside the archive: {name!r:.60}")
    return Part(**content, files=files)


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
