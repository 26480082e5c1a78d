from __future__ import annotations

from pathlib import Path

import pytest

from sidestream.error import Error
from sidestream.launch.bench import access_figures, cases, memory_types
from sidestream.launch.bench import io as benchmark


def case(format_: str, method: str, seconds: list[float], content: str = "checkpoint") -> benchmark.Case:
    return {
        "content": content,
        "format": format_,
        "method": method,
        "bytes": 4_000_000,
        "calls": {"writes": 12, "writing_ranks": 2, "sizes": {"<100": 2, "1M-4M": 10}},
        "seconds": seconds,
        "seconds_synced": [2 * value for value in seconds],
    }


def report(*measured: benchmark.Case) -> dict[str, object]:
    return {"ranks": 2, "cores": 2, "processor": "p", "file_system": "ext4", "model": False, "cases": list(measured)}


DISK = case("plain", "sequential", [0.01, 0.02, 0.04])
ENGINE = case("flash", "engine", [0.02, 0.04, 0.08])
COLLECTIVE = case("flash", "hdf5-collective", [0.03, 0.08, 0.40])


def test_speeds_are_medians_and_ratios_are_taken_repetition_by_repetition() -> None:
    found = benchmark.compare(report(dict(DISK), dict(ENGINE), dict(COLLECTIVE)))["cases"]

    assert found[1]["speed_seconds"]["mb_per_s"] == pytest.approx(100.0)
    assert found[1]["speed_seconds"]["of_disk"] == pytest.approx(0.5)
    assert found[1]["speed_seconds"]["of_best_peer"] == pytest.approx(2.0)
    assert found[2]["speed_seconds_synced"]["of_worst_peer"] == pytest.approx(0.5)


def test_claims_stand_beside_what_was_measured() -> None:
    claims = benchmark.compare(report(dict(DISK), dict(ENGINE), dict(COLLECTIVE)))["claims"]

    assert [claim["factor"] for claim in claims] == pytest.approx([2.0, 2.0])
    assert all(claim["holds"] and claim["wanted"] == 1.6 for claim in claims)


def test_of_refined_grids_the_claim_is_against_the_fastest_other_method() -> None:
    of_grids = [one | {"content": "AMR64 dump"} for one in (ENGINE, COLLECTIVE)]
    slower = of_grids[0] | {"method": "mpi-io", "seconds": [1.5 * t for t in ENGINE["seconds"]], "seconds_synced": []}
    gathered = of_grids[1] | {"method": "gathered", "seconds_synced": []}

    ours = of_grids[0] | {"method": "aggregated", "seconds": [0.5 * t for t in ENGINE["seconds"]]}

    claims = benchmark.compare(report(of_grids[0], slower, gathered, ours))["claims"]

    said = "engine against gathered, MPI-IO and parallel HDF5, AMR64 dump, without fsync"
    assert [claim["text"] for claim in claims] == [said]
    assert claims[0]["factor"] == pytest.approx(1.5) and claims[0]["holds"]


def test_what_becomes_slower_in_the_model_is_told_from_what_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    ratios = {"independent": 0.94, "HDF5 independent": 0.94, "HDF5 collective": 1.8, "file a rank": 0.999}

    cases._print_drop({"ratio_of_speeds": ratios, "is_explained": False})

    said = capsys.readouterr().out.replace("\n", " ")
    assert "which libraries write collectively become slower at 65,536 ranks" in said
    assert said.rstrip().endswith("in it these do: independent by 6 %, HDF5 independent by 6 %")


def test_a_case_that_failed_is_left_out_of_the_comparisons() -> None:
    failed = case("flash", "hdf5-collective", []) | {"error": "error: the disk is full"}

    found = benchmark.compare(report(dict(DISK), dict(ENGINE), failed))

    assert "of_best_peer" not in found["cases"][1]["speed_seconds"]
    assert not found["claims"]


def test_the_report_is_printed_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.print_report(benchmark.compare(report(dict(DISK), dict(ENGINE), dict(COLLECTIVE))))

    said = capsys.readouterr().out
    assert "hdf5-collective" in said
    assert "2.00 times as fast (wanted 1.6): holds" in said


def test_parts_of_the_time_are_those_of_the_rank_that_writes_longest_and_of_a_mean_one() -> None:
    parts = {
        **{"total_s": [0.1, 0.1], "write_s": [0.01, 0.03], "read_s": [0.0, 0.0], "sync_s": [0.0, 0.02]},
        **{"exchange_s": [0.004, 0.0], "copy_s": [0.0, 0.002], "wait_s": [0.0, 0.003], "data_s": [0.05, 0.05]},
        **{"metadata_s": [0.0, 0.0], "memory_bytes": [0.0, 2.0**21]},
    }

    cells = benchmark.part_cells(COLLECTIVE | {"parts": parts}, "seconds")

    of = dict(zip([*benchmark.PARTS, "MiB"], cells, strict=True))
    assert of["total"] == "100 (100)"
    assert of["write"] == "30 (20)"
    assert of["exchange"] == "0.0 (2.0)"
    assert of["library"] == "20 (30)", "in its calls and not in those of the system"
    assert of["rest"] == "25 (36)"
    assert of["MiB"] == "2.0"


def test_small_writes_are_told_apart() -> None:
    assert benchmark.large_writes(ENGINE) == 10


def test_packing_is_compared_with_the_walk_of_the_same_library() -> None:
    walking = case("flash", "hdf5-strided", [0.06, 0.16, 0.40])
    elsewhere = case("flash-5d", "mpiio-derived", [0.01])

    rows = memory_types.compare(report(dict(ENGINE), dict(COLLECTIVE), walking, elsewhere))

    assert [(row["type"], row["library"]) for row in rows] == [("A", "HDF5")]
    assert rows[0]["packing_is_faster"]["seconds"] == pytest.approx(2.0)


def test_histograms_have_a_bar_for_each_way_and_size() -> None:
    reading = case("hdf5", "engine", [0.1], "AMR64 read") | {"calls": {"writes": 0, "read_sizes": {"1K-10K": 7}}}

    figure = access_figures.accesses("enzo", report(dict(DISK), dict(ENGINE), dict(COLLECTIVE), reading))

    assert [axes.get_title() for axes in figure.axes] == ["checkpoint", "AMR64 read"]
    heights = [[bar.get_height() for bar in axes.patches] for axes in figure.axes]
    assert heights == [[2, 0, 0, 0, 0, 10] * 2, [7]]
    assert figure.axes[1].get_ylabel() == "reads"


def test_of_flash_the_ways_of_the_study_are_drawn() -> None:
    swept = case("flash", "aggregated, 4 MiB, 1 writer", [0.1])

    ways = access_figures.drawn("flash", report(dict(DISK), dict(ENGINE), swept))

    assert [way["method"] for way in ways] == ["engine"]


def test_a_place_for_figures_is_tried_before_work_starts_and_made_when_they_are_there(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()

    cases.require_folder(tmp_path / "a" / "b")
    cases.require_folder(there)
    with pytest.raises(Error, match="choose another folder with --out"):
        cases.require_folder(Path("/proc/nowhere"))

    assert list(tmp_path.iterdir()) == [there] and not list(there.iterdir())
