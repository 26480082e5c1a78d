"""`sidestream bench stream`: two jobs and the stream between them, in the four tests of Marrinan et al. (2019).

One job publishes a plane of doubles that lies in slices along y, the other reads it as slices along x (`columns`) or as
near-squares (`rectangles`), by each technique. The effective bandwidth is that from a step being there to its numbers
being laid out on all readers.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from .. import console
from ..error import Error
from .launcher import BENCH_STREAM, find_program, prepare

TECHNIQUES = ("bounding-box", "write-block", "auto")
LAYOUTS = ("columns", "rectangles")
WIDTH = 1024  # doubles along x of the smallest plane
LIMIT_S = 300.0
PEER_BYTES = 100 * 10**6  # of a step that is compared with a bare socket and with SST


@dataclass(frozen=True)
class Pair:
    """A job that publishes, one that reads, and what goes between them."""

    writers: int
    readers: int
    width: int
    height: int
    layout: str = "columns"
    ahead: int = 1  # steps that may wait for the reader

    @property
    def bytes(self) -> int:
        """Of a step."""
        return 8 * self.width * self.height


@dataclass(frozen=True)
class StreamRequest:
    """What the user asked for."""

    most_writers: int = 16
    megabytes: float = 64.0
    steps: int = 6
    listen: str = "tcp://127.0.0.1:*"
    launcher: str | None = None
    peers: bool = True

    def tests(self) -> Iterator[tuple[str, list[Pair]]]:
        """The four tests, with four writers to a reader where the number of readers is not fixed."""
        writers = [count for count in (4, 8, 16, 32, 64, 128) if count <= max(4, self.most_writers)]
        whole = round(self.megabytes * 1e6 / 8 / WIDTH)
        most = writers[-1]
        for layout in LAYOUTS:
            yield f"strong scaling, {layout}", [Pair(w, w // 4, WIDTH, whole, layout) for w in writers]
            yield f"writers varied, {layout}", [Pair(w, max(1, most // 8), WIDTH, whole, layout) for w in writers]
            yield (
                f"size varied, {layout}",
                [Pair(most, most // 4, WIDTH, max(most, whole * part // 16), layout) for part in (1, 4, 16)],
            )
            yield f"weak scaling, {layout}", [Pair(w, w // 4, WIDTH, whole * w // most, layout) for w in writers]


def measure(request: StreamRequest) -> dict[str, Any]:
    """Runs all pairs by each technique, and the peers; returns the report."""
    report: dict[str, Any] = {"listen": request.listen, "steps": request.steps, "tests": []}
    for name, pairs in request.tests():
        rows = []
        for pair in pairs:
            row: dict[str, Any] = {"writers": pair.writers, "readers": pair.readers, "bytes": pair.bytes}
            for technique in TECHNIQUES:
                row[technique] = run_pair(pair, technique, request)
            rows.append(row)
            console.say(_line(name, row))
        report["tests"].append({"name": name, "rows": rows})
    if request.peers:
        report |= compare_with_peers(request)
    return report


def run_pair(pair: Pair, technique: str, request: StreamRequest) -> dict[str, Any]:
    """Both jobs, once; the fastest step of the second half, when `auto` has chosen, and what a rank had of it."""
    with tempfile.TemporaryDirectory(prefix="sidestream-") as folder:
        run = str(Path(folder) / "run")
        size = ["--width", str(pair.width), "--height", str(pair.height), "--steps", str(request.steps)]
        size += ["--ahead", str(pair.ahead)]
        publish = _start(["publish", run, *size, "--listen", request.listen], pair.writers, request.launcher)
        read = _start(["read", run, "--technique", technique, "--layout", pair.layout], pair.readers, request.launcher)
        try:
            text, trouble = read.communicate(timeout=LIMIT_S)
            publish.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired as problem:
            raise Error(f"the jobs did not end within {LIMIT_S:.0f} s", hint="ask for fewer ranks") from problem
        finally:
            for job in (publish, read):
                if job.poll() is None:
                    job.kill()
    if read.returncode != 0:
        raise Error(f"the reader ended with {read.returncode}: {trouble.strip()[-500:]}")
    report: dict[str, Any] = json.loads(text)
    steps: list[dict[str, Any]] = report["steps"]
    if not all(step["is_right"] for step in steps):
        raise Error("numbers came that were not those that were sent")
    best = min(steps[len(steps) // 2 :], key=lambda step: step["seconds"])
    return best | {"gb_per_s": 1e-9 * pair.bytes / best["seconds"], "step_s": report["step_s"]}


def _start(words: list[str], ranks: int, launcher: str | None) -> subprocess.Popen[str]:
    launch = prepare(find_program(BENCH_STREAM), words, ranks, launcher)
    return subprocess.Popen(
        launch.command,
        env=launch.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def compare_with_peers(request: StreamRequest) -> dict[str, Any]:
    """One writer and one reader with steps of 100 MB, beside a bare socket and SST of ADIOS2, by turns."""
    height = PEER_BYTES // 8 // WIDTH
    ours, bare, sst = [], [], []
    for _ in range(3):
        ours.append(run_pair(Pair(1, 1, WIDTH, height, "blocks", ahead=2), "bounding-box", request))
        bare.append(bare_socket(8 * WIDTH * height, request.steps))
        if (seconds := sst_engine(WIDTH * height, request.steps)) is not None:
            sst.append(seconds)
    transfers, steps = ([one[key] for one in ours] for key in ("seconds", "step_s"))
    found: dict[str, Any] = {
        "peer_bytes": 8 * WIDTH * height,
        "transfer_s": transfers,
        "tcp_s": bare,
        "share_of_tcp": min(bare) / min(transfers),
        "step_s": steps,
    }
    if sst:
        found |= {"sst_step_s": sst, "ratio_to_sst": min(sst) / min(steps)}
    return found


def bare_socket(size: int, steps: int) -> float:
    """Seconds of the fastest of some transfers from a process to another through a socket on the loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = get_context("fork").Process(target=_send, args=(server.getsockname(), size, steps), daemon=True)
        sender.start()
        connection, _ = server.accept()
        into = memoryview(bytearray(size))
        best = float("inf")
        with connection:
            for _ in range(steps):
                began = time.perf_counter()
                connection.sendall(b"n")
                got = 0
                while got < size:
                    got += connection.recv_into(into[got:])
                best = min(best, time.perf_counter() - began)
        sender.join()
    return best


def _send(address: tuple[str, int], size: int, steps: int) -> None:
    data = bytes(size)
    with socket.create_connection(address) as connection:
        for _ in range(steps):
            connection.recv(1)
            connection.sendall(data)


SST_WRITER = """
import sys, numpy as np
from adios2 import Adios
adios = Adios(); io = adios.declare_io("w"); io.set_engine("SST")
io.set_parameters({"QueueLimit": "1", "QueueFullPolicy": "Block", "RendezvousReaderCount": "1"})
count, steps = int(sys.argv[2]), int(sys.argv[3])
cells = np.arange(count, dtype=np.float64)
variable = io.define_variable("cells", cells, [count], [0], [count])
from adios2 import bindings
engine = io.open(sys.argv[1], bindings.Mode.Write)
for _ in range(steps):
    engine.begin_step(); engine.put(variable, cells); engine.end_step()
engine.close()
"""
SST_READER = """
import sys, time, numpy as np
from adios2 import Adios, bindings
adios = Adios(); io = adios.declare_io("r"); io.set_engine("SST")
engine = io.open(sys.argv[1], bindings.Mode.Read)
cells = np.empty(int(sys.argv[2])); steps = 0
while engine.begin_step() == bindings.StepStatus.OK:
    engine.get(io.inquire_variable("cells"), cells, bindings.Mode.Sync)
    engine.end_step()
    steps += 1
    if steps == 1:
        began = time.perf_counter()
print((time.perf_counter() - began) / (steps - 1))
engine.close()
"""


def sst_engine(count: int, steps: int) -> float | None:
    """Seconds a step of a loop that does nothing else, through SST of ADIOS2; None where that is not installed.

    Of a loop, since SST fetches for one reader before it is asked.
    """
    if find_spec("adios2") is None:
        return None
    with tempfile.TemporaryDirectory(prefix="sidestream-") as folder:
        words = [str(Path(folder) / "peer"), str(count)]
        writer = subprocess.Popen([sys.executable, "-c", SST_WRITER, *words, str(steps)], stderr=subprocess.DEVNULL)
        try:
            done = subprocess.run(
                [sys.executable, "-c", SST_READER, *words], capture_output=True, text=True, timeout=LIMIT_S, check=True
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as problem:
            raise Error(f"the peer SST did not work: {getattr(problem, 'stderr', '')}") from problem
        finally:
            writer.kill()
            writer.wait()
    return float(done.stdout.split()[-1])


def _line(name: str, row: dict[str, Any]) -> str:
    parts = [f"{technique} {row[technique]['gb_per_s']:.2f}" for technique in TECHNIQUES]
    return f"{name}: {row['writers']} to {row['readers']}, {row['bytes'] / 1e6:.0f} MB: {', '.join(parts)} GB/s"


def print_report(report: dict[str, Any]) -> None:
    """Prints a table for each test, and the comparison with the peers."""
    from rich.table import Table

    for test in report["tests"]:
        table = Table("writers", "readers", "MB", "technique", "GB/s", "messages", "connections", "redistribution [ms]")
        for column in table.columns:
            column.justify = "right"
        table.title = test["name"]
        for row in test["rows"]:
            for technique in TECHNIQUES:
                one = row[technique]
                table.add_row(
                    str(row["writers"]),
                    str(row["readers"]),
                    f"{row['bytes'] / 1e6:.0f}",
                    f"auto: {one['technique']}" if technique == "auto" else technique,
                    f"{one['gb_per_s']:.2f}",
                    str(one["most_messages_a_rank"]),
                    str(one["most_connections_a_rank"]),
                    f"{1e3 * one['redistribute_s']:.1f}",
                )
        console.out().print(table)
    if "share_of_tcp" in report:
        mega = report["peer_bytes"] / 1e6
        ours = np.min(report["transfer_s"])
        text = f"1 to 1, {mega:.0f} MB: {mega / 1e3 / ours:.2f} GB/s, {report['share_of_tcp']:.0%} of a bare socket"
        ratio = report.get("ratio_to_sst")
        console.out().print(text + (f", {ratio:.2f} times the steps of SST" if ratio else "; ADIOS2 is not installed"))
