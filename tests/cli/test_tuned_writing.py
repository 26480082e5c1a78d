"""`method = "tuned"`, as a run has it: tried once, known from then on, and the same file as by any method."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import pytest

from calls import command, program
from sidestream.runs.run import Run

CONFIG = """simulation = "sedov"
run.max_steps = 0
mesh = {{ cells = [128, 128, 128], block = 32 }}
[output]
checkpoint = {{ format = "sidestream", at_end = true, method = "{}" }}
"""
OF_THE_RUN = {"sidestream", "commit record"}  # which hold its configuration, and the checksum of all


def written(folder: Path, out: str, method: str) -> dict[str, object]:
    """What a run tells of its checkpoint, the only file that it leaves."""
    (folder / "box.toml").write_text(CONFIG.format(method))
    done = program(folder, 2, "box.toml", "--quiet", "--out", out, SIDESTREAM_WISDOM=str(folder / "wisdom.json"))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (folder / out).iterdir() if path.name != ".lock"} == {
        *("config.toml", "events.jsonl"),
        "chk00000.hdf5_chk",
    }
    (event,) = Run(folder / out).events.of("checkpoint")
    return event


def content(folder: Path) -> dict[str, bytes]:
    """The bytes of each array in the checkpoint."""
    with h5py.File(folder / "chk00000.hdf5_chk") as file:
        return {name: file[name][()].tobytes() for name in file if name not in OF_THE_RUN}


@pytest.mark.slow
def test_the_way_is_tried_once_and_then_known_and_the_file_is_that_of_any_method(tmp_path: Path) -> None:
    first, second, plain = (
        written(tmp_path, out, method) for out, method in (("first", "tuned"), ("second", "tuned"), ("plain", "engine"))
    )

    assert first["bytes"] == second["bytes"] == plain["bytes"] > 64 << 20
    trials = re.fullmatch(r"the fastest in (\d+) trials", first["io"]["chosen_because"])
    assert trials is not None and 2 <= int(trials[1]) <= 8
    assert second["io"]["chosen_because"] == "known from earlier trials"
    assert second["io"]["chosen"] == first["io"]["chosen"]
    assert "chosen" not in plain["io"]
    expected = content(tmp_path / "plain")
    assert sum(len(data) for data in expected.values()) > 64 << 20
    assert content(tmp_path / "first") == expected
    assert (tmp_path / "first/chk00000.hdf5_chk").read_bytes() == (tmp_path / "second/chk00000.hdf5_chk").read_bytes()
    assert command(tmp_path, "verify", "first").returncode == 0
