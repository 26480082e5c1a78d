"""`sidestream bench move` and `bench fft`, with the real programs behind them: what they find, not how fast it is."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from calls import command, program
from sidestream.launch.bench.move import CHUNKWISE, COPY
from tiers import slow

STRATEGIES = {"p2p", "pipelined", "alltoallv", "alltoallw", "rma", "shared"}


@pytest.mark.parametrize("ranks", [3, *slow(1, 2, 4)])
def test_every_strategy_moves_every_cell(ranks: int, tmp_path: Path) -> None:
    done = command(
        tmp_path,
        "bench",
        "move",
        "-n",
        ranks,
        "--cells",
        20,
        "--block",
        4,
        "--repetitions",
        1,
        "--wisdom",
        "w.json",
        "--json",
    )

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [movement["name"] for movement in report["movements"]] == [
        "rows to columns",
        "blocks to pencils",
        "rows to rectangles",
    ]
    for movement in report["movements"]:
        cases = {case["name"]: case for case in movement["cases"]}
        assert set(cases) == STRATEGIES | {COPY, CHUNKWISE, "automatic", "tuned"}
        assert cases["tuned"]["strategy"] in STRATEGIES
        assert all(len(case["seconds"]) == 1 for case in cases.values())
    if ranks > 1:  # alone, there is nothing to choose
        findings = json.loads((tmp_path / "w.json").read_text())["findings"]
        assert all(finding["choice"] in STRATEGIES and f"{ranks} ranks" in key for key, finding in findings.items())
        assert findings


@pytest.mark.parametrize("layout", ["pencils", *slow("blocks")])
def test_a_sinusoid_leaves_one_mode(layout: str, tmp_path: Path) -> None:
    done = command(
        tmp_path,
        "bench",
        "fft",
        "-n",
        4,
        "--cells",
        30,
        "--repetitions",
        1,
        "--from",
        layout,
        "--wisdom",
        "w.json",
        "--json",
    )

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    grids = {(case["rows"], case["columns"]) for case in report["cases"]}
    assert grids == {(1, 4), (2, 2), (4, 1), (1, 2), (2, 1)}  # two leave half of the ranks idle
    assert {case["strategy"] for case in report["cases"]} == STRATEGIES
    assert {case["depth"] for case in report["cases"]} == {1, 2}
    for case in report["cases"]:
        parts = case["parts"]
        assert set(parts) == {"transform", "pack", "exchange", "unpack"}
        assert min(parts.values()) >= 0
        assert parts["transform"] > 0 or case["rows"] * case["columns"] < 4, "the slowest may be one that is idle"
        assert sum(parts.values()) <= case["seconds"]
    assert max(report["sinusoid_errors"].values()) < 1e-14
    fastest = report["cases"][report["fastest"]]
    (finding,) = json.loads((tmp_path / "w.json").read_text())["findings"].values()
    under_way = f", {fastest['depth']} under way" if fastest["depth"] > 1 else ""
    assert finding["choice"] == f"{fastest['rows']} x {fastest['columns']}, {fastest['strategy']}{under_way}"


@pytest.mark.parametrize("mode", ["multiple", *slow("funneled", "serialized")])
def test_threads_are_tried_beside_one(mode: str, tmp_path: Path) -> None:
    words = ("--threads", 2, "--thread-mode", mode, "--strategies", "p2p", "--cells", 16, "--repetitions", 2)
    done = command(tmp_path, "bench", "fft", "-n", 2, *words, "--wisdom", "w.json")
    table = command(tmp_path, "bench", "fft", "-n", 2, *words, "--wisdom", "w.json", "--json")

    assert done.returncode == 0, done.stderr
    assert "threads" in done.stdout
    report = json.loads(table.stdout)
    assert [case["threads"] for case in report["cases"]].count(2) == len(report["cases"]) / 2
    assert (report["threads"], report["thread_mode"]) == (2, mode)
    assert max(report["sinusoid_errors"].values()) < 1e-14
    (key,) = json.loads((tmp_path / "w.json").read_text())["findings"]
    assert key.endswith(f", 2 threads {mode}")


def test_a_wrong_strategy_is_told_once_with_those_there_are(tmp_path: Path) -> None:
    for benchmark in ("move", "fft"):
        done = command(tmp_path, "bench", benchmark, "-n", 2, "--strategies", "p2q")

        assert done.returncode == 2
        assert done.stderr.count("there is no exchange strategy `p2q`") == 1
        assert "alltoallv" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["move", "--strategies", ","], "leaves a name out"),
        (["fft", "--strategies", "p2p,,rma"], "leaves a name out"),
        (["fft", "--from", "nope"], "there is no layout `nope`"),
        (["fft", "--cells", 16, "--kept", 8], "--kept 8 does not fit 16 cells"),
        (["fft", "--threads", 0], "0 threads cannot transform anything"),
        (["fft", "--threads", 2, "--thread-mode", "nope"], "nope not in {funneled,serialized,multiple}"),
        (["move", "--block", 5, "--cells", 16], "16 cells a side are no whole number of blocks of 5"),
        (
            ["fft", "--from", "blocks", "--block", 5, "--cells", 16],
            "16 cells a side are no whole number of blocks of 5",
        ),
        (["move", "--cells", 99999999], "GiB are free"),
        (["move", "--cells", 99999990, "--block", 1], "GiB are free"),
        (["fft", "--cells", 99999999], "transforms of 99999999^3 cells take about"),
        (["fft", "--cells", 99999990, "--from", "blocks", "--block", 1], "GiB are free"),
        (["fft", "--cells", 99999999999], "--cells"),
    ],
    ids=str,
)
def test_what_cannot_be_measured_is_told_once_in_a_sentence(words: list[object], said: str, tmp_path: Path) -> None:
    done = command(tmp_path, "bench", *words, "-n", 2, "--wisdom", "none")

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count(said) == 1
    assert len(done.stderr.splitlines()) <= 3


@pytest.mark.parametrize("benchmark", ["move", "fft"])
def test_a_text_in_the_place_of_wisdom_is_told_and_kept_aside(benchmark: str, tmp_path: Path) -> None:
    path = tmp_path / "wisdom.json"
    path.write_text('{"sidestream_wisdom": 1, "findi')

    small = ("--cells", 16, "--repetitions", 1)
    done = command(tmp_path, "bench", benchmark, "-n", 2, *small, "--wisdom", path, "--json")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: ") == 1
    assert "this is no wisdom of this version of Sidestream (it is no JSON)" in done.stderr
    assert str(path) in done.stderr
    assert json.loads(path.read_text())["findings"]
    assert (tmp_path / "wisdom.json.aside").read_text() == '{"sidestream_wisdom": 1, "findi'


FLOW = """simulation = "turbulence"
[mesh]
cells = [16, 16, 16]
block = 8
[turbulence]
viscosity = 1.0
dt = 0.05
[run]
exchange = "tuned"
wisdom = "w.json"
max_steps = 2
"""


def transforms_in(wisdom: Path) -> dict[str, dict[str, object]]:
    findings = json.loads(wisdom.read_text())["findings"]
    return {key: finding for key, finding in findings.items() if "transform of" in key}


def test_a_flow_takes_the_way_that_the_benchmark_found(tmp_path: Path) -> None:
    """A time that no measurement has stays in the file: the run has neither measured this transform nor another."""
    words = ("--cells", 16, "--components", 3, "--kept", 5, "--repetitions", 1, "--wisdom", "w.json")
    measured = command(tmp_path, "bench", "fft", "-n", 2, *words)
    assert measured.returncode == 0, measured.stderr
    wisdom = tmp_path / "w.json"
    found = transforms_in(wisdom)
    assert len(found) == 1
    wisdom.write_text(re.sub(r'"seconds": [^\n,}]*', '"seconds": 1e9', wisdom.read_text()))
    (tmp_path / "flow.toml").write_text(FLOW, encoding="utf-8")

    done = program(tmp_path, 2, "flow.toml", "--quiet", "--out", "out")

    assert done.returncode == 0, done.stderr
    ((key, finding),) = found.items()
    assert transforms_in(wisdom) == {key: {"choice": finding["choice"], "seconds": 1e9}}


@pytest.mark.parametrize("kind", ["folder", "no folder", *slow("pipe", "device")])
@pytest.mark.parametrize("benchmark", ["move", "fft"])
def test_a_wisdom_file_that_is_none_is_a_warning(benchmark: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "wisdom"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            (tmp_path / "file").touch()
            path = tmp_path / "file" / "wisdom"

    small = ("--cells", 16, "--repetitions", 1)
    done = command(tmp_path, "bench", benchmark, "-n", 2, *small, "--wisdom", path, "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["wisdom"] == "none"
    assert done.stderr.count("warning: ") == 1
    assert str(path) in done.stderr
    assert not path.is_file()
