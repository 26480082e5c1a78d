"""Who has a run folder: a lock on a file in it, which ends with the process of the run that holds it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

FILE = ".lock"
OF_OPEN_FILES = 36  # F_OFD_GETLK of Linux, which the module `fcntl` does not name
FLOCK = "hhqqi4x"  # struct flock on 64 bits: type, whence, start, length, process


@dataclass(frozen=True)
class Holder:
    """The first rank of a job: `since` is when it took the folder, in UTC."""

    host: str
    process: int
    since: str

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}, since {self.since}"


def is_held(folder: Path) -> bool:
    """Whether a run that lives has the folder. It is asked, not hindered: the lock is never taken here."""
    try:
        with (folder / FILE).open("rb") as file:
            holder = _told(file.read())
            try:
                asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
                return bool(struct.unpack(FLOCK, fcntl.fcntl(file, OF_OPEN_FILES, asked))[0] != fcntl.F_UNLCK)
            except OSError:  # a file system without locks
                return holder is not None and _may_live(holder)
    except OSError:
        return False


def holder_of(folder: Path) -> Holder | None:
    """Who holds the folder, if a run that lives does and says so."""
    if not is_held(folder):
        return None
    try:
        return _told((folder / FILE).read_bytes())
    except OSError:
        return None


def _told(text: bytes) -> Holder | None:
    try:
        told = json.loads(text)
        return Holder(str(told["host"]), int(told["pid"]), str(told["since"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _may_live(holder: Holder) -> bool:
    """Of a process on another machine nothing is known."""
    if holder.host != socket.gethostname():
        return True
    try:
        os.kill(holder.process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
