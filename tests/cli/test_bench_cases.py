"""`sidestream bench io --case`: the studies of the papers, at a tiny size."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

import sidestream
from calls import command, program
from sidestream.launch.bench import io as bench_io
from sidestream.launch.bench.cases import CaseRequest, check
from sidestream.launch.bench.io import BenchRequest
from sidestream.parallel_files import nyx
from sidestream.parallel_files.hierarchy import SIZES, refined
from test_faults import small_disk, wait_for
from tiers import slow

ROOT = Path(__file__).parents[2]
TINY = ("-n", 2, "--blocks", 1, "--repetitions", 1, "--most-ranks", 16)


@pytest.mark.parametrize("formats", ["raw,files,flash-5d", *slow("sidestream,flash-netcdf,nyx,enzo-hdf5")])
def test_what_is_wanted_comes_back_and_whole_blocks_are_read_for_it(formats: str, tmp_path: Path) -> None:
    words = ["--reads", "--formats", formats, "--repetitions", 1, "--blocks", 4, "--json"]

    done = command(tmp_path, "bench", "io", "-n", 2, *words)

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    cases = report["cases"]
    assert {(case["format"], case["content"]) for case in cases} == {
        (form, f"{content}, {cache} cache")
        for form in ("plain", *formats.split(","))
        for content in ("everything", "field", "slice", "region", "particles")
        for cache in (("cold", "warm") if report["cold_cache"] else ("warm",))
    }
    assert not [case["error"] for case in cases if "error" in case], "each cell and particle is compared"

    def read_over_wanted(form: str, content: str) -> float:
        of = {(case["format"], case["content"]): case for case in cases}[form, f"{content}, warm cache"]
        return float(of["calls"]["read_bytes"] / of["bytes"])

    for form in {"raw", "files"}.intersection(formats.split(",")):
        assert read_over_wanted(form, "everything") < 1.02
        assert read_over_wanted(form, "field") < 1.2
        assert 16 <= read_over_wanted(form, "slice") < 20, "a checksum is of all cells of a block"
    if "flash-5d" in formats:
        assert 10 <= read_over_wanted("flash-5d", "field") < 11, "a row has all ten variables"


def test_a_table_tells_how_much_is_read(tmp_path: Path) -> None:
    words = ["--reads", "--repetitions", 1, "--blocks", 1, "--contents", "slice", "--formats", "raw"]

    done = command(tmp_path, "bench", "io", "-n", 1, *words)

    assert "slice, warm cache" in done.stdout and "bytes read / wanted" in done.stdout
    assert re.search(r"^raw +\d+ +\d+\.\d\d +\d+ ", done.stdout, re.MULTILINE), done.stdout


def test_files_in_memory_have_no_cold_cache() -> None:
    words = ["--reads", "--repetitions", 1, "--blocks", 1, "--contents", "slice", "--formats", "raw"]
    if file_system_of("/dev/shm") != "tmpfs":
        pytest.skip("not allowed here: /dev/shm is no tmpfs")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        done = command(Path(folder), "bench", "io", "-n", 1, *words)

    assert done.returncode == 0, done.stderr
    assert "no cold cache on tmpfs" in done.stdout
    assert "slice, warm cache" in done.stdout and "slice, cold" not in done.stdout


def test_files_on_a_disk_are_read_from_it_too() -> None:
    words = ["--reads", "--repetitions", 1, "--blocks", 1, "--contents", "slice", "--formats", "raw", "--json"]
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # those of tests may be in memory
        done = command(Path(folder), "bench", "io", "-n", 1, *words)

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    if report["file_system"] == "tmpfs":
        pytest.skip("not allowed here: files on a disk, as the checkout is in memory")
    assert report["cold_cache"]
    told = {(case["format"], case["content"]) for case in report["cases"]}
    assert told == {(form, f"slice, {cache} cache") for form in ("plain", "raw") for cache in ("cold", "warm")}


def file_system_of(folder: str) -> str:
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    return next((words[2] for words in mounts if words[1] == folder), "")


def test_what_cannot_fit_is_refused_before_work(tmp_path: Path) -> None:
    done = command(tmp_path, "bench", "io", "-n", 2, "--blocks", 100_000_000)

    assert done.returncode == 2
    assert "100000000 blocks of 16^3 cells on each of 2 ranks take about" in done.stderr
    assert "choose fewer --blocks" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_larger_than_the_disk_is_refused_before_work(tmp_path: Path) -> None:
    with small_disk(tmp_path, 1 << 20) as disk:
        done = command(tmp_path, "bench", "io", "-n", 1, "--blocks", 32, "--folder", disk)

        assert not list(disk.iterdir())
    assert done.returncode == 2
    assert re.search(
        "a file of 32 blocks of 16.3 cells on each of 1 ranks takes .* GiB, and .* GiB are free", done.stderr
    )


def test_whoever_is_told_to_end_leaves_neither_ranks_nor_files(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "sidestream", "bench", "io", "-n", "2", "--folder", str(tmp_path)]
    process = subprocess.Popen(
        [*line, "--repetitions", "10000", "--formats", "raw"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: bool(list(tmp_path.glob(".bench_io_*/bench_io_*/*"))))
    assert ranks_in(tmp_path)

    process.terminate()
    code = process.wait(timeout=60)

    assert code != 0
    assert not list(tmp_path.iterdir())
    assert not ranks_in(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_is_told_to_end_while_it_starts_leaves_no_folder(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told_to_end(*_words: object) -> None:
        assert list((tmp_path / "new/er").iterdir())
        os.kill(os.getpid(), number)
        time.sleep(60)

    monkeypatch.setattr(bench_io, "report_of", told_to_end)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            bench_io.measure(BenchRequest(2, tmp_path / "new/er"))
    finally:
        signal.signal(signal.SIGINT, before)

    assert not list(tmp_path.iterdir())


def ranks_in(folder: Path) -> list[str]:
    """The processes that have a word of this folder in their line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            line = path.read_bytes().decode(errors="replace")
            found += [line] if "sidestream-bench-io" in line and str(folder) in line else []
    return found


def test_the_time_in_calls_of_the_system_is_told_apart_from_the_rest(tmp_path: Path) -> None:
    methods = ("engine", "aggregated", "hdf5-collective", "hdf5-strided", "mpiio-collective", "mpiio-derived")
    words = ["--repetitions", 1, "--contents", "checkpoint", "--formats", "sidestream", "--methods", ",".join(methods)]

    done = command(tmp_path, "bench", "io", "-n", 2, "--json", *words)

    assert done.returncode == 0, done.stderr
    cases = [case for case in json.loads(done.stdout)["cases"] if case["format"] == "sidestream"]
    assert [case["method"] for case in cases] == list(methods)
    for case in cases:
        for parts in (case["parts"], case["parts_synced"]):
            calls = [sum(parts[name][rank] for name in ("write_s", "read_s", "sync_s")) for rank in range(2)]
            assert all(0 <= spent <= total for spent, total in zip(calls, parts["total_s"], strict=True))
            assert max(parts["write_s"]) > 1e-4, "20 MiB are no faster"
        assert max(case["parts_synced"]["sync_s"]) > 0
    of = {case["method"]: case["parts"] for case in cases}
    assert max(of["aggregated"]["memory_bytes"]) > 0 and max(of["aggregated"]["exchange_s"]) > 0
    for method in methods[2:]:
        inside = zip(of[method]["data_s"], of[method]["write_s"], strict=True)
        assert all(data > write for data, write in inside), f"{method}: the library exchanges within"
    assert all(spent > 0 for method in ("hdf5-collective", "mpiio-collective") for spent in of[method]["copy_s"])
    for method in ("hdf5-strided", "mpiio-derived"):
        assert max(of[method]["copy_s"]) == 0, f"{method} writes out of the blocks"


@pytest.mark.parametrize("method", ["pnetcdf-nonblocking", *slow("pnetcdf-blocking", "pnetcdf-buffered")])
def test_so_is_that_of_pnetcdf(method: str, tmp_path: Path) -> None:
    words = ["--repetitions", 1, "--contents", "checkpoint", "--formats", "flash-netcdf", "--methods", method]

    done = command(tmp_path, "bench", "io", "-n", 2, "--json", *words)

    assert done.returncode == 0, done.stderr
    [case] = [case for case in json.loads(done.stdout)["cases"] if case["format"] == "flash-netcdf"]
    parts = case["parts"]
    assert all(spent > 0 for spent in parts["copy_s"]), "rows are packed"
    assert all(data > write for data, write in zip(parts["data_s"], parts["write_s"], strict=True))
    assert all(parts["data_s"][rank] + parts["copy_s"][rank] <= parts["total_s"][rank] for rank in range(2))


def test_parts_are_a_table(tmp_path: Path) -> None:
    words = ["--repetitions", 1, "--blocks", 1, "--contents", "checkpoint", "--formats", "raw", "--parts"]

    done = command(tmp_path, "bench", "io", "-n", 1, *words)

    assert "ms at the rank that writes longest" in done.stdout
    assert re.search(r"^raw +engine( +[\d.]+ \([\d.]+\)){9}", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("words", [["--case", "flash"], ["--json"]])
def test_parts_are_of_what_is_measured_here(words: list[str], tmp_path: Path) -> None:
    done = command(tmp_path, "bench", "io", "--parts", *words)

    assert (done.returncode, "--parts is a table" in done.stderr) == (2, True)


IDLE = [
    ["--case", "flash"],
    ["--model"],
    ["--methods", "engine"],
    ["--parts"],
    ["--buffers", "4"],
    ["--aggregators", "1"],
]


@pytest.mark.parametrize("words", IDLE, ids=lambda words: words[0])
def test_reading_is_measured_by_itself(words: list[str], tmp_path: Path) -> None:
    done = command(tmp_path, "bench", "io", "--reads", *words)

    assert (done.returncode, "--reads is measured by itself" in done.stderr) == (2, True)
    assert f"leave out {words[0]}" in done.stderr


def test_the_flash_study_is_measured_and_modelled(tmp_path: Path) -> None:
    methods = ("--formats", "flash", "--methods", "engine,hdf5-collective,hdf5-strided", "--contents", "checkpoint")
    done = command(tmp_path, "bench", "io", "--case", "flash", *TINY, *methods, "--out", "out", "--json")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (measured,) = report["measured"]
    assert {case["method"] for case in measured["cases"]} == {
        "sequential",
        "file-per-rank",
        "engine",
        "hdf5-collective",
        "hdf5-strided",
    }
    assert [(row["type"], row["library"]) for row in measured["memory_types"]] == [("A", "HDF5")]
    assert {row["ranks"] for row in report["modelled"]["scaling"]} == {16}
    assert [row["best"] for row in report["modelled"]["ahead"]] == ["independent"] * 2
    assert "MODEL" in report["note"]
    assert json.loads((tmp_path / "out/flash.json").read_text()) == report
    picture = (tmp_path / "out/flash.svg").read_text()
    assert picture.startswith("<?xml")
    assert (tmp_path / "out/flash.png").stat().st_size > 10_000
    assert (tmp_path / "out/flash_accesses.png").stat().st_size > 10_000


def test_the_three_ways_in_which_cells_lie_in_memory_are_written_and_compared(tmp_path: Path) -> None:
    ways = ("--formats", "flash,flash-5d", "--methods", "mpiio-derived,mpiio-collective,hdf5-strided,hdf5-collective")
    done = command(tmp_path, "bench", "io", "--case", "flash", *TINY, *ways, "--json")

    assert done.returncode == 0, done.stderr
    (measured,) = json.loads(done.stdout)["measured"]
    assert not [case for case in measured["cases"] if "error" in case]
    found = {(row["type"], row["library"]): row["packing_is_faster"] for row in measured["memory_types"]}
    assert set(found) == {(kind, library) for kind in "ABC" for library in ("MPI-IO", "HDF5")}
    assert all(set(factors) == {"seconds", "seconds_synced"} for factors in found.values())


def test_buffers_and_writers_are_swept(tmp_path: Path) -> None:
    words = (
        "--contents",
        "checkpoint",
        "--formats",
        "raw",
        "--methods",
        "aggregated",
        "--blocks",
        8,
        "--repetitions",
        1,
    )
    done = command(tmp_path, "bench", "io", "-n", 2, *words, "--buffers", "1,4", "--aggregators", "1,2", "--json")

    assert done.returncode == 0, done.stderr
    cases = {case["method"]: case["calls"] for case in json.loads(done.stdout)["cases"] if case["format"] == "raw"}
    assert set(cases) == {
        f"aggregated, {mib} MiB, {writers}" for mib in (1, 4) for writers in ("1 writer", "2 writers")
    }
    assert cases["aggregated, 4 MiB, 1 writer"]["writing_ranks"] == 1
    assert cases["aggregated, 1 MiB, 2 writers"]["largest"] <= 2**20
    assert 2**20 < cases["aggregated, 4 MiB, 2 writers"]["largest"] <= 2**22


def test_the_nyx_study_is_measured_in_boxes_of_32_cells(tmp_path: Path) -> None:
    done = command(tmp_path, "bench", "io", "--case", "nyx", *TINY, "--json")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (measured,) = report["measured"]
    assert (measured["block"], measured["blocks_a_rank"]) == (32, 1)
    assert {case["bytes"] for case in measured["cases"]} == {2 * 10 * 8 * 32**3}
    assert {case["content"] for case in measured["cases"]} == {"checkpoint"}
    assert "Measured here are checkpoints of ten variables" in (ROOT / "docs/reference/io_studies.md").read_text()
    assert {row["files"] for row in report["modelled"]["rows"]} >= {32, 8192}
    assert not report["modelled"]["published"], "16 ranks say nothing about 8,192"


def test_plot_files_have_by_default_as_many_files_as_the_model_finds_best(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(
        'simulation = "sod"\nmesh = { cells = [256, 256, 256], block = 32 }\noutput.plotfile = { every = 1 }\n'
    )

    done = program(tmp_path, 1, "box.toml", "--check", "--json", "--ranks", 512)

    (told,) = json.loads(done.stdout)["files"]
    assert (told["format"], told["data_files"]) == ("nyx", nyx.study()["default_files"])


ENZO_WAYS = {"gathered", "mpi-io", "hdf5-parallel", "engine", "aggregated"}


def test_the_enzo_study_is_measured_and_modelled(tmp_path: Path) -> None:
    words = ("--sizes", "AMR64", "--methods", "gathered,aggregated", "-n", 2, "--repetitions", 1, "--most-ranks", 16)
    done = command(tmp_path, "bench", "io", "--case", "enzo", *words, "--out", "out", "--json")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (measured,) = report["measured"]
    of = {(case["content"], case["method"]): case for case in measured["cases"]}
    ways = {"gathered", "aggregated"}
    assert set(of) == {("AMR64 read", way) for way in ways} | {("AMR64 dump", way) for way in ways | {"sequential"}}
    assert all(len(case["seconds"]) == 1 for case in of.values())
    assert all(
        len(case["seconds_synced"]) == (1 if content == "AMR64 dump" else 0) for (content, _), case in of.items()
    )
    assert of["AMR64 dump", "aggregated"]["calls"]["writes"] < 20
    assert all(finding["cases"][0]["holds"] for finding in report["modelled"]["findings"])
    assert json.loads((tmp_path / "out/enzo.json").read_text()) == report
    assert (tmp_path / "out/enzo.svg").read_text().startswith("<?xml")
    assert (tmp_path / "out/enzo.png").stat().st_size > 10_000
    assert (tmp_path / "out/enzo_accesses.png").stat().st_size > 10_000
    assert of["AMR64 read", "aggregated"]["calls"]["reads"] >= 18 * 2, "each rank reads its share of each array"


def test_hierarchies_that_find_no_room_are_refused_before_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_400_000_000))
    bench = BenchRequest(2, tmp_path / "not" / "there")

    check(CaseRequest("enzo", bench, sizes="AMR64,AMR128"))
    with pytest.raises(sidestream.Error, match="need 1405 MB, and 1400 MB are free"):
        check(CaseRequest("enzo", bench))
    check(CaseRequest("enzo", bench, is_measured=False))


@pytest.mark.parametrize("ranks", [3, *slow(1)])
def test_every_byte_of_a_hierarchy_comes_back_by_every_way(ranks: int, tmp_path: Path) -> None:
    """The program compares bit by bit what it has read with what it wrote."""
    words = ("--hierarchies", "AMR64", "--repetitions", 0, "--folder", ".")
    done = program(tmp_path, ranks, *words, name="sidestream-bench-io")

    assert done.returncode == 0, done.stderr
    report, size = json.loads(done.stdout), SIZES["AMR64"]
    assert not [case for case in report["cases"] if "error" in case]
    assert {case["method"] for case in report["cases"]} == ENZO_WAYS | {"sequential"}
    for case in report["cases"]:
        wanted = size.read_bytes if case["content"] == "AMR64 read" else size.dump_bytes
        assert case["bytes"] == pytest.approx(wanted, abs=5000)
    assert report["grids"] == {"AMR64": len(refined(size).cells)}, "the model has the grids of the program"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [("flash",), ("nyx",), *slow((("enzo", "--sizes", "AMR64"),))], ids=str)
def test_a_case_by_the_model_alone_is_a_table(words: tuple[str, ...], tmp_path: Path) -> None:
    case = words[0]
    done = command(tmp_path, "bench", "io", "--case", *words, "--model", "--most-ranks", 16)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("times at scale are those of a MODEL, not measured")
    assert "GiB/s" in done.stdout if case == "nyx" else "GPFS" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--case", "nope"], 2, "there is no case `nope`"),
        (["--case", "flash", "--most-ranks", 3], 2, "3 ranks are not modelled"),
        (["--case", "flash", "--most-ranks", 65537], 2, "65537 ranks are not modelled"),
        (["--case", "flash", "--out", "/proc/none"], 1, "cannot write there"),
        (["--case", "nyx", "--blocks", 0], 2, "0 blocks are nothing to write"),
        (["--case", "nyx", "-n", 0], 2, "0 ranks cannot write anything"),
        (["--case", "enzo", "--sizes", "AMR32"], 2, "--sizes AMR32: there is no `AMR32`"),
        (["--case", "enzo", "--methods", "engine,tuned"], 2, "--methods engine,tuned: there is no `tuned`"),
        (["--case", "enzo", "--blocks", 4], 2, "--blocks is for cases of blocks"),
        (["--case", "enzo", "--formats", "flash"], 2, "--formats is for cases of blocks"),
        (["--case", "nyx", "--sizes", "AMR64"], 2, "--sizes is for the case `enzo`"),
        (["--case", "nyx", "--contents", "plotfile"], 2, "the case `nyx` measures checkpoints"),
        (["--case", "nyx", "--buffers", "4"], 2, "which writes none of the formats"),
        (["--case", "nyx", "--aggregators", "1"], 2, "which writes none of the formats"),
        (["--formats", "files", "--aggregators", "1"], 2, "which writes none of the formats"),
        (["--sizes", "AMR64"], 2, "--sizes is for a case"),
        (["--out", "figures"], 2, "--out is for a case"),
        (["--most-ranks", 1024], 2, "--most-ranks is for a case"),
        (["--methods", "agregated"], 2, "`agregated` is no method: --methods takes engine, "),
        (
            ["--formats", "nyx", "--methods", "engine"],
            2,
            "the format `nyx` has one way of its own: leave --methods out",
        ),
        (["--formats", "raw", "--methods", "pnetcdf-blocking"], 2, "the format `raw` is written by "),
        (["--formats", "raw,bogus"], 2, "`bogus` is no format: --formats takes sidestream, "),
        (["--contents", "plot"], 2, "--contents takes checkpoint, plotfile, chosen"),
        (["--buffers", "4,x"], 2, "--buffers 4,x: `x` cannot be tried"),
        (["--buffers", "4", "--methods", "engine"], 2, "--buffers and --aggregators are of the method aggregated"),
        (["--buffers", "0"], 2, "--buffers 0: `0` cannot be tried"),
        (["-n", 2, "--aggregators", "1,3"], 2, "--aggregators 1,3: `3` cannot be tried"),
    ],
    ids=str,
)
def test_wrong_words_are_refused_before_work(words: list[object], code: int, said: str, tmp_path: Path) -> None:
    done = command(tmp_path, "bench", "io", *words)

    assert done.returncode == code
    assert done.stderr.count(said) == 1
    assert not done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ranks", [3, *slow(2, 4)])
def test_transfers_bring_every_value_by_every_way(ranks: int, tmp_path: Path) -> None:
    words = ("--cells", 32, "--repetitions", 2, "--components", 3, "--most-ranks", 16)
    done = command(tmp_path, "bench", "transfer", "-n", ranks, *words, "--out", "out", "--json")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    points = report["measured"]["points"]
    assert {point["sweep"] for point in points} == {"sidecars", "grids", "blocks"}
    assert {point["sidecars"] for point in points} == ({1, 2} if ranks == 4 else {1})
    for point in points:
        assert point["bytes"] == 8 * 3 * point["cells"] ** 3
        assert set(point["seconds"]) == {"redistribution", "box by box", "bare messages", "memory copy"}
        assert all(len(times) == 2 for times in point["seconds"].values())
        if point["sidecars"] == 1:
            assert point["box_messages"] == 3 * (point["cells"] // point["block"]) ** 3
    assert (tmp_path / "out/transfer.svg").exists()


def test_transfers_by_the_model_alone_are_drawn(tmp_path: Path) -> None:
    done = command(tmp_path, "bench", "transfer", "--model", "--most-ranks", 64, "--out", "out", "--json")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["measured"] is None and report["modelled"]
    assert (tmp_path / "out/transfer.svg").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--cells", 8], 2, "--cells 8 leaves nothing to move"),
        (["--cells", 72], 2, "72 cells a side are no whole number of blocks of 16"),
        (["--cells", 64, "--block", 24], 2, "64 cells a side are no whole number of blocks of 24"),
        (["--sidecars", 0], 2, "0 sidecars receive nothing"),
        (["--sidecars", 2], 2, "2 sidecars leave none of 2 ranks to compute"),
        (["-n", 1], 2, "-n 1 leaves no sidecar beside the ranks that compute"),
        (["--cells", 99999984], 2, "GiB are free"),
        (["--most-ranks", 8193], 2, "8193 ranks are not modelled"),
        (["--out", "/proc/none"], 1, "cannot write there"),
    ],
    ids=str,
)
def test_transfers_that_cannot_be_are_refused(words: list[object], code: int, said: str, tmp_path: Path) -> None:
    done = command(tmp_path, "bench", "transfer", "-n", 2, *words)

    assert done.returncode == code
    assert done.stderr.count(said) == 1
    assert not done.stdout
