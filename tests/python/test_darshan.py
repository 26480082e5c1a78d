"""What the layer between programs and files counts, beside logs of Darshan whose accesses are made again."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sidestream.launch.launcher import find_program

LOGS = json.loads(gzip.decompress((Path(__file__).parents[1] / "data" / "darshan_accesses.json.gz").read_bytes()))
BINS = ("<100", "100-1K", "1K-10K", "10K-100K", "100K-1M", "1M-4M", "4M-10M", "10M-100M", "100M-1G", ">1G")

MAKE_AGAIN = """
import json, os, sys
for name, accesses in json.load(sys.stdin).items():
    file = os.open(name, os.O_RDWR)
    for kind, offset, length in accesses:
        done = os.pwrite(file, bytes(length), offset) if kind == "w" else len(os.pread(file, length, offset))
        assert done == length
    os.close(file)
"""

Counts = dict[str, Any]


def made_again(folder: Path, rank: int, accesses: dict[str, list[Any]]) -> dict[str, Counts]:
    """The counts of the layer of each file, of a process that makes these accesses."""
    layer = find_program("sidestream-run").with_name("libsidestream_io_layer.so")
    assert layer.is_file()
    variables = {
        "LD_PRELOAD": str(layer),
        "SIDESTREAM_IO_PATH": str(folder / "files"),
        "SIDESTREAM_IO_COUNT": str(folder / f"count{rank}"),
    }
    subprocess.run(
        [sys.executable, "-c", MAKE_AGAIN],
        input=json.dumps(accesses),
        cwd=folder / "files",
        env=os.environ | variables,
        text=True,
        check=True,
    )
    [report] = folder.glob(f"count{rank}.*.json")
    return {Path(file["path"]).name: file for file in json.loads(report.read_text())["files"]}


def summed(counts: list[Counts]) -> Counts:
    """Of the processes that had a file, as Darshan sums them."""
    total: Counts = {"sizes": dict.fromkeys(BINS, 0), "read_sizes": dict.fromkeys(BINS, 0)}
    for own in counts:
        for name, value in own.items():
            if isinstance(value, int):
                total[name] = total.get(name, 0) + value
        for bins in ("sizes", "read_sizes"):
            for name, count in own[bins].items():
                total[bins][name] += count
    return total


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log["log"])
def test_the_layer_counts_what_darshan_has_counted(log: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    ranks: list[dict[str, list[Any]]] = []
    for number, file in enumerate(log["files"]):
        for rank, accesses in enumerate(file["accesses"]):
            ranks += [{}] * (rank + 1 - len(ranks))
            ranks[rank] = ranks[rank] | {f"file{number}": accesses}
        end = max(offset + length for accesses in file["accesses"] for _, offset, length in accesses)
        with (folder / f"file{number}").open("wb") as made:
            made.truncate(end)

    found = [made_again(tmp_path, rank, accesses) for rank, accesses in enumerate(ranks)]

    exact = aligned = 0
    for number, file in enumerate(log["files"]):
        counts = summed([own[f"file{number}"] for own in found if f"file{number}" in own])
        theirs = file["counters"]
        assert (counts["writes"], counts["reads"]) == (theirs["WRITES"], theirs["READS"])
        assert (counts["bytes"], counts["bytes_read"]) == (theirs["BYTES_WRITTEN"], theirs["BYTES_READ"])
        assert list(counts["sizes"].values()) == theirs["SIZE_WRITE"]
        assert list(counts["read_sizes"].values()) == theirs["SIZE_READ"]
        if theirs["OPENS"] == 1:  # an open forgets what was accessed last, and the trace has none
            assert (counts["sequential"], counts["consecutive"]) == (theirs["SEQ_WRITES"], theirs["CONSEC_WRITES"])
            ours = (counts["sequential_reads"], counts["consecutive_reads"])
            assert ours == (theirs["SEQ_READS"], theirs["CONSEC_READS"])
            exact += 1
        if theirs["FILE_ALIGNMENT"] == (folder / f"file{number}").stat().st_blksize:
            assert counts["unaligned"] == theirs["FILE_NOT_ALIGNED"]
            aligned += 1
    if log["log"] == "dxt":
        assert exact > 50 and aligned > 100
