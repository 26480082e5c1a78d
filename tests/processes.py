"""What a test has started: found and ended when the test takes too long."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def descendants(ancestor: int) -> set[int]:
    """The processes that descend from one, on this machine and at this moment."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found: set[int] = set()
    waiting = [ancestor]
    while waiting:
        fresh = [pid for pid in children.get(waiting.pop(), []) if pid not in found]
        found.update(fresh)
        waiting += fresh
    return found


def kill(processes: set[int]) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
