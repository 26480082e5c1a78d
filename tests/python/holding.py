"""A run folder as a run that goes on has it: locked."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_OF_OPEN_FILE = 37  # F_OFD_SETLK


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Within it, this process is the run that has the folder."""
    with (folder / ".lock").open("w") as file:
        wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(file, LOCK_OF_OPEN_FILE, wanted)
        json.dump({"host": socket.gethostname(), "pid": os.getpid(), "since": "2025-03-31T12:00:00Z"}, file)
        file.flush()
        yield
