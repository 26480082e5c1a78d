"""What a user may name wrongly in a turbulent run, through the programs: told at once, with exit code 2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import sidestream
from calls import Done, command, program

FLOW = """simulation = "turbulence"
[mesh]
cells = [16, 16, 16]
block = 8
[turbulence]
viscosity = {viscosity}
dt = 0.05
end = {end}
{more}
"""


def write(folder: Path, more: str = "", end: float = 0.1, viscosity: float = 1.0) -> Path:
    path = folder / "flow.toml"
    path.write_text(FLOW.format(more=more, end=end, viscosity=viscosity), encoding="utf-8")
    return path


def check(folder: Path) -> Done:
    return program(folder, 1, "flow.toml", "--check", limit_s=60.0)


@pytest.mark.parametrize("kind", ["a folder", "a named pipe", "a device"])
def test_a_table_that_is_no_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    table = tmp_path / "table"
    match kind:
        case "a folder":
            table.mkdir()
        case "a named pipe":
            os.mkfifo(table)
        case _:
            table.symlink_to("/dev/zero")
    write(tmp_path, '[initial]\nflow = "random"\ntable = "table"\n')

    for done in (
        command(tmp_path, "check", "flow.toml"),
        program(tmp_path, 2, "flow.toml", "--out", "out", limit_s=60.0),
    ):
        assert done.returncode == 2
        assert f"the table of the spectrum is {kind} and no regular file" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["a folder", "a named pipe", "a device"])
def test_a_configuration_that_is_no_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "flow.toml"
    match kind:
        case "a folder":
            path.mkdir()
        case "a named pipe":
            os.mkfifo(path)
        case _:
            path.symlink_to("/dev/zero")

    done = check(tmp_path)

    assert done.returncode == 2
    assert f"the configuration is {kind} and no regular file" in done.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('exchange = "telepathy"', ["`exchange`", "automatic", "tuned", "p2p", "alltoallw"]),
        ("exchange = 3", ["exchange`", "must be a string"]),
        ("wisdom = 7", ["wisdom`", "must be a string"]),
        ('wisdon = "none"', ["`wisdom`"]),
    ],
)
def test_wrong_ways_of_exchange_are_refused_with_those_there_are(line: str, words: list[str], tmp_path: Path) -> None:
    write(tmp_path, f"[run]\n{line}\n")

    for done in (check(tmp_path), program(tmp_path, 2, "flow.toml", "--out", "out", limit_s=60.0)):
        assert done.returncode == 2
        assert "flow.toml:" in done.stderr
        for word in words:
            assert word in done.stderr


def test_a_run_with_a_folder_for_wisdom_warns_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "wisdom").mkdir()
    write(tmp_path, '[run]\nexchange = "tuned"\nwisdom = "wisdom"\n')

    done = program(tmp_path, 2, "flow.toml", "--quiet", "--out", "out")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: the wisdom file is a folder") == 1
    assert sidestream.open(tmp_path / "out").status == "finished"


def test_a_flow_that_is_not_resolved_is_told_on_the_console_and_in_the_report(tmp_path: Path) -> None:
    write(tmp_path, viscosity=1e-3)

    done = command(tmp_path, "run", "flow.toml", "-n", 2, "--out", "out")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the flow is not resolved: kmax_eta") == 1
    assert (tmp_path / "out" / "report.html").read_text().count("the flow is not resolved: kmax_eta") == 1


def test_a_checkpoint_of_after_the_end_is_refused_with_both_times(tmp_path: Path) -> None:
    write(tmp_path, "[output]\ncheckpoint = { at_end = true }\n", end=0.2)
    assert program(tmp_path, 2, "flow.toml", "--quiet", "--out", "long").returncode == 0
    (newest,) = (tmp_path / "long").glob("chk*")
    write(tmp_path, end=0.1)

    for words in (("--from", str(newest), "--out", "short"), ("--restart", "--out", "long")):
        for more in ([], ["--check"]):
            done = program(tmp_path, 1, "flow.toml", *words, *more)
            assert done.returncode == 2
            assert "the state is of the time 0.2, after the end of the run at 0.1" in done.stderr
    assert not (tmp_path / "short").exists()


def test_a_table_lies_beside_its_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "flow"
    folder.mkdir()
    write(folder, '[initial]\nflow = "random"\ntable = "table"\n')
    (folder / "table").write_text("1 0.5\n2 0.25\n", encoding="utf-8")

    done = program(tmp_path, 1, "flow/flow.toml", "--check", limit_s=60.0)

    assert done.returncode == 0, done.stderr
