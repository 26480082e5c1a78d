"""`sidestream doctor-io` names bad I/O with the option that mends it, and nothing where files are written well."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from fixtures import CommandLine
from sidestream.files.opening import open_run
from sidestream.launch.launcher import find_program
from sidestream.runs import bad_io

GOOD = {"files": 2, "writes": 5, "bytes_written": 4e7, "write_sizes": {"<100": 1, "4M-10M": 4}, "verify_s": 0.0}
SMALL = {"files": 4, "writes": 4000, "bytes_written": 2e7, "write_sizes": {"100K-1M": 10, "1K-10K": 3990}}
PIECES = {"files": 4, "writes": 400, "bytes_written": 2e7, "write_sizes": {"10K-100K": 390, "1K-10K": 10}}
MANY = {"files": 4000, "writes": 4000, "bytes_written": 4e9, "write_sizes": {"1M-4M": 4000}}
WITHIN = GOOD | {"unaligned": 4}
SLOW = GOOD | {"verify_s": 0.4}


def write(run: Path, table: str, event: dict, ranks: int = 4) -> None:
    run.mkdir()
    (run / "config.toml").write_text(table)
    events = [{"event": "run_start", "t": 0, "ranks": ranks, "tasks": []}, {"t": 1, "step": 1} | event]
    (run / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def output(io: dict, form: str = "sidestream", path: str = "run/chk00001.hdf5_chk") -> dict:
    return {"event": "checkpoint", "path": path, "format": form, "bytes": 4e7, "write_s": 1.0, "io": io}


FALLEN = {
    "event": "checkpoint_failed",
    "message": "HDF5 wrote an array independently that it was asked to write collectively: a conversion",
}
CASES = {
    "small": ("automatic", output(SMALL), 'method = "aggregated" in [output.checkpoint]'),
    "independent": ("mpiio-independent", output(GOOD), 'method = "engine" in [output.checkpoint]'),
    "many files": ("automatic", output(MANY, "nyx"), "files = 1 in [output.checkpoint]"),
    "unaligned": ("automatic", output(WITHIN, "flash-netcdf"), 'format = "sidestream" in [output.checkpoint]'),
    "fallback": ("hdf5-collective", FALLEN, 'method = "engine" in [output.checkpoint]'),
    "read back": ("hdf5-collective", output(SLOW), 'method = "engine" in [output.checkpoint]'),
}


@pytest.mark.parametrize("problem", CASES)
def test_each_problem_is_named_with_its_option(problem: str, tmp_path: Path, sidestream: CommandLine) -> None:
    method, event, option = CASES[problem]
    write(tmp_path / "run", f'[output.checkpoint]\nevery = 1\nmethod = "{method}"\n', event)

    found = json.loads(sidestream("doctor-io", "run", "--json").stdout)
    said = sidestream("doctor-io", "run")

    assert [(finding["problem"], finding["option"]) for finding in found] == [(problem, option)]
    assert said.returncode == 0
    assert said.stdout.startswith(problem)
    assert option in said.stdout
    assert "1 problem in the 1 files" in said.stderr


@pytest.mark.parametrize(
    ("unit", "io", "below"),
    [
        (4096, PIECES, None),
        (4 << 20, PIECES, "below 100 KiB"),
        (4096, SMALL, "below 10 KiB"),
        (4096, SMALL | {"bytes_written": 4e6}, None),
        (4 << 20, SMALL | {"bytes_written": 4e6}, "below 100 KiB"),
    ],
)
def test_what_is_small_is_a_matter_of_the_file_system(
    unit: int, io: dict, below: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "run", "[output.checkpoint]\nevery = 1\n", output(io))
    monkeypatch.setattr(bad_io, "unit_bytes", lambda folder: unit)

    found = bad_io.findings(open_run(tmp_path / "run"))

    assert [finding.problem for finding in found] == ["small"] * (below is not None)
    assert all(below in finding.seen for finding in found if below)


@pytest.mark.parametrize("method", ["automatic", "engine", "aggregated"])
def test_files_that_are_written_well_have_no_problem(method: str, tmp_path: Path, sidestream: CommandLine) -> None:
    write(tmp_path / "run", f'[output.checkpoint]\nmethod = "{method}"\n', output(GOOD))

    assert json.loads(sidestream("doctor-io", "run", "--json").stdout) == []


def test_pieces_that_a_library_puts_together_are_no_small_writes(tmp_path: Path, sidestream: CommandLine) -> None:
    event = output(SMALL | {"unaligned": 300, "verify_s": 0.0}, "flash-netcdf")
    for method, problems in {"mpiio-collective": [], "mpiio-independent": ["independent", "small"]}.items():
        write(tmp_path / method, f'[output.checkpoint]\nmethod = "{method}"\n', event)

        found = json.loads(sidestream("doctor-io", method, "--json").stdout)

        assert [finding["problem"] for finding in found] == problems


def test_what_a_restart_has_mended_is_no_problem(tmp_path: Path, sidestream: CommandLine) -> None:
    run = tmp_path / "run"
    write(run, '[output.checkpoint]\nmethod = "aggregated"\n', output(SMALL))
    assert json.loads(sidestream("doctor-io", "run", "--json").stdout)
    began = {"event": "run_start", "t": 0, "ranks": 4, "tasks": []}
    mended = {"t": 1, "step": 2} | output(GOOD)
    earlier = (run / "events.jsonl").read_text()

    (run / "events.jsonl").write_text(earlier + "".join(json.dumps(event) + "\n" for event in (began, mended)))
    assert json.loads(sidestream("doctor-io", "run", "--json").stdout) == []

    (run / "events.jsonl").write_text(earlier + json.dumps(began) + "\n")
    assert json.loads(sidestream("doctor-io", "run", "--json").stdout), "a job that has written nothing says nothing"


def test_a_few_tables_within_a_block_are_no_problem(tmp_path: Path, sidestream: CommandLine) -> None:
    write(tmp_path / "run", "[output.checkpoint]\nevery = 1\n", output(GOOD | {"unaligned": 2}, "nyx"))

    assert json.loads(sidestream("doctor-io", "run", "--json").stdout) == []


def test_arrays_that_begin_within_a_block_are_found_in_the_file(tmp_path: Path, sidestream: CommandLine) -> None:
    write(tmp_path / "run", "[task.far]\nwrite = 'plotfile'\n", output(GOOD, "other", "run/far/file.h5"))
    (tmp_path / "run/far").mkdir()
    with h5py.File(tmp_path / "run/far/file.h5", "w") as file:
        file["density"] = np.zeros(1 << 18)

    found = json.loads(sidestream("doctor-io", "run", "--json").stdout)

    assert [(finding["problem"], finding["where"]) for finding in found] == [("unaligned", "task.far")]
    assert "`density`" in found[0]["seen"]


def test_it_is_quiet_about_a_run_of_ours_and_names_a_bad_choice(tmp_path: Path, real_sidestream: CommandLine) -> None:
    find_program("sidestream-run")
    text = """simulation = "sod"
run.max_steps = 1
mesh = { cells = [64, 64, 64], block = 32 }
output.checkpoint = { every = 1, method = "METHOD" }
"""
    found = {}
    for method in ("automatic", "mpiio-independent"):
        (tmp_path / f"{method}.toml").write_text(text.replace("METHOD", method))
        done = real_sidestream("run", f"{method}.toml", "-n", 2, "--out", method)
        assert done.returncode == 0, done.stderr
        found[method] = json.loads(real_sidestream("doctor-io", method, "--json").stdout)

    assert found["automatic"] == []
    assert "independent" in {finding["problem"] for finding in found["mpiio-independent"]}
