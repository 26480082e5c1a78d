"""Of all tests: nothing is left out in continuous integration, and runs beside each other share the cores."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
NOT_ALLOWED = "not allowed here: "  # how the reason begins where no set-up helps

os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")  # ranks that wait leave the core to another test's
os.environ.pop("COLUMNS", None)  # which workers of pytest-xdist have


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
