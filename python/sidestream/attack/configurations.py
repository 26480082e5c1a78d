"""Random configurations: each is accepted, or refused with a place; a share of those accepted runs for three steps."""

from __future__ import annotations

import os
import random
from pathlib import Path

from ..launch.launcher import find_program, mpi_environment
from . import jobs
from .answers import Answers
from .disks import DISK, with_disks
from .grammar import read_grammar
from .subjects import first_words
from .trial import Failure, Kind, Trial

ACCEPTED, REFUSED = 0, 2  # codes of the check
SHARE_THAT_RUNS = 0.15
LARGEST_BYTES = 256 << 20  # of the memory of a run
NAME = "random.toml"
NODES = 2


def _prepare(shared: Path) -> Trial:
    grammar = read_grammar()
    command = [str(find_program()), "--check-each", "--out", str(shared / "never")]
    environment = mpi_environment(os.environ, 1) | {"SIDESTREAM_ANSWERS": "1", DISK: str(shared)}
    checker = Answers(command, environment, shared / "checker.txt")

    def trial(numbers: random.Random, folder: Path) -> str:
        path = folder / NAME
        path.write_text(grammar.configuration(numbers))
        answer = checker.ask(str(path))
        if answer["code"] == REFUSED:
            _expect_place(answer["message"], path)
            return "refused with a place"
        if answer["code"] != ACCEPTED:
            raise Failure(f"the check fails: {answer['message']}")
        description = answer["description"]
        if numbers.random() > SHARE_THAT_RUNS or description["memory_bytes"] > LARGEST_BYTES:
            return "accepted"
        return _run(folder, int(description["ranks"]))

    return trial


def _expect_place(message: str, path: Path) -> None:
    if not message.startswith("error: "):
        raise Failure(f"refused without a sentence: {message}")
    if not any(line.strip().startswith("--> ") for line in message.splitlines()):
        raise Failure(f"refused without a place: {message}")


def _run(folder: Path, ranks: int) -> str:
    ended = jobs.run(folder, [NAME, "--quiet", "--out", "run"], ranks, with_disks(folder, NODES))
    if ended.code == 0:
        return "three steps done"
    if ended.code not in (1, 2) or "error: " not in ended.said:
        raise Failure(f"three steps on {ranks} ranks: code {ended.code}, {first_words(ended.said)}")
    return "three steps: ended with a sentence"


configurations = Kind(
    "configurations",
    "a random configuration, of sensible and absurd tables, keys and values: it is accepted, or refused with a place; "
    "one in seven of those accepted runs for three steps",
    100000,
    _prepare,
)
