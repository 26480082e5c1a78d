"""Two hosts on one machine: network namespaces, joined by a link of a known speed."""

from __future__ import annotations

import os
import shutil
import subprocess
from types import TracebackType

from ...error import Error

ADDRESSES = ("10.203.77.1", "10.203.77.2")


class ShapedLink:
    """Two network namespaces and a link between them that lets through so much a second, each way.

    Raises:
        Error: on entering, where the machine does not allow it.
    """

    def __init__(self, rate: str) -> None:
        self.rate = rate
        self.names = tuple(f"sidestream-{os.getpid()}-{side}" for side in "ab")
        self.ends = tuple(f"ss{os.getpid()}{side}" for side in "ab")

    @property
    def listen(self) -> str:
        """Where the job on the first host listens."""
        return f"tcp://{ADDRESSES[0]}:*"

    def launcher(self, host: int) -> str:
        """What starts a job on host 0 or 1."""
        return f"ip netns exec {self.names[host]} mpirun"

    def __enter__(self) -> ShapedLink:
        missing = [tool for tool in ("ip", "tc", "mpirun") if shutil.which(tool) is None]
        if missing:
            raise Error(f"a shaped link needs `{missing[0]}`, which is not installed")
        try:
            self._make()
        except Error:
            self.__exit__(None, None, None)
            raise
        return self

    def _make(self) -> None:
        one, other = self.names
        for name in self.names:
            _call("ip", "netns", "add", name)
        near, far = self.ends
        _call("ip", "link", "add", near, "netns", one, "type", "veth", "peer", "name", far, "netns", other)
        for name, end, address in zip(self.names, self.ends, ADDRESSES, strict=True):
            _call("ip", "-n", name, "addr", "add", f"{address}/24", "dev", end)
            _call("ip", "-n", name, "link", "set", "lo", "up")
            _call("ip", "-n", name, "link", "set", end, "up")
            shape = ["tbf", "rate", self.rate, "burst", "256kb", "latency", "50ms"]
            _call("tc", "-n", name, "qdisc", "add", "dev", end, "root", *shape)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def _call(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or f"`{' '.join(words)}` failed").splitlines()[-1]
        raise Error(f"a shaped link cannot be made here: {said}", hint="it takes the rights of root over networks")
