"""The two tiers of tests: what a parameter takes besides in `make test-slow`."""

from __future__ import annotations

import pytest


def slow(*cases: object) -> list[object]:
    """Cases of `pytest.mark.parametrize` for the slow tier; of several parameters each case is a tuple."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]
