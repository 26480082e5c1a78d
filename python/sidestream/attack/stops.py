"""Ranks that stand still for a while (SIGSTOP, SIGCONT), as on a node that swaps: the end is the same to the bit."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

from . import jobs
from .small_runs import SUBJECTS
from .subjects import Whole, first_words, go_on, lines_logged, on_any_subject
from .trial import Failure, Kind

LONGEST_S = 3.0
TIMEOUT_S = 1  # of sidecars, where they stand still for longer than they may
BEYOND_S = 2.5 * TIMEOUT_S


def _stop(undisturbed: Whole, numbers: random.Random, folder: Path) -> str:
    subject = undisturbed.subject
    line, rank = numbers.randrange(undisturbed.lines), numbers.randrange(subject.ranks)
    is_beyond = subject.sidecars > 0 and numbers.random() < 0.5
    words = ["--set", f'coupling.timeout="{TIMEOUT_S} s"'] if is_beyond else []
    rank = subject.ranks - 1 if is_beyond else rank
    seconds = BEYOND_S if is_beyond else numbers.uniform(0.1, LONGEST_S)
    with undisturbed.started(folder, *words) as running:
        running.wait_until(lambda: lines_logged(folder) >= line and rank in running.ranks())
        pid = running.ranks().get(rank, 0)
        if pid:
            jobs.send(pid, signal.SIGSTOP)
            time.sleep(seconds)
            jobs.send(pid, signal.SIGCONT)
        ended = running.finish()
    who = "a sidecar" if rank >= subject.ranks - subject.sidecars else "a rank"
    if ended.code == 0:
        undisturbed.expect_same(folder)
        return f"{who}: the same end"
    if not is_beyond or "error: " not in ended.said:
        raise Failure(f"{who} stood still for {seconds:.1f} s: {first_words(ended.said)}")
    return f"{who}, beyond the time-out: a sentence, then {go_on(undisturbed, folder)}"


stops = Kind(
    "stops",
    "SIGSTOP of a rank or a sidecar for up to 3 s, then SIGCONT: the end is the same to the bit; of a sidecar beyond "
    "`coupling.timeout`: that, or a sentence, and a restart that makes the same",
    100,
    on_any_subject(SUBJECTS, _stop),
)
