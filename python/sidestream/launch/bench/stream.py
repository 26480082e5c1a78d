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
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ... import console
from ...error import Error
from ...streams import make_keys
from ..streams import burdens, model
from ..streams.link import ShapedLink
from ..streams.pairs import LIMIT_S, ROWS, TECHNIQUES, Pair, Way, run_pair, typical

LAYOUTS = ("columns", "rectangles")
WIDTH = 1024  # doubles along x of the smallest plane
PEER_BYTES = 100 * 10**6  # of a step that is compared with a bare socket and with SST
LINK_MOST_WRITERS = 16  # and a fourth of the data, over a link that takes its time
PEER_STEPS = 8


@dataclass(frozen=True)
class StreamRequest:
    """What the user asked for."""

    most_writers: int = 16
    megabytes: float = 64.0
    steps: int = 32
    listen: str = "tcp://127.0.0.1:*"
    launcher: str | None = None
    peers: bool = True
    link: str = "1gbit"  # the speed of a link that is measured too, as `tc` has it; "none": none is

    @property
    def way(self) -> Way:
        """On which both jobs are on this machine."""
        return Way(self.listen, "", self.launcher, self.launcher, self.steps)

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
    """Runs all pairs by each technique, over a link too if asked; then what a stream costs, the model and the peers."""
    report: dict[str, Any] = {"listen": request.listen, "steps": request.steps}
    report["tests"] = run_tests(request, request.way, TECHNIQUES)
    if request.link != "none":
        report["link"] = over_a_link(request, request.link)
    report["burdens"] = burdens.report(request.way)
    report["model"] = model.report(request.way)
    if request.peers:
        report |= compare_with_peers(request)
    return report


def run_tests(request: StreamRequest, way: Way, techniques: tuple[str, ...]) -> list[dict[str, Any]]:
    """The four tests; a pair that several of them have is run once."""
    rows: dict[Pair, dict[str, Any]] = {}
    tests = []
    for name, pairs in request.tests():
        for pair in pairs:
            if pair not in rows:
                rows[pair] = run_pair(pair, techniques, way)
                console.say(_line(name, rows[pair], techniques))
        tests.append({"name": name, "rows": [rows[pair] for pair in pairs]})
    return tests


def over_a_link(request: StreamRequest, rate: str) -> dict[str, Any]:
    """The same between two network namespaces, with the bounding box that nobody packs beside the techniques."""
    try:
        with ShapedLink(rate) as link:
            way = Way(link.listen, "none", link.launcher(0), link.launcher(1), request.steps)
            fewer = replace(
                request,
                most_writers=min(request.most_writers, LINK_MOST_WRITERS),
                megabytes=request.megabytes / 4,
            )
            return {"rate": rate, "tests": run_tests(fewer, way, (*TECHNIQUES, ROWS))}
    except Error as problem:
        console.say(f"no link: {problem.what}")
        return {"rate": rate, "skipped": problem.what}


def compare_with_peers(request: StreamRequest) -> dict[str, Any]:
    """One writer and one reader with steps of 100 MB, beside a bare socket and SST of ADIOS2, by turns.

    Transfers are those of steps that wait until the one before has gone, as they are and encrypted; the steps that are
    compared with SST are of a loop in which the next is made meanwhile.
    """
    height = PEER_BYTES // 8 // WIDTH
    way = replace(request.way, steps=PEER_STEPS)
    one = Pair(1, 1, WIDTH, height, "blocks")
    transfers, encrypted, steps, bare, sst = [], [], [], [], []
    for _ in range(3):
        transfers.append(run_pair(one, ["bounding-box"], way)["bounding-box"]["seconds"])
        with made_keys() as keys:
            encrypted.append(run_pair(one, ["bounding-box"], replace(way, keys=keys))["bounding-box"]["seconds"])
        steps.append(run_pair(replace(one, ahead=2), ["bounding-box"], way)["step_s"])
        bare.append(bare_socket(8 * WIDTH * height, way.steps))
        if (seconds := sst_engine(WIDTH * height, way.steps)) is not None:
            sst.append(seconds)
    found: dict[str, Any] = {
        "peer_bytes": 8 * WIDTH * height,
        "transfer_s": transfers,
        "tcp_s": bare,
        "share_of_tcp": min(bare) / min(transfers),
        "encrypted_transfer_s": encrypted,
        "encrypted_of_plain": min(transfers) / min(encrypted),
        "step_s": steps,
    }
    if sst:
        found |= {"sst_step_s": sst, "ratio_to_sst": min(sst) / min(steps)}
    return found


@contextmanager
def made_keys() -> Iterator[str]:
    """A folder with keys of its own."""
    with tempfile.TemporaryDirectory(prefix="sidestream-") as folder:
        make_keys(Path(folder) / "keys")
        yield str(Path(folder) / "keys")


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
    data = b"c" * size  # of pages of its own: those of zeros are one, which stays in the cache
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
import json, sys, time, numpy as np
from adios2 import Adios, bindings
adios = Adios(); io = adios.declare_io("r"); io.set_engine("SST")
engine = io.open(sys.argv[1], bindings.Mode.Read)
cells = np.empty(int(sys.argv[2])); ends = []
while engine.begin_step() == bindings.StepStatus.OK:
    engine.get(io.inquire_variable("cells"), cells, bindings.Mode.Sync)
    engine.end_step()
    ends.append(time.perf_counter())
print(json.dumps(list(np.diff(ends))))
engine.close()
"""


def sst_engine(count: int, steps: int) -> float | None:
    """Seconds of a step of a loop that does nothing else, through SST of ADIOS2; None where that is not installed.

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
    return typical(json.loads(done.stdout.splitlines()[-1]))


def _line(name: str, row: dict[str, Any], techniques: tuple[str, ...]) -> str:
    parts = [f"{technique} {row[technique]['gb_per_s']:.2f}" for technique in techniques]
    return f"{name}: {row['writers']} to {row['readers']}, {row['bytes'] / 1e6:.0f} MB: {', '.join(parts)} GB/s"


def print_report(report: dict[str, Any]) -> None:
    """Prints a table for each test, what a stream costs a run, the model, and the comparison with the peers."""
    for test in report["tests"]:
        _print_test(test, test["name"], TECHNIQUES)
    if link := report.get("link"):
        if "skipped" in link:
            console.out().print(f"over a link of {link['rate']}: {link['skipped']}")
        for test in link.get("tests", []):
            _print_test(test, f"over {link['rate']}: {test['name']}", (*TECHNIQUES, ROWS))
    _print_burdens(report["burdens"])
    print_model(report["model"])
    if "share_of_tcp" in report:
        mega = report["peer_bytes"] / 1e6
        ours = np.min(report["transfer_s"])
        text = f"1 to 1, {mega:.0f} MB: {mega / 1e3 / ours:.2f} GB/s, {report['share_of_tcp']:.0%} of a bare socket"
        text += f" ({report['encrypted_of_plain']:.0%} of that encrypted)"
        ratio = report.get("ratio_to_sst")
        console.out().print(text + (f", {ratio:.2f} times the steps of SST" if ratio else "; ADIOS2 is not installed"))


def _print_table(title: str, columns: tuple[str, ...], rows: list[list[str]]) -> None:
    from rich.table import Table

    table = Table(*columns, title=title)
    for column in table.columns:
        column.justify = "right"
    for row in rows:
        table.add_row(*row)
    console.out().print(table)


def _name(technique: str, row: dict[str, Any]) -> str:
    if technique != "auto":
        return technique
    return f"auto: {row['auto_of_faster']:.2f}, chosen {row['choice_of_faster']:.2f} of {row['faster']}"


def _print_test(test: dict[str, Any], title: str, techniques: tuple[str, ...]) -> None:
    columns = ("writers", "readers", "MB", "technique", "GB/s", "messages", "connections", "redistribution [ms]")
    rows = []
    for row in test["rows"]:
        for technique in techniques:
            one = row[technique]
            rows.append(
                [
                    str(row["writers"]),
                    str(row["readers"]),
                    f"{row['bytes'] / 1e6:.0f}",
                    _name(technique, row),
                    f"{one['gb_per_s']:.2f}",
                    str(one["most_messages_a_rank"]),
                    str(one["most_connections_a_rank"]),
                    f"{1e3 * one['redistribute_s']:.1f}",
                ]
            )
    _print_table(title, columns, rows)
    for row in test["rows"]:
        if row["why"]:
            console.out().print(f"{row['writers']} to {row['readers']}: write-block is {row['why']}")


def _print_burdens(found: dict[str, Any]) -> None:
    idle, stalled, core = found["idle"], found["stalled"], found["core"]
    console.out().print(
        f"nobody listens: a publish takes {1e6 * idle['publish_s']:.0f} us, {idle['share_of_step']:.3%} of a step\n"
        f"a reader stalls: a step takes {stalled['ratio']:.2f} of the time of one without, and "
        f"{stalled['processor_ratio']:.2f} of its processor time; the publish is {stalled['publish_share']:.1%} of it"
    )
    if "skipped" in core:
        console.out().print(core["skipped"])
        return
    rows = [
        [
            str(row["megabytes"]),
            str(row["work_ms"]),
            f"{1e3 * row['shared_s']:.0f}",
            f"{1e3 * row['aside_s']:.0f}",
            f"{row['aside_of_shared']:.2f}",
            f"{1e3 * row['sending_s']:.0f}",
        ]
        for row in core["rows"]
    ]
    columns = ("MB", "work [ms]", "all cores do both [ms]", "one core sends [ms]", "ratio", "sending [ms]")
    _print_table(f"a step on {core['cores']} cores", columns, rows)
    for one in core["crossings"]:
        most = one["most_work_ms"]
        text = "at no work that was tried" if most is None else f"up to {most} ms of work a step"
        console.out().print(f"{one['megabytes']} MB: a core set aside is the faster way {text}")


def print_model(found: dict[str, Any]) -> None:
    """Prints the tables of the model, and what of the paper it bears out."""
    techniques = model.TECHNIQUES
    for link in found["links"]:
        rows = [
            [row["test"], row["layout"], str(row["writers"]), str(row["readers"]), f"{row['bytes'] / 1e6:.0f}"]
            + [f"{row[technique]['gb_per_s']:.2f}" for technique in techniques]
            + [" ".join(str(row[technique]["most_messages_a_rank"]) for technique in techniques)]
            + [f"{1e6 * row['even_message_s']:.0f}"]
            for row in link["rows"]
        ]
        speeds = [f"{technique} [GB/s]" for technique in techniques]
        columns = ("test", "layout", "writers", "readers", "MB", *speeds, "messages a reader", "even at [us]")
        _print_table(f"model: {link['link']}, {1e3 * link['round_trip_s']:g} ms there and back", columns, rows)
        for one in link["paper"]:
            console.out().print(
                f"{'as' if one['agrees'] else 'NOT as'} in the paper: {one['paper']}: {one['model']:.2f}"
            )
    message_us, speed = 1e6 * found["message_s"], found["moved_gb_per_s"]
    console.out().print(f"measured here: a message costs {message_us:.1f} us, readers exchange {speed:.2f} GB/s")
