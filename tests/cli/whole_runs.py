"""Runs that write their files in some other way end as the one whose compute ranks write them."""

from __future__ import annotations

from pathlib import Path

from sidestream.attack.subjects import checkpoints, plot_files_in, results_in, state_in


def unfinished(run: Path) -> list[Path]:
    return sorted([*run.glob(".*chk*"), *run.glob("pending/.*chk*")])


def expect_same_files(whole: Path, other: Path) -> None:
    """The last checkpoint, all plot files and all results are the same to the bit, and nothing is left half done."""
    last, others = checkpoints(whole)[-1], checkpoints(other)[-1]
    assert others.name == last.name
    assert state_in(others) == state_in(last)
    plots = plot_files_in(whole)
    assert plots
    assert plot_files_in(other) == plots
    assert results_in(other) == results_in(whole)
    assert not unfinished(other)
    assert not (other / "pending").exists()
