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


@pytest.mark.parametrize(("power", "told"), [(0.1, 0), (1e12, 1)])
def test_a_constant_power_that_is_not_reached_is_told_once(power: float, told: int, tmp_path: Path) -> None:
    write(tmp_path, f'[initial]\nflow = "random"\npeak = 2.0\n[forcing]\nkind = "power"\npower = {power}\n')

    done = program(tmp_path, 1, "flow.toml", "--quiet", "--out", "out")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("not the 1e+12 of `forcing.power`") == told


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


@pytest.mark.parametrize(
    ("key", "value"), [("species", '["dust"]'), ("particle_numbers", '["xvel"]'), ("particle_share", "0.5")]
)
def test_particles_of_a_flow_that_has_none_are_refused(key: str, value: str, tmp_path: Path) -> None:
    write(tmp_path, f'[output]\nplotfile = {{ format = "raw", every = 1, grid = "space", {key} = {value} }}\n')

    done = check(tmp_path)

    assert done.returncode == 2
    assert f"key `output.plotfile.{key}`" in done.stderr
    assert "the grid `space` has no particles" in done.stderr


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("[scalar.density]", "files call `gas_density` so"),
        ('[scalar.""]', "a scalar cannot be called ``"),
        ('[tracers.""]', "tracers cannot be called ``"),
    ],
)
def test_names_that_would_mislead_are_refused(table: str, told: str, tmp_path: Path) -> None:
    write(tmp_path, f"{table}\n")

    done = check(tmp_path)

    assert done.returncode == 2
    assert "flow.toml:" in done.stderr
    assert told in done.stderr


def test_a_flow_without_viscosity_is_not_resolved(tmp_path: Path) -> None:
    write(tmp_path, viscosity=0.0)

    done = program(tmp_path, 1, "flow.toml", "--quiet", "--out", "out", limit_s=60.0)

    assert done.returncode == 0, done.stderr
    assert "times the Kolmogorov length, is 0, below 1" in done.stderr
    assert sidestream.open(tmp_path / "out").events.of("run_end")[-1]["least_kmax_eta"] == 0.0


def test_more_tracers_than_memory_holds_are_refused_with_what_they_take(tmp_path: Path) -> None:
    write(tmp_path, "[tracers.dust]\ncount = 100000000000\n")

    done = program(tmp_path, 2, "flow.toml", "--out", "out", limit_s=60.0)

    assert done.returncode == 2
    assert "the simulation takes about" in done.stderr and "GiB are free" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_damaged_start_leaves_the_earlier_run_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, '[output]\ncheckpoint = { format = "raw", at_end = true }\n')
    for name in ("earlier", "start"):
        assert program(tmp_path, 1, "flow.toml", "--out", name, "--quiet").returncode == 0
    (checkpoint,) = (tmp_path / "start").glob("chk*")
    damaged = bytearray(checkpoint.read_bytes())
    damaged[len(damaged) // 2] ^= 1  # among the waves
    checkpoint.write_bytes(damaged)
    before = contents(tmp_path / "earlier")

    words = ("--overwrite", "--from", str(checkpoint), "--set", "turbulence.end=0.2", "--out", "earlier")
    done = program(tmp_path, 2, "flow.toml", "--quiet", *words)

    assert done.returncode != 0
    assert checkpoint.name in done.stderr and "checksum" in done.stderr
    assert contents(tmp_path / "earlier") == before


def test_a_good_start_takes_the_place_of_the_earlier_run(tmp_path: Path) -> None:
    write(tmp_path, '[output]\ncheckpoint = { format = "raw", at_end = true }\n')
    for name in ("earlier", "start"):
        assert program(tmp_path, 1, "flow.toml", "--out", name, "--quiet").returncode == 0
    (checkpoint,) = (tmp_path / "start").glob("chk*")

    words = ("--overwrite", "--from", str(checkpoint), "--set", "turbulence.end=0.2", "--out", "earlier")
    done = program(tmp_path, 2, "flow.toml", "--quiet", *words)

    assert done.returncode == 0, done.stderr
    run = sidestream.open(tmp_path / "earlier")
    assert run.events.of("restart")[0]["path"] == str(checkpoint)
    assert [path.name for path in run.folder.glob("chk*")] == ["chk00004.raw"]


def contents(folder: Path) -> dict[str, bytes]:
    """Of all files that a run made, by name."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_does_not_overwrite_what_it_begins_with(tmp_path: Path) -> None:
    write(tmp_path, '[output]\ncheckpoint = { format = "raw", at_end = true }\n')
    assert program(tmp_path, 1, "flow.toml", "--out", "run", "--quiet", limit_s=60.0).returncode == 0
    (checkpoint,) = (tmp_path / "run").glob("chk*")
    before = checkpoint.read_bytes()

    words = ("flow.toml", "--out", "run", "--overwrite", "--from", f"run/{checkpoint.name}")
    for done in (command(tmp_path, "run", *words, "-n", 1), program(tmp_path, 1, *words, limit_s=60.0)):
        assert done.returncode == 2
        assert "--overwrite would remove the file of --from" in done.stderr
    assert checkpoint.read_bytes() == before
