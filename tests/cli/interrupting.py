"""Commands that hear a signal while their ranks work."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from waiting import until


def interrupted(process: subprocess.Popen[bytes], pids: Path, number: signal.Signals) -> bytes:
    """What a command says that hears a signal once its two ranks have written into `pids`; none of these is left."""
    until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    process.send_signal(number)
    _, messages = process.communicate(timeout=60)

    assert process.returncode == 130
    assert b"interrupted" in messages
    until(lambda: not any(map(_is_alive, pids.read_text().split())))
    return messages


def _is_alive(pid: str) -> bool:
    """Zombies are dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
