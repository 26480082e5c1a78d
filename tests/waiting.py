"""Waiting for what other processes do, on a machine that has much else to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

LIMIT_S = 120.0


def until(condition: Callable[[], Any], limit_s: float = LIMIT_S) -> Any:
    """What the condition finds, once that is anything."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {limit_s} s in vain")
