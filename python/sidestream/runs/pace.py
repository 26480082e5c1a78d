"""How long a run still takes, from how its progress went: a range where steps are uneven."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from ..quantities import duration

MOST_SAMPLES = 512
WINDOWS = (1 / 2, 1 / 4, 1 / 8)  # of the time since the start, up to now
RECENT_STEPS = 10
STEEPEST = 4.0  # change of speed from the first half to the second that is thought to go on
CLOSE = 1.3  # of the ends of a range that is told as one number


@dataclass(frozen=True)
class Left:
    """Seconds that are left, at least and at most, as long as the run goes on as it did lately."""

    least_s: float
    most_s: float

    def __str__(self) -> str:
        """Such as `3 min 20 s` or `2 min 10 s to 5 min 00 s`."""
        if self.most_s <= CLOSE * self.least_s or self.most_s < 1.0:
            return duration((self.least_s + self.most_s) / 2)
        return f"{duration(self.least_s)} to {duration(self.most_s)}"


@dataclass
class Pace:
    """The share of a run that was done, against seconds by the clock.

    A step is no measure: steps become shorter in physical time and longer by the clock as structures form. What counts
    is how fast the share that is done has grown, lately more than before; how much that differs is the range.
    """

    _times: list[float] = field(default_factory=list)
    _done: list[float] = field(default_factory=list)
    _steps: list[float] = field(default_factory=list)  # seconds between the newest ones

    def take(self, time_s: float, done: float) -> None:
        """After a step, `done` (0 to 1) of the run is done. Times grow."""
        if self._times:
            self._steps = [*self._steps[1 - RECENT_STEPS :], max(0.0, time_s - self._times[-1])]
        self._times.append(max(time_s, self._times[-1] if self._times else time_s))
        self._done.append(done)
        if len(self._times) > MOST_SAMPLES:
            self._times = [*self._times[:-1:2], self._times[-1]]
            self._done = [*self._done[:-1:2], self._done[-1]]

    @property
    def step_s(self) -> tuple[float, float] | None:
        """The shortest and the longest of the newest steps [s]; None before the second."""
        return (min(self._steps), max(self._steps)) if self._steps else None

    def left(self, now_s: float) -> Left | None:
        """What is left at a time; None as long as nobody can tell.

        A step that takes longer than all of the newest ones counts as time in which nothing was done.
        """
        if not self._steps or self._done[-1] <= self._done[0]:
            return None
        age = max(0.0, now_s - self._times[-1])
        is_late = age > max(self._steps)
        end = now_s if is_late else self._times[-1]
        rest, speeds = 1.0 - self._done[-1], self._speeds(end)
        passed = 0.0 if is_late else age
        return Left(max(0.0, rest / max(speeds) - passed), max(0.0, rest / min(speeds) - passed))

    def _speeds(self, end: float) -> list[float]:
        """Shares a second: of the windows, and what comes next if the run goes on to become slower, or faster."""
        start = self._times[0]
        whole = (self._done[-1] - self._done[0]) / (end - start)
        found = [
            (self._done[-1] - self._done_at(end - share * (end - start))) / (share * (end - start)) for share in WINDOWS
        ]
        found = [speed for speed in found if speed > 0.0] or [whole]
        halfway = self._done_at((start + end) / 2)
        before, after = halfway - self._done[0], self._done[-1] - halfway
        if before > 0.0 and after > 0.0:
            found.append(found[min(1, len(found) - 1)] * min(max(after / before, 1 / STEEPEST), STEEPEST))
        return found

    def _done_at(self, time_s: float) -> float:
        """The share that was done at a time, between two steps in proportion."""
        after = bisect_left(self._times, time_s)
        if after == len(self._times):
            return self._done[-1]
        if after == 0:
            return self._done[0]
        (t0, t1), (d0, d1) = self._times[after - 1 : after + 1], self._done[after - 1 : after + 1]
        return d0 + (d1 - d0) * (time_s - t0) / (t1 - t0) if t1 > t0 else d1
