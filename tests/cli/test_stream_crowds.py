"""Streams with many readers, with one that stalls, with a stranger who says again what he has overheard, and of a
refined mesh."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidestream
from calls import running
from sidestream.streams import status
from test_streams import (
    BOX,
    CELLS,
    HANGING,
    LIVE,
    LONG,
    STEPS,
    STORED,
    WAIT,
    cells_of_when_written,
    events,
    is_open,
    process_of,
    reader_of,
    resident_bytes,
    secured,
    status_of,
    write,
)
from waiting import until
from wire import Wire

READERS = 20


def test_twenty_readers_at_once_are_given_every_step(tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, STORED, WAIT.format(READERS))
    with running(tmp_path, 2, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        readers = [sidestream.stream(tmp_path / "run", quantities=["pressure"]) for _ in range(READERS)]
        steps = []
        for snapshots in zip(*readers, strict=True):
            step = snapshots[0].step
            expected = cells_of_when_written(tmp_path, "pressure", step)
            for snapshot in snapshots:
                assert snapshot.step == step
                assert (np.asarray(snapshot["pressure"]) == expected).all()
            steps.append(step)
        assert job.wait(60) == 0
    assert steps == list(range(STEPS + 1))
    assert {event["bytes"] for event in events(tmp_path, "publish")} == {8 * CELLS**3}  # made once for all


def test_who_has_patience_comes_in_after_a_crowd(tmp_path: Path) -> None:
    write(tmp_path, LONG, LIVE, "[stream]\nwait_for = 2\n")
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        crowd = 0
        with pytest.raises(sidestream.Error, match="readers have come within a short time"):
            for _ in range(2000):
                sidestream.stream(tmp_path / "run", quantities=["pressure"]).close()
                crowd += 1
        assert crowd >= 1000
        readers = [sidestream.stream(tmp_path / "run", quantities=["pressure"], patience=30) for _ in range(2)]
        for snapshots in zip(*readers, strict=True):
            assert snapshots[0].step == snapshots[1].step
        assert job.wait(60) == 0
    assert len(events(tmp_path, "stream_attach")) == crowd + 2


GREETING_BYTES, HELLO_BYTES, WELCOME_BYTES = 64, 202, 170  # of ZMTP 3 and CurveZMQ, with their frames


def said_again(port: int, words: bytes) -> tuple[bytes, bool]:
    """What a run answers to an overheard handshake, and whether it has hung up."""
    answer = bytearray()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as stranger:

        def wait_for(size: int) -> None:
            while len(answer) < size:
                part = stranger.recv(1 << 16)
                assert part
                answer.extend(part)

        stranger.sendall(words[:GREETING_BYTES])
        wait_for(GREETING_BYTES)
        stranger.sendall(words[GREETING_BYTES : GREETING_BYTES + HELLO_BYTES])
        wait_for(GREETING_BYTES + WELCOME_BYTES)
        stranger.sendall(words[GREETING_BYTES + HELLO_BYTES :])
        try:
            while part := stranger.recv(1 << 16):
                answer.extend(part)
        except ConnectionResetError:
            pass
        except TimeoutError:
            return bytes(answer), False
    return bytes(answer), True


def test_who_says_again_a_handshake_that_he_has_overheard_is_not_let_in(tmp_path: Path) -> None:
    write(tmp_path, LONG, LIVE, secured(tmp_path))
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        point = json.loads((tmp_path / "run" / "stream.json").read_text())
        port = int(point["address"].rsplit(":", 1)[1])
        wire = Wire(port)
        address = f"tcp://127.0.0.1:{wire.port}#{point['key']}"
        reader = sidestream.stream(address, quantities=["pressure"], keys=tmp_path / "keys")
        steps = [next(reader).step]
        overheard = bytes(wire.said_first)
        assert len(overheard) > GREETING_BYTES + HELLO_BYTES
        for _ in range(5):
            answer, has_hung_up = said_again(port, overheard)
            assert has_hung_up
            assert len(answer) == GREETING_BYTES + WELCOME_BYTES  # and nothing after that
        assert len(status(tmp_path / "run", keys=tmp_path / "keys")["readers"]) == 1
        steps += [snapshot.step for snapshot in reader]
        assert job.wait(60) == 0
    assert steps == list(range(41))
    assert len(events(tmp_path, "stream_attach")) == 1


def test_a_reader_that_stalls_costs_no_more_memory_than_the_queue_and_a_block(tmp_path: Path) -> None:
    cells, block, fields = 64, 8, 4
    step_bytes = 8 * fields * cells**3
    queue = 4 * step_bytes
    text = f'[coupling]\nwhen_full = "drop-oldest"\nqueue = "{queue} B"\n'
    sizes = LONG.replace(str(CELLS), str(cells)).replace("max_steps = 40", "max_steps = 4000")
    write(tmp_path, sizes, LIVE, text)
    names = '["gas_density", "pressure", "velocity_x", "velocity_y"]'
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        process = process_of(tmp_path)
        until(lambda: len(events(tmp_path, "step")) > 10)
        before = resident_bytes(process)
        victim = reader_of(tmp_path, HANGING.replace("snapshot.step == 2", "True").replace('["gas_density"]', names))
        until(lambda: len(events(tmp_path, "stream_dropped")) > 8)  # the queue is full, and stays so
        after = resident_bytes(process)
        waiting = status_of(tmp_path)["readers"][0]["waiting"]
        victim.kill()
        victim.wait()
        job.kill()
    assert max(event["queue_bytes"] for event in events(tmp_path, "publish")) <= queue
    assert waiting == 4  # the queue is full
    of_a_block = 8 * fields * block**3
    assert after - before <= queue + of_a_block + SOCKETS_BYTES


SOCKETS_BYTES = (
    4 << 20
)  # a transfer has so many bytes under way: six pieces of 512 KiB; and what ZeroMQ has beside them


REFINED = """
simulation = "sedov"
[run]
max_steps = 4
[mesh]
cells = [16, 16, 16]
block = 8
[amr]
max_level = 2
regrid_every = 2
[refine.shock]
criterion = "loehner"
fields = ["pressure"]
refine_above = 0.8
coarsen_below = 0.2
"""


def test_refined_levels_are_those_of_a_plot_file(tmp_path: Path) -> None:
    techniques = ("bounding-box", "write-block")
    write(tmp_path, REFINED, LIVE, STORED, WAIT.format(len(techniques)))
    with running(tmp_path, 2, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        levels = set()
        readers = [
            sidestream.stream(tmp_path / "run", quantities=["gas_density"], technique=technique)
            for technique in techniques
        ]
        for snapshots in zip(*readers, strict=True):
            path = tmp_path / "run" / f"plt{snapshots[0].step:05d}"
            until(lambda path=path: (path / "Header").exists())
            plot = sidestream.open(path)
            for technique, snapshot in zip(techniques, snapshots, strict=True):
                expect_levels_of(snapshot, plot, technique)
            levels.add(plot.levels)
        assert job.wait(60) == 0
    assert max(levels) > 1


def expect_levels_of(snapshot: Any, plot: Any, technique: str) -> None:
    assert snapshot.levels == plot.levels, technique
    covered = 0.0  # of the box
    for level in range(plot.levels):
        cells = np.asarray(plot.covering_grid("gas_density", level))
        for (z, y, x), block in snapshot.blocks("gas_density", level):
            nz, ny, nx = block.shape
            assert (block == cells[z : z + nz, y : y + ny, x : x + nx]).all(), technique
            covered += block.size / cells.size
    assert covered == 1.0, technique  # by what is not refined further
    finest = plot.levels - 1
    whole, expected = (np.asarray(one.covering_grid("gas_density", finest)) for one in (snapshot, plot))
    assert (whole == expected).all(), technique
