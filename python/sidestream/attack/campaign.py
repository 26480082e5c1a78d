"""Trials in turns, one of each kind at a time, until all are made or the time is up."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .trial import Failure, Kind, Tally, Trial

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Campaign:
    """What to try.

    Attributes:
        kinds: the kinds of trials.
        folder: where files go. What a trial leaves is removed, unless it fails.
        seed: the number of the first trial of each kind; the next has the next number.
        trials: of each kind; without it, as many as the kind says.
        minutes: after which no trial begins.
    """

    kinds: Sequence[Kind]
    folder: Path
    seed: int = 1
    trials: int | None = None
    minutes: float | None = None

    def run(self, tell: Tell) -> list[Tally]:
        """Makes the trials; tells of each failure as it is found."""
        deadline = time.monotonic() + 60 * self.minutes if self.minutes is not None else float("inf")
        tallies = [Tally(kind.name) for kind in self.kinds]
        prepared: dict[str, Trial] = {}
        for turn in range(max(map(self._trials_of, self.kinds))):
            for kind, tally in zip(self.kinds, tallies, strict=True):
                if turn >= self._trials_of(kind) or time.monotonic() >= deadline:
                    continue
                began = time.monotonic()
                if kind.name not in prepared:
                    tell(f"{kind.name}: {kind.documentation}")
                    prepared[kind.name] = kind.prepare(_emptied(self.folder / kind.name / "shared"))
                self._try(kind.name, prepared[kind.name], self.seed + turn, tally, tell)
                tally.seconds += time.monotonic() - began
        return tallies

    def _trials_of(self, kind: Kind) -> int:
        return kind.trials if self.trials is None else self.trials

    def _try(self, name: str, trial: Trial, number: int, tally: Tally, tell: Tell) -> None:
        folder = _emptied(self.folder / name / str(number))
        try:
            tally.add(trial(random.Random(f"{name} {number}"), folder))
        except Failure as failure:
            tally.failures[number] = str(failure)
            tell(f"{name} {number} failed: {failure}\n  --> {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
