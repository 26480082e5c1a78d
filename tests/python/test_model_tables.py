"""The tables of the documentation that come from the model of parallel file systems are what it says today."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from sidestream.parallel_files import enzo, flash, nyx, transfer

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/io_studies.md").read_text()
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def table(head: str, number: int = 0) -> list[list[str]]:
    """The cells of a table of the page, below the line that begins with `head`; of several the one of this number."""
    lines = PAGE.splitlines()
    begin = [place for place, line in enumerate(lines) if line.startswith(head)][number]
    rows = list(takewhile(lambda line: line.startswith("|"), lines[begin + 2 :]))
    assert len(rows) > 1
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def numbers(text: str) -> list[str]:
    return [found.replace(",", "") for found in NUMBER.findall(text)]


def says(text: str, *values: float) -> bool:
    """Whether these are the numbers in a text, as far as it gives their digits."""
    told = numbers(text)
    digits = [len(one.partition(".")[2]) for one in told]
    return len(told) == len(values) and all(
        abs(float(one) - value) <= 0.501 * 10.0**-places
        for one, value, places in zip(told, values, digits, strict=True)
    )


def judges(text: str, row: dict[str, Any]) -> bool:
    """Whether this is what the model says of a published number: `fitted`, `inside` its range, or how far it is off."""
    low, *_, high = row["published"] if isinstance(row["published"], list | tuple) else [row["published"]] * 2
    if row["is_fitted"]:
        return text == "fitted"
    if low < row["model"] < high:
        return text == "inside"
    off = row["model"] / (high if row["model"] > high else low) - 1
    told = re.fullmatch(r"([+-]?\d+) %", text)
    return told is not None and abs(int(told[1]) - 100 * off) <= 0.501 and (told[1][0] in "+-") == (int(told[1]) != 0)


def test_a_text_judges_a_number_with_its_sign() -> None:
    row = {"published": [3, 4], "model": 4.08, "is_fitted": False}
    assert judges("+2 %", row)
    assert not any(judges(text, row) for text in ("-2 %", "2 %", "+3 %", "fitted", "inside"))
    assert judges("inside", row | {"model": 3.5}) and not judges("0 %", row | {"model": 3.5})
    assert judges("-10 %", row | {"model": 2.7}) and not judges("+10 %", row | {"model": 2.7})
    assert judges("0 %", row | {"model": 3.0})
    assert judges("fitted", row | {"is_fitted": True}) and not judges("+2 %", row | {"is_fitted": True})


def test_a_text_says_a_number_to_its_last_digit() -> None:
    assert says("1.5 to 2,048", 1.4501, 2048.4)
    assert not says("1.5", 1.56)
    assert not says("1.5", 1.5, 2.0)


def test_tables_of_files_and_of_transfers() -> None:
    found = nyx.study()
    speeds = {(row["files"], row["cells"]): row["gib_per_s"] for row in found["rows"]}
    for files, *cells in table("| files | 128^3"):
        for text, size in zip(cells, nyx.GRIDS, strict=True):
            assert says(text, speeds[int(files.replace(",", "")), size]), (files, size)
    assert f"{found['default_files']} files lose least in the worst case" in PAGE

    moved = transfer.study()
    of = {row["sidecars"]: row for row in moved["points"] if row["sweep"] == "sidecars"}
    for sidecars, *ways in table("| sidecars | box by box |"):
        row = of[int(sidecars.replace(",", ""))]
        assert says(" ".join(ways), row["box by box"], row["a message a pair"]), sidecars
    for (_, published, model, error), row in zip(table("| what | published |", 1), moved["published"], strict=True):
        assert says(f"{published} {model}", row["published"], row["model"])
        assert judges(error, row), row


def test_tables_of_counts_at_scale() -> None:
    page = (ROOT / "docs/reference/io_performance.md").read_text().splitlines()

    told = subprocess.run(
        [sys.executable, ROOT / "bench/io_at_scale.py"], capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert len([line for line in told if line.startswith("| Sidestream aggregated")]) == 8
    assert not [line for line in told if line and line not in page]


def counted(report: dict[str, object], folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "io.json").write_text(json.dumps(report))
    words = [sys.executable, ROOT / "bench/io_at_scale.py", "--check", folder / "io.json"]
    return subprocess.run(words, capture_output=True, text=True)


def test_counts_are_held_against_the_formulas(tmp_path: Path) -> None:
    """Those of four ranks with 32 blocks each that `docs/reference/io_performance.md` has."""
    writes = {
        "checkpoint": {"hdf5-independent": 40, "mpiio-independent": 40, "aggregated": 12},
        "plotfile": {"hdf5-independent": 12, "mpiio-independent": 12, "aggregated": 6},
    }
    cases = [
        {"content": content, "format": "flash", "method": method, "calls": {"sizes": {"<100": 1, "1M-4M": count}}}
        for content, of in writes.items()
        for method, count in of.items()
    ]
    report: dict[str, object] = {"ranks": 4, "blocks_a_rank": 32, "block": 16}

    assert counted(report | {"cases": cases}, tmp_path).returncode == 0
    fewer = counted(report | {"cases": cases[1:]}, tmp_path)
    cases[0]["calls"] = {"sizes": {"1M-4M": 39}}
    other = counted(report | {"cases": cases}, tmp_path)

    assert fewer.returncode == other.returncode == 1
    assert "the report has no such case" in fewer.stdout
    assert "39 writes, 40 by the formula" in other.stdout


def test_small_writes_have_no_mean_size_in_tables_of_a_report(tmp_path: Path) -> None:
    calls = {"writes": 41, "largest": 65536, "writing_ranks": 4, "syncs": 2, "sizes": {"10K-100K": 41}}
    case = {"content": "checkpoint", "format": "raw", "method": "engine", "bytes": 2621440, "calls": calls}
    of_times: dict[str, list[float]] = {"seconds": [0.001], "seconds_synced": []}
    head = {"ranks": 4, "cores": 2, "processor": "p", "file_system": "ext4", "model": False, "repetitions": 1}
    (tmp_path / "io.json").write_text(json.dumps(head | {"cases": [case | of_times]}))

    words = [sys.executable, ROOT / "bench/io_tables.py", tmp_path / "io.json"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert "| raw | engine | 0 |  | 0.0625 MiB | 41 | 4 | 2 |" in told
    assert "| raw | engine | 41 small | 1.0 (1.0) |" in told


@pytest.mark.slow
def test_tables_of_the_flash_study() -> None:
    found = flash.study()

    for (_, published, model, error), row in zip(table("| what | published |"), found["published"], strict=True):
        wanted = dict.fromkeys(value for value in row["published"] if value > 0)
        assert says(published, *wanted) and says(model, row["model"])
        assert judges(error, row), row
    rows = [*found["ahead"], *found["ahead_elsewhere"]["rows"]]
    for ranks, *cells in table("| ranks | checkpoint, Blue Gene/P"):
        factors = [row["factor"] for row in rows if row["ranks"] == int(ranks.replace(",", ""))]
        assert says(" ".join(cells), *factors), ranks
    for buffer, shares, *ways in table("| buffer | ranks a writer"):
        of_buffer = [row for row in found["sweep"] if row["buffer_mib"] == int(numbers(buffer)[0])]
        assert says(shares, *(row["ranks_a_writer"] for row in of_buffer))
        for text, way in zip(ways, ("PnetCDF nonblocking", flash.OURS), strict=True):
            assert says(text, *(row[way] for row in of_buffer)), (buffer, way)


@pytest.mark.slow
def test_tables_of_the_enzo_study() -> None:
    found = enzo.study()
    rows = {(row["system"], row["size"], row["method"]): row for row in found["rows"] if row["ranks"] == 32}
    lines = table("| system | size |")
    systems = [line[0] for line in lines if line[0]]
    for place, (_, size, *cells) in enumerate(lines):
        system = systems[place // 3]
        for text, method in zip(cells, enzo.METHODS, strict=True):
            row = next((row for (name, *of), row in rows.items() if name in system and of == [size, method]), None)
            assert text == "" if row is None else says(text, row["read_s"], row["dump_s"]), (system, size, method)
    for (what, holds, factors, _), finding in zip(table("| what was found |"), found["findings"], strict=True):
        cases = finding["cases"]
        assert says(holds, sum(case["factor"] > 1 for case in cases), len(cases)), what
        assert all(case["holds"] == (case["factor"] > 1) for case in cases), what
        assert says(factors, min(case["factor"] for case in cases), max(case["factor"] for case in cases)), what
