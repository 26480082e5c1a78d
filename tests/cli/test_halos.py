"""`sidestream halos`, with the real program behind it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import oracles
import sidestream as ss
import snapshots
import synthetic_mergers
from calls import program
from configs import universe
from fixtures import CommandLine
from test_absurd_cell import plot_file
from tiers import slow

REFINED = Path(__file__).parents[1] / "data" / "refined_plt00007"
PLOT = REFINED.with_name("nyx_plt00002")
THRESHOLDS = ("--t-boundary", "20", "--t-halo", "40")


@pytest.fixture(scope="module")
def field() -> np.ndarray:
    return oracles.formula_field(16)


@pytest.fixture(scope="module")
def tree(field: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trees") / "tree.nc"
    ss.merge_tree(field, cut_off=2.0).save(path, box_size=8.0)
    return path


@pytest.mark.parametrize("ranks", [3, *slow(1, 2)])
def test_a_stored_tree_has_the_halos_of_the_field(
    ranks: int, tree: Path, field: np.ndarray, tmp_path: Path, sidestream: CommandLine
) -> None:
    done = sidestream("halos", "query", tree, *THRESHOLDS, "-n", ranks, "-o", "halos.nc")

    assert done.returncode == 0, done.stderr
    found, expected = ss.open(tmp_path / "halos.nc"), ss.halos(field, 8.0, 20.0, 40.0)
    for name in ("id", "x", "y", "z", "mass", "cells", "volume", "peak", "axis_a"):
        np.testing.assert_array_equal(found[name], expected[name])
    assert found.attrs["t_boundary"] == 20.0
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["id", "mass", "cells", "x", "y", "z", "peak"]
    assert [int(line.split()[0]) for line in lines[1:]] == expected["id"].values.tolist()
    assert "10 halos; all are in halos.nc; the query took " in done.stderr


def test_a_query_for_programs_is_json_with_its_time(tree: Path, field: np.ndarray, sidestream: CommandLine) -> None:
    report = json.loads(sidestream("halos", "query", tree, *THRESHOLDS, "-n", 1, "--json").stdout)

    assert report["halos"] == 10
    assert report["query_s"] > 0
    assert report["columns"]["mass"] == ss.halos(field, 8.0, 20.0, 40.0)["mass"].values.tolist()


def test_a_catalogue_as_csv_has_all_columns(tree: Path, tmp_path: Path, sidestream: CommandLine) -> None:
    done = sidestream("halos", "query", tree, *THRESHOLDS, "-n", 1, "-o", tmp_path / "new" / "halos.csv")

    assert done.returncode == 0, done.stderr
    with (tmp_path / "new" / "halos.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    table = ss.open_tree(tree).halos(20.0, 40.0)
    assert {"id", "mass", "x", "cells"} <= set(rows[0])
    assert [float(row[rows[0].index("mass")]) for row in rows[1:]] == table["mass"].values.tolist()


def test_only_the_heaviest_are_printed(tree: Path, sidestream: CommandLine) -> None:
    done = sidestream("halos", "query", tree, "--t-boundary", "20", "--t-halo", "20", "-n", 1)

    assert len(done.stdout.splitlines()) == 21
    assert done.stderr.startswith("23 halos, of which the 20 heaviest are shown; ")


def test_thresholds_may_be_multiples_of_the_mean(tree: Path, field: np.ndarray, sidestream: CommandLine) -> None:
    words = ("--t-boundary", "5 mean", "--t-halo", "9 mean", "--min-cells", 5, "-n", 1, "--json")

    report = json.loads(sidestream("halos", "query", tree, *words).stdout)

    expected = ss.halos(field, 8.0, "5 mean", "9 mean")
    assert report["columns"]["id"] == expected["id"].values[expected["cells"].values >= 5].tolist()


def test_no_halos_are_an_answer(tree: Path, sidestream: CommandLine) -> None:
    done = sidestream("halos", "query", tree, "--t-boundary", "1e9", "--t-halo", "1e9", "-n", 2)

    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr.startswith("0 halos; ")


def test_a_tree_of_sets_below_has_voids(field: np.ndarray, tmp_path: Path, sidestream: CommandLine) -> None:
    ss.merge_tree(field, sets="below").save(tmp_path / "voids.nc")

    done = sidestream("halos", "query", "voids.nc", "--t-boundary", "0.05", "--t-halo", "0.02", "-n", 2, "--json")

    expected = oracles.brute_halos(-field, -0.05, -0.02, 14, True)
    assert sorted(json.loads(done.stdout)["columns"]["id"]) == [halo[0] for halo in expected]


WRONG_QUERIES = {
    "missing": ["none.nc"],
    "beyond-the-cut-off": ["{tree}", "--t-boundary", "1", "--t-halo", "40"],
    "peak-below-boundary": ["{tree}", "--t-boundary", "40", "--t-halo", "20"],
    "threshold": ["{tree}", "--t-boundary", "many mean"],
}


@pytest.mark.parametrize("name", WRONG_QUERIES)
def test_queries_that_cannot_be_answered_say_why(name: str, tree: Path, sidestream: CommandLine) -> None:
    done = sidestream("halos", "query", *(word.format(tree=tree) for word in WRONG_QUERIES[name]), "-n", 1)

    assert done.returncode == 1
    assert done.stdout == ""
    snapshots.check_snapshot(f"halos-query-{name}", done, {"TREE": tree})


def test_what_is_no_tree_cannot_be_asked(tmp_path: Path, sidestream: CommandLine) -> None:
    (tmp_path / "tree.nc").write_bytes(b"not HDF5")

    done = sidestream("halos", "query", "tree.nc", "-n", 2)

    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "tree.nc" in done.stderr


def test_halos_of_a_file_are_those_of_all_its_matter(real_sidestream: CommandLine) -> None:
    words = ("--t-boundary", "1.05 mean", "--t-halo", "1.1 mean", "--connectivity", 6, "--json", "-n", 2)

    report = json.loads(real_sidestream("halos", "find", PLOT, *words).stdout)

    expected = ss.open(PLOT).halos(t_boundary="1.05 mean", t_halo="1.1 mean", connectivity=6)
    assert sorted(report["columns"]["id"]) == sorted(expected["id"].values.tolist()) != []
    assert report["seconds"] > 0


def test_groups_of_a_file_are_those_of_its_particles(real_sidestream: CommandLine) -> None:
    done = real_sidestream("halos", "find", REFINED, "--finder", "fof", "--linking-length", 1.2, "--json", "-n", 1)

    assert done.returncode == 0, done.stderr
    expected = ss.open(REFINED).friends_of_friends(1.2, "density")
    assert json.loads(done.stdout)["columns"]["id"] == expected["id"].values.tolist()


def test_where_nothing_is_found_it_is_said_what_would_find_some(tmp_path: Path, real_sidestream: CommandLine) -> None:
    words = ("halos", "find", plot_file(tmp_path, 1.0), "--field", "density", "-n", 2)

    done = real_sidestream(*words)

    assert done.stdout == ""
    reaches, _, keys = done.stderr.partition("; ")
    assert re.fullmatch(r"no halos: `gas_density` reaches (\S+) times the mean, t_halo is 200 times the mean", reaches)
    advice = dict(re.findall(r'(t_halo|t_boundary) = "([^"]*)"', keys))
    again = real_sidestream(*words, "--t-halo", advice["t_halo"], "--t-boundary", advice["t_boundary"], "--json")
    assert json.loads(again.stdout)["halos"] >= 1


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["none"], "none"),
        ([str(PLOT), "--field", "metals"], "`metals`"),
        ([str(PLOT), "--task", "halos"], "no task of halos `halos`"),
        ([str(PLOT), "--species", "dark_matter"], "regions of a density have no particles"),
        ([str(PLOT), "--t-halo", "many"], "many"),
    ],
)
def test_files_that_cannot_be_searched_are_errors(words: list[str], what: str, real_sidestream: CommandLine) -> None:
    done = real_sidestream("halos", "find", *words, "-n", 1)

    assert done.returncode in (1, 2)
    assert what in done.stderr
    assert done.stderr.count("error: ") == 1


TWO_WAYS = """[task.dense]
analysis = "halos"
at_end = true
[task.groups]
analysis = "halos"
finder = "fof"
linking_length = 1.2
at_end = true
[output]
checkpoint = { format = "sidestream", at_end = true }
plotfile = { format = "nyx", at_end = true }
"""


@pytest.fixture(scope="module")
def run_of_two_ways(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a task of halos of each finder."""
    folder = tmp_path_factory.mktemp("ways")
    (folder / "box.toml").write_text(universe(box="14.2 Mpc", z_start=20, z_end=3, steps=1) + TWO_WAYS)
    done = program(folder, 1, "box.toml", "--quiet", "--out", "run")
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.mark.parametrize("words", [("--finder", "fof"), ("--linking-length", "1.2")])
def test_options_choose_between_two_tasks_of_the_run(
    words: tuple[str, ...], run_of_two_ways: Path, real_sidestream: CommandLine
) -> None:
    done = real_sidestream("halos", "find", run_of_two_ways / "plt00001", *words, "-n", 1, "--json")

    assert done.returncode == 0, done.stderr
    assert "particles" in json.loads(done.stdout)["columns"]


def test_where_nothing_chooses_between_two_tasks_they_are_named(
    run_of_two_ways: Path, real_sidestream: CommandLine
) -> None:
    done = real_sidestream("halos", "find", run_of_two_ways / "plt00001", "-n", 1)

    assert done.returncode == 2
    assert "name one with --task: dense (iso-density) or groups (fof)" in done.stderr


def test_who_names_a_run_is_told_its_newest_files(run_of_two_ways: Path, real_sidestream: CommandLine) -> None:
    done = real_sidestream("halos", "find", run_of_two_ways)

    assert done.returncode == 1
    newest = f"{run_of_two_ways}/plt00001 and {run_of_two_ways}/chk00001.hdf5_chk"
    assert (
        f"this is a run, and halos are sought in one of its plot files or checkpoints\n  --> {run_of_two_ways}"
        in done.stderr
    )
    assert f"hint: its newest: {newest}\n" in done.stderr


def test_links_are_written_where_they_are_wanted(tmp_path: Path, sidestream: CommandLine) -> None:
    synthetic_mergers.write_linked_run(tmp_path / "run")

    default = sidestream("halos", "mergers", "run")
    chosen = sidestream("halos", "mergers", "run", "--task", "linked", "-o", "links.nc")

    assert default.stdout.strip() == "run/mergers.linked.nc"
    assert chosen.stdout.strip() == "links.nc"
    assert (tmp_path / "links.nc").read_bytes()[:4] == b"\x89HDF"


def test_a_run_that_links_nothing_has_no_links(finished_run: Path, sidestream: CommandLine) -> None:
    done = sidestream("halos", "mergers", finished_run)

    assert done.returncode == 1
    assert "hint: set `link = true`" in done.stderr
