"""Of all tests: none hangs, none is left out in continuous integration, and runs beside each other share the cores."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from typing import TypeVar

import pytest

from processes import descendants, kill
from starts import quicken_starts

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
NOT_ALLOWED = "not allowed here: "  # how the reason begins where no set-up helps

os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")  # ranks that wait leave the core to another test's
os.environ.setdefault("OMPI_MCA_odls_base_sigkill_timeout", "0")  # `mpirun` waits two seconds after a rank that failed
os.environ.pop("COLUMNS", None)  # which workers of pytest-xdist have
os.environ.pop("PYTHONUNBUFFERED", None)  # which prints a line in pieces: those of ranks would lie within each other
quicken_starts()
LIMIT_S, SLOW_LIMIT_S = 900, 4 * 3600  # of a test with its fixtures, on a machine that has much else to do

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as under nohup: programs that tests start are to hear it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that is out of time fails. What it has started is killed, as the test may go on to wait for it."""
    limit_s = SLOW_LIMIT_S if item.get_closest_marker("slow") else LIMIT_S
    before = descendants(os.getpid())

    def end(_number: int, _frame: object) -> None:
        kill(descendants(os.getpid()) - before)
        pytest.fail(f"the test takes longer than {limit_s} s")

    usual = signal.signal(signal.SIGALRM, end)
    signal.alarm(limit_s)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _without_excuse((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _without_excuse((yield))


def _without_excuse(report: Report) -> Report:
    """A test that is skipped fails instead."""
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        _, _, reason = report.longrepr
        if NOT_ALLOWED not in reason:
            report.outcome, report.longrepr = "failed", f"left out, which CI=true does not allow: {reason}"
    return report
