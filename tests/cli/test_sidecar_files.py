"""Checkpoints and plot files that sidecars write: as the ranks that compute would have, under the same rules."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

import sidestream
import test_faults
from calls import program
from configs import blast
from sidestream.attack.subjects import checkpoints, expect_back, newest_committed, state_in, step_of
from sidestream.runs.run import Run
from test_faults import LAST_STEP, Place, finish, sample, sidecar_of, wait_for
from tiers import slow
from whole_runs import expect_same_files, unfinished

CONFIG = test_faults.CONFIG + 'plotfile = { format = "flash", every = 2 }\n'
BY_SIDECARS = (
    *("--set", "coupling.sidecars=1", "--set", "coupling.count=extra"),
    *("--set", "output.checkpoint.transport=in-transit", "--set", "output.plotfile.transport=in-transit"),
)
REFINED = (
    blast(steps=4)
    + """[output]
checkpoint = { format = "sidestream", every = 2 }
plotfile = { format = "flash", every = 4 }
"""
)


@pytest.fixture(scope="module")
def place(whole_run: Path) -> Place:
    """A folder with the run `whole`, of which the ranks that compute write all files, and the run `carried`."""
    place = Place(whole_run)
    done = place.run("carried", *BY_SIDECARS, ranks=3)
    assert done.returncode == 0, done.stderr
    return place


def plots(run: Path) -> list[Path]:
    return sorted(run.glob("*plt*"))


def expect_as_whole(place: Place, out: str) -> None:
    expect_same_files(place.folder / "whole", place.folder / out)


def test_the_files_are_those_of_the_ranks_that_compute(place: Place) -> None:
    expect_as_whole(place, "carried")
    whole, carried = place.folder / "whole", place.folder / "carried"
    log = Run(carried).events
    assert [event["step"] for event in log.of("checkpoint_committed")][-1] == LAST_STEP
    assert {event["writers"] for event in log.of("checkpoint", "plotfile")} == {"sidecars"}
    assert {event["writers"] for event in Run(whole).events.of("checkpoint", "plotfile")} == {"compute"}


def test_the_time_of_writing_is_on_the_bill_of_the_sidecars(place: Place) -> None:
    def lines(log: str) -> set[tuple[str, str]]:
        events = [json.loads(line) for line in (place.folder / "carried" / log).read_text().splitlines()]
        bill = next(event for event in events if event["event"] == "bill")
        return {(line["line"], line["for"]) for line in bill["lines"]}

    for kind in ("checkpoints", "plot files"):
        assert {("writing", kind), ("receiving", kind)} <= lines("events.sidecar.jsonl")
        assert ("publish: packing", kind) in lines("events.jsonl")
        assert ("writing", kind) not in lines("events.jsonl")


def test_a_run_goes_on_from_such_a_checkpoint_on_other_ranks(place: Place) -> None:
    shutil.copytree(place.folder / "carried", place.folder / "other")
    checkpoints(place.folder / "other")[-1].unlink()
    before = checkpoints(place.folder / "other")[-1]

    again = place.run("other", *BY_SIDECARS, "--restart", ranks=2)  # one of them a sidecar

    assert again.returncode == 0, again.stderr
    expect_back(place.folder / "other", before)
    last = [sidestream.open(checkpoints(place.folder / out)[-1]) for out in ("whole", "other")]
    assert all(np.array_equal(last[0][name].values, last[1][name].values) for name in last[0].fields)
    one, other = (particles.sortby("id") for particles in (file.particles() for file in last))
    assert one.equals(other)


def test_refined_meshes_travel_with_the_blocks_that_finer_ones_cover(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(REFINED)
    for out, ranks, words in (("whole", 2, ()), ("carried", 4, (*BY_SIDECARS, "--set", "coupling.sidecars=2"))):
        done = program(tmp_path, ranks, "box.toml", "--quiet", "--out", out, *words)
        assert done.returncode == 0, done.stderr
    files = [checkpoints(tmp_path / "whole")[-1].name, *(path.name for path in plots(tmp_path / "whole"))]
    assert len(files) == 3
    for name in files:
        assert state_in(tmp_path / "whole" / name) == state_in(tmp_path / "carried" / name)


@pytest.mark.parametrize("rank", [2, *slow(0)])
def test_whoever_is_killed_the_newest_committed_checkpoint_comes_back(place: Place, rank: int) -> None:
    count = place.folder / f"count_{rank}"
    layer = {"SIDESTREAM_IO_RANK": str(rank), "SIDESTREAM_IO_CALLS": "all"}
    done = place.run("counted", *BY_SIDECARS, ranks=3, layer={**layer, "SIDESTREAM_IO_COUNT": str(count)})
    assert done.returncode == 0, done.stderr
    calls = int(json.loads(Path(f"{count}.{rank}.json").read_text())["matching_calls"])
    shutil.rmtree(place.folder / "counted")
    came_back = []
    for n in sample(calls):
        shutil.rmtree(place.folder / "killed", ignore_errors=True)
        fault = {"SIDESTREAM_IO_FAULT": "kill", "SIDESTREAM_IO_FAULT_AT": str(n)}
        done = place.run("killed", *BY_SIDECARS, ranks=3, layer=layer | fault)
        if done.returncode != 0:
            came_back.append(go_on(place, "killed"))
    assert came_back[0] == 0
    assert came_back[-1] >= 1


def go_on(place: Place, out: str) -> int:
    """After whatever happened to a run: it goes on from the newest checkpoint that was committed, or begins again where
    there is none, and ends as ever. The step of that checkpoint, 0 without."""
    newest = newest_committed(place.folder / out, interval=1, may_wait=True)
    again = place.run(out, *BY_SIDECARS, "--restart", ranks=3)
    if newest is None:
        assert again.returncode != 0
        again = place.run(out, *BY_SIDECARS, "--overwrite", ranks=3)
    assert again.returncode == 0, again.stderr
    if newest is not None:
        expect_back(place.folder / out, newest)
    expect_as_whole(place, out)
    return step_of(newest) if newest else 0


def test_a_checkpoint_that_sidecars_cannot_write_is_told_and_the_run_goes_on(place: Place) -> None:
    layer = {
        "SIDESTREAM_IO_PATH": "/failed/pending/.chk00003",
        "SIDESTREAM_IO_FAULT": "enospc",
        "SIDESTREAM_IO_FAULT_AT": "3+",
    }
    words = ("--set", "output.checkpoint.every=3")

    done = place.run("failed", *BY_SIDECARS, *words, ranks=3, layer=layer)

    assert done.returncode == 0, done.stderr
    assert "the checkpoint was not written, the run goes on" in done.stderr
    log = Run(place.folder / "failed").events
    assert [event["step"] for event in log.of("checkpoint_failed")] == [3]
    assert [path.name for path in checkpoints(place.folder / "failed")] == ["chk00005.hdf5_chk"]
    assert not unfinished(place.folder / "failed")


def test_a_plot_file_that_sidecars_cannot_write_holds_back_later_checkpoints(place: Place) -> None:
    run = place.folder / "unplotted"
    layer = {"SIDESTREAM_IO_PATH": "/unplotted/.sidestream_hdf5_plt_cnt_0002", "SIDESTREAM_IO_FAULT": "enospc"}

    done = place.run(run.name, *BY_SIDECARS, ranks=3, layer={**layer, "SIDESTREAM_IO_FAULT_AT": "1+"})

    assert done.returncode == 1
    assert "error: the run has lost 1 plot file\n" in done.stderr
    newest = newest_committed(run, interval=1, may_wait=True)
    assert newest is None or step_of(newest) < 2
    stops = place.run("stopped", *BY_SIDECARS, "--set", "output.plotfile.on_failure=stop", ranks=3,
                      layer={**layer, "SIDESTREAM_IO_PATH": "/stopped/.sidestream_hdf5_plt_cnt_0000",
                             "SIDESTREAM_IO_FAULT_AT": "1+"})  # fmt: skip
    assert "the run ends here: the plotfile could not be written" in stops.stderr


def test_what_finds_no_room_is_written_by_the_ranks_that_compute(place: Place) -> None:
    words = ("--set", "coupling.when_full=in-situ", "--set", "coupling.queue=900 KiB")

    done = place.run("here", *BY_SIDECARS, *words, ranks=3)

    assert done.returncode == 0, done.stderr
    expect_as_whole(place, "here")


def test_what_waits_on_a_disk_is_written_as_ever_within_the_memory_of_the_queue(place: Place) -> None:
    """The sidecar stands still until the simulation has done its last step: all files but one wait on the disk."""
    queue, count = 900 << 10, place.folder / "spilled_bytes"
    words = (
        *("--set", "coupling.when_full=spill", "--set", "coupling.spill=spill", "--set", f"coupling.queue={queue} B"),
        *("--set", "task.spectra.transport=in-transit"),
    )
    layer = {"SIDESTREAM_IO_PATH": "/spill/", "SIDESTREAM_IO_COUNT": str(count)}
    process = place.start("spilled", *BY_SIDECARS, *words, ranks=3, layer=layer)
    log = place.folder / "spilled" / "events.jsonl"

    sidecar = sidecar_of(process, 2)
    wait_for(lambda: log.exists() and '"event":"step"' in log.read_text())
    os.kill(sidecar, signal.SIGSTOP)
    wait_for(lambda: f'"step":{LAST_STEP}' in log.read_text())
    os.kill(sidecar, signal.SIGCONT)
    done = finish(process)

    assert done.returncode == 0, done.stderr
    expect_as_whole(place, "spilled")
    published = Run(place.folder / "spilled").events.of("publish")
    assert {event["action"] for event in published} == {"sent", "stored"}
    assert max(event["queue_bytes"] for event in published) <= queue
    stored = [json.loads(Path(f"{count}.{rank}.json").read_text())["files"] for rank in range(2)]
    written = sum(file["bytes"] for files in stored for file in files)
    assert written > queue, "more than the queue holds has waited on the disk"


REFUSALS = {
    "no_sidecars": (("coupling.sidecars=0",), "sidecars are to write the file, but there are none"),
    "dropped": (('coupling.when_full="latest"',), "a full queue would have files left out"),
    "asynchronous": (("output.checkpoint.asynchronous=true",), "is written behind the simulation anyway"),
    "queue": (('coupling.queue="1 KiB"',), "takes 640 KiB, but the queue holds 1 KiB"),
    "transport": (('output.checkpoint.transport="file"',), "in-situ"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_is_refused_before_work(place: Place, case: str) -> None:
    words, said = REFUSALS[case]
    settings = [word for setting in words for word in ("--set", setting)]

    done = program(place.folder, 1, "box.toml", "--check", "--out", "refused", *BY_SIDECARS, *settings)

    assert done.returncode != 0
    assert said in done.stderr
    assert not (place.folder / "refused").exists()


def test_check_says_what_the_sidecars_hold(place: Place) -> None:
    done = program(place.folder, 1, "box.toml", "--check", "--json", "--ranks", "2", *BY_SIDECARS)

    told = json.loads(done.stdout)
    assert (told["compute"], told["sidecars"]) == (2, 1)
    assert [file["writers"] for file in told["files"]] == ["sidecars", "sidecars"]
    assert told["sidecar_bytes"] == max(file["bytes"] for file in told["files"])
