"""The model of a disk on which the power fails: what may be missing, and what an fsync makes sure of."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path

import pytest

from sidestream.attack.disk import PAGE, Disk, State
from sidestream.attack.record import Call, read_record
from sidestream.error import Error

ROOT = Path("/disk")
Words = tuple[str, ...]
WRITE_AND_RENAME: tuple[Words, ...] = (
    ("make", "run"),
    ("sync", "."),
    ("open", "run/.a"),
    ("write", "run/.a", "new"),
    ("sync", "run/.a"),
    ("rename", "run/.a", "run/a"),
    ("sync", "run"),
)


def calls(*told: Words) -> list[Call]:
    """Calls one after another: kind, path, and the new name or what is written."""
    clock = count()
    made = []
    for kind, path, *more in told:
        what = more[0] if more else ""
        data = what.encode() if kind == "write" else b""
        other = str(ROOT / what) if kind == "rename" else ""
        made.append(Call(next(clock), next(clock), kind, str(ROOT / path), other, False, 0, len(data), data))
    return made


def contents(state: State, folder: Path, path: str = "run/a") -> str | None:
    """What is in a file; None where there is none."""
    if not state.glob(path):
        return None
    state.write(path, folder / "copy")
    found = (folder / "copy").read_text()
    (folder / "copy").unlink()
    return found


def all_contents(told: tuple[Words, ...], folder: Path) -> set[str | None]:
    """What may be in the file `run/a` whenever the power fails."""
    disk = Disk(ROOT, calls(*told))
    return {contents(disk.state(a), folder) for moment in disk.moments() for a in disk.states(moment)}


def test_a_file_that_is_brought_to_the_disk_and_renamed_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    assert all_contents(WRITE_AND_RENAME, tmp_path) == {None, "new"}


def test_without_an_fsync_a_rename_may_be_seen_before_the_data(tmp_path: Path) -> None:
    without = tuple(words for words in WRITE_AND_RENAME if words != ("sync", "run/.a"))

    assert all_contents(without, tmp_path) == {None, "", "new"}


@pytest.mark.parametrize(("folder", "lost"), [("run", "a name in it"), (".", "its own name")])
def test_without_an_fsync_of_a_folder_a_name_may_be_lost(folder: str, lost: str, tmp_path: Path) -> None:
    def at_the_end(disk: Disk) -> set[str | None]:
        return {contents(disk.state(a), tmp_path) for a in disk.states(disk.moments()[-1])}

    disk = Disk(ROOT, calls(*WRITE_AND_RENAME))
    (sync,) = (sync for sync in disk.syncs if sync.path == folder)

    assert at_the_end(disk) == {"new"}
    assert at_the_end(disk.without(sync)) == {None, "new"}, lost


def test_a_write_may_be_torn_at_each_edge_of_a_page(tmp_path: Path) -> None:
    told = (("open", "a"), ("write", "a", "x" * (2 * PAGE + 1)), ("sync", "."))
    disk = Disk(ROOT, calls(*told))

    found = {contents(disk.state(a), tmp_path, "a") for a in disk.states(disk.moments()[-1])}

    assert found == {"x" * length for length in (0, PAGE, 2 * PAGE, 2 * PAGE + 1)}


def test_the_last_call_may_be_there_without_those_before_it(tmp_path: Path) -> None:
    disk = Disk(ROOT, calls(("open", "a"), ("open", "b"), ("open", "c")))

    names = {tuple(disk.state(a).glob("*")) for a in disk.states(disk.moments()[-1])}

    assert names == {("a", "b", "c"), ("b", "c"), ("a", "c"), ("a", "b"), ("c",)}


def test_a_rename_to_another_folder_may_be_half_done(tmp_path: Path) -> None:
    told = (("make", "one"), ("make", "two"), ("open", "one/a"), ("sync", "."), ("sync", "one"))
    disk = Disk(ROOT, calls(*told, ("rename", "one/a", "two/a")))

    names = {tuple(disk.state(a).glob("*/a")) for a in disk.states(disk.moments()[-1])}

    assert names == {("one/a",), ("two/a",), ("one/a", "two/a"), ()}


def test_an_fsync_that_began_before_the_end_of_a_write_does_not_cover_it(tmp_path: Path) -> None:
    opened, written, synced = calls(("open", "a"), ("write", "a", "new"), ("sync", "a"))
    early = Call(written.end - 1, synced.end, "sync", synced.path, "", False, 0, 0, b"")
    moment = synced.end

    for sync, expected in ((synced, {"new"}), (early, {"", "new"})):
        disk = Disk(ROOT, [opened, written, sync])
        named = {change.number for change in disk.changes if change.names}
        found = {contents(disk.state(a | named), tmp_path, "a") for a in disk.states(moment)}
        assert found == expected


def test_subsets_keep_what_is_sure_and_repeat_by_their_number(tmp_path: Path) -> None:
    disk = Disk(ROOT, calls(*WRITE_AND_RENAME, ("open", "run/b"), ("open", "run/c")))
    drawn = [disk.draw(random.Random(number)) for number in range(200)]

    assert drawn == [disk.draw(random.Random(number)) for number in range(200)]
    last = disk.moments()[-1]
    found = {tuple(disk.state(applied).glob("run/*")) for moment, applied in drawn if moment == last}
    assert found == {("run/a",), ("run/a", "run/b"), ("run/a", "run/c"), ("run/a", "run/b", "run/c")}


def test_lengths_and_what_is_removed(tmp_path: Path) -> None:
    opened, *_ = calls(("open", "a"))
    room = Call(2, 3, "reserve", "/disk/a", "", False, 2, 4, b"")
    cut = Call(4, 5, "truncate", "/disk/a", "", False, 3, 0, b"")
    removed = Call(6, 7, "remove", "/disk/a", "", False, 0, 0, b"")
    disk = Disk(ROOT, [opened, room, cut, removed])

    found = [contents(disk.state(disk.issued(moment)), tmp_path, "a") for moment in disk.moments()]

    assert found == ["", 6 * "\0", 3 * "\0", None]


def test_a_record_that_misses_a_file_or_is_cut_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Error, match="whose making is not recorded"):
        Disk(ROOT, calls(("write", "a", "new")))
    with pytest.raises(Error, match="nothing was recorded"):
        read_record(tmp_path / "record")
    line = '{"begin": 1, "end": 2, "call": "write", "path": "/disk/a", "other": "", "is_exchange": false, "offset": 0, '
    (tmp_path / "record.17").write_text(line + '"bytes": 9}\nhalf')
    with pytest.raises(Error, match="ends in the middle of a call"):
        read_record(tmp_path / "record")
