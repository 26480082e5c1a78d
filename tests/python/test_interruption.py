"""Ctrl-C while the report of a run is written."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from sidestream.launch import simulation
from sidestream.runs.run import Run


@pytest.mark.parametrize("inherited", [signal.default_int_handler, signal.SIG_IGN])
def test_an_interrupt_ends_the_report_at_once_and_says_how_to_make_it(
    finished_run: Path, inherited: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def write_for_long(_folder: Path, _tell: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    monkeypatch.setattr(simulation, "_write_report", write_for_long)
    monkeypatch.setattr(simulation, "_write_merger_tables", lambda _run: [])
    before = signal.signal(signal.SIGINT, inherited)  # type: ignore[arg-type]
    begin = time.monotonic()
    try:
        assert not simulation.report_on(Run(finished_run))
        assert signal.getsignal(signal.SIGINT) is inherited
    finally:
        signal.signal(signal.SIGINT, before)

    assert time.monotonic() - begin < 30
    assert f"`sidestream report {finished_run}` makes it" in capsys.readouterr().err
