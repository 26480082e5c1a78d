"""Whose an archive is: a note in it, there before any file has its name, which outlives the manifest."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from ..error import UsageError
from .place import ARRIVING, OWNER, Place

UNFINISHED = (ARRIVING, f"{OWNER}.", ".manifest.json.")  # how names begin that a cut may leave before the note is there


def identity_of(run: Path) -> str:
    """What tells a run from another one of its name: when and as what it began."""
    try:
        with (run / "events.jsonl").open("rb") as file:
            return hashlib.sha256(file.readline(1 << 20)).hexdigest()
    except OSError:
        return ""


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
