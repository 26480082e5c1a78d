"""What an attack is made of: kinds of trials, each trial with a number from which it repeats."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Trial = Callable[[random.Random, Path], str]
"""Tries one thing, drawn from the random numbers, in an empty folder; returns in a few words how it ended.

Raises `Failure` where something was lost, wrong, or not told.
"""


class Failure(Exception):  # noqa: N818  (what a trial found, no error of ours)
    """What a trial found: something is lost, wrong, hangs, or ends without a sentence."""


@dataclass(frozen=True)
class Kind:
    """A kind of trials.

    Attributes:
        name: as `--only` takes it.
        documentation: what is tried, and what has to hold, in a sentence.
        trials: how many make a full attack.
        prepare: makes what all trials share, such as runs that nothing disturbs, in a folder; returns the trial.
    """

    name: str
    documentation: str
    trials: int
    prepare: Callable[[Path], Trial]


@dataclass
class Tally:
    """What became of the trials of a kind: how many ended in which way, and the failures by their number."""

    kind: str
    ends: dict[str, int] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def tried(self) -> int:
        """The number of trials."""
        return self.survived + len(self.failures)

    @property
    def survived(self) -> int:
        """The number of those that found nothing."""
        return sum(self.ends.values())

    def add(self, end: str) -> None:
        """Counts a trial that found nothing."""
        self.ends[end] = self.ends.get(end, 0) + 1
