"""What is said of files at the end of a run."""

from __future__ import annotations

from sidestream.launch.simulation import _about_files
from sidestream.runs.events import Events
from sidestream.runs.summary import file_bills


def test_the_newest_checkpoint_may_be_one_that_was_staged_before_a_restart() -> None:
    written = {"event": "checkpoint", "t": 1.0, "step": 4, "path": "chk00004.hdf5_chk", "bytes": 1000.0}
    staged = {"event": "staged_committed", "t": 2.0, "step": 8, "path": "chk00008.hdf5_chk"}
    later = written | {"step": 12, "path": "chk00012.hdf5_chk"}

    said = []
    for all_of_them in ([written], [written, staged], [written, staged, later]):
        events = Events(all_of_them)
        (row,) = file_bills(events)
        said.append(_about_files(row, events).partition("the newest ")[2].split(" ")[0])

    assert said == ["chk00004.hdf5_chk", "chk00008.hdf5_chk", "chk00012.hdf5_chk"]


def test_the_newest_checkpoint_is_the_one_written_last_whatever_the_run_wrote_before_a_restart() -> None:
    before = [
        {"event": "checkpoint", "t": t, "step": step, "path": f"chk{step:05}.hdf5_chk", "bytes": 1e3}
        for t, step in ((1.0, 4), (2.0, 8))
    ]
    again = before[1] | {"t": 3.0, "bytes": 5e6}
    older = before[0] | {"t": 3.0, "bytes": 7e6}

    said = []
    for last in (again, older):
        events = Events([*before, last])
        (row,) = file_bills(events)
        said.append(_about_files(row, events).partition("the newest ")[2])

    assert said == ["chk00008.hdf5_chk (5 MB)", "chk00004.hdf5_chk (7 MB)"]
