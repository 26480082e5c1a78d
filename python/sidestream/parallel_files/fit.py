"""Constants of a machine from what was published about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .machine import Machine
from .queues import Numbers


def with_constants(machine: Machine, names: tuple[str, ...], values: Numbers) -> Machine:
    """The machine with other numbers for these constants."""
    changes: dict[str, Any] = dict(zip(names, map(float, values), strict=True))
    return replace(machine, **changes)


def fitted(machine: Machine, names: tuple[str, ...], misfit: Callable[[Machine], Numbers], steps: int = 3) -> Machine:
    """The machine with constants `names` such that `misfit`, as many logarithms of ratios, is near zero (Newton's
    method with differences of 1 %; a constant is at most halved or doubled in a step)."""
    for _ in range(steps):
        now = np.array([getattr(machine, name) for name in names])
        wrong = misfit(machine)
        slopes = [
            (misfit(with_constants(machine, (name,), np.array([1.01 * value]))) - wrong) / (0.01 * value)
            for name, value in zip(names, now, strict=True)
        ]
        found = np.clip(now - np.linalg.solve(np.array(slopes).T, wrong), 0.5 * now, 2.0 * now)
        machine = with_constants(machine, names, found)
    return machine
