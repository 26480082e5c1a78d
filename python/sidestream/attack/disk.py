"""What a disk may hold when the power fails: a model of all that POSIX allows, as in ALICE (Pillai et al., OSDI 2014).

A call is cut into changes: a write into pieces of a page each, a rename to another folder into the new name and the end
of the old one. A change is on the disk for sure once an fsync of its own file or folder, which began after it, has
ended: of a file for its bytes and length, of a folder for the names in it. Until then it may be there or not, whatever
came before or after it. Only the two names of a rename within a folder change together.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path, PurePosixPath

from ..error import Error
from .record import Call

PAGE = 4096
NEVER = 1 << 63
ROOT = 0
GONE = " (deleted)"  # how the system calls a file that has no name any more

Names = tuple[tuple[int, str, int | None], ...]  # folder, name, what it names
Applied = frozenset[int]


@dataclass(frozen=True)
class Change:
    """A part of a call that is there or not.

    Attributes:
        number: its place among all changes.
        call: its call's place among all calls.
        begin: when the call began, ns.
        end: when it ended.
        home: the number of the file or folder, an fsync of which brings it to the disk.
        names: those that come to be, change or go.
        offset: where `data` go, or the length of the file.
        data: bytes; without them the length changes.
        grows: whether the length only grows.
    """

    number: int
    call: int
    begin: int
    end: int
    home: int
    names: Names = ()
    offset: int = 0
    data: bytes = b""
    grows: bool = False


@dataclass(frozen=True)
class Sync:
    """An fsync of a file or folder that was called `path` then, relative to the root."""

    begin: int
    end: int
    home: int
    path: str


class Disk:
    """What was done to the folder `root` and all below it, from when it was empty and on the disk.

    Args:
        root: the folder.
        calls: all calls on it, in the order in which they ended.
        is_apart: tells of a path below it whether its changes are of no interest: they are taken as made, but for
            subsets that are drawn at random.
    """

    def __init__(self, root: Path, calls: Sequence[Call], is_apart: Callable[[str], bool] = lambda _: False) -> None:
        self._root = PurePosixPath(root)
        self._is_apart = is_apart
        self._live: dict[int, dict[str, int]] = {ROOT: {}}  # the names in each folder when all calls so far are made
        self._things = 1
        self._apart: set[int] = set()
        self._taken = 0
        self.changes: list[Change] = []
        self.syncs: list[Sync] = []
        self.calls = [call for call in calls if self._is_here(call)]
        for call in self.calls:
            self._take(call)
            self._taken += 1
        self._named = [change for change in self.changes if change.names]
        self._written: dict[int, list[Change]] = {}
        for change in self.changes:
            if not change.names:
                self._written.setdefault(change.home, []).append(change)
        self._numbers = {file: frozenset(change.number for change in made) for file, made in self._written.items()}
        self._find_when_durable()

    def without(self, sync: Sync) -> Disk:
        """The same calls where one fsync does nothing."""
        other = copy(self)
        other.syncs = [each for each in self.syncs if each is not sync]
        other._find_when_durable()
        return other

    def moments(self) -> list[int]:
        """The ends of the calls on what is of interest, ns."""
        ends = {change.end for change in self.changes if change.home not in self._apart}
        return sorted(ends | {sync.end for sync in self.syncs})

    def issued(self, moment: int) -> Applied:
        """All changes that were begun."""
        return frozenset(change.number for change in self.changes if change.begin <= moment)

    def states(self, moment: int) -> Iterator[Applied]:
        """What may be there when the power fails then: all; one call missing; a write torn at each edge of a page; the
        last call there, and of those before it only the first ones."""
        issued = self.issued(moment)
        loose = self._loose(moment)
        yield issued
        for call in loose:
            yield issued - {change.number for change in call}
            for part in range(1, len(call)):
                yield issued - {change.number for change in call[part:]}
            if call[0].names and len(call) > 1:
                yield issued - {call[0].number}
        if loose and loose[-1][0].end == moment:
            kept = issued - {change.number for call in loose[:-1] for change in call}
            for call in loose[:-1]:
                yield kept
                kept |= {change.number for change in call}

    def draw(self, numbers: random.Random) -> tuple[int, Applied]:
        """A moment, and what is there of it: of all that is not sure a random part."""
        moment = numbers.choice(self.calls).end
        share = numbers.choice((0.1, 0.5, 0.9))
        issued = self.issued(moment)
        return moment, frozenset(n for n in sorted(issued) if self._durable[n] <= moment or numbers.random() < share)

    def state(self, applied: Applied) -> State:
        """The folder with these changes made and the others not."""
        return State(applied, self._named, self._written, self._numbers, self._live.keys())

    def _loose(self, moment: int) -> list[list[Change]]:
        """The changes that may be lost then, call by call."""
        loose = (
            change
            for change in self.changes
            if change.begin <= moment < self._durable[change.number] and change.home not in self._apart
        )
        return [list(changes) for _, changes in groupby(loose, key=lambda change: change.call)]

    def _find_when_durable(self) -> None:
        """From which moment on a change is on the disk for sure."""
        self._durable = [
            min(
                (sync.end for sync in self.syncs if sync.home == change.home and sync.begin >= change.end),
                default=NEVER,
            )
            for change in self.changes
        ]

    def _is_here(self, call: Call) -> bool:
        return not call.path.endswith(GONE) and PurePosixPath(call.path).is_relative_to(self._root)

    def _take(self, call: Call) -> None:
        """Makes changes of a call."""
        path = PurePosixPath(call.path)
        if call.kind == "sync":
            self.syncs.append(Sync(call.begin, call.end, self._thing(path), str(path.relative_to(self._root))))
        elif call.kind in ("open", "make"):
            self._name(call, path, is_folder=call.kind == "make")
        elif call.kind == "remove":
            folder, name = self._place(path)
            self._add(call, folder, names=((folder, name, None),))
        elif call.kind == "rename":
            self._rename(call, path, PurePosixPath(call.other))
        elif call.kind == "write":
            self._write(call, self._thing(path))
        else:
            length = call.offset + (call.length if call.kind == "reserve" else 0)
            self._add(call, self._thing(path), offset=length, grows=call.kind == "reserve")

    def _name(self, call: Call, path: PurePosixPath, is_folder: bool) -> None:
        folder, name = self._place(path)
        made, self._things = self._things, self._things + 1
        if is_folder:
            self._live[made] = {}
        if self._is_apart(str(path.relative_to(self._root))):
            self._apart.add(made)
        self._add(call, folder, names=((folder, name, made),))

    def _rename(self, call: Call, path: PurePosixPath, other: PurePosixPath) -> None:
        (folder, name), (new_folder, new_name) = self._place(path), self._place(other)
        moved = self._live[folder][name]
        left = self._live[new_folder][new_name] if call.is_exchange else None
        old, new = (folder, name, left), (new_folder, new_name, moved)
        if folder == new_folder:
            self._add(call, folder, names=(old, new))
        else:
            self._add(call, new_folder, names=(new,))
            self._add(call, folder, names=(old,))

    def _write(self, call: Call, file: int) -> None:
        at, end = call.offset, call.offset + len(call.data)
        while at < end:
            until = min(end, (at // PAGE + 1) * PAGE)
            self._add(call, file, offset=at, data=call.data[at - call.offset : until - call.offset])
            at = until

    def _add(
        self, call: Call, home: int, names: Names = (), offset: int = 0, data: bytes = b"", grows: bool = False
    ) -> None:
        number = len(self.changes)
        self.changes.append(Change(number, self._taken, call.begin, call.end, home, names, offset, data, grows))
        for folder, name, named in names:
            _set(self._live, folder, name, named)

    def _place(self, path: PurePosixPath) -> tuple[int, str]:
        """The folder that a path is in, and its name there."""
        return self._thing(path.parent), path.name

    def _thing(self, path: PurePosixPath) -> int:
        """What a path names when all calls so far are made."""
        found = ROOT
        for name in path.relative_to(self._root).parts:
            if found not in self._live or name not in self._live[found]:
                raise Error("a file was changed whose making is not recorded", str(path))
            found = self._live[found][name]
        return found


class State:
    """A folder as some changes leave it, made one after another.

    Args:
        applied: those that are there.
        named: all changes of names there are, in their order.
        written: all others of each file.
        numbers: those of them.
        folders: the numbers of what is a folder.
    """

    def __init__(
        self,
        applied: Applied,
        named: Sequence[Change],
        written: Mapping[int, Sequence[Change]],
        numbers: Mapping[int, Applied],
        folders: Set[int],
    ) -> None:
        self._applied, self._written, self._numbers, self._folders = applied, written, numbers, folders
        self._names: dict[int, dict[str, int]] = {}
        for change in named:
            if change.number in applied:
                for folder, name, thing in change.names:
                    _set(self._names, folder, name, thing)

    def glob(self, pattern: str) -> list[str]:
        """The paths, relative to the root, that match a pattern whose parts are separated by slashes."""
        found = [("", ROOT)]
        for part in pattern.split("/"):
            found = [
                (f"{path}/{name}", named)
                for path, thing in found
                for name, named in self._names.get(thing, {}).items()
                if fnmatchcase(name, part)
            ]
        return sorted(path.removeprefix("/") for path, _ in found)

    def signature(self, path: str) -> object:
        """Equal for equal contents of a file or folder that the same calls have made."""
        return self._signature(self._thing(path))

    def write(self, path: str, target: Path) -> None:
        """Makes the file or folder that has this path, or all with an empty one, at `target`, where nothing is yet."""
        self._write(self._thing(path), target)

    def _thing(self, path: str) -> int:
        thing = ROOT
        for name in filter(None, path.split("/")):
            thing = self._names[thing][name]
        return thing

    def _signature(self, thing: int) -> object:
        if thing in self._folders:
            return tuple((name, self._signature(named)) for name, named in sorted(self._names.get(thing, {}).items()))
        return thing, self._applied & self._numbers.get(thing, frozenset())

    def _write(self, thing: int, target: Path) -> None:
        if thing in self._folders:
            target.mkdir()
            for name, named in self._names.get(thing, {}).items():
                self._write(named, target / name)
        else:
            target.write_bytes(self._content(thing))

    def _changes_of(self, file: int) -> Iterator[Change]:
        return (change for change in self._written.get(file, ()) if change.number in self._applied)

    def _content(self, file: int) -> bytes:
        content = bytearray()
        for change in self._changes_of(file):
            end = change.offset + len(change.data)
            if len(content) < end:
                content.extend(bytes(end - len(content)))
            if change.data:
                content[change.offset : end] = change.data
            elif not change.grows:
                del content[end:]
        return bytes(content)


def _set(names: dict[int, dict[str, int]], folder: int, name: str, named: int | None) -> None:
    if named is None:
        names.get(folder, {}).pop(name, None)
    else:
        names.setdefault(folder, {})[name] = named
