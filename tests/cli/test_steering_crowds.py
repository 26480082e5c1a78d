"""Steering by many at once, by those who are killed, and by those who ask for what no run can go on with."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidestream
from calls import program, running
from configs import universe
from sidestream.streams import ask, make_keys
from steered import CONFIG, END_S, Steered, cells_of, told

UNIVERSE = (
    universe(box="14.2 Mpc", z_start=50, z_end=0, largest_expansion=1e-5)
    + """[run]
steering = true
[output.checkpoint]
every = 1000000
keep = 0
"""
)
WHOLE = ((0, 0, 0), (16, 16, 32))


@contextmanager
def steered(folder: Path, config: str = CONFIG) -> Iterator[Steered]:
    run = Steered(folder, config)
    try:
        yield run
    finally:
        run.kill()


def until_it_listens(run: Path, keys: Path) -> None:
    end = time.monotonic() + END_S
    while True:
        try:
            sidestream.steer(run, keys=keys).status()
            return
        except sidestream.Error:
            assert time.monotonic() < end
            time.sleep(0.05)


def replayed(run: Steered, ranks: int) -> Path:
    """The folder of the same run on so many ranks."""
    again = run.folder / f"again{ranks}"
    done = program(run.folder, ranks, "run/config.toml", "--out", again, "--replay", "run/events.jsonl")
    assert done.returncode == 0, done.stderr
    return again


def assert_same(run: Path, again: Path) -> None:
    checkpoints = list(run.glob("*.hdf5_chk"))
    assert checkpoints
    for path in checkpoints:
        first, second = sidestream.open(path), sidestream.open(again / path.name)
        assert list(first) == list(second)
        for name in first:
            assert np.array_equal(first[name], second[name]), (path.name, name)


# Tells what it begins, and what the run has answered.
CLIENT = """
import sys
import numpy as np
import sidestream
run, turn = sidestream.steer("run"), sys.argv[1]
for number in range(10000):
    run.set("hydro.cfl", 0.3 + 1e-5 * number, why=f"{turn} {number} set")
    print(f"{turn} {number} set", flush=True)
    run.edit("pressure", {whole}, np.full((16, 16, 32), 1.0 + 1e-6 * number), "multiply", why=f"{turn} {number} edit")
    print(f"{turn} {number} edit", flush=True)
"""


def test_what_was_asked_for_by_who_is_killed_arrives_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT.replace("{whole}", str(WHOLE)))
    answered: list[str] = []
    with steered(tmp_path) as run:
        ask(run.run, {"kind": "array", "cells": [[0, 0, 0], [32, 16, 16]]})  # of which nothing more comes
        for turn in range(5):
            line = [sys.executable, "client.py", str(turn)]
            client = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
            assert client.stdout is not None
            answered.append(client.stdout.readline().strip())
            time.sleep(0.02 * turn)
            client.send_signal(signal.SIGKILL)
            answered += client.communicate()[0].split("\n")
        before = run.asked("status")["step"]
        run.wait_for(lambda: run.asked("status")["step"] > before)
        assert run.end() == 0

        made = run.events("steering")[:-1]
        arrived = [change["why"] for change in made]
        assert len(set(arrived)) == len(arrived)
        assert set(filter(None, answered)) <= set(arrived)
        for turn in range(5):
            of_client = [why for why in arrived if why.startswith(f"{turn} ")]
            assert of_client == [f"{turn} {n // 2} {('set', 'edit')[n % 2]}" for n in range(len(of_client))]
            assert len(of_client) - len([why for why in answered if why.startswith(f"{turn} ")]) in (0, 1)
        arrays = {change["value"]["array"]["name"]: change["why"] for change in made if change["verb"] == "edit"}
        assert {f"steering/{path.name}" for path in (run.run / "steering").iterdir()} == set(arrays)
        for name, why in arrays.items():
            assert (np.load(run.run / name) == 1.0 + 1e-6 * int(why.split()[1])).all()
        assert_same(run.run, replayed(run, 1))


def test_what_many_do_to_a_universe_at_once_is_done_again_on_other_ranks(tmp_path: Path) -> None:
    def steer(client: int) -> None:
        own = sidestream.steer(tmp_path / "run")
        random = np.random.default_rng(client)
        box = ((client, 0, 0), (client + 8, 16, 12))
        for turn in range(3):
            own.edit("gas_density", box, random.uniform(0.9, 1.1, (8, 16, 12)), "multiply", why=f"{client}")
            own.edit("pressure", None, 1.5, "multiply", where=f"gas_overdensity > {1.0 + 0.01 * client}")
            own.set("hydro.cfl", 0.2 + 0.1 * client + 0.01 * turn)
            if turn == 1:
                own.checkpoint()

    with steered(tmp_path, UNIVERSE) as run:
        own = sidestream.steer(run.run)
        own.pause()
        run.wait_for_state("paused")
        with ThreadPoolExecutor() as clients:
            list(clients.map(steer, range(3)))
        own.step(3)
        with ThreadPoolExecutor() as clients:
            list(clients.map(steer, range(3)))
        run.wait_for(lambda: len(run.events("steering") + run.events("steering_refused")) >= 2 + 2 * 3 * 10)
        assert run.end() == 0
        assert {change["verb"] for change in run.events("steering_refused")} <= {"checkpoint"}  # of what is there
        for ranks in (1, 3):
            assert_same(run.run, replayed(run, ranks))


def test_a_checkpoint_that_was_told_as_done_holds_all_of_before_though_the_run_is_killed(tmp_path: Path) -> None:
    with steered(tmp_path) as run:
        own = sidestream.steer(run.run)
        own.pause()
        at = run.wait_for_state("paused")["step"]
        for turn in range(6):
            own.edit("gas_density", WHOLE, 1.0 + turn)
            own.checkpoint()
        run.wait_for(lambda: len(run.asked("status")["done"]) == 13)
        checkpoint = run.run / f"chk{at:05}.hdf5_chk"
        assert (cells_of(checkpoint, "gas_density") == 6.0).all()
        assert len(run.events("checkpoint_committed")) == 6
        (events := run.folder / "copy").mkdir()
        (events / "events.jsonl").write_bytes((run.run / "events.jsonl").read_bytes())
        run.process.kill()
        run.process.wait()

        words = ("run/config.toml", "--out", "again", "--set", f"run.max_steps={at + 1}")
        done = program(run.folder, 1, *words, "--replay", "copy/events.jsonl")
        assert done.returncode == 0, done.stderr
        assert_same(run.run, run.folder / "again")


def test_an_edit_that_no_run_can_go_on_with_is_named_and_the_checkpoint_of_before_stays(tmp_path: Path) -> None:
    with steered(tmp_path, UNIVERSE) as run:
        own = sidestream.steer(run.run)
        own.pause()
        at = run.wait_for_state("paused")["step"]
        own.edit("pressure", ((0, 0, 0), (4, 4, 4)), 1e308)
        run.wait_for(lambda: run.events("steering_refused"))
        assert "too large" in run.events("steering_refused")[0]["message"]
        own.checkpoint()
        own.edit("gas_density", ((0, 0, 0), (4, 4, 4)), 1e40, "add", why="to see")
        own.resume()
        run.process.wait(timeout=END_S)
        complaint = run.said.read_text()
        assert run.process.returncode == 1
        assert f"`gas_density` was edited after step {at} by" in complaint
        assert "add 1e+40" in complaint and "to see" in complaint and "checkpoint of before" in complaint

        words = ("tube.toml", "--out", "run", "--restart", "--set", f"run.max_steps={at + 1}")
        done = program(run.folder, 1, *words)
        assert done.returncode == 0, done.stderr


def test_what_is_no_number_of_this_world_is_refused_in_a_sentence(tmp_path: Path) -> None:
    box, array = ((0, 0, 0), (4, 4, 4)), np.full((4, 4, 4), 1.1)
    masked = np.ma.masked_array(array, mask=array > 1.0)
    with steered(tmp_path) as run:
        own = sidestream.steer(run.run)
        attempts: list[tuple[Any, str]] = [
            (lambda: own.set("hydro.cfl", float("nan")), "`hydro.cfl` takes finite numbers"),
            (lambda: own.set("hydro.cfl", 1e999), "`hydro.cfl` takes finite numbers"),
            (lambda: own.set("hydro.cfl", 1j), "no value of `hydro.cfl`"),
            (lambda: own.edit("pressure", box, masked, "multiply"), "masked"),
            (lambda: own.edit("pressure", box, [((0, 0, 0), masked)], "multiply"), "masked"),
            (lambda: own.edit("pressure", box, 1.5, where=masked > 1.0), "masked"),
        ]
        for attempt, complaint in attempts:
            with pytest.raises(sidestream.Error, match=complaint):
                attempt()
        assert run.end() == 0
        assert [event["verb"] for event in run.events("steering")] == ["stop"]


def test_with_keys_the_log_tells_whose_key_it_was_whatever_he_says(tmp_path: Path) -> None:
    for name in ("keys", "colleague"):
        make_keys(tmp_path / name)
    public = (tmp_path / "colleague" / "stream.pub").read_text().strip()
    (tmp_path / "keys" / "allowed" / "colleague.pub").write_text(public)
    (tmp_path / "tube.toml").write_text(CONFIG + '[stream]\nlisten = "tcp://127.0.0.1:*"\nkeys = "keys"\n')
    run = tmp_path / "run"
    with running(tmp_path, 1, "tube.toml", "--quiet", "--out", "run") as job:
        until_it_listens(run, keys=tmp_path / "keys")
        request = {"kind": "steer", "verb": "set", "name": "hydro.cfl", "value": 0.3, "who": "me", "key": "another"}
        assert ask(run, request, keys=tmp_path / "colleague")["ok"]
        sidestream.steer(run, keys=tmp_path / "keys").stop()
        assert job.wait(END_S) == 0
    first, second = told(run, "steering")
    assert first["key"] == public and first["who"] == "me"
    assert second["key"] == (tmp_path / "keys" / "stream.pub").read_text().strip()
