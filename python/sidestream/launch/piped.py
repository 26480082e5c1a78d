"""Configurations that come through a pipe or a descriptor: `<(sed ... box.toml)`, `/dev/stdin`, a named pipe."""

from __future__ import annotations

import os
import select
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..error import UsageError

PATIENCE_S = 5  # for somebody to write into a pipe
MOST_BYTES = 1 << 24  # as of configurations in files
HINT = "give the path of a TOML file, or write one into the pipe"
_OF_THIS_PROCESS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def is_piped(config: Path) -> bool:
    """Whether the configuration is a pipe, or a descriptor of this process, which other processes have not."""
    try:
        return config.is_fifo() or (str(config).startswith(_OF_THIS_PROCESS) and config.is_file())
    except (OSError, ValueError):
        return False  # no name of a file, which is told where it is opened


@contextmanager
def as_file(config: Path) -> Iterator[Path]:
    """The configuration as a file that can be read more than once: its own, or one in this folder that is gone then.

    In this folder, as paths in a configuration are relative to where it lies.
    """
    if not is_piped(config):
        yield config
        return
    text = _read(config)
    try:
        descriptor, name = tempfile.mkstemp(prefix=".sidestream-", suffix=".toml", dir=Path.cwd())
    except OSError as problem:
        raise UsageError(f"the text of the pipe cannot be kept: {problem.strerror}", Path.cwd(), HINT) from problem
    copy = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        yield copy
    finally:
        copy.unlink(missing_ok=True)


def _read(config: Path) -> bytes:
    """All of it, once; nobody waits for a pipe that nobody writes into."""
    try:
        descriptor = os.open(config, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        raise UsageError(f"the configuration cannot be opened: {problem.strerror}", config, HINT) from problem
    with os.fdopen(descriptor, "rb") as pipe:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode) and not select.select([pipe], [], [], PATIENCE_S)[0]:
            raise UsageError(f"nobody has written into the pipe within {PATIENCE_S} s", config, HINT)
        os.set_blocking(descriptor, True)
        text = pipe.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise UsageError(f"the configuration is too large: at most {MOST_BYTES} bytes of it are read", config, HINT)
    if not text.strip():
        raise UsageError("nothing came through the pipe", config, HINT)
    return text
