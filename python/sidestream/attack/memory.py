"""Ranks that get less memory than they ask for (RLIMIT_AS): the run ends with a sentence, or as ever."""

from __future__ import annotations

import random
from pathlib import Path

from .small_runs import SUBJECTS
from .subjects import Whole, first_words, on_any_subject
from .trial import Failure, Kind

LEAST_BYTES, MOST_BYTES = 64 << 20, 2 << 30  # of address space
NOT_STARTED = (
    "error while loading shared libraries",
    "OPAL ERROR",
    "shared memory initialization",
    "MPI_INIT",
    "MPI_Init",
    "orte_init",
    "opal_init",
    "mpirun was unable",
)


def _limit(undisturbed: Whole, numbers: random.Random, folder: Path) -> str:
    size = int(LEAST_BYTES * (MOST_BYTES / LEAST_BYTES) ** numbers.random())
    ended = undisturbed.run(folder, before=["prlimit", f"--as={size}"])
    if ended.code == 0:
        undisturbed.expect_same(folder)
        return "it is enough"
    if "error: " in ended.said.replace("error while loading", ""):
        return "a sentence"
    if any(words in ended.said for words in NOT_STARTED):
        return "neither loader nor MPI could start"
    raise Failure(f"with {size >> 20} MiB a rank: code {ended.code}, {first_words(ended.said)}")


memory = Kind(
    "memory",
    "address space of a rank limited (RLIMIT_AS) to 64 MiB to 2 GiB: the end is the same, or a sentence tells why not",
    100,
    on_any_subject(SUBJECTS, _limit),
)
