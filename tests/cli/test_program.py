"""Small runs of the real `sidestream-run`, as a user would make them, and what can be done with their folders."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import yt

import sidestream
from calls import LIMIT_S, command, program
from configs import universe
from sidestream.launch.launcher import find_program, mpi_environment
from sidestream.runs.run import Run
from tiers import slow

CONFIG = (
    universe(cells=16, block=8, box="4 Mpc", z_start=50, z_end=20, seed=3)
    + """[coupling]
sidecars = 1

[task.halos]
analysis = "halos"
transport = "in-transit"
every = 10
t_boundary = "1.1 mean"
t_halo = "1.3 mean"

[task.spectra]
analysis = "power_spectrum"
transport = "in-transit"
every = 20

[task.phase]
analysis = "phase"
every = 20

[output]
plotfile = { format = "nyx", at_redshift = [20] }
checkpoint = { format = "sidestream", every = 10, keep = 2 }
"""
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a configuration and a finished run `o` of it, in transit on two ranks."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "box.toml").write_text(CONFIG)
    done = command(folder, "run", "box.toml", "-n", 2, "--out", "o")
    assert done.returncode == 0, done.stderr
    yield folder


SCRIPT = """
import subprocess, sys
import sidestream
print(sidestream.fft.Transform((8, 8, 8)).forward([[[1.0] * 8] * 8] * 8).sum())  # MPI runs in this process
sys.exit(subprocess.run([sys.executable, "-m", "sidestream", *sys.argv[1:]]).returncode)
"""


@pytest.mark.parametrize("words", [("bench", "fft", "--cells", "8"), *slow((("run", "sod.toml", "--out", "sod"),))])
def test_a_script_in_which_mpi_runs_starts_commands_as_a_shell_does(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "sod.toml").write_text('simulation = "sod"\n[mesh]\ncells = [32, 1, 1]\nblock = 8\n')
    line = [sys.executable, "-c", SCRIPT, *words, "-n", "2"]

    done = subprocess.run(
        line,
        cwd=tmp_path,
        env=mpi_environment(os.environ, 2) | {"SIDESTREAM_WISDOM": "none"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def values(run: sidestream.Run, task: str) -> dict[str, bytes]:
    return {str(name): variable.values.tobytes() for name, variable in run[task].variables.items()}


def test_a_run_ends_at_its_last_redshift_with_results_of_every_task(place: Path) -> None:
    run = sidestream.open(place / "o")

    assert run.status == "finished"
    assert set(run.tasks) == {"halos", "spectra", "phase"}
    assert run.events.last("step")["redshift"] == pytest.approx(20.0)
    assert run["halos"].sizes["halo"] > 0
    assert {"id", "x", "y", "z", "mass", "cells", "peak"} <= set(run["halos"].data_vars)
    assert (place / "o" / "report.html").stat().st_size > 100_000


def test_the_results_do_not_depend_on_the_transport_or_the_ranks(place: Path) -> None:
    in_situ = ("--set", "task.halos.transport=in-situ", "--set", "task.spectra.transport=in-situ")
    done = program(place, 3, "box.toml", "--quiet", "--out", "in-situ", *in_situ, "--set", "coupling.sidecars=0")

    assert done.returncode == 0, done.stderr
    first, second = sidestream.open(place / "o"), sidestream.open(place / "in-situ")
    for task in first.tasks:
        assert values(first, task) == values(second, task), task


def test_a_restart_on_other_ranks_ends_with_the_same_results(place: Path) -> None:
    cut = program(place, 2, "box.toml", "--quiet", "--out", "cut", "--set", "run.max_steps=15")
    went_on = program(place, 3, "box.toml", "--quiet", "--out", "cut", "--restart")

    assert (cut.returncode, went_on.returncode) == (0, 0), cut.stderr + went_on.stderr
    first, second = sidestream.open(place / "o"), sidestream.open(place / "cut")
    for task in first.tasks:
        last = first.steps(task)[-1]
        assert second.steps(task)[-1] == last
        assert first.result(task, last).equals(second.result(task, last)), task


def test_every_file_of_a_run_is_good_and_a_damaged_one_is_named(place: Path) -> None:
    good = command(place, "verify", "o", "-n", 2)
    shutil.copytree(place / "o", place / "damaged")
    newest = sorted((place / "damaged").glob("chk*"))[-1]
    flip_a_bit(newest)
    bad = command(place, "verify", "damaged", "-n", 2)

    assert good.returncode == 0, good.stderr
    assert [line.split()[0] for line in good.stdout.splitlines()] == ["good"] * 3
    assert bad.returncode == 1
    lines = bad.stdout.splitlines()
    assert [line.split()[0] for line in lines].count("damaged") == 1
    assert f"damaged  {newest.name}" in bad.stdout
    assert bad.stderr.startswith("error: 1 of 3 files cannot be trusted")
    assert newest.name in bad.stderr


def flip_a_bit(path: Path) -> None:
    """In the middle of a file, or of the largest one in a folder."""
    files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    largest = max(files, key=lambda p: p.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 4
    largest.write_bytes(data)


@pytest.mark.parametrize("form", ["flash", *slow("nyx")])
def test_a_converted_checkpoint_goes_on_to_the_same_bits(place: Path, form: str) -> None:
    first = sorted((place / "o").glob("chk*"))[0]
    converted = command(place, "convert", first, f"state_{form}", "--format", form, "-n", 2)
    done = program(place, 3, "box.toml", "--quiet", "--out", f"from-{form}", "--from", f"state_{form}")

    assert (converted.returncode, done.returncode) == (0, 0), converted.stderr + done.stderr
    whole, part = sidestream.open(place / "o"), sidestream.open(place / f"from-{form}")
    for task in whole.tasks:
        last = whole.steps(task)[-1]
        assert whole.result(task, last).equals(part.result(task, last)), task


def test_the_report_has_a_bill_of_files(place: Path) -> None:
    page = (place / "o" / "report.html").read_text()

    assert "<h2>Files</h2>" in page
    assert "<td class=text>checkpoints</td>" in page
    assert 'alt="Sizes of the writes"' in page


def test_every_reader_opens_the_results(place: Path) -> None:
    run = sidestream.open(place / "o")
    path = run.result_path("spectra", run.steps("spectra")[-1])

    with netCDF4.Dataset(path) as file:
        np.testing.assert_array_equal(file["k"][:], run.result("spectra", -1)["k"])
        assert file.redshift == run.result("spectra", -1).attrs["redshift"]


def test_yt_takes_the_plot_file_for_one_of_nyx(place: Path) -> None:
    path = next((place / "o").glob("plt*"))

    dataset = yt.load(path)

    assert type(dataset).__name__ == "NyxDataset"
    assert dataset.current_redshift == pytest.approx(20.0)
    assert list(dataset.domain_dimensions) == [16, 16, 16]
    assert dataset.periodicity == (True, True, True)
    assert dataset.all_data()["all", "particle_position_x"].size == 16**3
    ours = sidestream.open(path)
    grid = dataset.covering_grid(0, dataset.domain_left_edge, dataset.domain_dimensions)
    np.testing.assert_allclose(np.asarray(grid["boxlib", "density"]).transpose(), ours["density"], rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "mesh.cels=[8,8,8]"], "cells"),
        (["--set", "cosmology.box=8 parsnips"], "box"),
        (["--set", "mesh.block=15"], "block"),
        (["--set", "task.halos.analysis=haloes"], "halos"),
        (["-n", "1"], "sidecar"),
    ],
)
def test_a_wrong_configuration_is_refused_before_anything_starts(place: Path, words: list[str], said: str) -> None:
    done = command(place, "run", "box.toml", "--out", "never", *(["-n", "2"] if "-n" not in words else []), *words)

    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert done.stderr.count("error: ") == 1
    assert not (place / "never").exists()


@pytest.mark.parametrize("ranks", [2, *slow(1, 3)])
def test_a_finished_run_is_not_overwritten_unasked(place: Path, ranks: int) -> None:
    quiet = ("--set", "coupling.sidecars=0", "--set", "task.halos.transport=in-situ")
    before = (place / "o" / "events.jsonl").read_bytes()

    done = command(
        place, "run", "box.toml", "-n", ranks, "--out", "o", *quiet, "--set", "task.spectra.transport=in-situ"
    )

    assert done.returncode == 1
    assert done.stderr.count("error: ") == 1
    assert "----" not in done.stderr
    assert "--overwrite" in done.stderr
    assert (place / "o" / "events.jsonl").read_bytes() == before


def test_the_numbers_of_an_earlier_report_go_with_its_run(place: Path) -> None:
    (place / "again").mkdir()
    (place / "again" / "events.jsonl").write_text('{"event": "run_start", "t": 0.0}\n')
    (place / "again" / "report.data").mkdir()
    (place / "again" / "report.data" / "old.csv").touch()

    done = command(place, "run", "box.toml", "-n", 2, "--out", "again", "--overwrite", "--set", "run.max_steps=1")

    assert done.returncode == 0, done.stderr
    assert not (place / "again" / "report.data" / "old.csv").exists()
    assert (place / "again" / "report.data" / "timeline.csv").is_file()


def test_a_restart_without_a_checkpoint_is_one_clear_error(place: Path) -> None:
    done = command(place, "run", "box.toml", "-n", 2, "--out", "empty", "--restart")

    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert "checkpoint" in done.stderr


def test_check_tells_ranks_and_memory_and_starts_nothing(place: Path) -> None:
    done = command(place, "check", "box.toml", "-n", 4, "--out", "checked")

    assert done.returncode == 0
    assert "4" in done.stdout
    assert "MiB" in done.stdout
    assert not (place / "checked").exists()


@pytest.mark.parametrize(
    ("lines", "ranks", "idle", "blocks"),
    [
        ("cells = [32, 32, 32]\nblock = 32\n", 512, 511, 1),
        ("cells = [32, 32, 1]\nblock = 8\n[amr]\nmin_level = 1\nmax_level = 1\n", 65, 1, 64),
        ("cells = [32, 32, 1]\nblock = 8\n[amr]\nmin_level = 1\nmax_level = 1\n", 64, 0, 64),
        (
            "cells = [32, 32, 1]\nblock = 32\n[amr]\nmax_level = 1\n"
            '[refine.all]\ncriterion = "loehner"\nfield = "pressure"\n',
            4,
            0,
            1,
        ),
    ],
)
def test_check_warns_of_ranks_without_cells(lines: str, ranks: int, idle: int, blocks: int, tmp_path: Path) -> None:
    (tmp_path / "blast.toml").write_text(f'simulation = "sedov"\n[mesh]\n{lines}')

    done = command(tmp_path, "check", "blast.toml", "-n", ranks)

    assert done.returncode == 0, done.stderr
    there, most = ("is 1 block", "1 rank") if blocks == 1 else (f"are {blocks} blocks", f"{blocks} ranks")
    said = f"warning: {idle} of {ranks} ranks that compute have no cells, since there {there} of"
    smaller = "" if "block = 8" in lines else "smaller blocks (`mesh.block`), or "
    assert (said in done.stdout) == ("have no cells" in done.stdout) == (idle > 0)
    assert (f"hint: {smaller}at most {most} (`-n`)" in done.stdout) == (idle > 0)


@pytest.mark.parametrize(
    ("cells", "what"), [("-4", "`cells` takes 3 numbers (x, y, z)"), ("[8, 8]", "`cells` holds 2 numbers, but takes 3")]
)
def test_cells_that_are_not_three_are_told_how_they_are_written(cells: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "blast.toml").write_text(f'simulation = "sedov"\n[mesh]\ncells = {cells}\n')

    done = command(tmp_path, "check", "blast.toml")

    assert done.returncode == 2
    assert what in done.stderr
    assert "hint: write them in square brackets: cells = [64, 64, 64]" in done.stderr


def test_a_plot_file_that_a_run_has_not_is_told_with_those_it_has(place: Path) -> None:
    for words in (("info", "o/plt99977"), ("analyze", "o/plt99977", "--task", "slice", "--out", "none")):
        done = command(place, *words)

        assert done.returncode == 1
        assert re.search(r"hint: this run has: chk\d+\S*, .*plt", done.stderr), done.stderr


@pytest.mark.parametrize("simulation", ["sedov", "cosmology"])
def test_check_tells_the_memory_that_a_run_takes(simulation: str, tmp_path: Path) -> None:
    """Beside what a program takes with hardly a cell."""
    text = f'simulation = "{simulation}"\n[mesh]\nblock = 16\n[run]\nmax_steps = 1\n'
    if simulation == "cosmology":
        text += '[cosmology]\nbox = "10 Mpc"\nz_start = 50\nz_end = 20\npower = "eisenstein-hu"\n'
    (tmp_path / "box.toml").write_text(text)
    taken, told = [], []
    for cells in (16, 64):
        words = ("box.toml", "--set", f"mesh.cells=[{cells},{cells},{cells}]")
        done = program(tmp_path, 1, *words, "--quiet", "--out", f"of{cells}")
        assert done.returncode == 0, done.stderr
        taken.append(sidestream.open(tmp_path / f"of{cells}").events.last("run_end")["peak_memory_mb"])
        checked = program(tmp_path, 1, *words, "--check", "--json")
        told.append(json.loads(checked.stdout)["memory_bytes"] / 1e6)

    assert told[1] > 40
    assert 0.6 < (taken[1] - taken[0]) / (told[1] - told[0]) < 1.4


def test_check_refuses_a_mesh_that_has_more_blocks_than_it_may_have(tmp_path: Path) -> None:
    (tmp_path / "blast.toml").write_text(
        'simulation = "sedov"\n[mesh]\ncells = [64, 64, 64]\nblock = 16\n[amr]\nmax_level = 2\nmax_blocks = 60\n'
    )

    done = command(tmp_path, "check", "blast.toml")

    assert done.returncode == 2 and "64 blocks before any is refined, of 60" in done.stderr, done.stderr


def test_check_tells_what_files_take(place: Path) -> None:
    done = command(place, "check", "box.toml", "-n", 2, "--json", "--out", "checked")

    told = {file["kind"]: file["bytes"] for file in json.loads(done.stdout)["files"]}
    for kind, pattern in (("plot file", "plt*"), ("checkpoint", "chk*")):
        newest = max((place / "o").glob(pattern))
        size = newest.stat().st_size if newest.is_file() else sum(path.stat().st_size for path in newest.rglob("*"))
        assert told[kind] == pytest.approx(size, rel=0.5), kind


def test_all_that_is_told_of_writing_a_file_is_documented(place: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/run_folder.md").read_text()
    (table,) = re.findall(r"^\| key of `io` \|.*?\n\n", page, re.MULTILINE | re.DOTALL)
    documented = {key for row in table.splitlines()[2:] if row for key in re.findall(r"`(\w+)`", row.split("|")[1])}

    told = [event["io"] for event in Run(place / "o").events.of("plotfile", "checkpoint")]

    assert told and all(told)
    assert {key for io in told for key in io} | {"chosen", "chosen_because"} == documented


SIZE = (
    r"(?P<memory>\S+) GiB of memory, which (?P<ranks>\S+) ranks of 4 GiB have; each plot file (?P<plot>\S+) GiB in \d+ "
    r"data files? of format nyx; each checkpoint (?P<checkpoint>\S+) GiB in 1 data file of format sidestream"
)


@pytest.mark.parametrize("cells", [8192, 1048576])
def test_what_enormous_runs_would_take_is_told_within_a_second(cells: int, place: Path) -> None:
    keys = [f"mesh.cells=[{cells},{cells},{cells}]", "mesh.block=32", "coupling.queue=999999GiB"]
    keys.append("cosmology.power=eisenstein-hu")
    settings = [word for key in keys for word in ("--set", key)]
    program = [str(find_program()), "box.toml", "--check", "--ranks", "2", *settings]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime

    done = subprocess.run(program, cwd=place, capture_output=True, text=True)

    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 1.0
    if cells == 8192:
        assert done.returncode == 0, done.stderr
        assert "machines: " in done.stdout and "MiB for the simulation" in done.stdout
        size = done.stdout
    else:
        assert done.returncode == 2
        assert "8.59e+09 GiB for each number" in done.stderr
        size = done.stderr
    found = re.search(SIZE, size)
    assert found is not None, size
    memory, ranks, plot_file, checkpoint = (float(found[name]) for name in ("memory", "ranks", "plot", "checkpoint"))
    assert ranks == pytest.approx(memory / 4, rel=0.01)
    for bytes_each, told in ((8, checkpoint), (4, plot_file)):
        assert 2 * bytes_each * cells**3 / 2**30 < told < 60 * bytes_each * cells**3 / 2**30


@pytest.mark.parametrize("example", ["sedov_2d", "forced_turbulence", "cylinder", "sphere"])
def test_refused_runs_of_every_kind_are_told_with_their_size(example: str) -> None:
    depth = 1 if example in ("sedov_2d", "cylinder") else 49152
    words = ["--check", "--set", f"mesh.cells=[393216,393216,{depth}]"]

    done = subprocess.run(
        [str(find_program()), f"examples/{example}.toml", *words],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert "note: such a run takes about " in done.stderr, done.stderr


@pytest.mark.parametrize("cells", ["[99999999999999999999,16,1]", "[16,-9223372036854775809,1]"])
def test_whole_numbers_beyond_64_bits_are_told_as_such(cells: str, place: Path) -> None:
    words = [str(find_program()), "box.toml", "--check", "--set", f"mesh.cells={cells}"]

    done = subprocess.run(words, cwd=place, capture_output=True, text=True)

    assert done.returncode == 2
    assert "too many digits" in done.stderr
    assert "key `mesh.cells`" in done.stderr and "18 digits are the most" in done.stderr


def test_a_refusal_of_what_fits_here_tells_no_size(place: Path) -> None:
    words = [str(find_program()), "box.toml", "--check", "--ranks", "2", "--set", "mesh.colour=3"]

    done = subprocess.run(words, cwd=place, capture_output=True, text=True)

    assert done.returncode == 2
    assert "such a run takes" not in done.stderr


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (["cosmology.box=1e200 Mpc"], "the box is 1e+200 Mpc long, not between 1e-06 and 1e+06 Mpc"),
        (["cosmology.box=1e102 Mpc"], "the box is 1e+102 Mpc long"),
        (["cosmology.box=1e-9 Mpc"], "the box is 1e-09 Mpc long"),
        (
            ["cosmology.omega_b=1e-300", "cosmology.power=eisenstein-hu"],
            "the linear power spectrum of these parameters is not finite",
        ),
        (["cosmology.box=100 kpc"], "the linear power spectrum is asked for at k = 870.62"),
        (
            ["cosmology.box=1 Mpc", "amr.max_level=2", "refine.a.criterion=region", "refine.a.center=[0.5,0.5,0.5]"]
            + ["refine.a.radius=0.1", "refine.a.max_level=2"],
            "the linear power spectrum is asked for at k = 348.2",
        ),
    ],
)
def test_a_universe_that_cannot_be_begun_is_refused_before_a_rank_starts(
    settings: list[str], complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "box.toml").write_text(CONFIG)
    words = [word for setting in settings for word in ("--set", setting)]

    for done in (command(tmp_path, "check", "box.toml", *words), command(tmp_path, "run", "box.toml", *words)):
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: {complaint}"), done.stderr
    assert not (tmp_path / "runs").exists()


def test_everything_with_a_name_can_be_listed(tmp_path: Path) -> None:
    every = command(tmp_path, "list", "--json")
    analyses = command(tmp_path, "list", "analyses")
    wrong = command(tmp_path, "list", "analysis")

    kinds = json.loads(every.stdout)
    assert {"simulations", "problems", "analyses", "transports", "policies", "formats", "methods"} <= set(kinds)
    assert all(sentence for kind in kinds.values() for sentence in kind.values())
    assert set(kinds["analyses"]) == {line.split()[0] for line in analyses.stdout.splitlines()[1:]}
    assert (every.returncode, analyses.returncode, wrong.returncode) == (0, 0, 2)
    assert "hint: did you mean `analyses`?" in wrong.stderr
