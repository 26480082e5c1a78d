"""Kills at random moments, of a rank, the launcher or all at once: the newest committed checkpoint comes back."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

from . import jobs
from .small_runs import SUBJECTS
from .subjects import RUN, Whole, go_on, lines_logged, on_any_subject
from .trial import Kind

TARGETS = ("a rank", "the launcher", "all")
LATER_S = 0.1  # at most, after a line of the log


def _kill(undisturbed: Whole, numbers: random.Random, folder: Path) -> str:
    target, line = numbers.choice(TARGETS), numbers.randrange(undisturbed.lines)
    later_s, rank = numbers.uniform(0, LATER_S), numbers.randrange(undisturbed.subject.ranks)
    with undisturbed.started(folder) as running:
        running.wait_until(lambda: lines_logged(folder) >= line)
        time.sleep(later_s)
        if target == "all":
            running.kill()
        elif target == "the launcher":
            jobs.send(running.launcher, signal.SIGKILL)
        elif rank in (there := running.ranks()):
            jobs.send(there[rank], signal.SIGKILL)
        ended = running.finish()
    if ended.code == 0:
        undisturbed.expect_same(folder)
        return "it had ended"
    if not (folder / RUN).exists():
        return "before the folder was made"
    return f"{target}: {go_on(undisturbed, folder)}"


kills = Kind(
    "kills",
    "SIGKILL at a random moment of a rank, of the launcher or of all; the newest checkpoint that is committed "
    "or staged has to come back, and the end be the same to the bit",
    300,
    on_any_subject(SUBJECTS, _kill),
)
