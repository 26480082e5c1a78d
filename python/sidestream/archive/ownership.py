"""Whose an archive is: a note in it, there before any file has its name, which outlives the manifest."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from pathlib import Path

from ..error import Error, UsageError
from .place import ARRIVING, OWNER, Place

UNFINISHED = (ARRIVING, f"{OWNER}.", ".manifest.json.")  # how names begin that a cut may leave before the note is there


WAIT_S, POLL_S = 10.0, 0.1  # for the first line of a run that begins at this moment
LONGEST = 1 << 20  # so much of a line counts


def identity_of(run: Path) -> str:
    """What tells a run from another one of its name: when and as what it began, in the first line of its event log.

    Raises:
        Error: there is no whole line, and none came within some seconds; what is there would not stay.
    """
    ends = time.monotonic() + WAIT_S
    while True:
        line = _first_line(run)
        if line.endswith(b"\n") or len(line) == LONGEST:
            return hashlib.sha256(line).hexdigest()
        if time.monotonic() > ends:
            hint = "archive it when it has begun: the log has a line then"
            raise Error("the run has not begun: its event log has no line yet", run / "events.jsonl", hint)
        time.sleep(POLL_S)


def _first_line(run: Path) -> bytes:
    log = run / "events.jsonl"
    if not log.is_file():  # a pipe would not answer
        return b""
    try:
        with log.open("rb") as file:
            return file.readline(LONGEST)
    except OSError as problem:
        raise Error(f"a file of the run cannot be read: {problem.strerror}", log) from problem


def require_free_or_own(place: Place, identity: str) -> None:
    """An error where a folder without a manifest belongs to another run, or to nobody and is not empty."""
    note = place.read(OWNER)
    if note is not None:
        _require_own(note, place, identity)
        return
    others = [name for name in place.names() if not name.startswith(UNFINISHED)]
    if others:
        hint = "give a folder that is empty or not there"
        raise UsageError(f"the folder has other files in it: {', '.join(sorted(others)[:3])}", place, hint)


def claim(place: Place, run: str, identity: str, has_manifest: bool) -> None:
    """Leaves the note, where there is none; of several runs at once, one has the place, and the others are refused."""
    note = place.write_once(OWNER, f"{OWNER}.{secrets.token_hex(8)}", os.fsencode(f"{identity} {run}\n"))
    if not has_manifest:
        _require_own(note, place, identity)


def of_another(place: Place, run: str) -> UsageError:
    """The error for the archive of a run that is not the one at hand."""
    return UsageError(f"this is the archive of another run, `{run}`", place, "give each run an archive of its own")


def _require_own(note: bytes, place: Place, identity: str) -> None:
    owner, _, run = os.fsdecode(note).rstrip("\n").partition(" ")
    if owner != identity:
        raise of_another(place, run)
